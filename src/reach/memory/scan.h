/* SPDX-License-Identifier: MIT */
/*
 * scan.h - PAGEMAP_SCAN of linux/fs.h, which is newer than the kernel headers of Debian 12: an ioctl of
 * /proc/PID/pagemap that walks page tables, and names ranges of pages of the same kind, or protects them.
 */
#ifndef PL_SCAN_H
#define PL_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

#define PL_SCAN_PROTECTS (1ull << 0) /* flags: pages that are found are protected (written.h) */

/* What pages are. */
#define PL_SCAN_WRITTEN (1ull << 1)
#define PL_SCAN_PRESENT (1ull << 3)
#define PL_SCAN_SWAPPED (1ull << 4)
#define PL_SCAN_ZEROS (1ull << 5)
#define PL_SCAN_SOFT_DIRTY (1ull << 7)

struct pl_scan_range {
    uint64_t start, end, kinds;
};

struct pl_scan {
    uint64_t size, flags, start, end;
    uint64_t walk_end;      /* how far it came */
    uint64_t range, ranges; /* struct pl_scan_range[] */
    uint64_t pages_most;
    uint64_t inverted, all, any; /* kinds of pages that are looked for */
    uint64_t wanted;             /* kinds that are told */
};

#define PL_SCAN _IOWR('f', 16, struct pl_scan) /* returns how many ranges there are */

#endif
