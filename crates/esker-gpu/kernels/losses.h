/* Energy that contacts take out of the motion. */
#ifndef ESKER_LOSSES_H
#define ESKER_LOSSES_H

#include "contact.h"

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

#endif
