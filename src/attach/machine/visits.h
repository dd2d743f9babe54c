/* SPDX-License-Identifier: MIT */
/*
 * visits.h - what the visits of all processors have in common (../machine.h): how they begin, and where their parts are.
 *
 * NAME.c has the code, between labels. visits.c answers what can be said of any visit by the labels and the head.
 */
#ifndef PL_VISITS_H
#define PL_VISITS_H

#include "attach/machine.h"

struct pl_visit_head {
    uint64_t mark;
    uint64_t blocked; /* signals that the visit blocks */
    uint64_t memory;  /* once the thread has made its first call */
};

#define PL_VISIT_MARK "0x74697369766c70" /* "plvisit" */

/* How much memory the thread maps, and in it: what it is asked to do, what it has to restore, its stack. */
#define PL_VISIT_MEMORY "0x40000"
#define PL_VISIT_MEMORY_BYTES 0x40000ull

/* In this order. Hidden: they are for visits.c, too. */
#define PL_VISIT_LABELS                                                                                                \
    "pl_visit_begin, pl_visit_entry, pl_visit_marker, pl_visit_door, pl_visit_system_call, pl_visit_copier, "          \
    "pl_visit_wiper, pl_visit_end\n"
extern HIDDEN const uint8_t pl_visit_begin[], pl_visit_entry[], pl_visit_marker[], pl_visit_door[],
    pl_visit_system_call[], pl_visit_copier[], pl_visit_wiper[], pl_visit_end[];

uint64_t pl_visit_offset(const uint8_t *label);

/* The code has these offsets. */
#define PL_VISIT_AT(member, offset) _Static_assert(offsetof(struct pl_machine_memory, member) == (offset), #member)
PL_VISIT_AT(function, 0);
PL_VISIT_AT(argument, 8);
PL_VISIT_AT(result, 64);
PL_VISIT_AT(abandoned, 72);
PL_VISIT_AT(text, 80);
#undef PL_VISIT_AT
_Static_assert(sizeof(struct pl_machine_memory) == 4096, "what the thread has to restore follows");
_Static_assert(offsetof(struct pl_machine_memory, text) % 16 == 0, "ranges are read from there");

#endif
