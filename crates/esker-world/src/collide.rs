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
//! What is near enough is decided in `near.rs`, what is chosen of it here; contacts
//! are then put into the order of a [`SweepPlan`] (`order.rs`).

use std::cell::RefCell;

use esker_geometry::{Aabb, BodyShape, BroadPhase, Crowd, PairEntry, TooManyPairs, Touch};
use esker_parallel::{SharedSlice, Team, prefetch, reserve_slack};
use esker_solver::plan::SweepPlan;
use glam::DVec3;

use crate::candidate::{ACROSS, Candidate};
use crate::contact::ContactGeometry;
use crate::diameters::Diameters;
use crate::grains::Grains;
use crate::history::History;
use crate::impact_prediction::ImpactPrediction;
use crate::midpoint::Midpoints;
use crate::near::{ClusterBounds, THROWN_RADII, near_bodies, near_grains, near_wall};
use crate::order::{Chosen, Order};
use crate::periodic::{Image, Periodic};
use crate::reach::{IMPACT_REACH_RADII, MeanVelocityField, Proxy, Reach};
use crate::shaped_contacts::{NarrowPhase, ShapedContacts};
use crate::wall::Wall;

/// Motion that goes unseen while an open contact sleeps, in diameters of the
/// smallest grain.
const UNSEEN_MOTION: f64 = 0.01;
/// A longest sleep of fewer substeps would cost as much as none.
const MIN_LONGEST_SLEEP: f64 = 2.0;

/// Contacts whose candidate is prefetched; its grains are prefetched
/// for half way.
const PREFETCHED: usize = 16;

/// Margin of pairs that pushes through chains of grains may close, in diameters
/// of the smaller grain.
const PUSHED_MARGIN: f64 = 0.1;
/// Motion by such pushes from which on it is due, as a part of it.
const PUSHED_PART: f64 = 0.5;

/// Grains that are held against a wall together: neighbours in memory, which
/// are neighbours in space where there are many grains.
const WALL_CHUNK: usize = 64;
thread_local! {
    /// Touches of one grain with one wall: scratch.
    static TOUCHES: RefCell<Vec<Touch>> = const { RefCell::new(Vec::new()) };
}

/// Finds contacts and their order; scratch that is kept between steps.
#[derive(Debug, Default)]
pub struct Collider {
    field: MeanVelocityField,
    reaches: Vec<f64>,
    /// What is searched for bodies of their own, m.
    boxes: Vec<Aabb>,
    broad_phase: BroadPhase<Proxy>,
    /// What every worker found: contacts of spheres, then, where there are other
    /// shapes, those of other bodies. Who finds a candidate does not matter: the
    /// plan puts them in order.
    parts: Vec<Vec<Candidate>>,
    /// Points of contact of the second half of the parts.
    pub(crate) shaped: ShapedContacts,
    impacts: ImpactPrediction,
    images: Images,
    /// Order of the contacts found last.
    pub plan: SweepPlan,
}

/// Grains and their images across periodic boundaries.
#[derive(Debug, Default)]
struct Images {
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
    /// Diameters of the grains.
    pub(crate) diameters: Diameters,
    /// Reach of the step.
    pub reach: Reach,
}

impl Collider {
    /// Collects the pairs of grains that (1) may choose.
    pub fn find_pairs(&mut self, team: &mut Team, scene: Scene<'_>) -> Result<(), TooManyPairs> {
        let Scene {
            grains,
            walls,
            diameters,
            reach,
            ..
        } = scene;
        let field = &mut self.field;
        field.set_periodic(scene.periodic);
        field.reach(team, (grains, walls), diameters, reach, &mut self.reaches);
        let lists = if grains.has_shapes() { 2 } else { 1 };
        self.parts.resize_with(lists * team.threads(), Vec::new);
        if let Some(periodic) = scene.periodic {
            return self.find_periodic_pairs(team, scene, periodic);
        }
        let field = &self.field;
        field.boxes_of_bodies(grains, &self.reaches, reach, &mut self.boxes);
        let spheres = Crowd {
            boxes: (grains.count(), &self.boxes),
            ..Crowd::new(&grains.position, &self.reaches)
        };
        let proxy = |i: usize| Proxy::of(grains, field, i);
        let found = &mut self.parts[..team.threads()];
        // Grains that are frozen together do not meet.
        let held = grains.held_rows();
        let is_free = |pair: &[PairEntry<'_, Proxy>; 2]| {
            !pair
                .iter()
                .all(|sphere| held.contains(&(sphere.index as usize)))
        };
        // Closures as small as can be: they are inlined into the search.
        if grains.has_shapes() && held.is_empty() {
            self.broad_phase
                .search(team, spheres, proxy, found, |pair| {
                    near_bodies(pair, reach, grains)
                })
        } else if grains.has_shapes() {
            self.broad_phase
                .search(team, spheres, proxy, found, |pair| {
                    let (candidate, is_near) = near_bodies(pair, reach, grains);
                    (candidate, is_near && is_free(&pair))
                })
        } else if !held.is_empty() {
            self.broad_phase
                .search(team, spheres, proxy, found, |pair| {
                    let (candidate, is_near) = near_grains(pair, reach);
                    (candidate, is_near && is_free(&pair))
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
        let Images {
            images,
            centres,
            reaches,
        } = &mut self.images;
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
        let held = grains.held_rows();
        let field = &self.field;
        let result = self.broad_phase.search(
            team,
            Crowd::new(centres, reaches),
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
                let is_frozen = sources.map(|row| held.contains(&(row as usize)));
                let is_pair =
                    is_image != [true; 2] && sources[0] != sources[1] && is_frozen != [true; 2];
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
        if scene.grains.has_shapes() {
            self.put_in_order::<true>(team, scene, order, contacts);
        } else {
            self.put_in_order::<false>(team, scene, order, contacts);
        }
    }

    /// Chooses what [`Collider::collide`] would make contacts of: lists in no order, and how far
    /// grains reach.
    pub(crate) fn search(
        &mut self,
        team: &mut Team,
        scene: Scene<'_>,
    ) -> (&[Vec<Candidate>], &[f64]) {
        self.find_walls(team, scene);
        self.choose(team, scene);
        (&self.parts, &self.reaches)
    }

    /// Plans the sweep over what was chosen and lists it in its order.
    fn put_in_order<const SHAPED: bool>(
        &mut self,
        team: &mut Team,
        scene: Scene<'_>,
        order: Order<'_>,
        contacts: &mut Vec<ContactGeometry>,
    ) {
        let chosen = Chosen::<SHAPED> {
            parts: &self.parts,
            shaped: &self.shaped,
            spheres: team.threads(),
            scene,
            order,
        };
        if order.plain {
            self.plan.build_plain(&chosen);
        } else {
            let bodies = scene.grains.len();
            self.plan.is_coloured = order.is_coloured;
            self.plan.following = order.following;
            self.plan.most_flat = order.most_flat;
            self.plan.build(team, &chosen, (bodies, order.edge));
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
        let (field, held) = (&self.field, grains.held_rows());
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
                    // What holds frozen grains is known.
                    let free = chunk.clone().filter(|i| !held.contains(i));
                    for (w, wall) in walls.iter().enumerate() {
                        if !wall.is_present || cluster.is_clear_of(wall, reach) {
                            continue;
                        }
                        for i in free.clone() {
                            if grains.shape_of(i).is_some() {
                                out.push(Candidate::at_wall(i as u32, w as u32));
                                continue;
                            }
                            touches.clear();
                            let grain = (i, thrown(i));
                            near_wall(&scene, grain, (w as u32, wall), touches, out);
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
