/* SPDX-License-Identifier: MIT */
/* present.c - see present.h. */
#include "reach/memory/present.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reach/memory/scan.h"

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define OF_A_FILE (1ull << 61) /* or of shared memory */
#define PROTECTED (1ull << 57)
#define OURS_ALONE (1ull << 56)
#define SOFT_DIRTY (1ull << 55)
#define RANGES 256
#define SCANNED_MOST (4ull << 30) /* a larger mapping is not searched for zeros */

void pl_present_open(struct pl_present *pages, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    pages->file = open(path, O_RDONLY | O_CLOEXEC);
    struct pl_scan nothing = {.size = sizeof nothing, .all = PL_SCAN_PRESENT, .wanted = PL_SCAN_PRESENT};
    pages->scans = pages->file >= 0 && ioctl(pages->file, PL_SCAN, &nothing) >= 0;
    pages->first = pages->last = pages->end = 0;
    pages->size = pl_space_page();
    pages->zeros = false;
    pages->written = PL_WRITTEN_UNKNOWN;
}

void pl_present_close(struct pl_present *pages)
{
    if (pages->file >= 0)
        close(pages->file);
    pages->file = -1;
}

/* A range of pages, as if it had been read. Pages of zeros are none. */
static void fill_range(struct pl_present *pages, uint64_t from, const struct pl_scan_range *range)
{
    uint64_t kinds = range->kinds, entry = kinds & PL_SCAN_PRESENT ? PRESENT | OURS_ALONE : SWAPPED;
    entry |= (kinds & PL_SCAN_WRITTEN ? 0 : PROTECTED) | (kinds & PL_SCAN_SOFT_DIRTY ? SOFT_DIRTY : 0);
    for (uint64_t page = range->start / pages->size; page < range->end / pages->size && !(kinds & PL_SCAN_ZEROS);
         page++)
        pages->entry[page - from] = entry;
}

/* Not far beyond the mapping: there may be little that anybody asks for, or no more addresses. */
static uint64_t window(const struct pl_present *pages, uint64_t from)
{
    return from < pages->end && pages->end - from < PL_PRESENT_WINDOW ? pages->end - from : PL_PRESENT_WINDOW;
}

/* Returns how many pages are known then; 0: it does not work here. */
static size_t scan(struct pl_present *pages, uint64_t from)
{
    struct pl_scan_range range[RANGES];
    struct pl_scan scan = {.size = sizeof scan,
                           .start = from * pages->size,
                           .end = (from + window(pages, from)) * pages->size,
                           .range = (uintptr_t) range,
                           .ranges = RANGES,
                           .any = PL_SCAN_PRESENT | PL_SCAN_SWAPPED,
                           .wanted = PL_SCAN_PRESENT | PL_SCAN_SWAPPED | PL_SCAN_ZEROS | PL_SCAN_WRITTEN |
                                     PL_SCAN_SOFT_DIRTY};
    memset(pages->entry, 0, sizeof pages->entry);
    while (scan.start < scan.end) {
        int count = ioctl(pages->file, PL_SCAN, &scan);
        if (count < 0 || scan.walk_end <= scan.start)
            break;
        for (int i = 0; i < count; i++)
            fill_range(pages, from, &range[i]);
        scan.start = scan.walk_end;
    }
    return (scan.start / pages->size) - from;
}

static size_t read_entries(struct pl_present *pages, uint64_t from)
{
    uint64_t most = window(pages, from);
    ssize_t got = pread(pages->file, pages->entry, most * sizeof *pages->entry, (off_t) (from * sizeof *pages->entry));
    return got > 0 ? (size_t) got / sizeof *pages->entry : 0;
}

static void move_window(struct pl_present *pages, uint64_t page)
{
    size_t count = PL_PRESENT_WINDOW;
    if (pages->file < 0)
        memset(pages->entry, 0xff, sizeof pages->entry);
    else
        count = pages->scans ? scan(pages, page) : read_entries(pages, page);
    if (!count) {
        pages->entry[0] = 0;
        count = 1;
    }
    pages->first = page;
    pages->last = page + count;
}

static uint64_t entry_of(struct pl_present *pages, uint64_t page)
{
    if (page - pages->first >= pages->last - pages->first)
        move_window(pages, page);
    return pages->entry[page - pages->first];
}

static enum pl_page_state state_of(struct pl_present *pages, uint64_t page)
{
    uint64_t entry = entry_of(pages, page);
    if (!(entry & PRESENT))
        return entry & SWAPPED ? PL_PAGE_SWAPPED : PL_PAGE_UNTOUCHED;
    return pages->zeros && !(entry & (OURS_ALONE | OF_A_FILE)) ? PL_PAGE_UNTOUCHED : PL_PAGE_RESIDENT;
}

enum pl_page_state pl_present_state(struct pl_present *pages, uint64_t address)
{
    return state_of(pages, address / pages->size);
}

/* More pages seem present than are resident, and as many are not ours alone: those are the page of zeros. Pages that a
 * forked process shares with us are not ours alone, either, but they are resident. */
void pl_present_begin_mapping(struct pl_present *pages, const struct pl_space_part *part)
{
    uint64_t present = 0, others = 0;
    pages->zeros = false;
    pages->end = part->to / pages->size;
    if (part->to - part->from > SCANNED_MOST || pages->file < 0 || pages->scans)
        return;
    for (uint64_t page = part->from / pages->size; page < part->to / pages->size; page++) {
        uint64_t entry = entry_of(pages, page);
        present += entry >> 63;
        others += entry & PRESENT && !(entry & (OURS_ALONE | OF_A_FILE));
    }
    uint64_t resident = part->rss / pages->size;
    pages->zeros = others && present > resident + others / 2;
}

static bool is_unwritten(struct pl_present *pages, uint64_t page)
{
    uint64_t entry = pages->written ? entry_of(pages, page) : 0;
    return pages->written == PL_WRITTEN_PROTECTED ? entry & PROTECTED : pages->written && !(entry & SOFT_DIRTY);
}

void pl_present_add(struct pl_present *pages, uint64_t from, uint64_t to, struct pl_extent *sum)
{
    sum->bytes += to > from ? to - from : 0;
    while (from < to) {
        uint64_t next = (from | (PL_PAGE - 1)) + 1, end = next < to ? next : to;
        enum pl_page_state state = state_of(pages, from / pages->size);
        sum->resident += state == PL_PAGE_RESIDENT ? end - from : 0;
        sum->swapped += state == PL_PAGE_SWAPPED ? end - from : 0;
        sum->unwritten += state == PL_PAGE_RESIDENT && is_unwritten(pages, from / pages->size) ? end - from : 0;
        from = end;
    }
}
