//! Open faces, motions, presence and sides of walls, laws of pairs, and what
//! `check` notes about them.

use std::io;
use std::path::Path;

use esker_geometry::{Face, OpenFaces, WallShape};
use esker_scene::estimate::estimate;
use esker_scene::{Files, Scene, SceneErrors, interpret, parse};
use esker_world::definition::{Cohesion, Motion, PairLaw, Presence};

const HEAD: &str = "duration = 1.0\nstep = 1e-3\n\
    material.steel = { density = 7800, young = 1e9 }\n\
    material.glass = { density = 2500, young = 1e9 }\n\
    material.rubber = { density = 1100, young = 1e7 }\n";

const GRAINS: &str =
    "grains = [{ place = \"column\", count = 1, diameter = 0.01, material = \"glass\" }]\n";

fn read(body: &str) -> Result<Scene, SceneErrors> {
    parse(&format!("{HEAD}{body}"), "scene.toml", Path::new("."))
}

fn scene(body: &str) -> Scene {
    read(&format!("{GRAINS}{body}")).unwrap_or_else(|errors| panic!("{errors}"))
}

fn errors(body: &str) -> String {
    let result = read(&format!("{GRAINS}{body}"));
    result.expect_err(body).to_string()
}

fn wall(keys: &str) -> String {
    format!("[[wall]]\nname = \"bin\"\nmaterial = \"steel\"\n{keys}\n")
}

fn open_faces(keys: &str) -> OpenFaces {
    match scene(&wall(keys)).world.walls[0].shape {
        WallShape::Box { open, .. }
        | WallShape::Cylinder { open, .. }
        | WallShape::Cone { open, .. } => open,
        _ => panic!("{keys}"),
    }
}

#[test]
fn faces_are_opened_by_name() {
    let cube = "shape = \"box\"\nsize = [1, 1, 1]\n";
    let tube = "shape = \"cylinder\"\nradius = 1\nlength = 2\n";
    assert_eq!(open_faces(cube), OpenFaces::NONE);
    let open = open_faces(&format!("{cube}open = [\"top\", \"left\"]"));
    assert_eq!(open, OpenFaces::NONE.with(Face::Top).with(Face::Left));
    assert_eq!(open_faces(tube), OpenFaces::ENDS);
    assert_eq!(open_faces(&format!("{tube}caps = true")), OpenFaces::NONE);
    let beaker = open_faces(&format!("{tube}open = [\"top\"]"));
    assert_eq!(beaker, OpenFaces::NONE.with(Face::Top));
    assert_eq!(open_faces(&format!("{tube}open = []")), OpenFaces::NONE);
}

#[test]
fn impossible_openings_are_refused() {
    let tube = "shape = \"cylinder\"\nradius = 1\nlength = 2\n";
    let both = errors(&wall(&format!("{tube}caps = true\nopen = [\"top\"]")));
    assert!(
        both.contains("`caps` and `open` exclude one another"),
        "{both}"
    );
    let slit = errors(&wall(&format!("{tube}open = [\"left\"]")));
    assert!(slit.contains("two ends that can be open"), "{slit}");
    let word = errors(&wall("shape = \"box\"\nsize = [1, 1, 1]\nopen = [\"lid\"]"));
    assert!(word.contains("\"top\""), "{word}");
    let solid = errors(&wall(
        "shape = \"box\"\nsize = [1, 1, 1]\nside = \"outside\"\nopen = [\"top\"]",
    ));
    assert!(solid.contains("open"), "{solid}");
}

#[test]
fn motions_can_be_listed_and_have_a_time() {
    let motion = |text: &str| {
        let scene = scene(&wall(&format!("shape = \"plane\"\nmotion = {text}")));
        scene.world.walls[0].motion.clone()
    };
    let lift = "{ type = \"translate\", velocity = [0, 0, 1], stop = 0.5 }";
    let shake = "{ type = \"oscillate\", direction = [1, 0, 0], amplitude = 0.1, frequency = 5, start = 0.5 }";
    assert!(matches!(motion(lift), Motion::Translate { stop: 0.5, .. }));
    assert!(matches!(motion(shake), Motion::During { start: 0.5, .. }));
    let Motion::Together(both) = motion(&format!("[{lift}, {shake}]")) else {
        panic!("two motions are one");
    };
    assert_eq!(both, [motion(lift), motion(shake)]);
    let table = "{ type = \"table\", times = [0, 1], angles = [0, 3], start = 0.2 }";
    assert!(matches!(motion(table), Motion::During { .. }));
    let wrong = errors(&wall(&format!(
        "shape = \"plane\"\nmotion = [{lift}, {{ type = \"spin\" }}]"
    )));
    assert!(wrong.contains("\"rotate\""), "{wrong}");
}

#[test]
fn walls_appear_and_vanish() {
    let scene = scene(&wall("shape = \"plane\"\nfrom = 0.2\nuntil = 0.4"));
    let presence = Presence {
        from: 0.2,
        until: 0.4,
    };
    assert_eq!(scene.world.walls[0].presence, presence);
    let wrong = errors(&wall("shape = \"plane\"\nfrom = 0.4\nuntil = 0.2"));
    assert!(wrong.contains("before it appears"), "{wrong}");
}

fn pair(materials: &str, friction: f64) -> String {
    format!("[[pair]]\nmaterials = {materials}\nfriction = {friction}\n")
}

fn friction(scene: &Scene, a: &str, b: &str) -> f64 {
    let index = |name: &str| {
        let named = |m: &esker_world::definition::Material| m.name == name;
        scene.world.materials.iter().position(named).unwrap()
    };
    let mut key = [index(a), index(b)];
    key.sort_unstable();
    let law = scene.world.pairs.iter().find(|pair| {
        let mut own = pair.materials;
        own.sort_unstable();
        own == key
    });
    law.map_or(PairLaw::default().friction, |pair| pair.law.friction)
}

#[test]
fn the_most_specific_law_of_a_pair_holds_in_any_order() {
    let mut laws = [
        pair("[\"*\", \"*\"]", 0.1),
        pair("[\"*\", \"steel\"]", 0.2),
        pair("[\"steel\", \"glass\"]", 0.3),
    ];
    for _ in 0..laws.len() {
        laws.rotate_left(1);
        let scene = scene(&laws.concat());
        assert_eq!(friction(&scene, "glass", "steel"), 0.3);
        assert_eq!(friction(&scene, "steel", "steel"), 0.2);
        assert_eq!(friction(&scene, "rubber", "steel"), 0.2);
        assert_eq!(friction(&scene, "rubber", "glass"), 0.1);
    }
}

#[test]
fn two_wildcards_that_contradict_each_other_are_refused() {
    let laws = [
        pair("[\"steel\", \"*\"]", 0.2),
        pair("[\"*\", \"glass\"]", 0.3),
    ]
    .concat();
    let wrong = errors(&laws);
    assert!(
        wrong.contains("add a [[pair]] with materials = "),
        "{wrong}"
    );
    let decided = [laws, pair("[\"steel\", \"glass\"]", 0.4)].concat();
    assert_eq!(friction(&scene(&decided), "steel", "glass"), 0.4);
    let twice = [
        pair("[\"*\", \"glass\"]", 0.2),
        pair("[\"glass\", \"*\"]", 0.3),
    ]
    .concat();
    assert!(errors(&twice).contains("has a law already"));
}

fn notes(body: &str) -> String {
    let estimate = estimate(&scene(body), None);
    [estimate.warnings, estimate.notes].concat().join("\n")
}

#[test]
fn a_pair_that_can_touch_and_has_no_law_is_noted() {
    let floor = wall("shape = \"plane\"\nposition = [0, 0, -1]");
    let said = notes(&[floor.clone(), pair("[\"glass\", \"glass\"]", 0.2)].concat());
    assert!(said.contains("\"steel\" and \"glass\" can touch"), "{said}");
    assert!(!said.contains("rubber"), "{said}");
    let named = notes(&[floor, pair("[\"glass\", \"*\"]", 0.2)].concat());
    assert!(!named.contains("can touch"), "{named}");
}

/// A bin under an emitter had a lid that nobody had asked for.
#[test]
fn grains_that_start_outside_of_a_closed_wall_are_noted() {
    let bin = |open: &str| {
        let emitter = "[[emitter]]\nname = \"feed\"\nmaterial = \"glass\"\ndiameter = 0.01\nrate = { number = 9 }\n\
                       region = { box = [[-0.1, -0.1, 0.5], [0.1, 0.1, 0.6]] }\n";
        let keys = format!("shape = \"box\"\nsize = [0.4, 0.4, 0.4]\n{open}");
        notes(&[wall(&keys).as_str(), emitter].concat())
    };
    let said = bin("");
    assert!(
        said.contains("emitter \"feed\"") && said.contains("\"bin\""),
        "{said}"
    );
    assert!(!said.contains("grains.0"), "{said}");
    assert!(!bin("open = [\"top\"]").contains("outside"));
}

/// 729 of 100,000,000 grains were placed, and nothing was said.
#[test]
fn a_lattice_that_has_no_room_for_all_its_grains_is_refused() {
    let grains = |count: usize| {
        read(&format!(
            "[[grains]]\nplace = \"lattice\"\nmaterial = \"glass\"\ndiameter = 0.1\nspacing = 0.11\n\
             region = {{ box = [[0, 0, 0], [1, 1, 1]] }}\ncount = {count}\n"
        ))
    };
    assert!(grains(729).is_ok());
    let wrong = grains(730).unwrap_err().to_string();
    assert!(wrong.contains("only 729 of 730 grains fit"), "{wrong}");
    assert!(grains(100_000_000).is_err());
}

/// Files of a scene: one triangle, far from its origin.
struct Paddle;

impl Files for Paddle {
    fn read(&self, _: &str) -> io::Result<Vec<u8>> {
        Ok(b"v 10 0 0\nv 10.5 0 0\nv 10 0 1\nf 1 2 3\n".to_vec())
    }
}

/// The speed was that of a paddle about its mesh's origin, ten metres away.
#[test]
fn the_speed_of_a_rotating_mesh_is_that_about_its_axis() {
    let body = wall(
        "shape = \"mesh\"\nfile = \"paddle.obj\"\n\
         motion = { type = \"rotate\", axis = [0, 0, 1], centre = [10, 0, 0], rate = 2.0 }",
    );
    let text = format!("{HEAD}gravity = [0, 0, 0]\n{GRAINS}{body}");
    let scene = interpret(&text, "scene.toml", &Paddle).unwrap_or_else(|errors| panic!("{errors}"));
    let speed = esker_world::check::max_prescribed_speed(&scene.world);
    assert!((speed - 1.0).abs() < 1e-9, "{speed} m/s");
}

#[test]
fn a_packing_fills_its_fraction_and_no_more_than_is_possible() {
    let packing = |fraction: &str| {
        read(&format!(
            "[[grains]]\nplace = \"packing\"\nmaterial = \"glass\"\ndiameter = 0.1\n{fraction}\n\
             region = {{ box = [[0, 0, 0], [1, 1, 1]] }}\n"
        ))
    };
    let count = |scene: Scene| estimate(&scene, None).grains_at_start;
    assert_eq!(count(packing("").unwrap()), 1050);
    assert_eq!(count(packing("fraction = 0.3").unwrap()), 573);
    let wrong = packing("fraction = 0.7").unwrap_err().to_string();
    assert!(wrong.contains("random close packing"), "{wrong}");
}

#[test]
fn periodic_boundaries_are_read_and_judged() {
    let plane = wall("shape = \"plane\"\nposition = [0, 0, -1]");
    let periodic = |text: &str| read(&format!("periodic = {text}\n{GRAINS}{plane}"));
    let world = periodic("{ x = [0.0, 0.5], y = [-0.2, 0.2] }")
        .unwrap()
        .world;
    assert_eq!(world.periodic, [Some([0.0, 0.5]), Some([-0.2, 0.2]), None]);
    let narrow = periodic("{ x = [0.0, 0.03] }").unwrap_err().to_string();
    assert!(narrow.contains("at least 4 diameters"), "{narrow}");
    let crossed = periodic("{ z = [0.0, 1.0] }").unwrap_err().to_string();
    assert!(crossed.contains("does not continue itself"), "{crossed}");
    let turned = periodic("{ x = [0.5, 0.0] }").unwrap_err().to_string();
    assert!(turned.contains("greater number first"), "{turned}");
}

#[test]
fn cohesion_is_read_in_three_forms_and_mixed_forms_are_refused() {
    let pair = |cohesion: &str| {
        format!("[[pair]]\nmaterials = [\"glass\", \"glass\"]\ncohesion = {{ {cohesion} }}\n")
    };
    let law = |cohesion: &str| scene(&pair(cohesion)).world.pairs[0].law.cohesion;
    assert_eq!(law("force = 1e-4"), Cohesion::Force(1e-4));
    assert_eq!(law("energy = 0.05"), Cohesion::Energy(0.05));
    let bridge = |surface_tension, contact_angle: f64| Cohesion::Liquid {
        volume: 1e-12,
        surface_tension,
        contact_angle: contact_angle.to_radians(),
    };
    assert_eq!(law("liquid = 1e-12"), bridge(0.072, 0.0));
    let oil = "liquid = 1e-12, surface_tension = 0.03, contact_angle = 20";
    assert_eq!(law(oil), bridge(0.03, 20.0));
    for (cohesion, words) in [
        ("", "needs one of `force`, `energy`, `liquid`"),
        ("force = 1e-4, energy = 0.05", "exclude one another"),
        ("force = -1", "at least 0"),
        ("liquid = 1e-12, contact_angle = 100", "at most 90"),
        ("energy = 0.05, contact_angle = 20", "only with `liquid`"),
        ("force = 1e-4, surface_tension = 0.03", "only with `liquid`"),
    ] {
        let found = errors(&pair(cohesion));
        assert!(found.contains(words), "{cohesion}: {found}");
    }
}
