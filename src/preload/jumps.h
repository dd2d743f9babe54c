/* SPDX-License-Identifier: MIT */
/* jumps.h - see jumps.c. */
#ifndef PL_JUMPS_H
#define PL_JUMPS_H

/* Looks up what lies behind, since a signal handler could not. For the constructor. */
void pl_jumps_start(void);

#endif
