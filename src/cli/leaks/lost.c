/* SPDX-License-Identifier: MIT */
/* lost.c - see lost.h. */
#include "cli/leaks/lost.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/figure.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "reader/figures.h"
#include "reader/site.h"

/* What one path has lost. */
struct pile {
    double objects, space;
    double along_objects, along_space; /* lost with them */
    uint64_t example;                  /* the address of one */
};

enum verdict { LOST, LOST_WITH, INNER, HELD, VERDICTS };

struct piles {
    struct pile *of[VERDICTS];            /* by path */
    struct pl_figures *figures[VERDICTS]; /* likewise: `lost` is of that verdict; NULL: everything is exact */
    struct pile whole[VERDICTS];
    struct pl_figures whole_figures[VERDICTS];
};

static void add(struct pile *pile, double objects, double space, uint64_t example)
{
    pile->objects += objects;
    pile->space += space;
    if (example && (!pile->example || example < pile->example))
        pile->example = example;
}

/* Figures of exact mode are whole numbers, so these differences are exact. */
static void add_site(struct pile pile[VERDICTS], const struct pl_site_view *site)
{
    struct pl_estimate metric[PL_METRIC_COUNT];
    struct pl_spread spread = pl_site_spread(site);
    pl_site_estimate(site, metric);
    double objects = metric[PL_METRIC_LOST_OBJECTS].value, space = metric[PL_METRIC_LOST_SPACE].value;
    bool direct = objects > spread.with_objects; /* then the example is one of these */
    add(&pile[LOST], objects - spread.with_objects, space - spread.with_space, direct ? spread.lost_example : 0);
    add(&pile[LOST_WITH], spread.with_objects, spread.with_space, direct ? 0 : spread.lost_example);
    add(&pile[INNER], spread.inner_objects, spread.inner_space, spread.inner_example);
    add(&pile[HELD], metric[PL_METRIC_INUSE_OBJECTS].value - objects - spread.inner_objects,
        metric[PL_METRIC_INUSE_SPACE].value - space - spread.inner_space, 0);
    pile[LOST].along_objects += spread.along_objects;
    pile[LOST].along_space += spread.along_space;
}

/* A file has the variance of all that a site has lost, and of all that is live: a part has its share of that. */
static struct pl_amount share_of(const struct pl_amount *whole, const struct pile *part)
{
    double objects = pl_amount_objects(whole), space = pl_amount_space(whole);
    double of_objects = objects > 0 ? fmin(fmax(part->objects / objects, 0), 1) : 0;
    double of_space = space > 0 ? fmin(fmax(part->space / space, 0), 1) : 0;
    const struct pl_sums *sums = &whole->sampled;
    return (struct pl_amount){
        .exact_objects = whole->exact_objects * of_objects,
        .exact_space = whole->exact_space * of_space,
        .sampled = {.objects = sums->objects * of_objects,
                    .space = sums->space * of_space,
                    .objects_variance = sums->objects_variance * of_objects,
                    .space_variance = sums->space_variance * of_space,
                    .samples = (uint64_t) ceil((double) sums->samples * of_objects)},
    };
}

static void add_figures(struct piles *piles, const struct pl_site_view *site, const struct pile pile[VERDICTS],
                        uint32_t path)
{
    const struct pl_figures of_site = pl_site_figures(site);
    const struct pl_amount live = pl_amount_rest(&of_site.allocated, &of_site.freed);
    for (int v = 0; v < VERDICTS; v++) {
        struct pl_figures part = of_site;
        part.lost = share_of(v == LOST || v == LOST_WITH ? &of_site.lost : &live, &pile[v]);
        pl_figures_add(&piles->figures[v][path], &part);
        pl_figures_add(&piles->whole_figures[v], &part);
    }
}

static void count(struct piles *piles, const struct pl_profile *profile, const struct pl_paths *paths)
{
    for (int v = 0; v < VERDICTS; v++) {
        piles->of[v] = pl_say_memory(calloc(paths->count + 1ull, sizeof *piles->of[v]));
        if (!profile->exact)
            piles->figures[v] = pl_say_memory(calloc(paths->count + 1ull, sizeof *piles->figures[v]));
    }
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pile pile[VERDICTS] = {0};
        add_site(pile, &profile->site[i]);
        if (!profile->exact)
            add_figures(piles, &profile->site[i], pile, paths->of_site[i]);
        for (int v = 0; v < VERDICTS; v++) {
            struct pile *to[] = {&piles->of[v][paths->of_site[i]], &piles->whole[v]};
            for (int t = 0; t < 2; t++) {
                add(to[t], pile[v].objects, pile[v].space, pile[v].example);
                to[t]->along_objects += pile[v].along_objects;
                to[t]->along_space += pile[v].along_space;
            }
        }
    }
}

/* Estimates if there are figures; else what was counted. */
struct amount {
    struct pl_estimate space, objects;
};

static struct amount amount_of(const struct pile *pile, const struct pl_figures *figures)
{
    struct pl_estimate metric[PL_METRIC_COUNT];
    if (!figures || !(pile->objects > 0))
        return (struct amount){pl_estimate_exactly(pile->space), pl_estimate_exactly(pile->objects)};
    pl_estimate_figures(figures, metric);
    return (struct amount){metric[PL_METRIC_LOST_SPACE], metric[PL_METRIC_LOST_OBJECTS]};
}

static char *print_amount(const struct piles *piles, enum verdict verdict)
{
    struct amount amount =
        amount_of(&piles->whole[verdict], piles->figures[verdict] ? &piles->whole_figures[verdict] : NULL);
    return pl_lost_amount(&amount.space, &amount.objects);
}

/* --- tables --- */

struct context {
    const struct pile *pile;
    const struct pl_figures *figures; /* NULL: everything is exact */
};

static struct amount amount_at(const struct context *context, uint32_t path)
{
    return amount_of(&context->pile[path], context->figures ? &context->figures[path] : NULL);
}

static void fill_bytes(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    struct amount amount = amount_at(listing->context, path);
    pl_figure_cell(cell->value, cell->error, PL_METRIC_LOST_SPACE, &amount.space);
}

static void fill_blocks(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    struct amount amount = amount_at(listing->context, path);
    pl_figure_cell(cell->value, cell->error, PL_METRIC_LOST_OBJECTS, &amount.objects);
}

static void fill_along(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = ((const struct context *) listing->context)->pile;
    if (pile[path].along_objects > 0)
        pl_figure_bytes(cell->value, pile[path].along_space);
    else
        snprintf(cell->value, sizeof cell->value, "-");
}

static void fill_example(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = ((const struct context *) listing->context)->pile;
    if (pile[path].example)
        snprintf(cell->value, sizeof cell->value, "0x%llx", (unsigned long long) pile[path].example);
    else
        snprintf(cell->value, sizeof cell->value, "-");
}

static const struct pl_column columns[] = {
    {"bytes", fill_bytes}, {"blocks", fill_blocks}, {"takes along", fill_along}, {"example", fill_example}};

static void choose_columns(struct pl_listing *listing, const struct piles *piles, enum verdict verdict)
{
    size_t n = 0;
    listing->column[n++] = columns[0];
    listing->column[n++] = columns[1];
    if (verdict == LOST && piles->whole[LOST].along_objects > 0)
        listing->column[n++] = columns[2];
    listing->column[n++] = columns[3];
}

/* Blocks without bytes are lost as well: half a byte, so that their sites are listed, last. */
static void put_piles(const struct pl_view *view, const struct pl_paths *paths, const struct piles *piles,
                      enum verdict verdict, const char *title)
{
    const struct pile *pile = piles->of[verdict];
    if (!(piles->whole[verdict].objects > 0))
        return;
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = pile[i].objects > 0 ? pile[i].space + pile[i].along_space + 0.5 : 0;
    struct context context = {pile, piles->figures[verdict]};
    struct pl_listing listing = {
        .view = view,
        .paths = paths,
        .title = title,
        .weight = weight,
        .metric = PL_METRIC_LOST_SPACE,
        .context = &context,
        .keep = 2,
    };
    choose_columns(&listing, piles, verdict);
    pl_listing_put(&listing);
    free(weight);
}

/* --- sentences --- */

char *pl_lost_amount(const struct pl_estimate *space, const struct pl_estimate *objects)
{
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_LOST_SPACE, space);
    pl_figure_estimate(blocks, PL_METRIC_LOST_OBJECTS, objects);
    return pl_say_print("%s in %s block%s", bytes, blocks, pl_figure_plural(blocks));
}

const char *pl_lost_when(const struct pl_profile *profile)
{
    static const char *const words[PL_LOOKED_COUNT] = {
        [PL_LOOKED_RUNNING] = "while it ran",
        [PL_LOOKED_EXIT] = "when it exited",
        [PL_LOOKED_SIGNAL] = "when a signal ended it",
    };
    return words[profile->looked];
}

static void put_nothing_sampled(const struct pl_view *view)
{
    char most[PL_FIGURE_BYTES];
    pl_figure_bytes(most, view->profile->total[PL_METRIC_LOST_SPACE].high);
    pl_print_paragraph(view, "lost: nothing of what is recorded; with 95%% confidence %s or less of the rest", most);
}

static void put_lost(const struct pl_view *view, const struct piles *piles)
{
    const struct pile *lost = &piles->whole[LOST], *along = &piles->whole[LOST_WITH];
    char *text = print_amount(piles, LOST), *more = print_amount(piles, LOST_WITH);
    const char *them = lost->objects == 1 ? "it" : "them";
    if (!(lost->objects > 0) && along->objects > 0)
        pl_print_paragraph(view, "lost: %s that only lost blocks point to", more);
    else if (!(lost->objects > 0) && view->profile->exact)
        pl_print_paragraph(view, "lost: nothing; something points to every block");
    else if (!(lost->objects > 0))
        put_nothing_sampled(view);
    else if (along->objects > 0)
        pl_print_paragraph(view, "lost: %s: nothing points to %s; and %s that only lost blocks point to", text, them,
                           more);
    else
        pl_print_paragraph(view, "lost: %s: nothing points to %s", text, them);
    free(text);
    free(more);
}

static void put_held(const struct pl_view *view, const struct piles *piles, bool listed)
{
    char *text = print_amount(piles, HELD), *more = print_amount(piles, INNER);
    pl_print_paragraph(view, "held: %s", text);
    if (piles->whole[INNER].objects > 0)
        pl_print_paragraph(view, "probably held: %s, only by pointers to the middle of a block%s", more,
                           listed ? "" : "; --inner lists them");
    free(text);
    free(more);
}

static void put_limits(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!profile->exact && profile->looked_partly)
        pl_print_paragraph(view,
                           "not all blocks are recorded, and only glibc's malloc says where the others are: a block "
                           "is called lost here only if nothing at all points to it, no other lost block and no "
                           "freed memory, so more may be lost than is shown");
    else if (profile->looked_partly)
        pl_print_paragraph(view, "there may be blocks that the profiler does not know, so memory that was freed was "
                                 "searched, too: more may be lost than is shown");
}

void pl_lost_put(const struct pl_view *view, bool inner)
{
    struct pl_paths paths = pl_paths_new(view->profile, view->locations, PL_SHAPE_SITE, view->depth);
    struct piles piles = {0};
    count(&piles, view->profile, &paths);
    put_lost(view, &piles);
    put_piles(view, &paths, &piles, LOST, "Lost");
    put_piles(view, &paths, &piles, LOST_WITH, "Lost with those");
    if (inner)
        put_piles(view, &paths, &piles, INNER, "Probably held");
    put_held(view, &piles, inner);
    put_limits(view);
    for (int v = 0; v < VERDICTS; v++) {
        free(piles.of[v]);
        free(piles.figures[v]);
    }
}
