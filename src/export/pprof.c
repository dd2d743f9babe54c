/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - a digest for `go tool pprof`: profile.proto, gzipped.
 *
 * A sample is a row of the digest: locations, a value for each metric, and labels. Strings, functions, mappings and
 * locations are written when they are first needed, and have numbers from then on; readers accept them in any order.
 *
 * In a difference each sample is written twice, as `pprof -diff_base` does it: the values now, and the values before,
 * negative and marked as the base. They add up to the change, and pprof shows percentages of the base.
 */
#include "export/pprof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/gzip.h"
#include "export/proto.h"
#include "reader/base/arena.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"
#include "reader/describe.h"

/* Fields of the messages. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS, PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT };
enum { PROFILE_DEFAULT_SAMPLE_TYPE = 14 };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER, LABEL_UNIT };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID, MAPPING_HAS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

#define HAS_BITS 4 /* of struct pl_digest_mapping, in the order of the fields from MAPPING_HAS on */

/* Strings that are not the digest's: names of metrics, units, labels. */
#define OWN_STRINGS 64

struct writer {
    const struct pl_pprof *what;
    const struct pl_digest *digest;
    FILE *gzip;
    struct pl_arena *arena;
    struct pl_index texts;
    const char **text; /* by number */
    uint32_t strings, mappings, functions, locations;
    uint32_t *mapping_of, *function_of, *location_of; /* digest's number -> number; 0: not written yet */
    struct pl_proto string, mapping, function, location, sample, other;
};

static void write_fields(struct writer *writer, struct pl_proto *fields)
{
    fwrite(fields->data, 1, fields->bytes, writer->gzip);
    fields->bytes = 0;
}

static void write_message(struct writer *writer, struct pl_proto *message, size_t begun)
{
    pl_proto_end(message, begun);
    write_fields(writer, message);
}

/* --- strings --- */

static uint32_t write_string(struct writer *writer, const char *text)
{
    pl_proto_text(&writer->string, PROFILE_STRING, text);
    write_fields(writer, &writer->string);
    return writer->strings++;
}

struct wanted {
    const struct writer *writer;
    const char *text;
};

static bool is_text(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return !strcmp(wanted->writer->text[number], wanted->text);
}

/* The number of a text that lives as long as the digest. */
static uint32_t string_of(struct writer *writer, const char *text)
{
    struct wanted wanted = {writer, text};
    uint32_t *slot = pl_index_find(&writer->texts, pl_index_text(1, text), 0, is_text, &wanted);
    if (!*slot) {
        writer->text[writer->strings] = text;
        *slot = write_string(writer, text) + 1;
    }
    return *slot - 1;
}

static void add_string(struct writer *writer, struct pl_proto *message, unsigned field, uint32_t text)
{
    pl_proto_number(message, field, string_of(writer, writer->digest->text[text]));
}

/* --- mappings --- */

static uint32_t mapping_of(struct writer *writer, uint32_t number)
{
    const struct pl_digest_mapping *from = &writer->digest->mapping[number];
    struct pl_proto *mapping = &writer->mapping;
    uint64_t base = writer->what->relative ? from->bias : 0;
    if (writer->mapping_of[number])
        return writer->mapping_of[number];
    writer->mapping_of[number] = ++writer->mappings;
    size_t begun = pl_proto_begin(mapping, PROFILE_MAPPING);
    pl_proto_number(mapping, MAPPING_ID, writer->mappings);
    pl_proto_number(mapping, MAPPING_START, (int64_t) (from->start - base));
    pl_proto_number(mapping, MAPPING_LIMIT, (int64_t) (from->end - base));
    add_string(writer, mapping, MAPPING_FILE, from->path);
    add_string(writer, mapping, MAPPING_BUILD_ID, from->build_id);
    for (unsigned i = 0; i < HAS_BITS && !writer->what->no_names; i++)
        pl_proto_number(mapping, MAPPING_HAS + i, from->has >> i & 1);
    write_message(writer, mapping, begun);
    return writer->mappings;
}

/* --- functions --- */

static uint32_t function_of(struct writer *writer, uint32_t number)
{
    const struct pl_digest_function *from = &writer->digest->function[number];
    struct pl_proto *function = &writer->function;
    if (writer->function_of[number])
        return writer->function_of[number];
    writer->function_of[number] = ++writer->functions;
    size_t begun = pl_proto_begin(function, PROFILE_FUNCTION);
    pl_proto_number(function, FUNCTION_ID, writer->functions);
    add_string(writer, function, FUNCTION_NAME, from->name);
    add_string(writer, function, FUNCTION_SYSTEM_NAME, from->symbol);
    add_string(writer, function, FUNCTION_FILE, from->file); /* where it begins is not known */
    write_message(writer, function, begun);
    return writer->functions;
}

/* --- locations --- */

static void add_line(struct writer *writer, const struct pl_digest_line *line)
{
    struct pl_proto *location = &writer->location;
    size_t begun = pl_proto_begin(location, LOCATION_LINE);
    pl_proto_number(location, LINE_FUNCTION, function_of(writer, line->function));
    pl_proto_number(location, LINE_NUMBER, line->line);
    pl_proto_end(location, begun);
}

static void add_address(struct writer *writer, const struct pl_digest_location *from)
{
    bool mapped = from->mapping != PL_FLAT_NONE;
    uint64_t bias = mapped && !writer->what->relative ? writer->digest->mapping[from->mapping].bias : 0;
    if (from->address == PL_DIGEST_NOWHERE)
        return;
    if (mapped)
        pl_proto_number(&writer->location, LOCATION_MAPPING, mapping_of(writer, from->mapping));
    pl_proto_number(&writer->location, LOCATION_ADDRESS, (int64_t) (bias + from->address));
}

/* Of code in a file the reader can find the names itself; of other locations nobody can. */
static bool is_named(const struct writer *writer, const struct pl_digest_location *location)
{
    return !writer->what->no_names || location->mapping == PL_FLAT_NONE;
}

static uint32_t location_of(struct writer *writer, uint32_t number)
{
    const struct pl_digest_location *from = &writer->digest->location[number];
    struct pl_proto *location = &writer->location;
    if (writer->location_of[number])
        return writer->location_of[number];
    writer->location_of[number] = ++writer->locations;
    size_t begun = pl_proto_begin(location, PROFILE_LOCATION);
    pl_proto_number(location, LOCATION_ID, writer->locations);
    add_address(writer, from);
    for (uint32_t i = 0; i < from->lines && is_named(writer, from); i++)
        add_line(writer, &writer->digest->line[from->line + i]);
    write_message(writer, location, begun);
    return writer->locations;
}

/* --- samples --- */

static void add_locations(struct writer *writer, const struct pl_digest_row *row)
{
    size_t begun = pl_proto_begin(&writer->sample, SAMPLE_LOCATION);
    for (uint32_t i = 0; i < row->depth; i++)
        pl_proto_element(&writer->sample, location_of(writer, writer->digest->stacked[row->stack + i]));
    pl_proto_end(&writer->sample, begun);
}

/* An empty text is no label. */
static void add_label(struct writer *writer, const char *key, const char *text)
{
    if (!*text)
        return;
    size_t begun = pl_proto_begin(&writer->sample, SAMPLE_LABEL);
    pl_proto_number(&writer->sample, LABEL_KEY, string_of(writer, key));
    pl_proto_number(&writer->sample, LABEL_TEXT, string_of(writer, text));
    pl_proto_end(&writer->sample, begun);
}

/* As in heap profiles of Go: the mean size of blocks, for --tagfocus=64kb:. Of a difference there is none. */
static void add_block_size(struct writer *writer, const struct pl_digest_row *row)
{
    int64_t blocks = row->value[PL_METRIC_ALLOC_OBJECTS];
    if (!writer->what->block_sizes || writer->digest->base || blocks <= 0)
        return;
    size_t begun = pl_proto_begin(&writer->sample, SAMPLE_LABEL);
    pl_proto_number(&writer->sample, LABEL_KEY, string_of(writer, "bytes"));
    pl_proto_number(&writer->sample, LABEL_NUMBER, row->value[PL_METRIC_ALLOC_SPACE] / blocks);
    pl_proto_number(&writer->sample, LABEL_UNIT, string_of(writer, "bytes"));
    pl_proto_end(&writer->sample, begun);
}

static void write_sample(struct writer *writer, const struct pl_digest_row *row, bool base)
{
    if (!pl_digest_row_counts(row, writer->what->view.metrics))
        return;
    size_t begun = pl_proto_begin(&writer->sample, PROFILE_SAMPLE);
    add_locations(writer, row);
    size_t values = pl_proto_begin(&writer->sample, SAMPLE_VALUE);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (writer->what->view.metrics >> m & 1)
            pl_proto_element(&writer->sample, row->value[m]);
    pl_proto_end(&writer->sample, values);
    add_label(writer, "tag", writer->digest->text[row->tag]);
    add_label(writer, "thread", writer->digest->text[row->thread]);
    if (base)
        add_label(writer, "pprof::base", "true");
    add_block_size(writer, row);
    write_message(writer, &writer->sample, begun);
}

static void write_change(struct writer *writer, const struct pl_digest_row *row, const int64_t base[PL_METRIC_COUNT])
{
    struct pl_digest_row now = *row, before = *row;
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        now.value[m] = row->value[m] + base[m];
        before.value[m] = -base[m];
    }
    write_sample(writer, &now, false);
    write_sample(writer, &before, true);
}

static void write_rows(struct writer *writer)
{
    const struct pl_digest_view *view = &writer->what->view;
    for (uint32_t i = 0; i < view->rows; i++)
        if (writer->digest->base)
            write_change(writer, &view->row[i], writer->digest->base[i]);
        else
            write_sample(writer, &view->row[i], false);
}

/* --- the profile as a whole --- */

static void add_type(struct writer *writer, unsigned field, const char *type, const char *unit)
{
    size_t begun = pl_proto_begin(&writer->other, field);
    pl_proto_number(&writer->other, VALUE_TYPE, string_of(writer, type));
    pl_proto_number(&writer->other, VALUE_UNIT, string_of(writer, unit));
    pl_proto_end(&writer->other, begun);
}

static void add_types(struct writer *writer)
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (writer->what->view.metrics >> m & 1)
            add_type(writer, PROFILE_SAMPLE_TYPE, pl_metric_info[m].key, pl_digest_unit(m));
    pl_proto_number(&writer->other, PROFILE_DEFAULT_SAMPLE_TYPE,
                    string_of(writer, pl_metric_info[writer->what->view.metric].key));
}

static void write_whole(struct writer *writer)
{
    const struct pl_digest_view *view = &writer->what->view;
    add_types(writer);
    add_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
    pl_proto_number(&writer->other, PROFILE_PERIOD, writer->digest->period);
    pl_proto_number(&writer->other, PROFILE_TIME_NANOS, (int64_t) view->time_ns);
    pl_proto_number(&writer->other, PROFILE_DURATION_NANOS, (int64_t) view->duration_ns);
    for (const char *const *comment = writer->what->comment; comment && *comment; comment++)
        pl_proto_number(&writer->other, PROFILE_COMMENT, string_of(writer, *comment));
    write_fields(writer, &writer->other);
}

/* --- all of it --- */

static uint32_t count_comments(const struct pl_pprof *what)
{
    uint32_t count = 0;
    while (what->comment && what->comment[count])
        count++;
    return count;
}

static void make_room(struct writer *writer)
{
    const struct pl_digest *digest = writer->digest;
    struct pl_arena *arena = writer->arena = pl_arena_new();
    uint32_t strings = digest->texts + OWN_STRINGS + count_comments(writer->what);
    writer->texts = pl_index_new(arena, strings);
    writer->text = pl_arena_alloc(arena, strings * sizeof *writer->text);
    writer->mapping_of = pl_arena_alloc(arena, digest->mappings * sizeof(uint32_t));
    writer->function_of = pl_arena_alloc(arena, digest->functions * sizeof(uint32_t));
    writer->location_of = pl_arena_alloc(arena, digest->locations * sizeof(uint32_t));
}

static void clear(struct writer *writer)
{
    pl_proto_free(&writer->string);
    pl_proto_free(&writer->mapping);
    pl_proto_free(&writer->function);
    pl_proto_free(&writer->location);
    pl_proto_free(&writer->sample);
    pl_proto_free(&writer->other);
    pl_arena_free(writer->arena);
}

void pl_pprof_write(const struct pl_pprof *what, FILE *out)
{
    struct writer writer = {.what = what, .digest = what->view.digest};
    writer.gzip = pl_gzip_open(out);
    make_room(&writer);
    string_of(&writer, ""); /* number 0 */
    write_whole(&writer);
    if (writer.digest->mappings)
        mapping_of(&writer, 0); /* readers expect the program there */
    write_rows(&writer);
    fclose(writer.gzip);
    clear(&writer);
}

/* --- the export --- */

#define COMMENTS_MAX 5

/* Texts for people who read the file. */
struct comments {
    char *text[COMMENTS_MAX + 1];
    uint32_t count;
};

static void add_comment(struct comments *comments, const char *label, const char *text)
{
    char *comment;
    int bytes = asprintf(&comment, "%s: %s", label, text);
    comments->text[comments->count++] = pl_grow_check(bytes < 0 ? NULL : comment, 1, 1);
}

static void add_command(struct comments *comments, const struct pl_profile *profile)
{
    char *command = NULL;
    size_t bytes = 0;
    FILE *words = pl_grow_check(open_memstream(&command, &bytes), 1, 1);
    for (const char **word = profile->argv; *word; word++)
        fprintf(words, "%s%s", word == profile->argv ? "" : " ", *word);
    if (fclose(words) == 0)
        add_comment(comments, "command", command);
    free(command);
}

static void add_comments(struct comments *comments, const struct pl_profile *profile, const char *selection)
{
    char method[256];
    pl_describe_method(profile, method, sizeof method);
    add_command(comments, profile);
    add_comment(comments, "exporter", "plimsoll " PL_EXPORT_VERSION);
    add_comment(comments, "figures", method);
    if (selection)
        add_comment(comments, "selection", selection);
    if (profile->merged)
        add_comment(comments, "peak", "the sum of the peaks of several profiles");
}

void pl_export_pprof(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_digest *digest = pl_digest_new(profile, options->flat, false);
    struct comments comments = {.count = 0};
    add_comments(&comments, profile, options->selection);
    struct pl_pprof pprof = {.view = pl_digest_whole(digest, profile, options->figures, options->metric),
                             .comment = (const char *const *) comments.text,
                             .block_sizes = true};
    pl_pprof_write(&pprof, out);
    while (comments.count)
        free(comments.text[--comments.count]);
    pl_digest_free(digest);
}
