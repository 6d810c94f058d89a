/* Open contacts sleep through substeps in which they cannot close, and are looked at from time to time. */
#ifndef ESKER_SLEEP_H
#define ESKER_SLEEP_H

#include "contact.h"

/* The substep so many substeps after another, in 16 bits. */
DEVICE u32 after(u32 index, double substeps) {
    u32 whole = substeps > 0.0 ? substeps < 65535.0 ? (u32)substeps : 65535u : 0u;
    u32 sum = whole + index;
    return sum < 65535u ? sum : 65535u;
}

/* Whether a sleeping group is to be looked at in a substep. */
DEVICE int is_due(u32 wake, u32 substep) {
    return is_asleep(wake) && wake <= substep;
}

/* What a look at a sleeping contact needs of its bodies: the sum of how fast one was from the other in
 * the substeps done, and how fast it is towards the other now. */
struct Look {
    real moved[3];
    real approach[3];
};

DEVICE void look_at(const struct Step *s, const struct Bodies *bodies, u32 place,
                    struct Look *look) {
    u32 i = s->contact_bodies[2 * place], j = s->contact_bodies[2 * place + 1];
    const real *moved_a = s->moved + 8 * (u64)body_of(bodies, i);
    const real *moved_b = s->moved + 8 * (u64)body_of(bodies, j);
    const real *before_a = bodies->before + (u64)bodies->stride * i;
    const real *before_b = bodies->before + (u64)bodies->stride * j;
    int is_cached = bodies->list != 0;
    for (int k = 0; k < 3; k++) {
        look->moved[k] = FRESH(moved_b + k) - FRESH(moved_a + k);
        look->approach[k] = is_cached ? before_a[k] - before_b[k]
                                      : FRESH(before_a + k) - FRESH(before_b + k);
    }
}

/* The time, s, that a contact stays open from now on at least. */
DEVICE real time_open(const struct Step *s, u32 place, const struct Look *look) {
    real n[3];
    for (int k = 0; k < 3; k++) n[k] = FRESH(s->normal[k] + place);
    real gap = dot(n, look->moved) * R(s->step) - FRESH(s->overlap + place);
    real speed = dot(n, look->approach), closing = s->closing[place];
    return gap / MAX(closing, speed);
}

/* Brings an open contact to where its bodies are after the substeps done. */
DEVICE void bring_up_to_date(const struct Step *s, u32 place, const struct Look *look) {
    const real *apart = look->moved;
    real n[3];
    for (int k = 0; k < 3; k++) n[k] = FRESH(s->normal[k] + place);
    real overlap = FRESH(s->overlap + place);
    if (!s->laws[s->law[place]].follows) {
        s->overlap[place] = overlap - dot(n, apart) * R(s->step);
        return;
    }
    real arms[2] = {FRESH(s->arms[0] + place), FRESH(s->arms[1] + place)};
    real distance = arms[0] + arms[1];
    real branch[3];
    for (int k = 0; k < 3; k++) branch[k] = n[k] * distance + apart[k] * R(s->step);
    real moved = SQUARE_ROOT(dot(branch, branch));
    for (int k = 0; k < 3; k++) s->normal[k][place] = branch[k] / moved;
    for (int k = 0; k < 2; k++) s->arms[k][place] = arms[k] + R(0.5) * (moved - distance);
    s->overlap[place] = overlap + (distance - moved);
}

/* `wake` of a group that was due, by the time that its contacts stay open at least. */
DEVICE u32 wake_after(const struct Step *s, u64 soonest, u32 substep) {
    /* All but a long wait wakes; no number at all is no wait. */
    double time = of_ascending(soonest);
    int sleeps_on = soonest == ~0ull || time >= s->step;
    double substeps = soonest == ~0ull ? s->longest_sleep : time / s->step;
    return sleeps_on ? after(substep, MIN(substeps, s->longest_sleep)) : WOKEN + substep;
}

#endif
