//! Memory that a device and the host have together, cut into arrays.
//!
//! A [`DeviceMemory`] is memory of the device and as much of the host's, its staging; ranges are copied
//! from one to the other. A [`Layout`] says which array is where in both.
//!
//! `unsafe`: arrays are views into staging memory. Only numbers lie there ([`Plain`]), for which
//! any bits are a value.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;

use esker_contact::BodyState;
use esker_parallel::SharedSlice;
use esker_solver::device::DeviceError;
use glam::{DQuat, DVec3};

use crate::layout::{BlockRecord, LawRecord, OriginalRecord, StepRecord, TurnsRecord};

/// Types for which all bits are a value.
///
/// # Safety
/// They are that, and have no padding that matters.
pub unsafe trait Plain: Copy + Send {}

macro_rules! plain {
    ($($type:ty),*) => {
        // SAFETY: numbers, and records of numbers and addresses.
        $(unsafe impl Plain for $type {})*
    };
}

plain!(
    u16,
    u32,
    u64,
    f32,
    f64,
    BodyState,
    BlockRecord,
    LawRecord,
    OriginalRecord,
    StepRecord,
    TurnsRecord,
    DVec3,
    DQuat
);

/// Where arrays begin: enough for any load of a device.
const ALIGNMENT: usize = 256;

/// An array within a memory.
#[derive(Debug)]
pub struct Array<T> {
    offset: usize,
    count: usize,
    of: PhantomData<T>,
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<T> {}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Array {
            offset: 0,
            count: 0,
            of: PhantomData,
        }
    }
}

impl<T> Array<T> {
    /// Address of its first entry on the device.
    pub fn address(&self, memory: &impl DeviceMemory) -> u64 {
        memory.address() + self.offset as u64
    }

    /// How many entries it has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Its bytes within the memory.
    pub fn bytes(&self) -> Range<usize> {
        self.offset..self.offset + self.count * size_of::<T>()
    }
}

/// Places arrays one after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    end: usize,
}

impl Layout {
    /// Makes room for an array.
    pub fn array<T: Plain>(&mut self, count: usize) -> Array<T> {
        let offset = self.end.next_multiple_of(ALIGNMENT);
        self.end = offset + count * size_of::<T>();
        Array {
            offset,
            count,
            of: PhantomData,
        }
    }

    /// Several arrays of one length.
    pub fn arrays<T: Plain, const N: usize>(&mut self, count: usize) -> [Array<T>; N] {
        std::array::from_fn(|_| self.array(count))
    }

    /// Bytes up to here.
    pub fn end(&self) -> usize {
        self.end
    }
}

/// Memory of a device with staging memory of the host, both aligned to 256 bytes.
pub trait DeviceMemory: Debug + Send + Sync {
    /// Address on the device.
    fn address(&self) -> u64;

    /// First byte of the staging memory; null where it has none.
    fn staging(&self) -> *mut u8;

    /// Bytes of either.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins to copy a range to the device.
    fn upload(&mut self, range: Range<usize>) -> Result<(), DeviceError>;

    /// Begins to copy a range to the host; [`crate::Executor::wait`] waits for it.
    fn download(&mut self, range: Range<usize>) -> Result<(), DeviceError>;
}

/// An array in staging memory, to be written.
pub fn staged_mut<T: Plain, M: DeviceMemory>(memory: &mut M, array: Array<T>) -> &mut [T] {
    assert!(array.bytes().end <= memory.len() && !memory.staging().is_null());
    // SAFETY: within the memory, aligned, alone by the borrow; all bits are values.
    unsafe {
        std::slice::from_raw_parts_mut(memory.staging().add(array.offset).cast(), array.count)
    }
}

/// An array in staging memory, to be read.
pub fn staged<T: Plain, M: DeviceMemory>(memory: &M, array: Array<T>) -> &[T] {
    assert!(array.bytes().end <= memory.len() && !memory.staging().is_null());
    // SAFETY: as above, and nobody writes while it is borrowed.
    unsafe { std::slice::from_raw_parts(memory.staging().add(array.offset).cast(), array.count) }
}

/// An array in staging memory that threads fill, each in its own places.
///
/// # Safety
/// No two arrays that are shared at the same time overlap.
pub unsafe fn shared<T: Plain, M: DeviceMemory>(memory: &M, array: Array<T>) -> SharedSlice<'_, T> {
    assert!(array.bytes().end <= memory.len() && !memory.staging().is_null());
    // SAFETY: within the memory, aligned, and apart from others by the caller's promise.
    SharedSlice::new(unsafe {
        std::slice::from_raw_parts_mut(memory.staging().add(array.offset).cast(), array.count)
    })
}
