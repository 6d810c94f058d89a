/* Pairs of grains that are near each other, and grains near walls: what `near.rs` finds.
 *
 * A sphere lives in the finest grid whose cells are twice as wide as it reaches. Spheres of one
 * grid are in the same or in touching cells; those of finer grids are found in the cells that
 * their box meets, by a thread block for each of the few that are so large.
 */
#ifndef ESKER_PAIRS_H
#define ESKER_PAIRS_H

#include "field.h"
#include "mesh.h"

/* Cells are this much wider than they had to be, to outweigh rounding. */
#define CELL_SLACK (1.0 + 1e-6)
/* Up to this ratio of sizes spheres are in one grid. */
#define SPARE 1.25
#define THROWN_RADII 4.0
#define FOLLOWED_MOTION 0.01
#define FOLLOWS 1u
/* Pairs that a thread block keeps before it writes them. */
#define KEPT 1024

/* Chooses the width of the finest cells, from a sample: most spheres are to fit. */
RESIDENT_KERNEL(grid_choose, Find) {
    SHARED(double, sample[RESIDENT_THREADS]);
    u32 count = s->grains->count;
    u32 taken = count < RESIDENT_THREADS ? count : RESIDENT_THREADS;
    u32 rank = taken > 0 ? 97 * (taken - 1) / 100 : 0;
    double longest = DOUBLE_OF(s->numbers->longest_reach);
    (void)number;
    FOR_THREADS(thread) {
        if (thread < taken) {
            double reach = s->reaches[(u64)thread * count / taken];
            sample[thread] = reach >= 0.0 && reach <= longest ? reach : 0.0;
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        if (thread < taken) {
            u32 below = 0;
            for (u32 k = 0; k < taken; k++) {
                below += sample[k] < sample[thread] || (sample[k] == sample[thread] && k < thread);
            }
            if (below == rank) {
                double most = sample[thread];
                if (!(most > 0.0) || longest <= SPARE * most) most = longest;
                s->numbers->cell_size = most > 0.0 && most < 1e300 ? 2.0 * most : 1.0;
            }
        }
    }
}

DEVICE double size_of_level(const struct Find *s, u32 level) {
    return s->numbers->cell_size * (double)(1u << level);
}

DEVICE int grid_coordinate(const struct Find *s, u32 level, double x) {
    return cell_coordinate(x / (CELL_SLACK * size_of_level(s, level)));
}

DEVICE int is_finite(double x) {
    return x - x == 0.0;
}

/* Finds grid and cell of every sphere. */
RESIDENT_KERNEL(grid_begin, Find) {
    (void)number;
    FOR_THREADS(thread) {
        u32 levels = 0;
        FOR_EACH(i, thread, s->grains->count) {
            struct Vector x = vector_at(s->grains->position, i);
            double reach = s->reaches[i];
            u32 level = 0;
            if (is_finite(x.x) && is_finite(x.y) && is_finite(x.z) && reach >= 0.0
                && is_finite(reach)) {
                while (level < LAST_LEVEL && 2.0 * reach > size_of_level(s, level)) level++;
                levels |= 1u << level;
                if (level > 0) s->wide[FETCH_ADD_U32(&s->numbers->wide, 1)] = i;
                int *at = s->grid_at + 3 * (u64)i;
                at[0] = grid_coordinate(s, level, x.x);
                at[1] = grid_coordinate(s, level, x.y);
                at[2] = grid_coordinate(s, level, x.z);
            } else {
                level = NO_LEVEL;
            }
            s->level[i] = level;
        }
        if (levels != 0) ATOMIC_OR_U32(&s->numbers->levels, levels);
    }
}

RESIDENT_KERNEL(grid_claim, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            if (s->level[i] == NO_LEVEL) continue;
            int is_first;
            u32 slot = claim_slot(s->grid_table, s->mask, s->grid_at, s->level, i, &is_first);
            s->grid_slot_of[i] = slot;
            ATOMIC_ADD_U32(&s->grid_count[slot], 1);
        }
    }
}

/* Gives every cell its part of the list of spheres, a thread block's cells at a time. */
RESIDENT_KERNEL(grid_divide, Find) {
    SHARED(u32, sums[2][RESIDENT_THREADS]);
    SHARED(u32, first);
    u32 slots = s->mask + 1;
    (void)number;
    for (u32 start = THREAD_BLOCK * RESIDENT_THREADS; start < slots;
         start += THREAD_BLOCKS * RESIDENT_THREADS) {
        u32 total;
        FOR_THREADS(thread) {
            u32 slot = start + thread;
            sums[0][thread] = slot < slots ? s->grid_count[slot] : 0;
        }
        BARRIER();
        EXCLUSIVE_SCAN_OF_THREADS(sums, total);
        FOR_THREADS(thread) {
            if (thread == 0) first = FETCH_ADD_U32(&s->numbers->placed, total);
        }
        BARRIER();
        FOR_THREADS(thread) {
            u32 slot = start + thread;
            if (slot < slots) s->grid_start[slot] = first + sums[0][thread];
        }
        BARRIER();
    }
}

RESIDENT_KERNEL(grid_place, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            if (s->level[i] == NO_LEVEL) continue;
            u32 slot = s->grid_slot_of[i];
            s->order[s->grid_start[slot] + FETCH_ADD_U32(&s->grid_fill[slot], 1)] = i;
        }
    }
}

/* Two grains as a candidate, the one with the smaller id first, and whether they may become a
 * contact. */
DEVICE int near_grains(const struct Find *s, u32 i, u32 j, struct Candidate *c) {
    const struct Grains *g = s->grains;
    struct Vector xi = vector_at(g->position, i), xj = vector_at(g->position, j);
    double dx = xj.x - xi.x, dy = xj.y - xi.y, dz = xj.z - xi.z;
    double sum = s->reaches[j] + s->reaches[i];
    if (!(dx * dx + dy * dy + dz * dz < sum * sum)) return 0;
    u32 a = i, b = j;
    struct Vector xa = xi, xb = xj;
    if (!(g->id[i] < g->id[j])) {
        a = j;
        b = i;
        xa = xj;
        xb = xi;
    }
    double radius_a = g->radius[a], radius_b = g->radius[b];
    struct Vector offset = minus(xb, xa);
    double apart = length(offset);
    /* The root of the smallest normal number. */
    struct Vector normal =
        apart > 1.4916681462400413e-154 ? over(offset, apart) : vector(0.0, 0.0, 1.0);
    double overlap = radius_a + radius_b - apart;
    struct Vector closing = minus(velocity_of(g, a), velocity_of(g, b));
    double approach = dot(normal, closing);
    double across = dot(closing, closing) - approach * approach;
    double step = s->reach.step, least = smaller(radius_a, radius_b);
    double followed = FOLLOWED_MOTION * 2.0 * least;
    c->grain = a;
    c->is_wall = 0;
    c->partner = b;
    c->feature = across * step * step > followed * followed ? FOLLOWS : 0;
    c->normal = normal;
    c->overlap = overlap;
    c->approach = approach;
    c->curvature = 0.0;
    double near = s->reach.margin * 2.0 * least;
    double moved = step * closing_speed(&s->reach, approach, normal);
    double impacts = moved + s->impact_reach[a] + s->impact_reach[b];
    return -overlap < larger(near, impacts) + s->reach.cohesive_gap;
}

/* Pairs that a thread block has found and not written yet. */
struct KeptPairs {
    u32 count;
    u32 place;
    u32 pairs[KEPT][2];
};

/* Keeps a near pair; writes it at once where there is no room. */
DEVICE void keep_near(const struct Find *s, struct KeptPairs *kept, u32 i, u32 j) {
    struct Candidate candidate;
    if (!near_grains(s, i, j, &candidate)) return;
    u32 place = FETCH_ADD_U32(&kept->count, 1);
    if (place < KEPT) {
        kept->pairs[place][0] = i;
        kept->pairs[place][1] = j;
    } else {
        append_candidate(s, &candidate);
    }
}

/* Writes what was kept, with one place in the list for all of it. */
#define WRITE_KEPT(s, kept) \
    do { \
        BARRIER(); \
        u32 kept_count = kept.count < KEPT ? kept.count : KEPT; \
        FOR_THREADS(t) { \
            if (t == 0) kept.place = FETCH_ADD_U32(&s->numbers->found, kept_count); \
        } \
        BARRIER(); \
        FOR_THREADS(t) { \
            for (u32 k = t; k < kept_count && kept.place + k < s->room; k += THREADS) { \
                struct Candidate candidate; \
                near_grains(s, kept.pairs[k][0], kept.pairs[k][1], &candidate); \
                s->found[kept.place + k] = candidate; \
            } \
        } \
        BARRIER(); \
        FOR_THREADS(t) { \
            if (t == 0) kept.count = 0; \
        } \
        BARRIER(); \
    } while (0)

/* A cell and those ahead of it: of each two cells, one looks at the other. */
#define AHEAD 14

/* Pairs of spheres of one grid, a thread per sphere and cell. */
RESIDENT_KERNEL(pairs_of_level, Find) {
    SHARED(struct KeptPairs, kept);
    u32 items = AHEAD * s->numbers->placed;
    (void)number;
    FOR_THREADS(thread) {
        if (thread == 0) kept.count = 0;
    }
    BARRIER();
    for (u32 first = THREAD_BLOCK * THREADS; first < items; first += THREAD_BLOCKS * THREADS) {
        FOR_THREADS(thread) {
            u32 item = first + thread;
            if (item < items) {
                u32 p = item / AHEAD, i = s->order[p], level = s->level[i];
                int k = (int)(item % AHEAD) + AROUND / 2;
                const int *at = s->grid_at + 3 * (u64)i;
                int there[3] = {at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1};
                u32 slot = k == AROUND / 2
                    ? s->grid_slot_of[i]
                    : find_slot(s->grid_table, s->mask, s->grid_at, s->level, there, level);
                if (slot != NOBODY && level != LAST_LEVEL) {
                    u32 start = s->grid_start[slot], end = start + s->grid_count[slot];
                    for (u32 q = k == AROUND / 2 ? p + 1 : start; q < end; q++) {
                        keep_near(s, &kept, i, s->order[q]);
                    }
                }
            }
        }
        WRITE_KEPT(s, kept);
    }
}

/* Spheres that a thread block looks at together, and the threads that each has. */
#define WIDE_TOGETHER 8
#define WIDE_THREADS (RESIDENT_THREADS / WIDE_TOGETHER)

/* Pairs of a sphere with those of a finer grid; `lane` of the threads that it has. */
DEVICE void pairs_of_finer(const struct Find *s, struct KeptPairs *kept, u32 i, u32 finer,
                           u32 lane) {
    u32 level = s->level[i], all = s->grains->count;
    struct Vector x = vector_at(s->grains->position, i);
    double around = s->reaches[i] + size_of_level(s, finer);
    int low[3], wide[3];
    double cells = 1.0;
    for (int k = 0; k < 3; k++) {
        double centre = component(x, k);
        low[k] = grid_coordinate(s, finer, centre - around);
        wide[k] = grid_coordinate(s, finer, centre + around) - low[k] + 1;
        cells *= (double)wide[k];
    }
    int is_all = finer == level || cells > (double)all;
    u32 items = is_all ? all : (u32)cells;
    for (u32 k = lane; k < items; k += WIDE_THREADS) {
        if (is_all) {
            int is_pair = s->level[k] == finer && (finer < level || k > i);
            if (is_pair) keep_near(s, kept, i, k);
            continue;
        }
        int at[3] = {low[0] + (int)(k % (u32)wide[0]),
                     low[1] + (int)(k / (u32)wide[0] % (u32)wide[1]),
                     low[2] + (int)(k / (u32)wide[0] / (u32)wide[1])};
        u32 slot = find_slot(s->grid_table, s->mask, s->grid_at, s->level, at, finer);
        if (slot == NOBODY) continue;
        u32 start = s->grid_start[slot], end = start + s->grid_count[slot];
        for (u32 q = start; q < end; q++) keep_near(s, kept, i, s->order[q]);
    }
}

/* Pairs of spheres that reach farther than most with those of finer grids. */
RESIDENT_KERNEL(pairs_of_wide, Find) {
    SHARED(struct KeptPairs, kept);
    (void)number;
    FOR_THREADS(thread) {
        if (thread == 0) kept.count = 0;
    }
    BARRIER();
    for (u32 first = THREAD_BLOCK * WIDE_TOGETHER; first < s->numbers->wide;
         first += THREAD_BLOCKS * WIDE_TOGETHER) {
        FOR_THREADS(thread) {
            u32 w = first + thread / WIDE_THREADS;
            if (w < s->numbers->wide) {
                u32 i = s->wide[w], level = s->level[i];
                for (u32 finer = 0; finer <= level; finer++) {
                    int is_own = finer == level && level < LAST_LEVEL;
                    if ((s->numbers->levels >> finer & 1) && !is_own) {
                        pairs_of_finer(s, &kept, i, finer, thread % WIDE_THREADS);
                    }
                }
            }
        }
        WRITE_KEPT(s, kept);
    }
}

/* From which side containers held grains in the last step. */
RESIDENT_KERNEL(walls_sides, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(e, thread, *s->history_count) {
            u64 other = s->history_other[e];
            /* Who owned it may be gone. */
            if (!(other >> 63) || s->history_row[e] == NOBODY) continue;
            u32 wall = (u32)(other >> 32) & 0x7fffffffu;
            u32 side = side_of(s->walls + wall, (u32)other);
            if (side == SIDE_UNKNOWN) continue;
            u32 *word = s->sides + (u64)s->side_words * s->history_row[e] + wall / 16;
            ATOMIC_OR_U32(word, side << (2 * (wall % 16)));
        }
    }
}

/* A grain as a wall sees it; false where it is far from it. */
DEVICE int is_near_wall(const struct Find *s, u32 i, double impact_reach, u32 w,
                        struct Probe *probe) {
    const struct Wall *wall = s->walls + w;
    const struct Reach *reach = &s->reach;
    struct Probe p;
    p.position = vector_at(s->grains->position, i);
    p.radius = s->grains->radius[i];
    p.velocity = velocity_of(s->grains, i);
    double speed = distance(p.velocity, wall_velocity(wall, p.position))
        + length(wall->angular_velocity) * p.radius;
    p.margin = 2.0 * beyond_surface(reach, p.radius, speed, impact_reach);
    p.centre = to_local(wall, p.position);
    if (wall->has_bounds) {
        double within = p.radius + p.margin;
        if (square_to_bounds(wall, p.centre) > within * within) return 0;
    }
    p.motion = impact_reach
        + reach->step * distance(p.velocity, wall_velocity(wall, wall->position));
    u32 sides = s->sides[(u64)s->side_words * i + w / 16] >> (2 * (w % 16)) & 3;
    p.last_side = sides & SIDE_INSIDE ? SIDE_INSIDE : sides;
    p.grain = i;
    p.wall_index = w;
    p.find = s;
    p.wall = wall;
    p.fastest = larger(speed, impact_reach / reach->step);
    p.is_fast = reach->step * p.fastest > THROWN_RADII * p.radius;
    *probe = p;
    return 1;
}

/* How far impacts may throw a grain: those that throw it far throw it into walls that are far. */
DEVICE double reach_at_walls(const struct Find *s, u32 i) {
    double impact_reach = s->impact_reach[i], radius = s->grains->radius[i];
    if (impact_reach < IMPACT_REACH_RADII * radius) return impact_reach;
    double motion = impact_motion(s, i);
    return motion > THROWN_RADII * radius ? motion : impact_reach;
}

RESIDENT_KERNEL(walls_near, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            double impact_reach = reach_at_walls(s, i);
            for (u32 w = 0; w < s->grains->walls; w++) {
                struct Probe p;
                if (!s->walls[w].is_present || s->walls[w].kind == MESH) continue;
                if (is_near_wall(s, i, impact_reach, w, &p)) wall_touches(&p);
            }
        }
    }
}

/* The same of meshes: a kernel of its own, since it needs far more memory for each thread. */
RESIDENT_KERNEL(meshes_near, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            double impact_reach = reach_at_walls(s, i);
            for (u32 w = 0; w < s->grains->walls; w++) {
                struct Probe p;
                if (!s->walls[w].is_present || s->walls[w].kind != MESH) continue;
                if (is_near_wall(s, i, impact_reach, w, &p)) mesh_touches(&p);
            }
        }
    }
}

#endif
