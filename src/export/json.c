/* SPDX-License-Identifier: MIT */
/*
 * json.c - everything in a profile as JSON. docs/json.md is the schema; what is added here is added there.
 *
 * A frame of the profile is an address, at which several functions may run, one inlined into the next. JSON has a frame
 * for each of them, so that a reader need not know: frame i of the profile becomes frames first[i] .. first[i+1]-1.
 *
 * Elements of the long arrays have a line each: files can be compared with diff and read with grep.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "export.h"
#include "utf8.h"

#define SCHEMA_VERSION 1

/* Where we are: whether the next member or element needs a comma in front. */
struct json {
    FILE *out;
    const struct pl_profile *profile;
    uint32_t *first;
    bool comma;
};

/* --- the grammar --- */

static void write_escape(FILE *out, uint32_t character)
{
    static const char plain[] = "\"\\/\b\f\n\r\t", letters[] = "\"\\/bfnrt";
    const char *at = character < 0x80 ? memchr(plain, (int) character, sizeof plain - 1) : NULL;
    if (at && *at != '/')
        fprintf(out, "\\%c", letters[at - plain]);
    else
        fprintf(out, "\\u%04" PRIx32, character);
}

/* U+2028 and U+2029 are fine in JSON but end a line in older JavaScript; "<" would end a <script>. */
static bool must_escape(uint32_t character)
{
    return character < 0x20 || character == '"' || character == '\\' || character == 0x7f || character == '<' ||
           character == 0x2028 || character == 0x2029;
}

static void write_text(struct json *json, const char *text)
{
    uint32_t character;
    fputc('"', json->out);
    for (size_t step; *text; text += step) {
        step = pl_utf8_decode(text, &character);
        if (character == PL_UTF8_BAD)
            fputs("\\ufffd", json->out);
        else if (must_escape(character))
            write_escape(json->out, character);
        else
            fwrite(text, 1, step, json->out);
    }
    fputc('"', json->out);
}

static void separate(struct json *json)
{
    if (json->comma)
        fputs(", ", json->out);
    json->comma = true;
}

static void begin(struct json *json, char bracket)
{
    fputc(bracket, json->out);
    json->comma = false;
}

static void end(struct json *json, char bracket)
{
    fputc(bracket, json->out);
    json->comma = true;
}

static void key(struct json *json, const char *name)
{
    separate(json);
    write_text(json, name);
    fputs(": ", json->out);
}

/* A member of the outermost object begins a line, and so does an element of a long array. */
static void new_line(struct json *json)
{
    fputs(json->comma ? ",\n" : "\n", json->out);
    json->comma = false;
}

static void member_text(struct json *json, const char *name, const char *text)
{
    key(json, name);
    write_text(json, text);
}

static void member_whole(struct json *json, const char *name, uint64_t number)
{
    key(json, name);
    fprintf(json->out, "%" PRIu64, number);
}

static void member_bool(struct json *json, const char *name, bool truth)
{
    key(json, name);
    fputs(truth ? "true" : "false", json->out);
}

/* Damaged profiles may hold what JSON cannot. */
static void write_real(struct json *json, double number)
{
    if (isfinite(number))
        fprintf(json->out, "%.15g", number);
    else
        fputs("null", json->out);
}

static void member_real(struct json *json, const char *name, double number)
{
    key(json, name);
    write_real(json, number);
}

/* 0 stands for "not known", or "never". */
static void member_known(struct json *json, const char *name, double number)
{
    member_real(json, name, number > 0 ? number : NAN);
}

/* Histograms end early, as nearly all of most of them is empty: what is not there is 0. */
static void member_histogram(struct json *json, const char *name, const double *count, unsigned counts)
{
    key(json, name);
    begin(json, '[');
    while (counts > 0 && count[counts - 1] == 0)
        counts--;
    for (unsigned i = 0; i < counts; i++) {
        separate(json);
        write_real(json, count[i]);
    }
    end(json, ']');
}

static void member_hex(struct json *json, const char *name, uint64_t number)
{
    key(json, name);
    fprintf(json->out, "\"0x%" PRIx64 "\"", number);
}

/* --- figures --- */

static void member_estimate(struct json *json, const char *name, const struct pl_estimate *estimate)
{
    key(json, name);
    begin(json, '{');
    member_real(json, "value", estimate->value);
    member_real(json, "error", estimate->error);
    member_real(json, "low", estimate->low);
    member_real(json, "high", estimate->high);
    end(json, '}');
}

static void member_metrics(struct json *json, const struct pl_estimate metric[PL_METRIC_COUNT])
{
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        member_estimate(json, pl_metric_info[i].key, &metric[i]);
}

static void member_spread(struct json *json, const struct pl_spread *spread)
{
    bool sized = spread->largest > 0 || spread->sizes[0] > 0;
    member_real(json, "smallest", sized ? (double) spread->smallest : NAN);
    member_real(json, "largest", sized ? (double) spread->largest : NAN);
    member_histogram(json, "sizes", spread->sizes, PL_SIZE_BUCKETS);
    member_histogram(json, "lifetimes", spread->lives, PL_LIFE_BUCKETS);
    member_histogram(json, "ages", spread->ages, PL_COHORTS);
    key(json, "reallocs");
    begin(json, '{');
    member_real(json, "calls", spread->realloc_calls);
    member_real(json, "in_place", spread->realloc_in_place);
    member_real(json, "moved_bytes", spread->realloc_moved);
    end(json, '}');
    key(json, "freed_at_exit");
    begin(json, '{');
    member_real(json, "blocks", spread->exit_objects);
    member_real(json, "bytes", spread->exit_space);
    end(json, '}');
}

static void member_functions(struct json *json, const char *name, const uint64_t calls[PL_FN_MAX])
{
    key(json, name);
    begin(json, '{');
    for (int i = 0; i < PL_FN_COUNT; i++)
        member_whole(json, pl_function_name[i], calls[i]);
    end(json, '}');
}

static uint64_t sum_calls(const uint64_t calls[PL_FN_MAX])
{
    uint64_t sum = 0;
    for (int i = 0; i < PL_FN_COUNT; i++)
        sum += calls[i];
    return sum;
}

/* --- the parts --- */

static void write_start(struct json *json)
{
    uint64_t ns = json->profile->header.start_realtime_ns;
    time_t seconds = (time_t) (ns / 1000000000u);
    char text[64] = "";
    struct tm parts;
    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof text - 8, "%Y-%m-%dT%H:%M:%S", &parts))
        sprintf(text + strlen(text), ".%03uZ", (unsigned) (ns / 1000000u % 1000u));
    member_text(json, "start", text);
    member_whole(json, "start_unix_ns", ns);
}

static void write_ending(struct json *json)
{
    const struct pl_header *header = &json->profile->header;
    char text[256];
    int status = (int) header->wait_status;
    bool waited = header->flags & PL_FLAG_WAITED;
    pl_profile_ending(json->profile, text, sizeof text);
    member_bool(json, "running", json->profile->running);
    member_text(json, "ended", text);
    if (waited && WIFSIGNALED(status))
        member_whole(json, "signal", (uint64_t) WTERMSIG(status));
    else if (waited && WIFEXITED(status))
        member_whole(json, "exit_status", (uint64_t) WEXITSTATUS(status));
    else if (header->end == PL_END_EXIT || header->end == PL_END_QUICK)
        member_whole(json, "exit_status", header->exit_status & 0xff);
}

static void write_process(struct json *json)
{
    const struct pl_profile *profile = json->profile;
    begin(json, '{');
    member_whole(json, "pid", profile->header.pid);
    member_whole(json, "parent_pid", profile->header.parent_pid);
    member_whole(json, "uid", profile->header.uid);
    member_text(json, "name", profile->comm);
    key(json, "command");
    begin(json, '[');
    for (const char **word = profile->argv; *word; word++) {
        separate(json);
        write_text(json, *word);
    }
    end(json, ']');
    member_text(json, "exe", profile->executable);
    member_text(json, "directory", profile->directory);
    member_whole(json, "machine", profile->header.machine);
    write_start(json);
    member_real(json, "duration_s", profile->duration_s);
    member_known(json, "exit_s", profile->exit_s);
    write_ending(json);
    member_bool(json, "forked", profile->header.flags & PL_FLAG_FORKED);
    end(json, '}');
}

static const char *mode_name(uint32_t mode)
{
    static const char *const names[] = {
        [PL_MODE_SAMPLED] = "sampled", [PL_MODE_EXACT] = "exact", [PL_MODE_AUTO] = "auto"};
    return mode < sizeof names / sizeof *names && names[mode] ? names[mode] : "unknown";
}

static void write_sampling(struct json *json)
{
    const struct pl_profile *profile = json->profile;
    char method[256];
    pl_profile_method(profile, method, sizeof method);
    begin(json, '{');
    member_text(json, "method", method);
    member_bool(json, "exact", profile->exact);
    member_real(json, "exact_calls", profile->exact_calls);
    member_real(json, "exact_bytes", profile->exact_bytes);
    member_text(json, "mode", mode_name(profile->header.mode));
    member_whole(json, "interval_bytes", profile->header.interval_bytes);
    member_whole(json, "call_charge", profile->header.call_charge);
    member_whole(json, "samples", profile->samples);
    member_whole(json, "samples_live", profile->samples_live);
    end(json, '}');
}

static void write_auto(struct json *json)
{
    const struct pl_auto *automatic = &json->profile->header.automatic;
    begin(json, '{');
    member_real(json, "overhead", automatic->overhead_ppm / 1e6);
    member_bool(json, "exact_now", automatic->exact != 0);
    member_whole(json, "interval_bytes", automatic->interval_bytes);
    member_whole(json, "interval_max", automatic->interval_max);
    member_whole(json, "left_exact", automatic->left);
    member_whole(json, "returned_to_exact", automatic->returned);
    member_whole(json, "exact_calls", automatic->exact_calls);
    member_real(json, "exact_cpu_s", (double) automatic->exact_ns / 1e9);
    end(json, '}');
}

static void write_cost(struct json *json)
{
    begin(json, '{');
    member_known(json, "profiler_cpu_s", json->profile->cost_s);
    member_known(json, "process_cpu_s", json->profile->cpu_s);
    end(json, '}');
}

static void write_peak(struct json *json)
{
    begin(json, '{');
    member_real(json, "time_s", json->profile->peak_s);
    member_real(json, "slack_bytes", json->profile->peak_slack_bytes);
    end(json, '}');
}

/* Where each bucket of the histograms begins. */
static void write_scales(struct json *json)
{
    double sizes[PL_SIZE_BUCKETS], lifetimes[PL_LIFE_BUCKETS];
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        sizes[i] = pl_size_bucket_from(i);
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        lifetimes[i] = pl_life_bucket_from(i) * json->profile->unit_s;
    begin(json, '{');
    member_known(json, "unit_s", json->profile->unit_s);
    member_histogram(json, "sizes_from", sizes, PL_SIZE_BUCKETS);
    member_histogram(json, "lifetimes_from_s", lifetimes, PL_LIFE_BUCKETS);
    member_histogram(json, "ages_until_s", json->profile->age, PL_COHORTS);
    end(json, '}');
}

static void write_totals(struct json *json)
{
    uint64_t calls[PL_FN_MAX] = {0};
    for (uint32_t t = 0; t < json->profile->threads; t++)
        for (int i = 0; i < PL_FN_COUNT; i++)
            calls[i] += json->profile->thread[t].calls[i];
    begin(json, '{');
    member_metrics(json, json->profile->total);
    member_spread(json, &json->profile->spread);
    member_functions(json, "functions", calls);
    end(json, '}');
}

static void write_counters(struct json *json, const uint64_t *counter, const struct pl_named_counter *info, int count)
{
    begin(json, '{');
    for (int i = 0; i < count; i++)
        member_whole(json, info[i].key, counter[i]);
    end(json, '}');
}

static void write_losses(struct json *json)
{
    write_counters(json, json->profile->header.losses, pl_loss_info, PL_LOSS_COUNT);
}

static void write_stops(struct json *json)
{
    write_counters(json, json->profile->header.stops, pl_stop_info, PL_STOP_COUNT);
}

static void write_reading(struct json *json)
{
    begin(json, '{');
    member_whole(json, "file_bytes", json->profile->file_bytes);
    member_whole(json, "damage", json->profile->damage);
    member_whole(json, "in_flight", json->profile->in_flight);
    member_whole(json, "bad_settings", json->profile->header.bad_settings);
    end(json, '}');
}

/* --- the long arrays --- */

static void write_modules(struct json *json)
{
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->modules; i++) {
        const struct pl_module_view *module = &json->profile->module[i];
        new_line(json);
        begin(json, '{');
        member_text(json, "path", module->path);
        member_text(json, "build_id", module->build_id);
        member_hex(json, "bias", module->bias);
        member_hex(json, "start", module->start);
        member_hex(json, "end", module->end);
        end(json, '}');
    }
    end(json, ']');
}

static void write_place(struct json *json, const struct pl_frame_view *frame, const struct pl_place *place)
{
    new_line(json);
    begin(json, '{');
    member_text(json, "function", place->function);
    if (*place->linkage)
        member_text(json, "linkage", place->linkage);
    member_text(json, "file", place->file);
    member_whole(json, "line", place->line);
    member_whole(json, "column", place->column);
    member_whole(json, "module", frame->module);
    member_hex(json, "address", frame->address);
    member_bool(json, "inlined", place->inlined);
    if (frame->flags & PL_FRAME_GUESS)
        member_bool(json, "guessed", true);
    if (frame->flags & PL_FRAME_GAP)
        member_bool(json, "gap", true);
    if (frame->flags & PL_FRAME_CUT)
        member_bool(json, "cut", true);
    end(json, '}');
}

static void write_frames(struct json *json)
{
    static const struct pl_place nameless = {.function = "", .linkage = "", .file = ""};
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->frames; i++) {
        const struct pl_frame_view *frame = &json->profile->frame[i];
        for (uint32_t p = 0; p < frame->places; p++)
            write_place(json, frame, &frame->place[p]);
        if (!frame->places)
            write_place(json, frame, &nameless);
    }
    end(json, ']');
}

static void write_stacks(struct json *json)
{
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->stacks; i++) {
        const struct pl_stack_view *stack = &json->profile->stack[i];
        new_line(json);
        begin(json, '[');
        for (uint32_t f = 0; f < stack->frames; f++)
            for (uint32_t n = json->first[stack->frame[f]]; n < json->first[stack->frame[f] + 1]; n++) {
                separate(json);
                fprintf(json->out, "%" PRIu32, n);
            }
        end(json, ']');
    }
    end(json, ']');
}

static void write_threads(struct json *json)
{
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->threads; i++) {
        const struct pl_thread_view *thread = &json->profile->thread[i];
        new_line(json);
        begin(json, '{');
        member_whole(json, "tid", thread->tid);
        member_text(json, "name", thread->name);
        member_whole(json, "threads", thread->threads);
        member_bool(json, "alive", thread->alive);
        member_real(json, "start_s", (double) thread->start_ns * 1e-9);
        key(json, "end_s");
        fprintf(json->out, thread->end_ns ? "%.9g" : "null", (double) thread->end_ns * 1e-9);
        member_whole(json, "calls", sum_calls(thread->calls));
        member_whole(json, "bytes", thread->bytes);
        member_functions(json, "functions", thread->calls);
        end(json, '}');
    }
    end(json, ']');
}

static void write_sites(struct json *json)
{
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->sites; i++) {
        const struct pl_site_view *site = &json->profile->site[i];
        new_line(json);
        begin(json, '{');
        key(json, "stack");
        if (site->stack == PL_NO_STACK)
            fputs("null", json->out);
        else
            fprintf(json->out, "%" PRIu32, site->stack);
        member_whole(json, "thread", site->thread);
        member_real(json, "exact_calls", site->figures.allocated.exact_objects);
        member_whole(json, "samples", site->figures.allocated.sampled.samples);
        member_whole(json, "samples_freed", site->figures.freed.sampled.samples);
        member_metrics(json, site->metric);
        member_spread(json, &site->spread);
        end(json, '}');
    }
    end(json, ']');
}

static void write_timeline(struct json *json)
{
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->moments; i++) {
        const struct pl_moment_view *moment = &json->profile->moment[i];
        new_line(json);
        begin(json, '{');
        member_real(json, "time_s", moment->seconds);
        member_real(json, "live_bytes", moment->live_bytes);
        member_real(json, "live_blocks", moment->live_objects);
        member_real(json, "allocated_bytes", moment->allocated_bytes);
        member_real(json, "calls", moment->allocated_calls);
        member_known(json, "rss_bytes", moment->rss_bytes);
        member_whole(json, "interval_bytes", moment->interval_bytes);
        end(json, '}');
    }
    end(json, ']');
}

static void write_shares(struct json *json, const struct pl_snapshot_view *snapshot)
{
    begin(json, '[');
    for (uint32_t i = 0; i < snapshot->shares; i++) {
        separate(json);
        begin(json, '{');
        member_whole(json, "site", snapshot->share[i].site);
        member_real(json, "blocks", snapshot->share[i].objects);
        member_real(json, "bytes", snapshot->share[i].bytes);
        end(json, '}');
    }
    end(json, ']');
}

static void write_snapshots(struct json *json)
{
    begin(json, '[');
    for (uint32_t i = 0; i < json->profile->snapshots; i++) {
        const struct pl_snapshot_view *snapshot = &json->profile->snapshot[i];
        new_line(json);
        begin(json, '{');
        member_real(json, "time_s", snapshot->seconds);
        member_real(json, "live_bytes", snapshot->live_bytes);
        member_real(json, "live_blocks", snapshot->live_objects);
        member_real(json, "left_out_bytes", snapshot->left_out_bytes);
        key(json, "sites");
        write_shares(json, snapshot);
        end(json, '}');
    }
    end(json, ']');
}

/* --- the whole --- */

static const struct part {
    const char *name;
    void (*write)(struct json *json);
} parts[] = {
    {"process", write_process},   {"sampling", write_sampling},   {"auto", write_auto},
    {"cost", write_cost},         {"peak", write_peak},           {"scales", write_scales},
    {"totals", write_totals},     {"losses", write_losses},       {"stops", write_stops},
    {"reading", write_reading},   {"modules", write_modules},     {"frames", write_frames},
    {"stacks", write_stacks},     {"threads", write_threads},     {"sites", write_sites},
    {"timeline", write_timeline}, {"snapshots", write_snapshots},
};

static uint32_t *number_places(const struct pl_profile *profile)
{
    uint32_t *first = calloc((size_t) profile->frames + 1, sizeof *first);
    if (!first)
        abort();
    for (uint32_t i = 0; i < profile->frames; i++)
        first[i + 1] = first[i] + (profile->frame[i].places ? profile->frame[i].places : 1);
    return first;
}

void pl_export_json(const struct pl_profile *profile, FILE *out)
{
    struct json json = {.out = out, .profile = profile, .first = number_places(profile)};
    fprintf(out, "{\"plimsoll\": %d", SCHEMA_VERSION);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fputs(",\n", out);
        json.comma = false;
        key(&json, parts[i].name);
        parts[i].write(&json);
    }
    fputs("\n}\n", out);
    free(json.first);
}
