// SPDX-License-Identifier: MIT
//! answers - a program that knows the figures that its profile must have: Rust's containers and C's malloc, tags,
//! threads, and blocks that are freed far from where they were allocated. Prints its ledger.

use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::task::{self, Poll};

use plimsoll::{scope, Context, ProfAllocator, Tag};
use plimsoll_tests::{account, calloc, free, malloc, print_ledger, realloc, Account, By};

#[cfg(not(feature = "system"))]
#[global_allocator]
static GLOBAL: ProfAllocator = ProfAllocator;

const MAIN: &str = "answers";
const LONG_NAME: &str = include_str!("answers.rs"); // longer than a short buffer, with quotes and lines

fn main() {
    plimsoll::sample(0).ok(); // the interval of the start, which changes nothing
    boxes();
    growing();
    strings();
    zeroed_and_aligned();
    rust_and_c();
    two_tags_and_a_realloc();
    names();
    paused();
    in_thread("panicker", panicking);
    threads();
    futures();
    let func = {
        let _scope = scope("Func");
        account(MAIN, "Func").entered();
        Context::capture()
    };
    print_ledger();
    print_statistics(func);
}

fn in_thread(name: &str, body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().name(name.into()).spawn(body).unwrap().join().unwrap();
}

/// Allocations of println! would be in no ledger, so nothing is printed before the end.
fn boxes() {
    let mine = account(MAIN, "boxes");
    plimsoll::scope!("boxes");
    mine.entered();
    for number in 0..100 {
        let block = Box::new([number as u8; 100]);
        mine.made(By::Malloc, 100);
        if number % 4 == 0 {
            Box::leak(block);
        } else {
            drop(block);
            mine.gone(100);
        }
    }
}

/// Each new capacity is one call, whatever std's growth policy is.
fn growing() {
    let mine = account(MAIN, "growing");
    let mut numbers: Vec<u64> = Vec::new();
    {
        plimsoll::scope!("growing");
        mine.entered();
        let mut capacity = 0;
        for number in 0..1000 {
            numbers.push(number);
            if numbers.capacity() != capacity {
                mine.made(if capacity == 0 { By::Malloc } else { By::Realloc }, 8 * numbers.capacity());
                if capacity != 0 {
                    mine.gone(8 * capacity);
                }
                capacity = numbers.capacity();
            }
        }
    }
    let _scope = scope("elsewhere");
    account(MAIN, "elsewhere").entered();
    mine.gone(8 * numbers.capacity());
    drop(numbers);
}

fn strings() {
    let mine = account(MAIN, "strings \"größer\" 🚢");
    let mut text = {
        let _scope = scope("strings \"größer\" 🚢");
        mine.entered();
        mine.made(By::Malloc, 33);
        String::with_capacity(33)
    };
    text.push_str("Plimsoll");
    {
        let _scope = scope("strings \"größer\" 🚢");
        mine.entered();
        text.shrink_to_fit();
        mine.gone(33);
        mine.made(By::Realloc, 8);
    }
    std::mem::forget(text);
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 128]);

fn zeroed_and_aligned() {
    let mine = account(MAIN, "zeroed and aligned");
    plimsoll::scope!("zeroed and aligned");
    mine.entered();

    let zeroes = vec![0u8; 4096];
    mine.made(By::Calloc, 4096);
    assert!(zeroes.iter().all(|byte| *byte == 0));
    drop(zeroes);
    mine.gone(4096);

    let mut lines: Vec<Line> = Vec::with_capacity(1);
    mine.made(By::Aligned, 128);
    lines.push(Line([7; 128]));
    lines.reserve_exact(2); // C cannot resize an aligned block, so a new one is allocated
    mine.made(By::Aligned, 3 * 128);
    mine.gone(128);
    assert!(lines[0].0.iter().all(|byte| *byte == 7) && lines.as_ptr() as usize % 64 == 0);
    drop(lines);
    mine.gone(3 * 128);

    let zeroed_lines = unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::new::<Line>()) };
    mine.made(By::Aligned, 128);
    assert!((0..128).all(|i| unsafe { *zeroed_lines.add(i) } == 0));
}

/// Both under one tag: each block is counted, once.
fn rust_and_c() {
    let mine = account(MAIN, "rust and c/both");
    plimsoll::scope!("rust and c");
    account(MAIN, "rust and c").entered();
    for round in 0..10 {
        plimsoll::scope!("both");
        mine.entered();
        let ours = Box::new([0u8; 24]);
        mine.made(By::Malloc, 24);
        let theirs = unsafe { [malloc(1000), calloc(10, 50), realloc(malloc(10), 2000)] };
        mine.made(By::Malloc, 1000);
        mine.made(By::Calloc, 500);
        mine.made(By::Malloc, 10);
        mine.made(By::Realloc, 2000);
        mine.gone(10);
        if round < 7 {
            drop(ours);
            unsafe { theirs.into_iter().for_each(|block| free(block)) };
            [24, 1000, 500, 2000].iter().for_each(|&bytes| mine.gone(bytes));
        } else {
            std::mem::forget(ours);
        }
    }
}

/// The bytes move from one tag to the other.
fn two_tags_and_a_realloc() {
    let (old, new) = (account(MAIN, "old"), account(MAIN, "new"));
    let mut bytes: Vec<u8> = {
        let _scope = scope("old");
        old.entered();
        old.made(By::Malloc, 100);
        Vec::with_capacity(100)
    };
    bytes.push(1);
    let _scope = scope("new");
    new.entered();
    bytes.reserve_exact(299);
    old.gone(100);
    new.made(By::Realloc, 300);
    std::mem::forget(bytes);
}

fn keep(mine: &'static Account, bytes: usize) {
    mine.entered();
    mine.made(By::Malloc, bytes);
    std::mem::forget(Vec::<u8>::with_capacity(bytes));
}

struct Stock;

impl Stock {
    fn add(&self) {
        plimsoll::function_scope!();
        keep(account(MAIN, "answers::Stock::add"), 71);
        let closure = || {
            plimsoll::function_scope!();
            keep(account(MAIN, "answers::Stock::add/answers::Stock::add"), 72);
        };
        closure();
    }
}

/// A tag that one function prepares and others enter.
static SHARED: Tag = Tag::new("shared");

fn names() {
    Stock.add();
    Stock.add();
    for (id, tag) in ["request 0", "request 1", "request 2"].iter().enumerate() {
        plimsoll::scope!("request {}", id);
        keep(account(MAIN, tag), 80 + id);
        let _scope = SHARED.enter();
        keep(account(MAIN, ["request 0/shared", "request 1/shared", "request 2/shared"][id]), 90 + id);
    }
    for (name, tag) in [("Func", "Func"), ("FuncLong", "FuncLong"), ("nul\0name", "nul\u{2400}name"), ("", "")] {
        let _scope = scope(name);
        if tag.is_empty() {
            continue; // how reports show an empty name is not tested here
        }
        keep(account(MAIN, tag), 10 + name.len());
    }
    let _scope = scope(LONG_NAME);
    keep(account(MAIN, "(long)"), 99);
}

fn paused() {
    let mine = account(MAIN, "(paused)");
    let _paused = plimsoll::pause();
    let _nested = plimsoll::pause();
    assert!(!plimsoll::active());
    mine.made(By::Malloc, 500);
    std::mem::forget(Vec::<u8>::with_capacity(500));
}

/// A panic ends the guards that it passes, innermost first. It runs in its own thread, because a panic allocates.
fn panicking() {
    let before = Context::capture();
    let caught = std::panic::catch_unwind(|| {
        plimsoll::scope!("panicking");
        let _paused = plimsoll::pause();
        let _adopted = before.adopt();
        let _scope = scope("deeper");
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(caught.is_err());
    assert_eq!(Context::capture(), before);
    assert_eq!(plimsoll::active(), plimsoll::loaded());
}

/// Two blocks and their accounts, sent to a thread that frees them, except for some of C's.
struct Sent {
    number: usize,
    ours: Box<[u8; 700]>,
    theirs: *mut c_void,
    from: &'static Account,
}
unsafe impl Send for Sent {}

const PARCELS: usize = 50;
const WORKERS: [(&str, &str); 3] = [("worker-1", "jobs/own 1"), ("worker-2", "jobs/own 2"), ("worker-3", "jobs/own 3")];

fn work(name: &'static str, tag: &'static str, jobs: Context, done: SyncSender<Sent>) {
    let at_first = Context::capture();
    for number in 0..PARCELS {
        let parcel = {
            let _adopted = jobs.adopt();
            let _scope = scope(&tag["jobs/".len()..]);
            let mine = account(name, tag);
            mine.entered();
            mine.made(By::Malloc, 700);
            mine.made(By::Malloc, 41);
            Sent { number, ours: Box::new([1u8; 700]), theirs: unsafe { malloc(41) }, from: mine }
        };
        done.send(parcel).unwrap();
    }
    {
        let _adopted = jobs.adopt();
        account(name, "jobs").made(By::Calloc, 1234);
        std::mem::forget(vec![0u8; 1234]);
    }
    assert_eq!(Context::capture(), at_first);
}

/// Three threads allocate under the tag of their caller. A fourth thread frees under another tag.
fn threads() {
    let jobs = {
        plimsoll::scope!("jobs");
        account(MAIN, "jobs").entered();
        Context::capture()
    };
    let (sender, receiver) = sync_channel(PARCELS);
    let threads: Vec<_> = WORKERS
        .iter()
        .map(|&(name, tag)| {
            let sender = sender.clone();
            std::thread::Builder::new().name(name.into()).spawn(move || work(name, tag, jobs, sender)).unwrap()
        })
        .collect();
    drop(sender);
    in_thread("freer", move || give_back(receiver));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn give_back(parcels: Receiver<Sent>) {
    for Sent { number, ours, theirs, from } in parcels {
        plimsoll::scope!("giving back");
        account("freer", "giving back").entered();
        drop(ours);
        from.gone(700);
        if number % 5 != 0 {
            unsafe { free(theirs) };
            from.gone(41);
        }
    }
}

/// Ready when it is polled for the second time.
struct Twice(bool);

impl Future for Twice {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<()> {
        account(MAIN, "future").made(By::Malloc, 300);
        std::mem::forget(Vec::<u8>::with_capacity(300));
        cx.waker().wake_by_ref();
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

struct Idle;

impl task::Wake for Idle {
    fn wake(self: Arc<Self>) {}
}

fn futures() {
    let context = {
        let _scope = scope("future");
        account(MAIN, "future").entered();
        Context::capture()
    };
    let waker = task::Waker::from(Arc::new(Idle));
    let mut cx = task::Context::from_waker(&waker);
    let mut future = context.wrap(Twice(false));
    assert!(Pin::new(&mut future).poll(&mut cx).is_pending());
    let _scope = scope("not the future's");
    account(MAIN, "not the future's").entered();
    assert!(Pin::new(&mut future).poll(&mut cx).is_ready());
}

/// Prints lines that begin with `=` and have what the profiler returns to the program, or the error without a profiler.
fn print_statistics(func: Context) {
    for (whose, stats) in
        [("process", ProfAllocator::stats()), ("thread", plimsoll::thread_stats()), ("tag Func", func.stats())]
    {
        match stats {
            Ok(stats) => println!(
                "=\t{whose}\t{}\t{}\t{}\t{}\t{}",
                stats.calls,
                stats.allocated_bytes,
                stats.live_blocks,
                stats.live_bytes,
                stats.is_exact()
            ),
            Err(error) => println!("=\t{whose}\t{:?}", error.kind()),
        }
    }
    let mut boxes = [0; 2];
    let told = plimsoll::pairs(|key, number| {
        boxes[0] += if key == "answers.boxes.calls" { number } else { 0 };
        boxes[1] += if key == "answers.boxes.live_bytes" { number } else { 0 };
    });
    println!("=\tpairs\t{}\t{}\t{}", told.is_ok(), boxes[0], boxes[1]);

    let stopped = std::panic::catch_unwind(|| plimsoll::pairs(|_, _| std::panic::resume_unwind(Box::new(1))));
    println!("=\tpanic in pairs\t{}", stopped.is_err());
}
