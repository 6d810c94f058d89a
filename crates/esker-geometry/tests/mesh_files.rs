//! Mesh files: what is read, and what is said about those that cannot be.

use esker_geometry::{
    DVec3, MeshError, OpenFaces, Place, Side, TriangleMesh, TriangleSoup, WallShape, parse_obj,
    parse_stl,
};
use proptest::prelude::*;

fn cube() -> TriangleSoup {
    let half_extents = DVec3::new(0.5, 1.0, 2.0);
    let side = Side::Outside;
    WallShape::Box {
        half_extents,
        side,
        open: OpenFaces::NONE,
    }
    .triangulate(0.0)
}

fn binary() -> Vec<u8> {
    let mut bytes = Vec::new();
    cube().write_stl_binary(&mut bytes).unwrap();
    bytes
}

fn text(line_end: &str) -> String {
    let mut lines = vec!["solid cube of\u{e9} steel".to_string()];
    for k in 0..cube().triangles.len() {
        lines.push("  facet normal 0 0 0".into());
        lines.push("    outer loop".into());
        for corner in cube().corners(k) {
            lines.push(format!(
                "      vertex {:e} {} {}",
                corner.x, corner.y, corner.z
            ));
        }
        lines.push("    endloop".into());
        lines.push("  endfacet".into());
    }
    lines.push("endsolid".into());
    lines.join(line_end)
}

fn assert_is_cube(soup: TriangleSoup) {
    assert_eq!(soup.triangles.len(), 12);
    for k in 0..12 {
        assert_eq!(soup.corners(k), cube().corners(k));
    }
    let mesh = TriangleMesh::new(soup).unwrap();
    assert!(mesh.is_closed());
    assert_eq!((mesh.soup().vertices.len(), mesh.patch_count()), (8, 6));
}

#[test]
fn stl_is_read_in_all_its_guises() {
    assert_is_cube(parse_stl(&binary()).unwrap());
    assert_is_cube(parse_stl(text("\n").as_bytes()).unwrap());
    assert_is_cube(parse_stl(text("\r\n").as_bytes()).unwrap());
    let mut solid = binary();
    solid[..11].copy_from_slice(b"solid facet");
    assert_is_cube(parse_stl(&solid).unwrap());
    solid.extend_from_slice(b"trailing bytes");
    assert_is_cube(parse_stl(&solid).unwrap());
    assert!(TriangleMesh::from_bytes("part.STL", &binary()).is_ok());
}

#[test]
fn obj_polygons_negative_indices_and_attributes_are_read() {
    let file = "# a square pyramid\r\no part\r\nv 0 0 0\r\nv 1 0 0\r\nv 1 1 0 1.0\r\nv 0 1 0\r\n\
                vn 0 0 1\r\nf 4//1 3//1 2//1 1//1 # base\r\nv .5 .5 1\r\n\
                f 1/1/1 2/2/1 5\r\nf 2 3 -1\r\nf 3 4 -1\r\nf -2 -5 -1\r\nusemtl steel\r\n";
    let soup = parse_obj(file.as_bytes()).unwrap();
    assert_eq!(soup.triangles[..2], [[3, 2, 1], [3, 1, 0]]);
    let mesh = TriangleMesh::new(soup).unwrap();
    assert!(mesh.is_closed());
    assert_eq!(mesh.patch_count(), 5);
}

#[test]
fn errors_name_the_place() {
    let message = |result: Result<TriangleSoup, MeshError>| result.unwrap_err().to_string();
    assert_eq!(
        message(parse_obj(b"v 0 0 0\nv 1 zwei 0\n")),
        "line 2: expected three numbers after `v`"
    );
    assert_eq!(
        message(parse_obj(b"v 0 0 0\nf 1 2 3\n")),
        "line 2: vertex 2 does not exist"
    );
    assert_eq!(
        message(parse_obj(b"v 0 0 0\nf 1 0 1\n")),
        "line 2: vertex 0 does not exist"
    );
    assert_eq!(
        message(parse_obj(b"v 0 0 nan\n")),
        "line 1: a vertex has a coordinate that is not a finite number"
    );
    assert_eq!(
        message(parse_stl(
            b"solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n"
        )),
        "line 4: expected three numbers after `vertex`"
    );
    assert_eq!(
        message(parse_stl(
            b"solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1"
        )),
        "line 4: the file ends in the middle of a facet"
    );
    assert_eq!(
        message(parse_stl(&binary()[..84 + 50 * 5 + 20])),
        "byte 334: the file ends in the middle of the triangles"
    );
    let mut poisoned = binary();
    poisoned[84 + 50 + 12..84 + 50 + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(matches!(
        parse_stl(&poisoned),
        Err(MeshError::NonFiniteVertex {
            place: Place::Byte(146)
        })
    ));
    let unsupported = TriangleMesh::from_bytes("part.step", b"").unwrap_err();
    assert_eq!(
        unsupported.to_string(),
        "`part.step` is neither an .stl nor an .obj file"
    );
    assert!(matches!(
        TriangleMesh::from_bytes("empty.obj", b""),
        Err(MeshError::NoTriangles { dropped: 0 })
    ));
    assert!(matches!(
        TriangleMesh::from_path("no/such/file.stl"),
        Err(MeshError::Unreadable { .. })
    ));
}

#[test]
fn huge_stated_count_is_refused_without_reserving_memory() {
    let mut bytes = binary();
    bytes[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(
        parse_stl(&bytes),
        Err(MeshError::Truncated { .. })
    ));
}

/// What a file may say: valid beginnings with anything behind them.
fn file_like() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "v",
        "f",
        "solid",
        "facet",
        "vertex",
        "endfacet",
        " ",
        "\n",
        "\n",
        "\r\n",
        "1",
        "-1",
        "2",
        "3",
        "1e308",
        "-1e308",
        "nan",
        "0.5",
        "/",
        "9999999999999999999",
        "#",
        "\0",
    ]);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(word, 0..120).prop_map(|words| words.join(" ").into_bytes()),
        (prop::collection::vec(any::<u8>(), 0..50), 0..700_usize).prop_map(|(noise, at)| {
            let mut bytes = binary();
            let at = at.min(bytes.len() - noise.len());
            bytes[at..at + noise.len()].copy_from_slice(&noise);
            bytes
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_file_makes_the_readers_or_the_contact_search_panic(bytes in file_like()) {
        for name in ["a.stl", "a.obj"] {
            if let Ok(mesh) = TriangleMesh::from_bytes(name, &bytes) {
                let mut out = Vec::new();
                let wall = WallShape::Mesh(mesh.into());
                wall.touches(DVec3::new(0.1, 0.2, 0.3), 1.0, 0.1, &mut out);
                prop_assert!(out.iter().all(|touch| touch.normal.is_finite()));
            }
        }
    }
}
