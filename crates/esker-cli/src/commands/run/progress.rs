//! The progress bar of a run: drawn on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;

use esker::duration;
use esker_world::StepReport;
use indicatif::{ProgressBar, ProgressStyle};

/// Seconds between two lines where there is no terminal.
const SECONDS_PER_LINE: f64 = 10.0;

pub struct Progress {
    bar: Option<ProgressBar>,
    steps: u64,
    step_length: f64,
    residual: Option<f64>,
    last_line: f64,
}

impl Progress {
    pub fn new(name: &str, steps: u64, step_length: f64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(steps);
            let template = "{prefix} {bar:28} {percent:>3} %  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_prefix(name.to_owned());
            bar
        });
        Progress {
            bar,
            steps,
            step_length,
            residual: None,
            last_line: 0.0,
        }
    }

    pub fn show(&mut self, report: &StepReport, wall: f64) {
        self.residual = report.residual.or(self.residual);
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.place(report) as u64);
                // Formatting costs microseconds, so only when it can be seen.
                if report.step.is_multiple_of(4) || report.step == self.steps {
                    bar.set_message(self.status(report, wall));
                }
            }
            None => {
                if wall - self.last_line >= SECONDS_PER_LINE {
                    self.last_line = wall;
                    eprintln!("{}", self.status(report, wall));
                }
            }
        }
    }

    /// How far the run is, in steps of the first length.
    fn place(&self, report: &StepReport) -> f64 {
        report.time / self.step_length
    }

    fn status(&self, report: &StepReport, wall: f64) -> String {
        let done = self.place(report);
        let left = wall / done * (self.steps as f64 - done).max(0.0);
        let factor = report.time / wall.max(1e-9);
        let residual = self
            .residual
            .map_or_else(String::new, |r| format!(" · residual {r:.1e}"));
        format!(
            "{:.2} of {:.2} s · {} left · {} grains · {} contacts · {} sweeps{residual} · {factor:.3} × real time",
            report.time,
            self.steps as f64 * self.step_length,
            duration(left),
            report.grains,
            report.contacts,
            report.sweeps,
        )
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
