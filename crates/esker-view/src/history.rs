//! Frames of a live run that are kept in memory, so that one can look back.

use std::sync::Arc;

use esker::record::Frame;

use crate::source::Moment;

/// Frames at the times at which the scene records, as many as fit: when there are too many, every
/// second is dropped, and from then on only every second is taken up.
pub struct History {
    frames: Vec<Arc<Frame>>,
    bytes: usize,
    most_bytes: usize,
    /// One in so many frames is taken up.
    stride: u64,
    offered: u64,
}

impl History {
    /// Keeps so many bytes at most, and two frames at least.
    pub fn new(most_bytes: usize) -> Self {
        History {
            frames: Vec::new(),
            bytes: 0,
            most_bytes,
            stride: 1,
            offered: 0,
        }
    }

    /// Whether the next frame is to be made at all.
    pub fn wants_next(&mut self) -> bool {
        let wanted = self.offered.is_multiple_of(self.stride);
        self.offered += 1;
        wanted
    }

    /// Takes up a frame.
    pub fn push(&mut self, frame: Arc<Frame>) {
        self.bytes += size(&frame);
        self.frames.push(frame);
        while self.bytes > self.most_bytes && self.frames.len() > 2 {
            let kept = self.frames.iter().step_by(2);
            self.frames = kept.cloned().collect();
            self.bytes = self.frames.iter().map(|frame| size(frame)).sum();
            self.stride *= 2;
        }
    }

    /// When its frames are.
    pub fn moments(&self) -> Vec<Moment> {
        let moment = |frame: &Arc<Frame>| Moment {
            step: frame.step,
            time: frame.time,
        };
        self.frames.iter().map(moment).collect()
    }

    /// The frame of a step.
    pub fn get(&self, step: u64) -> Option<Arc<Frame>> {
        let place = self.frames.binary_search_by_key(&step, |frame| frame.step);
        place.ok().map(|i| Arc::clone(&self.frames[i]))
    }
}

/// Bytes that a frame takes, roughly.
fn size(frame: &Frame) -> usize {
    size_of_val(&frame.id[..])
        + size_of_val(&frame.position[..])
        + size_of_val(&frame.velocity[..])
        + size_of_val(&frame.orientation[..])
        + size_of_val(&frame.angular_velocity[..])
        + size_of_val(&frame.radius[..])
        + size_of_val(&frame.mass[..])
        + size_of_val(&frame.scale[..])
        + size_of_val(&frame.contacts[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_history_thins_itself_evenly_and_keeps_the_start() {
        let frame = |step: u64| {
            Arc::new(Frame {
                step,
                id: vec![0; 100],
                ..Frame::default()
            })
        };
        let mut history = History::new(8 * size(&frame(0)));
        for step in 0..1000 {
            if history.wants_next() {
                history.push(frame(step));
            }
        }
        let steps: Vec<u64> = history.moments().iter().map(|moment| moment.step).collect();
        assert!((4..=8).contains(&steps.len()), "{steps:?}");
        assert_eq!(steps[0], 0);
        let strides: Vec<u64> = steps.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            strides.iter().all(|stride| *stride == strides[0]),
            "{steps:?}"
        );
        assert!(history.get(steps[1]).is_some() && history.get(1).is_none());
    }
}
