//! One frame of a recording: a snapshot of grains, contacts and walls.

use esker_contact::Impulse;
use esker_geometry::Pose;
use esker_world::{BodyKind, ContactGeometry, LoadIntegral, StoredContact, WallLoad, World};
use glam::{DQuat, DVec3};

use crate::joints::{FrameJoint, JointLoad, joint_totals, joints_of};
use crate::layout::{GrainField, RecordSettings};

/// A snapshot. Lists of quantities that are not recorded are empty; the others
/// have one entry per grain, in the order of ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Steps done.
    pub step: u64,
    /// Time, s.
    pub time: f64,
    /// Ids: never given to another grain.
    pub id: Vec<u64>,
    /// Centres, m.
    pub position: Vec<DVec3>,
    /// Velocities, m/s.
    pub velocity: Vec<DVec3>,
    /// Orientations, unit quaternions.
    pub orientation: Vec<DQuat>,
    /// Angular velocities, rad/s.
    pub angular_velocity: Vec<DVec3>,
    /// Radii, m; of spheres of equal volume, where grains are none.
    pub radius: Vec<f64>,
    /// Indices of materials.
    pub material: Vec<u16>,
    /// Masses, kg.
    pub mass: Vec<f64>,
    /// Numbers of shapes: 0 for a sphere, else one more than the index in the header.
    pub shape: Vec<u16>,
    /// Factors on the lengths of shapes; radii of spheres, m.
    pub scale: Vec<f64>,
    /// Aggregates that grains are frozen in: one more than the index of the group of walls, or 0.
    pub aggregate: Vec<u16>,
    /// Contacts that touch or carry load.
    pub contacts: Vec<FrameContact>,
    /// Walls, then bodies of their own.
    pub walls: Vec<FrameWall>,
    /// Joints of machines.
    pub joints: Vec<FrameJoint>,
}

/// What a grain touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramePartner {
    /// The grain with this id.
    Grain(u64),
    /// The wall, or body of its own, with this index.
    Wall(u64),
}

/// A contact of a frame, found at the start of the frame's step. Its grains are
/// in the frame: they leave through sinks only as the next step begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameContact {
    /// Id of the grain, or from [`FrameContact::FIRST_BODY`] on a body of its own.
    pub grain: u64,
    /// What it touches.
    pub partner: FramePartner,
    /// Contact point, m.
    pub point: DVec3,
    /// Unit normal from the grain to its partner.
    pub normal: DVec3,
    /// Overlap, m; negative for a gap.
    pub overlap: f64,
    /// Normal impulse on the partner, N s.
    pub normal_impulse: f64,
    /// Friction impulse on the partner, N s.
    pub friction_impulse: DVec3,
    /// Rolling impulse on the partner, N m s.
    pub rolling_impulse: DVec3,
    /// Twisting impulse on the partner about the normal, N m s.
    pub twisting_impulse: f64,
}

impl FrameContact {
    /// Ids of grains stay below. What comes after it is the index, among the walls, of a body of
    /// its own that touches a wall or another body.
    pub const FIRST_BODY: u64 = 1 << 63;

    /// Index among the walls of the body of its own that this is a contact of; none where it is
    /// a grain's.
    pub fn owning_body(&self) -> Option<u64> {
        self.grain.checked_sub(FrameContact::FIRST_BODY)
    }
}

/// A wall of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameWall {
    /// Where it is; its position is not a number while it is not there.
    pub pose: Pose,
    /// Mean load of the grains on it since the frame before.
    pub load: WallLoad,
    /// Load integrated since the start of the run.
    pub total_load: LoadIntegral,
}

/// Where the interval starts over which a frame's loads are means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadInterval {
    time: f64,
    totals: Vec<LoadIntegral>,
    joints: Vec<JointLoad>,
}

impl LoadInterval {
    /// The interval that starts with a world as it is.
    pub fn from_now(world: &World) -> Self {
        LoadInterval {
            time: world.time(),
            totals: walls_and_bodies(world).map(|(_, total)| total).collect(),
            joints: joint_totals(world),
        }
    }

    /// The interval that starts with a frame.
    pub fn after(frame: &Frame) -> Self {
        LoadInterval {
            time: frame.time,
            totals: frame.walls.iter().map(|w| w.total_load).collect(),
            joints: frame.joints.iter().map(|j| j.total_load).collect(),
        }
    }
}

/// Cosine between a contact's normal and the line of its centres below which
/// they see one another across a periodic boundary.
const SAME_DIRECTION: f64 = 0.9;

impl Frame {
    /// Where a contact is drawn from and to, m: from centre to centre, or to
    /// the contact point at a wall, of a body twice the contact point; across a periodic boundary from the centre
    /// of the first grain along the normal.
    pub fn contact_ends(&self, contact: &FrameContact) -> [DVec3; 2] {
        let centre = |id: u64| self.index_of(id).map(|i| self.position[i]);
        let Some(from) = centre(contact.grain) else {
            return [contact.point; 2];
        };
        let to = match contact.partner {
            FramePartner::Grain(id) => centre(id).unwrap_or(contact.point),
            FramePartner::Wall(_) => return [from, contact.point],
        };
        let branch = to - from;
        if branch.dot(contact.normal) > SAME_DIRECTION * branch.length() {
            return [from, to];
        }
        let radius = self
            .index_of(contact.grain)
            .and_then(|i| self.radius.get(i));
        let arm = radius.map_or(0.0, |r| r - 0.5 * contact.overlap);
        [from, from + contact.normal * (2.0 * arm)]
    }

    /// The world now, as far as the settings ask for it; loads are means over
    /// the interval.
    pub fn of(world: &World, settings: &RecordSettings, interval: &LoadInterval) -> Self {
        let grains = world.all_grains();
        let order = grains.in_id_order();
        let mut frame = Frame {
            step: world.steps_done(),
            time: world.time(),
            id: order.iter().map(|&i| grains.id()[i].as_u64()).collect(),
            walls: walls_and_bodies(world)
                .enumerate()
                .map(|(i, (pose, total_load))| {
                    let start = interval.totals.get(i).copied().unwrap_or_default();
                    FrameWall {
                        pose,
                        load: (total_load - start).mean(world.time() - interval.time),
                        total_load,
                    }
                })
                .collect(),
            joints: joints_of(world, &interval.joints, world.time() - interval.time),
            ..Default::default()
        };
        for field in settings.ordered_fields() {
            match field {
                GrainField::Position => frame.position = pick(&order, |i| grains.position()[i]),
                GrainField::Velocity => {
                    frame.velocity = pick(&order, |i| grains.state()[i].velocity)
                }
                GrainField::Orientation => {
                    frame.orientation = pick(&order, |i| grains.orientation()[i]);
                }
                GrainField::AngularVelocity => {
                    frame.angular_velocity = pick(&order, |i| grains.state()[i].angular_velocity)
                }
                GrainField::Radius => frame.radius = pick(&order, |i| grains.radius()[i]),
                GrainField::Material => frame.material = pick(&order, |i| grains.material()[i]),
                GrainField::Mass => frame.mass = pick(&order, |i| grains.mass()[i]),
                GrainField::Shape => {
                    let number = |i| grains.shape_of(i).map_or(0, |s| s.shape + 1);
                    frame.shape = pick(&order, number);
                }
                GrainField::Scale => {
                    let scale = |i| grains.shape_of(i).map_or(grains.radius()[i], |s| s.scale);
                    frame.scale = pick(&order, scale);
                }
                GrainField::Aggregate => {
                    let aggregate = |i: usize| u16::from(world.aggregate_of(grains.id()[i]));
                    frame.aggregate = pick(&order, aggregate);
                }
            }
        }
        if settings.contacts {
            frame.contacts = contacts(world);
        }
        frame
    }

    /// The same with impulses of a substep of `to` seconds instead of `from`:
    /// where an accuracy is kept, substeps change, and a recording has one.
    pub fn rescaled(mut self, from: f64, to: f64) -> Self {
        if from != to {
            let factor = to / from;
            for contact in &mut self.contacts {
                contact.normal_impulse *= factor;
                contact.friction_impulse *= factor;
                contact.rolling_impulse *= factor;
                contact.twisting_impulse *= factor;
            }
        }
        self
    }

    /// The same with grains and contacts moved by a vector, m.
    pub(crate) fn shifted(mut self, by: DVec3) -> Self {
        if by != DVec3::ZERO {
            self.position.iter_mut().for_each(|x| *x += by);
            self.contacts.iter_mut().for_each(|c| c.point += by);
        }
        self
    }

    /// The grain with an id, if it is in the frame.
    pub fn index_of(&self, id: u64) -> Option<usize> {
        let order = |id: u64| (id as u32, id >> 32);
        self.id.binary_search_by_key(&order(id), |&i| order(i)).ok()
    }
}

fn pick<T>(order: &[usize], get: impl Fn(usize) -> T) -> Vec<T> {
    order.iter().map(|&i| get(i)).collect()
}

/// Poses and loads of the walls, then of the bodies of their own, which a recording
/// shows as walls.
fn walls_and_bodies(world: &World) -> impl Iterator<Item = (Pose, LoadIntegral)> {
    let table = world.table();
    table.named_rows().filter_map(move |row| {
        let pose = table.pose(row);
        let is_there = match table.kind(row) {
            BodyKind::Wall(wall) => world.walls()[wall].is_present,
            _ => true,
        };
        let shown = match is_there {
            true => pose,
            false => Pose::new(DVec3::NAN, pose.orientation),
        };
        table.total_load(row).map(|total| (shown, total))
    })
}

/// Contacts that touch or carry load.
fn contacts(world: &World) -> Vec<FrameContact> {
    world
        .contacts()
        .filter(|(c, p)| c.overlap > 0.0 || p.normal > 0.0)
        .map(|(c, p)| frame_contact(world, c, p))
        .chain(world.stored_contacts().iter().map(stored_contact))
        .collect()
}

/// A contact of frozen grains, which nobody solves.
fn stored_contact(contact: &StoredContact) -> FrameContact {
    FrameContact {
        grain: contact.key.owner.as_u64(),
        partner: match contact.key.wall_index() {
            Some(wall) => FramePartner::Wall(u64::from(wall)),
            None => FramePartner::Grain(contact.key.other),
        },
        point: contact.point,
        normal: contact.normal,
        overlap: contact.overlap,
        normal_impulse: contact.impulse.normal,
        friction_impulse: contact.impulse.friction,
        rolling_impulse: contact.impulse.rolling,
        twisting_impulse: contact.impulse.twisting,
    }
}

fn frame_contact(world: &World, c: &ContactGeometry, p: &Impulse) -> FrameContact {
    let table = world.table();
    let id = |grain: usize| world.grains().id()[grain].as_u64();
    // Bodies come after the walls.
    let side = |kind: BodyKind| match kind {
        BodyKind::Grain(grain) => FramePartner::Grain(id(grain)),
        BodyKind::Wall(wall) => FramePartner::Wall(wall as u64),
        BodyKind::Body(body) => FramePartner::Wall((world.walls().len() + body) as u64),
    };
    // A contact is that of its grain: where this is the second, it is turned round.
    let (owner, partner, sign) = match table.rows_of(c).map(|row| side(table.kind(row))) {
        [body @ FramePartner::Wall(_), grain @ FramePartner::Grain(_)] => (grain, body, -1.0),
        [owner, partner] => (owner, partner, 1.0),
    };
    FrameContact {
        grain: match owner {
            FramePartner::Grain(id) => id,
            FramePartner::Wall(place) => FrameContact::FIRST_BODY | place,
        },
        partner,
        point: c.point,
        normal: c.normal * sign,
        overlap: c.overlap,
        normal_impulse: p.normal,
        friction_impulse: p.friction * sign,
        rolling_impulse: p.rolling * sign,
        twisting_impulse: p.twisting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Precision;
    use esker_geometry::{BodyShape, WallShape};
    use esker_world::definition::{BodyDef, Material, PairDef, PairLaw, WallDef, WorldDef};

    /// The floor's load was recorded, but not the contacts that carry it.
    #[test]
    fn contacts_of_a_body_with_a_wall_carry_its_weight() {
        let cube = BodyShape::Box {
            half_edges: DVec3::splat(0.05),
        };
        let def = WorldDef {
            step: 1e-3,
            materials: vec![Material {
                name: "stone".into(),
                density: 2500.0,
                young: 1e8,
                poisson: 0.3,
            }],
            pairs: vec![PairDef {
                materials: [0, 0],
                law: PairLaw::default(),
            }],
            walls: vec![WallDef::new("floor", WallShape::HalfSpace, Pose::default())],
            bodies: vec![BodyDef {
                pose: Pose::from_position(DVec3::Z * 0.05),
                ..BodyDef::new("cube", cube, 2.0)
            }],
            ..Default::default()
        };
        let mut world = World::new(&def).unwrap();
        for _ in 0..300 {
            world.step().unwrap();
        }
        let settings = RecordSettings {
            fields: Vec::new(),
            precision: Precision::Double,
            compression: 0,
            contacts: true,
        };
        let frame = Frame::of(&world, &settings, &LoadInterval::from_now(&world));
        assert_eq!(frame.contacts.len(), 4);
        let mut force = DVec3::ZERO;
        for contact in &frame.contacts {
            assert_eq!(contact.owning_body(), Some(1));
            assert_eq!(contact.partner, FramePartner::Wall(0));
            assert_eq!(frame.contact_ends(contact), [contact.point; 2]);
            force += contact.normal * contact.normal_impulse + contact.friction_impulse;
        }
        let weight = 2.0 * world.gravity();
        assert!((force / world.substep() - weight).length() < 1e-3 * weight.length());
    }

    /// A force chain must not run through the whole box to the other side.
    #[test]
    fn a_contact_across_a_periodic_boundary_is_drawn_along_its_normal() {
        let frame = |x: f64| Frame {
            id: vec![0, 1],
            position: vec![DVec3::X * 0.1, DVec3::X * x],
            radius: vec![0.1, 0.1],
            ..Default::default()
        };
        let contact = FrameContact {
            grain: 0,
            partner: FramePartner::Grain(1),
            point: DVec3::ZERO,
            normal: DVec3::NEG_X,
            overlap: 0.0,
            normal_impulse: 1.0,
            friction_impulse: DVec3::ZERO,
            rolling_impulse: DVec3::ZERO,
            twisting_impulse: 0.0,
        };
        let beside = frame(-0.1).contact_ends(&contact);
        let across = frame(0.9).contact_ends(&contact);
        assert!(beside[1].distance(DVec3::X * -0.1) < 1e-12);
        assert!(across[1].distance(beside[1]) < 1e-12);
    }
}
