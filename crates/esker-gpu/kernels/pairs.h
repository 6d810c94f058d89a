/* Pairs of grains that are near each other, and grains near walls: what `near.rs` finds.
 *
 * A sphere lives in the finest grid whose cells are twice as wide as it reaches. Spheres of one
 * grid are in the same or in touching cells; those of finer grids are found in the cells that
 * their box meets, by many threads for each of the few that are so large. All that a search reads
 * lies in the order of cells; what else grains have is looked at for the pairs that it found.
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

/* Spheres beyond the outermost cells are in these. */
DEVICE int grid_coordinate(const struct Find *s, u32 level, double x) {
    const int half = 1 << (GRID_BITS - 1 - level);
    int at = cell_coordinate(x / (CELL_SLACK * size_of_level(s, level)));
    return at < -half ? -half : at >= half ? half - 1 : at;
}

DEVICE int is_finite(double x) {
    return x - x == 0.0;
}

/* Finds grid and cell of every sphere, and counts those of each cell. */
RESIDENT_KERNEL(grid_claim, Find) {
    (void)number;
    FOR_THREADS(thread) {
        u32 levels = 0;
        FOR_EACH(i, thread, s->grains->count) {
            struct Vector x = vector_at(s->grains->position, i);
            double reach = s->reaches[i];
            u32 level = 0;
            if (!(is_finite(x.x) && is_finite(x.y) && is_finite(x.z) && reach >= 0.0
                  && is_finite(reach))) {
                s->grid_slot_of[i] = NOBODY;
                continue;
            }
            while (level < LAST_LEVEL && 2.0 * reach > size_of_level(s, level)) level++;
            levels |= 1u << level;
            int at[3] = {grid_coordinate(s, level, x.x), grid_coordinate(s, level, x.y),
                         grid_coordinate(s, level, x.z)};
            u64 key = grid_key(level, at);
            u32 slot = first_slot(s->mask, level, at);
            for (;;) {
                u64 other = COMPARE_AND_SWAP_U64(&s->grid[slot].key, 0, key);
                if (other == 0 || other == key) break;
                slot = next_slot(s->mask, slot);
            }
            s->grid_slot_of[i] = slot;
            s->grid_rank[i] = FETCH_ADD_U32(&s->grid[slot].count, 1);
        }
        if (levels & ~s->numbers->levels) ATOMIC_OR_U32(&s->numbers->levels, levels);
    }
}

/* Gives every cell its part of the order of spheres, a thread block's cells at a time. */
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
            sums[0][thread] = slot < slots ? s->grid[slot].count : 0;
        }
        BARRIER();
        EXCLUSIVE_SCAN_OF_THREADS(sums, total);
        FOR_THREADS(thread) {
            if (thread == 0) first = FETCH_ADD_U32(&s->numbers->placed, total);
        }
        BARRIER();
        FOR_THREADS(thread) {
            u32 slot = start + thread;
            if (slot < slots && s->grid[slot].count > 0) {
                s->grid[slot].start = first + sums[0][thread];
            }
        }
        BARRIER();
    }
}

RESIDENT_KERNEL(grid_place, Find) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) {
            u32 slot = s->grid_slot_of[i];
            if (slot == NOBODY) continue;
            struct GridCell cell = cell_in(s->grid, slot);
            struct Sphere sphere = {vector_at(s->grains->position, i), s->reaches[i]};
            u32 p = cell.start + s->grid_rank[i];
            s->spheres[p] = sphere;
            s->keys[p] = cell.key;
            s->order[p] = i;
            if (level_of_key(cell.key) > 0) s->wide[FETCH_ADD_U32(&s->numbers->wide, 1)] = p;
        }
    }
}

/* Whether spheres are near enough to be looked at. */
DEVICE int is_in_reach(struct Sphere a, struct Sphere b) {
    double dx = b.centre.x - a.centre.x, dy = b.centre.y - a.centre.y;
    double dz = b.centre.z - a.centre.z, sum = b.reach + a.reach;
    return dx * dx + dy * dy + dz * dz < sum * sum;
}

/* Pairs in reach that a thread block has found and not written yet. */
struct KeptPairs {
    u32 count;
    u32 place;
    struct InReach pairs[KEPT];
};

/* Keeps a pair; writes it at once where there is no room. */
DEVICE void keep_pair(const struct Find *s, struct KeptPairs *kept, u32 p, u32 q) {
    struct InReach pair = {p, q};
    u32 place = FETCH_ADD_U32(&kept->count, 1);
    if (place < KEPT) {
        kept->pairs[place] = pair;
        return;
    }
    place = FETCH_ADD_U32(&s->numbers->in_reach, 1);
    if (place < s->pair_room) s->in_reach[place] = pair;
}

/* Writes what was kept, with one place in the list for all of it. */
#define WRITE_KEPT(s, kept) \
    do { \
        BARRIER(); \
        u32 kept_count = kept.count < KEPT ? kept.count : KEPT; \
        FOR_THREADS(t) { \
            if (t == 0) kept.place = FETCH_ADD_U32(&s->numbers->in_reach, kept_count); \
        } \
        BARRIER(); \
        FOR_THREADS(t) { \
            for (u32 k = t; k < kept_count && kept.place + k < s->pair_room; k += THREADS) { \
                s->in_reach[kept.place + k] = kept.pairs[k]; \
            } \
            if (t == 0) kept.count = 0; \
        } \
        BARRIER(); \
    } while (0)

/* Of the nine rows of three cells along x around a cell those that it looks at: its own, from
 * itself on, and all ahead of that. Of each two cells, one looks at the other. */
#define OWN_ROW 4
#define ROWS_AHEAD 5
/* Spheres one after another that look at rows of one kind: as many as a warp has threads. */
#define SIDE_BY_SIDE 32

/* Spheres of three cells one after another: how many there are up to each cell's end, and what
 * their numbers in the row are added to for their places. */
struct Row {
    u32 ends[3];
    u32 starts[3];
};

DEVICE u32 place_in_row(struct Row row, u32 k) {
    u32 start = k < row.ends[1] ? row.starts[1] : row.starts[2];
    start = k < row.ends[0] ? row.starts[0] : start;
    return start + k;
}

/* Pairs of the sphere at a place with those of a row of cells. The nine rows around it are numbered
 * along y and then z. */
DEVICE void pairs_of_row(const struct Find *s, struct KeptPairs *kept, u32 p, int which) {
    const struct GridCell *grid = s->grid;
    const struct Sphere *spheres = s->spheres;
    struct Sphere own = spheres[p];
    u64 key = s->keys[p], keys[3];
    u32 level = level_of_key(key), mask = s->mask, slots[3], before = 0;
    int at[3];
    if (level == LAST_LEVEL) return;
    cell_of_key(key, level, at);
    at[0] -= 1;
    at[1] += which % 3 - 1;
    at[2] += which / 3 - 1;
    /* All three are asked for before any is waited for. */
    struct GridCell first[3];
    for (int k = 0; k < 3; k++) {
        keys[k] = grid_key(level, at);
        slots[k] = first_slot(mask, level, at);
        first[k] = cell_in(grid, slots[k]);
        at[0] += 1;
    }
    struct Row row;
    for (int k = 0; k < 3; k++) {
        struct GridCell cell = found_cell(grid, mask, keys[k], slots[k], first[k]);
        u32 end = cell.start + cell.count, start = cell.start;
        if (which == OWN_ROW && k == 0) start = end;
        if (which == OWN_ROW && k == 1) start = p + 1;
        row.starts[k] = start - before;
        before += end - start;
        row.ends[k] = before;
    }
    /* Nothing is written while distances are tested, so that several are at a time. */
    u32 total = row.ends[2];
    for (u32 from = 0; from < total; from += 32) {
        u32 end = total - from < 32 ? total : from + 32, in_reach = 0;
        for (u32 k = from; k < end; k++) {
            int is_pair = is_in_reach(own, spheres[place_in_row(row, k)]);
            in_reach |= (u32)is_pair << (k - from);
        }
        for (; in_reach != 0; in_reach &= in_reach - 1) {
            keep_pair(s, kept, p, place_in_row(row, from + LOWEST_BIT(in_reach)));
        }
    }
}

/* Pairs of spheres of one grid, a thread per sphere and row of cells. */
RESIDENT_KERNEL(pairs_of_level, Find) {
    SHARED(struct KeptPairs, kept);
    u32 placed = s->numbers->placed;
    u32 items = (placed + SIDE_BY_SIDE - 1) / SIDE_BY_SIDE * SIDE_BY_SIDE * ROWS_AHEAD;
    (void)number;
    FOR_THREADS(thread) {
        if (thread == 0) kept.count = 0;
    }
    BARRIER();
    for (u32 first = THREAD_BLOCK * THREADS; first < items; first += THREAD_BLOCKS * THREADS) {
        FOR_THREADS(thread) {
            u32 item = first + thread, turn = item / SIDE_BY_SIDE;
            u32 p = turn / ROWS_AHEAD * SIDE_BY_SIDE + item % SIDE_BY_SIDE;
            int row = OWN_ROW + (int)(turn % ROWS_AHEAD);
            if (item < items && p < placed) pairs_of_row(s, &kept, p, row);
        }
        WRITE_KEPT(s, kept);
    }
}

/* Spheres that a thread block looks at together, and the threads that each has. */
#define WIDE_TOGETHER 8
#define WIDE_THREADS (RESIDENT_THREADS / WIDE_TOGETHER)

/* Pairs of the sphere at a place with those of a finer grid; `lane` of the threads that it has. */
DEVICE void pairs_of_finer(const struct Find *s, struct KeptPairs *kept, u32 p, u32 finer,
                           u32 lane) {
    u32 level = level_of_key(s->keys[p]), all = s->numbers->placed;
    struct Sphere own = s->spheres[p];
    double around = own.reach + size_of_level(s, finer);
    int low[3], wide[3];
    double cells = 1.0;
    for (int k = 0; k < 3; k++) {
        double centre = component(own.centre, k);
        low[k] = grid_coordinate(s, finer, centre - around);
        wide[k] = grid_coordinate(s, finer, centre + around) - low[k] + 1;
        cells *= (double)wide[k];
    }
    int is_all = finer == level || cells > (double)all;
    u32 items = is_all ? all : (u32)cells;
    for (u32 k = lane; k < items; k += WIDE_THREADS) {
        u32 start = k, count = 1;
        if (is_all) {
            if (level_of_key(s->keys[k]) != finer || (finer == level && k <= p)) continue;
        } else {
            int at[3] = {low[0] + (int)(k % (u32)wide[0]),
                         low[1] + (int)(k / (u32)wide[0] % (u32)wide[1]),
                         low[2] + (int)(k / (u32)wide[0] / (u32)wide[1])};
            u32 slot = first_slot(s->mask, finer, at);
            struct GridCell cell = found_cell(s->grid, s->mask, grid_key(finer, at), slot,
                                              cell_in(s->grid, slot));
            start = cell.start;
            count = cell.count;
        }
        for (u32 q = start; q < start + count; q++) {
            if (is_in_reach(own, s->spheres[q])) keep_pair(s, kept, p, q);
        }
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
                u32 p = s->wide[w], level = level_of_key(s->keys[p]);
                for (u32 finer = 0; finer <= level; finer++) {
                    int is_own = finer == level && level < LAST_LEVEL;
                    if ((s->numbers->levels >> finer & 1) && !is_own) {
                        pairs_of_finer(s, &kept, p, finer, thread % WIDE_THREADS);
                    }
                }
            }
        }
        WRITE_KEPT(s, kept);
    }
}

/* The grains at two places in the order of cells as a candidate, the one with the smaller id first,
 * and whether they may become a contact. */
DEVICE int near_grains(const struct Find *s, struct InReach pair, struct Candidate *c) {
    const struct Grains *g = s->grains;
    u32 i = s->order[pair.p], j = s->order[pair.q];
    struct Vector xi = s->spheres[pair.p].centre, xj = s->spheres[pair.q].centre;
    struct Vector vi = velocity_of(g, i), vj = velocity_of(g, j);
    double radius_i = g->radius[i], radius_j = g->radius[j];
    double impact_i = s->impact_reach[i], impact_j = s->impact_reach[j];
    /* Everything is loaded at once, before it is known which of the two is the first. */
    int is_first = g->id[i] < g->id[j];
    struct Vector offset = is_first ? minus(xj, xi) : minus(xi, xj);
    struct Vector closing = is_first ? minus(vi, vj) : minus(vj, vi);
    double apart = length(offset);
    /* The root of the smallest normal number. */
    struct Vector normal =
        apart > 1.4916681462400413e-154 ? over(offset, apart) : vector(0.0, 0.0, 1.0);
    double overlap = radius_i + radius_j - apart;
    double approach = dot(normal, closing);
    double across = dot(closing, closing) - approach * approach;
    double step = s->reach.step, least = smaller(radius_i, radius_j);
    double followed = FOLLOWED_MOTION * 2.0 * least;
    c->grain = is_first ? i : j;
    c->is_wall = 0;
    c->partner = is_first ? j : i;
    c->feature = across * step * step > followed * followed ? FOLLOWS : 0;
    c->normal = normal;
    c->overlap = overlap;
    c->approach = approach;
    c->curvature = 0.0;
    double near = s->reach.margin * 2.0 * least;
    double moved = step * closing_speed(&s->reach, approach, normal);
    double impacts = is_first ? moved + impact_i + impact_j : moved + impact_j + impact_i;
    return -overlap < larger(near, impacts) + s->reach.cohesive_gap;
}

/* What a thread block writes at once: how many there are, and where the first goes. */
struct Together {
    u32 count;
    u32 place;
};

/* Appends a thread's own candidate to a list, where it has a rank among those of the thread block
 * that are appended, and forgets these. */
#define APPEND_TOGETHER(s, together, own, own_rank, list, length) \
    do { \
        BARRIER(); \
        FOR_THREADS(t) { \
            if (t == 0) { \
                together.place = FETCH_ADD_U32(length, together.count); \
                together.count = 0; \
            } \
        } \
        BARRIER(); \
        FOR_THREADS(t) { \
            u32 rank = *MINE(own_rank, t), place = together.place + rank; \
            if (rank != NOBODY && place < s->room) list[place] = *MINE(own, t); \
        } \
    } while (0)

/* Looks at the pairs in reach. They are few of those whose distances were tested: here no thread
 * waits for others that have one. */
RESIDENT_KERNEL(pairs_near, Find) {
    SHARED(struct Together, together);
    OWN(struct Candidate, own);
    OWN(u32, own_rank);
    u32 pairs = s->numbers->in_reach < s->pair_room ? s->numbers->in_reach : s->pair_room;
    (void)number;
    FOR_THREADS(thread) {
        if (thread == 0) together.count = 0;
    }
    BARRIER();
    for (u32 first = THREAD_BLOCK * THREADS; first < pairs; first += THREAD_BLOCKS * THREADS) {
        FOR_THREADS(thread) {
            u32 k = first + thread;
            int is_near = k < pairs && near_grains(s, s->in_reach[k], MINE(own, thread));
            *MINE(own_rank, thread) = is_near ? FETCH_ADD_U32(&together.count, 1) : NOBODY;
        }
        APPEND_TOGETHER(s, together, own, own_rank, s->found, &s->numbers->found);
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
