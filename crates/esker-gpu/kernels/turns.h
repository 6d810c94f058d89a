/* The substeps of a flat plan as one kernel: bodies meet their contacts in turn.
 *
 * A launch per colour waits for all contacts of the colour before, wherever they are. But a contact
 * needs no more than that its two bodies have met those before it. So every body counts what it has
 * met, and a contact waits until its turn has come with both of them. Bodies begin the next
 * substep, by changing as much as in the last one, as soon as they have met all their contacts in this
 * one; that is a turn, too. What a body meets, and in which order, are those of the launches, and so are
 * the bits.
 *
 * All thread blocks are there at once, and each goes through its contacts in the order of substeps and
 * colours: the first contact of all that are left waits for nobody, so that somebody always goes on. A
 * contact and a body are the same thread's in all substeps: rows, and what else only they need, need no
 * waiting.
 *
 * What thread blocks have from one another has tags (`tags.h`): of what a body has now the turns that it
 * has taken, of what it had at the start of a substep, the sweep.
 *
 * Contacts that sleep through the whole step have no turns.
 */
#ifndef ESKER_TURNS_H
#define ESKER_TURNS_H

#include "bodies.h"
#include "colours.h"

/* Colour of a place. */
DEVICE u32 colour_of(const struct Step *s, u32 place) {
    u32 low = 0, high = MOST_COLOURS;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (s->colours[middle] <= place) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Turns that a body takes in its first sweeps, with so many contacts: that of the impulses that contacts
 * start with is the first, that of substep k has number k + 1; what a body does before substeps, but
 * the first, is a turn. */
DEVICE u32 turns_of_sweeps(u32 contacts, u32 sweeps) {
    return sweeps * contacts + (sweeps > 1 ? sweeps - 1 : 0);
}

/* Begins a step: what `begin_step` does, of bodies that are packed. */
KERNEL(begin_turns, BODY_THREADS) {
    const struct Step *s = STEP;
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->bodies) {
            const real none[3] = {R(0.0), R(0.0), R(0.0)};
            real now[8], before[8];
            for (int k = 0; k < 8; k++) now[k] = before[k] = s->state[8 * (u64)i + k];
            fall(s, i, now);
            s->turns[i].colours = 0;
            for (u32 half = 0; half < 2; half++) {
                u64 at = 8 * (u64)i + 4 * half;
                s->turns[i].masses[half] = now[4 * half + 3];
                pack(now + 4 * half, 0, s->state + at);
                pack(before + 4 * half, 1, s->before + at);
                if (i < s->movable) pack(none, 1, s->moved + at);
            }
            if (i < s->movable) s->impacted[i] = 0;
        }
    }
    RUN_PART(begin_contacts, s);
}

/* Notes whom bodies meet in this step. */
KERNEL(list_turns, BODY_THREADS) {
    const struct Step *s = STEP;
    FOR_THREADS(thread) {
        FOR_EACH(place, thread, s->contacts) {
            if (s->law[place] == EMPTY_PLACE || s->wake[place / LANES] == ASLEEP_ALL_STEP) continue;
            u64 bit = 1ull << colour_of(s, place);
            for (u32 side = 0; side < 2; side++) {
                u32 body = s->contact_bodies[2 * (u64)place + side];
                if (body < s->movable) ATOMIC_OR_U64(&s->turns[body].colours, bit);
            }
        }
    }
}

/* What a contact has to know of turns, in two numbers of 32 bits. */
struct PlaceInTurn {
    u32 law;
    u32 colour;
    u32 takes_turns;
    /* Contacts that a body meets in a sweep, and how many come before this one. */
    u32 contacts[2];
    u32 rank[2];
};

/* `contacts` of what does not move. */
#define FIXED 0xffu

DEVICE void store_place(u32 *at, const struct PlaceInTurn *p) {
    at[0] = p->contacts[0] | p->rank[0] << 8 | p->contacts[1] << 16 | p->rank[1] << 24;
    at[1] = p->law | p->colour << 16 | p->takes_turns << 24;
}

DEVICE void read_place(const u32 *pair, struct PlaceInTurn *p) {
    for (u32 side = 0; side < 2; side++) {
        p->contacts[side] = pair[0] >> 16 * side & 0xffu;
        p->rank[side] = pair[0] >> (16 * side + 8) & 0xffu;
    }
    p->law = pair[1] & 0xffffu;
    p->colour = pair[1] >> 16 & 0xffu;
    p->takes_turns = pair[1] >> 24;
}

/* Numbers turns. */
KERNEL(number_turns, BODY_THREADS) {
    const struct Step *s = STEP;
    FOR_THREADS(thread) {
        FOR_EACH(place, thread, s->contacts) {
            struct PlaceInTurn p = {s->law[place], colour_of(s, place), 0, {0, 0}, {0, 0}};
            p.takes_turns = p.law != EMPTY_PLACE && s->wake[place / LANES] != ASLEEP_ALL_STEP;
            for (u32 side = 0; side < 2 && p.takes_turns; side++) {
                u32 body = s->contact_bodies[2 * (u64)place + side];
                const struct Turns *turns = s->turns + body;
                p.contacts[side] = body < s->movable ? COUNT_BITS(turns->colours) : FIXED;
                p.rank[side] = COUNT_BITS(turns->colours & ((1ull << p.colour) - 1));
                for (u32 half = 0; half < 2; half++) {
                    s->masses[2 * half + side][place] = turns->masses[half];
                }
            }
            store_place(s->in_turn + 2 * (u64)place, &p);
        }
    }
}

/* What a contact waits for in a sweep, of each of its bodies. */
struct Turn {
    /* Turns taken as it begins the substep, and the tag of what it has then. */
    u32 begin[2];
    u32 start[2];
    /* Turns taken as it meets the contact. */
    u32 own[2];
};

/* Whether a contact is the last that a body meets. */
DEVICE u32 is_last(const struct PlaceInTurn *p, u32 side) {
    return p->rank[side] + 1 == p->contacts[side];
}

DEVICE void find_turn(const struct PlaceInTurn *p, u32 sweep, struct Turn *turn) {
    for (u32 side = 0; side < 2; side++) {
        u32 is_fixed = p->contacts[side] == FIXED;
        turn->start[side] = is_fixed ? 1 : sweep;
        turn->begin[side] = is_fixed ? 0 : turns_of_sweeps(p->contacts[side], sweep);
        turn->own[side] = turn->begin[side] + p->rank[side];
    }
}

/* Waits until bodies have taken so many turns, as what is written last of them says; the rest is on its
 * way then. Returns whether to wait no longer. Who has long to wait does not ask all the time:
 * that would slow down the others. All threads come by, here and below. */
DEVICE u32 await_turns(const struct Step *s, const u32 *pair, u32 is_waiting, const u32 *turns,
                       u32 *polls) {
    for (;;) {
        u32 left = 0;
        for (u32 side = 0; side < 2 && is_waiting; side++) {
            const u32 *last = (const u32 *)(s->state + 8 * (u64)pair[side] + 8) - 1;
            u32 taken = WATCHED_U32(last) & ~IMPACTED;
            if (taken < turns[side] && turns[side] - taken > left) left = turns[side] - taken;
        }
        is_waiting = left > 0;
        left = MOST_OF_WARP(left);
        if (left == 0) return 0;
        if (!ALL_OF_WARP(!gives_up(s, polls))) return 1;
        PAUSE(left);
    }
}

/* Loads what two bodies had at the start of a substep, as soon as they have it: velocities alone. */
DEVICE void await_starts(const struct Step *s, const u32 *pair, u32 is_wanted,
                         const struct Turn *turn, real *a, real *b) {
    real packed[2][4];
    for (u32 polls = 0, gave_up = 0;;) {
        load_pair_of_four(s->before, pair, is_wanted, packed[0], packed[1]);
        u32 is_there = !is_wanted || (unpack(packed[0], turn->start[0], a) &
                                      unpack(packed[1], turn->start[1], b));
        if (gave_up || ALL_OF_WARP(is_there)) break;
        gave_up = await_turns(s, pair, !is_there, turn->begin, &polls);
    }
}

/* Loads what two bodies have now, once it is the contact's turn, and whether impacts have changed
 * them: IMPACTED or nothing. */
DEVICE void await_turn(const struct Step *s, const u32 *pair, u32 is_now, const struct Turn *turn,
                       struct Motions *m, u32 *impacted) {
    real packed[2][2][4];
    for (u32 polls = 0, gave_up = 0;;) {
        u32 is_there = 1;
        load_pair_of_eight(s->state, pair, is_now, packed[0], packed[1]);
        for (u32 half = 0; half < 2 && is_now; half++) {
            is_there &= unpack(packed[0][half], turn->own[0], m->a[half]);
            is_there &= unpack(packed[1][half], turn->own[1], m->b[half]);
        }
        if (gave_up || ALL_OF_WARP(is_there)) break;
        gave_up = await_turns(s, pair, !is_there, turn->own, &polls);
    }
    for (u32 side = 0; side < 2; side++) impacted[side] = tag_of(packed[side][0]) & IMPACTED;
}

/* Stores what the bodies have now, and lets them meet others; of those that move. */
DEVICE void end_turn(const struct Step *s, const u32 *pair, u32 is_now, const u32 *next,
                     const u32 *impacted, const struct Motions *m) {
    for (u32 side = 0; side < 2; side++) {
        real packed[2][4];
        for (u32 half = 0; half < 2; half++) {
            pack(side ? m->b[half] : m->a[half], next[side] | impacted[side], packed[half]);
        }
        store_eight(s->state, pair[side], is_now && pair[side] < s->movable, packed);
    }
}

/* Inverse masses and moments of inertia of the bodies of a contact. */
DEVICE void load_masses(const struct Step *s, u32 place, real *masses) {
    for (u32 k = 0; k < 4; k++) masses[k] = STREAMED(s->masses[k] + place);
}

DEVICE void set_masses(const real *masses, struct Motions *m) {
    for (u32 half = 0; half < 2; half++) {
        m->a[half][3] = masses[2 * half];
        m->b[half][3] = masses[2 * half + 1];
    }
}

/* Colour of a place, by what is in memory of it. */
DEVICE u32 colour_in_turn(const struct Step *s, u32 place) {
    return s->in_turn[2 * (u64)place + 1] >> 16 & 0xffu;
}

/* Applies the impulses that contacts from this place on start with. */
PART_OF_KERNEL(start_in_turn, const struct Step *s, u32 first) {
    OWN(struct Start, own);
    OWN(struct Turn, turns);
    OWN(struct PlaceInTurn, places);
    u32 end = first + THREADS < s->contacts ? first + THREADS : s->contacts;
    FOR_THREADS(thread) {
        struct Start *start = MINE(own, thread);
        struct PlaceInTurn *p = MINE(places, thread);
        u32 place = first + thread, pair[2];
        p->takes_turns = 0;
        start->impulse = R(0.0);
        if (place < end) {
            LOAD_PAIR(s->in_turn + 2 * (u64)place, pair);
            read_place(pair, p);
            LOAD_PAIR(s->contact_bodies + 2 * (u64)place, start->bodies);
            if (p->takes_turns) {
                load_start(s, place, start);
                load_masses(s, place, start->masses);
            }
            find_turn(p, 0, MINE(turns, thread));
        }
    }
    for (u32 colour = colour_in_turn(s, first); colour <= colour_in_turn(s, end - 1); colour++) {
        FOR_THREADS(thread) {
            struct Start *start = MINE(own, thread);
            const struct Turn *turn = MINE(turns, thread);
            const struct PlaceInTurn *p = MINE(places, thread);
            u32 is_now = p->takes_turns && p->colour == colour, impacted[2];
            struct Motions m;
            await_turn(s, start->bodies, is_now, turn, &m, impacted);
            if (is_now && R(0.0) < start->impulse) {
                set_masses(start->masses, &m);
                apply_start(start, &m);
            }
            const u32 next[2] = {turn->own[0] + 1, turn->own[1] + 1};
            end_turn(s, start->bodies, is_now, next, impacted, &m);
        }
    }
}

/* Equation (1) of `substep` for half of a body. */
DEVICE void repeat_half(const struct Step *s, u32 half, u32 is_impacted, const real *before,
                        const real *now, real *next, real *sum) {
    const real *change = s->change + 3 * (u64)half;
    for (int k = 0; k < 3; k++) {
        next[k] = now[k] + (now[k] - before[k]);
        if (is_impacted) next[k] = next[k] - FRESH(change + k);
        sum[k] += now[k];
    }
}

/* Begins the next substep of a body that has met all its contacts in a sweep: what only the last of
 * these reads and writes needs no tags. */
DEVICE void repeat_body(const struct Step *s, u32 body, u32 sweep, u32 is_impacted,
                        real (*motion)[4]) {
    real packed[2][2][4];
    for (u32 half = 0; half < 2; half++) {
        load_four_alone(s->before, 2 * body + half, packed[half][0]);
        load_four_alone(s->moved, 2 * body + half, packed[half][1]);
    }
    for (u32 half = 0; half < 2; half++) {
        u32 at = 2 * body + half;
        real before[3], sum[3], now[3];
        unpack(packed[half][0], 0, before);
        unpack(packed[half][1], 0, sum);
        for (int k = 0; k < 3; k++) now[k] = motion[half][k];
        repeat_half(s, at, is_impacted, before, now, motion[half], sum);
        store_tagged(s->before, at, now, sweep + 1);
        store_tagged(s->moved, at, sum, sweep + 1);
    }
}

/* What of a contact is in memory. */
DEVICE void load_contact(const struct Step *s, u32 rolls, struct Contact *c) {
    load_row(s, c->place, rolls, c);
    load_masses(s, c->place, c->masses);
}

/* Computes of a contact that is swept what velocities of now do not enter. */
DEVICE void prepare_in_turn(const struct Step *s, u32 is_swept, u32 substep, u32 rolls,
                            const struct Turn *turn, struct Contact *c) {
    struct Motions m;
    real starts[2][3];
    await_starts(s, c->bodies, is_swept, turn, starts[0], starts[1]);
    if (!is_swept) return;
    c->rolls = rolls && c->law->rolls;
    for (int k = 0; k < 3; k++) m.apart[k] = starts[1][k] - starts[0][k];
    m.a[0][3] = c->masses[0];
    m.b[0][3] = c->masses[1];
    prepare(s, &m, substep, c);
}

/* Sweeps contacts from this place on. */
PART_OF_KERNEL(sweep_in_turn, const struct Step *s, u32 first, u32 sweep, u32 rolls) {
    SHARED(u32, has_due);
    OWN(struct Contact, own);
    OWN(struct Turn, turns);
    OWN(struct PlaceInTurn, places);
    OWN(u32, is_swept);
    u32 end = first + THREADS < s->contacts ? first + THREADS : s->contacts, substep = sweep - 1;
    FOR_THREADS(thread) {
        if (thread == 0) has_due = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        struct Contact *c = MINE(own, thread);
        struct PlaceInTurn *p = MINE(places, thread);
        u32 *swept = MINE(is_swept, thread), place = first + thread, pair[2], due = 0;
        *swept = p->takes_turns = 0;
        c->place = place;
        if (place < end) {
            c->wake = FRESH(s->wake + place / LANES);
            LOAD_PAIR(s->in_turn + 2 * (u64)place, pair);
            LOAD_PAIR(s->contact_bodies + 2 * (u64)place, c->bodies);
            /* Before it is known who sleeps: few do, and the others need not wait twice. */
            load_contact(s, rolls, c);
            read_place(pair, p);
            c->law = s->laws + p->law;
            find_turn(p, sweep, MINE(turns, thread));
            *swept = p->takes_turns && !is_asleep(c->wake);
            due = p->takes_turns && is_due(c->wake, substep);
            if (due) has_due = 1;
        }
        prepare_in_turn(s, *swept, substep, rolls, MINE(turns, thread), c);
    }
    BARRIER();
    if (has_due) {
        RUN_PART(wake_flat, s, first, end, substep, 1);
        FOR_THREADS(thread) {
            struct Contact *c = MINE(own, thread);
            const struct PlaceInTurn *p = MINE(places, thread);
            u32 is_woken = 0;
            if (p->takes_turns && is_asleep(c->wake)) {
                c->wake = FRESH(s->wake + c->place / LANES);
                is_woken = !is_asleep(c->wake);
            }
            if (is_woken) load_contact(s, rolls, c);
            prepare_in_turn(s, is_woken, substep, rolls, MINE(turns, thread), c);
            *MINE(is_swept, thread) |= is_woken;
        }
    }
    struct Bodies bodies = all_bodies(s);
    for (u32 colour = colour_in_turn(s, first); colour <= colour_in_turn(s, end - 1); colour++) {
        FOR_THREADS(thread) {
            struct Contact *c = MINE(own, thread);
            const struct Turn *turn = MINE(turns, thread);
            const struct PlaceInTurn *p = MINE(places, thread);
            u32 is_now = p->takes_turns && p->colour == colour, impacted[2];
            u32 now_swept = is_now && *MINE(is_swept, thread), next[2];
            struct Motions m;
            await_turn(s, c->bodies, is_now, turn, &m, impacted);
            if (now_swept) {
                set_masses(c->masses, &m);
                relax(s, &bodies, substep, rolls, c, &m);
                for (u32 side = 0; side < 2 && c->impacts; side++) impacted[side] = IMPACTED;
            }
            WRITES_COME_FIRST(now_swept && c->impacts);
            for (u32 side = 0; side < 2; side++) {
                next[side] = turn->own[side] + 1;
                if (!is_now || sweep == s->substeps || !is_last(p, side)) continue;
                repeat_body(s, c->bodies[side], sweep, impacted[side], side ? m.b : m.a);
                impacted[side] = 0;
                next[side] += 1;
            }
            end_turn(s, c->bodies, is_now, next, impacted, &m);
            if (now_swept) store_row(s, c);
        }
    }
}

/* All substeps of a step. */
PART_OF_KERNEL(take_turns, u32 rolls) {
    const struct Step *s = STEP;
    u32 from = THREAD_BLOCK * THREADS, all = THREADS * THREAD_BLOCKS;
    for (u32 first = from; first < s->contacts; first += all) RUN_PART(start_in_turn, s, first);
    for (u32 sweep = 1; sweep <= s->substeps; sweep++) {
        for (u32 first = from; first < s->contacts; first += all) {
            RUN_PART(sweep_in_turn, s, first, sweep, rolls);
        }
    }
}

KERNEL_OF_MANY(substeps_in_turn, TURN_THREADS, TURN_BLOCKS) {
    RUN_PART(take_turns, 0);
}

KERNEL_OF_MANY(substeps_in_turn_rolling, TURN_THREADS, TURN_BLOCKS) {
    RUN_PART(take_turns, 1);
}

/* Ends a step: what `finish_step` does, and bodies are unpacked. */
KERNEL(finish_turns, BODY_THREADS) {
    const struct Step *s = STEP;
    FOR_THREADS(thread) {
        FOR_EACH(half, thread, 2 * s->bodies) {
            u64 at = 4 * (u64)half;
            u32 is_movable = half < 2 * s->movable;
            real now[3], before[3], moved[3];
            real mass = s->turns[half / 2].masses[half % 2];
            load_tagged(s->state, half, 0, now);
            load_tagged(s->before, half, 0, before);
            if (is_movable) load_tagged(s->moved, half, 0, moved);
            /* Who has no contacts has met nobody. */
            u32 substeps = is_movable && s->turns[half / 2].colours == 0 ? s->substeps : 1;
            for (u32 substep = 1; substep < substeps; substep++) {
                real next[3];
                repeat_half(s, half, 0, before, now, next, moved);
                for (int k = 0; k < 3; k++) before[k] = now[k], now[k] = next[k];
            }
            for (int k = 0; k < 3; k++) {
                s->state[at + k] = now[k];
                s->before[at + k] = before[k];
                if (is_movable) s->moved[at + k] = moved[k] + now[k];
            }
            s->state[at + 3] = s->before[at + 3] = mass;
            if (is_movable) s->moved[at + 3] = R(0.0);
        }
    }
}

#endif
