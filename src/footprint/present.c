/* SPDX-License-Identifier: MIT */
/* present.c - see present.h. */
#include "footprint/present.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define OF_A_FILE (1ull << 61) /* or of shared memory */
#define OURS_ALONE (1ull << 56)
#define SCANNED_MOST (4ull << 30) /* a larger mapping is not searched for zeros */

void pl_present_open(struct pl_present *pages, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
    pages->file = open(path, O_RDONLY | O_CLOEXEC);
    pages->first = pages->last = 0;
    pages->zeros = false;
}

void pl_present_close(struct pl_present *pages)
{
    if (pages->file >= 0)
        close(pages->file);
    pages->file = -1;
}

static void move_window(struct pl_present *pages, uint64_t page)
{
    ssize_t got = -1;
    if (pages->file >= 0)
        got = pread(pages->file, pages->entry, sizeof pages->entry, (off_t) (page * sizeof *pages->entry));
    size_t count = got > 0 ? (size_t) got / sizeof *pages->entry : 0;
    if (pages->file < 0) {
        memset(pages->entry, 0xff, sizeof pages->entry);
        count = PL_PRESENT_WINDOW;
    } else if (!count) {
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
    return state_of(pages, address / PL_PAGE);
}

/* More pages seem present than are resident, and as many are not ours alone: those are the page of zeros. Pages that a
 * forked process shares with us are not ours alone, either, but they are resident. */
void pl_present_begin_mapping(struct pl_present *pages, const struct pl_space_part *part)
{
    uint64_t present = 0, others = 0;
    pages->zeros = false;
    pages->first = pages->last = 0;
    if (part->to - part->from > SCANNED_MOST || pages->file < 0)
        return;
    for (uint64_t page = part->from / PL_PAGE; page < part->to / PL_PAGE; page++) {
        uint64_t entry = entry_of(pages, page);
        present += entry >> 63;
        others += entry & PRESENT && !(entry & (OURS_ALONE | OF_A_FILE));
    }
    uint64_t resident = part->rss / PL_PAGE;
    pages->zeros = others && present > resident + others / 2;
}

void pl_present_add(struct pl_present *pages, uint64_t from, uint64_t to, struct pl_extent *sum)
{
    sum->bytes += to > from ? to - from : 0;
    while (from < to) {
        uint64_t next = (from | (PL_PAGE - 1)) + 1, end = next < to ? next : to;
        enum pl_page_state state = state_of(pages, from / PL_PAGE);
        sum->resident += state == PL_PAGE_RESIDENT ? end - from : 0;
        sum->swapped += state == PL_PAGE_SWAPPED ? end - from : 0;
        from = end;
    }
}
