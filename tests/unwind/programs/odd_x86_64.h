/* SPDX-License-Identifier: MIT */
/* odd_x86_64.h - the frames of oddities.c. */

#define PUSH_RBX "push %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n\t"
#define POP_RBX "pop %rbx\n\t.cfi_restore %rbx\n\t.cfi_def_cfa %rsp, 8\n\tret"
#define CALL "mov %rdi, %rax\n\tmov %esi, %edi\n\tcall *%rax\n\t"

/* The stack pointer is moved by an amount that is not in the tables. rbx keeps the old value. */
ODDITY(cfa_in_rbx, PUSH_RBX "mov %rsp, %rbx\n\t.cfi_def_cfa_register %rbx\n\tsub $400, %rsp\n\tand $-64, %rsp\n\t" CALL
                            "mov %rbx, %rsp\n\t.cfi_def_cfa_register %rsp\n\t" POP_RBX);

/* r12 keeps rbp. */
ODDITY(saved_in_registers, PUSH_RBX "push %r12\n\t.cfi_def_cfa_offset 24\n\t.cfi_offset %r12, -24\n\t"
                                    "sub $8, %rsp\n\t.cfi_def_cfa_offset 32\n\t"
                                    "mov %rbp, %r12\n\t.cfi_register %rbp, %r12\n\txor %ebp, %ebp\n\t" CALL
                                    "mov %r12, %rbp\n\t.cfi_restore %rbp\n\tadd $8, %rsp\n\t.cfi_def_cfa_offset 24\n\t"
                                    "pop %r12\n\t.cfi_restore %r12\n\t.cfi_def_cfa_offset 16\n\t" POP_RBX);

/* DW_CFA_def_cfa_expression: breg3 (rbx) + 8, deref, plus 16: the CFA comes from a word on the stack. */
ODDITY(cfa_by_expression, PUSH_RBX "sub $48, %rsp\n\t.cfi_def_cfa_offset 64\n\tlea 8(%rsp), %rbx\n\t"
                                   "lea 48(%rsp), %rax\n\tmov %rax, 8(%rbx)\n\t"
                                   ".cfi_escape 0x0f, 5, 0x73, 8, 0x06, 0x23, 16\n\t" CALL
                                   ".cfi_def_cfa %rsp, 64\n\tadd $48, %rsp\n\t.cfi_def_cfa_offset 16\n\t" POP_RBX);

/* DW_CFA_expression for rbp: saved at CFA - 40. */
ODDITY(registers_by_expression,
       PUSH_RBX "sub $48, %rsp\n\t.cfi_def_cfa_offset 64\n\tmov %rbp, 24(%rsp)\n\t"
                ".cfi_escape 0x10, 6, 3, 0x11, 0x58, 0x22\n\txor %ebp, %ebp\n\t" CALL
                "mov 24(%rsp), %rbp\n\t.cfi_restore %rbp\n\tadd $48, %rsp\n\t.cfi_def_cfa_offset 16\n\t" POP_RBX);

/* A branch in an expression, arithmetic, and stack juggling: CFA = rsp + (5 > 3 ? 2 * 32 : 0). */
ODDITY(cfa_by_program, PUSH_RBX "sub $48, %rsp\n\t.cfi_def_cfa_offset 64\n\t"
                                ".cfi_escape 0x0f, 20, 0x77, 0, 0x35, 0x33, 0x2b, 0x28, 4, 0, 0x30, 0x2f, 4, 0, 0x32, "
                                "0x08, 32, 0x1e, 0x12, 0x13, 0x16, 0x22\n\t" CALL
                                ".cfi_def_cfa %rsp, 64\n\tadd $48, %rsp\n\t.cfi_def_cfa_offset 16\n\t" POP_RBX);

/* More nested remembered states than compilers use. */
ODDITY(remembers,
       PUSH_RBX ".cfi_remember_state\n\t.cfi_remember_state\n\t.cfi_def_cfa_offset 800\n\t"
                ".cfi_remember_state\n\t.cfi_def_cfa_offset 8\n\t.cfi_restore_state\n\t.cfi_restore_state\n\t" CALL
                ".cfi_restore_state\n\t" POP_RBX);

/* Without a table, with a frame pointer; and with neither. */
UNTABLED(untabled_with_fp, "push %rbp\n\tmov %rsp, %rbp\n\tsub $32, %rsp\n\t" CALL "leave\n\tret");
UNTABLED(untabled_without_fp, "push %rbp\n\tmov $1, %ebp\n\tsub $32, %rsp\n\t" CALL "add $32, %rsp\n\tpop %rbp\n\tret");

#define ODD_FRAMES cfa_in_rbx, saved_in_registers, cfa_by_expression, registers_by_expression, cfa_by_program, remembers

/* push %rbp; mov %rsp, %rbp; mov %rdi, %rax; mov %esi, %edi; call *%rax; pop %rbp; ret */
static const uint8_t generated_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
