//! The kernels' compiled form belongs to their text.

use std::path::{Path, PathBuf};

/// Who changes a kernel compiles it again: `crates/esker-gpu/compile`.
#[test]
fn the_embedded_kernels_are_compiled_from_the_text_that_is_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let files = std::fs::read_dir(folder.join("kernels")).expect("sources");
    let mut sources: Vec<PathBuf> = files
        .map(|file| file.expect("a source").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| end == "h" || end == "cu")
        })
        .collect();
    sources.sort();
    for path in sources {
        for byte in std::fs::read(path).expect("a source") {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    // Of every file: a merge may leave one of them as it was.
    let files = std::fs::read_dir(folder.join("ptx")).expect("compiled kernels");
    for file in files {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        assert_eq!(
            text.lines().next(),
            Some(format!("// sources {hash:016x}").as_str()),
            "{}: run crates/esker-gpu/compile",
            path.display()
        );
    }
}
