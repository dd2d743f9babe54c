// SPDX-License-Identifier: MIT
//! scope - guards: while a guard exists, this thread's allocations are charged to its tag.
//!
//! Invariant: dropping a guard undoes exactly what making it did, once, in the same thread; without a profiler, that is
//! nothing. So guards cannot be sent to another thread.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_char;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release};

use crate::control::loaded;
use crate::symbols::{self, UNKNOWN};
use crate::text::{with_name, with_text};

/// Makes a type neither `Send` nor `Sync`.
pub(crate) type OfThisThread = PhantomData<*const ()>;

/// While it exists, this thread's allocations are charged to a tag. Made by [`scope`](fn@scope), [`Tag::enter`], and,
/// behind the scenes, by [`scope!`](macro@crate::scope) and [`function_scope!`](crate::function_scope).
///
/// It ends when its variable is dropped, also when a panic unwinds through it. Guards must be dropped in the reverse
/// order of their creation, as local variables are. A guard that is leaked, with [`std::mem::forget`] or in a cycle of
/// `Rc`, leaves the thread in its tag: that is safe, but figures will be wrong.
///
/// ```
/// {
///     let _scope = plimsoll::scope("cache");
///     let caught = std::panic::catch_unwind(|| {
///         let _scope = plimsoll::scope("filling"); // "cache/filling" in reports
///         panic!("no more");
///     });
///     assert!(caught.is_err());
///     // Here the tag is "cache" again.
/// }
/// ```
///
/// A scope belongs to its thread, so this does not compile. Carry a [`Context`](crate::Context) instead:
///
/// ```compile_fail
/// let scope = plimsoll::scope("mine");
/// std::thread::spawn(move || drop(scope));
/// ```
#[must_use = "a scope ends where its guard does: keep it in a variable (`let _scope = ...`, not `let _ = ...`)"]
pub struct Scope {
    pop: Option<unsafe extern "C" fn()>,
    here: OfThisThread,
}

impl Scope {
    const NONE: Scope = Scope { pop: None, here: PhantomData };

    /// The guard for a push that was made.
    #[inline]
    fn entered() -> Scope {
        Scope { pop: symbols::pop(), here: PhantomData }
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if let Some(pop) = self.pop {
            // SAFETY: may be called at any time.
            unsafe { pop() }
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// Enters a tag until the returned guard is dropped.
///
/// Tags nest: "parse" inside "request" is a tag of its own, "request/parse" in reports. A block stays charged to the
/// tag under which it was allocated, no matter where and by which thread it is freed.
///
/// A name may be any text of any length; it is copied, and equal names are equal tags. (A NUL in it is shown as `␀`; a
/// name longer than 64 KiB is cut.) If the name is always the same, [`scope!`](macro@crate::scope) and [`Tag`] are
/// cheaper.
///
/// ```
/// fn load(path: &str) -> Vec<u8> {
///     let _scope = plimsoll::scope(path);
///     path.repeat(100).into_bytes()
/// }
/// assert_eq!(load("a.txt").len(), 500);
/// ```
#[inline]
pub fn scope(name: &str) -> Scope {
    match symbols::push() {
        Some(push) => push_name(push, name),
        None => Scope::NONE,
    }
}

/// Not inlined, like push_formatted(): it needs a buffer, for which a program without the profiler should use no stack.
#[inline(never)]
fn push_name(push: unsafe extern "C" fn(*const c_char), name: &str) -> Scope {
    // SAFETY: push() copies the name.
    with_name(name, |name| unsafe { push(name) });
    Scope::entered()
}

/// [`scope`](fn@scope) with a name made by [`format_args!`]; formats only if the profiler is loaded. Usually written
/// as [`scope!`](macro@crate::scope) with arguments.
///
/// ```
/// let _scope = plimsoll::scope_of(format_args!("request {}", 12));
/// ```
#[inline]
pub fn scope_of(name: fmt::Arguments<'_>) -> Scope {
    match symbols::push() {
        Some(push) => push_formatted(push, name),
        None => Scope::NONE,
    }
}

#[inline(never)]
fn push_formatted(push: unsafe extern "C" fn(*const c_char), name: fmt::Arguments<'_>) -> Scope {
    // SAFETY: as above.
    with_text(&|text| text.write_fmt(name), &mut |name| unsafe { push(name) });
    Scope::entered()
}

/// A tag whose name is prepared once, when it is first entered. For tags that are entered often, or in several places.
///
/// ```
/// static PARSE: plimsoll::Tag = plimsoll::Tag::new("parse");
///
/// for line in ["a b", "c"] {
///     let _scope = PARSE.enter();
///     let words: Vec<&str> = line.split(' ').collect();
///     assert!(!words.is_empty());
/// }
/// assert_eq!(PARSE.name(), "parse");
/// ```
pub struct Tag {
    name: &'static str,
    place: Place,
}

impl Tag {
    /// A tag of this name. It does nothing until it is entered.
    ///
    /// ```
    /// static INDEX: plimsoll::Tag = plimsoll::Tag::new("index");
    /// let _scope = INDEX.enter();
    /// ```
    pub const fn new(name: &'static str) -> Tag {
        Tag { name, place: Place::new() }
    }

    /// Enters the tag in this thread, below the current tag, until the guard is dropped.
    ///
    /// ```
    /// # static INDEX: plimsoll::Tag = plimsoll::Tag::new("index");
    /// let _scope = INDEX.enter();
    /// let index = vec![0u32; 100]; // charged to "index"
    /// # drop(index);
    /// ```
    #[inline]
    pub fn enter(&self) -> Scope {
        self.place.enter(|| self.name)
    }

    /// The tag's name.
    ///
    /// ```
    /// assert_eq!(plimsoll::Tag::new("index").name(), "index");
    /// ```
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tag").field(&self.name).finish()
    }
}

/// The state of a tag: UNKNOWN until it is first entered, then null (no profiler) or the result of plimsoll_prepare().
#[doc(hidden)]
pub struct Place(AtomicPtr<c_void>);

impl Place {
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Place {
        Place(AtomicPtr::new(UNKNOWN))
    }

    #[inline]
    pub fn enter<N: fmt::Display>(&self, name: impl FnOnce() -> N) -> Scope {
        let tag = self.0.load(Acquire);
        if tag.is_null() {
            return Scope::NONE;
        }
        if tag == UNKNOWN {
            return self.enter_first(&name());
        }
        match symbols::enter() {
            // SAFETY: a prepared tag is valid for ever, and in every thread.
            Some(enter) => unsafe { enter(tag) },
            None => return Scope::NONE,
        }
        Scope::entered()
    }

    #[cold]
    #[inline(never)]
    fn enter_first(&self, name: &dyn fmt::Display) -> Scope {
        let (prepare, enter) = match (symbols::prepare(), symbols::enter()) {
            (Some(prepare), Some(enter)) if loaded() => (prepare, enter), // the stub has these functions too
            _ => {
                self.0.store(null_mut(), Release);
                return Scope::NONE;
            }
        };
        // SAFETY: prepare() copies the name; a prepared tag is valid for ever.
        unsafe {
            let tag = with_text(&|text| write!(text, "{name}"), &mut |name| prepare(name));
            if tag.is_null() {
                return scope_of(format_args!("{name}")); // the profiler has no room to prepare it
            }
            self.0.store(tag, Release);
            enter(tag);
        }
        Scope::entered()
    }
}

/// From here to the end of the block, this thread's allocations are charged to a tag.
///
/// The name is a constant, prepared once for this place: entering and leaving then cost some nanoseconds, and without
/// the profiler a load and a branch. With further arguments the first is a format, as in [`format!`]; the name is then
/// formatted each time, but only if the profiler is loaded. (A single argument is not a format: `{` stays a brace.)
///
/// ```
/// fn answer(id: u32) -> String {
///     plimsoll::scope!("requests");
///     plimsoll::scope!("request {}", id); // "requests/request 12" in reports
///     format!("this is {id}")
/// }
/// assert_eq!(answer(12), "this is 12");
/// ```
#[macro_export]
macro_rules! scope {
    ($name:expr $(,)?) => {
        let _plimsoll_scope = {
            static TAG: $crate::Tag = $crate::Tag::new($name);
            TAG.enter()
        };
    };
    ($format:expr, $($argument:tt)+) => {
        let _plimsoll_scope = $crate::scope_of(::std::format_args!($format, $($argument)+));
    };
}

/// [`scope!`](macro@crate::scope) with the full name of the function that it is in, such as `shop::Stock::add`.
/// Generic arguments are left out, so all instances share a tag. So are traits: `<Stock<T> as Named>::name` becomes
/// `Stock::name`. Closures and `async` blocks get the name of the function around them.
///
/// ```
/// mod shop {
///     pub struct Stock<T>(pub Vec<T>);
///
///     impl<T> Stock<T> {
///         pub fn add(&mut self, item: T) {
///             plimsoll::function_scope!();
///             self.0.push(item);
///         }
///     }
/// }
/// let mut stock = shop::Stock(Vec::new());
/// stock.add("bolts");
/// ```
#[macro_export]
macro_rules! function_scope {
    () => {
        let _plimsoll_scope = {
            fn here() {}
            static PLACE: $crate::__private::Place = $crate::__private::Place::new();
            PLACE.enter(|| $crate::__private::function_around(here))
        };
    };
}

/// The name of the function in which `here` was declared.
#[doc(hidden)]
pub fn function_around<T>(_here: T) -> FunctionName {
    let mut name = std::any::type_name::<T>();
    name = name.strip_suffix("::here").unwrap_or(name);
    while let Some(outer) = name.strip_suffix("::{{closure}}") {
        name = outer;
    }
    FunctionName(name)
}

/// A function's name from the compiler, displayed as in reports: `<shop::Stock<_> as shop::Named>::name` becomes
/// `shop::Stock::name`.
#[doc(hidden)]
pub struct FunctionName(&'static str);

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (implementor, rest) = split_trait(self.0);
        write_plain(f, implementor)?;
        write_plain(f, rest)
    }
}

/// Writes the name without generic arguments.
fn write_plain(f: &mut fmt::Formatter<'_>, mut name: &str) -> fmt::Result {
    while let Some(start) = find_arguments(name) {
        f.write_str(&name[..start])?;
        name = &name[start + bracket_bytes(&name[start..])..];
    }
    f.write_str(name)
}

/// The first `<` that follows a word. One at the start, or after `::`, begins a name: `a::<impl Named for T>::name`.
fn find_arguments(name: &str) -> Option<usize> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    name.as_bytes().windows(2).position(|pair| is_word(pair[0]) && pair[1] == b'<').map(|word| word + 1)
}

/// Splits `<Type as Trait>::function` into `Type` and `::function`; any other name into itself and nothing.
fn split_trait(name: &str) -> (&str, &str) {
    let end = bracket_bytes(name);
    let is_closed = |text: &str| text.matches('<').count() + text.matches("->").count() == text.matches('>').count();
    let found = name[..end].match_indices(" as ").find(|(at, _)| is_closed(&name[1..*at]));
    found.map_or((name, ""), |(at, _)| (&name[1..at], &name[end..]))
}

/// The length of the `<...>` with which `name` begins, or 0. The `>` of an arrow, as in `<fn() -> T>`, does not close
/// it; if it is not closed, it extends to the end.
fn bracket_bytes(name: &str) -> usize {
    let (mut depth, mut before) = (0, b' ');
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if before != b'-' => depth -= 1,
            _ => (),
        }
        if depth <= 0 {
            return if at > 0 { at + 1 } else { 0 };
        }
        before = byte;
    }
    name.len()
}

#[cfg(test)]
mod tests {
    use super::{function_around, FunctionName};

    macro_rules! function_name {
        () => {{
            fn here() {}
            function_around(here).to_string()
        }};
    }

    struct Stock;

    impl Stock {
        fn method(&self) -> String {
            function_name!()
        }
    }

    trait Named {
        fn name(&self) -> String;
    }

    impl Named for Stock {
        fn name(&self) -> String {
            function_name!()
        }
    }

    fn generic<T>(_: T) -> String {
        function_name!()
    }

    struct Shelf<T>(T);

    impl<T> Shelf<T> {
        fn method(&self) -> String {
            [()].map(|_| function_name!()).concat()
        }
    }

    impl<T> Named for Shelf<Vec<T>> {
        fn name(&self) -> String {
            function_name!()
        }
    }

    #[test]
    fn functions_have_their_full_names() {
        const HERE: &str = "plimsoll::scope::tests";
        assert_eq!(function_name!(), format!("{HERE}::functions_have_their_full_names"));
        let closure = || [1].map(|_| function_name!()).concat();
        assert_eq!(closure(), format!("{HERE}::functions_have_their_full_names"));
        assert_eq!(Stock.method(), format!("{HERE}::Stock::method"));
        assert_eq!(generic(1), format!("{HERE}::generic"));
        assert_eq!(generic("x"), generic(1));
        assert_eq!(Stock.name(), format!("{HERE}::Stock::name"));
        assert_eq!(Shelf(1).method(), format!("{HERE}::Shelf::method"));
        assert_eq!(Shelf(vec![1]).name(), format!("{HERE}::Shelf::name"));
    }

    #[test]
    fn generic_arguments_and_traits_are_left_out() {
        for (name, shown) in [
            ("shop::Stock<_>::add", "shop::Stock::add"),
            ("shop::Stock<fn(&T) -> U, Vec<Vec<_>>>::add", "shop::Stock::add"),
            ("<shop::Stock<_> as shop::Named<u8>>::name", "shop::Stock::name"),
            ("<größe<<A as B>::C> as From<<D as E>::F>>::from<_>", "größe::from"),
            ("<[T] as shop::Named>::name", "[T]::name"),
            ("<shop::Stock>::add", "<shop::Stock>::add"),
            ("a::<impl shop::Named for Vec<_>>::name", "a::<impl shop::Named for Vec>::name"),
            ("größe<_>::größer", "größe::größer"),
            ("cut<short", "cut"),
            ("", ""),
        ] {
            assert_eq!(FunctionName(name).to_string(), shown);
        }
    }
}
