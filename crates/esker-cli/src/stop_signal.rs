//! Signals that end a run early: the step is finished, a checkpoint is saved.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_usize;

/// Exit codes of programs that end by a signal are this and its number.
const EXIT_CODE_BASE: usize = 128;

/// Listens for Ctrl-C, for SIGTERM of batch systems and containers, and for
/// SIGHUP of a terminal that closes.
pub struct StopSignal(Arc<AtomicUsize>);

impl StopSignal {
    /// Signals no longer end the program from here on.
    pub fn listen() -> anyhow::Result<Self> {
        let received = Arc::new(AtomicUsize::new(0));
        let listen = |signal: i32| {
            register_usize(signal, Arc::clone(&received), signal as usize)
                .context("cannot listen for signals")
        };
        listen(SIGINT)?;
        listen(SIGTERM)?;
        #[cfg(unix)]
        if !hangup_is_ignored() {
            listen(signal_hook::consts::SIGHUP)?;
        }
        Ok(StopSignal(received))
    }

    /// The exit code for the signal that came, if one did: 130 after Ctrl-C,
    /// 143 after SIGTERM, 129 after SIGHUP.
    pub fn exit_code(&self) -> Option<u8> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => u8::try_from(EXIT_CODE_BASE + signal).ok(),
        }
    }
}

/// Whether the program was told to outlive its terminal, as `nohup` does.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

/// Whether SIGHUP, the lowest bit, is in the mask of ignored signals of a
/// process' status.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_run_under_nohup_outlives_its_terminal() {
        assert!(ignores_hangup("Name:\tesker\nSigIgn:\t0000000000001001\n"));
        assert!(!ignores_hangup("Name:\tesker\nSigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup(""));
    }
}
