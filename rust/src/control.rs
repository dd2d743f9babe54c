// SPDX-License-Identifier: MIT
//! control - the program says what is recorded, and when it is written.

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

/// What a function of plimsoll.h said: its number, or the error it stands for. None: it is not there.
pub(crate) fn answer(said: Option<c_int>) -> io::Result<c_int> {
    match said.unwrap_or(-ENOSYS) {
        error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        number => Ok(number),
    }
}

/// Whether the profiler is in this process.
///
/// ```
/// if !plimsoll::loaded() {
///     eprintln!("start me with `plimsoll run`");
/// }
/// ```
#[inline]
pub fn loaded() -> bool {
    // SAFETY: may be called at any time, as all that have no such comment here.
    symbols::loaded().map_or(false, |loaded| unsafe { loaded() } != 0)
}

/// Whether what this thread allocates now is recorded: loaded, not stopped, not paused.
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
/// its environment. This thread obeys at once, others may first allocate 64 KiB or what is left of a sampling interval.
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

/// Stops recording in the whole process. Calls and bytes are still counted, under the tag "(off)", and frees of blocks
/// that are known are recorded; blocks allocated meanwhile are not known.
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

/// Stops recording in this thread until the guard is gone, under the tag "(paused)". Guards may nest.
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

/// While it exists, what this thread allocates is not recorded. Made by [`pause`].
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

/// From now on the profile is about what is allocated from now on. What was before is forgotten by reports.
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

/// From now on, take a sample every so many bytes on average, in whatever mode the profiler was started. 0: as it was
/// started.
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

/// Record stacks only of allocations of these sizes. Others are counted, for each thread and tag, in one place named
/// "(other sizes)".
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

/// First and last; None: there is nothing between them.
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

/// Writes a copy of the profile as it is now, which is a profile like any other, beside the one that will be written at
/// the end: `app.plim` has a snapshot `app.NAME.plim`. A name that was used before gets a number, `None` only a number.
///
/// ```
/// plimsoll::snapshot("warm").or_else(|error| match plimsoll::loaded() {
///     true => Err(error),
///     false => Ok(()), // Unsupported, when there is no profiler
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

/// Takes a numbered snapshot if `PLIMSOLL_SNAPSHOT_EVERY` is set, and that much time has passed since the last; says
/// whether it did. For programs that have a loop to call it in: it costs some nanoseconds when none is due. Without a
/// profiler none ever is.
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

/// Writes a copy of the profile as it is now to a file, which must not exist.
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

/// `false`: leave no profile behind when the program ends. `true`: do, as usual.
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
