//! Stages `find_pairs` and `collide`: from grains and walls to contacts with
//! geometry.
//!
//! Contacts are found once per step, so every pair that could meet within it
//! must be among them. A pair is a contact when its gap is below the larger of
//!
//! ```text
//! margin · d_min    and    h (max(0, −u_n + max(a_i, a_j)) + |f·n|),     (1)
//! ```
//!
//! plus the longest gap at which liquid bridges attract (see `cohesion.rs`), and
//! with a margin of at least 0.1 where so many grains around are impacted that
//! pushes through chains of grains may close such a gap,
//!
//! where `f h` is how far a grain falls from rest within the step, and the
//! velocity change `a_i` bounds how much of the grain's velocity towards the other
//! can come from impacts (see `impact_prediction.rs`). Without it a grain that is stopped in
//! mid-step meets the one that follows undetected: a lattice dropped on a floor
//! then overlaps by most of a diameter. That both are impacted towards each other
//! is left out: in a drum it doubles the contacts and finds one in five
//! hundred of those that come about. At rest `a` is zero.
//!
//! Contacts are then put into the order of a [`SweepPlan`], which depends on
//! where they are and on nothing else. The order in which grains are stored or
//! listed therefore does not change the result, nor does the number of threads.

use std::cell::RefCell;
use std::ops::Range;

use esker_contact::Form;
use esker_geometry::{
    Aabb, BodyShape, BroadPhase, PairEntry, Probe, SphereTouch, TooManyPairs, Touch,
};
use esker_parallel::{SharedSlice, Team, prefetch, reserve_slack};
use esker_solver::plan::{ContactDescriptor, ContactDescriptors, FIXED, SweepPlan};
use glam::DVec3;

use crate::grains::{GrainId, Grains};
use crate::history::History;
use crate::impact_prediction::ImpactPrediction;
use crate::material::{ContactClass, PairTable};
use crate::midpoint::Midpoints;
use crate::periodic::{Image, Periodic};
use crate::reach::{IMPACT_REACH_RADII, MeanVelocityField, Proxy, Reach};
use crate::shaped_contacts::{NarrowPhase, ShapedContacts};
use crate::wall::Wall;

/// Who a grain touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// The grain with this dense index.
    Grain(u32),
    /// The wall with this index.
    Wall(u32),
}

/// Stable name of a contact: it stays while the pair touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactKey {
    /// The grain with the smaller id, or the grain at a wall.
    pub owner: GrainId,
    /// The other one: a grain's id, or a wall and its feature.
    pub other: u64,
    /// Which of several points of contact of two grains; zero for spheres and at walls.
    pub feature: u32,
}

/// Marks the `other` of a [`ContactKey`] as a wall; grain generations stay below.
const WALL_MARK: u64 = 1 << 63;

impl ContactKey {
    /// Key of a contact with a wall.
    pub fn wall(owner: GrainId, wall: u32, feature: u32) -> Self {
        ContactKey {
            owner,
            other: WALL_MARK | (wall as u64) << 32 | feature as u64,
            feature: 0,
        }
    }

    /// Key of two grains, the smaller id first.
    pub fn grains(owner: GrainId, other: GrainId) -> Self {
        ContactKey {
            owner,
            other: other.as_u64(),
            feature: 0,
        }
    }

    /// The wall's feature, of a contact with a wall.
    pub fn wall_feature(&self) -> u32 {
        self.other as u32
    }

    /// Whether two contacts are of the same two bodies, whatever their features.
    pub fn is_of_same_pair(&self, other: &Self) -> bool {
        let bodies = |key: &Self| match key.wall_index() {
            Some(wall) => WALL_MARK | u64::from(wall),
            None => key.other,
        };
        self.owner == other.owner && bodies(self) == bodies(other)
    }

    /// The wall of the contact, if it is one with a wall.
    pub fn wall_index(&self) -> Option<u32> {
        (self.other & WALL_MARK != 0).then_some(((self.other & !WALL_MARK) >> 32) as u32)
    }
}

/// Geometry of one contact.
#[derive(Clone, Copy, Debug)]
pub struct ContactGeometry {
    /// Stable name.
    pub key: ContactKey,
    /// Dense index of the owner, body `a`.
    pub grain: u32,
    /// Body `b`.
    pub partner: Partner,
    /// Unit normal from `a` to `b`.
    pub normal: DVec3,
    /// Contact point, m.
    pub point: DVec3,
    /// Overlap δ at the start of the step, m; negative for a gap.
    pub overlap: f64,
    /// Arms `l_a`, `l_b`, m; where a body is no sphere, those of the spheres of
    /// equal volume.
    pub arms: [f64; 2],
    /// Effective radius r* of rolling, m.
    pub rolling_radius: f64,
    /// Effective radius r* of the elastic contact, m; of a flat one its length.
    pub elastic_radius: f64,
    /// What kind of surfaces meet.
    pub class: ContactClass,
    /// Whether it is a contact of spheres, or which entry of the general ones.
    pub form: Form,
    /// Largest speed at which the bodies can close a gap within the step, m/s.
    pub closing_speed: f64,
}

impl ContactGeometry {
    /// Diameter that overlaps are measured in, m: the pair's mean, or the grain's at a wall.
    #[inline]
    pub fn diameter(&self) -> f64 {
        // An arm is the radius less half of the overlap.
        let arms = match self.partner {
            Partner::Grain(_) => self.arms[0] + self.arms[1],
            Partner::Wall(_) => 2.0 * self.arms[0],
        };
        arms + self.overlap
    }
}

/// Motion that goes unseen while an open contact sleeps, in diameters of the
/// smallest grain.
const UNSEEN_MOTION: f64 = 0.01;
/// A longest sleep of fewer substeps would cost as much as none.
const MIN_LONGEST_SLEEP: f64 = 2.0;

/// Shares of a step: open contacts that can close within the first of them,
/// within the second and later have groups of their own.
const SOON: [f64; 2] = [0.15, 0.5];

/// Class of a contact in the sweep's plan.
fn plan_class(contact: &ContactGeometry, step: f64) -> u8 {
    if contact.overlap >= 0.0 {
        return 0;
    }
    let within = |share: f64| -contact.overlap < share * step * contact.closing_speed;
    let later = SOON.iter().filter(|share| !within(**share)).count() as u8;
    match contact.partner {
        Partner::Grain(_) => 1 + later,
        Partner::Wall(_) => 1,
    }
}

/// Grains that are held against a wall together: neighbours in memory, which
/// are neighbours in space where there are many grains.
const WALL_CHUNK: usize = 64;
/// Motion within a step, in radii, from which on a grain's present direction
/// says little about the walls that it will meet.
const THROWN_RADII: f64 = 4.0;
/// Contacts whose candidate is prefetched; its grains are prefetched
/// for half way.
const PREFETCHED: usize = 16;

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
    fn curvature(curvature: f64) -> Self {
        Detail(curvature.to_bits())
    }

    pub(crate) fn point(index: usize) -> Self {
        Detail(index as u64)
    }

    fn as_curvature(self) -> f64 {
        f64::from_bits(self.0)
    }

    fn as_point(self) -> usize {
        self.0 as usize
    }
}

/// Feature of a contact between grains that follows them through the substeps.
const FOLLOWS: u32 = 1;
/// Feature of a pair that touches across a periodic boundary.
pub(crate) const ACROSS: u32 = 2;
/// Feature of a near pair of which one at least is no sphere.
const SHAPED: u32 = 4;
/// Margin of pairs that pushes through chains of grains may close, in diameters
/// of the smaller grain.
const PUSHED_MARGIN: f64 = 0.1;
/// Motion by such pushes from which on it is due, as a part of it.
const PUSHED_PART: f64 = 0.5;

/// Motion across the normal within the step, in diameters of the smaller grain,
/// from which a contact follows its grains.
const FOLLOWED_MOTION: f64 = 0.01;

/// Finds contacts and their order; scratch that is kept between steps.
#[derive(Debug, Default)]
pub struct Collider {
    field: MeanVelocityField,
    reaches: Vec<f64>,
    broad_phase: BroadPhase<Proxy>,
    /// What every worker found: contacts of spheres, then, where there are other
    /// shapes, those of other bodies. Who finds a candidate does not matter: the
    /// plan puts them in order.
    parts: Vec<Vec<Candidate>>,
    /// Points of contact of the second half of the parts.
    pub(crate) shaped: ShapedContacts,
    impacts: ImpactPrediction,
    crowd: Crowd,
    /// Order of the contacts found last.
    pub plan: SweepPlan,
}

/// Grains and their images across periodic boundaries.
#[derive(Debug, Default)]
struct Crowd {
    images: Vec<Image>,
    /// Of the grains, then of the images.
    centres: Vec<DVec3>,
    reaches: Vec<f64>,
}

/// What contacts are found among.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The grains.
    pub grains: &'a Grains,
    /// The walls.
    pub walls: &'a [Wall],
    /// Shapes of grains that are no spheres.
    pub(crate) shapes: &'a [BodyShape],
    /// Grains in the middle of the step, where there are such.
    pub(crate) midpoints: &'a Midpoints,
    /// Time at the middle of the step, s.
    pub(crate) middle: f64,
    /// Contacts of the last step.
    pub history: &'a History,
    /// Periodic boundaries.
    pub(crate) periodic: Option<Periodic>,
    /// Mean diameter of the grains, m.
    pub mean_diameter: f64,
    /// Reach of the step.
    pub reach: Reach,
}

/// The order that contacts are put into.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// Edge of the plan's blocks, m.
    pub edge: f64,
    /// Pairs of materials, and the law of each.
    pub laws: (&'a PairTable, &'a [u16]),
    /// How much larger a law's index is for contacts that follow their bodies;
    /// twice that for contacts of the general form, three times where one of their
    /// bodies is locked along an axis.
    pub following: u16,
    /// Whether contacts simply go from the bottom up, one per group: the plain
    /// serial order that block orders are compared with.
    pub plain: bool,
}

impl Collider {
    /// Collects the pairs of grains that (1) may choose.
    pub fn find_pairs(&mut self, team: &mut Team, scene: Scene<'_>) -> Result<(), TooManyPairs> {
        let Scene {
            grains,
            walls,
            mean_diameter,
            reach,
            ..
        } = scene;
        let field = &mut self.field;
        field.set_periodic(scene.periodic);
        field.reach(
            team,
            (grains, walls),
            mean_diameter,
            reach,
            &mut self.reaches,
        );
        let lists = if grains.has_shapes() { 2 } else { 1 };
        self.parts.resize_with(lists * team.threads(), Vec::new);
        if let Some(periodic) = scene.periodic {
            return self.find_periodic_pairs(team, scene, periodic);
        }
        let field = &self.field;
        let spheres = (&grains.position[..], &self.reaches[..]);
        let proxy = |i: usize| Proxy::of(grains, field, i);
        let found = &mut self.parts[..team.threads()];
        if grains.has_shapes() {
            self.broad_phase
                .search(team, spheres, proxy, found, |pair| {
                    near_bodies(pair, reach, grains)
                })
        } else {
            self.broad_phase
                .search(team, spheres, proxy, found, |pair| near_grains(pair, reach))
        }
    }

    /// As [`Collider::find_pairs`], among grains and their images.
    fn find_periodic_pairs(
        &mut self,
        team: &mut Team,
        scene: Scene<'_>,
        periodic: Periodic,
    ) -> Result<(), TooManyPairs> {
        let Scene { grains, reach, .. } = scene;
        let Crowd {
            images,
            centres,
            reaches,
        } = &mut self.crowd;
        periodic.list_images(&grains.position, &self.reaches, images);
        centres.clear();
        centres.extend_from_slice(&grains.position);
        centres.extend(images.iter().map(|image| image.position));
        reaches.clear();
        reaches.extend_from_slice(&self.reaches);
        reaches.extend(
            images
                .iter()
                .map(|image| self.reaches[image.source as usize]),
        );
        let source = |i: u32| match (i as usize).checked_sub(grains.len()) {
            Some(k) => images[k].source,
            None => i,
        };
        let field = &self.field;
        let result = self.broad_phase.search(
            team,
            (centres, reaches),
            |i| Proxy::of(grains, field, source(i as u32) as usize),
            &mut self.parts[..team.threads()],
            |pair| {
                let sources = [source(pair[0].index), source(pair[1].index)];
                let is_image = [0, 1].map(|k| pair[k].index != sources[k]);
                let entries = [0, 1].map(|k| PairEntry {
                    index: sources[k],
                    ..pair[k]
                });
                let (mut candidate, is_near) = near_bodies(entries, reach, grains);
                candidate.feature |= u32::from(is_image != [false; 2]) * ACROSS;
                // From the one with the smaller id to the other, as everywhere.
                let [a, b] = if entries[0].user_data.id < entries[1].user_data.id {
                    [0, 1]
                } else {
                    [1, 0]
                };
                let branch = entries[b].centre - entries[a].centre;
                let is_pair = is_image != [true; 2] && sources[0] != sources[1];
                (candidate, is_near && is_pair && periodic.is_nearest(branch))
            },
        );
        result.map_err(|crowd| TooManyPairs {
            sphere: source(crowd.sphere),
            ..crowd
        })
    }

    /// Replaces `contacts` by all contacts, in the order of the new plan.
    pub fn collide(
        &mut self,
        team: &mut Team,
        scene: Scene<'_>,
        order: Order<'_>,
        contacts: &mut Vec<ContactGeometry>,
    ) {
        self.find_walls(team, scene);
        if scene.grains.has_shapes() {
            let threads = team.threads();
            let (spheres, bodies) = self.parts.split_at_mut(threads);
            let narrow = NarrowPhase {
                scene,
                field: &self.field,
            };
            self.shaped.find(team, narrow, (spheres, bodies));
        }
        self.choose(team, scene);
        let chosen = Chosen {
            parts: &self.parts,
            shaped: &self.shaped,
            spheres: team.threads(),
            scene,
            order,
        };
        if order.plain {
            self.plan.build_plain(&chosen);
        } else {
            let centres = &scene.grains.position;
            self.plan.build(team, &chosen, (centres, order.edge));
        }
        let plan = &self.plan;
        team.fill(contacts, plan.contacts(), |k| {
            if let Some(&ahead) = plan.order.get(k + PREFETCHED) {
                let (part, slot) = chosen.find(ahead as usize);
                prefetch(&chosen.parts[part], slot);
            }
            if let Some(&ahead) = plan.order.get(k + PREFETCHED / 2) {
                let (part, slot) = chosen.find(ahead as usize);
                chosen.parts[part][slot].prefetch_grains(scene.grains);
            }
            chosen.geometry(plan.order[k] as usize)
        });
    }

    /// Substeps of `substeps` that an open contact may sleep without a look at
    /// its bodies: grains that are pushed unexpectedly move by no more than
    /// one per cent of a diameter meanwhile.
    pub fn longest_sleep(&self, substeps: usize) -> f64 {
        let motion = self.field.unexpected_motion();
        (UNSEEN_MOTION * substeps as f64 / motion).max(MIN_LONGEST_SLEEP)
    }

    /// Collects what (1) may choose of walls.
    fn find_walls(&mut self, team: &mut Team, scene: Scene<'_>) {
        let Scene {
            grains,
            walls,
            reach,
            ..
        } = scene;
        let field = &self.field;
        // Impacts that throw a grain far throw it into walls that are far.
        let thrown = |i: usize| {
            let (impact_reach, radius) = (field.impact_reach[i], grains.radius[i]);
            if impact_reach < IMPACT_REACH_RADII * radius {
                return impact_reach;
            }
            let motion = field.impact_motion(i, reach);
            if motion > THROWN_RADII * radius {
                motion
            } else {
                impact_reach
            }
        };
        let parts = SharedSlice::new(&mut self.parts);
        team.run(|worker| {
            // SAFETY: every worker has a part of its own.
            let out = unsafe { parts.at(worker.index) };
            let range = worker.part_of(grains.len(), 1);
            TOUCHES.with_borrow_mut(|touches| {
                for start in range.clone().step_by(WALL_CHUNK) {
                    let chunk = start..range.end.min(start + WALL_CHUNK);
                    let cluster = ClusterBounds::of(grains, thrown, chunk.clone());
                    for (w, wall) in walls.iter().enumerate() {
                        if !wall.is_present || cluster.is_clear_of(wall, reach) {
                            continue;
                        }
                        for i in chunk.clone() {
                            if grains.shape_of(i).is_some() {
                                continue;
                            }
                            touches.clear();
                            let grain = (i, thrown(i));
                            near_wall(scene, grain, (w as u32, wall), touches, out);
                        }
                    }
                }
            });
            reserve_slack(out);
        });
    }

    /// Leaves those candidates that obey (1).
    fn choose(&mut self, team: &mut Team, scene: Scene<'_>) {
        let Scene { grains, reach, .. } = scene;
        let has_impacts = self.impacts.find(team, grains, &self.parts, reach);
        if has_impacts {
            let impacts = &self.impacts;
            self.field.spread_pushes(team, |i| impacts.change(i));
            for _ in 0..reach.impact_chain {
                self.impacts.propagate(team, grains, &self.parts, reach);
            }
        }
        let (impacts, field) = (&self.impacts, &self.field);
        team.for_each_part(&mut self.parts, 1, |_, parts| {
            for part in parts {
                // Branchless: which are chosen is hard to predict.
                let mut chosen = 0;
                for k in 0..part.len() {
                    let mut c = part[k];
                    if has_impacts {
                        c.approach += impacts.velocity_change(&c);
                    }
                    c.approach = reach.closing_speed(c.approach, c.normal);
                    let closing = reach.step * c.approach;
                    let diameter = c.min_diameter(grains);
                    let near = (reach.margin * diameter).max(closing);
                    let gap = -c.overlap - reach.cohesive_gap;
                    part[chosen] = c;
                    chosen += usize::from(gap < near);
                    let is_doubtful = gap >= near && gap < PUSHED_MARGIN * diameter;
                    if has_impacts && is_doubtful {
                        let motion = c.push_motion(field, reach);
                        let due = PUSHED_PART * PUSHED_MARGIN * diameter;
                        chosen += usize::from(motion > due);
                    }
                }
                part.truncate(chosen);
            }
        });
    }
}

/// The contacts as a plan sees them, part after part.
struct Chosen<'a> {
    parts: &'a [Vec<Candidate>],
    shaped: &'a ShapedContacts,
    /// How many parts have contacts of spheres.
    spheres: usize,
    scene: Scene<'a>,
    order: Order<'a>,
}

impl Chosen<'_> {
    /// The part of a contact and its place there.
    #[inline]
    fn find(&self, contact: usize) -> (usize, usize) {
        let mut slot = contact;
        for (k, part) in self.parts.iter().enumerate() {
            if slot < part.len() {
                return (k, slot);
            }
            slot -= part.len();
        }
        unreachable!("a contact is in one of the parts")
    }

    /// A contact's candidate; where a body is no sphere, also the list and place of its
    /// point of contact.
    #[inline]
    fn candidate(&self, contact: usize) -> (&Candidate, Option<(usize, usize)>) {
        let (part, slot) = self.find(contact);
        let candidate = &self.parts[part][slot];
        let list = part.checked_sub(self.spheres);
        (candidate, list.map(|l| (l, candidate.detail.as_point())))
    }

    /// A contact's geometry.
    #[inline]
    fn geometry(&self, contact: usize) -> ContactGeometry {
        match self.candidate(contact) {
            (candidate, None) => candidate.geometry(self.scene.grains),
            (candidate, Some(point)) => self.shaped.geometry(self.scene.grains, candidate, point),
        }
    }

    /// A contact as a plan sees it.
    #[inline(always)]
    fn describe(&self, candidate: &Candidate, contact: ContactGeometry) -> ContactDescriptor {
        let Scene {
            grains,
            walls,
            reach,
            ..
        } = self.scene;
        let (pairs, laws) = self.order.laws;
        let body = match contact.partner {
            Partner::Grain(j) => j,
            Partner::Wall(_) => FIXED,
        };
        let is_pair = matches!(contact.partner, Partner::Grain(_));
        let follows = is_pair && candidate.feature & FOLLOWS != 0;
        let is_across = is_pair && candidate.feature & ACROSS != 0;
        let law = if pairs.is_single() && contact.class == ContactClass::Curved {
            laws[0]
        } else {
            let other = match contact.partner {
                Partner::Grain(j) => grains.material[j as usize],
                Partner::Wall(w) => walls[w as usize].material,
            };
            laws[pairs.index(
                grains.material[contact.grain as usize],
                other,
                contact.class,
            )]
        };
        let is_locked = || {
            let mut bodies = [contact.grain, body].into_iter();
            bodies.any(|i| i != FIXED && grains.is_locked(i as usize))
        };
        ContactDescriptor {
            point: contact.point,
            // Blocks do not know that its grains, at opposite ends, are side by side:
            // no arm is long enough for them.
            arms: match contact.form {
                _ if is_across => [f64::INFINITY; 2],
                Form::Radial => contact.arms,
                Form::General(_) => self.scene.arms_at_middle(&contact),
            },
            bodies: [contact.grain, body],
            name: [
                contact.key.owner.as_u64(),
                contact.key.other,
                u64::from(contact.key.feature),
            ],
            law: law
                + self.order.following
                    * match contact.form {
                        Form::Radial => u16::from(follows),
                        Form::General(_) => 2 + u16::from(is_locked()),
                    },
            class: plan_class(&contact, reach.step),
        }
    }
}

impl ContactDescriptors for Chosen<'_> {
    fn count(&self) -> usize {
        self.parts.iter().map(Vec::len).sum()
    }

    #[inline]
    fn descriptor(&self, contact: usize) -> ContactDescriptor {
        // A branch of its own for spheres: most of their geometry is not needed here.
        match self.candidate(contact) {
            (candidate, None) => self.describe(candidate, candidate.geometry(self.scene.grains)),
            (candidate, Some(point)) => {
                let geometry = self.shaped.geometry(self.scene.grains, candidate, point);
                self.describe(candidate, geometry)
            }
        }
    }
}

impl Candidate {
    /// Asks for what [`Candidate::geometry`] reads.
    #[inline]
    fn prefetch_grains(&self, grains: &Grains) {
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
    fn push_motion(&self, field: &MeanVelocityField, reach: Reach) -> f64 {
        match self.partner {
            Partner::Grain(j) => field.push_motion(self.grain, reach) + field.push_motion(j, reach),
            Partner::Wall(_) => 0.0,
        }
    }

    // Always inlined: most callers need a part of it.
    #[inline(always)]
    fn geometry(&self, grains: &Grains) -> ContactGeometry {
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

thread_local! {
    /// Touches of one grain with one wall: scratch.
    static TOUCHES: RefCell<Vec<Touch>> = const { RefCell::new(Vec::new()) };
}

/// Grains side by side, as seen from a wall.
struct ClusterBounds {
    centre: DVec3,
    /// Farthest that a grain's centre is from the middle, m.
    extent: f64,
    max_radius: f64,
    max_speed: f64,
    max_impact_reach: f64,
}

impl ClusterBounds {
    fn of(grains: &Grains, impact_reach: impl Fn(usize) -> f64, range: Range<usize>) -> Self {
        let mut bounds = Aabb::EMPTY;
        let (mut max_radius, mut max_square) = (0.0, 0.0);
        let mut max_impact_reach = 0.0;
        for i in range {
            bounds = bounds.including(grains.position[i]);
            max_radius = f64::max(max_radius, grains.bounding_radius(i));
            max_square = f64::max(max_square, grains.state[i].velocity.length_squared());
            max_impact_reach = f64::max(max_impact_reach, impact_reach(i));
        }
        ClusterBounds {
            centre: 0.5 * (bounds.min + bounds.max),
            extent: 0.5 * bounds.min.distance(bounds.max),
            max_radius,
            max_speed: max_square.sqrt(),
            max_impact_reach,
        }
    }

    /// Whether none of the grains can be near the wall in the sense of [`near_wall`].
    fn is_clear_of(&self, wall: &Wall, reach: Reach) -> bool {
        let radius = self.max_radius;
        let turning = wall.twist.angular_velocity.length() * (self.extent + radius);
        let speed = self.max_speed + wall.twist.at(self.centre).length() + turning;
        let margin = 2.0 * reach.beyond_surface(radius, speed, self.max_impact_reach);
        let local = wall.pose.to_local(self.centre);
        wall.shape.is_clear_of(local, self.extent + radius + margin)
    }
}

/// Two grains as a candidate, the one with the smaller id first, and whether
/// they may become a contact.
#[inline(always)]
fn near_grains([a, b]: [PairEntry<'_, Proxy>; 2], reach: Reach) -> (Candidate, bool) {
    let [a, b] = if a.user_data.id < b.user_data.id {
        [a, b]
    } else {
        [b, a]
    };
    let radii = [a.user_data.radius, b.user_data.radius];
    let touch = SphereTouch::of(a.centre, radii[0], b.centre, radii[1]);
    let closing = a.user_data.velocity - b.user_data.velocity;
    let approach = touch.normal.dot(closing);
    let across = closing.length_squared() - approach * approach;
    let followed = FOLLOWED_MOTION * 2.0 * radii[0].min(radii[1]);
    let follows = across * reach.step * reach.step > followed * followed;
    let candidate = Candidate {
        grain: a.index,
        partner: Partner::Grain(b.index),
        feature: u32::from(follows) * FOLLOWS,
        normal: touch.normal,
        overlap: touch.overlap,
        approach,
        detail: Detail::curvature(0.0),
    };
    (
        candidate,
        reach.covers(&touch, approach, [a.user_data, b.user_data]),
    )
}

/// [`near_grains`] where some grains are no spheres: pairs of which one at least is none
/// are marked, and near where the balls that hold them are.
#[inline(always)]
fn near_bodies(
    pair: [PairEntry<'_, Proxy>; 2],
    reach: Reach,
    grains: &Grains,
) -> (Candidate, bool) {
    let (candidate, is_near) = near_grains(pair, reach);
    let indices = pair.map(|body| body.index as usize);
    if indices.iter().all(|&i| grains.shape_of(i).is_none()) {
        return (candidate, is_near);
    }
    let [a, b] = pair;
    let gap = a.centre.distance(b.centre)
        - indices
            .iter()
            .map(|&i| grains.bounding_radius(i))
            .sum::<f64>();
    let apart = reach_of_bodies(
        grains,
        indices,
        [a.user_data.impact_reach, b.user_data.impact_reach],
        reach,
    );
    let candidate = Candidate {
        feature: SHAPED,
        ..candidate
    };
    (candidate, gap < apart)
}

/// The gap of two bodies, m, below which they may become contacts.
pub(crate) fn reach_of_bodies(
    grains: &Grains,
    indices: [usize; 2],
    impact_reach: [f64; 2],
    reach: Reach,
) -> f64 {
    let [a, b] = indices;
    let turning = |i: usize| grains.rotation_speed(i);
    let speed = grains.state[a].velocity.distance(grains.state[b].velocity);
    let closing = reach.step * (speed + turning(a) + turning(b) + reach.fall.length());
    let near = reach.margin * 2.0 * grains.radius[a].min(grains.radius[b]);
    near.max(closing + impact_reach[0] + impact_reach[1]) + reach.cohesive_gap
}

/// Takes the marked candidates out of a list and hands them on.
pub(crate) fn drain_shaped(list: &mut Vec<Candidate>, mut take: impl FnMut(Candidate)) {
    list.retain(|candidate| {
        let is_marked =
            matches!(candidate.partner, Partner::Grain(_)) && candidate.feature & SHAPED != 0;
        if is_marked {
            take(*candidate);
        }
        !is_marked
    });
}

impl Scene<'_> {
    /// Distances from a contact point to the centres of its bodies in the middle
    /// of the step, m.
    fn arms_at_middle(&self, contact: &ContactGeometry) -> [f64; 2] {
        let centre = |i: u32| self.midpoints.0[i as usize].pose.position;
        let distance = |i: u32| contact.point.distance(centre(i));
        match contact.partner {
            Partner::Grain(j) => [distance(contact.grain), distance(j)],
            Partner::Wall(_) => [distance(contact.grain), 0.0],
        }
    }
}

/// Adds the touches of a grain with a wall; `touches` is scratch.
fn near_wall(
    scene: Scene<'_>,
    (i, impact_reach): (usize, f64),
    (index, wall): (u32, &Wall),
    touches: &mut Vec<Touch>,
    out: &mut Vec<Candidate>,
) {
    let Scene {
        grains,
        history,
        reach,
        ..
    } = scene;
    let (position, radius) = (grains.position[i], grains.radius[i]);
    let velocity = grains.state[i].velocity;
    let speed =
        velocity.distance(wall.twist.at(position)) + wall.twist.angular_velocity.length() * radius;
    // Twice, because at a wall the grain's distance stands alone.
    let margin = 2.0 * reach.beyond_surface(radius, speed, impact_reach);
    let local = wall.pose.to_local(position);
    if let Some(bounds) = wall.local_bounds()
        && bounds.distance_squared(local) > (radius + margin).powi(2)
    {
        return;
    }
    let probe = Probe {
        centre: local,
        radius,
        margin,
        motion: impact_reach + reach.step * velocity.distance(wall.twist.at(wall.pose.position)),
        last_side: &|| wall.last_side(history.features_at(grains.id[i], index), None),
    };
    wall.shape.touches_of(&probe, touches);
    // Such a grain may be turned by one wall to another within the step.
    let fastest = speed.max(impact_reach / reach.step);
    let is_fast = reach.step * fastest > THROWN_RADII * radius;
    for touch in touches.iter() {
        let normal = wall.pose.orientation * touch.normal;
        let point = position + normal * (radius - 0.5 * touch.overlap);
        let approach = if is_fast {
            fastest
        } else {
            normal.dot(velocity - wall.twist.at(point))
        };
        out.push(Candidate {
            grain: i as u32,
            partner: Partner::Wall(index),
            feature: touch.feature,
            normal,
            overlap: touch.overlap,
            approach,
            detail: Detail::curvature(touch.curvature),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_walls_from_grains() {
        let a = GrainId {
            slot: 3,
            generation: 1,
        };
        let b = GrainId {
            slot: 9,
            generation: 0,
        };
        assert_eq!(ContactKey::wall(a, 7, 12).wall_index(), Some(7));
        assert_eq!(ContactKey::grains(b, a).wall_index(), None);
    }
}
