/* SPDX-License-Identifier: MIT */
/* layout.c - see layout.h. The numbers are from the headers of CPython, compiled for each processor. */
#include "core/python/layout.h"

#include <stddef.h>

/* Until 3.11, two locks of the C library are in _PyRuntime, before what we read. glibc's are larger on AArch64. */
#ifdef __aarch64__
#define LOCKS (2 * 8)
#else
#define LOCKS 0
#endif

#define TEXT_3_9 .text_length = 16, .text_hash = 24, .text_state = 32, .text_kind = 2
#define COMMON_3_9                                                                                                     \
    .group = PL_PYTHON_EACH, .runtime_current = 568 + LOCKS, .runtime_key = 584 + LOCKS, .state_thread = 176,          \
    .state_frame = 24, .cframe_frame = PL_PYTHON_NONE, .frame_code = 32, .frame_back = 24,                             \
    .frame_group = PL_PYTHON_NONE, .frame_bytes = 112, .code_lines = 120, .code_name = 112, .code_file = 104,          \
    .code_first_line = 40, .code_start = PL_PYTHON_NONE, .code_bytes = 128, .object_type = 8, .bytes_size = 16,        \
    .bytes_first = 32, TEXT_3_9, .text_header = 48, .text_header_other = 72

static const struct pl_python_layout layouts[] = {
    {.version = 0x0309, .lines = PL_PYTHON_LNOTAB, .frame_instruction = 104, .instruction_bytes = 1, COMMON_3_9},
    {.version = 0x030a, .lines = PL_PYTHON_LINETABLE, .frame_instruction = 96, .instruction_bytes = 2, COMMON_3_9},
    {
        .version = 0x030b,
        .group = PL_PYTHON_ENTRY,
        .lines = PL_PYTHON_LOCATIONS,
        .runtime_current = 576 + LOCKS,
        .runtime_key = 592 + LOCKS,
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
        .code_traced = 168,
        .code_bytes = 184,
        .object_type = 8,
        .bytes_size = 16,
        .bytes_first = 32,
        TEXT_3_9,
        .text_header = 48,
        .text_header_other = 72,
    },
    {
        .version = 0x030c,
        .group = PL_PYTHON_SHIM,
        .lines = PL_PYTHON_LOCATIONS,
        .runtime_current = PL_PYTHON_NONE,
        .runtime_key = PL_PYTHON_NONE,
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
        .code_traced = 176,
        .code_bytes = 192,
        .object_type = 8,
        .bytes_size = 16,
        .bytes_first = 32,
        TEXT_3_9,
        .text_header = 40,
        .text_header_other = 56,
    },
};

/* ---- published offsets ---- */

#define COOKIE 0x7970677562656478ull /* "xdebugpy" */
#define FURTHEST 4000u               /* nothing that we read is further from the beginning of its object */
#define FURTHEST_SMALL 128u          /* nor in an object of any kind, a string, or bytes */
#define GIL 2                        /* the word that is 1 if there is no GIL */

/* The words of _PyRuntime that have the offsets of the fields of a layout; 0: that version has none. Word 1 is the
 * version. */
enum { PUBLISHED_3_13, PUBLISHED_3_14, PUBLISHERS };
static const uint8_t published_words[PUBLISHERS] = {73, 95};

#define FIELD(name) offsetof(struct pl_python_layout, name), sizeof(((struct pl_python_layout *) 0)->name)
static const struct published {
    uint8_t word[PUBLISHERS];
    uint8_t field;
    uint8_t bytes;
} published[] = {
    {{23, 26}, FIELD(state_frame)}, {{24, 27}, FIELD(state_thread)},      {{29, 32}, FIELD(frame_back)},
    {{30, 33}, FIELD(frame_code)},  {{31, 34}, FIELD(frame_instruction)}, {{33, 36}, FIELD(frame_group)},
    {{0, 38}, FIELD(frame_copy)},   {{35, 40}, FIELD(code_file)},         {{37, 42}, FIELD(code_name)},
    {{38, 43}, FIELD(code_lines)},  {{39, 44}, FIELD(code_first_line)},   {{43, 48}, FIELD(code_start)},
    {{0, 49}, FIELD(code_copies)},  {{45, 51}, FIELD(object_type)},       {{65, 75}, FIELD(bytes_size)},
    {{66, 76}, FIELD(bytes_first)}, {{68, 78}, FIELD(text_state)},        {{69, 79}, FIELD(text_length)},
    {{70, 80}, FIELD(text_header)},
};

static bool take(struct pl_python_layout *out, const struct published *row, uint64_t offset)
{
    uint8_t *field = (uint8_t *) out + row->field;
    if (offset > (row->bytes == 1 ? FURTHEST_SMALL : FURTHEST))
        return false;
    *field = (uint8_t) offset;
    if (row->bytes == 2)
        *(uint16_t *) (void *) field = (uint16_t) offset;
    return true;
}

static bool read_published(const uint64_t *word, unsigned publisher, uint32_t version, struct pl_python_layout *out)
{
    bool no_gil = word[GIL] == 1, copies = no_gil && publisher >= PUBLISHED_3_14;
    if (word[0] != COOKIE || word[1] != version || word[GIL] > 1)
        return false;
    *out = (struct pl_python_layout){.version = (uint16_t) (version >> 16),
                                     .group = PL_PYTHON_SHIM,
                                     .lines = PL_PYTHON_LOCATIONS,
                                     .runtime_current = PL_PYTHON_NONE,
                                     .runtime_key = PL_PYTHON_NONE,
                                     .cframe_frame = PL_PYTHON_NONE,
                                     .text_kind = copies ? 8 : 2,
                                     .tag = publisher >= PUBLISHED_3_14 ? 7 : 0};
    for (unsigned i = 0; i < sizeof published / sizeof *published; i++)
        if (published[i].word[publisher] && !take(out, &published[i], word[published[i].word[publisher]]))
            return false;
    out->text_hash = (uint8_t) (out->text_length + 8);
    out->text_header_other = (uint8_t) (out->text_header + 16);
    out->frame_bytes = (uint16_t) (out->frame_group + 2);
    out->code_bytes = out->code_start;
    out->code_traced = (uint16_t) (out->code_start - (copies ? 24 : 16));
    return out->frame_instruction + 8u <= out->frame_bytes && out->code_start >= 24 &&
           (!copies ||
            (out->code_copies && out->frame_copy + 4u <= out->frame_bytes && out->code_copies + 8u <= out->code_bytes));
}

static bool is_published(uint32_t version, uintptr_t runtime, uint64_t runtime_bytes, struct pl_python_layout *out)
{
    unsigned publisher = (version >> 16) - 0x030d;
    return publisher < PUBLISHERS && runtime_bytes >= published_words[publisher] * sizeof(uint64_t) &&
           read_published((const uint64_t *) runtime, publisher, version, out);
}

bool pl_python_layout_of(uint32_t version, uintptr_t runtime, uint64_t runtime_bytes, struct pl_python_layout *out)
{
    for (unsigned i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        uint16_t key = layouts[i].runtime_key;
        if (layouts[i].version != version >> 16 || (key != PL_PYTHON_NONE && key + 8ull > runtime_bytes))
            continue;
        *out = layouts[i];
        return true;
    }
    return is_published(version, runtime, runtime_bytes, out);
}
