// SPDX-License-Identifier: MIT
//! symbols - the functions of plimsoll.h, looked up at run time.
//!
//! Each is looked up once, by its name, with dlsym(). So nothing needs to be linked, and the same binary runs with the
//! profiler and without. Without it, a call costs one load and a branch that is always taken.
//!
//! Invariant: a symbol changes once, from UNKNOWN to its address, or to null if it does not exist. Threads that look it
//! up at the same time get the same result.

use std::ffi::c_void;
use std::os::raw::{c_char, c_int};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::stats::Stats;

/// Not looked up yet. No function and no tag has this address.
pub(crate) const UNKNOWN: *mut c_void = NonNull::dangling().as_ptr();

struct Symbol {
    name: &'static str, // ends with a NUL
    at: AtomicPtr<c_void>,
}

impl Symbol {
    const fn new(name: &'static str) -> Self {
        Symbol { name, at: AtomicPtr::new(UNKNOWN) }
    }

    #[inline(always)]
    fn find(&self) -> *mut c_void {
        let at = self.at.load(Relaxed);
        if at.is_null() {
            return at; // checked first: a program that is not profiled must be fast
        }
        if at == UNKNOWN {
            return self.look_up();
        }
        at
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> *mut c_void {
        let at = look_up(self.name);
        self.at.store(at, Relaxed);
        at
    }
}

#[cfg(target_os = "linux")]
fn look_up(name: &'static str) -> *mut c_void {
    extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
        fn dlerror() -> *const c_char;
    }
    const RTLD_DEFAULT: *mut c_void = std::ptr::null_mut();

    // SAFETY: the name ends with a NUL; the error text is not read.
    unsafe {
        #[cfg(feature = "link")]
        crate::allocator::keep_linked();
        let at = dlsym(RTLD_DEFAULT, name.as_ptr().cast());
        if at.is_null() {
            dlerror(); // clears our error, which the program could take for its own
        }
        at
    }
}

#[cfg(not(target_os = "linux"))]
fn look_up(_name: &'static str) -> *mut c_void {
    std::ptr::null_mut()
}

/// Defines a function for each line. It returns the function of plimsoll.h, if that exists.
macro_rules! functions {
    ($($name:ident: $symbol:literal, fn($($argument:ty),*) $(-> $result:ty)?;)*) => {$(
        #[inline(always)]
        pub(crate) fn $name() -> Option<unsafe extern "C" fn($($argument),*) $(-> $result)?> {
            static SYMBOL: Symbol = Symbol::new(concat!($symbol, "\0"));
            // SAFETY: null is None, and anything else the function that plimsoll.h declares with this type.
            unsafe { std::mem::transmute(SYMBOL.find()) }
        }
    )*};
}

pub(crate) type See = extern "C" fn(*mut c_void, *const c_char, u64) -> c_int;

functions! {
    push: "plimsoll_push", fn(*const c_char);
    pop: "plimsoll_pop", fn();
    prepare: "plimsoll_prepare", fn(*const c_char) -> *mut c_void;
    enter: "plimsoll_enter", fn(*const c_void);
    capture: "plimsoll_capture", fn() -> u64;
    adopt: "plimsoll_adopt", fn(u64) -> u64;
    heap_create: "plimsoll_heap_create", fn(*const c_char, *mut c_void) -> *mut c_void;
    heap_clear: "plimsoll_heap_clear", fn(*mut c_void);
    heap_destroy: "plimsoll_heap_destroy", fn(*mut c_void);
    heap_allocated: "plimsoll_heap_allocated", fn(*mut c_void, *mut c_void, usize);
    heap_reallocated: "plimsoll_heap_reallocated", fn(*mut c_void, *const c_void, *mut c_void, usize);
    heap_freed: "plimsoll_heap_freed", fn(*mut c_void, *const c_void);
    heap_took: "plimsoll_heap_took", fn(*mut c_void, *mut c_void, usize);
    heap_gave: "plimsoll_heap_gave", fn(*mut c_void, *const c_void);
    loaded: "plimsoll_loaded", fn() -> c_int;
    active: "plimsoll_active", fn() -> c_int;
    start: "plimsoll_start", fn();
    stop: "plimsoll_stop", fn();
    pause: "plimsoll_pause", fn();
    resume: "plimsoll_resume", fn();
    reset: "plimsoll_reset", fn();
    sample: "plimsoll_sample", fn(u64) -> c_int;
    sizes: "plimsoll_sizes", fn(u64, u64) -> c_int;
    snapshot: "plimsoll_snapshot", fn(*const c_char) -> c_int;
    snapshot_if_due: "plimsoll_snapshot_if_due", fn() -> c_int;
    write: "plimsoll_write", fn(*const c_char) -> c_int;
    output: "plimsoll_output", fn(c_int);
    stats: "plimsoll_stats", fn(*mut Stats, usize) -> c_int;
    thread_stats: "plimsoll_thread_stats", fn(*mut Stats, usize) -> c_int;
    tag_stats: "plimsoll_tag_stats", fn(u64, *mut Stats, usize) -> c_int;
    pairs: "plimsoll_pairs", fn(See, *mut c_void) -> c_int;
}
