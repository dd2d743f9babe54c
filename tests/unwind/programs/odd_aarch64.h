/* SPDX-License-Identifier: MIT */
/* odd_aarch64.h - the frames of oddities.c. */
#include <sys/auxv.h>

#define ENTER "stp x19, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 19, -16\n\t.cfi_offset 30, -8\n\t"
#define LEAVE "ldp x19, x30, [sp], #16\n\t.cfi_restore 19\n\t.cfi_restore 30\n\t.cfi_def_cfa 31, 0\n\tret"
#define CALL "mov x9, x0\n\tmov w0, w1\n\tblr x9\n\t"
#define MAKE_ROOM "sub sp, sp, #48\n\t.cfi_def_cfa_offset 64\n\t"
#define GIVE_BACK ".cfi_def_cfa 31, 64\n\tadd sp, sp, #48\n\t.cfi_def_cfa_offset 16\n\t"

/* The stack pointer is moved by an amount that is not in the tables. x19 keeps the old value. */
ODDITY(cfa_in_x19, ENTER "mov x19, sp\n\t.cfi_def_cfa_register 19\n\tsub sp, sp, #400\n\tmov x9, sp\n\t"
                         "and x9, x9, #-64\n\tmov sp, x9\n\t" CALL "mov sp, x19\n\t.cfi_def_cfa_register 31\n\t" LEAVE);

/* x20 keeps x29. */
ODDITY(saved_in_registers, ENTER "stp x20, x21, [sp, #-16]!\n\t.cfi_def_cfa_offset 32\n\t.cfi_offset 20, -32\n\t"
                                 ".cfi_offset 21, -24\n\tmov x20, x29\n\t.cfi_register 29, 20\n\tmov x29, xzr\n\t" CALL
                                 "mov x29, x20\n\t.cfi_restore 29\n\tldp x20, x21, [sp], #16\n\t.cfi_restore 20\n\t"
                                 ".cfi_restore 21\n\t.cfi_def_cfa_offset 16\n\t" LEAVE);

/* DW_CFA_def_cfa_expression: breg19 (x19) + 8, deref, plus 16: the CFA comes from a word on the stack. */
ODDITY(cfa_by_expression, ENTER MAKE_ROOM "add x19, sp, #8\n\tadd x9, sp, #48\n\tstr x9, [x19, #8]\n\t"
                                          ".cfi_escape 0x0f, 5, 0x83, 8, 0x06, 0x23, 16\n\t" CALL GIVE_BACK LEAVE);

/* DW_CFA_expression for x29: saved at CFA - 40. */
ODDITY(registers_by_expression, ENTER MAKE_ROOM "str x29, [sp, #24]\n\t"
                                                ".cfi_escape 0x10, 29, 3, 0x11, 0x58, 0x22\n\tmov x29, xzr\n\t" CALL
                                                "ldr x29, [sp, #24]\n\t.cfi_restore 29\n\t" GIVE_BACK LEAVE);

/* A branch in an expression, arithmetic, and stack juggling: CFA = sp + (5 > 3 ? 2 * 32 : 0). */
ODDITY(cfa_by_program, ENTER MAKE_ROOM ".cfi_escape 0x0f, 20, 0x8f, 0, 0x35, 0x33, 0x2b, 0x28, 4, 0, 0x30, 0x2f, 4, 0, "
                                       "0x32, 0x08, 32, 0x1e, 0x12, 0x13, 0x16, 0x22\n\t" CALL GIVE_BACK LEAVE);

/* More nested remembered states than compilers use. */
ODDITY(remembers,
       ENTER ".cfi_remember_state\n\t.cfi_remember_state\n\t.cfi_def_cfa_offset 800\n\t"
             ".cfi_remember_state\n\t.cfi_def_cfa_offset 8\n\t.cfi_restore_state\n\t.cfi_restore_state\n\t" CALL
             ".cfi_restore_state\n\t" LEAVE);

/* The return address is signed, with key A and with key B: paciasp, autiasp, pacibsp, autibsp. The second stores it in
 * the middle of its frame. */
#define SIGNED_FRAME(sign, authenticate, at, frame)                                                                    \
    sign "\n\t.cfi_negate_ra_state\n\tsub sp, sp, #" #frame "\n\t.cfi_def_cfa_offset " #frame "\n\t"                   \
         "stp x29, x30, [sp, #" #at "]\n\t.cfi_offset 29, -" #frame "+" #at "\n\t.cfi_offset 30, -" #frame "+" #at     \
         "+8\n\tadd x29, sp, #" #at "\n\t" CALL "ldp x29, x30, [sp, #" #at                                             \
         "]\n\t.cfi_restore 29\n\t.cfi_restore 30\n\t"                                                                 \
         "add sp, sp, #" #frame "\n\t.cfi_def_cfa_offset 0\n\t" authenticate "\n\t.cfi_negate_ra_state\n\tret"
ODDITY(signed_with_a, SIGNED_FRAME("hint #25", "hint #29", 0, 64));
ODDITY(signed_with_b, ".cfi_b_key_frame\n\t" SIGNED_FRAME("hint #27", "hint #31", 32, 96));

/* A frame of vector code: two vectors of SVE, whose length only the processor knows. CFA = sp + 16 + 16 * VG. */
#define HAS_SVE (getauxval(AT_HWCAP) >> 22 & 1)
ODDITY(in_vectors, ".arch_extension sve\n\tstp x19, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 19, -16\n\t"
                   ".cfi_offset 30, -8\n\taddvl sp, sp, #-2\n\t"
                   ".cfi_escape 0x0f, 9, 0x8f, 16, 0x92, 46, 0, 0x40, 0x1e, 0x22, 0x96\n\t" CALL
                   "addvl sp, sp, #2\n\t.cfi_def_cfa 31, 16\n\t" LEAVE "\n\t.arch_extension nosve");
static void vectors_if_any(void (*call)(int), int argument)
{
    if (HAS_SVE)
        in_vectors(call, argument);
    else
        call(argument);
}

/* Frames that are too large for a plain rule, and whose return address is far from both ends. */
ODDITY(far_away, "stp x29, x30, [sp, #-16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 29, -16\n\t.cfi_offset 30, -8\n\t"
                 "sub sp, sp, #5, lsl #12\n\t.cfi_def_cfa_offset 20496\n\tstr x30, [sp, #8000]\n\t"
                 ".cfi_offset 30, -12496\n\tstr xzr, [sp, #20488]\n\t" CALL
                 "ldr x30, [sp, #8000]\n\tadd sp, sp, #5, lsl #12\n\t.cfi_def_cfa_offset 16\n\tstr x30, [sp, #8]\n\t"
                 ".cfi_offset 30, -8\n\tldp x29, x30, [sp], #16\n\t.cfi_restore 29\n\t.cfi_restore 30\n\t"
                 ".cfi_def_cfa_offset 0\n\tret");

/* Without a table, with a frame pointer; and with neither. */
UNTABLED(untabled_with_fp, "stp x29, x30, [sp, #-48]!\n\tmov x29, sp\n\t" CALL "ldp x29, x30, [sp], #48\n\tret");
UNTABLED(untabled_without_fp, "stp x29, x30, [sp, #-48]!\n\tmov x29, #1\n\t" CALL "ldp x29, x30, [sp], #48\n\tret");

#define ODD_FRAMES                                                                                                     \
    cfa_in_x19, saved_in_registers, cfa_by_expression, registers_by_expression, cfa_by_program, remembers,             \
        signed_with_a, signed_with_b, far_away, vectors_if_any

/* stp x29, x30, [sp, #-32]!; mov x29, sp; mov x9, x0; mov w0, w1; blr x9; ldp x29, x30, [sp], #32; ret */
static const uint32_t generated_code[] = {0xa9be7bfd, 0x910003fd, 0xaa0003e9, 0x2a0103e0,
                                          0xd63f0120, 0xa8c27bfd, 0xd65f03c0};
