//! The complete dynamic state as plain data: what a checkpoint keeps.
//!
//! A world is its definition plus a [`WorldState`]. Everything that the next
//! step reads and that the definition does not fix is in it, down to the order
//! in which grains are stored, so that a restored world continues with
//! identical bits. Wall poses are closed functions of time and need no state.
//! What a step changes as it begins (stage `begin`) is decided
//! by this state alone, so it does not matter between which two steps it is
//! saved.
//! What a step computes anew from these (the contact list of
//! [`World::contacts`]) is not kept: it is empty until the first step.

use std::collections::{BTreeMap, BTreeSet};

use esker_machine::{MachineError, MachineState};
use glam::{DQuat, DVec3};

use crate::World;
use crate::begin::Resolution;
use crate::check::Problem;
use crate::clock::Clock;
use crate::definition::{Orientation, ShapeUse, WorldDef};
use crate::energy::EnergyLedger;
use crate::grains::{FrozenGrain, GrainId, GrainShape, Grains, NewGrain};
use crate::history::{Entry, History, NO_SLOT};
use crate::load::{LoadIntegral, WallLoad};
use crate::machinery::Machinery;
use crate::outline::Outline;
use crate::validate::validate;

pub use crate::grains::Rest;
pub use crate::history::Remembered;
pub use crate::reduction::RefreshClock;
pub use crate::reduction::state::{AggregatesState, FrozenState, InternalState};
pub use crate::supply::{EmitterProgress, Taken};
pub use crate::tool_forces::ToolWork;

/// One grain with everything that differs from grain to grain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrainState {
    /// Its id.
    pub id: GrainId,
    /// Centre, m.
    pub position: DVec3,
    /// Orientation, a unit quaternion.
    pub orientation: DQuat,
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
    /// Radius, m; of the sphere of equal volume, where it is none.
    pub radius: f64,
    /// Mass, kg.
    pub mass: f64,
    /// Index of its material.
    pub material: u16,
    /// One more than the index of its shape; zero for a sphere, [`GrainState::BODY`] for a
    /// body of its own.
    pub shape: u16,
}

impl GrainState {
    /// What stands for the shape of a body of its own: the definition has it.
    pub const BODY: u16 = u16::MAX;

    /// Whether this is a body of its own, and no grain.
    pub fn is_body(&self) -> bool {
        self.shape == Self::BODY
    }
}

/// Everything that changes while a world runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorldState {
    /// Steps done since the start.
    pub steps_done: u64,
    /// Grains that left the bounds since the start.
    pub lost: u64,
    /// Sweeps (or substeps) of the next step: they change where an accuracy is kept.
    pub sweeps: u64,
    /// How many times the scene's step is halved (doubled if negative) in the
    /// next step, where an accuracy is kept.
    pub step_level: i64,
    /// Time in ticks of a 64th of the scene's step.
    pub ticks: u64,
    /// Grains in the order in which they are stored.
    pub grains: Vec<GrainState>,
    /// Impulses of the last step, scaled to the next, for warm starting.
    pub remembered: Vec<Remembered>,
    /// Progress of each emitter, random stream included.
    pub emitters: Vec<EmitterProgress>,
    /// What each sink took so far.
    pub sinks: Vec<Vec<Taken>>,
    /// Load on each wall, then on each body of its own, in the last step.
    pub wall_loads: Vec<WallLoad>,
    /// The same, integrated since the start.
    pub total_wall_loads: Vec<LoadIntegral>,
    /// Machines: coordinates of joints, what joints and drives have done.
    pub machines: MachineState,
    /// The energy ledger, where it is kept.
    pub energy: Option<EnergyLedger>,
    /// What became of the work of tools.
    pub tool_work: ToolWork,
    /// Aggregates of grains at rest, where there may be some.
    pub aggregates: Option<AggregatesState>,
    /// Whether contacts are swept in the order of devices ([`World::set_device_order`]), on
    /// which the bits of a run depend. `None` where a file does not say.
    pub device_order: Option<bool>,
}

/// Why a state does not belong to a definition, or to any world.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RestoreError {
    /// A value of the definition is impossible.
    #[error(transparent)]
    Definition(#[from] Problem),
    /// A machine of the definition is impossible, or has another state.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The definition has another number of something.
    #[error("the state has {found} {what}, but the scene has {expected}")]
    Count {
        /// Of what.
        what: &'static str,
        /// In the definition.
        expected: usize,
        /// In the state.
        found: usize,
    },
    /// A grain has an id that it cannot have.
    #[error("{id} cannot be: {why}")]
    Id {
        /// The id.
        id: GrainId,
        /// Why not.
        why: &'static str,
    },
    /// A grain's values are impossible.
    #[error("{id} has an impossible {what}")]
    Grain {
        /// The grain.
        id: GrainId,
        /// The value.
        what: &'static str,
    },
    /// No clock of steps can have got there.
    #[error("{ticks} ticks after {steps} steps cannot be followed by a step of level {level}")]
    Time {
        /// Steps done.
        steps: u64,
        /// Time in ticks.
        ticks: u64,
        /// Level of the next step.
        level: i64,
    },
    /// A value that belongs to no single grain is impossible.
    #[error("the state has an impossible {what}")]
    Value {
        /// The value.
        what: &'static str,
    },
    /// A remembered contact belongs to no grain.
    #[error("a remembered contact belongs to {id}, which is not there")]
    Contact {
        /// Its owner.
        id: GrainId,
    },
}

impl World {
    /// The complete dynamic state.
    pub fn state(&self) -> WorldState {
        WorldState {
            steps_done: self.steps_done,
            lost: self.lost,
            sweeps: self.next.sweeps as u64,
            step_level: i64::from(self.next.level),
            ticks: self.clock.ticks(self.steps_done),
            grains: {
                let bodies = self.grains.count()..self.grains.len();
                let rows = (0..self.grains.free_count()).chain(bodies);
                rows.map(|i| grain_state(&self.grains, i)).collect()
            },
            remembered: self.history.entries().copied().collect(),
            emitters: self.emitters.iter().map(|e| e.progress).collect(),
            sinks: self.sinks.iter().map(|s| s.taken.clone()).collect(),
            wall_loads: {
                let of_walls = self.walls.iter().map(|w| w.load);
                of_walls.chain(self.bodies.iter().map(|b| b.load)).collect()
            },
            total_wall_loads: {
                let of_walls = self.walls.iter().map(|w| w.total_load);
                let of_bodies = self.bodies.iter().map(|b| b.total_load);
                of_walls.chain(of_bodies).collect()
            },
            machines: self.machinery.machines.state(),
            energy: self.energy,
            tool_work: self.tool_work,
            aggregates: self.aggregates_state(),
            device_order: Some(self.device_order),
        }
    }

    /// The world of a definition as it was when `state` was taken: it
    /// continues with identical bits.
    pub fn restore(def: &WorldDef, state: WorldState) -> Result<World, RestoreError> {
        validate(def)?;
        let count = |what, expected: usize, found: usize| {
            if expected == found {
                Ok(())
            } else {
                Err(RestoreError::Count {
                    what,
                    expected,
                    found,
                })
            }
        };
        count("emitters", def.emitters.len(), state.emitters.len())?;
        count("sinks", def.sinks.len(), state.sinks.len())?;
        let loaded = def.walls.len() + def.bodies.len();
        count("walls and bodies", loaded, state.wall_loads.len())?;
        count("walls and bodies", loaded, state.total_wall_loads.len())?;
        if !Clock::can_show(state.step_level, state.ticks, state.steps_done) {
            return Err(RestoreError::Time {
                steps: state.steps_done,
                ticks: state.ticks,
                level: state.step_level,
            });
        }
        let resolution = Resolution {
            level: state.step_level as i32,
            sweeps: state.sweeps as usize,
        };
        check_values(&state)?;
        check_ids(&state)?;
        let (mut machinery, _) = Machinery::new(def)?;
        machinery.machines.restore(&state.machines)?;
        let mut grains = restore_grains(def, &state)?;
        let frozen = restore_frozen(def, &state, &mut grains)?;
        let of_rows = (0..grains.len()).map(|row| (grains.id[row], grains.slot(row) as u32));
        let of_frozen = frozen.iter().map(|grain| (grain.id, grain.slot));
        let slots: BTreeMap<GrainId, u32> = of_rows.chain(of_frozen).collect();
        let with_slot = |entry: &Remembered| {
            let id = entry.key.owner;
            let slot = slots.get(&id).ok_or(RestoreError::Contact { id })?;
            let other = slots.get(&GrainId::from_u64(entry.key.other));
            Ok(Entry {
                contact: *entry,
                slot: *slot,
                other_slot: other.copied().unwrap_or(NO_SLOT),
            })
        };
        let remembered: Result<Vec<_>, RestoreError> =
            state.remembered.iter().map(with_slot).collect();
        let mut history = History::default();
        history.extend(&grains, remembered?);
        let mut world = World::with_grains(def, grains, machinery);
        world
            .clock
            .restart(resolution.level, state.ticks, state.steps_done);
        world.steps_done = state.steps_done;
        world.next = resolution;
        world.take_up_resolution();
        world.history = history;
        world.lost = state.lost;
        for (emitter, progress) in world.emitters.iter_mut().zip(state.emitters) {
            emitter.restore(progress);
        }
        for (sink, taken) in world.sinks.iter_mut().zip(state.sinks) {
            sink.taken = taken;
        }
        let time = world.time();
        let mut loads = state.wall_loads.into_iter().zip(state.total_wall_loads);
        for (wall, (load, total)) in world.walls.iter_mut().zip(&mut loads) {
            wall.move_to(time);
            wall.load = load;
            wall.total_load = total;
        }
        for (body, (load, total)) in world.bodies.iter_mut().zip(loads) {
            body.load = load;
            body.total_load = total;
        }
        world.tool_work = state.tool_work;
        world.device_order = state.device_order.unwrap_or_default();
        if let Some(aggregates) = state.aggregates {
            world.restore_aggregates(aggregates, frozen)?;
        }
        if def.energy_ledger
            && let Some(ledger) = state.energy
        {
            world.energy = Some(ledger);
        }
        world.set_wall_velocities();
        Ok(world)
    }
}

fn grain_state(grains: &Grains, i: usize) -> GrainState {
    GrainState {
        id: grains.id[i],
        position: grains.position[i],
        orientation: grains.orientation[i],
        velocity: grains.state[i].velocity,
        angular_velocity: grains.state[i].angular_velocity,
        radius: grains.radius[i],
        mass: grains.mass[i],
        material: grains.material[i],
        shape: if i < grains.count() {
            grains.shape_of(i).map_or(0, |shape| shape.shape + 1)
        } else {
            GrainState::BODY
        },
    }
}

impl WorldState {
    /// All grains and bodies, frozen ones last.
    pub fn all_grains(&self) -> impl Iterator<Item = &GrainState> {
        self.grains.iter().chain(self.frozen())
    }

    fn frozen(&self) -> impl Iterator<Item = &GrainState> {
        let aggregates = self.aggregates.iter();
        aggregates.flat_map(|a| a.frozen.iter().map(|frozen| &frozen.grain))
    }
}

/// Checks that every id belongs to one grain, and that its source has given it.
fn check_ids(state: &WorldState) -> Result<(), RestoreError> {
    let mut ids = BTreeSet::new();
    for id in state.all_grains().map(|grain| grain.id) {
        if !ids.insert(id) {
            let why = "two grains have this id";
            return Err(RestoreError::Id { id, why });
        }
        if let Some(emitter) = id.source().checked_sub(1) {
            let given = state.emitters.get(emitter).map_or(0, |e| e.emitted);
            if id.serial() >= given {
                let why = "no emitter has given so many";
                return Err(RestoreError::Id { id, why });
            }
        }
    }
    Ok(())
}

/// A grain of a state about to enter a table.
fn new_grain(grain: &GrainState, shape: Option<GrainShape>) -> NewGrain {
    NewGrain {
        position: grain.position,
        velocity: grain.velocity,
        angular_velocity: grain.angular_velocity,
        orientation: grain.orientation,
        radius: grain.radius,
        mass: grain.mass,
        material: grain.material,
        shape,
    }
}

/// The shapes that grains may have.
fn outlines(def: &WorldDef) -> Vec<Outline> {
    let outline = |shape: usize| {
        let orientation = Orientation::Random;
        Outline::new(&def.shapes, Some(&ShapeUse { shape, orientation }))
    };
    (0..def.shapes.len()).map(outline).collect()
}

fn shape_in(outlines: &[Outline], grain: &GrainState) -> Option<GrainShape> {
    let outline = &outlines[(grain.shape as usize).checked_sub(1)?];
    outline.shape(grain.radius, grain.mass)
}

/// Rebuilds the frozen grains, which have places in tables by grain but no rows.
fn restore_frozen(
    def: &WorldDef,
    state: &WorldState,
    grains: &mut Grains,
) -> Result<Vec<FrozenGrain>, RestoreError> {
    let outlines = outlines(def);
    let mut all = Vec::new();
    for grain in state.frozen() {
        check_grain(def, grain)?;
        if grain.is_body() {
            let (id, what) = (grain.id, "shape");
            return Err(RestoreError::Grain { id, what });
        }
        let new = new_grain(grain, shape_in(&outlines, grain));
        grains.insert_as(grain.id, new, def.rotation);
        all.push(grains.freeze(grains.count() - 1));
    }
    Ok(all)
}

/// Rebuilds the arrays in the order of the state.
fn restore_grains(def: &WorldDef, state: &WorldState) -> Result<Grains, RestoreError> {
    let mut grains = Grains::default();
    let outlines = outlines(def);
    let Some(free) = state.grains.len().checked_sub(def.bodies.len()) else {
        return Err(RestoreError::Count {
            what: "bodies",
            expected: def.bodies.len(),
            found: state.grains.len(),
        });
    };
    for (row, grain) in state.grains.iter().enumerate() {
        check_grain(def, grain)?;
        let body = row.checked_sub(free).map(|k| (k, &def.bodies[k]));
        if body.is_some() != grain.is_body() {
            return Err(RestoreError::Grain {
                id: grain.id,
                what: "shape",
            });
        }
        let shape = match body {
            None => shape_in(&outlines, grain),
            Some((k, body)) => Some(body.grain_shape(def.shapes.len() + k)),
        };
        let new = new_grain(grain, shape);
        match body {
            None => grains.insert(new, def.rotation),
            Some((k, body)) => {
                let held = (body.locks, def.is_jointed(k));
                grains.insert_body(new, def.rotation, held, body.shape.bounding_box())
            }
        };
    }
    grains.passing = def.passing_bodies();
    grains.set_ids(state.grains.iter().map(|g| g.id).collect());
    Ok(grains)
}

/// Checks what no single grain has.
fn check_values(state: &WorldState) -> Result<(), RestoreError> {
    let amount = |x: f64| x.is_finite() && x >= 0.0;
    let progresses = |e: &EmitterProgress| [e.mass, e.due, e.next_radius].into_iter().all(amount);
    let remembers = |r: &Remembered| {
        let p = &r.impulse;
        let vectors = [r.normal, p.friction, p.rolling];
        vectors.iter().all(|v| v.is_finite()) && p.normal.is_finite() && p.twisting.is_finite()
    };
    let checks = [
        ("number of sweeps", state.sweeps > 0),
        ("emitter", state.emitters.iter().all(progresses)),
        ("impulse", state.remembered.iter().all(remembers)),
        ("sink", state.sinks.iter().flatten().all(|t| amount(t.mass))),
    ];
    match checks.into_iter().find(|(_, right)| !right) {
        Some((what, _)) => Err(RestoreError::Value { what }),
        None => Ok(()),
    }
}

fn check_grain(def: &WorldDef, grain: &GrainState) -> Result<(), RestoreError> {
    let id = grain.id;
    let checks = [
        ("position", grain.position.is_finite()),
        ("orientation", grain.orientation.is_finite()),
        ("velocity", grain.velocity.is_finite()),
        ("angular velocity", grain.angular_velocity.is_finite()),
        ("radius", grain.radius.is_finite() && grain.radius > 0.0),
        ("mass", grain.mass.is_finite() && grain.mass > 0.0),
        ("material", (grain.material as usize) < def.materials.len()),
        (
            "shape",
            grain.is_body() || grain.shape as usize <= def.shapes.len(),
        ),
    ];
    match checks.into_iter().find(|(_, right)| !right) {
        Some((what, _)) => Err(RestoreError::Grain { id, what }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::*;
    use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};

    fn methods() -> [Method; 2] {
        [
            Method::SubStepped(SubStepped::default()),
            Method::WholeStep(WholeStep {
                sweeps: 20,
                ..Default::default()
            }),
        ]
    }

    fn base(method: Method) -> WorldDef {
        WorldDef {
            step: 2e-3,
            method,
            materials: vec![Material {
                name: "glass".into(),
                density: 2500.0,
                young: 1e8,
                poisson: 0.3,
            }],
            pairs: vec![PairDef {
                materials: [0, 0],
                law: PairLaw {
                    rolling: 0.05,
                    restitution: 0.3,
                    ..Default::default()
                },
            }],
            ..Default::default()
        }
    }

    fn wall(shape: WallShape, pose: Pose, motion: Motion) -> WallDef {
        WallDef {
            motion,
            ..WallDef::new("wall", shape, pose)
        }
    }

    fn lattice(half: DVec3) -> PackingDef {
        PackingDef {
            material: 0,
            shape: None,
            velocity: DVec3::new(0.1, 0.0, -0.2),
            placement: Placement::Lattice {
                region: Region::Box {
                    half_extents: half,
                    pose: Pose::IDENTITY,
                },
                spacing: None,
                jitter: 0.5,
                count: None,
                sizes: SizeDistribution::Uniform {
                    min: 4e-3,
                    max: 6e-3,
                },
            },
        }
    }

    fn drum(method: Method) -> WorldDef {
        WorldDef {
            walls: vec![wall(
                WallShape::Cylinder {
                    radius: 0.06,
                    length: 0.05,
                    side: Side::Inside,
                    open: OpenFaces::NONE,
                },
                Pose::IDENTITY,
                Motion::Rotate {
                    axis: DVec3::Z,
                    centre: DVec3::ZERO,
                    rate: 3.0,
                    start: 0.05,
                    stop: f64::INFINITY,
                },
            )],
            gravity: DVec3::new(0.0, -9.81, 0.0),
            packings: vec![lattice(DVec3::new(0.035, 0.035, 0.02))],
            ..base(method)
        }
    }

    fn shaken_floor(method: Method) -> WorldDef {
        WorldDef {
            walls: vec![wall(
                WallShape::HalfSpace,
                Pose::from_position(DVec3::new(0.0, 0.0, -0.03)),
                Motion::Oscillate {
                    direction: DVec3::Z,
                    amplitude: 1e-3,
                    frequency: 10.0,
                    phase: 0.3,
                },
            )],
            packings: vec![lattice(DVec3::splat(0.03))],
            bounds: Some([DVec3::new(-0.045, -0.1, -0.1), DVec3::splat(0.2)]),
            ..base(method)
        }
    }

    fn emitter_and_sink(method: Method) -> WorldDef {
        let region = |centre, half| Region::Box {
            half_extents: DVec3::splat(half),
            pose: Pose::from_position(centre),
        };
        WorldDef {
            walls: vec![wall(WallShape::HalfSpace, Pose::IDENTITY, Motion::Still)],
            emitters: vec![EmitterDef {
                name: "hopper".into(),
                material: 0,
                shape: None,
                region: region(DVec3::Z * 0.03, 0.02),
                rate: Rate::Number(300.0),
                sizes: SizeDistribution::Uniform {
                    min: 3e-3,
                    max: 5e-3,
                },
                velocity: DVec3::new(0.3, 0.0, -0.5),
                total: Total::Unlimited,
                start: 0.0,
                stop: f64::INFINITY,
            }],
            sinks: vec![SinkDef {
                name: "bin".into(),
                region: region(DVec3::X * 1.05, 1.0),
            }],
            ..base(method)
        }
    }

    fn run(world: &mut World, steps: usize) {
        for _ in 0..steps {
            world.step().unwrap();
        }
    }

    #[test]
    fn a_restored_world_continues_with_identical_bits() {
        for build in [drum, shaken_floor, emitter_and_sink] {
            for method in methods() {
                let def = build(method);
                let mut whole = World::new(&def).unwrap();
                run(&mut whole, 100);
                let state = whole.state();
                let mut resumed = World::restore(&def, state.clone()).unwrap();
                assert_eq!(resumed.state(), state);
                run(&mut whole, 100);
                run(&mut resumed, 100);
                assert!(!whole.grains.is_empty());
                assert!(!state.remembered.is_empty());
                assert_eq!(whole.grains.state_hash(), resumed.grains.state_hash());
                assert_eq!(whole.state(), resumed.state());
            }
        }
        let mut world = World::new(&emitter_and_sink(methods()[0].clone())).unwrap();
        run(&mut world, 200);
        assert!(world.sinks[0].total().number > 10, "the sink was exercised");
    }

    #[test]
    fn impossible_states_of_sources_and_sinks_are_refused_by_name() {
        let def = emitter_and_sink(methods()[0].clone());
        let mut world = World::new(&def).unwrap();
        run(&mut world, 200);
        let good = world.state();
        let refused = |damage: &dyn Fn(&mut WorldState)| {
            let mut state = good.clone();
            damage(&mut state);
            World::restore(&def, state).err().map(|e| e.to_string())
        };
        assert_eq!(refused(&|_| {}), None);
        let text = refused(&|s| s.emitters[0].next_radius = f64::NAN);
        assert!(text.unwrap().contains("emitter"));
        let text = refused(&|s| s.sinks[0][0].mass = -1.0);
        assert!(text.unwrap().contains("sink"));
    }

    #[test]
    fn impossible_states_are_refused_by_name() {
        let def = drum(methods()[0].clone());
        let mut world = World::new(&def).unwrap();
        run(&mut world, 60);
        let good = world.state();
        let refused = |damage: &dyn Fn(&mut WorldState)| {
            let mut state = good.clone();
            damage(&mut state);
            match World::restore(&def, state) {
                Ok(_) => panic!("accepted"),
                Err(error) => error.to_string(),
            }
        };
        assert!(refused(&|s| s.sinks.push(Vec::new())).contains("1 sinks"));
        assert!(refused(&|s| s.grains[3].mass = 0.0).contains("impossible mass"));
        assert!(refused(&|s| s.grains[3].material = 9).contains("impossible material"));
        assert!(refused(&|s| s.grains[3].id = s.grains[4].id).contains("two grains"));
        let emitted = GrainId::new(1, 0);
        assert!(refused(&|s| s.grains[3].id = emitted).contains("grain 0 of emitter 0"));
        let nobody = GrainId::new(0, 1 << 40);
        assert!(refused(&|s| s.remembered[0].key.owner = nobody).contains("not there"));
        assert!(refused(&|s| s.remembered[0].impulse.normal = f64::NAN).contains("impulse"));
        assert!(refused(&|s| s.sweeps = 0).contains("sweeps"));
        assert!(refused(&|s| s.step_level = 40).contains("level 40"));
        assert!(refused(&|s| s.ticks += 1).contains("ticks"));
        assert!(refused(&|s| s.steps_done = u64::MAX).contains("ticks"));
    }
}
