/* SPDX-License-Identifier: MIT */
/*
 * x86_64.h - everything the core knows about this processor and its calling convention.
 *
 * A port is one file like this. It has raw system calls, the floating-point environment, access to the thread-local
 * words of the hot path, and the unwinder's register numbers and signal frame.
 */
#ifndef PL_ARCH_X86_64_H
#define PL_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

#define PL_ARCH_MACHINE 62 /* EM_X86_64 */
#define PL_ARCH_ADDRESS_BITS 47
#define PL_ARCH_PAGE_MOST 4096u /* the largest page size that a kernel may have */
#define PL_ARCH_PAIRS           /* alignment of counters: each is added to in one instruction, so none is needed */

INLINE long pl_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/*
 * The program may have unmasked floating-point exceptions, changed the rounding mode, or be about to read the sticky
 * flags. The cold path computes with the default MXCSR and restores the program's afterwards.
 */
struct pl_arch_fp_state {
    uint32_t mxcsr;
};

INLINE void pl_arch_fp_enter(struct pl_arch_fp_state *saved)
{
    const uint32_t defaults = 0x1f80;
    __asm__ volatile("stmxcsr %0" : "=m"(saved->mxcsr));
    __asm__ volatile("ldmxcsr %0" : : "m"(defaults));
}

INLINE void pl_arch_fp_leave(const struct pl_arch_fp_state *saved)
{
    __asm__ volatile("ldmxcsr %0" : : "m"(saved->mxcsr));
}

/* 5 bytes, which the kernel can replace by one instruction: a breakpoint on a shorter nop costs a listener twice as
 * much time. Then where a function finds its arguments, as notes of probes say it. */
#define PL_ARCH_PROBE_NOP ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define PL_ARCH_PROBE_ARGUMENT_1 "8@%rdi"
#define PL_ARCH_PROBE_ARGUMENT_2 "8@%rsi"
#define PL_ARCH_PROBE_ARGUMENT_3 "8@%rdx"

/* The square root. */
INLINE double pl_arch_root(double square)
{
    double root;
    __asm__("sqrtsd %1, %0" : "=x"(root) : "x"(square));
    return root;
}

INLINE uintptr_t pl_arch_stack_pointer(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
    return sp;
}

INLINE uintptr_t pl_arch_thread_pointer(void)
{
    uintptr_t tp;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* For functions that a program calls: its stack may be aligned to 8 bytes only, if it has frames written in assembly.
 * The compiler stores two words at once where it expects 16. */
#define PL_ARCH_ENTRY __attribute__((force_align_arg_pointer))

/* The time stamp counter. It has a constant rate and is the same on all cores, on any machine of the last 15 years. */
INLINE uint64_t pl_arch_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

/* Waits until everything before this has finished, also loads whose result nothing needs yet. */
INLINE void pl_arch_finish(void)
{
    __builtin_ia32_lfence();
}

INLINE void pl_arch_pause(void)
{
    __builtin_ia32_pause();
}

/* The stack pointer that glibc's longjmp will restore: the seventh word of the buffer, mangled with the thread's
 * pointer guard. */
INLINE uintptr_t pl_arch_jump_target(const void *buffer)
{
    uintptr_t sp = ((const uintptr_t *) buffer)[6];
    __asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(sp) : : "cc");
    return sp;
}

/* The same in musl, which does not mangle it. */
INLINE uintptr_t pl_arch_jump_target_plain(const void *buffer)
{
    return ((const uintptr_t *) buffer)[6];
}

/*
 * The hot path: count the call, subtract its charge from the countdown. True if the caller must take the cold path:
 * either the countdown ran out, or the loader has not relocated us yet (the IFUNC resolver of another library may
 * allocate that early). Before relocation the offset of our thread-local storage reads as 0, which is never a valid
 * offset.
 */
#define PL_HOT_CHARGE(counter, charge)                                                                                 \
    ({                                                                                                                 \
        uintptr_t tls_;                                                                                                \
        bool borrow_ = true;                                                                                           \
        __asm__("movq pl_tls@gottpoff(%%rip), %0" : "=r"(tls_));                                                       \
        if (likely(tls_)) {                                                                                            \
            __asm__ volatile("addq $1, %%fs:%c1(%0)" : : "r"(tls_), "i"(counter) : "cc", "memory");                    \
            __asm__ volatile("subq %2, %%fs:(%1)" : "=@ccc"(borrow_) : "r"(tls_), "r"(charge) : "memory");             \
        }                                                                                                              \
        borrow_;                                                                                                       \
    })

/* Adds in one instruction, so that no signal handler can run between load and store. True if the sum is not 0. */
INLINE bool pl_arch_add_is_not_zero(uint64_t *to, uint64_t value)
{
    bool not_zero;
    __asm__ volatile("addq %2, %0" : "+m"(*to), "=@ccnz"(not_zero) : "r"(value) : "memory");
    return not_zero;
}

INLINE void pl_arch_add(uint64_t *to, uint64_t value)
{
    __asm__ volatile("addq %1, %0" : "+m"(*to) : "er"(value) : "cc", "memory");
}

/* Subtracts from a countdown, in one instruction. True if that borrows. */
INLINE bool pl_arch_take(uint64_t *from, uint64_t charge)
{
    bool borrow;
    __asm__ volatile("subq %2, %0" : "+m"(*from), "=@ccc"(borrow) : "r"(charge) : "memory");
    return borrow;
}

INLINE bool pl_arch_take_32(uint32_t *from, uint32_t charge)
{
    bool borrow;
    __asm__ volatile("subl %2, %0" : "+m"(*from), "=@ccc"(borrow) : "r"(charge) : "memory");
    return borrow;
}

/* Counts a call, and takes its charge, where no signal handler can come in between: see aarch64.h. */
INLINE bool pl_arch_charge_alone(uint64_t *from, uint64_t *calls, uint64_t charge)
{
    pl_arch_add(calls, 1);
    return pl_arch_take(from, charge);
}

/* `yes` if a < b, else `no`: never with a branch, for what cannot be predicted. */
INLINE uint64_t pl_arch_if_below(uint64_t a, uint64_t b, uint64_t yes, uint64_t no)
{
    __asm__("cmpq %2, %1\n\tcmovbq %3, %0" : "+r"(no) : "r"(a), "er"(b), "r"(yes) : "cc");
    return no;
}

INLINE bool pl_arch_is_relocated(void)
{
    uintptr_t tls;
    __asm__("movq pl_tls@gottpoff(%%rip), %0" : "=r"(tls));
    return tls != 0;
}

/*
 * Defines a function of up to three arguments that passes them to `choose`, and jumps to the address that this returns:
 * with the same arguments, and with the caller's return address on top of the stack.
 */
#define PL_JUMP_CHOSEN_BY(choose, name)                                                                                \
    __asm__(".pushsection .text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name ":\n\t.cfi_startproc\n\t"   \
            "endbr64\n\t"                                                                                              \
            "pushq %rdi\n\t.cfi_adjust_cfa_offset 8\n\t"                                                               \
            "pushq %rsi\n\t.cfi_adjust_cfa_offset 8\n\t"                                                               \
            "pushq %rdx\n\t.cfi_adjust_cfa_offset 8\n\t"                                                               \
            "call " #choose "\n\t"                                                                                     \
            "popq %rdx\n\t.cfi_adjust_cfa_offset -8\n\t"                                                               \
            "popq %rsi\n\t.cfi_adjust_cfa_offset -8\n\t"                                                               \
            "popq %rdi\n\t.cfi_adjust_cfa_offset -8\n\t"                                                               \
            "jmp *%rax\n\t"                                                                                            \
            ".cfi_endproc\n\t.size " #name ", . - " #name "\n\t.popsection")

/* An address in code, as it is on the stack; the address of a block, as it is passed to free(). Other processors have
 * signatures and tags in them. */
INLINE uintptr_t pl_arch_code(uintptr_t word)
{
    return word;
}

INLINE uintptr_t pl_arch_untagged(uintptr_t address)
{
    return address;
}

/*
 * Unwinding: registers by their DWARF numbers, and the frame that the kernel pushes for a signal handler.
 */
#define PL_ARCH_REGISTERS 17
#define PL_ARCH_FP 6
#define PL_ARCH_SP 7
#define PL_ARCH_PC 16 /* the return address has a column of its own */
#define PL_ARCH_RETURN PL_ARCH_PC
#define PL_ARCH_CALL_PUSHES 8   /* bytes: the return address, just below the caller's stack pointer (the CFA) */
#define PL_ARCH_RED_ZONE 128    /* bytes below sp that an interrupted function may be using */
#define PL_ARCH_CODE_SHIFT 0    /* instructions begin at multiples of 2^this */
#define PL_ARCH_SIGNS_CODE 0    /* has no pointer authentication, so that no unwind table mentions it */
#define PL_ARCH_FRAME_WORDS 512 /* of struct pl_walk's scratch space */
#define PL_ARCH_VECTOR_LENGTH 0 /* no register is the length of vectors */

/* A conditional jump with an offset of 32 bits, which leads out of a function only into a part of it. */
#define PL_ARCH_JUMP_BYTES 6
INLINE bool pl_arch_far_jump(const uint8_t *at, uintptr_t *target)
{
    uint32_t offset = at[2] | (uint32_t) at[3] << 8 | (uint32_t) at[4] << 16 | (uint32_t) at[5] << 24;
    *target = (uintptr_t) at + PL_ARCH_JUMP_BYTES + (uintptr_t) (int64_t) (int32_t) offset;
    return at[0] == 0x0f && (at[1] & 0xf0) == 0x80;
}

/*
 * A plain rule:
 *
 *   29                     10 9           2 1    0
 *  ┌─────────────────────────┬─────────────┬──────┐   CFA = base + 8N
 *  │ N                       │ M           │ base │   the caller's pc is at CFA - 8, its fp at CFA - 8 - 8M
 *  └─────────────────────────┴─────────────┴──────┘   (M = 0: fp is unchanged)
 */
struct pl_arch_stride {
    uintptr_t cfa;
    uintptr_t pc_at;
    uintptr_t fp_at; /* the same as pc_at: fp is unchanged */
};
#define PL_ARCH_RULE_FP 0x3fcu /* the bits that say where fp is */

INLINE struct pl_arch_stride pl_arch_stride(uint32_t rule, uintptr_t base)
{
    uintptr_t cfa = base + 8 * (uintptr_t) (rule >> 10);
    return (struct pl_arch_stride){cfa, cfa - 8, cfa - 8 - 8 * (uintptr_t) (rule >> 2 & 0xff)};
}

/* The rule without its base: `cfa` is relative to the base, `pc` and `fp` to the CFA. 0: they do not fit. */
INLINE uint32_t pl_arch_rule(int64_t cfa, int64_t pc, int64_t fp)
{
    int64_t m = (pc - fp) / 8;
    if (cfa < 8 || cfa % 8 || cfa >= 8 << 20 || pc != -8 || fp >= 0 || fp % 8 || m < 0 || m > 255)
        return 0;
    return (uint32_t) (cfa / 8) << 10 | (uint32_t) m << 2;
}

/* A handler returns to rt_sigreturn with sp at a ucontext; these are the offsets of the registers in it. */
#define PL_ARCH_SIGNAL_AT(greg) (40 + 8 * (greg))
#define PL_ARCH_SIGNAL_BYTES PL_ARCH_SIGNAL_AT(PL_ARCH_REGISTERS)
INLINE unsigned pl_arch_signal_at(unsigned number)
{
    static const uint8_t at[PL_ARCH_REGISTERS] = {
        PL_ARCH_SIGNAL_AT(13), PL_ARCH_SIGNAL_AT(12),
        PL_ARCH_SIGNAL_AT(14), PL_ARCH_SIGNAL_AT(11), /* rax rdx rcx rbx */
        PL_ARCH_SIGNAL_AT(9),  PL_ARCH_SIGNAL_AT(8),
        PL_ARCH_SIGNAL_AT(10), PL_ARCH_SIGNAL_AT(15), /* rsi rdi rbp rsp */
        PL_ARCH_SIGNAL_AT(0),  PL_ARCH_SIGNAL_AT(1),
        PL_ARCH_SIGNAL_AT(2),  PL_ARCH_SIGNAL_AT(3), /* r8 to r11 */
        PL_ARCH_SIGNAL_AT(4),  PL_ARCH_SIGNAL_AT(5),
        PL_ARCH_SIGNAL_AT(6),  PL_ARCH_SIGNAL_AT(7), /* r12 to r15 */
        PL_ARCH_SIGNAL_AT(16),                       /* rip */
    };
    return at[number];
}

INLINE bool pl_arch_has_vectors(void)
{
    return false;
}

INLINE uint64_t pl_arch_vector_length(void)
{
    return 0;
}

/* Do these bytes, the eight in front of an address, end with a call instruction? If not, it is no return address. Or
 * with a nop: Go's outermost return address is behind one. */
INLINE bool pl_arch_ends_with_call(const uint8_t code[8])
{
    static const uint8_t lengths[] = {2, 3, 4, 6, 7}; /* of calls through a register or memory: ff /2 */
    bool is = code[8 - 5] == 0xe8 || code[8 - 1] == 0x90;
    for (unsigned i = 0; i < sizeof lengths; i++)
        is |= code[8 - lengths[i]] == 0xff && (code[8 - lengths[i] + 1] & 0x38) == 0x10;
    return is;
}

/* In a function: its unwind table says that it has no caller. */
#define PL_ARCH_OUTERMOST() __asm__ volatile(".cfi_undefined rip")

/* mov $__NR_rt_sigreturn, %rax; syscall: identifies a signal trampoline that has no unwind tables (musl, Go). */
#define PL_ARCH_SIGRETURN "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
#define PL_ARCH_SIGRETURN_ANYWHERE 0 /* it is always in a module */

/*
 * Stores the callee-saved registers, sp and pc as they are here. The unwind tables of the function that this is inlined
 * into describe them, so the unwinder can step from here to the function's callers.
 */
INLINE void pl_arch_capture(uint64_t registers[PL_ARCH_REGISTERS])
{
    __asm__ volatile("movq %%rbx, 24(%0)\n\t"
                     "movq %%rbp, 48(%0)\n\t"
                     "movq %%rsp, 56(%0)\n\t"
                     "movq %%r12, 96(%0)\n\t"
                     "movq %%r13, 104(%0)\n\t"
                     "movq %%r14, 112(%0)\n\t"
                     "movq %%r15, 120(%0)\n\t"
                     "leaq 0f(%%rip), %%rax\n"
                     "0:\tmovq %%rax, 128(%0)"
                     :
                     : "r"(registers)
                     : "rax", "memory");
}
#define PL_ARCH_CAPTURED 0x1f0c8u /* a bit for each of them: rbx, rbp, rsp, r12 to r15, rip */

#endif
