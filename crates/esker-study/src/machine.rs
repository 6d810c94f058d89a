//! What a study was run on.

use serde::{Deserialize, Serialize};

/// The machine and the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor, as it names itself.
    pub processor: String,
    /// Logical cores that this process may use.
    pub cores: usize,
    /// Operating system and architecture.
    pub system: String,
    /// Version of the program.
    pub version: String,
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let processor = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| {
                text.lines()
                    .find_map(|l| l.strip_prefix("model name"))
                    .map(|l| l.trim_start_matches([' ', '\t', ':']).to_string())
            })
            .unwrap_or_else(|| "unknown processor".into());
        Machine {
            processor,
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}
