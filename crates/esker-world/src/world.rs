//! The world: its state, how it is built and what can be read from it.

use esker_contact::{BodyState, GeneralContact, Impulse};
use esker_geometry::{BodyShape, Region};
use esker_machine::MachineError;
use esker_parallel::{Team, ThreadChoice};
use esker_solver::packed::{Law, Row};
use esker_solver::plan::SweepPlan;
use esker_solver::sweep::TangentCompliance;
use glam::DVec3;

use crate::assemble::Rows;
use crate::begin::Resolution;
use crate::bodies::Body;
use crate::check::Problem;
use crate::clock::Clock;
use crate::contact::ContactGeometry;
use crate::definition::{ContactSettings, Method, PairLaw, WorldDef};
use crate::energy::EnergyLedger;
use crate::ghosts::Ghosts;
use crate::grains::{Grains, NewGrain};
use crate::history::History;
use crate::intervention::AppliedForce;
use crate::machinery::Machinery;
use crate::material::{PairConstants, PairTable};
use crate::packing::{self, PackingError, PlacedGrain, PlacedGrains};
use crate::periodic::{Periodic, images};
use crate::reduction::Aggregates;
use crate::residency::Residency;
use crate::step::Workspace;
use crate::supply::{Emitter, Sink};
use crate::tool_forces::ToolWork;
use crate::validate::validate;
use crate::wall::Wall;

/// A granular system and everything that acts on it.
pub struct World {
    /// The grains.
    pub(crate) grains: Grains,
    /// The walls.
    pub(crate) walls: Vec<Wall>,
    /// Bodies of their own, in the order of the last rows of the table.
    pub(crate) bodies: Vec<Body>,
    pub(crate) machinery: Machinery,
    /// Sources.
    pub(crate) emitters: Vec<Emitter>,
    /// Sinks.
    pub(crate) sinks: Vec<Sink>,
    /// Grains that left the bounds since the start.
    pub(crate) lost: u64,
    /// Steps done since the start.
    pub(crate) steps_done: u64,
    pub(crate) history: History,
    pub(crate) gravity: DVec3,
    /// Length of the last step, s; of the first before it.
    pub(crate) step: f64,
    /// What the next step takes up as it begins.
    pub(crate) next: Resolution,
    pub(crate) clock: Clock,
    pub(crate) method: Method,
    pub(crate) accuracy: Option<f64>,
    pub(crate) longest_step: Option<f64>,
    pub(crate) contact: ContactSettings,
    pub(crate) rotation: bool,
    pub(crate) periodic: Option<Periodic>,
    pub(crate) bounds: Option<[DVec3; 2]>,
    pub(crate) pairs: PairTable,
    /// Of materials, kg/m³.
    pub(crate) densities: Vec<f64>,
    /// What others let act on grains over the next step.
    pub(crate) applied: Vec<AppliedForce>,
    /// Shapes of grains that are no spheres, then of bodies of their own.
    pub(crate) shapes: Vec<BodyShape>,
    pub(crate) team: Team,
    /// Chooses the team's threads step by step; none where they are fixed.
    pub(crate) thread_choice: Option<ThreadChoice>,
    pub(crate) plain_order: bool,
    /// Whether substeps sweep contacts in the order of devices.
    pub(crate) device_order: bool,
    pub(crate) most_flat: usize,
    pub(crate) energy: Option<EnergyLedger>,
    pub(crate) tool_work: ToolWork,
    /// Grains at rest that are frozen, where the definition wants it.
    pub(crate) aggregates: Option<Aggregates>,
    /// Regions whose grains are never frozen.
    pub(crate) watched: Vec<Region>,
    pub(crate) workspace: Workspace,
    pub(crate) residency: Residency,
}

/// The equations of a step; see [`World::last_problem`].
#[derive(Clone, Debug)]
pub struct LastProblem<'a> {
    /// Order of the contacts.
    pub plan: &'a SweepPlan,
    /// Laws, by the plan's index.
    pub laws: &'a [Law],
    /// Compliances of friction and rolling rows.
    pub compliance: TangentCompliance,
    /// Grains, then one body per contact with a wall.
    pub bodies: &'a [BodyState],
    /// What contacts of the general form have beside their rows.
    pub general: &'a [GeneralContact],
    /// Contacts in the order of the plan.
    pub rows: Vec<Row>,
}

/// Why a world could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A value of the definition is impossible.
    #[error(transparent)]
    Invalid(#[from] Problem),
    /// A machine cannot be built.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The grains that were placed before are those of another definition.
    #[error("the grains were placed for another definition: it has other materials or shapes")]
    OtherGrains,
    /// A packing could not be built.
    #[error("packing {index}: {source}")]
    Packing {
        /// Its index in the definition.
        index: usize,
        /// Why.
        source: PackingError,
    },
}

impl World {
    /// Builds a world at time zero.
    pub fn new(def: &WorldDef) -> Result<Self, BuildError> {
        validate(def)?;
        let mut placed = PlacedGrains::default();
        for index in 0..def.packings.len() {
            let grains = packing::place(def, index)
                .map_err(|source| BuildError::Packing { index, source })?;
            placed.add(index, grains);
        }
        World::build(def, placed)
    }

    /// Builds a world at time zero with the grains of this definition, which were placed
    /// before (see [`crate::check::place_grains`]).
    pub fn with_grains_of(def: &WorldDef, placed: PlacedGrains) -> Result<Self, BuildError> {
        validate(def)?;
        let fits = |PlacedGrain { grain, .. }: &PlacedGrain| {
            let shape = grain.shape.map_or(0, |shape| usize::from(shape.shape) + 1);
            usize::from(grain.material) < def.materials.len() && shape <= def.shapes.len()
        };
        match placed.grains.iter().all(fits) {
            true => World::build(def, placed),
            false => Err(BuildError::OtherGrains),
        }
    }

    fn build(def: &WorldDef, placed: PlacedGrains) -> Result<Self, BuildError> {
        let mut grains = Grains::default();
        let periodic = Periodic::new(&def.periodic);
        for PlacedGrain { grain, .. } in placed.grains {
            let position = periodic.map_or(grain.position, |p| p.wrapped(grain.position));
            grains.insert(NewGrain { position, ..grain }, def.rotation);
        }
        let wrapped = |x: DVec3| periodic.map_or(x, |p| p.wrapped(x));
        def.insert_bodies(&mut grains, wrapped);
        let (machinery, poses) = Machinery::new(def)?;
        let first = grains.count();
        for (k, pose) in poses.iter().enumerate().filter(|(k, _)| def.is_jointed(*k)) {
            grains.position[first + k] = pose.position;
            grains.orientation[first + k] = pose.orientation;
        }
        Ok(World::with_grains(def, grains, machinery))
    }

    /// The world of a valid definition at time zero with these grains in place
    /// and bodies in place of its own.
    pub(crate) fn with_grains(def: &WorldDef, grains: Grains, machinery: Machinery) -> Self {
        World {
            energy: def
                .energy_ledger
                .then(|| EnergyLedger::open(grains.kinetic_energy())),
            tool_work: ToolWork::default(),
            aggregates: Aggregates::new(def),
            watched: def.watched_regions(),
            grains,
            shapes: {
                let of_bodies = def.bodies.iter().map(|body| body.shape.clone());
                def.shapes.iter().cloned().chain(of_bodies).collect()
            },
            bodies: def.bodies.iter().map(Body::new).collect(),
            machinery,
            walls: def.walls.iter().map(|w| Wall::new(w, def.step)).collect(),
            emitters: (0..def.emitters.len())
                .map(|i| Emitter::new(def, i))
                .collect(),
            sinks: def.sinks.iter().map(Sink::new).collect(),
            lost: 0,
            steps_done: 0,
            history: History::default(),
            gravity: def.gravity,
            step: def.step,
            next: Resolution {
                level: 0,
                sweeps: def.method.sweeps(),
            },
            clock: Clock::new(def.step),
            method: def.method.clone(),
            accuracy: def.accuracy,
            longest_step: def.longest_step,
            contact: def.contact.clone(),
            rotation: def.rotation,
            periodic: Periodic::new(&def.periodic),
            bounds: def.bounds,
            pairs: PairTable::new(&def.materials, &def.pairs),
            densities: def.materials.iter().map(|m| m.density).collect(),
            applied: Vec::new(),
            team: Team::default(),
            thread_choice: None,
            plain_order: false,
            device_order: false,
            most_flat: esker_solver::plan::MOST_FLAT,
            workspace: Workspace::default(),
            residency: Residency::default(),
        }
    }

    /// Steps from now on use exactly this many threads (at first one). Results
    /// do not depend on it.
    pub fn set_threads(&mut self, threads: usize) {
        self.thread_choice = None;
        self.team.set_threads(threads);
    }

    /// Steps from now on use as many threads as are fastest, up to this many:
    /// one where there is little to do, fewer while the machine is busy with
    /// other work. Results do not depend on it.
    pub fn set_max_threads(&mut self, threads: usize) {
        self.thread_choice = Some(ThreadChoice::up_to(threads));
    }

    /// Threads that the last step used.
    pub fn threads(&self) -> usize {
        self.team.threads()
    }

    /// Lets steps sweep contacts one by one in plain serial order, bottom up,
    /// instead of in blocks: slow, for comparisons of the two.
    pub fn set_plain_order(&mut self, plain: bool) {
        self.plain_order = plain;
    }

    /// Lets substeps sweep contacts by colours, an order that suits devices: they need far fewer
    /// rounds. (It is no default: loads climb a column of grains a little slower.)
    pub fn set_device_order(&mut self, device_order: bool) {
        self.device_order = device_order;
    }

    /// Contacts up to which the colours of that order are those of all of space, and not of blocks;
    /// for comparisons of the two.
    pub fn set_most_flat(&mut self, contacts: usize) {
        self.most_flat = contacts;
    }

    /// The equations of the last step once more, with the velocities and
    /// impulses that it ended with: something real to measure solvers on.
    pub fn last_problem(&self) -> LastProblem<'_> {
        let work = &self.workspace;
        let rows = Rows {
            equations: &work.equations,
            grains: &self.grains,
            walls: &self.walls,
            pairs: &self.pairs,
            contacts: &work.contacts,
            ghosts: Ghosts::new(&self.grains, &work.collider.plan, &work.between_ghosts),
            impulses: &work.impulses,
            constants: self.step_constants(),
        };
        LastProblem {
            plan: &work.collider.plan,
            laws: &work.equations.laws,
            compliance: work.equations.compliance,
            bodies: &work.equations.bodies,
            general: &work.equations.general,
            rows: (0..work.contacts.len())
                .map(|i| rows.row::<true>(i))
                .collect(),
        }
    }

    /// Grains, and bodies of their own after them.
    #[inline]
    pub fn grains(&self) -> &Grains {
        &self.grains
    }

    /// Walls, in the order of the definition.
    #[inline]
    pub fn walls(&self) -> &[Wall] {
        &self.walls
    }

    /// Bodies of their own, in the order of the definition.
    #[inline]
    pub fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    /// Sources, in the order of the definition.
    pub fn emitters(&self) -> &[Emitter] {
        &self.emitters
    }

    /// Sinks, in the order of the definition.
    pub fn sinks(&self) -> &[Sink] {
        &self.sinks
    }

    /// Grains that left the bounds since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Steps done since the start.
    pub fn steps_done(&self) -> u64 {
        self.steps_done
    }

    /// Time now, s.
    pub fn time(&self) -> f64 {
        self.clock.time(self.steps_done)
    }

    /// Length h of the last step, s; of the first before it. Where an accuracy
    /// is kept, the next one may be shorter or longer.
    pub fn step_length(&self) -> f64 {
        self.step
    }

    /// How steps advance the state, with the sweeps of the last step.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Shapes that grains may have, by the index that they carry.
    pub fn shapes(&self) -> &[BodyShape] {
        &self.shapes[..self.shapes.len() - self.bodies.len()]
    }

    /// The shape of a body of its own, in the frame of its table row.
    pub fn body_shape(&self, body: usize) -> &BodyShape {
        &self.shapes[self.shapes.len() - self.bodies.len() + body]
    }

    /// Gravity, m/s².
    pub fn gravity(&self) -> DVec3 {
        self.gravity
    }

    /// The image of a place that is nearest to another place, m: another one
    /// than the place itself only across periodic boundaries.
    pub fn nearest_image(&self, place: DVec3, to: DVec3) -> DVec3 {
        self.periodic
            .map_or(place, |periodic| periodic.nearest_image(place, to))
    }

    /// Where a place is seen, m: there, and across periodic boundaries at the
    /// same place in all boxes around.
    pub fn images(&self, place: DVec3) -> impl Iterator<Item = DVec3> {
        images(self.periodic.as_ref(), place)
    }

    /// The law of a contact of the last step.
    pub fn law_of(&self, contact: &ContactGeometry) -> &PairLaw {
        &self.pair_of(contact).law
    }

    /// Law and stiffness of a contact of the last step.
    pub(crate) fn pair_of(&self, contact: &ContactGeometry) -> &PairConstants {
        pair_of(contact, &self.pairs, &self.grains, &self.walls)
    }

    /// Contacts of the last step with the impulses of their last substep
    /// (divide by [`World::substep`] for forces). Dense indices in them are
    /// those of the grains now: grains come and go as the next step begins.
    pub fn contacts(&self) -> impl ExactSizeIterator<Item = (&ContactGeometry, &Impulse)> {
        self.workspace.contacts.iter().zip(&self.workspace.impulses)
    }
}

/// Law and stiffness of a contact of these grains and walls.
pub(crate) fn pair_of<'a>(
    contact: &ContactGeometry,
    pairs: &'a PairTable,
    grains: &Grains,
    walls: &[Wall],
) -> &'a PairConstants {
    let own = grains.material[contact.grain as usize];
    let other = contact.partner.material(grains, walls);
    pairs.at(pairs.index(own, other, contact.class))
}
