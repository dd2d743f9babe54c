/* SPDX-License-Identifier: MIT */
/*
 * hooking.h - changes the entries of functions of another process so that they lead to the runtime's hooks, and back.
 *
 * plan() decides and prepares everything, while the process runs. switch_on() and switch_off() are for a moment when no
 * thread runs: they change entries and slots, the slots of all functions by one write.
 */
#ifndef PL_HOOKING_H
#define PL_HOOKING_H

#include "attach/remote.h"
#include "format/desk.h"

struct pl_hooking {
    uint64_t at; /* plimsoll_desk in the process */
    struct pl_desk desk;
    char problem[256]; /* after a failure: what is wrong, for people */
};

/* Finds the desk of a runtime that is loaded. False: there is none, or it is of another build (problem). */
bool pl_hooking_find(struct pl_hooking *hooking, const struct pl_remote *remote);

bool pl_hooking_plan(struct pl_hooking *hooking, struct pl_remote *remote);

/* Is a thread inside the bytes that will change, now or when a signal handler returns? */
bool pl_hooking_is_in_the_way(const struct pl_hooking *hooking, const struct pl_tracee *tracee,
                              const struct pl_tracee_thread *thread);

bool pl_hooking_switch_on(struct pl_hooking *hooking, const struct pl_remote *remote);
bool pl_hooking_switch_off(struct pl_hooking *hooking, const struct pl_remote *remote);

/* Will the thread still execute code of a hook? */
bool pl_hooking_is_inside(const struct pl_hooking *hooking, const struct pl_tracee *tracee,
                          const struct pl_tracee_thread *thread);

#endif
