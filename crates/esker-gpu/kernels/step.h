/* What kernels are given of a step, field by field as `src/layout.rs` has it.
 *
 * Contacts lie block by block in the order of the plan, and within a block level by level: a
 * contact's level is one more than the largest of the contacts before it in the block that
 * share a body with it. Contacts of one level share no body, and every body meets its
 * contacts in the order of the plan.
 *
 * Those of a flat plan, whose contacts of one colour share no body, lie group by group, LANES
 * places each; where a group has fewer contacts its last places are empty.
 */
#ifndef ESKER_STEP_H
#define ESKER_STEP_H

#include "portable.h"

/* Threads of a thread block that sweeps a block of the plan, at most, and of one that passes over
 * bodies. */
#define SWEEP_THREADS 256
#define BODY_THREADS 256
/* Threads of a thread block that sweeps contacts of one colour of a flat plan, at most. */
#define FLAT_THREADS 256
/* Threads of a thread block of a kernel that does all substeps, and such blocks that a multiprocessor
 * has at a time at least. */
#define TURN_THREADS 32
#ifdef MIXED
#define TURN_BLOCKS 12
#else
#define TURN_BLOCKS 8
#endif
/* Colours of a flat plan at most; others have eight parities and the block behind them. */
#define MOST_COLOURS 64
/* Places of a group in a flat plan. */
#define LANES 8
/* Law of a place without contact. */
#define EMPTY_PLACE 0xffffu
/* Numbers of a body in a block's memory: velocity, inverse mass, angular velocity, inverse
 * inertia, and the velocity at the start of the substep; an odd number, too. */
#define CACHED 11
/* A contact that nobody wants sums of. */
#define UNTRACKED 0xffffffffu
/* `wake` of a group that was woken in substep k: this and k. Below are the substeps that
 * sleeping groups wait for, and zero for groups that take part in every one. */
#define WOKEN 0x80000000u
/* `wake` of a group that sleeps through all substeps of the step. */
#define ASLEEP_ALL_STEP (WOKEN - 1)

/* What all contacts of one law share. */
struct Law {
    double friction;
    double bias_rate;
    double restitution;
    double impact_speed;
    u32 rolls;
    u32 hertz;
    u32 follows;
    u32 unused;
};

/* A block of the plan. */
struct Block {
    u32 contacts;
    u32 contacts_end;
    /* First of `body_count` entries of `body_list`; none where the block has more bodies than
     * fit, and its contacts name bodies by themselves. */
    u32 bodies;
    u32 body_count;
    u32 groups;
    u32 groups_end;
};

/* What a body meets in the sweeps of a step, where bodies meet contacts in turn. */
struct Turns {
    /* Colours of its contacts, a bit each. */
    u64 colours;
    /* Its inverse mass and moment of inertia. */
    real masses[2];
};

/* A body with copies. */
struct Original {
    u32 body;
    u32 first;
    u32 count;
    u32 unused;
};

/* A step of substeps. */
struct Step {
    double step;
    double inverse_step;
    double fall[3];
    double friction_factor;
    double rolling_factor;
    double longest_sleep;
    u32 substeps;
    u32 bodies;
    u32 movable;
    u32 contacts;
    u32 groups;
    u32 blocks;
    u32 tracked_contacts;
    u32 rolls;
    u32 first_acceleration;
    u32 accelerations;
    u32 originals;
    /* Sums of energy losses, zero where nobody wants them. */
    u32 loss_sums;
    /* First block of every colour, or of a flat plan first place, and the end. */
    u32 colours[MOST_COLOURS + 1];
    u32 is_flat;

    const struct Law *laws;
    const struct Block *block;
    const u32 *body_list;
    const struct Original *original;
    /* Linear and angular, six numbers each. */
    const real *acceleration;

    /* Eight numbers per body: velocity, inverse mass, angular velocity, inverse inertia. */
    real *state;
    /* The same at the start of the substep, v° and omega°. */
    real *before;
    /* Sums over the substeps done, in the same places. */
    real *moved;
    /* Colours of the contacts of every movable body, a bit each, of a flat plan; null where they are
     * not known. */
    const u64 *colours_of;
    /* Of every body. */
    struct Turns *turns;
    /* What impacts have changed in this substep, six numbers. */
    real *change;
    u32 *impacted;

    /* Per group. */
    const double *open_time;
    const u32 *last_body;
    u32 *wake;
    u64 *soonest;

    /* Per contact. */
    const u32 *level;
    const u32 *contact_bodies;
    const u32 *group;
    const u16 *law;
    const u32 *tracked;
    /* `struct PlaceInTurn`, two numbers; masses of both bodies, and moments of inertia. */
    u32 *in_turn;
    real *masses[4];
    /* Place in the order of the plan; where losses are wanted alone, as all of losses. */
    const u32 *plan_place;
    real *normal[3];
    real *overlap;
    real *arms[2];
    const real *compliance;
    const float *inverse_tangent;
    const float *cap;
    const float *min_overlap;
    const float *damping_factor;
    const float *closing;
    /* Negative of one that was an impact in the last substep, whose impulses do not count any
     * more. */
    real *impulse;
    real *friction[3];
    const real *rolling_limit;
    const real *twisting_limit;
    const real *inverse_rolling;
    real *rolling[3];
    real *twisting;
    /* Whether it was an impact in the last substep. */
    u32 *is_impact;

    /* Per tracked contact: normal, friction, rolling, twisting. */
    real *sums;
    /* Impact rows per substep, and whether thread blocks have waited for one another in vain. */
    u32 *impact_counts;
    /* Energy lost in a substep by normal rows, impacts, friction and rolling, per contact in the
     * order of the plan, and summed over the substeps for ranges of contacts. */
    real *losses;
    real *loss_sum;
    const u32 *loss_ranges;
};

#endif
