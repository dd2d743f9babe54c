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

#define SERIES_MOST 24 /* lines of the table over time */
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
    const struct pl_footprint_record *footprint;
    struct pl_footprint_bytes whole;
    size_t width; /* of a figure */
};

static void put_right(struct pl_term *term, uint64_t bytes, size_t width)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_bytes(text, (double) bytes);
    pl_term_right(term, PL_STYLE_PLAIN, bytes ? text : "-", width);
}

static void put_line(const struct table *table, const char *name, unsigned level,
                     const struct pl_footprint_bytes *figure, const char *how)
{
    struct pl_term *term = table->view->term;
    char share[PL_FIGURE_BYTES];
    pl_figure_percent(share, table->whole.resident ? (double) figure->resident / (double) table->whole.resident : 0);
    pl_term_pad(term, (size_t) (level + 1) * INDENT);
    pl_term_put(term, level ? PL_STYLE_PLAIN : PL_STYLE_BOLD, name);
    pl_term_pad(term, NAME_WIDTH);
    put_right(term, figure->resident, table->width);
    pl_term_right(term, PL_STYLE_PLAIN, share, SHARE_WIDTH);
    put_right(term, figure->virtual, table->width);
    put_right(term, figure->pss, table->width);
    if (table->whole.swap)
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
    if (table->whole.swap)
        pl_term_right(term, PL_STYLE_DIM, "swap", table->width);
    pl_term_put(term, PL_STYLE_DIM, "  how it is known");
    pl_term_end(term);
}

/* ---- how each line is known ---- */

static bool is_exact(const struct pl_footprint_record *footprint)
{
    return footprint->flags & PL_FOOTPRINT_EXACT;
}

static char *how_live(const struct pl_footprint_record *footprint)
{
    char error[PL_FIGURE_BYTES];
    pl_figure_bytes(error, (double) footprint->fact[PL_FACT_LIVE_ERROR]);
    if (is_exact(footprint))
        return pl_say_print("counted");
    return pl_say_print("estimated, ± %s", error);
}

static char *how_stacks(const uint64_t fact[PL_FACT_MAX])
{
    char largest[PL_FIGURE_BYTES], most[PL_FIGURE_BYTES];
    uint64_t threads = fact[PL_FACT_THREADS], kept = fact[PL_FACT_STACKS_KEPT];
    pl_figure_bytes(largest, (double) fact[PL_FACT_STACK_LARGEST]);
    pl_figure_bytes(most, (double) fact[PL_FACT_STACK_TOUCHED]);
    bool alike = fact[PL_FACT_STACK_LARGEST] == fact[PL_FACT_STACK_LEAST];
    char *sizes = fact[PL_FACT_STACK_LARGEST] ? pl_say_print("; %s%s each", alike ? "" : "up to ", largest)
                                              : pl_say_print("%s", "");
    char *ended = kept ? pl_say_print("; %llu of ended threads", (unsigned long long) kept) : pl_say_print("%s", "");
    char *text = pl_say_print("%llu thread%s%s, the most used %s%s", (unsigned long long) threads,
                              threads == 1 ? "" : "s", sizes, most, ended);
    free(sizes);
    free(ended);
    return text;
}

static bool has_mappings(const struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->heaps; i++)
        if (profile->heap[i].kind == PL_HEAP_MAPPINGS)
            return true;
    return false;
}

static char *how(const struct table *table, enum pl_footprint_part part)
{
    const struct pl_footprint_record *footprint = table->footprint;
    switch (part) {
    case PL_PART_LIVE:
        return how_live(footprint);
    case PL_PART_SLACK:
        return pl_say_print("%s", is_exact(footprint) ? "read from malloc's headers"
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
        return pl_say_print("kernel: neither malloc's nor a stack%s",
                            has_mappings(table->view->whole) ? "; --heap mappings has their call sites" : "");
    case PL_PART_STACKS:
        return how_stacks(footprint->fact);
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
    const struct pl_footprint_bytes *figure = &table->footprint->part[part];
    bool heap = part < PL_PART_HEAP_END;
    if (part != PL_PART_UNEXPLAINED && figure->resident < SHOWN_LEAST && figure->virtual < SHOWN_LEAST &&
        figure->swap < SHOWN_LEAST)
        return;
    char *text = how(table, part);
    put_line(table, pl_footprint_info[part].help, heap, figure, text);
    free(text);
}

static void put_malloc(const struct table *table)
{
    uint64_t heaps = table->footprint->fact[PL_FACT_HEAPS];
    struct pl_footprint_bytes sum = pl_footprint_sum(table->footprint, 0, PL_PART_HEAP_END);
    char *text = heaps ? pl_say_print("%llu heap%s, and blocks with their own mappings", (unsigned long long) heaps,
                                      heaps == 1 ? "" : "s")
                       : pl_say_print("mappings that hold live blocks");
    put_line(table, "malloc", 0, &sum, text);
    free(text);
}

static void put_table(const struct pl_view *view, const struct pl_footprint_record *footprint)
{
    char widest[PL_FIGURE_BYTES];
    struct table table = {view, footprint, pl_footprint_sum(footprint, 0, PL_PART_COUNT), FIGURE_WIDTH};
    pl_figure_bytes(widest, (double) table.whole.virtual);
    table.width = strlen(widest) + GAP > FIGURE_WIDTH ? strlen(widest) + GAP : FIGURE_WIDTH;
    put_titles(&table);
    put_malloc(&table);
    for (int i = 0; i < PL_PART_COUNT; i++)
        put_part(&table, (enum pl_footprint_part) i);
    put_line(&table, "RSS", 0, &table.whole, "sum of the lines, as the kernel counts it");
}

/* --- below the table --- */

static void put_notes(const struct pl_view *view, const struct pl_footprint_record *footprint)
{
    char huge[PL_FIGURE_BYTES], heap_huge[PL_FIGURE_BYTES], hugetlb[PL_FIGURE_BYTES];
    const uint64_t *fact = footprint->fact;
    pl_figure_bytes(huge, (double) fact[PL_FACT_HUGE]);
    pl_figure_bytes(heap_huge, (double) fact[PL_FACT_HEAP_HUGE]);
    pl_figure_bytes(hugetlb, (double) fact[PL_FACT_HUGETLB]);
    if (fact[PL_FACT_HUGE])
        pl_print_paragraph(view, "%s of it are in transparent huge pages, %s of those in mappings of malloc", huge,
                           heap_huge);
    if (fact[PL_FACT_HUGETLB])
        pl_print_paragraph(
            view, "%s more are in reserved huge pages (hugetlbfs), which the kernel does not count as RSS", hugetlb);
    if (footprint->flags & PL_FOOTPRINT_UNREAD)
        pl_print_paragraph(view, "The memory of the process may not be read (ptrace_scope, another user), so malloc's "
                                 "free memory cannot be told from its blocks; root can");
}

static void put_time(const struct pl_view *view, const struct pl_footprint_record *footprint, bool running)
{
    char span[PL_FIGURE_BYTES], when[PL_FIGURE_BYTES];
    pl_figure_span(span, (double) footprint->fact[PL_FACT_READING_NS] / 1e9);
    pl_figure_span(when, (double) footprint->time_ns / 1e9);
    if (running)
        pl_print_paragraph(view, "read in %s, while the process went on", span);
    else
        pl_print_paragraph(view, "as of %s after the start; read in %s", when, span);
}

/* --- over time --- */

/* Columns of the table over time: the parts of each add up to RSS. */
static const struct group {
    const char *title;
    int from, to;
} groups[] = {
    {"live blocks", PL_PART_LIVE, PL_PART_LIVE + 1},
    {"rest of malloc", PL_PART_LIVE + 1, PL_PART_HEAP_END},
    {"mapped", PL_PART_MAPPED, PL_PART_STACKS},
    {"stacks", PL_PART_STACKS, PL_PART_CODE},
    {"modules", PL_PART_CODE, PL_PART_FILES},
    {"files, shared", PL_PART_FILES, PL_PART_PROFILER},
    {"Plimsoll", PL_PART_PROFILER, PL_PART_UNEXPLAINED},
    {"unexplained", PL_PART_UNEXPLAINED, PL_PART_COUNT},
};
#define GROUPS (sizeof groups / sizeof *groups)
#define TIME_WIDTH 12
#define GROUP_WIDTH 15

static void put_reading(const struct pl_view *view, const struct pl_footprint_record *footprint)
{
    char when[PL_FIGURE_BYTES];
    pl_figure_span(when, (double) footprint->time_ns / 1e9);
    pl_term_right(view->term, PL_STYLE_PLAIN, when, TIME_WIDTH);
    put_right(view->term, pl_footprint_sum(footprint, 0, PL_PART_COUNT).resident, FIGURE_WIDTH);
    for (size_t i = 0; i < GROUPS; i++)
        put_right(view->term, pl_footprint_sum(footprint, groups[i].from, groups[i].to).resident, GROUP_WIDTH);
    pl_term_end(view->term);
}

/* If there are too many readings for a table, some between the first and the last are left out, evenly. */
static void put_series(const struct pl_view *view, const struct pl_profile *profile)
{
    uint32_t count = profile->footprints, lines = count < SERIES_MOST ? count : SERIES_MOST;
    struct pl_term *term = view->term;
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, "Over time");
    pl_term_pad(term, TIME_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "RSS", FIGURE_WIDTH);
    for (size_t i = 0; i < GROUPS; i++)
        pl_term_right(term, PL_STYLE_DIM, groups[i].title, GROUP_WIDTH);
    pl_term_end(term);
    for (uint32_t i = 0; i < lines; i++)
        put_reading(view, &profile->footprint[lines > 1 ? (uint64_t) i * (count - 1) / (lines - 1) : 0]);
    if (lines < count)
        pl_print_paragraph(view, "(%u more readings between these)", count - lines);
}

/* --- of a file --- */

static const struct pl_footprint_record *largest_of(const struct pl_profile *profile)
{
    const struct pl_footprint_record *largest = profile->footprint;
    for (uint32_t i = 1; i < profile->footprints; i++)
        if (pl_footprint_sum(&profile->footprint[i], 0, PL_PART_COUNT).resident >
            pl_footprint_sum(largest, 0, PL_PART_COUNT).resident)
            largest = &profile->footprint[i];
    return largest;
}

/* The reading with the largest RSS; advice is about the last one, as everywhere. */
static enum pl_exit print_stored(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    if (!profile->footprints)
        return pl_say_failure("%s does not say what RSS consisted of: %s run --memory 10s -- PROGRAM stores that every "
                              "10 s and when PROGRAM exits, and %s report --memory PID shows it of a running process",
                              view->subject, pl_say_self(), pl_say_self());
    const struct pl_footprint_record *largest = largest_of(profile);
    pl_head_print(view);
    put_table(view, largest);
    put_notes(view, largest);
    put_time(view, largest, false);
    if (profile->footprints > 1) {
        pl_print_paragraph(view, "This is the reading with the largest RSS, of %u.", profile->footprints);
        put_series(view, profile);
    }
    pl_advise_memory(view, NULL);
    pl_head_losses(view);
    return PL_EXIT_OK;
}

/* --- of a process --- */

void pl_memory_with(struct pl_memory_view *with, const struct pl_view *view, const struct pl_footprint *footprint)
{
    *with = (struct pl_memory_view){.profile = *view->profile, .view = *view};
    pl_footprint_record(footprint, (uint64_t) (view->whole->duration_s * 1e9), &with->record);
    with->profile.footprint = &with->record;
    with->profile.footprints = 1;
    with->view.profile = &with->profile;
}

static void print_read(const struct pl_view *view, const struct pl_footprint *footprint, const char *live)
{
    struct pl_memory_view *with = pl_say_memory(malloc(sizeof *with));
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    pl_memory_with(with, view, footprint);
    pl_head_print(view);
    put_table(view, &with->record);
    pl_resident_put_pins(view, footprint, live);
    put_notes(view, &with->record);
    put_time(view, &with->record, true);
    struct pl_advice_touch *touch = pl_resident_touch(view, &paths, live);
    pl_advise_memory(&with->view, touch);
    pl_head_losses(view);
    free(touch);
    free(with);
}

enum pl_exit pl_memory_print(const struct pl_view *view)
{
    pid_t pid = pl_subject_pid(view->subject);
    struct pl_footprint footprint;
    char *path;
    if (pid < 0)
        return print_stored(view);
    enum pl_exit status = pl_subject_live(pid, &path);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_footprint_options options = pl_memory_options(view->whole, pid, path);
    if (pl_footprint_read(&footprint, &options))
        print_read(view, &footprint, path);
    else
        status = pl_say_failure("cannot read the memory of process %d: %s", pid, footprint.problem);
    pl_footprint_free(&footprint);
    free(path);
    return status;
}
