//! Force chains: contacts as pictures show them.

use esker_record::{Frame, RecordingHeader};
use glam::DVec3;

/// A contact that carries load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// Where it is drawn from and to, m.
    pub ends: [DVec3; 2],
    /// Normal force, N.
    pub force: f64,
}

/// The contacts of a frame that carry load; those that no grain takes part in are no chains.
pub fn chains<'a>(
    header: &'a RecordingHeader,
    frame: &'a Frame,
) -> impl Iterator<Item = Chain> + 'a {
    let of_grains = frame.contacts.iter().filter(|c| c.owning_body().is_none());
    let loaded = of_grains.filter(|c| c.normal_impulse > 0.0);
    loaded.map(|contact| Chain {
        ends: frame.contact_ends(contact),
        force: contact.normal_impulse / header.impulse_step,
    })
}

/// Mean radius of the grains of a frame, m: what the width of bars is counted in.
pub fn mean_radius(frame: &Frame) -> f64 {
    frame.radius.iter().sum::<f64>() / frame.radius.len().max(1) as f64
}
