/* The end of a step: grains move, contacts are remembered, walls get their loads, as
 * `esker_world::step` has it.
 */
#ifndef ESKER_FINISH_H
#define ESKER_FINISH_H

#include "advance.h"
#include "pairs.h"

/* Grains get their velocities and move; forgets what was remembered. */
RESIDENT_KERNEL(finish_grains, Advance) {
    const struct Step *t = s->step;
    const struct Grains *g = s->grains;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, g->count) {
            const real *end = t->state + 8 * (u64)i, *moved = t->moved + 8 * (u64)i;
            double *state = g->state + 8 * (u64)i, *q = g->orientation + 4 * (u64)i;
            struct Vector by = times(vector(moved[0], moved[1], moved[2]), t->step);
            struct Vector turn = times(vector(moved[4], moved[5], moved[6]), t->step);
            struct Vector position = plus(vector_at(g->position, i), by);
            struct Quaternion turned_q = turned(quaternion_at(g->orientation, i), turn);
            int is_broken =
                !(is_finite(position.x) && is_finite(position.y) && is_finite(position.z));
            for (int k = 0; k < 3; k++) {
                state[k] = end[k];
                state[4 + k] = end[4 + k];
                is_broken = is_broken || !is_finite(end[k]) || !is_finite(end[4 + k]);
            }
            set_vector(g->position, i, position);
            q[0] = turned_q.x, q[1] = turned_q.y, q[2] = turned_q.z, q[3] = turned_q.w;
            if (is_broken) ATOMIC_ADD_U32(&s->numbers->broken, 1);
            s->next_entry_of[i] = NO_ENTRY;
        }
        FOR_EACH(i, thread, 1) { s->numbers->history = 0; }
    }
}

/* Remembers contacts that carry load, and those by which containers held grains within the
 * step. */
RESIDENT_KERNEL(finish_contacts, Advance) {
    const struct Step *t = s->step;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count) {
            const struct Candidate *c = s->chosen + s->order[i];
            u32 q = s->place[i];
            double normal = t->impulse[q];
            /* That of an impact is forgotten. */
            int is_impact = normal < 0.0;
            double impulse[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
            if (!is_impact) {
                impulse[0] = normal;
                for (int k = 0; k < 3; k++) impulse[1 + k] = t->friction[k][q];
                if (s->rolls) {
                    for (int k = 0; k < 3; k++) impulse[4 + k] = t->rolling[k][q];
                    impulse[7] = t->twisting[q];
                }
            }
            int is_held = 0;
            if (c->is_wall) {
                u32 ghost = t->tracked[q];
                const real *sums = t->sums + 8 * (u64)ghost;
                for (int k = 0; k < 8; k++) s->tracked[ghost].impulse[k] = sums[k];
                is_held = impulse[0] == 0.0 && sums[0] > 0.0 &&
                    side_of(s->walls + c->partner, c->feature) != SIDE_UNKNOWN;
            }
            if (!(impulse[0] > 0.0 || is_held)) continue;
            u32 place = NEXT_PLACE(&s->numbers->history);
            struct Entry *entry = s->next_history + place;
            entry->other = other_name(s, c);
            entry->normal = c->normal;
            for (int k = 0; k < 8; k++) entry->impulse[k] = impulse[k];
            entry->row = c->grain;
            entry->rank = is_held ? s->count + i : i;
            entry->is_claimed = 0;
            entry->next = EXCHANGE_U32(s->next_entry_of + c->grain, place);
            s->next_history_row[place] = c->grain;
            s->next_history_other[place] = entry->other;
        }
    }
}

/* Lists what the host sends to be remembered. */
RESIDENT_KERNEL(history_begin, Advance) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->grains->count) { s->next_entry_of[i] = NO_ENTRY; }
    }
}

RESIDENT_KERNEL(history_link, Advance) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->numbers->history) {
            struct Entry *entry = s->next_history + i;
            entry->is_claimed = 0;
            entry->next = EXCHANGE_U32(s->next_entry_of + entry->row, i);
            s->next_history_row[i] = entry->row;
            s->next_history_other[i] = entry->other;
        }
    }
}

/* What is remembered belongs to substeps of another length from now on. */
struct Scale {
    const struct Advance *advance;
    double factor;
};

RESIDENT_KERNEL(history_scale, Scale) {
    (void)number;
    FOR_THREADS(thread) {
        u32 entries = s->advance->numbers->history;
        FOR_EACH(i, thread, entries) {
            double *impulse = s->advance->next_history[i].impulse;
            for (int k = 0; k < 8; k++) impulse[k] *= s->factor;
        }
    }
}

#endif
