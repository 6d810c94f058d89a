//! Bodies with flat faces or sharp edges.

use crate::body::PlacedShape;
use crate::manifold::ContactPoint;
use crate::pairs::body_body::BodyQuery;
use crate::pairs::body_wall::WallQuery;
use crate::shape::WallShape;

/// Contacts of a pair with a box, cylinder or polyhedron.
pub(crate) fn body_contacts(
    _: &PlacedShape,
    _: &PlacedShape,
    _: &BodyQuery,
    _: &mut Vec<ContactPoint>,
) {
}

/// Contacts of a box, cylinder or polyhedron with a wall.
pub(crate) fn wall_contacts(
    _: &WallShape,
    _: &PlacedShape,
    _: &WallQuery,
    _: &mut Vec<ContactPoint>,
) {
}
