/* SPDX-License-Identifier: MIT */
/* lost.c - see lost.h. */
#include "cli/leaks/lost.h"

#include <stdlib.h>

#include "analysis/figure.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "reader/site.h"

/* What one path has lost. */
struct pile {
    double objects, space;
    double along_objects, along_space; /* lost with them */
    uint64_t example;                  /* the address of one */
};

enum verdict { LOST, LOST_WITH, INNER, VERDICTS };

struct piles {
    struct pile *of[VERDICTS]; /* by path */
    struct pile whole[VERDICTS];
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
    pile[LOST].along_objects += spread.along_objects;
    pile[LOST].along_space += spread.along_space;
}

static void count(struct piles *piles, const struct pl_profile *profile, const struct pl_paths *paths)
{
    for (int v = 0; v < VERDICTS; v++)
        piles->of[v] = pl_say_memory(calloc(paths->count + 1ull, sizeof *piles->of[v]));
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pile pile[VERDICTS] = {0};
        add_site(pile, &profile->site[i]);
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

/* --- tables --- */

static void fill_bytes(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    pl_figure_bytes(cell->value, pile[path].space);
}

static void fill_blocks(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    pl_figure_count(cell->value, pile[path].objects);
}

static void fill_along(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    if (pile[path].along_objects > 0)
        pl_figure_bytes(cell->value, pile[path].along_space);
    else
        snprintf(cell->value, sizeof cell->value, "-");
}

static void fill_example(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
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
    struct pl_listing listing = {
        .view = view,
        .paths = paths,
        .title = title,
        .weight = weight,
        .metric = PL_METRIC_LOST_SPACE,
        .context = pile,
        .keep = 2,
    };
    choose_columns(&listing, piles, verdict);
    pl_listing_put(&listing);
    free(weight);
}

/* --- sentences --- */

char *pl_lost_amount(double space, double objects)
{
    char bytes[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, space);
    pl_figure_count(blocks, objects);
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

static void put_lost(const struct pl_view *view, const struct piles *piles)
{
    const struct pile *lost = &piles->whole[LOST], *along = &piles->whole[LOST_WITH];
    char *text = pl_lost_amount(lost->space, lost->objects), *more = pl_lost_amount(along->space, along->objects);
    const char *them = lost->objects == 1 ? "it" : "them";
    if (!(lost->objects > 0))
        pl_print_paragraph(view, "lost: nothing; something points to every block");
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
    const struct pl_estimate *total = view->profile->total;
    const struct pile *inner = &piles->whole[INNER];
    double objects = total[PL_METRIC_INUSE_OBJECTS].value - total[PL_METRIC_LOST_OBJECTS].value - inner->objects;
    double space = total[PL_METRIC_INUSE_SPACE].value - total[PL_METRIC_LOST_SPACE].value - inner->space;
    char *text = pl_lost_amount(space, objects), *more = pl_lost_amount(inner->space, inner->objects);
    pl_print_paragraph(view, "held: %s", text);
    if (inner->objects > 0)
        pl_print_paragraph(view, "probably held: %s, only by pointers to the middle of a block%s", more,
                           listed ? "" : "; --inner lists them");
    free(text);
    free(more);
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
    if (view->profile->looked_partly)
        pl_print_paragraph(view, "there may be blocks that the profiler does not know, so memory that was freed was "
                                 "searched, too: more may be lost than is shown");
    for (int v = 0; v < VERDICTS; v++)
        free(piles.of[v]);
}
