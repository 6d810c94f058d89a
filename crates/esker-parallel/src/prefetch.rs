//! Telling the processor what will be read soon.
//!
//! `unsafe`: the instruction may be given any address; it never faults.

/// Asks for element `index` of a slice to be brought near, if there is one:
/// worth it where indices are known well ahead and jump about.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::from_ref(element).cast::<i8>();
        // SAFETY: SSE is part of x86-64, and a prefetch does nothing but read
        // into caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
