/* SPDX-License-Identifier: MIT */
/*
 * python.h - frames of Python code, between the native frames of the interpreter that executes them.
 *
 * The interpreter keeps a chain of frames for each of its threads. We read it as data: no function of Python is called,
 * no lock is taken, and no pointer is followed before its page is known to be readable (frames.c). Only the thread's
 * own chain is read, which no other thread changes, with or without the GIL.
 *
 *   native stack                     chain of frames          what is recorded
 *
 *   list_resize                                               list_resize
 *   _PyEval_EvalFrameDefault  ─────  parse, load              _PyEval_EvalFrameDefault, parse, load
 *   scan_once (an extension)                                  scan_once
 *   _PyEval_EvalFrameDefault  ─────  main                     _PyEval_EvalFrameDefault, main
 *
 * A function of Python code gets a record when it is first seen (names.c); a frame is the number of that record and a
 * line. The frames of a walk are words, so a frame of Python code is a word with PL_FRAME_PYTHON.
 */
#ifndef PL_PYTHON_H
#define PL_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "core/python/layout.h"
#include "core/unwind/find.h"

struct pl_process;
struct pl_thread;

/* The interpreter of this process. Fork keeps it. */
struct pl_python {
    uint32_t known; /* published last: 0 while there is none */
    uint32_t met;   /* how often one was found */
    uint32_t version;
    uint32_t searches; /* for the key of the thread-specific value */
    struct pl_python_layout layout;
    uintptr_t runtime; /* _PyRuntime, _PyEval_EvalFrameDefault, PyCode_Type */
    uint64_t runtime_bytes;
    uintptr_t evaluator;
    uintptr_t evaluator_end;
    uintptr_t far;     /* this and the next: a part of it that its compiler has moved away; 0: there is none */
    uintptr_t far_end; /* published after `far` */
    uint32_t sought;   /* 1: it has been looked for */
    uintptr_t code_type;
    uintptr_t module; /* this and the next: its mapping */
    uintptr_t module_end;
    uint32_t unmapped; /* how often something was unmapped */
    uint32_t rule;     /* for unwinding frames of the evaluator; 0: not known yet */
};
extern HIDDEN struct pl_python pl_python;

/* A module is written to the file: if it is an interpreter, its frames are read from now on. */
void pl_python_meet(struct pl_process *process, const struct pl_found_module *found);

/* Fills in where the evaluator's other part is. Not when the interpreter is met: that is too deep in the cold path. */
void pl_python_find_far_part(void);

/* Writes to the file's header whether frames of Python code are read. */
void pl_python_tell(struct pl_process *process);

/* Modules are being unloaded: nothing may be read until pl_python_resume() or pl_python_meet(). */
uint32_t pl_python_suspend(void);
void pl_python_resume(uint32_t known);

/* Something has been unmapped: pages that could be read may be gone. */
INLINE void pl_python_unmapped(void)
{
    fetch_add(&pl_python.unmapped, 1);
}

/* Puts the Python frames of the calling thread into its last walk. They have no names then; pl_python_name() gives them
 * some. In parts, so that what writes to the file is not deep inside of something else: the cold path has little stack.
 */
void pl_python_weave(struct pl_thread *thread);
bool pl_python_next_function(struct pl_process *process, struct pl_thread *thread); /* is there one without a record? */
void pl_python_write_function(struct pl_process *process, struct pl_thread *thread);
INLINE void pl_python_name(struct pl_process *process, struct pl_thread *thread)
{
    while (unlikely(load_relaxed(&pl_python.known)) && pl_python_next_function(process, thread))
        pl_python_write_function(process, thread);
}

/* The hash of a native stack, with the calling thread's Python frames as they are now. */
uint64_t pl_python_hash(struct pl_thread *thread, uint64_t hash);
INLINE uint64_t pl_python_with(struct pl_thread *thread, uint64_t hash)
{
    return likely(!load_relaxed(&pl_python.known)) || !hash ? hash : pl_python_hash(thread, hash);
}

#endif
