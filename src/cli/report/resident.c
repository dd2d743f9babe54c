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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "cli/subject.h"
#include "core/blocks/blocks.h"
#include "reach/records.h"
#include "reader/base/arena.h"
#include "reader/image.h"

#define PLACES (PL_BLOCK_TALLY_MAX + 1ull)
#define CONFIDENCE 1.96 /* standard errors: 95% */

/* --- from blocks to sites --- */

struct lookup {
    const struct pl_profile *profile;
    int file;         /* the live profile */
    uint32_t *known;  /* place -> stack + 1; 0: not looked up yet */
    uint32_t *path;   /* stack -> path */
    uint32_t nowhere; /* for blocks without a stack */
    struct pl_arena *arena;
    struct pl_image image;
    bool imaged;
};

static void open_lookup(struct lookup *lookup, const struct pl_view *view, const struct pl_paths *paths,
                        const char *live)
{
    char why[PL_WHY_BYTES];
    *lookup = (struct lookup){.profile = view->profile, .nowhere = paths->count, .arena = pl_arena_new()};
    lookup->path = pl_paths_of_stacks(view->profile, paths);
    lookup->known = pl_say_memory(calloc(PLACES, sizeof *lookup->known));
    lookup->file = open(live, O_RDONLY | O_CLOEXEC);
    struct pl_image_source source = {.name = live, .fd = lookup->file};
    lookup->imaged = lookup->file >= 0 && pl_image_take(&source, lookup->arena, &lookup->image, why) == 0;
}

static void close_lookup(struct lookup *lookup)
{
    if (lookup->file >= 0)
        close(lookup->file);
    free(lookup->known);
    free(lookup->path);
    pl_arena_free(lookup->arena);
}

static uint32_t path_of_site(const struct lookup *lookup, uint32_t site)
{
    const struct pl_profile *profile = lookup->profile;
    uint32_t stack = site < profile->records ? profile->stack_of_record[site] : PL_NO_STACK;
    return stack < profile->stacks ? lookup->path[stack] : lookup->nowhere;
}

static uint32_t path_of_row(const struct lookup *lookup, uint32_t row)
{
    if (!lookup->imaged || row >= pl_image_count(&lookup->image, PL_KIND_ROW))
        return lookup->nowhere;
    return path_of_site(lookup, pl_image_rows(&lookup->image)[row].site);
}

static uint32_t path_of(struct lookup *lookup, const struct pl_known_block *block)
{
    if (block->sampled)
        return path_of_row(lookup, block->place);
    if (block->place >= PLACES)
        return lookup->nowhere;
    uint32_t *known = &lookup->known[block->place];
    if (!*known)
        *known = path_of_site(lookup, pl_records_site(lookup->file, block->place)) + 1;
    return *known - 1;
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
    struct sum live, resident, swapped, untouched;
};

struct tally {
    struct lookup lookup;
    struct pile *pile; /* by path; the last one is for blocks without a stack */
    struct pile whole;
};

static void add_block(struct pile *pile, const struct pl_known_block *block, double resident, double swapped)
{
    double size = (double) block->size;
    add(&pile->live, block->weight, size);
    add(&pile->resident, block->weight, resident);
    add(&pile->swapped, block->weight, swapped);
    add(&pile->untouched, block->weight, fmax(0, size - resident - swapped));
}

static void take_block(void *context, const struct pl_known_block *block, double resident, double swapped)
{
    struct tally *tally = context;
    add_block(&tally->whole, block, resident, swapped);
    add_block(&tally->pile[path_of(&tally->lookup, block)], block, resident, swapped);
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
    bool swapped = tally->whole.swapped.value > 0;
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = tally->pile[i].untouched.value + tally->pile[i].swapped.value;
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
    pl_listing_put(&listing);
    free(weight);
}

enum pl_exit pl_resident_print(const struct pl_view *view)
{
    pid_t pid = pl_subject_pid(view->subject);
    char *live, problem[256];
    if (pid < 0)
        return pl_say_usage(
            "--resident needs the PID of a running process; a profile does not say which pages are resident");
    enum pl_exit status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_footprint_options options = pl_memory_options(view->whole, pid, live);
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    struct tally tally = {.pile = pl_say_memory(calloc(paths.count + 1ull, sizeof *tally.pile))};
    open_lookup(&tally.lookup, view, &paths, live);
    if (pl_residency_read(&options, take_block, &tally, problem)) {
        pl_head_print(view);
        put_whole(view, &tally.whole);
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
