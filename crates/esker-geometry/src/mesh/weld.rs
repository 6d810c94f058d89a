//! Makes shared corners of triangles one vertex and drops triangles without area.

use super::{MeshError, Place, TriangleSoup};
use crate::Aabb;
use glam::DVec3;
use std::collections::{HashMap, HashSet};

/// Vertices nearer than this part of the diagonal are one; triangles lower than it are dropped.
/// Single precision files carry errors of 6e-8 of the largest coordinate.
const WELD_TOLERANCE: f64 = 1e-7;

/// Cell of the search grid in tolerances: wide enough that most vertices meet one cell only.
const CELL: f64 = 16.0;

/// The welded soup and the number of triangles dropped.
pub(super) fn weld(soup: TriangleSoup) -> Result<(TriangleSoup, usize), MeshError> {
    check(&soup)?;
    let bounds = Aabb::of_points(soup.vertices.iter().copied());
    let tolerance = WELD_TOLERANCE * bounds.size().length();
    let (vertices, renamed) = merge_vertices(&soup.vertices, bounds.min, tolerance);

    let mut seen = HashSet::with_capacity(soup.triangles.len());
    let mut triangles = Vec::with_capacity(soup.triangles.len());
    for triangle in &soup.triangles {
        let triangle = triangle.map(|vertex| renamed[vertex as usize]);
        let corners = triangle.map(|vertex| vertices[vertex as usize]);
        let mut sorted = triangle;
        sorted.sort_unstable();
        if height(corners) > tolerance && seen.insert(sorted) {
            triangles.push(triangle);
        }
    }
    let dropped = soup.triangles.len() - triangles.len();
    if triangles.is_empty() {
        return Err(MeshError::NoTriangles { dropped });
    }
    let soup = without_unused_vertices(&vertices, triangles);
    Ok((soup, dropped))
}

fn check(soup: &TriangleSoup) -> Result<(), MeshError> {
    if u32::try_from(soup.vertices.len().max(soup.triangles.len())).is_err() {
        return Err(MeshError::TooLarge);
    }
    if let Some(bad) = soup.vertices.iter().position(|vertex| !vertex.is_finite()) {
        let place = Place::Vertex(bad);
        return Err(MeshError::NonFiniteVertex { place });
    }
    for (index, triangle) in soup.triangles.iter().enumerate() {
        let unknown = |&&vertex: &&u32| vertex as usize >= soup.vertices.len();
        if let Some(&vertex) = triangle.iter().find(unknown) {
            return Err(MeshError::UnknownVertex {
                place: Place::Triangle(index),
                index: i64::from(vertex),
            });
        }
    }
    Ok(())
}

/// Smallest height of the triangle (m).
fn height([a, b, c]: [DVec3; 3]) -> f64 {
    let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
    (b - a).cross(c - a).length() / longest
}

/// Each vertex joins the first kept one within the tolerance.
fn merge_vertices(vertices: &[DVec3], origin: DVec3, tolerance: f64) -> (Vec<DVec3>, Vec<u32>) {
    const NONE: u32 = u32::MAX;
    let cell_of = |point: DVec3| {
        let cell = ((point - origin) / (CELL * tolerance)).floor();
        [cell.x as i64, cell.y as i64, cell.z as i64]
    };
    let mut kept: Vec<DVec3> = Vec::new();
    // Kept vertices of a cell form a list: newest first here, the one before it in `older`.
    let mut newest: HashMap<[i64; 3], u32> = HashMap::with_capacity(vertices.len());
    let mut older: Vec<u32> = Vec::new();
    let mut renamed = Vec::with_capacity(vertices.len());
    for &vertex in vertices {
        let (from, to) = (cell_of(vertex - tolerance), cell_of(vertex + tolerance));
        let mut found = NONE;
        for x in from[0]..=to[0] {
            for y in from[1]..=to[1] {
                for z in from[2]..=to[2] {
                    let mut at = newest.get(&[x, y, z]).copied().unwrap_or(NONE);
                    while at != NONE {
                        if kept[at as usize].distance(vertex) <= tolerance {
                            found = found.min(at);
                        }
                        at = older[at as usize];
                    }
                }
            }
        }
        if found == NONE {
            found = kept.len() as u32;
            kept.push(vertex);
            older.push(newest.insert(cell_of(vertex), found).unwrap_or(NONE));
        }
        renamed.push(found);
    }
    (kept, renamed)
}

fn without_unused_vertices(vertices: &[DVec3], mut triangles: Vec<[u32; 3]>) -> TriangleSoup {
    const UNUSED: u32 = u32::MAX;
    let mut names = vec![UNUSED; vertices.len()];
    let mut used = Vec::new();
    for vertex in triangles.iter_mut().flatten() {
        let name = &mut names[*vertex as usize];
        if *name == UNUSED {
            *name = used.len() as u32;
            used.push(vertices[*vertex as usize]);
        }
        *vertex = *name;
    }
    TriangleSoup {
        vertices: used,
        triangles,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_degenerate_and_unwelded_triangles_are_cleaned() {
        let soup = TriangleSoup {
            vertices: vec![
                DVec3::ZERO,
                DVec3::X,
                DVec3::Y,
                DVec3::new(1.0, 1e-9, 0.0),
                DVec3::new(0.5, 0.0, 0.0),
                DVec3::ONE,
            ],
            triangles: vec![[0, 1, 2], [3, 2, 0], [0, 1, 4], [1, 3, 2], [3, 5, 2]],
        };
        let (clean, dropped) = weld(soup).unwrap();
        assert_eq!(clean.triangles, [[0, 1, 2], [1, 3, 2]]);
        assert_eq!(clean.vertices.len(), 4);
        assert_eq!(dropped, 3);
    }

    #[test]
    fn unusable_soups_are_refused() {
        let bad = |vertices: Vec<DVec3>, triangles| {
            weld(TriangleSoup {
                vertices,
                triangles,
            })
        };
        assert!(matches!(
            bad(vec![], vec![]),
            Err(MeshError::NoTriangles { dropped: 0 })
        ));
        assert!(matches!(
            bad(vec![DVec3::ZERO; 3], vec![[0, 1, 2]]),
            Err(MeshError::NoTriangles { dropped: 1 })
        ));
        assert!(matches!(
            bad(vec![DVec3::ZERO, DVec3::NAN], vec![]),
            Err(MeshError::NonFiniteVertex {
                place: Place::Vertex(1)
            })
        ));
        assert!(matches!(
            bad(vec![DVec3::ZERO], vec![[0, 0, 7]]),
            Err(MeshError::UnknownVertex { index: 7, .. })
        ));
        let huge = vec![DVec3::splat(f64::MAX), DVec3::splat(f64::MIN), DVec3::X];
        assert!(bad(huge, vec![[0, 1, 2]]).is_err());
    }
}
