/* SPDX-License-Identifier: MIT */
/* x86_64.c - see ../machine.h. */
#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "attach/machine.h"

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

/* ---- the visitor ---- */

/* The offsets are in the code below, too. */
struct frame {
    struct pl_machine_call call; /* 0 */
    uint64_t all_signals;        /* 64 */
    uint64_t signals;            /* 72: those that were blocked before */
    uint64_t rax, rcx, rdx, rbx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15; /* 80 to 192 */
    uint64_t rip, cs, rflags, rsp, ss;                                                /* 200 to 232: for iretq */
    uint64_t padding[2];
    uint8_t extended[]; /* 256: what xsave writes */
};
_Static_assert(offsetof(struct frame, all_signals) == 64 && offsetof(struct frame, signals) == 72 &&
                   offsetof(struct frame, rax) == 80 && offsetof(struct frame, r15) == 192 &&
                   offsetof(struct frame, rip) == 200 && offsetof(struct frame, ss) == 232 &&
                   offsetof(struct frame, extended) == 256,
               "the visitor's code has these offsets");

/*
 * rbx is the frame. Signals are blocked while the calls are made, by the thread itself, which also unblocks them: a
 * handler could jump out of a call that holds a lock. iretq restores rip, rsp and the flags at once, without a word
 * below rsp. It is the only way back that changes nothing else: sigreturn would make the kernel forget a system call
 * that it has to restart.
 */
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "pl_visitor_code:\n"
    "    mov %rsp, %rbx\n"
    "    mov $-1, %eax\n"
    "    mov $-1, %edx\n"
    "    xsave64 256(%rbx)\n"
    "    mov $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, all, before) */
    "    mov $2, %edi\n"
    "    lea 64(%rbx), %rsi\n"
    "    lea 72(%rbx), %rdx\n"
    "    mov $8, %r10d\n"
    "    syscall\n"
    "1:  mov $14, %eax\n" /* the marker: rt_sigprocmask(SIG_BLOCK, nothing) */
    "    xor %edi, %edi\n"
    "    xor %esi, %esi\n"
    "    xor %edx, %edx\n"
    "    mov $8, %r10d\n"
    "    syscall\n"
    "pl_visitor_marker:\n"
    "    mov 0(%rbx), %rax\n"
    "    test %rax, %rax\n"
    "    jz 2f\n"
    "    movq $0, 0(%rbx)\n"
    "    mov 8(%rbx), %rdi\n"
    "    mov 16(%rbx), %rsi\n"
    "    mov 24(%rbx), %rdx\n"
    "    mov 32(%rbx), %rcx\n"
    "    mov 40(%rbx), %r8\n"
    "    mov 48(%rbx), %r9\n"
    "    call *%rax\n"
    "    mov %rax, 56(%rbx)\n"
    "    jmp 1b\n"
    "2:  mov $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, before) */
    "    mov $2, %edi\n"
    "    lea 72(%rbx), %rsi\n"
    "    xor %edx, %edx\n"
    "    mov $8, %r10d\n"
    "    syscall\n"
    "    mov $-1, %eax\n"
    "    mov $-1, %edx\n"
    "    xrstor64 256(%rbx)\n"
    "    mov 80(%rbx), %rax\n"
    "    mov 88(%rbx), %rcx\n"
    "    mov 96(%rbx), %rdx\n"
    "    mov 112(%rbx), %rsi\n"
    "    mov 120(%rbx), %rdi\n"
    "    mov 128(%rbx), %rbp\n"
    "    mov 136(%rbx), %r8\n"
    "    mov 144(%rbx), %r9\n"
    "    mov 152(%rbx), %r10\n"
    "    mov 160(%rbx), %r11\n"
    "    mov 168(%rbx), %r12\n"
    "    mov 176(%rbx), %r13\n"
    "    mov 184(%rbx), %r14\n"
    "    mov 192(%rbx), %r15\n"
    "    lea 200(%rbx), %rsp\n"
    "    mov 104(%rbx), %rbx\n"
    "    iretq\n"
    "pl_visitor_end:\n"
    ".popsection\n");
extern const uint8_t pl_visitor_code[], pl_visitor_marker[], pl_visitor_end[];

const uint8_t *pl_machine_visitor(size_t *bytes)
{
    *bytes = (size_t) (pl_visitor_end - pl_visitor_code);
    return pl_visitor_code;
}

/* What xsave writes for all the states that the kernel has enabled. */
static size_t extended_bytes(void)
{
    unsigned eax, ebx = 0, ecx, edx;
    __cpuid_count(0xd, 0, eax, ebx, ecx, edx);
    return ebx;
}

size_t pl_machine_frame_bytes(void)
{
    return (sizeof(struct frame) + extended_bytes() + PL_MACHINE_FRAME_ALIGN - 1) &
           ~(size_t) (PL_MACHINE_FRAME_ALIGN - 1);
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

void pl_machine_fill_frame(void *at, const struct pl_machine_registers *registers)
{
    struct user_regs_struct user = settle(registers->user);
    struct frame *frame = at;
    memset(frame, 0, pl_machine_frame_bytes());
    frame->all_signals = ~0ull;
#define KEEP(name) frame->name = user.name
    KEEP(rax), KEEP(rcx), KEEP(rdx), KEEP(rbx), KEEP(rsi), KEEP(rdi), KEEP(rbp), KEEP(r8), KEEP(r9), KEEP(r10);
    KEEP(r11), KEEP(r12), KEEP(r13), KEEP(r14), KEEP(r15), KEEP(rip), KEEP(cs), KEEP(rsp), KEEP(ss);
#undef KEEP
    frame->rflags = user.eflags;
}

#define FLAG_TRAP 0x100u
#define FLAG_DIRECTION 0x400u

void pl_machine_send(struct pl_machine_registers *registers, uint64_t visitor, uint64_t frame)
{
    struct user_regs_struct *user = &registers->user;
    user->rip = visitor;
    user->rsp = frame;
    user->orig_rax = ~0ull; /* no system call: the kernel must not move rip */
    user->eflags &= ~(unsigned long long) (FLAG_TRAP | FLAG_DIRECTION);
}

bool pl_machine_at_marker(const struct pl_machine_registers *registers, uint64_t visitor)
{
    const struct user_regs_struct *user = &registers->user;
    const long not_made_yet = -38; /* -ENOSYS */
    return user->rip == visitor + (uint64_t) (pl_visitor_marker - pl_visitor_code) && (long) user->rax == not_made_yet;
}

/* ---- entries ---- */

#define JUMP_BYTES 5 /* jmp, 32 bits relative */

static bool put_jump(uint8_t *to, uint64_t from, uint64_t target)
{
    int64_t distance = (int64_t) (target - (from + JUMP_BYTES));
    int32_t near = (int32_t) distance;
    to[0] = 0xe9;
    memcpy(to + 1, &near, sizeof near);
    return near == distance;
}

/* mov $slot, %r11; jmp *(%r11). A caller does not expect r11 to survive. */
static size_t put_springboard(uint8_t *to, uint64_t slot)
{
    const uint8_t load[] = {0x49, 0xbb}, jump[] = {0x41, 0xff, 0x23};
    memcpy(to, load, sizeof load);
    memcpy(to + 2, &slot, sizeof slot);
    memcpy(to + 10, jump, sizeof jump);
    return 16;
}

static bool is_relative(const ZydisDecodedInstruction *instruction)
{
    return instruction->attributes & ZYDIS_ATTRIB_IS_RELATIVE;
}

/* Copies one instruction to another address. NULL, or why not. */
static const char *move_instruction(const ZydisDecodedInstruction *in, const uint8_t *code, uint64_t from, uint8_t *to,
                                    uint64_t at, size_t *bytes)
{
    memcpy(to, code, in->length);
    *bytes = in->length;
    if (!is_relative(in))
        return NULL;
    if (in->raw.disp.size == 32) { /* memory, relative to rip */
        int64_t distance = in->raw.disp.value + (int64_t) (from - at);
        int32_t near = (int32_t) distance;
        memcpy(to + in->raw.disp.offset, &near, sizeof near);
        return near == distance ? NULL : "its data is too far away";
    }
    if (in->meta.category == ZYDIS_CATEGORY_COND_BR && in->raw.imm[0].size >= 8 &&
        in->mnemonic != ZYDIS_MNEMONIC_JRCXZ && in->mnemonic != ZYDIS_MNEMONIC_JECXZ &&
        in->mnemonic != ZYDIS_MNEMONIC_LOOP && in->mnemonic != ZYDIS_MNEMONIC_LOOPE &&
        in->mnemonic != ZYDIS_MNEMONIC_LOOPNE) {
        uint64_t target = from + in->length + (uint64_t) in->raw.imm[0].value.s;
        int64_t distance = (int64_t) (target - (at + 6));
        int32_t near = (int32_t) distance;
        to[0] = 0x0f;
        to[1] = (uint8_t) (0x80 | (in->opcode & 0xf));
        memcpy(to + 2, &near, sizeof near);
        *bytes = 6;
        return near == distance ? NULL : "a branch is too far away";
    }
    if (in->meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
        *bytes = JUMP_BYTES;
        return put_jump(to, at, from + in->length + (uint64_t) in->raw.imm[0].value.s) ? NULL
                                                                                       : "a jump is too far away";
    }
    return "it begins with a call";
}

static bool ends(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_RET || in->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
           in->meta.category == ZYDIS_CATEGORY_INTERRUPT;
}

/* Does the function jump back into its own first bytes? Instructions that cannot be decoded end the search: data. */
static bool returns_to_start(const ZydisDecoder *decoder, const struct pl_machine_function *function, size_t bytes)
{
    ZydisDecodedInstruction in;
    for (size_t at = 0; at < function->bytes; at += in.length) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, function->code + at, function->bytes - at, &in)))
            return false;
        bool branch = is_relative(&in) && in.raw.disp.size != 32;
        uint64_t target = at + in.length + (uint64_t) in.raw.imm[0].value.s;
        if (branch && target > 0 && target < bytes)
            return true;
    }
    return false;
}

const char *pl_machine_plan(const struct pl_machine_function *function, struct pl_machine_plan *out)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction in;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    memset(out, 0xcc, sizeof *out);
    size_t body = put_springboard(out->room, function->slot), to = body, from = 0;
    bool ended = false;
    while (from < JUMP_BYTES) {
        size_t bytes;
        if (ended)
            return "it is too short";
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, function->code + from, function->bytes - from, &in)))
            return "its code cannot be decoded";
        const char *why = move_instruction(&in, function->code + from, function->entry + from, out->room + to,
                                           function->room + to, &bytes);
        if (why)
            return why;
        ended = ends(&in);
        from += in.length;
        to += bytes;
    }
    if (returns_to_start(&decoder, function, from))
        return "it jumps back to its first instructions";
    if (!put_jump(out->room + to, function->room + to, function->entry + from))
        return "it is too far away";
    out->patch = (struct pl_desk_patch){.entry = function->entry,
                                        .springboard = function->room,
                                        .body = function->room + body,
                                        .bytes = (uint32_t) from};
    memcpy(out->patch.before, function->code, from);
    memset(out->patch.after, 0xcc, from); /* never executed */
    return put_jump(out->patch.after, function->entry, function->room) ? NULL : "it is too far away";
}
