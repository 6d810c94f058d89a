//! Passes over the bodies at the ends of substeps: what needs no contacts.
//!
//! `unsafe`: a pass is compiled for every instruction set; it is entered with those that
//! the processor has. All of them compute the same bits (see [`crate::lanes`]).

use esker_contact::BodyState;
use glam::DVec3;

#[cfg(target_arch = "x86_64")]
use crate::lanes::Avx2;
use crate::lanes::{Instructions, Lanes, Portable, Quad};

/// Some bodies and what a step of substeps keeps of each; all slices have one entry per
/// body.
pub(crate) struct BodyColumns<'a> {
    pub(crate) bodies: &'a mut [BodyState],
    /// Velocities `v°` at the start of the substep.
    pub(crate) before_velocity: &'a mut [Quad],
    /// Angular velocities at the same time.
    pub(crate) before_angular_velocity: &'a mut [Quad],
    /// Sums of velocities over the substeps done.
    pub(crate) moved_velocity: &'a mut [Quad],
    /// Sums of angular velocities.
    pub(crate) moved_angular_velocity: &'a mut [Quad],
}

/// First half of a step's first substep: remember `v°`, let bodies fall.
pub(crate) fn begin(
    bodies: &mut [BodyState],
    before_velocity: &mut [Quad],
    before_angular_velocity: &mut [Quad],
    fall: DVec3,
) {
    for ((body, velocity), angular_velocity) in bodies
        .iter_mut()
        .zip(before_velocity)
        .zip(before_angular_velocity)
    {
        let (v, w) = (body.velocity, body.angular_velocity);
        // The fourth numbers make the warm start leave the inverse inertia alone.
        *velocity = Quad([v.x, v.y, v.z, body.inverse_mass]);
        *angular_velocity = Quad([w.x, w.y, w.z, body.inverse_inertia]);
        if body.inverse_mass > 0.0 {
            body.velocity += fall;
        }
    }
}

/// Equation (1) of [`crate::substep`], body by body: the velocity changes by
/// as much as in the substep before.
///
/// # Safety
/// The processor has the instructions.
pub(crate) unsafe fn warm_start(instructions: Instructions, columns: BodyColumns<'_>) {
    // SAFETY: passed on to the caller.
    unsafe {
        match instructions {
            #[cfg(target_arch = "x86_64")]
            // A vector and its fourth number are all that lies side by side in a column.
            Instructions::Avx2 | Instructions::Avx512 => warm_start_avx2(columns),
            _ => warm_start_lanes::<Portable>(columns),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn warm_start_avx2(columns: BodyColumns<'_>) {
    // SAFETY: passed on to the caller.
    unsafe { warm_start_lanes::<Avx2>(columns) }
}

#[inline(always)]
unsafe fn warm_start_lanes<V: Lanes>(columns: BodyColumns<'_>) {
    const { assert!(V::WIDTH == 4) };
    let BodyColumns {
        bodies,
        before_velocity,
        before_angular_velocity,
        moved_velocity,
        moved_angular_velocity,
    } = columns;
    let before = before_velocity.iter_mut().zip(before_angular_velocity);
    let moved = moved_velocity.iter_mut().zip(moved_angular_velocity);
    for ((body, before), moved) in bodies.iter_mut().zip(before).zip(moved) {
        // SAFETY: a body is eight numbers in a row, velocity and inverse mass
        // first (`repr(C)`); the instructions are passed on to the caller.
        unsafe {
            let halves = &mut *std::ptr::from_mut(body).cast::<[[f64; 4]; 2]>();
            warm_start_half::<V>(&mut halves[0], before.0, moved.0);
            warm_start_half::<V>(&mut halves[1], before.1, moved.1);
        }
    }
}

/// Registers by hand: what is made of plain loops takes bodies apart and puts them together
/// again.
#[inline(always)]
unsafe fn warm_start_half<V: Lanes>(now: &mut [f64; 4], before: &mut Quad, sum: &mut Quad) {
    // SAFETY: all have four numbers; the rest is passed on to the caller.
    unsafe {
        let v = V::load(now.as_ptr());
        let change = v - V::load(before.0.as_ptr());
        (V::load(sum.0.as_ptr()) + v).store(sum.0.as_mut_ptr());
        v.store(before.0.as_mut_ptr());
        (v + change).store(now.as_mut_ptr());
    }
}

/// Adds a vector to a sum.
pub(crate) fn add_to(sum: &mut Quad, value: DVec3) {
    for k in 0..3 {
        sum.0[k] += value[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bodies change by as much as in the substep before, and what they moved is summed
    /// up, with the same bits on every instruction set.
    #[test]
    fn a_warm_start_repeats_the_last_change_on_every_instruction_set() {
        let state = |k: usize| BodyState {
            velocity: DVec3::new(0.1, -0.7, 1.3) * (k as f64 + 0.3).sqrt(),
            inverse_mass: 3.0,
            angular_velocity: DVec3::new(-2.1, 0.3, 7.9) / (k as f64 + 1.7),
            inverse_inertia: 0.7,
        };
        let quad = |v: DVec3, fourth: f64| Quad([v.x, v.y, v.z, fourth]);
        for instructions in Instructions::available() {
            let mut bodies: Vec<_> = (0..37).map(state).collect();
            let earlier = |k: usize| DVec3::new(0.3, 0.1, -0.9) * (k as f64).cos();
            let mut velocity: Vec<_> = (0..37).map(|k| quad(earlier(k), 3.0)).collect();
            let mut angular_velocity: Vec<_> = (0..37).map(|k| quad(earlier(k + 9), 0.7)).collect();
            let mut sums = [[Quad([0.25; 4]); 37]; 2];
            let [moved_velocity, moved_angular_velocity] = &mut sums;
            let columns = BodyColumns {
                bodies: &mut bodies,
                before_velocity: &mut velocity,
                before_angular_velocity: &mut angular_velocity,
                moved_velocity,
                moved_angular_velocity,
            };
            // SAFETY: these are available.
            unsafe { warm_start(instructions, columns) };
            for (k, body) in bodies.iter().enumerate() {
                let last = state(k);
                let change = [
                    last.velocity - earlier(k),
                    last.angular_velocity - earlier(k + 9),
                ];
                let expected = BodyState {
                    velocity: last.velocity + change[0],
                    angular_velocity: last.angular_velocity + change[1],
                    ..last
                };
                assert_eq!(*body, expected, "{instructions:?}");
                assert_eq!(velocity[k], quad(last.velocity, 3.0));
                assert_eq!(angular_velocity[k], quad(last.angular_velocity, 0.7));
                let moved = sums.map(|sum| DVec3::from_slice(&sum[k].0));
                assert_eq!(
                    moved,
                    [last.velocity, last.angular_velocity].map(|v| v + 0.25)
                );
            }
        }
    }
}
