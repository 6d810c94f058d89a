/* Rows of grains change while the grains stay on the device: some leave, the last ones take their
 * places, others come; and now and then all are put into another order. The host decides which;
 * records are field by field as `src/resident/turnover.rs` has them.
 *
 * What is remembered of contacts goes with the grain that owns it. Of grains that are gone it is
 * nobody's.
 */
#ifndef ESKER_TURNOVER_H
#define ESKER_TURNOVER_H

#include "advance.h"
#include "primitives.h"

/* A row that has another grain. */
struct ChangedRow {
    u32 to;
    /* The row that it had, or nobody's for one that has come. */
    u32 from;
    u32 slot;
    u32 material;
    double radius;
    double mass;
    u64 id;
    struct Vector position;
    double state[8];
    double orientation[4];
    u32 entry;
    u32 unused;
};

/* What is remembered: the first entry of every row, entries, and the rows of their owners. */
struct RememberedRows {
    u32 *entry_of;
    struct Entry *entries;
    u32 *rows;
    const u32 *count;
};

struct Turnover {
    const struct Grains *grains;
    struct ChangedRow *changed;
    /* Rows of grains that are gone. */
    const u32 *gone;
    u32 changed_count;
    u32 gone_count;
    struct RememberedRows remembered;
};

DEVICE void set_owner(const struct RememberedRows *remembered, u32 first, u32 row) {
    for (u32 e = first; e != NO_ENTRY; e = remembered->entries[e].next) {
        remembered->entries[e].row = row;
        remembered->rows[e] = row;
    }
}

/* Takes grains that move out of their rows. */
RESIDENT_KERNEL(turnover_take, Turnover) {
    const struct Grains *g = s->grains;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, s->changed_count) {
            struct ChangedRow *row = s->changed + k;
            row->entry = NO_ENTRY;
            if (row->from == NOBODY) continue;
            u64 from = row->from;
            row->position = vector_at(g->position, row->from);
            for (int j = 0; j < 8; j++) row->state[j] = g->state[8 * from + j];
            for (int j = 0; j < 4; j++) row->orientation[j] = g->orientation[4 * from + j];
            row->entry = s->remembered.entry_of[from];
        }
        FOR_EACH(k, thread, s->gone_count) {
            set_owner(&s->remembered, s->remembered.entry_of[s->gone[k]], NOBODY);
        }
    }
}

/* Puts them, and those that come, where they belong. */
RESIDENT_KERNEL(turnover_put, Turnover) {
    const struct Grains *g = s->grains;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, s->changed_count) {
            const struct ChangedRow *row = s->changed + k;
            u64 to = row->to;
            set_vector(g->position, row->to, row->position);
            for (int j = 0; j < 8; j++) g->state[8 * to + j] = row->state[j];
            for (int j = 0; j < 4; j++) g->orientation[4 * to + j] = row->orientation[j];
            ((double *)g->radius)[to] = row->radius;
            ((double *)g->mass)[to] = row->mass;
            ((u64 *)g->id)[to] = row->id;
            ((u32 *)g->slot)[to] = row->slot;
            ((u16 *)g->material)[to] = (u16)row->material;
            s->remembered.entry_of[to] = row->entry;
            set_owner(&s->remembered, row->entry, row->to);
        }
    }
}

/* Rows in another order; the host sends the grains. */
struct Reorder {
    /* The row that each had. */
    const u32 *order;
    /* Where each is now, and the first entry of each. */
    u32 *now;
    u32 *entry;
    u32 count;
    u32 unused;
    struct RememberedRows remembered;
};

RESIDENT_KERNEL(reorder_take, Reorder) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, s->count) {
            s->now[s->order[k]] = k;
            s->entry[k] = s->remembered.entry_of[s->order[k]];
        }
    }
}

RESIDENT_KERNEL(reorder_put, Reorder) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(k, thread, s->count) { s->remembered.entry_of[k] = s->entry[k]; }
        FOR_EACH(e, thread, *s->remembered.count) {
            u32 row = s->remembered.rows[e];
            if (row == NOBODY) continue;
            s->remembered.entries[e].row = s->now[row];
            s->remembered.rows[e] = s->now[row];
        }
    }
}

#endif
