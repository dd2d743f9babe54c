/* SPDX-License-Identifier: MIT */
/*
 * visitor.h - makes a thread of another process call functions there, and go on as if nothing had happened.
 *
 * The thread executes a visit (machine.h), which lies in the unused end of a library's last page of code. One change of
 * its registers sends it there. From then on it needs nobody: if we are killed, it finishes the call that it is making,
 * restores its registers and goes on. If we are not, we restore its registers at the door, while the kernel still knows
 * which system call it has interrupted: so a signal that came meanwhile is delivered as if the thread had waited there
 * all the time.
 */
#ifndef PL_VISITOR_H
#define PL_VISITOR_H

#include "attach/loaded.h"

#define PL_VISITOR_ARGUMENTS 7

struct pl_visitor {
    struct pl_tracee *tracee;
    pid_t tid; /* 0: there is none */
    uint64_t visit;
    uint64_t memory;
    uint64_t signals; /* that the thread itself blocks */
    bool stopped;     /* when we last waited for it, a signal had stopped it */
    struct pl_machine_registers before;
};

/* Is this thread on a visit for a tracer that was killed? It must not be sent again before it is back: only the visit
 * that it is on knows where it came from. */
bool pl_visitor_is_out(const struct pl_tracee *tracee, const struct pl_loaded *loaded,
                       const struct pl_tracee_thread *thread);

/* Sends a stopped thread; all others are stopped, too. False: it goes on as before, and *why says why. */
bool pl_visitor_send(struct pl_visitor *visitor, struct pl_tracee *tracee, const struct pl_loaded *loaded,
                     const struct pl_tracee_thread *thread, const char **why);

/* One call. False: the thread has ended, or the call takes longer than `wait_ns`; then the thread is left alone. */
bool pl_visitor_call(struct pl_visitor *visitor, uint64_t function, const uint64_t argument[PL_VISITOR_ARGUMENTS],
                     uint64_t wait_ns, uint64_t *result);

/* Where the calls find a text. False: it is too long, or cannot be written. */
uint64_t pl_visitor_text(const struct pl_visitor *visitor);
bool pl_visitor_write_text(struct pl_visitor *visitor, const char *text);

/* A function that the thread calls before it goes home, if nobody dismisses it: if we are killed. 0: none. */
bool pl_visitor_if_abandoned(struct pl_visitor *visitor, uint64_t function);

/* Sends it home. False: it has ended, or does not come so far (*why); then it is left alone, and goes home by itself.
 */
bool pl_visitor_dismiss(struct pl_visitor *visitor, const char **why);

#endif
