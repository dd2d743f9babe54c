/* SPDX-License-Identifier: MIT */
/*
 * dhat.c - for valgrind's dh_view.html and the Firefox Profiler: DHAT's JSON, version 2. A stack is a "program point".
 *
 * DHAT knows two things of each block that a profile has only sums of. Lifetimes are in histograms: their total is
 * computed from the middles of the buckets, and from the ages of live blocks. The most that a stack ever held is known
 * only at a few times: the peak of the whole, the end, and the heap compositions; the largest of these is taken.
 * docs/exports.md says both. DHAT also counts reads and writes; these are not known here, and the file says so.
 *
 * The viewer refuses files in which a stack occurs twice. The stacks of a flat are all different.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "export/export.h"
#include "export/json.h"
#include "export/wording.h"
#include "reader/base/grow.h"
#include "reader/site.h"

#define US_PER_S 1e6
#define SHORT_LIVED_US 10 /* blocks that live no longer on average are worth a look */

/* Figures of a row besides its values. */
struct extra {
    double lifetimes_us;
    double most_bytes, most_blocks;
};

/* --- lifetimes --- */

static double age_of(const struct pl_profile *profile, unsigned class)
{
    double from = class ? profile->age[class - 1] : 0, to = fmin(profile->age[class], profile->duration_s);
    return fmax(profile->duration_s - (from + to) / 2, 0);
}

static double lifetimes_s(const struct pl_profile *profile, const struct pl_spread *spread)
{
    double sum = 0;
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        sum += spread->lives[i] * pl_life_bucket_middle(i) * profile->unit_s;
    for (unsigned i = 0; i < PL_COHORTS; i++)
        sum += spread->ages[i] * age_of(profile, i);
    return sum;
}

/* --- the most that a stack held --- */

static void see(struct extra *extra, double bytes, double blocks)
{
    if (bytes > extra->most_bytes || (bytes == extra->most_bytes && blocks > extra->most_blocks)) {
        extra->most_bytes = bytes;
        extra->most_blocks = blocks;
    }
}

static void see_snapshot(const struct pl_flat *flat, const struct pl_composition_view *composition, struct extra *extra)
{
    struct extra *sum = pl_grow_zeroed(flat->rows + 1ull, sizeof *sum);
    for (uint32_t i = 0; i < composition->shares; i++) {
        uint32_t row = flat->row_of_site[composition->share[i].site];
        if (row == PL_FLAT_NONE)
            continue;
        sum[row].most_bytes += composition->share[i].bytes;
        sum[row].most_blocks += composition->share[i].objects;
    }
    for (uint32_t i = 0; i < flat->rows; i++)
        see(&extra[i], sum[i].most_bytes, sum[i].most_blocks);
    free(sum);
}

static struct extra *find_extras(const struct pl_profile *profile, const struct pl_flat *flat)
{
    struct extra *extra = pl_grow_zeroed(flat->rows + 1ull, sizeof *extra);
    for (uint32_t i = profile->base_sites; i < profile->sites; i++) {
        struct pl_spread spread = pl_site_spread(&profile->site[i]);
        if (flat->row_of_site[i] != PL_FLAT_NONE)
            extra[flat->row_of_site[i]].lifetimes_us += US_PER_S * lifetimes_s(profile, &spread);
    }
    for (uint32_t i = 0; i < flat->rows; i++) {
        const int64_t *value = flat->row[i].value;
        see(&extra[i], (double) value[PL_METRIC_PEAK_SPACE], (double) value[PL_METRIC_PEAK_OBJECTS]);
        see(&extra[i], (double) value[PL_METRIC_INUSE_SPACE], (double) value[PL_METRIC_INUSE_OBJECTS]);
    }
    for (uint32_t i = 0; i < profile->compositions && !profile->difference; i++)
        see_snapshot(flat, &profile->composition[i], extra);
    return extra;
}

/* --- writing --- */

static uint64_t whole(double number)
{
    return number > 0 ? (uint64_t) llround(number) : 0;
}

static void put_head(struct pl_json *json, const struct pl_profile *profile)
{
    char *command = pl_wording_command(profile);
    double end_us = fmax(profile->duration_s * US_PER_S, 1);
    pl_json_add_whole(json, "dhatFileVersion", 2);
    pl_json_add_text(json, "mode", "heap");
    pl_json_add_text(json, "verb", "Allocated");
    pl_json_add_bool(json, "bklt", true);
    pl_json_add_bool(json, "bkacc", false);
    pl_json_line(json);
    pl_json_add_text(json, "tu", "µs");
    pl_json_add_text(json, "Mtu", "s");
    pl_json_add_whole(json, "tuth", SHORT_LIVED_US);
    pl_json_line(json);
    pl_json_add_text(json, "cmd", command);
    pl_json_add_whole(json, "pid", profile->header.pid);
    pl_json_add_whole(json, "te", whole(end_us));
    pl_json_add_whole(json, "tg", whole(fmin(profile->peak_s * US_PER_S, end_us)));
    pl_json_line(json);
    free(command);
}

/* Frame 0 is the root, so line i is frame i + 1. */
static void put_frames(struct pl_json *json, const uint32_t *line, uint32_t lines)
{
    pl_json_key(json, "fs");
    pl_json_begin(json, '[');
    for (uint32_t i = lines; i-- > 0;) {
        pl_json_separate(json);
        fprintf(json->out, "%" PRIu32, line[i] + 1);
    }
    pl_json_end(json, ']');
}

static void put_values(struct pl_json *json, const struct pl_profile *profile, const struct pl_flat_row *row,
                       const struct extra *extra)
{
    static const struct {
        const char *key;
        enum pl_metric metric;
    } direct[] = {
        {"tb", PL_METRIC_ALLOC_SPACE},   {"tbk", PL_METRIC_ALLOC_OBJECTS}, {"gb", PL_METRIC_PEAK_SPACE},
        {"gbk", PL_METRIC_PEAK_OBJECTS}, {"eb", PL_METRIC_INUSE_SPACE},    {"ebk", PL_METRIC_INUSE_OBJECTS},
    };
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        pl_json_add_whole(json, direct[i].key, (uint64_t) row->value[direct[i].metric]);
    if (profile->unit_s > 0 && !profile->difference)
        pl_json_add_whole(json, "tl", whole(extra->lifetimes_us));
    pl_json_add_whole(json, "mb", whole(extra->most_bytes));
    pl_json_add_whole(json, "mbk", whole(extra->most_blocks));
}

static void put_points(struct pl_json *json, const struct pl_profile *profile, const struct pl_flat *flat)
{
    uint32_t *line = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *line);
    struct extra *extra = find_extras(profile, flat);
    pl_json_key(json, "pps");
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < flat->rows; i++) {
        pl_json_line(json);
        pl_json_begin(json, '{');
        put_values(json, profile, &flat->row[i], &extra[i]);
        put_frames(json, line, pl_flat_stack(flat, flat->row[i].stack, line));
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
    free(extra);
    free(line);
}

static void put_table(struct pl_json *json, const struct pl_flat *flat)
{
    uint64_t *address = pl_wording_addresses(flat);
    pl_json_key(json, "ftbl");
    pl_json_begin(json, '[');
    pl_json_line(json);
    pl_json_separate(json);
    pl_json_text(json, "[root]");
    for (uint32_t i = 0; i < flat->lines; i++) {
        char *text = pl_wording_frame(flat, i, address[i], false);
        pl_json_line(json);
        pl_json_separate(json);
        pl_json_text(json, text);
        free(text);
    }
    pl_json_end(json, ']');
    free(address);
}

void pl_export_dhat(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_json json = {.out = out};
    pl_json_begin(&json, '{');
    put_head(&json, profile);
    put_points(&json, profile, options->flat);
    pl_json_line(&json);
    put_table(&json, options->flat);
    pl_json_end(&json, '}');
    fputc('\n', out);
}
