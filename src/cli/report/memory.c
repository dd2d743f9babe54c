/* SPDX-License-Identifier: MIT */
/*
 * memory.c - `report --memory`:
 *
 *   Resident memory                    resident   share    virtual  how it is known
 *     malloc                           46.1 MiB   88.2%   46.5 MiB  glibc: 3 heaps, and blocks with their own mappings
 *       live blocks, as requested      20.0 MiB   38.3%   20.0 MiB  counted
 *       free, between other blocks     24.9 MiB   47.7%   24.9 MiB  read from malloc's headers
 *     thread stacks                     112 KiB    0.2%   64.1 MiB  9 threads; 8.0 MiB each
 *     ...
 *     RSS                              52.3 MiB    100%    142 MiB  as the kernel counts it
 */
#include "cli/report/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/advice/sizing.h"
#include "analysis/figure.h"
#include "cli/report/print.h"
#include "cli/report/resident.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "core/blocks/blocks.h"
#include "core/blocks/live.h"

#define NAME_WIDTH 40
#define GAP 2
#define FIGURE_WIDTH 11 /* with the gap; wider if all digits are shown */
#define SHARE_WIDTH 8
#define INDENT 2
#define SHOWN_LEAST 512 /* bytes, of address space and resident: less is no line */

/* --- reading --- */

struct pl_footprint_options pl_memory_options(const struct pl_profile *profile, pid_t pid, const char *path)
{
    const struct pl_header *header = &profile->header;
    const struct pl_estimate *live = &profile->total[PL_METRIC_INUSE_SPACE];
    struct stat status;
    return (struct pl_footprint_options){
        .pid = pid,
        .inode = stat(path, &status) == 0 ? status.st_ino : 0,
        .blocks_at = header->blocks_layout == PL_BLOCKS_LAYOUT ? header->blocks_at : 0,
        .live_at = header->live_layout == PL_LIVE_LAYOUT ? header->live_at : 0,
        .exact = profile->exact && header->blocks_at && header->blocks_layout == PL_BLOCKS_LAYOUT,
        .glibc = !strcmp(pl_sizing_of(profile)->name, "glibc"),
        .live_bytes = live->value,
        .live_error = fmax(live->high - live->value, live->value - live->low),
    };
}

/* --- the table --- */

struct table {
    const struct pl_view *view;
    const struct pl_footprint *footprint;
    size_t width; /* of a figure */
    bool swap;    /* is some of it swapped out? */
};

static void put_right(struct pl_term *term, double bytes, size_t width)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_bytes(text, bytes);
    pl_term_right(term, PL_STYLE_PLAIN, bytes >= 0.5 ? text : "-", width);
}

static void put_line(const struct table *table, const char *name, unsigned level,
                     const struct pl_footprint_figure *figure, const char *how)
{
    struct pl_term *term = table->view->term;
    double whole = table->footprint->whole.resident;
    char share[PL_FIGURE_BYTES];
    pl_figure_percent(share, whole > 0 ? figure->resident / whole : 0);
    pl_term_pad(term, (size_t) (level + 1) * INDENT);
    pl_term_put(term, level ? PL_STYLE_PLAIN : PL_STYLE_BOLD, name);
    pl_term_pad(term, NAME_WIDTH);
    put_right(term, figure->resident, table->width);
    pl_term_right(term, PL_STYLE_PLAIN, share, SHARE_WIDTH);
    put_right(term, figure->virtual, table->width);
    put_right(term, figure->pss, table->width);
    if (table->swap)
        put_right(term, figure->swap, table->width);
    pl_term_put(term, PL_STYLE_DIM, "  ");
    pl_term_words(term, PL_STYLE_DIM, how, term->column);
    pl_term_end(term);
}

static void put_titles(const struct table *table)
{
    struct pl_term *term = table->view->term;
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, "Resident memory");
    pl_term_pad(term, NAME_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "resident", table->width);
    pl_term_right(term, PL_STYLE_DIM, "share", SHARE_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "virtual", table->width);
    pl_term_right(term, PL_STYLE_DIM, "PSS", table->width);
    if (table->swap)
        pl_term_right(term, PL_STYLE_DIM, "swap", table->width);
    pl_term_put(term, PL_STYLE_DIM, "  how it is known");
    pl_term_end(term);
}

/* ---- how each line is known ---- */

static char *how_live(const struct pl_footprint *footprint)
{
    char error[PL_FIGURE_BYTES];
    pl_figure_bytes(error, footprint->live_error);
    if (footprint->exact)
        return pl_say_print("counted");
    return pl_say_print("estimated, ± %s", error);
}

static char *how_stacks(const struct pl_footprint_stacks *stacks)
{
    char largest[PL_FIGURE_BYTES], most[PL_FIGURE_BYTES];
    pl_figure_bytes(largest, (double) stacks->largest);
    pl_figure_bytes(most, stacks->touched_most);
    char *sizes = stacks->largest
                      ? pl_say_print("; %s%s each", stacks->largest == stacks->least ? "" : "up to ", largest)
                      : pl_say_print("%s", "");
    char *kept = stacks->kept ? pl_say_print("; %u of ended threads", stacks->kept) : pl_say_print("%s", "");
    char *text = pl_say_print("%u thread%s%s, the most used %s%s", stacks->threads, stacks->threads == 1 ? "" : "s",
                              sizes, most, kept);
    free(sizes);
    free(kept);
    return text;
}

static char *how(const struct pl_footprint *footprint, enum pl_footprint_part part)
{
    switch (part) {
    case PL_PART_LIVE:
        return how_live(footprint);
    case PL_PART_SLACK:
        return pl_say_print("%s", footprint->exact ? "read from malloc's headers"
                                                   : "malloc's headers, less the estimate of live blocks");
    case PL_PART_OTHER:
    case PL_PART_CACHED:
    case PL_PART_FREE:
    case PL_PART_TOP:
    case PL_PART_TABLES:
        return pl_say_print("read from malloc's headers");
    case PL_PART_REST:
        return pl_say_print("kernel: mappings that hold live blocks, less those");
    case PL_PART_MAPPED:
        return pl_say_print("kernel: neither malloc's nor a stack");
    case PL_PART_STACKS:
        return how_stacks(&footprint->stacks);
    case PL_PART_PROFILER:
        return pl_say_print("kernel: its profile, library and tables");
    case PL_PART_UNEXPLAINED:
        return pl_say_print("what no line above has");
    default:
        return pl_say_print("kernel");
    }
}

static void put_part(const struct table *table, enum pl_footprint_part part)
{
    const struct pl_footprint_figure *figure = &table->footprint->part[part];
    bool heap = part < PL_PART_HEAP_END;
    if (part != PL_PART_UNEXPLAINED && figure->resident < SHOWN_LEAST && figure->virtual < SHOWN_LEAST &&
        figure->swap < SHOWN_LEAST)
        return;
    char *text = how(table->footprint, part);
    put_line(table, pl_footprint_title[part], heap, figure, text);
    free(text);
}

static struct pl_footprint_figure sum_parts(const struct pl_footprint *footprint, int from, int to)
{
    struct pl_footprint_figure sum = {0};
    for (int i = from; i < to; i++) {
        sum.virtual += footprint->part[i].virtual;
        sum.resident += footprint->part[i].resident;
        sum.pss += footprint->part[i].pss;
        sum.swap += footprint->part[i].swap;
    }
    return sum;
}

static void put_malloc(const struct table *table)
{
    const struct pl_footprint *footprint = table->footprint;
    struct pl_footprint_figure sum = sum_parts(footprint, 0, PL_PART_HEAP_END);
    char *text = footprint->heaps ? pl_say_print("%u heap%s, and blocks with their own mappings", footprint->heaps,
                                                 footprint->heaps == 1 ? "" : "s")
                                  : pl_say_print("mappings that hold live blocks");
    put_line(table, "malloc", 0, &sum, text);
    free(text);
}

static void put_table(const struct table *table)
{
    put_titles(table);
    put_malloc(table);
    for (int i = 0; i < PL_PART_COUNT; i++)
        put_part(table, (enum pl_footprint_part) i);
    put_line(table, "RSS", 0, &table->footprint->whole, "sum of the lines, as the kernel counts it");
}

/* --- below the table --- */

static void put_notes(const struct pl_view *view, const struct pl_footprint *footprint)
{
    char huge[PL_FIGURE_BYTES], heap_huge[PL_FIGURE_BYTES], hugetlb[PL_FIGURE_BYTES], span[PL_FIGURE_BYTES];
    pl_figure_bytes(huge, footprint->huge);
    pl_figure_bytes(heap_huge, footprint->heap_huge);
    pl_figure_bytes(hugetlb, footprint->hugetlb);
    pl_figure_span(span, footprint->seconds);
    if (footprint->huge > 0)
        pl_print_paragraph(view, "%s of it are in transparent huge pages, %s of those in mappings of malloc", huge,
                           heap_huge);
    if (footprint->hugetlb > 0)
        pl_print_paragraph(
            view, "%s more are in reserved huge pages (hugetlbfs), which the kernel does not count as RSS", hugetlb);
    if (footprint->unread)
        pl_print_paragraph(view, "The memory of the process may not be read (ptrace_scope, another user), so malloc's "
                                 "free memory cannot be told from its blocks; root can");
    pl_print_paragraph(view, "read in %s, while the process went on", span);
}

static void put_all(const struct pl_view *view, const struct pl_footprint *footprint, const char *live)
{
    char widest[PL_FIGURE_BYTES];
    pl_figure_bytes(widest, footprint->whole.virtual);
    struct table table = {view, footprint, fmax(FIGURE_WIDTH, strlen(widest) + GAP), footprint->whole.swap > 0};
    put_table(&table);
    pl_resident_put_pins(view, footprint, live);
    put_notes(view, footprint);
}

enum pl_exit pl_memory_print(const struct pl_view *view)
{
    pid_t pid = pl_subject_pid(view->subject);
    struct pl_footprint footprint;
    char *path;
    if (pid < 0)
        return pl_say_failure("%s: not a PID", view->subject);
    enum pl_exit status = pl_subject_live(pid, &path);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_footprint_options options = pl_memory_options(view->whole, pid, path);
    if (!pl_footprint_read(&footprint, &options)) {
        status = pl_say_failure("cannot read the memory of process %d: %s", pid, footprint.problem);
    } else {
        pl_head_print(view);
        put_all(view, &footprint, path);
        pl_head_losses(view);
    }
    pl_footprint_free(&footprint);
    free(path);
    return status;
}
