/* SPDX-License-Identifier: MIT */
/*
 * present.h - which pages of a process are in memory, by /proc/PID/pagemap: reading it stops nobody and touches
 * nothing.
 *
 * Since Linux 6.7 the kernel walks page tables for us (PAGEMAP_SCAN) and names ranges of equal pages; before, there is
 * a word for each page to be copied.
 *
 * The kernel's page of zeros looks like any other page in these words, but it is in nobody's RSS. It maps it where a
 * program only reads: pl_present_begin_mapping() finds out whether a mapping has such pages. A scan says so itself.
 */
#ifndef PL_PRESENT_H
#define PL_PRESENT_H

#include "reach/memory/space.h"
#include "reach/memory/written.h"

#define PL_PAGE 4096u            /* what is looked at: the kernel's pages may be larger, and consist of several */
#define PL_PRESENT_WINDOW 16384u /* pages: what is read at once */

enum pl_page_state {
    PL_PAGE_UNTOUCHED, /* never used, or given back */
    PL_PAGE_RESIDENT,
    PL_PAGE_SWAPPED,
};

struct pl_present {
    int file;                   /* -1: everything seems resident */
    bool scans;                 /* the kernel has PAGEMAP_SCAN */
    uint64_t end;               /* number of the first page behind the mapping that is being looked at */
    uint64_t size;              /* bytes of a page of the kernel */
    uint64_t first, last;       /* the window: numbers of such pages */
    bool zeros;                 /* pages that are not ours alone are zeros */
    enum pl_written_by written; /* how it is known which pages were written */
    uint64_t entry[PL_PRESENT_WINDOW];
};

/* Bytes of an address range. */
struct pl_extent {
    uint64_t bytes, resident, swapped;
    uint64_t unwritten; /* of what is resident, since pl_written_begin() */
};

void pl_present_open(struct pl_present *pages, pid_t pid);
void pl_present_close(struct pl_present *pages);

/* Before the pages of a mapping are asked for. */
void pl_present_begin_mapping(struct pl_present *pages, const struct pl_space_part *part);

enum pl_page_state pl_present_state(struct pl_present *pages, uint64_t address);
void pl_present_add(struct pl_present *pages, uint64_t from, uint64_t to, struct pl_extent *sum);

#endif
