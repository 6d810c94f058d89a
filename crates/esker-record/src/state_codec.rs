//! A [`WorldState`] as bytes: structures written field by field, lists with
//! their length before them.

use esker_contact::Impulse;
use esker_machine::{
    Activity, DriveTotals, GearTotals, JointTotals, MachineState, Spatial, Troubles, Violation,
};
use esker_world::ContactKey;
use esker_world::GrainId;
use esker_world::state::{
    AggregatesState, EmitterProgress, FrozenState, GrainState, InternalState, RefreshClock,
    Remembered, Rest, Taken, ToolWork, WorldState,
};
use esker_world::{EnergyLedger, LoadIntegral, ReductionTotals, WallLoad};

use crate::bytes::{Malformed, Plain, Source, put_list};

/// Appends a state.
pub(crate) fn put_state(out: &mut Vec<u8>, state: &WorldState) {
    state.steps_done.put(out);
    state.lost.put(out);
    state.sweeps.put(out);
    state.step_level.put(out);
    state.ticks.put(out);
    put_list(out, state.grains.iter().copied());
    put_list(out, state.remembered.iter().copied());
    put_list(out, state.emitters.iter().copied());
    (state.sinks.len() as u64).put(out);
    for taken in &state.sinks {
        put_list(out, taken.iter().copied());
    }
    put_list(out, state.wall_loads.iter().copied());
    put_list(out, state.total_wall_loads.iter().copied());
    put_list(
        out,
        state.energy.into_iter().collect::<Vec<_>>().into_iter(),
    );
    let shapes = state.grains.iter().map(|grain| grain.shape);
    put_list(out, shapes.collect::<Vec<_>>().into_iter());
    let features = state.remembered.iter().map(|contact| contact.key.feature);
    put_list(out, features.collect::<Vec<_>>().into_iter());
    put_machines(out, state);
    state.tool_work.put(out);
    put_aggregates(out, state.aggregates.as_ref());
    let order = state.device_order.map_or(NO_ORDER, u64::from);
    order.put(out);
}

/// Stands for an order of sweeps that is not known.
const NO_ORDER: u64 = 2;

/// The order of sweeps, which files do not have before format 9.
fn get_order(source: &mut Source<'_>, format: u32) -> Result<Option<bool>, Malformed> {
    let order = if format >= 9 { source.get()? } else { NO_ORDER };
    match order {
        0 => Ok(Some(false)),
        1 => Ok(Some(true)),
        NO_ORDER => Ok(None),
        _ => Err(Malformed),
    }
}

/// Appends what there is of aggregates: whether there may be some, and then all about them.
fn put_aggregates(out: &mut Vec<u8>, state: Option<&AggregatesState>) {
    u64::from(state.is_some()).put(out);
    let Some(state) = state else {
        return;
    };
    state.edge.put(out);
    put_list(out, state.rest.iter().copied());
    put_list(out, state.frozen.iter().copied());
    let shapes = state.frozen.iter().map(|frozen| frozen.grain.shape);
    put_list(out, shapes.collect::<Vec<_>>().into_iter());
    put_list(out, state.contacts.iter().copied());
    let features = state.contacts.iter().map(|contact| contact.key.feature);
    put_list(out, features.collect::<Vec<_>>().into_iter());
    put_list(out, state.doubtful.iter().copied());
    put_list(out, state.freeze.iter().copied());
    put_list(out, state.release.iter().copied());
    let groups = state.release_groups.iter().map(|&whole| u16::from(whole));
    put_list(out, groups.collect::<Vec<_>>().into_iter());
    put_list(out, state.clocks.iter().copied());
    state.totals.put(out);
    let grains = state.clocks.iter().map(|clock| clock.grains);
    put_list(out, grains.collect::<Vec<_>>().into_iter());
    state.totals.impulse_by_balance.put(out);
    state.totals.frozen_weight.put(out);
}

fn get_aggregates(
    source: &mut Source<'_>,
    format: u32,
) -> Result<Option<AggregatesState>, Malformed> {
    if source.get::<u64>()? == 0 {
        return Ok(None);
    }
    let edge = source.get()?;
    let rest = source.list()?;
    let mut frozen: Vec<FrozenState> = source.list()?;
    let shapes: Vec<u16> = source.list()?;
    let mut contacts: Vec<InternalState> = source.list()?;
    let features: Vec<u32> = source.list()?;
    if shapes.len() != frozen.len() || features.len() != contacts.len() {
        return Err(Malformed);
    }
    for (frozen, shape) in frozen.iter_mut().zip(shapes) {
        frozen.grain.shape = shape;
    }
    for (contact, feature) in contacts.iter_mut().zip(features) {
        contact.key.feature = feature;
    }
    let mut state = AggregatesState {
        edge,
        rest,
        frozen,
        contacts,
        doubtful: source.list()?,
        freeze: source.list()?,
        release: source.list()?,
        release_groups: {
            let groups: Vec<u16> = source.list()?;
            groups.into_iter().map(|whole| whole != 0).collect()
        },
        clocks: source.list()?,
        totals: source.get()?,
    };
    // Before format 8 grains were not counted.
    if format >= 8 {
        let grains: Vec<u64> = source.list()?;
        if grains.len() != state.clocks.len() {
            return Err(Malformed);
        }
        for (clock, grains) in state.clocks.iter_mut().zip(grains) {
            clock.grains = grains;
        }
    }
    // Before format 10 walls got what contacts of frozen grains gave them, and no more.
    if format >= 10 {
        state.totals.impulse_by_balance = source.get()?;
        state.totals.frozen_weight = source.get()?;
    }
    Ok(Some(state))
}

/// Appends what there is of machines.
fn put_machines(out: &mut Vec<u8>, state: &WorldState) {
    let machines = &state.machines;
    state.energy.map_or(0.0, |ledger| ledger.joints).put(out);
    put_list(out, machines.coordinates.iter().copied());
    put_list(out, machines.activities.iter().copied());
    put_list(out, machines.external.iter().copied());
    put_list(out, machines.joints.iter().copied());
    put_list(out, machines.gears.iter().copied());
    put_list(out, machines.drives.iter().copied());
    machines.troubles.fast_rotations.put(out);
    machines.troubles.unsolved.put(out);
}

fn get_machines(source: &mut Source<'_>, state: &mut WorldState) -> Result<(), Malformed> {
    let joints = source.get()?;
    if let Some(ledger) = &mut state.energy {
        ledger.joints = joints;
    }
    state.machines = MachineState {
        coordinates: source.list()?,
        activities: source.list()?,
        external: source.list()?,
        joints: source.list()?,
        gears: source.list()?,
        drives: source.list()?,
        troubles: Troubles {
            fast_rotations: source.get()?,
            unsolved: source.get()?,
        },
    };
    Ok(())
}

/// Reads a state as a checkpoint of this format holds it.
pub(crate) fn get_state(source: &mut Source<'_>, format: u32) -> Result<WorldState, Malformed> {
    let steps_done = source.get()?;
    let (lost, sweeps) = (source.get()?, source.get()?);
    // Steps had one length in format 1.
    let (step_level, ticks) = if format >= 2 {
        (source.get()?, source.get()?)
    } else {
        (0, 64 * steps_done)
    };
    let mut state = WorldState {
        steps_done,
        lost,
        sweeps,
        step_level,
        ticks,
        grains: source.list()?,
        remembered: {
            // Before format 7 ids were slots, in the lower half, and how often these had
            // been used. As numbers they are ids of the start, which tables of slots need not
            // follow.
            if format < 7 {
                let _tables: [Vec<u32>; 2] = [source.list()?, source.list()?];
            }
            source.list()?
        },
        emitters: source.list()?,
        sinks: {
            // Each list takes at least its length, so a false count ends soon.
            let count = source.get::<u64>()?;
            (0..count)
                .map(|_| source.list())
                .collect::<Result<_, _>>()?
        },
        ..get_loads(source, format)?
    };
    // Before format 5 grains were spheres, whose contacts have no features.
    if format >= 5 {
        let shapes: Vec<u16> = source.list()?;
        let features: Vec<u32> = source.list()?;
        if shapes.len() != state.grains.len() || features.len() != state.remembered.len() {
            return Err(Malformed);
        }
        for (grain, shape) in state.grains.iter_mut().zip(shapes) {
            grain.shape = shape;
        }
        for (contact, feature) in state.remembered.iter_mut().zip(features) {
            contact.key.feature = feature;
        }
    }
    // Before format 6 there were no machines.
    if format >= 6 {
        get_machines(source, &mut state)?;
    }
    // Before format 7 the work of tools was not followed, and nothing was frozen.
    if format >= 7 {
        state.tool_work = source.get()?;
        state.aggregates = get_aggregates(source, format)?;
    }
    state.device_order = get_order(source, format)?;
    Ok(state)
}

/// The loads on walls and the energy ledger. Before format 3 loads had no power
/// and nothing was summed, before format 4 ledgers knew no cohesion.
fn get_loads(source: &mut Source<'_>, format: u32) -> Result<WorldState, Malformed> {
    if format >= 3 {
        return Ok(WorldState {
            wall_loads: source.list()?,
            total_wall_loads: source.list()?,
            energy: if format >= 4 {
                source.list()?.pop()
            } else {
                let ledgers: Vec<LedgerOfFormat3> = source.list()?;
                ledgers.first().map(EnergyLedger::from)
            },
            ..Default::default()
        });
    }
    let loads: Vec<LoadOfFormat2> = source.list()?;
    Ok(WorldState {
        total_wall_loads: vec![LoadIntegral::default(); loads.len()],
        wall_loads: loads
            .into_iter()
            .map(|LoadOfFormat2 { force, torque }| WallLoad {
                force,
                torque,
                power: 0.0,
            })
            .collect(),
        ..Default::default()
    })
}

struct LoadOfFormat2 {
    force: glam::DVec3,
    torque: glam::DVec3,
}

struct LedgerOfFormat3 {
    steps: u64,
    initial_kinetic: f64,
    initial_stored: f64,
    stored: f64,
    gravity: f64,
    drives: f64,
    emitted: f64,
    removed: f64,
    friction: f64,
    rolling: f64,
    impact: f64,
    damping: f64,
}

impl From<&LedgerOfFormat3> for EnergyLedger {
    fn from(old: &LedgerOfFormat3) -> Self {
        EnergyLedger {
            steps: old.steps,
            initial_kinetic: old.initial_kinetic,
            initial_stored: old.initial_stored,
            stored: old.stored,
            gravity: old.gravity,
            drives: old.drives,
            cohesion: 0.0,
            emitted: old.emitted,
            removed: old.removed,
            friction: old.friction,
            rolling: old.rolling,
            impact: old.impact,
            damping: old.damping,
            joints: 0.0,
        }
    }
}

/// A structure whose fields follow one another without padding; fields that are kept
/// elsewhere come after a semicolon.
macro_rules! plain_struct {
    ($name:ident { $($field:ident : $type:ty),* $(,)? $(; $($elsewhere:ident)+)? }) => {
        impl Plain for $name {
            const SIZE: usize = 0 $(+ <$type as Plain>::SIZE)*;

            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }

            fn get(bytes: &[u8]) -> Self {
                let mut rest = bytes;
                $(
                    let ($field, after) = rest.split_at(<$type as Plain>::SIZE);
                    rest = after;
                )*
                debug_assert!(rest.is_empty());
                $name {
                    $($($elsewhere: Default::default(),)+)?
                    $($field: <$type as Plain>::get($field)),*
                }
            }
        }
    };
}

impl Plain for GrainId {
    const SIZE: usize = u64::SIZE;

    fn put(&self, out: &mut Vec<u8>) {
        self.as_u64().put(out);
    }

    fn get(bytes: &[u8]) -> Self {
        GrainId::from_u64(u64::get(bytes))
    }
}

plain_struct!(GrainState {
    id: GrainId,
    position: glam::DVec3,
    orientation: glam::DQuat,
    velocity: glam::DVec3,
    angular_velocity: glam::DVec3,
    radius: f64,
    mass: f64,
    material: u16;
    shape
});
plain_struct!(ContactKey {
    owner: GrainId,
    other: u64;
    feature
});
plain_struct!(Impulse {
    normal: f64,
    friction: glam::DVec3,
    rolling: glam::DVec3,
    twisting: f64,
});
plain_struct!(Remembered {
    key: ContactKey,
    normal: glam::DVec3,
    impulse: Impulse,
});
plain_struct!(Rest {
    steps: u16,
    group: u8,
});
plain_struct!(FrozenState {
    grain: GrainState,
    position: glam::DVec3,
    orientation: glam::DQuat,
    group: u8,
});
plain_struct!(InternalState {
    key: ContactKey,
    normal: glam::DVec3,
    force: Impulse,
    overlap: Option<f64>,
});
plain_struct!(RefreshClock {
    last: f64,
    growth: f64,
    moving_before: Option<u64>,
    gravity: glam::DVec3;
    grains
});
plain_struct!(ReductionTotals {
    steps: u64,
    level: f64,
    merges: u64,
    split_by_impact: u64,
    split_by_imbalance: u64,
    split_by_support: u64,
    split_by_walls: u64,
    split_by_sensor: u64,
    refreshed: u64,
    energy_lost: f64,
    impulse_to_walls: glam::DVec3,
    largest_imbalance: f64;
    impulse_by_balance
    frozen_weight
});
plain_struct!(EmitterProgress {
    emitted: u64,
    mass: f64,
    due: f64,
    next_radius: f64,
    blocked_steps: u64,
    stream_position: u128,
});
plain_struct!(Taken {
    time: f64,
    number: u64,
    mass: f64,
});
plain_struct!(LoadOfFormat2 {
    force: glam::DVec3,
    torque: glam::DVec3,
});
plain_struct!(WallLoad {
    force: glam::DVec3,
    torque: glam::DVec3,
    power: f64,
});
plain_struct!(LoadIntegral {
    impulse: glam::DVec3,
    angular_impulse: glam::DVec3,
    work: f64,
});
plain_struct!(LedgerOfFormat3 {
    steps: u64,
    initial_kinetic: f64,
    initial_stored: f64,
    stored: f64,
    gravity: f64,
    drives: f64,
    emitted: f64,
    removed: f64,
    friction: f64,
    rolling: f64,
    impact: f64,
    damping: f64,
});
plain_struct!(EnergyLedger {
    steps: u64,
    initial_kinetic: f64,
    initial_stored: f64,
    stored: f64,
    gravity: f64,
    drives: f64,
    cohesion: f64,
    emitted: f64,
    removed: f64,
    friction: f64,
    rolling: f64,
    impact: f64,
    damping: f64;
    joints
});
plain_struct!(Spatial {
    linear: glam::DVec3,
    angular: glam::DVec3,
});
plain_struct!(Violation {
    distance: f64,
    angle: f64,
});
plain_struct!(JointTotals {
    impulse: Spatial,
    work: f64,
    violation: Violation,
    max_violation: Violation,
});
plain_struct!(GearTotals {
    impulse: f64,
    work: f64,
    violation: f64,
    max_violation: f64,
});
plain_struct!(DriveTotals {
    impulse: f64,
    work: f64,
});
plain_struct!(ToolWork {
    total: f64,
    stored: f64,
    recent: f64,
    recently_stored: f64,
});

impl Plain for Activity {
    const SIZE: usize = 1;

    fn put(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Activity::Free => 0,
            Activity::Lower => 1,
            Activity::Upper => 2,
        });
    }

    fn get(bytes: &[u8]) -> Self {
        match bytes[0] {
            1 => Activity::Lower,
            2 => Activity::Upper,
            _ => Activity::Free,
        }
    }
}
