//! Reads arbitrary bytes as a list of grains, as a motion and as values of a drive.
#![no_main]

use esker_scene::csv::{read_grains, read_motion, read_values};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = read_grains(bytes, Some(0.01));
    let _ = read_motion(bytes);
    let _ = read_values(bytes);
});
