//! Wavefront OBJ: vertices and faces; everything else is skipped.

use super::stl::{parse_vector, text_lines};
use super::{MeshError, Place, TriangleSoup};

/// Reads `v` and `f` lines. Polygons are cut into fans about their first corner; indices count
/// from 1, negative ones from the last vertex so far; texture and normal indices are ignored.
pub fn parse_obj(bytes: &[u8]) -> Result<TriangleSoup, MeshError> {
    let mut soup = TriangleSoup::default();
    let mut polygon: Vec<u32> = Vec::new();
    for (line, content) in text_lines(bytes) {
        let place = Place::Line(line);
        let content = content.split('#').next().unwrap_or_default();
        let mut words = content.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let vertex = parse_vector(&mut words).ok_or(MeshError::Syntax {
                    place,
                    expected: "three numbers after `v`",
                })?;
                if !vertex.is_finite() {
                    return Err(MeshError::NonFiniteVertex { place });
                }
                soup.vertices.push(vertex);
            }
            Some("f") => {
                polygon.clear();
                for word in words {
                    polygon.push(parse_corner(word, soup.vertices.len(), place)?);
                }
                if polygon.len() < 3 {
                    return Err(MeshError::Syntax {
                        place,
                        expected: "at least three corners after `f`",
                    });
                }
                let fan = polygon[1..].windows(2);
                soup.triangles
                    .extend(fan.map(|pair| [polygon[0], pair[0], pair[1]]));
            }
            _ => {}
        }
    }
    Ok(soup)
}

/// The vertex of `v`, `v/t`, `v//n` or `v/t/n`.
fn parse_corner(word: &str, vertex_count: usize, place: Place) -> Result<u32, MeshError> {
    let index: i64 = word
        .split('/')
        .next()
        .and_then(|number| number.parse().ok())
        .ok_or(MeshError::Syntax {
            place,
            expected: "vertex indices after `f`",
        })?;
    let count = vertex_count as i64;
    let from_zero = if index < 0 {
        count.saturating_add(index)
    } else {
        index - 1
    };
    if (0..count).contains(&from_zero) {
        u32::try_from(from_zero).map_err(|_| MeshError::TooLarge)
    } else {
        Err(MeshError::UnknownVertex { place, index })
    }
}
