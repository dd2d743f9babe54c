/* SPDX-License-Identifier: MIT */
/*
 * written.c - writes a profile in every format that fits, and checks the result.
 */
#include "written.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/groups.h"
#include "export/export.h"
#include "fuzz.h"
#include "grammar.h"
#include "page/data/page_data.h"
#include "sink.h"

static void write_page(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_page_about about = {
        .selection = options->selection,
        .metric = options->metric,
        .no_sources = true,
        .before = profile,
        .after = profile,
    };
    pl_page_data_write(profile, &about, out);
}

static const struct format {
    const char *word;
    pl_export_function *write;
    unsigned traits;
} formats[] = {
#define ROW(name, word, traits, threshold, help) {word, pl_export_##name, traits},
    PL_EXPORT_FORMATS(ROW)
#undef ROW
        {"page", write_page, PL_EXPORT_WHOLE | PL_EXPORT_SIGNED | PL_EXPORT_BINARY},
};
#define FORMATS (sizeof formats / sizeof *formats)

/* heaptrack's file has a line for each call, up to 8 million. This many are written quickly. */
#define EVENTS_MAX 4096

/* The formats whose grammar is checked here. */
static const struct {
    const char *word;
    bool (*is_one)(const char *text);
} grammar[] = {
    {"json", fuzz_is_json},      {"speedscope", fuzz_is_json}, {"dhat", fuzz_is_json},
    {"tags-json", fuzz_is_json}, {"svg", fuzz_is_xml},         {"tags-svg", fuzz_is_xml},
};

static void check_text(const struct format *format, const struct fuzz_sink *sink)
{
    if (format->traits & PL_EXPORT_BINARY || !sink->whole)
        return;
    if (strlen(sink->text) != sink->bytes)
        abort();
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++) {
        if (strcmp(grammar[i].word, format->word) || grammar[i].is_one(sink->text))
            continue;
        fprintf(stderr, "this is not %s:\n%s\n", format->word, sink->text);
        abort();
    }
}

/* The JSON text before the columns. */
#define PAGE_HEAD_BYTES 16u
static void check_page(const struct fuzz_sink *sink)
{
    uint32_t text_bytes;
    if (!sink->whole)
        return;
    if (sink->bytes < PAGE_HEAD_BYTES || memcmp(sink->text, "PLIMPAGE", 8))
        abort();
    memcpy(&text_bytes, sink->text + 12, sizeof text_bytes);
    if (text_bytes > sink->bytes - PAGE_HEAD_BYTES || (PAGE_HEAD_BYTES + text_bytes) % 8 || sink->bytes % 8)
        abort();
    char *text = strndup(sink->text + PAGE_HEAD_BYTES, text_bytes);
    if (!text || strlen(text) != text_bytes || !fuzz_is_json(text))
        abort();
    free(text);
}

static void write_one(const struct format *format, const struct pl_profile *profile,
                      const struct pl_export_options *options)
{
    static struct fuzz_sink sink;
    FILE *out = fuzz_sink_open(&sink);
    format->write(profile, options, out);
    if (ferror(out) || fclose(out))
        abort();
    check_text(format, &sink);
    if (format->write == write_page)
        check_page(&sink);
}

/* ---- stacks ---- */

static void check_rows(const struct pl_flat *flat, const struct pl_flat_options *options)
{
    int64_t total[PL_METRIC_COUNT] = {0};
    uint32_t *line = calloc(flat->depth_max + 1u, sizeof *line);
    for (uint32_t i = 0; i < flat->rows; i++) {
        const struct pl_flat_row *row = &flat->row[i];
        uint32_t lines = line ? pl_flat_stack(flat, row->stack, line) : 0;
        if (row->stack >= flat->stacks || row->tag >= flat->profile->tags || lines == 0 || lines > flat->depth_max)
            abort();
        for (uint32_t l = 0; l < lines; l++)
            if (line[l] >= flat->lines)
                abort();
        for (int m = 0; m < PL_METRIC_COUNT; m++) {
            total[m] += row->value[m];
            if (row->value[m] < 0 && options->no_negatives)
                abort();
        }
    }
    if (memcmp(total, flat->total, sizeof total))
        abort();
    free(line);
}

static void check_flat(const struct pl_flat *flat, const struct pl_flat_options *options)
{
    check_rows(flat, options);
    for (uint32_t i = 0; i < flat->lines; i++)
        if (flat->line[i].function >= flat->functions)
            abort();
    for (uint32_t i = 0; i < flat->functions; i++)
        if (!*flat->function[i].name || !flat->function[i].linkage || !flat->function[i].file)
            abort();
}

static void write_stacks(const struct format *format, const struct pl_profile *profile,
                         struct pl_export_options options)
{
    struct pl_flat_options wanted = {
        .by = options.by,
        .apart = format->traits & PL_EXPORT_APART,
        .metric = options.metric,
        .threshold = format->traits & PL_EXPORT_BY_NODE ? 0 : options.threshold,
        .no_negatives = !(format->traits & PL_EXPORT_SIGNED),
    };
    struct pl_flat *flat = pl_flat_new(profile, &wanted);
    check_flat(flat, &wanted);
    options.flat = flat;
    if (format->write != pl_export_heaptrack || flat->total[PL_METRIC_ALLOC_OBJECTS] <= EVENTS_MAX)
        write_one(format, profile, &options);
    pl_flat_free(flat);
}

/* ---- tags ---- */

static void write_tags(const struct format *format, const struct pl_profile *profile, struct pl_export_options options)
{
    struct pl_groups groups;
    struct pl_tag_forest forest;
    char why[PL_WHY_BYTES];
    enum pl_grouping grouping = options.by & PL_FLAT_BY_THREAD ? PL_GROUP_NAME : PL_GROUP_ALL;
    if (pl_groups_make(profile, grouping, &(struct pl_choice){0}, &groups, why) != 0)
        abort();
    pl_tagtree_grow(profile, &groups, options.metric, &forest);
    options.forest = &forest;
    write_one(format, profile, &options);
    pl_tagtree_free(&forest);
    pl_groups_free(&groups);
}

void fuzz_write_all(const struct pl_profile *profile, unsigned traits, uint64_t *state)
{
    static const double thresholds[] = {0, 0, 0.001, 0.05, 1};
    uint64_t random = fuzz_random(state);
    struct pl_export_options options = {
        .selection = random % 2 ? "tag \"<&>\\\n\", and below" : NULL,
        .metric = (enum pl_metric)(random / 2 % PL_METRIC_COUNT),
        .by = (unsigned) (random >> 16) % 4,
        .threshold = thresholds[(random >> 32) % (sizeof thresholds / sizeof *thresholds)],
    };
    for (size_t i = 0; i < FORMATS; i++) {
        const struct format *format = &formats[i];
        if ((format->traits & traits) != traits || (profile->difference && format->traits & PL_EXPORT_TAGS))
            continue;
        if (format->traits & PL_EXPORT_TAGS)
            write_tags(format, profile, options);
        else if (format->traits & PL_EXPORT_STACKS)
            write_stacks(format, profile, options);
        else
            write_one(format, profile, &options);
    }
}
