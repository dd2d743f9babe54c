/* SPDX-License-Identifier: MIT */
/* x86_64.c - registers and visits: see ../machine.h. */
#include <cpuid.h>
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "attach/machine/visits.h"
#include "attach/tracee.h"

/* ---- registers ---- */

bool pl_machine_read(pid_t tid, struct pl_machine_registers *out)
{
    struct iovec area = {&out->user, sizeof out->user};
    return ptrace(PTRACE_GETREGSET, tid, (void *) NT_PRSTATUS, &area) == 0 && area.iov_len == sizeof out->user;
}

bool pl_machine_write(pid_t tid, const struct pl_machine_registers *registers)
{
    struct iovec area = {(void *) &registers->user, sizeof registers->user};
    return ptrace(PTRACE_SETREGSET, tid, (void *) NT_PRSTATUS, &area) == 0;
}

uint64_t pl_machine_pc(const struct pl_machine_registers *registers)
{
    return registers->user.rip;
}

uint64_t pl_machine_sp(const struct pl_machine_registers *registers)
{
    return registers->user.rsp;
}

uint64_t pl_machine_thread_pointer(const struct pl_machine_registers *registers)
{
    return registers->user.fs_base;
}

/* What the kernel stores in rax until it knows how the interrupted call goes on. */
enum restart {
    RESTART_SYS = 512,
    RESTART_NOINTR = 513,
    RESTART_NOHAND = 514,
    RESTART_BLOCK = 516,
};

static bool restarts(const struct user_regs_struct *user)
{
    long result = (long) user->rax;
    return (long) user->orig_rax >= 0 && (result == -RESTART_SYS || result == -RESTART_NOINTR ||
                                          result == -RESTART_NOHAND || result == -RESTART_BLOCK);
}

#define INTERRUPTED 4 /* EINTR: the call returns, and is not made again */

long pl_machine_call(const struct pl_machine_registers *registers)
{
    const struct user_regs_struct *user = &registers->user;
    bool interrupted = (long) user->orig_rax >= 0 && (long) user->rax == -INTERRUPTED;
    return restarts(user) || interrupted ? (long) user->orig_rax : -1;
}

void pl_machine_dwarf(const struct pl_machine_registers *registers, uint64_t out[PL_ARCH_REGISTERS])
{
    const struct user_regs_struct *user = &registers->user;
    const uint64_t all[] = {user->rax, user->rdx, user->rcx, user->rbx, user->rsi, user->rdi,
                            user->rbp, user->rsp, user->r8,  user->r9,  user->r10, user->r11,
                            user->r12, user->r13, user->r14, user->r15, user->rip};
    memcpy(out, all, sizeof all < PL_ARCH_REGISTERS * sizeof *out ? sizeof all : PL_ARCH_REGISTERS * sizeof *out);
}

bool pl_machine_can_restore(const struct pl_machine_registers *registers)
{
    (void) registers;
    return true;
}

/* ---- visits ---- */

/* The beginning of a visit; its code follows. */
struct visit {
    struct pl_visit_head head;
    uint64_t signals; /* signals that are blocked otherwise */
    uint64_t rax, rcx, rdx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip, flags;
};

#define EXTENDED "4096"
#define EXTENDED_MOST 32768

/*
 * rbx is the thread's memory. Until it has a stack there, and after it has none any more, nothing is pushed: rsp is
 * that of the interrupted code, below which a signal handler may run. Only the flags are popped from there, below the
 * red zone.
 */
asm(".pushsection .rodata\n"
    ".globl " PL_VISIT_LABELS ".hidden " PL_VISIT_LABELS ".balign 16\n"
    "pl_visit_begin:\n"
    "    .quad " PL_VISIT_MARK "\n"
    "9:  .quad 0xfffffffeffffffff\n" /* all but SIGSETXID, 33 */
    "    .quad 0\n"
    "8:  .quad 0\n"
    "7:  .fill 18, 8, 0\n"
    "6:  .quad 30, 0\n" /* seconds */
    "5:  .long 0x1f80\n"
    "pl_visit_entry:\n"
    "    mov $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, blocked) */
    "    mov $2, %edi\n"
    "    lea 9b(%rip), %rsi\n"
    "    xor %edx, %edx\n"
    "    mov $8, %r10d\n"
    "    syscall\n"
    "    mov $9, %eax\n" /* mmap(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE) */
    "    xor %edi, %edi\n"
    "    mov $" PL_VISIT_MEMORY ", %esi\n"
    "    mov $3, %edx\n"
    "    mov $0x4022, %r10d\n"
    "    mov $-1, %r8\n"
    "    xor %r9d, %r9d\n"
    "    syscall\n"
    "    mov %rax, %rbx\n"
    "    cmp $-4096, %rax\n"
    "    ja 3f\n"
    "    lea " PL_VISIT_MEMORY "(%rbx), %rsp\n"
    "    mov $-1, %eax\n"
    "    mov $-1, %edx\n"
    "    xsave64 " EXTENDED "(%rbx)\n"
    "    fninit\n"
    "    ldmxcsr 5b(%rip)\n"
    "1:  mov $14, %eax\n" /* the marker: rt_sigprocmask(SIG_BLOCK, nothing) */
    "    xor %edi, %edi\n"
    "    xor %esi, %esi\n"
    "    xor %edx, %edx\n"
    "    mov $8, %r10d\n"
    "    syscall\n"
    "pl_visit_marker:\n"
    "    mov (%rbx), %rax\n"
    "    test %rax, %rax\n"
    "    jz 2f\n"
    "    movq $0, (%rbx)\n"
    "    mov 8(%rbx), %rdi\n"
    "    mov 16(%rbx), %rsi\n"
    "    mov 24(%rbx), %rdx\n"
    "    mov 32(%rbx), %rcx\n"
    "    mov 40(%rbx), %r8\n"
    "    mov 48(%rbx), %r9\n"
    "    call *%rax\n"
    "    mov %rax, 64(%rbx)\n"
    "    jmp 1b\n"
    "2:  mov 72(%rbx), %rax\n"
    "    test %rax, %rax\n"
    "    jz 4f\n"
    "    movq $0, 72(%rbx)\n"
    "    call *%rax\n"
    "4:  mov $-1, %eax\n"
    "    mov $-1, %edx\n"
    "    xrstor64 " EXTENDED "(%rbx)\n"
    "    mov 7b+56(%rip), %rsp\n"
    "    mov $11, %eax\n" /* munmap */
    "    mov %rbx, %rdi\n"
    "    mov $" PL_VISIT_MEMORY ", %esi\n"
    "    syscall\n"
    "3:  mov $14, %eax\n" /* the door: rt_sigprocmask(SIG_SETMASK, signals) */
    "    mov $2, %edi\n"
    "    lea 8b(%rip), %rsi\n"
    "    xor %edx, %edx\n"
    "    mov $8, %r10d\n"
    "    syscall\n"
    "pl_visit_door:\n"
    "    lea -136(%rsp), %rsp\n"
    "    pushq 7b+136(%rip)\n"
    "    popfq\n"
    "    lea 136(%rsp), %rsp\n"
    "    mov 7b(%rip), %rax\n"
    "    mov 7b+8(%rip), %rcx\n"
    "    mov 7b+16(%rip), %rdx\n"
    "    mov 7b+24(%rip), %rbx\n"
    "    mov 7b+32(%rip), %rsi\n"
    "    mov 7b+40(%rip), %rdi\n"
    "    mov 7b+48(%rip), %rbp\n"
    "    mov 7b+64(%rip), %r8\n"
    "    mov 7b+72(%rip), %r9\n"
    "    mov 7b+80(%rip), %r10\n"
    "    mov 7b+88(%rip), %r11\n"
    "    mov 7b+96(%rip), %r12\n"
    "    mov 7b+104(%rip), %r13\n"
    "    mov 7b+112(%rip), %r14\n"
    "    mov 7b+120(%rip), %r15\n"
    "    jmp *7b+128(%rip)\n"
    "pl_visit_system_call:\n"
    "    mov 8(%rbx), %rax\n"
    "    mov 16(%rbx), %rdi\n"
    "    mov 24(%rbx), %rsi\n"
    "    mov 32(%rbx), %rdx\n"
    "    mov 40(%rbx), %r10\n"
    "    mov 48(%rbx), %r8\n"
    "    mov 56(%rbx), %r9\n"
    "    syscall\n"
    "    ret\n"
    "pl_visit_copier:\n"
    "    mov $56, %eax\n" /* clone(flags) */
    "    xor %esi, %esi\n"
    "    xor %edx, %edx\n"
    "    xor %r10d, %r10d\n"
    "    xor %r8d, %r8d\n"
    "    syscall\n"
    "    test %rax, %rax\n"
    "    jz 1f\n"
    "    ret\n"
    "1:  mov $35, %eax\n" /* nanosleep */
    "    lea 6b(%rip), %rdi\n"
    "    xor %esi, %esi\n"
    "    syscall\n"
    "    mov $231, %eax\n" /* exit_group(0) */
    "    xor %edi, %edi\n"
    "    syscall\n"
    "pl_visit_wiper:\n"
    "    lea 80(%rbx), %rbp\n" /* ranges: address and bytes, then 0 */
    "1:  mov (%rbp), %rdi\n"
    "    test %rdi, %rdi\n"
    "    jz 2f\n"
    "    mov 8(%rbp), %rsi\n"
    "    mov $18, %edx\n" /* MADV_WIPEONFORK */
    "    mov $28, %eax\n" /* madvise */
    "    syscall\n"
    "    add $16, %rbp\n"
    "    jmp 1b\n"
    "2:  ret\n"
    "pl_visit_end:\n"
    ".popsection\n");
/* The code has these offsets. */
#define AT(member, offset)                                                                                             \
    _Static_assert(offsetof(struct visit, member) - offsetof(struct visit, rax) == (offset), #member)
AT(rsp, 56);
AT(r15, 120);
AT(rip, 128);
AT(flags, 136);
#undef AT

/* All processors since 2011 have xsave. Its area for all states that the kernel has enabled must fit. */
bool pl_machine_able(void)
{
    unsigned eax, ebx, ecx = 0, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
        return false;
    return __get_cpuid_count(0xd, 0, &eax, &ebx, &ecx, &edx) && ebx <= EXTENDED_MOST;
}

/* After the kernel's own rules for a signal without a handler. */
static struct user_regs_struct settle(struct user_regs_struct user)
{
    if (restarts(&user)) {
        user.rax = (long) user.rax == -RESTART_BLOCK ? SYS_restart_syscall : user.orig_rax;
        user.rip -= 2; /* the length of `syscall` */
    }
    return user;
}

void pl_machine_fill_visit(void *at, const struct pl_machine_registers *registers, uint64_t signals, uint64_t memory)
{
    struct user_regs_struct user = settle(registers->user);
    struct visit visit;
    memcpy(&visit, pl_visit_begin, sizeof visit);
#define KEEP(name) visit.name = user.name
    KEEP(rax), KEEP(rcx), KEEP(rdx), KEEP(rbx), KEEP(rsi), KEEP(rdi), KEEP(rbp), KEEP(rsp), KEEP(r8), KEEP(r9);
    KEEP(r10), KEEP(r11), KEEP(r12), KEEP(r13), KEEP(r14), KEEP(r15), KEEP(rip);
#undef KEEP
    visit.flags = user.eflags;
    visit.signals = signals;
    visit.head.memory = memory;
    memcpy(at, pl_visit_begin, pl_machine_visit_bytes());
    memcpy(at, &visit, sizeof visit);
}

#define FLAG_TRAP 0x100u
#define FLAG_DIRECTION 0x400u
#define FLAG_ALIGNMENT 0x40000u

void pl_machine_send(struct pl_machine_registers *registers, uint64_t visit)
{
    struct user_regs_struct *user = &registers->user;
    user->rip = visit + pl_visit_offset(pl_visit_entry);
    user->orig_rax = ~0ull; /* no system call: the kernel must not move rip */
    user->eflags &= ~(unsigned long long) (FLAG_TRAP | FLAG_DIRECTION | FLAG_ALIGNMENT);
}

enum pl_machine_place pl_machine_place(const struct pl_machine_registers *registers, uint64_t visit)
{
    const struct user_regs_struct *user = &registers->user;
    const long not_made_yet = -38; /* -ENOSYS */
    if ((long) user->rax != not_made_yet)
        return PL_PLACE_OTHER;
    return user->rip == visit + pl_visit_offset(pl_visit_marker) ? PL_PLACE_MARKER
           : user->rip == visit + pl_visit_offset(pl_visit_door) ? PL_PLACE_DOOR
                                                                 : PL_PLACE_OTHER;
}

bool pl_machine_asks_for_handlers(void)
{
    return false;
}

/* Between the door and the end of the system call there, which unblocks its signals, the kernel stops the thread for
 * us, or for a signal. It takes the registers that the thread has then for those that were interrupted. */
bool pl_machine_leave(pid_t tid, const struct pl_machine_registers *before, uint64_t signals,
                      const struct pl_machine_handlers *handlers, uint64_t until_ns, int *signal)
{
    (void) signals, (void) handlers;
    return !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) && !ptrace(PTRACE_CONT, tid, NULL, NULL) &&
           pl_tracee_wait_stop(tid, until_ns, signal) && pl_machine_write(tid, before);
}

uint64_t pl_machine_memory(const struct pl_machine_registers *registers)
{
    return registers->user.rbx;
}
