// SPDX-License-Identifier: MIT
//! context - carries a tag to another thread or task.

use std::fmt;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{self, Poll};

use crate::scope::OfThisThread;
use crate::stats::{self, Stats};
use crate::symbols;

/// The current tag of a thread. Pass it along with work for another thread, so that the allocations made there are
/// charged to the tag of the requester.
///
/// ```
/// let _scope = plimsoll::scope("thumbnails");
/// let context = plimsoll::Context::capture();
/// let worker = std::thread::spawn(move || {
///     let _adopted = context.adopt();
///     vec![0u8; 64 * 64] // charged to "thumbnails"
/// });
/// assert_eq!(worker.join().unwrap().len(), 4096);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Context(u64);

impl Context {
    /// The current tag of this thread.
    ///
    /// ```
    /// let outside = plimsoll::Context::capture();
    /// let _scope = plimsoll::scope("inside");
    /// let inside = plimsoll::Context::capture();
    /// assert_eq!(inside == outside, !plimsoll::loaded());
    /// ```
    #[inline]
    pub fn capture() -> Context {
        // SAFETY: may be called at any time.
        Context(symbols::capture().map_or(0, |capture| unsafe { capture() }))
    }

    /// Makes the captured tag the current tag of this thread until the guard is dropped; then the old tag is current
    /// again.
    ///
    /// ```
    /// let context = plimsoll::Context::capture();
    /// {
    ///     let _adopted = context.adopt();
    ///     let _scope = plimsoll::scope("more"); // ends first
    /// }
    /// assert_eq!(context, plimsoll::Context::capture());
    /// ```
    #[inline]
    pub fn adopt(self) -> Adopted {
        let adopt = symbols::adopt();
        // SAFETY: a context is valid for ever, and in every thread.
        let before = Context(adopt.map_or(0, |adopt| unsafe { adopt(self.0) }));
        Adopted { before, adopt, here: PhantomData }
    }

    /// A future that is polled in the captured tag, in any thread. Scopes inside it must end before each `.await`; the
    /// compiler checks that if the future has to be `Send`.
    ///
    /// ```
    /// async fn fetch() -> usize {
    ///     let page = { plimsoll::scope!("page"); "text".repeat(10) };
    ///     std::future::ready(()).await;
    ///     page.len()
    /// }
    /// let future = plimsoll::Context::capture().wrap(fetch());
    /// # use std::{future::Future, sync::Arc, task};
    /// # struct Idle;
    /// # impl task::Wake for Idle { fn wake(self: Arc<Self>) {} }
    /// # let waker = task::Waker::from(Arc::new(Idle));
    /// # let mut future = Box::pin(future);
    /// # let polled = future.as_mut().poll(&mut task::Context::from_waker(&waker));
    /// # assert_eq!(polled, task::Poll::Ready(40));
    /// ```
    pub fn wrap<F: Future>(self, future: F) -> Wrapped<F> {
        Wrapped { context: self, future }
    }

    /// Figures of this tag, without the tags below it, in all threads. `vm_bytes`, `rss_bytes` and the histograms of
    /// sizes are 0.
    ///
    /// ```
    /// let _scope = plimsoll::scope("table");
    /// let table = vec![1u8; 1000];
    /// if let Ok(stats) = plimsoll::Context::capture().stats() {
    ///     assert!(stats.allocated_bytes >= 1000);
    /// }
    /// # drop(table);
    /// ```
    pub fn stats(self) -> io::Result<Stats> {
        // SAFETY: `out` has room for `bytes` bytes.
        stats::fill(|out, bytes| symbols::tag_stats().map(|get| unsafe { get(self.0, out, bytes) }))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:#x})", self.0)
    }
}

/// While it exists, an adopted tag is this thread's current tag. Made by [`Context::adopt`].
///
/// ```
/// let _adopted: plimsoll::Adopted = plimsoll::Context::capture().adopt();
/// ```
#[must_use = "the tag is left where its guard ends: keep it in a variable (`let _adopted = ...`, not `let _ = ...`)"]
pub struct Adopted {
    before: Context,
    adopt: Option<unsafe extern "C" fn(u64) -> u64>,
    here: OfThisThread,
}

impl Drop for Adopted {
    #[inline]
    fn drop(&mut self) {
        if let Some(adopt) = self.adopt {
            // SAFETY: as in Context::adopt().
            unsafe { adopt(self.before.0) };
        }
    }
}

impl fmt::Debug for Adopted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adopted").field("before", &self.before).finish_non_exhaustive()
    }
}

/// A future that is polled in a captured tag. Made by [`Context::wrap`].
///
/// ```
/// # async fn work() {}
/// fn boxed(context: plimsoll::Context) -> Box<dyn std::future::Future<Output = ()> + Send> {
///     Box::new(context.wrap(work()))
/// }
/// # boxed(plimsoll::Context::capture());
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Wrapped<F> {
    context: Context,
    future: F,
}

impl<F: Future> Future for Wrapped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let _adopted = self.context.adopt();
        // SAFETY: `future` is pinned with `self`: it is never moved out, there is no Drop, and Unpin depends on it.
        unsafe { self.map_unchecked_mut(|whole| &mut whole.future) }.poll(cx)
    }
}
