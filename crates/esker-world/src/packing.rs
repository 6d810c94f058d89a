//! Grains present at the start.

use esker_geometry::Region;
use glam::{DQuat, DVec3};

use crate::definition::{PackingDef, Placement, SizeDistribution, WorldDef};
use crate::grains::NewGrain;
use crate::outline::Outline;
use crate::random::{RandomStream, Source};
use crate::random_packing;

/// Why a packing could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PackingError {
    /// A region in which not one grain fits.
    #[error("no grain of diameter {diameter} m fits into the region")]
    NothingFits {
        /// Largest diameter asked for, m.
        diameter: f64,
    },
    /// A lattice with fewer places than grains asked for.
    #[error("only {fitting} of {wanted} grains fit on the lattice in the region")]
    LatticeFull {
        /// Places of the lattice.
        fitting: usize,
        /// Grains asked for.
        wanted: usize,
    },
    /// A fraction beyond random close packing.
    #[error(
        "no random packing that fills {:.1} % of the region was found; about {:.1} % would fit",
        100.0 * fraction, 100.0 * possible
    )]
    TooFull {
        /// Share of the region asked for.
        fraction: f64,
        /// Share that would fit, by the overlaps that are left.
        possible: f64,
    },
    /// Too many grains in one place.
    #[error("the grains lie on top of one another")]
    Crowded,
    /// Random places ran out.
    #[error("only {placed} of {wanted} grains fit at random without overlap")]
    TooDense {
        /// Grains that found a place.
        placed: usize,
        /// Grains asked for.
        wanted: usize,
    },
}

impl PackingError {
    /// The error of balls that are larger than their grains by this factor in volume.
    fn for_volume(self, factor: f64) -> Self {
        match self {
            PackingError::TooFull { fraction, possible } => PackingError::TooFull {
                fraction: fraction / factor,
                possible: possible / factor,
            },
            other => other,
        }
    }
}

/// Random places tried per grain before a region counts as full.
const PLACES_TRIED: usize = 2000;
/// Default spacing of a lattice in largest diameters.
const LATTICE_SPACING: f64 = 1.02;

/// The grains of a definition where they start, packing after packing.
#[derive(Clone, Debug, Default)]
pub struct PlacedGrains {
    pub(crate) grains: Vec<PlacedGrain>,
}

/// A grain at the start, and the packing that it is of.
#[derive(Clone, Debug)]
pub(crate) struct PlacedGrain {
    pub(crate) grain: NewGrain,
    pub(crate) packing: usize,
}

impl PlacedGrains {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.grains.len()
    }

    /// Adds those of a packing.
    pub(crate) fn add(&mut self, packing: usize, grains: Vec<NewGrain>) {
        let placed = grains.into_iter();
        self.grains
            .extend(placed.map(|grain| PlacedGrain { grain, packing }));
    }
}

/// The grains of one packing of a valid definition.
///
/// # Panics
/// When there is no packing with this index.
pub fn place(def: &WorldDef, index: usize) -> Result<Vec<NewGrain>, PackingError> {
    let packing = &def.packings[index];
    let mut stream = RandomStream::new(def.seed, Source::Packing(index));
    let outline = Outline::new(&def.shapes, packing.shape.as_ref());
    let mut grains = place_spheres(def, packing, outline.stretch(), &mut stream)?;
    for (number, grain) in grains.iter_mut().enumerate() {
        grain.orientation = outline.orientation(number, &mut stream);
        grain.shape = outline.shape(grain.radius, grain.mass);
    }
    Ok(grains)
}

/// Places the balls that hold the grains, which are larger than the spheres of
/// equal volume by the factor `stretch`.
fn place_spheres(
    def: &WorldDef,
    packing: &PackingDef,
    stretch: f64,
    stream: &mut RandomStream,
) -> Result<Vec<NewGrain>, PackingError> {
    let grain = |position: DVec3, room: f64| new_grain(def, packing, position, room / stretch);
    match &packing.placement {
        Placement::Lattice {
            region,
            spacing,
            jitter,
            count,
            sizes,
        } => {
            let sizes = &sizes.scaled(stretch);
            let spacing = spacing.unwrap_or(LATTICE_SPACING * 2.0 * sizes.max());
            let limit = count.unwrap_or(usize::MAX);
            let places = lattice(region, spacing, sizes.max()).take(limit);
            let places: Vec<DVec3> = places.collect();
            if places.is_empty() && limit > 0 {
                return Err(PackingError::NothingFits {
                    diameter: 2.0 * sizes.max(),
                });
            }
            if let Some(wanted) = *count
                && places.len() < wanted
            {
                return Err(PackingError::LatticeFull {
                    fitting: places.len(),
                    wanted,
                });
            }
            let free = 0.5 * jitter * (spacing - 2.0 * sizes.max()).max(0.0);
            Ok(places
                .into_iter()
                .map(|place| {
                    let shift = DVec3::from(stream.uniform3()) * 2.0 - DVec3::ONE;
                    grain(place + shift * free, sizes.draw(stream))
                })
                .collect())
        }
        Placement::Random {
            region,
            count,
            sizes,
        } => {
            let sizes = sizes.scaled(stretch);
            let grains = random_places(region, *count, &sizes, stream)?;
            Ok(grains.into_iter().map(|(x, r)| grain(x, r)).collect())
        }
        Placement::Packed {
            region,
            fraction,
            sizes,
        } => {
            let sizes = sizes.scaled(stretch);
            let volume = stretch.powi(3);
            let packed = random_packing::pack(region, fraction * volume, &sizes, stream);
            let grains = packed.map_err(|error| error.for_volume(volume))?;
            Ok(grains.into_iter().map(|(x, r)| grain(x, r)).collect())
        }
        Placement::Column {
            base,
            direction,
            count,
            gap,
            sizes,
        } => {
            let mut height = 0.0;
            let mut grains = Vec::with_capacity(*count);
            for _ in 0..*count {
                let radius = stretch * sizes.draw(stream);
                grains.push(grain(*base + *direction * (height + radius), radius));
                height += 2.0 * radius + gap;
            }
            Ok(grains)
        }
        Placement::Listed { grains } => Ok(grains
            .iter()
            .map(|listed| NewGrain {
                velocity: packing.velocity + listed.velocity,
                angular_velocity: listed.angular_velocity,
                ..grain(listed.position, stretch * listed.radius)
            })
            .collect()),
    }
}

/// How many grains a lattice of a valid definition has, without drawing and placing them; none
/// of other packings.
///
/// # Panics
/// When there is no packing with this index.
pub fn lattice_count(def: &WorldDef, index: usize) -> Option<usize> {
    let packing = &def.packings[index];
    let Placement::Lattice {
        region,
        spacing,
        count,
        sizes,
        ..
    } = &packing.placement
    else {
        return None;
    };
    let outline = Outline::new(&def.shapes, packing.shape.as_ref());
    let radius = outline.stretch() * sizes.max();
    let spacing = spacing.unwrap_or(LATTICE_SPACING * 2.0 * radius);
    let places = lattice(region, spacing, radius);
    Some(places.take(count.unwrap_or(usize::MAX)).count())
}

/// How many grains a packing asks for at most, without building it.
pub fn count_estimate(packing: &PackingDef) -> usize {
    match &packing.placement {
        Placement::Lattice {
            region,
            spacing,
            count,
            sizes,
            ..
        } => {
            let spacing = spacing.unwrap_or(LATTICE_SPACING * 2.0 * sizes.max());
            let cells = region.volume() / spacing.powi(3);
            (cells.ceil() as usize).min(count.unwrap_or(usize::MAX))
        }
        Placement::Packed {
            region,
            fraction,
            sizes,
        } => {
            let grain = 4.0 / 3.0 * std::f64::consts::PI * sizes.mean_cube();
            (fraction * region.volume() / grain).round() as usize
        }
        Placement::Random { count, .. } | Placement::Column { count, .. } => *count,
        Placement::Listed { grains } => grains.len(),
    }
}

/// Mass of a homogeneous sphere, kg.
pub fn sphere_mass(density: f64, radius: f64) -> f64 {
    density * sphere_volume(radius)
}

/// Volume of a sphere, m³.
pub(crate) fn sphere_volume(radius: f64) -> f64 {
    4.0 / 3.0 * std::f64::consts::PI * radius.powi(3)
}

fn new_grain(def: &WorldDef, packing: &PackingDef, position: DVec3, radius: f64) -> NewGrain {
    NewGrain {
        position,
        velocity: packing.velocity,
        angular_velocity: DVec3::ZERO,
        orientation: DQuat::IDENTITY,
        radius,
        mass: sphere_mass(def.materials[packing.material].density, radius),
        material: packing.material as u16,
        shape: None,
    }
}

/// Lattice points whose spheres lie in the region, layer by layer upwards,
/// centred sideways.
fn lattice(region: &Region, spacing: f64, radius: f64) -> impl Iterator<Item = DVec3> {
    let inner = region.shrunk(radius);
    let bounds = region.bounds();
    let extent = bounds.max - bounds.min;
    // A little slack, so that a region of exactly n cells holds n.
    let counts = (extent / spacing + DVec3::splat(1e-9))
        .floor()
        .max(DVec3::ZERO);
    let spare = (extent - counts * spacing).max(DVec3::ZERO);
    let origin =
        bounds.min + DVec3::new(0.5 * spare.x, 0.5 * spare.y, 0.0) + DVec3::splat(0.5 * spacing);
    let [nx, ny, nz] = counts.to_array().map(|count| count as usize);
    let cells = (0..nz).flat_map(move |iz| {
        (0..ny).flat_map(move |iy| (0..nx).map(move |ix| [ix, iy, iz].map(|i| i as f64)))
    });
    let places = cells.map(move |cell| origin + DVec3::from(cell) * spacing);
    places.filter(move |&place| inner.as_ref().is_some_and(|r| r.contains(place)))
}

/// Random sequential insertion, the largest grains first.
fn random_places(
    region: &Region,
    count: usize,
    sizes: &SizeDistribution,
    stream: &mut RandomStream,
) -> Result<Vec<(DVec3, f64)>, PackingError> {
    let nothing = PackingError::NothingFits {
        diameter: 2.0 * sizes.max(),
    };
    let mut radii: Vec<f64> = (0..count).map(|_| sizes.draw(stream)).collect();
    radii.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut placed = Placed::new(2.0 * sizes.max());
    for &radius in &radii {
        let inner = region.shrunk(radius).ok_or_else(|| nothing.clone())?;
        let found = (0..PLACES_TRIED)
            .map(|_| inner.sample(stream.uniform3()))
            .find(|&x| placed.is_free(x, radius));
        match found {
            Some(place) => placed.add(place, radius),
            None => {
                return Err(PackingError::TooDense {
                    placed: placed.grains.len(),
                    wanted: count,
                });
            }
        }
    }
    Ok(placed.grains)
}

/// Spheres in cells as large as the largest diameter, for overlap queries.
pub(crate) struct Placed {
    cell: f64,
    cells: std::collections::BTreeMap<[i64; 3], Vec<u32>>,
    grains: Vec<(DVec3, f64)>,
}

impl Placed {
    pub(crate) fn new(max_diameter: f64) -> Self {
        Placed {
            cell: max_diameter,
            cells: Default::default(),
            grains: Vec::new(),
        }
    }

    fn cell_of(&self, x: DVec3) -> [i64; 3] {
        (x / self.cell).floor().to_array().map(|c| c as i64)
    }

    /// Whether a sphere would overlap none of those added.
    pub(crate) fn is_free(&self, x: DVec3, radius: f64) -> bool {
        let [cx, cy, cz] = self.cell_of(x);
        (-1..=1).all(|dz| {
            (-1..=1).all(|dy| {
                (-1..=1).all(|dx| {
                    let cell = [
                        cx.saturating_add(dx),
                        cy.saturating_add(dy),
                        cz.saturating_add(dz),
                    ];
                    self.cells.get(&cell).is_none_or(|members| {
                        members.iter().all(|&i| {
                            let (y, other) = self.grains[i as usize];
                            x.distance_squared(y) >= (radius + other).powi(2)
                        })
                    })
                })
            })
        })
    }

    pub(crate) fn add(&mut self, x: DVec3, radius: f64) {
        let cell = self.cell_of(x);
        self.cells
            .entry(cell)
            .or_default()
            .push(self.grains.len() as u32);
        self.grains.push((x, radius));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Material, Orientation, ShapeUse};
    use esker_geometry::{BodyShape, Pose};

    #[test]
    fn a_lattice_has_as_many_places_as_grains() {
        let lattice = |shaped: bool, count: Option<usize>| PackingDef {
            shape: shaped.then_some(ShapeUse {
                shape: 0,
                orientation: Orientation::Random,
            }),
            material: 0,
            velocity: DVec3::ZERO,
            placement: Placement::Lattice {
                region: Region::Cylinder {
                    radius: 0.05,
                    length: 0.1,
                    pose: Pose::default(),
                },
                spacing: None,
                jitter: 0.5,
                count,
                sizes: SizeDistribution::Fixed { radius: 5e-3 },
            },
        };
        let def = WorldDef {
            materials: vec![Material {
                name: "glass".into(),
                density: 2500.0,
                young: 1e7,
                poisson: 0.3,
            }],
            shapes: vec![BodyShape::Ellipsoid {
                semi_axes: DVec3::new(2.0, 1.0, 0.5),
            }],
            packings: vec![
                lattice(false, None),
                lattice(false, Some(70)),
                lattice(true, None),
            ],
            ..Default::default()
        };
        let placed = [0, 1, 2].map(|index| place(&def, index).unwrap().len());
        assert_eq!(
            [0, 1, 2].map(|index| lattice_count(&def, index).unwrap()),
            placed
        );
        assert!(placed[2] < placed[1] && placed[1] < placed[0], "{placed:?}");
    }
}
