//! Repair of clusters: where a method stalls, the error often sits in a few contacts.
//!
//! A cluster of contacts that all stick may have no solution in which they all do:
//! its impulses then have to grow along a self-stress, changing no velocity, until one
//! of them slips or opens. Global methods take that way in tiny steps, since everything
//! else is already solved and nothing there may get worse. With the other impulses
//! held fixed, the contacts that carry the error and their neighbours are a small
//! problem of their own,
//!
//! ```text
//! u_S = W_SS λ_S + (q + W_S,rest λ_rest)                                     (1)
//! ```
//!
//! for which many sweeps and many variants of Newton cost next to nothing. The rest is
//! then brought back into balance by sweeps and Newton on the whole problem.

use crate::ContactSolver;
use crate::gauss_seidel::GaussSeidel;
use crate::newton::Newton;
use crate::report::{Monitor, Stopping};
use esker_contact::{AssembledProblem, ContactOperator, FrictionLaw, Measure};

/// Most contacts of a cluster's core; each size is tried until one helps.
const CORES: [usize; 3] = [5, 15, 45];
/// Most contacts with neighbours.
const CLUSTER: usize = 160;
/// Error of a core contact relative to the worst one.
const SHARE: f64 = 0.02;
/// Most relaxations of single contacts in a cluster.
const WORK: usize = 400_000;

/// Solves the cluster that carries the error of `x`; true where its own residual fell.
pub fn repair(monitor: &mut Monitor, whole: &AssembledProblem, x: &mut [f64]) -> bool {
    let errors = contact_errors(monitor, whole, x);
    CORES.into_iter().any(|core| {
        let cluster = choose(whole, &errors, core);
        !cluster.is_empty()
            && cluster.len() < whole.contacts()
            && !monitor.out_of_time()
            && repair_cluster(monitor, whole, &cluster, x)
    })
}

fn repair_cluster(
    monitor: &mut Monitor,
    whole: &AssembledProblem,
    cluster: &[usize],
    x: &mut [f64],
) -> bool {
    let law = monitor.stop.law;
    let part = restrict(whole, cluster, x);
    let b = part.block;
    let mut own: Vec<f64> = cluster
        .iter()
        .flat_map(|&c| x[c * b..(c + 1) * b].iter().copied())
        .collect();
    let before = esker_contact::residuals(&part, &own, law).get(Measure::Scaled);
    let stop = Stopping {
        law,
        measure: Measure::Scaled,
        tolerance: 1e-4 * before,
        iterations: WORK / cluster.len(),
        seconds: monitor.stop.seconds.map(|limit| limit - monitor.seconds()),
    };
    let newton = Newton {
        attempts: 4,
        ..Newton::FROM_A_START
    };
    let sweeps = GaussSeidel {
        check_every: 200,
        ..Default::default()
    };
    let methods: [&dyn ContactSolver; 3] = [&newton, &sweeps, &newton];
    for method in methods {
        let report = method.solve(&part, &mut own, &stop);
        monitor.count_iterations(report.iterations);
        if report.residuals.get(Measure::Scaled) <= stop.tolerance {
            break;
        }
    }
    let after = esker_contact::residuals(&part, &own, law).get(Measure::Scaled);
    monitor.note(format!(
        "a cluster of {} contacts alone: residual {before:.1e} to {after:.1e}",
        cluster.len()
    ));
    let better = after < 0.5 * before;
    if better {
        for (&c, rows) in cluster.iter().zip(own.chunks_exact(b)) {
            x[c * b..(c + 1) * b].copy_from_slice(rows);
        }
    }
    better
}

/// How far every contact is from its law.
fn contact_errors(monitor: &mut Monitor, whole: &AssembledProblem, x: &[f64]) -> Vec<f64> {
    let law = monitor.stop.law;
    let b = whole.block;
    let mut u = vec![0.0; x.len()];
    monitor.velocity(x, &mut u);
    (0..whole.contacts())
        .map(|c| {
            let u = &u[c * b..(c + 1) * b];
            let x = &x[c * b..(c + 1) * b];
            let limits = whole.limits[c];
            let mut z: Vec<f64> = x.iter().zip(u).map(|(x, u)| x - u).collect();
            if law == FrictionLaw::Coulomb {
                z[0] -= limits.de_saxce_shift(u);
            }
            limits.project(&mut z);
            let square: f64 = x.iter().zip(&z).map(|(x, z)| (x - z) * (x - z)).sum();
            square.sqrt()
        })
        .collect()
}

/// The contacts with large errors and those they touch, in increasing order.
fn choose(whole: &AssembledProblem, errors: &[f64], size: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..errors.len()).collect();
    order.sort_by(|&i, &j| errors[j].total_cmp(&errors[i]).then(i.cmp(&j)));
    let Some(&worst) = order.first() else {
        return Vec::new();
    };
    let core: Vec<usize> = order
        .into_iter()
        .take(size)
        .take_while(|&c| errors[c] > SHARE * errors[worst])
        .collect();
    let mut cluster = core.clone();
    for &c in &core {
        for (other, _) in whole.row(c) {
            if cluster.len() < CLUSTER && !cluster.contains(&other) {
                cluster.push(other);
            }
        }
    }
    cluster.sort_unstable();
    cluster
}

/// Problem (1) of a cluster.
fn restrict(whole: &AssembledProblem, cluster: &[usize], x: &[f64]) -> AssembledProblem {
    let b = whole.block;
    let mut place = vec![usize::MAX; whole.contacts()];
    for (k, &c) in cluster.iter().enumerate() {
        place[c] = k;
    }
    let mut part = AssembledProblem {
        block: b,
        row_starts: vec![0],
        limits: cluster.iter().map(|&c| whole.limits[c]).collect(),
        ..Default::default()
    };
    for &c in cluster {
        let mut q = whole.offset[c * b..(c + 1) * b].to_vec();
        for (other, block) in whole.row(c) {
            if place[other] == usize::MAX {
                for (i, q) in q.iter_mut().enumerate() {
                    *q += (0..b)
                        .map(|j| block[i * b + j] * x[other * b + j])
                        .sum::<f64>();
                }
            } else {
                part.columns.push(place[other] as u32);
                part.values.extend_from_slice(block);
            }
        }
        part.offset.extend(q);
        part.row_starts.push(part.columns.len());
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_contact::{ConeLimits, SparseMatrix};

    /// The part of a chain sees the same velocities as the whole.
    #[test]
    fn a_cluster_has_the_velocities_of_the_whole() {
        let n = 9_usize;
        let triplets: Vec<(usize, usize, f64)> = (0..n)
            .flat_map(|i| {
                (0..n).filter_map(move |j| match i.abs_diff(j) {
                    0 => Some((i, j, 2.0)),
                    1 => Some((i, j, -0.5)),
                    3 => Some((i, j, 0.25)),
                    _ => None,
                })
            })
            .collect();
        let whole = AssembledProblem::from_sparse(
            3,
            &SparseMatrix::from_triplets(n, n, &triplets),
            (0..n).map(|i| i as f64 - 4.0).collect(),
            vec![ConeLimits::coulomb(0.5); 3],
        )
        .expect("valid");
        let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let part = restrict(&whole, &[1, 2], &x);
        let (mut all, mut some) = (vec![0.0; n], vec![0.0; 6]);
        whole.product(&x, &mut all);
        part.product(&x[3..], &mut some);
        for i in 0..6 {
            let expected = all[3 + i] + whole.offset[3 + i];
            assert!((some[i] + part.offset[i] - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn a_cluster_is_the_worst_contacts_and_their_neighbours() {
        let mut triplets: Vec<(usize, usize, f64)> = (0..5).map(|i| (i, i, 1.0)).collect();
        triplets.extend([(1, 3, 0.1), (3, 1, 0.1)]);
        let whole = AssembledProblem::from_sparse(
            1,
            &SparseMatrix::from_triplets(5, 5, &triplets),
            vec![0.0; 5],
            vec![ConeLimits::default(); 5],
        )
        .expect("valid");
        let errors = [0.0, 1.0, 1e-3, 0.0, 0.5];
        assert_eq!(choose(&whole, &errors, 9), [1, 3, 4]);
        assert_eq!(choose(&whole, &errors, 1), [1, 3]);
        assert!(choose(&whole, &[0.0; 5], 9).is_empty());
    }
}
