/* A close look at a step that was made: the residual of its last substep, as
 * `esker_solver::block_residual` has it, and errors, as `esker_world::errors` has them. Records
 * are field by field as `src/resident/look.rs` has them.
 *
 * What is added up is first written down, number by number, and then summed as integers; what a
 * share of all exceeds is found digit by digit.
 */
#ifndef ESKER_LOOK_H
#define ESKER_LOOK_H

#include "exact_sum.h"
#include "rows.h"

/* Rounding of relative velocities over velocities of bodies: 16 times the last bit. */
#define ROUNDING_SHARE (16.0 * 2.220446049250313e-16)
/* What is summed. */
#define RESIDUAL_SUMS 5
#define ERROR_SUMS 6
#define TRAVEL_SUMS 2
#define SUM_RESIDUAL 0u
#define SUM_ERRORS 1u
#define SUM_TRAVEL 2u
/* Numbers that a thread sums. */
#define SUMMED_BY_THREAD 16
/* Lists that a number is chosen of: excess between grains, on walls, and slip. */
#define LISTS 3
#define BINS 256
/* What limbs do not hold. */
#define BEYOND_POSITIVE 1u
#define BEYOND_NEGATIVE 2u
#define BEYOND_NUMBERS 4u

struct ExactSum {
    u64 limbs[LIMBS];
    u32 beyond;
    u32 unused;
};

/* The search for a number of a list. */
struct Selection {
    /* Digits found so far, and the place among the numbers that begin with them. */
    u32 prefix;
    u32 place;
    /* Numbers of the list, and whether there is one to be found. */
    u32 count;
    u32 is_there;
};

struct LookNumbers {
    struct ExactSum residual[RESIDUAL_SUMS];
    /* Excess; work, softened, relaxed, exponent, stored. */
    struct ExactSum errors[ERROR_SUMS];
    struct ExactSum travel[TRAVEL_SUMS];
    /* Bits of the largest excess, and below them how far its contact is from the last one. */
    u64 worst;
    double worst_overlap;
    u32 worst_grain;
    u32 worst_is_wall;
    u32 worst_partner;
    u32 unused;
    struct Selection selection[LISTS];
};

struct Look {
    const struct Advance *advance;
    struct LookNumbers *numbers;
    double relaxed;
    double sticking;
    double shares[LISTS];
    /* Numbers that are summed, list by list. */
    double *values;
    /* Numbers that are chosen of, ascending as integers; zero for none. */
    u32 *keys;
    u32 *bins;
};

RESIDENT_KERNEL(look_begin, Look) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, (u32)(sizeof(struct LookNumbers) / sizeof(u64))) {
            ((u64 *)s->numbers)[i] = 0;
        }
        FOR_EACH(i, thread, LISTS * BINS) s->bins[i] = 0;
    }
}

DEVICE struct Vector vector_of(const real *numbers) {
    return vector(numbers[0], numbers[1], numbers[2]);
}

/* A body as the residual sees it. */
struct Motion {
    struct Vector velocity;
    struct Vector spin;
    double inverse_mass;
    double inverse_inertia;
};

DEVICE struct Motion motion_at(const real *velocities, const real *state, u64 body) {
    const real *v = velocities + 8 * body;
    struct Motion motion;
    motion.velocity = vector(v[0], v[1], v[2]);
    motion.spin = vector(v[4], v[5], v[6]);
    motion.inverse_mass = state[8 * body + 3];
    motion.inverse_inertia = state[8 * body + 7];
    return motion;
}

/* (1) of `body_residual`. */
struct NaturalMap {
    struct Vector normal;
    double arms[2];
    double friction;
    double target;
    double compliance;
    double tangent_compliance;
    double d;
};

DEVICE void set_mobility(struct NaturalMap *map, double compliance, double tangent,
                         const struct Motion *bodies) {
    const struct Motion *a = bodies, *b = bodies + 1;
    double s_t = a->inverse_mass + b->inverse_mass + map->arms[0] * map->arms[0] * a->inverse_inertia
        + map->arms[1] * map->arms[1] * b->inverse_inertia;
    double d_n = a->inverse_mass + b->inverse_mass + compliance;
    map->compliance = compliance;
    map->tangent_compliance = tangent * s_t;
    map->d = (d_n + 2.0 * (s_t + map->tangent_compliance)) / 3.0;
}

DEVICE void project_cone(double n, struct Vector t, double mu, double *to_n, struct Vector *to_t) {
    double slip = length(t);
    if (n >= 0.0 && slip <= mu * n) {
        *to_n = n;
        *to_t = t;
    } else if (mu * slip <= -n) {
        *to_n = 0.0;
        *to_t = vector(0.0, 0.0, 0.0);
    } else {
        *to_n = (n + mu * slip) / (1.0 + mu * mu);
        *to_t = times(t, mu * *to_n / slip);
    }
}

/* `d|R|²` of an impulse and the bodies that it leaves. */
DEVICE double weighed(const struct NaturalMap *map, const struct Motion *bodies, double p,
                      struct Vector p_t) {
    const struct Motion *a = bodies, *b = bodies + 1;
    struct Vector n = map->normal, friction;
    struct Vector turning = plus(times(a->spin, map->arms[0]), times(b->spin, map->arms[1]));
    struct Vector u = minus(minus(b->velocity, a->velocity), cross(turning, n));
    double u_n = dot(n, u), normal;
    struct Vector u_t = plus(minus(u, times(n, u_n)), times(p_t, map->tangent_compliance));
    double shifted = u_n + map->compliance * p - map->target + map->friction * length(u_t);
    project_cone(p - shifted / map->d, minus(p_t, over(u_t, map->d)), map->friction, &normal,
                 &friction);
    struct Vector rest = minus(p_t, friction);
    return map->d * ((p - normal) * (p - normal) + dot(rest, rest));
}

/* What a contact adds to the sums of a residual: current, start, weight, carried, rounding. */
DEVICE void add_residual(const struct Advance *s, u32 group, u32 i, double *sums) {
    const struct Step *t = s->step;
    const struct Candidate *c = s->chosen + s->order[i];
    const struct Law *law = t->laws + s->group_law[group];
    const struct Vector none = vector(0.0, 0.0, 0.0);
    u32 q = s->place[i], wake = t->wake[group];
    u64 body[2];
    body[0] = c->grain;
    body[1] = c->is_wall ? s->grains->count + t->tracked[q] : c->partner;
    struct Vector n = vector(t->normal[0][q], t->normal[1][q], t->normal[2][q]);
    struct Vector fall = vector(t->fall[0], t->fall[1], t->fall[2]);
    double overlap = t->overlap[q], factor = fabs((double)t->damping_factor[q]);
    struct Motion now[2], free[2];
    struct NaturalMap map;
    for (int k = 0; k < 2; k++) {
        now[k] = motion_at(t->state, t->state, body[k]);
        free[k] = motion_at(t->before, t->state, body[k]);
        map.arms[k] = t->arms[k][q];
    }
    if (wake != 0 && wake < WOKEN) {
        /* As it was at the start of the step. */
        struct Vector a = minus(vector_of(t->moved + 8 * body[0]), now[0].velocity);
        struct Vector b = minus(vector_of(t->moved + 8 * body[1]), now[1].velocity);
        overlap -= t->step * dot(n, minus(b, a));
    }
    double u_n = dot(n, minus(free[1].velocity, free[0].velocity));
    for (int k = 0; k < 2; k++) {
        if (free[k].inverse_mass > 0.0) free[k].velocity = plus(free[k].velocity, fall);
    }
    map.normal = n;
    map.friction = law->friction;
    if (t->is_impact[q]) {
        map.target = -law->restitution * u_n;
        set_mobility(&map, 0.0, 0.0, free);
        sums[1] += weighed(&map, free, 0.0, none);
        return;
    }
    double mobility = now[0].inverse_mass + now[1].inverse_mass;
    double bias_rate = law->bias_rate * factor;
    /* `Spring::row`. */
    int is_resolved = t->damping_factor[q] < 0.0f;
    double min_overlap = t->min_overlap[q], half = -0.5 * t->step * u_n, mean = overlap, root = 1.0;
    if (is_resolved && law->hertz && half > fabs(overlap)) {
        double reached = overlap + half;
        mean = 0.6 * reached;
        root = sqrt(larger(reached, min_overlap)) * (reached / (3.0 * half));
    } else if (law->hertz) {
        root = sqrt(larger(overlap, min_overlap));
    }
    double compliance = larger(t->compliance[q] / root, (double)t->cap[q] * mobility);
    map.target = mean > 0.0 ? bias_rate * mean + factor * u_n : mean / t->step;
    double p = t->impulse[q], twisting = 0.0;
    struct Vector p_t = none, rolling = none;
    if (p < 0.0) {
        p = 0.0;
    } else {
        p_t = vector(t->friction[0][q], t->friction[1][q], t->friction[2][q]);
        if (t->rolls) {
            rolling = vector(t->rolling[0][q], t->rolling[1][q], t->rolling[2][q]);
            twisting = t->twisting[q];
        }
    }
    if (p > 0.0 && mobility > 0.0) {
        double speed = length(fall);
        sums[2] += speed * speed / mobility;
    }
    set_mobility(&map, compliance, s->friction_compliance, now);
    sums[0] += weighed(&map, now, p, p_t);
    sums[1] += weighed(&map, free, 0.0, none);
    sums[3] += map.d * (p * p + dot(p_t, p_t));
    double squares = dot(now[0].velocity, now[0].velocity) + dot(now[1].velocity, now[1].velocity);
    sums[4] += ROUNDING_SHARE * ROUNDING_SHARE * (squares + map.target * map.target) / map.d;
    double rolling_limit = t->rolls ? t->rolling_limit[q] : 0.0;
    double twisting_limit = t->rolls ? t->twisting_limit[q] : 0.0;
    double s_r = now[0].inverse_inertia + now[1].inverse_inertia;
    /* Bodies that do not rotate have no such rows. */
    if ((rolling_limit > 0.0 || twisting_limit > 0.0) && s_r > 0.0) {
        double sigma = s->rolling_compliance * s_r, d = s_r + sigma;
        struct Vector w = minus(now[1].spin, now[0].spin);
        double twist = dot(n, w) + sigma * twisting;
        struct Vector roll = plus(minus(w, times(n, dot(n, w))), times(rolling, sigma));
        struct Vector wanted = minus(rolling, over(roll, d));
        double radius = rolling_limit * p, square = dot(wanted, wanted);
        if (!(square <= radius * radius)) wanted = times(wanted, radius / sqrt(square));
        double limit = twisting_limit * p;
        double twisted = clamped(twisting - twist / d, -limit, limit);
        struct Vector rest = minus(rolling, wanted);
        sums[0] += d * (dot(rest, rest) + (twisting - twisted) * (twisting - twisted));
    }
}

/* The residual group by group. There are places for as many as there are contacts. */
RESIDENT_KERNEL(look_residual, Look) {
    const struct Advance *a = s->advance;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(g, thread, a->count) {
            double sums[RESIDUAL_SUMS] = {0.0, 0.0, 0.0, 0.0, 0.0};
            for (u32 i = a->group_start[g]; i < a->group_end[g]; i++) add_residual(a, g, i, sums);
            for (u32 k = 0; k < RESIDUAL_SUMS; k++) s->values[(u64)k * a->count + g] = sums[k];
        }
    }
}

/* Numbers as integers in the same order, none of which is zero. */
DEVICE u32 ascending_key(float x) {
    u32 bits = BITS_OF_FLOAT(x);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

/* A contact at the end of its step: `EndOfStep::of_sphere`. */
struct AtEnd {
    struct Vector normal;
    struct Vector relative;
    double overlap;
};

DEVICE struct AtEnd at_end(const struct Advance *s, const struct Candidate *c, u32 q,
                           const double *arms) {
    const struct Grains *grains = s->grains;
    const double *own = grains->state + 8 * (u64)c->grain;
    struct Vector x = vector_at(grains->position, c->grain), velocity;
    struct AtEnd end;
    if (c->is_wall) {
        struct Vector point = s->tracked[s->step->tracked[q]].point;
        end.normal = c->normal;
        velocity = surface_velocity(s->walls + c->partner, point, c->normal);
        struct Vector found_at = minus(point, times(c->normal, arms[0]));
        struct Vector moved = minus(minus(x, found_at), times(velocity, s->whole_step));
        end.overlap = c->overlap + dot(c->normal, moved);
    } else {
        const double *other = grains->state + 8 * (u64)c->partner;
        struct Vector branch = minus(vector_at(grains->position, c->partner), x);
        double distance = length(branch);
        end.normal = over(branch, distance);
        end.overlap = grains->radius[c->grain] + grains->radius[c->partner] - distance;
        velocity = minus(vector_at(other, 0),
                         times(cross(vector_at(other + 4, 0), end.normal), arms[1]));
    }
    struct Vector at_point =
        plus(vector_at(own, 0), times(cross(vector_at(own + 4, 0), end.normal), arms[0]));
    end.relative = minus(velocity, at_point);
    return end;
}

/* Errors contact by contact. */
RESIDENT_KERNEL(look_errors, Look) {
    const struct Advance *a = s->advance;
    const struct Step *t = a->step;
    SHARED(u64, worst);
    (void)number;
    FOR_THREADS(thread) {
        if (thread == 0) worst = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, a->count) {
            const struct Candidate *c = a->chosen + a->order[i];
            const struct Pair *pair = pair_of(a, c);
            u32 q = a->place[i], excess_key = 0, slip_key = 0;
            double values[ERROR_SUMS] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            double radius = a->grains->radius[c->grain], elastic_radius = radius, arms[2];
            double mobility = a->grains->state[8 * (u64)c->grain + 3], diameter;
            arms[0] = radius - 0.5 * c->overlap;
            arms[1] = 0.0;
            if (c->is_wall) {
                diameter = 2.0 * arms[0] + c->overlap;
            } else {
                double other = a->grains->radius[c->partner];
                arms[1] = other - 0.5 * c->overlap;
                elastic_radius = radius * other / (radius + other);
                mobility = mobility + a->grains->state[8 * (u64)c->partner + 3];
                diameter = arms[0] + arms[1] + c->overlap;
            }
            struct AtEnd end = at_end(a, c, q, arms);
            double impulse = larger(t->impulse[q], 0.0);
            if (end.overlap > 0.0) {
                double stiffness =
                    pair->hertz ? pair->stiffness * sqrt(elastic_radius) : pair->stiffness;
                double force = impulse / t->step, elastic = force / stiffness;
                double square = mobility * stiffness, exponent = 1.0, stored;
                if (pair->hertz) {
                    double root = cube_root(elastic);
                    elastic = root * root;
                    square = mobility * stiffness * sqrt(end.overlap);
                    exponent = 1.5;
                    stored = stiffness * elastic * sqrt(elastic);
                } else {
                    stored = stiffness * elastic;
                }
                double frequency = sqrt(square);
                double time = pair->has_damping_time
                    ? pair->damping_time
                    : pair->alpha / (frequency * sqrt(1.0 + pair->spent));
                double damped = time * fabs(dot(end.relative, end.normal));
                double excess = end.overlap - elastic - damped;
                float relative = (float)(excess / diameter);
                double work = force * end.overlap;
                double cap = pair->cap * (1.0 + pair->restitution_raise);
                double phase = frequency * t->step / s->relaxed;
                double hardest = cap * phase * phase;
                double beyond = clamped(excess, 0.0, end.overlap);
                if (relative == relative) {
                    excess_key = ascending_key(relative);
                    values[0] = relative > 0.0f ? (double)relative : 0.0;
                    values[1] = work;
                    values[2] = force * beyond;
                    values[3] = work * (1.0 - 1.0 / larger(hardest, 1.0));
                    values[4] = exponent * work;
                    values[5] = stored * elastic / (exponent + 1.0) + 0.5 * force * beyond;
                }
                if (relative > 0.0f) {
                    u64 name = (u64)BITS_OF_FLOAT(relative) << 32 | (0xffffffffu - i);
                    if (name > worst) ATOMIC_MAX_U64(&worst, name);
                }
            }
            struct Vector friction = vector(0.0, 0.0, 0.0);
            if (t->impulse[q] > 0.0) {
                friction = vector(t->friction[0][q], t->friction[1][q], t->friction[2][q]);
            }
            double bound = s->sticking * t->laws[pair->law].friction * impulse;
            if (impulse > 0.0 && dot(friction, friction) < bound * bound) {
                struct Vector along = times(end.normal, dot(end.relative, end.normal));
                float slip = (float)length(minus(end.relative, along));
                if (slip == slip) slip_key = ascending_key(slip);
            }
            for (u32 k = 0; k < ERROR_SUMS; k++) s->values[(u64)k * a->count + i] = values[k];
            s->keys[i] = c->is_wall ? 0 : excess_key;
            s->keys[a->count + (u64)i] = c->is_wall ? excess_key : 0;
            s->keys[2 * (u64)a->count + i] = slip_key;
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        if (thread == 0 && worst) ATOMIC_MAX_U64(&s->numbers->worst, worst);
    }
}

/* The contact with the largest excess. */
RESIDENT_KERNEL(look_worst, Look) {
    const struct Advance *a = s->advance;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, 1) {
            if (!s->numbers->worst) continue;
            const struct Candidate *c = a->chosen + a->order[0xffffffffu - (u32)s->numbers->worst];
            double arms[2];
            point_and_arms(a, c, arms);
            double both = c->is_wall ? 2.0 * arms[0] : arms[0] + arms[1];
            s->numbers->worst_overlap = c->overlap / (both + c->overlap);
            s->numbers->worst_grain = c->grain;
            s->numbers->worst_is_wall = c->is_wall;
            s->numbers->worst_partner = c->partner;
        }
    }
}

/* `Σ m v³` and `Σ m v²`, grain by grain. */
RESIDENT_KERNEL(look_travel, Look) {
    const struct Grains *grains = s->advance->grains;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, grains->count) {
            struct Vector v = velocity_of(grains, i);
            double square = dot(v, v), energy = grains->mass[i] * square;
            s->values[i] = energy * sqrt(square);
            s->values[(u64)grains->count + i] = energy;
        }
    }
}

/* Adds a number to a sum of integers, as `ExactSum::add` does. */
DEVICE void add_to_limbs(u64 *limbs, u32 *beyond, double x) {
    u64 bits = BITS_OF(x), mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    int last_bit = (int)(bits >> 52 & 0x7ff) - 1075 + UNIT;
    if (last_bit >= (LIMBS - 2) * LIMB_BITS) {
        *beyond |= x != x ? BEYOND_NUMBERS : bits >> 63 ? BEYOND_NEGATIVE : BEYOND_POSITIVE;
        return;
    }
    if (last_bit < 0) {
        mantissa = last_bit > -64 ? mantissa >> -last_bit : 0;
        last_bit = 0;
    }
    u64 sign = x < 0.0 ? ~0ull : 0;
    u32 shift = (u32)last_bit % LIMB_BITS, first = (u32)last_bit / LIMB_BITS;
    u64 low = mantissa << shift, high = mantissa >> 1 >> (63 - shift);
    u64 parts[3];
    parts[0] = ((low & 0xffffffffull) ^ sign) - sign;
    parts[1] = (low >> 32 ^ sign) - sign;
    parts[2] = (high ^ sign) - sign;
    /* All limbs, so that they need no addresses. */
    for (u32 k = 0; k < LIMBS; k++) {
        limbs[k] += k == first ? parts[0] : k == first + 1 ? parts[1] : k == first + 2 ? parts[2] : 0;
    }
}

/* Sums what was written down: exactly. */
RESIDENT_KERNEL(look_sum, Look) {
    SHARED(u64, limbs[LIMBS][RESIDENT_THREADS]);
    struct LookNumbers *n = s->numbers;
    struct ExactSum *sums = number == SUM_RESIDUAL ? n->residual
        : number == SUM_ERRORS                     ? n->errors
                                                   : n->travel;
    u32 lists = number == SUM_RESIDUAL ? RESIDUAL_SUMS
        : number == SUM_ERRORS         ? ERROR_SUMS
                                       : TRAVEL_SUMS;
    u32 entries = number == SUM_TRAVEL ? s->advance->grains->count : s->advance->count;
    u32 tile = RESIDENT_THREADS * SUMMED_BY_THREAD, tiles = (entries + tile - 1) / tile;
    for (u32 at = THREAD_BLOCK; at < tiles * lists; at += THREAD_BLOCKS) {
        u32 list = at / tiles, first = at % tiles * tile;
        const double *values = s->values + (u64)list * entries;
        FOR_THREADS(thread) {
            u64 own[LIMBS] = {0, 0, 0, 0, 0, 0, 0, 0};
            u32 beyond = 0;
            for (u32 k = 0; k < SUMMED_BY_THREAD; k++) {
                u32 i = first + k * RESIDENT_THREADS + thread;
                if (i < entries) add_to_limbs(own, &beyond, values[i]);
            }
            for (u32 k = 0; k < LIMBS; k++) limbs[k][thread] = own[k];
            if (beyond) ATOMIC_OR_U32(&sums[list].beyond, beyond);
        }
        BARRIER();
        for (u32 half = RESIDENT_THREADS / 2; half > 0; half /= 2) {
            FOR_THREADS(thread) {
                if (thread < half) {
                    for (u32 k = 0; k < LIMBS; k++) limbs[k][thread] += limbs[k][thread + half];
                }
            }
            BARRIER();
        }
        FOR_THREADS(thread) {
            if (thread < LIMBS && limbs[thread][0]) {
                ATOMIC_ADD_U64(&sums[list].limbs[thread], limbs[thread][0]);
            }
        }
        BARRIER();
    }
}

/* How many numbers of each list begin with the digits found so far and go on with each digit;
 * `number` digits are known. */
RESIDENT_KERNEL(select_count, Look) {
    SHARED(u32, bins[BINS]);
    u32 entries = s->advance->count, tile = RESIDENT_THREADS * SUMMED_BY_THREAD;
    u32 tiles = (entries + tile - 1) / tile;
    for (u32 at = THREAD_BLOCK; at < tiles * LISTS; at += THREAD_BLOCKS) {
        u32 list = at / tiles, first = at % tiles * tile;
        const u32 *keys = s->keys + (u64)list * entries;
        u32 prefix = s->numbers->selection[list].prefix;
        FOR_THREADS(thread) bins[thread] = 0;
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = 0; k < SUMMED_BY_THREAD; k++) {
                u32 i = first + k * RESIDENT_THREADS + thread, key = i < entries ? keys[i] : 0;
                if (key == 0 || (number > 0 && key >> (32 - 8 * number) != prefix)) continue;
                ATOMIC_ADD_U32(&bins[key >> (24 - 8 * number) & 255], 1);
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            if (bins[thread]) ATOMIC_ADD_U32(&s->bins[list * BINS + thread], bins[thread]);
        }
        BARRIER();
    }
}

/* The next digit. */
RESIDENT_KERNEL(select_digit, Look) {
    FOR_THREADS(thread) {
        FOR_EACH(list, thread, LISTS) {
            struct Selection *found = s->numbers->selection + list;
            u32 *bins = s->bins + list * BINS, digit = 0;
            if (number == 0) {
                u32 count = 0;
                for (u32 k = 0; k < BINS; k++) count += bins[k];
                u32 above = (u32)(s->shares[list] * (double)count);
                found->count = count;
                found->is_there = count > above;
                found->place = found->is_there ? count - (above + 1) : 0;
            }
            while (found->is_there && found->place >= bins[digit]) {
                found->place -= bins[digit];
                digit += 1;
            }
            found->prefix = found->prefix << 8 | digit;
            for (u32 k = 0; k < BINS; k++) bins[k] = 0;
        }
    }
}

#endif
