/* What stages `find_pairs` and `collide` work on, up to the contacts that are chosen; field by
 * field as `src/resident/find.rs` has it.
 *
 * Cells are found by a table of hashes whose entries are grains: the first grain of a cell stands
 * for it, so that cells may be anywhere. Which grain is the first, and which number a cell gets,
 * depends on who comes first; nothing that is computed does. Lists of candidates are in no order.
 */
#ifndef ESKER_FIND_H
#define ESKER_FIND_H

#include "grains.h"

#define NOBODY 0xffffffffu
/* A cell and those around it. */
#define AROUND 27
/* Coordinates of cells stay within this on either side of zero. */
#define FARTHEST_CELL (1 << 21)
/* Levels of the grid; spheres of the last are held against all others. */
#define LAST_LEVEL 31
/* Level of a sphere that does not take part. */
#define NO_LEVEL 255u

/* A cell of the field of mean velocities. */
struct FieldCell {
    /* Velocities in quanta, and grains; integers, as order does not matter to them. */
    u64 sums[4];
    u64 pushes;
    /* Bits of the largest distance of a velocity from the mean. */
    u64 deviation;
    /* Of grains that may get beyond the cells around: bits of the largest speed and of the
     * longest reach; zero for none. */
    u64 far_speed;
    u64 far_reach;
    /* Bits of the largest speed of such grains that may get here. */
    u64 hit;
    struct Vector velocity;
    double half_difference;
    int at[3];
    u32 around_count;
    u32 around[AROUND];
    u32 unused;
};

/* What kernels leave for the next ones and for the host. */
struct FindNumbers {
    /* Over all cells. */
    u64 sums[4];
    /* Bits of numbers that are not negative. */
    u64 deviation;
    u64 far;
    /* Of far grains that may get anywhere. */
    u64 hit_anywhere;
    u64 difference;
    u64 longest_reach;
    /* Width of the finest cells of the grid. */
    double cell_size;
    double longest_sleep;
    u32 cells;
    u32 occupied;
    u32 placed;
    u32 wide;
    u32 levels;
    u32 has_impacts;
    u32 found;
    u32 chosen;
};

struct Find {
    const struct Grains *grains;
    const struct Wall *walls;
    struct FindNumbers *numbers;
    struct Reach reach;
    /* Of the field: edge of its cells, its inverse, layers of grains in a cell, the square of a
     * speed at which even the largest sphere stays near, diameter of the smallest. */
    double edge;
    double cells_per_metre;
    double layers;
    double slow;
    double smallest;
    double substeps;
    /* Slots of either table less one. */
    u32 mask;
    /* Candidates that there is room for. */
    u32 room;
    /* Numbers of `sides` per grain. */
    u32 side_words;
    u32 unused;

    int *at;
    u32 *table;
    u32 *slot_of;
    u32 *number_of_slot;
    u32 *cell_of;
    struct FieldCell *cells;
    /* Bounds on velocity changes while they spread: of differences, of pushes. */
    double *bound[4];
    double *impact_reach;
    double *reaches;

    int *grid_at;
    u32 *level;
    u32 *grid_table;
    u32 *grid_slot_of;
    u32 *grid_count;
    u32 *grid_start;
    u32 *grid_fill;
    u32 *occupied;
    u32 *order;
    u32 *wide;

    /* Two bits per wall: from which side it held the grain. */
    u32 *sides;
    const u32 *history_count;
    const u32 *history_row;
    const u64 *history_other;

    struct Candidate *found;
    struct Candidate *chosen;
    /* Largest changes of velocity to +x, -x, +y, -y, +z, -z: bits of floats. */
    u32 *rising;
    u32 *changes;
    u32 *impacted;
};

/* Where bounds are once they have spread. */
#define SPREAD_PASSES 3
#define DIFFERENCE 1
#define PUSH 3

DEVICE void append_candidate(const struct Find *s, const struct Candidate *candidate) {
    u32 place = FETCH_ADD_U32(&s->numbers->found, 1);
    if (place < s->room) s->found[place] = *candidate;
}

DEVICE int cell_coordinate(double x) {
    const double far = (double)FARTHEST_CELL;
    x = clamped(x, -far, far);
    if (x != x) return 0;
    int towards_zero = (int)x;
    return towards_zero - ((double)towards_zero > x);
}

DEVICE u32 hash_of_cell(const int *at, u32 level) {
    u64 mixed = level;
    for (int k = 0; k < 3; k++) {
        mixed = ((mixed << 23 | mixed >> 41) ^ (u32)at[k]) * 0x9e3779b97f4a7c15ull;
    }
    return (u32)(mixed >> 32);
}

DEVICE int is_same_cell(const int *a, const int *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Slot of the cell of a grain; the first grain of a cell takes it. */
DEVICE u32 claim_slot(u32 *table, u32 mask, const int *all_at, const u32 *levels, u32 i,
                      int *is_first) {
    const int *at = all_at + 3 * (u64)i;
    u32 level = levels ? levels[i] : 0;
    u32 slot = hash_of_cell(at, level) & mask;
    *is_first = 0;
    for (;;) {
        u32 other = COMPARE_AND_SWAP_U32(&table[slot], NOBODY, i);
        if (other == NOBODY) {
            *is_first = 1;
            return slot;
        }
        if (is_same_cell(all_at + 3 * (u64)other, at) && (!levels || levels[other] == level)) {
            return slot;
        }
        slot = (slot + 1) & mask;
    }
}

/* Slot of a cell, or nobody's. */
DEVICE u32 find_slot(const u32 *table, u32 mask, const int *all_at, const u32 *levels,
                     const int *at, u32 level) {
    u32 slot = hash_of_cell(at, level) & mask;
    for (;;) {
        u32 other = table[slot];
        if (other == NOBODY) return NOBODY;
        if (is_same_cell(all_at + 3 * (u64)other, at) && (!levels || levels[other] == level)) {
            return slot;
        }
        slot = (slot + 1) & mask;
    }
}

#endif
