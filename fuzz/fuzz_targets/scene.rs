//! Reads arbitrary text as a scene and shows what is wrong with it.
#![no_main]

use esker_scene::{NoFiles, interpret};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(errors) = interpret(text, "fuzz.toml", &NoFiles) {
        assert!(!errors.problems.is_empty());
        let _ = errors.to_string();
    }
});
