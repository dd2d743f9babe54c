// SPDX-License-Identifier: MIT
//! words - counts the words of files, a thread for each, and lets the profiler know what its memory is for.
//!
//!     plimsoll run -o words.plim -- words README.md
//!     plimsoll report --by tag words.plim
//!
//! The threads count on behalf of `main`, in its scope "counting": they adopt its context. What they find is merged
//! into one table in a scope inside of that one. Run bare it prints the same words.

use std::collections::HashMap;
use std::{env, fs, thread};

use plimsoll::{Context, ProfAllocator};

#[global_allocator]
static GLOBAL: ProfAllocator = ProfAllocator;

type Counts = HashMap<String, usize>;

/// Each file is a tag of its own, below "reading".
fn read(path: &str) -> String {
    plimsoll::scope!("reading");
    plimsoll::scope!("{}", path);
    fs::read_to_string(path).unwrap_or_default()
}

fn count(text: &str) -> Counts {
    plimsoll::function_scope!();
    let mut counts = Counts::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    counts
}

fn merge(into: &mut Counts, more: Counts) {
    plimsoll::scope!("merging");
    for (word, times) in more {
        *into.entry(word).or_insert(0) += times;
    }
}

/// A thread for each text. Their memory is ours: they say so.
fn count_all(texts: Vec<String>) -> Counts {
    plimsoll::scope!("counting");
    let context = Context::capture();
    let counting = |text: String| {
        thread::spawn(move || {
            let _adopted = context.adopt();
            count(&text)
        })
    };
    let threads: Vec<_> = texts.into_iter().map(counting).collect();
    let mut all = Counts::new();
    for thread in threads {
        merge(&mut all, thread.join().expect("a thread that counts"));
    }
    all
}

fn main() {
    let texts = env::args().skip(1).map(|path| read(&path)).collect();
    let counts = count_all(texts);
    println!("{} distinct words", counts.len());
    if let Ok(stats) = ProfAllocator::stats() {
        println!("{} bytes in {} blocks hold them", stats.live_bytes, stats.live_blocks);
    }
}
