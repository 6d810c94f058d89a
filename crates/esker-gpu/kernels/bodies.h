/* Passes over all bodies: as a step begins and ends, and before every substep. */
#ifndef ESKER_BODIES_H
#define ESKER_BODIES_H

#include "sleep.h"

/* Lets a body fall, or accelerates it otherwise. */
DEVICE void fall(const struct Step *s, u32 i, real *body) {
    if (body[3] > R(0.0)) {
        for (int k = 0; k < 3; k++) body[k] += R(s->fall[k]);
    }
    u32 entry = i - s->first_acceleration;
    if (i >= s->first_acceleration && entry < s->accelerations) {
        const real *rate = s->acceleration + 6 * (u64)entry;
        for (int k = 0; k < 3; k++) {
            body[k] += rate[k] * R(s->step);
            body[4 + k] += rate[3 + k] * R(s->step);
        }
    }
}

/* Puts groups to sleep, and begins what is summed over a step. */
PART_OF_KERNEL(begin_contacts, const struct Step *s) {
    FOR_THREADS(thread) {
        FOR_EACH(g, thread, s->groups) {
            double substeps = s->open_time[g] / s->step;
            u32 wake = after(0, MIN(substeps, s->longest_sleep));
            if (wake >= s->substeps) wake = ASLEEP_ALL_STEP;
            /* Looks at sleeping groups need what both bodies moved. */
            s->wake[g] = s->last_body[g] < s->movable ? wake : 0;
        }
        FOR_EACH(k, thread, s->substeps + 1) s->impact_counts[k] = 0;
        FOR_EACH(c, thread, s->contacts) s->is_impact[c] = 0;
        FOR_EACH(k, thread, 8 * s->tracked_contacts) s->sums[k] = R(0.0);
        FOR_EACH(k, thread, 4 * s->loss_sums) s->loss_sum[k] = R(0.0);
    }
}

/* Begins a step: remembers velocities, lets bodies fall, puts groups to sleep. */
KERNEL(begin_step, BODY_THREADS) {
    const struct Step *s = STEP;
    LET_NEXT_KERNEL_BEGIN();
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->bodies) {
            real *body = s->state + 8 * (u64)i;
            for (int k = 0; k < 8; k++) s->before[8 * (u64)i + k] = body[k];
            fall(s, i, body);
            if (i < s->movable) {
                for (int k = 0; k < 8; k++) s->moved[8 * (u64)i + k] = R(0.0);
                s->impacted[i] = 0;
            }
        }
    }
    RUN_PART(begin_contacts, s);
}

/* Whether a body may have contacts with colours from this one on; of plans that are not flat, and of
 * those whose host does not say, every body may. */
DEVICE u32 is_swept_late(const struct Step *s, u32 body, u32 colour) {
    if (!s->colours_of) return 1;
    return colour < MOST_COLOURS && s->colours_of[body] >> colour != 0;
}

/* Bodies are passed over by two of their eight numbers, so that neighbours fetch what lies side by
 * side. */
#define TWOS_OF_BODY 4

/* What no sweep writes of two numbers. */
struct Repeat {
    real before[2];
    real moved[2];
};

DEVICE void fetch_repeat(const struct Step *s, u32 two, struct Repeat *repeat) {
    LOAD_TWO(s->before + 2 * (u64)two, repeat->before);
    LOAD_TWO_STREAMED(s->moved + 2 * (u64)two, repeat->moved);
}

/* Equation (1) of `substep` for two of a body's numbers. */
DEVICE void repeat_two(const struct Step *s, u32 substep, u32 two, const struct Repeat *repeat) {
    u32 i = two / TWOS_OF_BODY, part = two % TWOS_OF_BODY;
    u64 at = 2 * (u64)two;
    real now[2], moved[2], next[2];
    LOAD_TWO(s->state + at, now);
    /* Bodies with copies have to be joined before. */
    int is_subtracted = FRESH(s->impact_counts + substep - 1) && FRESH(s->impacted + i) == substep;
    for (u32 k = 0; is_subtracted && k < s->originals; k++) {
        is_subtracted = s->original[k].body != i;
    }
    for (u32 k = 0; k < 2; k++) {
        next[k] = now[k];
        moved[k] = repeat->moved[k];
        /* Masses are last. */
        if (part % 2 == 1 && k == 1) continue;
        next[k] = now[k] + (now[k] - repeat->before[k]);
        if (is_subtracted) {
            u32 axis = 3 * (part / 2) + 2 * (part % 2) + k;
            next[k] = next[k] - FRESH(s->change + 6 * (u64)i + axis);
        }
        moved[k] += now[k];
    }
    STREAM_TWO(s->moved + at, moved);
    STORE_TWO(s->before + at, now);
    STORE_TWO(s->state + at, next);
}

/* Every body changes by as much as in the substep before, without what impacts changed. Bodies that
 * none of the last colours of a flat plan, from this one on, has contacts with need not wait for the
 * kernel that sweeps these. Two numbers a thread. */
KERNEL(repeat_changes, BODY_THREADS, u32 substep, u32 last_colours) {
    const struct Step *s = STEP;
    OWN(u32, has_late);
    FOR_THREADS(thread) {
        *MINE(has_late, thread) = 0;
        FOR_EACH(two, thread, TWOS_OF_BODY * s->movable) {
            if (is_swept_late(s, two / TWOS_OF_BODY, last_colours)) {
                *MINE(has_late, thread) = 1;
                continue;
            }
            struct Repeat repeat;
            fetch_repeat(s, two, &repeat);
            repeat_two(s, substep, two, &repeat);
        }
    }
    FOR_THREADS(thread) {
        if (!*MINE(has_late, thread)) continue;
        FOR_EACH(two, thread, TWOS_OF_BODY * s->movable) {
            if (!is_swept_late(s, two / TWOS_OF_BODY, last_colours)) continue;
            struct Repeat repeat;
            fetch_repeat(s, two, &repeat);
            WAIT_FOR_KERNELS_BEFORE();
            LET_NEXT_KERNEL_BEGIN();
            repeat_two(s, substep, two, &repeat);
        }
    }
    WAIT_FOR_KERNELS_BEFORE();
}

/* Ends a step: the last substep's velocities join the sums. */
KERNEL(finish_step, BODY_THREADS) {
    const struct Step *s = STEP;
    WAIT_FOR_KERNELS_BEFORE();
    FOR_THREADS(thread) {
        u32 first = THREAD_BLOCK * THREADS + thread, all = THREAD_BLOCKS * THREADS;
        for (u32 i = first; i < s->movable; i += all) {
            for (int k = 0; k < 3; k++) {
                s->moved[8 * (u64)i + k] += s->state[8 * (u64)i + k];
                s->moved[8 * (u64)i + 4 + k] += s->state[8 * (u64)i + 4 + k];
            }
        }
    }
}

#endif
