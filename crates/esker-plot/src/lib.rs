//! Plots as self-contained SVG text: nothing to install, nothing to fetch,
//! the same bytes for the same data.
//!
//! * [`Plot`]: curves and points on linear or logarithmic axes, with bands,
//!   guide lines and a legend.
//! * [`Picture`]: discs and segments in data coordinates with one colour
//!   scale: a side view of grains, a force network, a field on cells.
//!
//! ```
//! use esker_plot::{Axis, Plot, Series};
//!
//! let svg = Plot::new("Falling", Axis::linear("time (s)"), Axis::log("height (m)"))
//!     .with(Series::line("measured", vec![[0.0, 10.0], [1.0, 5.1]]).with_points())
//!     .with(Series::dashed("law", vec![[0.0, 10.0], [1.0, 5.095]]))
//!     .svg();
//! assert!(svg.starts_with("<svg"));
//! ```

mod axis;
mod colour;
mod picture;
mod plot;
mod text;

pub use axis::{Axis, Scale};
pub use colour::{SERIES_COLOURS, colour_of};
pub use picture::{Disc, Picture, Segment};
pub use plot::{Plot, Series};
pub use text::{escape, number, png_address, png_bytes};
