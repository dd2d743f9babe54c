// SPDX-License-Identifier: MIT
//! bare - what a scope compiles to. The test reads it.

#[inline(never)]
#[no_mangle]
extern "C" fn the_work() {
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
}

#[inline(never)]
#[no_mangle]
extern "C" fn work_in_scope() {
    plimsoll::scope!("work");
    the_work();
}

fn main() {
    work_in_scope();
}
