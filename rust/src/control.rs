// SPDX-License-Identifier: MIT
//! control - lets the program decide what is recorded, and when it is written.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::os::raw::c_int;
use std::path::Path;

use crate::scope::OfThisThread;
use crate::symbols;
use crate::text::{with_name, with_path};

const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;

/// Turns the result of a function of plimsoll.h into a number or an error. None: the function does not exist.
pub(crate) fn answer(said: Option<c_int>) -> io::Result<c_int> {
    match said.unwrap_or(-ENOSYS) {
        error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        number => Ok(number),
    }
}

/// Whether the profiler is loaded in this process.
///
/// ```
/// if !plimsoll::loaded() {
///     eprintln!("start me with `plimsoll run`");
/// }
/// ```
#[inline]
pub fn loaded() -> bool {
    // SAFETY: may be called at any time. The same holds for all calls in this file that have no such comment.
    symbols::loaded().map_or(false, |loaded| unsafe { loaded() } != 0)
}

/// Whether this thread's allocations are being recorded: the profiler is loaded, not stopped, and not paused.
///
/// ```
/// let _paused = plimsoll::pause();
/// assert!(!plimsoll::active());
/// ```
#[inline]
pub fn active() -> bool {
    symbols::active().map_or(false, |active| unsafe { active() } != 0)
}

/// Starts recording in the whole process, after [`stop`], or in a program that began stopped, with `PLIMSOLL_OFF=1` in
/// its environment. This thread starts at once, other threads after at most 64 KiB of further allocations.
///
/// ```
/// plimsoll::start();
/// assert_eq!(plimsoll::active(), plimsoll::loaded());
/// ```
pub fn start() {
    if let Some(start) = symbols::start() {
        unsafe { start() }
    }
}

/// Stops recording in the whole process. Calls and bytes are still counted, under the tag "(off)". Blocks allocated
/// meanwhile are not recorded; frees of blocks recorded before still are. This thread stops at once, other threads at
/// their next allocation or, in sampled mode, after the rest of their sampling interval.
///
/// ```
/// plimsoll::stop();
/// assert!(!plimsoll::active());
/// # plimsoll::start();
/// ```
pub fn stop() {
    if let Some(stop) = symbols::stop() {
        unsafe { stop() }
    }
}

/// Stops recording in this thread until the guard is dropped, under the tag "(paused)". Guards may nest.
///
/// ```
/// let noise = {
///     let _paused = plimsoll::pause();
///     vec![0u8; 1 << 20]
/// };
/// # drop(noise);
/// ```
#[inline]
pub fn pause() -> Paused {
    if let Some(pause) = symbols::pause() {
        unsafe { pause() }
    }
    Paused { here: PhantomData }
}

/// While it exists, this thread's allocations are not recorded. Made by [`pause`].
///
/// ```
/// let _paused: plimsoll::Paused = plimsoll::pause();
/// ```
#[must_use = "the pause ends where its guard does: keep it in a variable (`let _paused = ...`, not `let _ = ...`)"]
pub struct Paused {
    here: OfThisThread,
}

impl Drop for Paused {
    #[inline]
    fn drop(&mut self) {
        if let Some(resume) = symbols::resume() {
            unsafe { resume() }
        }
    }
}

impl fmt::Debug for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paused").finish_non_exhaustive()
    }
}

/// Resets the profile: reports only include what is allocated from now on.
///
/// ```
/// let start_up = vec![0u8; 1 << 16];
/// plimsoll::reset();
/// # drop(start_up);
/// ```
pub fn reset() {
    if let Some(reset) = symbols::reset() {
        unsafe { reset() }
    }
}

/// Sets the sampling interval: from now on one sample per so many bytes on average, whatever mode the profiler was
/// started in. 0: back to the mode it was started in.
///
/// ```
/// if plimsoll::loaded() {
///     plimsoll::sample(512 << 10).unwrap();
///     assert!(plimsoll::sample(2 << 40).is_err()); // more than 1 TiB
/// }
/// ```
pub fn sample(bytes: u64) -> io::Result<()> {
    answer(symbols::sample().map(|sample| unsafe { sample(bytes) })).map(drop)
}

/// Records stacks only for allocations of these sizes. Other allocations are counted per thread and tag, in one site
/// named "(other sizes)".
///
/// ```
/// if plimsoll::loaded() {
///     plimsoll::sizes(4096..).unwrap();
///     plimsoll::sizes(1024..=65536).unwrap();
///     plimsoll::sizes(..).unwrap(); // all
/// }
/// ```
pub fn sizes(sizes: impl RangeBounds<u64>) -> io::Result<()> {
    let said = symbols::sizes().map(|set| match bounds(&sizes) {
        Some((from, to)) => unsafe { set(from, to) },
        None => -EINVAL,
    });
    answer(said).map(drop)
}

/// The first and last size of a range; None if it is empty.
fn bounds(sizes: &impl RangeBounds<u64>) -> Option<(u64, u64)> {
    let from = match sizes.start_bound() {
        Bound::Included(&from) => from,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let to = match sizes.end_bound() {
        Bound::Included(&to) => to,
        Bound::Excluded(&beyond) => beyond.checked_sub(1)?,
        Bound::Unbounded => u64::MAX,
    };
    (from <= to).then_some((from, to))
}

/// Takes a snapshot: a copy of the profile as it is now, which is a complete profile, beside the one that will be
/// written at the end. If that is `app.plim`, the snapshot is `app.NAME.plim`. If that file exists, a number is added.
/// `None`: only a number.
///
/// ```
/// plimsoll::snapshot("warm").or_else(|error| match plimsoll::loaded() {
///     true => Err(error),
///     false => Ok(()), // Unsupported, if the profiler is not loaded
/// })?;
/// plimsoll::snapshot(None).ok();
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn snapshot<'a>(name: impl Into<Option<&'a str>>) -> io::Result<()> {
    let said = symbols::snapshot().map(|snapshot| match name.into() {
        // SAFETY: the name ends with a NUL, and is not needed after the call.
        Some(name) => with_name(name, |name| unsafe { snapshot(name) }),
        None => unsafe { snapshot(std::ptr::null()) },
    });
    answer(said).map(drop)
}

/// Takes a numbered snapshot if `PLIMSOLL_SNAPSHOT_EVERY` is set and that much time has passed since the last one.
/// Returns whether it did. Call it in the program's main loop: if none is due it costs some nanoseconds. If the
/// profiler is not loaded, none is ever due.
///
/// ```
/// for _request in 0..3 {
///     plimsoll::snapshot_if_due().ok();
/// }
/// ```
pub fn snapshot_if_due() -> io::Result<bool> {
    match symbols::snapshot_if_due() {
        Some(snapshot_if_due) => answer(Some(unsafe { snapshot_if_due() })).map(|taken| taken != 0),
        None => Ok(false),
    }
}

/// Writes a snapshot to this path, which must not exist.
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("plimsoll-doc-{}", std::process::id()));
/// # std::fs::create_dir(&directory)?;
/// let path = directory.join("now.plim");
/// if plimsoll::loaded() {
///     plimsoll::write(&path)?;
///     assert!(plimsoll::write(&path).is_err()); // it exists now
/// }
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write(path: impl AsRef<Path>) -> io::Result<()> {
    let said = symbols::write().map(|write| {
        // SAFETY: the path ends with a NUL, and is not needed after the call.
        with_path(&bytes_of(path.as_ref()), |path| unsafe { write(path) }).unwrap_or(-EINVAL)
    });
    answer(said).map(drop)
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    Cow::Borrowed(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    Cow::Owned(path.to_string_lossy().into_owned().into_bytes())
}

/// `false`: do not keep the profile when the program ends. `true`: keep it, which is the default.
///
/// ```
/// let nothing_happened = true;
/// plimsoll::output(!nothing_happened);
/// ```
pub fn output(wanted: bool) {
    if let Some(output) = symbols::output() {
        unsafe { output(wanted.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::bounds;

    #[test]
    fn ranges_of_all_kinds_become_first_and_last() {
        assert_eq!(bounds(&(..)), Some((0, u64::MAX)));
        assert_eq!(bounds(&(16..)), Some((16, u64::MAX)));
        assert_eq!(bounds(&(..16)), Some((0, 15)));
        assert_eq!(bounds(&(..=16)), Some((0, 16)));
        assert_eq!(bounds(&(16..17)), Some((16, 16)));
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn empty_ranges_are_none() {
        assert_eq!(bounds(&(..0)), None);
        assert_eq!(bounds(&(5..5)), None);
        assert_eq!(bounds(&(6..=5)), None);
    }
}
