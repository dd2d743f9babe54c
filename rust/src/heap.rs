// SPDX-License-Identifier: MIT
//! heap - announces memory that malloc does not know.

use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr;

use crate::symbols;
use crate::text::with_name;

/// A heap that the program announces: an arena, a pool, memory of a GPU. Reports show it beside the heap of the global
/// allocator: `plimsoll report --heap NAME`. Heaps of the same name are shown as one. Without the profiler, nothing is
/// done.
///
/// The heap is destroyed, and with it all its blocks, when this value is dropped.
///
/// ```
/// let heap = plimsoll::Heap::new("arena");
/// let mut chunk = vec![0u8; 4096];
/// heap.took(chunk.as_mut_ptr(), chunk.len());
/// heap.allocated(chunk.as_mut_ptr(), 100); // the arena has given 100 bytes to somebody
/// heap.freed(chunk.as_ptr());
/// ```
pub struct Heap<'above> {
    handle: *mut c_void,
    above: PhantomData<&'above ()>,
}

// SAFETY: the functions of plimsoll.h may be called by all threads with the same handle.
unsafe impl Send for Heap<'_> {}
unsafe impl Sync for Heap<'_> {}

fn create<'above>(name: &str, above: *mut c_void) -> Heap<'above> {
    let handle = match symbols::heap_create() {
        // SAFETY: `above` is null or a handle whose heap exists as long as this one.
        Some(create) => with_name(name, |name| unsafe { create(name, above) }),
        None => ptr::null_mut(),
    };
    Heap { handle, above: PhantomData }
}

// SAFETY of all calls: the handle is valid until it is dropped, or null, and blocks are never read.
impl Heap<'static> {
    /// Announces a heap.
    pub fn new(name: &str) -> Heap<'static> {
        create(name, ptr::null_mut())
    }
}

impl Heap<'_> {
    /// Announces a heap that is a part of this one, as pools in pools are.
    ///
    /// ```
    /// let server = plimsoll::Heap::new("server");
    /// let request = server.below("request");
    /// # drop(request);
    /// ```
    pub fn below(&self, name: &str) -> Heap<'_> {
        create(name, self.handle)
    }

    /// A block of so many bytes was allocated in the heap. The caller is where reports say that it was.
    #[inline]
    pub fn allocated<T>(&self, block: *mut T, bytes: usize) {
        if let Some(allocated) = symbols::heap_allocated() {
            unsafe { allocated(self.handle, block.cast(), bytes) }
        }
    }

    /// A block has taken the place of another one.
    #[inline]
    pub fn reallocated<T>(&self, old: *const T, block: *mut T, bytes: usize) {
        if let Some(reallocated) = symbols::heap_reallocated() {
            unsafe { reallocated(self.handle, old.cast(), block.cast(), bytes) }
        }
    }

    /// A block was freed. To be called before another thread may get its address.
    #[inline]
    pub fn freed<T>(&self, block: *const T) {
        if let Some(freed) = symbols::heap_freed() {
            unsafe { freed(self.handle, block.cast()) }
        }
    }

    /// The heap has taken a chunk from the global allocator, or from another heap.
    #[inline]
    pub fn took<T>(&self, chunk: *mut T, bytes: usize) {
        if let Some(took) = symbols::heap_took() {
            unsafe { took(self.handle, chunk.cast(), bytes) }
        }
    }

    /// The heap has given a chunk back.
    #[inline]
    pub fn gave<T>(&self, chunk: *const T) {
        if let Some(gave) = symbols::heap_gave() {
            unsafe { gave(self.handle, chunk.cast()) }
        }
    }

    /// All blocks were freed at once, and all chunks given back.
    pub fn clear(&mut self) {
        if let Some(clear) = symbols::heap_clear() {
            unsafe { clear(self.handle) }
        }
    }
}

impl Drop for Heap<'_> {
    fn drop(&mut self) {
        if let Some(destroy) = symbols::heap_destroy() {
            unsafe { destroy(self.handle) }
        }
    }
}

impl fmt::Debug for Heap<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Heap").finish_non_exhaustive()
    }
}
