/* SPDX-License-Identifier: MIT */
/* probe.c - see probe.h. */
#include "core/probe.h"

#include "core/arch.h"
#include "core/cold.h"
#include "core/process.h"

/* PROGBITS even though it is 0: the kernel finds it by its place in the file. */
__attribute__((section(".probes"), used)) uint16_t pl_probe_listeners;

/*
 * A probe is written in assembly, so that its arguments are in the registers that functions get them in, whatever the
 * compiler does: listeners look there, and not into the note.
 *
 * The note, as <sys/sdt.h> writes it: the addresses of the probe, of .stapsdt.base (by which a listener can tell how
 * far addresses have moved since the library was linked) and of the counter; then names.
 */
#define PROBE(function, name, arguments)                                                                               \
    __asm__(".pushsection .text\n"                                                                                     \
            ".globl " #function "\n"                                                                                   \
            ".hidden " #function "\n"                                                                                  \
            ".type " #function ", %function\n"                                                                         \
            ".p2align 4\n" #function ":\n"                                                                             \
            ".cfi_startproc\n" PL_ARCH_PROBE_NOP "\n"                                                                  \
            "ret\n"                                                                                                    \
            ".cfi_endproc\n"                                                                                           \
            ".size " #function ", .-" #function "\n"                                                                   \
            ".popsection\n"                                                                                            \
            ".pushsection .note.stapsdt, \"\", %note\n"                                                                \
            ".p2align 2\n"                                                                                             \
            ".4byte 992f-991f, 994f-993f, 3\n"                                                                         \
            "991: .asciz \"stapsdt\"\n"                                                                                \
            "992: .p2align 2\n"                                                                                        \
            "993: .8byte " #function "\n"                                                                              \
            ".8byte _.stapsdt.base\n"                                                                                  \
            ".8byte " LISTENERS "\n"                                                                                   \
            ".asciz \"otel_memory\"\n"                                                                                 \
            ".asciz \"" name "\"\n"                                                                                    \
            ".asciz \"" arguments "\"\n"                                                                               \
            "994: .p2align 2\n"                                                                                        \
            ".popsection")
#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)
#define LISTENERS TEXT(pl_probe_listeners)

/* One in the whole program or library, so it has the name that all notes give it. */
__asm__(".pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n"
        ".weak _.stapsdt.base\n"
        ".hidden _.stapsdt.base\n"
        "_.stapsdt.base: .space 1\n"
        ".size _.stapsdt.base, 1\n"
        ".popsection");

PROBE(pl_probe_alloc, "alloc", PL_ARCH_PROBE_ARGUMENT_1 " " PL_ARCH_PROBE_ARGUMENT_2 " " PL_ARCH_PROBE_ARGUMENT_3);
PROBE(pl_probe_free, "free", PL_ARCH_PROBE_ARGUMENT_1);

/* The weight of a block that is sampled; 0: it is not. Bytes are charged as they are, without that of the call: this is
 * the formula that the contract gives. */
static double meet(struct pl_thread *thread, uint64_t size)
{
    struct pl_arch_fp_state fp;
    if (likely(thread->probing.armed && size <= thread->probing_left)) {
        thread->probing_left -= size;
        return 0;
    }
    pl_arch_fp_enter(&fp);
    double weight = pl_sampler_visit(&thread->probing, size, PL_PROBE_INTERVAL, &thread->probing_left);
    pl_arch_fp_leave(&fp);
    return weight;
}

/* False: its free would not be noticed, so nobody must know about the block. */
static bool remember(struct pl_process *process, uint64_t size, void *block, double weight)
{
    const struct pl_record record = {.size = size, .weight = weight, .row = PL_ROW_PROBED};
    struct pl_record missed;
    if (likely(!pl_live_find(&process->live, (uintptr_t) block, &missed)))
        return pl_live_insert(&process->live, (uintptr_t) block, &record);
    if (missed.row != PL_ROW_PROBED)
        return false;
    pl_probe_free(block); /* that free went unseen */
    return true;
}

void pl_probe_counted(uint64_t size, void *block)
{
    struct pl_process *process = pl_process;
    struct pl_tls *tls = &pl_tls;
    struct pl_thread *thread = pl_cold_begin(process, tls);
    uint64_t weighted_bytes = 0;
    if (!thread)
        return;
    double weight = meet(thread, size);
    if (weight > 0 && remember(process, size, block, weight))
        weighted_bytes = pl_probe_bytes(size, weight);
    pl_cold_end(process, thread, tls);
    if (weighted_bytes)
        pl_probe_alloc(block, size, weighted_bytes);
}
