//! The table of bodies: structure of arrays with dense indices inside, ids
//! outside. Grains come first, bodies of their own (see `bodies.rs`) after
//! them, in their order: the rows of grains change, those of bodies stay.

use esker_contact::BodyState;
use esker_geometry::{Aabb, BodyShape, Pose};
use esker_parallel::{ExactSum, Team};
use glam::{DMat3, DQuat, DVec3};

use crate::definition::Locks;
use crate::diameters::{Diameters, RadiusStatistics};

/// Name of a grain: where it came from, and which it was of those that came from there. It
/// is never given to another one, and depends neither on what else comes and goes nor on
/// where the grain is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrainId(u64);

/// Bits of an id that count; the source is above them.
const SERIAL_BITS: u32 = 48;

impl GrainId {
    /// Sources that ids can tell apart: contact keys need the highest bit.
    pub const SOURCES: usize = 1 << (63 - SERIAL_BITS);

    /// The grain with this number, from zero on, of those that were there at the start
    /// (source zero) or came from an emitter (one more than its index).
    #[inline]
    pub fn new(source: usize, serial: u64) -> Self {
        debug_assert!(source < Self::SOURCES && serial < 1 << SERIAL_BITS);
        GrainId((source as u64) << SERIAL_BITS | serial)
    }

    /// Zero for what was there at the start, else one more than the index of an emitter.
    #[inline]
    pub fn source(self) -> usize {
        (self.0 >> SERIAL_BITS) as usize
    }

    /// Its number among those of its source.
    #[inline]
    pub fn serial(self) -> u64 {
        self.0 & ((1 << SERIAL_BITS) - 1)
    }

    /// The id as one number.
    #[inline]
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The id that is this number.
    #[inline]
    pub fn from_u64(number: u64) -> Self {
        GrainId(number)
    }
}

impl std::fmt::Display for GrainId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.source() {
            0 => write!(f, "grain {}", self.serial()),
            emitter => write!(f, "grain {} of emitter {}", self.serial(), emitter - 1),
        }
    }
}

/// What a grain has that is no sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrainShape {
    /// Index into the world's shapes.
    pub shape: u16,
    /// Factor on all lengths of the shape.
    pub scale: f64,
    /// Principal moments of inertia, kg m², about the axes of the shape.
    pub moments: DVec3,
    /// Radius of the ball about the centre of mass that holds the grain, m.
    pub bounding_radius: f64,
    /// Speed over angular velocity at which rotation can bring its surface
    /// nearer to something, at most, m.
    pub rotation_reach: f64,
}

impl GrainShape {
    /// A homogeneous grain of this mass, kg, with a shape of the world's list.
    pub fn new(index: usize, shape: &BodyShape, scale: f64, mass: f64) -> Self {
        GrainShape {
            shape: index as u16,
            scale,
            moments: shape.mass_properties().inertia_per_mass * (mass * scale * scale),
            bounding_radius: shape.bounding_radius() * scale,
            rotation_reach: shape.rotation_reach() * scale,
        }
    }

    /// Angular momentum over angular velocity in world axes, kg m².
    pub fn inertia(&self, orientation: DQuat) -> DMat3 {
        in_world_axes(DMat3::from_quat(orientation), self.moments)
    }
}

/// The symmetric matrix with these eigenvalues along the columns of `axes`.
pub(crate) fn in_world_axes(axes: DMat3, values: DVec3) -> DMat3 {
    axes * DMat3::from_diagonal(values) * axes.transpose()
}

/// A grain about to enter the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewGrain {
    /// Centre, m.
    pub position: DVec3,
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub angular_velocity: DVec3,
    /// Orientation, a unit quaternion.
    pub orientation: DQuat,
    /// Radius, m; of the sphere of equal volume, where it is none.
    pub radius: f64,
    /// Mass, kg.
    pub mass: f64,
    /// Index of its material.
    pub material: u16,
    /// Its shape, where it is no sphere.
    pub shape: Option<GrainShape>,
}

/// How long a grain has been at rest on something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// Steps one after another.
    pub steps: u16,
    /// Relative to which group of walls.
    pub group: u8,
}

/// A grain out of the table: what changes is in a frame that it does not move in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrozenGrain {
    pub(crate) id: GrainId,
    pub(crate) slot: u32,
    pub(crate) pose: Pose,
    pub(crate) radius: f64,
    pub(crate) mass: f64,
    pub(crate) inverse_inertia: f64,
    pub(crate) material: u16,
    pub(crate) shape: Option<GrainShape>,
}

impl FrozenGrain {
    /// Radius of the ball that holds it, m.
    pub(crate) fn bounding_radius(&self) -> f64 {
        self.shape
            .map_or(self.radius, |shape| shape.bounding_radius)
    }

    /// Its angular momentum, kg m²/s, with this angular velocity, rad/s.
    pub(crate) fn angular_momentum(&self, angular_velocity: DVec3) -> DVec3 {
        match (self.shape, self.inverse_inertia > 0.0) {
            (_, false) => DVec3::ZERO,
            (None, true) => angular_velocity / self.inverse_inertia,
            (Some(shape), true) => shape.inertia(self.pose.orientation) * angular_velocity,
        }
    }

    /// Its kinetic energy, J, with these velocities, m/s and rad/s.
    pub(crate) fn kinetic_energy(&self, velocities: [DVec3; 2]) -> f64 {
        let state = frozen_state(self, velocities);
        kinetic_energy(
            &state,
            self.mass,
            self.pose.orientation,
            self.shape.as_ref(),
        )
    }
}

/// All grains, then all bodies of their own; arrays share one dense index.
#[derive(Clone, Debug, Default)]
pub struct Grains {
    /// Ids. Written on insertion and removal.
    pub(crate) id: Vec<GrainId>,
    /// Centres, m. Written by stage `advance` through `integrate`.
    pub(crate) position: Vec<DVec3>,
    /// Orientations, unit quaternions. Written by stage `advance` through `integrate`.
    pub(crate) orientation: Vec<DQuat>,
    /// Velocities (m/s, rad/s) and inverse inertia. Written by stage `advance`.
    pub(crate) state: Vec<BodyState>,
    /// Radii, m; of spheres of equal volume, where grains are none. Constant.
    pub(crate) radius: Vec<f64>,
    /// Masses, kg. Constant.
    pub(crate) mass: Vec<f64>,
    /// Material indices. Constant.
    pub(crate) material: Vec<u16>,
    /// Shapes of grains that are no spheres; empty where there are none. Constant.
    pub(crate) shape: Vec<Option<GrainShape>>,
    /// What bodies of their own cannot do, one entry for each of the last rows.
    pub(crate) locks: Vec<Locks>,
    /// Whether joints hold them; one entry for each of the last rows.
    pub(crate) jointed: Vec<bool>,
    /// Boxes that hold them, in their own axes; one entry for each of the last rows.
    boxes: Vec<Aabb>,
    /// Pairs of them, by their number among the last rows, that do not touch each other.
    pub(crate) passing: Vec<[u32; 2]>,
    /// How long grains have been at rest; one entry per row.
    pub(crate) rest: Vec<Rest>,
    /// Rows before those of bodies of their own that are copies of frozen grains.
    held: usize,
    /// Place of each row in tables by grain that outlast a change of rows: reused after
    /// removal, and nothing to know outside.
    slot: Vec<u32>,
    free_slots: Vec<u32>,
    slot_count: u32,
    /// Grains that were there at the start, so far.
    next_serial: u64,
    /// Of the radii of these rows, where they were asked for.
    radii: Option<RadiusStatistics>,
}

fn frozen_state(grain: &FrozenGrain, [velocity, angular_velocity]: [DVec3; 2]) -> BodyState {
    BodyState {
        velocity,
        inverse_mass: 1.0 / grain.mass,
        angular_velocity: if grain.inverse_inertia > 0.0 {
            angular_velocity
        } else {
            DVec3::ZERO
        },
        inverse_inertia: grain.inverse_inertia,
    }
}

/// Kinetic energy of a body, J, rotation included.
fn kinetic_energy(
    state: &BodyState,
    mass: f64,
    orientation: DQuat,
    shape: Option<&GrainShape>,
) -> f64 {
    let turning = match shape {
        None if state.inverse_inertia > 0.0 => {
            state.angular_velocity.length_squared() / state.inverse_inertia
        }
        None => 0.0,
        Some(shape) => {
            let angular_velocity = orientation.conjugate() * state.angular_velocity;
            (angular_velocity * angular_velocity).dot(shape.moments)
        }
    };
    0.5 * (mass * state.velocity.length_squared() + turning)
}

/// The shape of a grain in the world's list, if it is no sphere.
pub(crate) fn shape_of<'a>(
    grains: &Grains,
    shapes: &'a [BodyShape],
    grain: u32,
) -> Option<&'a BodyShape> {
    let own = grains.shape_of(grain as usize)?;
    Some(&shapes[own.shape as usize])
}

/// What a row cannot do, from the locks of the bodies of their own, which come after so
/// many grains.
#[inline]
pub(crate) fn locks_of_row(locks: &[Locks], grains: usize, row: usize) -> Locks {
    let body = row.checked_sub(grains);
    body.map_or_else(Locks::default, |body| locks[body])
}

/// Moment of inertia of a homogeneous sphere, kg m².
#[inline]
pub fn sphere_inertia(mass: f64, radius: f64) -> f64 {
    0.4 * mass * radius * radius
}

/// The rows that grains come from, and who moves them.
struct Permutation<'a> {
    order: &'a [u32],
    team: &'a mut Team,
}

impl Permutation<'_> {
    /// What comes after all grains stays where it is.
    fn apply<T: Copy + Send + Sync>(&mut self, values: &mut Vec<T>) {
        let (mut moved, order) = (Vec::with_capacity(values.capacity()), self.order);
        self.team.fill(&mut moved, values.len(), |row| {
            values[order.get(row).map_or(row, |&i| i as usize)]
        });
        *values = moved;
    }
}

/// What all rows have, by dense index: grains first, then bodies of their own.
impl Grains {
    /// Ids.
    #[inline]
    pub fn id(&self) -> &[GrainId] {
        &self.id
    }

    /// Centres of mass, m.
    #[inline]
    pub fn position(&self) -> &[DVec3] {
        &self.position
    }

    /// Orientations, unit quaternions.
    #[inline]
    pub fn orientation(&self) -> &[DQuat] {
        &self.orientation
    }

    /// Velocities, m/s and rad/s, and inverse inertia.
    #[inline]
    pub fn state(&self) -> &[BodyState] {
        &self.state
    }

    /// Radii, m; of spheres of equal volume, where rows are none.
    #[inline]
    pub fn radius(&self) -> &[f64] {
        &self.radius
    }

    /// Masses, kg.
    #[inline]
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// Indices of materials.
    #[inline]
    pub fn material(&self) -> &[u16] {
        &self.material
    }

    /// Shapes of rows that are no spheres; empty where all are.
    #[inline]
    pub fn shape(&self) -> &[Option<GrainShape>] {
        &self.shape
    }
}

impl Grains {
    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// How many grains there are: rows without those of bodies of their own, which come
    /// after them.
    #[inline]
    pub fn count(&self) -> usize {
        self.id.len() - self.locks.len()
    }

    /// How many grains there are that move freely: rows without those of bodies of their own
    /// and copies of frozen grains, which come after them.
    #[inline]
    pub fn free_count(&self) -> usize {
        self.count() - self.held
    }

    /// Rows of copies of frozen grains: contacts see ghosts of them.
    #[inline]
    pub(crate) fn held_rows(&self) -> std::ops::Range<usize> {
        self.free_count()..self.count()
    }

    /// Whether contacts see a ghost of a row.
    #[inline]
    pub(crate) fn has_ghost(&self, index: usize) -> bool {
        index >= self.free_count() && (index < self.count() || self.is_jointed(index))
    }

    /// What a row cannot do; nothing is locked of grains.
    #[inline]
    pub(crate) fn locks_of(&self, index: usize) -> Locks {
        locks_of_row(&self.locks, self.count(), index)
    }

    /// One along world axes that a row can move along, else zero.
    #[inline]
    pub(crate) fn free_translation(&self, index: usize) -> DVec3 {
        self.locks_of(index).free_translation()
    }

    /// Whether a row is locked along an axis.
    #[inline]
    pub(crate) fn is_locked(&self, index: usize) -> bool {
        self.locks_of(index).translation.contains(&true)
    }

    /// Whether joints hold a row: contacts see a ghost of it.
    #[inline]
    pub(crate) fn is_jointed(&self, index: usize) -> bool {
        let body = index.checked_sub(self.count());
        body.is_some_and(|body| self.jointed[body])
    }

    /// Whether two rows do not touch each other.
    #[inline]
    pub(crate) fn pass_each_other(&self, rows: [usize; 2]) -> bool {
        if self.passing.is_empty() {
            return false;
        }
        let [a, b] = rows.map(|row| row.checked_sub(self.count()).map(|body| body as u32));
        let (Some(a), Some(b)) = (a, b) else {
            return false;
        };
        self.passing.contains(&[a.min(b), a.max(b)])
    }

    /// Distance of a point from the box that holds a body of its own whose centre of mass is at
    /// `centre`, m; nothing is known of grains.
    pub(crate) fn distance_from_box(&self, row: usize, centre: DVec3, point: DVec3) -> f64 {
        let nearest = self.nearest_in_box(row, centre, point);
        nearest.map_or(f64::NEG_INFINITY, |nearest| nearest.distance(point))
    }

    /// The point of that box that is nearest to a point.
    pub(crate) fn nearest_in_box(&self, row: usize, centre: DVec3, point: DVec3) -> Option<DVec3> {
        let Aabb { min, max } = self.boxes[row.checked_sub(self.count())?];
        let orientation = self.orientation[row];
        let local = orientation.conjugate() * (point - centre);
        Some(centre + orientation * local.clamp(min, max))
    }

    /// The box along the axes of the world that holds a body of its own, m.
    pub(crate) fn box_of_body(&self, row: usize) -> Aabb {
        let Aabb { min, max } = self.boxes[row - self.count()];
        let (centre, half) = (0.5 * (min + max), 0.5 * (max - min));
        let axes = DMat3::from_quat(self.orientation[row]);
        let middle = self.position[row] + axes * centre;
        let reach =
            DMat3::from_cols(axes.x_axis.abs(), axes.y_axis.abs(), axes.z_axis.abs()) * half;
        Aabb::new(middle - reach, middle + reach)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// Whether there are grains that are no spheres.
    #[inline]
    pub fn has_shapes(&self) -> bool {
        !self.shape.is_empty()
    }

    /// The shape of a grain, if it is no sphere.
    #[inline]
    pub fn shape_of(&self, index: usize) -> Option<&GrainShape> {
        self.shape.get(index)?.as_ref()
    }

    /// Radius of the ball that holds a grain, m.
    #[inline]
    pub fn bounding_radius(&self, index: usize) -> f64 {
        let shape = self.shape_of(index);
        shape.map_or(self.radius[index], |shape| shape.bounding_radius)
    }

    /// Speed at which rotation can bring the surface of a grain nearer to something, at most,
    /// m/s.
    #[inline]
    pub fn rotation_speed(&self, index: usize) -> f64 {
        let shape = self.shape_of(index);
        shape.map_or(0.0, |s| {
            s.rotation_reach * self.state[index].angular_velocity.length()
        })
    }

    /// Diameters of all rows; their order does not enter.
    pub(crate) fn diameters(&mut self, team: &mut Team) -> Diameters {
        let known = self.radii.take();
        let radii = known.unwrap_or_else(|| self.measure_radii(team));
        self.radii = Some(radii);
        radii.diameters()
    }

    fn measure_radii(&self, team: &mut Team) -> RadiusStatistics {
        team.reduce(
            self.radius.len(),
            |statistics: &mut RadiusStatistics, i: usize| {
                statistics.add(self.radius[i], self.bounding_radius(i));
            },
        )
    }

    /// Slots in use: those of rows are below this.
    pub fn slots(&self) -> usize {
        self.slot_count as usize
    }

    /// Place of a row in tables by grain: it stays while the grain is there and is another's
    /// afterwards.
    #[inline]
    pub fn slot(&self, row: usize) -> usize {
        self.slot[row] as usize
    }

    /// Adds a grain of the start; with `rotates` false its rotation is locked.
    pub fn insert(&mut self, grain: NewGrain, rotates: bool) -> GrainId {
        let id = self.next_id();
        self.insert_as(id, grain, rotates);
        id
    }

    /// Adds a grain with an id that no other has or had.
    pub(crate) fn insert_as(&mut self, id: GrainId, grain: NewGrain, rotates: bool) {
        if id.source() == 0 {
            self.next_serial = self.next_serial.max(id.serial() + 1);
        }
        let row = self.count();
        self.insert_at(row, id, grain, rotates);
    }

    fn next_id(&mut self) -> GrainId {
        let id = GrainId::new(0, self.next_serial);
        self.next_serial += 1;
        id
    }

    /// Gives the rows these ids, one each.
    pub(crate) fn set_ids(&mut self, ids: Vec<GrainId>) {
        assert_eq!(ids.len(), self.len());
        let started = ids.iter().filter(|id| id.source() == 0);
        let next = started.map(|id| id.serial() + 1).max();
        self.next_serial = next.unwrap_or(0);
        self.id = ids;
    }

    /// Adds a body of its own, after all others; joints may hold it.
    pub fn insert_body(
        &mut self,
        body: NewGrain,
        rotates: bool,
        (locks, jointed): (Locks, bool),
        held_by: Aabb,
    ) -> GrainId {
        let can_rotate = rotates && locks.rotation.contains(&false);
        let id = self.next_id();
        self.insert_at(self.len(), id, body, can_rotate);
        self.locks.push(locks);
        self.jointed.push(jointed);
        self.boxes.push(held_by);
        id
    }

    fn insert_at(&mut self, row: usize, id: GrainId, grain: NewGrain, rotates: bool) {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slot_count += 1;
            self.slot_count - 1
        });
        let inertia = match grain.shape {
            None => sphere_inertia(grain.mass, grain.radius),
            // A scale: what it takes part in contacts with is made in every step.
            Some(shape) => shape.moments.element_sum() / 3.0,
        };
        let state = BodyState {
            velocity: grain.velocity,
            inverse_mass: 1.0 / grain.mass,
            angular_velocity: if rotates {
                grain.angular_velocity
            } else {
                DVec3::ZERO
            },
            inverse_inertia: if rotates { 1.0 / inertia } else { 0.0 },
        };
        let frozen = FrozenGrain {
            id,
            slot,
            pose: Pose::new(grain.position, grain.orientation),
            radius: grain.radius,
            mass: grain.mass,
            inverse_inertia: state.inverse_inertia,
            material: grain.material,
            shape: grain.shape,
        };
        self.put_at(row, &frozen, state);
    }

    fn put_at(&mut self, row: usize, grain: &FrozenGrain, state: BodyState) {
        if let Some(radii) = &mut self.radii {
            radii.add(grain.radius, grain.bounding_radius());
        }
        if grain.shape.is_some() || self.has_shapes() {
            // Where there were none, all are spheres.
            self.shape.resize(self.id.len(), None);
            self.shape.insert(row, grain.shape);
        }
        self.id.insert(row, grain.id);
        self.slot.insert(row, grain.slot);
        self.position.insert(row, grain.pose.position);
        self.orientation.insert(row, grain.pose.orientation);
        self.state.insert(row, state);
        self.radius.insert(row, grain.radius);
        self.mass.insert(row, grain.mass);
        self.material.insert(row, grain.material);
        self.rest.insert(row, Rest::default());
    }

    /// Takes a grain out of the table to put it back later.
    pub(crate) fn freeze(&mut self, row: usize) -> FrozenGrain {
        let frozen = FrozenGrain {
            id: self.id[row],
            slot: self.slot[row],
            pose: Pose::new(self.position[row], self.orientation[row]),
            radius: self.radius[row],
            mass: self.mass[row],
            inverse_inertia: self.state[row].inverse_inertia,
            material: self.material[row],
            shape: self.shape_of(row).copied(),
        };
        self.take(row);
        frozen
    }

    /// Puts a grain back with these velocities, m/s and rad/s.
    pub(crate) fn thaw(&mut self, grain: &FrozenGrain, velocities: [DVec3; 2]) {
        debug_assert_eq!(self.held, 0, "copies come after all free grains");
        self.put_at(self.count(), grain, frozen_state(grain, velocities));
    }

    /// Adds a copy of a frozen grain, after all free ones.
    pub(crate) fn hold(&mut self, grain: &FrozenGrain, velocities: [DVec3; 2]) {
        self.put_at(self.count(), grain, frozen_state(grain, velocities));
        self.held += 1;
    }

    /// Takes all copies of frozen grains out of the table.
    pub(crate) fn drop_held(&mut self) {
        while self.held > 0 {
            self.held -= 1;
            // Rows are taken from the end: the order of the others stays.
            self.take(self.count() - 1);
        }
    }

    /// Removes the grain with this dense index; the last grain takes its place.
    ///
    /// # Panics
    /// When the row is no grain's.
    pub fn remove(&mut self, index: usize) {
        let slot = self.take(index);
        self.free_slots.push(slot);
    }

    fn take(&mut self, index: usize) -> u32 {
        assert!(index < self.count(), "bodies of their own stay");
        let bounding_radius = self.bounding_radius(index);
        if let Some(radii) = &mut self.radii
            && !radii.remove(self.radius[index], bounding_radius)
        {
            self.radii = None;
        }
        let last = self.count() - 1;
        fn take<T>(list: &mut Vec<T>, index: usize, last: usize) -> T {
            list.swap(index, last);
            list.remove(last)
        }
        take(&mut self.id, index, last);
        let slot = take(&mut self.slot, index, last);
        take(&mut self.position, index, last);
        take(&mut self.orientation, index, last);
        take(&mut self.state, index, last);
        take(&mut self.radius, index, last);
        take(&mut self.mass, index, last);
        take(&mut self.material, index, last);
        take(&mut self.rest, index, last);
        if self.has_shapes() {
            take(&mut self.shape, index, last);
        }
        slot
    }

    /// Puts the grains into another order in memory: grain `order[k]` becomes
    /// the one with dense index `k`. Ids stay, and so do bodies of their own.
    ///
    /// # Panics
    /// When `order` is not a permutation of the dense indices of the grains.
    pub fn reorder(&mut self, order: &[u32], team: &mut Team) {
        let mut permute = Permutation { order, team };
        let mut seen = vec![false; self.count()];
        for &i in order {
            assert!(!std::mem::replace(&mut seen[i as usize], true));
        }
        assert_eq!(order.len(), self.count());
        permute.apply(&mut self.id);
        permute.apply(&mut self.slot);
        permute.apply(&mut self.position);
        permute.apply(&mut self.orientation);
        permute.apply(&mut self.state);
        permute.apply(&mut self.radius);
        permute.apply(&mut self.mass);
        permute.apply(&mut self.material);
        permute.apply(&mut self.rest);
        if self.has_shapes() {
            permute.apply(&mut self.shape);
        }
    }

    /// Dense indices of the grains in the order of ids: the order of outputs.
    pub fn in_id_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.count()).collect();
        order.sort_unstable_by_key(|&i| self.id[i]);
        order
    }

    /// Kinetic energy, J, rotation included.
    pub fn kinetic_energy(&self) -> f64 {
        let energies = (0..self.len()).map(|row| self.kinetic_energy_of(row));
        energies.collect::<ExactSum>().value()
    }

    /// Kinetic energy of a row, J, rotation included.
    pub(crate) fn kinetic_energy_of(&self, row: usize) -> f64 {
        let shape = self.shape_of(row);
        kinetic_energy(
            &self.state[row],
            self.mass[row],
            self.orientation[row],
            shape,
        )
    }

    /// A hash (FNV-1a, 64 bit) of the bits of positions, orientations and
    /// velocities in id order, bodies of their own last: equal exactly when the states are.
    pub fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |word: u64| {
            for byte in word.to_le_bytes() {
                hash = (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        let bodies = self.count()..self.len();
        for i in self.in_id_order().into_iter().chain(bodies) {
            add(self.id[i].as_u64());
            let (x, q, s) = (self.position[i], self.orientation[i], &self.state[i]);
            for number in x.to_array().into_iter().chain(q.to_array()) {
                add(number.to_bits());
            }
            for number in s
                .velocity
                .to_array()
                .into_iter()
                .chain(s.angular_velocity.to_array())
            {
                add(number.to_bits());
            }
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grain(x: f64) -> NewGrain {
        NewGrain {
            position: DVec3::X * x,
            velocity: DVec3::ZERO,
            angular_velocity: DVec3::ZERO,
            orientation: DQuat::IDENTITY,
            radius: 0.1,
            mass: 1.0,
            material: 0,
            shape: None,
        }
    }

    #[test]
    fn an_id_is_never_given_twice() {
        let mut grains = Grains::default();
        let first = grains.insert(grain(0.0), true);
        let second = grains.insert(grain(1.0), true);
        grains.remove(0);
        assert_eq!(grains.id[0], second);
        let slot = grains.slot(0);
        let third = grains.insert(grain(2.0), true);
        assert!(first < second && second < third);
        // Slots are, and each row has one of its own.
        assert_eq!((grains.slots(), grains.slot(0)), (2, slot));
        assert_ne!(grains.slot(1), slot);
    }

    /// Ids used to depend on the order in which others were removed.
    #[test]
    fn ids_say_where_a_grain_came_from_and_which_it_was() {
        let id = GrainId::new(3, 41);
        assert_eq!((id.source(), id.serial()), (3, 41));
        assert_eq!(GrainId::from_u64(id.as_u64()), id);
        assert_eq!(id.to_string(), "grain 41 of emitter 2");
        assert_eq!(GrainId::new(0, 7).to_string(), "grain 7");
        let ids = [[0, 1], [0, 2], [1, 0], [2, 0]];
        assert!(
            ids.map(|[source, n]| GrainId::new(source, n as u64))
                .is_sorted()
        );
    }

    /// Joints and reports name bodies by their place.
    #[test]
    fn bodies_stay_behind_the_grains_that_come_and_go() {
        let mut grains = Grains::default();
        let first = grains.insert(grain(0.0), true);
        let bodies = [10.0, 11.0].map(|x| {
            let held = (Locks::default(), false);
            grains.insert_body(grain(x), true, held, Aabb::EMPTY)
        });
        let late = grains.insert(grain(1.0), true);
        assert_eq!((grains.count(), grains.len()), (2, 4));
        assert_eq!(grains.id, [first, late, bodies[0], bodies[1]]);
        grains.remove(0);
        assert_eq!(grains.id, [late, bodies[0], bodies[1]]);
        assert_eq!(grains.position[2].x, 11.0);
        grains.insert(grain(2.0), true);
        grains.reorder(&[1, 0], &mut Team::new(1));
        assert_eq!(
            grains.position.iter().map(|x| x.x).collect::<Vec<_>>(),
            [2.0, 1.0, 10.0, 11.0]
        );
        assert_eq!(grains.in_id_order(), [1, 0]);
    }

    /// Cells and blocks are measured in it: a mean summed in the order of rows has other bits
    /// in another order.
    #[test]
    fn diameters_and_energies_do_not_depend_on_the_order_of_rows() {
        let mut grains = Grains::default();
        for k in 0..999_i32 {
            grains.insert(
                NewGrain {
                    radius: 1e-3 * f64::from(k + 1).sqrt(),
                    velocity: DVec3::splat(f64::from(k).cos()),
                    ..grain(f64::from(k))
                },
                true,
            );
        }
        let team = &mut Team::new(2);
        let mut turned = grains.clone();
        turned.reorder(&(0..999).rev().collect::<Vec<u32>>(), team);
        assert_eq!(grains.diameters(team), turned.diameters(team));
        assert_eq!(grains.kinetic_energy(), turned.kinetic_energy());
        // What came or went is seen.
        let all = grains.diameters(team);
        grains.remove(998);
        assert!(grains.diameters(team).max < all.max);
        grains.insert(grain(1.0), true);
        assert_eq!(grains.diameters(team).max, 0.2);
        assert_eq!(Grains::default().diameters(team), Diameters::default());
    }

    #[test]
    fn the_hash_sees_one_bit_and_not_the_order_in_memory() {
        let mut a = Grains::default();
        for x in 0..3 {
            a.insert(grain(x as f64), true);
        }
        let mut b = a.clone();
        b.id.swap(0, 2);
        b.position.swap(0, 2);
        assert_eq!(a.state_hash(), b.state_hash());
        b.position[1].x = f64::from_bits(b.position[1].x.to_bits() + 1);
        assert_ne!(a.state_hash(), b.state_hash());
    }
}
