/* Rows of a step: what contacts are remembered with, ghosts of walls, and equations, as
 * `esker_world::{history, assemble}`, `esker_contact::spring` and `esker-gpu/src/upload.rs` have
 * them.
 */
#ifndef ESKER_ROWS_H
#define ESKER_ROWS_H

#include "advance.h"
#include "plan.h"

#define SMALLEST_NORMAL 2.2250738585072014e-308
/* Cosine above which a contact on another facet is one that moved on. */
#define SAME_DIRECTION 0.95
/* Contacts of a grain with walls that look for what moved on, at most. */
#define MOST_AT_WALL 64

DEVICE double single(double x) {
    return (double)(float)x;
}

/* Finds what a contact was in the last step; those with walls that were none are listed. */
RESIDENT_KERNEL(rows_recall, Advance) {
    (void)number;
    /* Who makes the step in another way finds everything as it was. */
    if (s->numbers->obstacle) return;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count) {
            const struct Candidate *c = s->chosen + s->order[i];
            u64 other = other_name(s, c);
            u32 entry = s->entry_of[c->grain];
            while (entry != NO_ENTRY && s->history[entry].other != other) {
                entry = s->history[entry].next;
            }
            if (entry != NO_ENTRY) s->history[entry].is_claimed = 1;
            int is_loaded = entry != NO_ENTRY && s->history[entry].impulse[0] > 0.0;
            s->found_entry[i] = is_loaded ? entry : NO_ENTRY;
            if (c->is_wall && !is_loaded) {
                s->next_at_wall[i] = EXCHANGE_U32(s->first_at_wall + c->grain, i);
            }
        }
    }
}

/* `History::claim_moved`, for the contacts of a grain in their order. */
RESIDENT_KERNEL(rows_claim, Advance) {
    (void)number;
    if (s->numbers->obstacle) return;
    FOR_THREADS(thread) {
        FOR_EACH(grain, thread, s->grains->count) {
            u32 list[MOST_AT_WALL], count = 0;
            if (s->first_at_wall[grain] == NOBODY || s->entry_of[grain] == NO_ENTRY) continue;
            for (u32 i = s->first_at_wall[grain]; i != NOBODY; i = s->next_at_wall[i]) {
                if (count == MOST_AT_WALL) {
                    ATOMIC_OR_U32(&s->numbers->obstacle, MANY_AT_WALL);
                    break;
                }
                u32 k = count++;
                for (; k > 0 && list[k - 1] > i; k--) list[k] = list[k - 1];
                list[k] = i;
            }
            for (u32 k = 0; k < count; k++) {
                const struct Candidate *c = s->chosen + s->order[list[k]];
                u32 best = NO_ENTRY;
                for (u32 e = s->entry_of[grain]; e != NO_ENTRY; e = s->history[e].next) {
                    const struct Entry *entry = s->history + e;
                    int is_same_wall = entry->other >> 63 &&
                        (u32)(entry->other >> 32 & 0x7fffffffu) == c->partner;
                    if (!entry->is_claimed && entry->impulse[0] > 0.0 && is_same_wall &&
                        dot(entry->normal, c->normal) > SAME_DIRECTION &&
                        (best == NO_ENTRY || entry->rank < s->history[best].rank)) {
                        best = e;
                    }
                }
                if (best != NO_ENTRY) s->history[best].is_claimed = 1;
                s->found_entry[list[k]] = best;
            }
        }
    }
}

/* Velocity of a wall's surface at a point, belts included. */
DEVICE struct Vector surface_velocity(const struct Wall *wall, struct Vector point,
                                      struct Vector normal) {
    struct Vector velocity = plus(wall_velocity(wall, point), wall->belt);
    return minus(velocity, times(normal, dot(normal, wall->belt)));
}

DEVICE double fifth_root(double x) {
    double g = DOUBLE_OF(BITS_OF(x) / 5 + 0x3325d5ca53e17666ull);
    for (int k = 0; k < 2; k++) {
        double square = g * g;
        g = g - 0.2 * (g - x / (square * square));
    }
    return g;
}

DEVICE float rough_cube_root(float x) {
    float guess = FLOAT_OF(BITS_OF_FLOAT(x) / 3 + 0x2a508c2du);
    return guess - (guess - x / (guess * guess)) * (1.0f / 3.0f);
}

/* The normal row of a contact. */
struct Spring {
    double unit_compliance;
    double min_overlap;
    double cap;
    double damping_factor;
    int is_resolved;
};

struct SpringState {
    double overlap;
    double stiffness;
    double min_overlap;
    double mobility;
    double normal_velocity;
    double closing_speed;
};

DEVICE double damping_factor(double h, double time) {
    return single(1.0 / (1.0 + 4.0 * time / h));
}

/* `SpringLaw::spring`; h is the step of rows. */
DEVICE struct Spring spring_of(const struct Advance *s, const struct Pair *law, double h,
                               struct SpringState state) {
    struct Spring spring;
    double overlap = state.overlap, min_overlap = state.min_overlap, e = law->exponent;
    double linear = state.mobility * state.stiffness;
    double least = law->hertz ? linear * sqrt(larger(overlap, min_overlap)) : linear;
    double time = law->unresolved_time, secant = min_overlap;
    spring.damping_factor = law->unresolved_factor;
    spring.is_resolved = 0;
    if (!(law->is_slow_above_step && least * h * h >= 1.0)) {
        double square = linear, unresolved = law->unresolved_time;
        if (law->hertz) {
            double speed = larger(fabs(state.normal_velocity), state.closing_speed);
            double energy = speed * speed / linear;
            double base = larger(overlap, min_overlap);
            double elastic = base * base * sqrt(base), total = elastic + 1.25 * energy;
            double root = fifth_root(total);
            if (linear * root * h * h <= law->followed_square && law->spent > 0.0) {
                int is_parting =
                    state.normal_velocity > 0.0 && state.normal_velocity >= state.closing_speed;
                double share = elastic / total, passed = 1.0 + 0.6 * (1.0 - share);
                if (!is_parting) {
                    double part = sqrt(share);
                    passed = part * (1.4 - 0.4 * part);
                }
                root *= 1.0 + law->spent * passed;
            }
            square *= root;
            if (s->is_whole_step) {
                double share = clamped(square * h * h - 0.25, 0.0, 1.0);
                double ahead = smaller(root * root, overlap + h * speed * share);
                secant = larger(min_overlap, ahead);
            }
        }
        double phase_square = square * h * h;
        if (!(law->is_slow_above_step && phase_square >= 1.0)) {
            double frequency = sqrt(square);
            double damping = law->has_damping_time ? law->damping_time : law->alpha / frequency;
            int may_be_resolved =
                law->returns_restitution && phase_square <= law->resolved_square;
            double lag = may_be_resolved ? law->lag * h : 0.0;
            double physical = (damping + lag) / e, capped = law->cap * phase_square;
            double uncapped = 0.25 * h * capped / larger(1.0 - capped, SMALLEST_NORMAL);
            double floor = larger(unresolved * smaller(phase_square * phase_square, 1.0),
                                  smaller(uncapped, unresolved));
            time = larger(physical, floor);
            spring.is_resolved = may_be_resolved && physical >= floor;
            spring.damping_factor = damping_factor(h, time);
        }
    }
    double square = state.normal_velocity * state.normal_velocity;
    double cap = law->cap * (1.0 + law->restitution_raise * square / (square + law->still));
    spring.unit_compliance = law->bias_rate * spring.damping_factor / (h * state.stiffness);
    spring.min_overlap = secant;
    spring.cap = single(cap * h / (e * time));
    return spring;
}

DEVICE struct Vector in_plane(struct Vector x, struct Vector normal) {
    return minus(x, times(normal, dot(normal, x)));
}

DEVICE double inverse_of(double x) {
    return x > 0.0 ? 1.0 / x : 0.0;
}

DEVICE struct Vector velocity_in(const double *state, u64 body) {
    return vector(state[8 * body], state[8 * body + 1], state[8 * body + 2]);
}

/* What overlaps add to the report of the step. Those that do not fit a sum of integers are no
 * overlaps of grains: diameters apart by forty powers of ten. */
struct Overlaps {
    u64 limbs[LIMBS];
    u64 max;
    u64 touching;
};

DEVICE void measure_overlap(struct Overlaps *own, double overlap) {
    own->touching += 1;
    if (BITS_OF(overlap) > own->max) own->max = BITS_OF(overlap);
    add_exactly(own->limbs, overlap);
}

/* The rows of contacts, and ghosts of walls. */
RESIDENT_KERNEL(rows_set, Advance) {
    SHARED(struct Overlaps, all);
    struct Step *t = s->step;
    double h = t->step;
    (void)number;
    FOR_THREADS(thread) {
        if (thread < LIMBS) all.limbs[thread] = 0;
        if (thread == 0) all.max = all.touching = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        struct Overlaps overlaps = {{0, 0, 0, 0, 0, 0, 0, 0}, 0, 0};
        FOR_EACH(i, thread, s->count) {
            u32 contact = s->order[i], q = s->place[i];
            /* Of a flat plan contacts have neither blocks nor levels. */
            u32 block = s->kinds ? 0 : s->block_of[i];
            int fits = !s->kinds && s->block_bodies[block] <= s->fitting;
            const struct Candidate *c = s->chosen + contact;
            const struct Pair *pair = pair_of(s, c);
            double arms[2], radius = s->grains->radius[c->grain], rolling_radius, elastic_radius;
            struct Vector point = point_and_arms(s, c, arms), n = c->normal;
            u32 group = s->group_of[i], law = s->group_law[group];
            u64 a = c->grain, b = c->partner;
            u32 local[2] = {0, 0};
            if (!s->kinds) {
                const u32 *of = s->local_bodies + 2 * (u64)s->from[i];
                local[0] = of[0];
                local[1] = of[1] & ~IS_GHOST;
                ((u32 *)t->level)[q] = s->level_of[i];
                ((u32 *)t->group)[q] = group;
            }
            double diameter, at_wall[8];
            if (c->is_wall) {
                const struct Wall *wall = s->walls + c->partner;
                u32 ghost = s->fixed_rank[i] + (s->kinds ? 0 : s->fixed_start[block]);
                b = s->grains->count + ghost;
                struct Vector v = surface_velocity(wall, point, n), w = wall->angular_velocity;
                at_wall[0] = v.x, at_wall[1] = v.y, at_wall[2] = v.z, at_wall[3] = 0.0;
                at_wall[4] = w.x, at_wall[5] = w.y, at_wall[6] = w.z, at_wall[7] = 0.0;
                for (int k = 0; k < 8; k++) t->state[8 * b + k] = R(at_wall[k]);
                rolling_radius = 1.0 / (1.0 / radius + c->curvature);
                elastic_radius = radius;
                diameter = 2.0 * arms[0] + c->overlap;
                ((u32 *)t->tracked)[q] = ghost;
                struct Tracked *tracked = s->tracked + ghost;
                tracked->grain = c->grain;
                tracked->wall = c->partner;
                tracked->feature = c->feature;
                tracked->unused = 0;
                tracked->normal = n;
                tracked->point = point;
                if (fits) ((u32 *)t->body_list)[2 * (u64)s->block_start[block] + local[1]] = (u32)b;
            } else {
                double other = s->grains->radius[c->partner];
                rolling_radius = elastic_radius = radius * other / (radius + other);
                diameter = arms[0] + arms[1] + c->overlap;
                ((u32 *)t->tracked)[q] = UNTRACKED;
            }
            if (c->overlap > 0.0) measure_overlap(&overlaps, c->overlap / diameter);
            const double *own = s->grains->state + 8 * a;
            const double *theirs = c->is_wall ? at_wall : s->grains->state + 8 * b;
            double mobility = own[3] + theirs[3];
            double stiffness = pair->hertz ? pair->stiffness * sqrt(elastic_radius) : pair->stiffness;
            double weight = s->gravity / (mobility * stiffness);
            if (pair->hertz) {
                float root = rough_cube_root((float)weight);
                weight = (double)(root * root);
            }
            struct SpringState state;
            state.overlap = c->overlap;
            state.stiffness = stiffness;
            state.min_overlap = single(larger(0.01 * weight, 1e-12 * diameter));
            state.mobility = mobility;
            state.normal_velocity = dot(n, minus(velocity_in(theirs, 0), velocity_in(own, 0)));
            state.closing_speed = c->approach - s->gravity * s->whole_step;
            struct Spring spring = spring_of(s, pair, h, state);
            double impulse[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            u32 entry = s->found_entry[i];
            if (entry != NO_ENTRY) {
                const double *last = s->history[entry].impulse;
                struct Vector friction = in_plane(vector(last[1], last[2], last[3]), n);
                struct Vector rolling = in_plane(vector(last[4], last[5], last[6]), n);
                impulse[0] = last[0];
                impulse[1] = friction.x, impulse[2] = friction.y, impulse[3] = friction.z;
                impulse[4] = rolling.x, impulse[5] = rolling.y, impulse[6] = rolling.z;
                impulse[7] = last[7];
            }
            s->open_time_of[i] = c->overlap < 0.0 && impulse[0] <= 0.0 ? -c->overlap / c->approach
                                                                       : 0.0;
            ((u32 *)t->contact_bodies)[2 * (u64)q] = fits ? local[0] : (u32)a;
            ((u32 *)t->contact_bodies)[2 * (u64)q + 1] = fits ? local[1] : (u32)b;
            ((u16 *)t->law)[q] = (u16)law;
            t->normal[0][q] = n.x, t->normal[1][q] = n.y, t->normal[2][q] = n.z;
            t->overlap[q] = c->overlap;
            for (int k = 0; k < 2; k++) t->arms[k][q] = arms[k];
            ((real *)t->compliance)[q] = spring.unit_compliance;
            double tangent = own[3] + theirs[3] + arms[0] * arms[0] * own[7] +
                arms[1] * arms[1] * theirs[7];
            float factor = (float)spring.damping_factor;
            ((float *)t->inverse_tangent)[q] =
                (float)single(inverse_of(tangent * (1.0 + s->friction_compliance)));
            ((float *)t->cap)[q] = (float)spring.cap;
            ((float *)t->min_overlap)[q] = (float)spring.min_overlap;
            ((float *)t->damping_factor)[q] = spring.is_resolved ? -factor : factor;
            ((float *)t->closing)[q] = (float)c->approach;
            t->impulse[q] = impulse[0];
            for (int k = 0; k < 3; k++) t->friction[k][q] = impulse[1 + k];
            if (s->rolls) {
                ((real *)t->rolling_limit)[q] = pair->rolling * rolling_radius * 1.0;
                ((real *)t->twisting_limit)[q] = pair->twisting * rolling_radius * 1.0;
                ((real *)t->inverse_rolling)[q] =
                    inverse_of((own[7] + theirs[7]) * (1.0 + s->rolling_compliance));
                for (int k = 0; k < 3; k++) t->rolling[k][q] = impulse[4 + k];
                t->twisting[q] = impulse[7];
            }
        }
        FOR_EACH(i, thread, 8 * s->grains->count) { t->state[i] = R(s->grains->state[i]); }
        for (int k = 0; k < LIMBS; k++) WARP_ADD_U64(all.limbs + k, overlaps.limbs[k]);
        WARP_ADD_U64(&all.touching, overlaps.touching);
        WARP_MAX_U64(&all.max, overlaps.max);
    }
    BARRIER();
    FOR_THREADS(thread) {
        if (thread < LIMBS && all.limbs[thread]) {
            ATOMIC_ADD_U64(s->numbers->overlap_sum + thread, all.limbs[thread]);
        }
        if (thread == 0) {
            ATOMIC_ADD_U32(&s->numbers->touching, (u32)all.touching);
            ATOMIC_MAX_U64(&s->numbers->max_overlap, all.max);
        }
    }
}

/* What groups have in common. There are places for as many as there are contacts. */
RESIDENT_KERNEL(rows_groups, Advance) {
    struct Step *t = s->step;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(g, thread, s->count) {
            double open_time = DOUBLE_OF(0x7ff0000000000000ull);
            u32 last_body = 0;
            for (u32 i = s->group_start[g]; i < s->group_end[g]; i++) {
                const struct Candidate *c = s->chosen + s->order[i];
                /* Ghosts come after all grains; which one does not matter. */
                u32 other = c->is_wall ? s->grains->count : c->partner;
                open_time = smaller(open_time, s->open_time_of[i]);
                if (c->grain > last_body) last_body = c->grain;
                if (other > last_body) last_body = other;
            }
            ((double *)t->open_time)[g] = open_time;
            ((u32 *)t->last_body)[g] = last_body;
        }
    }
}

#endif
