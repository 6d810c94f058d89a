/* The order of a flat plan: `esker_solver::colouring`.
 *
 * Colours are found parity after parity of blocks: those of one share no body. Within a block a
 * contact is coloured as soon as those before it are that share a body with it;
 * what it gets is what one thread would give it that goes from the bottom up. Then contacts
 * are sorted by colour, law and class, which is stable, and cut into groups.
 */
#ifndef ESKER_FLAT_H
#define ESKER_FLAT_H

#include "advance.h"
#include "plan.h"
#include "primitives.h"

/* Whether a contact has its colour; nobody is no contact to wait for. */
DEVICE int is_coloured(u32 *colours, u32 contact) {
    return contact == NOBODY || WATCHED_U32(colours + contact) != NOBODY;
}

/* Colours of the contacts of blocks; `number` is the parity of these.
 *
 * Every body has a list of its contacts in the block, from which a contact knows those before it.
 * Contacts of as many as there are threads are coloured at a time, in their order: a thread watches
 * for the colours of the two that it waits for. (Of 1e5 grains that takes an H200 0.20 ms. Rounds of
 * all threads with barriers between them, each of which found the lowest contact of every body that
 * was left, took 0.66 ms, in blocks half as wide again.) */
RESIDENT_KERNEL(flat_colour, Advance) {
    SHARED(u64, own_masks[OWN_BODIES]);
    SHARED(u32, own_starts[OWN_BODIES]);
    SHARED(u32, own_ends[OWN_BODIES]);
    SHARED(u32, own_lists[2 * OWN_CONTACTS]);
    SHARED(u32, own_colours[OWN_CONTACTS]);
    SHARED(u32, listed);
    u32 end = s->numbers->colours[number + 1];
    for (u32 block = s->numbers->colours[number] + THREAD_BLOCK; block < end;
         block += THREAD_BLOCKS) {
        u32 start = s->block_start[block], n = s->block_count[block];
        u32 bodies = s->block_bodies[block], fits = bodies <= OWN_BODIES && n <= OWN_CONTACTS;
        const u32 *of_bodies = s->step->body_list + 2 * (u64)start;
        const u32 *locals = s->local_bodies + 2 * (u64)start;
        u64 *masks = fits ? own_masks : s->masks + 2 * (u64)start;
        /* Where a body's list begins and ends, and the lists. */
        u32 *starts = fits ? own_starts : s->body_index + 4 * (u64)start;
        u32 *ends = fits ? own_ends : s->body_index + 4 * (u64)start + 2 * (u64)n;
        u32 *lists = fits ? own_lists : s->body_table + 4 * (u64)start;
        u32 *colours = fits ? own_colours : s->coloured + start;
        FOR_THREADS(thread) {
            for (u32 k = thread; k < bodies; k += THREADS) {
                masks[k] = of_bodies[k] == NOBODY ? 0 : s->colours_of[of_bodies[k]];
                ends[k] = 0;
            }
            for (u32 k = thread; k < n; k += THREADS) colours[k] = NOBODY;
            if (thread == 0) listed = 0;
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = thread; k < 2 * n; k += THREADS) {
                if (!(locals[k] & IS_GHOST)) ATOMIC_ADD_U32(ends + locals[k], 1);
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = thread; k < bodies; k += THREADS) {
                starts[k] = FETCH_ADD_U32(&listed, ends[k]);
                ends[k] = starts[k];
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = thread; k < 2 * n; k += THREADS) {
                if (!(locals[k] & IS_GHOST)) lists[FETCH_ADD_U32(ends + locals[k], 1)] = k / 2;
            }
        }
        BARRIER();
        for (u32 first = 0; first < n; first += THREADS) {
            FOR_THREADS(thread) {
                u32 k = first + thread, is_done = k >= n, pair[2] = {0, 0};
                u32 before[2] = {NOBODY, NOBODY};
                for (u32 side = 0; side < 2 && !is_done; side++) {
                    pair[side] = locals[2 * k + side];
                    if (pair[side] & IS_GHOST) continue;
                    for (u32 e = starts[pair[side]]; e < ends[pair[side]]; e++) {
                        u32 other = lists[e];
                        if (other < k && (before[side] == NOBODY || other > before[side])) {
                            before[side] = other;
                        }
                    }
                }
                u32 is_wall = pair[1] >> 31;
                do {
                    if (!is_done && is_coloured(colours, before[0]) &&
                        is_coloured(colours, before[1])) {
                        IN_ORDER();
                        u64 taken = WATCHED_U64(masks + pair[0]);
                        if (!is_wall) taken |= WATCHED_U64(masks + pair[1]);
                        u32 colour = taken == EMPTY_KEY ? MOST_COLOURS - 1 : LOWEST_BIT(~taken);
                        if (taken == EMPTY_KEY) ATOMIC_OR_U32(&s->numbers->obstacle, MANY_COLOURS);
                        WATCHED_U64(masks + pair[0]) |= 1ull << colour;
                        if (!is_wall) WATCHED_U64(masks + pair[1]) |= 1ull << colour;
                        if (fits) s->coloured[start + k] = colour;
                        IN_ORDER();
                        WATCHED_U32(colours + k) = colour;
                        is_done = 1;
                    }
                } while (!ALL_OF_WARP(is_done));
            }
            BARRIER();
        }
        FOR_THREADS(thread) {
            for (u32 k = thread; k < bodies; k += THREADS) {
                if (of_bodies[k] != NOBODY) s->colours_of[of_bodies[k]] = masks[k];
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
