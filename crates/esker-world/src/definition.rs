//! What a world is made of: plain data, which [`crate::World::new`] validates and turns
//! into a running [`crate::World`].
//!
//! All quantities are SI: metre, kilogram, second, pascal, radian.

use std::sync::Arc;

use esker_geometry::{BodyShape, Pose, Region, WallShape};
use esker_machine::{DriveDef, GearDef, JointDef};
use glam::{DQuat, DVec3};

/// Everything needed to build a [`crate::World`].
#[derive(Clone, Debug)]
pub struct WorldDef {
    /// Gravitational acceleration, m/s².
    pub gravity: DVec3,
    /// Time step `h`, s.
    pub step: f64,
    /// How a step advances the state.
    pub method: Method,
    /// Mean overlap beyond the contact law that is kept by setting the sweeps
    /// while running, in diameters; `None`: sweeps stay as they are.
    pub accuracy: Option<f64>,
    /// Longest step that may be taken where an accuracy is kept, s; the step then
    /// changes by factors of two. `None`: the step stays.
    pub longest_step: Option<f64>,
    /// Settings of the contact model that are not material properties.
    pub contact: ContactSettings,
    /// Whether grains rotate; `false` locks all rotation.
    pub rotation: bool,
    /// Seed of every random stream.
    pub seed: u64,
    /// Materials of grains and walls; others refer to them by index.
    pub materials: Vec<Material>,
    /// Laws of pairs of materials; a pair not listed gets [`PairLaw::default`].
    pub pairs: Vec<PairDef>,
    /// Shapes of grains that are no spheres; others refer to them by index.
    pub shapes: Vec<BodyShape>,
    /// Walls, in the order of their ids.
    pub walls: Vec<WallDef>,
    /// Grains present at the start.
    pub packings: Vec<PackingDef>,
    /// Single, named rigid bodies.
    pub bodies: Vec<BodyDef>,
    /// Joints between bodies, or of bodies with the ground; bodies by their index in `bodies`.
    pub joints: Vec<JointDef>,
    /// Gears between joints.
    pub gears: Vec<GearDef>,
    /// Drives of joints.
    pub drives: Vec<DriveDef>,
    /// Sources of grains.
    pub emitters: Vec<EmitterDef>,
    /// Regions that remove grains.
    pub sinks: Vec<SinkDef>,
    /// Axes along which the world continues itself: from where to where, m.
    pub periodic: [Option<[f64; 2]>; 3],
    /// Grains whose centre leaves this box are removed and counted as lost.
    pub bounds: Option<[DVec3; 2]>,
    /// Whether the energy ledger is kept: a pass over all contacts per substep.
    pub energy_ledger: bool,
    /// Whether and when grains at rest are frozen to the walls that they rest on.
    pub reduction: Option<Reduction>,
    /// Regions whose grains are never frozen.
    pub sensors: Vec<SensorDef>,
}

impl Default for WorldDef {
    fn default() -> Self {
        WorldDef {
            gravity: DVec3::new(0.0, 0.0, -9.81),
            step: 5e-3,
            method: Method::default(),
            accuracy: None,
            longest_step: None,
            contact: ContactSettings::default(),
            rotation: true,
            seed: 1,
            materials: Vec::new(),
            pairs: Vec::new(),
            shapes: Vec::new(),
            walls: Vec::new(),
            packings: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            gears: Vec::new(),
            drives: Vec::new(),
            emitters: Vec::new(),
            sinks: Vec::new(),
            periodic: [None; 3],
            bounds: None,
            energy_ledger: false,
            reduction: None,
            sensors: Vec::new(),
        }
    }
}

impl WorldDef {
    /// Regions whose grains are never frozen: sensors, and where grains come and go.
    pub(crate) fn watched_regions(&self) -> Vec<Region> {
        let sensors = self.sensors.iter().map(|sensor| sensor.region);
        let sinks = self.sinks.iter().map(|sink| sink.region);
        // A grain outside reaches into the region of an emitter by a radius, and so does a new
        // one out of it.
        let emitters = self.emitters.iter().map(|emitter| {
            let room = 2.0 * emitter.sizes.max();
            emitter.region.shrunk(-room).unwrap_or(emitter.region)
        });
        sensors.chain(sinks).chain(emitters).collect()
    }
}

/// When grains at rest are frozen, and when they are set free. Speeds are in units of `√(g d)`,
/// times of `√(d/g)`, with the mean diameter `d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// Speed relative to the walls, of the centre and of the surface by rotation, up to which a
    /// grain is at rest.
    pub rest_speed: f64,
    /// Acceleration up to which it is, over `g`.
    pub rest_acceleration: f64,
    /// How long it is at rest before it is frozen.
    pub rest_time: f64,
    /// Speed of approach or slip of free grains from which on what they hit is set free.
    pub impact_speed: f64,
    /// Imbalance of forces on a frozen grain that sets it free, over what it carries.
    pub imbalance: f64,
    /// How often all grains of an aggregate are set free to find out whether they still rest.
    pub refresh_time: f64,
    /// By how much that time may grow where they do.
    pub refresh_growth: f64,
    /// What tells that forces set frozen grains free.
    pub split: Split,
}

impl Default for Reduction {
    fn default() -> Self {
        Reduction {
            rest_speed: 0.015,
            rest_acceleration: 0.3,
            rest_time: 0.55,
            impact_speed: 0.42,
            imbalance: 0.4,
            refresh_time: 5.5,
            refresh_growth: 64.0,
            split: Split::Balance,
        }
    }
}

/// What tells that forces set frozen grains free.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Split {
    /// The balance of forces on grains that touch free ones, and setting all free from time to
    /// time.
    #[default]
    Balance,
    /// A trial step of all grains after each step (Servin and Wang 2015), in place of both: much
    /// dearer than simulating all grains, and here to be compared with.
    Trial(Trial),
}

/// What a trial step is judged by. Speeds are in units of `√(g d)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Sweeps of the trial's solve, which starts from the last impulses.
    pub sweeps: usize,
    /// Imbalance of forces on a grain over the sum of weight and contact force that sets it free.
    pub force: f64,
    /// Speed of approach at a contact that does.
    pub approach: f64,
    /// Speed of separation.
    pub separation: f64,
    /// Speed of slip.
    pub slip: f64,
}

impl Default for Trial {
    fn default() -> Self {
        Trial {
            sweeps: 50,
            force: 0.15,
            approach: 7.3,
            separation: 0.73,
            slip: 0.73,
        }
    }
}

/// A region whose grains are never frozen.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorDef {
    /// Name used by reports.
    pub name: String,
    /// The region.
    pub region: Region,
}

/// How a step advances the state.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Contacts once per step, then substeps of one warm-started sweep each.
    SubStepped(SubStepped),
    /// Impact stage, then one contact solve over the whole step.
    WholeStep(WholeStep),
    /// Explicit springs and dashpots (see `smooth.rs`).
    Smooth(Smooth),
}

impl Default for Method {
    fn default() -> Self {
        Method::SubStepped(SubStepped::default())
    }
}

impl Method {
    /// Sweeps of the main stage per step: the limit for a whole step.
    pub fn sweeps(&self) -> usize {
        match self {
            Method::SubStepped(m) => m.substeps,
            Method::WholeStep(m) => m.sweeps,
            Method::Smooth(m) => m.substeps,
        }
    }

    /// How far a body falls from rest within a step, in units of `g h²`:
    /// `(n + 1)/2n` where it is moved n times.
    pub(crate) fn free_fall_factor(&self) -> f64 {
        let moves = self.moves();
        0.5 * (moves + 1.0) / moves
    }

    /// How many further impacts one after another contacts are predicted from:
    /// substeps pass impacts on one by one, a whole step's solve all at once.
    pub(crate) fn impact_chain(&self) -> usize {
        match self {
            Method::SubStepped(_) | Method::Smooth(_) => 1,
            Method::WholeStep(_) => 4,
        }
    }

    /// How often a step moves bodies.
    pub(crate) fn moves(&self) -> f64 {
        self.moves_with(self.sweeps())
    }

    /// How often a step would move bodies with so many sweeps.
    pub(crate) fn moves_with(&self, sweeps: usize) -> f64 {
        match self {
            Method::SubStepped(_) | Method::Smooth(_) => sweeps as f64,
            Method::WholeStep(_) => 1.0,
        }
    }

    /// Stiffness cap κ of its rows; zero for none.
    pub(crate) fn stiffness_cap(&self) -> f64 {
        match self {
            Method::SubStepped(m) => m.stiffness_cap,
            Method::WholeStep(_) | Method::Smooth(_) => 0.0,
        }
    }

    /// Sets the number that [`Method::sweeps`] gives.
    pub fn set_sweeps(&mut self, sweeps: usize) {
        match self {
            Method::SubStepped(m) => m.substeps = sweeps,
            Method::WholeStep(m) => m.sweeps = sweeps,
            Method::Smooth(m) => m.substeps = sweeps,
        }
    }

    /// The residual tolerance that steps are judged by, if any.
    pub fn tolerance(&self) -> Option<f64> {
        match self {
            Method::SubStepped(m) => m.tolerance,
            Method::WholeStep(m) => m.tolerance,
            Method::Smooth(_) => None,
        }
    }
}

/// Settings of the sub-stepped way.
#[derive(Clone, Debug, PartialEq)]
pub struct SubStepped {
    /// Substeps `n` per step, each with one sweep.
    pub substeps: usize,
    /// Stiffness cap κ: 1 is stable for any stack, smaller is stiffer and less safe.
    pub stiffness_cap: f64,
    /// Residual above which a step is reported as unconverged; `None`: not judged.
    pub tolerance: Option<f64>,
}

impl Default for SubStepped {
    fn default() -> Self {
        SubStepped {
            substeps: 25,
            stiffness_cap: 1.0,
            tolerance: None,
        }
    }
}

/// Settings of smooth stepping.
#[derive(Clone, Debug, PartialEq)]
pub struct Smooth {
    /// Substeps per step at least; steps take a multiple where collisions ask
    /// for shorter ones (see `smooth.rs`).
    pub substeps: usize,
    /// Tangential over normal stiffness α.
    pub tangential_stiffness: f64,
    /// Rolling over tangential stiffness β, in squares of the effective radius.
    pub rolling_stiffness: f64,
}

impl Default for Smooth {
    fn default() -> Self {
        Smooth {
            substeps: 100,
            tangential_stiffness: 2.0 / 7.0,
            rolling_stiffness: 1.0,
        }
    }
}

/// Settings of the whole-step way.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeStep {
    /// What solves the contact problem of the main stage.
    pub solver: Solver,
    /// Most sweeps of the main stage per step, or the fewest where an accuracy is
    /// kept (see `accuracy.rs`); iterations, in its own unit, of a named
    /// solver.
    pub sweeps: usize,
    /// Residual at which the solve stops early; `None`: always all sweeps.
    pub tolerance: Option<f64>,
    /// Where the solve starts from.
    pub warm_start: WarmStart,
    /// Sweeps of the impact stage, run only in steps with an impact.
    pub impact_sweeps: usize,
}

impl Default for WholeStep {
    fn default() -> Self {
        WholeStep {
            solver: Solver::Sweep,
            sweeps: 100,
            tolerance: None,
            warm_start: WarmStart::History { factor: 0.85 },
            impact_sweeps: 20,
        }
    }
}

/// What solves a whole step.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Solver {
    /// The projected Gauss–Seidel sweep of steps, on lanes and threads.
    #[default]
    Sweep,
    /// A solver of `esker_solver::registry` by name.
    Named(String),
}

/// Where a whole-step solve starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmStart {
    /// From zero.
    Cold,
    /// From the last step's impulses times a factor.
    History {
        /// Factor β; 0.85 is the papers' choice, 1 leaves no bias but damps less.
        /// A stated accuracy needs 1 (see `accuracy.rs`).
        factor: f64,
    },
    /// From the last step's normal impulses times a factor; friction and
    /// rolling from zero. For comparison: it gains little.
    HistoryOfNormals {
        /// Factor β.
        factor: f64,
    },
    /// As `History`, but without the velocity change that belongs to the
    /// impulses. For comparison: it is worse than `Cold`.
    HistoryWithoutVelocity {
        /// Factor β.
        factor: f64,
    },
    /// From the static contact law, `p = h k_n δ^(3/2)`.
    Model,
}

impl WarmStart {
    /// From all of the last step's impulses: what an accuracy is kept with.
    pub const FULL_HISTORY: WarmStart = WarmStart::History { factor: 1.0 };
}

/// Settings of the contact model that are not material properties.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactSettings {
    /// Contacts whose oscillation a step does not resolve are damped over this
    /// many steps (`n_s`).
    pub damping_steps: f64,
    /// Contacts are predicted up to this gap, in diameters of the smaller grain,
    /// and farther where grains approach fast.
    pub margin: f64,
    /// Compliance of friction over the contact's own mobility `S_t`: a sticking
    /// contact creeps at this share of the velocity that its friction force
    /// would give to the free bodies within a substep (or step).
    pub friction_compliance: f64,
    /// Compliance of rolling and twisting over the contact's own mobility `S_r`.
    pub rolling_compliance: f64,
    /// Approach speed above which a contact is an impact with restitution, m/s;
    /// `None`: what two steps of free fall give, `2 g h`.
    pub impact_speed: Option<f64>,
}

impl Default for ContactSettings {
    fn default() -> Self {
        ContactSettings {
            damping_steps: 2.0,
            margin: 0.05,
            friction_compliance: 1e-7,
            rolling_compliance: 1e-7,
            impact_speed: None,
        }
    }
}

/// A material of grains or walls.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name used by scenes and reports.
    pub name: String,
    /// Mass density, kg/m³ (grains only).
    pub density: f64,
    /// Young's modulus, Pa.
    pub young: f64,
    /// Poisson's ratio.
    pub poisson: f64,
}

/// The law between two materials.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDef {
    /// Indices into [`WorldDef::materials`]; order does not matter.
    pub materials: [usize; 2],
    /// The law.
    pub law: PairLaw,
}

/// How two materials behave in contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairLaw {
    /// Normal force law.
    pub normal: NormalLaw,
    /// Coulomb friction coefficient µ.
    pub friction: f64,
    /// Rolling resistance coefficient µ_r (tangent of the angle at which a grain starts to roll).
    pub rolling: f64,
    /// Twisting resistance coefficient µ_w.
    pub twisting: f64,
    /// Whether rolling and twisting resistance act on bodies that are no spheres too: mostly
    /// their shape does what it stands for.
    pub rolling_of_shapes: bool,
    /// Newton's coefficient of restitution e.
    pub restitution: f64,
    /// Viscous damping time `c` of the normal force, s.
    pub damping: f64,
    /// Attraction, on top of the normal force.
    pub cohesion: Cohesion,
}

impl Default for PairLaw {
    fn default() -> Self {
        PairLaw {
            normal: NormalLaw::Hertz,
            friction: 0.5,
            rolling: 0.0,
            twisting: 0.0,
            rolling_of_shapes: false,
            restitution: 0.0,
            damping: 0.0,
            cohesion: Cohesion::None,
        }
    }
}

/// How two materials attract each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cohesion {
    /// Not at all.
    #[default]
    None,
    /// With a constant force while they touch, N.
    Force(f64),
    /// With the force of a work of adhesion, J/m², while they touch.
    Energy(f64),
    /// By a bridge of liquid, up to the gap at which it ruptures.
    Liquid {
        /// Volume of one bridge, m³.
        volume: f64,
        /// Surface tension, N/m.
        surface_tension: f64,
        /// Contact angle of the liquid on the bodies, rad.
        contact_angle: f64,
    },
}

/// Normal force law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NormalLaw {
    /// `f = k δ^(3/2)` with the stiffness from the elastic moduli.
    Hertz,
    /// `f = k δ`.
    Linear {
        /// Stiffness `k`, N/m.
        stiffness: f64,
    },
}

/// A wall: a shape that grains touch and cannot move.
#[derive(Clone, Debug)]
pub struct WallDef {
    /// Name used by reports.
    pub name: String,
    /// Its shape, in its own frame.
    pub shape: WallShape,
    /// Where the shape's frame is at time zero.
    pub pose: Pose,
    /// Index into [`WorldDef::materials`].
    pub material: usize,
    /// How it moves.
    pub motion: Motion,
    /// Velocity of its surface relative to the wall, in the wall's own frame,
    /// m/s: a conveyor belt. Only the part along the surface acts.
    pub surface_velocity: DVec3,
    /// When it is there.
    pub presence: Presence,
}

impl WallDef {
    /// A wall of material 0 that is always there and stands still.
    pub fn new(name: impl Into<String>, shape: WallShape, pose: Pose) -> Self {
        WallDef {
            name: name.into(),
            shape,
            pose,
            material: 0,
            motion: Motion::Still,
            surface_velocity: DVec3::ZERO,
            presence: Presence::ALWAYS,
        }
    }
}

/// The time for which a wall is there, s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presence {
    /// It appears at this time.
    pub from: f64,
    /// It vanishes at this time.
    pub until: f64,
}

impl Presence {
    /// From the start to the end.
    pub const ALWAYS: Presence = Presence {
        from: 0.0,
        until: f64::INFINITY,
    };

    /// Whether the wall is there at a time, s.
    pub fn contains(&self, time: f64) -> bool {
        (self.from..self.until).contains(&time)
    }
}

/// How a wall moves: a closed function of time, so that nothing drifts and a
/// restart needs no state.
#[derive(Clone, Debug, PartialEq)]
pub enum Motion {
    /// Stands still.
    Still,
    /// Moves with a constant velocity, m/s, from `start` to `stop` seconds.
    Translate {
        /// Velocity, m/s.
        velocity: DVec3,
        /// Time at which it starts, s.
        start: f64,
        /// Time at which it stops, s.
        stop: f64,
    },
    /// Turns about a fixed axis with constant rate from `start` to `stop` seconds.
    Rotate {
        /// Unit axis.
        axis: DVec3,
        /// A point of the axis, m.
        centre: DVec3,
        /// Rate, rad/s, right-handed about the axis.
        rate: f64,
        /// Time at which it starts, s.
        start: f64,
        /// Time at which it stops, s.
        stop: f64,
    },
    /// Moves as `direction · amplitude · sin(2π frequency t + phase)`, offset
    /// so that the displacement is zero at time zero.
    Oscillate {
        /// Unit direction.
        direction: DVec3,
        /// Amplitude, m.
        amplitude: f64,
        /// Frequency, Hz.
        frequency: f64,
        /// Phase, rad.
        phase: f64,
    },
    /// Follows a table by linear interpolation; before the first and after the
    /// last row it stands.
    Table {
        /// Times, s, strictly increasing.
        times: Vec<f64>,
        /// Displacements, m, one per time.
        displacements: Vec<DVec3>,
        /// Angles about `axis` through `centre`, rad, one per time.
        angles: Vec<f64>,
        /// Unit axis of the angles.
        axis: DVec3,
        /// A point of the axis, m (it moves with the displacement).
        centre: DVec3,
    },
    /// Another motion from `start` to `stop` seconds: its own time counts from
    /// `start`, and it stays where it is at `stop`.
    During {
        /// The motion.
        motion: Box<Motion>,
        /// Time at which it starts, s.
        start: f64,
        /// Time at which it stops, s.
        stop: f64,
    },
    /// Several motions at once. Displacements add up and carry the axes of
    /// rotations along; each rotation carries along those before it.
    Together(Vec<Motion>),
}

/// Sizes of grains.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// All grains the same.
    Fixed {
        /// Radius, m.
        radius: f64,
    },
    /// Radii uniform between two values.
    Uniform {
        /// Smallest radius, m.
        min: f64,
        /// Largest radius, m.
        max: f64,
    },
    /// Radii normally distributed, cut off at two values.
    Normal {
        /// Mean radius, m.
        mean: f64,
        /// Standard deviation, m.
        deviation: f64,
        /// Smallest radius, m.
        min: f64,
        /// Largest radius, m.
        max: f64,
    },
    /// Logarithms of radii normally distributed, cut off at two values.
    LogNormal {
        /// Median radius, m.
        median: f64,
        /// Standard deviation of ln(radius).
        deviation: f64,
        /// Smallest radius, m.
        min: f64,
        /// Largest radius, m.
        max: f64,
    },
    /// A mixture of fixed sizes.
    Mixture {
        /// Radii, m.
        radii: Vec<f64>,
        /// Share of each, any positive scale.
        shares: Vec<f64>,
        /// Whether shares count mass rather than number.
        by_mass: bool,
    },
}

/// Grains present at the start.
#[derive(Clone, Debug)]
pub struct PackingDef {
    /// Index into [`WorldDef::materials`].
    pub material: usize,
    /// Shape of its grains; `None` for spheres. Sizes are then radii of spheres of
    /// equal volume.
    pub shape: Option<ShapeUse>,
    /// Velocity of all its grains at the start, m/s.
    pub velocity: DVec3,
    /// How they are placed.
    pub placement: Placement,
}

/// Which shape grains have, and how they are turned at first.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeUse {
    /// Index into [`WorldDef::shapes`].
    pub shape: usize,
    /// Orientation of new grains.
    pub orientation: Orientation,
}

/// Orientation of new grains.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Orientation {
    /// All orientations are equally likely.
    #[default]
    Random,
    /// The same for all, a unit quaternion.
    Given(DQuat),
    /// Of each grain of [`Placement::Listed`], unit quaternions in its order.
    Listed(Arc<Vec<DQuat>>),
}

/// How grains are placed at the start.
#[derive(Clone, Debug)]
pub enum Placement {
    /// A cubic lattice that fills a region, bottom up.
    Lattice {
        /// Region that holds every grain's whole lattice cell centre.
        region: Region,
        /// Distance of neighbours, m; `None`: 1.02 times the largest diameter.
        spacing: Option<f64>,
        /// Random displacement per axis, as a share of the free space between neighbours (0…1).
        jitter: f64,
        /// This many grains, from the bottom up; `None`: as many as fit.
        count: Option<usize>,
        /// Sizes.
        sizes: SizeDistribution,
    },
    /// Random places without overlap.
    Random {
        /// Region that holds the grains' centres.
        region: Region,
        /// How many.
        count: usize,
        /// Sizes.
        sizes: SizeDistribution,
    },
    /// A random packing, dense or loose.
    Packed {
        /// Region that holds the whole grains.
        region: Region,
        /// Share of the region that grains fill.
        fraction: f64,
        /// Sizes.
        sizes: SizeDistribution,
    },
    /// Grains one above another.
    Column {
        /// Where the column's foot stands (the lowest point of its first grain), m.
        base: DVec3,
        /// Unit direction in which it grows.
        direction: DVec3,
        /// How many.
        count: usize,
        /// Gap between neighbours (negative: overlap), m.
        gap: f64,
        /// Sizes.
        sizes: SizeDistribution,
    },
    /// Listed one by one.
    Listed {
        /// The grains.
        grains: Arc<Vec<ListedGrain>>,
    },
}

/// One grain of [`Placement::Listed`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListedGrain {
    /// Centre, m.
    pub position: DVec3,
    /// Radius, m.
    pub radius: f64,
    /// Velocity, m/s, added to the packing's.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
}

/// A single, named rigid body that moves freely.
#[derive(Clone, Debug)]
pub struct BodyDef {
    /// Name used by reports.
    pub name: String,
    /// Its shape, about the centre of mass, in the principal axes of inertia.
    pub shape: BodyShape,
    /// Mass, kg.
    pub mass: f64,
    /// Principal moments of inertia, kg m², about the axes of the shape.
    pub moments: DVec3,
    /// Pose of the frame that the body is given in, in the frame of the shape.
    pub frame: Pose,
    /// Pose of that frame at time zero.
    pub pose: Pose,
    /// Velocity of the centre of mass at the start, m/s.
    pub velocity: DVec3,
    /// Angular velocity at the start, rad/s, world axes.
    pub angular_velocity: DVec3,
    /// Index into [`WorldDef::materials`].
    pub material: usize,
    /// What it cannot do.
    pub locks: Locks,
    /// Bodies of one group do not touch each other.
    pub group: Option<String>,
    /// Force on its centre of mass, N, world axes.
    pub force: VectorOfTime,
    /// Torque on it, N m, world axes.
    pub torque: VectorOfTime,
}

impl BodyDef {
    /// A homogeneous body of this mass, kg, that rests with its centre of mass at the origin, its
    /// axes those of the shape.
    pub fn new(name: impl Into<String>, shape: BodyShape, mass: f64) -> Self {
        BodyDef {
            name: name.into(),
            moments: shape.mass_properties().inertia_per_mass * mass,
            shape,
            mass,
            frame: Pose::IDENTITY,
            pose: Pose::IDENTITY,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            material: 0,
            locks: Locks::default(),
            group: None,
            force: VectorOfTime::default(),
            torque: VectorOfTime::default(),
        }
    }
}

/// World axes that a body is locked in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// Axes that its centre of mass does not move along.
    pub translation: [bool; 3],
    /// Axes that it does not rotate about.
    pub rotation: [bool; 3],
}

/// A vector that may change with time.
#[derive(Clone, Debug, PartialEq)]
pub enum VectorOfTime {
    /// The same at all times.
    Constant(DVec3),
    /// Between the rows of a table by linear interpolation; before the first and after the last
    /// it is what they say.
    Table {
        /// Times, s, strictly increasing.
        times: Vec<f64>,
        /// Values, one per time.
        values: Vec<DVec3>,
    },
}

impl Default for VectorOfTime {
    fn default() -> Self {
        VectorOfTime::Constant(DVec3::ZERO)
    }
}

/// A source of grains.
#[derive(Clone, Debug)]
pub struct EmitterDef {
    /// Name used by reports.
    pub name: String,
    /// Index into [`WorldDef::materials`].
    pub material: usize,
    /// Shape of its grains, as in [`PackingDef::shape`].
    pub shape: Option<ShapeUse>,
    /// Region in which grains appear (centres).
    pub region: Region,
    /// How fast.
    pub rate: Rate,
    /// Sizes.
    pub sizes: SizeDistribution,
    /// Velocity of new grains, m/s.
    pub velocity: DVec3,
    /// Stops after this much.
    pub total: Total,
    /// Time of the first grain, s.
    pub start: f64,
    /// Time after which no grain appears, s.
    pub stop: f64,
}

/// How fast an emitter works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Grains per second.
    Number(f64),
    /// Kilograms per second.
    Mass(f64),
}

/// When an emitter has given all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Total {
    /// Never.
    Unlimited,
    /// After this many grains.
    Number(u64),
    /// When the next grain would exceed this mass, kg.
    Mass(f64),
}

/// A region that removes grains and counts them.
#[derive(Clone, Debug)]
pub struct SinkDef {
    /// Name used by reports.
    pub name: String,
    /// A grain is removed when its centre is inside.
    pub region: Region,
}
