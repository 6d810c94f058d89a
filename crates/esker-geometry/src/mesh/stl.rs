//! STL, binary and text.
//!
//! Binary: 80 bytes of comment, the number of triangles (u32), then per triangle a normal and
//! three corners (f32 each) and two bytes of attributes: 50 bytes, all little-endian. The stored
//! normals are ignored, since the corners' order says the same and is more often right.

use super::{MeshError, Place, TriangleSoup};
use glam::{DVec3, Vec3};
use std::io::{self, Write};

const HEADER: usize = 84;
const RECORD: usize = 50;

/// Reads STL of either kind. Never trusts the count in a binary header, nor the word `solid` at
/// the beginning, with which many binary files start too.
pub fn parse_stl(bytes: &[u8]) -> Result<TriangleSoup, MeshError> {
    if is_exact_binary(bytes) || !looks_like_text(bytes) {
        parse_binary(bytes)
    } else {
        parse_text(bytes)
    }
}

fn stated_count(bytes: &[u8]) -> Option<u64> {
    let count = bytes.get(80..HEADER)?;
    Some(u64::from(u32::from_le_bytes(count.try_into().ok()?)))
}

fn is_exact_binary(bytes: &[u8]) -> bool {
    let length = |count| HEADER as u64 + RECORD as u64 * count;
    stated_count(bytes).is_some_and(|count| length(count) == bytes.len() as u64)
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    start.len() >= 5
        && start[..5].eq_ignore_ascii_case(b"solid")
        && !start[..start.len().min(1024)].contains(&0)
}

fn parse_binary(bytes: &[u8]) -> Result<TriangleSoup, MeshError> {
    let Some(count) = stated_count(bytes) else {
        return Err(MeshError::Truncated {
            place: Place::Byte(bytes.len()),
            what: "the header of a binary STL file",
        });
    };
    let records = bytes[HEADER..].chunks_exact(RECORD);
    if (records.len() as u64) < count {
        return Err(MeshError::Truncated {
            place: Place::Byte(HEADER + records.len() * RECORD),
            what: "the triangles",
        });
    }
    let mut soup = TriangleSoup::default();
    for (index, record) in records.take(count as usize).enumerate() {
        for corner in 0..3 {
            let start = 12 * (corner + 1);
            let number = |axis: usize| {
                let at = start + 4 * axis;
                f32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
            };
            let vertex = Vec3::new(number(0), number(1), number(2)).as_dvec3();
            let place = Place::Byte(HEADER + index * RECORD + start);
            push_vertex(&mut soup, vertex, place)?;
        }
        push_last_three(&mut soup)?;
    }
    Ok(soup)
}

fn push_vertex(soup: &mut TriangleSoup, vertex: DVec3, place: Place) -> Result<(), MeshError> {
    if !vertex.is_finite() {
        return Err(MeshError::NonFiniteVertex { place });
    }
    soup.vertices.push(vertex);
    Ok(())
}

fn push_last_three(soup: &mut TriangleSoup) -> Result<(), MeshError> {
    let end = u32::try_from(soup.vertices.len()).map_err(|_| MeshError::TooLarge)?;
    soup.triangles.push([end - 3, end - 2, end - 1]);
    Ok(())
}

fn parse_text(bytes: &[u8]) -> Result<TriangleSoup, MeshError> {
    let mut soup = TriangleSoup::default();
    let mut corners = 0;
    let mut is_in_facet = false;
    let mut last_line = 0;
    for (line, content) in text_lines(bytes) {
        last_line = line;
        let mut words = content.split_ascii_whitespace();
        let place = Place::Line(line);
        match words.next() {
            Some("facet") if !is_in_facet => {
                is_in_facet = true;
                corners = 0;
            }
            Some("vertex") if is_in_facet && corners < 3 => {
                let vertex = parse_vector(&mut words).ok_or(MeshError::Syntax {
                    place,
                    expected: "three numbers after `vertex`",
                })?;
                push_vertex(&mut soup, vertex, place)?;
                corners += 1;
            }
            Some("endfacet") if is_in_facet && corners == 3 => {
                push_last_three(&mut soup)?;
                is_in_facet = false;
            }
            Some("facet" | "endfacet" | "vertex") => {
                return Err(MeshError::Syntax {
                    place,
                    expected: "facets of three vertices each, closed by `endfacet`",
                });
            }
            Some("solid" | "endsolid" | "outer" | "endloop") | None => {}
            Some(_) => {
                return Err(MeshError::Syntax {
                    place,
                    expected: "`facet`, `vertex` or another word of an STL file",
                });
            }
        }
    }
    if is_in_facet {
        return Err(MeshError::Truncated {
            place: Place::Line(last_line),
            what: "a facet",
        });
    }
    Ok(soup)
}

/// Numbered lines; bytes that are not UTF-8, as in comments of old files, are replaced.
pub(super) fn text_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, std::borrow::Cow<'_, str>)> {
    bytes
        .split(|&byte| byte == b'\n')
        .enumerate()
        .map(|(index, line)| (index + 1, String::from_utf8_lossy(line)))
}

/// The next three words as numbers.
pub(super) fn parse_vector<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<DVec3> {
    let mut number = || words.next()?.parse::<f64>().ok();
    Some(DVec3::new(number()?, number()?, number()?))
}

impl TriangleSoup {
    /// Writes binary STL; coordinates are rounded to single precision.
    pub fn write_stl_binary(&self, writer: &mut impl Write) -> io::Result<()> {
        let count = u32::try_from(self.triangles.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many triangles"))?;
        writer.write_all(&[0; 80])?;
        writer.write_all(&count.to_le_bytes())?;
        for triangle in 0..self.triangles.len() {
            let [a, b, c] = self.corners(triangle);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            for vector in [normal, a, b, c] {
                for number in vector.as_vec3().to_array() {
                    writer.write_all(&number.to_le_bytes())?;
                }
            }
            writer.write_all(&[0; 2])?;
        }
        Ok(())
    }
}
