//! Pictures of granular scenes, drawn in software: no display, no GPU, no files.
//!
//! A [`Picture`] lists grains, walls and bars and says how to look at them; [`render`] returns
//! the pixels, and [`Image::encode_png`], [`encode_apng`] and [`encode_gif`] the bytes of a file.
//!
//! ```
//! use esker_render::{Bounds, Camera, Legend, Picture, Sphere, render};
//! use glam::DVec3;
//!
//! let spheres: Vec<Sphere> = (0..5)
//!     .map(|i| Sphere {
//!         centre: DVec3::new(f64::from(i), 0.0, 0.0),
//!         radius: 0.5,
//!         value: f64::from(i),
//!         orientation: None,
//!     })
//!     .collect();
//! let camera = Camera::fit(&Bounds::of_spheres(&spheres), DVec3::new(0.3, 1.0, -0.4), 4.0 / 3.0);
//! let picture = Picture {
//!     spheres: &spheres,
//!     legend: Some(Legend::new("speed (m/s)")),
//!     time_stamp: Some("t = 0.50 s".to_owned()),
//!     ..Picture::new(camera, (160, 120))
//! };
//! let bytes = render(&picture).encode_png()?;
//! assert!(bytes.starts_with(b"\x89PNG"));
//! # Ok::<(), esker_render::EncodeError>(())
//! ```
//!
//! # Passes
//!
//! 1. `visibility`: the nearest grain or bar at four samples per pixel, by exact
//!    intersection of sight lines with spheres, bars and `solids`.
//! 2. `occlusion`: how open each pixel is to the sky and to the key light.
//! 3. `walls`, `floor`: translucent surfaces, sorted by depth at every sample.
//! 4. `light`: shading; the samples of a pixel are averaged in linear light.
//! 5. `overlay`: colour key and time stamp.
//!
//! Everything is computed in a fixed order in one thread; to use more, draw frames in parallel.

mod bodies;
mod camera;
mod color;
mod floor;
mod font;
mod framing;
mod image;
mod light;
pub mod look;
mod occlusion;
mod overlay;
mod picture;
mod render;
mod solids;
mod surface;
mod visibility;
mod walls;

pub use camera::{Camera, Projected, Projection};
pub use color::{ColorMap, UnknownColorMap};
pub use framing::{Bounds, Framing};
pub use image::{EncodeError, Image, encode_apng, encode_gif};
pub use picture::{Background, Floor, Legend, Line, Picture, Solid, Sphere, Triangle, Wall};
pub use render::render;
pub use solids::{Face, Form};
pub use surface::{Side, Surface};
