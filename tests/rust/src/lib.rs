// SPDX-License-Identifier: MIT
//! Shared by the programs of these tests: a ledger. It also has the code blocks of docs/rust.md, which must compile and
//! run.
//!
//! The programs book what they allocate, by thread and by tag, without allocating. At the end they print the ledger.
//! The profile must have the same figures.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Mutex;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
pub struct Guide;

extern "C" {
    pub fn malloc(size: usize) -> *mut c_void;
    pub fn calloc(count: usize, size: usize) -> *mut c_void;
    pub fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    pub fn free(block: *mut c_void);
}

#[derive(Clone, Copy)]
pub enum By {
    Malloc,
    Calloc,
    Realloc,
    Aligned,
}

const FIGURES: [&str; 8] = ["malloc", "calloc", "realloc", "aligned", "entered", "bytes", "freed_calls", "freed_bytes"];
const ENTERED: usize = 4;
const BYTES: usize = 5;
const FREED_CALLS: usize = 6;
const FREED_BYTES: usize = 7;

/// What one thread did under one tag.
pub struct Account {
    thread: Cell<&'static str>,
    tag: Cell<&'static str>,
    figures: [AtomicU64; FIGURES.len()],
}

// SAFETY: the cells are written before the account is handed out, under a lock.
unsafe impl Sync for Account {}

const ACCOUNTS: usize = 128;
#[allow(clippy::declare_interior_mutable_const)]
const NO_FIGURE: AtomicU64 = AtomicU64::new(0);
#[allow(clippy::declare_interior_mutable_const)]
const NOBODY: Account = Account { thread: Cell::new(""), tag: Cell::new(""), figures: [NO_FIGURE; FIGURES.len()] };
static LEDGER: [Account; ACCOUNTS] = [NOBODY; ACCOUNTS];
static USED: AtomicUsize = AtomicUsize::new(0);
static LOOKING: Mutex<()> = Mutex::new(());

/// The account of a thread and a tag, by its whole path.
pub fn account(thread: &'static str, tag: &'static str) -> &'static Account {
    let _lock = LOOKING.lock().unwrap();
    let used = USED.load(Relaxed);
    let found = LEDGER[..used].iter().find(|one| one.thread.get() == thread && one.tag.get() == tag);
    found.unwrap_or_else(|| {
        USED.store(used + 1, Relaxed);
        LEDGER[used].thread.set(thread);
        LEDGER[used].tag.set(tag);
        &LEDGER[used]
    })
}

impl Account {
    fn add(&self, figure: usize, more: usize) {
        self.figures[figure].fetch_add(more as u64, Relaxed);
    }

    pub fn entered(&self) {
        self.add(ENTERED, 1);
    }

    pub fn made(&self, by: By, bytes: usize) {
        self.add(by as usize, 1);
        self.add(BYTES, bytes);
    }

    /// Frees are booked in the account of the allocation, whichever thread frees.
    pub fn gone(&self, bytes: usize) {
        self.add(FREED_CALLS, 1);
        self.add(FREED_BYTES, bytes);
    }
}

/// One line for each account: thread, tag and figures, separated by tabs.
pub fn print_ledger() {
    println!("thread\ttag\t{}", FIGURES.join("\t"));
    for account in &LEDGER[..USED.load(Relaxed)] {
        let figures: Vec<String> = account.figures.iter().map(|figure| figure.load(Relaxed).to_string()).collect();
        println!("{}\t{}\t{}", account.thread.get(), account.tag.get(), figures.join("\t"));
    }
}
