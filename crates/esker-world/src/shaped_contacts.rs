//! Narrow phase of bodies that are no spheres.
//!
//! Contacts have the geometry of the middle of the step (see `midpoint.rs`) and a
//! rate: with `u_n` the relative velocity there along the normal and `a_n` its rate, the
//! overlap at the start of a step of length `h` is
//!
//! ```text
//! δ = δ_m + ½ h u_n − ⅛ h² a_n.                                          (1)
//! ```

use std::cell::RefCell;

use esker_contact::Form;
use esker_geometry::{
    BodyQuery, BodyShape, Conformity, ContactPoint, PlacedShape, Pose, RigidMotion, WallQuery,
    body_contacts, contact_rates,
};
use esker_parallel::{SharedSlice, Team};
use glam::{DMat3, DVec3};

use crate::candidate::{ACROSS, Candidate, Detail, drain_shaped};
use crate::collide::Scene;
use crate::contact::{ContactGeometry, ContactKey, Partner};
use crate::grains::Grains;
use crate::material::ContactClass;
use crate::near::reach_of_bodies;
use crate::reach::MeanVelocityField;

/// What a candidate of bodies that are no spheres has besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShapedPoint {
    /// Contact point in the middle of the step, m.
    point: DVec3,
    /// Gap there, m.
    pub(crate) gap: f64,
    feature: u32,
    class: ContactClass,
    elastic_radius: f64,
    /// Radius of relative curvature, m; infinite where bodies touch with faces, edges or
    /// corners.
    curvature_radius: f64,
    /// Rate of the relative velocity, m/s².
    pub(crate) rate: DVec3,
}

/// The points of contact of a step; keeps its memory.
#[derive(Debug, Default)]
pub(crate) struct ShapedContacts {
    /// Per worker, for the lists of candidates.
    points: Vec<Vec<ShapedPoint>>,
    /// Index of each worker's first point among all.
    firsts: Vec<usize>,
}

/// What points of contact are found among.
#[derive(Clone, Copy)]
pub(crate) struct NarrowPhase<'a> {
    pub(crate) scene: Scene<'a>,
    pub(crate) field: &'a MeanVelocityField,
}

/// A body of a pair.
#[derive(Clone, Copy)]
struct Moving<'a> {
    placed: PlacedShape<'a>,
    motion: RigidMotion,
}

impl Moving<'_> {
    fn velocity_at(&self, point: DVec3) -> DVec3 {
        let arm = point - self.placed.position;
        self.motion.velocity + self.motion.angular_velocity.cross(arm)
    }
}

thread_local! {
    /// Points of one pair: scratch.
    static FOUND: RefCell<Vec<ContactPoint>> = const { RefCell::new(Vec::new()) };
}

/// A sphere's shape: its radius is the scale.
const BALL: BodyShape = BodyShape::Sphere { radius: 1.0 };

impl ShapedContacts {
    /// Replaces the lists of bodies by their points of contact with one another and with walls:
    /// what is near leaves the lists of spheres.
    pub(crate) fn find(
        &mut self,
        team: &mut Team,
        narrow: NarrowPhase<'_>,
        (spheres, bodies): (&mut [Vec<Candidate>], &mut [Vec<Candidate>]),
    ) {
        self.points.resize_with(team.threads(), Vec::new);
        let points = SharedSlice::new(&mut self.points);
        let (spheres, bodies) = (SharedSlice::new(spheres), SharedSlice::new(bodies));
        let grains = narrow.scene.grains;
        team.run(|worker| {
            // SAFETY: every worker has lists of its own.
            let (near, out, points) = unsafe {
                (
                    spheres.at(worker.index),
                    bodies.at(worker.index),
                    points.at(worker.index),
                )
            };
            out.clear();
            points.clear();
            FOUND.with_borrow_mut(|found| {
                let mut list = List { out, points };
                drain_shaped(near, grains, |near| match near.partner {
                    Partner::Grain(j) => narrow.add_pair((&near, j), found, &mut list),
                    Partner::Wall(w) => narrow.add_wall((&near, w), found, &mut list),
                });
            });
        });
        self.firsts.clear();
        let mut first = 0;
        for points in &self.points {
            self.firsts.push(first);
            first += points.len();
        }
    }

    /// How many points there are, chosen or not.
    pub(crate) fn count(&self) -> usize {
        self.points.iter().map(Vec::len).sum()
    }

    /// The point with this index among all.
    pub(crate) fn point(&self, index: usize) -> &ShapedPoint {
        let list = self.firsts.partition_point(|&first| first <= index) - 1;
        // Workers without points share their first index with the next.
        &self.points[list][index - self.firsts[list]]
    }

    /// Geometry of a candidate with its point, by list and place.
    pub(crate) fn geometry(
        &self,
        grains: &Grains,
        candidate: &Candidate,
        (list, place): (usize, usize),
    ) -> ContactGeometry {
        let point = &self.points[list][place];
        let a = candidate.grain as usize;
        let arm = |i: usize| grains.radius[i] - 0.5 * candidate.overlap;
        // Of the spheres of equal volume.
        let effective_radius = match candidate.partner {
            Partner::Grain(j) => {
                let [a, b] = [grains.radius[a], grains.radius[j as usize]];
                a * b / (a + b)
            }
            Partner::Wall(_) => grains.radius[a],
        };
        let (key, arms) = match candidate.partner {
            Partner::Grain(j) => {
                let key = ContactKey::grains(grains.id[a], grains.id[j as usize]);
                let feature = point.feature;
                (ContactKey { feature, ..key }, [arm(a), arm(j as usize)])
            }
            Partner::Wall(w) => (
                ContactKey::wall(grains.id[a], w, point.feature),
                [arm(a), 0.0],
            ),
        };
        ContactGeometry {
            key,
            grain: candidate.grain,
            partner: candidate.partner,
            normal: candidate.normal,
            point: point.point,
            overlap: candidate.overlap,
            arms,
            rolling_radius: point.curvature_radius.min(effective_radius),
            elastic_radius: point.elastic_radius,
            class: point.class,
            form: Form::General((self.firsts[list] + place) as u32),
            closing_speed: candidate.approach,
        }
    }
}

/// A point of contact.
struct Found<'a> {
    contact: &'a ContactPoint,
    /// Rate of the relative velocity, m/s².
    rate: DVec3,
    /// How many points its bodies have.
    of: usize,
}

/// Where a worker puts what it finds.
struct List<'a> {
    out: &'a mut Vec<Candidate>,
    points: &'a mut Vec<ShapedPoint>,
}

impl<'a> NarrowPhase<'a> {
    fn moving(&self, i: usize) -> Moving<'a> {
        let Scene {
            grains,
            shapes,
            midpoints,
            ..
        } = self.scene;
        let placed = match grains.shape_of(i) {
            Some(s) => midpoints.placed(i, &shapes[s.shape as usize], s.scale),
            None => midpoints.placed(i, &BALL, grains.radius[i]),
        };
        Moving {
            placed,
            motion: RigidMotion {
                velocity: grains.state[i].velocity,
                angular_velocity: midpoints.0[i].angular_velocity,
            },
        }
    }

    /// Where the search for the contact of two smooth bodies starts: where it was in the last
    /// step, if it carried load. Checkpoints hold that, so a restart finds the same.
    fn last_normal(&self, [i, j]: [usize; 2], bodies: [&Moving<'_>; 2]) -> Option<DVec3> {
        let is_smooth = |body: &Moving<'_>| {
            use BodyShape::{Capsule, Ellipsoid, Sphere};
            matches!(
                body.placed.shape,
                Sphere { .. } | Ellipsoid { .. } | Capsule { .. }
            )
        };
        if !bodies.into_iter().all(is_smooth) {
            return None;
        }
        let Scene {
            grains, history, ..
        } = self.scene;
        history.normal_of_pair(grains, [i, j])
    }

    /// Points of contact of a pair of grains.
    fn add_pair(
        &self,
        (pair, other): (&Candidate, u32),
        found: &mut Vec<ContactPoint>,
        list: &mut List<'_>,
    ) {
        let Scene { grains, reach, .. } = self.scene;
        let indices = [pair.grain, other].map(|i| i as usize);
        let a = self.moving(indices[0]);
        let mut b = self.moving(indices[1]);
        if let Some(periodic) = self.scene.periodic {
            let branch = b.placed.position - a.placed.position;
            b.placed.position = a.placed.position + periodic.branch(branch);
        }
        let impact_reach = indices.map(|i| self.field.impact_reach[i]);
        let query = BodyQuery {
            margin: reach_of_bodies(grains, indices, impact_reach, reach),
            last_normal: self.last_normal(indices, [&a, &b]),
        };
        found.clear();
        body_contacts(&a.placed, &b.placed, &query, found);
        for contact in &*found {
            let candidate = Candidate {
                feature: pair.feature & ACROSS,
                ..*pair
            };
            let rates = contact_rates((&a.placed, &a.motion), (&b.placed, &b.motion), contact);
            let rate = contact.normal * rates.normal + rates.tangential;
            let found = Found {
                contact,
                rate,
                of: found.len(),
            };
            list.add(candidate, found, (a, b), reach.step);
        }
    }

    /// Points of contact of a grain with a wall.
    fn add_wall(
        &self,
        (near, index): (&Candidate, u32),
        found: &mut Vec<ContactPoint>,
        list: &mut List<'_>,
    ) {
        let Scene { grains, reach, .. } = self.scene;
        let (i, wall) = (near.grain as usize, &self.scene.walls[index as usize]);
        let body = self.moving(i);
        let pose = wall.pose_at(self.scene.middle);
        let (position, outer) = (body.placed.position, grains.bounding_radius(i));
        let speed = body.motion.velocity.distance(wall.twist.at(position))
            + wall.twist.angular_velocity.length() * outer
            + grains.rotation_speed(i);
        let impact_reach = self.field.impact_reach[i];
        let margin = 2.0 * reach.beyond_surface(grains.radius[i], speed, impact_reach);
        let local = pose.to_local(position);
        if wall.shape.is_clear_of(local, outer + margin) {
            return;
        }
        let to_local = DMat3::from_quat(pose.orientation).transpose();
        let placed = PlacedShape {
            position: local,
            rotation: to_local * body.placed.rotation,
            ..body.placed
        };
        let query = WallQuery {
            margin,
            motion: impact_reach + reach.step * speed,
            last_side: &|| {
                let features = self.scene.history.features_at(grains, i, index);
                wall.last_side(features, Some(body.placed.shape))
            },
        };
        found.clear();
        wall.shape.body_contacts(&placed, &query, found);
        let local = |motion: RigidMotion| RigidMotion {
            velocity: pose.inverse_rotate(motion.velocity),
            angular_velocity: pose.inverse_rotate(motion.angular_velocity),
        };
        let of_wall = local(RigidMotion {
            velocity: wall.twist.at(pose.position),
            angular_velocity: wall.twist.angular_velocity,
        });
        let of_body = local(body.motion);
        let of = found.len();
        for local_contact in &*found {
            let rates = (wall.shape).contact_rates((&placed, &of_body), &of_wall, local_contact);
            let rate = local_contact.normal * rates.normal + rates.tangential;
            let contact = &ContactPoint {
                normal: pose.rotate(local_contact.normal),
                point: pose.to_world(local_contact.point),
                ..*local_contact
            };
            let surface = Moving {
                placed: PlacedShape::new(&BALL, 0.0, Pose::from_position(contact.point)),
                motion: RigidMotion {
                    velocity: wall.surface_velocity_at(contact.point, contact.normal),
                    angular_velocity: wall.twist.angular_velocity,
                },
            };
            let found = Found {
                contact,
                rate: pose.rotate(rate),
                of,
            };
            list.add(*near, found, (body, surface), reach.step);
        }
    }
}

impl List<'_> {
    fn add(
        &mut self,
        candidate: Candidate,
        Found { contact, rate, of }: Found<'_>,
        (a, b): (Moving<'_>, Moving<'_>),
        step: f64,
    ) {
        let n = contact.normal;
        let u_n = n.dot(b.velocity_at(contact.point) - a.velocity_at(contact.point));
        let (class, elastic_radius, curvature_radius) = match contact.conformity {
            // k = 4/3 E* √R Φ is that of a sphere of radius R Φ².
            Conformity::Curved {
                radius,
                ellipse_factor,
            } => (
                if of > 1 {
                    ContactClass::Several
                } else {
                    ContactClass::Curved
                },
                radius * ellipse_factor * ellipse_factor,
                radius,
            ),
            Conformity::Flat { length } => (ContactClass::Flat, length, f64::INFINITY),
        };
        self.out.push(Candidate {
            normal: n,
            // Equation (1).
            overlap: -contact.gap + 0.5 * step * u_n - 0.125 * step * step * n.dot(rate),
            approach: -u_n,
            detail: Detail::point(self.points.len()),
            ..candidate
        });
        self.points.push(ShapedPoint {
            point: contact.point,
            gap: contact.gap,
            feature: contact.feature,
            class,
            elastic_radius,
            curvature_radius,
            rate,
        });
    }
}
