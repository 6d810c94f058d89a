//! What moves relative to frozen grains, and so may meet them: walls, and members of other groups.
//!
//! Contacts are searched for around free grains and bodies. A wall that is driven into an aggregate,
//! or an aggregate that a belt carries against a wall, has none: whoever it meets has to be free
//! first. In the frame of what a group passes, a member goes from `x₀` to `x₁` within a time, and
//! the wall stands still there:
//!
//! ```text
//! x(s) = x₀ + s w,    w = x₁ − x₀,    0 ≤ s ≤ 1                          (1)
//! ```
//!
//! A member that touches the wall at some `s`, by an overlap that its way along the normal may
//! change, is met where the surface there moves against it: in any direction with friction, along
//! the normal without. A shell that turns in itself, or a plane that moves in its own plane, so
//! meets those that touch it, and nobody else. A surface that goes with the group, such as that of
//! the belt that carries it, meets nobody, but the frame of the belt does.
//!
//! Bodies that are no spheres are met where the balls that hold them are.
//!
//! Nothing is kept for this: all of it follows from the state as a step begins. What does not move
//! relative to a group costs a comparison of motions, and so do planes, and faces of boxes, that go
//! with it or along themselves without friction. For the others boxes of the group's cells are halved
//! until they are clear of them or one cell: `O(n log N)` of `N` cells with `n` of them near the
//! surface, never more than twice `N`, and a few hundred instructions per member there. Of two groups
//! the members of the smaller one that are where the other one's are look into its grid.

use esker_geometry::{Face, OpenFaces, Pose, Probe, WallShape};
use glam::{DAffine3, DVec3};

use super::merge::WallFriction;
use super::{Aggregates, gather};
use crate::World;
use crate::grains::Grains;
use crate::wall::Wall;

/// Layers that are set free with a member that something meets.
const LAYERS: u32 = 2;
/// Relative velocity in units of the speed of rest that is rounding.
pub(super) const STILL: f64 = 1e-6;
/// Normal velocity of a wall without friction relative to the group, in units of the speed of
/// rest, up to which it does not push what rests there.
pub(super) const PUSHING: f64 = 1e-3;
/// Rounding of a rotation relative to a group.
const TURN_ROUNDING: f64 = 1e-12;
/// Gap up to which a member is met that is approached head-on, in radii. The nearest point of an
/// edge or of a round wall wanders while a grain goes along (1) by [`TRAVEL`], which changes the gap
/// by less than `TRAVEL²/8 = 0.031` radii where the centre is a radius away.
const MARGIN: f64 = 0.04;
/// Longest part of (1), in radii, that is looked at once, in its middle.
const TRAVEL: f64 = 0.5;
/// Parts of (1) at most. Whoever goes farther is met by everything that is near its way.
const MAX_PARTS: f64 = 32.0;
/// Steps for which nobody may be about to be met who is frozen: about as many as a grain has to be
/// at rest before.
const STEPS_AHEAD: f64 = 4.0;

/// What a group passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passed {
    Wall(u32),
    /// Members of another group.
    Group(u8),
}

/// The way of a group in the frame of what it passes.
#[derive(Clone, Copy, Debug)]
struct Passage {
    group: u8,
    passed: Passed,
    /// Faces of a box that meet nobody.
    ignored: OpenFaces,
    /// How long it is, s.
    span: f64,
    /// From the group's frame to the other one as the time begins.
    from: DAffine3,
    /// From a point of the group's frame to its way.
    way: DAffine3,
    /// The same from where the point is in the other frame as the time begins.
    moved: DAffine3,
    /// How much longer the way of a point may be than that of another one, over their distance.
    turn: f64,
}

impl Passage {
    fn new(group: u8, passed: Passed, frames: [Pose; 2], span: f64) -> Self {
        let [from, to] = frames
            .map(|frame| DAffine3::from_rotation_translation(frame.orientation, frame.position));
        let way = match frames[0] == frames[1] {
            true => DAffine3::ZERO,
            false => DAffine3 {
                matrix3: to.matrix3 - from.matrix3,
                translation: to.translation - from.translation,
            },
        };
        // Of rotations: |R₁ − R₀| is twice the sine of half the angle.
        let half = frames[1].orientation * frames[0].orientation.conjugate();
        Passage {
            group,
            passed,
            ignored: OpenFaces::NONE,
            span,
            from,
            way,
            moved: way * from.inverse(),
            turn: 2.0 * half.xyz().length(),
        }
    }

    /// Whether anything moves.
    fn moves(&self) -> bool {
        self.way != DAffine3::ZERO
    }

    /// Where a point of the group's frame is as the time begins, and where it goes from there.
    fn way(&self, point: DVec3) -> (DVec3, DVec3) {
        let from = self.from.transform_point3(point);
        (from, self.way.transform_point3(point))
    }

    /// A ball that holds the ways of all points of a ball of the group's frame.
    fn swept(&self, centre: DVec3, radius: f64) -> (DVec3, f64) {
        let (from, way) = self.way(centre);
        let longest = way.length() + self.turn * radius;
        (from + 0.5 * way, radius + 0.5 * longest)
    }
}

/// A wall with what it is to those that it meets.
struct Surface<'a> {
    wall: &'a Wall,
    index: u32,
    friction: WallFriction<'a>,
    /// Speed of rest, m/s.
    speed: f64,
}

/// A grain that something may meet, in the frame of its group.
struct Met<F> {
    place: DVec3,
    radius: f64,
    material: u16,
    /// Whether it rests on the wall already.
    rests: F,
}

impl<'a> Surface<'a> {
    fn new(index: u32, friction: WallFriction<'a>, speed: f64) -> Self {
        Surface {
            wall: &friction.walls[index as usize],
            index,
            friction,
            speed,
        }
    }

    /// Whether it moves against a grain, with this velocity relative to it, m/s, at a touch.
    fn moves_against(
        &self,
        grain: &Met<impl Fn() -> bool>,
        normal: DVec3,
        velocity: DVec3,
    ) -> bool {
        let along = normal.dot(velocity);
        let rubs = || self.friction.at(grain.material, self.index) > 0.0;
        let is_moving = velocity.length_squared() > (STILL * self.speed).powi(2);
        is_moving
            && (along.abs() > PUSHING * self.speed
                || along < -STILL * self.speed && !(grain.rests)()
                || rubs())
    }

    /// Whether it meets a grain on its way.
    fn meets(&self, passage: &Passage, grain: &Met<impl Fn() -> bool>) -> bool {
        let (from, way) = passage.way(grain.place);
        let (radius, length) = (grain.radius, way.length());
        let shape = &self.wall.shape;
        let reach = radius * (1.0 + MARGIN) + 0.5 * length;
        if shape.is_surface_clear_of(from + 0.5 * way, reach, passage.ignored) {
            return false;
        }
        let parts = (length / (TRAVEL * radius)).ceil().max(1.0);
        let is_far_travelled = parts > MAX_PARTS;
        let parts = parts.min(MAX_PARTS);
        let half = 0.5 / parts;
        let mut touches = Vec::new();
        (0..parts as usize).any(|part| {
            touches.clear();
            let probe = Probe {
                centre: from + way * (half * (2 * part + 1) as f64),
                radius,
                margin: radius * MARGIN + half * length,
                motion: 0.0,
                last_side: &|| None,
            };
            shape.touches_of(&probe, &mut touches);
            touches.iter().any(|touch| {
                let n = touch.normal;
                let moved = passage.moved.transform_point3(touch.point);
                let approach = n.dot(moved);
                let near = match is_far_travelled {
                    true => half * length,
                    false => half * approach.abs(),
                };
                let head_on = approach.max(0.0) / moved.length().max(f64::MIN_POSITIVE);
                let belt = self.wall.surface_velocity;
                let velocity = belt - n * n.dot(belt) - moved / passage.span;
                touch.overlap > -(near + MARGIN * radius * head_on)
                    && self.moves_against(grain, n, velocity)
            })
        })
    }

    /// Whether a plane face with this normal meets nobody of a group, wherever they are: it goes
    /// with the group, or, without friction, along itself.
    fn is_harmless(
        &self,
        passage: &Passage,
        normal: DVec3,
        is_there: impl Fn(u16) -> bool,
    ) -> bool {
        let slack = STILL * self.speed;
        let DAffine3 {
            matrix3: turn,
            translation,
        } = passage.moved;
        let rise = translation.dot(normal) / passage.span;
        let stays = (turn.transpose() * normal).length() <= TURN_ROUNDING && rise.abs() <= slack;
        let belt = self.wall.surface_velocity.reject_from_normalized(normal);
        let is_turned = turn.to_cols_array().iter().any(|x| x.abs() > TURN_ROUNDING);
        let goes_along = !is_turned && belt.distance(translation / passage.span) <= slack;
        stays && (goes_along || self.friction.is_smooth(self.index, is_there))
    }

    /// What a group passes of the wall, in which there are grains of some materials; `None` where
    /// that meets nobody.
    fn passed(&self, passage: Passage, is_there: impl Fn(u16) -> bool) -> Option<Passage> {
        if !passage.moves() && self.wall.surface_velocity == DVec3::ZERO {
            return None;
        }
        let ignored: OpenFaces = match self.wall.shape {
            WallShape::HalfSpace if self.is_harmless(&passage, DVec3::Z, &is_there) => return None,
            WallShape::Box { .. } => {
                let faces = Face::ALL.into_iter().zip(0..6);
                let harmless = faces.filter(|(_, k)| {
                    // Both faces across an axis have the same normal but for its sign.
                    self.is_harmless(&passage, DVec3::AXES[k / 2], &is_there)
                });
                harmless.map(|(face, _)| face).collect()
            }
            _ => OpenFaces::NONE,
        };
        // A box all of whose faces are harmless is none of it.
        let is_some_left = Face::ALL.iter().any(|face| !ignored.contains(*face));
        is_some_left.then_some(Passage { ignored, ..passage })
    }
}

/// Whether two balls, of which one goes along this way from here relative to the other one, touch
/// on it.
fn pass_by(branch: DVec3, way: DVec3, radii: [f64; 2]) -> bool {
    let along = branch.dot(way) / way.length_squared().max(f64::MIN_POSITIVE);
    let nearest = branch - way * along.clamp(0.0, 1.0);
    let margin = match along > 0.0 {
        true => MARGIN * radii[0].min(radii[1]),
        false => 0.0,
    };
    nearest.length() < radii[0] + radii[1] + margin
}

impl World {
    /// Wakes members that walls or members of other groups meet within the step.
    pub(super) fn wake_by_approach(&mut self, aggregates: &mut Aggregates) {
        let speed = self.speed_of_rest(aggregates);
        let friction = WallFriction::new(&self.walls, &self.pairs);
        let mut met: Vec<u32> = Vec::new();
        let members = &aggregates.members;
        let is_asked = |group: u8| members.count_of(group) > 0;
        let is_there = |material: u16| members.may_be_of(material);
        for passage in self.passages(aggregates, self.step, is_asked, is_there) {
            match passage.passed {
                Passed::Wall(wall) => {
                    let near = members_near_wall(aggregates, &passage, &self.walls[wall as usize]);
                    let surface = Surface::new(wall, friction, speed);
                    met.extend(gather(&mut self.team, near.len(), |k, met| {
                        let grain = &members.get(near[k]).grain;
                        let rests = || members.wall_contacts(near[k]).any(|(own, _)| own == wall);
                        let grain = Met {
                            place: grain.pose.position,
                            radius: grain.bounding_radius(),
                            material: grain.material,
                            rests,
                        };
                        if surface.meets(&passage, &grain) {
                            met.push(near[k]);
                        }
                    }));
                }
                Passed::Group(other) => {
                    let [own, others] = [passage.group, other].map(|g| members.count_of(g));
                    // Both orders are there: one is enough.
                    if (own, passage.group) < (others, other) {
                        let near = members_near_group(aggregates, &passage, other);
                        met.extend(gather(&mut self.team, near.len(), |k, met| {
                            let grain = &members.get(near[k]).grain;
                            let place = (grain.pose.position, grain.bounding_radius());
                            let before = met.len();
                            each_met(aggregates, &passage, other, (place, speed), |m| met.push(m));
                            if met.len() > before {
                                met.push(near[k]);
                            }
                        }));
                    }
                }
            }
        }
        if !met.is_empty() {
            let seeds: Vec<(u32, u32)> = met.into_iter().map(|member| (member, LAYERS)).collect();
            aggregates.release_with_layers(&seeds, |totals| &mut totals.split_by_impact);
        }
    }

    /// What walls and members move relative to free grains so that these, at rest with their
    /// groups, would be set free again at once.
    pub(super) fn approaching(&self, aggregates: &Aggregates) -> Approaching {
        let span = STEPS_AHEAD * self.next_step_length();
        Approaching {
            time: self.time(),
            passages: self.passages(aggregates, span, |_| true, |_| true),
            speed: self.speed_of_rest(aggregates),
        }
    }

    /// Speed up to which grains are at rest, m/s.
    fn speed_of_rest(&self, aggregates: &Aggregates) -> f64 {
        aggregates.settings.rest_speed * self.reduction_scales(aggregates).speed
    }

    /// What the groups pass from now on for so long, s, of which `is_asked` says so, with grains of
    /// the materials that are there.
    fn passages(
        &self,
        aggregates: &Aggregates,
        span: f64,
        is_asked: impl Fn(u8) -> bool,
        is_there: impl Fn(u16) -> bool,
    ) -> Vec<Passage> {
        let mut passages = Vec::new();
        let time = self.time();
        let times = [time, time + span];
        let Aggregates {
            groups, members, ..
        } = aggregates;
        let friction = WallFriction::new(&self.walls, &self.pairs);
        let speed = self.speed_of_rest(aggregates);
        for group in (0..groups.len() as u8).filter(|&group| is_asked(group)) {
            let own = groups.get(group);
            for (index, wall) in (0..).zip(&self.walls) {
                let is_present = wall.is_present_in(time, self.next_step_length());
                if !is_present || groups.carries_shape(group, wall) {
                    continue;
                }
                let frame = |time: f64| wall.pose_at(time).inverse() * own.frame(time);
                let passage = Passage::new(group, Passed::Wall(index), times.map(frame), span);
                passages.extend(Surface::new(index, friction, speed).passed(passage, &is_there));
            }
            let others = (0..groups.len() as u8).filter(|&other| other != group);
            for other in others.filter(|&other| members.count_of(other) > 0) {
                let of = groups.get(other);
                let frame = |time: f64| of.frame(time).inverse() * own.frame(time);
                let passage = Passage::new(group, Passed::Group(other), times.map(frame), span);
                passages.extend(passage.moves().then_some(passage));
            }
        }
        passages
    }
}

/// What free grains at rest may be about to meet.
pub(super) struct Approaching {
    /// Now, s.
    time: f64,
    passages: Vec<Passage>,
    /// Speed of rest, m/s.
    speed: f64,
}

impl Approaching {
    /// Whether a free grain, frozen to the group that it is at rest with, would soon be met.
    pub(super) fn meet(
        &self,
        (grains, row): (&Grains, usize),
        aggregates: &Aggregates,
        friction: WallFriction<'_>,
    ) -> bool {
        let group = grains.rest[row].group;
        let mut passages = self.passages.iter().filter(|p| p.group == group);
        let frame = aggregates.groups.get(group).frame(self.time);
        let place = frame.to_local(grains.position[row]);
        let radius = grains.bounding_radius(row);
        passages.any(|passage| match passage.passed {
            Passed::Wall(index) => {
                let grain = Met {
                    place,
                    radius,
                    material: grains.material[row],
                    // What pushes it so slowly is no reason to stay free.
                    rests: || true,
                };
                Surface::new(index, friction, self.speed).meets(passage, &grain)
            }
            Passed::Group(other) => {
                let mut is_met = false;
                let around = ((place, radius), self.speed);
                each_met(aggregates, passage, other, around, |_| is_met = true);
                is_met
            }
        })
    }
}

/// Members of a group that a wall may meet, in no order.
fn members_near_wall(aggregates: &Aggregates, passage: &Passage, wall: &Wall) -> Vec<u32> {
    let mut near = Vec::new();
    let members = &aggregates.members;
    let beyond = members.max_radius() * (1.0 + MARGIN);
    let is_far = |centre: DVec3, radius: f64| {
        let (centre, swept) = passage.swept(centre, radius);
        let reach = swept + beyond;
        wall.shape
            .is_surface_clear_of(centre, reach, passage.ignored)
    };
    let found = |member| near.push(member);
    members.grid.each_outside(passage.group, is_far, found);
    near
}

/// Members of a group that members of another group may be near, in no order.
fn members_near_group(aggregates: &Aggregates, passage: &Passage, other: u8) -> Vec<u32> {
    let mut near = Vec::new();
    let members = &aggregates.members;
    let Some(bounds) = members.grid.bounds(other) else {
        return near;
    };
    let beyond = members.max_radius() * (2.0 + MARGIN);
    let is_far = |centre: DVec3, radius: f64| {
        let (centre, swept) = passage.swept(centre, radius);
        let reach = swept + beyond;
        bounds.distance_squared(centre) > reach * reach
    };
    let found = |member| near.push(member);
    members.grid.each_outside(passage.group, is_far, found);
    near
}

/// Calls `found` with the members of another group that a ball of a group meets, whose place and
/// radius these are, m; slower than rounding, in units of a speed, m/s, nobody meets anybody.
fn each_met(
    aggregates: &Aggregates,
    passage: &Passage,
    other: u8,
    ((place, radius), speed): ((DVec3, f64), f64),
    mut found: impl FnMut(u32),
) {
    let members = &aggregates.members;
    let (from, way) = passage.way(place);
    if way.length() + passage.turn * radius <= STILL * speed * passage.span {
        return;
    }
    let (centre, swept) = passage.swept(place, radius);
    let around = (centre, swept + members.max_radius() * (1.0 + MARGIN));
    members.grid.within(other, around, |member| {
        let grain = &members.get(member).grain;
        let branch = grain.pose.position - from;
        if pass_by(branch, way, [radius, grain.bounding_radius()]) {
            found(member);
        }
    });
}
