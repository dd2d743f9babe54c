/* SPDX-License-Identifier: MIT */
/*
 * observe.h - the profile of a running process, read again and again.
 *
 * The file is held open: it stays readable wherever it is moved, or if it is removed, when the process has ended. Names
 * are looked up once. The process does not notice.
 */
#ifndef PL_OBSERVE_H
#define PL_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "subject.h"

struct pl_observe;

/* What `typed` names, if that is, or is of, a process that runs now; NULL: it is not. */
struct pl_observe *pl_observe_open(const char *typed);
void pl_observe_close(struct pl_observe *observe); /* after the profiles that were read */

/* Reads it as it is now. On failure the reason has been said. */
enum pl_exit pl_observe_read(struct pl_observe *observe, const struct pl_subject_options *options,
                             struct pl_profile **out);

pid_t pl_observe_pid(const struct pl_observe *observe);

/* Ready for reading when the process has ended. */
int pl_observe_end(const struct pl_observe *observe);

#endif
