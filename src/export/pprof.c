/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - a profile for `go tool pprof`: profile.proto, gzipped.
 *
 * A sample is a row of the flat profile: locations, a value for each metric, and labels. Strings, functions, mappings
 * and locations are written when they are first needed, and have numbers from then on; readers accept them in any
 * order. So only these numbers are kept.
 *
 * A frame is one location: its address, and a line for each function that runs there, the innermost first. What is not
 * code, and has no address (tags and threads in front of a stack, "(12 more below 0.5%)"), is a location of one line.
 *
 * In a difference each sample is written twice, as `pprof -diff_base` does it: the values now, and the values before,
 * negative and marked as the base. They add up to the change, and pprof shows percentages of the base.
 */
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

/* The facts known about a mapping's code, in the order of the fields from MAPPING_HAS on. */
enum { HAS_FUNCTIONS = 1, HAS_FILES = 2, HAS_LINES = 4, HAS_INLINED = 8 };
#define HAS_BITS 4

/* Strings that are not the profile's: names of metrics, units, labels, comments. */
#define OWN_STRINGS 64

struct writer {
    const struct pl_profile *profile;
    const struct pl_export_options *options;
    const struct pl_flat *flat;
    FILE *gzip;
    struct pl_arena *arena;
    struct pl_index texts;
    const char **text; /* by number */
    uint32_t strings, mappings, functions, locations;
    uint32_t *mapping_of, *function_of;             /* module, function -> number; 0: not written yet */
    uint32_t *location_of_frame, *location_of_line; /* likewise */
    uint8_t *has;                                   /* by module */
    uint32_t *frame, *line;                         /* of the current stack */
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

/* The number of a text that lives as long as the profile. */
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

/* --- mappings --- */

/* Code that belongs to no file has no mapping. Modules are mapped from the beginning of their files. */
static uint32_t mapping_of(struct writer *writer, uint32_t number)
{
    const struct pl_module_view *module = &writer->profile->module[number];
    struct pl_proto *mapping = &writer->mapping;
    if (writer->mapping_of[number] || !*module->path)
        return writer->mapping_of[number];
    writer->mapping_of[number] = ++writer->mappings;
    size_t begun = pl_proto_begin(mapping, PROFILE_MAPPING);
    pl_proto_number(mapping, MAPPING_ID, writer->mappings);
    pl_proto_number(mapping, MAPPING_START, (int64_t) module->start);
    pl_proto_number(mapping, MAPPING_LIMIT, (int64_t) module->end);
    pl_proto_number(mapping, MAPPING_FILE, string_of(writer, module->path));
    pl_proto_number(mapping, MAPPING_BUILD_ID, string_of(writer, module->build_id));
    for (unsigned i = 0; i < HAS_BITS; i++)
        pl_proto_number(mapping, MAPPING_HAS + i, writer->has[number] >> i & 1);
    write_message(writer, mapping, begun);
    return writer->mappings;
}

/* pprof looks for names itself if a mapping has none at all. */
static void find_what_is_known(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->profile->frames; i++) {
        const struct pl_frame_view *frame = &writer->profile->frame[i];
        for (uint32_t p = 0; p < frame->places; p++)
            writer->has[frame->module] |=
                (uint8_t) ((*frame->place[p].function ? HAS_FUNCTIONS : 0) | (*frame->place[p].file ? HAS_FILES : 0) |
                           (frame->place[p].line ? HAS_LINES | HAS_INLINED : 0));
    }
}

/* The first mapping must be the program: readers rely on that. */
static void write_program(struct writer *writer)
{
    const struct pl_profile *profile = writer->profile;
    for (uint32_t i = 0; i < profile->modules; i++)
        if (!strcmp(profile->module[i].path, profile->executable))
            mapping_of(writer, i);
}

/* --- functions --- */

static bool is_identifier(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$@")] == 0;
}

/* If name and symbol are the same, pprof demangles the name, and cuts off what looks like parameters. So where there is
 * no symbol, none is written. */
static const char *symbol_of(const struct pl_flat_function *function)
{
    bool same = !strcmp(function->linkage, function->name);
    return same && !is_identifier(function->name) ? "" : function->linkage;
}

static uint32_t function_of(struct writer *writer, uint32_t number)
{
    const struct pl_flat_function *function = &writer->flat->function[number];
    struct pl_proto *message = &writer->function;
    if (writer->function_of[number])
        return writer->function_of[number];
    writer->function_of[number] = ++writer->functions;
    size_t begun = pl_proto_begin(message, PROFILE_FUNCTION);
    pl_proto_number(message, FUNCTION_ID, writer->functions);
    pl_proto_number(message, FUNCTION_NAME, string_of(writer, function->name));
    pl_proto_number(message, FUNCTION_SYSTEM_NAME, string_of(writer, symbol_of(function)));
    pl_proto_number(message, FUNCTION_FILE, string_of(writer, function->file)); /* where it begins is not known */
    write_message(writer, message, begun);
    return writer->functions;
}

/* --- locations --- */

static void add_line(struct writer *writer, uint32_t number)
{
    const struct pl_flat_line *line = &writer->flat->line[number];
    struct pl_proto *location = &writer->location;
    size_t begun = pl_proto_begin(location, LOCATION_LINE);
    pl_proto_number(location, LINE_FUNCTION, function_of(writer, line->function));
    pl_proto_number(location, LINE_NUMBER, line->line);
    pl_proto_end(location, begun);
}

/* Where the call is, not where it returns to: a return address may belong to the next line, or the next function. */
static uint64_t address_of(const struct pl_profile *profile, const struct pl_frame_view *frame)
{
    bool returns = !(frame->flags & PL_FRAME_EXACT) && frame->address > 0;
    return profile->module[frame->module].bias + frame->address - returns;
}

static uint32_t location_of_frame(struct writer *writer, uint32_t number)
{
    const struct pl_frame_view *frame = &writer->profile->frame[number];
    struct pl_proto *location = &writer->location;
    const uint32_t *line;
    if (writer->location_of_frame[number])
        return writer->location_of_frame[number];
    writer->location_of_frame[number] = ++writer->locations;
    size_t begun = pl_proto_begin(location, PROFILE_LOCATION);
    pl_proto_number(location, LOCATION_ID, writer->locations);
    if (!(frame->flags & PL_FRAME_GAP)) {
        pl_proto_number(location, LOCATION_MAPPING, mapping_of(writer, frame->module));
        pl_proto_number(location, LOCATION_ADDRESS, (int64_t) address_of(writer->profile, frame));
    }
    uint32_t lines = pl_flat_frame_lines(writer->flat, number, &line);
    for (uint32_t i = 0; i < lines; i++)
        add_line(writer, line[i]);
    write_message(writer, location, begun);
    return writer->locations;
}

static uint32_t location_of_line(struct writer *writer, uint32_t number)
{
    if (writer->location_of_line[number])
        return writer->location_of_line[number];
    writer->location_of_line[number] = ++writer->locations;
    size_t begun = pl_proto_begin(&writer->location, PROFILE_LOCATION);
    pl_proto_number(&writer->location, LOCATION_ID, writer->locations);
    add_line(writer, number);
    write_message(writer, &writer->location, begun);
    return writer->locations;
}

/* --- samples --- */

/* Innermost first: the frames, and then those lines of the stack that no frame accounts for. */
static void add_locations(struct writer *writer, uint32_t stack)
{
    uint32_t frames = pl_flat_frames(writer->flat, stack, writer->frame);
    uint32_t front = pl_flat_stack(writer->flat, stack, writer->line);
    const uint32_t *line;
    size_t begun = pl_proto_begin(&writer->sample, SAMPLE_LOCATION);
    for (uint32_t i = 0; i < frames; i++) {
        pl_proto_element(&writer->sample, location_of_frame(writer, writer->frame[i]));
        front -= pl_flat_frame_lines(writer->flat, writer->frame[i], &line);
    }
    while (front-- > 0)
        pl_proto_element(&writer->sample, location_of_line(writer, writer->line[front]));
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
static void add_block_size(struct writer *writer, const struct pl_flat_row *row)
{
    int64_t blocks = row->value[PL_METRIC_ALLOC_OBJECTS];
    if (writer->profile->difference || blocks <= 0)
        return;
    size_t begun = pl_proto_begin(&writer->sample, SAMPLE_LABEL);
    pl_proto_number(&writer->sample, LABEL_KEY, string_of(writer, "bytes"));
    pl_proto_number(&writer->sample, LABEL_NUMBER, row->value[PL_METRIC_ALLOC_SPACE] / blocks);
    pl_proto_number(&writer->sample, LABEL_UNIT, string_of(writer, "bytes"));
    pl_proto_end(&writer->sample, begun);
}

static void write_sample(struct writer *writer, const struct pl_flat_row *row, const int64_t value[PL_METRIC_COUNT],
                         bool base)
{
    const struct pl_profile *profile = writer->profile;
    size_t begun = pl_proto_begin(&writer->sample, PROFILE_SAMPLE);
    add_locations(writer, row->stack);
    size_t values = pl_proto_begin(&writer->sample, SAMPLE_VALUE);
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        pl_proto_element(&writer->sample, value[m]);
    pl_proto_end(&writer->sample, values);
    add_label(writer, "tag", profile->tag[row->tag].path);
    if (row->thread != PL_FLAT_NONE)
        add_label(writer, "thread", profile->thread[row->thread].name);
    if (base)
        add_label(writer, "pprof::base", "true");
    add_block_size(writer, row);
    write_message(writer, &writer->sample, begun);
}

static bool has_any(const int64_t value[PL_METRIC_COUNT])
{
    for (int m = 0; m < PL_METRIC_COUNT; m++)
        if (value[m])
            return true;
    return false;
}

static void write_row(struct writer *writer, const struct pl_flat_row *row)
{
    int64_t now[PL_METRIC_COUNT], before[PL_METRIC_COUNT];
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        now[m] = row->value[m] + row->base[m];
        before[m] = -row->base[m];
    }
    if (has_any(now))
        write_sample(writer, row, now, false);
    if (has_any(before))
        write_sample(writer, row, before, true);
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
    for (int m = 0; m < PL_METRIC_COUNT; m++) {
        bool bytes = !strcmp(pl_metric_info[m].unit, "bytes");
        add_type(writer, PROFILE_SAMPLE_TYPE, pl_metric_info[m].key, bytes ? "bytes" : "count");
    }
    pl_proto_number(&writer->other, PROFILE_DEFAULT_SAMPLE_TYPE,
                    string_of(writer, pl_metric_info[writer->options->metric].key));
}

/* Bytes from one sample to the next. Only for information: values are scaled already. */
static int64_t period_of(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    uint64_t interval = header->mode == PL_MODE_SAMPLED ? header->interval_bytes : header->automatic.interval_bytes;
    return profile->exact || interval < 1 || interval > INT64_MAX ? 1 : (int64_t) interval;
}

static void add_comment(struct writer *writer, const char *label, const char *text)
{
    char *comment;
    int bytes = asprintf(&comment, "%s: %s", label, text);
    pl_grow_check(bytes < 0 ? NULL : comment, 1, 1);
    pl_proto_number(&writer->other, PROFILE_COMMENT, write_string(writer, comment));
    free(comment);
}

static void add_command(struct writer *writer)
{
    char *command = NULL;
    size_t bytes = 0;
    FILE *words = pl_grow_check(open_memstream(&command, &bytes), 1, 1);
    for (const char **word = writer->profile->argv; *word; word++)
        fprintf(words, "%s%s", word == writer->profile->argv ? "" : " ", *word);
    if (fclose(words) == 0)
        add_comment(writer, "command", command);
    free(command);
}

static void add_comments(struct writer *writer)
{
    char method[256];
    pl_describe_method(writer->profile, method, sizeof method);
    add_command(writer);
    add_comment(writer, "exporter", "plimsoll " PL_EXPORT_VERSION);
    add_comment(writer, "figures", method);
    if (writer->options->selection)
        add_comment(writer, "selection", writer->options->selection);
    if (writer->profile->merged)
        add_comment(writer, "peak", "the sum of the peaks of several profiles");
}

static void write_whole(struct writer *writer)
{
    const struct pl_profile *profile = writer->profile;
    double duration_ns = profile->duration_s * 1e9;
    add_types(writer);
    add_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
    pl_proto_number(&writer->other, PROFILE_PERIOD, period_of(profile));
    pl_proto_number(&writer->other, PROFILE_TIME_NANOS, (int64_t) profile->header.start_realtime_ns);
    pl_proto_number(&writer->other, PROFILE_DURATION_NANOS, duration_ns < 9e18 ? llround(duration_ns) : 0);
    add_comments(writer);
    write_fields(writer, &writer->other);
}

/* --- all of it --- */

static uint32_t *numbers(struct pl_arena *arena, uint32_t count)
{
    return pl_arena_alloc(arena, (count + 1ull) * sizeof(uint32_t));
}

static void make_room(struct writer *writer)
{
    const struct pl_profile *profile = writer->profile;
    const struct pl_flat *flat = writer->flat;
    struct pl_arena *arena = writer->arena = pl_arena_new();
    uint32_t strings = 3 * flat->functions + 2 * profile->modules + profile->tags + profile->threads + OWN_STRINGS;
    writer->texts = pl_index_new(arena, strings);
    writer->text = pl_arena_alloc(arena, strings * sizeof *writer->text);
    writer->mapping_of = numbers(arena, profile->modules);
    writer->has = pl_arena_alloc(arena, profile->modules + 1ull);
    writer->function_of = numbers(arena, flat->functions);
    writer->location_of_frame = numbers(arena, profile->frames);
    writer->location_of_line = numbers(arena, flat->lines);
    writer->frame = numbers(arena, flat->depth_max);
    writer->line = numbers(arena, flat->depth_max);
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

void pl_export_pprof(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct writer writer = {.profile = profile, .options = options, .flat = options->flat};
    writer.gzip = pl_gzip_open(out);
    make_room(&writer);
    string_of(&writer, ""); /* number 0 */
    find_what_is_known(&writer);
    write_whole(&writer);
    write_program(&writer);
    for (uint32_t i = 0; i < writer.flat->rows; i++)
        write_row(&writer, &writer.flat->row[i]);
    fclose(writer.gzip);
    clear(&writer);
}
