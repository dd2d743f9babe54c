// SPDX-License-Identifier: MIT
//! controls - uses every control and prints its result. With the argument `quiet` it switches output off. It also has
//! two tags whose names are too long and differ only in the part that is truncated.

use std::fmt::Debug;
use std::io;

use plimsoll::scope;

fn say<T: Debug>(what: &str, outcome: io::Result<T>) {
    match outcome {
        Ok(value) => println!("{what}\t{value:?}"),
        Err(error) => println!("{what}\t{:?}", error.kind()),
    }
}

fn keep(tag: &str, bytes: usize) {
    let _scope = scope(tag);
    std::mem::forget(Vec::<u8>::with_capacity(bytes));
}

#[allow(clippy::reversed_empty_ranges)]
fn main() {
    say("loaded", Ok(plimsoll::loaded()));
    keep("before", 1000);
    plimsoll::reset();
    plimsoll::stop();
    say("active when stopped", Ok(plimsoll::active()));
    keep("stopped", 1001);
    plimsoll::start();
    say("active when started", Ok(plimsoll::active()));

    say("sizes", plimsoll::sizes(100..=2000));
    keep("sizes", 99);
    keep("sizes", 100);
    keep("sizes", 2000);
    keep("sizes", 2001);
    say("all sizes", plimsoll::sizes(..));
    say("no sizes", plimsoll::sizes(5..5));

    say("snapshot", plimsoll::snapshot("warm \u{fc}"));
    say("numbered snapshot", plimsoll::snapshot(None));
    say("snapshot if due", plimsoll::snapshot_if_due());
    say("write", plimsoll::write("now.plim"));
    say("write again", plimsoll::write("now.plim"));
    say("write to nowhere", plimsoll::write("no/such/directory.plim"));
    say("write to no path", plimsoll::write("a\0b"));

    let long = "n".repeat(100_000);
    keep(&long, 10);
    keep(&(long + "n"), 10);

    say("sample", plimsoll::sample(1 << 20));
    say("sample too little", plimsoll::sample(2 << 40));
    say("sample as before", plimsoll::sample(0));
    plimsoll::output(std::env::args().nth(1).is_none());
}
