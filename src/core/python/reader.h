/* SPDX-License-Identifier: MIT */
/*
 * reader.h - what the parts of core/python share: reading memory that may not be what it should be.
 *
 * A pointer is followed only if it is aligned and its page is readable. Asking the kernel takes a system call, so each
 * thread remembers pages that were readable: those of its own frames, of code objects and of the interpreter, which
 * stay mapped while the thread executes them. When the program unmaps something, they are forgotten: an interpreter has
 * no pointer to what is unmapped, but a program that writes into its interpreter may.
 */
#ifndef PL_PYTHON_READER_H
#define PL_PYTHON_READER_H

#include "core/python/python.h"
#include "core/threads.h"
#include "core/unwind/walk.h"

#define PL_PYTHON_SETS 512u
#define PL_PYTHON_WAYS 2u
#define PL_PYTHON_TEXT 1024u
#define PL_PYTHON_RECENT 256u

/* One for each thread, made when it is first found in the evaluator. */
struct pl_python_reader {
    uintptr_t page[PL_PYTHON_SETS][PL_PYTHON_WAYS]; /* numbers of readable pages, 0: none, */
    uint32_t unmapped;                              /* when so many times something had been unmapped */
    uint64_t native[PL_WALK_FRAMES + 1];            /* a walk, while Python frames are put into it */
    uint32_t unnamed;                               /* 1: the walk has frames that are not named yet: from */
    uint32_t named;                                 /* this one on; so many before are left */
    uint32_t kept;
    uintptr_t code;    /* the function that needs a record, */
    uint64_t identity; /* and what tells it from others */
    uint64_t refused;  /* the identity of one that got none */
    struct {
        uint64_t term;
        uint64_t word;
    } recent[PL_PYTHON_RECENT]; /* frames by their terms, and their words */
    char text[PL_PYTHON_TEXT];  /* a name, in UTF-8 */
};

#define PL_PYTHON_PAGE_SHIFT 12

/* Forgets pages if something has been unmapped since. */
void pl_python_forget(struct pl_thread *thread);
INLINE void pl_python_begin(struct pl_thread *thread)
{
    if (unlikely(thread->python->unmapped != load_relaxed(&pl_python.unmapped)))
        pl_python_forget(thread);
}

/* Asks the kernel, if that is allowed. */
bool pl_python_probe(struct pl_thread *thread, uintptr_t page);

INLINE bool pl_python_has_page(struct pl_thread *thread, uintptr_t page)
{
    const uintptr_t *set = thread->python->page[page % PL_PYTHON_SETS];
    return likely(set[0] == page) || set[1] == page || pl_python_probe(thread, page);
}

/* Up to a page. */
INLINE bool pl_python_may_read(struct pl_thread *thread, uintptr_t at, uintptr_t bytes)
{
    uintptr_t first = at >> PL_PYTHON_PAGE_SHIFT, last = (at + bytes - 1) >> PL_PYTHON_PAGE_SHIFT;
    return likely(at % 8 == 0 && first != 0) && pl_python_has_page(thread, first) &&
           (likely(first == last) || pl_python_has_page(thread, last));
}

INLINE uint32_t pl_python_word32(uintptr_t at)
{
    uintptr_t word = pl_walk_load(at & ~7ul);
    return (uint32_t) (word >> 8 * (at & 4));
}

INLINE uint8_t pl_python_byte(uintptr_t at)
{
    return (uint8_t) (pl_walk_load(at & ~7ul) >> 8 * (at & 7));
}

/* A frame of the chain. */
struct pl_python_frame {
    uintptr_t at;
    uintptr_t back;
    uintptr_t code;        /* 0: none that is shown */
    uintptr_t instruction; /* a pointer, or a number */
    bool last;             /* of those that one call of the evaluator executes */
};

/* What the hash of a stack takes of a frame: it tells frames of other code, or at another instruction, apart. */
uint64_t pl_python_term(struct pl_thread *thread, const struct pl_python_frame *frame);

/* Reads a frame. False: it cannot be read. */
bool pl_python_read(struct pl_thread *thread, uintptr_t at, struct pl_python_frame *out);

#endif
