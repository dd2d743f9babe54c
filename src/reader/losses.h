/* SPDX-License-Identifier: MIT */
/*
 * losses.h - what is missing from a profile, in words that go behind a number.
 */
#ifndef PL_LOSSES_H
#define PL_LOSSES_H

#include "profile.h"

/* PL_LOSS_THREADS: "thread that could not be registered", of 2 "threads that ...". */
const char *pl_losses_text(int loss, uint64_t count);

#endif
