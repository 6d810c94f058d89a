//! Right at every step, size and load: what must not depend on the step, on
//! the size of grains or on what stands on them.
//!
//! * A plate is pushed through a settled bed: contacts that close in chains must
//!   be predicted at a long step, and the draft force must be that of a short one.
//! * Twenty grains in a row are pushed: energy and overlap as in smooth stepping.
//! * A dropped lattice does not fall into itself.
//! * Restitution over step and stiffness; creep over size; a boulder on pebbles
//!   over the ratio of masses.

mod worlds;

use esker_geometry::{Region, WallShape};
use esker_plot::{Axis, Plot, Series, number};
use esker_world::definition::{Method, Placement, Smooth, WholeStep, WorldDef};
use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Prepared, Start};
use crate::criterion::{Criterion, Reported, max_or_nan};
use crate::experiment::{About, Case, Experiment, Frame, Outcome, Size, Table};
use crate::frame;
use crate::results::{Results, StudyError};

/// See the module.
pub struct Limits;

const SCENE: &str = include_str!("../../../../scenes/experiments/limits.toml");

fn sub_stepped() -> Method {
    Start::SubStepped.method(25)
}

fn whole_step() -> Method {
    Method::WholeStep(WholeStep::default())
}

/// Steps of the plate, s: the one judged, and the one it is judged by.
const PLATE_STEPS: [f64; 2] = [1e-3, 1e-4];

fn beds(size: Size) -> std::ops::Range<u64> {
    0..size.pick(3, 2)
}

/// The bed of the scene, or a smaller one; plate last.
fn bed(size: Size, seed: u64) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.seed += seed;
    if size == Size::Reduced {
        let (length, width) = (0.2, 0.06);
        if let WallShape::Box { half_extents, .. } = &mut def.walls[0].shape {
            (half_extents.x, half_extents.y) = (0.5 * length, 0.5 * width);
        }
        def.walls[1].pose.position.x = -0.5 * length - 0.01;
        if let Placement::Lattice { region, count, .. } = &mut def.packings[0].placement {
            *count = Some(800);
            if let Region::Box { half_extents, .. } = region {
                (half_extents.x, half_extents.y) = (0.5 * length, 0.5 * width);
            }
        }
    }
    Ok(def)
}

fn settled(size: Size, seed: u64) -> Result<Prepared, StudyError> {
    let mut def = bed(size, seed)?;
    def.walls.pop();
    def.step = 2e-3;
    let mut world = bench::build(&def)?;
    bench::run(&mut world, 1.5, |_, _| ())?;
    Ok(Prepared::of(&world))
}

/// What the plate gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Push {
    /// Mean force of the grains on the plate, against its motion, after the
    /// first fifth of its way, N.
    draft: f64,
    /// Worst overlap of all, in diameters.
    overlap: f64,
    /// The bed at the end.
    frame: Frame,
}

fn push(size: Size, seed: u64, step: f64, settled: &Prepared) -> Result<Push, StudyError> {
    let mut def = bed(size, seed)?;
    settled.put_into(&mut def);
    def.step = step;
    let mut world = bench::build(&def)?;
    let duration = size.pick(0.1, 0.05);
    let start = 0.2 * duration;
    let early = worlds::worst_overlap(&mut world, start)?;
    let before = world.walls()[1].total_load.impulse.x;
    let late = worlds::worst_overlap(&mut world, duration - start)?;
    let impulse = world.walls()[1].total_load.impulse.x - before;
    let caption = format!("The plate, h = {} ms", number(1e3 * step, 2));
    let direction = DVec3::new(0.0, 1.0, -0.3);
    Ok(Push {
        draft: -impulse / (duration - start),
        overlap: early.max(late),
        frame: frame::draw_speeds(&world, &caption, direction, 1.0)?,
    })
}

fn settled_name(size: Size, seed: u64) -> String {
    format!("settled bed {seed}, {}", size.name())
}

fn push_name(size: Size, seed: u64, step: f64) -> String {
    format!("plate, bed {seed}, h={step}, {}", size.name())
}

/// Restitution of the pairs in the row.
const ROW_RESTITUTIONS: [f64; 3] = [0.0, 0.5, 0.9];

fn row_steps(size: Size) -> &'static [f64] {
    size.pick(
        &[1e-3, 5e-4, 4e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5],
        &[1e-3, 1e-4, 2e-5],
    )
}

/// Steps of the row in whole steps: one implicit solve damps what it does not
/// resolve, so that only the limit is the same.
fn row_whole_steps(size: Size) -> &'static [f64] {
    size.pick(&[2e-5, 5e-6, 1e-6], &[])
}

/// Max error of the row's energy at a step, where it is promised: sub-stepped at
/// 1 ms and from 0.1 ms down, in whole steps where these resolve the collisions.
fn row_bound(way: &str, step: f64) -> Option<f64> {
    let longest = if way.is_empty() { 1e-4 } else { 2e-5 };
    if step <= longest {
        Some(0.05)
    } else if step == 1e-3 {
        Some(0.25)
    } else {
        None
    }
}

fn row_smooth() -> (Method, f64) {
    let method = Method::Smooth(Smooth {
        substeps: 40,
        ..Default::default()
    });
    (method, 1e-5)
}

fn row_whole_step() -> Method {
    Method::WholeStep(WholeStep {
        sweeps: 2000,
        tolerance: Some(1e-8),
        ..Default::default()
    })
}

fn row_name(e: f64, way: &str) -> String {
    format!("row, e={e}, {way}")
}

/// A way of stepping and what makes its method.
type Way = (&'static str, fn() -> Method);

/// Ways of stepping that the small worlds are run with.
const WAYS: [Way; 2] = [("sub-stepped", sub_stepped), (WHOLE_STEP, whole_step)];

const WHOLE_STEP: &str = "whole step";

const YOUNG: [f64; 3] = [5e6, 1e8, 1e9];
const RESTITUTIONS: [f64; 6] = [0.0, 0.05, 0.3, 0.5, 0.75, 0.95];

fn restitution_steps(size: Size) -> &'static [f64] {
    size.pick(&[1e-2, 1e-3, 1e-4, 1e-5, 1e-6], &[1e-2, 1e-3, 1e-4, 1e-5])
}

/// Max |e_eff − e| over restitutions, at a floor and between grains.
fn restitution_error(method: fn() -> Method, young: f64, step: f64) -> Result<f64, StudyError> {
    let mut errors = Vec::new();
    for e in RESTITUTIONS {
        for meeting in [(2.0, true), (2.0, false), (0.2, false)] {
            let found = worlds::effective_restitution((young, e), (method(), step), meeting)?;
            errors.push((found - e).abs());
        }
    }
    Ok(max_or_nan(errors))
}

fn restitution_name(way: &str, young: f64, step: f64) -> String {
    format!("restitution, {way}, E={young:e}, h={step}")
}

fn lattice_name(way: &str) -> String {
    format!("lattice, {way}")
}

const CREEP_SIZES: [f64; 5] = [1e-4, 1e-2, 0.4, 3.0, 10.0];

fn creep_name(way: &str, diameter: f64) -> String {
    format!("creep, {way}, d={diameter}")
}

const MASS_RATIOS: [f64; 4] = [1e2, 1e3, 1e4, 1e5];

fn boulder_name(mass_ratio: f64) -> String {
    format!("boulder, mass ratio {mass_ratio:e}")
}

impl Experiment for Limits {
    fn about(&self) -> About {
        About {
            name: "limits",
            paper: "the law of the contacts itself; smooth stepping and short steps",
            shows: "Overlaps, forces, energies and restitution at long steps are those of short \
                    ones, for grains of any size, under any load.",
            seconds_full: 200.0,
            seconds_reduced: 10.0,
        }
    }

    fn scene(&self) -> &'static str {
        SCENE
    }

    fn cases(&self, size: Size) -> Vec<Case> {
        let mut cases = Vec::new();
        for seed in beds(size) {
            let prepared = settled_name(size, seed);
            cases.push(Case::new(prepared.clone(), move || settled(size, seed)));
            for step in PLATE_STEPS {
                let prepared = prepared.clone();
                let name = push_name(size, seed, step);
                cases.push(Case::after(1, name, move |results| {
                    push(size, seed, step, &results.get(&prepared)?)
                }));
            }
        }
        for e in ROW_RESTITUTIONS {
            cases.push(Case::new(row_name(e, "smooth"), move || {
                let (method, step) = row_smooth();
                worlds::pushed_row(e, method, step)
            }));
            for &step in row_steps(size) {
                let name = row_name(e, &format!("h={step}"));
                cases.push(Case::new(name, move || {
                    worlds::pushed_row(e, sub_stepped(), step)
                }));
            }
            for &step in row_whole_steps(size) {
                let name = row_name(e, &format!("whole step, h={step}"));
                cases.push(Case::new(name, move || {
                    worlds::pushed_row(e, row_whole_step(), step)
                }));
            }
        }
        for (way, method) in WAYS {
            cases.push(Case::new(lattice_name(way), move || {
                worlds::dropped_lattice(method())
            }));
            for young in YOUNG {
                for &step in restitution_steps(size) {
                    let name = restitution_name(way, young, step);
                    cases.push(Case::new(name, move || {
                        restitution_error(method, young, step)
                    }));
                }
            }
            for d in CREEP_SIZES {
                cases.push(Case::new(creep_name(way, d), move || {
                    worlds::creep(d, method())
                }));
            }
        }
        for ratio in MASS_RATIOS {
            cases.push(Case::new(boulder_name(ratio), move || {
                worlds::boulder_on_pebbles(ratio, sub_stepped())
            }));
        }
        cases
    }

    fn judge(&self, size: Size, results: &Results) -> Result<Outcome, StudyError> {
        let mut outcome = Outcome::default();
        judge_plate(size, results, &mut outcome)?;
        judge_row(size, results, &mut outcome)?;
        judge_lattice(size, results, &mut outcome)?;
        judge_restitution(size, results, &mut outcome)?;
        judge_sizes(results, &mut outcome)?;
        Ok(outcome)
    }
}

fn percent(share: f64, digits: usize) -> String {
    number(100.0 * share, digits)
}

fn judge_plate(size: Size, results: &Results, outcome: &mut Outcome) -> Result<(), StudyError> {
    let mut table = Table::new(
        "A plate at 1 m/s in a settled bed",
        &["bed", "h (ms)", "draft force (N)", "worst overlap (%)"],
    );
    let mut drafts = [0.0; 2];
    let mut overlaps = Vec::new();
    for seed in beds(size) {
        for (k, step) in PLATE_STEPS.into_iter().enumerate() {
            let found: Push = results.get(&push_name(size, seed, step))?;
            table.row([
                seed.to_string(),
                number(1e3 * step, 2),
                number(found.draft, 4),
                percent(found.overlap, 2),
            ]);
            drafts[k] += found.draft;
            if k == 0 {
                overlaps.push(found.overlap);
            }
            if seed == 0 {
                outcome.frame(found.frame);
            }
        }
    }
    outcome.table(table);
    outcome.require(
        Criterion::at_most(
            "plate, h = 1 ms: worst overlap in diameters",
            max_or_nan(overlaps),
            0.03,
            "what the contact law gives",
        )
        .because("3 %: every contact that closes within the step is predicted"),
    );
    let name = "plate: draft force at h = 1 ms over that at 0.1 ms";
    let ratio = drafts[0] / drafts[1];
    match size {
        Size::Full => outcome.require(
            Criterion::within(name, ratio, [0.95, 1.05], "1").because("5 %, mean over the beds"),
        ),
        Size::Reduced => outcome.report(Reported::new(
            name,
            ratio,
            "1",
            "the draft of a single bed of 800 grains scatters by 15 %",
        )),
    }
    Ok(())
}

fn judge_row(size: Size, results: &Results, outcome: &mut Outcome) -> Result<(), StudyError> {
    let mut plot = Plot::new(
        "Twenty grains in a row, pushed by a plane",
        Axis::log("step (s)"),
        Axis::linear("kinetic energy / ½ M U²"),
    );
    let mut table = Table::new(
        "Kinetic energy of the row over ½ M U² (worst overlap, %)",
        &["e", "smooth"],
    );
    let steps = row_steps(size).iter().map(|&h| (h, ""));
    let whole = row_whole_steps(size).iter().map(|&h| (h, "whole step, "));
    let runs: Vec<(f64, &str)> = steps.chain(whole).collect();
    for (h, way) in &runs {
        table
            .head
            .push(format!("{way}h = {} ms", number(1e3 * h, 2)));
    }
    for e in ROW_RESTITUTIONS {
        let show = |[energy, overlap]: [f64; 2]| {
            format!("{} ({})", number(energy, 4), percent(overlap, 2))
        };
        let smooth: [f64; 2] = results.get(&row_name(e, "smooth"))?;
        let mut cells = vec![number(e, 2), show(smooth)];
        let mut curve = Vec::new();
        for &(step, way) in &runs {
            let found: [f64; 2] = results.get(&row_name(e, &format!("{way}h={step}")))?;
            cells.push(show(found));
            if way.is_empty() {
                curve.push([step, found[0]]);
            }
            let Some(bound) = row_bound(way, step) else {
                continue;
            };
            let run = format!("row, e = {e}, {way}h = {} ms", number(1e3 * step, 2));
            outcome.require(
                Criterion::at_most(
                    format!("{run}: error of the energy"),
                    (found[0] / smooth[0] - 1.0).abs(),
                    bound,
                    "0 (smooth at 0.25 µs)",
                )
                .because("5 % up to h = 0.1 ms, 25 % at 1 ms"),
            );
            outcome.require(
                Criterion::at_most(
                    format!("{run}: worst overlap in diameters"),
                    found[1],
                    0.02,
                    format!("{} (smooth)", number(smooth[1], 2)),
                )
                .because("2 %: no contact is left out"),
            );
        }
        table.row(cells);
        plot.series
            .push(Series::line(format!("e = {e}"), curve).with_points());
        let limit = row_steps(size).iter().map(|&h| [h, smooth[0]]).collect();
        plot.series
            .push(Series::dashed(format!("smooth, e = {e}"), limit));
    }
    outcome.svg(plot.svg());
    outcome.table(table);
    Ok(())
}

fn judge_lattice(size: Size, results: &Results, outcome: &mut Outcome) -> Result<(), StudyError> {
    for (way, _) in WAYS {
        let name = format!("dropped lattice, {way}: worst overlap in diameters");
        let overlap: f64 = results.get(&lattice_name(way))?;
        if size == Size::Reduced && way == WHOLE_STEP {
            outcome.report(Reported::new(
                name,
                overlap,
                "at most 0.05",
                "whole steps do not keep 5 % yet; the full size judges them",
            ));
            continue;
        }
        outcome.require(
            Criterion::at_most(name, overlap, 0.05, "what the contact law gives")
                .because("5 % with h = 5 ms and soft grains (6 MPa)"),
        );
    }
    Ok(())
}

fn judge_restitution(
    size: Size,
    results: &Results,
    outcome: &mut Outcome,
) -> Result<(), StudyError> {
    let steps = restitution_steps(size);
    let mut table = Table::new(
        "Max |e_eff − e|, e = 0 … 0.95, floor and pair of grains",
        &["stepping", "E (Pa)"],
    );
    for h in steps {
        table.head.push(format!("h = {} ms", number(1e3 * h, 2)));
    }
    for (way, _) in WAYS {
        let mut errors = Vec::new();
        for young in YOUNG {
            let mut cells = vec![way.to_string(), format!("{young:e}")];
            for &step in steps {
                let error: f64 = results.get(&restitution_name(way, young, step))?;
                cells.push(number(error, 2));
                errors.push(error);
            }
            table.row(cells);
        }
        outcome.require(
            Criterion::at_most(
                format!("restitution, {way}: max |e_eff − e|"),
                max_or_nan(errors),
                0.01,
                "0",
            )
            .because("0.01 at every step and stiffness"),
        );
    }
    outcome.table(table);
    Ok(())
}

fn judge_sizes(results: &Results, outcome: &mut Outcome) -> Result<(), StudyError> {
    let mut table = Table::new(
        "Creep of a grain on a slope of 15° (µ = 0.5) over √(g d)",
        &["d (m)", WAYS[0].0, WAYS[1].0],
    );
    let mut creeps = [Vec::new(), Vec::new()];
    for d in CREEP_SIZES {
        let mut cells = vec![number(d, 2)];
        for (found, (way, _)) in creeps.iter_mut().zip(WAYS) {
            let creep: f64 = results.get(&creep_name(way, d))?;
            cells.push(format!("{creep:.1e}"));
            found.push(creep.abs());
        }
        table.row(cells);
    }
    outcome.table(table);
    for (found, (way, _)) in creeps.into_iter().zip(WAYS) {
        outcome.require(
            Criterion::at_most(
                format!("creep over √(g d), {way}, d from 0.1 mm to 10 m"),
                max_or_nan(found),
                1e-6,
                "0 (Coulomb)",
            )
            .because("a sticking grain sticks, whatever its size"),
        );
    }
    let mut table = Table::new(
        "A boulder on three pebbles, h = 5 ms, 25 substeps",
        &["mass ratio", "overlap (% of a pebble)"],
    );
    let mut overlaps = Vec::new();
    for ratio in MASS_RATIOS {
        let overlap: f64 = results.get(&boulder_name(ratio))?;
        table.row([format!("{ratio:e}"), percent(overlap, 2)]);
        overlaps.push(overlap);
    }
    outcome.table(table);
    outcome.require(
        Criterion::at_most(
            "boulder on pebbles: overlap in diameters of a pebble",
            max_or_nan(overlaps),
            0.02,
            "what the contact law gives",
        )
        .because("2 % at mass ratios up to 1e5"),
    );
    Ok(())
}
