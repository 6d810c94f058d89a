//! Telling the processor what will be read soon.
//!
//! `unsafe`: the instruction may be given any address; it never faults.

/// Asks for the line at an address to be brought near: worth it where
/// addresses are known well ahead and jump about. The address need not be valid.
#[inline(always)]
pub fn prefetch_address<T>(address: *const T) {
    // Miri has no caches.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch does nothing but read
        // into caches, if it can.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Asks for element `index` of a slice, if there is one.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(element) = slice.get(index) {
        prefetch_address(element);
    }
}
