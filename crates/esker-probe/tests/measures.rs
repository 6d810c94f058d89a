//! Each quantity against a state whose numbers are known.

use std::f64::consts::PI;
use std::sync::Arc;

use esker_geometry::{Pose, Region, WallShape};
use esker_probe::{Class, Opening, OpeningShape, Path, ProbeDef, Probes, Quantity, Row};
use esker_world::World;
use esker_world::definition::*;
use glam::DVec3;

const G: f64 = 9.81;

fn world(grains: Vec<ListedGrain>) -> WorldDef {
    let material = |name: &str| Material {
        name: name.into(),
        density: 2000.0,
        young: 1e8,
        poisson: 0.3,
    };
    WorldDef {
        step: 1e-3,
        gravity: DVec3::ZERO,
        materials: vec![material("a"), material("b")],
        packings: vec![packing(0, grains)],
        ..Default::default()
    }
}

fn packing(material: usize, grains: Vec<ListedGrain>) -> PackingDef {
    PackingDef {
        shape: None,
        material,
        velocity: DVec3::ZERO,
        placement: Placement::Listed {
            grains: Arc::new(grains),
        },
    }
}

fn grain(position: DVec3, velocity: DVec3, radius: f64) -> ListedGrain {
    ListedGrain {
        position,
        velocity,
        angular_velocity: DVec3::ZERO,
        radius,
    }
}

fn floor() -> WallDef {
    WallDef::new("floor", WallShape::HalfSpace, Pose::IDENTITY)
}

fn probe(quantity: Quantity, every: f64) -> ProbeDef {
    ProbeDef {
        name: "probe".into(),
        every,
        quantity,
    }
}

/// Rows of one probe over some steps.
fn rows(world: &mut World, def: &ProbeDef, steps: usize) -> Vec<Row> {
    let mut probes = Probes::new(std::slice::from_ref(def), world);
    let mut rows = probes.first_rows(world);
    for _ in 0..steps {
        let report = world.step().unwrap();
        rows.extend(probes.after_step(world, &report));
    }
    for row in &rows {
        let width: usize = def.columns().iter().map(|c| c.width).sum();
        assert_eq!(row.values.len(), width);
    }
    rows
}

/// The value of a column in a row.
fn value(def: &ProbeDef, row: &Row, column: &str) -> f64 {
    let columns = def.columns();
    let index = columns.iter().position(|c| c.name == column).unwrap();
    row.values[index]
}

fn plane(shape: OpeningShape) -> Quantity {
    Quantity::Flow(Opening {
        position: DVec3::new(0.105, 0.0, 0.0),
        normal: DVec3::X,
        shape,
    })
}

#[test]
fn a_ball_through_a_plane_counts_once_with_its_mass() {
    let mut world = World::new(&world(vec![grain(DVec3::ZERO, DVec3::X, 0.01)])).unwrap();
    let mass = world.grains().mass()[0];
    let def = probe(plane(OpeningShape::Plane), 0.05);
    let rows = rows(&mut world, &def, 200);
    assert_eq!(rows.len(), 4);
    let flow: Vec<f64> = rows.iter().map(|r| value(&def, r, "mass_flow")).collect();
    assert!((flow[2] - mass / 0.05).abs() < 1e-9 * mass, "{flow:?}");
    assert_eq!([flow[0], flow[1], flow[3]], [0.0; 3]);
    assert_eq!(value(&def, &rows[3], "number"), 1.0);
}

/// The ball moves by several radii per step and turns back on its way: nothing
/// is missed, and what returned has not passed.
#[test]
fn crossings_are_counted_between_steps_and_cancel() {
    let fast = grain(DVec3::ZERO, DVec3::X * 60.0, 0.01);
    let mut def = world(vec![fast]);
    def.gravity = DVec3::X * -2400.0;
    let mut world = World::new(&def).unwrap();
    let def = probe(plane(OpeningShape::Plane), 1e-3);
    let rows = rows(&mut world, &def, 100);
    let numbers: Vec<f64> = rows.iter().map(|r| value(&def, r, "number")).collect();
    assert_eq!((numbers[0], numbers[20], numbers[99]), (0.0, 1.0, 0.0));
}

#[test]
fn an_opening_counts_what_goes_through_it_and_not_beside() {
    let at = |y: f64, z: f64| grain(DVec3::new(0.0, y, z), DVec3::X, 0.001);
    let def = world(vec![at(0.0, 0.04), at(0.04, 0.0), at(0.09, 0.09)]);
    let counted = |shape| {
        let mut world = World::new(&def).unwrap();
        let def = probe(plane(shape), 0.2);
        let rows = rows(&mut world, &def, 200);
        value(&def, &rows[0], "number")
    };
    assert_eq!(counted(OpeningShape::Plane), 3.0);
    assert_eq!(counted(OpeningShape::Disc { radius: 0.05 }), 2.0);
    let size = [0.1, 0.02];
    let along = DVec3::Z;
    assert_eq!(counted(OpeningShape::Rectangle { size, along }), 1.0);
}

fn lattice(edge: i32, offset: DVec3, velocity: impl Fn(DVec3) -> DVec3) -> Vec<ListedGrain> {
    let indices = (0..edge * edge * edge).map(|i| [i % edge, i / edge % edge, i / edge / edge]);
    indices
        .map(|index| {
            let x = DVec3::from_array(index.map(f64::from)) * 0.02 + offset;
            grain(x, velocity(x), 0.01)
        })
        .collect()
}

fn bulk(low: DVec3, high: DVec3) -> Quantity {
    Quantity::Bulk {
        region: Region::Box {
            half_extents: (high - low) / 2.0,
            pose: Pose::from_position(low.midpoint(high)),
        },
        samples: 4,
    }
}

#[test]
fn a_cubic_lattice_fills_pi_over_six_wherever_the_box_cuts_it() {
    for shift in [0.0, 0.0013, 0.0087] {
        let offset = DVec3::new(shift, 2.0 * shift, -shift);
        let mut world = World::new(&world(lattice(7, offset, |_| DVec3::ZERO))).unwrap();
        let def = probe(bulk(DVec3::splat(0.03), DVec3::splat(0.07)), 4e-3);
        let rows = rows(&mut world, &def, 4);
        let packing = value(&def, &rows[0], "packing");
        assert!((packing - PI / 6.0).abs() < 2e-4, "{shift}: {packing}");
    }
}

#[test]
fn velocity_and_temperature_are_those_given() {
    // Half of the grains move up, half down, all drift along x.
    let velocity = |x: DVec3| {
        let even = (x.x / 0.02).round() as i64 % 2 == 0;
        DVec3::new(0.3, 0.0, if even { 0.1 } else { -0.1 })
    };
    let mut def = world(
        lattice(6, DVec3::ZERO, velocity)
            .into_iter()
            .map(|g| ListedGrain { radius: 0.005, ..g })
            .collect(),
    );
    def.rotation = false;
    let mut world = World::new(&def).unwrap();
    let all = bulk(DVec3::splat(-0.05), DVec3::splat(0.2));
    let def = probe(all, 4e-3);
    let row = &rows(&mut world, &def, 4)[0];
    let close = |column, expected: f64| {
        let found = value(&def, row, column);
        assert!((found - expected).abs() < 1e-12, "{column}: {found}");
    };
    let mass: f64 = world.grains().mass().iter().sum();
    close("grains", 216.0);
    close("mass", mass);
    close("velocity_x", 0.3);
    close("velocity_z", 0.0);
    close("temperature", 0.01 / 3.0);
    // No contact: the stress is that of the fluctuations alone.
    let stress = mass * 0.01 / 0.25_f64.powi(3);
    assert!((value(&def, row, "stress_zz") / stress - 1.0).abs() < 1e-9);
    close("stress_xx", 0.0);
    assert!((value(&def, row, "pressure") / (stress / 3.0) - 1.0).abs() < 1e-9);
}

/// A column of ten spheres at rest, moved to some place.
fn column(origin: DVec3) -> World {
    let spheres = (0..10).map(|i| {
        let x = origin + DVec3::Z * (0.01 + 0.02 * f64::from(i));
        grain(x, DVec3::ZERO, 0.01)
    });
    let mut def = world(spheres.collect());
    def.gravity = DVec3::Z * -G;
    def.rotation = false;
    def.contact.margin = 0.5;
    def.walls = vec![WallDef {
        pose: Pose::from_position(origin),
        ..floor()
    }];
    let mut world = World::new(&def).unwrap();
    for _ in 0..2000 {
        world.step().unwrap();
    }
    world
}

#[test]
fn the_stress_of_a_column_is_the_weight_above_over_the_area() {
    let mut world = column(DVec3::ZERO);
    let weight = world.grains().mass()[0] * G;
    let area = 0.04 * 0.04;
    // Between the middles of the third and the fourth sphere there is one
    // contact, which carries seven spheres; a slab of any part of it says so.
    for [low, high] in [[0.05, 0.07], [0.055, 0.062], [0.061, 0.069]] {
        let slab = bulk(DVec3::new(-0.02, -0.02, low), DVec3::new(0.02, 0.02, high));
        let def = probe(slab, 4e-3);
        let row = &rows(&mut world, &def, 4)[0];
        let stress = value(&def, row, "stress_zz");
        let expected = 7.0 * weight / area;
        assert!(
            (stress / expected - 1.0).abs() < 1e-3,
            "{stress}, {expected}"
        );
        assert!(value(&def, row, "stress_xx").abs() < 1e-6 * expected);
    }
}

/// Grains that rub and resist rolling, as those that come to rest.
fn rough() -> PairDef {
    PairDef {
        materials: [0, 0],
        law: PairLaw {
            friction: 0.5,
            rolling: 0.1,
            ..Default::default()
        },
    }
}

/// Contacts of frozen grains are solved by nobody: their stress was zero.
#[test]
fn the_bulk_of_a_frozen_bed_is_that_of_a_free_one() {
    let d = 0.01;
    let grains = (0..360).map(|i| {
        let place = DVec3::new((i % 6) as f64, (i / 6 % 6) as f64, (i / 36) as f64) * 1.1 * d;
        let shift = DVec3::new((i * 7 % 5) as f64, (i * 11 % 7) as f64, 0.0) * 0.02 * d;
        let radius = (0.5 - 0.01 * (i % 6) as f64) * d;
        grain(place + shift + DVec3::Z * 0.5 * d, DVec3::ZERO, radius)
    });
    let mut def = world(grains.collect());
    def.gravity = DVec3::NEG_Z * G;
    def.step = 2e-3;
    def.pairs = vec![rough()];
    let wall = |name: &str, point: DVec3, normal: DVec3| {
        let pose = Pose::new(point, glam::DQuat::from_rotation_arc(DVec3::Z, normal));
        WallDef::new(name, WallShape::HalfSpace, pose)
    };
    def.walls = vec![
        floor(),
        wall("left", DVec3::NEG_X * 0.5 * d, DVec3::X),
        wall("right", DVec3::X * 6.2 * d, DVec3::NEG_X),
        wall("front", DVec3::NEG_Y * 0.5 * d, DVec3::Y),
        wall("back", DVec3::Y * 6.2 * d, DVec3::NEG_Y),
    ];
    let mut settled = World::new(&def).unwrap();
    for _ in 0..800 {
        settled.step().unwrap();
    }
    let [full, reduced] = [None, Some(Reduction::default())].map(|reduction| {
        let def = WorldDef {
            reduction,
            ..def.clone()
        };
        let mut world = World::restore(&def, settled.state()).unwrap();
        for _ in 0..30 {
            world.step().unwrap();
        }
        assert!(reduction.is_none() || world.frozen_count() > 340);
        // It cuts grains and contacts, at walls too.
        let low = DVec3::new(-0.4, 0.5, -0.1) * d;
        let def = probe(bulk(low, DVec3::new(4.3, 6.5, 5.2) * d), 4e-3);
        let row = rows(&mut world, &def, 4).swap_remove(0);
        row.values
    });
    let pressure = full[full.len() - 1];
    assert!(pressure > 100.0, "{pressure} Pa");
    // Grains, mass and packing, then stresses.
    for k in [0, 1, 2] {
        assert!(
            (reduced[k] / full[k] - 1.0).abs() < 1e-3,
            "{reduced:?}, not {full:?}"
        );
    }
    for k in 7..14 {
        let error = (reduced[k] - full[k]).abs();
        assert!(error < 0.02 * pressure, "{reduced:?}, not {full:?}");
    }
}

#[test]
fn stress_does_not_depend_on_where_the_origin_is() {
    let stress = |origin: DVec3| {
        let mut world = column(origin);
        let low = origin + DVec3::new(-0.013, -0.02, 0.013);
        let def = probe(bulk(low, low + DVec3::new(0.03, 0.04, 0.121)), 4e-3);
        let row = &rows(&mut world, &def, 4)[0];
        value(&def, row, "stress_zz")
    };
    let (here, there) = (stress(DVec3::ZERO), stress(DVec3::new(40.0, -70.0, 100.0)));
    assert!((here / there - 1.0).abs() < 1e-6, "{here}, {there}");
}

#[test]
fn the_mean_force_of_a_wall_is_the_weight_on_it() {
    let mut world = column(DVec3::ZERO);
    let weight: f64 = world.grains().mass().iter().sum::<f64>() * G;
    let def = probe(Quantity::Wall { wall: 0 }, 0.05);
    let rows = rows(&mut world, &def, 100);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert!((value(&def, row, "force_z") / -weight - 1.0).abs() < 1e-3);
    }
}

fn mixing(class: Class) -> Quantity {
    Quantity::Mixing {
        class,
        region: None,
        cell: 0.04,
        direction: None,
    }
}

#[test]
fn layers_are_segregated_and_scattered_materials_are_mixed() {
    let offset = DVec3::splat(0.01);
    let indices = |class: &dyn Fn(usize) -> bool| {
        let (all, mut def) = (lattice(10, offset, |_| DVec3::ZERO), world(Vec::new()));
        let part = |wanted: bool| {
            let grains = all.iter().enumerate();
            let chosen = grains.filter(|(i, _)| class(*i) == wanted);
            chosen.map(|(_, grain)| *grain).collect::<Vec<_>>()
        };
        def.packings = vec![packing(0, part(false)), packing(1, part(true))];
        let mut world = World::new(&def).unwrap();
        let def = probe(mixing(Class::Material(1)), 1.0);
        let row = rows(&mut world, &def, 0).remove(0);
        ["lacey", "segregation"].map(|column| value(&def, &row, column))
    };
    // Cells are two grains wide: layers of two by two are pure.
    let [lacey, segregation] = indices(&|i| i / 100 >= 6);
    assert!(lacey.abs() < 1e-12 && (segregation - 1.0).abs() < 1e-12);
    let scatter = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
    let [lacey, segregation] = indices(&scatter);
    assert!((lacey - 1.0).abs() < 0.06, "{lacey}");
    assert!(segregation.abs() < 0.1, "{segregation}");
}

#[test]
fn one_large_grain_below_small_ones_has_segregation_minus_one() {
    let mut grains = lattice(4, DVec3::splat(0.1), |_| DVec3::ZERO);
    grains.push(grain(DVec3::ZERO, DVec3::ZERO, 0.04));
    let mut world = World::new(&world(grains)).unwrap();
    let def = probe(mixing(Class::LargerThan(0.03)), 1.0);
    let row = rows(&mut world, &def, 0).remove(0);
    assert!((value(&def, &row, "segregation") + 1.0).abs() < 1e-12);
}

#[test]
fn the_front_is_the_far_side_of_the_mass() {
    let places = [0.0, 0.1, 0.2, 0.5].map(|x| grain(DVec3::new(x, 0.3, 0.0), DVec3::ZERO, 0.01));
    let mut world = World::new(&world(places.to_vec())).unwrap();
    let mut front = |path, share, column| {
        let def = probe(Quantity::Front { path, share }, 1.0);
        let row = rows(&mut world, &def, 0).remove(0);
        value(&def, &row, column)
    };
    let along = Path::Along {
        origin: DVec3::X * -0.1,
        direction: DVec3::X,
    };
    assert!((front(along, 0.75, "front") - 0.31).abs() < 1e-12);
    assert!((front(along, 0.75, "farthest") - 0.61).abs() < 1e-12);
    let around = Path::Around {
        origin: DVec3::ZERO,
        axis: DVec3::Z,
    };
    assert!((front(around, 0.25, "front") - 0.31).abs() < 1e-12);
}

#[test]
fn the_profile_of_steps_shows_them() {
    // Columns of one, two and three spheres, three lengths of line.
    let spheres = (0..3).flat_map(|column| (0..=column).map(move |level| (column, level)));
    let positions = spheres.map(|(column, level)| {
        let x = DVec3::new(
            0.02 * f64::from(column),
            0.0,
            0.01 + 0.02 * f64::from(level),
        );
        grain(x, DVec3::ZERO, 0.01)
    });
    let mut world = World::new(&world(positions.collect())).unwrap();
    let def = probe(
        Quantity::Profile {
            base: DVec3::new(-0.01, 0.0, 0.0),
            direction: DVec3::X,
            length: 0.08,
            width: 0.001,
            cells: 4,
        },
        1.0,
    );
    let row = rows(&mut world, &def, 0).remove(0);
    assert_eq!(def.columns()[0].width, 4);
    for (height, expected) in row.values.iter().zip([0.02, 0.04, 0.06, 0.0]) {
        assert!((height - expected).abs() < 1e-12, "{:?}", row.values);
    }
}

/// A box of 0.2 m that is periodic along x.
fn periodic(grains: Vec<ListedGrain>) -> WorldDef {
    WorldDef {
        periodic: [Some([0.0, 0.2]), None, None],
        ..world(grains)
    }
}

/// Wherever the plane is, at a face of the box too: one crossing per round.
#[test]
fn a_ball_that_goes_round_a_periodic_box_crosses_a_plane_once_in_every_round() {
    for (x, speed) in [(0.105, 1.0), (0.0, 1.0), (0.2, 1.0), (0.001, -1.0)] {
        let ball = grain(DVec3::X * 0.05, DVec3::X * speed, 0.01);
        let mut world = World::new(&periodic(vec![ball])).unwrap();
        let opening = Opening {
            position: DVec3::X * x,
            normal: DVec3::X,
            shape: OpeningShape::Disc { radius: 0.03 },
        };
        let def = probe(Quantity::Flow(opening), 0.2);
        let rows = rows(&mut world, &def, 1000);
        let numbers: Vec<f64> = rows.iter().map(|r| value(&def, r, "number")).collect();
        assert_eq!(numbers, [1.0, 2.0, 3.0, 4.0, 5.0].map(|n| n * speed), "{x}");
    }
}

/// Two balls press on each other, in the middle of the region that cuts both.
#[test]
fn the_bulk_across_a_periodic_face_is_that_of_a_bulk_inside() {
    let measured = |def: fn(Vec<ListedGrain>) -> WorldDef, shift: f64| {
        let place = |x: f64| DVec3::X * (x + shift);
        let balls = [0.091, 0.109].map(|x| grain(place(x), DVec3::ZERO, 0.01));
        let mut world = World::new(&def(balls.to_vec())).unwrap();
        let region = Region::Box {
            half_extents: DVec3::new(0.01, 0.02, 0.02),
            pose: Pose::from_position(place(0.1)),
        };
        let def = probe(Quantity::Bulk { region, samples: 1 }, 1e-3);
        rows(&mut world, &def, 1).remove(0).values
    };
    let inside = measured(world, 0.0);
    assert!(inside[0] == 2.0 && inside[13] > 0.0, "{inside:?}");
    for shift in [0.0, 0.1, -0.1, 0.095] {
        let found = measured(periodic, shift);
        for (a, b) in inside.iter().zip(&found) {
            let near = (a - b).abs() < 1e-6 * a.abs().max(1e-3);
            assert!(near, "{shift}: {inside:?} {found:?}");
        }
    }
}

#[test]
fn a_profile_and_a_mixture_see_grains_across_a_periodic_face() {
    let ball = grain(DVec3::new(0.195, 0.0, 0.01), DVec3::ZERO, 0.01);
    let mut world = World::new(&periodic(vec![ball])).unwrap();
    let def = probe(
        Quantity::Profile {
            base: DVec3::X * -0.01,
            direction: DVec3::X,
            length: 0.02,
            width: 0.002,
            cells: 10,
        },
        1.0,
    );
    let heights = rows(&mut world, &def, 0).remove(0).values;
    assert!((heights[2] - 0.02).abs() < 1e-4, "{heights:?}");

    let at = |x: f64| grain(DVec3::X * x, DVec3::ZERO, 0.005);
    let mut def = periodic(vec![at(0.195), at(0.1)]);
    def.packings.push(packing(1, vec![at(0.008)]));
    let mut world = World::new(&def).unwrap();
    let def = probe(
        Quantity::Mixing {
            class: Class::Material(1),
            region: Some(Region::Box {
                half_extents: DVec3::splat(0.02),
                pose: Pose::IDENTITY,
            }),
            cell: 0.01,
            direction: Some(DVec3::X),
        },
        1.0,
    );
    let row = rows(&mut world, &def, 0).remove(0);
    assert_eq!(value(&def, &row, "segregation"), 1.0);
}

/// Frozen grains that are set free and roll on are counted as all others are, though nobody looks
/// at them while they are frozen.
#[test]
fn flow_counts_frozen_grains_that_are_set_free() {
    let (d, gate) = (0.01, 0.5);
    let column = (0..240).map(|i| {
        let place = DVec3::new((i % 6) as f64, (i / 6 % 4) as f64, (i / 24) as f64 + 0.5);
        let shift = DVec3::new(0.3, 0.2, 0.0) * f64::from(i / 24 % 2);
        grain((place + shift) * d, DVec3::ZERO, 0.5 * d)
    });
    let wall = |name: &str, point: DVec3, normal: DVec3| {
        let pose = Pose::new(point, glam::DQuat::from_rotation_arc(DVec3::Z, normal));
        WallDef::new(name, WallShape::HalfSpace, pose)
    };
    let mut def = world(column.collect());
    def.gravity = DVec3::NEG_Z * G;
    def.step = 2e-3;
    def.reduction = Some(Reduction::default());
    def.pairs = vec![rough()];
    def.walls = vec![
        floor(),
        wall("left", DVec3::NEG_X * 0.55 * d, DVec3::X),
        wall("front", DVec3::NEG_Y * 0.55 * d, DVec3::Y),
        wall("back", DVec3::Y * 3.75 * d, DVec3::NEG_Y),
        wall("gate", DVec3::X * 5.85 * d, DVec3::NEG_X),
    ];
    def.walls[4].presence.until = gate;
    let opening = Opening {
        position: DVec3::X * 4.0 * d,
        normal: DVec3::X,
        shape: OpeningShape::Plane,
    };
    let def_of_probe = probe(Quantity::Flow(opening), 0.1);
    let mut world = World::new(&def).unwrap();
    let beyond = |world: &World| {
        let all = world.all_grains();
        let is_beyond = |x: &&DVec3| x.x >= opening.position.x;
        all.position().iter().filter(is_beyond).count() as f64
    };
    let before = beyond(&world);
    let mut most = 0;
    let mut probes = Probes::new(std::slice::from_ref(&def_of_probe), &world);
    let mut rows = Vec::new();
    for _ in 0..600 {
        let report = world.step().unwrap();
        most = most.max(report.frozen);
        rows.extend(probes.after_step(&world, &report));
    }
    assert!(most > 120, "{most} frozen");
    let crossed = value(&def_of_probe, rows.last().unwrap(), "number");
    assert_eq!(crossed, beyond(&world) - before);
    assert!(crossed > 20.0, "{crossed}");
    // Those that stand still are not copied to be looked at.
    assert!(world.frozen_count() > 0);
    let looked_at = world.grains_in_motion();
    assert!(matches!(looked_at, std::borrow::Cow::Borrowed(_)));
}
