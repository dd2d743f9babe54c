/* SPDX-License-Identifier: MIT */
/*
 * aarch64.h - everything the core knows about this processor and its calling convention; see x86_64.h.
 *
 * Three things differ from x86_64 in kind. A call does not push its return address: it is in x30 (lr), and the callee
 * stores it anywhere in its frame. No instruction adds to memory; a pair of exclusive load and store does, and starts
 * again if a signal handler ran in between. And addresses may carry more than an address: a signature in the upper bits
 * of a return address (PAC), a tag in the top byte of a pointer (TBI, MTE).
 */
#ifndef PL_ARCH_AARCH64_H
#define PL_ARCH_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

#define PL_ARCH_MACHINE 183     /* EM_AARCH64 */
#define PL_ARCH_ADDRESS_BITS 48 /* of what mmap() returns, unless a program asks for more (LVA, 52 bits) */
#define PL_ARCH_PAGE_MOST (64u << 10)
#define PL_ARCH_PAIRS __attribute__((aligned(16))) /* of counters: two are loaded and stored at once */

INLINE long pl_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}

/* The program's rounding mode and traps are in FPCR, its sticky flags in FPSR. */
struct pl_arch_fp_state {
    uint64_t fpcr;
    uint64_t fpsr;
};

INLINE void pl_arch_fp_enter(struct pl_arch_fp_state *saved)
{
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr\n\tmsr fpcr, xzr"
                     : "=r"(saved->fpcr), "=r"(saved->fpsr)
                     :
                     : "memory");
}

INLINE void pl_arch_fp_leave(const struct pl_arch_fp_state *saved)
{
    __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0" : : "r"(saved->fpcr), "r"(saved->fpsr) : "memory");
}

/* A probe, and where a function finds its arguments, as notes of probes say it. */
#define PL_ARCH_PROBE_NOP "nop"
#define PL_ARCH_PROBE_ARGUMENT_1 "8@x0"
#define PL_ARCH_PROBE_ARGUMENT_2 "8@x1"
#define PL_ARCH_PROBE_ARGUMENT_3 "8@x2"

/* The square root. */
INLINE double pl_arch_root(double square)
{
    double root;
    __asm__("fsqrt %d0, %d1" : "=w"(root) : "w"(square));
    return root;
}

INLINE uintptr_t pl_arch_stack_pointer(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    return sp;
}

INLINE uintptr_t pl_arch_thread_pointer(void)
{
    uintptr_t tp;
    __asm__("mrs %0, tpidr_el0" : "=r"(tp));
    return tp;
}

/* The virtual counter. It runs at 24 MHz on one machine and at 1 GHz on another, so it is shifted until a tick is
 * between half a nanosecond and a nanosecond, as the constants of the core assume. */
INLINE uint64_t pl_arch_ticks(void)
{
    uint64_t count, hertz;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    __asm__("mrs %0, cntfrq_el0" : "=r"(hertz));
    return count << (unsigned) (__builtin_clzll(hertz | 1) - 33) % 32;
}

INLINE void pl_arch_finish(void)
{
    __asm__ volatile("dsb ishld\n\tisb" : : : "memory");
}

INLINE void pl_arch_pause(void)
{
    __asm__ volatile("yield");
}

/* The stack pointer that glibc's longjmp will restore: the fourteenth word of the buffer, mangled with a secret of the
 * loader. A buffer of our own, with a stack pointer that we know, tells what the secret is. */
#ifndef PL_ARCH_SETJMP
#define PL_ARCH_SETJMP "_setjmp"
#endif
extern int pl_arch_setjmp(void *buffer) __asm__(PL_ARCH_SETJMP) __attribute__((returns_twice));
#define PL_ARCH_JUMP_SP 13
#define PL_ARCH_JUMP_WORDS 64
static __attribute__((noinline, unused)) uintptr_t pl_arch_jump_target(const void *buffer)
{
    uintptr_t own[PL_ARCH_JUMP_WORDS] __attribute__((aligned(16)));
    own[PL_ARCH_JUMP_SP] = 0;
    pl_arch_setjmp(own);
    return ((const uintptr_t *) buffer)[PL_ARCH_JUMP_SP] ^ own[PL_ARCH_JUMP_SP] ^ pl_arch_stack_pointer();
}

/* The same in musl, which does not mangle it. */
INLINE uintptr_t pl_arch_jump_target_plain(const void *buffer)
{
    return ((const uintptr_t *) buffer)[PL_ARCH_JUMP_SP];
}

/* ---- the hot path ---- */

/* Counters of a thread: a signal handler of the same thread may count, too. The exclusive store fails if one ran since
 * the load, since every return from the kernel clears the monitor. */
INLINE uint64_t pl_arch_fetch_add(uint64_t *to, uint64_t value)
{
    uint64_t old, sum;
    uint32_t failed;
    __asm__ volatile("0:\tldxr %0, %3\n\tadd %1, %0, %4\n\tstxr %w2, %1, %3\n\tcbnz %w2, 0b"
                     : "=&r"(old), "=&r"(sum), "=&r"(failed), "+Q"(*to)
                     : "r"(value)
                     : "memory");
    return old;
}

INLINE void pl_arch_add(uint64_t *to, uint64_t value)
{
    pl_arch_fetch_add(to, value);
}

/* True if the sum is not 0. */
INLINE bool pl_arch_add_is_not_zero(uint64_t *to, uint64_t value)
{
    return pl_arch_fetch_add(to, value) + value != 0;
}

/* Subtracts from a countdown. True if that borrows. */
INLINE bool pl_arch_take(uint64_t *from, uint64_t charge)
{
    return pl_arch_fetch_add(from, -charge) < charge;
}

/* The same. What a signal handler takes between load and store is forgotten. */
INLINE bool pl_arch_take_32(uint32_t *from, uint32_t charge)
{
    uint32_t left = __atomic_load_n(from, __ATOMIC_RELAXED);
    __atomic_store_n(from, left - charge, __ATOMIC_RELAXED);
    return left < charge;
}

/* The same as pl_arch_take(), and counts the call in the next word: one pair of loads and stores does both. */
INLINE bool pl_arch_take_and_count(uint64_t *from, uint64_t charge)
{
    uint64_t left, calls;
    uint32_t failed;
    bool borrow;
    __asm__ volatile("0:\tldxp %0, %1, %4\n\tadd %1, %1, #1\n\tsubs %0, %0, %5\n\tstxp %w2, %0, %1, %4\n\tcbnz %w2, 0b"
                     : "=&r"(left), "=&r"(calls), "=&r"(failed), "=@cccc"(borrow), "+Q"(*(__uint128_t *) (void *) from)
                     : "r"(charge)
                     : "memory");
    return borrow;
}

/* The same for an allocator that no signal handler may call: glibc's own. `calls` is often the next word. */
INLINE bool pl_arch_charge_alone(uint64_t *from, uint64_t *calls, uint64_t charge)
{
    uint64_t left, sum;
    bool borrow;
    if (calls != from + 1) {
        ++*calls;
        left = *from;
        *from = left - charge;
        return left < charge;
    }
    __asm__("ldp %0, %1, %3\n\tadd %1, %1, #1\n\tsubs %0, %0, %4\n\tstp %0, %1, %3"
            : "=&r"(left), "=&r"(sum), "=@cccc"(borrow), "+Q"(*(__uint128_t *) (void *) from)
            : "r"(charge));
    return borrow;
}

/* `yes` if a < b, else `no`: never with a branch, for what cannot be predicted. */
INLINE uint64_t pl_arch_if_below(uint64_t a, uint64_t b, uint64_t yes, uint64_t no)
{
    uint64_t chosen;
    __asm__("cmp %1, %2\n\tcsel %0, %3, %4, lo" : "=r"(chosen) : "r"(a), "r"(b), "r"(yes), "r"(no) : "cc");
    return chosen;
}

/* The offset of pl_tls from the thread pointer, as the loader has stored it; 0 before relocation. */
INLINE uintptr_t pl_arch_tls_offset(void)
{
    uintptr_t offset;
    __asm__("adrp %0, :gottprel:pl_tls\n\tldr %0, [%0, #:gottprel_lo12:pl_tls]" : "=r"(offset));
    return offset;
}

#define PL_HOT_CHARGE(counter, charge)                                                                                 \
    ({                                                                                                                 \
        uintptr_t tls_ = pl_arch_tls_offset();                                                                         \
        bool borrow_ = true;                                                                                           \
        if (likely(tls_)) {                                                                                            \
            uint64_t *left_ = (uint64_t *) (tls_ + pl_arch_thread_pointer());                                          \
            if ((counter) == sizeof *left_) {                                                                          \
                borrow_ = pl_arch_take_and_count(left_, charge);                                                       \
            } else {                                                                                                   \
                pl_arch_add(left_ + (counter) / sizeof *left_, 1);                                                     \
                borrow_ = pl_arch_take(left_, charge);                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        borrow_;                                                                                                       \
    })

INLINE bool pl_arch_is_relocated(void)
{
    return pl_arch_tls_offset() != 0;
}

/* x16 holds the target, so that BTI allows the jump to the beginning of a function. */
#define PL_JUMP_CHOSEN_BY(choose, name)                                                                                \
    __asm__(".pushsection .text\n\t.p2align 2\n\t.globl " #name "\n\t.type " #name ", %function\n" #name               \
            ":\n\t.cfi_startproc\n\t"                                                                                  \
            "hint #34\n\t" /* bti c */                                                                                 \
            "stp x29, x30, [sp, #-48]!\n\t"                                                                            \
            ".cfi_def_cfa_offset 48\n\t.cfi_offset 29, -48\n\t.cfi_offset 30, -40\n\t"                                 \
            "mov x29, sp\n\t"                                                                                          \
            "stp x0, x1, [sp, #16]\n\t"                                                                                \
            "str x2, [sp, #32]\n\t"                                                                                    \
            "bl " #choose "\n\t"                                                                                       \
            "mov x16, x0\n\t"                                                                                          \
            "ldr x2, [sp, #32]\n\t"                                                                                    \
            "ldp x0, x1, [sp, #16]\n\t"                                                                                \
            "ldp x29, x30, [sp], #48\n\t"                                                                              \
            ".cfi_restore 30\n\t.cfi_restore 29\n\t.cfi_def_cfa_offset 0\n\t"                                          \
            "br x16\n\t"                                                                                               \
            ".cfi_endproc\n\t.size " #name ", . - " #name "\n\t.popsection")

/* ---- what addresses carry ---- */

/* A return address without its signature. Code lies below 2^48, also where the kernel has 52 bits. */
INLINE uintptr_t pl_arch_code(uintptr_t word)
{
    return word & ((1ull << PL_ARCH_ADDRESS_BITS) - 1);
}

/* The address of a block without its tag: malloc and free may be given pointers with different top bytes. */
INLINE uintptr_t pl_arch_untagged(uintptr_t address)
{
    return address & (UINTPTR_MAX >> 8);
}

/* ---- unwinding ---- */

/* Registers by their DWARF numbers. The return address is that of x30; the pc of a frame has a place of its own, since
 * an interrupted frame has both. */
#define PL_ARCH_REGISTERS 33
#define PL_ARCH_FP 29
#define PL_ARCH_RETURN 30
#define PL_ARCH_SP 31
#define PL_ARCH_PC 32
#define PL_ARCH_CALL_PUSHES 0
#define PL_ARCH_RED_ZONE 0
#define PL_ARCH_CODE_SHIFT 2     /* instructions are words */
#define PL_ARCH_SIGNS_CODE 1     /* unwind tables have DW_CFA_AARCH64_negate_ra_state */
#define PL_ARCH_FRAME_WORDS 768  /* of struct pl_walk's scratch space */
#define PL_ARCH_VECTOR_LENGTH 46 /* VG: how many words of 8 bytes a vector of SVE has */

/* A jump with an offset of 26 bits: to a part of its function, or to another function. */
#define PL_ARCH_JUMP_BYTES 4
INLINE bool pl_arch_far_jump(const uint8_t *at, uintptr_t *target)
{
    uint32_t word = at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
    *target = (uintptr_t) at + (uintptr_t) (int64_t) ((int32_t) (word << 6) >> 4);
    return word >> 26 == 5;
}

/*
 * A plain rule:
 *
 *   29                  17 16            7 6       2 1    0
 *  ┌──────────────────────┬───────────────┬─────────┬──────┐  CFA = base + 16N
 *  │ N                    │ A             │ F       │ base │  the caller's pc is at base + 8A, or at CFA + 8A if A < 0;
 *  └──────────────────────┴───────────────┴─────────┴──────┘  its fp is 8F above that (F = 0: unchanged)
 *
 * gcc stores x29 and x30 at the bottom of a frame, clang at its top: both are near one end of it.
 */
struct pl_arch_stride {
    uintptr_t cfa;
    uintptr_t pc_at;
    uintptr_t fp_at; /* the same as pc_at: fp is unchanged */
};
#define PL_ARCH_RULE_FP 0x7cu

INLINE struct pl_arch_stride pl_arch_stride(uint32_t rule, uintptr_t base)
{
    int64_t a = (int32_t) (rule << 15) >> 22, f = (int32_t) (rule << 25) >> 27;
    uintptr_t cfa = base + (uintptr_t) (rule >> 17) * 16;
    uintptr_t pc_at = (a < 0 ? cfa : base) + (uintptr_t) (8 * a);
    return (struct pl_arch_stride){cfa, pc_at, pc_at + (uintptr_t) (8 * f)};
}

/* The rule without its base: `cfa` is relative to the base, `pc` and `fp` to the CFA. 0: they do not fit. */
INLINE uint32_t pl_arch_rule(int64_t cfa, int64_t pc, int64_t fp)
{
    int64_t from_base = cfa + pc, f = (fp - pc) / 8, a = from_base >= 0 && from_base < 4096 ? from_base / 8 : pc / 8;
    if (cfa <= 0 || cfa % 16 || cfa >= 16 << 13 || pc % 8 || pc >= 0 || fp % 8 || fp >= 0 || a < -512 || f < -16 ||
        f > 15)
        return 0;
    return (uint32_t) (cfa / 16) << 17 | ((uint32_t) a & 0x3ff) << 7 | ((uint32_t) f & 0x1f) << 2;
}

/* A handler returns to rt_sigreturn with sp at a siginfo and a ucontext: the offset of a register in them. */
#define PL_ARCH_SIGNAL_AT(number) (312u + 8u * (number))
#define PL_ARCH_SIGNAL_BYTES PL_ARCH_SIGNAL_AT(PL_ARCH_REGISTERS)
INLINE unsigned pl_arch_signal_at(unsigned number)
{
    return PL_ARCH_SIGNAL_AT(number);
}

/* Does the processor have SVE? The kernel says so, and only then may the length be asked for. */
INLINE bool pl_arch_has_vectors(void)
{
    const long prctl = 167, get_length = 51; /* PR_SVE_GET_VL */
    return pl_arch_syscall(prctl, get_length, 0, 0, 0, 0, 0) > 0;
}

INLINE uint64_t pl_arch_vector_length(void)
{
    register uint64_t x0 __asm__("x0");
    __asm__ volatile(".inst 0x04e0e3e0" /* cntd x0 */ : "=r"(x0));
    return x0;
}

/* bl, blr, blraa and its relatives; or a nop. */
INLINE bool pl_arch_ends_with_call(const uint8_t code[8])
{
    uint32_t last = code[4] | (uint32_t) code[5] << 8 | (uint32_t) code[6] << 16 | (uint32_t) code[7] << 24;
    return (last & 0xfc000000u) == 0x94000000u || (last & 0xfffffc1fu) == 0xd63f0000u ||
           (last & 0xfefff800u) == 0xd63f0800u || last == 0xd503201fu;
}

/* mov x8, #__NR_rt_sigreturn; svc #0. The kernel's trampoline is in the vDSO. Old versions of it have unwind tables
 * that skip the interrupted function, and an emulator may have it in no module. */
#define PL_ARCH_SIGRETURN "\x68\x11\x80\xd2\x01\x00\x00\xd4"
#define PL_ARCH_SIGRETURN_ANYWHERE 1

/* In a function: its unwind table says that it has no caller. */
#define PL_ARCH_OUTERMOST() __asm__ volatile(".cfi_undefined 30")

INLINE void pl_arch_capture(uint64_t registers[PL_ARCH_REGISTERS])
{
    uint64_t scratch;
    __asm__ volatile("stp x19, x20, [%1, #152]\n\t"
                     "stp x21, x22, [%1, #168]\n\t"
                     "stp x23, x24, [%1, #184]\n\t"
                     "stp x25, x26, [%1, #200]\n\t"
                     "stp x27, x28, [%1, #216]\n\t"
                     "stp x29, x30, [%1, #232]\n\t"
                     "mov %0, sp\n\t"
                     "str %0, [%1, #248]\n\t"
                     "adr %0, 0f\n"
                     "0:\tstr %0, [%1, #256]"
                     : "=&r"(scratch)
                     : "r"(registers)
                     : "memory");
}
#define PL_ARCH_CAPTURED 0x1fff80000ull /* a bit for each of them: x19 to x30, sp, pc */

#endif
