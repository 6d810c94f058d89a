/* Sweeps over the colours of a flat plan.
 *
 * Every colour is a launch and every contact a thread, whose bodies are where all
 * are. It takes less time than its memory would let it, as one colour waits for the other: so a
 * launch begins before the one before has ended, and waits when it has its rows. (Where contacts are
 * few there are no launches, but bodies that take turns: `turns.h`.) What counts
 * besides is how much the second-level cache moves, in pieces of 32 bytes. (Tried and slower:
 * bringing rows of contacts to come into that cache ahead of time, by 2 to 5 %, and their bodies
 * too, by up to 30 %; fewer registers for more threads at a time, by 10 %, since what does not fit
 * is moved too.)
 */
#ifndef ESKER_COLOURS_H
#define ESKER_COLOURS_H

#include "sleep.h"
#include "tags.h"

/* Bodies where all are. */
DEVICE struct Bodies all_bodies(const struct Step *s) {
    struct Bodies bodies;
    bodies.state = s->state;
    bodies.before = s->before;
    bodies.stride = 8;
    bodies.list = 0;
    return bodies;
}

/* Computes of a contact of a flat plan that is swept, and has its row, what velocities of now do not
 * enter. All threads come by, here and below, so that neighbours fetch bodies together. */
DEVICE void prepare_flat(const struct Step *s, u32 is_swept, u32 substep, u32 rolls,
                         struct Contact *c) {
    struct Motions m;
    real before_a[4], before_b[4];
    load_pair_of_four(s->before, c->bodies, is_swept, before_a, before_b);
    if (!is_swept) return;
    c->rolls = rolls && c->law->rolls;
    for (int k = 0; k < 3; k++) m.apart[k] = before_b[k] - before_a[k];
    /* Masses are in both places. */
    m.a[0][3] = before_a[3];
    m.b[0][3] = before_b[3];
    prepare(s, &m, substep, c);
}

/* Looks at the sleeping groups of so many places from the first on that are due, and wakes those
 * that may close. */
PART_OF_KERNEL(wake_flat, const struct Step *s, u32 first, u32 end, u32 substep, u32 is_in_turn) {
    SHARED(u64, soonest[FLAT_THREADS / LANES]);
    struct Bodies bodies = all_bodies(s);
    OWN(struct Look, looks);
    FOR_THREADS(thread) {
        if (thread < FLAT_THREADS / LANES) soonest[thread] = ~0ull;
    }
    BARRIER();
    FOR_THREADS(thread) {
        u32 place = first + thread;
        if (place < end && s->law[place] != EMPTY_PLACE && is_due(s->wake[place / LANES], substep)) {
            struct Look *look = MINE(looks, thread);
            if (is_in_turn) {
                look_in_turn(s, place, substep + 1, look);
            } else {
                look_at(s, &bodies, place, look);
            }
            real time = time_open(s, place, look);
            /* What is no number does not count. */
            if (time == time) ATOMIC_MIN_U64(soonest + thread / LANES, ascending(time));
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        u32 group = first / LANES + thread;
        if (thread < THREADS / LANES && group * LANES < end && is_due(s->wake[group], substep)) {
            s->wake[group] = wake_after(s, soonest[thread], substep);
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        u32 place = first + thread;
        if (place < end && s->law[place] != EMPTY_PLACE &&
            s->wake[place / LANES] == WOKEN + substep) {
            bring_up_to_date(s, place, MINE(looks, thread));
        }
    }
    BARRIER();
}

/* The sweep of a substep over colours of a flat plan; more than one where there is one thread
 * block. The first is in the lower half of a word, the end in the upper.
 *
 * Rows were written in the substep before, and velocities at the start of a substep before its
 * first colour: only those of now have to be waited for. So sleeping groups are looked at before,
 * and contacts of several small colours have their rows at once and are then swept colour by colour.
 * Every other colour goes through its contacts the other way round: bodies that the colour before
 * has come to last are near by still. */
PART_OF_KERNEL(sweep_places, u32 colours, u32 substep, u32 rolls) {
    const struct Step *s = STEP;
    SHARED(u32, has_due);
    OWN(struct Contact, own);
    OWN(u32, is_swept);
    struct Bodies bodies = all_bodies(s);
    u32 first_colour = colours & 0xffffu, end_colour = colours >> 16;
    u32 end = s->colours[end_colour];
    u32 block = first_colour % 2 ? THREAD_BLOCKS - 1 - THREAD_BLOCK : THREAD_BLOCK;
    FOR_THREADS(thread) {
        if (thread == 0) has_due = 0;
    }
    BARRIER();
    if (first_colour == 0) WAIT_FOR_KERNELS_BEFORE();
    for (u32 first = s->colours[first_colour] + block * THREADS; first < end;
         first += THREADS * THREAD_BLOCKS) {
        u32 last = first + THREADS < end ? first + THREADS : end;
        FOR_THREADS(thread) {
            struct Contact *c = MINE(own, thread);
            u32 place = first + thread, *swept = MINE(is_swept, thread);
            *swept = 0;
            c->place = place;
            if (place < last) {
                c->wake = FRESH(s->wake + place / LANES);
                LOAD_PAIR(s->contact_bodies + 2 * (u64)place, c->bodies);
                u32 law = s->law[place];
                /* Before it is known who sleeps: few do, and the others need not wait twice. */
                load_row(s, place, rolls, c);
                c->law = s->laws + law;
                *swept = law != EMPTY_PLACE && !is_asleep(c->wake);
                if (is_due(c->wake, substep)) has_due = 1;
            }
            prepare_flat(s, *swept, substep, rolls, c);
        }
        BARRIER();
        if (has_due) {
            RUN_PART(wake_flat, s, first, last, substep, 0);
            FOR_THREADS(thread) {
                struct Contact *c = MINE(own, thread);
                u32 is_woken = 0;
                if (thread == 0) has_due = 0;
                if (c->place < last && s->law[c->place] != EMPTY_PLACE && is_asleep(c->wake)) {
                    c->wake = s->wake[c->place / LANES];
                    is_woken = !is_asleep(c->wake);
                }
                if (is_woken) load_row(s, c->place, rolls, c);
                prepare_flat(s, is_woken, substep, rolls, c);
                *MINE(is_swept, thread) |= is_woken;
            }
        }
        WAIT_FOR_KERNELS_BEFORE();
        LET_NEXT_KERNEL_BEGIN();
        for (u32 colour = first_colour; colour < end_colour && s->colours[colour] < last; colour++) {
            u32 start_of_colour = s->colours[colour], end_of_colour = s->colours[colour + 1];
            if (end_of_colour <= first) continue;
            FOR_THREADS(thread) {
                struct Contact *c = MINE(own, thread);
                u32 is_now = start_of_colour <= c->place && c->place < end_of_colour;
                u32 now_swept = is_now && *MINE(is_swept, thread), is_moved = 0;
                struct Motions m;
                load_pair_of_eight(s->state, c->bodies, now_swept, m.a, m.b);
                if (now_swept) is_moved = relax(s, &bodies, substep, rolls, c, &m);
                store_eight(s->state, c->bodies[0], is_moved, m.a);
                store_eight(s->state, c->bodies[1], is_moved, m.b);
                if (now_swept) store_row(s, c);
            }
            /* The next colour's threads see what this one's have done. */
            BARRIER();
        }
    }
    WAIT_FOR_KERNELS_BEFORE();
}

KERNEL(sweep_flat, FLAT_THREADS, u32 colours, u32 substep) {
    RUN_PART(sweep_places, colours, substep, 0);
}

KERNEL(sweep_flat_rolling, FLAT_THREADS, u32 colours, u32 substep) {
    RUN_PART(sweep_places, colours, substep, 1);
}

/* Applies the impulses that contacts of a flat plan start with. */
KERNEL(apply_flat, FLAT_THREADS, u32 colours) {
    const struct Step *s = STEP;
    OWN(struct Start, own);
    u32 colour = colours & 0xffffu, end_of_all = s->colours[MOST_COLOURS];
    for (; colour < colours >> 16 && s->colours[colour] < end_of_all; colour++) {
        u32 end = s->colours[colour + 1];
        for (u32 first = s->colours[colour] + THREAD_BLOCK * THREADS; first < end;
             first += THREADS * THREAD_BLOCKS) {
            FOR_THREADS(thread) {
                struct Start *start = MINE(own, thread);
                u32 place = first + thread;
                start->impulse = R(0.0);
                if (place < end && s->law[place] != EMPTY_PLACE) load_start(s, place, start);
            }
            WAIT_FOR_KERNELS_BEFORE();
            LET_NEXT_KERNEL_BEGIN();
            FOR_THREADS(thread) {
                struct Start *start = MINE(own, thread);
                struct Motions m;
                u32 is_moved = R(0.0) < start->impulse;
                load_pair_of_eight(s->state, start->bodies, is_moved, m.a, m.b);
                if (is_moved) apply_start(start, &m);
                store_eight(s->state, start->bodies[0], is_moved, m.a);
                store_eight(s->state, start->bodies[1], is_moved, m.b);
            }
            BARRIER();
        }
    }
    WAIT_FOR_KERNELS_BEFORE();
}

#endif
