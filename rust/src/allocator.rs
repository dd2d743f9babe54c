// SPDX-License-Identifier: MIT
//! allocator - a global allocator that uses the C heap.
//!
//! Each request becomes one call of the C allocator, the same that std's `System` would make, and the profiler sees
//! that call. So allocations of Rust and C are in one profile, and each is counted once.

use std::alloc::{GlobalAlloc, Layout};
use std::io;

use crate::stats::{stats, Stats};

/// A global allocator that forwards every request to the C allocator, where Plimsoll sees it.
///
/// ```
/// #[global_allocator]
/// static GLOBAL: plimsoll::ProfAllocator = plimsoll::ProfAllocator;
///
/// fn main() {
///     let kept = vec![0u8; 1000];
///     if let Ok(stats) = plimsoll::ProfAllocator::stats() {
///         println!("{} bytes are live", stats.live_bytes);
///     }
/// #   drop(kept);
/// }
/// ```
///
/// It counts nothing itself, and costs no more than [`std::alloc::System`], which programs use by default on Linux and
/// which the profiler sees as well. It is for programs that
///
/// - would otherwise use another allocator, such as jemalloc with prefixed names (`_rjem_malloc`), which no profiler of
///   `malloc` sees;
/// - want to make sure, at compile time, that their heap is the one that is profiled;
/// - want to be profiled in every run, by the feature `link`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfAllocator;

impl ProfAllocator {
    /// The same as writing `ProfAllocator`.
    ///
    /// ```
    /// #[global_allocator]
    /// static GLOBAL: plimsoll::ProfAllocator = plimsoll::ProfAllocator::new();
    /// # fn main() {}
    /// ```
    pub const fn new() -> ProfAllocator {
        ProfAllocator
    }

    /// [`plimsoll::stats`](crate::stats()): figures of the whole process, Rust and C together.
    ///
    /// ```
    /// assert_eq!(plimsoll::ProfAllocator::stats().is_ok(), plimsoll::loaded());
    /// ```
    pub fn stats() -> io::Result<Stats> {
        stats()
    }
}

// SAFETY: forwards everything to an allocator that fulfils the contract.
unsafe impl GlobalAlloc for ProfAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        heap::HEAP.alloc(layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        heap::HEAP.alloc_zeroed(layout)
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        heap::HEAP.realloc(block, layout, new_size)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        heap::HEAP.dealloc(block, layout)
    }
}

#[cfg(not(unix))]
mod heap {
    pub(super) const HEAP: std::alloc::System = std::alloc::System;
}

/// Not `System`: the reference to malloc from this crate makes the linker keep libplimsoll.so, and put it before the C
/// library, even if it drops libraries that are not needed.
#[cfg(unix)]
mod heap {
    use std::alloc::{GlobalAlloc, Layout};
    use std::ffi::c_void;
    use std::mem::size_of;
    use std::os::raw::c_int;
    use std::ptr::{copy_nonoverlapping, null_mut, write_bytes};

    #[cfg_attr(feature = "link", link(name = "plimsoll"))]
    extern "C" {
        fn malloc(size: usize) -> *mut c_void;
        fn calloc(count: usize, size: usize) -> *mut c_void;
        fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
        fn posix_memalign(block: *mut *mut c_void, align: usize, size: usize) -> c_int;
        fn free(block: *mut c_void);
    }

    /// The alignment that malloc() guarantees: two words. For smaller blocks it may be less, so sizes are checked too.
    const MALLOC_ALIGN: usize = 2 * size_of::<usize>();

    fn by_malloc(align: usize, size: usize) -> bool {
        align <= MALLOC_ALIGN && align <= size
    }

    pub(super) const HEAP: CHeap = CHeap;
    pub(super) struct CHeap;

    // SAFETY: all blocks come from the C allocator and are large enough and aligned; free() frees all of them.
    unsafe impl GlobalAlloc for CHeap {
        #[inline]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if by_malloc(layout.align(), layout.size()) {
                return malloc(layout.size()).cast();
            }
            let mut block = null_mut();
            match posix_memalign(&mut block, layout.align().max(size_of::<usize>()), layout.size()) {
                0 => block.cast(),
                _ => null_mut(),
            }
        }

        #[inline]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if by_malloc(layout.align(), layout.size()) {
                return calloc(layout.size(), 1).cast();
            }
            let block = self.alloc(layout);
            if !block.is_null() {
                write_bytes(block, 0, layout.size());
            }
            block
        }

        #[inline]
        unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
            if by_malloc(layout.align(), new_size) {
                return realloc(block.cast(), new_size).cast();
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                copy_nonoverlapping(block, moved, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            moved
        }

        #[inline]
        unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
            free(block.cast())
        }
    }

    /// Keeps the library linked in programs that do not use ProfAllocator.
    #[cfg(feature = "link")]
    pub(crate) unsafe fn keep_linked() {
        free(null_mut())
    }
}

#[cfg(all(unix, feature = "link"))]
pub(crate) use heap::keep_linked;
