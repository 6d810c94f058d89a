//! The shell of a rotating drum as a mesh: a cylinder with bumps on its inside, which fine material
//! makes, and at its top end an outlet with gaps that wind around it.
//!
//! The axis is z, and the middle of the shell the origin. Bumps are Gaussian, at random
//! places that are the same for the same drum; where several meet, fine material fills what is between them and no more. Gap
//! number `k` of `n` is centred at the angle
//!
//! ```text
//! φ_k(z) = 2π (k/n + T (z − z₀)/l),    z₀ ≤ z ≤ z₀ + l,                   (1)
//! ```
//!
//! of an outlet of length `l` from `z₀` up to the end, with `T` turns; its width is measured
//! along the axis, and grows evenly from the first to the last. Corners of triangles follow the
//! edges of gaps.

use std::f64::consts::TAU;

use glam::DVec3;

use crate::TriangleSoup;

/// Gaussian bumps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bumps {
    /// Width, m: twice the standard deviation.
    pub width: f64,
    /// Smallest and largest height, m.
    pub height: [f64; 2],
    /// Bumps per m².
    pub density: f64,
}

/// An outlet with gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlet {
    /// Length along the axis, m.
    pub length: f64,
    /// How many gaps there are.
    pub gaps: usize,
    /// Width of gaps along the axis where they begin and at the end, m.
    pub width: [f64; 2],
    /// How often a gap winds around the axis, right-handed; not zero.
    pub turns: f64,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrumShell {
    /// Radius, m.
    pub radius: f64,
    /// Length along the axis, the outlet included, m.
    pub length: f64,
    /// What is on its inside.
    pub bumps: Option<Bumps>,
    /// Where grains leave, if not at the end alone.
    pub outlet: Option<Outlet>,
}

/// Why there is no such shell.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DrumShellError {
    /// The outlet is not a part of the shell.
    #[error("an outlet of {outlet} m must be shorter than the shell, which has {shell} m")]
    LongOutlet {
        /// Length of the outlet, m.
        outlet: f64,
        /// Length of the shell, m.
        shell: f64,
    },
    /// Gaps along the axis have no width along it.
    #[error("gaps must wind around the axis, along which their width is measured: no zero turns")]
    StraightGaps,
    /// Nothing is left between gaps.
    #[error("gaps up to {width} m wide leave nothing of the outlet between them")]
    WideGaps {
        /// Their width, m.
        width: f64,
    },
    /// Bumps are higher than the drum is wide, or the lowest is higher than the highest.
    #[error("bumps from {low} to {high} m high do not fit into a shell of radius {radius} m")]
    HighBumps {
        /// Smallest height, m.
        low: f64,
        /// Largest height, m.
        high: f64,
        /// Radius of the shell, m.
        radius: f64,
    },
    /// Bumps are so narrow that the mesh would not fit into memory.
    #[error("{triangles:.0} triangles are too many: wider bumps need fewer")]
    Fine {
        /// How many there would be.
        triangles: f64,
    },
}

/// Corners of triangles per width of a bump.
const CORNERS_PER_WIDTH: f64 = 3.5;
/// Corners around a shell without bumps, and around any shell at least.
const MIN_COLUMNS: f64 = 72.0;
/// A bump ends this many standard deviations from its middle.
const EXTENT: f64 = 4.0;
/// Triangles at most.
const MOST_TRIANGLES: f64 = 3e7;

impl Bumps {
    /// Those of a drum that is so many times as large.
    #[must_use]
    pub fn scaled(self, scale: f64) -> Bumps {
        Bumps {
            width: self.width * scale,
            height: self.height.map(|height| height * scale),
            density: self.density / (scale * scale),
        }
    }
}

impl Outlet {
    /// Half of the angle that a gap takes up at this share of the outlet, rad.
    fn half_gap(&self, share: f64) -> f64 {
        let width = self.width[0] + share * (self.width[1] - self.width[0]);
        0.5 * width * (TAU * self.turns).abs() / self.length
    }
}

impl DrumShell {
    /// Corners of triangles are about so far apart, m.
    fn edge(&self) -> f64 {
        let round = TAU * self.radius / MIN_COLUMNS;
        self.bumps
            .map_or(round, |bumps| round.min(bumps.width / CORNERS_PER_WIDTH))
    }

    fn check(&self) -> Result<(), DrumShellError> {
        if let Some(outlet) = self.outlet {
            if outlet.turns == 0.0 {
                return Err(DrumShellError::StraightGaps);
            }
            if outlet.length >= self.length {
                return Err(DrumShellError::LongOutlet {
                    outlet: outlet.length,
                    shell: self.length,
                });
            }
            let width = outlet.width[0].max(outlet.width[1]);
            let half = outlet.half_gap(0.0).max(outlet.half_gap(1.0));
            if 2.0 * half * outlet.gaps as f64 >= 0.9 * TAU {
                return Err(DrumShellError::WideGaps { width });
            }
        }
        if let Some(Bumps {
            height: [low, high],
            ..
        }) = self.bumps
            && !(low <= high && high < self.radius)
        {
            let radius = self.radius;
            return Err(DrumShellError::HighBumps { low, high, radius });
        }
        let cells = TAU * self.radius * self.length / (self.edge() * self.edge());
        if 2.0 * cells > MOST_TRIANGLES {
            return Err(DrumShellError::Fine {
                triangles: 2.0 * cells,
            });
        }
        Ok(())
    }

    /// The shell, seen from inside.
    pub fn triangles(&self) -> Result<TriangleSoup, DrumShellError> {
        self.check()?;
        let edge = self.edge();
        let (gaps, outlet_length) = self.outlet.map_or((1, 0.0), |o| (o.gaps.max(1), o.length));
        let strip = (TAU * self.radius / edge / gaps as f64).ceil() as usize;
        let closed = ((self.length - outlet_length) / edge).ceil() as usize;
        // From row to row gaps move on by no more than an edge, and quads are cut along their short
        // diagonal: triangles that reach across the cylinder would crumple it.
        let wound = self
            .outlet
            .map_or(0.0, |o| TAU * o.turns.abs() * self.radius);
        let open = (outlet_length.max(wound) / edge).ceil() as usize;
        let relief = Relief::new(self);
        let start = 0.5 * self.length - outlet_length;
        let mut soup = TriangleSoup::default();
        let add = |soup: &mut TriangleSoup, angle: f64, z: f64| {
            let radius = self.radius - relief.height(angle, z);
            let place = DVec3::new(radius * angle.cos(), radius * angle.sin(), z);
            soup.vertices.push(place);
        };
        let columns = gaps * strip;
        for row in 0..=closed {
            let z = -0.5 * self.length + (self.length - outlet_length) * row as f64 / closed as f64;
            for column in 0..columns {
                add(&mut soup, TAU * column as f64 / columns as f64, z);
            }
        }
        let is_right_handed = self.outlet.is_some_and(|outlet| outlet.turns > 0.0);
        let quad = |soup: &mut TriangleSoup, corners: [usize; 4]| {
            let [a, b, c, d] = corners.map(|corner| corner as u32);
            soup.triangles.extend(match is_right_handed {
                true => [[a, d, b], [b, d, c]],
                false => [[a, c, b], [a, d, c]],
            });
        };
        for cell in 0..columns * closed {
            let right = cell - cell % columns + (cell + 1) % columns;
            quad(&mut soup, [cell, right, right + columns, cell + columns]);
        }
        let Some(outlet) = self.outlet else {
            return Ok(soup);
        };
        for gap in 0..gaps {
            // The first row is the last of the closed part.
            let closed_row = |i: usize| closed * columns + (gap * strip + i) % columns;
            let first = soup.vertices.len();
            for row in 1..=open {
                let share = row as f64 / open as f64;
                let half = outlet.half_gap(share);
                let turned = TAU * outlet.turns * share;
                let width = TAU / gaps as f64 - 2.0 * half;
                for i in 0..=strip {
                    let within = half + width * i as f64 / strip as f64;
                    let angle = TAU * gap as f64 / gaps as f64 + turned + within;
                    add(&mut soup, angle, start + outlet.length * share);
                }
            }
            let corner = |row: usize, i: usize| match row {
                0 => closed_row(i),
                row => first + (row - 1) * (strip + 1) + i,
            };
            for row in 0..open {
                for i in 0..strip {
                    let corners = [
                        corner(row, i),
                        corner(row, i + 1),
                        corner(row + 1, i + 1),
                        corner(row + 1, i),
                    ];
                    quad(&mut soup, corners);
                }
            }
        }
        Ok(soup)
    }
}

/// A bump of a rolled out shell.
#[derive(Clone, Copy, Debug)]
struct Bump {
    /// Around and along, m.
    at: [f64; 2],
    height: f64,
}

/// Random numbers from zero to one (SplitMix64). (A sequence that fills the shell evenly was tried: it
/// has a handedness, and a bed in a drum with its mirror image flowed a quarter faster.)
#[derive(Default)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The inside of a rolled out shell, its bumps found by cells.
struct Relief {
    around: f64,
    length: f64,
    deviation: f64,
    highest: f64,
    cells: [usize; 2],
    bumps: Vec<Vec<Bump>>,
}

impl Relief {
    fn new(shell: &DrumShell) -> Self {
        let around = TAU * shell.radius;
        let mut relief = Relief {
            around,
            length: shell.length,
            deviation: 0.0,
            highest: 0.0,
            cells: [1, 1],
            bumps: vec![Vec::new()],
        };
        let Some(bumps) = shell.bumps else {
            return relief;
        };
        relief.deviation = 0.5 * bumps.width;
        relief.highest = bumps.height[1];
        let reach = EXTENT * relief.deviation;
        relief.cells = [around, shell.length].map(|l| ((l / reach) as usize).max(1));
        relief.bumps = vec![Vec::new(); relief.cells[0] * relief.cells[1]];
        let count = (bumps.density * around * shell.length).round() as usize;
        let mut random = Random::default();
        for _ in 0..count {
            let [w, u, v] = [(); 3].map(|()| random.next());
            let at = [u * around, v * shell.length];
            let height = bumps.height[0] + w * (bumps.height[1] - bumps.height[0]);
            let [column, row] = relief.cell_of(at);
            relief.bumps[row * relief.cells[0] + column].push(Bump { at, height });
        }
        relief
    }

    fn cell_of(&self, at: [f64; 2]) -> [usize; 2] {
        let index =
            |x: f64, size: f64, cells: usize| ((x / size * cells as f64) as usize).min(cells - 1);
        [
            index(at[0], self.around, self.cells[0]),
            index(at[1], self.length, self.cells[1]),
        ]
    }

    /// Height of the surface over the cylinder, m.
    fn height(&self, angle: f64, z: f64) -> f64 {
        if self.highest == 0.0 {
            return 0.0;
        }
        let at = [
            (angle / TAU).rem_euclid(1.0) * self.around,
            z + 0.5 * self.length,
        ];
        let [column, row] = self.cell_of(at);
        let rows = row.saturating_sub(1)..=(row + 1).min(self.cells[1] - 1);
        // Each once, also where there are fewer than three around.
        let width = self.cells[0].min(3);
        let mut sum = 0.0;
        for row in rows {
            for k in 0..width {
                let column = (column + self.cells[0] + k - width / 2) % self.cells[0];
                for bump in &self.bumps[row * self.cells[0] + column] {
                    let apart = (at[0] - bump.at[0]).abs();
                    let x = apart.min(self.around - apart);
                    let y = at[1] - bump.at[1];
                    let square = (x * x + y * y) / (self.deviation * self.deviation);
                    if square < EXTENT * EXTENT {
                        sum += bump.height * (-0.5 * square).exp();
                    }
                }
            }
        }
        sum.min(self.highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EdgeKind, TriangleMesh};

    const BUMPS: Bumps = Bumps {
        width: 0.01,
        height: [0.006, 0.01],
        density: 500.0,
    };

    fn shell(outlet: Option<Outlet>) -> DrumShell {
        DrumShell {
            radius: 0.4,
            length: 0.5,
            bumps: Some(BUMPS),
            outlet,
        }
    }

    #[test]
    fn bumps_are_as_many_and_as_high_as_asked_for() {
        let soup = shell(None).triangles().unwrap();
        let depths: Vec<f64> = soup.vertices.iter().map(|v| 0.4 - v.x.hypot(v.y)).collect();
        let max = depths.iter().fold(0.0, |a: f64, b| a.max(*b));
        assert!((0.9 * BUMPS.height[1]..=BUMPS.height[1] + 1e-12).contains(&max));
        // The volume of Gaussian bumps of mean height, per area; some of it is cut.
        let mean = depths.iter().sum::<f64>() / depths.len() as f64;
        let sigma = 0.5 * BUMPS.width;
        let expected = BUMPS.density * 0.008 * TAU * sigma * sigma;
        assert!((mean / expected - 1.0).abs() < 0.1, "{mean} for {expected}");
        let mesh = TriangleMesh::new(soup).unwrap();
        assert_eq!(mesh.dropped_triangles(), 0);
        assert!(
            mesh.normals()
                .zip(0..)
                .all(|(n, t)| n.dot(mesh.soup().corners(t)[0].with_z(0.0)) < 0.0)
        );
    }

    /// The area that gaps take away is their width along the axis times the way around that
    /// they wind.
    #[test]
    fn gaps_wind_around_the_outlet_and_are_as_wide_as_asked_for() {
        let outlet = Outlet {
            length: 0.3,
            gaps: 3,
            width: [0.03, 0.05],
            turns: 0.4,
        };
        let smooth = |outlet| DrumShell {
            bumps: None,
            ..shell(outlet)
        };
        let area = |outlet| {
            let soup = smooth(outlet).triangles().unwrap();
            let of = |t: usize| {
                let [a, b, c] = soup.corners(t);
                0.5 * (b - a).cross(c - a).length()
            };
            (0..soup.triangles.len()).map(of).sum::<f64>()
        };
        let taken = area(None) - area(Some(outlet));
        let expected = 3.0 * 0.04 * 0.4 * TAU * 0.4;
        assert!(
            (taken / expected - 1.0).abs() < 0.05,
            "{taken} for {expected}"
        );
        let mesh = TriangleMesh::new(shell(Some(outlet)).triangles().unwrap()).unwrap();
        assert_eq!(mesh.dropped_triangles(), 0);
        // Open at both ends and along both sides of three gaps: no other edge is.
        let edges = mesh.edges().iter();
        assert!(edges.clone().all(|edge| edge.kind != EdgeKind::Branching));
        let on_border = |edge: &&crate::Edge| edge.kind == EdgeKind::Boundary;
        let lengths = edges.filter(on_border).map(|edge| {
            let [a, b] = edge.vertices.map(|v| mesh.soup().vertices[v as usize]);
            a.distance(b)
        });
        let border: f64 = lengths.sum();
        let around = TAU * 0.4;
        let along_gap = (0.3_f64 * 0.3 + (0.4 * around) * (0.4 * around)).sqrt();
        let expected = 2.0 * around + 6.0 * along_gap;
        assert!(
            (border / expected - 1.0).abs() < 0.15,
            "{border} for {expected}"
        );
    }

    #[test]
    fn impossible_shells_are_refused() {
        let outlet = Outlet {
            length: 0.3,
            gaps: 3,
            width: [0.03, 0.05],
            turns: 0.4,
        };
        let of = |outlet| shell(Some(outlet)).triangles().unwrap_err().to_string();
        assert!(
            of(Outlet {
                length: 0.5,
                ..outlet
            })
            .contains("shorter than the shell")
        );
        assert!(of(Outlet { gaps: 30, ..outlet }).contains("leave nothing"));
        let fine = DrumShell {
            bumps: Some(BUMPS.scaled(1e-3)),
            ..shell(None)
        };
        assert!(
            fine.triangles()
                .unwrap_err()
                .to_string()
                .contains("too many")
        );
    }
}
