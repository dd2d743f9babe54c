/* SPDX-License-Identifier: MIT */
/*
 * resident.c - `report --resident`:
 *
 *   Not resident            live   resident  untouched  site
 *     ███████████████   64.0 MiB    3.0 MiB   61.0 MiB  cache_new  src/cache.c:40  [server]
 *                        ← main  src/main.c:31
 *
 * Addresses of live blocks come from the tables of the profiler, and the kernel says which pages are in memory. Where
 * blocks are sampled, each stands for as many as its weight says: an estimate with independent samples, whose variance
 * is the sum of w(w - 1)x² over the samples.
 */
#include "cli/report/resident.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "cli/proc.h"
#include "cli/subject.h"
#include "core/blocks/blocks.h"
#include "reach/records.h"
#include "reader/base/arena.h"
#include "reader/base/utf8.h"
#include "reader/image.h"

#define PLACES (PL_BLOCK_TALLY_MAX + 1ull)
#define CONFIDENCE 1.96 /* standard errors: 95% */

/* --- from blocks to sites --- */

/* Where blocks were counted, and so at which site: the number of its record in the live profile. */
struct places {
    int file;        /* the live profile */
    uint32_t *known; /* place -> site + 1; 0: not looked up yet */
    struct pl_arena *arena;
    struct pl_image image;
    bool imaged;
};

static void open_places(struct places *places, const char *live)
{
    char why[PL_WHY_BYTES];
    *places = (struct places){.arena = pl_arena_new(), .known = pl_say_memory(calloc(PLACES, sizeof *places->known))};
    places->file = open(live, O_RDONLY | O_CLOEXEC);
    struct pl_image_source source = {.name = live, .fd = places->file};
    places->imaged = places->file >= 0 && pl_image_take(&source, places->arena, &places->image, why) == 0;
}

static void close_places(struct places *places)
{
    if (places->file >= 0)
        close(places->file);
    free(places->known);
    pl_arena_free(places->arena);
}

/* 0: it is not known. */
static uint32_t site_of(struct places *places, const struct pl_known_block *block)
{
    if (block->sampled)
        return places->imaged && block->place < pl_image_count(&places->image, PL_KIND_ROW)
                   ? pl_image_rows(&places->image)[block->place].site
                   : 0;
    if (block->place >= PLACES)
        return 0;
    uint32_t *known = &places->known[block->place];
    if (!*known)
        *known = pl_records_site(places->file, block->place) + 1;
    return *known - 1;
}

struct lookup {
    const struct pl_profile *profile;
    struct places places;
    uint32_t *path;   /* stack -> path */
    uint32_t nowhere; /* for blocks without a stack */
};

static void open_lookup(struct lookup *lookup, const struct pl_view *view, const struct pl_paths *paths,
                        const char *live)
{
    *lookup = (struct lookup){.profile = view->profile, .nowhere = paths->count};
    lookup->path = pl_paths_of_stacks(view->profile, paths);
    open_places(&lookup->places, live);
}

static void close_lookup(struct lookup *lookup)
{
    close_places(&lookup->places);
    free(lookup->path);
}

static uint32_t stack_of_site(const struct pl_profile *profile, uint32_t site)
{
    uint32_t stack = site < profile->records ? profile->stack_of_record[site] : PL_NO_STACK;
    return stack < profile->stacks ? stack : PL_NO_STACK;
}

static uint32_t path_of(struct lookup *lookup, const struct pl_known_block *block)
{
    uint32_t stack = stack_of_site(lookup->profile, site_of(&lookup->places, block));
    return stack != PL_NO_STACK ? lookup->path[stack] : lookup->nowhere;
}

/* --- sums of samples --- */

struct sum {
    double value, variance;
};

static void add(struct sum *sum, double weight, double amount)
{
    sum->value += weight * amount;
    sum->variance += weight * (weight - 1) * amount * amount;
}

static void fill(struct pl_cell *cell, const struct sum *sum)
{
    double error = CONFIDENCE * sqrt(sum->variance);
    char text[PL_FIGURE_BYTES];
    pl_figure_bytes(cell->value, sum->value);
    pl_figure_bytes(text, error);
    if (error >= 0.5)
        snprintf(cell->error, sizeof cell->error, "± %.40s", text);
    if (sum->value < 0.5 && error < 0.5)
        snprintf(cell->value, sizeof cell->value, "-");
}

/* "61.0 MiB ± 1.2 MiB" */
static void print_sum(char out[2 * PL_FIGURE_BYTES], const struct sum *sum)
{
    struct pl_cell cell = {0};
    fill(&cell, sum);
    snprintf(out, 2 * PL_FIGURE_BYTES, "%.40s%s%.40s", strcmp(cell.value, "-") ? cell.value : "0 B",
             *cell.error ? " " : "", cell.error);
}

/* --- residency --- */

struct pile {
    struct sum live, resident, swapped, untouched, unwritten;
};

struct tally {
    struct lookup lookup;
    struct pile *pile; /* by path; the last one is for blocks without a stack */
    struct pile whole;
};

static void add_block(struct pile *pile, const struct pl_known_block *block, const struct pl_extent *extent)
{
    double size = (double) block->size, resident = (double) extent->resident, swapped = (double) extent->swapped;
    add(&pile->live, block->weight, size);
    add(&pile->resident, block->weight, resident);
    add(&pile->swapped, block->weight, swapped);
    add(&pile->untouched, block->weight, fmax(0, size - resident - swapped));
    add(&pile->unwritten, block->weight, (double) extent->unwritten);
}

static void take_block(void *context, const struct pl_known_block *block, const struct pl_extent *extent)
{
    struct tally *tally = context;
    add_block(&tally->whole, block, extent);
    add_block(&tally->pile[path_of(&tally->lookup, block)], block, extent);
}

static void fill_live(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pile *) listing->context)[path].live);
}

static void fill_resident(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pile *) listing->context)[path].resident);
}

static void fill_untouched(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pile *) listing->context)[path].untouched);
}

static void fill_swapped(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pile *) listing->context)[path].swapped);
}

static void fill_unwritten(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pile *) listing->context)[path].unwritten);
}

static void put_whole(const struct pl_view *view, const struct pile *whole)
{
    char live[2 * PL_FIGURE_BYTES], resident[2 * PL_FIGURE_BYTES], untouched[2 * PL_FIGURE_BYTES];
    char swapped[2 * PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    print_sum(live, &whole->live);
    print_sum(resident, &whole->resident);
    print_sum(untouched, &whole->untouched);
    print_sum(swapped, &whole->swapped);
    pl_figure_percent(share, whole->live.value > 0 ? whole->resident.value / whole->live.value : 0);
    pl_print_paragraph(view,
                       "of %s live, %s are resident (%s), %s swapped out, and %s on pages that were never touched, or "
                       "given back",
                       live, resident, share, swapped, untouched);
}

static void put_sites(const struct pl_view *view, const struct pl_paths *paths, const struct tally *tally)
{
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    bool swapped = tally->whole.swapped.value > 0, any = false;
    for (uint32_t i = 0; i < paths->count; i++)
        any |= (weight[i] = tally->pile[i].untouched.value + tally->pile[i].swapped.value) > 0;
    struct pl_listing listing = {
        .view = view,
        .paths = paths,
        .title = "Not resident",
        .weight = weight,
        .metric = PL_METRIC_INUSE_SPACE,
        .context = tally->pile,
        .keep = 3,
        .column = {{"live", fill_live}, {"resident", fill_resident}, {"untouched", fill_untouched}},
    };
    if (swapped)
        listing.column[3] = (struct pl_column){"swapped", fill_swapped};
    if (any)
        pl_listing_put(&listing);
    free(weight);
}

/* --- readings in a profile --- */

static struct sum stored(uint64_t value, float error)
{
    return (struct sum){(double) value, pow((double) error / CONFIDENCE, 2)};
}

static void add_stored(struct pile *pile, const struct pl_resident_bytes *bytes)
{
    const struct sum from[] = {
        stored(bytes->live, bytes->live_error),
        stored(bytes->resident, bytes->resident_error),
        stored(bytes->swapped, bytes->swapped_error),
        stored(bytes->untouched, bytes->untouched_error),
    };
    struct sum *into[] = {&pile->live, &pile->resident, &pile->swapped, &pile->untouched};
    for (int i = 0; i < 4; i++) {
        into[i]->value += from[i].value;
        into[i]->variance += from[i].variance;
    }
}

static const struct pl_resident_record *fullest(const struct pl_profile *profile)
{
    const struct pl_resident_record *most = profile->resident;
    for (uint32_t i = 1; i < profile->residents; i++)
        if (profile->resident[i].all.live > most->all.live)
            most = &profile->resident[i];
    return most;
}

#define SERIES_MOST 24 /* lines of the table over time */
#define TIME_WIDTH 12
#define SERIES_GAP 2

static const struct series {
    const char *title;
    size_t at; /* in struct pile */
} series[] = {
    {"live", offsetof(struct pile, live)},
    {"resident", offsetof(struct pile, resident)},
    {"untouched", offsetof(struct pile, untouched)},
    {"swapped", offsetof(struct pile, swapped)},
};
#define SERIES (sizeof series / sizeof *series)

struct cells {
    char text[SERIES][2 * PL_FIGURE_BYTES];
};

static void fill_cells(struct cells *cells, const struct pl_resident_record *reading, bool errors)
{
    struct pile pile = {0};
    add_stored(&pile, &reading->all);
    for (size_t i = 0; i < SERIES; i++) {
        struct sum sum = *(const struct sum *) ((const char *) &pile + series[i].at);
        sum.variance = errors ? sum.variance : 0;
        print_sum(cells->text[i], &sum);
    }
}

/* The width of each column. Without any swapped memory its column has none. */
static size_t widths(const struct cells *cells, uint32_t lines, bool swapped, size_t width[SERIES])
{
    size_t all = TIME_WIDTH;
    for (size_t i = 0; i < SERIES; i++) {
        bool shown = swapped || series[i].at != offsetof(struct pile, swapped);
        size_t most = strlen(series[i].title);
        for (uint32_t line = 0; line < lines; line++) {
            size_t columns = pl_utf8_width(cells[line].text[i]);
            most = columns > most ? columns : most;
        }
        width[i] = shown ? most + SERIES_GAP : 0;
        all += width[i];
    }
    return all;
}

static void put_lines(const struct pl_view *view, const struct pl_resident_record *const *reading,
                      const struct cells *cells, uint32_t lines, const size_t width[SERIES])
{
    struct pl_term *term = view->term;
    pl_print_heading(view, "Over time");
    pl_term_pad(term, TIME_WIDTH);
    for (size_t i = 0; i < SERIES; i++)
        if (width[i])
            pl_term_right(term, PL_STYLE_DIM, series[i].title, width[i]);
    pl_term_end(term);
    for (uint32_t line = 0; line < lines; line++) {
        char time[PL_FIGURE_BYTES];
        pl_figure_span(time, (double) reading[line]->time_ns / 1e9);
        pl_term_right(term, PL_STYLE_PLAIN, time, TIME_WIDTH);
        for (size_t i = 0; i < SERIES; i++)
            if (width[i])
                pl_term_right(term, PL_STYLE_PLAIN, cells[line].text[i], width[i]);
        pl_term_end(term);
    }
}

/* If there are too many readings for a table, some between the first and the last are left out, evenly. If the errors
 * find no room on the terminal, they are left out. */
static void put_series(const struct pl_view *view)
{
    const struct pl_resident_record *reading[SERIES_MOST];
    struct cells cells[SERIES_MOST];
    size_t width[SERIES];
    bool swapped = false, errors = true;
    uint32_t count = view->whole->residents, lines = count < SERIES_MOST ? count : SERIES_MOST;
    for (uint32_t i = 0; i < count; i++)
        swapped |= view->whole->resident[i].all.swapped > 0;
    for (uint32_t i = 0; i < lines; i++) {
        reading[i] = &view->whole->resident[lines > 1 ? (uint64_t) i * (count - 1) / (lines - 1) : 0];
        fill_cells(&cells[i], reading[i], errors);
    }
    if (widths(cells, lines, swapped, width) > view->term->width) {
        errors = false;
        for (uint32_t i = 0; i < lines; i++)
            fill_cells(&cells[i], reading[i], errors);
        widths(cells, lines, swapped, width);
    }
    put_lines(view, reading, cells, lines, width);
    if (lines < count)
        pl_print_paragraph(view, "(%u more readings between these)", count - lines);
    if (!errors)
        pl_print_paragraph(view, "(a wider terminal shows ± here, too)");
}

static enum pl_exit print_stored(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    if (!profile->residents)
        return pl_say_failure(
            "%s does not say what was resident: %s run --resident 10s -- PROGRAM stores that every 10 s and when "
            "PROGRAM exits, and %s report --resident PID shows it of a running process",
            view->subject, pl_say_self(), pl_say_self());
    const struct pl_resident_record *reading = fullest(profile);
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    uint32_t *path = pl_paths_of_stacks(view->profile, &paths);
    struct tally tally = {.pile = pl_say_memory(calloc(paths.count + 1ull, sizeof *tally.pile))};
    add_stored(&tally.whole, &reading->all);
    for (uint32_t i = 0; i < reading->sites; i++) {
        uint32_t stack = stack_of_site(view->profile, reading->site[i].site);
        add_stored(&tally.pile[stack != PL_NO_STACK ? path[stack] : paths.count], &reading->site[i]);
    }
    pl_head_print(view);
    put_whole(view, &tally.whole);
    put_sites(view, &paths, &tally);
    if (profile->residents > 1) {
        pl_print_paragraph(view, "This is the reading with most live memory, of %u.", profile->residents);
        put_series(view);
    }
    pl_head_losses(view);
    free(tally.pile);
    free(path);
    return PL_EXIT_OK;
}

/* --- a reading --- */

struct reader {
    const struct pl_profile *profile;
    struct places places;
    struct pile *pile; /* by stack; the last one is for blocks without a stack */
    uint32_t *site;    /* one that has this stack */
    struct pile whole;
};

static void take_for_record(void *context, const struct pl_known_block *block, const struct pl_extent *extent)
{
    struct reader *reader = context;
    uint32_t site = site_of(&reader->places, block), stack = stack_of_site(reader->profile, site);
    stack = stack != PL_NO_STACK ? stack : reader->profile->stacks;
    reader->site[stack] = site;
    add_block(&reader->whole, block, extent);
    add_block(&reader->pile[stack], block, extent);
}

static float error_of(const struct sum *sum)
{
    return (float) (CONFIDENCE * sqrt(sum->variance));
}

static struct pl_resident_bytes bytes_of(uint32_t site, const struct pile *pile)
{
    return (struct pl_resident_bytes){
        .site = site,
        .live = (uint64_t) (pile->live.value + 0.5),
        .resident = (uint64_t) (pile->resident.value + 0.5),
        .swapped = (uint64_t) (pile->swapped.value + 0.5),
        .untouched = (uint64_t) (pile->untouched.value + 0.5),
        .live_error = error_of(&pile->live),
        .resident_error = error_of(&pile->resident),
        .swapped_error = error_of(&pile->swapped),
        .untouched_error = error_of(&pile->untouched),
    };
}

static int least_resident_first(const void *left, const void *right)
{
    const struct pl_resident_bytes *a = left, *b = right;
    uint64_t x = a->untouched + a->swapped, y = b->untouched + b->swapped;
    return x != y ? (x < y) - (x > y) : (a->live < b->live) - (a->live > b->live);
}

/* The sites of which least is resident; the others count only in the totals. */
static void fill_record(const struct reader *reader, struct pl_resident_record *out)
{
    uint32_t stacks = reader->profile->stacks, count = 0;
    struct pl_resident_bytes *all = pl_say_memory(calloc(stacks + 1ull, sizeof *all));
    for (uint32_t i = 0; i <= stacks; i++)
        if (reader->pile[i].live.value > 0)
            all[count++] = bytes_of(reader->site[i], &reader->pile[i]);
    qsort(all, count, sizeof *all, least_resident_first);
    out->sites = count < PL_RESIDENT_SITES - 1 ? count : PL_RESIDENT_SITES - 1;
    memcpy(out->site, all, out->sites * sizeof *all);
    out->all = bytes_of(0, &reader->whole);
    free(all);
}

bool pl_resident_record(pid_t pid, const char *live, struct pl_resident_record *out)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES], problem[256];
    if (pl_profile_open(live, &profile, why))
        return false;
    struct pl_footprint_options options = pl_memory_options(profile, pid, live);
    struct reader reader = {.profile = profile,
                            .pile = pl_say_memory(calloc(profile->stacks + 1ull, sizeof *reader.pile)),
                            .site = pl_say_memory(calloc(profile->stacks + 1ull, sizeof *reader.site))};
    open_places(&reader.places, live);
    bool read = pl_residency_read(&options, take_for_record, &reader, problem);
    if (read) {
        *out = (struct pl_resident_record){.time_ns = pl_proc_now_ns() - profile->header.start_monotonic_ns,
                                           .flags = options.exact ? PL_FOOTPRINT_EXACT : 0};
        fill_record(&reader, out);
    }
    close_places(&reader.places);
    free(reader.site);
    free(reader.pile);
    pl_profile_close(profile);
    return read;
}

/* --- what was not written --- */

static void put_unwritten(const struct pl_view *view, const struct pl_paths *paths, const struct tally *tally)
{
    const struct pile *whole = &tally->whole;
    char unwritten[2 * PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], time[PL_FIGURE_BYTES];
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = tally->pile[i].unwritten.value;
    print_sum(unwritten, &whole->unwritten);
    pl_figure_percent(share, whole->resident.value > 0 ? whole->unwritten.value / whole->resident.value : 0);
    pl_figure_span(time, view->watch->seconds);
    pl_print_paragraph(view, "of what is resident, %s (%s) lie on pages that the program did not write for %s",
                       unwritten, share, time);
    char *title = pl_say_print("Not written for %s", time);
    pl_listing_put(&(struct pl_listing){
        .view = view,
        .paths = paths,
        .title = title,
        .weight = weight,
        .metric = PL_METRIC_INUSE_SPACE,
        .context = tally->pile,
        .keep = 3,
        .column = {{"live", fill_live}, {"resident", fill_resident}, {"not written", fill_unwritten}},
    });
    free(title);
    free(weight);
}

enum pl_exit pl_watch(struct pl_watch *watch, const char *subject, uint64_t ns)
{
    pid_t pid = pl_subject_pid(subject);
    char *live, time[PL_FIGURE_BYTES], still[PL_FIGURE_BYTES];
    sigset_t before;
    if (pid < 0)
        return pl_say_usage(
            "--touched needs the PID of a running process; a profile does not say which pages are written");
    enum pl_exit status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    free(live);
    uint64_t start_ns = pl_proc_now_ns();
    if (!pl_written_begin(&watch->written, pid))
        return pl_say_failure("cannot watch what process %d writes: %s", pid, watch->written.problem);
    pl_figure_span(time, (double) ns / 1e9);
    pl_figure_span(still, (double) watch->written.still_ns / 1e9);
    pl_say("watching what process %d writes, for %s; Ctrl-C ends that earlier%s%s", pid, time,
           watch->written.still_ns ? "; to begin, it stood still for " : "", watch->written.still_ns ? still : "");
    sigprocmask(SIG_SETMASK, NULL, &before);
    bool runs = pl_proc_await(pid, ns);
    sigprocmask(SIG_SETMASK, &before, NULL);
    watch->seconds = (double) (pl_proc_now_ns() - start_ns) / 1e9;
    if (runs)
        return PL_EXIT_OK;
    pl_written_end(&watch->written);
    return pl_say_failure("process %d has ended while it was watched", pid);
}

enum pl_exit pl_resident_print(const struct pl_view *view)
{
    pid_t pid = pl_subject_pid(view->subject);
    char *live, problem[256];
    if (pid < 0)
        return print_stored(view);
    enum pl_exit status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_footprint_options options = pl_memory_options(view->whole, pid, live);
    options.written = view->watch->written.by;
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    struct tally tally = {.pile = pl_say_memory(calloc(paths.count + 1ull, sizeof *tally.pile))};
    open_lookup(&tally.lookup, view, &paths, live);
    if (pl_residency_read(&options, take_block, &tally, problem)) {
        pl_head_print(view);
        put_whole(view, &tally.whole);
        if (options.written)
            put_unwritten(view, &paths, &tally);
        put_sites(view, &paths, &tally);
        pl_head_losses(view);
    } else {
        status = pl_say_failure("cannot read the memory of process %d: %s", pid, problem);
    }
    close_lookup(&tally.lookup);
    free(tally.pile);
    free(live);
    return status;
}

struct pl_advice_touch *pl_resident_touch(const struct pl_view *view, const struct pl_paths *paths, const char *live)
{
    char problem[256];
    pid_t pid = pl_subject_pid(view->subject);
    struct pl_footprint_options options = pl_memory_options(view->whole, pid, live);
    struct tally tally = {.pile = pl_say_memory(calloc(paths->count + 1ull, sizeof *tally.pile))};
    struct pl_advice_touch *touch = NULL;
    open_lookup(&tally.lookup, view, paths, live);
    if (pl_residency_read(&options, take_block, &tally, problem)) {
        touch = pl_say_memory(calloc(paths->count + 1ull, sizeof *touch));
        for (uint32_t i = 0; i < paths->count; i++)
            touch[i] = (struct pl_advice_touch){
                .live_bytes = tally.pile[i].live.value,
                .untouched_bytes = tally.pile[i].untouched.value,
                .untouched_error = CONFIDENCE * sqrt(tally.pile[i].untouched.variance),
            };
    }
    close_lookup(&tally.lookup);
    free(tally.pile);
    return touch;
}

/* --- pages that are mostly free --- */

struct pin {
    struct sum pinned, alone, live;
};

static void fill_pinned(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pin *) listing->context)[path].pinned);
}

static void fill_alone(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pin *) listing->context)[path].alone);
}

static void fill_pinning(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill(cell, &((const struct pin *) listing->context)[path].live);
}

static void add_pins(struct lookup *lookup, const struct pl_footprint *footprint, struct pin *pin)
{
    for (uint32_t i = 0; i < footprint->known.count; i++) {
        const struct pl_known_block *block = &footprint->known.block[i];
        double alone, pinned = pl_footprint_pinned(footprint, block, &alone);
        struct pin *at = pinned > 0 ? &pin[path_of(lookup, block)] : NULL;
        if (!at)
            continue;
        add(&at->pinned, block->weight, pinned);
        add(&at->alone, block->weight, alone);
        add(&at->live, block->weight, (double) block->size);
    }
}

void pl_resident_put_pins(const struct pl_view *view, const struct pl_footprint *footprint, const char *live)
{
    struct lookup lookup;
    char all[PL_FIGURE_BYTES];
    double pinned = pl_footprint_pinned_in_all(footprint);
    pl_figure_bytes(all, pinned);
    if (pinned < 1)
        return;
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    struct pin *pin = pl_say_memory(calloc(paths.count + 1ull, sizeof *pin));
    double *weight = pl_say_memory(calloc(paths.count + 1ull, sizeof *weight));
    open_lookup(&lookup, view, &paths, live);
    add_pins(&lookup, footprint, pin);
    for (uint32_t i = 0; i < paths.count; i++)
        weight[i] = pin[i].pinned.value;
    pl_print_paragraph(
        view, "%s are free on pages that are mostly free, and stay resident because of blocks on these pages", all);
    pl_listing_put(&(struct pl_listing){
        .view = view,
        .paths = &paths,
        .title = "What keeps those pages",
        .weight = weight,
        .whole = pinned,
        .metric = PL_METRIC_INUSE_SPACE,
        .context = pin,
        .keep = 3,
        .column = {{"keeps", fill_pinned}, {"alone", fill_alone}, {"with blocks of", fill_pinning}},
    });
    close_lookup(&lookup);
    free(weight);
    free(pin);
}
