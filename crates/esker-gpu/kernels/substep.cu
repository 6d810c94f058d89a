/* The substeps of a step: what `esker_solver::block_sweep` computes, with its bits.
 *
 * Equations and their numbers are those of `esker_solver::{substep, sweep, follow}`. A thread
 * block takes a block of the plan through a sweep, level by level, with the velocities of its
 * bodies in its own memory; thread blocks of one launch have blocks of one colour, which share
 * no body. Every thread has a contact of its own at a time, whatever its level: what does not
 * depend on velocities of now is computed of all of them at once, and a level is then a matter of
 * registers, of the block's own memory and of a few hundred cycles. (A thread that fetched the row
 * of its next contact while it worked on one waited for memory in every level.) The order of the
 * plan has about as many levels as a body has contacts.
 *
 * Of a flat plan every colour is a launch and every contact a thread, whose bodies are where all
 * are. It takes less time than its memory would let it, as one colour waits for the other: so a
 * launch begins before the one before has ended, and waits when it has its rows. (Where contacts are
 * few there are no launches, but bodies that take turns: `turns.h`.) What counts
 * besides is how much the second-level cache moves, in pieces of 32 bytes. (Tried and slower:
 * bringing rows of contacts to come into that cache ahead of time, by 2 to 5 %, and their bodies
 * too, by up to 30 %; fewer registers for more threads at a time, by 10 %, since what does not fit
 * is moved too.)
 *
 * `x > y ? x : y` and the like are what the vector instructions do with numbers that do not
 * compare. An impact row stores the negative of its impulse: who loads it next takes it for
 * none. What it did to its bodies is added to sums at once, so that nothing but these has to be
 * taken back before the next substep.
 */
#include "step.h"
#include "tags.h"

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

/* The substep so many substeps after another, in 16 bits. */
DEVICE u32 after(u32 index, double substeps) {
    u32 whole = substeps > 0.0 ? substeps < 65535.0 ? (u32)substeps : 65535u : 0u;
    u32 sum = whole + index;
    return sum < 65535u ? sum : 65535u;
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

/* A contact of a block. */
DEVICE void load(const struct Step *s, u32 place, u32 rolls, struct Contact *c) {
    c->place = place;
    c->level = s->level[place];
    c->wake = FRESH(s->wake + s->group[place]);
    c->law = s->laws + s->law[place];
    if (is_asleep(c->wake)) return;
    c->rolls = rolls && c->law->rolls;
    c->bodies[0] = s->contact_bodies[2 * place];
    c->bodies[1] = s->contact_bodies[2 * place + 1];
    load_row(s, place, rolls, c);
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

/* As they are now. */
DEVICE void fetch_motion(const struct Bodies *bodies, u32 body, real (*motion)[4]) {
    const real *state = bodies->state + (u64)bodies->stride * body;
    for (int k = 0; k < 8; k++) motion[k / 4][k % 4] = state[k];
}

DEVICE void fetch_motions(const struct Bodies *bodies, const u32 *pair, struct Motions *m) {
    fetch_motion(bodies, pair[0], m->a);
    fetch_motion(bodies, pair[1], m->b);
}

DEVICE void store_motion(const struct Bodies *bodies, u32 body, const real (*motion)[4]) {
    real *state = bodies->state + (u64)bodies->stride * body;
    for (int k = 0; k < 3; k++) {
        state[k] = motion[0][k];
        state[4 + k] = motion[1][k];
    }
}

DEVICE void store_motions(const struct Bodies *bodies, const u32 *pair,
                          const struct Motions *m) {
    store_motion(bodies, pair[0], m->a);
    store_motion(bodies, pair[1], m->b);
}

/* As they were at the start of the substep. */
DEVICE void fetch_before(const struct Bodies *bodies, const struct Contact *c, struct Motions *m) {
    const real *before_a = bodies->before + (u64)bodies->stride * c->bodies[0];
    const real *before_b = bodies->before + (u64)bodies->stride * c->bodies[1];
    for (int k = 0; k < 3; k++) m->apart[k] = before_b[k] - before_a[k];
    m->a[0][3] = bodies->state[(u64)bodies->stride * c->bodies[0] + 3];
    m->b[0][3] = bodies->state[(u64)bodies->stride * c->bodies[1] + 3];
}

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

/* Equation (1) of `copies`: a body gets the mean of its copies. */
DEVICE void join(const struct Step *s, u32 index) {
    struct Original original = s->original[index];
    real *body = s->state + 8 * (u64)original.body;
    real sums[6] = {R(0.0), R(0.0), R(0.0), R(0.0), R(0.0), R(0.0)};
    for (u32 copy = original.first; copy < original.first + original.count; copy++) {
        const real *state = s->state + 8 * (u64)copy;
        for (int k = 0; k < 3; k++) {
            sums[k] += state[k] - body[k];
            sums[3 + k] += state[4 + k] - body[4 + k];
        }
    }
    for (int k = 0; k < 3; k++) {
        body[k] += sums[k] / (real)original.count;
        body[4 + k] += sums[3 + k] / (real)original.count;
    }
}

/* Copies get the velocities of their body. */
DEVICE void spread(const struct Step *s, u32 index) {
    struct Original original = s->original[index];
    const real *body = s->state + 8 * (u64)original.body;
    for (u32 copy = original.first; copy < original.first + original.count; copy++) {
        real *state = s->state + 8 * (u64)copy;
        for (int k = 0; k < 3; k++) {
            state[k] = body[k];
            state[4 + k] = body[4 + k];
        }
    }
}

DEVICE struct Bodies bodies_of(const struct Step *s, const struct Block *block, real *cache) {
    struct Bodies bodies;
    int fits = block->body_count > 0;
    bodies.state = fits ? cache : s->state;
    bodies.before = fits ? cache + 8 : s->before;
    bodies.stride = fits ? CACHED : 8;
    bodies.list = fits ? s->body_list + block->bodies : 0;
    return bodies;
}

/* Pairs of numbers that a thread fetches before it waits for any. */
#define TOGETHER 4

/* Copies the first so many of each body's eight numbers into the block's own memory, in pairs;
 * neighbouring threads have neighbouring ones. */
DEVICE void fetch_numbers(const struct Step *s, const struct Block *block, const real *from,
                          u32 numbers, real *to, u32 thread, u32 threads) {
    u32 pairs = (numbers + 1) / 2, count = pairs * block->body_count;
    for (u32 first = thread; first < count; first += TOGETHER * threads) {
        u64 at[TOGETHER];
        real pair[TOGETHER][2];
        for (u32 r = 0; r < TOGETHER; r++) {
            u32 i = first + r * threads < count ? first + r * threads : first;
            at[r] = 8 * (u64)s->body_list[block->bodies + i / pairs] + 2 * (i % pairs);
        }
        for (u32 r = 0; r < TOGETHER; r++) LOAD_TWO(from + at[r], pair[r]);
        for (u32 r = 0; r < TOGETHER; r++) {
            u32 i = first + r * threads, k = 2 * (i % pairs);
            real *own = to + CACHED * (i / pairs) + k;
            if (i >= count) continue;
            own[0] = pair[r][0];
            if (k + 1 < numbers) own[1] = pair[r][1];
        }
    }
}

/* Velocities of the bodies of a block at the start of the substep. */
DEVICE void fetch_starts(const struct Step *s, const struct Block *block, real *cache,
                         u32 thread, u32 threads) {
    fetch_numbers(s, block, s->before, 3, cache + 8, thread, threads);
}

/* What they have now. */
DEVICE void fetch_bodies(const struct Step *s, const struct Block *block, real *cache,
                         u32 thread, u32 threads) {
    fetch_numbers(s, block, s->state, 8, cache, thread, threads);
}

DEVICE void return_bodies(const struct Step *s, const struct Block *block, const real *cache,
                          u32 thread, u32 threads) {
    for (u32 i = thread; i < 4 * block->body_count; i += threads) {
        u32 k = 2 * (i % 4);
        const real *own = cache + CACHED * (i / 4) + k;
        real pair[2] = {own[0], own[1]};
        STORE_TWO(s->state + 8 * (u64)s->body_list[block->bodies + i / 4] + k, pair);
    }
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

DEVICE void spread_after(const struct Step *s, u32 block, u32 thread, u32 threads) {
    if (s->originals && block + 1 == s->blocks) {
        for (u32 i = thread; i < s->originals; i += threads) spread(s, i);
    }
}

DEVICE void join_before(const struct Step *s, u32 block, u32 thread, u32 threads) {
    if (s->originals && block + 1 == s->blocks) {
        for (u32 i = thread; i < s->originals; i += threads) join(s, i);
    }
}

/* Lets a body fall, or accelerates it otherwise. */
DEVICE void fall(const struct Step *s, u32 i, real *body) {
    if (body[3] > R(0.0)) {
        for (int k = 0; k < 3; k++) body[k] += R(s->fall[k]);
    }
    u32 entry = i - s->first_acceleration;
    if (i >= s->first_acceleration && entry < s->accelerations) {
        const real *rate = s->acceleration + 6 * (u64)entry;
        for (int k = 0; k < 3; k++) {
            body[k] += rate[k] * R(s->step);
            body[4 + k] += rate[3 + k] * R(s->step);
        }
    }
}

/* Puts groups to sleep, and begins what is summed over a step. */
PART_OF_KERNEL(begin_contacts, const struct Step *s) {
    FOR_THREADS(thread) {
        FOR_EACH(g, thread, s->groups) {
            double substeps = s->open_time[g] / s->step;
            u32 wake = after(0, MIN(substeps, s->longest_sleep));
            if (wake >= s->substeps) wake = ASLEEP_ALL_STEP;
            /* Looks at sleeping groups need what both bodies moved. */
            s->wake[g] = s->last_body[g] < s->movable ? wake : 0;
        }
        FOR_EACH(k, thread, s->substeps + 1) s->impact_counts[k] = 0;
        FOR_EACH(c, thread, s->contacts) s->is_impact[c] = 0;
        FOR_EACH(k, thread, 8 * s->tracked_contacts) s->sums[k] = R(0.0);
        FOR_EACH(k, thread, 4 * s->loss_sums) s->loss_sum[k] = R(0.0);
    }
}

/* Begins a step: remembers velocities, lets bodies fall, puts groups to sleep. */
KERNEL(begin_step, BODY_THREADS) {
    const struct Step *s = STEP;
    LET_NEXT_KERNEL_BEGIN();
    FOR_THREADS(thread) {
        FOR_EACH(i, thread, s->bodies) {
            real *body = s->state + 8 * (u64)i;
            for (int k = 0; k < 8; k++) s->before[8 * (u64)i + k] = body[k];
            fall(s, i, body);
            if (i < s->movable) {
                for (int k = 0; k < 8; k++) s->moved[8 * (u64)i + k] = R(0.0);
                s->impacted[i] = 0;
            }
        }
    }
    RUN_PART(begin_contacts, s);
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

/* Applies the impulses that contacts start with, in the blocks of a colour. */
KERNEL(apply_impulses, SWEEP_THREADS, u32 colour) {
    const struct Step *s = STEP;
    DYNAMIC_SHARED(cache);
    OWN(struct Start, own);
    u32 index = s->colours[colour] + THREAD_BLOCK;
    WAIT_FOR_KERNELS_BEFORE();
    LET_NEXT_KERNEL_BEGIN();
    if (index >= s->colours[colour + 1]) return;
    struct Block block = s->block[index];
    struct Bodies bodies = bodies_of(s, &block, cache);
    FOR_THREADS(thread) join_before(s, index, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) fetch_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    for (u32 first = block.contacts; first < block.contacts_end; first += THREADS) {
        u32 count = block.contacts_end - first < THREADS ? block.contacts_end - first : THREADS;
        u32 level = s->level[first], last_level = s->level[first + count - 1];
        FOR_THREADS(thread) {
            struct Start *start = MINE(own, thread);
            if (thread < count) {
                start->level = s->level[first + thread];
                load_start(s, first + thread, start);
            }
        }
        for (; level <= last_level; level++) {
            FOR_THREADS(thread) {
                const struct Start *start = MINE(own, thread);
                if (thread < count && start->level == level && R(0.0) < start->impulse) {
                    struct Motions motions;
                    fetch_motions(&bodies, start->bodies, &motions);
                    apply_start(start, &motions);
                    store_motions(&bodies, start->bodies, &motions);
                }
            }
            BARRIER();
        }
    }
    FOR_THREADS(thread) return_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) spread_after(s, index, thread, THREADS);
}

/* Whether a body may have contacts with colours from this one on; of plans that are not flat, and of
 * those whose host does not say, every body may. */
DEVICE u32 is_swept_late(const struct Step *s, u32 body, u32 colour) {
    if (!s->colours_of) return 1;
    return colour < MOST_COLOURS && s->colours_of[body] >> colour != 0;
}

/* Bodies are passed over by two of their eight numbers, so that neighbours fetch what lies side by
 * side. */
#define TWOS_OF_BODY 4

/* What no sweep writes of two numbers. */
struct Repeat {
    real before[2];
    real moved[2];
};

DEVICE void fetch_repeat(const struct Step *s, u32 two, struct Repeat *repeat) {
    LOAD_TWO(s->before + 2 * (u64)two, repeat->before);
    LOAD_TWO_STREAMED(s->moved + 2 * (u64)two, repeat->moved);
}

/* Equation (1) of `substep` for two of a body's numbers. */
DEVICE void repeat_two(const struct Step *s, u32 substep, u32 two, const struct Repeat *repeat) {
    u32 i = two / TWOS_OF_BODY, part = two % TWOS_OF_BODY;
    u64 at = 2 * (u64)two;
    real now[2], moved[2], next[2];
    LOAD_TWO(s->state + at, now);
    /* Bodies with copies have to be joined before. */
    int is_subtracted = FRESH(s->impact_counts + substep - 1) && FRESH(s->impacted + i) == substep;
    for (u32 k = 0; is_subtracted && k < s->originals; k++) {
        is_subtracted = s->original[k].body != i;
    }
    for (u32 k = 0; k < 2; k++) {
        next[k] = now[k];
        moved[k] = repeat->moved[k];
        /* Masses are last. */
        if (part % 2 == 1 && k == 1) continue;
        next[k] = now[k] + (now[k] - repeat->before[k]);
        if (is_subtracted) {
            u32 axis = 3 * (part / 2) + 2 * (part % 2) + k;
            next[k] = next[k] - FRESH(s->change + 6 * (u64)i + axis);
        }
        moved[k] += now[k];
    }
    STREAM_TWO(s->moved + at, moved);
    STORE_TWO(s->before + at, now);
    STORE_TWO(s->state + at, next);
}

/* Every body changes by as much as in the substep before, without what impacts changed. Bodies that
 * none of the last colours of a flat plan, from this one on, has contacts with need not wait for the
 * kernel that sweeps these. Two numbers a thread. */
KERNEL(repeat_changes, BODY_THREADS, u32 substep, u32 last_colours) {
    const struct Step *s = STEP;
    OWN(u32, has_late);
    FOR_THREADS(thread) {
        *MINE(has_late, thread) = 0;
        FOR_EACH(two, thread, TWOS_OF_BODY * s->movable) {
            if (is_swept_late(s, two / TWOS_OF_BODY, last_colours)) {
                *MINE(has_late, thread) = 1;
                continue;
            }
            struct Repeat repeat;
            fetch_repeat(s, two, &repeat);
            repeat_two(s, substep, two, &repeat);
        }
    }
    FOR_THREADS(thread) {
        if (!*MINE(has_late, thread)) continue;
        FOR_EACH(two, thread, TWOS_OF_BODY * s->movable) {
            if (!is_swept_late(s, two / TWOS_OF_BODY, last_colours)) continue;
            struct Repeat repeat;
            fetch_repeat(s, two, &repeat);
            WAIT_FOR_KERNELS_BEFORE();
            LET_NEXT_KERNEL_BEGIN();
            repeat_two(s, substep, two, &repeat);
        }
    }
    WAIT_FOR_KERNELS_BEFORE();
}

/* After impacts: bodies with copies get the mean of these, less what impacts changed. One
 * thread block. */
KERNEL(join_copies, BODY_THREADS, u32 substep) {
    const struct Step *s = STEP;
    if (!s->impact_counts[substep - 1]) return;
    FOR_THREADS(thread) {
        for (u32 i = thread; i < s->originals; i += THREADS) {
            join(s, i);
            u64 index = s->original[i].body;
            real *body = s->state + 8 * index;
            if (s->impacted[index] == substep) {
                for (int k = 0; k < 3; k++) {
                    body[k] -= s->change[6 * index + k];
                    body[4 + k] -= s->change[6 * index + 3 + k];
                }
            }
            spread(s, i);
        }
    }
}

/* `wake` of a group that was due, by the time that its contacts stay open at least. */
DEVICE u32 wake_after(const struct Step *s, u64 soonest, u32 substep) {
    /* All but a long wait wakes; no number at all is no wait. */
    double time = of_ascending(soonest);
    int sleeps_on = soonest == ~0ull || time >= s->step;
    double substeps = soonest == ~0ull ? s->longest_sleep : time / s->step;
    return sleeps_on ? after(substep, MIN(substeps, s->longest_sleep)) : WOKEN + substep;
}

/* Looks at the sleeping groups of a block that are due, and wakes those that may close. */
PART_OF_KERNEL(wake_due_groups, const struct Step *s, const struct Block *block,
               const struct Bodies *bodies, u32 substep) {
    FOR_THREADS(thread) {
        for (u32 place = block->contacts + thread; place < block->contacts_end; place += THREADS) {
            u32 group = s->group[place];
            if (!is_due(s->wake[group], substep)) continue;
            struct Look look;
            look_at(s, bodies, place, &look);
            real time = time_open(s, place, &look);
            /* What is no number does not count. */
            if (time == time) ATOMIC_MIN_U64(s->soonest + group, ascending(time));
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        for (u32 g = block->groups + thread; g < block->groups_end; g += THREADS) {
            if (!is_due(s->wake[g], substep)) continue;
            s->wake[g] = wake_after(s, s->soonest[g], substep);
        }
    }
    BARRIER();
    FOR_THREADS(thread) {
        for (u32 place = block->contacts + thread; place < block->contacts_end; place += THREADS) {
            if (s->wake[s->group[place]] != WOKEN + substep) continue;
            struct Look look;
            look_at(s, bodies, place, &look);
            bring_up_to_date(s, place, &look);
        }
    }
    BARRIER();
}

/* The sweep of a substep over the blocks of a colour.
 *
 * Rows were written in the substep before, and velocities at the start of a substep before its
 * first colour: only those of now have to be waited for, with the rows of the first pass on their
 * way. */
PART_OF_KERNEL(sweep_colour, u32 colour, u32 substep, u32 rolls) {
    const struct Step *s = STEP;
    DYNAMIC_SHARED(cache);
    SHARED(u32, has_due);
    OWN(struct Contact, own);
    u32 index = s->colours[colour] + THREAD_BLOCK;
    u32 is_there = index < s->colours[colour + 1], is_first = s->colours[colour] == 0;
    if (is_first || !is_there) WAIT_FOR_KERNELS_BEFORE();
    if (!is_there) return;
    struct Block block = s->block[index];
    struct Bodies bodies = bodies_of(s, &block, cache);
    FOR_THREADS(thread) {
        if (thread == 0) has_due = 0;
    }
    BARRIER();
    FOR_THREADS(thread) {
        u32 place = block.contacts + thread;
        if (place < block.contacts_end) load(s, place, rolls, MINE(own, thread));
        fetch_starts(s, &block, cache, thread, THREADS);
        for (u32 g = block.groups + thread; g < block.groups_end; g += THREADS) {
            if (is_due(FRESH(s->wake + g), substep)) {
                s->soonest[g] = ~0ull;
                has_due = 1;
            }
        }
    }
    WAIT_FOR_KERNELS_BEFORE();
    LET_NEXT_KERNEL_BEGIN();
    FOR_THREADS(thread) join_before(s, index, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) fetch_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    u32 is_loaded = !has_due;
    if (has_due) RUN_PART(wake_due_groups, s, &block, &bodies, substep);
    for (u32 first = block.contacts; first < block.contacts_end; first += THREADS) {
        u32 count = block.contacts_end - first < THREADS ? block.contacts_end - first : THREADS;
        u32 level = s->level[first], last_level = s->level[first + count - 1];
        FOR_THREADS(thread) {
            struct Contact *contact = MINE(own, thread);
            if (!is_loaded && thread < count) load(s, first + thread, rolls, contact);
            if (thread < count && !is_asleep(contact->wake)) {
                struct Motions motions;
                fetch_before(&bodies, contact, &motions);
                prepare(s, &motions, substep, contact);
            }
        }
        is_loaded = 0;
        for (; level <= last_level; level++) {
            FOR_THREADS(thread) {
                struct Contact *contact = MINE(own, thread);
                if (thread < count && contact->level == level && !is_asleep(contact->wake)) {
                    struct Motions motions;
                    fetch_motions(&bodies, contact->bodies, &motions);
                    if (relax(s, &bodies, substep, rolls, contact, &motions)) {
                        store_motions(&bodies, contact->bodies, &motions);
                    }
                    store_row(s, contact);
                }
            }
            BARRIER();
        }
    }
    FOR_THREADS(thread) return_bodies(s, &block, cache, thread, THREADS);
    BARRIER();
    FOR_THREADS(thread) spread_after(s, index, thread, THREADS);
}

/* Where no contact resists rolling; with as few registers as twice as many threads have. */
KERNEL(sweep, 2 * SWEEP_THREADS, u32 colour, u32 substep) {
    RUN_PART(sweep_colour, colour, substep, 0);
}

KERNEL(sweep_rolling, SWEEP_THREADS, u32 colour, u32 substep) {
    RUN_PART(sweep_colour, colour, substep, 1);
}

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

/* Called by who waits, every time that what it waits for is not there: whether all give up, since somebody
 * has waited for very long. That would be an error, which is noted behind the counts of impacts. */
DEVICE u32 gives_up(const struct Step *s, u32 *polls) {
    if (++*polls % 0x1000 != 0) return 0;
    u32 *is_stuck = s->impact_counts + s->substeps;
    if (*polls == MOST_POLLS) WATCHED_U32(is_stuck) = 1;
    return WATCHED_U32(is_stuck);
}

/* The same of bodies that take turns, in a sweep. */
DEVICE void look_in_turn(const struct Step *s, u32 place, u32 sweep, struct Look *look) {
    real moved[2][3], before[2][3];
    for (u32 side = 0; side < 2; side++) {
        u32 half = 2 * s->contact_bodies[2 * place + side];
        real packed[4];
        u32 polls = 0, is_there;
        do {
            load_four_alone(s->moved, half, packed);
            is_there = unpack(packed, sweep, moved[side]);
            load_four_alone(s->before, half, packed);
            is_there &= unpack(packed, sweep, before[side]);
            if (!is_there) {
                PAUSE(1);
                is_there = gives_up(s, &polls);
            }
        } while (!is_there);
    }
    for (int k = 0; k < 3; k++) {
        look->moved[k] = moved[1][k] - moved[0][k];
        look->approach[k] = before[0][k] - before[1][k];
    }
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

/* Energy that a contact took out of the motion in a substep. `list` has the bodies of its block;
 * it is null where the contact has them itself. */
DEVICE void find_loss(const struct Step *s, u32 place, const u32 *list) {
    real *loss = s->losses + 4 * (u64)s->plan_place[place];
    real impulse = s->impulse[place];
    for (int k = 0; k < 4; k++) loss[k] = R(0.0);
    if (impulse == R(0.0)) return;
    int is_impact = impulse < R(0.0);
    if (is_impact) impulse = R(0.0) - impulse;
    u32 i = s->contact_bodies[2 * place], j = s->contact_bodies[2 * place + 1];
    u64 a = 8 * (u64)(list ? list[i] : i), b = 8 * (u64)(list ? list[j] : j);
    real n[3], apart[3], turning[3], slip[3], u[3], friction[3], torque[3], omega[3];
    for (int k = 0; k < 3; k++) {
        real va = R(0.5) * (s->before[a + k] + s->state[a + k]);
        real vb = R(0.5) * (s->before[b + k] + s->state[b + k]);
        real wa = R(0.5) * (s->before[a + 4 + k] + s->state[a + 4 + k]);
        real wb = R(0.5) * (s->before[b + 4 + k] + s->state[b + 4 + k]);
        n[k] = s->normal[k][place];
        friction[k] = s->friction[k][place];
        torque[k] = s->rolls ? s->rolling[k][place] + n[k] * s->twisting[place] : R(0.0);
        apart[k] = vb - va;
        turning[k] = wa * s->arms[0][place] + wb * s->arms[1][place];
        omega[k] = wb - wa;
    }
    cross(turning, n, slip);
    for (int k = 0; k < 3; k++) u[k] = apart[k] - slip[k];
    loss[is_impact] = -impulse * dot(n, u);
    loss[2] = -dot(friction, u);
    loss[3] = -dot(torque, omega);
}

KERNEL(find_losses, SWEEP_THREADS) {
    const struct Step *s = STEP;
    if (s->is_flat) {
        FOR_THREADS(thread) {
            FOR_EACH(place, thread, s->contacts) {
                if (s->law[place] != EMPTY_PLACE) find_loss(s, place, 0);
            }
        }
        return;
    }
    if (THREAD_BLOCK >= s->blocks) return;
    struct Block block = s->block[THREAD_BLOCK];
    const u32 *list = block.body_count > 0 ? s->body_list + block.bodies : 0;
    FOR_THREADS(thread) {
        for (u32 place = block.contacts + thread; place < block.contacts_end; place += THREADS) {
            find_loss(s, place, list);
        }
    }
}

/* Adds them up, range by range in the order of the plan. */
KERNEL(sum_losses, BODY_THREADS) {
    const struct Step *s = STEP;
    FOR_THREADS(thread) {
        u32 first = THREAD_BLOCK * THREADS + thread, all = THREAD_BLOCKS * THREADS;
        for (u32 range = first; range < s->loss_sums; range += all) {
            real *sum = s->loss_sum + 4 * (u64)range;
            u32 end = s->loss_ranges[range + 1];
            for (u32 place = s->loss_ranges[range]; place < end; place++) {
                for (int k = 0; k < 4; k++) sum[k] += s->losses[4 * (u64)place + k];
            }
        }
    }
}

/* Ends a step: the last substep's velocities join the sums. */
KERNEL(finish_step, BODY_THREADS) {
    const struct Step *s = STEP;
    WAIT_FOR_KERNELS_BEFORE();
    FOR_THREADS(thread) {
        u32 first = THREAD_BLOCK * THREADS + thread, all = THREAD_BLOCKS * THREADS;
        for (u32 i = first; i < s->movable; i += all) {
            for (int k = 0; k < 3; k++) {
                s->moved[8 * (u64)i + k] += s->state[8 * (u64)i + k];
                s->moved[8 * (u64)i + 4 + k] += s->state[8 * (u64)i + 4 + k];
            }
        }
    }
}

#include "turns.h"
