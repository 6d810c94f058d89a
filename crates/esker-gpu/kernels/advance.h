/* What the stages from the chosen candidates on work on, field by field as
 * `src/resident/advance.rs` has it.
 *
 * Contacts have three orders: as candidates they have none; in a block of the plan they come from
 * the bottom up; and the order of the plan is that of colours. Their rows lie level by level
 * (`step.h`). Arrays say which of these they are in.
 */
#ifndef ESKER_ADVANCE_H
#define ESKER_ADVANCE_H

#include "exact_sum.h"
#include "find.h"
#include "step.h"
#include "touches.h"

#define NO_ENTRY 0xffffffffu
/* Why a step has to be made by the CPU. */
#define FAR_AWAY 1u
#define NEEDS_COPIES 2u
#define MANY_AT_WALL 4u
/* Why it needs a plan that is not flat. */
#define MANY_COLOURS 8u

/* What two materials have in a step, as `esker_contact::SpringLaw` and `PairConstants` do. */
struct Pair {
    double rolling;
    double twisting;
    /* Stiffness, or of Hertz's law that of a unit of length. */
    double stiffness;
    double restitution_raise;
    double cap;
    double still;
    double bias_rate;
    double unresolved_time;
    double unresolved_factor;
    /* The damping time itself, or numbers that it follows from. */
    double damping_time;
    double alpha;
    double lag;
    double spent;
    double resolved_square;
    double followed_square;
    double exponent;
    u32 law;
    u32 hertz;
    u32 has_damping_time;
    u32 is_slow_above_step;
    u32 returns_restitution;
    u32 unused;
};

/* What kernels leave for the next ones and for the host. */
struct AdvanceNumbers {
    u64 overlap_sum[LIMBS];
    u64 max_overlap;
    u32 blocks;
    u32 contacts;
    u32 fixed;
    u32 cached_bodies;
    u32 touching;
    u32 broken;
    u32 obstacle;
    u32 history;
    /* Groups of a flat plan. */
    u32 groups;
    u32 unused;
    u32 colours[MOST_COLOURS + 1];
};

/* A contact that is remembered: what the next step may start from. */
struct Entry {
    u64 other;
    struct Vector normal;
    double impulse[8];
    u32 row;
    /* Entries are in the order of these. */
    u32 rank;
    u32 next;
    u32 is_claimed;
};

/* What a wall got of a contact in a step. */
struct Tracked {
    u32 grain;
    u32 wall;
    u32 feature;
    u32 unused;
    struct Vector normal;
    struct Vector point;
    double impulse[8];
};

struct Advance {
    const struct Grains *grains;
    const struct Wall *walls;
    const struct Candidate *chosen;
    struct AdvanceNumbers *numbers;
    struct Step *step;
    /* The step h, that of rows, and what depends on the settings. */
    double whole_step;
    double gravity;
    double cells_per_metre;
    double longest_arm;
    double friction_compliance;
    double rolling_compliance;
    u32 materials;
    u32 following;
    u32 is_whole_step;
    u32 rolls;
    /* Candidates, slots of the table less one, and bodies that a thread block has room for. */
    u32 count;
    u32 mask;
    u32 fitting;
    /* Of a flat plan, laws times classes; else none. */
    u32 kinds;
    const struct Pair *pairs;

    /* Per candidate. */
    u64 *height;
    u32 *slot_of;
    u32 *rank_in_cell;
    u32 *law_and_class;

    /* Cells: their keys by slot, slots in use, their contacts; sorted, they are blocks. */
    u64 *cell_keys;
    u32 *cell_list;
    u32 *cell_count;
    u32 *cell_block;
    u64 *block_keys;
    u32 *block_count;
    u32 *block_start;
    u32 *block_bodies;
    u32 *block_groups;
    u32 *block_fixed;
    u32 *fixed_start;

    /* From the bottom up, block by block. */
    u64 *sorted_height;
    u32 *sorted;
    u32 *sorted_class;
    /* Indices of bodies in the lists of blocks; those of ghosts are marked. */
    u32 *local_bodies;
    u32 *body_table;
    u32 *body_index;
    u64 *masks;
    u32 *last_level;
    u32 *coloured;
    u32 *level_starts;

    /* Of a flat plan: first contact and first group of each colour, law and class. */
    u32 *key_start;
    u32 *key_group;

    /* In the order of the plan. */
    u32 *order;
    u32 *from;
    u32 *block_of;
    u32 *group_of;
    u32 *level_of;
    u32 *place;
    u32 *fixed_rank;
    u32 *group_start;
    u32 *group_end;
    u16 *group_law;
    double *open_time_of;
    u32 *found_entry;
    u32 *next_at_wall;

    /* Per grain: the first of its contacts with walls that look for an impulse, colours of its
     * contacts, the first of what is remembered of the last step, and of what is remembered of
     * this one. */
    u32 *first_at_wall;
    u64 *colours_of;
    const u32 *entry_of;
    u32 *next_entry_of;

    struct Entry *history;
    struct Entry *next_history;
    u32 *next_history_row;
    u64 *next_history_other;
    struct Tracked *tracked;
};

/* The point of a candidate's contact, and the arms of its bodies. */
DEVICE struct Vector point_and_arms(const struct Advance *s, const struct Candidate *c,
                                    double *arms) {
    double radius = s->grains->radius[c->grain];
    arms[0] = radius - 0.5 * c->overlap;
    arms[1] = c->is_wall ? 0.0 : s->grains->radius[c->partner] - 0.5 * c->overlap;
    return plus(vector_at(s->grains->position, c->grain), times(c->normal, arms[0]));
}

/* The other one of a contact's name, as `ContactKey::other`. */
DEVICE u64 other_name(const struct Advance *s, const struct Candidate *c) {
    if (c->is_wall) return 1ull << 63 | (u64)c->partner << 32 | c->feature;
    return s->grains->id[c->partner];
}

DEVICE const struct Pair *pair_of(const struct Advance *s, const struct Candidate *c) {
    u32 own = s->grains->material[c->grain];
    u32 other = c->is_wall ? s->walls[c->partner].material : s->grains->material[c->partner];
    return s->pairs + (own * s->materials + other);
}

#endif
