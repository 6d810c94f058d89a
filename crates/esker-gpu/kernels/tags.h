/* Velocities with a tag that says of when they are.
 *
 * Nothing orders what one thread block writes for another but that what lies in 16 bytes is written and
 * read at once. So every 16 bytes have the tag: where all that belongs together has the right one, it is
 * right. (A fence before every tag, and tags apart, took 1.3 times as long in all.)
 */
#ifndef ESKER_TAGS_H
#define ESKER_TAGS_H

#include "portable.h"

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

#endif
