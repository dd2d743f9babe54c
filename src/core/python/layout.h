/* SPDX-License-Identifier: MIT */
/*
 * layout.h - where CPython keeps what we read, version by version.
 *
 *   thread state ──► innermost frame ──► its caller ──► ...        each frame ──► code object ──► names, line table
 *
 * 3.13 and later publish most of these offsets themselves, at the beginning of _PyRuntime. For earlier versions they
 * are in a table (layout.c), and nothing is believed without a check: see frames.c.
 */
#ifndef PL_PYTHON_LAYOUT_H
#define PL_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How far the frames go that one call of the evaluator executes. */
enum pl_python_group {
    PL_PYTHON_EACH,  /* until 3.10: one frame */
    PL_PYTHON_ENTRY, /* 3.11: up to the frame with a mark */
    PL_PYTHON_SHIM,  /* since 3.12: up to a frame that the evaluator has on its own stack, and that is not shown */
};

/* How a code object says which instruction belongs to which line. */
enum pl_python_lines {
    PL_PYTHON_LNOTAB,    /* 3.9: pairs of increments */
    PL_PYTHON_LINETABLE, /* 3.10: pairs of lengths and increments */
    PL_PYTHON_LOCATIONS, /* since 3.11: entries of varying length */
};

#define PL_PYTHON_NONE UINT16_MAX /* in place of an offset: there is no such field */

struct pl_python_layout {
    uint16_t version; /* 0x030b */
    uint8_t group;    /* enum pl_python_group */
    uint8_t lines;    /* enum pl_python_lines */

    uint16_t runtime_current; /* in _PyRuntime: the thread state that holds the GIL, until 3.11 */
    uint16_t runtime_key; /* and the key of the thread-specific value that is the thread's state; since 3.12 searched */
    uint16_t state_thread; /* in a thread state: pthread_self() of its thread, */
    uint16_t state_frame;  /* its innermost frame, or where that is, */
    uint16_t cframe_frame; /* at this offset */

    uint16_t frame_code;
    uint16_t frame_back;
    uint16_t frame_instruction; /* a pointer since 3.11; a signed number of 32 bits before */
    uint16_t frame_group;       /* one byte: the mark, or who owns the frame */
    uint16_t frame_copy;        /* which copy of the instructions is executed, a number of 32 bits; without a GIL */
    uint16_t frame_bytes;       /* up to the end of the last of these */

    uint16_t code_lines;
    uint16_t code_name;
    uint16_t code_file;
    uint16_t code_first_line;
    uint16_t code_start;  /* the instructions, since 3.11 */
    uint16_t code_traced; /* the number of the first that is traced */
    uint16_t code_copies; /* threads have copies of the instructions: where these are; 0: no */
    uint16_t code_bytes;
    uint8_t instruction_bytes; /* before 3.11: of what an instruction's number counts */

    uint8_t object_type;
    uint8_t bytes_size;  /* in an object of type bytes: how many, */
    uint8_t bytes_first; /* and the first */
    uint8_t text_length;
    uint8_t text_hash; /* in a string: Python's hash of it, if it was computed */
    uint8_t text_state;
    uint8_t text_kind;         /* in the state: the lowest bit of the kind */
    uint8_t text_header;       /* of a string with ASCII characters only, */
    uint8_t text_header_other; /* and of any other */
    uint8_t tag;               /* the bits of a frame's pointer to its code that are not part of it */
};

/* Where the key of the thread-specific value may be, if the layout does not say: among the first bytes of _PyRuntime.
 */
#define PL_PYTHON_SEARCHED 8192u

/* The layout of the interpreter of this version (as in Py_Version) that has its state at `runtime`, of so many bytes.
 * False: it is not known. */
bool pl_python_layout_of(uint32_t version, uintptr_t runtime, uint64_t runtime_bytes, struct pl_python_layout *out);

#endif
