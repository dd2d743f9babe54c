// SPDX-License-Identifier: MIT
//! stats - the profile's figures, for the program itself.

use std::any::Any;
use std::ffi::{c_void, CStr};
use std::io;
use std::mem::size_of;
use std::os::raw::{c_char, c_int};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use crate::control::answer;
use crate::symbols;

/// The number of buckets in a histogram of sizes.
///
/// ```
/// assert_eq!(plimsoll::Stats::default().allocated_sizes.len(), plimsoll::SIZES);
/// ```
pub const SIZES: usize = 22;

/// The number of calls of each allocation function. `aligned` is `posix_memalign` and similar functions, which Rust
/// uses for alignments above 16; `new` is C++'s `operator new`, if the allocator's does not call `malloc`.
///
/// ```
/// let calls = plimsoll::Stats::default().calls_of;
/// assert_eq!(calls.malloc + calls.calloc + calls.realloc + calls.aligned + calls.new, 0);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Calls {
    pub malloc: u64,
    pub calloc: u64,
    pub realloc: u64,
    pub aligned: u64,
    pub new: u64,
}

/// One bucket of a histogram of sizes.
///
/// ```
/// let bucket = plimsoll::Bucket::default();
/// assert_eq!((bucket.blocks, bucket.bytes), (0, 0));
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Bucket {
    pub blocks: u64,
    pub bytes: u64,
}

/// Figures of the process, a thread or a tag: see [`stats`], [`thread_stats`] and
/// [`Context::stats`](crate::Context::stats).
///
/// `calls`, `calls_of`, `allocated_bytes` and `entered` are always exact. The other figures are exact if
/// [`is_exact`](Stats::is_exact) returns true, and estimates otherwise.
///
/// ```
/// let kept = vec![0u8; 1000];
/// if let Ok(stats) = plimsoll::stats() {
///     assert!(stats.allocated_bytes >= 1000);
///     assert!(!stats.is_exact() || stats.live_bytes >= 1000);
/// }
/// # drop(kept);
/// ```
#[repr(C)] // struct plimsoll_stats of plimsoll.h
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Calls of all allocation functions.
    pub calls: u64,
    /// Calls of each allocation function.
    pub calls_of: Calls,
    /// Bytes requested.
    pub allocated_bytes: u64,
    /// Blocks freed, by any thread.
    pub freed_blocks: u64,
    /// Bytes freed, by any thread.
    pub freed_bytes: u64,
    /// Blocks not freed yet.
    pub live_blocks: u64,
    /// Bytes not freed yet.
    pub live_bytes: u64,
    /// Bytes live when the whole heap was largest.
    pub peak_bytes: u64,
    /// How often tags were entered.
    pub entered: u64,
    /// How many threads these figures include.
    pub threads: u64,
    /// How many tags these figures include.
    pub tags: u64,
    exact: u64,
    /// Virtual memory of the process; 0 for a thread or tag.
    pub vm_bytes: u64,
    /// RSS of the process; 0 for a thread or tag.
    pub rss_bytes: u64,
    /// Allocated blocks by size: `[0]` is up to 15 bytes, `[1]` 16 to 31, `[2]` 32 to 63, and so on; `[21]` 16 MiB and
    /// more. Of the process or thread; 0 for a tag.
    pub allocated_sizes: [Bucket; SIZES],
    /// Live blocks by size, of the process; 0 for a thread or tag.
    pub live_sizes: [Bucket; SIZES],
}

impl Stats {
    /// Whether every figure is exact.
    ///
    /// ```
    /// assert!(!plimsoll::Stats::default().is_exact());
    /// ```
    pub fn is_exact(&self) -> bool {
        self.exact != 0
    }
}

pub(crate) fn fill(get: impl FnOnce(*mut Stats, usize) -> Option<c_int>) -> io::Result<Stats> {
    let mut stats = Stats::default();
    answer(get(&mut stats, size_of::<Stats>()))?;
    Ok(stats)
}

/// Figures of the whole process, Rust and C together. The error is of kind
/// [`Unsupported`](std::io::ErrorKind::Unsupported) if the profiler is not loaded.
///
/// ```
/// match plimsoll::stats() {
///     Ok(stats) => println!("{} bytes live, {} at the peak", stats.live_bytes, stats.peak_bytes),
///     Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::Unsupported),
/// }
/// ```
pub fn stats() -> io::Result<Stats> {
    // SAFETY: `out` has room for `bytes` bytes.
    fill(|out, bytes| symbols::stats().map(|get| unsafe { get(out, bytes) }))
}

/// Figures of this thread. Blocks that it has allocated count as its own even if other threads free them.
///
/// ```
/// if let (Ok(mine), Ok(all)) = (plimsoll::thread_stats(), plimsoll::stats()) {
///     assert!(mine.calls <= all.calls);
/// }
/// ```
pub fn thread_stats() -> io::Result<Stats> {
    // SAFETY: as above.
    fill(|out, bytes| symbols::thread_stats().map(|get| unsafe { get(out, bytes) }))
}

/// All figures as pairs of key and number, for a metrics system or a log:
///
/// ```text
/// process.calls, process.live_bytes, process.rss_bytes, ...
/// worker-1.request/parse.calls, worker-1.request/parse.live_bytes, ...       thread.tag.metric
/// ```
///
/// Allocations under no tag have the tag `-`. Threads of the same name have the same keys: add their numbers up.
///
/// ```
/// let mut live = std::collections::HashMap::new();
/// let outcome = plimsoll::pairs(|key, number| {
///     if key.ends_with(".live_bytes") {
///         *live.entry(key.to_string()).or_insert(0) += number;
///     }
/// });
/// assert_eq!(outcome.is_ok(), plimsoll::loaded());
/// assert_eq!(live.contains_key("process.live_bytes"), plimsoll::loaded());
/// ```
pub fn pairs<F: FnMut(&str, u64)>(see: F) -> io::Result<()> {
    let pairs = match symbols::pairs() {
        Some(pairs) => pairs,
        None => return answer(None).map(drop),
    };
    let mut seer = Seer { see, panic: None };
    // SAFETY: `seer` outlives the call, which passes it to see_pair::<F>() only.
    let said = unsafe { pairs(see_pair::<F>, (&mut seer as *mut Seer<F>).cast()) };
    if let Some(panic) = seer.panic {
        resume_unwind(panic);
    }
    answer(Some(said)).map(drop)
}

struct Seer<F> {
    see: F,
    panic: Option<Box<dyn Any + Send>>,
}

/// A panic must not unwind through C: it is stored in the seer, and plimsoll_pairs() is told to end.
extern "C" fn see_pair<F: FnMut(&str, u64)>(seer: *mut c_void, key: *const c_char, number: u64) -> c_int {
    // SAFETY: pairs() made the seer; the key ends with a NUL.
    let (seer, key) = unsafe { (&mut *seer.cast::<Seer<F>>(), CStr::from_ptr(key)) };
    let seen = catch_unwind(AssertUnwindSafe(|| (seer.see)(&key.to_string_lossy(), number)));
    seer.panic = seen.err();
    seer.panic.is_some().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_are_laid_out_as_in_c() {
        assert_eq!(size_of::<Stats>(), (1 + 5 + 12 + 2 * 2 * SIZES) * 8);
    }
}
