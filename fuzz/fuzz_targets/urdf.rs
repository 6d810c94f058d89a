//! Reads arbitrary text as a robot in URDF, and what it becomes as a scene.
#![no_main]

use esker_scene::{NoFiles, interpret};
use esker_urdf::{Base, read, write_scene};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let robot = match read(text) {
        Ok(robot) => robot,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    for base in [Base::Fixed, Base::Floating] {
        if let Ok(scene) = write_scene(&robot, base, &|file| file.to_owned()) {
            let _ = interpret(&scene.text, "fuzz.toml", &NoFiles);
        }
    }
});
