//! Where the time of a run goes, stage by stage and step by step.

use std::path::Path;
use std::time::Duration;

use esker_world::{Stage, StageTimes};
use serde_json::json;

use esker::output_file;

/// Name of the trace in the result folder; browsers' trace viewers open it.
const TRACE_FILE_NAME: &str = "trace.json";

/// Stage times of every step since the profile began.
#[derive(Default)]
pub struct Profile {
    steps: Vec<(u64, StageTimes)>,
}

impl Profile {
    pub fn add(&mut self, step: u64, times: StageTimes) {
        self.steps.push((step, times));
    }

    /// A table of milliseconds per step: mean, largest, and share.
    pub fn table(&self) -> String {
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        let count = self.steps.len().max(1) as f64;
        let total: f64 = self
            .steps
            .iter()
            .map(|(_, t)| milliseconds(t.total()))
            .sum();
        let mut table = format!(
            "{:12} {:>12} {:>14} {:>8}\n",
            "stage", "ms per step", "largest ms", "share"
        );
        for stage in Stage::ALL {
            let times = || self.steps.iter().map(|(_, t)| milliseconds(t.get(stage)));
            let sum: f64 = times().sum();
            table.push_str(&format!(
                "{:12} {:>12.4} {:>14.4} {:>6.1} %\n",
                stage.name(),
                sum / count,
                times().fold(0.0, f64::max),
                if total > 0.0 {
                    100.0 * sum / total
                } else {
                    0.0
                }
            ));
        }
        table.push_str(&format!("{:12} {:>12.4}", "step", total / count));
        table
    }

    /// Writes all stages of all steps in the trace event format, one after another.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let mut now = 0.0;
        let mut events = Vec::with_capacity(self.steps.len() * Stage::ALL.len());
        for (step, times) in &self.steps {
            for stage in Stage::ALL {
                let micros = 1e6 * times.get(stage).as_secs_f64();
                events.push(json!({
                    "name": stage.name(), "ph": "X", "pid": 1, "tid": 1,
                    "ts": now, "dur": micros, "args": { "step": step },
                }));
                now += micros;
            }
        }
        let path = folder.join(TRACE_FILE_NAME);
        let trace = json!({ "traceEvents": events, "displayTimeUnit": "ms" });
        Ok(output_file::write(&path, trace.to_string().as_bytes())?)
    }
}
