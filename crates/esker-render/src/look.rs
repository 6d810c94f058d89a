//! The numbers that make the look of pictures, for others that draw with shaders and want the same.

use crate::{floor, light, occlusion, walls};

/// Every number of the look with a name for shaders; modules `light`, `occlusion`, `floor` and
/// `walls` say what they mean.
pub fn constants() -> Vec<(&'static str, f64)> {
    [
        light::constants(),
        occlusion::constants().to_vec(),
        floor::constants().to_vec(),
        walls::constants().to_vec(),
    ]
    .concat()
}
