/* SPDX-License-Identifier: MIT */
/*
 * visitor.h - makes a thread of another process call functions there, and go on as if nothing had happened.
 *
 * The thread executes the visitor's code (machine.h), which lies in the unused end of a library's last page of code,
 * on a frame below the thread's own stack. One change of its registers sends it there. From then on it needs nobody: if
 * we are killed, it finishes the call that it is making, restores its registers and goes on.
 */
#ifndef PL_VISITOR_H
#define PL_VISITOR_H

#include "attach/loaded.h"

#define PL_VISITOR_TEXT 4096

struct pl_visitor {
    struct pl_tracee *tracee;
    pid_t tid;
    uint64_t code;
    uint64_t frame;
    uint64_t text; /* room for a text of PL_VISITOR_TEXT bytes that a function gets */
};

/* Sends a stopped thread. False: it goes on as before. */
bool pl_visitor_send(struct pl_visitor *visitor, struct pl_tracee *tracee, const struct pl_loaded *loaded,
                     const struct pl_tracee_thread *thread);

/* One call. False: the thread has ended, or the call takes longer than `wait_ns`; then the thread is left alone. */
bool pl_visitor_call(struct pl_visitor *visitor, uint64_t function, const uint64_t argument[6], uint64_t wait_ns,
                     uint64_t *result);

bool pl_visitor_write_text(struct pl_visitor *visitor, const char *text);

#endif
