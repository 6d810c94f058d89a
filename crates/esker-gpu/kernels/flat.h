/* The order of a flat plan: `esker_solver::colouring`.
 *
 * Colours are found parity after parity of blocks: those of one share no body. Within a block a
 * contact is coloured as soon as it is the lowest of those that are left of either of its bodies;
 * what it gets is what one thread would give it that goes from the bottom up. Then contacts
 * are sorted by colour, law and class, which is stable, and cut into groups.
 */
#ifndef ESKER_FLAT_H
#define ESKER_FLAT_H

#include "advance.h"
#include "plan.h"
#include "primitives.h"

/* Bodies of a block that a thread block has room for itself. */
#define OWN_BODIES 1024
/* Contacts of a thread whose state it keeps to itself. */
#define OWN_CONTACTS 64

/* Colours of the contacts of blocks; `number` is the parity of these. */
RESIDENT_KERNEL(flat_colour, Advance) {
    SHARED(u64, own_masks[OWN_BODIES]);
    SHARED(u32, own_lowest[2][OWN_BODIES]);
    SHARED(u32, left);
    OWN(u64, is_done);
    u32 end = s->numbers->colours[number + 1];
    for (u32 block = s->numbers->colours[number] + THREAD_BLOCK; block < end;
         block += THREAD_BLOCKS) {
        u32 start = s->block_start[block], n = s->block_count[block];
        u32 bodies = s->block_bodies[block], fits = bodies <= OWN_BODIES;
        const u32 *list = s->step->body_list + 2 * (u64)start;
        u64 *masks = fits ? own_masks : s->masks + 2 * (u64)start;
        u32 *table = s->body_table + 4 * (u64)start;
        /* The lowest contact of every body that is left, in this round and in the next. */
        u32 *lowest = fits ? own_lowest[0] : table;
        u32 *next_lowest = fits ? own_lowest[1] : table + 2 * (u64)n;
        FOR_THREADS(thread) {
            for (u32 k = thread; k < bodies; k += THREADS) {
                masks[k] = list[k] == NOBODY ? 0 : s->colours_of[list[k]];
                lowest[k] = NOBODY;
            }
            for (u32 k = thread; k < n; k += THREADS) s->coloured[start + k] = NOBODY;
            *MINE(is_done, thread) = 0;
            if (thread == 0) left = n;
        }
        BARRIER();
        while (left > 0) {
            FOR_THREADS(thread) {
                u64 done = *MINE(is_done, thread);
                for (u32 k = thread, own = 0; k < n; k += THREADS, own++) {
                    if (own < OWN_CONTACTS ? done >> own & 1 : s->coloured[start + k] != NOBODY) {
                        continue;
                    }
                    const u32 *local = s->local_bodies + 2 * (u64)(start + k);
                    ATOMIC_MIN_U32(lowest + local[0], k);
                    if (!(local[1] & IS_GHOST)) ATOMIC_MIN_U32(lowest + local[1], k);
                }
            }
            BARRIER();
            FOR_THREADS(thread) {
                u64 done = *MINE(is_done, thread);
                for (u32 k = thread; k < bodies; k += THREADS) next_lowest[k] = NOBODY;
                for (u32 k = thread, own = 0; k < n; k += THREADS, own++) {
                    if (own < OWN_CONTACTS ? done >> own & 1 : s->coloured[start + k] != NOBODY) {
                        continue;
                    }
                    const u32 *local = s->local_bodies + 2 * (u64)(start + k);
                    u32 is_wall = local[1] >> 31;
                    if (lowest[local[0]] != k) continue;
                    if (!is_wall && lowest[local[1]] != k) continue;
                    u64 taken = masks[local[0]] | (is_wall ? 0 : masks[local[1]]);
                    u32 colour = taken == EMPTY_KEY ? MOST_COLOURS - 1 : lowest_bit(~taken);
                    if (taken == EMPTY_KEY) ATOMIC_OR_U32(&s->numbers->obstacle, MANY_COLOURS);
                    masks[local[0]] |= 1ull << colour;
                    if (!is_wall) masks[local[1]] |= 1ull << colour;
                    s->coloured[start + k] = colour;
                    if (own < OWN_CONTACTS) done |= 1ull << own;
                    ATOMIC_ADD_U32(&left, 0xffffffffu);
                }
                *MINE(is_done, thread) = done;
            }
            BARRIER();
            u32 *swapped = lowest;
            lowest = next_lowest;
            next_lowest = swapped;
        }
        FOR_THREADS(thread) {
            for (u32 k = thread; k < bodies; k += THREADS) {
                if (list[k] != NOBODY) s->colours_of[list[k]] = masks[k];
            }
        }
        BARRIER();
    }
}

/* What contacts are sorted by. */
RESIDENT_KERNEL(flat_keys, Advance) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count) {
            s->sorted_height[i] = (u64)s->coloured[i] * s->kinds + s->sorted_class[i];
            s->coloured[i] = i;
        }
    }
}

/* Keys and contacts once they are sorted; `which` says where they are. */
DEVICE const u64 *sorted_keys(const struct Advance *s, u32 which) {
    return which ? s->height : s->sorted_height;
}

DEVICE const u32 *sorted_places(const struct Advance *s, u32 which) {
    return which ? s->level_starts : s->coloured;
}

/* Where contacts of every key begin. */
RESIDENT_KERNEL(flat_bounds, Advance) {
    const u64 *keys = sorted_keys(s, number);
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count + 1) {
            u32 first = i == 0 ? 0 : (u32)keys[i - 1] + 1;
            u32 last = i == s->count ? MOST_COLOURS * s->kinds : (u32)keys[i];
            for (u32 key = first; key <= last; key++) s->key_start[key] = i;
        }
    }
}

/* First group of every key, and first place of every colour. One thread block. */
RESIDENT_KERNEL(flat_groups, Advance) {
    SHARED(u32, sums[2][RESIDENT_THREADS]);
    u32 keys = MOST_COLOURS * s->kinds, groups = 0;
    (void)number;
    for (u32 start = 0; start < keys; start += RESIDENT_THREADS) {
        u32 total;
        FOR_THREADS(thread) {
            u32 key = start + thread;
            u32 size = key < keys ? s->key_start[key + 1] - s->key_start[key] : 0;
            sums[0][thread] = (size + GROUP_LANES - 1) / GROUP_LANES;
        }
        BARRIER();
        EXCLUSIVE_SCAN_OF_THREADS(sums, total);
        FOR_THREADS(thread) {
            if (start + thread < keys) s->key_group[start + thread] = groups + sums[0][thread];
        }
        BARRIER();
        groups += total;
    }
    FOR_THREADS(thread) {
        for (u32 colour = thread; colour <= MOST_COLOURS; colour += THREADS) {
            u32 first = colour < MOST_COLOURS ? s->key_group[colour * s->kinds] : groups;
            s->numbers->colours[colour] = s->step->colours[colour] = GROUP_LANES * first;
        }
        if (thread == 0) s->numbers->groups = groups;
    }
}

/* Contacts in the order of the sweep, in groups. */
RESIDENT_KERNEL(flat_order, Advance) {
    const u64 *keys = sorted_keys(s, number);
    const u32 *places = sorted_places(s, number);
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count) {
            u32 key = (u32)keys[i], from = places[i];
            u32 rank = i - s->key_start[key], end = s->key_start[key + 1];
            u32 group = s->key_group[key] + rank / GROUP_LANES, lane = rank % GROUP_LANES;
            s->order[i] = s->sorted[from];
            s->group_of[i] = group;
            s->place[i] = GROUP_LANES * group + lane;
            s->fixed_rank[i] = s->local_bodies[2 * (u64)from + 1] >> 31;
            if (lane == 0) {
                s->group_start[group] = i;
                s->group_law[group] = (u16)(key % s->kinds / CLASSES);
            }
            if (lane + 1 == GROUP_LANES || i + 1 == end) s->group_end[group] = i + 1;
            if (i + 1 == end) {
                for (u32 k = lane + 1; k < GROUP_LANES; k++) {
                    ((u16 *)s->step->law)[GROUP_LANES * group + k] = EMPTY_PLACE;
                }
            }
        }
    }
}

/* What a sweep needs to know of the step. */
RESIDENT_KERNEL(flat_finish, Advance) {
    struct Step *step = s->step;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, 1) {
            step->is_flat = 1;
            step->blocks = 0;
            step->groups = s->numbers->groups;
            step->contacts = GROUP_LANES * s->numbers->groups;
            step->tracked_contacts = s->numbers->fixed;
            step->bodies = s->grains->count + s->numbers->fixed;
        }
    }
}

#endif
