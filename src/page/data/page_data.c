/* SPDX-License-Identifier: MIT */
/*
 * page_data.c - writes page data, the input of the HTML page (`plimsoll html`, `plimsoll view`): the whole profile,
 * large tables as columns of numbers and the rest as JSON. docs/page-data.md describes it; web/src/data reads it.
 *
 * The JSON text says where columns begin and comes first, so it is built in memory. Columns are not: they are written
 * straight from the arrays that hold them.
 */
#include <stdlib.h>
#include <time.h>

#include "analysis/narrow.h"
#include "export/profile_json.h"
#include "page/data/page_work.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

/* --- columns --- */

static void add_texts(struct pl_page_work *work)
{
    const struct pl_page_texts *texts = &work->tree->texts;
    pl_columns_table(work->columns, "text", texts->count);
    pl_columns_add(work->columns, "text.end", PL_COLUMN_U32, texts->end, sizeof *texts->end);
    pl_columns_table(work->columns, "bytes", texts->used);
    pl_columns_add(work->columns, "bytes.text", PL_COLUMN_U8, texts->bytes, 1);
}

static void add_tree(struct pl_page_work *work)
{
    const struct pl_page_tree *tree = work->tree;
    struct pl_columns *columns = work->columns;
    size_t function = sizeof *tree->function, place = sizeof *tree->place, node = sizeof *tree->node;
    pl_columns_table(columns, "function", tree->functions);
    pl_columns_add(columns, "function.name", PL_COLUMN_U32, &tree->function->name, function);
    pl_columns_add(columns, "function.full", PL_COLUMN_U32, &tree->function->full, function);
    pl_columns_add(columns, "function.file", PL_COLUMN_U32, &tree->function->file, function);
    pl_columns_add(columns, "function.source", PL_COLUMN_U32, &tree->function->source, function);
    pl_columns_add(columns, "function.module", PL_COLUMN_U32, &tree->function->module, function);
    pl_columns_add(columns, "function.role", PL_COLUMN_U8, &tree->function->role, function);
    pl_columns_add(columns, "function.language", PL_COLUMN_U8, &tree->function->language, function);
    pl_columns_table(columns, "place", tree->places);
    pl_columns_add(columns, "place.function", PL_COLUMN_U32, &tree->place->function, place);
    pl_columns_add(columns, "place.line", PL_COLUMN_U32, &tree->place->line, place);
    pl_columns_table(columns, "node", tree->nodes);
    pl_columns_add(columns, "node.parent", PL_COLUMN_U32, &tree->node->parent, node);
    pl_columns_add(columns, "node.place", PL_COLUMN_U32, &tree->node->place, node);
}

static void add_figures(struct pl_page_work *work)
{
    pl_page_sites_add(work);
    pl_page_sites_add_shares(work);
    pl_page_scopes_add(work);
    pl_page_residents_add(work);
}

/* --- members --- */

static void write_page(struct pl_json *json, const struct pl_page_work *work)
{
    const struct pl_page_about *about = work->about;
    bool part = work->about->selection;
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    time_t now = epoch && *epoch ? (time_t) strtoll(epoch, NULL, 10) : time(NULL);
    struct tm parts;
    char written[64] = "";
    if (gmtime_r(&now, &parts))
        strftime(written, sizeof written, "%Y-%m-%dT%H:%M:%SZ", &parts);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "version", PL_EXPORT_VERSION);
    pl_json_add_text(json, "subject", about->subject ? about->subject : "");
    pl_json_add_text(json, "title", about->title ? about->title : work->profile->comm);
    pl_json_add_bool(json, "live", about->live);
    pl_json_add_text(json, "metric", pl_metric_info[work->about->metric].word);
    pl_json_add_known(json, "since_s", about->since_s);
    pl_json_add_known(json, "until_s", about->until_s);
    pl_json_add_text(json, "title_live", about->title_live ? about->title_live : "Live");
    pl_json_add_whole(json, "stacks", part ? pl_narrow_stacks(work->profile) : work->profile->stacks);
    pl_json_add_text(json, "written", written);
    pl_json_end(json, '}');
}

static void write_compositions(struct pl_json *json, const struct pl_page_work *work)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < work->profile->compositions; i++) {
        const struct pl_composition_view *composition = &work->profile->composition[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_profile_json_composition(json, composition);
        pl_json_add_real(json, "others_allocated", composition->others_allocated);
        pl_json_add_real(json, "others_calls", composition->others_calls);
        pl_json_add_real(json, "others_bytes", composition->others_bytes);
        pl_json_add_real(json, "others_objects", composition->others_objects);
        pl_json_add_real(json, "unnamed_bytes", composition->unnamed_bytes);
        pl_json_add_real(json, "unnamed_calls", composition->unnamed_calls);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_advice(struct pl_json *json, const struct pl_page_work *work)
{
    if (!work->profile->difference) {
        pl_profile_json_advice(json, work->profile, work->locations, &work->paths, work->tree->node_of_stack);
        return;
    }
    pl_json_begin(json, '[');
    pl_json_end(json, ']');
}

/* Boxes are named after the frame that a report would name. */
static void write_holders(struct pl_json *json, const struct pl_page_work *work)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 1; i < work->profile->holders; i++) {
        const struct pl_holder_view *holder = &work->profile->holder[i];
        uint32_t node =
            holder->stack == PL_NO_STACK ? PL_PAGE_NONE : pl_page_tree_stack(work->tree, holder->stack, false).own;
        pl_profile_json_holder(json, holder, "node", node);
    }
    pl_json_end(json, ']');
}

static void write_loss_help(struct pl_json *json, const struct pl_page_work *work)
{
    const uint64_t *losses = work->profile->header.losses;
    pl_json_begin(json, '{');
    for (int i = 0; i < PL_LOSS_COUNT; i++)
        if (losses[i])
            pl_json_add_text(json, pl_loss_info[i].key, pl_describe_loss(i, losses[i]));
    pl_json_end(json, '}');
}

static void write_metric_help(struct pl_json *json, const struct pl_page_work *work)
{
    pl_json_begin(json, '{');
    for (int m = 0; m < pl_profile_metrics(work->profile); m++)
        pl_json_add_text(json, pl_metric_info[m].key, pl_metric_info[m].help);
    pl_json_end(json, '}');
}

/* Members in addition to those of the JSON export. */
static const struct part {
    const char *name;
    void (*write)(struct pl_json *json, const struct pl_page_work *work);
} parts[] = {
    {"page", write_page},
    {"snapshots", write_compositions},
    {"advice", write_advice},
    {"leaks", pl_page_leaks_write},
    {"sources", pl_page_sources_write},
    {"diff", pl_page_changes_write},
    {"loss_help", write_loss_help},
    {"metric_help", write_metric_help},
    {"holders", write_holders},
    {"residency", pl_page_residents_write},
};

/* Members of the JSON export that are columns here, or that are written in another form. */
static const char *const not_as_json[] = {"frames",    "stacks", "scopes",  "sites", "snapshots",
                                          "residency", "advice", "holders", NULL};

/* --- all of it --- */

/* Columns point into the tree, and naming a stack may add nodes. So the tree comes last, when no stack will be named
 * any more. */
static void write_text(struct pl_page_work *work, FILE *out)
{
    struct pl_json json = {.out = out};
    pl_json_begin(&json, '{');
    pl_profile_json_members(&json, work->profile, work->about->selection, not_as_json);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        pl_json_line(&json);
        pl_json_key(&json, parts[i].name);
        parts[i].write(&json, work);
    }
    add_tree(work);
    add_texts(work);
    pl_columns_describe(work->columns, &json);
    fputs("\n}\n", out);
}

static void write_all(struct pl_page_work *work, FILE *out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = pl_grow_check(open_memstream(&text, &bytes), 1, 1);
    write_text(work, memory);
    pl_grow_check(fclose(memory) ? NULL : text, bytes, 1);
    pl_columns_write(work->columns, text, bytes, out);
    free(text);
}

void pl_page_data_write(const struct pl_profile *profile, const struct pl_page_about *about, FILE *out)
{
    struct pl_locations *locations = pl_locations_new(profile, &(struct pl_location_options){0});
    struct pl_page_work work = {
        .profile = profile,
        .about = about,
        .locations = locations,
        .paths = pl_paths_new(profile, locations, PL_SHAPE_SITE, PL_ADVICE_DEPTH),
        .tree = pl_page_tree_new(profile, locations),
        .columns = pl_columns_new(),
        .arena = pl_arena_new(),
    };
    add_figures(&work);
    write_all(&work, out);
    for (int h = 0; h < PL_PAGE_HISTOGRAMS; h++)
        free(work.bars[h].bar);
    pl_arena_free(work.arena);
    pl_columns_free(work.columns);
    pl_page_tree_free(work.tree);
    pl_locations_free(locations);
}
