//! The documents at the root tell the truth about the tree.

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
    for document in ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"] {
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
