/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - tells the core about loaded modules where it cannot ask the loader itself (see find.h).
 */
#ifndef PL_SNAPSHOT_H
#define PL_SNAPSHOT_H

/*
 * Takes the loader's lock: for the constructor, and for after dlopen and dlclose, never for a hook. Of no use, and of
 * no harm, where pl_module_find_needs_snapshot() is false.
 */
void pl_snapshot_refill(void);

#endif
