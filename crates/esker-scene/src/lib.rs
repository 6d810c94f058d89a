//! Scene files: TOML in, a checked [`esker_world::definition::WorldDef`] out.
//!
//! Everything that a user can get wrong is found here, all at once, with file,
//! line, what was expected and advice ([`SceneErrors`]); nothing in a scene can
//! make the program panic. The format is described by one table of keys
//! ([`mod@format`]), from which the reader, the [`reference()`] page and the
//! editors' [`schema()`] are made.
//!
//! ```
//! let text = r#"
//!     duration = 1.0
//!     material.glass = { density = 2500, young = 5e9 }
//!     wall = [{ shape = "plane" }]
//!     grains = [{ place = "column", count = 3, diameter = 0.01 }]
//! "#;
//! let scene = esker_scene::parse(text, "three.toml", ".".as_ref())?;
//! assert_eq!(scene.steps(), 200);
//!
//! let wrong = text.replace("density", "densty").replace("0.01", "-0.01");
//! let errors = esker_scene::parse(&wrong, "three.toml", ".".as_ref()).unwrap_err();
//! assert_eq!(errors.problems.len(), 3);
//! assert!(errors.to_string().contains("did you mean `density`?"));
//! # Ok::<(), esker_scene::SceneErrors>(())
//! ```

mod build;
mod check;
mod color;
pub mod csv;
pub mod estimate;
mod files;
// A table reads as a table only with one key per line.
#[rustfmt::skip]
pub mod format;
pub mod keys;
mod notes;
mod physics;
mod reduction_notes;
mod reference;
mod report;
mod scene;
mod schema;
mod shape_cost;
mod suggest;
mod walk;

use std::ops::Range;
use std::path::Path;

use esker_world::check::{find_problems, place_grains};
use esker_world::packing::{PlacedGrains, count_estimate};
use toml::de::DeTable;

pub use color::parse_color;
pub use files::{Files, Folder, GrainList, ListedShape, NoFiles, RunError};
pub use reference::reference;
pub use report::{ProblemKind, SceneError, SceneErrors};
pub use scene::in_words as obstacle_in_words;
pub use scene::{
    CheckpointDef, Device, DevicePrecision, Field, Overrides, Precision, RecordDef, RunDef, Scene,
};
pub use schema::schema;

use report::{Finding, Report};
use walk::Locations;

/// Longest scene file that is read, bytes.
const LONGEST_SCENE: usize = 16 << 20;

/// Reads and checks a scene file. One that begins with an earlier run needs
/// [`load_from`].
pub fn load(path: impl AsRef<Path>) -> Result<Scene, SceneErrors> {
    let path = path.as_ref();
    load_from(path, &Folder::of_scene(path), usize::MAX).map(|checked| checked.scene)
}

/// A scene, and how far it was checked.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The scene.
    pub scene: Scene,
    /// Its grains at the start, where they were placed, so that it is known that they have
    /// room.
    pub grains: Option<PlacedGrains>,
}

/// Reads and checks a scene file whose own files come from `files`. Where it has
/// more than `most_placed` grains at the start, what needs them placed is left
/// out: it takes time and memory.
pub fn load_from(
    path: &Path,
    files: &dyn Files,
    most_placed: usize,
) -> Result<Checked, SceneErrors> {
    load_overridden(path, files, most_placed, Overrides::default())
}

/// As [`load_from`], of a scene that is run as `overrides` says: these are judged, and not what
/// they replace.
pub fn load_overridden(
    path: &Path,
    files: &dyn Files,
    most_placed: usize,
    overrides: Overrides,
) -> Result<Checked, SceneErrors> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| {
        let message = format!("cannot read the scene: {error}");
        refuse(&file, "", Finding::new(ProblemKind::File, 0..0, message))
    })?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            let finding = Finding::new(
                ProblemKind::Syntax,
                valid..valid,
                "the scene is not text in UTF-8 from here on",
            );
            return Err(refuse(&file, &text, finding));
        }
    };
    check_overridden(&text, &file, files, (most_placed, overrides))
}

/// Checks a scene given as text; files that it names are looked up in `base_dir`.
pub fn parse(text: &str, file_name: &str, base_dir: &Path) -> Result<Scene, SceneErrors> {
    let files = Folder(base_dir.to_path_buf());
    check(text, file_name, &files, usize::MAX).map(|checked| checked.scene)
}

/// Checks a scene given as text whose own files come from `files`; see [`load_from`].
pub fn check(
    text: &str,
    file_name: &str,
    files: &dyn Files,
    most_placed: usize,
) -> Result<Checked, SceneErrors> {
    check_overridden(text, file_name, files, (most_placed, Overrides::default()))
}

fn check_overridden(
    text: &str,
    file_name: &str,
    files: &dyn Files,
    (most_placed, overrides): (usize, Overrides),
) -> Result<Checked, SceneErrors> {
    let (scene, places) = read(text, file_name, files, overrides)?;
    let mut report = Report::new(file_name, text);
    let count: usize = scene.world.packings.iter().map(count_estimate).sum();
    let (grains, problems) = if count <= most_placed {
        match place_grains(&scene.world) {
            Ok(grains) => (Some(grains), Vec::new()),
            Err(problems) => (None, problems),
        }
    } else {
        let mut without_grains = scene.world.clone();
        without_grains.packings.clear();
        (None, find_problems(&without_grains))
    };
    report_all(problems, &places, &mut report);
    match report.is_empty() {
        true => Ok(Checked { scene, grains }),
        false => Err(report.into_errors()),
    }
}

/// Reads a scene without the checks that need its grains placed: whether they
/// overlap, whether emitters reach into walls.
pub fn interpret(text: &str, file_name: &str, files: &dyn Files) -> Result<Scene, SceneErrors> {
    read(text, file_name, files, Overrides::default()).map(|(scene, _)| scene)
}

/// Where the parts of a world stand in its scene.
struct Places {
    locations: Locations,
    /// The section `grains.N` of each packing.
    packing_sections: Vec<usize>,
}

impl Places {
    /// The place of what a world calls by this path.
    fn find(&self, path: &str) -> Range<usize> {
        let mut words = path.splitn(3, '.');
        let packing = match (words.next(), words.next().map(str::parse::<usize>)) {
            (Some("grains"), Some(Ok(index))) => self.packing_sections.get(index),
            _ => None,
        };
        match (packing, words.next()) {
            (Some(section), Some(rest)) => self.locations.find(&format!("grains.{section}.{rest}")),
            (Some(section), None) => self.locations.find(&format!("grains.{section}")),
            (None, _) => self.locations.find(path),
        }
    }
}

fn read(
    text: &str,
    file_name: &str,
    files: &dyn Files,
    overrides: Overrides,
) -> Result<(Scene, Places), SceneErrors> {
    if text.len() > LONGEST_SCENE {
        let message = format!("the scene is longer than {} MB", LONGEST_SCENE >> 20);
        let finding = Finding::new(ProblemKind::File, 0..0, message)
            .advice("put lists of grains and motion tables into CSV files");
        return Err(refuse(file_name, text, finding));
    }
    let mut report = Report::new(file_name, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or(0..0);
        let message = format!("not valid TOML: {}", error.message());
        report.push(Finding::new(ProblemKind::Syntax, span, message));
    }
    let (root, locations) = walk::walk(&document, &format::SCENE, &mut report);
    let parts = build::build(&root, &locations, files, &mut report);
    if !errors.is_empty() {
        report.drop_consequences_of_syntax_errors();
    }
    let Some(mut parts) = parts.filter(|_| report.is_empty()) else {
        debug_assert!(!report.is_empty(), "a part is missing without a reason");
        return Err(report.into_errors());
    };
    parts.run.device = overrides.device.unwrap_or(parts.run.device);
    parts.run.precision = overrides.precision.unwrap_or(parts.run.precision);
    let places = Places {
        locations,
        packing_sections: parts.packing_sections,
    };
    let problems = check::find_problems(&parts.world, &parts.run);
    report_all(problems, &places, &mut report);
    if !report.is_empty() {
        return Err(report.into_errors());
    }
    let stem = Path::new(file_name).file_stem();
    let mut scene = Scene {
        name: root.text("name").map_or_else(
            || stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
            str::to_string,
        ),
        text: text.to_string(),
        physics: physics::physics(&root, &parts.world, &parts.run),
        step_is_given: places.locations.has("step"),
        device_is_given: overrides.device.is_some() || places.locations.has("device"),
        world: parts.world,
        run: parts.run,
        material_colors: parts.material_colors,
        probes: parts.probes,
        record: parts.record,
        checkpoint: parts.checkpoint,
    };
    if let Some(tolerance) = scene.world.accuracy {
        estimate::choose(&mut scene, tolerance);
    } else if !scene.step_is_given {
        scene.world.step = estimate::default_step(&scene);
        let mut problems = Vec::new();
        check::steps(&scene.world, &scene.run, &mut problems);
        report_all(problems, &places, &mut report);
        if !report.is_empty() {
            return Err(report.into_errors());
        }
    }
    Ok((scene, places))
}

fn report_all(
    problems: Vec<esker_world::check::Problem>,
    places: &Places,
    report: &mut Report<'_>,
) {
    for problem in problems {
        let span = places.find(&problem.path);
        report
            .push(Finding::new(ProblemKind::Physics, span, problem.message).advice(problem.advice));
    }
}

fn refuse(file: &str, text: &str, finding: Finding) -> SceneErrors {
    let mut report = Report::new(file, text);
    report.push(finding);
    report.into_errors()
}
