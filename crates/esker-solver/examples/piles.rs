//! Settled piles of spheres without rotation, one step of the associated law, every
//! solver against projected Jacobi.
//!
//! `piles FILE.vtu [SECONDS PER SOLVER] [SOLVER,SOLVER...] [coulomb]`
//!
//! With `coulomb`, the true law, rotation, and a compliance of 1e-3 of the mobility.
//!
//! The set-up is fixed by the data: friction 0.4, gravity 10 m/s², step 10 ms, contacts
//! up to a gap of 1 mm, `u_n + gap/h ≥ 0`, floor at `z = 0`.

use esker_contact::{
    BodyOperator, BodyState, Contact, ContactOperator, ContactProblem, FrictionLaw, Measure,
};
use esker_solver::{Status, Stopping, solve_by_name};
use glam::DVec3;

const FRICTION: f64 = 0.4;
const GRAVITY: f64 = 10.0;
const STEP: f64 = 1e-2;
const MARGIN: f64 = 1e-3;

/// The numbers of the data array whose opening tag contains `mark`.
fn numbers(text: &str, mark: &str) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let at = text.find(mark).ok_or_else(|| format!("no {mark}"))?;
    let start = at
        + text[at..]
            .find("<DataArray")
            .filter(|_| mark == "<Points>")
            .unwrap_or(0);
    let open = start + text[start..].find('>').ok_or("a tag is not closed")? + 1;
    let close = open + text[open..].find('<').ok_or("an array is not closed")?;
    Ok(text[open..close]
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?)
}

fn pile(text: &str, coulomb: bool) -> Result<ContactProblem, Box<dyn std::error::Error>> {
    let points = numbers(text, "<Points>")?;
    let radii = numbers(text, "Name=\"radius\"")?;
    let masses = numbers(text, "Name=\"mass\"")?;
    let centres: Vec<DVec3> = points
        .chunks_exact(3)
        .map(|p| DVec3::new(p[0], p[1], p[2]))
        .collect();
    let falling = DVec3::new(0.0, 0.0, -GRAVITY * STEP);
    let mut problem = ContactProblem {
        bodies: masses
            .iter()
            .zip(&radii)
            .map(|(m, r)| BodyState {
                velocity: falling,
                inverse_mass: 1.0 / m,
                inverse_inertia: if coulomb { 2.5 / (m * r * r) } else { 0.0 },
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    let floor = problem.bodies.len() as u32;
    problem.bodies.push(BodyState::default());
    let contact = |bodies: [u32; 2], normal, gap: f64| Contact {
        bodies,
        normal,
        arms: bodies.map(|i| radii.get(i as usize).copied().unwrap_or(0.0)),
        form: esker_contact::Form::Radial,
        friction: FRICTION,
        rolling: 0.0,
        twisting: 0.0,
        compliance: if coulomb {
            1e-3 / masses[bodies[1] as usize]
        } else {
            0.0
        },
        target: -gap / STEP,
    };
    let largest = radii.iter().fold(0.0, |m: f64, r| m.max(*r));
    let mut order: Vec<usize> = (0..centres.len()).collect();
    order.sort_by(|&a, &b| centres[a].x.total_cmp(&centres[b].x));
    for (k, &i) in order.iter().enumerate() {
        let gap = centres[i].z - radii[i];
        if gap < MARGIN {
            problem
                .contacts
                .push(contact([floor, i as u32], DVec3::Z, gap));
        }
        for &j in &order[k + 1..] {
            let apart = centres[j] - centres[i];
            if apart.x > 2.0 * largest + MARGIN {
                break;
            }
            let gap = apart.length() - radii[i] - radii[j];
            if gap < MARGIN {
                problem
                    .contacts
                    .push(contact([i as u32, j as u32], apart.normalize(), gap));
            }
        }
    }
    Ok(problem)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.first().ok_or("name a .vtu file of a pile")?;
    let seconds: f64 = arguments.get(1).map_or(Ok(20.0), |t| t.parse())?;
    let names = arguments.get(2).cloned().unwrap_or_else(|| {
        "jacobi,gauss-seidel,accelerated-gradient,interior-point,interior-point-cg,newton,auto"
            .into()
    });
    let coulomb = arguments.get(3).is_some_and(|word| word == "coulomb");
    let problem = pile(&std::fs::read_to_string(file)?, coulomb)?;
    let operator = BodyOperator::new(&problem)?;
    println!(
        "{} spheres, {} contacts",
        problem.bodies.len() - 1,
        operator.contacts()
    );
    let stop = |tolerance| Stopping {
        law: if coulomb {
            FrictionLaw::Coulomb
        } else {
            FrictionLaw::Associated
        },
        measure: Measure::Scaled,
        tolerance,
        iterations: 100_000_000,
        seconds: Some(seconds),
    };
    let mut reference = vec![0.0; operator.rows()];
    let best = solve_by_name(
        if coulomb { "newton" } else { "interior-point" },
        &operator,
        &mut reference,
        &stop(1e-10),
    )?;
    println!(
        "reference: {} to {:.1e} in {:.2} s",
        best.solver, best.residuals.scaled, best.seconds
    );
    best.notes.iter().for_each(|note| println!("  {note}"));
    let exact = operator.velocities(&reference);
    println!(
        "| solver | tolerance | reached | iterations | products | seconds | Jacobi/this | e/‖q‖ | max velocity error / gh |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut baseline = Vec::new();
    for name in names.split(',') {
        for (k, tolerance) in [1e-2, 5e-4, 1e-6].into_iter().enumerate() {
            let mut lambda = vec![0.0; operator.rows()];
            let report = solve_by_name(name, &operator, &mut lambda, &stop(tolerance))?;
            let error = operator
                .velocities(&lambda)
                .iter()
                .zip(&exact)
                .map(|(a, b)| (a.velocity - b.velocity).length())
                .fold(0.0, f64::max);
            let missed = report.status != Status::Converged;
            if name == "jacobi" {
                baseline.push((report.seconds, missed));
            }
            let ratio = match baseline.get(k) {
                Some((time, more)) if !missed => {
                    format!(
                        "{}{:.1}",
                        if *more { "> " } else { "" },
                        time / report.seconds
                    )
                }
                _ => "-".into(),
            };
            println!(
                "| {name} | {tolerance:.0e} | {:.1e} | {}{} | {} | {:.3} | {ratio} | {:.1e} | {:.1e} |",
                report.residuals.scaled,
                if missed { "> " } else { "" },
                report.iterations,
                report.products,
                report.seconds,
                report.residuals.natural_map,
                error / (GRAVITY * STEP),
            );
        }
    }
    Ok(())
}
