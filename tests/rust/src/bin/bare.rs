// SPDX-License-Identifier: MIT
//! bare - a function with a scope, which the test disassembles.

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
