/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what attaching needs to know about a processor: two files in machine/ for each.
 *
 * Two things are written in machine code. A *visit* is what a thread of the target executes on our behalf (NAME.c): it
 * makes the calls that we ask for, and by itself restores everything and goes on, so that no harm is done if we are
 * killed. A *springboard* is what the entry of a hooked function jumps to (NAME_entry.c, format/desk.h).
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
#ifdef __aarch64__
    struct user_fpsimd_struct vectors; /* on x86_64, the visit keeps them */
    uint64_t thread_pointer;
    uint32_t code[2]; /* the instruction before the pc, and the one at the pc */
    bool long_vectors;
#endif
};

bool pl_machine_read(pid_t tid, struct pl_machine_registers *out);
bool pl_machine_write(pid_t tid, const struct pl_machine_registers *registers);

uint64_t pl_machine_pc(const struct pl_machine_registers *registers);
uint64_t pl_machine_sp(const struct pl_machine_registers *registers);
uint64_t pl_machine_thread_pointer(const struct pl_machine_registers *registers);

/* Where glibc keeps the vector of thread-local storage, from the thread pointer on. */
#ifdef __aarch64__
#define PL_MACHINE_STORAGE 0u
#else
#define PL_MACHINE_STORAGE 8u
#endif

/* The system call in which the thread was interrupted, or -1. */
long pl_machine_call(const struct pl_machine_registers *registers);

/* All registers by their DWARF numbers; that of the return address is the pc. */
void pl_machine_dwarf(const struct pl_machine_registers *registers, uint64_t out[PL_ARCH_REGISTERS]);

/* May a thread with these registers be sent on a visit? Not if it has some that cannot be restored. */
bool pl_machine_can_restore(const struct pl_machine_registers *registers);

/* ---- visits ---- */

/*
 * A visit is data and code in the padding behind a library's code. Its thread can only read and execute it. What the
 * thread has to write, its stack as well, is in memory that it maps first, so nothing of the target is written to.
 *
 *   block all signals ─ map memory ─ save the extended state ─► marker ─► a call ─┐
 *                                                                 ▲ │             │
 *                                                                 └─┼─────────────┘
 *   restore it ─ unmap ─► door: unblock signals ─ go on  ◄──────────┘ no call
 *
 * Marker and door are system calls, before which a tracer can stop the thread. At the marker it asks for the next call.
 * At the door it may restore the registers itself, which lets the kernel restart an interrupted system call.
 */
struct pl_machine_memory {
    uint64_t function; /* to call next; 0: go home */
    uint64_t argument[7];
    uint64_t result;
    uint64_t abandoned;       /* to be called before going home, unless a tracer has set it to 0 */
    char text[4096 - 10 * 8]; /* or ranges: below */
    /* then the extended state; at the end, the stack */
};

/* Can visits be made on this processor? */
bool pl_machine_able(void);

size_t pl_machine_visit_bytes(void);

/* Where its code begins: behind the data. */
size_t pl_machine_visit_code(void);

/* Writes a visit that will continue a thread with these registers and blocked signals. `memory` is what it has mapped,
 * 0 before it has made a call. */
void pl_machine_fill_visit(void *visit, const struct pl_machine_registers *registers, uint64_t signals,
                           uint64_t memory);

/* Is a thread with these registers on this visit, which lies at `at`? */
bool pl_machine_is_on_visit(const void *visit, uint64_t at, const struct pl_machine_registers *registers);

/* Is this the beginning of one? */
bool pl_machine_is_visit(const void *there, size_t bytes);

/* The registers with which a thread enters it. */
void pl_machine_send(struct pl_machine_registers *registers, uint64_t visit);

/* The signals that a visit blocks. Not that by which setuid() reaches all threads: it waits for them with a lock. */
uint64_t pl_machine_blocked(void);

/* Where a thread is, at a stop before a system call. */
enum pl_machine_place { PL_PLACE_OTHER, PL_PLACE_MARKER, PL_PLACE_DOOR };
enum pl_machine_place pl_machine_place(const struct pl_machine_registers *registers, uint64_t visit);

/* Which signals have handlers, and which of these end a call that they interrupt: without SA_RESTART. */
struct pl_machine_handlers {
    uint64_t caught, ending;
};

/* Must pl_machine_leave() know the handlers? Not if the kernel itself decides whether a call is made again. */
bool pl_machine_asks_for_handlers(void);

/* From the door home: the thread gets its registers and signals back, and what the kernel has interrupted goes on as if
 * nobody had been there. It is stopped then, and is to be let go with *signal. */
bool pl_machine_leave(pid_t tid, const struct pl_machine_registers *before, uint64_t signals,
                      const struct pl_machine_handlers *handlers, uint64_t until_ns, int *signal);

/* At the marker: where its memory is. */
uint64_t pl_machine_memory(const struct pl_machine_registers *registers);

/* Functions in the visit: makes the system call argument[0] with the others; makes a copy of the process, argument[0]
 * being flags of clone, that sleeps for some seconds and exits. */
uint64_t pl_machine_system_call(uint64_t visit);
uint64_t pl_machine_copier(uint64_t visit);

/* Another one, which needs no argument: tells the kernel to wipe ranges of memory when the process forks. They are
 * where texts are otherwise, and end with one whose address is 0. */
struct pl_machine_range {
    uint64_t address, bytes;
};
#define PL_MACHINE_RANGES (sizeof((struct pl_machine_memory *) NULL)->text / sizeof(struct pl_machine_range) - 1)
uint64_t pl_machine_wiper(uint64_t visit);

/* ---- entries ---- */

#define PL_MACHINE_ROOM 192 /* bytes for a springboard and the code behind it; also how near `room` must be, below */
#ifdef __aarch64__
#define PL_MACHINE_REACH (100ull << 20)
#else
#define PL_MACHINE_REACH (1ull << 30)
#endif

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
