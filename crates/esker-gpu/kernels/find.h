/* What stages `find_pairs` and `collide` work on, up to the contacts that are chosen; field by
 * field as `src/resident/find.rs` has it.
 *
 * Cells are found by tables of hashes, so that they may be anywhere. Entries of that of the field
 * are grains: the first grain of a cell stands for it. Which grain is the first, which number a
 * cell gets and where its spheres are listed depends on who comes first; nothing that is computed
 * does. Lists of candidates are in no order.
 */
#ifndef ESKER_FIND_H
#define ESKER_FIND_H

#include "grains.h"

#define NOBODY 0xffffffffu
/* A cell and those around it. */
#define AROUND 27
/* Rows of three of them along x. */
#define ROWS_AROUND 9
/* Coordinates of cells stay within this on either side of zero. */
#define FARTHEST_CELL (1 << 21)
/* Levels of the grid; spheres of the last are held against all others. */
#define LAST_LEVEL 20
/* Bits of a coordinate of the finest cells. Those of each further level are twice as wide and
 * have one bit less. */
#define GRID_BITS 21
/* A cube of so many cells along each axis has slots side by side. */
#define CUBE 4
#define CELLS_OF_CUBE (CUBE * CUBE * CUBE)

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

/* A slot of the grid's table: all that a look-up asks for. */
struct ALIGNED(16) GridCell {
    /* Which cell it is (`grid_key`); zero for none. */
    u64 key;
    /* Its first sphere in the order of cells, and how many there are. */
    u32 start;
    u32 count;
};

/* A sphere in the order of cells, as far as others are held against it. */
struct ALIGNED(16) Sphere {
    struct Vector centre;
    double reach;
};

/* Places of two spheres in the order of cells. */
struct ALIGNED(8) InReach {
    u32 p;
    u32 q;
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
    u32 in_reach;
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
    /* Candidates that there is room for, and pairs in reach of each other. */
    u32 room;
    u32 pair_room;
    /* Numbers of `sides` per grain. */
    u32 side_words;

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

    struct GridCell *grid;
    /* Of every grain: slot of its cell, or nobody's where it takes no part, and its place among
     * those of the cell. */
    u32 *grid_slot_of;
    u32 *grid_rank;
    /* In the order of cells: spheres, keys of their cells, and rows of the grains. */
    struct Sphere *spheres;
    u64 *keys;
    u32 *order;
    /* Places in that order of the spheres that are in none of the finest cells. */
    u32 *wide;
    /* Spheres that are near enough to be looked at, each two once. */
    struct InReach *in_reach;

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

/* Slot of the field's cell of a grain; the first grain of a cell takes it. */
DEVICE u32 claim_slot(u32 *table, u32 mask, const int *all_at, u32 i, int *is_first) {
    const int *at = all_at + 3 * (u64)i;
    u32 slot = hash_of_cell(at, 0) & mask;
    *is_first = 0;
    for (;;) {
        u32 other = COMPARE_AND_SWAP_U32(&table[slot], NOBODY, i);
        if (other == NOBODY) {
            *is_first = 1;
            return slot;
        }
        if (is_same_cell(all_at + 3 * (u64)other, at)) return slot;
        slot = (slot + 1) & mask;
    }
}

/* Slot of a cell of the field, or nobody's. */
DEVICE u32 find_slot(const u32 *table, u32 mask, const int *all_at, const int *at) {
    u32 slot = hash_of_cell(at, 0) & mask;
    for (;;) {
        u32 other = table[slot];
        if (other == NOBODY) return NOBODY;
        if (is_same_cell(all_at + 3 * (u64)other, at)) return slot;
        slot = (slot + 1) & mask;
    }
}

/* A cell of the grid as a number that no other cell has: a one, and behind it the coordinates, of
 * as many bits each as those of its level have. Zero where no cell is. */
DEVICE u64 grid_key(u32 level, const int *at) {
    u32 bits = GRID_BITS - level;
    u32 beyond = 0;
    u64 key = 1;
    for (int k = 0; k < 3; k++) {
        u32 coordinate = (u32)at[k] + (1u << (bits - 1));
        beyond |= coordinate >> bits;
        key = key << bits | coordinate;
    }
    return beyond ? 0 : key;
}

DEVICE u32 level_of_key(u64 key) {
    return GRID_BITS - HIGHEST_BIT(key) / 3;
}

/* The coordinates that a key was made of. */
DEVICE void cell_of_key(u64 key, u32 level, int *at) {
    u32 bits = GRID_BITS - level;
    for (int k = 0; k < 3; k++) {
        u32 coordinate = (u32)(key >> ((2 - k) * bits)) & ((1u << bits) - 1);
        at[k] = (int)(coordinate - (1u << (bits - 1)));
    }
}

/* The slot where a cell of the grid is looked for first. The cells around one are side by side, and
 * so are their spheres in the order of cells. A cube shuffles its cells: those of a layer, which
 * fill a part of every cube, would leave most of the table empty. */
DEVICE u32 first_slot(u32 mask, u32 level, const int *at) {
    int cube[3];
    u32 within = 0;
    for (int k = 2; k >= 0; k--) {
        cube[k] = (int)((u32)at[k] / CUBE);
        within = within * CUBE + (u32)at[k] % CUBE;
    }
    u32 hash = hash_of_cell(cube, level);
    u32 shuffle = (u32)((u64)hash * CELLS_OF_CUBE >> 32);
    return (hash * CELLS_OF_CUBE + (within ^ shuffle)) & mask;
}

/* The slot to look at next: of the next cube. All slots have their turn, as the step is odd. */
DEVICE u32 next_slot(u32 mask, u32 slot) {
    return (slot + CELLS_OF_CUBE + 1) & mask;
}

DEVICE struct GridCell cell_in(const struct GridCell *grid, u32 slot) {
    u32 words[4];
    LOAD_QUAD(grid + slot, words);
    struct GridCell cell = {(u64)words[1] << 32 | words[0], words[2], words[3]};
    return cell;
}

/* The cell that has a key, where there is one; else one without spheres. It is looked for from a
 * slot on, of which is known what is there. */
DEVICE struct GridCell found_cell(const struct GridCell *grid, u32 mask, u64 key, u32 slot,
                                  struct GridCell there) {
    while (there.key != key && there.key != 0) {
        slot = next_slot(mask, slot);
        there = cell_in(grid, slot);
    }
    return there;
}

#endif
