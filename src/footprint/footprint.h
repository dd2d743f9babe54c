/* SPDX-License-Identifier: MIT */
/*
 * footprint.h - what the resident memory of a process consists of: parts that add up to what the kernel counts.
 *
 *   /proc/PID/smaps    each mapping: what it is of, how much of it is resident
 *   pagemap            which pages
 *   table of blocks    addresses and sizes of live blocks (exact mode)
 *   glibc's heaps      chunks in use, free chunks, thread caches, top (any mode)
 *
 * A mapping is one part, or it is painted: addresses in rising order, each range as one part. A page that belongs to
 * several parts counts for each of them by the bytes that they have of it. So nothing is counted twice, and what no
 * rule explains remains as a part of its own.
 *
 * All is read from outside. The process goes on, and nobody waits for us.
 */
#ifndef PL_FOOTPRINT_H
#define PL_FOOTPRINT_H

#include "footprint/known.h"
#include "reach/memory/present.h"
#include "format/format.h"

struct pl_footprint_figure {
    double virtual, resident, pss, swap; /* bytes */
};

/* A heap of glibc's malloc: the main one, or one of an arena. */
struct pl_footprint_heap {
    uint64_t from, bytes;
    double resident, used, free, top; /* resident bytes: of all; in use, or in a cache; free; at the end */
    double empty;                     /* in whole pages that no block is in, not at the end */
};

/* Pages in which blocks lie, of one heap or mapping: how many of their bytes are free, and how many blocks in use lie
 * on them at least in part. Pages that are not resident, and those of the end of a heap that is free, have no free
 * bytes. */
struct pl_footprint_page {
    uint16_t free, used;
};
struct pl_footprint_grid {
    uint64_t from, to;
    struct pl_footprint_page *page;
};
#define PL_FOOTPRINT_MOSTLY_FREE 2048 /* bytes of a page */

struct pl_footprint_stacks {
    uint32_t threads, mappings; /* mappings: those that were found to be stacks */
    uint32_t kept;              /* of them, of no running thread: the C library keeps them for new ones */
    uint64_t largest, least;    /* bytes of address space, without the main thread's */
    double touched_most;        /* resident bytes of the one that has most */
};

struct pl_footprint {
    struct pl_footprint_figure part[PL_PART_COUNT];
    struct pl_footprint_figure whole;
    struct pl_footprint_heap *heap; /* the main one first */
    uint32_t heaps;
    struct pl_footprint_grid *grid; /* by address */
    uint32_t grids;
    struct pl_known known; /* the live blocks whose addresses are known */
    struct pl_footprint_stacks stacks;
    double huge, heap_huge; /* resident in transparent huge pages: of all, and of mappings of the allocator */
    double hugetlb;         /* in reserved huge pages, which are not in RSS */
    double live_bytes;      /* requested, and */
    double live_error;      /* half the 95% interval; 0: counted */
    bool exact;             /* each live block was known */
    bool walked;            /* glibc's heaps were */
    bool unread;            /* its memory may not be read, so only the kernel's figures are known */
    uint32_t dropped;       /* live blocks that were freed meanwhile */
    double seconds;         /* that this took */
    char problem[256];      /* after a failure, for people */
};

struct pl_footprint_options {
    pid_t pid;
    uint64_t inode;                /* of its profile */
    uint64_t blocks_at;            /* the table of exact mode; 0: not known */
    uint64_t live_at;              /* the table of samples; 0: not known */
    bool exact;                    /* all recorded blocks are in that table */
    bool glibc;                    /* its malloc is that of glibc */
    double live_bytes, live_error; /* as the profile says */
    enum pl_written_by written;    /* for pl_residency_read() */
};

/* False: see `problem`. */
bool pl_footprint_read(struct pl_footprint *footprint, const struct pl_footprint_options *options);
void pl_footprint_free(struct pl_footprint *footprint);

/* Bytes of mostly free pages that a block keeps resident: of each such page the free bytes, divided among the blocks
 * that lie on it. `alone`: of pages that no other block is on. */
double pl_footprint_pinned(const struct pl_footprint *footprint, const struct pl_known_block *block, double *alone);

/* The free bytes of all pages that are mostly free, but not wholly. */
double pl_footprint_pinned_in_all(const struct pl_footprint *footprint);

/* How much of each block whose address is known is resident: calls `take` for each. It reads no heap. False: see
 * `problem`, of 256 bytes. */
typedef void pl_residency_taken(void *context, const struct pl_known_block *block, const struct pl_extent *extent);
bool pl_residency_read(const struct pl_footprint_options *options, pl_residency_taken *take, void *context,
                       char *problem);

/* What the file keeps of it. */
void pl_footprint_record(const struct pl_footprint *footprint, uint64_t time_ns, struct pl_footprint_record *out);

#endif
