//! Reads arbitrary bytes as an STL mesh and builds a wall of it.
#![no_main]

use esker_geometry::TriangleMesh;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = TriangleMesh::from_bytes("fuzz.stl", bytes);
});
