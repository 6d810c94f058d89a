//! Measures on snapshots of granular systems.
//!
//! A [`Snapshot`] is plain data: where the grains are and, where known, how
//! they move and what they carry. Nothing here knows how it was made: a
//! running simulation, a recording and a laboratory measurement are judged by
//! the same functions. A snapshot without the field that a measure needs gives
//! [`MissingField`], which says how to record it.
//!
//! | module | measures |
//! | --- | --- |
//! | [`surface`] | upper surface, pile height, bed profile and its unevenness |
//! | [`repose`] | static and dynamic angles of repose |
//! | [`packing`] | packing fraction |
//! | [`orientation`] | nematic order of the axes of long grains |
//! | [`mixing`] | Lacey's mixing index, segregation |
//! | [`runout`] | position of a front |
//! | [`drum`] | angle, transport and surface velocities in a section of a drum |
//! | [`plug`] | share of grains that move with a turning drum |
//! | [`fields`] | coarse-grained density, velocity, strain rate, stress, inertial number |
//! | [`wall_pressure`] | wall pressure over height, Janssen's law |
//! | [`network`] | force distribution, strong chains, coordination |
//! | [`errors`] | overlap and slip errors |
//! | [`discharge`] | mass flow, Beverloo's law |
//! | [`ledger`] | energy and where it goes, per kind of contact |
//! | [`series`] | means, spreads and differences of time series |
//! | [`fit`] | least squares |

pub mod discharge;
pub mod drum;
pub mod errors;
pub mod fields;
pub mod fit;
pub mod ledger;
pub mod mixing;
pub mod network;
pub mod orientation;
pub mod packing;
pub mod plug;
pub mod repose;
pub mod runout;
pub mod series;
mod snapshot;
pub mod surface;
pub mod wall_pressure;

pub use snapshot::{ContactState, MissingField, Partner, Snapshot};
