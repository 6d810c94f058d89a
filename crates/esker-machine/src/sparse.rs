//! Sparse factorisation of the equations of a large machine.
//!
//! `S = G M⁻¹ Gᵀ + Σ` couples rows that share a body, so that it is sparse for chains and loops; its
//! pattern is analysed once. The larger matrix `[M Gᵀ; G −Σ]` has the same solutions, but an order
//! that is good for its pattern takes `−Σ` of some rows as first pivots, which costs as many digits
//! as Σ is small: velocities of the chain of the test below were then off by 1e-7.
//!
//! It is factorised column by column (not in dense blocks): there is little fill, and the operations
//! have one order on every machine.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side, Spec};

use crate::row::Row;

/// The matrix `S`, its pattern and its LDLᵀ factor.
pub(crate) struct SparseFactor {
    pattern: SymbolicSparseColMat<usize>,
    symbolic: SymbolicCholesky<usize>,
    /// Upper triangle of the matrix, in the order of the pattern.
    values: Vec<f64>,
    factor: Vec<f64>,
    memory: MemBuffer,
}

impl std::fmt::Debug for SparseFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SparseFactor")
            .field("size", &self.pattern.nrows())
            .field("entries", &self.factor.len())
            .finish()
    }
}

impl SparseFactor {
    /// Analyses the pattern of these rows.
    pub(crate) fn new(rows: &[Row]) -> Self {
        let (mut starts, mut indices) = (vec![0], Vec::new());
        for (i, row) in rows.iter().enumerate() {
            indices.extend((0..i).filter(|&j| row.shares_body_with(&rows[j])));
            indices.push(i);
            starts.push(indices.len());
        }
        let (size, count) = (rows.len(), indices.len());
        let pattern = SymbolicSparseColMat::new_checked(size, size, starts, None, indices);
        let symbolic = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Upper,
            SymmetricOrdering::Amd,
            CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..Default::default()
            },
        )
        .expect("a machine's pattern fits into memory");
        let memory = MemBuffer::new(StackReq::or(
            symbolic.factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Spec::default()),
            symbolic.solve_in_place_scratch::<f64>(1, Par::Seq),
        ));
        SparseFactor {
            factor: vec![0.0; symbolic.len_val()],
            values: vec![0.0; count],
            pattern,
            symbolic,
            memory,
        }
    }

    /// Factorises the matrix of the present rows; false where a pivot is zero.
    pub(crate) fn factorise(&mut self, rows: &[Row]) -> bool {
        let mut values = self.values.iter_mut();
        for (i, row) in rows.iter().enumerate() {
            for (&j, value) in self.pattern.row_idx_of_col_raw(i).iter().zip(&mut values) {
                *value = row.coupling(&rows[j]) + if i == j { row.sigma } else { 0.0 };
            }
        }
        let matrix = SparseColMatRef::new(self.pattern.as_ref(), &self.values);
        self.symbolic
            .factorize_numeric_ldlt(
                &mut self.factor,
                matrix,
                Side::Upper,
                Default::default(),
                Par::Seq,
                MemStack::new(&mut self.memory),
                Spec::default(),
            )
            .is_ok()
    }

    /// `x ← S⁻¹ x`.
    pub(crate) fn solve(&mut self, x: &mut [f64]) {
        let size = x.len();
        LdltRef::new(&self.symbolic, &self.factor).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, size, 1),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
    }
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};

    use crate::{
        Assembly, BodyPose, BodyProperties, Coordinate, DriveDef, DriveKind, GearDef,
        JointCoordinate, JointDef, JointKind, MachineDef, Machines, Signal, Spatial, Substep,
    };

    /// A crooked chain of links on hinges in all directions, closed to the ground, with motors, a
    /// gear, a limit and friction.
    fn chain(links: usize) -> (Machines, Vec<BodyPose>) {
        let bodies: Vec<_> = (0..links)
            .map(|i| BodyProperties::new(1.0 + 0.1 * i as f64, DVec3::new(0.1, 0.2, 0.25)))
            .collect();
        let mut poses: Vec<_> = (0..links)
            .map(|i| BodyPose {
                position: DVec3::new(i as f64 + 0.5, (i as f64).sin() * 0.2, 0.0),
                orientation: DQuat::from_scaled_axis(DVec3::new(0.1, 0.3, -0.2) * i as f64),
            })
            .collect();
        let mut joints: Vec<_> = (0..=links)
            .map(|i| {
                let sides = [i.checked_sub(1), (i < links).then_some(i)];
                let kind = if i % 3 == 2 {
                    JointKind::Ball
                } else {
                    JointKind::Revolute
                };
                let anchor = DVec3::new(i as f64, 0.3 * (i % 2) as f64, 0.4 * (i % 3) as f64);
                let place = (anchor, DVec3::new(0.2, 1.0, (i % 4) as f64));
                JointDef::at(format!("joint {i}"), kind, sides, place, &poses)
            })
            .collect();
        joints[1].angle.friction = 0.3;
        joints[3].angle.limits = [0.0, 0.5];
        let angle = |joint| JointCoordinate {
            joint,
            coordinate: Coordinate::Angle,
        };
        let drive = |joint: usize, limit: f64| DriveDef {
            name: format!("drive {joint}"),
            coordinate: angle(joint),
            kind: DriveKind::VelocityMotor,
            signal: Signal::Constant(1.0),
            force_limit: Some(limit),
        };
        let gear = GearDef {
            name: "gear".into(),
            coordinates: [angle(3), angle(links / 3 * 3)],
            ratio: -1.5,
        };
        let def = MachineDef {
            bodies: &bodies,
            joints: &joints,
            gears: &[gear],
            drives: &[drive(0, 5.0), drive(4, 500.0)],
        };
        let machines = Machines::new(&def, &mut poses, Assembly::default()).unwrap();
        (machines, poses)
    }

    #[test]
    fn sparse_and_dense_factorisations_agree() {
        let links = 9;
        let weight: Vec<_> = (0..links)
            .map(|i| Spatial::new(DVec3::new(0.0, 1.0, -9.81) * (1.0 + i as f64), DVec3::X))
            .collect();
        let contact = vec![Spatial::new(DVec3::new(0.02, 0.1, -0.05), DVec3::Y * 0.03); links];
        let run = |sparse: bool| {
            let (mut machines, mut poses) = chain(links);
            if sparse {
                machines.machines_mut()[0].use_sparse_factor();
            }
            let mut velocities = vec![Spatial::ZERO; links];
            for k in 0..50 {
                machines.begin_substep(&Substep {
                    length: 1e-3,
                    time: 1e-3 * f64::from(k),
                    poses: &poses,
                    velocities: &velocities,
                    forces: &weight,
                });
                machines.solve(&contact, &mut velocities);
                for (pose, velocity) in poses.iter_mut().zip(&velocities) {
                    *pose = pose.moved(*velocity, 1e-3);
                }
                machines.end_substep(&poses);
            }
            assert_eq!(machines.troubles().unsolved, 0);
            let articulated = machines.articulated_inverse_mass(4);
            (velocities, articulated, machines.drive(1).impulse)
        };
        let (dense, sparse) = (run(false), run(true));
        for (a, b) in dense.0.iter().zip(&sparse.0) {
            assert!((*a - *b).linear.length() < 1e-9, "{a:?} {b:?}");
            assert!((*a - *b).angular.length() < 1e-9, "{a:?} {b:?}");
        }
        assert!(dense.0[4].linear.length() > 1e-3);
        let [a, b] = [dense.1, sparse.1].map(|m| m.at(DVec3::new(0.1, 0.2, 0.3)));
        assert!((a - b).abs_diff_eq(glam::DMat3::ZERO, 1e-8 * a.x_axis.length()));
        assert!((dense.2 / sparse.2 - 1.0).abs() < 1e-6);
    }

    /// Large machines take the sparse way by themselves, and hold together.
    #[test]
    fn a_long_chain_is_solved() {
        let links = 30;
        let (mut machines, poses) = chain(links);
        // What rows are off by is rounding then.
        machines.set_regularisation(1e-10);
        let weight = vec![Spatial::new(DVec3::Z * -9.81, DVec3::ZERO); links];
        let mut velocities = vec![Spatial::ZERO; links];
        machines.begin_substep(&Substep {
            length: 1e-3,
            time: 0.0,
            poses: &poses,
            velocities: &velocities,
            forces: &weight,
        });
        machines.solve(&vec![Spatial::ZERO; links], &mut velocities);
        let (rows, _) = machines.machines()[0].rows();
        assert!(rows.len() > 120);
        for row in rows {
            assert!((row.velocity(&velocities) - row.target).abs() < 1e-8);
        }
    }
}
