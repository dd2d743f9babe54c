/* SPDX-License-Identifier: MIT */
/* layout.c - see layout.h. The numbers are from the headers of CPython, compiled (tests/python/offsets.c). */
#include "core/python/layout.h"

#include <stddef.h>

#define COMMON_3_9                                                                                                     \
    .group = PL_PYTHON_EACH, .runtime_current = 568, .runtime_key = 584, .state_thread = 176, .state_frame = 24,       \
    .cframe_frame = PL_PYTHON_NONE, .frame_code = 32, .frame_back = 24, .frame_group = PL_PYTHON_NONE,                 \
    .frame_bytes = 112, .code_lines = 120, .code_name = 112, .code_file = 104, .code_first_line = 40,                  \
    .code_start = PL_PYTHON_NONE, .code_bytes = 128, .text_header = 48, .text_header_other = 72

static const struct pl_python_layout layouts[] = {
    {.version = 0x0309, .lines = PL_PYTHON_LNOTAB, .frame_instruction = 104, .instruction_bytes = 1, COMMON_3_9},
    {.version = 0x030a, .lines = PL_PYTHON_LINETABLE, .frame_instruction = 96, .instruction_bytes = 2, COMMON_3_9},
    {
        .version = 0x030b,
        .group = PL_PYTHON_ENTRY,
        .lines = PL_PYTHON_LOCATIONS,
        .runtime_current = 576,
        .runtime_key = 592,
        .state_thread = 152,
        .state_frame = 56,
        .cframe_frame = 8,
        .frame_code = 32,
        .frame_back = 48,
        .frame_instruction = 56,
        .frame_group = 68,
        .frame_bytes = 72,
        .code_lines = 136,
        .code_name = 128,
        .code_file = 112,
        .code_first_line = 72,
        .code_start = 184,
        .code_bytes = 184,
        .text_header = 48,
        .text_header_other = 72,
    },
    {
        .version = 0x030c,
        .group = PL_PYTHON_SHIM,
        .lines = PL_PYTHON_LOCATIONS,
        .runtime_current = PL_PYTHON_NONE,
        .runtime_key = 1544,
        .state_thread = 136,
        .state_frame = 56,
        .cframe_frame = 0,
        .frame_code = 0,
        .frame_back = 8,
        .frame_instruction = 56,
        .frame_group = 70,
        .frame_bytes = 72,
        .code_lines = 136,
        .code_name = 128,
        .code_file = 112,
        .code_first_line = 68,
        .code_start = 192,
        .code_bytes = 192,
        .text_header = 40,
        .text_header_other = 56,
    },
    {
        .version = 0x030d, /* what it does not publish; the rest is read */
        .group = PL_PYTHON_SHIM,
        .lines = PL_PYTHON_LOCATIONS,
        .runtime_current = PL_PYTHON_NONE,
        .runtime_key = 2160,
        .cframe_frame = PL_PYTHON_NONE,
        .text_header = 40,
        .text_header_other = 56,
    },
};

/* ---- published offsets ---- */

#define COOKIE 0x7970677562656478ull /* "xdebugpy" */
#define PUBLISHED_WORDS 44u
#define FURTHEST 4000u /* nothing that we read is further from the beginning of its object */

/* The words that have the offsets of the fields of a layout, in 3.13. Word 1 is the version; word 2 is not 0 if there
 * is no GIL, and then objects look different. */
static const struct published {
    uint8_t word;
    uint8_t field;
} published[] = {
    {23, offsetof(struct pl_python_layout, state_frame)},
    {24, offsetof(struct pl_python_layout, state_thread)},
    {29, offsetof(struct pl_python_layout, frame_back)},
    {30, offsetof(struct pl_python_layout, frame_code)},
    {31, offsetof(struct pl_python_layout, frame_instruction)},
    {33, offsetof(struct pl_python_layout, frame_group)},
    {35, offsetof(struct pl_python_layout, code_file)},
    {37, offsetof(struct pl_python_layout, code_name)},
    {38, offsetof(struct pl_python_layout, code_lines)},
    {39, offsetof(struct pl_python_layout, code_first_line)},
    {43, offsetof(struct pl_python_layout, code_start)},
};

static bool read_published(const uint64_t *word, uint32_t version, struct pl_python_layout *out)
{
    if (word[0] != COOKIE || word[1] != version || word[2] != 0)
        return false;
    for (unsigned i = 0; i < sizeof published / sizeof *published; i++) {
        uint64_t offset = word[published[i].word];
        if (offset > FURTHEST)
            return false;
        *(uint16_t *) (void *) ((uint8_t *) out + published[i].field) = (uint16_t) offset;
    }
    out->frame_bytes = (uint16_t) (out->frame_group + 2);
    out->code_bytes = out->code_start;
    return out->frame_instruction + 8u <= out->frame_bytes && out->code_start >= 16;
}

bool pl_python_layout_of(uint32_t version, uintptr_t runtime, uint64_t runtime_bytes, struct pl_python_layout *out)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i].version != version >> 16 || layouts[i].runtime_key + 8ull > runtime_bytes)
            continue;
        *out = layouts[i];
        return out->frame_bytes || (runtime_bytes >= PUBLISHED_WORDS * sizeof(uint64_t) &&
                                    read_published((const uint64_t *) runtime, version, out));
    }
    return false;
}
