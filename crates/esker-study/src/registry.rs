//! All experiments.

use esker_solver::registry::edit_distance;

use crate::experiment::Experiment;
use crate::experiments::{
    accuracy, beverloo, blade, column, drum, ellipsoid_drum, excavator, impact, inclined_drum,
    limits, machines, packing, parallel_physics, pile, reduction, repose, silo,
    smooth_vs_nonsmooth, triaxial, verification,
};

/// All experiments, in the order in which they are listed and run.
pub const ALL: &[&dyn Experiment] = &[
    &verification::Verification,
    &column::Column,
    &pile::Pile,
    &drum::Drum,
    &silo::Silo,
    &parallel_physics::ParallelPhysics,
    &repose::Repose,
    &inclined_drum::InclinedDrum,
    &smooth_vs_nonsmooth::SmoothVsNonsmooth,
    &beverloo::Beverloo,
    &impact::Impact,
    &limits::Limits,
    &accuracy::Accuracy,
    &packing::Packing,
    &ellipsoid_drum::EllipsoidDrum,
    &machines::Machines,
    &triaxial::Triaxial,
    &blade::Blade,
    &excavator::Excavator,
    &reduction::ReductionStudy,
];

/// The experiment with this name.
pub fn find(name: &str) -> Option<&'static dyn Experiment> {
    ALL.iter().copied().find(|e| e.about().name == name)
}

/// Names near to one that does not exist, nearest first.
pub fn near(name: &str) -> Vec<&'static str> {
    let mut names: Vec<(usize, &'static str)> = ALL
        .iter()
        .map(|e| e.about().name)
        .map(|known| {
            let apart = edit_distance(name, known);
            let shared = name
                .chars()
                .zip(known.chars())
                .take_while(|(a, b)| a == b)
                .count();
            let alike = shared >= 4 || (name.len() > 2 && known.contains(name));
            (if alike { 0 } else { apart }, known)
        })
        .filter(|(apart, known)| *apart <= known.len().div_ceil(2))
        .collect();
    names.sort();
    names.into_iter().map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_near_ones_are_found() {
        for (i, a) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|b| b.about().name != a.about().name));
            assert!(find(a.about().name).is_some());
        }
        assert_eq!(near("colum")[0], "column");
        assert_eq!(near("verify"), ["verification"]);
        assert!(near("xyzzyxyzzyxyzzy").is_empty());
    }

    #[test]
    fn every_scene_is_right_and_every_case_has_its_own_name() {
        use crate::experiment::Size;
        for experiment in ALL {
            let name = experiment.about().name;
            crate::bench::world_of_scene(experiment.scene())
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            for size in [Size::Full, Size::Reduced] {
                let cases = experiment.cases(size);
                let mut names: Vec<&str> = cases.iter().map(|c| c.name.as_str()).collect();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), cases.len(), "{name} at {} size", size.name());
            }
        }
    }
}
