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
 * contact and a body are the same thread's in all substeps: what only they need, rows above all, needs
 * no waiting.
 *
 * Contacts that sleep through the whole step have no turns.
 */
#ifndef ESKER_TURNS_H
#define ESKER_TURNS_H

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

/* Whether the contact of a place takes turns, whose group was that long asleep at some time. */
DEVICE u32 takes_turns(const struct Step *s, u32 place, u32 wake) {
    return s->law[place] != EMPTY_PLACE && wake != ASLEEP_ALL_STEP;
}

/* Notes whom bodies meet in this step. */
KERNEL(list_turns, BODY_THREADS) {
    const struct Step *s = STEP;
    FOR_THREADS(thread) {
        FOR_EACH(place, thread, s->contacts) {
            if (!takes_turns(s, place, s->wake[place / LANES])) continue;
            u64 bit = 1ull << colour_of(s, place);
            for (u32 side = 0; side < 2; side++) {
                u32 body = s->contact_bodies[2 * (u64)place + side];
                if (body < s->movable) ATOMIC_OR_U64(&s->turns[body].colours, bit);
            }
        }
    }
}

/* Turns that a body takes in its first sweeps: that of the impulses that contacts start with is the
 * first, that of substep k has number k + 1; what a body does before substeps, but the first, is a turn. */
DEVICE u32 turns_of_sweeps(u64 colours, u32 sweeps) {
    return sweeps * COUNT_BITS(colours) + (sweeps > 1 ? sweeps - 1 : 0);
}

/* How a contact waits for its bodies. */
struct Turn {
    /* Turns that a body has taken before the sweep, and when the contact's has come. */
    u32 start[2];
    u32 own[2];
    /* Counts of turns taken; null for what does not move, which has no other contacts. */
    u32 *taken[2];
};

DEVICE void find_turn(const struct Step *s, const u32 *bodies, u32 colour, u32 sweep,
                      struct Turn *turn) {
    for (u32 side = 0; side < 2; side++) {
        u32 body = bodies[side];
        turn->taken[side] = 0;
        if (body >= s->movable) continue;
        struct Turns *turns = s->turns + body;
        u64 colours = turns->colours;
        turn->taken[side] = &turns->taken;
        turn->start[side] = turns_of_sweeps(colours, sweep);
        turn->own[side] = turn->start[side] + COUNT_BITS(colours & ((1ull << colour) - 1));
    }
}

/* Waits for both bodies to have begun the substep. */
DEVICE void wait_for_start(const struct Turn *turn) {
    for (u32 side = 0; side < 2; side++) {
        if (turn->taken[side]) WAIT_UNTIL(ACQUIRED(turn->taken[side]) >= turn->start[side]);
    }
}

DEVICE void wait_for_turn(const struct Turn *turn) {
    for (u32 side = 0; side < 2; side++) {
        if (turn->taken[side]) WAIT_UNTIL(ACQUIRED(turn->taken[side]) == turn->own[side]);
    }
}

/* Lets the bodies meet others. */
DEVICE void end_turn(const struct Turn *turn) {
    for (u32 side = 0; side < 2; side++) {
        if (turn->taken[side]) ANNOUNCE(turn->taken[side], turn->own[side] + 1);
    }
}

/* Stores what a body has now, unless it is one that does not move. */
DEVICE void store_movable(const struct Step *s, u32 body, u32 is_moved, const real (*motion)[4]) {
    store_eight(s->state, body, is_moved && body < s->movable, motion);
}

/* Applies the impulses that contacts from this place on start with. */
PART_OF_KERNEL(start_in_turn, const struct Step *s, u32 first) {
    OWN(struct Start, own);
    OWN(struct Turn, turns);
    OWN(u32, colours);
    u32 end = first + THREADS < s->contacts ? first + THREADS : s->contacts;
    FOR_THREADS(thread) {
        struct Start *start = MINE(own, thread);
        u32 place = first + thread, *colour = MINE(colours, thread);
        *colour = MOST_COLOURS;
        start->impulse = R(0.0);
        if (place < end && takes_turns(s, place, FRESH(s->wake + place / LANES))) {
            u32 bodies[2];
            LOAD_PAIR(s->contact_bodies + 2 * (u64)place, bodies);
            *colour = colour_of(s, place);
            find_turn(s, bodies, *colour, 0, MINE(turns, thread));
            load_start(s, place, start);
        }
    }
    for (u32 colour = colour_of(s, first); colour <= colour_of(s, end - 1); colour++) {
        FOR_THREADS(thread) {
            struct Start *start = MINE(own, thread);
            const struct Turn *turn = MINE(turns, thread);
            u32 is_now = *MINE(colours, thread) == colour;
            struct Motions m;
            if (is_now) wait_for_turn(turn);
            u32 is_moved = is_now && R(0.0) < start->impulse;
            load_pair_of_eight(s->state, start->bodies, is_moved, m.a, m.b);
            if (is_moved) apply_start(start, &m);
            store_movable(s, start->bodies[0], is_moved, m.a);
            store_movable(s, start->bodies[1], is_moved, m.b);
            WRITES_COME_FIRST();
            if (is_now) end_turn(turn);
        }
    }
}

/* Repeats the changes of so many bodies as there are threads, from this one on, before a sweep. */
PART_OF_KERNEL(repeat_in_turn, const struct Step *s, u32 first, u32 sweep) {
    OWN(struct Repeat, own[TWOS_OF_BODY]);
    u32 start = TWOS_OF_BODY * first, end = TWOS_OF_BODY * s->movable;
    FOR_THREADS(thread) {
        for (u32 k = 0; k < TWOS_OF_BODY; k++) {
            u32 two = start + k * THREADS + thread;
            if (two < end) fetch_repeat(s, two, MINE(own[k], thread));
        }
        for (u32 k = 0; k < TWOS_OF_BODY; k++) {
            u32 two = start + k * THREADS + thread;
            if (two >= end) continue;
            const struct Turns *turns = s->turns + two / TWOS_OF_BODY;
            WAIT_UNTIL(ACQUIRED(&turns->taken) + 1 == turns_of_sweeps(turns->colours, sweep));
        }
        for (u32 k = 0; k < TWOS_OF_BODY; k++) {
            u32 two = start + k * THREADS + thread;
            if (two < end) repeat_two(s, sweep - 1, two, MINE(own[k], thread));
        }
    }
    FOR_THREADS(thread) {
        u32 body = first + thread;
        WRITES_COME_FIRST();
        if (body >= s->movable) continue;
        struct Turns *turns = s->turns + body;
        ANNOUNCE(&turns->taken, turns_of_sweeps(turns->colours, sweep));
    }
}

/* Sweeps contacts from this place on. */
PART_OF_KERNEL(sweep_in_turn, const struct Step *s, u32 first, u32 sweep, u32 rolls) {
    SHARED(u32, has_due);
    OWN(struct Contact, own);
    OWN(struct Turn, turns);
    OWN(u32, is_swept);
    /* Colour of a contact that takes turns. */
    OWN(u32, colours);
    u32 end = first + THREADS < s->contacts ? first + THREADS : s->contacts, substep = sweep - 1;
    FOR_THREADS(thread) {
        if (thread == 0) has_due = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        struct Contact *c = MINE(own, thread);
        u32 place = first + thread, *swept = MINE(is_swept, thread), *colour = MINE(colours, thread);
        *swept = 0;
        *colour = MOST_COLOURS;
        c->place = place;
        if (place < end) c->wake = FRESH(s->wake + place / LANES);
        if (place < end && takes_turns(s, place, c->wake)) {
            LOAD_PAIR(s->contact_bodies + 2 * (u64)place, c->bodies);
            *colour = colour_of(s, place);
            find_turn(s, c->bodies, *colour, sweep, MINE(turns, thread));
            c->law = s->laws + s->law[place];
            *swept = !is_asleep(c->wake);
            if (*swept) load_row(s, place, rolls, c);
            u32 due = is_due(c->wake, substep);
            if (due) has_due = 1;
            if (*swept || due) wait_for_start(MINE(turns, thread));
        }
        prepare_flat(s, *swept, substep, rolls, c);
    }
    BARRIER();
    if (has_due) {
        RUN_PART(wake_flat, s, first, end, substep);
        FOR_THREADS(thread) {
            struct Contact *c = MINE(own, thread);
            u32 is_woken = 0;
            if (*MINE(colours, thread) < MOST_COLOURS && is_asleep(c->wake)) {
                c->wake = FRESH(s->wake + c->place / LANES);
                is_woken = !is_asleep(c->wake);
            }
            if (is_woken) load_row(s, c->place, rolls, c);
            prepare_flat(s, is_woken, substep, rolls, c);
            *MINE(is_swept, thread) |= is_woken;
        }
    }
    struct Bodies bodies = all_bodies(s);
    for (u32 colour = colour_of(s, first); colour <= colour_of(s, end - 1); colour++) {
        FOR_THREADS(thread) {
            struct Contact *c = MINE(own, thread);
            const struct Turn *turn = MINE(turns, thread);
            u32 is_now = *MINE(colours, thread) == colour, now_swept = is_now && *MINE(is_swept, thread);
            u32 is_moved = 0;
            struct Motions m;
            if (is_now) wait_for_turn(turn);
            load_pair_of_eight(s->state, c->bodies, now_swept, m.a, m.b);
            if (now_swept) is_moved = relax(s, &bodies, substep, rolls, c, &m);
            store_movable(s, c->bodies[0], is_moved, m.a);
            store_movable(s, c->bodies[1], is_moved, m.b);
            WRITES_COME_FIRST();
            if (is_now) end_turn(turn);
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
        for (u32 first = from; first < s->movable && sweep > 1; first += all) {
            RUN_PART(repeat_in_turn, s, first, sweep);
        }
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

#endif
