//! Every mistake that a user can make has its own message, with the line, the
//! offending value, what was expected and, where one is near, the right word.

use std::io;
use std::path::Path;

use esker_scene::{Files, ProblemKind, Scene, SceneError, SceneErrors, interpret, parse};

const GOOD: &str = r#"duration = 2.0
step = 0.005
gravity = [0, 0, -9.81]

[solver]
substeps = 20

[material.pellet]
density = 3700
young = 6e6
poisson = 0.25

[[pair]]
materials = ["pellet", "pellet"]
friction = 0.9
restitution = 0.18

[[wall]]
name = "floor"
shape = "plane"

[[wall]]
name = "pipe"
shape = "cylinder"
radius = 0.2
length = 2.0
motion = { type = "rotate", rate = 0.25 }

[[grains]]
place = "lattice"
region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]] }
diameter = 0.01

[[emitter]]
name = "spout"
region = { box = [[-0.05, -0.05, 0.5], [0.05, 0.05, 0.6]] }
rate = { number = 100 }
sizes = { uniform = [0.01, 0.02] }
"#;

fn read(text: &str) -> Result<Scene, SceneErrors> {
    parse(text, "scene.toml", Path::new("."))
}

/// The good scene with one line changed; the problems must all be on that line.
fn only_problem(line: &str, changed: &str) -> SceneError {
    assert!(GOOD.contains(line), "{line}");
    let text = GOOD.replacen(line, changed, 1);
    let errors = read(&text).expect_err(changed);
    assert_eq!(errors.problems.len(), 1, "{errors}");
    let problem = errors.problems[0].clone();
    let shown = errors.to_string();
    assert!(shown.contains(&format!("scene.toml:{}:{}", problem.line, problem.column)));
    assert!(shown.contains(&problem.source_line));
    assert!(!problem.message.is_empty());
    problem
}

/// Line number, from 1, of a text in the good scene.
fn line_of(text: &str) -> usize {
    let start = GOOD.find(text).expect(text);
    GOOD[..start].matches('\n').count() + 1
}

#[test]
fn the_good_scene_is_good() {
    let scene = read(GOOD).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(scene.name, "scene");
    assert_eq!(scene.steps(), 400);
    assert_eq!(scene.world.materials.len(), 1);
    assert_eq!(scene.world.walls.len(), 2);
}

/// Such numbers ran on to infinities.
#[test]
fn no_number_may_be_beyond_reason() {
    let is_part = |c: char| c.is_ascii_digit() || ".e-".contains(c);
    let starts = GOOD.char_indices().filter(|&(i, c)| {
        let before = GOOD[..i].chars().next_back().unwrap_or(' ');
        c.is_ascii_digit() && !is_part(before) && !before.is_alphanumeric()
    });
    let mut count = 0;
    for (start, _) in starts {
        let rest = &GOOD[start..];
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let text = format!("{}1e300{}", &GOOD[..start], &rest[length..]);
        let errors = read(&text).expect_err(&text);
        let line = GOOD[..start].matches('\n').count() + 1;
        assert!(errors.problems.iter().any(|p| p.line == line), "{errors}");
        count += 1;
    }
    assert!(count >= 25, "{count}");
    let tiny = only_problem("diameter = 0.01", "diameter = 1e-300");
    assert!(
        tiny.message.contains("too small: at least 1e-15 m"),
        "{}",
        tiny.message
    );
    let huge = only_problem("density = 3700", "density = 1e300");
    assert!(
        huge.message.contains("too large: at most 1e9 kg/m³"),
        "{}",
        huge.message
    );
}

/// (line of the good scene, what it becomes, kind, offending value, phrases of message, expectation and advice)
type Case = (
    &'static str,
    &'static str,
    ProblemKind,
    &'static str,
    &'static [&'static str],
);

#[test]
fn each_bad_value_has_its_own_message() {
    use ProblemKind::*;
    let cases: &[Case] = &[
        // Unknown keys and words.
        (
            "friction = 0.9",
            "frction = 0.9",
            UnknownKey,
            "frction",
            &[
                "unknown key `frction`",
                "`[[pair]]`",
                "did you mean `friction`?",
            ],
        ),
        (
            "step = 0.005",
            "stepp = 0.005",
            UnknownKey,
            "stepp",
            &["at the top level", "did you mean `step`?"],
        ),
        (
            "[solver]",
            "[sovler]",
            UnknownKey,
            "sovler",
            &["did you mean `solver`?"],
        ),
        (
            "rate = { number = 100 }",
            "rate = { number = 100, foo = 1 }",
            UnknownKey,
            "foo",
            &["unknown key `foo` in `rate`"],
        ),
        (
            "shape = \"plane\"",
            "shape = \"plnae\"",
            BadValue,
            "\"plnae\"",
            &["not a known value of `shape`", "did you mean \"plane\"?"],
        ),
        // Wrong types.
        (
            "duration = 2.0",
            "duration = \"2 s\"",
            WrongType,
            "\"2 s\"",
            &[
                "`duration` is a string",
                "a number greater than 0, in s",
                "without quotes",
            ],
        ),
        (
            "density = 3700",
            "density = [1]",
            WrongType,
            "[1]",
            &["`density` is an array", "kg/m³"],
        ),
        (
            "gravity = [0, 0, -9.81]",
            "gravity = -9.81",
            WrongType,
            "-9.81",
            &["three numbers [x, y, z]"],
        ),
        (
            "gravity = [0, 0, -9.81]",
            "gravity = [0, -9.81]",
            BadValue,
            "[0, -9.81]",
            &["2 numbers, not three"],
        ),
        (
            "substeps = 20",
            "substeps = 20.5",
            BadValue,
            "20.5",
            &["not a whole number"],
        ),
        (
            "substeps = 20",
            "substeps = true",
            WrongType,
            "true",
            &["`substeps` is a boolean", "a whole number from 1"],
        ),
        (
            "name = \"floor\"",
            "name = 3",
            WrongType,
            "3",
            &["text in quotes"],
        ),
        // Values out of range.
        (
            "duration = 2.0",
            "duration = 0",
            BadValue,
            "0",
            &["`duration`: 0 is out of range", "greater than 0"],
        ),
        (
            "step = 0.005",
            "step = -0.005",
            BadValue,
            "-0.005",
            &["`step`", "greater than 0, in s"],
        ),
        ("step = 0.005", "step = 0.0", BadValue, "0.0", &["`step`"]),
        (
            "density = 3700",
            "density = 0",
            BadValue,
            "0",
            &["`density`", "greater than 0, in kg/m³"],
        ),
        (
            "density = 3700",
            "density = -1",
            BadValue,
            "-1",
            &["`density`"],
        ),
        (
            "young = 6e6",
            "young = -6e6",
            BadValue,
            "-6e6",
            &["`young`", "in Pa"],
        ),
        (
            "poisson = 0.25",
            "poisson = 0.6",
            BadValue,
            "0.6",
            &["`poisson`", "greater than -1 and at most 0.5"],
        ),
        (
            "poisson = 0.25",
            "poisson = -1",
            BadValue,
            "-1",
            &["`poisson`"],
        ),
        (
            "restitution = 0.18",
            "restitution = 1.1",
            BadValue,
            "1.1",
            &["at least 0 and at most 1"],
        ),
        (
            "friction = 0.9",
            "friction = -0.1",
            BadValue,
            "-0.1",
            &["at least 0"],
        ),
        (
            "diameter = 0.01",
            "diameter = 0",
            BadValue,
            "0",
            &["`diameter`", "greater than 0, in m"],
        ),
        (
            "diameter = 0.01",
            "diameter = -0.01",
            BadValue,
            "-0.01",
            &["`diameter`"],
        ),
        (
            "radius = 0.2",
            "radius = -0.2",
            BadValue,
            "-0.2",
            &["`radius`"],
        ),
        (
            "substeps = 20",
            "substeps = 0",
            BadValue,
            "0",
            &["`substeps`"],
        ),
        (
            "rate = { number = 100 }",
            "rate = { number = 0 }",
            BadValue,
            "0",
            &["`number`"],
        ),
        (
            "sizes = { uniform = [0.01, 0.02] }",
            "sizes = { uniform = [0.02, 0.01] }",
            BadValue,
            "[0.02, 0.01]",
            &["greater number first"],
        ),
        (
            "sizes = { uniform = [0.01, 0.02] }",
            "sizes = { uniform = [0, 0.01] }",
            BadValue,
            "0",
            &["out of range"],
        ),
        // NaN and infinities.
        (
            "friction = 0.9",
            "friction = nan",
            BadValue,
            "nan",
            &["not a finite number"],
        ),
        (
            "gravity = [0, 0, -9.81]",
            "gravity = [0, nan, -9.81]",
            BadValue,
            "nan",
            &["`gravity`: nan is not a finite number"],
        ),
        (
            "duration = 2.0",
            "duration = inf",
            BadValue,
            "inf",
            &["not a finite number"],
        ),
        (
            "radius = 0.2",
            "radius = -nan",
            BadValue,
            "-nan",
            &["not a finite number"],
        ),
        (
            "young = 6e6",
            "young = 6e999",
            BadValue,
            "6e999",
            &["not a finite number"],
        ),
        (
            "region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]] }",
            "region = { box = [[-0.1, -0.1, 0], [0.1, inf, 0.1]] }",
            BadValue,
            "inf",
            &["not a finite number"],
        ),
        // References and names.
        (
            "materials = [\"pellet\", \"pellet\"]",
            "materials = [\"pellet\", \"pelet\"]",
            Reference,
            "[\"pellet\", \"pelet\"]",
            &["no material \"pelet\"", "did you mean \"pellet\"?"],
        ),
        (
            "materials = [\"pellet\", \"pellet\"]",
            "materials = [\"pellet\", \"wood\"]",
            Reference,
            "[\"pellet\", \"wood\"]",
            &["no material \"wood\"", "[material.wood]"],
        ),
        (
            "materials = [\"pellet\", \"pellet\"]",
            "materials = [\"pellet\"]",
            BadValue,
            "[\"pellet\"]",
            &["1 names, not two"],
        ),
        (
            "name = \"pipe\"",
            "name = \"floor\"",
            Conflict,
            "\"floor\"",
            &["\"floor\" is taken already", "wall.0"],
        ),
        (
            "shape = \"plane\"",
            "shape = \"plane\"\nmaterial = \"steel\"",
            Reference,
            "\"steel\"",
            &["no material \"steel\""],
        ),
        // Keys that do not belong together.
        (
            "shape = \"plane\"",
            "shape = \"plane\"\nradius = 1",
            Conflict,
            "radius",
            &[
                "`radius` has no meaning with shape = \"plane\"",
                "\"cylinder\"",
                "keys for shape",
            ],
        ),
        (
            "substeps = 20",
            "sweeps = 20",
            Conflict,
            "sweeps",
            &[
                "no meaning with method = \"substepped\"",
                "\"gauss-seidel\"",
            ],
        ),
        (
            "diameter = 0.01",
            "diameter = 0.01\nsizes = { uniform = [0.01, 0.02] }",
            Conflict,
            "sizes",
            &["exclude one another"],
        ),
        (
            "rate = 0.25 }",
            "rate = 0.25, rpm = 3 }",
            Conflict,
            "rpm",
            &["`rate` and `rpm` exclude one another"],
        ),
        // Shapes and motions.
        (
            "rate = 0.25 }",
            "rate = 0.25, start = 2, stop = 1 }",
            BadValue,
            "1",
            &["`stop` = 1 s does not come after"],
        ),
        (
            "{ type = \"rotate\", rate = 0.25 }",
            "{ type = \"table\", times = [0, 2, 1], angles = [0, 1, 2] }",
            BadValue,
            "[0, 2, 1]",
            &["does not increase", "1 comes after 2"],
        ),
        (
            "{ type = \"rotate\", rate = 0.25 }",
            "{ type = \"table\", times = [0, 2], angles = [0, 1, 2] }",
            BadValue,
            "[0, 1, 2]",
            &["3 rows"],
        ),
        (
            "{ type = \"rotate\", rate = 0.25 }",
            "{ type = \"table\", times = [0, 2] }",
            Missing,
            "[0, 2]",
            &["no motion"],
        ),
        (
            "{ type = \"rotate\", rate = 0.25 }",
            "{ type = \"table\", file = \"none.csv\" }",
            File,
            "\"none.csv\"",
            &["cannot read \"none.csv\""],
        ),
        (
            "{ type = \"rotate\", rate = 0.25 }",
            "{ type = \"rotate\", rate = 1, axis = [0, 0, 0] }",
            BadValue,
            "[0, 0, 0]",
            &["not a direction"],
        ),
        (
            "region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]] }",
            "region = { box = [[-0.1, -0.1, 0], [-0.2, 0.1, 0.1]] }",
            BadValue,
            "[[-0.1, -0.1, 0], [-0.2, 0.1, 0.1]]",
            &["lower corner first"],
        ),
        (
            "region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]] }",
            "region = { box = [[0, 0, 0], [0, 0, 0]] }",
            BadValue,
            "{ box = [[0, 0, 0], [0, 0, 0]] }",
            &["single point"],
        ),
        // Parts that do not fit together.
        (
            "region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]] }",
            "region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.005]] }",
            Physics,
            "{ box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.0…",
            &["no grain of diameter 0.01 m fits"],
        ),
        (
            "diameter = 0.01",
            "diameter = 1e-7",
            Physics,
            "[[grains]]",
            &["grains", "at most 1e8"],
        ),
        (
            "step = 0.005",
            "step = 1e-12",
            Physics,
            "1e-12",
            &["2.0e12 steps", "at most 1e9"],
        ),
        (
            "rate = { number = 100 }",
            "rate = { number = 1e12 }",
            Physics,
            "[[emitter]]",
            &["2.0e12 grains", "`total`"],
        ),
        (
            "radius = 0.2",
            "radius = 0.002",
            Physics,
            "[[wall]]",
            &["\"pipe\" is too small"],
        ),
        (
            "region = { box = [[-0.1, -0.1, 0], [0.1, 0.1, 0.1]] }",
            "region = { box = [[-0.1, -0.1, -0.05], [0.1, 0.1, 0.05]] }",
            Physics,
            "[[grains]]",
            &["reach into wall \"floor\""],
        ),
        (
            "region = { box = [[-0.05, -0.05, 0.5], [0.05, 0.05, 0.6]] }",
            "region = { box = [[-0.5, -0.05, 0.5], [0.05, 0.05, 0.6]] }",
            Physics,
            "{ box = [[-0.5, -0.05, 0.5], [0.05, 0.05…",
            &["emitter", "wall \"pipe\""],
        ),
    ];
    for (line, changed, kind, value, phrases) in cases {
        let problem = only_problem(line, changed);
        assert_eq!(problem.kind, *kind, "{problem}");
        assert_eq!(problem.value, *value, "{problem}");
        let shown = problem.to_string();
        for phrase in *phrases {
            assert!(shown.contains(phrase), "no `{phrase}` in:\n{shown}");
        }
        let first = line_of(line);
        let lines = first..=first + changed.matches('\n').count();
        // What concerns a section as a whole is shown at its head.
        if !value.starts_with("[[") || value.starts_with("[[-") {
            assert!(lines.contains(&problem.line), "{problem}");
        }
    }
}

#[test]
fn missing_keys_are_named_with_what_they_mean() {
    for (line, phrase) in [
        ("duration = 2.0\n", "`duration` is missing at the top level"),
        ("young = 6e6\n", "`young` is missing in `[material.NAME]`"),
        (
            "density = 3700\n",
            "grains or bodies are made of \"pellet\", which has no `density`",
        ),
        (
            "materials = [\"pellet\", \"pellet\"]\n",
            "`materials` is missing in `[[pair]]`",
        ),
        ("shape = \"plane\"\n", "`shape` is missing in `[[wall]]`"),
        ("length = 2.0\n", "`length` is missing in `[[wall]]`"),
        (
            "place = \"lattice\"\n",
            "`place` is missing in `[[grains]]`",
        ),
        (
            "rate = { number = 100 }\n",
            "`rate` is missing in `[[emitter]]`",
        ),
        (
            "diameter = 0.01\n",
            "`[[grains]]` needs one of `diameter`, `sizes`",
        ),
    ] {
        let problem = only_problem(line, "");
        assert_eq!(problem.kind, ProblemKind::Missing);
        assert!(problem.message.contains(phrase), "{problem}");
    }
}

#[test]
fn all_problems_are_shown_at_once_in_the_order_of_the_file() {
    let text = GOOD
        .replace("step = 0.005", "step = -1")
        .replace("friction", "fricton")
        .replace("shape = \"plane\"", "shape = 7")
        .replace("number = 100", "number = nan");
    let errors = read(&text).unwrap_err();
    let lines: Vec<usize> = errors.problems.iter().map(|p| p.line).collect();
    assert_eq!(
        lines,
        [
            line_of("step"),
            line_of("friction"),
            line_of("shape = \"plane\""),
            line_of("rate = { number")
        ]
    );
    assert!(errors.to_string().ends_with("scene.toml: 4 problems"));
}

#[test]
fn syntax_errors_do_not_hide_other_mistakes_nor_make_up_any() {
    let text = GOOD
        .replace("duration = 2.0", "duration = = 2.0")
        .replace("friction", "fricton");
    let errors = read(&text).unwrap_err();
    let kinds: Vec<ProblemKind> = errors.problems.iter().map(|p| p.kind).collect();
    assert_eq!(kinds.first(), Some(&ProblemKind::Syntax), "{errors}");
    assert!(kinds.contains(&ProblemKind::UnknownKey), "{errors}");
    assert!(!kinds.contains(&ProblemKind::Missing), "{errors}");
    assert_eq!(errors.problems[0].line, 1);

    let errors = read(&GOOD.replace("step = 0.005", "step = 0.005\nstep = 1")).unwrap_err();
    assert_eq!(errors.problems[0].line, 3);
    assert!(errors.problems[0].message.contains("duplicate key"));
}

#[test]
fn a_single_pair_of_brackets_is_explained() {
    let text = GOOD.replacen("[[pair]]", "[pair]", 1);
    let errors = read(&text).unwrap_err();
    assert!(
        errors.to_string().contains("two pairs of brackets"),
        "{errors}"
    );
}

#[test]
fn a_scene_without_grains_is_refused() {
    let start = GOOD.find("[[grains]]").unwrap();
    let errors = read(&GOOD[..start]).unwrap_err();
    assert!(
        errors.problems[0]
            .message
            .contains("no grains, no emitter and no body")
    );
}

#[test]
fn a_pair_may_have_only_one_law() {
    let text = format!("{GOOD}\n[[pair]]\nmaterials = [\"pellet\", \"pellet\"]\n");
    let errors = read(&text).unwrap_err();
    assert!(errors.problems[0].message.contains("has a law already"));
}

#[test]
fn too_dense_a_random_packing_is_refused() {
    let text = GOOD.replace("place = \"lattice\"", "place = \"random\"\ncount = 7000");
    let errors = read(&text).unwrap_err();
    assert!(
        errors.problems[0].message.contains("92 % of the region"),
        "{errors}"
    );
    let text = GOOD.replace("place = \"lattice\"", "place = \"random\"");
    assert!(
        read(&text)
            .unwrap_err()
            .to_string()
            .contains("`count` is missing")
    );
}

#[test]
fn grains_that_overlap_are_refused_with_the_share() {
    let column = "[[grains]]\nplace = \"column\"\ncount = 5\ndiameter = 0.02\nbase = [0, 0, 0.2]\ngap = -0.008\n";
    let errors = read(&format!("{GOOD}{column}")).unwrap_err();
    let problem = &errors.problems[0];
    assert!(problem.message.contains("overlap"), "{errors}");
    assert_eq!(problem.line, GOOD.matches('\n').count() + 1);
}

#[test]
fn a_missing_scene_is_reported_as_a_file() {
    let errors = esker_scene::load("no/such/scene.toml").unwrap_err();
    assert_eq!(errors.problems[0].kind, ProblemKind::File);
    assert!(errors.to_string().contains("cannot read the scene"));
}

/// Files held in memory.
struct InMemory(&'static [(&'static str, &'static [u8])]);

impl Files for InMemory {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, bytes)| bytes.to_vec())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn mesh_problem(file: &str) -> SceneError {
    const FILES: InMemory = InMemory(&[
        ("empty.stl", b"solid empty\nendsolid empty\n"),
        (
            "nan.stl",
            b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 nan\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid x\n",
        ),
        ("shape.step", b"ISO-10303"),
    ]);
    let text = GOOD.replacen(
        "shape = \"plane\"",
        &format!("shape = \"mesh\"\nfile = \"{file}\""),
        1,
    );
    let errors = interpret(&text, "scene.toml", &FILES).unwrap_err();
    assert_eq!(errors.problems.len(), 1, "{errors}");
    assert_eq!(errors.problems[0].kind, ProblemKind::File);
    assert_eq!(errors.problems[0].line, line_of("shape = \"plane\"") + 1);
    errors.problems[0].clone()
}

#[test]
fn meshes_that_cannot_be_walls_are_refused() {
    for (file, phrase) in [
        ("none.stl", "cannot read \"none.stl\""),
        ("empty.stl", "no triangles"),
        ("nan.stl", "not a finite number"),
        ("shape.step", "neither an .stl nor an .obj"),
    ] {
        let problem = mesh_problem(file);
        assert!(problem.message.contains(phrase), "{problem}");
    }
}

#[test]
fn a_wrong_row_of_a_csv_file_is_named() {
    const FILES: InMemory = InMemory(&[
        ("good.csv", b"x,y,z,diameter\n0,0,0.5,0.01\n"),
        ("bad.csv", b"x,y,z,diameter\n0,0,0.5,0.01\n0,0,oops,0.01\n"),
    ]);
    let with = |file: &str| format!("{GOOD}[[grains]]\nplace = \"csv\"\nfile = \"{file}\"\n");
    let scene = interpret(&with("good.csv"), "scene.toml", &FILES).unwrap();
    assert_eq!(scene.world.packings.len(), 2);
    let errors = interpret(&with("bad.csv"), "scene.toml", &FILES).unwrap_err();
    assert!(
        errors.problems[0]
            .message
            .contains("\"bad.csv\", line 3: `oops`"),
        "{errors}"
    );
}
