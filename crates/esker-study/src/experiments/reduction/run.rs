//! A run of a test, and what is measured in it.

use esker_analysis::surface::{Frame as Axes, HeightMap};
use esker_analysis::{Snapshot, plug, repose};
use esker_geometry::WallShape;
use esker_world::World;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::worlds::{DIAMETER, DRUM_RATE, GATE, TILTING, TILTS, Test, Way, world_of};
use crate::bench::{self, Prepared};
use crate::experiment::{Frame, Size};
use crate::frame;
use crate::observe;
use crate::results::StudyError;

/// Layers of a velocity profile, one diameter thick each.
const LAYERS: usize = 6;

/// What came of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    /// Share of frozen grains against time, s.
    pub(super) level: Vec<[f64; 2]>,
    /// Slope of the surface, degrees, against time, s, where there is one.
    pub(super) angles: Vec<[f64; 2]>,
    /// Height of the centre of mass, in diameters, against time, s.
    pub(super) heights: Vec<[f64; 2]>,
    /// Velocity along the surface of a drum's bed, over that of the shell, against depth below
    /// it, in diameters.
    pub(super) profile: Vec<[f64; 2]>,
    pub(super) mean_level: f64,
    /// Contacts that were solved, summed over steps.
    pub(super) contacts: f64,
    /// Time on the clock, s.
    pub(super) seconds: f64,
    /// Force on the floor at the end over the weight of the grains.
    pub(super) base: f64,
    /// Height of the centre of mass at the end, in diameters.
    pub(super) height: f64,
    /// Place along x that 99 of 100 grains do not exceed, in diameters.
    pub(super) front: f64,
    /// Kinetic energy a tenth of a second after the start of motion, J.
    pub(super) kinetic: f64,
    /// Grains that have moved by more than a diameter, at each of [`TILTS`].
    pub(super) moved: Vec<f64>,
    /// Grains that left.
    pub(super) outflow: f64,
    /// Angle of the centre of mass below the axis of the drum against gravity, degrees.
    pub(super) lift: f64,
    /// Share of grains that move with the drum; zero where there is none.
    pub(super) plug: f64,
    /// Largest overlap of a step, in diameters, as mean over the steps.
    pub(super) overlap: f64,
    /// Energy that freezing took over all that gravity gave.
    pub(super) energy_lost: f64,
    /// By how much contacts of frozen grains fall short of their mean balance, over their weight.
    pub(super) imbalance: f64,
    /// Slope of the surface over the second half of the run, degrees; zero where there is none,
    /// for results that are stored hold no other numbers than finite ones.
    slope: f64,
    pub(super) grains: f64,
    pub(super) frame: Frame,
}

impl Run {
    /// Slope of the surface over the second half of the run, degrees; NaN where there is none.
    pub(super) fn slope(&self) -> f64 {
        match self.angles.is_empty() {
            true => f64::NAN,
            false => self.slope,
        }
    }

    /// Takes the slope from the angles.
    fn set_slope(&mut self) {
        let late = &self.angles[self.angles.len() / 2..];
        if !late.is_empty() {
            self.slope = mean(&late.iter().map(|point| point[1]).collect::<Vec<_>>());
        }
    }

    /// The first of several runs with the means of all in place of its numbers, but for what is
    /// drawn against time.
    pub(super) fn mean_of(runs: &[Run]) -> Option<Run> {
        let mut of_all = runs.first()?.clone();
        let numbers: [fn(&mut Run) -> &mut f64; 15] = [
            |run| &mut run.mean_level,
            |run| &mut run.contacts,
            |run| &mut run.seconds,
            |run| &mut run.base,
            |run| &mut run.height,
            |run| &mut run.front,
            |run| &mut run.kinetic,
            |run| &mut run.outflow,
            |run| &mut run.lift,
            |run| &mut run.plug,
            |run| &mut run.overlap,
            |run| &mut run.energy_lost,
            |run| &mut run.imbalance,
            |run| &mut run.slope,
            |run| &mut run.grains,
        ];
        let mut runs = runs.to_vec();
        for number in numbers {
            let all: Vec<f64> = runs.iter_mut().map(|run| *number(run)).collect();
            *number(&mut of_all) = mean(&all);
        }
        for k in 0..of_all.profile.len() {
            let speeds = runs.iter().filter_map(|run| run.profile.get(k));
            of_all.profile[k][1] = mean(&speeds.map(|point| point[1]).collect::<Vec<_>>());
        }
        Some(of_all)
    }
}

/// Measures of the second half of a run, one after another.
#[derive(Default)]
struct Late {
    bases: Vec<f64>,
    lifts: Vec<f64>,
    plugs: Vec<f64>,
    /// Per layer: sum of velocities, and how many.
    layers: [(f64, f64); LAYERS],
}

pub(super) fn run(
    test: Test,
    way: Way,
    size: Size,
    start: u64,
    prepared: Option<&Prepared>,
) -> Result<Run, StudyError> {
    let (mut def, time) = world_of(test, size, prepared)?;
    def.seed += start;
    def.reduction = way.settings();
    let mut world = bench::build(&def)?;
    let start = places(&world, DQuat::IDENTITY);
    let mut run = Run {
        kinetic: f64::NAN,
        ..Default::default()
    };
    let mut late = Late::default();
    let mut next_tilt = TILTS
        .iter()
        .map(|tilt| tilt.to_radians() / TILTING)
        .peekable();
    let half_step = 0.5 * world.step_length();
    let look_every = (test.look_every(size) / world.step_length())
        .round()
        .max(1.0) as u64;
    bench::run(&mut world, time, |world, report| {
        run.contacts += report.contacts as f64;
        run.seconds += report.times.total().as_secs_f64();
        run.overlap += report.max_overlap * half_step * 2.0 / time;
        if (report.time - (GATE + 0.1)).abs() < half_step {
            run.kinetic = world.kinetic_energy();
        }
        if test == Test::Tilt
            && next_tilt
                .next_if(|at| report.time > at - half_step)
                .is_some()
        {
            let back = DQuat::from_axis_angle(DVec3::Y, -TILTING * report.time);
            let now = places(world, back);
            let moved = now.iter().zip(&start);
            let moved = moved.filter(|(now, then)| now.distance(**then) > DIAMETER);
            run.moved.push(moved.count() as f64);
        }
        if report.step.is_multiple_of(look_every) && report.grains > 0 {
            let share = report.frozen as f64 / report.grains as f64;
            run.level.push([report.time, share]);
            look(
                test,
                size,
                world,
                &mut run,
                (report.time > 0.5 * time).then_some(&mut late),
            );
        }
    })?;
    run.set_slope();
    run.base = mean(&late.bases);
    run.lift = mean(&late.lifts);
    if !late.plugs.is_empty() {
        run.plug = mean(&late.plugs);
    }
    let layers = late
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| layer.1 > 0.0);
    let layers = layers.map(|(k, (sum, count))| [k as f64 + 0.5, sum / count]);
    run.profile = layers.collect();
    let all = world.all_grains();
    let count = all.count() as f64;
    run.grains = count;
    run.height = all.position().iter().map(|x| x.z).sum::<f64>() / count / DIAMETER;
    let mut along: Vec<f64> = all.position().iter().map(|x| x.x / DIAMETER).collect();
    along.sort_by(f64::total_cmp);
    run.front = along
        .get((0.99 * count) as usize)
        .copied()
        .unwrap_or(f64::NAN);
    run.outflow = world
        .sinks()
        .iter()
        .map(|sink| sink.total().number as f64)
        .sum();
    let fall: f64 = (start.iter().zip(places(&world, DQuat::IDENTITY)))
        .map(|(then, now)| (then.z - now.z).max(0.0))
        .sum::<f64>()
        * 9.81
        * all.mass().iter().sum::<f64>()
        / count;
    if let Some(totals) = world.reduction() {
        run.mean_level = totals.mean_level();
        run.imbalance = totals.mean_imbalance();
        run.energy_lost = if fall > 0.0 {
            totals.energy_lost / fall
        } else {
            0.0
        };
    }
    let aggregates: Vec<f64> = all
        .id()
        .iter()
        .map(|id| f64::from(world.aggregate_of(*id)))
        .collect();
    let direction = match test {
        Test::Drum => DVec3::Y,
        _ => DVec3::new(-0.4, 1.0, -0.35),
    };
    run.frame = frame::draw(
        &world,
        &frame::Shot {
            caption: &format!("{test:?}, {}", way.name()),
            direction,
            legend: "frozen",
            values: &aggregates,
            range: [0.0, 1.0],
        },
    )?;
    Ok(run)
}

/// Looks at a run on its way.
fn look(test: Test, size: Size, world: &World, run: &mut Run, late: Option<&mut Late>) {
    let snapshot = observe::snapshot(world);
    let time = world.time();
    let mass: f64 = world.all_grains().mass().iter().sum();
    let Ok(centre) = snapshot.centre_of_mass() else {
        return;
    };
    run.heights.push([time, centre.z / DIAMETER]);
    let radius = drum_radius(world);
    let angle = match test {
        Test::Rest | Test::Tilt => None,
        Test::Collapse => {
            let far = snapshot.positions.iter().map(|x| x.x).fold(0.0, f64::max);
            let width = snapshot.positions.iter().map(|x| x.y).fold(0.0, f64::max);
            let map = HeightMap::new(
                &snapshot,
                Axes::WORLD,
                [0.0, 0.0],
                [far, width],
                0.5 * DIAMETER,
            );
            repose::flank_angle(&map.profile_along_u(0.0), 0.0)
        }
        Test::Belt => {
            // Across the belt, between the feeder and its end.
            let across = Axes {
                u: DVec3::Y,
                v: DVec3::X,
                ..Axes::WORLD
            };
            let [from, to] = size.pick([15.0, 45.0], [8.0, 18.0]).map(|d| d * DIAMETER);
            let half = 15.0 * DIAMETER;
            let map = HeightMap::new(&snapshot, across, [-half, from], [half, to], 0.5 * DIAMETER);
            repose::ridge_angle(&map.profile_along_u(0.0), 0.0)
        }
        Test::Drum => repose::drum_surface_angle(&snapshot, DVec3::Y, DVec3::ZERO, radius),
        Test::Stockpile => {
            let far = size.pick(120.0, 30.0) * DIAMETER;
            let on_floor = |x: &DVec3| x.x > 0.0;
            let foot: Vec<DVec3> = snapshot
                .positions
                .iter()
                .copied()
                .filter(on_floor)
                .collect();
            let centre = foot.iter().sum::<DVec3>() / foot.len().max(1) as f64;
            let map = HeightMap::new(
                &snapshot,
                Axes::WORLD,
                [DIAMETER, -far],
                [far, far],
                0.5 * DIAMETER,
            );
            repose::cone_angle(&map, [centre.x, centre.y], 0.0)
        }
    };
    run.angles
        .extend(angle.map(|angle| [time, angle.to_degrees()]));
    let Some(late) = late else {
        return;
    };
    late.bases
        .push(-world.walls()[0].load.force.z / (mass * 9.81));
    late.lifts
        .push((centre.x.abs() / -centre.z).atan().to_degrees());
    if test == Test::Drum {
        let rate = DVec3::Y * DRUM_RATE;
        late.plugs
            .extend(plug::fraction(&snapshot, rate, DVec3::ZERO, radius));
        add_layers(&snapshot, centre, radius, &mut late.layers);
    }
}

/// Radius of the first wall, if it is a drum, m.
fn drum_radius(world: &World) -> f64 {
    match world.walls().first().map(|wall| &wall.shape) {
        Some(WallShape::Cylinder { radius, .. }) => *radius,
        _ => f64::NAN,
    }
}

/// Adds the velocities of a drum's bed along its surface, over that of the shell, near the middle
/// of the surface: positive downhill.
fn add_layers(snapshot: &Snapshot, centre: DVec3, radius: f64, layers: &mut [(f64, f64); LAYERS]) {
    let Ok(velocities) = snapshot.velocities() else {
        return;
    };
    // The bed's centre of mass is straight below the middle of its surface.
    let up = (-centre.reject_from(DVec3::Y)).normalize_or_zero();
    let mut along = up.cross(DVec3::Y);
    if along.z > 0.0 {
        along = -along;
    }
    let is_near = |x: &DVec3| x.dot(along).abs() < 0.15 * radius;
    let near = || {
        snapshot
            .positions
            .iter()
            .zip(velocities)
            .filter(|(x, _)| is_near(x))
    };
    let mut tops: Vec<f64> = near().map(|(x, _)| x.dot(up)).collect();
    tops.sort_by(f64::total_cmp);
    // A few grains bounce above the surface.
    let Some(&surface) = tops.get(tops.len() * 99 / 100) else {
        return;
    };
    for (x, velocity) in near() {
        let layer = ((surface - x.dot(up)) / DIAMETER).max(0.0) as usize;
        if let Some((sum, count)) = layers.get_mut(layer) {
            *sum += velocity.dot(along) / (radius * DRUM_RATE);
            *count += 1.0;
        }
    }
}

/// Places of all grains in the order of ids, rotated.
fn places(world: &World, turn: DQuat) -> Vec<DVec3> {
    let all = world.all_grains();
    let order = all.in_id_order().into_iter();
    order.map(|i| turn * all.position()[i]).collect()
}

/// The mean; NaN of nothing.
pub(super) fn mean(list: &[f64]) -> f64 {
    list.iter().sum::<f64>() / list.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_runs_has_their_mean_numbers_and_the_curves_of_the_first() {
        let run = |plug: f64, seconds: f64| Run {
            plug,
            seconds,
            profile: vec![[0.5, plug]],
            angles: vec![[1.0, plug]],
            ..Default::default()
        };
        let mean = Run::mean_of(&[run(0.5, 2.0), run(0.75, 4.0)]).unwrap();
        assert_eq!((mean.plug, mean.seconds), (0.625, 3.0));
        assert_eq!(mean.profile, [[0.5, 0.625]]);
        assert_eq!(mean.angles, [[1.0, 0.5]]);
        assert!(Run::mean_of(&[]).is_none());
    }

    /// Beds have no slope, and their runs could be stored but not read.
    #[test]
    fn runs_without_a_surface_are_read_as_they_were_stored() {
        for angles in [vec![], vec![[0.0, 1.0], [0.1, 30.0], [0.2, 40.0]]] {
            let mut run = Run {
                angles,
                ..Default::default()
            };
            run.set_slope();
            let stored = serde_json::to_string(&run).unwrap();
            let read: Run = serde_json::from_str(&stored).unwrap();
            assert_eq!(read.slope().to_bits(), run.slope().to_bits());
            assert_eq!(run.slope().is_nan(), run.angles.is_empty());
        }
    }
}
