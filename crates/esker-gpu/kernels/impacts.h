/* Impacts within the step and the pairs that are chosen: what `impact_prediction.rs` and the end
 * of `collide.rs` compute. */
#ifndef ESKER_IMPACTS_H
#define ESKER_IMPACTS_H

#include "pairs.h"

#define FAINT 0.125
#define PUSHED_MARGIN 0.1
#define PUSHED_PART 0.5

DEVICE u32 found_count(const struct Find *s) {
    u32 found = s->numbers->found;
    return found < s->room ? found : s->room;
}

DEVICE u32 side_index(u32 axis, double x) {
    return 2 * axis + (x < 0.0);
}

DEVICE void raise_change(const struct Find *s, u32 grain, struct Vector change) {
    for (u32 axis = 0; axis < 3; axis++) {
        double x = component(change, (int)axis);
        u32 bits = BITS_OF_FLOAT((float)fabs(x));
        u32 *now = s->rising + 6 * (u64)grain + side_index(axis, x);
        if (*now < bits) ATOMIC_MAX_U32(now, bits);
    }
    if (!s->impacted[grain]) s->impacted[grain] = 1;
}

DEVICE void predict(const struct Find *s, const struct Candidate *pair, double speed) {
    /* Grains of pairs that do not close need not be looked at. */
    if (!(speed > 0.0)) return;
    double faint = FAINT * s->reach.margin * min_diameter(s->grains, pair);
    double closing = s->reach.step * closing_speed(&s->reach, speed, pair->normal);
    if (!(s->reach.step * speed > faint && -pair->overlap < closing)) return;
    struct Vector change = times(pair->normal, (1.0 + s->reach.restitution) * speed);
    raise_change(s, pair->grain, negative(change));
    if (!pair->is_wall) raise_change(s, pair->partner, change);
    if (!s->numbers->has_impacts) s->numbers->has_impacts = 1;
}

DEVICE double change_along(const struct Find *s, u32 grain, struct Vector direction) {
    if (!s->impacted[grain]) return 0.0;
    const u32 *sides = s->changes + 6 * (u64)grain;
    double parts[3];
    for (u32 axis = 0; axis < 3; axis++) {
        double n = component(direction, (int)axis);
        parts[axis] = fabs(n) * (double)FLOAT_OF(sides[side_index(axis, n)]);
    }
    return parts[0] + parts[1] + parts[2];
}

DEVICE double velocity_change(const struct Find *s, const struct Candidate *pair) {
    double partner =
        pair->is_wall ? 0.0 : change_along(s, pair->partner, negative(pair->normal));
    return larger(change_along(s, pair->grain, pair->normal), partner);
}

RESIDENT_KERNEL(impacts_find, Find) {
    u32 found = found_count(s);
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, found) predict(s, s->found + k, s->found[k].approach);
    }
}

/* What impacts amount to so far. */
RESIDENT_KERNEL(impacts_keep, Find) {
    (void)number;
    if (!s->numbers->has_impacts) return;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, 6 * s->grains->count) s->changes[k] = s->rising[k];
    }
}

RESIDENT_KERNEL(pushes_sum, Find) {
    (void)number;
    if (!s->numbers->has_impacts) return;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            if (!s->impacted[i]) continue;
            const u32 *sides = s->rising + 6 * (u64)i;
            double most[3];
            for (u32 axis = 0; axis < 3; axis++) {
                float up = FLOAT_OF(sides[2 * axis]), down = FLOAT_OF(sides[2 * axis + 1]);
                most[axis] = (double)(down > up ? down : up);
            }
            double change = length(vector(most[0], most[1], most[2]));
            ATOMIC_ADD_U64(&s->cells[s->cell_of[i]].pushes, (u64)whole_number(change / QUANTUM));
        }
    }
}

RESIDENT_KERNEL(pushes_bound, Find) {
    u32 cells = s->numbers->cells;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, cells) {
            const struct FieldCell *cell = s->cells + k;
            u64 count = cell->sums[3] > 1 ? cell->sums[3] : 1;
            double mean = (double)(long long)cell->pushes * (QUANTUM / (double)count);
            s->bound[2][k] = s->layers * mean;
        }
    }
}

RESIDENT_KERNEL(impacts_propagate, Find) {
    u32 found = found_count(s);
    (void)number;
    if (!s->numbers->has_impacts) return;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, found) {
            const struct Candidate *pair = s->found + k;
            predict(s, pair, pair->approach + velocity_change(s, pair));
        }
    }
}

/* Leaves the candidates that may become contacts within the step. */
RESIDENT_KERNEL(choose, Find) {
    SHARED(struct Together, together);
    OWN(struct Candidate, own);
    OWN(u32, own_rank);
    u32 found = found_count(s);
    u32 has_impacts = s->numbers->has_impacts;
    const struct Reach *reach = &s->reach;
    (void)number;
    FOR_THREADS(thread) {
        if (THREAD_BLOCK == 0 && thread == 0) {
            double far = DOUBLE_OF(s->numbers->far), all = DOUBLE_OF(s->numbers->difference);
            double speed = 2.0 * larger(far, all) + reach->fall_length;
            double motion = (reach->step * speed + reach->cohesive_gap) / s->smallest;
            s->numbers->longest_sleep =
                larger(UNSEEN_MOTION * s->substeps / motion, MIN_LONGEST_SLEEP);
        }
        if (thread == 0) together.count = 0;
    }
    BARRIER();
    for (u32 first = THREAD_BLOCK * THREADS; first < found; first += THREAD_BLOCKS * THREADS) {
        FOR_THREADS(thread) {
            u32 k = first + thread;
            *MINE(own_rank, thread) = NOBODY;
            if (k >= found) continue;
            struct Candidate c = s->found[k];
            if (has_impacts) c.approach = c.approach + velocity_change(s, &c);
            c.approach = closing_speed(reach, c.approach, c.normal);
            double closing = reach->step * c.approach;
            double gap = -c.overlap - reach->cohesive_gap;
            int is_chosen = gap < closing;
            /* Sizes matter to those alone that do not close within the step. */
            if (!is_chosen) {
                double diameter = min_diameter(s->grains, &c);
                double near = larger(reach->margin * diameter, closing);
                is_chosen = gap < near;
                if (has_impacts && gap >= near && gap < PUSHED_MARGIN * diameter && !c.is_wall) {
                    double motion = reach->step * s->bound[PUSH][s->cell_of[c.grain]]
                        + reach->step * s->bound[PUSH][s->cell_of[c.partner]];
                    is_chosen = motion > PUSHED_PART * PUSHED_MARGIN * diameter;
                }
            }
            if (!is_chosen) continue;
            *MINE(own, thread) = c;
            *MINE(own_rank, thread) = FETCH_ADD_U32(&together.count, 1);
        }
        APPEND_TOGETHER(s, together, own, own_rank, s->chosen, &s->numbers->chosen);
    }
}

#endif
