//! Shapes, contacts of bodies with bodies and walls, and the search for near pairs.
//!
//! This crate knows geometry only: no mass, no time, no material. Lengths in m. Walls are given
//! and answered in their own frame; [`Pose`] carries points between it and the world.
//!
//! ```
//! use esker_geometry::{DVec3, OpenFaces, Pose, Side, WallShape};
//!
//! let drum = WallShape::Cylinder { radius: 0.5, length: 1.0, side: Side::Inside, open: OpenFaces::NONE };
//! let pose = Pose::from_position(DVec3::new(0.0, 0.0, 2.0));
//! let mut touches = Vec::new();
//! let grain = DVec3::new(0.455, 0.0, 2.0);
//! drum.touches(pose.to_local(grain), 0.05, 0.0, &mut touches);
//! assert_eq!(touches.len(), 1);
//! assert!((touches[0].overlap - 0.005).abs() < 1e-12);
//! assert_eq!(pose.rotate(touches[0].normal), DVec3::X);
//! ```
//!
//! Bodies of any shape, here two ellipsoids tip to tip:
//!
//! ```
//! use esker_geometry::{BodyQuery, BodyShape, DVec3, PlacedShape, Pose, body_contacts};
//!
//! let shape = BodyShape::Ellipsoid { semi_axes: DVec3::new(0.1, 0.05, 0.05) };
//! let a = PlacedShape::new(&shape, 1.0, Pose::IDENTITY);
//! let b = PlacedShape::new(&shape, 2.0, Pose::from_position(DVec3::new(0.29, 0.0, 0.0)));
//! let mut contacts = Vec::new();
//! body_contacts(&a, &b, &BodyQuery::default(), &mut contacts);
//! assert_eq!(contacts.len(), 1);
//! assert!((contacts[0].gap + 0.01).abs() < 1e-12);
//! ```

mod body;
mod broad_phase;
mod drum_shell;
mod hertz;
mod manifold;
mod mesh;
mod pairs;
pub mod portable;
mod pose;
mod region;
mod region_overlap;
mod shape;
mod smooth;
mod triangulate;

pub use body::{
    BodyMesh, BodyMeshError, BodyShape, Clump, ClumpError, Compound, CompoundError, HullError,
    InertiaError, MassProperties, PlacedShape, Polyhedron, PolyhedronEdge, PolyhedronFace,
    principal_moments,
};
pub use broad_phase::{BroadPhase, Crowd, PairEntry, TooManyPairs, UserData};
pub use drum_shell::{Bumps, DrumShell, DrumShellError, Outlet};
pub use glam::{DQuat, DVec3};
pub use manifold::{Conformity, ContactPoint, ContactRates, RigidMotion};
pub use mesh::{
    Edge, EdgeKind, FacetRecord, FeatureRecord, MeshError, MeshTables, NodeRecord, Place,
    TriangleMesh, TriangleSoup, parse_obj, parse_stl,
};
pub use pairs::{
    BodyQuery, Frustum, Probe, SphereTouch, WallQuery, body_contacts, contact_rates, sphere_sphere,
};
pub use pose::{Aabb, Pose};
pub use region::Region;
pub use shape::{Face, MAX_CONFORMITY, OpenFaces, ShapeError, Side, Touch, WallShape};
