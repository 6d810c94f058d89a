/* The field of mean velocities and how far grains reach: what `reach.rs` computes. */
#ifndef ESKER_FIELD_H
#define ESKER_FIELD_H

#include "primitives.h"
#include "touches.h"

/* Unit of summed velocities. */
#define QUANTUM (1.0 / 16777216.0)
#define IMPACT_REACH_RADII 0.35
/* Grains that may get to cells farther away than this are taken to get anywhere. */
#define CELLS_FOLLOWED 6.0
#define SPREAD_DECAY 0.5
/* Of `longest_sleep`. */
#define UNSEEN_MOTION 0.01
#define MIN_LONGEST_SLEEP 2.0

/* Forgets the last step, and finds the cell of every grain. */
RESIDENT_KERNEL(field_begin, Find) {
    u32 count = s->grains->count;
    (void)number;
    FOR_THREADS(thread) {
        if (THREAD_BLOCK == 0 && thread == 0) {
            struct FindNumbers *n = s->numbers;
            for (int k = 0; k < 4; k++) n->sums[k] = 0;
            n->deviation = n->far = n->hit_anywhere = n->difference = n->longest_reach = 0;
            n->cells = n->in_reach = n->placed = n->wide = n->levels = 0;
            n->has_impacts = n->found = n->chosen = 0;
        }
        FOR_EACH(slot, thread, s->mask + 1) {
            const struct GridCell nothing = {0, 0, 0};
            s->table[slot] = NOBODY;
            s->grid[slot] = nothing;
        }
        FOR_EACH(k, thread, 6 * count) s->rising[k] = 0;
        FOR_EACH(k, thread, s->side_words * count) s->sides[k] = 0;
        FOR_EACH(i, thread, count) {
            struct Vector x = vector_at(s->grains->position, i);
            int *at = s->at + 3 * (u64)i;
            at[0] = cell_coordinate(x.x * s->cells_per_metre);
            at[1] = cell_coordinate(x.y * s->cells_per_metre);
            at[2] = cell_coordinate(x.z * s->cells_per_metre);
            s->impacted[i] = 0;
        }
    }
}

RESIDENT_KERNEL(field_claim, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            int is_first;
            u32 slot = claim_slot(s->table, s->mask, s->at, i, &is_first);
            s->slot_of[i] = slot;
            if (is_first) {
                u32 cell = FETCH_ADD_U32(&s->numbers->cells, 1);
                struct FieldCell *c = s->cells + cell;
                s->number_of_slot[slot] = cell;
                for (int k = 0; k < 4; k++) c->sums[k] = 0;
                for (int k = 0; k < 3; k++) c->at[k] = s->at[3 * (u64)i + k];
                c->pushes = c->deviation = 0;
                c->far_speed = c->far_reach = c->hit = 0;
                c->around_count = 0;
            }
        }
    }
}

RESIDENT_KERNEL(field_sum, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            u32 cell = s->number_of_slot[s->slot_of[i]];
            s->cell_of[i] = cell;
            struct Vector v = over(velocity_of(s->grains, i), QUANTUM);
            u64 *sums = s->cells[cell].sums;
            ATOMIC_ADD_U64(&sums[0], (u64)whole_number(v.x));
            ATOMIC_ADD_U64(&sums[1], (u64)whole_number(v.y));
            ATOMIC_ADD_U64(&sums[2], (u64)whole_number(v.z));
            ATOMIC_ADD_U64(&sums[3], 1);
        }
    }
}

DEVICE struct Vector mean_velocity(const u64 *sums) {
    double factor = QUANTUM / (double)(sums[3] > 1 ? sums[3] : 1);
    struct Vector sum = {(double)(long long)sums[0], (double)(long long)sums[1],
                         (double)(long long)sums[2]};
    return times(sum, factor);
}

/* Means of the cells, sums of all, and who is around each: a thread per row of three cells along x.
 * These are listed in no order. */
RESIDENT_KERNEL(field_means, Find) {
    u32 cells = s->numbers->cells;
    (void)number;
    FOR_THREADS(thread) {
        u64 sums[4] = {0, 0, 0, 0};
        FOR_EACH(item, thread, ROWS_AROUND * cells) {
            if (item < cells) {
                struct FieldCell *own = s->cells + item;
                own->velocity = mean_velocity(own->sums);
                for (int j = 0; j < 4; j++) sums[j] += own->sums[j];
            }
            struct FieldCell *c = s->cells + item / ROWS_AROUND;
            int row = (int)(item % ROWS_AROUND);
            u32 numbers[3], count = 0;
            for (int x = -1; x <= 1; x++) {
                int at[3] = {c->at[0] + x, c->at[1] + row % 3 - 1, c->at[2] + row / 3 - 1};
                u32 slot = find_slot(s->table, s->mask, s->at, at);
                numbers[x + 1] = slot == NOBODY ? NOBODY : s->number_of_slot[slot];
                count += slot != NOBODY;
            }
            u32 place = count > 0 ? FETCH_ADD_U32(&c->around_count, count) : 0;
            for (int k = 0; k < 3; k++) {
                if (numbers[k] != NOBODY) c->around[place++] = numbers[k];
            }
        }
        for (int j = 0; j < 4; j++) WARP_ADD_U64(&s->numbers->sums[j], sums[j]);
    }
}

/* Largest distance of a cell's velocity from the mean. */
RESIDENT_KERNEL(field_spread_of_cells, Find) {
    u32 cells = s->numbers->cells;
    (void)number;
    FOR_THREADS(thread) {
        struct Vector mean = mean_velocity(s->numbers->sums);
        double most = 0.0;
        FOR_EACH(k, thread, cells) most = larger(most, distance(s->cells[k].velocity, mean));
        WARP_MAX_U64(&s->numbers->deviation, most > 0.0 ? BITS_OF(most) : 0);
    }
}

/* How far a grain of this speed among all reaches from its centre. */
DEVICE double reach_among_all(const struct Find *s, double speed, u32 i) {
    double radius = s->grains->radius[i];
    double beyond = beyond_surface(&s->reach, radius, speed + 0.0, IMPACT_REACH_RADII * radius);
    return radius + beyond;
}

/* Whether a grain does not get beyond the cells around its own. */
DEVICE int stays_near(const struct Find *s, struct Vector mean, u32 i) {
    double square = distance_squared(velocity_of(s->grains, i), mean);
    return square < s->slow || reach_among_all(s, sqrt(square), i) <= 0.5 * s->edge;
}

RESIDENT_KERNEL(field_deviations, Find) {
    (void)number;
    FOR_THREADS(thread) {
        struct Vector mean = mean_velocity(s->numbers->sums);
        double far = 0.0, deviation = DOUBLE_OF(s->numbers->deviation);
        FOR_EACH(i, thread, s->grains->count) {
            struct FieldCell *cell = s->cells + s->cell_of[i];
            struct Vector velocity = velocity_of(s->grains, i);
            double apart = distance(velocity, cell->velocity);
            if (apart > 0.0) ATOMIC_MAX_U64(&cell->deviation, BITS_OF(apart));
            if (stays_near(s, mean, i)) continue;
            double among_all = distance(velocity, mean);
            double speed = among_all + deviation, reach = reach_among_all(s, among_all, i);
            ATOMIC_MAX_U64(&cell->far_speed, BITS_OF(speed));
            ATOMIC_MAX_U64(&cell->far_reach, BITS_OF(reach));
            far = larger(far, speed);
        }
        WARP_MAX_U64(&s->numbers->far, far > 0.0 ? BITS_OF(far) : 0);
    }
}

/* Tells the cells that far grains of a cell may get to. */
RESIDENT_KERNEL(field_hit, Find) {
    u32 cells = s->numbers->cells;
    (void)number;
    if (s->numbers->far == 0) return;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, cells) {
            const struct FieldCell *cell = s->cells + k;
            if (cell->far_speed == 0) continue;
            double away = ceil(DOUBLE_OF(cell->far_reach) / s->edge + 0.5);
            int is_anywhere = !(away <= CELLS_FOLLOWED);
            for (int j = 0; j < 3; j++) {
                if (cell->at[j] == FARTHEST_CELL || cell->at[j] == -FARTHEST_CELL) is_anywhere = 1;
            }
            if (is_anywhere) {
                ATOMIC_MAX_U64(&s->numbers->hit_anywhere, cell->far_speed);
                continue;
            }
            int n = (int)away;
            for (int z = -n; z <= n; z++) {
                for (int y = -n; y <= n; y++) {
                    for (int x = -n; x <= n; x++) {
                        int at[3] = {cell->at[0] + x, cell->at[1] + y, cell->at[2] + z};
                        u32 slot = find_slot(s->table, s->mask, s->at, at);
                        if (slot == NOBODY) continue;
                        ATOMIC_MAX_U64(&s->cells[s->number_of_slot[slot]].hit, cell->far_speed);
                    }
                }
            }
        }
    }
}

/* Largest speed at which grains of a cell can meet walls. */
DEVICE double speed_at_walls(const struct Find *s, const struct FieldCell *cell,
                             double deviation) {
    const double half_diagonal = 0.5 * sqrt(3.0) * s->edge;
    struct Vector centre = {0.0 + ((double)cell->at[0] + 0.5) * s->edge,
                            0.0 + ((double)cell->at[1] + 0.5) * s->edge,
                            0.0 + ((double)cell->at[2] + 0.5) * s->edge};
    int is_wide = 0;
    for (int k = 0; k < 3; k++) {
        if (cell->at[k] == FARTHEST_CELL || cell->at[k] == -FARTHEST_CELL) is_wide = 1;
    }
    double most = 0.0;
    for (u32 w = 0; w < s->grains->walls; w++) {
        const struct Wall *wall = s->walls + w;
        if (!wall->is_present) continue;
        double turning = length(wall->angular_velocity) * half_diagonal;
        double sliding = distance(cell->velocity, wall_velocity(wall, centre));
        double speed = sliding + deviation + turning;
        double near = half_diagonal + 0.5 * s->edge + s->reach.step * speed;
        if (is_wide || !is_clear_of(wall, to_local(wall, centre), near)) most = larger(most, speed);
    }
    return most;
}

/* Compares every cell with those around it and with the walls near it. */
RESIDENT_KERNEL(field_compare, Find) {
    u32 cells = s->numbers->cells;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, cells) {
            struct FieldCell *cell = s->cells + k;
            double difference = 0.0, deviation = 0.0;
            for (u32 j = 0; j < cell->around_count; j++) {
                const struct FieldCell *there = s->cells + cell->around[j];
                difference = larger(difference, distance(cell->velocity, there->velocity));
                deviation = larger(deviation, DOUBLE_OF(there->deviation));
            }
            double at_walls = speed_at_walls(s, cell, deviation);
            double hit = larger(DOUBLE_OF(cell->hit), DOUBLE_OF(s->numbers->hit_anywhere));
            cell->half_difference = 0.5 * difference;
            s->bound[0][k] = larger(larger(difference + 2.0 * deviation, at_walls), hit);
        }
    }
}

/* Passes a bound on to the cells around. `number`: which of the four arrays is read. */
RESIDENT_KERNEL(field_spread, Find) {
    u32 cells = s->numbers->cells;
    const double *from = s->bound[number];
    double *to = s->bound[number ^ 1];
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, cells) {
            const struct FieldCell *cell = s->cells + k;
            double most = 0.0;
            for (u32 j = 0; j < cell->around_count; j++) {
                double bound = from[cell->around[j]];
                most = bound > most ? bound : most;
            }
            to[k] = larger(from[k], SPREAD_DECAY * most);
        }
    }
}

/* How far impacts may move a grain within the step. */
DEVICE double impact_motion(const struct Find *s, u32 i) {
    double difference = s->bound[DIFFERENCE][s->cell_of[i]];
    return s->reach.step * (1.0 + s->reach.restitution) * difference;
}

/* How far grains reach. */
RESIDENT_KERNEL(field_reaches, Find) {
    SHARED(double, most[2][RESIDENT_THREADS]);
    (void)number;
    FOR_THREADS(thread) {
        struct Vector mean = mean_velocity(s->numbers->sums);
        double far = DOUBLE_OF(s->numbers->far), deviation = DOUBLE_OF(s->numbers->deviation);
        double longest = 0.0, difference = 0.0;
        FOR_EACH(k, thread, s->numbers->cells) {
            difference = larger(difference, s->bound[DIFFERENCE][k]);
        }
        FOR_EACH(i, thread, s->grains->count) {
            double radius = s->grains->radius[i];
            struct Vector velocity = velocity_of(s->grains, i);
            const struct FieldCell *cell = s->cells + s->cell_of[i];
            double impact_reach = smaller(impact_motion(s, i), IMPACT_REACH_RADII * radius);
            double speed = distance(velocity, cell->velocity) + cell->half_difference + 0.0;
            if (!(far == 0.0 || stays_near(s, mean, i))) {
                double of_others = smaller(deviation, 0.5 * s->edge / s->reach.step);
                speed = larger(speed, distance(velocity, mean) + of_others + 0.0);
            }
            double reach = radius + beyond_surface(&s->reach, radius, speed, impact_reach);
            s->impact_reach[i] = impact_reach;
            s->reaches[i] = reach;
            longest = larger(longest, reach);
        }
        most[0][thread] = difference;
        most[1][thread] = longest;
    }
    BARRIER();
    for (u32 half = RESIDENT_THREADS / 2; half > 0; half /= 2) {
        FOR_THREADS(thread) {
            if (thread < half) {
                for (int k = 0; k < 2; k++) {
                    most[k][thread] = larger(most[k][thread], most[k][thread + half]);
                }
            }
        }
        BARRIER();
    }
    FOR_THREADS(thread) {
        if (thread == 0) {
            ATOMIC_MAX_U64(&s->numbers->difference, BITS_OF(most[0][0]));
            ATOMIC_MAX_U64(&s->numbers->longest_reach, BITS_OF(most[1][0]));
        }
    }
}

#endif
