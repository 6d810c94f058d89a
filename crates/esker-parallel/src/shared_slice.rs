//! A slice that several threads write to, each in its own places.

use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice shared by threads that promise to touch disjoint elements
/// between two barriers.
#[derive(Debug)]
pub struct SharedSlice<'a, T> {
    pointer: *mut T,
    length: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

impl<T> Clone for SharedSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedSlice<'_, T> {}

// SAFETY: the slice is exclusively borrowed for 'a, and every access goes
// through an unsafe method whose caller promises that no other thread touches
// the same element without a barrier in between.
unsafe impl<T: Send> Send for SharedSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedSlice<'_, T> {}

impl<'a, T> SharedSlice<'a, T> {
    /// Shares a slice for as long as it is borrowed.
    pub fn new(slice: &'a mut [T]) -> Self {
        SharedSlice {
            pointer: slice.as_mut_ptr(),
            length: slice.len(),
            lifetime: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The first element's address, for kernels that index by themselves.
    pub fn as_mut_ptr(&self) -> *mut T {
        self.pointer
    }

    /// A part of the slice.
    ///
    /// # Safety
    /// While the part is alive no other reference to its elements may be used.
    ///
    /// # Panics
    /// When the range leaves the slice.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.length);
        // SAFETY: in bounds by the line above, alone by the caller's promise.
        unsafe {
            std::slice::from_raw_parts_mut(self.pointer.add(range.start), range.end - range.start)
        }
    }

    /// One element.
    ///
    /// # Safety
    /// As for [`SharedSlice::part`].
    ///
    /// # Panics
    /// When the index leaves the slice.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn at(&self, index: usize) -> &'a mut T {
        assert!(index < self.length);
        // SAFETY: in bounds by the line above, alone by the caller's promise.
        unsafe { &mut *self.pointer.add(index) }
    }
}
