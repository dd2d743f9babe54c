/* SPDX-License-Identifier: MIT */
/*
 * observe.h - reads the profile of a running process repeatedly.
 *
 * The file is kept open, so it stays readable when it is moved or removed after the process has ended. Names are looked
 * up once. The process is not disturbed.
 */
#ifndef PL_OBSERVE_H
#define PL_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/subject.h"

struct pl_observe;

/* `typed` is a pid, or the profile of a running process. NULL: it is neither. */
struct pl_observe *pl_observe_open(const char *typed);
void pl_observe_close(struct pl_observe *observe); /* close the profiles that were read first */

/* Reads the profile as it is now. On failure the error has been printed. */
enum pl_exit pl_observe_read(struct pl_observe *observe, const struct pl_subject_options *options,
                             struct pl_profile **out);

pid_t pl_observe_pid(const struct pl_observe *observe);

/* A descriptor that becomes readable when the process has ended. */
int pl_observe_end(const struct pl_observe *observe);

#endif
