/* What the host wants to know of grains after a step; field by field as
 * `src/resident/measures.rs` has it. */
#ifndef ESKER_MEASURES_H
#define ESKER_MEASURES_H

#include "primitives.h"
#include "exact_sum.h"
#include "grains.h"

struct MeasuredNumbers {
    /* Kinetic energy. */
    u64 energy[LIMBS];
    u32 may_leave;
    u32 listed;
};

/* A grain that may leave or is near an emitter. */
struct Listed {
    struct Vector position;
    u32 row;
    u32 unused;
};

struct Measures {
    const struct Grains *grains;
    struct MeasuredNumbers *numbers;
    /* Lower and upper corners of boxes: of the bounds, around sinks, around emitters. */
    const double *boxes;
    u32 sinks;
    u32 emitters;
    u32 has_bounds;
    /* Grains that there is room for in the list. */
    u32 room;
    struct Listed *listed;
};

DEVICE int is_in_box(const double *corners, struct Vector x) {
    return corners[0] <= x.x && x.x <= corners[3] && corners[1] <= x.y && x.y <= corners[4]
        && corners[2] <= x.z && x.z <= corners[5];
}

RESIDENT_KERNEL(measures_begin, Measures) {
    (void)number;
    FOR_THREADS(thread) {
        if (THREAD_BLOCK == 0 && thread < LIMBS) s->numbers->energy[thread] = 0;
        if (THREAD_BLOCK == 0 && thread == 0) s->numbers->may_leave = s->numbers->listed = 0;
    }
}

RESIDENT_KERNEL(measure_grains, Measures) {
    SHARED(u64, limbs[LIMBS]);
    (void)number;
    FOR_THREADS(thread) {
        if (thread < LIMBS) limbs[thread] = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        u32 some_may_leave = 0;
        u64 own[LIMBS] = {0, 0, 0, 0, 0, 0, 0, 0};
        FOR_EACH(i, thread, s->grains->count) {
            const double *state = s->grains->state + 8 * (u64)i;
            struct Vector x = vector_at(s->grains->position, i);
            struct Vector v = velocity_of(s->grains, i);
            struct Vector spin = vector(state[4], state[5], state[6]);
            double turning = state[7] > 0.0 ? dot(spin, spin) / state[7] : 0.0;
            add_exactly(own, 0.5 * (s->grains->mass[i] * dot(v, v) + turning));
            u32 may_leave = s->has_bounds && !is_in_box(s->boxes, x), is_near_emitter = 0;
            for (u32 k = 1; k <= s->sinks + s->emitters; k++) {
                if (!is_in_box(s->boxes + 6 * k, x)) continue;
                if (k <= s->sinks) may_leave = 1;
                else is_near_emitter = 1;
            }
            some_may_leave |= may_leave;
            if (may_leave || is_near_emitter) {
                u32 place = FETCH_ADD_U32(&s->numbers->listed, 1);
                if (place < s->room) {
                    s->listed[place].position = x;
                    s->listed[place].row = i;
                    s->listed[place].unused = 0;
                }
            }
        }
        if (some_may_leave) s->numbers->may_leave = 1;
        for (int k = 0; k < LIMBS; k++) WARP_ADD_U64(limbs + k, own[k]);
    }
    BARRIER();
    FOR_THREADS(thread) {
        if (thread < LIMBS && limbs[thread] != 0) {
            ATOMIC_ADD_U64(&s->numbers->energy[thread], limbs[thread]);
        }
    }
}

#endif
