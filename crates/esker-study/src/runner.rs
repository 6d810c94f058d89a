//! Runs experiments: finished cases are kept on disk and not run again.
//!
//! A result is stored as `DIR/cases/EXPERIMENT/HASH.json` and is used only if
//! experiment, case, scene text and program (version and the very executable) are
//! all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bench;
use crate::criterion::{Criterion, Judgement, Reported};
use crate::experiment::{Case, Experiment, Outcome, Size};
use crate::machine::Machine;
use crate::results::{Results, StudyError};

/// How experiments are run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where results and reports go.
    pub folder: PathBuf,
    /// How large.
    pub size: Size,
    /// Cases run at the same time.
    pub workers: usize,
    /// Threads of the worlds of each case; results do not depend on it.
    pub threads: usize,
    /// What computes the steps of their worlds; the CPU in its own order where there is none.
    pub device: Option<bench::DeviceSource>,
}

impl Options {
    /// One worker per core.
    pub fn new(folder: PathBuf, size: Size) -> Self {
        Options {
            folder,
            size,
            workers: Machine::this().cores,
            threads: 1,
            device: None,
        }
    }
}

/// News from a running experiment.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Cases done.
    pub done: usize,
    /// All cases.
    pub cases: usize,
    /// The case that was just done.
    pub case: String,
    /// Whether its result was stored already.
    pub stored: bool,
}

/// An experiment that was run and judged.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its name.
    pub experiment: &'static str,
    /// How large it was run.
    pub size: Size,
    /// What came out.
    pub outcome: Outcome,
    /// Results of the cases that ran to their end.
    pub results: Results,
    /// Time that its cases took, s, those with stored results included.
    pub seconds: f64,
}

/// The verdict as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Name of the experiment.
    pub experiment: String,
    /// How it came out.
    pub verdict: Judgement,
    /// The criteria.
    pub criteria: Vec<Criterion>,
    /// Values beside the paper's that are not judged, and why.
    pub reported: Vec<Reported>,
    /// Time that its cases took, s.
    pub seconds: f64,
}

impl Finished {
    /// How it came out.
    pub fn judgement(&self) -> Judgement {
        self.outcome.judgement()
    }

    /// The verdict for machines.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            experiment: self.experiment.into(),
            verdict: self.judgement(),
            criteria: self.outcome.criteria.clone(),
            reported: self.outcome.reported.clone(),
            seconds: self.seconds,
        }
    }
}

/// A stored result.
#[derive(Serialize, Deserialize)]
struct Stored {
    experiment: String,
    case: String,
    version: String,
    scene: u64,
    program: u64,
    seconds: f64,
    result: Value,
}

/// Runs the cases that have no stored result, then judges all. A case that
/// cannot be run to its end is no error but a criterion that fails.
pub fn run(
    experiment: &dyn Experiment,
    options: &Options,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Finished, StudyError> {
    let cases = experiment.cases(options.size);
    let ran = run_cases(experiment, &cases, options, |_| true, progress)?;
    let mut outcome = judge(experiment, options.size, &ran.results);
    outcome
        .criteria
        .extend(ran.failures.into_iter().map(|(case, reason)| {
            Criterion::missing(format!("case “{case}” runs to its end"), reason)
        }));
    Ok(Finished {
        experiment: experiment.about().name,
        size: options.size,
        outcome,
        results: ran.results,
        seconds: ran.seconds,
    })
}

/// Runs those cases without a stored result whose names contain one of these texts, and judges
/// nothing: parts of an experiment may run on several machines. Returns the names of the cases
/// that have no result yet.
pub fn run_some(
    experiment: &dyn Experiment,
    options: &Options,
    texts: &[String],
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Vec<String>, StudyError> {
    let cases = experiment.cases(options.size);
    let is_one = |text: &&String| cases.iter().any(|case| case.name.contains(*text));
    if let Some(text) = texts.iter().find(|text| !is_one(text)) {
        return Err(StudyError::NoSuchCase {
            text: text.clone(),
            cases: cases.into_iter().map(|case| case.name).collect(),
        });
    }
    let is_meant = |case: &Case| texts.iter().any(|text| case.name.contains(text));
    let ran = run_cases(experiment, &cases, options, is_meant, progress)?;
    if let Some((case, reason)) = ran.failures.into_iter().next() {
        return Err(StudyError::Case { case, reason });
    }
    let names = cases.into_iter().map(|case| case.name);
    Ok(names.filter(|name| !ran.results.has(name)).collect())
}

/// Cases that were run or had stored results.
#[derive(Default)]
struct Ran {
    results: Results,
    /// Cases that could not be run to their end, and why.
    failures: Vec<(String, String)>,
    /// Time that the cases took, s.
    seconds: f64,
}

/// Runs the cases that are meant, stage by stage; of the others stored results are taken.
fn run_cases(
    experiment: &dyn Experiment,
    cases: &[Case],
    options: &Options,
    is_meant: impl Fn(&Case) -> bool + Sync,
    progress: &(dyn Fn(&Progress) + Sync),
) -> Result<Ran, StudyError> {
    let name = experiment.about().name;
    let folder = options.folder.join("cases").join(name);
    fs::create_dir_all(&folder).map_err(|source| StudyError::File {
        path: folder.clone(),
        source,
    })?;
    let store = Store {
        folder: &folder,
        experiment: name,
        scene: hash(experiment.scene().bytes()),
        program: program(),
    };
    let mut ran = Ran::default();
    let done = AtomicUsize::new(0);
    let last_stage = cases.iter().map(|c| c.stage).max().unwrap_or(0);
    for stage in 0..=last_stage {
        let of_stage: Vec<&Case> = cases.iter().filter(|c| c.stage == stage).collect();
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, TimedResult)>> = Mutex::default();
        let results = &ran.results;
        std::thread::scope(|scope| {
            for _ in 0..options.workers.clamp(1, of_stage.len().max(1)) {
                scope.spawn(|| {
                    bench::set_threads(options.threads);
                    bench::set_device(options.device);
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(case) = of_stage.get(index) else {
                            break;
                        };
                        let Some((result, stored)) = store.result_of(case, results, is_meant(case))
                        else {
                            continue;
                        };
                        progress(&Progress {
                            done: done.fetch_add(1, Ordering::Relaxed) + 1,
                            cases: cases.len(),
                            case: case.name.clone(),
                            stored,
                        });
                        // A poisoned lock means that another worker panicked,
                        // which the scope passes on.
                        if let Ok(mut found) = found.lock() {
                            found.push((index, result));
                        }
                    }
                });
            }
        });
        let mut found = found.into_inner().unwrap_or_default();
        found.sort_by_key(|f| f.0);
        for (index, result) in found {
            let case = &of_stage[index].name;
            match result {
                Ok((value, time)) => {
                    ran.seconds += time;
                    ran.results.insert(case, value);
                }
                Err(error @ StudyError::File { .. }) => return Err(error),
                Err(error) => ran.failures.push((case.clone(), error.to_string())),
            }
        }
    }
    Ok(ran)
}

/// Judges results. Those that are missing or cannot be read fail.
pub fn judge(experiment: &dyn Experiment, size: Size, results: &Results) -> Outcome {
    experiment.judge(size, results).unwrap_or_else(|error| {
        let mut outcome = Outcome::default();
        outcome.require(Criterion::missing(
            "there are results to judge",
            error.to_string(),
        ));
        outcome
    })
}

/// A result and the time it took, s.
type TimedResult = Result<(Value, f64), StudyError>;

struct Store<'a> {
    folder: &'a Path,
    experiment: &'a str,
    scene: u64,
    program: u64,
}

impl Store<'_> {
    /// The stored or newly computed result of a case, the time it took, and whether it was
    /// stored; `None` where there is none and it is not meant to run.
    fn result_of(
        &self,
        case: &Case,
        earlier: &Results,
        is_meant: bool,
    ) -> Option<(TimedResult, bool)> {
        let path = self
            .folder
            .join(format!("{:016x}.json", hash(case.name.bytes())));
        if let Some(stored) = self.read(&path, case) {
            return Some((Ok((stored.result, stored.seconds)), true));
        }
        if !is_meant {
            return None;
        }
        let start = Instant::now();
        let result = (case.job)(earlier).and_then(|result| {
            let seconds = start.elapsed().as_secs_f64();
            self.write(&path, case, &result, seconds)?;
            Ok((result, seconds))
        });
        Some((result, false))
    }

    fn read(&self, path: &Path, case: &Case) -> Option<Stored> {
        let stored: Stored = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let same = stored.experiment == self.experiment
            && stored.case == case.name
            && stored.version == env!("CARGO_PKG_VERSION")
            && stored.scene == self.scene
            && stored.program == self.program;
        same.then_some(stored)
    }

    /// Writes beside the final place first: a kill leaves no half result.
    fn write(
        &self,
        path: &Path,
        case: &Case,
        result: &Value,
        seconds: f64,
    ) -> Result<(), StudyError> {
        let stored = Stored {
            experiment: self.experiment.into(),
            case: case.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            scene: self.scene,
            program: self.program,
            seconds,
            result: result.clone(),
        };
        let text = serde_json::to_vec(&stored).map_err(|source| StudyError::Form {
            case: case.name.clone(),
            source,
        })?;
        let beside = path.with_extension("part");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, path))
            .map_err(|source| StudyError::File {
                path: path.into(),
                source,
            })
    }
}

/// Fingerprint of the running executable; zero where it cannot be read.
fn program() -> u64 {
    static PROGRAM: OnceLock<u64> = OnceLock::new();
    *PROGRAM.get_or_init(|| {
        std::env::current_exe()
            .and_then(fs::read)
            .map_or(0, |bytes| hash(bytes.into_iter()))
    })
}

/// FNV-1a, 64 bit.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, byte| {
        (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::Status;
    use crate::experiment::About;

    /// Counts how often its cases run; the second stage adds the first up.
    struct Sums {
        runs: &'static AtomicUsize,
    }

    impl Experiment for Sums {
        fn about(&self) -> About {
            About {
                name: "sums",
                paper: "",
                shows: "",
                seconds_full: 0.0,
                seconds_reduced: 0.0,
            }
        }

        fn scene(&self) -> &'static str {
            ""
        }

        fn cases(&self, _: Size) -> Vec<Case> {
            let runs = self.runs;
            let mut cases: Vec<Case> = (1..=4)
                .map(|i| {
                    Case::new(format!("n={i}"), move || {
                        runs.fetch_add(1, Ordering::Relaxed);
                        Ok(i)
                    })
                })
                .collect();
            cases.push(Case::after(1, "sum", |r| {
                (1..=4)
                    .map(|i| r.get::<i32>(&format!("n={i}")))
                    .sum::<Result<i32, _>>()
            }));
            cases
        }

        fn judge(&self, _: Size, results: &Results) -> Result<Outcome, StudyError> {
            let mut outcome = Outcome::default();
            let sum = results.get::<f64>("sum")?;
            outcome.require(Criterion::within("sum", sum, [10.0, 10.0], ""));
            Ok(outcome)
        }
    }

    fn reproduced(experiment: &dyn Experiment, options: &Options) -> bool {
        let finished = run(experiment, options, &|_| {}).unwrap();
        finished.judgement() == Judgement::Reproduced
    }

    #[test]
    fn finished_cases_are_not_run_again_and_lost_ones_are() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            workers: 3,
            ..Options::new(folder.path().into(), Size::Reduced)
        };
        let experiment = Sums { runs: &RUNS };
        assert!(reproduced(&experiment, &options));
        assert_eq!(RUNS.load(Ordering::Relaxed), 4);
        assert!(reproduced(&experiment, &options));
        assert_eq!(RUNS.load(Ordering::Relaxed), 4);
        let lost = format!("{:016x}.json", hash("n=2".bytes()));
        fs::write(folder.path().join("cases/sums").join(lost), "{ half a res").unwrap();
        assert!(reproduced(&experiment, &options));
        assert_eq!(RUNS.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn parts_of_an_experiment_may_run_apart_and_are_judged_together() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path().into(), Size::Reduced);
        let experiment = Sums { runs: &RUNS };
        let part = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| t.to_string()).collect();
            run_some(&experiment, &options, &texts, &|_| {})
        };
        assert_eq!(part(&["n=1", "n=3"]).unwrap(), ["n=2", "n=4", "sum"]);
        // What needs results that are not there says which.
        let early = part(&["sum"]).unwrap_err().to_string();
        assert!(early.contains("no result of case `n=2`"), "{early}");
        let unknown = part(&["n=2", "m=2"]).unwrap_err().to_string();
        assert!(
            unknown.contains("`m=2`") && unknown.contains("n=4"),
            "{unknown}"
        );
        assert_eq!(part(&["n="]).unwrap(), ["sum"]);
        assert_eq!(RUNS.load(Ordering::Relaxed), 4);
        assert!(part(&["sum"]).unwrap().is_empty());
        assert!(reproduced(&experiment, &options));
        assert_eq!(RUNS.load(Ordering::Relaxed), 4);
    }

    /// Its second case breaks; it judges the first alone.
    struct Breaks {
        reads_both: bool,
    }

    impl Experiment for Breaks {
        fn about(&self) -> About {
            About {
                name: "breaks",
                paper: "",
                shows: "",
                seconds_full: 0.0,
                seconds_reduced: 0.0,
            }
        }

        fn scene(&self) -> &'static str {
            ""
        }

        fn cases(&self, _: Size) -> Vec<Case> {
            vec![
                Case::new("sound", || Ok(1.0)),
                Case::new("broken", || -> Result<f64, StudyError> {
                    Err(StudyError::Case {
                        case: "run".into(),
                        reason: "grain 7 is nowhere".into(),
                    })
                }),
                Case::new("not a number", || Ok(f64::NAN)),
            ]
        }

        fn judge(&self, _: Size, results: &Results) -> Result<Outcome, StudyError> {
            let mut outcome = Outcome::default();
            let sound = results.get("sound")?;
            outcome.require(Criterion::within("sound", sound, [1.0, 1.0], ""));
            if self.reads_both {
                let value = results.get("not a number")?;
                outcome.require(Criterion::at_least("other", value, 0.0, ""));
            }
            Ok(outcome)
        }
    }

    #[test]
    fn a_broken_case_and_a_result_that_is_not_a_number_fail_the_experiment() {
        for reads_both in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options::new(folder.path().into(), Size::Reduced);
            let finished = run(&Breaks { reads_both }, &options, &|_| {}).unwrap();
            assert_eq!(finished.judgement(), Judgement::Fails);
            let failing = |text: &str| {
                let mut criteria = finished.outcome.criteria.iter();
                criteria.any(|c| c.status == Status::Fails && c.basis.contains(text))
            };
            assert!(failing("grain 7 is nowhere"));
            assert_eq!(failing("`not a number`"), reads_both);
        }
    }
}
