/* SPDX-License-Identifier: MIT */
/* lifecycle.h - what the hooks of lifecycle.c need to be told. */
#ifndef PL_LIFECYCLE_H
#define PL_LIFECYCLE_H

/* Looks up what lies behind the hooks, while nobody holds the loader's lock. For the constructor. */
void pl_lifecycle_start(void);

#endif
