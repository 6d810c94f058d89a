//! The worlds of the tests, and the ways in which they are run.

use esker_geometry::{OpenFaces, Pose, Region, Side, WallShape};
use esker_world::definition::{
    EmitterDef, Motion, Placement, Presence, Rate, Reduction, SinkDef, SizeDistribution, Split,
    Total, Trial, WallDef, WorldDef,
};
use glam::DVec3;

use crate::bench::{self, Prepared, Start};
use crate::experiment::Size;
use crate::results::StudyError;

pub(super) const SCENE: &str = include_str!("../../../../../scenes/experiments/reduction.toml");
const DRUM: &str = include_str!("../../../../../scenes/experiments/drum.toml");
/// Larger diameter of the pellets, m.
pub(super) const DIAMETER: f64 = 0.013;
/// Time after which the gate vanishes, s.
pub(super) const GATE: f64 = 0.1;
/// Rate at which a bed is tilted, rad/s.
pub(super) const TILTING: f64 = 10.0 * std::f64::consts::PI / 180.0;
/// Angles at which grains that have moved are counted, degrees.
pub(super) const TILTS: [f64; 3] = [34.0, 38.0, 42.0];

/// Rate of the drum, rad/s.
pub(super) const DRUM_RATE: f64 = 0.5;

/// The tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Rest,
    Collapse,
    Tilt,
    Belt,
    Drum,
    Stockpile,
}

/// The tests; those that take longest at full size come last.
pub(super) const TESTS: [Test; 6] = [
    Test::Rest,
    Test::Collapse,
    Test::Tilt,
    Test::Belt,
    Test::Drum,
    Test::Stockpile,
];

impl Test {
    /// Whether it starts from the settled bed.
    pub(super) fn needs_bed(self) -> bool {
        matches!(self, Test::Rest | Test::Collapse | Test::Tilt)
    }

    /// How many times it is run in a way, each with a start of its own: what one drum of a few
    /// thousand grains does, or one pile of a thousand on a belt, differs from what the next one
    /// does by as much as freezing may change. Of small ones trial steps, of which nothing of this
    /// is judged, are made once.
    pub(super) fn starts(self, way: Way, size: Size) -> u64 {
        match (self, size) {
            (Test::Drum, Size::Full) => 4,
            (Test::Belt, Size::Reduced) if way != Way::Trial => 4,
            _ => 1,
        }
    }

    /// Time between two looks at a run, s: one at a large heap takes as long as some steps of it.
    pub(super) fn look_every(self, size: Size) -> f64 {
        match self {
            Test::Stockpile => size.pick(0.25, 0.05),
            _ => 0.05,
        }
    }

    /// The ways in which it is run, all grains first. A trial step of a whole stockpile after
    /// every step would take days, and says nothing new; nor does one of a small bed at rest.
    pub(super) fn ways(self, size: Size) -> &'static [Way] {
        match (self, size) {
            (Test::Stockpile, _) | (Test::Rest | Test::Tilt, Size::Reduced) => {
                &[Way::Full, Way::Reduced]
            }
            (_, Size::Reduced) => &[Way::Full, Way::Trial, Way::Reduced],
            (_, Size::Full) => &[Way::Full, Way::Trial, Way::Reduced, Way::Careful],
        }
    }
}

/// How a test is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// All grains all the time.
    Full,
    /// The method of the paper, with its thresholds.
    Trial,
    Reduced,
    Careful,
}

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Full => "all grains",
            Way::Trial => "trial steps",
            Way::Reduced => "reduced",
            Way::Careful => "reduced, imbalance 0.2",
        }
    }

    pub(super) fn settings(self) -> Option<Reduction> {
        match self {
            Way::Full => None,
            Way::Trial => Some(Reduction {
                // 2.5 mm/s and 5 m/s² for pellets of 13 mm, at once.
                rest_speed: 0.007,
                rest_acceleration: 0.51,
                rest_time: 0.14,
                split: Split::Trial(Trial::default()),
                ..Default::default()
            }),
            Way::Reduced => Some(Reduction::default()),
            Way::Careful => Some(Reduction {
                imbalance: 0.2,
                ..Default::default()
            }),
        }
    }
}

/// A bed in its box, with the gate that never vanishes.
fn bed(size: Size) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.reduction = None;
    wall(&mut def, "gate").presence = Presence::ALWAYS;
    if size == Size::Reduced {
        let width = 9.0 * DIAMETER;
        wall(&mut def, "back").pose.position.y = width;
        wall(&mut def, "gate").pose.position.x = width;
        if let Placement::Packed { region, .. } = &mut def.packings[0].placement {
            let half = DVec3::new(0.5 * width, 0.5 * width, 0.11);
            *region = Region::Box {
                half_extents: half,
                pose: Pose::from_position(half),
            };
        }
    }
    Ok(def)
}

fn wall<'a>(def: &'a mut WorldDef, name: &str) -> &'a mut WallDef {
    let wall = def.walls.iter_mut().find(|wall| wall.name == name);
    wall.expect("the scene has this wall")
}

/// A bed that has come to rest.
pub(super) fn prepared(size: Size) -> Result<Prepared, StudyError> {
    let mut world = bench::build(&bed(size)?)?;
    bench::run(&mut world, 1.2, |_, _| {})?;
    Ok(Prepared::of(&world))
}

/// Pellets that rain on a belt.
fn belt(size: Size) -> Result<WorldDef, StudyError> {
    let mut def = bench::world_of_scene(SCENE)?;
    def.packings.clear();
    def.walls.retain(|wall| wall.name == "floor");
    def.walls[0].surface_velocity = DVec3::X * 0.1;
    let length = size.pick(50.0, 20.0) * DIAMETER;
    let half = DVec3::new(size.pick(7.5, 5.0), 2.0, 1.0) * DIAMETER;
    let above = DVec3::Z * (0.1 + half.z);
    def.emitters = vec![EmitterDef {
        name: "feeder".into(),
        material: 0,
        shape: None,
        region: Region::Box {
            half_extents: half,
            pose: Pose::from_position(above),
        },
        rate: Rate::Number(size.pick(1000.0, 500.0)),
        sizes: SizeDistribution::Fixed {
            radius: 0.5 * DIAMETER,
        },
        velocity: DVec3::ZERO,
        total: Total::Unlimited,
        start: 0.0,
        stop: f64::INFINITY,
    }];
    let far = DVec3::new(1.0, 5.0, 5.0);
    def.sinks = vec![SinkDef {
        name: "end of the belt".into(),
        region: Region::Box {
            half_extents: far,
            pose: Pose::from_position(DVec3::X * (length + far.x)),
        },
    }];
    Ok(def)
}

/// A belt above a floor, from the end of which pellets fall onto a pile, and how long it takes to
/// come to rest, s.
fn stockpile(size: Size) -> Result<(WorldDef, f64), StudyError> {
    let mut def = belt(size)?;
    def.sinks.clear();
    def.walls[0].surface_velocity = DVec3::ZERO;
    // Pellets fall fast: hardly further than three quarters of a diameter in a step.
    def.step = size.pick(2.5e-3, 5e-3);
    def.method = Start::SubStepped.method(size.pick(10, 20));
    let half = DVec3::new(size.pick(15.0, 6.0), size.pick(9.0, 4.0), 0.5) * DIAMETER;
    // The heap does not reach the belt.
    let height = size.pick(55.0, 8.0) * DIAMETER;
    let shape = WallShape::Box {
        half_extents: half,
        side: Side::Outside,
        open: OpenFaces::NONE,
    };
    let pose = Pose::from_position(DVec3::new(-half.x, 0.0, height - half.z));
    let along = DVec3::X * size.pick(2.5, 0.3);
    def.walls.push(WallDef {
        material: def.walls[0].material,
        surface_velocity: along,
        ..WallDef::new("belt", shape, pose)
    });
    let feeder = &mut def.emitters[0];
    let region = size
        .pick([8.0, 8.0, 8.0], [4.0, 2.5, 1.0])
        .map(|d| d * DIAMETER);
    let region = DVec3::from_array(region);
    let place = DVec3::new(
        size.pick(-20.0, -7.2) * DIAMETER,
        0.0,
        height + region.z + DIAMETER,
    );
    feeder.region = Region::Box {
        half_extents: region,
        pose: Pose::from_position(place),
    };
    // Fast enough that there is room for the next ones.
    feeder.velocity = size.pick(along + 2.0 * DVec3::NEG_Z, DVec3::ZERO);
    // 123 t/h, and a heap of 850 kg.
    let (rate, pellets) = size.pick((8_000.0, 200_000), (300.0, 1000));
    feeder.rate = Rate::Number(rate);
    feeder.total = Total::Number(pellets);
    Ok((def, pellets as f64 / rate + size.pick(1.0, 1.2)))
}

/// The world of a test, and for how long it runs, s.
pub(super) fn world_of(
    test: Test,
    size: Size,
    prepared: Option<&Prepared>,
) -> Result<(WorldDef, f64), StudyError> {
    let (mut def, time) = match test {
        Test::Rest => (bed(size)?, size.pick(6.4, 2.0)),
        Test::Collapse => {
            let mut def = bed(size)?;
            wall(&mut def, "gate").presence.until = GATE;
            (def, size.pick(2.4, 1.2))
        }
        Test::Tilt => {
            let mut def = bed(size)?;
            for wall in &mut def.walls {
                wall.motion = Motion::Rotate {
                    axis: DVec3::Y,
                    centre: DVec3::ZERO,
                    rate: TILTING,
                    start: 0.0,
                    stop: f64::INFINITY,
                };
            }
            (def, TILTS[2].to_radians() / TILTING)
        }
        Test::Belt => (belt(size)?, size.pick(9.0, 3.5)),
        Test::Drum => {
            let mut def = bench::world_of_scene(DRUM)?;
            for wall in &mut def.walls {
                if let Motion::Rotate { rate, .. } = &mut wall.motion {
                    *rate = DRUM_RATE;
                }
            }
            if let Placement::Lattice { jitter, .. } = &mut def.packings[0].placement {
                // Layers of a perfect lattice between smooth ends never mix: nothing pushes a
                // grain out of its own.
                *jitter = 1.0;
            }
            if size == Size::Reduced {
                for wall in &mut def.walls {
                    if let WallShape::Cylinder { radius, .. } = &mut wall.shape {
                        *radius *= 0.5;
                    }
                }
                if let Placement::Lattice { region, count, .. } = &mut def.packings[0].placement {
                    *count = Some(900);
                    if let Region::Cylinder { radius, .. } = region {
                        *radius = 0.128;
                    }
                }
            }
            (def, size.pick(4.0, 3.0))
        }
        Test::Stockpile => stockpile(size)?,
    };
    if let Some(prepared) = prepared {
        prepared.put_into(&mut def);
    }
    Ok((def, time))
}
