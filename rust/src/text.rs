// SPDX-License-Identifier: MIT
//! text - passes text to C without allocating, because our own allocations would be in the profile.
//!
//! Text is written to a buffer on the stack. Most names are short, and the first buffer is small. A longer name is
//! written again, to a buffer for the longest name that the profiler keeps. An even longer name is cut a little beyond
//! that, so that the profiler notices and counts it. It ends in a hash of the rest, so that two names with the same
//! beginning stay different.

use std::fmt;
use std::mem::MaybeUninit;
use std::os::raw::c_char;

const SHORT: usize = 512;
const LONG: usize = (64 << 10) + TAIL;
const TAIL: usize = 16 + 1; // the hash, in digits, and a NUL
const PATH: usize = 4096 - 1 + TAIL;

/// A NUL inside a name would end it, so it is replaced by this symbol.
const NUL: &str = "\u{2400}";

struct Text<const ROOM: usize> {
    bytes: [MaybeUninit<u8>; ROOM],
    used: usize,
    cut: bool,
    rest: u64, // FNV-1a of the bytes that did not fit
}

impl<const ROOM: usize> Text<ROOM> {
    fn new() -> Self {
        Text { bytes: [MaybeUninit::uninit(); ROOM], used: 0, cut: false, rest: 0xcbf2_9ce4_8422_2325 }
    }

    fn put(&mut self, more: &[u8]) {
        let kept = more.len().min(ROOM - TAIL - self.used);
        // SAFETY: `more` has `kept` bytes, the buffer has room for them, and the two do not overlap.
        unsafe {
            let end = self.bytes.as_mut_ptr().add(self.used).cast::<u8>();
            std::ptr::copy_nonoverlapping(more.as_ptr(), end, kept);
        }
        self.used += kept;
        for byte in &more[kept..] {
            self.cut = true;
            self.rest = (self.rest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// Call this once, after the last put().
    fn as_c(&mut self) -> *const c_char {
        if self.cut {
            for shift in (0..64).step_by(4) {
                self.bytes[self.used] = MaybeUninit::new(b"0123456789abcdef"[(self.rest >> shift & 15) as usize]);
                self.used += 1;
            }
        }
        self.bytes[self.used] = MaybeUninit::new(0);
        self.bytes.as_ptr().cast()
    }
}

impl<const ROOM: usize> fmt::Write for Text<ROOM> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for (number, piece) in more.as_bytes().split(|&byte| byte == 0).enumerate() {
            if number > 0 {
                self.put(NUL.as_bytes());
            }
            self.put(piece);
        }
        Ok(())
    }
}

type Fill<'a> = &'a dyn Fn(&mut dyn fmt::Write) -> fmt::Result;

/// Calls `use_it` once with the text that `fill` writes. If a `Display` fails, with what it wrote until then.
pub(crate) fn with_text<R>(fill: Fill<'_>, use_it: &mut dyn FnMut(*const c_char) -> R) -> R {
    let mut text = Text::<SHORT>::new();
    let _ = fill(&mut text);
    if text.cut {
        return with_long_text(fill, use_it);
    }
    use_it(text.as_c())
}

/// Not inlined, so that only long names need that much stack.
#[cold]
#[inline(never)]
fn with_long_text<R>(fill: Fill<'_>, use_it: &mut dyn FnMut(*const c_char) -> R) -> R {
    let mut text = Text::<LONG>::new();
    let _ = fill(&mut text);
    use_it(text.as_c())
}

pub(crate) fn with_name<R>(name: &str, mut use_it: impl FnMut(*const c_char) -> R) -> R {
    with_text(&|text| text.write_str(name), &mut use_it)
}

/// Passes a path on unchanged, or not at all: None if it contains a NUL, or is longer than a path can be.
pub(crate) fn with_path<R>(path: &[u8], use_it: impl FnOnce(*const c_char) -> R) -> Option<R> {
    let mut text = Text::<PATH>::new();
    text.put(path);
    let whole = !text.cut && !path.contains(&0);
    whole.then(|| use_it(text.as_c()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn seen(name: &str) -> Vec<u8> {
        // SAFETY: what with_name() gives ends with a NUL.
        with_name(name, |c| unsafe { CStr::from_ptr(c) }.to_bytes().to_vec())
    }

    #[test]
    fn names_arrive_as_they_are() {
        for name in ["", "x", "größer 🚢", "with \"quotes\" and\nlines"] {
            assert_eq!(seen(name), name.as_bytes());
        }
    }

    #[test]
    fn names_around_the_size_of_the_short_buffer_are_whole() {
        for bytes in [SHORT - TAIL, SHORT - TAIL + 1, SHORT - 1, SHORT, SHORT + 1, 64 << 10] {
            assert_eq!(seen(&"n".repeat(bytes)).len(), bytes);
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_cut_where_the_profiler_still_notices_and_stays_apart() {
        let long = "n".repeat(200_000);
        let cut = seen(&long);
        assert!(cut.len() > 64 << 10 && cut.len() < LONG, "{}", cut.len());
        assert_ne!(cut, seen(&(long[1..].to_string() + "m")));
        assert_ne!(cut, seen(&(long + "n")));
    }

    #[test]
    fn a_nul_becomes_visible_and_does_not_end_the_name() {
        assert_eq!(seen("a\0b\0"), "a\u{2400}b\u{2400}".as_bytes());
        assert_ne!(seen("a\0b"), seen("a"));
    }

    #[test]
    fn paths_are_whole_or_refused() {
        // SAFETY: as above.
        let seen = |path: &[u8]| with_path(path, |c| unsafe { CStr::from_ptr(c) }.to_bytes().to_vec());
        assert_eq!(seen(b"/tmp/\xff.plim"), Some(b"/tmp/\xff.plim".to_vec()));
        assert_eq!(seen(&[b'p'; 4095]), Some(vec![b'p'; 4095]));
        assert_eq!(seen(&[b'p'; 4096]), None);
        assert_eq!(seen(b"/tmp/\0.plim"), None);
    }

    #[test]
    fn formatted_text_is_written_in_pieces() {
        let long = "n".repeat(1000);
        let fill = |text: &mut dyn fmt::Write| text.write_fmt(format_args!("{}-{}-{}", 7, "\0", long));
        // SAFETY: as above.
        let seen = with_text(&fill, &mut |c| unsafe { CStr::from_ptr(c) }.to_bytes().to_vec());
        assert_eq!(seen, format!("7-\u{2400}-{long}").into_bytes());
    }
}
