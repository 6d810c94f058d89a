/* Velocities with a tag that says of when they are, and waiting for those of a time.
 *
 * Nothing orders what one thread block writes for another but that what lies in 16 bytes is written and
 * read at once. So every 16 bytes have the tag: where all that belongs together has the right one, it is
 * right. (A fence before every tag, and tags apart, took 1.3 times as long in all.)
 */
#ifndef ESKER_TAGS_H
#define ESKER_TAGS_H

#include "sleep.h"

/* Set in the tag of what a body has now if an impact has changed it in this substep. */
#define IMPACTED 0x80000000u

/* Three numbers and their tag, as four numbers of memory. */
#ifdef MIXED

DEVICE void pack(const real *x, u32 tag, real *packed) {
    for (int k = 0; k < 3; k++) packed[k] = x[k];
    packed[3] = FLOAT_OF(tag);
}

/* Whether they have one tag, if one does not look at the impacts; returns the numbers. */
DEVICE u32 unpack(const real *packed, u32 tag, real *x) {
    for (int k = 0; k < 3; k++) x[k] = packed[k];
    return (BITS_OF_FLOAT(packed[3]) & ~IMPACTED) == tag;
}

DEVICE u32 tag_of(const real *packed) {
    return BITS_OF_FLOAT(packed[3]);
}

#else

/* Halves of the second number go with the others. */
DEVICE void pack(const real *x, u32 tag, real *packed) {
    u64 bits = BITS_OF(x[1]), high_tag = (u64)tag << 32;
    packed[0] = x[0];
    packed[1] = DOUBLE_OF(high_tag | (bits & 0xffffffffull));
    packed[2] = x[2];
    packed[3] = DOUBLE_OF(high_tag | bits >> 32);
}

DEVICE u32 unpack(const real *packed, u32 tag, real *x) {
    u64 low = BITS_OF(packed[1]), high = BITS_OF(packed[3]);
    x[0] = packed[0];
    x[1] = DOUBLE_OF(high << 32 | (low & 0xffffffffull));
    x[2] = packed[2];
    return ((u32)(low >> 32) & ~IMPACTED) == tag && ((u32)(high >> 32) & ~IMPACTED) == tag;
}

DEVICE u32 tag_of(const real *packed) {
    return (u32)(BITS_OF(packed[3]) >> 32);
}

#endif

/* Three numbers in memory; returns as `unpack` does. */
DEVICE u32 load_tagged(const real *numbers, u32 half, u32 tag, real *x) {
    real packed[4];
    load_four_alone(numbers, half, packed);
    return unpack(packed, tag, x);
}

DEVICE void store_tagged(real *numbers, u32 half, const real *x, u32 tag) {
    real packed[4];
    pack(x, tag, packed);
    store_four_alone(numbers, half, packed);
}

/* Called by who waits, every time that what it waits for is not there: whether all give up, since somebody
 * has waited for very long. That would be an error, which is noted behind the counts of impacts. */
DEVICE u32 gives_up(const struct Step *s, u32 *polls) {
    if (++*polls % 0x1000 != 0) return 0;
    u32 *is_stuck = s->impact_counts + s->substeps;
    if (*polls == MOST_POLLS) WATCHED_U32(is_stuck) = 1;
    return WATCHED_U32(is_stuck);
}

/* `look_at` of bodies that take turns, in a sweep. */
DEVICE void look_in_turn(const struct Step *s, u32 place, u32 sweep, struct Look *look) {
    real moved[2][3], before[2][3];
    for (u32 side = 0; side < 2; side++) {
        u32 half = 2 * s->contact_bodies[2 * place + side], polls = 0, is_there;
        do {
            is_there = load_tagged(s->moved, half, sweep, moved[side]) &
                load_tagged(s->before, half, sweep, before[side]);
            if (!is_there) {
                PAUSE(1);
                is_there = gives_up(s, &polls);
            }
        } while (!is_there);
    }
    for (int k = 0; k < 3; k++) {
        look->moved[k] = moved[1][k] - moved[0][k];
        look->approach[k] = before[0][k] - before[1][k];
    }
}

#endif
