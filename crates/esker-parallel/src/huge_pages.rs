//! Large pages for large arrays.
//!
//! A sweep jumps between bodies and contacts over tens of megabytes. With
//! pages of 4 KiB nearly every jump also has to look up its page; with pages
//! of 2 MiB the processor remembers them all. Linux gives them to whom asks.
//!
//! `unsafe`: an allocator hands out raw memory. All of it comes from, and goes
//! back to, [`System`] with one and the same changed alignment per layout.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes of a large page; arrays of two or more ask for them.
const PAGE: usize = 2 << 20;

/// The system's allocator, with large pages for arrays of several megabytes
/// where the system has them. For `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

/// The layout to ask the system for: a function of the layout alone, so that
/// memory is given back as it was taken.
fn widened(layout: Layout) -> Option<Layout> {
    if layout.size() < 2 * PAGE {
        return None;
    }
    let align = layout.align().max(PAGE);
    Layout::from_size_align(layout.size(), align).ok()
}

// SAFETY: every method passes its caller's promises on to `System`, with a
// layout that depends on the caller's layout only.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(wide) = widened(layout) else {
            // SAFETY: the caller's promises, passed on.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: as large as the caller's layout, which is not empty.
        let memory = unsafe { System.alloc(wide) };
        if !memory.is_null() {
            // SAFETY: just taken, with this size.
            unsafe { ask_for_large_pages(memory, wide.size()) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: taken by `alloc` with the same layout, widened in the same way.
        unsafe { System.dealloc(memory, widened(layout).unwrap_or(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if widened(layout).is_none() {
            // SAFETY: the caller's promises, passed on.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as above.
        let memory = unsafe { self.alloc(layout) };
        if !memory.is_null() {
            // SAFETY: just taken, with this size.
            unsafe { memory.write_bytes(0, layout.size()) };
        }
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size is a valid one.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if widened(layout).is_none() && widened(new).is_none() {
            // SAFETY: neither layout is widened, so the memory is the system's
            // as the caller knows it.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: the caller promises that the new size is not zero.
        let moved = unsafe { self.alloc(new) };
        if !moved.is_null() {
            // SAFETY: both hold the bytes copied, and the old one is the
            // caller's to give back.
            unsafe {
                moved.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
            }
        }
        moved
    }
}

/// A wish: whatever the system answers, the memory can be used.
///
/// # Safety
/// The memory is the caller's.
unsafe fn ask_for_large_pages(memory: *mut u8, size: usize) {
    // Miri knows no advice.
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the advice changes how the memory is backed, not what is in it;
    // whole pages inside the caller's memory are named.
    unsafe {
        libc::madvise(memory.cast(), size / PAGE * PAGE, libc::MADV_HUGEPAGE);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (memory, size);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grows and shrinks across the size from which large pages are asked for.
    #[test]
    fn what_is_in_memory_survives_growing_and_shrinking() {
        let sizes = [64, 3 * PAGE + 8, 9 * PAGE, PAGE, 5 * PAGE, 24];
        // Miri is too slow to look at every byte.
        let stride = if cfg!(miri) { 8191 } else { 1 };
        let value = |k: usize| (k * 7 + 3) as u8;
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        // SAFETY: every block is used within its size and given back once.
        unsafe {
            let mut memory = HugePages.alloc_zeroed(layout(sizes[0]));
            assert!((0..sizes[0]).all(|k| memory.add(k).read() == 0));
            let mut filled = 0_usize;
            for pair in sizes.windows(2) {
                for k in (filled.next_multiple_of(stride)..pair[0]).step_by(stride) {
                    memory.add(k).write(value(k));
                }
                memory = HugePages.realloc(memory, layout(pair[0]), pair[1]);
                filled = pair[0].min(pair[1]);
                let kept = |k: usize| memory.add(k).read() == value(k);
                assert!((0..filled).step_by(stride).all(kept));
            }
            HugePages.dealloc(memory, layout(sizes[5]));
        }
    }

    #[test]
    fn large_arrays_begin_at_a_page_and_are_zeroed_on_request() {
        let layout = Layout::from_size_align(5 * PAGE, 8).unwrap();
        // SAFETY: used within its size and given back once.
        unsafe {
            let memory = HugePages.alloc_zeroed(layout);
            assert_eq!(memory as usize % PAGE, 0);
            assert!(
                (0..layout.size())
                    .step_by(if cfg!(miri) { 65_521 } else { 513 })
                    .all(|k| memory.add(k).read() == 0)
            );
            HugePages.dealloc(memory, layout);
        }
    }
}
