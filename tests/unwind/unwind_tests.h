/* SPDX-License-Identifier: MIT */
/*
 * unwind_tests.h - for the unit tests of the unwinder: cmocka, a walk, random numbers, and the modules in memory.
 */
#ifndef UNWIND_TESTS_H
#define UNWIND_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <link.h>

#include "core/unwind/find.h"
#include "core/unwind/unwind.h"

#define NOINLINE __attribute__((noinline))

/* Placed after a call, keeps it from becoming a jump. */
#define NOT_LAST() __asm__ volatile("" ::: "memory")

/* Unwinds from the caller of the function in which this is expanded. */
#define WALK(walk)                                                                                                     \
    do {                                                                                                               \
        struct pl_start start_;                                                                                        \
        PL_START_HERE(&start_);                                                                                        \
        pl_unwind((walk), &start_);                                                                                    \
    } while (0)

static inline uintptr_t frame_address(const struct pl_walk *walk, uint32_t number)
{
    return walk->frame[number] & PL_FRAME_ADDRESS_MASK;
}

struct random {
    uint64_t state; /* not 0 */
};

static inline uint64_t next_random(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

/* A module's code, and the segment from its unwind tables on. */
struct image {
    uintptr_t code;
    uintptr_t code_bytes;
    uintptr_t header; /* .eh_frame_hdr */
    uintptr_t tables_bytes;
};

struct images {
    struct image image[64];
    unsigned count;
};

static inline int collect_image(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct images *images = argument;
    struct image image = {0};
    (void) bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *program = &info->dlpi_phdr[i];
        if (program->p_type == PT_GNU_EH_FRAME)
            image.header = info->dlpi_addr + program->p_vaddr;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *program = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + program->p_vaddr;
        if (program->p_type != PT_LOAD)
            continue;
        if (program->p_flags & PF_X) {
            image.code = start;
            image.code_bytes = program->p_memsz;
        }
        if (image.header - start < program->p_filesz)
            image.tables_bytes = start + program->p_filesz - image.header;
    }
    if (image.code && image.tables_bytes && images->count < sizeof images->image / sizeof *images->image)
        images->image[images->count++] = image;
    return 0;
}

#endif
