/* SPDX-License-Identifier: MIT */
/*
 * otlp.c - digests as OpenTelemetry profiles.
 *
 * All processes of a request share one dictionary: what is equal in them is written once. Every table of the dictionary
 * begins with an entry of zeros, which stands for "none", so our numbers are one higher there. The link with zeros is
 * an empty message: one of 16 and 8 zero bytes is refused by some servers as an invalid identity.
 *
 * Addresses are those in the binaries, not those in the processes: the same in all of them, and what a server needs to
 * find names by build-id.
 */
#include "export/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/traits.h"
#include "export/export.h"
#include "export/proto.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"

/* Fields of the messages. */
enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLES, PROFILE_TIME, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD };
enum { PROFILE_ID = 7, PROFILE_ATTRIBUTES = 11 };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES };
enum { TABLE_MAPPING = 1, TABLE_LOCATION, TABLE_FUNCTION, TABLE_LINK, TABLE_STRING, TABLE_ATTRIBUTE, TABLE_STACK };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_ATTRIBUTES };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };
enum { STACK_LOCATIONS = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE, ANY_VALUE_TEXT = 1 };

#define ID_BYTES 16
#define OWN_STRINGS 64

/* Keys of attributes in the dictionary. */
#define KEY_BUILD_ID "process.executable.build_id.gnu"
#define KEY_THREAD "thread.name"
#define KEY_TAG "plimsoll.tag"

struct writer {
    const struct pl_digest *digest; /* all views, joined */
    struct pl_arena *arena;
    struct pl_index texts, pairs;
    const char **text; /* the string table */
    uint32_t strings;
    struct pair {
        uint32_t key, value; /* strings */
    } * pair;                /* the attribute table, without its zero entry */
    uint32_t pair_count;
    uint32_t *stack_at; /* by position in `stacked`: number in the stack table; 0: not there yet */
    uint32_t stacks;
    struct pl_proto message, table;
};

/* --- strings and attributes --- */

struct wanted {
    const struct writer *writer;
    const void *what;
};

static bool is_text(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return !strcmp(wanted->writer->text[number], wanted->what);
}

static uint32_t string_of(struct writer *writer, const char *text)
{
    struct wanted wanted = {writer, text};
    uint32_t *slot = pl_index_find(&writer->texts, pl_index_text(1, text), 0, is_text, &wanted);
    if (!*slot) {
        writer->text[writer->strings++] = text;
        *slot = writer->strings;
    }
    return *slot - 1;
}

static bool is_pair(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    return !memcmp(wanted->what, &wanted->writer->pair[number], sizeof(struct pair));
}

/* The number of an attribute in the dictionary. */
static uint32_t attribute_of(struct writer *writer, const char *key, const char *value)
{
    struct pair pair = {string_of(writer, key), string_of(writer, value)};
    struct wanted wanted = {writer, &pair};
    uint32_t *slot = pl_index_find(&writer->pairs, pair.key, pair.value, is_pair, &wanted);
    if (!*slot) {
        writer->pair[writer->pair_count++] = pair;
        *slot = writer->pair_count;
    }
    return *slot;
}

static void add_value(struct pl_proto *message, const char *text)
{
    size_t begun = pl_proto_begin(message, KEY_VALUE_VALUE);
    pl_proto_text(message, ANY_VALUE_TEXT, text);
    pl_proto_end(message, begun);
}

/* --- the dictionary --- */

static void write_entry(struct writer *writer, size_t begun)
{
    pl_proto_end(&writer->table, begun);
}

static void write_nothing(struct writer *writer, unsigned table)
{
    write_entry(writer, pl_proto_begin(&writer->table, table));
}

static void write_mappings(struct writer *writer)
{
    write_nothing(writer, TABLE_MAPPING);
    for (uint32_t i = 0; i < writer->digest->mappings; i++) {
        const struct pl_digest_mapping *mapping = &writer->digest->mapping[i];
        const char *build_id = writer->digest->text[mapping->build_id];
        size_t begun = pl_proto_begin(&writer->table, TABLE_MAPPING);
        pl_proto_number(&writer->table, MAPPING_START, (int64_t) (mapping->start - mapping->bias));
        pl_proto_number(&writer->table, MAPPING_LIMIT, (int64_t) (mapping->end - mapping->bias));
        pl_proto_number(&writer->table, MAPPING_FILE, string_of(writer, writer->digest->text[mapping->path]));
        if (*build_id) {
            size_t array = pl_proto_begin(&writer->table, MAPPING_ATTRIBUTES);
            pl_proto_element(&writer->table, attribute_of(writer, KEY_BUILD_ID, build_id));
            pl_proto_end(&writer->table, array);
        }
        write_entry(writer, begun);
    }
}

static void add_line(struct writer *writer, const struct pl_digest_line *line)
{
    size_t begun = pl_proto_begin(&writer->table, LOCATION_LINES);
    pl_proto_number(&writer->table, LINE_FUNCTION, line->function + 1);
    pl_proto_number(&writer->table, LINE_NUMBER, line->line);
    pl_proto_end(&writer->table, begun);
}

static void write_locations(struct writer *writer)
{
    write_nothing(writer, TABLE_LOCATION);
    for (uint32_t i = 0; i < writer->digest->locations; i++) {
        const struct pl_digest_location *location = &writer->digest->location[i];
        size_t begun = pl_proto_begin(&writer->table, TABLE_LOCATION);
        pl_proto_number(&writer->table, LOCATION_MAPPING,
                        location->mapping == PL_FLAT_NONE ? 0 : location->mapping + 1);
        if (location->address != PL_DIGEST_NOWHERE)
            pl_proto_number(&writer->table, LOCATION_ADDRESS, (int64_t) location->address);
        for (uint32_t k = 0; k < location->lines; k++)
            add_line(writer, &writer->digest->line[location->line + k]);
        write_entry(writer, begun);
    }
}

static void write_functions(struct writer *writer)
{
    write_nothing(writer, TABLE_FUNCTION);
    for (uint32_t i = 0; i < writer->digest->functions; i++) {
        const struct pl_digest_function *function = &writer->digest->function[i];
        size_t begun = pl_proto_begin(&writer->table, TABLE_FUNCTION);
        pl_proto_number(&writer->table, FUNCTION_NAME, string_of(writer, writer->digest->text[function->name]));
        pl_proto_number(&writer->table, FUNCTION_SYSTEM_NAME,
                        string_of(writer, writer->digest->text[function->symbol]));
        pl_proto_number(&writer->table, FUNCTION_FILE, string_of(writer, writer->digest->text[function->file]));
        write_entry(writer, begun);
    }
}

static void write_attributes(struct writer *writer)
{
    write_nothing(writer, TABLE_ATTRIBUTE);
    for (uint32_t i = 0; i < writer->pair_count; i++) {
        size_t begun = pl_proto_begin(&writer->table, TABLE_ATTRIBUTE);
        pl_proto_number(&writer->table, KEY_VALUE_KEY, writer->pair[i].key);
        add_value(&writer->table, writer->text[writer->pair[i].value]);
        write_entry(writer, begun);
    }
}

static void write_strings(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->strings; i++)
        pl_proto_text(&writer->table, TABLE_STRING, writer->text[i]);
}

/* Stacks have been written already, as samples needed them. Strings come last: the others need them. */
static void write_dictionary(struct writer *writer)
{
    write_mappings(writer);
    write_locations(writer);
    write_functions(writer);
    write_nothing(writer, TABLE_LINK);
    write_attributes(writer);
    write_strings(writer);
    pl_proto_bytes(&writer->message, REQUEST_DICTIONARY, writer->table.data, writer->table.bytes);
}

/* --- profiles --- */

static uint32_t stack_of(struct writer *writer, const struct pl_digest_row *row)
{
    if (writer->stack_at[row->stack])
        return writer->stack_at[row->stack];
    size_t begun = pl_proto_begin(&writer->table, TABLE_STACK);
    size_t array = pl_proto_begin(&writer->table, STACK_LOCATIONS);
    for (uint32_t i = 0; i < row->depth; i++)
        pl_proto_element(&writer->table, writer->digest->stacked[row->stack + i] + 1);
    pl_proto_end(&writer->table, array);
    write_entry(writer, begun);
    return writer->stack_at[row->stack] = ++writer->stacks;
}

static void add_type(struct writer *writer, unsigned field, const char *type, const char *unit)
{
    size_t begun = pl_proto_begin(&writer->message, field);
    pl_proto_number(&writer->message, VALUE_TYPE, string_of(writer, type));
    pl_proto_number(&writer->message, VALUE_UNIT, string_of(writer, unit));
    pl_proto_end(&writer->message, begun);
}

static void add_row_attributes(struct writer *writer, const struct pl_digest_row *row)
{
    if (!row->tag && !row->thread)
        return;
    size_t array = pl_proto_begin(&writer->message, SAMPLE_ATTRIBUTES);
    if (row->tag)
        pl_proto_element(&writer->message, attribute_of(writer, KEY_TAG, writer->digest->text[row->tag]));
    if (row->thread)
        pl_proto_element(&writer->message, attribute_of(writer, KEY_THREAD, writer->digest->text[row->thread]));
    pl_proto_end(&writer->message, array);
}

static void add_sample(struct writer *writer, const struct pl_digest_row *row, int64_t value)
{
    size_t begun = pl_proto_begin(&writer->message, PROFILE_SAMPLES);
    pl_proto_number(&writer->message, SAMPLE_STACK, stack_of(writer, row));
    add_row_attributes(writer, row);
    size_t array = pl_proto_begin(&writer->message, SAMPLE_VALUES);
    pl_proto_element(&writer->message, value);
    pl_proto_end(&writer->message, array);
    pl_proto_end(&writer->message, begun);
}

static void add_extra(struct writer *writer, const struct pl_otlp_attribute *extra)
{
    if (!extra || !extra->key)
        return;
    size_t array = pl_proto_begin(&writer->message, PROFILE_ATTRIBUTES);
    for (; extra->key; extra++)
        pl_proto_element(&writer->message, attribute_of(writer, extra->key, extra->value));
    pl_proto_end(&writer->message, array);
}

/* The same for the same profile: a request that is sent again has the same identities. */
static void add_id(struct writer *writer, const struct pl_otlp_resource *resource, const struct pl_digest_view *view,
                   int metric)
{
    uint64_t id[ID_BYTES / sizeof(uint64_t)] = {pl_index_mix(view->time_ns, view->duration_ns), 1u + (unsigned) metric};
    for (const struct pl_otlp_attribute *each = resource->attribute; each->key; each++)
        id[0] = pl_index_text(pl_index_text(id[0], each->key), each->value);
    id[1] = pl_index_mix(id[0], id[1]);
    pl_proto_bytes(&writer->message, PROFILE_ID, id, sizeof id);
}

/* Samples of one view; its rows in the joined digest are those from `first` to `last` - 1. */
struct span {
    const struct pl_digest_view *view;
    uint32_t first, last;
};

static void add_profile(struct writer *writer, const struct pl_otlp_resource *resource, const struct span *span,
                        int metric)
{
    size_t begun = pl_proto_begin(&writer->message, SCOPE_PROFILES_PROFILES);
    add_type(writer, PROFILE_SAMPLE_TYPE, pl_metric_info[metric].key, pl_digest_unit(metric));
    for (uint32_t i = span->first; i < span->last; i++)
        if (writer->digest->row[i].value[metric])
            add_sample(writer, &writer->digest->row[i], writer->digest->row[i].value[metric]);
    pl_proto_fixed(&writer->message, PROFILE_TIME, span->view->time_ns);
    pl_proto_number(&writer->message, PROFILE_DURATION, (int64_t) span->view->duration_ns);
    add_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
    pl_proto_number(&writer->message, PROFILE_PERIOD, span->view->digest->period);
    add_id(writer, resource, span->view, metric);
    add_extra(writer, resource->extra);
    pl_proto_end(&writer->message, begun);
}

static void add_scope(struct writer *writer)
{
    size_t begun = pl_proto_begin(&writer->message, SCOPE_PROFILES_SCOPE);
    pl_proto_text(&writer->message, SCOPE_NAME, "plimsoll");
    pl_proto_text(&writer->message, SCOPE_VERSION, PL_EXPORT_VERSION);
    pl_proto_end(&writer->message, begun);
}

static void add_resource_attributes(struct writer *writer, const struct pl_otlp_attribute *attribute)
{
    size_t begun = pl_proto_begin(&writer->message, RESOURCE_PROFILES_RESOURCE);
    for (; attribute->key; attribute++) {
        size_t pair = pl_proto_begin(&writer->message, RESOURCE_ATTRIBUTES);
        pl_proto_text(&writer->message, KEY_VALUE_KEY, attribute->key);
        add_value(&writer->message, attribute->value);
        pl_proto_end(&writer->message, pair);
    }
    pl_proto_end(&writer->message, begun);
}

/* `first` is that of pl_digest_join(), from the resource's first view on. */
static void add_resource(struct writer *writer, const struct pl_otlp_resource *resource, const uint32_t *first)
{
    size_t begun = pl_proto_begin(&writer->message, REQUEST_RESOURCE_PROFILES);
    add_resource_attributes(writer, resource->attribute);
    size_t scope = pl_proto_begin(&writer->message, RESOURCE_PROFILES_SCOPE_PROFILES);
    add_scope(writer);
    for (uint32_t i = 0; i < resource->views; i++) {
        const struct span span = {&resource->view[i], first[i], first[i + 1]};
        for (int m = 0; m < PL_METRIC_COUNT; m++)
            if (span.view->metrics >> m & 1)
                add_profile(writer, resource, &span, m);
    }
    pl_proto_end(&writer->message, scope);
    pl_proto_end(&writer->message, begun);
}

/* --- all of it --- */

static uint32_t count_views(const struct pl_otlp_resource *resource, uint32_t resources)
{
    uint32_t views = 0;
    for (uint32_t i = 0; i < resources; i++)
        views += resource[i].views;
    return views;
}

static uint32_t count_extra(const struct pl_otlp_resource *resource, uint32_t resources)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < resources; i++)
        for (const struct pl_otlp_attribute *extra = resource[i].extra; extra && extra->key; extra++)
            count++;
    return count;
}

static struct pl_digest *join(const struct pl_otlp_resource *resource, uint32_t resources, bool no_names,
                              uint32_t *first)
{
    uint32_t views = 0;
    struct pl_digest_view *view = pl_grow_zeroed(count_views(resource, resources) + 1ull, sizeof *view);
    for (uint32_t i = 0; i < resources; i++)
        for (uint32_t k = 0; k < resource[i].views; k++)
            view[views++] = resource[i].view[k];
    struct pl_digest *digest = pl_digest_join(view, views, no_names ? PL_DIGEST_NO_NAMES : 0, first);
    free(view);
    return digest;
}

static void make_room(struct writer *writer, uint32_t extra)
{
    const struct pl_digest *digest = writer->digest;
    struct pl_arena *arena = writer->arena = pl_arena_new();
    uint32_t strings = digest->texts + OWN_STRINGS + 2 * extra, pairs = 2 * digest->texts + digest->mappings + extra;
    writer->texts = pl_index_new(arena, strings);
    writer->pairs = pl_index_new(arena, pairs);
    writer->text = pl_arena_alloc(arena, strings * sizeof *writer->text);
    writer->pair = pl_arena_alloc(arena, (pairs + 1ull) * sizeof *writer->pair);
    writer->stack_at = pl_arena_alloc(arena, (digest->depths + 1ull) * sizeof *writer->stack_at);
}

void pl_otlp_write(const struct pl_otlp_resource *resource, uint32_t resources, bool no_names, FILE *out)
{
    uint32_t views = count_views(resource, resources);
    uint32_t *first = pl_grow_zeroed(views + 1ull, sizeof *first), at = 0;
    struct pl_digest *digest = join(resource, resources, no_names, first);
    struct writer writer = {.digest = digest};
    make_room(&writer, count_extra(resource, resources));
    string_of(&writer, ""); /* number 0 */
    write_nothing(&writer, TABLE_STACK);
    for (uint32_t i = 0; i < resources; at += resource[i++].views)
        add_resource(&writer, &resource[i], first + at);
    write_dictionary(&writer);
    fwrite(writer.message.data, 1, writer.message.bytes, out);
    pl_proto_free(&writer.message);
    pl_proto_free(&writer.table);
    pl_arena_free(writer.arena);
    pl_digest_free(digest);
    free(first);
}

/* --- the export --- */

void pl_export_otlp(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%u", profile->header.pid);
    const struct pl_otlp_attribute attribute[] = {
        {"service.name", *pl_traits_program(profile) ? pl_traits_program(profile) : profile->comm},
        {"process.pid", pid},
        {"process.executable.path", profile->executable},
        {NULL, NULL},
    };
    struct pl_digest *digest = pl_digest_new(profile, options->flat, false);
    struct pl_digest_view view[2];
    uint32_t views = 0;
    if (options->figures != PL_FIGURES_ALLOCATED)
        view[views++] = pl_digest_whole(digest, profile, PL_FIGURES_LIVE, options->metric);
    if (options->figures != PL_FIGURES_LIVE)
        view[views++] = pl_digest_whole(digest, profile, PL_FIGURES_ALLOCATED, options->metric);
    pl_otlp_write(&(struct pl_otlp_resource){attribute, NULL, view, views}, 1, false, out);
    pl_digest_free(digest);
}
