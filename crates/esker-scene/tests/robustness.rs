//! Nothing in a scene, and nothing in a file that it names, makes the reader panic.

use esker_scene::csv::{read_grains, read_motion, read_values};
use esker_scene::{NoFiles, interpret};
use proptest::prelude::*;

const SCENES: &[&str] = &[
    include_str!("../../../scenes/bounce.toml"),
    include_str!("../../../scenes/conveyor.toml"),
    include_str!("../../../scenes/drum.toml"),
    include_str!("../../../scenes/hopper.toml"),
];

const SNIPPETS: &[&str] = &[
    "nan",
    "-1",
    "1e308",
    "[[wall]]",
    "[grains]",
    "\"\"",
    "= ",
    "{",
    "]",
    "9223372036854775807",
    "[[1, 2, 3], [4, 5]]",
    "true",
    "1979-05-27",
    "ö",
    "\n",
    "{ box = 1 }",
    "0",
    "motion.type = 3",
];

/// A change to a text: where, what is cut out, what is put in.
fn change() -> impl Strategy<Value = (prop::sample::Index, usize, prop::sample::Index)> {
    (
        any::<prop::sample::Index>(),
        0..12_usize,
        any::<prop::sample::Index>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn mutated_scenes_never_panic(
        scene in 0..SCENES.len(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let mut text: Vec<char> = SCENES[scene].chars().collect();
        for (place, cut, put) in changes {
            let start = place.index(text.len().max(1)).min(text.len());
            let end = (start + cut).min(text.len());
            text.splice(start..end, put.get(SNIPPETS).chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(errors) = interpret(&text, "mutated.toml", &NoFiles) {
            prop_assert!(!errors.problems.is_empty());
            for problem in &errors.problems {
                prop_assert!(problem.line >= 1 && problem.column >= 1);
                prop_assert!(problem.line <= text.matches('\n').count() + 1);
            }
            prop_assert!(errors.to_string().contains("mutated.toml:"));
        }
    }

    #[test]
    fn random_text_never_panics(text in "\\PC{0,200}") {
        let _ = interpret(&text, "random.toml", &NoFiles).map_err(|errors| errors.to_string());
    }

    #[test]
    fn random_bytes_never_panic_the_csv_readers(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_grains(&bytes, Some(0.01));
        let _ = read_motion(&bytes);
        let _ = read_values(&bytes);
    }

    #[test]
    fn nearly_right_csv_never_panics(text in "(x|y|z|t|radius|angle|,|[0-9.e-]|\n|nan){0,60}") {
        let _ = read_grains(text.as_bytes(), None);
        let _ = read_motion(text.as_bytes());
        let _ = read_values(text.as_bytes());
    }
}
