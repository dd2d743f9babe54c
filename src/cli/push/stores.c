/* SPDX-License-Identifier: MIT */
/*
 * stores.c - requests as the stores take them.
 *
 * Pyroscope and Parca take pprof profiles in JSON, base64-encoded, each with labels. They are called `memory`, as those
 * of Go, with the same types, so that people find them under the names that they know. `__delta__` tells Pyroscope not
 * to subtract the last profile from an allocation profile: ours have only what is new. Names of labels have underscores
 * for dots.
 */
#include "cli/push/stores.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"
#include "export/json.h"
#include "export/pprof.h"
#include "page/base64.h"

#define SAMPLES_MOST 16000u /* that Pyroscope takes in a profile */

static void write_otlp(const struct pl_parcel *parcel, uint32_t parcels, bool no_names, FILE *out)
{
    struct pl_otlp_resource *resource = pl_say_memory(calloc(parcels + 1u, sizeof *resource));
    for (uint32_t i = 0; i < parcels; i++)
        resource[i] = (struct pl_otlp_resource){parcel[i].who, NULL, parcel[i].view, parcel[i].views};
    pl_otlp_write(resource, parcels, no_names, out);
    free(resource);
}

/* --- labels --- */

static void write_label(struct pl_json *json, const char *name, const char *value)
{
    char *clean = pl_say_print("%s", name);
    for (char *at = clean; *at; at++)
        *at = isalnum((unsigned char) *at) ? *at : '_';
    pl_json_separate(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "name", clean);
    pl_json_add_text(json, "value", value);
    pl_json_end(json, '}');
    free(clean);
}

static void write_labels(struct pl_json *json, const struct pl_parcel *parcel, bool delta)
{
    pl_json_begin(json, '[');
    write_label(json, "__name__", "memory");
    if (delta)
        write_label(json, "__delta__", "false");
    for (const struct pl_otlp_attribute *each = parcel->who; each->key; each++)
        write_label(json, each->key, each->value);
    pl_json_end(json, ']');
}

/* --- profiles --- */

static void write_profile(const struct pl_digest_view *view, bool no_names, FILE *out)
{
    struct pl_digest_row *row = pl_say_memory(calloc(view->rows + 1ull, sizeof *row));
    struct pl_pprof pprof = {.view = *view, .relative = true, .no_names = no_names};
    memcpy(row, view->row, view->rows * sizeof *row);
    pprof.view.row = row;
    pprof.view.rows = pl_digest_trim(view->digest, row, view->rows, SAMPLES_MOST, view->metric);
    FILE *encoded = pl_base64_open(out);
    pl_pprof_write(&pprof, encoded);
    fclose(encoded);
    free(row);
}

static void write_sample(struct pl_json *json, const struct pl_digest_view *view, bool no_names)
{
    pl_json_key(json, "samples");
    pl_json_begin(json, '[');
    pl_json_separate(json);
    pl_json_begin(json, '{');
    pl_json_key(json, "rawProfile");
    fputc('"', json->out);
    write_profile(view, no_names, json->out);
    fputc('"', json->out);
    json->comma = true;
    pl_json_end(json, '}');
    pl_json_end(json, ']');
}

static void write_series(struct pl_json *json, const struct pl_parcel *parcel, const struct pl_digest_view *view,
                         bool no_names, bool parca)
{
    pl_json_separate(json);
    pl_json_begin(json, '{');
    pl_json_key(json, "labels");
    if (parca) {
        pl_json_begin(json, '{');
        pl_json_key(json, "labels");
    }
    write_labels(json, parcel, !parca);
    if (parca)
        pl_json_end(json, '}');
    write_sample(json, view, no_names);
    pl_json_end(json, '}');
}

static void write_all(const struct pl_parcel *parcel, uint32_t parcels, bool no_names, bool parca, FILE *out)
{
    struct pl_json json = {.out = out};
    pl_json_begin(&json, '{');
    if (parca)
        pl_json_add_bool(&json, "normalized", true); /* addresses are those in the binaries */
    pl_json_key(&json, "series");
    pl_json_begin(&json, '[');
    for (uint32_t i = 0; i < parcels; i++)
        for (uint32_t v = 0; v < parcel[i].views; v++)
            write_series(&json, &parcel[i], &parcel[i].view[v], no_names, parca);
    pl_json_end(&json, ']');
    pl_json_end(&json, '}');
}

static void write_pyroscope(const struct pl_parcel *parcel, uint32_t parcels, bool no_names, FILE *out)
{
    write_all(parcel, parcels, no_names, false, out);
}

static void write_parca(const struct pl_parcel *parcel, uint32_t parcels, bool no_names, FILE *out)
{
    write_all(parcel, parcels, no_names, true, out);
}

static const struct pl_store stores[] = {
    {"otlp", "/v1development/profiles", "application/x-protobuf", "application/", true, write_otlp},
    {"pyroscope", "/push.v1.PusherService/Push", "application/json", "application/json", false, write_pyroscope},
    {"parca", "/api/profiles/writeraw", "application/json", "application/json", false, write_parca},
};

const struct pl_store *pl_store_find(const char *protocol, size_t letters)
{
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
        if (strlen(stores[i].protocol) == letters && !strncmp(stores[i].protocol, protocol, letters))
            return &stores[i];
    return NULL;
}
