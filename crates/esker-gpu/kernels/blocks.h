/* Sweeps over the blocks of a plan.
 *
 * A thread block takes a block of the plan through a sweep, level by level, with the velocities of its
 * bodies in its own memory; thread blocks of one launch have blocks of one colour, which share
 * no body. Every thread has a contact of its own at a time, whatever its level: what does not
 * depend on velocities of now is computed of all of them at once, and a level is then a matter of
 * registers, of the block's own memory and of a few hundred cycles. (A thread that fetched the row
 * of its next contact while it worked on one waited for memory in every level.) The order of the
 * plan has about as many levels as a body has contacts.
 */
#ifndef ESKER_BLOCKS_H
#define ESKER_BLOCKS_H

#include "sleep.h"

/* A contact of a block. */
DEVICE void load(const struct Step *s, u32 place, u32 rolls, struct Contact *c) {
    c->place = place;
    c->level = s->level[place];
    c->wake = FRESH(s->wake + s->group[place]);
    c->law = s->laws + s->law[place];
    if (is_asleep(c->wake)) return;
    c->rolls = rolls && c->law->rolls;
    c->bodies[0] = s->contact_bodies[2 * place];
    c->bodies[1] = s->contact_bodies[2 * place + 1];
    load_row(s, place, rolls, c);
}

/* As they are now. */
DEVICE void fetch_motion(const struct Bodies *bodies, u32 body, real (*motion)[4]) {
    const real *state = bodies->state + (u64)bodies->stride * body;
    for (int k = 0; k < 8; k++) motion[k / 4][k % 4] = state[k];
}

DEVICE void fetch_motions(const struct Bodies *bodies, const u32 *pair, struct Motions *m) {
    fetch_motion(bodies, pair[0], m->a);
    fetch_motion(bodies, pair[1], m->b);
}

DEVICE void store_motion(const struct Bodies *bodies, u32 body, const real (*motion)[4]) {
    real *state = bodies->state + (u64)bodies->stride * body;
    for (int k = 0; k < 3; k++) {
        state[k] = motion[0][k];
        state[4 + k] = motion[1][k];
    }
}

DEVICE void store_motions(const struct Bodies *bodies, const u32 *pair,
                          const struct Motions *m) {
    store_motion(bodies, pair[0], m->a);
    store_motion(bodies, pair[1], m->b);
}

/* As they were at the start of the substep. */
DEVICE void fetch_before(const struct Bodies *bodies, const struct Contact *c, struct Motions *m) {
    const real *before_a = bodies->before + (u64)bodies->stride * c->bodies[0];
    const real *before_b = bodies->before + (u64)bodies->stride * c->bodies[1];
    for (int k = 0; k < 3; k++) m->apart[k] = before_b[k] - before_a[k];
    m->a[0][3] = bodies->state[(u64)bodies->stride * c->bodies[0] + 3];
    m->b[0][3] = bodies->state[(u64)bodies->stride * c->bodies[1] + 3];
}

/* Equation (1) of `copies`: a body gets the mean of its copies. */
DEVICE void join(const struct Step *s, u32 index) {
    struct Original original = s->original[index];
    real *body = s->state + 8 * (u64)original.body;
    real sums[6] = {R(0.0), R(0.0), R(0.0), R(0.0), R(0.0), R(0.0)};
    for (u32 copy = original.first; copy < original.first + original.count; copy++) {
        const real *state = s->state + 8 * (u64)copy;
        for (int k = 0; k < 3; k++) {
            sums[k] += state[k] - body[k];
            sums[3 + k] += state[4 + k] - body[4 + k];
        }
    }
    for (int k = 0; k < 3; k++) {
        body[k] += sums[k] / (real)original.count;
        body[4 + k] += sums[3 + k] / (real)original.count;
    }
}

/* Copies get the velocities of their body. */
DEVICE void spread(const struct Step *s, u32 index) {
    struct Original original = s->original[index];
    const real *body = s->state + 8 * (u64)original.body;
    for (u32 copy = original.first; copy < original.first + original.count; copy++) {
        real *state = s->state + 8 * (u64)copy;
        for (int k = 0; k < 3; k++) {
            state[k] = body[k];
            state[4 + k] = body[4 + k];
        }
    }
}

DEVICE struct Bodies bodies_of(const struct Step *s, const struct Block *block, real *cache) {
    struct Bodies bodies;
    int fits = block->body_count > 0;
    bodies.state = fits ? cache : s->state;
    bodies.before = fits ? cache + 8 : s->before;
    bodies.stride = fits ? CACHED : 8;
    bodies.list = fits ? s->body_list + block->bodies : 0;
    return bodies;
}

/* Pairs of numbers that a thread fetches before it waits for any. */
#define TOGETHER 4

/* Copies the first so many of each body's eight numbers into the block's own memory, in pairs;
 * neighbouring threads have neighbouring ones. */
DEVICE void fetch_numbers(const struct Step *s, const struct Block *block, const real *from,
                          u32 numbers, real *to, u32 thread, u32 threads) {
    u32 pairs = (numbers + 1) / 2, count = pairs * block->body_count;
    for (u32 first = thread; first < count; first += TOGETHER * threads) {
        u64 at[TOGETHER];
        real pair[TOGETHER][2];
        for (u32 r = 0; r < TOGETHER; r++) {
            u32 i = first + r * threads < count ? first + r * threads : first;
            at[r] = 8 * (u64)s->body_list[block->bodies + i / pairs] + 2 * (i % pairs);
        }
        for (u32 r = 0; r < TOGETHER; r++) LOAD_TWO(from + at[r], pair[r]);
        for (u32 r = 0; r < TOGETHER; r++) {
            u32 i = first + r * threads, k = 2 * (i % pairs);
            real *own = to + CACHED * (i / pairs) + k;
            if (i >= count) continue;
            own[0] = pair[r][0];
            if (k + 1 < numbers) own[1] = pair[r][1];
        }
    }
}

/* Velocities of the bodies of a block at the start of the substep. */
DEVICE void fetch_starts(const struct Step *s, const struct Block *block, real *cache,
                         u32 thread, u32 threads) {
    fetch_numbers(s, block, s->before, 3, cache + 8, thread, threads);
}

/* What they have now. */
DEVICE void fetch_bodies(const struct Step *s, const struct Block *block, real *cache,
                         u32 thread, u32 threads) {
    fetch_numbers(s, block, s->state, 8, cache, thread, threads);
}

DEVICE void return_bodies(const struct Step *s, const struct Block *block, const real *cache,
                          u32 thread, u32 threads) {
    for (u32 i = thread; i < 4 * block->body_count; i += threads) {
        u32 k = 2 * (i % 4);
        const real *own = cache + CACHED * (i / 4) + k;
        real pair[2] = {own[0], own[1]};
        STORE_TWO(s->state + 8 * (u64)s->body_list[block->bodies + i / 4] + k, pair);
    }
}

DEVICE void spread_after(const struct Step *s, u32 block, u32 thread, u32 threads) {
    if (s->originals && block + 1 == s->blocks) {
        for (u32 i = thread; i < s->originals; i += threads) spread(s, i);
    }
}

DEVICE void join_before(const struct Step *s, u32 block, u32 thread, u32 threads) {
    if (s->originals && block + 1 == s->blocks) {
        for (u32 i = thread; i < s->originals; i += threads) join(s, i);
    }
}

/* Applies the impulses that contacts start with, in the blocks of a colour. */
KERNEL(apply_impulses, SWEEP_THREADS, u32 colour) {
    const struct Step *s = STEP;
    DYNAMIC_SHARED(cache);
    OWN(struct Start, own);
    u32 index = s->colours[colour] + THREAD_BLOCK;
    WAIT_FOR_KERNELS_BEFORE();
    LET_NEXT_KERNEL_BEGIN();
    if (index >= s->colours[colour + 1]) return;
    struct Block block = s->block[index];
    struct Bodies bodies = bodies_of(s, &block, cache);
    FOR_THREADS(thread) join_before(s, index, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) fetch_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    for (u32 first = block.contacts; first < block.contacts_end; first += THREADS) {
        u32 count = block.contacts_end - first < THREADS ? block.contacts_end - first : THREADS;
        u32 level = s->level[first], last_level = s->level[first + count - 1];
        FOR_THREADS(thread) {
            struct Start *start = MINE(own, thread);
            if (thread < count) {
                start->level = s->level[first + thread];
                load_start(s, first + thread, start);
            }
        }
        for (; level <= last_level; level++) {
            FOR_THREADS(thread) {
                const struct Start *start = MINE(own, thread);
                if (thread < count && start->level == level && R(0.0) < start->impulse) {
                    struct Motions motions;
                    fetch_motions(&bodies, start->bodies, &motions);
                    apply_start(start, &motions);
                    store_motions(&bodies, start->bodies, &motions);
                }
            }
            BARRIER();
        }
    }
    FOR_THREADS(thread) return_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) spread_after(s, index, thread, THREADS);
}

/* After impacts: bodies with copies get the mean of these, less what impacts changed. One
 * thread block. */
KERNEL(join_copies, BODY_THREADS, u32 substep) {
    const struct Step *s = STEP;
    if (!s->impact_counts[substep - 1]) return;
    FOR_THREADS(thread) {
        for (u32 i = thread; i < s->originals; i += THREADS) {
            join(s, i);
            u64 index = s->original[i].body;
            real *body = s->state + 8 * index;
            if (s->impacted[index] == substep) {
                for (int k = 0; k < 3; k++) {
                    body[k] -= s->change[6 * index + k];
                    body[4 + k] -= s->change[6 * index + 3 + k];
                }
            }
            spread(s, i);
        }
    }
}

/* Looks at the sleeping groups of a block that are due, and wakes those that may close. */
PART_OF_KERNEL(wake_due_groups, const struct Step *s, const struct Block *block,
               const struct Bodies *bodies, u32 substep) {
    FOR_THREADS(thread) {
        for (u32 place = block->contacts + thread; place < block->contacts_end; place += THREADS) {
            u32 group = s->group[place];
            if (!is_due(s->wake[group], substep)) continue;
            struct Look look;
            look_at(s, bodies, place, &look);
            real time = time_open(s, place, &look);
            /* What is no number does not count. */
            if (time == time) ATOMIC_MIN_U64(s->soonest + group, ascending(time));
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        for (u32 g = block->groups + thread; g < block->groups_end; g += THREADS) {
            if (!is_due(s->wake[g], substep)) continue;
            s->wake[g] = wake_after(s, s->soonest[g], substep);
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        for (u32 place = block->contacts + thread; place < block->contacts_end; place += THREADS) {
            if (s->wake[s->group[place]] != WOKEN + substep) continue;
            struct Look look;
            look_at(s, bodies, place, &look);
            bring_up_to_date(s, place, &look);
        }
    }
    BARRIER();
}

/* The sweep of a substep over the blocks of a colour.
 *
 * Rows were written in the substep before, and velocities at the start of a substep before its
 * first colour: only those of now have to be waited for, with the rows of the first pass on their
 * way. */
PART_OF_KERNEL(sweep_colour, u32 colour, u32 substep, u32 rolls) {
    const struct Step *s = STEP;
    DYNAMIC_SHARED(cache);
    SHARED(u32, has_due);
    OWN(struct Contact, own);
    u32 index = s->colours[colour] + THREAD_BLOCK;
    u32 is_there = index < s->colours[colour + 1], is_first = s->colours[colour] == 0;
    if (is_first || !is_there) WAIT_FOR_KERNELS_BEFORE();
    if (!is_there) return;
    struct Block block = s->block[index];
    struct Bodies bodies = bodies_of(s, &block, cache);
    FOR_THREADS(thread) {
        if (thread == 0) has_due = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        u32 place = block.contacts + thread;
        if (place < block.contacts_end) load(s, place, rolls, MINE(own, thread));
        fetch_starts(s, &block, cache, thread, THREADS);
        for (u32 g = block.groups + thread; g < block.groups_end; g += THREADS) {
            if (is_due(FRESH(s->wake + g), substep)) {
                s->soonest[g] = ~0ull;
                has_due = 1;
            }
        }
    }
    WAIT_FOR_KERNELS_BEFORE();
    LET_NEXT_KERNEL_BEGIN();
    FOR_THREADS(thread) join_before(s, index, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) fetch_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    u32 is_loaded = !has_due;
    if (has_due) RUN_PART(wake_due_groups, s, &block, &bodies, substep);
    for (u32 first = block.contacts; first < block.contacts_end; first += THREADS) {
        u32 count = block.contacts_end - first < THREADS ? block.contacts_end - first : THREADS;
        u32 level = s->level[first], last_level = s->level[first + count - 1];
        FOR_THREADS(thread) {
            struct Contact *contact = MINE(own, thread);
            if (!is_loaded && thread < count) load(s, first + thread, rolls, contact);
            if (thread < count && !is_asleep(contact->wake)) {
                struct Motions motions;
                fetch_before(&bodies, contact, &motions);
                prepare(s, &motions, substep, contact);
            }
        }
        is_loaded = 0;
        for (; level <= last_level; level++) {
            FOR_THREADS(thread) {
                struct Contact *contact = MINE(own, thread);
                if (thread < count && contact->level == level && !is_asleep(contact->wake)) {
                    struct Motions motions;
                    fetch_motions(&bodies, contact->bodies, &motions);
                    if (relax(s, &bodies, substep, rolls, contact, &motions)) {
                        store_motions(&bodies, contact->bodies, &motions);
                    }
                    store_row(s, contact);
                }
            }
            BARRIER();
        }
    }
    FOR_THREADS(thread) return_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) spread_after(s, index, thread, THREADS);
}

/* Where no contact resists rolling; with as few registers as twice as many threads have. */
KERNEL(sweep, 2 * SWEEP_THREADS, u32 colour, u32 substep) {
    RUN_PART(sweep_colour, colour, substep, 0);
}

KERNEL(sweep_rolling, SWEEP_THREADS, u32 colour, u32 substep) {
    RUN_PART(sweep_colour, colour, substep, 1);
}

#endif
