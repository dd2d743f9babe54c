/* SPDX-License-Identifier: MIT */
/* aarch64.c - registers and visits: see ../machine.h. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "attach/machine/visits.h"
#include "attach/tracee.h"

#ifndef NT_ARM_SVE
#define NT_ARM_SVE 0x405
#endif

#define SVC 0xd4000001u /* svc #0 */
#define NUMBER 8        /* the register with a system call's number */

/* ---- registers ---- */

static bool get(pid_t tid, unsigned set, void *to, size_t bytes)
{
    struct iovec area = {to, bytes};
    return ptrace(PTRACE_GETREGSET, tid, (void *) (uintptr_t) set, &area) == 0 && area.iov_len == bytes;
}

static bool put(pid_t tid, unsigned set, const void *from, size_t bytes)
{
    struct iovec area = {(void *) (uintptr_t) from, bytes};
    return ptrace(PTRACE_SETREGSET, tid, (void *) (uintptr_t) set, &area) == 0;
}

/* Are vectors of SVE in use, which are longer than those that we restore? A system call ends that. */
static bool has_long_vectors(pid_t tid)
{
    struct {
        uint32_t bytes, most_bytes;
        uint16_t length, most_length, flags, unused;
    } header;
    return get(tid, NT_ARM_SVE, &header, sizeof header) && header.flags & 1;
}

bool pl_machine_read(pid_t tid, struct pl_machine_registers *out)
{
    if (!get(tid, NT_PRSTATUS, &out->user, sizeof out->user) ||
        !get(tid, NT_PRFPREG, &out->vectors, sizeof out->vectors) ||
        !get(tid, NT_ARM_TLS, &out->thread_pointer, sizeof out->thread_pointer))
        return false;
    errno = 0;
    long code = ptrace(PTRACE_PEEKTEXT, tid, (void *) (out->user.pc - sizeof out->code[0]), NULL);
    if (errno)
        code = 0;
    memcpy(out->code, &code, sizeof out->code);
    out->long_vectors = has_long_vectors(tid);
    return true;
}

/* The pc last: if we are killed before it, the thread still is where it was. */
bool pl_machine_write(pid_t tid, const struct pl_machine_registers *registers)
{
    return put(tid, NT_PRFPREG, &registers->vectors, sizeof registers->vectors) &&
           put(tid, NT_PRSTATUS, &registers->user, sizeof registers->user);
}

uint64_t pl_machine_pc(const struct pl_machine_registers *registers)
{
    return registers->user.pc;
}

uint64_t pl_machine_sp(const struct pl_machine_registers *registers)
{
    return registers->user.sp;
}

uint64_t pl_machine_thread_pointer(const struct pl_machine_registers *registers)
{
    return registers->thread_pointer;
}

/* The kernel has set the pc back before it tells us of a stop, so a thread that will make its call again is at its svc,
 * with all arguments. One that is there for the first time looks the same, and is treated alike. */
static bool is_at_call(const struct pl_machine_registers *registers)
{
    return registers->code[1] == SVC;
}

long pl_machine_call(const struct pl_machine_registers *registers)
{
    bool interrupted = registers->code[0] == SVC && (int64_t) registers->user.regs[0] == -EINTR;
    return is_at_call(registers) || interrupted ? (long) (uint32_t) registers->user.regs[NUMBER] : -1;
}

void pl_machine_dwarf(const struct pl_machine_registers *registers, uint64_t out[PL_ARCH_REGISTERS])
{
    _Static_assert(PL_ARCH_SP == 31 && PL_ARCH_PC == 32, "as below");
    memcpy(out, registers->user.regs, sizeof registers->user.regs);
    out[PL_ARCH_SP] = registers->user.sp;
    out[PL_ARCH_PC] = registers->user.pc;
}

bool pl_machine_can_restore(const struct pl_machine_registers *registers)
{
    return !registers->long_vectors;
}

/* ---- visits ---- */

/* What rt_sigreturn() restores everything from: registers, vectors, signals. The kernel only reads it. */
struct frame {
    uint8_t info[128];
    uint64_t flags, link, stack[3];
    uint64_t signals;
    uint8_t unused[128];
    uint64_t fault, regs[31], sp, pc, state, pad;
    struct {
        uint32_t magic, bytes, fpsr, fpcr;
        uint8_t vector[32 * 16];
    } vectors;
    uint64_t end[2];
};

/* The beginning of a visit; its code follows. */
struct visit {
    struct pl_visit_head head;
    uint64_t all; /* signals */
    uint64_t seconds[2];
    struct frame frame;
};

_Static_assert(offsetof(struct frame, regs) == 128 + 176 + 8, "as the kernel lays it out");
_Static_assert(offsetof(struct frame, vectors) == 128 + 176 + 288, "as the kernel lays it out");
_Static_assert(sizeof(struct frame) == 1136, "the code has this number");
_Static_assert(offsetof(struct visit, frame) == 48, "a stack pointer is a multiple of 16");
_Static_assert(offsetof(struct frame, sp) == 560, "the code has this number");

#define VECTORS_MAGIC 0x46508001u

/*
 * x19 is the thread's memory. While it has no stack there, sp is that of the interrupted code, below which a signal
 * handler may run. Behind the door all signals are blocked, and rt_sigreturn restores everything at once. A tracer that
 * is alive does not let it come so far (pl_machine_leave).
 */
asm(".pushsection .rodata\n"
    ".globl " PL_VISIT_LABELS ".hidden " PL_VISIT_LABELS ".balign 16\n"
    "pl_visit_begin:\n"
    "    .quad " PL_VISIT_MARK "\n"
    "9:  .quad 0xfffffffeffffffff\n" /* all but SIGSETXID, 33 */
    "    .quad 0\n"
    "8:  .quad 0xffffffffffffffff\n"
    "7:  .quad 30, 0\n" /* seconds */
    "6:  .fill 1136, 1, 0\n"
    "pl_visit_entry:\n"
    "    mov x8, #135\n" /* rt_sigprocmask(SIG_SETMASK, blocked) */
    "    mov x0, #2\n"
    "    adr x1, 9b\n"
    "    mov x2, #0\n"
    "    mov x3, #8\n"
    "    svc #0\n"
    "    mov x8, #222\n" /* mmap(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE) */
    "    mov x0, #0\n"
    "    mov x1, #" PL_VISIT_MEMORY "\n"
    "    mov x2, #3\n"
    "    mov x3, #0x4022\n"
    "    mov x4, #-1\n"
    "    mov x5, #0\n"
    "    svc #0\n"
    "    cmn x0, #1, lsl #12\n"
    "    b.hi 3f\n"
    "    mov x19, x0\n"
    "    mov x16, #" PL_VISIT_MEMORY "\n"
    "    add x16, x19, x16\n"
    "    mov sp, x16\n"
    "    mov x29, #0\n"
    "    msr fpcr, xzr\n"
    "1:  mov x8, #135\n" /* the marker: rt_sigprocmask(SIG_BLOCK, nothing) */
    "    mov x0, #0\n"
    "    mov x1, #0\n"
    "    mov x2, #0\n"
    "    mov x3, #8\n"
    "    svc #0\n"
    "pl_visit_marker:\n"
    "    ldr x16, [x19]\n"
    "    cbz x16, 2f\n"
    "    str xzr, [x19]\n"
    "    ldp x0, x1, [x19, #8]\n"
    "    ldp x2, x3, [x19, #24]\n"
    "    ldp x4, x5, [x19, #40]\n"
    "    blr x16\n"
    "    str x0, [x19, #64]\n"
    "    b 1b\n"
    "2:  ldr x16, [x19, #72]\n"
    "    cbz x16, 4f\n"
    "    str xzr, [x19, #72]\n"
    "    blr x16\n"
    "4:  ldr x16, 6b+560\n"
    "    mov sp, x16\n"
    "    mov x8, #215\n" /* munmap */
    "    mov x0, x19\n"
    "    mov x1, #" PL_VISIT_MEMORY "\n"
    "    svc #0\n"
    "3:  mov x8, #135\n" /* the door: rt_sigprocmask(SIG_BLOCK, nothing) */
    "    mov x0, #0\n"
    "    mov x1, #0\n"
    "    mov x2, #0\n"
    "    mov x3, #8\n"
    "    svc #0\n"
    "pl_visit_door:\n"
    "    mov x8, #135\n" /* rt_sigprocmask(SIG_SETMASK, all) */
    "    mov x0, #2\n"
    "    adr x1, 8b\n"
    "    mov x2, #0\n"
    "    mov x3, #8\n"
    "    svc #0\n"
    "    adr x16, 6b\n"
    "    mov sp, x16\n"
    "    mov x8, #139\n" /* rt_sigreturn */
    "    svc #0\n"
    "pl_visit_system_call:\n"
    "    hint #34\n" /* bti c */
    "    ldp x8, x0, [x19, #8]\n"
    "    ldp x1, x2, [x19, #24]\n"
    "    ldp x3, x4, [x19, #40]\n"
    "    ldr x5, [x19, #56]\n"
    "    svc #0\n"
    "    ret\n"
    "pl_visit_copier:\n"
    "    hint #34\n"
    "    mov x8, #220\n" /* clone(flags) */
    "    mov x1, #0\n"
    "    mov x2, #0\n"
    "    mov x3, #0\n"
    "    mov x4, #0\n"
    "    svc #0\n"
    "    cbz x0, 1f\n"
    "    ret\n"
    "1:  mov x8, #101\n" /* nanosleep */
    "    adr x0, 7b\n"
    "    mov x1, #0\n"
    "    svc #0\n"
    "    mov x8, #94\n" /* exit_group(0) */
    "    mov x0, #0\n"
    "    svc #0\n"
    "pl_visit_wiper:\n"
    "    hint #34\n"
    "    add x20, x19, #80\n" /* ranges: address and bytes, then 0 */
    "1:  ldp x0, x1, [x20], #16\n"
    "    cbz x0, 2f\n"
    "    mov x2, #18\n"  /* MADV_WIPEONFORK */
    "    mov x8, #233\n" /* madvise */
    "    svc #0\n"
    "    b 1b\n"
    "2:  ret\n"
    "pl_visit_end:\n"
    ".popsection\n");
bool pl_machine_able(void)
{
    return true;
}

void pl_machine_fill_visit(void *at, const struct pl_machine_registers *registers, uint64_t signals, uint64_t memory)
{
    struct visit visit;
    memcpy(&visit, pl_visit_begin, sizeof visit);
    visit.head.memory = memory;
    visit.frame.signals = signals;
    memcpy(visit.frame.regs, registers->user.regs, sizeof visit.frame.regs);
    visit.frame.sp = registers->user.sp;
    visit.frame.pc = registers->user.pc;
    visit.frame.state = registers->user.pstate;
    visit.frame.vectors.magic = VECTORS_MAGIC;
    visit.frame.vectors.bytes = sizeof visit.frame.vectors;
    visit.frame.vectors.fpsr = registers->vectors.fpsr;
    visit.frame.vectors.fpcr = registers->vectors.fpcr;
    memcpy(visit.frame.vectors.vector, registers->vectors.vregs, sizeof visit.frame.vectors.vector);
    memcpy(at, pl_visit_begin, pl_machine_visit_bytes());
    memcpy(at, &visit, sizeof visit);
}

#define STATE_BRANCH_TYPE 0xc00u /* what a branch to the pc may lead to */

void pl_machine_send(struct pl_machine_registers *registers, uint64_t visit)
{
    registers->user.pc = visit + pl_visit_offset(pl_visit_entry);
    registers->user.pstate &= ~(unsigned long long) STATE_BRANCH_TYPE;
}

/* Before a system call the kernel shows 0 in x7, after it 1. */
enum pl_machine_place pl_machine_place(const struct pl_machine_registers *registers, uint64_t visit)
{
    if (registers->user.regs[7])
        return PL_PLACE_OTHER;
    return registers->user.pc == visit + pl_visit_offset(pl_visit_marker) ? PL_PLACE_MARKER
           : registers->user.pc == visit + pl_visit_offset(pl_visit_door) ? PL_PLACE_DOOR
                                                                          : PL_PLACE_OTHER;
}

uint64_t pl_machine_memory(const struct pl_machine_registers *registers)
{
    return registers->user.regs[19];
}

/* ---- going home ---- */

/* A sleep for some time goes on for what is left of it, which only the kernel knows. Other calls are made again. */
static void resume_call(struct pl_machine_registers *registers)
{
    long call = pl_machine_call(registers);
    bool sleeps = call == SYS_nanosleep || (call == SYS_clock_nanosleep && !(registers->user.regs[1] & 1));
    if (is_at_call(registers) && sleeps)
        registers->user.regs[NUMBER] = SYS_restart_syscall;
}

/* Calls that are never made again after a handler: signal(7). */
static bool ends_by_handler(long call)
{
    static const long list[] = {
        SYS_restart_syscall, SYS_nanosleep, SYS_clock_nanosleep, SYS_ppoll,           SYS_pselect6,
        SYS_epoll_pwait,     441,           SYS_rt_sigsuspend,   SYS_rt_sigtimedwait, SYS_semop,
        SYS_semtimedop,      SYS_msgrcv};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i] == call)
            return true;
    return false;
}

bool pl_machine_asks_for_handlers(void)
{
    return true;
}

/* The thread goes to the handler of this signal first. Is its call made again then? */
static void end_call(struct pl_machine_registers *home, const struct pl_machine_handlers *handlers, int signal)
{
    uint64_t bit = 1ull << (signal - 1);
    if (!is_at_call(home) || !(handlers->caught & bit))
        return;
    if (handlers->ending & bit || ends_by_handler(pl_machine_call(home))) {
        home->user.regs[0] = (unsigned long long) -EINTR;
        home->user.pc += sizeof home->code[1];
    }
}

/*
 * The kernel has forgotten that it has interrupted a call, so the thread makes it itself, and we wait until it is
 * there. If a signal comes first, its handler runs first.
 *
 * If we are killed before the registers are written, the visit restores them.
 */
bool pl_machine_leave(pid_t tid, const struct pl_machine_registers *before, uint64_t signals,
                      const struct pl_machine_handlers *handlers, uint64_t until_ns, int *signal)
{
    struct pl_machine_registers home = *before;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || ptrace(PTRACE_CONT, tid, NULL, NULL) ||
        !pl_tracee_wait_stop(tid, until_ns, signal) ||
        ptrace(PTRACE_SETSIGMASK, tid, (void *) sizeof signals, &signals))
        return false;
    *signal ? end_call(&home, handlers, *signal) : resume_call(&home);
    if (!pl_machine_write(tid, &home))
        return false;
    if (*signal || !is_at_call(before))
        return true;
    if (!pl_tracee_step(tid) || !pl_tracee_wait_stop(tid, until_ns, signal))
        return false;
    if (*signal == (SIGTRAP | 0x80)) {
        *signal = 0; /* it makes its call */
    } else if (*signal) {
        home = *before;
        end_call(&home, handlers, *signal);
        return pl_machine_write(tid, &home);
    }
    return true;
}
