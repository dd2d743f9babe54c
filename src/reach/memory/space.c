/* SPDX-License-Identifier: MIT */
/* space.c - see space.h. */
#include "reach/memory/space.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "reach/memory/ranges.h"
#include "reach/memory/scan.h"

#define LEAST_PAGE 4096u
#define PAGES 1024u             /* looked up at once */
#define ASK_EVERY (16ull << 20) /* bytes */

/* ---- mappings ---- */

/* "7f00-7f10 rw-p 00000000 08:01 4711   /usr/lib/libc.so.6". Of a long path the end is kept. */
static bool take_heading(const char *line, struct pl_space_part *out)
{
    char mode[5];
    int at = 0;
    *out = (struct pl_space_part){0};
    if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %lu %n", &out->from, &out->to, mode, &out->inode, &at) < 4)
        return false;
    const char *name = line + at;
    size_t bytes = strcspn(name, "\n");
    size_t left_out = bytes < sizeof out->name ? 0 : bytes - (sizeof out->name - 1);
    out->readable = mode[0] == 'r';
    out->writable = mode[1] == 'w';
    out->executable = mode[2] == 'x';
    out->shared = mode[3] == 's';
    out->anonymous = out->inode == 0;
    snprintf(out->name, sizeof out->name, "%.*s", (int) (bytes - left_out), name + left_out);
    return true;
}

/* Tables of the profiler are in no core dump and in no huge page (core/memory.h). Hardly anything else is both. */
static void take_flags(const char *line, struct pl_space_part *out)
{
    out->ours = out->anonymous && strstr(line, " dd") && strstr(line, " nh");
    out->uncopied = strstr(line, " dc") != NULL;
}

/* "Rss:                 132 kB" */
static void take_figure(const char *line, struct pl_space_part *out)
{
    const struct {
        const char *name;
        uint64_t *into;
    } figure[] = {
        {"Rss:", &out->rss},
        {"Pss:", &out->pss},
        {"Anonymous:", &out->changed},
        {"Swap:", &out->swap},
        {"AnonHugePages:", &out->huge},
        {"Private_Hugetlb:", &out->hugetlb},
        {"Shared_Hugetlb:", &out->hugetlb},
    };
    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
        size_t bytes = strlen(figure[i].name);
        if (!strncmp(line, figure[i].name, bytes))
            *figure[i].into += strtoull(line + bytes, NULL, 10) * 1024;
    }
}

static struct pl_space_part *append(struct pl_space *space, const struct pl_space_part *part)
{
    if (!(space->count & (space->count - 1))) {
        size_t room = space->count ? 2 * space->count : 1;
        struct pl_space_part *more = realloc(space->part, room * sizeof *more);
        if (!more)
            return NULL;
        space->part = more;
    }
    space->part[space->count] = *part;
    return &space->part[space->count++];
}

static int open_file(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void pl_space_begin(struct pl_space *space, pid_t pid)
{
    *space = (struct pl_space){.pid = pid, .contents = open_file(pid, "mem"), .pagemap = open_file(pid, "pagemap")};
}

bool pl_space_open(struct pl_space *space, pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    bool good = true;
    struct pl_space_part part, *last = NULL;
    pl_space_begin(space, pid);
    snprintf(path, sizeof path, "/proc/%d/smaps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && good && getline(&line, &room, maps) > 0)
        if (!strncmp(line, "VmFlags:", 8) && last)
            take_flags(line, last);
        else if (take_heading(line, &part))
            good = (last = append(space, &part)) != NULL;
        else if (last)
            take_figure(line, last);
    free(line);
    if (maps)
        fclose(maps);
    return maps && good && space->count;
}

void pl_space_close(struct pl_space *space)
{
    if (space->contents >= 0)
        close(space->contents);
    if (space->pagemap >= 0)
        close(space->pagemap);
    free(space->part);
    *space = PL_SPACE_NONE;
}

bool pl_space_is_device(const struct pl_space_part *part)
{
    return !strncmp(part->name, "/dev/", 5) && strncmp(part->name, "/dev/shm/", 9) &&
           strncmp(part->name, "/dev/zero", 9);
}

const struct pl_space_part *pl_space_at(const struct pl_space *space, uint64_t address)
{
    return pl_ranges_find(space->part, space->count, sizeof *space->part, address);
}

/* ---- contents ---- */

uint64_t pl_space_page(void)
{
    return (uint64_t) sysconf(_SC_PAGESIZE);
}

/* Since Linux 6.7 the kernel finds them itself, and knows pages of zeros. It passes over what was never touched in
 * large steps. False: it cannot. */
static bool scan_touched(const struct pl_space *space, uint64_t from, uint64_t to, struct pl_scan_range *out)
{
    const uint64_t size = pl_space_page();
    struct pl_scan scan = {.size = sizeof scan,
                           .start = from & ~(size - 1),
                           .end = (to + size - 1) & ~(size - 1),
                           .range = (uintptr_t) out,
                           .ranges = 1,
                           .pages_most = PAGES,
                           .inverted = PL_SCAN_ZEROS,
                           .all = PL_SCAN_ZEROS,
                           .any = PL_SCAN_PRESENT | PL_SCAN_SWAPPED};
    int found = ioctl(space->pagemap, PL_SCAN, &scan);
    if (found == 0)
        *out = (struct pl_scan_range){to, to, 0};
    return found >= 0;
}

/* Before, there was only a word for each page. */
static void read_touched(const struct pl_space *space, uint64_t from, uint64_t to, struct pl_scan_range *out)
{
    const uint64_t size = pl_space_page();
    uint64_t entry[PAGES];
    *out = (struct pl_scan_range){to, to, 0};
    for (uint64_t page = from & ~(size - 1); page < to && out->end == to; page += PAGES * size) {
        size_t pages = (to - page + size - 1) / size < PAGES ? (to - page + size - 1) / size : PAGES;
        ssize_t bytes = (ssize_t) (pages * sizeof *entry);
        if (space->pagemap < 0 || pread(space->pagemap, entry, (size_t) bytes, (off_t) (page / size * 8)) != bytes)
            memset(entry, 0xff, (size_t) bytes);
        for (size_t i = 0; i < pages && out->end == to; i++) {
            bool touched = entry[i] >> 62; /* present, or swapped out */
            if (touched && out->start == to)
                out->start = page + i * size;
            else if (!touched && out->start < to)
                out->end = page + i * size;
        }
    }
}

bool pl_space_touched(const struct pl_space *space, uint64_t from, uint64_t to, uint64_t *begin, uint64_t *end)
{
    struct pl_scan_range found;
    if (from < to && (space->pagemap < 0 || !scan_touched(space, from, to, &found)))
        read_touched(space, from, to, &found);
    *begin = from >= to ? to : found.start > from ? found.start : from;
    *end = from < to && found.end < to ? found.end : to;
    return *begin < to;
}

/* Counts what was read. False: no more. */
static bool count_read(struct pl_space *space, size_t bytes)
{
    space->read_bytes += bytes;
    if (space->go_on && !space->stopped && space->read_bytes - space->asked >= ASK_EVERY) {
        space->asked = space->read_bytes;
        space->stopped = !space->go_on(space->context, space->read_bytes);
    }
    return !space->stopped;
}

/* Not process_vm_readv(): for that the kernel pins pages, and copies each one that the process shares with a fork of
 * itself. That takes four times as long, and as much memory as is read. */
size_t pl_space_read(struct pl_space *space, uint64_t from, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *) from, bytes};
    ssize_t got = space->stopped         ? 0
                  : space->contents >= 0 ? pread(space->contents, to, bytes, (off_t) from)
                                         : process_vm_readv(space->pid, &local, 1, &remote, 1, 0);
    if (got <= 0 || !count_read(space, (size_t) got))
        return 0;
    return (size_t) got;
}

void pl_space_fill(struct pl_space *space, uint64_t from, void *to, size_t bytes)
{
    uint8_t *out = to;
    while (bytes) {
        size_t got = pl_space_read(space, from, out, bytes);
        uint64_t unreadable = ((from + got) | (LEAST_PAGE - 1)) + 1 - (from + got);
        size_t skipped = bytes - got < unreadable ? bytes - got : unreadable;
        memset(out + got, 0, skipped);
        out += got + skipped;
        from += got + skipped;
        bytes -= got + skipped;
    }
}

static void move_window(struct pl_space_window *window, uint64_t from)
{
    window->from = from;
    window->bytes = pl_space_read(window->space, from, window->word, PL_SPACE_WORDS) & ~(size_t) 7;
}

/* Addresses may also fall, so it begins before the word, if there is something. */
uint64_t pl_space_word(struct pl_space_window *window, uint64_t at)
{
    if (at - window->from >= window->bytes)
        move_window(window, at & ~(uint64_t) (PL_SPACE_WORDS - 1));
    if (at - window->from >= window->bytes)
        move_window(window, at & ~(uint64_t) (LEAST_PAGE - 1));
    return at - window->from < window->bytes ? window->word[(at - window->from) / 8] : 0;
}
