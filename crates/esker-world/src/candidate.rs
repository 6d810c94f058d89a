//! Pairs that may become contacts within the step.

use esker_contact::Form;
use esker_parallel::prefetch;
use glam::DVec3;

use crate::contact::{ContactGeometry, ContactKey, Partner};
use crate::grains::Grains;
use crate::material::ContactClass;
use crate::reach::{MeanVelocityField, Reach};

/// A pair that may become a contact: one cache line, as the last pass jumps.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Candidate {
    pub(crate) grain: u32,
    pub(crate) partner: Partner,
    /// Wall feature; between grains [`FOLLOWS`], [`ACROSS`] and [`SHAPED`].
    pub(crate) feature: u32,
    pub(crate) normal: DVec3,
    pub(crate) overlap: f64,
    /// `−u_n`, m/s; of a contact that was chosen the largest closing speed.
    pub(crate) approach: f64,
    pub(crate) detail: Detail,
}

/// What only some candidates have: the curvature of the wall at the touch of a
/// sphere, 1/m (zero between spheres), or the index of a point of contact of
/// bodies that are no spheres. A candidate's list says which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail(u64);

impl Detail {
    pub(crate) fn curvature(curvature: f64) -> Self {
        Detail(curvature.to_bits())
    }

    pub(crate) fn point(index: usize) -> Self {
        Detail(index as u64)
    }

    pub(crate) fn as_curvature(self) -> f64 {
        f64::from_bits(self.0)
    }

    pub(crate) fn as_point(self) -> usize {
        self.0 as usize
    }
}

/// Feature of a contact between grains that follows them through the substeps.
pub(crate) const FOLLOWS: u32 = 1;
/// Feature of a pair that touches across a periodic boundary.
pub(crate) const ACROSS: u32 = 2;
/// Feature of a near pair of which one at least is no sphere.
pub(crate) const SHAPED: u32 = 4;

impl Candidate {
    /// A grain that is no sphere and a wall that its points of contact are to be found with.
    pub(crate) fn at_wall(grain: u32, wall: u32) -> Self {
        Candidate {
            grain,
            partner: Partner::Wall(wall),
            feature: 0,
            normal: DVec3::ZERO,
            overlap: 0.0,
            approach: 0.0,
            detail: Detail::point(0),
        }
    }

    /// Asks for what [`Candidate::geometry`] reads.
    #[inline]
    pub(crate) fn prefetch_grains(&self, grains: &Grains) {
        let ask = |i: u32| {
            prefetch(&grains.radius, i as usize);
            prefetch(&grains.id, i as usize);
        };
        ask(self.grain);
        prefetch(&grains.position, self.grain as usize);
        if let Partner::Grain(j) = self.partner {
            ask(j);
        }
    }

    /// Diameter of the smaller grain, m.
    #[inline]
    pub(crate) fn min_diameter(&self, grains: &Grains) -> f64 {
        let radius = grains.radius[self.grain as usize];
        2.0 * match self.partner {
            Partner::Grain(j) => radius.min(grains.radius[j as usize]),
            Partner::Wall(_) => radius,
        }
    }

    /// How far pushes through chains of grains may close the pair, m.
    #[inline]
    pub(crate) fn push_motion(&self, field: &MeanVelocityField, reach: Reach) -> f64 {
        match self.partner {
            Partner::Grain(j) => field.push_motion(self.grain, reach) + field.push_motion(j, reach),
            Partner::Wall(_) => 0.0,
        }
    }

    // Always inlined: most callers need a part of it.
    #[inline(always)]
    pub(crate) fn geometry(&self, grains: &Grains) -> ContactGeometry {
        let a = self.grain as usize;
        let (radius, owner) = (grains.radius[a], grains.id[a]);
        let arm = radius - 0.5 * self.overlap;
        let point = grains.position[a] + self.normal * arm;
        let shared = ContactGeometry {
            key: ContactKey {
                owner,
                other: 0,
                feature: 0,
            },
            grain: self.grain,
            partner: self.partner,
            normal: self.normal,
            point,
            overlap: self.overlap,
            arms: [arm, 0.0],
            rolling_radius: radius,
            elastic_radius: radius,
            class: ContactClass::Curved,
            form: Form::Radial,
            closing_speed: self.approach,
        };
        match self.partner {
            Partner::Grain(j) => {
                let other = grains.radius[j as usize];
                let effective_radius = radius * other / (radius + other);
                ContactGeometry {
                    key: ContactKey::grains(owner, grains.id[j as usize]),
                    arms: [arm, other - 0.5 * self.overlap],
                    rolling_radius: effective_radius,
                    elastic_radius: effective_radius,
                    ..shared
                }
            }
            Partner::Wall(w) => ContactGeometry {
                key: ContactKey::wall(owner, w, self.feature),
                rolling_radius: 1.0 / (1.0 / radius + self.detail.as_curvature()),
                ..shared
            },
        }
    }
}

/// Takes the candidates of which one at least is no sphere out of a list and hands them on.
pub(crate) fn drain_shaped(
    list: &mut Vec<Candidate>,
    grains: &Grains,
    mut take: impl FnMut(Candidate),
) {
    list.retain(|candidate| {
        let is_shaped = match candidate.partner {
            Partner::Grain(_) => candidate.feature & SHAPED != 0,
            Partner::Wall(_) => grains.shape_of(candidate.grain as usize).is_some(),
        };
        if is_shaped {
            take(*candidate);
        }
        !is_shaped
    });
}
