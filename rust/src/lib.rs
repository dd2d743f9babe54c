// SPDX-License-Identifier: MIT
#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - Scopes: [`scope!`](macro@crate::scope), [`function_scope!`], [`scope`](fn@crate::scope), [`Tag`]
//! - Work handed to another thread or task: [`Context`]
//! - Memory that the global allocator does not know, such as arenas: [`Heap`]
//! - Control: [`start`], [`stop`], [`pause`], [`reset`], [`sample`], [`sizes`], [`snapshot`], [`snapshot_if_due`],
//!   [`write`](fn@crate::write), [`output`]; [`loaded`], [`active`]
//! - Figures for the program itself: [`stats`](fn@crate::stats), [`thread_stats`], [`Context::stats`], [`pairs`]
//! - The allocator: [`ProfAllocator`]
#![warn(missing_docs)]

mod allocator;
mod context;
mod control;
mod heap;
mod scope;
mod stats;
mod symbols;
mod text;

pub use allocator::ProfAllocator;
pub use context::{Adopted, Context, Wrapped};
pub use control::{
    active, loaded, output, pause, reset, sample, sizes, snapshot, snapshot_if_due, start, stop, write, Paused,
};
pub use heap::Heap;
pub use scope::{scope, scope_of, Scope, Tag};
pub use stats::{pairs, stats, thread_stats, Bucket, Calls, Stats, SIZES};

/// Only for the macros.
#[doc(hidden)]
pub mod __private {
    pub use crate::scope::{function_around, Place};
}
