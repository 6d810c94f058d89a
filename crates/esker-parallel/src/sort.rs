//! Sorting by all threads.

use std::cmp::Ordering;

use crate::team::{Team, resize};

impl Team {
    /// Sorts by an order in which no two elements are equal, so that the result does not depend on
    /// the number of threads. Every thread sorts a run; then pairs of runs are merged, to each merge
    /// all threads contribute as much. `room` is scratch.
    pub fn sort_by<T: Copy + Default + Send + Sync>(
        &mut self,
        data: &mut Vec<T>,
        room: &mut Vec<T>,
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) {
        let length = data.len();
        let mut run = length.div_ceil(self.threads()).max(1);
        self.for_each_part(data, run, |_, part| {
            for own in part.chunks_mut(run) {
                own.sort_unstable_by(&compare);
            }
        });
        while run < length {
            resize(room, length);
            let sorted = data.as_slice();
            self.for_each_part(room, 1, |start, out| {
                merge_part(sorted, run, start, out, &compare);
            });
            std::mem::swap(data, room);
            run *= 2;
        }
    }
}

/// Writes what comes from `start` on where every two neighbouring runs of `sorted` are merged.
fn merge_part<T: Copy>(
    sorted: &[T],
    run: usize,
    start: usize,
    out: &mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
) {
    let mut done = 0;
    while done < out.len() {
        let place = start + done;
        let first = place - place % (2 * run);
        let pair = &sorted[first..sorted.len().min(first + 2 * run)];
        let (left, right) = pair.split_at(run.min(pair.len()));
        let mut i = taken_from_left(left, right, place - first, compare);
        let mut j = place - first - i;
        let end = out.len().min(done + pair.len() - (place - first));
        for out in &mut out[done..end] {
            let is_left = match (left.get(i), right.get(j)) {
                (Some(a), Some(b)) => compare(a, b).is_le(),
                (left, _) => left.is_some(),
            };
            *out = if is_left { left[i] } else { right[j] };
            i += usize::from(is_left);
            j += usize::from(!is_left);
        }
        done = end;
    }
}

/// How many of the first `count` elements of two merged runs are from the left one.
fn taken_from_left<T>(
    left: &[T],
    right: &[T],
    count: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> usize {
    let (mut low, mut high) = (count.saturating_sub(right.len()), count.min(left.len()));
    while low < high {
        let middle = low.midpoint(high);
        // The last of the right run that would be taken, against the next of the left one.
        match compare(&left[middle], &right[count - middle - 1]).is_le() {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_threads_sorts_as_one_does() {
        let lengths: &[usize] = if cfg!(miri) {
            &[0, 1, 5, 40]
        } else {
            &[0, 1, 2, 3, 5, 16, 17, 1000, 10_007]
        };
        for &length in lengths {
            let scrambled = |k: usize| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
            // Many have the same key: their numbers decide.
            let data: Vec<(u64, u32)> = (0..length).map(|k| (scrambled(k), k as u32)).collect();
            let mut sorted = data.clone();
            sorted.sort_unstable();
            for threads in [1, 2, 3, 4, 7, 16] {
                let (mut own, mut room) = (data.clone(), vec![(9, 9); 3]);
                Team::new(threads).sort_by(&mut own, &mut room, Ord::cmp);
                assert_eq!(own, sorted, "{length} by {threads} threads");
            }
        }
    }
}
