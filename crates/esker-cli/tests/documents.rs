//! The documents at the root and the book tell the truth about the tree.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Back-quoted words that look like paths of this repository.
fn named_paths(text: &str) -> Vec<&str> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| {
            ["crates/", "scenes/", "docs/", ".ci/"]
                .iter()
                .any(|start| word.starts_with(start))
                && !word.contains([' ', '*', '<'])
        })
        .collect()
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let mut documents = ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"]
        .map(str::to_owned)
        .to_vec();
    documents.extend(pages_of_the_book());
    for document in &documents {
        let text = read(document);
        let paths = named_paths(&text);
        for path in &paths {
            assert!(
                root().join(path).exists(),
                "{document} names {path}, which does not exist"
            );
        }
        assert!(
            document != "ARCHITECTURE.md" || paths.len() >= 10,
            "the map names too few paths"
        );
    }
}

/// Paths of all pages of the book.
fn pages_of_the_book() -> Vec<String> {
    let mut folders = vec![String::from("docs/src")];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    assert!(pages.len() > 30, "the book is gone");
    pages
}

#[test]
fn the_book_lists_every_experiment_and_every_scene_of_the_cookbook() {
    let contents = read("docs/src/SUMMARY.md");
    let index = read("docs/src/validation/index.md");
    for experiment in esker_study::registry::ALL {
        let name = experiment.about().name;
        let page = root().join(format!("docs/src/validation/{name}.md"));
        let listed = contents.contains(&format!("(validation/{name}.md)"));
        let linked = index.contains(&format!("| [{name}]({name}.md) |"));
        assert_eq!([listed, linked], [page.exists(); 2], "{name}");
        assert!(linked || index.contains(&format!("| {name} |")), "{name}");
    }
    let recipes: Vec<String> = pages_of_the_book()
        .iter()
        .filter(|page| page.starts_with("docs/src/cookbook/"))
        .map(|page| read(page))
        .collect();
    for scene in std::fs::read_dir(root().join("scenes/cookbook")).unwrap() {
        let name = scene.unwrap().file_name().into_string().unwrap();
        assert!(
            recipes
                .iter()
                .any(|page| page.contains(&format!("`scenes/cookbook/{name}`"))),
            "no page of the cookbook is about {name}"
        );
    }
}

/// The tutorial begins with the scene of the README, which a test below runs.
#[test]
fn the_tutorial_of_the_book_has_the_scene_of_the_readme() {
    let scene = |document: &str| {
        let text = read(document);
        let (_, rest) = text.split_once("```toml\n").unwrap();
        rest.split_once("```").unwrap().0.to_owned()
    };
    assert_eq!(scene("docs/src/tutorial.md"), scene("README.md"));
}

#[test]
fn the_architecture_lists_every_crate() {
    let text = read("ARCHITECTURE.md");
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            text.contains(&format!("`crates/{name}`")),
            "ARCHITECTURE.md does not list crates/{name}"
        );
    }
}

/// The two commands at the top of the README are the ones that CI runs.
#[test]
fn ci_runs_the_commands_of_the_readme() {
    let readme = read("README.md");
    let ci = read(".ci/run");
    assert!(readme.contains("cargo run --release -- run scenes/drum.toml"));
    assert!(readme.contains("cargo test --release --workspace"));
    assert!(ci.contains("cargo test --release --workspace"));
}

/// Runs a scene in a folder of its own and returns what a command prints about it.
fn esker(folder: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_esker"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// The heap of the tutorial is one: its angle can be measured.
#[test]
fn the_tutorial_makes_a_heap_with_the_angle_that_it_says() {
    let readme = read("README.md");
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    let (scene, _) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("heap.toml"), scene).unwrap();
    esker(folder.path(), &["check", "heap.toml"]);
    esker(folder.path(), &["run", "heap.toml", "-o", "out/heap"]);
    let measured = esker(folder.path(), &["measure", "out/heap", "pile", "--json"]);
    let measured: serde_json::Value = serde_json::from_str(&measured).unwrap();
    let angle = measured["pile_angle_deg"].as_f64().unwrap();
    let (_, rest) = readme.split_once("angle of repose, about ").unwrap();
    let (said, _) = rest.split_once('°').unwrap();
    let said: f64 = said.parse().unwrap();
    // So few grains: from seed to seed it differs by some degrees.
    assert!((angle - said).abs() < 7.0, "{angle}° instead of {said}°");
}

#[test]
fn every_scene_to_start_from_is_right_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let list = esker(folder.path(), &["init", "--list"]);
    let names: Vec<&str> = list.lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["hopper", "drum", "pile", "mixer"]);
    for name in names {
        let file = format!("{name}.toml");
        esker(folder.path(), &["init", name]);
        let text = std::fs::read_to_string(folder.path().join(&file)).unwrap();
        assert!(
            text.lines().filter(|line| line.contains('#')).count() > 10,
            "{name}"
        );
        assert!(text.contains(&format!("esker run {file}")), "{name}");
        esker(folder.path(), &["check", &file]);
        let summary = esker(folder.path(), &["run", &file, "--steps", "300", "--json"]);
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        assert!(summary["particles"].as_u64() > Some(0), "{name}");
        assert_eq!(summary["lost"], 0, "{name}");
        assert!(summary["worst_overlap"].as_f64() < Some(0.1), "{name}");
        // Nothing is overwritten unasked.
        let again = std::process::Command::new(env!("CARGO_BIN_EXE_esker"))
            .args(["init", name])
            .current_dir(folder.path())
            .output();
        assert!(!again.unwrap().status.success());
    }
}
