/* The order of a sweep: `esker_solver::{plan, packer}`, and levels of its blocks.
 *
 * Contacts are counted into cells, cells sorted, contacts of each put in order of height. What
 * packs a block into groups depends on all that came before and is done by one thread per block;
 * blocks are many. Flat plans need neither groups of blocks nor levels (`flat.h`).
 */
#ifndef ESKER_PLAN_H
#define ESKER_PLAN_H

#include "advance.h"

#define EMPTY_KEY 0xffffffffffffffffull
#define GROUP_LANES 8
#define CLASSES 4
#define OPEN_GROUPS 64
/* Cells that a key has bits for, on either side of zero. */
#define KEY_CELLS (1 << 19)
/* Colour of the block behind all others. */
#define OVERFLOW_COLOUR 8ull
#define MUCH_SMALLER 0.25
#define IS_GHOST 0x80000000u
/* Contacts and bodies of a block that a thread block has room for itself. */
#define OWN_CONTACTS 512
#define OWN_BODIES 512

RESIDENT_KERNEL(plan_begin, Advance) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->mask + 1) {
            s->cell_keys[i] = EMPTY_KEY;
            s->cell_count[i] = 0;
        }
        FOR_EACH(i, thread, s->grains->count) {
            s->first_at_wall[i] = NOBODY;
            s->colours_of[i] = 0;
        }
        FOR_EACH(i, thread, s->count) { s->group_start[i] = s->group_end[i] = 0; }
        FOR_EACH(i, thread, 1) {
            struct AdvanceNumbers *n = s->numbers;
            n->max_overlap = n->blocks = n->fixed = n->cached_bodies = n->groups = 0;
            n->touching = n->broken = n->obstacle = 0;
            n->contacts = s->count;
            for (int k = 0; k < LIMBS; k++) n->overlap_sum[k] = 0;
        }
    }
}

/* The class of a contact: whether it touches, or how soon it may. */
DEVICE u32 plan_class(const struct Advance *s, const struct Candidate *c) {
    if (c->overlap >= 0.0) return 0;
    u32 later = !(-c->overlap < 0.15 * s->whole_step * c->approach)
        + !(-c->overlap < 0.5 * s->whole_step * c->approach);
    return c->is_wall ? 1 : 1 + later;
}

/* Colour after colour, from the bottom up. */
DEVICE u64 cell_key(const struct Advance *s, const struct Candidate *c) {
    double arms[2];
    struct Vector at = times(point_and_arms(s, c, arms), s->cells_per_metre);
    int holds[2];
    for (int k = 0; k < 2; k++) holds[k] = 2.0 * arms[k] < s->longest_arm;
    if (c->is_wall) holds[1] = 1;
    if (!holds[0] || !holds[1]) {
        if (!c->is_wall && (holds[0] ? arms[0] <= MUCH_SMALLER * arms[1]
                                     : holds[1] && arms[1] <= MUCH_SMALLER * arms[0])) {
            ATOMIC_OR_U32(&s->numbers->obstacle, NEEDS_COPIES);
        }
        return OVERFLOW_COLOUR << 60;
    }
    int x = cell_coordinate(at.x), y = cell_coordinate(at.y), z = cell_coordinate(at.z);
    if (x < -KEY_CELLS || x >= KEY_CELLS || y < -KEY_CELLS || y >= KEY_CELLS || z < -KEY_CELLS ||
        z >= KEY_CELLS) {
        ATOMIC_OR_U32(&s->numbers->obstacle, FAR_AWAY);
        return 0;
    }
    u64 colour = (u64)((x & 1) | (y & 1) << 1 | (z & 1) << 2);
    return colour << 60 | (u64)(z + KEY_CELLS) << 40 | (u64)(y + KEY_CELLS) << 20 |
        (u64)(x + KEY_CELLS);
}

/* Finds the cells of contacts and counts these. */
RESIDENT_KERNEL(plan_claim, Advance) {
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count) {
            const struct Candidate *c = s->chosen + i;
            double arms[2];
            u64 key = cell_key(s, c);
            u32 slot = (u32)(key * 0x9e3779b97f4a7c15ull >> 32) & s->mask;
            for (;;) {
                u64 found = COMPARE_AND_SWAP_U64(s->cell_keys + slot, EMPTY_KEY, key);
                if (found == EMPTY_KEY) {
                    s->cell_list[FETCH_ADD_U32(&s->numbers->blocks, 1)] = slot;
                    break;
                }
                if (found == key) break;
                slot = (slot + 1) & s->mask;
            }
            u32 follows = !c->is_wall && (c->feature & 1);
            u32 law = pair_of(s, c)->law + follows * s->following;
            s->height[i] = ascending(point_and_arms(s, c, arms).z);
            s->slot_of[i] = slot;
            s->rank_in_cell[i] = FETCH_ADD_U32(s->cell_count + slot, 1);
            s->law_and_class[i] = CLASSES * law + plan_class(s, c);
        }
    }
}

/* Sorts cells by their keys: each counts those before it. */
RESIDENT_KERNEL(plan_rank, Advance) {
    SHARED(u64, keys[RESIDENT_THREADS]);
    OWN(u64, own_key);
    OWN(u32, own_rank);
    u32 blocks = s->numbers->blocks;
    (void)number;
    for (u32 start = THREAD_BLOCK * THREADS; start < blocks; start += THREADS * THREAD_BLOCKS) {
        FOR_THREADS(thread) {
            *MINE(own_rank, thread) = 0;
            *MINE(own_key, thread) =
                start + thread < blocks ? s->cell_keys[s->cell_list[start + thread]] : 0;
        }
        for (u32 first = 0; first < blocks; first += THREADS) {
            FOR_THREADS(thread) {
                keys[thread] = first + thread < blocks
                    ? s->cell_keys[s->cell_list[first + thread]]
                    : EMPTY_KEY;
            }
            BARRIER();
            FOR_THREADS(thread) {
                u64 own = *MINE(own_key, thread);
                u32 before = 0;
                for (u32 k = 0; k < RESIDENT_THREADS; k++) before += keys[k] < own;
                *MINE(own_rank, thread) += before;
            }
            BARRIER();
        }
        FOR_THREADS(thread) {
            if (start + thread < blocks) {
                u32 slot = s->cell_list[start + thread], rank = *MINE(own_rank, thread);
                s->cell_block[slot] = rank;
                s->block_keys[rank] = *MINE(own_key, thread);
                s->block_count[rank] = s->cell_count[slot];
            }
        }
    }
}

/* Puts contacts into their blocks; where colours begin. */
RESIDENT_KERNEL(plan_place, Advance) {
    u32 blocks = s->numbers->blocks;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->count) {
            u32 block = s->cell_block[s->slot_of[i]];
            u32 place = s->block_start[block] + s->rank_in_cell[i];
            s->sorted[place] = i;
            s->sorted_height[place] = s->height[i];
            s->block_of[place] = block;
        }
        FOR_EACH(b, thread, blocks + 1) {
            /* Colours that begin after the block before, up to that of this one. */
            u32 first = b == 0 ? 0 : 1 + (u32)(s->block_keys[b - 1] >> 60);
            u32 last = b == blocks ? MOST_COLOURS : (u32)(s->block_keys[b] >> 60);
            for (u32 colour = first; colour <= last; colour++) {
                s->numbers->colours[colour] = b;
                s->step->colours[colour] = b;
            }
        }
    }
}

/* Whether one contact comes before another: by height, then as `plan::exactly` has it. */
DEVICE int comes_before(const struct Advance *s, u64 height_a, u32 a, u64 height_b, u32 b) {
    if (height_a != height_b) return height_a < height_b;
    const struct Candidate *first = s->chosen + a, *second = s->chosen + b;
    double arms[2];
    struct Vector p = point_and_arms(s, first, arms), q = point_and_arms(s, second, arms);
    u64 keys[2][4] = {
        {ascending(p.y), ascending(p.x), s->grains->id[first->grain], other_name(s, first)},
        {ascending(q.y), ascending(q.x), s->grains->id[second->grain], other_name(s, second)},
    };
    for (int k = 0; k < 4; k++) {
        if (keys[0][k] != keys[1][k]) return keys[0][k] < keys[1][k];
    }
    return 0;
}

/* A comparator of a sorting network. */
DEVICE void put_in_order(const struct Advance *s, u64 *heights, u32 *contacts, u32 i, u32 j) {
    if (comes_before(s, heights[j], contacts[j], heights[i], contacts[i])) {
        u64 height = heights[i];
        u32 contact = contacts[i];
        heights[i] = heights[j];
        contacts[i] = contacts[j];
        heights[j] = height;
        contacts[j] = contact;
    }
}

/* Sorts the contacts of every block from the bottom up, and gives its bodies numbers. */
RESIDENT_KERNEL(plan_sort, Advance) {
    SHARED(u64, own_heights[OWN_CONTACTS]);
    SHARED(u32, own_contacts[OWN_CONTACTS]);
    /* At least as many slots as there can be bodies. */
    SHARED(u32, own_table[2 * OWN_CONTACTS]);
    SHARED(u32, own_index[2 * OWN_CONTACTS]);
    SHARED(u32, bodies);
    u32 blocks = s->numbers->blocks;
    (void)number;
    for (u32 block = THREAD_BLOCK; block < blocks; block += THREAD_BLOCKS) {
        u32 start = s->block_start[block], n = s->block_count[block], fits = n <= OWN_CONTACTS;
        u64 *heights = fits ? own_heights : s->sorted_height + start;
        u32 *contacts = fits ? own_contacts : s->sorted + start;
        u32 *table = fits ? own_table : s->body_table + 4 * (u64)start;
        u32 *index = fits ? own_index : s->body_index + 4 * (u64)start;
        u32 *list = (u32 *)s->step->body_list + 2 * (u64)start;
        u32 slots = 1;
        while (slots < 2 * n) slots *= 2;
        FOR_THREADS(thread) {
            for (u32 k = thread; fits && k < n; k += THREADS) {
                heights[k] = s->sorted_height[start + k];
                contacts[k] = s->sorted[start + k];
            }
            for (u32 k = thread; k < slots; k += THREADS) table[k] = NOBODY;
            if (thread == 0) bodies = 0;
        }
        BARRIER();
        /* Bitonic; what is beyond the end is larger than all, and stays there. */
        for (u32 size = 2; size < 2 * n; size *= 2) {
            u32 pairs = ((n + size - 1) & ~(size - 1)) / 2;
            FOR_THREADS(thread) {
                for (u32 pair = thread; pair < pairs; pair += THREADS) {
                    u32 k = pair & (size / 2 - 1), run = 2 * (pair - k);
                    u32 i = run + k, j = run + size - 1 - k;
                    if (j < n) put_in_order(s, heights, contacts, i, j);
                }
            }
            BARRIER();
            for (u32 stride = size / 4; stride > 0; stride /= 2) {
                FOR_THREADS(thread) {
                    for (u32 pair = thread; pair < pairs; pair += THREADS) {
                        u32 i = 2 * pair - (pair & (stride - 1)), j = i + stride;
                        if (j < n) put_in_order(s, heights, contacts, i, j);
                    }
                }
                BARRIER();
            }
        }
        FOR_THREADS(thread) {
            for (u32 k = thread; k < n; k += THREADS) {
                const struct Candidate *c = s->chosen + contacts[k];
                u32 *local = s->local_bodies + 2 * (u64)(start + k);
                u32 pair[2] = {c->grain, c->partner};
                for (u32 side = 0; side < 2; side++) {
                    if (side == 1 && c->is_wall) {
                        /* A ghost of its own; who it is comes later. */
                        u32 ghost = FETCH_ADD_U32(&bodies, 1);
                        list[ghost] = NOBODY;
                        local[side] = ghost | IS_GHOST;
                        continue;
                    }
                    u32 slot = (u32)((u64)pair[side] * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);
                    for (;;) {
                        u32 found = COMPARE_AND_SWAP_U32(table + slot, NOBODY, pair[side]);
                        if (found == NOBODY) {
                            u32 next = FETCH_ADD_U32(&bodies, 1);
                            index[slot] = next;
                            list[next] = pair[side];
                        }
                        if (found == NOBODY || found == pair[side]) break;
                        slot = (slot + 1) & (slots - 1);
                    }
                    local[side] = slot;
                }
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = thread; k < n; k += THREADS) {
                u32 *local = s->local_bodies + 2 * (u64)(start + k);
                local[0] = index[local[0]];
                if (!(local[1] & IS_GHOST)) local[1] = index[local[1]];
                s->sorted[start + k] = contacts[k];
                s->sorted_class[start + k] = s->law_and_class[contacts[k]];
            }
            for (u32 k = thread; k < bodies; k += THREADS) {
                s->masks[2 * (u64)start + k] = 0;
                s->last_level[2 * (u64)start + k] = 0;
            }
            if (thread == 0) s->block_bodies[block] = bodies;
        }
        BARRIER();
    }
}

/* A block on its way into groups, in the memory of a thread block: what one thread of a warp alone
 * has of its own is scattered over 32 times as much. */
struct Packing {
    const struct Advance *s;
    u32 start;
    u32 done;
    u32 groups;
    u32 fixed;
    u32 levels;
    u64 *masks;
    /* Open groups: contacts as places from the bottom up, sizes, classes, when they were opened. */
    u32 members[OPEN_GROUPS][GROUP_LANES];
    u32 size[OPEN_GROUPS];
    u32 class_of[OPEN_GROUPS];
    u32 born[OPEN_GROUPS];
    /* Contacts of every colour, then the places of the next ones. */
    u32 counts[OPEN_GROUPS];
};

/* Writes a group out and forgets it; returns its bit. */
DEVICE u64 close_group(struct Packing *p, u32 slot) {
    const struct Advance *s = p->s;
    u32 start = p->start, size = p->size[slot];
    u64 bit = 1ull << slot;
    u32 *last_level = s->last_level + 2 * (u64)start;
    u32 *level_starts = s->level_starts + start;
    s->group_start[start + p->groups] = start + p->done;
    s->group_law[start + p->groups] = (u16)(p->class_of[slot] / CLASSES);
    for (u32 k = 0; k < size; k++) {
        u32 from = p->members[slot][k], out = start + p->done;
        const u32 *local = s->local_bodies + 2 * (u64)(start + from);
        u32 is_wall = local[1] >> 31;
        u32 level = last_level[local[0]];
        if (!is_wall && last_level[local[1]] > level) level = last_level[local[1]];
        last_level[local[0]] = level + 1;
        p->masks[local[0]] &= ~bit;
        if (!is_wall) {
            last_level[local[1]] = level + 1;
            p->masks[local[1]] &= ~bit;
        }
        while (p->levels <= level) level_starts[p->levels++] = 0;
        level_starts[level] += 1;
        s->order[out] = s->sorted[start + from];
        s->from[out] = start + from;
        s->group_of[out] = start + p->groups;
        s->level_of[out] = level;
        s->fixed_rank[out] = p->fixed;
        p->fixed += is_wall;
        p->done += 1;
    }
    s->group_end[start + p->groups] = start + p->done;
    p->groups += 1;
    return bit;
}

DEVICE u32 oldest_group(const struct Packing *p, u64 in_use) {
    u32 oldest = OPEN_GROUPS;
    for (u32 g = 0; g < OPEN_GROUPS; g++) {
        if ((in_use >> g & 1) && (oldest == OPEN_GROUPS || p->born[g] < p->born[oldest])) oldest = g;
    }
    return oldest;
}

/* `Packer::sort_by_colour`. */
DEVICE void sort_by_colour(struct Packing *p, u32 n) {
    const struct Advance *s = p->s;
    u32 start = p->start, *counts = p->counts;
    for (u32 k = 0; k < OPEN_GROUPS; k++) counts[k] = 0;
    for (u32 k = 0; k < n; k++) {
        const u32 *local = s->local_bodies + 2 * (u64)(start + k);
        u32 is_wall = local[1] >> 31;
        u64 taken = p->masks[local[0]] | (is_wall ? 0 : p->masks[local[1]]);
        u32 colour = taken == EMPTY_KEY ? OPEN_GROUPS - 1 : LOWEST_BIT(~taken);
        p->masks[local[0]] |= 1ull << colour;
        if (!is_wall) p->masks[local[1]] |= 1ull << colour;
        s->from[start + k] = colour;
        counts[colour] += 1;
    }
    u32 next = 0;
    for (u32 k = 0; k < OPEN_GROUPS; k++) {
        u32 count = counts[k];
        counts[k] = next;
        next += count;
    }
    for (u32 k = 0; k < n; k++) {
        const u32 *local = s->local_bodies + 2 * (u64)(start + k);
        s->coloured[start + counts[s->from[start + k]]++] = k;
        p->masks[local[0]] = 0;
        if (!(local[1] & IS_GHOST)) p->masks[local[1]] = 0;
    }
}

/* `Packer::pack`, and the levels of what it makes. */
DEVICE void pack_block(const struct Advance *s, u32 block, struct Packing *p) {
    p->s = s;
    p->start = s->block_start[block];
    p->done = p->groups = p->fixed = p->levels = 0;
    p->masks = s->masks + 2 * (u64)p->start;
    u32 n = s->block_count[block], start = p->start, born = 0;
    sort_by_colour(p, n);
    u64 in_use = 0;
    for (u32 i = 0; i < n; i++) {
        u32 k = s->coloured[start + i];
        u32 class_of = s->sorted_class[start + k];
        const u32 *local = s->local_bodies + 2 * (u64)(start + k);
        u32 is_wall = local[1] >> 31;
        u64 taken = p->masks[local[0]] | (is_wall ? 0 : p->masks[local[1]]);
        /* Open groups of the class: looked for among those that are free. */
        u64 fit = 0;
        for (u64 left = in_use & ~taken; left && !fit; left &= left - 1) {
            u32 g = LOWEST_BIT(left);
            if (p->class_of[g] == class_of) fit = 1ull << g;
        }
        if (!fit) {
            if (in_use == EMPTY_KEY) in_use &= ~close_group(p, oldest_group(p, in_use));
            fit = ~in_use & (in_use + 1);
            in_use |= fit;
            u32 g = LOWEST_BIT(fit);
            p->size[g] = 0;
            p->class_of[g] = class_of;
            p->born[g] = born++;
        }
        u32 slot = LOWEST_BIT(fit);
        p->masks[local[0]] |= fit;
        if (!is_wall) p->masks[local[1]] |= fit;
        p->members[slot][p->size[slot]++] = k;
        if (p->size[slot] == GROUP_LANES) in_use &= ~close_group(p, slot);
    }
    while (in_use) in_use &= ~close_group(p, oldest_group(p, in_use));
    s->block_groups[block] = p->groups;
    s->block_fixed[block] = p->fixed;
    /* Level after level. */
    u32 next = 0, *level_starts = s->level_starts + start;
    for (u32 level = 0; level < p->levels; level++) {
        u32 count = level_starts[level];
        level_starts[level] = next;
        next += count;
    }
    for (u32 k = 0; k < n; k++) s->place[start + k] = start + level_starts[s->level_of[start + k]]++;
}

/* One of so many threads, a warp: others would only wait for it. */
#define THREADS_PER_BLOCK 32

/* Packs every block into groups, by one thread each. */
RESIDENT_KERNEL(plan_pack, Advance) {
    SHARED(struct Packing, packings[RESIDENT_THREADS / THREADS_PER_BLOCK]);
    u32 blocks = s->numbers->blocks, per = THREADS / THREADS_PER_BLOCK;
    (void)number;
    FOR_THREADS(thread) {
        if (thread % THREADS_PER_BLOCK == 0) {
            u32 own = thread / THREADS_PER_BLOCK, first = THREAD_BLOCK * per + own;
            for (u32 block = first; block < blocks; block += THREAD_BLOCKS * per) {
                pack_block(s, block, packings + own);
            }
        }
    }
}

/* What a sweep needs to know of the blocks, and of the step. */
RESIDENT_KERNEL(plan_finish, Advance) {
    u32 blocks = s->numbers->blocks;
    struct Step *step = s->step;
    (void)number;
    FOR_THREADS(thread) {
        FOR_EACH(b, thread, blocks) {
            struct Block *block = (struct Block *)step->block + b;
            u32 start = s->block_start[b], bodies = s->block_bodies[b];
            int fits = bodies <= s->fitting;
            block->contacts = start;
            block->contacts_end = start + s->block_count[b];
            block->bodies = 2 * start;
            block->body_count = fits ? bodies : 0;
            block->groups = start;
            block->groups_end = start + s->block_groups[b];
            if (fits) ATOMIC_MAX_U32(&s->numbers->cached_bodies, bodies);
        }
        FOR_EACH(i, thread, 1) {
            step->is_flat = 0;
            step->blocks = blocks;
            step->contacts = step->groups = s->count;
            step->tracked_contacts = s->numbers->fixed;
            step->bodies = s->grains->count + s->numbers->fixed;
        }
    }
}

#endif
