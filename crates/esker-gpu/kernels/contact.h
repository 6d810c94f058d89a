/* A contact in a sweep: what it is before velocities of now enter, its update, what it starts with.
 *
 * Equations and their numbers are those of `esker_solver::{substep, sweep, follow}`.
 *
 * `x > y ? x : y` and the like are what the vector instructions do with numbers that do not
 * compare. An impact row stores the negative of its impulse: who loads it next takes it for
 * none. What it did to its bodies is added to sums at once, so that nothing but these has to be
 * taken back before the next substep.
 */
#ifndef ESKER_CONTACT_H
#define ESKER_CONTACT_H

#include "step.h"

/* What kernels work on. */
DECLARE_STEP(struct Step);

#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MIN(x, y) ((x) < (y) ? (x) : (y))

DEVICE real dot(const real *a, const real *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

DEVICE void cross(const real *a, const real *b, real *out) {
    out[0] = a[1] * b[2] - b[1] * a[2];
    out[1] = a[2] * b[0] - b[2] * a[0];
    out[2] = a[0] * b[1] - b[0] * a[1];
}

/* Scale of the nearest point of a disc; one where the point is in it. */
DEVICE real onto_disc(const real *x, real radius) {
    real r = radius * DISC_UNIT, square = R(0.0);
    for (int k = 0; k < 3; k++) square += x[k] * DISC_UNIT * (x[k] * DISC_UNIT);
    return r * r < square ? r / SQUARE_ROOT(square) : R(1.0);
}

DEVICE int is_asleep(u32 wake) {
    return wake != 0 && wake < WOKEN;
}

/* Where a sweep finds bodies: in its own memory, or in that of the device. */
struct Bodies {
    real *state;
    const real *before;
    u32 stride;
    /* Index of every body in memory; null where contacts have it. */
    const u32 *list;
};

DEVICE u32 body_of(const struct Bodies *bodies, u32 index) {
    return bodies->list ? bodies->list[index] : index;
}

/* A contact on its way through a sweep. */
struct Contact {
    u32 place;
    u32 level;
    u32 bodies[2];
    u32 wake;
    u32 tracked;
    u32 rolls;
    const struct Law *law;
    real friction_coefficient;
    real restitution;
    real normal[3];
    real overlap;
    real arms[2];
    real compliance;
    real impulse;
    real friction[3];
    float inverse_tangent;
    float cap;
    float min_overlap;
    float damping_factor;
    real rolling_limit;
    real twisting_limit;
    real inverse_rolling;
    real rolling[3];
    real twisting;
    /* Where bodies take turns: inverse masses, and moments of inertia. */
    real masses[4];
    /* From here on computed. What turning its impulse does to its bodies, where it `turns`. */
    real turned_linear[3];
    real turned_torques[2][3];
    real mobility;
    real before;
    real root;
    real target;
    /* Whether its normal turns with its bodies, and whether its impulse does with it. */
    u32 follows;
    u32 turns;
    u32 impacts;
    u32 was_impact;
    /* Whether it was open before and after. */
    u32 stays_open;
};

/* What a contact has in memory beside its bodies; `rolls` is whether any contact does, which is
 * known where a kernel is compiled. */
DEVICE void load_row(const struct Step *s, u32 place, u32 rolls, struct Contact *c) {
    c->tracked = STREAMED(s->tracked + place);
    for (int k = 0; k < 3; k++) {
        c->normal[k] = STREAMED(s->normal[k] + place);
        c->friction[k] = STREAMED(s->friction[k] + place);
    }
    c->overlap = STREAMED(s->overlap + place);
    c->arms[0] = STREAMED(s->arms[0] + place);
    c->arms[1] = STREAMED(s->arms[1] + place);
    c->compliance = STREAMED(s->compliance + place);
    c->impulse = STREAMED(s->impulse + place);
    c->inverse_tangent = STREAMED(s->inverse_tangent + place);
    c->cap = STREAMED(s->cap + place);
    c->min_overlap = STREAMED(s->min_overlap + place);
    c->damping_factor = STREAMED(s->damping_factor + place);
    c->twisting = R(0.0);
    for (int k = 0; k < 3; k++) c->rolling[k] = R(0.0);
    if (rolls) {
        c->rolling_limit = STREAMED(s->rolling_limit + place);
        c->twisting_limit = STREAMED(s->twisting_limit + place);
        c->inverse_rolling = STREAMED(s->inverse_rolling + place);
        for (int k = 0; k < 3; k++) c->rolling[k] = STREAMED(s->rolling[k] + place);
        c->twisting = STREAMED(s->twisting + place);
    }
}

/* Forgets the impulses of an impact. */
DEVICE void forget_impact(struct Contact *c) {
    c->was_impact = c->impulse < R(0.0);
    if (!c->was_impact) return;
    c->impulse = R(0.0);
    c->twisting = R(0.0);
    for (int k = 0; k < 3; k++) c->friction[k] = c->rolling[k] = R(0.0);
}

/* The bodies of a contact: velocity and inverse mass, angular velocity and inverse inertia, and
 * how fast one was from the other at the start of the substep. */
struct Motions {
    real a[2][4];
    real b[2][4];
    real apart[3];
};

/* Equation (1) of `follow`: the impulse turns with its bodies. */
DEVICE void turn(struct Contact *c, const real *turned, const real *turned_arms) {
    real along = dot(turned, c->friction);
    real friction[3], moment[3], turned_moment[3];
    cross(c->normal, c->friction, moment);
    for (int k = 0; k < 3; k++) {
        friction[k] = c->friction[k] - turned[k] * along;
        c->turned_linear[k] =
            (turned[k] - c->normal[k]) * c->impulse + (friction[k] - c->friction[k]);
    }
    cross(turned, friction, turned_moment);
    real across = c->rolls ? dot(turned, c->rolling) : R(0.0);
    for (int k = 0; k < 3; k++) {
        real torque_a = turned_moment[k] * turned_arms[0] - moment[k] * c->arms[0];
        real torque_b = turned_moment[k] * turned_arms[1] - moment[k] * c->arms[1];
        if (c->rolls) {
            real rolling = c->rolling[k] - turned[k] * across;
            real twist = (turned[k] - c->normal[k]) * c->twisting;
            real torque = (rolling - c->rolling[k]) + twist;
            torque_a = torque_a + torque;
            torque_b = torque_b - torque;
            c->rolling[k] = rolling;
        }
        c->turned_torques[0][k] = torque_a;
        c->turned_torques[1][k] = torque_b;
        c->friction[k] = friction[k];
    }
}

/* What a row is in this substep, as far as velocities of now do not enter. */
DEVICE void prepare(const struct Step *s, const struct Motions *m, u32 substep,
                    struct Contact *c) {
    if (is_asleep(c->wake)) return;
    forget_impact(c);
    const struct Law *law = c->law;
    c->friction_coefficient = R(law->friction);
    c->restitution = R(law->restitution);
    real mass_a = m->a[0][3], mass_b = m->b[0][3];
    /* A group that was just woken is where its bodies are. */
    real moved = substep == 0 || c->wake == WOKEN + substep ? R(0.0) : R(s->step);
    const real *apart = m->apart;
    c->mobility = mass_a + mass_b;
    c->follows = law->follows && moved > R(0.0);
    c->turns = c->follows && R(0.0) < c->impulse;
    if (c->follows) {
        real distance = c->arms[0] + c->arms[1];
        real branch[3];
        for (int k = 0; k < 3; k++) branch[k] = c->normal[k] * distance + apart[k] * moved;
        real length = SQUARE_ROOT(dot(branch, branch));
        real inverse = R(1.0) / length;
        real change = length - distance;
        real longer = R(0.5) * change;
        real turned[3], turned_arms[2] = {c->arms[0] + longer, c->arms[1] + longer};
        for (int k = 0; k < 3; k++) turned[k] = branch[k] * inverse;
        if (c->turns) turn(c, turned, turned_arms);
        for (int k = 0; k < 3; k++) c->normal[k] = turned[k];
        for (int k = 0; k < 2; k++) c->arms[k] = turned_arms[k];
        c->before = dot(c->normal, apart);
        c->overlap = c->overlap - change;
    } else {
        c->before = dot(c->normal, apart);
        c->overlap = c->overlap - moved * c->before;
    }
    real min_overlap = c->min_overlap, cap = c->cap, factor = c->damping_factor;
    real negative = R(0.0) - factor;
    real damping = MAX(factor, negative);
    real reached = c->overlap, width = R(1.0), mean = c->overlap;
    if (law->hertz && factor < R(0.0)) {
        /* Equation (3'') of `esker_contact::spring`. */
        real half = c->before * R(-0.5 * s->step), below = R(0.0) - c->overlap;
        real depth = MAX(c->overlap, below);
        if (depth < half) {
            reached = c->overlap + half;
            mean = reached * R(0.6);
            width = reached / (R(3.0) * half);
        }
    }
    c->target = R(0.0) < mean ? damping * (R(law->bias_rate) * mean + c->before)
                              : c->overlap * R(s->inverse_step);
    c->root = law->hertz ? SQUARE_ROOT(MAX(reached, min_overlap)) * width : R(1.0);
    real capped = c->mobility * cap * c->root;
    c->compliance = MAX(c->compliance, capped);
    int is_fast = c->before < -R(law->impact_speed);
    int closes = c->before * R(s->step) < c->overlap;
    c->impacts = is_fast && R(0.0) < factor && closes && !(R(0.0) < c->impulse);
}

/* Adds what an impact did to a body that has a warm start. */
DEVICE void add_change(const struct Step *s, u32 substep, u32 body, const real *linear,
                       const real *angular) {
    if (body >= s->movable) return;
    real *change = s->change + 6 * (u64)body;
    int is_first = FRESH(s->impacted + body) != substep + 1;
    s->impacted[body] = substep + 1;
    for (int k = 0; k < 3; k++) {
        change[k] = is_first ? linear[k] : FRESH(change + k) + linear[k];
        change[3 + k] = is_first ? angular[k] : FRESH(change + 3 + k) + angular[k];
    }
}

/* What an impact of these impulses changes of its bodies, as `ContactRows::apply` does it. */
DEVICE void count_impact(const struct Step *s, const struct Bodies *bodies, u32 substep,
                         u32 rolls, const struct Contact *c, const struct Motions *m,
                         real impulse) {
    real moment[3], linear_a[3], linear_b[3], angular_a[3], angular_b[3];
    cross(c->normal, c->friction, moment);
    for (int k = 0; k < 3; k++) {
        real linear = c->normal[k] * impulse + c->friction[k];
        real torque = rolls ? c->rolling[k] + c->normal[k] * c->twisting : R(0.0);
        linear_a[k] = R(0.0) - linear * m->a[0][3];
        linear_b[k] = R(0.0) + linear * m->b[0][3];
        angular_a[k] = R(0.0) - (moment[k] * c->arms[0] + torque) * m->a[1][3];
        angular_b[k] = R(0.0) - (moment[k] * c->arms[1] - torque) * m->b[1][3];
    }
    add_change(s, substep, body_of(bodies, c->bodies[0]), linear_a, angular_a);
    add_change(s, substep, body_of(bodies, c->bodies[1]), linear_b, angular_b);
    ATOMIC_ADD_U32(s->impact_counts + substep, 1);
    if (substep + 1 == s->substeps) s->is_impact[c->place] = 1;
}

/* One contact of a sweep: updates (1) to (4). Returns whether its bodies have other velocities
 * now, which the caller stores, as it does the row. */
DEVICE u32 relax(const struct Step *s, const struct Bodies *bodies, u32 substep, u32 rolls,
                  struct Contact *c, struct Motions *m) {
    real *va = m->a[0], *vb = m->b[0], *wa = m->a[1], *wb = m->b[1];
    for (int k = 0; k < 3 && c->turns; k++) {
        va[k] = va[k] - c->turned_linear[k] * va[3];
        vb[k] = vb[k] + c->turned_linear[k] * vb[3];
        wa[k] = wa[k] - c->turned_torques[0][k] * wa[3];
        wb[k] = wb[k] - c->turned_torques[1][k] * wb[3];
    }
    const real *n = c->normal;
    real apart[3];
    for (int k = 0; k < 3; k++) apart[k] = vb[k] - va[k];
    real u_n = dot(n, apart);
    real old_impulse = c->impulse;
    if (c->impacts && old_impulse < SMALLEST_REAL) {
        /* An approach that others have slowed already is returned as such. */
        real slower = MAX(c->before, u_n);
        c->target = R(0.0) - c->restitution * MIN(slower, R(0.0));
        c->compliance = R(0.0);
        c->root = R(1.0);
    }
    real excess = c->root * (u_n - c->target) + c->compliance * old_impulse;
    real impulse = old_impulse - excess / (c->root * c->mobility + c->compliance);
    impulse = MAX(impulse, R(0.0));
    real larger = MAX(old_impulse, impulse);
    c->stays_open = !(R(0.0) < larger);
    if (c->stays_open) {
        /* Nothing else can change. */
        if (c->impacts) count_impact(s, bodies, substep, rolls, c, m, old_impulse);
        return 0;
    }
    real linear[3];
    for (int k = 0; k < 3; k++) linear[k] = n[k] * (impulse - old_impulse);
    if (c->friction_coefficient > R(0.0)) {
        real turning[3], slip[3], u_t[3], wanted[3], change[3], moment[3];
        for (int k = 0; k < 3; k++) turning[k] = wa[k] * c->arms[0] + wb[k] * c->arms[1];
        cross(turning, n, slip);
        real inverse = c->inverse_tangent;
        for (int k = 0; k < 3; k++) {
            u_t[k] = (apart[k] - n[k] * u_n) - slip[k];
            wanted[k] = c->friction[k] * R(s->friction_factor) - u_t[k] * inverse;
        }
        real scale = onto_disc(wanted, c->friction_coefficient * impulse);
        for (int k = 0; k < 3; k++) {
            real friction = wanted[k] * scale;
            change[k] = friction - c->friction[k];
            c->friction[k] = friction;
            linear[k] = linear[k] + change[k];
        }
        cross(n, change, moment);
        real turn_a = c->arms[0] * wa[3], turn_b = c->arms[1] * wb[3];
        for (int k = 0; k < 3; k++) {
            wa[k] = wa[k] - moment[k] * turn_a;
            wb[k] = wb[k] - moment[k] * turn_b;
        }
    }
    if (c->rolls) {
        real omega[3], wanted[3], inverse = c->inverse_rolling, factor = R(s->rolling_factor);
        for (int k = 0; k < 3; k++) omega[k] = wb[k] - wa[k];
        real omega_n = dot(n, omega);
        for (int k = 0; k < 3; k++) {
            wanted[k] = c->rolling[k] * factor - (omega[k] - n[k] * omega_n) * inverse;
        }
        real scale = onto_disc(wanted, c->rolling_limit * impulse);
        real limit = c->twisting_limit * impulse, negative = R(0.0) - limit;
        real twisting = c->twisting * factor - omega_n * inverse;
        twisting = MIN(twisting, limit);
        twisting = MAX(twisting, negative);
        real twist = twisting - c->twisting;
        for (int k = 0; k < 3; k++) {
            real rolling = wanted[k] * scale;
            real torque = (rolling - c->rolling[k]) + n[k] * twist;
            c->rolling[k] = rolling;
            wa[k] = wa[k] - torque * wa[3];
            wb[k] = wb[k] + torque * wb[3];
        }
        c->twisting = twisting;
    }
    for (int k = 0; k < 3; k++) {
        va[k] = va[k] - linear[k] * va[3];
        vb[k] = vb[k] + linear[k] * vb[3];
    }
    if (c->tracked != UNTRACKED && impulse > R(0.0)) {
        real *sum = s->sums + 8 * (u64)c->tracked;
        sum[0] += impulse;
        for (int k = 0; k < 3; k++) sum[1 + k] += c->friction[k];
        if (rolls) {
            for (int k = 0; k < 3; k++) sum[4 + k] += c->rolling[k];
            sum[7] += c->twisting;
        }
    }
    if (c->impacts) count_impact(s, bodies, substep, rolls, c, m, impulse);
    c->impulse = c->impacts ? R(0.0) - impulse : impulse;
    return 1;
}

/* Stores what a sweep has changed of a contact. */
DEVICE void store_row(const struct Step *s, const struct Contact *c) {
    u32 place = c->place;
    STREAM(s->overlap + place, c->overlap);
    if (c->follows) {
        for (int k = 0; k < 3; k++) STREAM(s->normal[k] + place, c->normal[k]);
        for (int k = 0; k < 2; k++) STREAM(s->arms[k] + place, c->arms[k]);
    }
    /* Impulses of an impact are forgotten also where it stays open. */
    if (c->stays_open && !c->was_impact) return;
    STREAM(s->impulse + place, c->impulse);
    for (int k = 0; k < 3; k++) STREAM(s->friction[k] + place, c->friction[k]);
    if (c->rolls) {
        for (int k = 0; k < 3; k++) STREAM(s->rolling[k] + place, c->rolling[k]);
        STREAM(s->twisting + place, c->twisting);
    }
}

/* What a contact starts with does to its bodies. */
struct Start {
    u32 level;
    u32 bodies[2];
    real impulse;
    real linear[3];
    real torques[2][3];
    real masses[4];
};

DEVICE void load_start(const struct Step *s, u32 place, struct Start *c) {
    c->impulse = s->impulse[place];
    if (!(R(0.0) < c->impulse)) return;
    for (int k = 0; k < 2; k++) c->bodies[k] = s->contact_bodies[2 * place + k];
    real n[3], friction[3], moment[3];
    for (int k = 0; k < 3; k++) {
        n[k] = s->normal[k][place];
        friction[k] = s->friction[k][place];
    }
    cross(n, friction, moment);
    int rolls = s->laws[s->law[place]].rolls;
    for (int k = 0; k < 3; k++) {
        c->linear[k] = n[k] * c->impulse + friction[k];
        c->torques[0][k] = moment[k] * s->arms[0][place];
        c->torques[1][k] = moment[k] * s->arms[1][place];
        if (rolls) {
            real torque = s->rolling[k][place] + n[k] * s->twisting[place];
            c->torques[0][k] = c->torques[0][k] + torque;
            c->torques[1][k] = c->torques[1][k] - torque;
        }
    }
}

DEVICE void apply_start(const struct Start *c, struct Motions *m) {
    for (int k = 0; k < 3; k++) {
        m->a[0][k] = m->a[0][k] - c->linear[k] * m->a[0][3];
        m->a[1][k] = m->a[1][k] - c->torques[0][k] * m->a[1][3];
        m->b[0][k] = m->b[0][k] + c->linear[k] * m->b[0][3];
        m->b[1][k] = m->b[1][k] - c->torques[1][k] * m->b[1][3];
    }
}

#endif
