//! The scene format: every section and every key.
//!
//! The reader, the reference page ([`crate::reference()`]) and the schema
//! ([`crate::schema()`]) all work from these tables, so that none of
//! them can say something else than the others.

use crate::keys::{
    ANY, AT_LEAST_ONE, Group, Key, Kind, NOT_NEGATIVE, Need, POISSON, POSITIVE, PROPER_SHARE, RIGHT_ANGLE, SHARE, Section, UNIT, When,
};
use Need::{Default, Optional, Required};

/// Most grains that a scene may ever hold; beyond this a number is a slip of
/// the keyboard (the memory would be hundreds of gigabytes).
pub const MOST_GRAINS: u64 = esker_world::MOST_GRAINS as u64;

/// Most steps of a run.
pub const MOST_STEPS: f64 = 1e9;

/// Most sweeps or substeps in one step.
const MOST_SWEEPS: u64 = 1_000_000;

const fn key(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    need: Need,
    doc: &'static str,
) -> Key {
    Key {
        name,
        kind,
        unit,
        need,
        doc,
        when: &[],
    }
}

impl Key {
    const fn when(self, when: &'static [When]) -> Key {
        Key { when, ..self }
    }
}

const fn is(key: &'static str, is: &'static [&'static str]) -> When {
    When { key, is }
}

const ONE_MATERIAL: Need = Optional("the scene's material if it has just one");

/// The whole file.
pub const SCENE: Section = Section {
    title: "top level",
    doc: "Keys at the head of the file, before the first section.",
    keys: &[
        key("name", Kind::Text, "", Optional("the file's name"), "Name of the scene in reports."),
        key("duration", Kind::Number(POSITIVE), "s", Required, "Simulated time."),
        key("step", Kind::Number(POSITIVE), "s", Optional("chosen from the smallest grain and the largest speed to be expected: a tenth of a diameter per step, at most 5 ms; `esker check` shows it"), "Time step."),
        key("tolerance", Kind::Text, "", Optional("sweeps stay as `solver` says"), "Accuracy to keep, such as `\"1%\"` of a diameter: step and sweeps are chosen from the cost formulas and corrected by what is measured while running; forces of moving walls and machines keep the same share, and joints gape by no more. An explicit `step` stays."),
        key("gravity", Kind::Vector, "m/s²", Default("[0, 0, -9.81]"), "Gravitational acceleration."),
        key("seed", Kind::Integer(0, i64::MAX as u64), "", Default("1"), "Seed of all random numbers; the same seed gives the same run."),
        key("rotation", Kind::Bool, "", Default("true"), "Whether grains rotate; `false` locks all rotation."),
        key("device", Kind::Choice(&["cpu", "gpu", "auto"]), "", Optional("the processor, which sweeps contacts in an order of its own"), "What computes the steps: the processor, a graphics processor of NVIDIA (the program must be built with `--features gpu`), or the latter where there is one that can. The three give the same results to the bit; those of a scene without this key have other last digits. `esker run --device` overrules it."),
        key("precision", Kind::Choice(&["double", "mixed"]), "", Default("\"double\""), "Numbers that a graphics processor computes whole steps with: double precision, with the bits of the processor, or velocities and contacts in single precision, which is faster and has bits of its own. The processor computes in double precision, and so does a graphics processor that computes substeps alone; `esker run --precision` overrules it."),
        key("solver", Kind::Table(&SOLVER), "", Default("{}"), "How a step is solved."),
        key("contact", Kind::Table(&CONTACT), "", Default("{}"), "Settings of the contact model."),
        key("material", Kind::Named(&MATERIAL), "", Required, "Materials, by name."),
        key("pair", Kind::List(&PAIR), "", Default("[]"), "Laws between materials."),
        key("wall", Kind::List(&WALL), "", Default("[]"), "Walls and moving machine parts."),
        key("grains", Kind::List(&GRAINS), "", Default("[]"), "Grains present at the start."),
        key("body", Kind::List(&BODY), "", Default("[]"), "Single rigid bodies that move freely."),
        key("joint", Kind::List(&JOINT), "", Default("[]"), "Joints and gears between bodies."),
        key("drive", Kind::List(&DRIVE), "", Default("[]"), "Motors and other drives of joints."),
        key("emitter", Kind::List(&EMITTER), "", Default("[]"), "Sources of grains."),
        key("sink", Kind::List(&SINK), "", Default("[]"), "Regions that remove grains and count them."),
        key("reduction", Kind::Switch(&REDUCTION), "", Optional("all grains are simulated all the time"), "Whether grains at rest are frozen to the walls that they rest on, until something wakes them."),
        key("sensor", Kind::List(&SENSOR), "", Default("[]"), "Regions whose grains are never frozen."),
        key("periodic", Kind::Table(&PERIODIC), "", Optional("no axis is"), "Axes along which the scene continues itself, such as `{ x = [0.0, 0.5] }`."),
        key("bounds", Kind::Table(&BOUNDS), "", Optional("grains are never lost"), "Box outside of which grains are removed and counted as lost."),
        key("probe", Kind::List(&PROBE), "", Default("[]"), "What is measured while running."),
        key("record", Kind::Table(&RECORD), "", Default("{}"), "What is recorded."),
        key("checkpoint", Kind::Table(&CHECKPOINT), "", Default("{}"), "When the state is saved for a restart."),
    ],
    groups: &[],
};

const SUBSTEPPED: &[When] = &[is("method", &["substepped"])];
/// Ways to advance: in substeps, and then those of [`WHOLE_STEP_METHODS`].
const METHODS: &[&str] = &[
    "substepped", "smooth",
    "gauss-seidel", "auto", "newton", "anderson", "quasi-newton", "interior-point", "accelerated-gradient", "jacobi",
];
/// Methods that solve a whole step: the sweep, and the solvers of the registry.
const WHOLE_STEP_METHODS: &[&str] = METHODS.split_at(2).1;
const WHOLE_STEP: &[When] = &[is("method", WHOLE_STEP_METHODS)];

/// `[solver]`.
pub const SOLVER: Section = Section {
    title: "[solver]",
    doc: "`substepped` finds contacts once per step and then takes substeps of one sweep each; `gauss-seidel` solves the whole step at once, after an impact stage, and so do the general solvers (`auto` to `jacobi`), which work until the tolerance is met; `smooth` follows springs and dashpots explicitly.",
    keys: &[
        key("method", Kind::Choice(METHODS), "", Default("\"substepped\""), "How a step is solved."),
        key("substeps", Kind::Integer(1, MOST_SWEEPS), "", Default("25"), "Substeps per step; more make deep beds stiffer. `smooth` takes a multiple of them where collisions ask for shorter ones.").when(&[is("method", &["substepped", "smooth"])]),
        key("stiffness_cap", Kind::Number(NOT_NEGATIVE), "", Default("1.0"), "1 keeps any stack stable; smaller is stiffer and less safe.").when(SUBSTEPPED),
        key("sweeps", Kind::Integer(1, MOST_SWEEPS), "", Default("100"), "Most sweeps per step; iterations for the general solvers.").when(WHOLE_STEP),
        key("warm_start", Kind::Choice(&["cold", "history", "model"]), "", Default("\"history\""), "Start from zero, from the last step's impulses, or from the static contact law.").when(WHOLE_STEP),
        key("warm_factor", Kind::Number(UNIT), "", Optional("0.85, and 1 with a `tolerance` at the head of the scene"), "Factor on the last step's impulses.").when(&[is("method", WHOLE_STEP_METHODS), is("warm_start", &["history"])]),
        key("impact_sweeps", Kind::Integer(0, MOST_SWEEPS), "", Default("20"), "Sweeps of the impact stage, in steps that have an impact.").when(WHOLE_STEP),
        key("tolerance", Kind::Number(POSITIVE), "", Optional("no step is judged, and all sweeps are made"), "Residual below which a step counts as converged (and sweeps stop); usual: 1e-3 to 1e-6."),
    ],
    groups: &[],
};

/// `[contact]`.
pub const CONTACT: Section = Section {
    title: "[contact]",
    doc: "Settings of the contact model that are not properties of a material.",
    keys: &[
        key("damping_steps", Kind::Number(POSITIVE), "steps", Default("2.0"), "Contacts whose oscillation a substep does not resolve are damped over this many steps; others as their restitution says."),
        key("margin", Kind::Number(NOT_NEGATIVE), "diameters", Default("0.05"), "Contacts are predicted up to this gap, in diameters of the smaller grain; tall stiff columns need 0.5."),
        key("impact_speed", Kind::Number(NOT_NEGATIVE), "m/s", Optional("2 g × step"), "Approach speed above which a contact is an impact with restitution."),
        key("friction_compliance", Kind::Number(NOT_NEGATIVE), "", Default("1e-7"), "Creep of sticking contacts, relative to the velocity that their friction would give to the free bodies within a substep."),
        key("rolling_compliance", Kind::Number(NOT_NEGATIVE), "", Default("1e-7"), "Creep of contacts that resist rolling, relative to the angular velocity that their torque would give to the free bodies within a substep."),
    ],
    groups: &[],
};

/// `[material.NAME]`.
pub const MATERIAL: Section = Section {
    title: "[material.NAME]",
    doc: "One section per material of grains or walls.",
    keys: &[
        key("density", Kind::Number(POSITIVE), "kg/m³", Optional("needed only if grains, or bodies without a mass, are made of it"), "Mass density."),
        key("young", Kind::Number(POSITIVE), "Pa", Required, "Young's modulus."),
        key("poisson", Kind::Number(POISSON), "", Default("0.3"), "Poisson's ratio."),
        key("color", Kind::Text, "", Optional("one of eight, by the order of materials"), "Colour in pictures, as `\"#rrggbb\"` or a name (red, green, blue, yellow, orange, pink, brown, white, grey, black)."),
    ],
    groups: &[],
};

/// `[[pair]]`.
pub const PAIR: Section = Section {
    title: "[[pair]]",
    doc: "The law between two materials. `\"*\"` stands for any material: the law of a pair is the one that names both, else the one that names one of them, else `[\"*\", \"*\"]`, wherever they stand in the file; a pair that none of them covers gets the defaults of this section, and `esker check` says so.",
    keys: &[
        key("materials", Kind::Names, "", Required, "The two materials, in any order; twice the same for grains among themselves; `\"*\"` for any."),
        key("friction", Kind::Number(NOT_NEGATIVE), "", Default("0.5"), "Coefficient of friction."),
        key("rolling", Kind::Number(NOT_NEGATIVE), "", Default("0.0"), "Coefficient of rolling resistance: tangent of the slope at which a grain starts to roll."),
        key("twisting", Kind::Number(NOT_NEGATIVE), "", Default("0.0"), "Coefficient of resistance to spinning about the normal; with 0 nothing ends such a rotation."),
        key("rolling_of_shapes", Kind::Bool, "", Default("false"), "Whether `rolling` and `twisting` act on grains and bodies that are no spheres too, whose shape already does much of what they stand for. They then act on the effective radius of spheres of equal volume, or on the radius of curvature where that is smaller."),
        key("restitution", Kind::Number(UNIT), "", Default("0.0"), "Coefficient of restitution."),
        key("damping", Kind::Number(NOT_NEGATIVE), "s", Default("0.0"), "Viscous damping time of the normal force."),
        key("law", Kind::Choice(&["hertz", "linear"]), "", Default("\"hertz\""), "Normal force law."),
        key("stiffness", Kind::Number(POSITIVE), "N/m", Required, "Stiffness of the linear law.").when(&[is("law", &["linear"])]),
        key("cohesion", Kind::Table(&COHESION), "", Optional("none"), "How the materials attract each other."),
    ],
    groups: &[],
};

/// `cohesion` of a pair.
pub const COHESION: Section = Section {
    title: "cohesion",
    doc: "An attraction on top of the normal force law, along the normal and constant over a step; exactly one of `force`, `energy`, `liquid`. With the effective radius `r*` of the pair (at a wall the grain's radius): `energy = w` attracts with `2π w r*` (Derjaguin, Muller, Toporov), `liquid = V` with `4π γ r* cos θ (1 − 1/√(1 + V/(π r* g²)))` at every gap `g` below `(1 + θ/2) V^(1/3)`. Recorded normal forces are the repulsion, which balances load and attraction, and which friction is limited by; loads on walls are the sum of both.",
    keys: &[
        key("force", Kind::Number(NOT_NEGATIVE), "N", Optional("one of the three"), "A constant force while the bodies touch."),
        key("energy", Kind::Number(NOT_NEGATIVE), "J/m²", Optional("one of the three"), "Work of adhesion `w`; acts while the bodies touch."),
        key("liquid", Kind::Number(NOT_NEGATIVE), "m³", Optional("one of the three"), "Volume `V` of the liquid bridge of every contact."),
        key("surface_tension", Kind::Number(NOT_NEGATIVE), "N/m", Optional("0.072 (water); only with `liquid`"), "Surface tension `γ` of the liquid."),
        key("contact_angle", Kind::Number(RIGHT_ANGLE), "°", Optional("0; only with `liquid`"), "Contact angle `θ` of the liquid on the bodies."),
    ],
    groups: &[Group { keys: &["force", "energy", "liquid"], required: true, when: &[] }],
};

const BOX: &[&str] = &["box"];
const ROUND: &[&str] = &["cylinder", "cone"];
const TURNED: &[&str] = &["cylinder", "cone", "drum"];
const CLOSED: &[&str] = &["box", "cylinder", "cone"];

/// Faces that can be open, in the order of `esker_geometry::Face::ALL`.
pub const FACES: &[&str] = &["left", "right", "front", "back", "bottom", "top"];

/// `[[wall]]`.
pub const WALL: Section = Section {
    title: "[[wall]]",
    doc: "A shape that grains touch and cannot move.",
    keys: &[
        key("name", Kind::Text, "", Optional("`wall.N`, counted from 0"), "Name in reports; must be unique."),
        key("shape", Kind::Choice(&["plane", "box", "cylinder", "cone", "drum", "mesh"]), "", Required, "Its shape. A `drum` is an open cylinder of triangles with bumps on its inside and gaps at its top end."),
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "A point of the plane; centre of a box, cylinder, cone or drum; where a mesh's origin goes."),
        key("normal", Kind::Direction, "", Default("[0, 0, 1]"), "Direction from the wall to the grains.").when(&[is("shape", &["plane"])]),
        key("axis", Kind::Direction, "", Default("[0, 0, 1]"), "Direction of its axis, from bottom to top.").when(&[is("shape", TURNED)]),
        key("rotation", Kind::Table(&ROTATION), "", Optional("not turned"), "Turns the shape about its position.").when(&[is("shape", &["box", "mesh"])]),
        key("size", Kind::Vector, "m", Required, "Edge lengths, before the rotation.").when(&[is("shape", BOX)]),
        key("radius", Kind::Number(POSITIVE), "m", Required, "Radius.").when(&[is("shape", &["cylinder", "drum"])]),
        key("radius_bottom", Kind::Number(NOT_NEGATIVE), "m", Required, "Radius at the bottom end.").when(&[is("shape", &["cone"])]),
        key("radius_top", Kind::Number(NOT_NEGATIVE), "m", Required, "Radius at the top end.").when(&[is("shape", &["cone"])]),
        key("length", Kind::Number(POSITIVE), "m", Required, "Length along the axis.").when(&[is("shape", TURNED)]),
        key("bumps", Kind::Table(&BUMPS), "", Optional("a smooth shell"), "Bumps on its inside, as fine material makes them.").when(&[is("shape", &["drum"])]),
        key("outlet", Kind::Table(&OUTLET), "", Optional("grains leave at the end alone"), "A part of its length, at the top end, with gaps.").when(&[is("shape", &["drum"])]),
        key("side", Kind::Choice(&["inside", "outside"]), "", Default("\"inside\""), "A container around the grains, or a solid that they surround. A container is a thin shell: it holds grains from outside too.").when(&[is("shape", CLOSED)]),
        key("caps", Kind::Bool, "", Optional("false, unless `open` is given"), "Whether both ends are closed (a solid always is); see `open`.").when(&[is("shape", ROUND), is("side", &["inside"])]),
        key("open", Kind::Choices(FACES), "", Optional("box: none; cylinder and cone: as `caps` says"), "Faces that are missing, such as `[\"top\"]` for a bin. Before the rotation `left` and `right` are at the lowest and highest x, `front` and `back` of y, `bottom` and `top` of z; a cylinder or cone has two ends, `bottom` and `top` along its axis.").when(&[is("shape", CLOSED), is("side", &["inside"])]),
        key("file", Kind::Text, "", Required, "Mesh file (.stl or .obj), relative to the scene file.").when(&[is("shape", &["mesh"])]),
        key("scale", Kind::Number(POSITIVE), "", Default("1.0"), "Factor on the mesh's coordinates; 0.001 for a file in millimetres.").when(&[is("shape", &["mesh"])]),
        key("material", Kind::Text, "", ONE_MATERIAL, "Its material."),
        key("motion", Kind::OneOrMore(&MOTION), "", Optional("stands still"), "How it moves: one motion, or a list of several together or one after another (by their `start` and `stop`). Displacements add up and carry the axes of rotations along; each rotation carries along those listed before it."),
        key("from", Kind::Number(NOT_NEGATIVE), "s", Default("0.0"), "When it appears; grains in its place are pushed out."),
        key("until", Kind::Number(POSITIVE), "s", Optional("it stays"), "When it vanishes."),
        key("surface_velocity", Kind::Vector, "m/s", Default("[0, 0, 0]"), "Velocity of the surface while the wall stays in place (a conveyor belt), in the scene's axes at time zero; only the part along the surface acts."),
    ],
    groups: &[],
};

/// `bumps` of a drum.
pub const BUMPS: Section = Section {
    title: "bumps",
    doc: "Gaussian bumps of a drum's shell, at random places that are the same for the same drum. The mesh has corners every 0.29 widths.",
    keys: &[
        key("width", Kind::Number(POSITIVE), "m", Required, "Width: twice the standard deviation."),
        key("height", Kind::Interval(NOT_NEGATIVE), "m", Required, "Smallest and largest height."),
        key("density", Kind::Number(POSITIVE), "1/m²", Required, "Bumps per area."),
    ],
    groups: &[],
};

/// `outlet` of a drum.
pub const OUTLET: Section = Section {
    title: "outlet",
    doc: "Gaps in a drum's shell that wind around it, and widen evenly, up to its top end.",
    keys: &[
        key("length", Kind::Number(POSITIVE), "m", Required, "Length along the axis; a part of that of the drum."),
        key("gaps", Kind::Integer(1, 100), "", Required, "How many gaps there are."),
        key("width", Kind::Interval(POSITIVE), "m", Required, "Width along the axis where gaps begin and at the end."),
        key("turns", Kind::Number(ANY), "", Required, "How often a gap winds around the axis, right-handed if positive; not zero."),
    ],
    groups: &[],
};

/// `rotation` of a wall.
pub const ROTATION: Section = Section {
    title: "rotation",
    doc: "A turn about an axis through the position.",
    keys: &[
        key("axis", Kind::Direction, "", Default("[0, 0, 1]"), "Axis of the turn."),
        key("degrees", Kind::Number(ANY), "°", Optional("see `radians`"), "Angle, right-handed."),
        key("radians", Kind::Number(ANY), "rad", Optional("see `degrees`"), "Angle, right-handed."),
    ],
    groups: &[Group { keys: &["degrees", "radians"], required: true, when: &[] }],
};

const TURNING: &[When] = &[is("type", &["rotate", "table"])];
const ROTATING: &[When] = &[is("type", &["rotate"])];
const OSCILLATING: &[When] = &[is("type", &["oscillate"])];
const TABLE: &[When] = &[is("type", &["table"])];

/// `motion` of a wall.
pub const MOTION: Section = Section {
    title: "motion",
    doc: "How a wall moves.",
    keys: &[
        key("type", Kind::Choice(&["translate", "rotate", "oscillate", "table"]), "", Required, "The kind of motion."),
        key("velocity", Kind::Vector, "m/s", Required, "Velocity.").when(&[is("type", &["translate"])]),
        key("axis", Kind::Direction, "", Default("[0, 0, 1]"), "Axis of the turn.").when(TURNING),
        key("centre", Kind::Vector, "m", Optional("the wall's position"), "A point of the axis.").when(TURNING),
        key("rate", Kind::Number(ANY), "rad/s", Optional("see `rpm`"), "Angular velocity, right-handed about the axis.").when(ROTATING),
        key("rpm", Kind::Number(ANY), "1/min", Optional("see `rate`"), "Turns per minute, right-handed about the axis.").when(ROTATING),
        key("start", Kind::Number(NOT_NEGATIVE), "s", Default("0.0"), "When it starts; an oscillation's phase and a table's times count from here."),
        key("stop", Kind::Number(NOT_NEGATIVE), "s", Optional("never"), "When it stops; the wall stays where it is then."),
        key("direction", Kind::Direction, "", Required, "Direction of the oscillation.").when(OSCILLATING),
        key("amplitude", Kind::Number(NOT_NEGATIVE), "m", Required, "Half of the way from end to end.").when(OSCILLATING),
        key("frequency", Kind::Number(POSITIVE), "Hz", Required, "Oscillations per second.").when(OSCILLATING),
        key("phase", Kind::Number(ANY), "rad", Default("0.0"), "Phase; the displacement is zero at the start whatever the phase.").when(OSCILLATING),
        key("times", Kind::Numbers, "s", Optional("see `file`"), "Times of the rows, increasing; between them the motion is linear, outside of them the wall stands.").when(TABLE),
        key("displacements", Kind::Vectors, "m", Optional("no displacement"), "One displacement per time.").when(TABLE),
        key("angles", Kind::Numbers, "rad", Optional("no turn"), "One angle about the axis per time.").when(TABLE),
        key("file", Kind::Text, "", Optional("see `times`"), "CSV file with a header row: `t`, then `x,y,z` and/or `angle`; relative to the scene file.").when(TABLE),
    ],
    groups: &[
        Group { keys: &["rate", "rpm"], required: true, when: ROTATING },
        Group { keys: &["times", "file"], required: true, when: TABLE },
    ],
};

const FILLED: &[When] = &[is("place", &["lattice", "random", "packing"])];
const SIZED: &[When] = &[is("place", &["lattice", "random", "packing", "column"])];
const COUNTED: &[When] = &[is("place", &["lattice", "random", "column"])];
const PACKING: &[When] = &[is("place", &["packing"])];
const LATTICE: &[When] = &[is("place", &["lattice"])];
const COLUMN: &[When] = &[is("place", &["column"])];
const RUN: &[When] = &[is("place", &["run"])];

/// `[[grains]]`.
pub const GRAINS: Section = Section {
    title: "[[grains]]",
    doc: "Grains present at the start. They may not overlap one another or a wall by more than 20 % of the smaller radius.",
    keys: &[
        key("place", Kind::Choice(&["lattice", "random", "packing", "column", "csv", "run"]), "", Required, "How they are placed: on a cubic lattice that fills a region, at random without overlap, as a random packing of a stated fraction, one above another, as listed in a file, or as an earlier run left them."),
        key("material", Kind::Text, "", Optional("the materials that a run or a CSV file names; else the scene's if it has just one"), "Their material."),
        key("region", Kind::Table(&REGION), "", Required, "Region that holds the whole grains, not just their centres.").when(FILLED),
        key("diameter", Kind::Number(POSITIVE), "m", Optional("see `sizes`"), "Diameter of all of them (for `csv`: where the file has no column of sizes)."),
        key("sizes", Kind::Table(&SIZES), "", Optional("see `diameter`"), "Distribution of diameters.").when(SIZED),
        key("shape", Kind::Table(&SHAPE), "", Optional("spheres, see `diameter`"), "Shape and size of grains that are no spheres, such as `{ ellipsoid = [0.01, 0.005, 0.005] }`. They are placed by the balls that hold them.").when(SIZED),
        key("scale", Kind::Number(POSITIVE), "", Optional("1, or see `scales`"), "Factor on all lengths of `shape`.").when(SIZED),
        key("scales", Kind::Table(&SCALES), "", Optional("see `scale`"), "Distribution of factors on all lengths of `shape`.").when(SIZED),
        key("rotation", Kind::Table(&ROTATION), "", Optional("at random"), "Turns every grain of another shape from the axes in which `shape` gives it.").when(SIZED),
        key("count", Kind::Integer(1, MOST_GRAINS), "", Optional("the whole region (lattice only; else required)"), "How many; a lattice fills from the bottom, and must have room for all.").when(COUNTED),
        key("fraction", Kind::Number(UNIT), "", Default("0.55"), "Share of the region that a packing fills: loose packings have about 0.55, the densest random ones of equal grains 0.64, less between near walls.").when(PACKING),
        key("spacing", Kind::Number(POSITIVE), "m", Optional("1.02 largest diameters"), "Distance of lattice neighbours.").when(LATTICE),
        key("jitter", Kind::Number(UNIT), "", Default("1.0"), "Random displacement, as a share of the free space between neighbours; a lattice without it may stand for ever.").when(LATTICE),
        key("base", Kind::Vector, "m", Default("[0, 0, 0]"), "Lowest point of the first grain.").when(COLUMN),
        key("direction", Kind::Direction, "", Default("[0, 0, 1]"), "Direction in which the column grows.").when(COLUMN),
        key("gap", Kind::Number(ANY), "m", Default("0.0"), "Gap between neighbours; negative: overlap.").when(COLUMN),
        key("file", Kind::Text, "", Required, "For `csv`: a file with a header row: `x,y,z`, optionally `diameter` or `radius`, `vx,vy,vz`, `wx,wy,wz` and `material` (a name); `esker export --csv` writes such a file. For `run`: the folder of a run, a recording (.h5) or a checkpoint (.esker). Relative to the scene file.").when(&[is("place", &["csv", "run"])]),
        key("at", Kind::Number(NOT_NEGATIVE), "s", Optional("the end of the run"), "Time of the run whose nearest recorded frame is taken.").when(RUN),
        key("within", Kind::Table(&REGION), "", Optional("all grains"), "Region of the centres of the grains that are taken.").when(RUN),
        key("velocities", Kind::Choice(&["keep", "zero"]), "", Default("\"keep\""), "Whether grains go on with their velocities and, where they are known, angular velocities, or start at rest.").when(RUN),
        key("velocity", Kind::Vector, "m/s", Default("[0, 0, 0]"), "Velocity at the start."),
    ],
    groups: &[
        Group { keys: &["diameter", "sizes", "shape"], required: true, when: SIZED },
        Group { keys: &["scale", "scales"], required: false, when: &[] },
    ],
};

const ELLIPSOID: Key = key("ellipsoid", Kind::Vector, "m", Optional("one of the shapes"), "An ellipsoid, by its three semi-axes.");
const CAPSULE: Key = key("capsule", Kind::Table(&ROUND_SHAPE), "", Optional("one of the shapes"), "A cylinder with a half sphere at each end; `length` is that of the cylinder.");
const CYLINDER: Key = key("cylinder", Kind::Table(&ROUND_SHAPE), "", Optional("one of the shapes"), "A circular cylinder.");
const CUBOID: Key = key("box", Kind::Vector, "m", Optional("one of the shapes"), "A cuboid, by its three edge lengths.");
const CONVEX: Key = key("polyhedron", Kind::Table(&POLYHEDRON), "", Optional("one of the shapes"), "A convex polyhedron.");
const CLUMP: Key = key("clump", Kind::List(&CLUMP_SPHERE), "", Optional("one of the shapes"), "Spheres that move as one; they may overlap, and count once where they do.");

/// `shape` of grains and emitters.
pub const SHAPE: Section = Section {
    title: "shape",
    doc: "A shape of grains that are no spheres; exactly one of the keys. Mass and inertia follow from it and the density.",
    keys: &[
        ELLIPSOID,
        CAPSULE,
        CYLINDER,
        CUBOID,
        CONVEX,
        CLUMP,
    ],
    groups: &[Group { keys: &["ellipsoid", "capsule", "cylinder", "box", "polyhedron", "clump"], required: true, when: &[] }],
};

/// `shape.capsule` and `shape.cylinder`.
pub const ROUND_SHAPE: Section = Section {
    title: "shape.capsule and shape.cylinder",
    doc: "A body about the z axis.",
    keys: &[
        key("radius", Kind::Number(POSITIVE), "m", Required, "Radius."),
        key("length", Kind::Number(POSITIVE), "m", Required, "Length along the axis."),
    ],
    groups: &[],
};

/// `shape.polyhedron`.
pub const POLYHEDRON: Section = Section {
    title: "shape.polyhedron",
    doc: "A convex polyhedron, from points or from a file; exactly one of the two.",
    keys: &[
        key("points", Kind::Vectors, "m", Optional("see `file`"), "Points whose convex hull it is."),
        key("file", Kind::Text, "", Optional("see `points`"), "File of its surface (.stl or .obj), relative to the scene file."),
        key("size", Kind::Number(POSITIVE), "", Default("1.0"), "Factor on the coordinates; 0.001 for a file in millimetres."),
        key("hull", Kind::Bool, "", Default("false"), "Takes the convex hull of a surface that is not convex, open or inside out."),
    ],
    groups: &[Group { keys: &["points", "file"], required: true, when: &[] }],
};

/// `shape.clump`.
pub const CLUMP_SPHERE: Section = Section {
    title: "shape.clump",
    doc: "One sphere of a clump.",
    keys: &[
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "Centre."),
        key("radius", Kind::Number(POSITIVE), "m", Required, "Radius."),
    ],
    groups: &[],
};

/// `scales` of grains and emitters.
pub const SCALES: Section = Section {
    title: "scales",
    doc: "A distribution of factors on the lengths of a shape; exactly one of the keys. (For a mixture write several sections.)",
    keys: &[
        key("uniform", Kind::Interval(POSITIVE), "", Optional("one of the three"), "Uniform (by number) between two factors."),
        key("normal", Kind::Table(&NORMAL), "", Optional("one of the three"), "Normal distribution of factors, its numbers without unit."),
        key("lognormal", Kind::Table(&LOGNORMAL), "", Optional("one of the three"), "Normal distribution of the logarithm of factors, its numbers without unit."),
    ],
    groups: &[Group { keys: &["uniform", "normal", "lognormal"], required: true, when: &[] }],
};

/// What a body may be locked in.
pub const LOCKS: &[&str] = &["x", "y", "z", "rotation-x", "rotation-y", "rotation-z"];

/// `[[body]]`.
pub const BODY: Section = Section {
    title: "[[body]]",
    doc: "A single rigid body that moves freely: grains push it and are pushed, and the force and torque of its contacts are recorded as those of a wall. Shapes, `centre` and `inertia` are given in a frame of its own, of which `position` and `rotation` say where it is at the start. Bodies may not reach into walls, one another or grains at the start.",
    keys: &[
        key("name", Kind::Text, "", Required, "Its name, in reports and recordings; other than those of walls."),
        key("material", Kind::Text, "", ONE_MATERIAL, "Its material."),
        key("shape", Kind::OneOrMore(&BODY_SHAPE), "", Required, "Its shape, such as `{ box = [0.2, 0.1, 0.1] }`, or several that move as one, each with a `position` and a `rotation` of its own."),
        key("density", Kind::Number(POSITIVE), "kg/m³", Optional("that of the material, unless `mass` is given"), "Mass density. Where several shapes overlap, what they have in common counts twice, and `esker check` says so."),
        key("mass", Kind::Number(POSITIVE), "kg", Optional("from the density"), "Mass."),
        key("centre", Kind::Vector, "m", Optional("from the shapes"), "Centre of mass, in its frame; needs `inertia` too."),
        key("inertia", Kind::Numbers, "kg m²", Optional("from the shapes and the mass"), "Moments of inertia about the centre of mass, in its frame: `[xx, yy, zz]`, or with products `[xx, yy, zz, xy, xz, yz]`."),
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "Where the origin of its frame is at the start."),
        key("rotation", Kind::Table(&ROTATION), "", Optional("not turned"), "How its frame is turned at the start."),
        key("velocity", Kind::Vector, "m/s", Default("[0, 0, 0]"), "Velocity of its centre of mass at the start."),
        key("angular_velocity", Kind::Vector, "rad/s", Default("[0, 0, 0]"), "Angular velocity at the start, about the axes of the scene."),
        key("locked", Kind::Choices(LOCKS), "", Optional("nothing is"), "Axes of the scene that its centre of mass does not move along, or that it does not rotate about, such as `[\"y\", \"rotation-x\", \"rotation-z\"]` for motion in the plane of x and z."),
        key("group", Kind::Text, "", Optional("it touches all bodies that no joint joins it with"), "Bodies of one group do not touch each other."),
        key("force", Kind::Vector, "N", Optional("none, or see `force_table`"), "Constant force on its centre of mass, besides gravity."),
        key("force_table", Kind::Table(&FORCE_TABLE), "", Optional("see `force`"), "Force that changes with time, N."),
        key("torque", Kind::Vector, "N m", Optional("none, or see `torque_table`"), "Constant torque."),
        key("torque_table", Kind::Table(&FORCE_TABLE), "", Optional("see `torque`"), "Torque that changes with time, N m."),
    ],
    groups: &[
        Group { keys: &["density", "mass"], required: false, when: &[] },
        Group { keys: &["force", "force_table"], required: false, when: &[] },
        Group { keys: &["torque", "torque_table"], required: false, when: &[] },
    ],
};

/// `shape` of bodies.
pub const BODY_SHAPE: Section = Section {
    title: "body.shape",
    doc: "A shape of a body; exactly one of the keys of shapes, and where it is in the body's frame.",
    keys: &[
        key("sphere", Kind::Number(POSITIVE), "m", Optional("one of the shapes"), "A sphere, by its radius."),
        ELLIPSOID,
        CAPSULE,
        CYLINDER,
        CUBOID,
        CONVEX,
        CLUMP,
        key("mesh", Kind::Table(&BODY_MESH), "", Optional("one of the shapes"), "A thin surface of triangles, convex or not: a bucket, a screw, the liner of a drum. The body must be held by a joint."),
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "Where the shape's origin is in the body's frame."),
        key("rotation", Kind::Table(&ROTATION), "", Optional("not turned"), "How it is turned there."),
    ],
    groups: &[Group { keys: &["sphere", "ellipsoid", "capsule", "cylinder", "box", "polyhedron", "clump", "mesh"], required: true, when: &[] }],
};

/// `mesh` of bodies.
pub const BODY_MESH: Section = Section {
    title: "body.shape.mesh",
    doc: "The surface of a body, as that of a wall with `shape = \"mesh\"`: grains and convex bodies touch it from either side; walls and other meshes pass through it. What a closed surface encloses has the body's density; an open one needs `mass`, `centre` and `inertia` of the body.",
    keys: &[
        key("file", Kind::Text, "", Required, "Mesh file (.stl or .obj), relative to the scene file."),
        key("scale", Kind::Number(POSITIVE), "", Default("1.0"), "Factor on the mesh's coordinates; 0.001 for a file in millimetres."),
    ],
    groups: &[],
};

/// `force_table` and `torque_table` of bodies.
pub const FORCE_TABLE: Section = Section {
    title: "body.force_table and body.torque_table",
    doc: "A vector over time: between the times by linear interpolation, before the first and after the last it is what they say.",
    keys: &[
        key("times", Kind::Numbers, "s", Required, "Times, increasing."),
        key("values", Kind::Vectors, "", Required, "One vector per time, in axes of the scene."),
    ],
    groups: &[],
};

/// What joints call what does not move.
pub const GROUND: &str = "ground";

/// Coordinates of joints.
pub const COORDINATES: &[&str] = &["angle", "slide"];

const GEARED: &[When] = &[is("kind", &["gear"])];
const JOINTED: &[When] = &[is("kind", &["fixed", "revolute", "prismatic", "cylindrical", "ball", "universal", "distance", "screw"])];
const AXIAL: &[When] = &[is("kind", &["revolute", "prismatic", "cylindrical", "universal", "screw"])];
const WITH_ANGULAR_ROWS: &[When] = &[is("kind", &["fixed", "revolute", "prismatic", "cylindrical", "universal", "screw"])];
const WITH_ANGLE: &[When] = &[is("kind", &["revolute", "cylindrical", "screw"])];
const WITH_SLIDE: &[When] = &[is("kind", &["prismatic", "cylindrical", "screw"])];

/// `[[joint]]`.
pub const JOINT: Section = Section {
    title: "[[joint]]",
    doc: "Joins two bodies, or a body and the ground, so that they can move relative to one another only as its kind says. A `revolute` joint has a coordinate `angle`, a `prismatic` one a `slide`, `cylindrical` and `screw` have both: rotation and displacement of the second body relative to the first, right-handed about and along the axis, zero where the scene starts. A `gear` couples coordinates of two other joints: gear wheels, belts, rack and pinion. Anchors that are up to 1 mm apart, and axes up to 0.001 rad, are brought together at the start. Bodies that a joint joins do not touch each other.",
    keys: &[
        key("name", Kind::Text, "", Required, "Its name, in reports and recordings."),
        key("kind", Kind::Choice(&["fixed", "revolute", "prismatic", "cylindrical", "ball", "universal", "distance", "screw", "gear"]), "", Required, "What it lets the bodies do: nothing; rotate about the axis; move along it; both; rotate about the anchor; rotate about the axis of the first and the axis of the second; all that keeps the distance of the anchors; move along the axis by `pitch` per revolution."),
        key("bodies", Kind::Names, "", Required, "The two bodies, such as `[\"ground\", \"arm\"]`.").when(JOINTED),
        key("anchor", Kind::Vector, "m", Required, "Where it is, at the start.").when(JOINTED),
        key("axis", Kind::Direction, "", Required, "Its axis, at the start.").when(AXIAL),
        key("second_anchor", Kind::Vector, "m", Optional("where `anchor` is at the start"), "Where it is on the second body.").when(JOINTED),
        key("second_axis", Kind::Direction, "", Required, "The axis on the second body, at right angles to `axis`.").when(&[is("kind", &["universal"])]),
        key("frame", Kind::Choice(&["world", "body"]), "", Default("\"world\""), "What anchors and axes are given in: coordinates of the scene, or each in the frame of its body.").when(JOINTED),
        key("length", Kind::Number(POSITIVE), "m", Optional("the distance of the anchors at the start"), "Distance of the anchors.").when(&[is("kind", &["distance"])]),
        key("pitch", Kind::Number(ANY), "m", Required, "Advance per revolution; positive for a right-handed thread.").when(&[is("kind", &["screw"])]),
        key("joints", Kind::Names, "", Required, "The two joints whose coordinates are coupled.").when(GEARED),
        key("coordinates", Kind::Names, "", Optional("the only ones of the two joints"), "Which coordinates, such as `[\"slide\", \"angle\"]`.").when(GEARED),
        key("ratio", Kind::Number(ANY), "", Required, "Change of the first coordinate per change of the second, in rad or m; negative for wheels that touch from outside.").when(GEARED),
        key("angle_limits", Kind::Interval(ANY), "rad", Optional("none"), "Smallest and largest angle; from the start, so that they hold zero.").when(WITH_ANGLE),
        key("slide_limits", Kind::Interval(ANY), "m", Optional("none"), "Smallest and largest slide; from the start, so that they hold zero.").when(WITH_SLIDE),
        key("friction_torque", Kind::Number(NOT_NEGATIVE), "N m", Default("0.0"), "Torque up to which dry friction holds the angle.").when(WITH_ANGLE),
        key("friction_force", Kind::Number(NOT_NEGATIVE), "N", Default("0.0"), "Force up to which dry friction holds the slide.").when(WITH_SLIDE),
        key("compliance", Kind::Number(NOT_NEGATIVE), "m/N", Default("0.0"), "How far it yields per force, where it holds displacements; 0: rigid.").when(JOINTED),
        key("damping", Kind::Number(NOT_NEGATIVE), "N s/m", Default("0.0"), "Damping of a compliant joint.").when(JOINTED),
        key("angular_compliance", Kind::Number(NOT_NEGATIVE), "rad/(N m)", Default("0.0"), "How far it yields per torque, where it holds rotations; 0: rigid.").when(WITH_ANGULAR_ROWS),
        key("angular_damping", Kind::Number(NOT_NEGATIVE), "N m s", Default("0.0"), "Damping of a joint that yields to torques.").when(WITH_ANGULAR_ROWS),
    ],
    groups: &[],
};

/// `[[drive]]`.
pub const DRIVE: Section = Section {
    title: "[[drive]]",
    doc: "Drives a coordinate of a joint. `motor` keeps a velocity (m/s, rad/s), `servo` pulls towards a position (m, rad) with a spring and a damper, `force` applies a force (N, N m), and `damped-force` applies `f - c v`, as a servo wall does. Forces are positive where they increase the coordinate. What is driven is one of `value`, `table`, `sine` and `external`.",
    keys: &[
        key("name", Kind::Text, "", Required, "Its name, in reports and recordings."),
        key("joint", Kind::Text, "", Required, "The joint that it drives."),
        key("coordinate", Kind::Choice(COORDINATES), "", Optional("the only one of the joint"), "Which of the joint's coordinates."),
        key("kind", Kind::Choice(&["motor", "servo", "force", "damped-force"]), "", Required, "How it drives."),
        key("limit", Kind::Number(POSITIVE), "N or N m", Optional("none; a motor must have one"), "Largest force or torque."),
        key("value", Kind::Number(ANY), "", Optional("one of the four"), "A constant velocity, position or force."),
        key("table", Kind::Table(&DRIVE_TABLE), "", Optional("one of the four"), "Values over time."),
        key("sine", Kind::Table(&SINE), "", Optional("one of the four"), "A value that oscillates."),
        key("external", Kind::Number(ANY), "", Optional("one of the four"), "A value that a program sets while the scene runs; at first this one."),
        key("stiffness", Kind::Number(POSITIVE), "N/m or N m/rad", Required, "Stiffness of the spring.").when(&[is("kind", &["servo"])]),
        key("damping", Kind::Number(NOT_NEGATIVE), "N s/m or N m s/rad", Required, "Damping coefficient: of a servo, on the velocity relative to that of its set position.").when(&[is("kind", &["servo", "damped-force"])]),
    ],
    groups: &[Group { keys: &["value", "table", "sine", "external"], required: true, when: &[] }],
};

/// `table` of drives.
pub const DRIVE_TABLE: Section = Section {
    title: "drive.table",
    doc: "Values over time, between the times by linear interpolation; must last to the end of the run.",
    keys: &[
        key("times", Kind::Numbers, "s", Optional("see `file`"), "Times, increasing."),
        key("values", Kind::Numbers, "", Optional("see `file`"), "One value per time."),
        key("file", Kind::Text, "", Optional("see `times`"), "CSV file with a header row: `t,value`; relative to the scene file."),
    ],
    groups: &[Group { keys: &["times", "file"], required: true, when: &[] }],
};

/// `sine` of drives.
pub const SINE: Section = Section {
    title: "drive.sine",
    doc: "`mean + amplitude sin(2π frequency t + phase)`.",
    keys: &[
        key("mean", Kind::Number(ANY), "", Default("0.0"), "Mean value."),
        key("amplitude", Kind::Number(NOT_NEGATIVE), "", Required, "Amplitude."),
        key("frequency", Kind::Number(POSITIVE), "Hz", Required, "Oscillations per second."),
        key("phase", Kind::Number(ANY), "rad", Default("0.0"), "Phase."),
    ],
    groups: &[],
};

/// `region` of grains, emitters and sinks.
pub const REGION: Section = Section {
    title: "region",
    doc: "A part of space; exactly one of the keys.",
    keys: &[
        key("box", Kind::Corners, "m", Optional("one of the three"), "An upright box, by two corners."),
        key("cylinder", Kind::Table(&REGION_CYLINDER), "", Optional("one of the three"), "A cylinder."),
        key("sphere", Kind::Table(&REGION_SPHERE), "", Optional("one of the three"), "A ball."),
    ],
    groups: &[Group { keys: &["box", "cylinder", "sphere"], required: true, when: &[] }],
};

/// `region.cylinder`.
pub const REGION_CYLINDER: Section = Section {
    title: "region.cylinder",
    doc: "A cylindrical region.",
    keys: &[
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "Centre."),
        key("axis", Kind::Direction, "", Default("[0, 0, 1]"), "Direction of its axis."),
        key("radius", Kind::Number(POSITIVE), "m", Required, "Radius."),
        key("length", Kind::Number(POSITIVE), "m", Required, "Length along the axis."),
    ],
    groups: &[],
};

/// `region.sphere`.
pub const REGION_SPHERE: Section = Section {
    title: "region.sphere",
    doc: "A ball-shaped region.",
    keys: &[
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "Centre."),
        key("radius", Kind::Number(POSITIVE), "m", Required, "Radius."),
    ],
    groups: &[],
};

/// `sizes` of grains and emitters.
pub const SIZES: Section = Section {
    title: "sizes",
    doc: "A distribution of diameters; exactly one of `uniform`, `normal`, `lognormal`, `mixture`.",
    keys: &[
        key("uniform", Kind::Interval(POSITIVE), "m", Optional("one of the four"), "Uniform (by number) between two diameters."),
        key("normal", Kind::Table(&NORMAL), "", Optional("one of the four"), "Normal distribution of diameters."),
        key("lognormal", Kind::Table(&LOGNORMAL), "", Optional("one of the four"), "Normal distribution of the logarithm of diameters."),
        key("mixture", Kind::List(&COMPONENT), "", Optional("one of the four"), "A mixture of fixed diameters."),
        key("by", Kind::Choice(&["number", "mass"]), "", Optional("by number; only for `mixture`"), "What the shares of a mixture count."),
    ],
    groups: &[Group { keys: &["uniform", "normal", "lognormal", "mixture"], required: true, when: &[] }],
};

/// `sizes.normal`.
pub const NORMAL: Section = Section {
    title: "sizes.normal",
    doc: "A normal distribution, cut off at both ends.",
    keys: &[
        key("mean", Kind::Number(POSITIVE), "m", Required, "Mean diameter."),
        key("deviation", Kind::Number(NOT_NEGATIVE), "m", Required, "Standard deviation."),
        key("min", Kind::Number(POSITIVE), "m", Optional("mean less 3 deviations"), "Smallest diameter."),
        key("max", Kind::Number(POSITIVE), "m", Optional("mean plus 3 deviations"), "Largest diameter."),
    ],
    groups: &[],
};

/// `sizes.lognormal`.
pub const LOGNORMAL: Section = Section {
    title: "sizes.lognormal",
    doc: "A lognormal distribution, cut off at both ends.",
    keys: &[
        key("median", Kind::Number(POSITIVE), "m", Required, "Median diameter."),
        key("deviation", Kind::Number(NOT_NEGATIVE), "", Required, "Standard deviation of the natural logarithm."),
        key("min", Kind::Number(POSITIVE), "m", Optional("median exp(-3 deviations)"), "Smallest diameter."),
        key("max", Kind::Number(POSITIVE), "m", Optional("median exp(3 deviations)"), "Largest diameter."),
    ],
    groups: &[],
};

/// `sizes.mixture`.
pub const COMPONENT: Section = Section {
    title: "sizes.mixture",
    doc: "One size of a mixture.",
    keys: &[
        key("diameter", Kind::Number(POSITIVE), "m", Required, "Diameter."),
        key("share", Kind::Number(POSITIVE), "", Default("1.0"), "Its share, on any scale."),
    ],
    groups: &[],
};

/// `[[emitter]]`.
pub const EMITTER: Section = Section {
    title: "[[emitter]]",
    doc: "A source of grains.",
    keys: &[
        key("name", Kind::Text, "", Optional("`emitter.N`, counted from 0"), "Name in reports; must be unique."),
        key("material", Kind::Text, "", ONE_MATERIAL, "Material of its grains."),
        key("region", Kind::Table(&REGION), "", Required, "Region in which whole grains appear; may not reach into a wall."),
        key("rate", Kind::Table(&AMOUNT_RATE), "", Required, "How fast: `{ number = … }` in 1/s or `{ mass = … }` in kg/s."),
        key("diameter", Kind::Number(POSITIVE), "m", Optional("see `sizes`"), "Diameter of all of them."),
        key("sizes", Kind::Table(&SIZES), "", Optional("see `diameter`"), "Distribution of diameters."),
        key("shape", Kind::Table(&SHAPE), "", Optional("spheres, see `diameter`"), "Shape and size of grains that are no spheres, as in `[[grains]]`."),
        key("scale", Kind::Number(POSITIVE), "", Optional("1, or see `scales`"), "Factor on all lengths of `shape`."),
        key("scales", Kind::Table(&SCALES), "", Optional("see `scale`"), "Distribution of factors on all lengths of `shape`."),
        key("rotation", Kind::Table(&ROTATION), "", Optional("at random"), "Turns every grain of another shape from the axes in which `shape` gives it."),
        key("velocity", Kind::Vector, "m/s", Default("[0, 0, 0]"), "Velocity of new grains."),
        key("total", Kind::Table(&AMOUNT_TOTAL), "", Optional("no limit"), "Stops after `{ number = … }` grains or `{ mass = … }` in kg."),
        key("start", Kind::Number(NOT_NEGATIVE), "s", Default("0.0"), "Time of the first grain."),
        key("stop", Kind::Number(NOT_NEGATIVE), "s", Optional("never"), "Time after which no grain appears."),
    ],
    groups: &[
        Group { keys: &["diameter", "sizes", "shape"], required: true, when: &[] },
        Group { keys: &["scale", "scales"], required: false, when: &[] },
    ],
};

/// `rate` of an emitter.
pub const AMOUNT_RATE: Section = Section {
    title: "rate",
    doc: "How fast an emitter works; exactly one of the keys.",
    keys: &[
        key("number", Kind::Number(POSITIVE), "1/s", Optional("see `mass`"), "Grains per second."),
        key("mass", Kind::Number(POSITIVE), "kg/s", Optional("see `number`"), "Mass per second."),
    ],
    groups: &[Group { keys: &["number", "mass"], required: true, when: &[] }],
};

/// `total` of an emitter.
pub const AMOUNT_TOTAL: Section = Section {
    title: "total",
    doc: "When an emitter has given all; exactly one of the keys.",
    keys: &[
        key("number", Kind::Integer(1, MOST_GRAINS), "", Optional("see `mass`"), "Grains."),
        key("mass", Kind::Number(POSITIVE), "kg", Optional("see `number`"), "Mass."),
    ],
    groups: &[Group { keys: &["number", "mass"], required: true, when: &[] }],
};

/// `[[sink]]`.
pub const SINK: Section = Section {
    title: "[[sink]]",
    doc: "Removes grains whose centre is in a region, and counts them.",
    keys: &[
        key("name", Kind::Text, "", Optional("`sink.N`, counted from 0"), "Name in reports; must be unique."),
        key("region", Kind::Table(&REGION), "", Required, "The region."),
    ],
    groups: &[],
};

const BALANCE: &[When] = &[is("method", &["balance"])];
const TRIAL: &[When] = &[is("method", &["trial"])];

/// `reduction`.
pub const REDUCTION: Section = Section {
    title: "[reduction]",
    doc: "Adaptive model reduction. Grains that are at rest with walls of one motion, and held on them by loaded contacts, become members of a rigid aggregate that moves with these walls: they are not paired, collided, solved or integrated. Members are set free, with layers around them, when something hits them or slips on them, when the forces on them are out of balance, when nothing carries them any more, and all together from time to time, when gravity has turned in their frame, when a tenth of all grains has come or gone, and when a wall appears, vanishes or changes its motion. Speeds are in units of `√(g d)` and times of `√(d/g)`, with the mean diameter `d`. For beds, stockpiles, belts and collapses. Flowing drums, hoppers and shear cells creep all over: freezing stiffens the plug by 1 to 2°.",
    keys: &[
        key("rest_speed", Kind::Number(POSITIVE), "√(g d)", Default("0.015"), "Speed relative to the walls, of the centre and of the surface by rotation, up to which a grain is at rest."),
        key("rest_acceleration", Kind::Number(POSITIVE), "g", Default("0.3"), "Acceleration up to which it is."),
        key("rest_time", Kind::Number(POSITIVE), "√(d/g)", Default("0.55"), "How long a grain is at rest before it is frozen."),
        key("impact_speed", Kind::Number(POSITIVE), "√(g d)", Default("0.42"), "Speed of approach or slip of free grains that sets free what they touch, with two layers around it. Greater than `rest_speed`."),
        key("method", Kind::Choice(&["balance", "trial"]), "", Default("\"balance\""), "What tells that forces set frozen grains free: the balance of forces on those that touch free grains, together with setting all free from time to time; or a trial step of all grains after every step (Servin and Wang 2015), which costs more than simulating them and is there to be compared with."),
        key("imbalance", Kind::Number(SHARE), "", Default("0.4"), "Imbalance of forces on a frozen grain that sets it free, over its weight and half of its normal forces; 0.2 is conservative.").when(BALANCE),
        key("refresh_time", Kind::Number(POSITIVE), "√(d/g)", Default("5.5"), "How often all grains of an aggregate are set free to find out whether they still rest. Greater than `rest_time`.").when(BALANCE),
        key("refresh_growth", Kind::Number(AT_LEAST_ONE), "", Default("64.0"), "By how much `refresh_time` may grow, by factors of two, while nothing comes of it.").when(BALANCE),
        key("trial_sweeps", Kind::Integer(1, MOST_SWEEPS), "", Default("50"), "Sweeps of the trial's solve, which starts from the last impulses.").when(TRIAL),
        key("trial_force", Kind::Number(PROPER_SHARE), "", Default("0.15"), "Imbalance of forces on a frozen grain in the trial that sets it free, over the sum of its weight and the force of its contacts.").when(TRIAL),
        key("trial_approach", Kind::Number(POSITIVE), "√(g d)", Default("7.3"), "Speed at which a contact of a frozen grain approaches after the trial that sets it free.").when(TRIAL),
        key("trial_separation", Kind::Number(POSITIVE), "√(g d)", Default("0.73"), "Speed at which it separates.").when(TRIAL),
        key("trial_slip", Kind::Number(POSITIVE), "√(g d)", Default("0.73"), "Speed at which it slips.").when(TRIAL),
    ],
    groups: &[],
};

/// `[[sensor]]`.
pub const SENSOR: Section = Section {
    title: "[[sensor]]",
    doc: "A region whose grains are never frozen, where `reduction` is on: where something is measured, or about to happen. Regions of emitters and sinks are sensors too.",
    keys: &[
        key("name", Kind::Text, "", Optional("`sensor.N`, counted from 0"), "Name in reports; must be unique."),
        key("region", Kind::Table(&REGION), "", Required, "The region."),
    ],
    groups: &[],
};

/// `periodic`.
pub const PERIODIC: Section = Section {
    title: "periodic",
    doc: "Periodic boundaries: a grain that leaves the box at one end of an axis enters it at the other, and grains touch across the ends. The box must be at least four diameters of the largest grain wide. A wall must continue itself across the ends (planes, boxes and cylinders that are parallel to the axis and reach a diameter beyond both ends) or keep a diameter away from them.",
    keys: &[
        key("x", Kind::Interval(ANY), "m", Optional("not periodic"), "From where to where along x."),
        key("y", Kind::Interval(ANY), "m", Optional("not periodic"), "From where to where along y."),
        key("z", Kind::Interval(ANY), "m", Optional("not periodic"), "From where to where along z."),
    ],
    groups: &[],
};

/// `[bounds]`.
pub const BOUNDS: Section = Section {
    title: "[bounds]",
    doc: "Grains whose centre leaves this box are removed and counted as lost.",
    keys: &[
        key("min", Kind::Vector, "m", Required, "Lower corner."),
        key("max", Kind::Vector, "m", Required, "Upper corner."),
    ],
    groups: &[],
};

const FLOW: &[When] = &[is("measure", &["flow"])];
const BULK: &[When] = &[is("measure", &["bulk"])];
const WALL_LOAD: &[When] = &[is("measure", &["wall"])];
const MIXING: &[When] = &[is("measure", &["mixing"])];
const FRONT: &[When] = &[is("measure", &["front"])];
const PROFILE: &[When] = &[is("measure", &["profile"])];

/// `[[probe]]`.
pub const PROBE: Section = Section {
    title: "[[probe]]",
    doc: "Measures the grains while they run, without changing anything; rows go to `probes.csv`, the recording, `esker report` and `esker measure RUN probes`. `flow`: mass and grains that cross a plane, or an opening in it, counted in every step. `bulk`: grains, mass, packing fraction, velocity, granular temperature and stress (contacts and fluctuations, pressure positive) in a region, means of samples. `wall`: force, torque and power, exact means over the interval. `mixing`: Lacey's index by number (0 segregated, 1 randomly mixed) of one class of grains among the others in cubic cells, and a segregation index (1 where the class is on top, −1 below, 0 mixed). `front`: how far the mass has run. `profile`: height of the upper surface along a line. `drum`: angle of the bed (from straight down to its centre of mass), mean velocity along the axis, and velocities of the surface between 20° and 45° up the rising side, in a section of a rotating drum. The last four are states, with a row at the start. Joints and drives of machines have probes of their own without being asked for, `joint NAME` and `drive NAME`, with a row per frame: coordinates, forces and torques, power, and how far joints are from where they should be. Across periodic boundaries grains count where their images are, and a front must not run along a periodic axis.",
    keys: &[
        key("name", Kind::Text, "", Optional("`probe.N`, counted from 0"), "Name of its columns; must be unique."),
        key("measure", Kind::Choice(&["flow", "bulk", "wall", "mixing", "front", "profile", "drum"]), "", Required, "What is measured."),
        key("every", Kind::Number(POSITIVE), "s", Optional("a hundredth of the duration"), "Simulated time between rows."),
        key("position", Kind::Vector, "m", Default("[0, 0, 0]"), "Middle of the opening, or any point of the plane; where a front's distance is zero, or a point of its axis; where a profile's line starts, and its height is zero; middle of a drum's section, on its axis.").when(&[is("measure", &["flow", "front", "profile", "drum"])]),
        key("normal", Kind::Direction, "", Required, "Normal of the plane: flow along it is positive.").when(FLOW),
        key("radius", Kind::Number(POSITIVE), "m", Optional("see `size`"), "Counts only what goes through a disc about `position`.").when(FLOW),
        key("size", Kind::Numbers, "m", Optional("the whole plane"), "Counts only what goes through a rectangle about `position`: its two edge lengths.").when(FLOW),
        key("along", Kind::Direction, "", Optional("x, or y where the normal is x"), "Direction of the rectangle's first edge.").when(FLOW),
        key("region", Kind::Table(&REGION), "", Optional("all grains; `bulk` needs one"), "Region that is measured.").when(&[is("measure", &["bulk", "mixing"])]),
        key("samples", Kind::Integer(1, 1_000_000), "", Default("10"), "Samples per row, equally spaced.").when(BULK),
        key("wall", Kind::Text, "", Required, "Name of the wall.").when(WALL_LOAD),
        key("material", Kind::Text, "", Optional("see `larger_than`"), "The class is this material.").when(MIXING),
        key("larger_than", Kind::Number(POSITIVE), "m", Optional("see `material`"), "The class are grains with a greater diameter.").when(MIXING),
        key("cell", Kind::Number(POSITIVE), "m", Required, "Edge of the cubic cells; usual: three to five diameters.").when(MIXING),
        key("direction", Kind::Direction, "", Optional("mixing: upwards; see `axis`"), "Direction of segregation, of the run-out, or of the profile's line.").when(&[is("measure", &["mixing", "front", "profile"])]),
        key("axis", Kind::Direction, "", Optional("see `direction`; drum: y"), "Run-out is the distance from this axis; axis of a drum.").when(&[is("measure", &["front", "drum"])]),
        key("share", Kind::Number(UNIT), "", Default("0.99"), "Share of the mass that lies behind the front.").when(FRONT),
        key("length", Kind::Number(POSITIVE), "m", Required, "Length of the line, or of a drum's section.").when(&[is("measure", &["profile", "drum"])]),
        key("width", Kind::Number(POSITIVE), "m", Optional("the distance of two heights"), "Heights are means over this width.").when(PROFILE),
        key("cells", Kind::Integer(1, 10_000), "", Default("50"), "Number of heights.").when(PROFILE),
    ],
    groups: &[
        Group { keys: &["radius", "size"], required: false, when: &[] },
        Group { keys: &["material", "larger_than"], required: true, when: MIXING },
        Group { keys: &["direction", "axis"], required: true, when: FRONT },
    ],
};

/// What can be recorded per grain.
pub const FIELDS: &[&str] = &["position", "velocity", "orientation", "spin", "radius", "material", "mass"];

/// `[record]`.
pub const RECORD: Section = Section {
    title: "[record]",
    doc: "What is recorded.",
    keys: &[
        key("every", Kind::Number(POSITIVE), "s", Optional("only the first and the last state"), "Simulated time between frames."),
        key("fields", Kind::Choices(FIELDS), "", Default("[\"position\", \"velocity\", \"radius\", \"mass\"]"), "What is recorded of each grain, besides its material; measures that weigh grains need the mass."),
        key("precision", Kind::Choice(&["single", "double"]), "", Default("\"single\""), "Precision of recorded numbers."),
        key("compression", Kind::Integer(0, 9), "", Default("4"), "Effort of the compression; 0: none."),
        key("contacts", Kind::Bool, "", Default("false"), "Whether contacts and their forces are recorded too."),
        key("energy", Kind::Bool, "", Default("false"), "Whether the summary has an energy ledger: what drives and gravity gave, what friction, rolling resistance, impacts and damping took, and how well it closes. A step then takes about half as long again."),
    ],
    groups: &[],
};

/// `[checkpoint]`.
pub const CHECKPOINT: Section = Section {
    title: "[checkpoint]",
    doc: "When the state is saved for a restart; at most one of the keys.",
    keys: &[
        key("every", Kind::Number(POSITIVE), "s", Optional("see `every_wall`"), "Simulated time between checkpoints."),
        key("every_wall", Kind::Number(POSITIVE), "s", Optional("600, if `every` is not given either"), "Time on the clock between checkpoints."),
    ],
    groups: &[Group { keys: &["every", "every_wall"], required: false, when: &[] }],
};
