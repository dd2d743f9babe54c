/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what attaching needs to know about a processor: one file in machine/ for each.
 *
 * Two things are written in machine code. The *visitor* is what a thread of the target executes on our behalf: it saves
 * everything, makes the calls that we ask for, and restores everything by itself, so that the thread goes on even if we
 * are killed. A *springboard* is what the entry of a hooked function jumps to (format/desk.h).
 */
#ifndef PL_MACHINE_H
#define PL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "core/arch.h"
#include "format/desk.h"

/* ---- registers ---- */

struct pl_machine_registers {
    struct user_regs_struct user;
};

bool pl_machine_read(pid_t tid, struct pl_machine_registers *out);
bool pl_machine_write(pid_t tid, const struct pl_machine_registers *registers);

uint64_t pl_machine_pc(const struct pl_machine_registers *registers);
uint64_t pl_machine_sp(const struct pl_machine_registers *registers);
uint64_t pl_machine_thread_pointer(const struct pl_machine_registers *registers);

/* The system call in which the thread was interrupted, or -1. */
long pl_machine_call(const struct pl_machine_registers *registers);

/* All registers by their DWARF numbers; that of the return address is the pc. */
void pl_machine_dwarf(const struct pl_machine_registers *registers, uint64_t out[PL_ARCH_REGISTERS]);

/* ---- the visitor ---- */

/* What the visitor calls. It begins the visitor's frame. After each call the visitor makes a system call that changes
 * nothing, the marker, where a tracer can stop it. If `function` is 0 after the marker, it restores everything. */
struct pl_machine_call {
    uint64_t function;
    uint64_t argument[6];
    uint64_t result;
};

/* Position-independent code, to be copied into the target. */
const uint8_t *pl_machine_visitor(size_t *bytes);

/* Bytes below the stack pointer that belong to the thread, and of the visitor's frame, which lies below them. */
#define PL_MACHINE_RED_ZONE 128
#define PL_MACHINE_FRAME_ALIGN 64
size_t pl_machine_frame_bytes(void);

/* The frame of a visitor that will continue the thread as the kernel would: an interrupted system call is made again if
 * the kernel would make it again. */
void pl_machine_fill_frame(void *frame, const struct pl_machine_registers *registers);

/* The registers with which a thread enters the visitor. */
void pl_machine_send(struct pl_machine_registers *registers, uint64_t visitor, uint64_t frame);

/* Is the thread, at a stop before a system call, at the marker? */
bool pl_machine_at_marker(const struct pl_machine_registers *registers, uint64_t visitor);

/* ---- entries ---- */

#define PL_MACHINE_ROOM 192 /* bytes for a springboard and the code behind it; also how near `room` must be, below */
#define PL_MACHINE_REACH (1ull << 30)

struct pl_machine_function {
    uint64_t entry;
    const uint8_t *code; /* a copy of it */
    size_t bytes;
    uint64_t slot; /* where the address to jump to is */
    uint64_t room; /* where the springboard will be */
};

struct pl_machine_plan {
    struct pl_desk_patch patch;
    uint8_t room[PL_MACHINE_ROOM]; /* what to write to `room` */
};

/* How to hook a function. NULL, or why that cannot be done. */
const char *pl_machine_plan(const struct pl_machine_function *function, struct pl_machine_plan *out);

#endif
