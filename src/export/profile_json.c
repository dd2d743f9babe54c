/* SPDX-License-Identifier: MIT */
/*
 * profile_json.c - everything in a profile as JSON. docs/json.md is the schema; keep it up to date.
 *
 * A frame of the profile is an address, at which several functions may run, one inlined into the next. JSON has a frame
 * for each of them, to make it simple for readers: frame i of the profile becomes frames first[i] .. first[i+1]-1.
 *
 * Elements of the long arrays have a line each: files can be compared with diff and read with grep.
 */
#include "export/profile_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "analysis/advice/advice.h"
#include "analysis/filefull.h"
#include "analysis/traits.h"
#include "export/export.h"
#include "export/json.h"
#include "reader/describe.h"
#include "reader/site.h"
#include "reader/totals.h"

#define SCHEMA_VERSION 1

/* --- figures --- */

static void add_spread(struct pl_json *json, const struct pl_spread *spread)
{
    bool sized = spread->largest > 0 || spread->sizes[0] > 0;
    pl_json_add_real(json, "smallest", sized ? (double) spread->smallest : NAN);
    pl_json_add_real(json, "largest", sized ? (double) spread->largest : NAN);
    pl_json_add_histogram(json, "sizes", spread->sizes, PL_SIZE_BUCKETS);
    pl_json_add_histogram(json, "lifetimes", spread->lives, PL_LIFE_BUCKETS);
    pl_json_add_histogram(json, "ages", spread->ages, PL_COHORTS);
    pl_json_key(json, "reallocs");
    pl_json_begin(json, '{');
    pl_json_add_real(json, "calls", spread->realloc_calls);
    pl_json_add_real(json, "in_place", spread->realloc_in_place);
    pl_json_add_real(json, "moved_bytes", spread->realloc_moved);
    pl_json_end(json, '}');
    pl_json_key(json, "freed_at_exit");
    pl_json_begin(json, '{');
    pl_json_add_real(json, "blocks", spread->exit_objects);
    pl_json_add_real(json, "bytes", spread->exit_space);
    pl_json_end(json, '}');
}

static uint64_t sum_calls(const uint64_t calls[PL_FN_MAX])
{
    uint64_t sum = 0;
    for (int i = 0; i < PL_FN_COUNT; i++)
        sum += calls[i];
    return sum;
}

/* --- the parts --- */

static void write_start(struct pl_json *json, const struct pl_profile *profile)
{
    uint64_t ns = profile->header.start_realtime_ns;
    time_t seconds = (time_t) (ns / 1000000000u);
    char text[64] = "";
    struct tm parts;
    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof text - 8, "%Y-%m-%dT%H:%M:%S", &parts))
        sprintf(text + strlen(text), ".%03uZ", (unsigned) (ns / 1000000u % 1000u));
    pl_json_add_text(json, "start", text);
    pl_json_add_whole(json, "start_unix_ns", ns);
}

static void write_ending(struct pl_json *json, const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    char text[256];
    int status = (int) header->wait_status;
    bool waited = header->flags & PL_FLAG_WAITED;
    pl_describe_ending(profile, text, sizeof text);
    pl_json_add_bool(json, "running", profile->running);
    pl_json_add_text(json, "ended", text);
    if (waited && WIFSIGNALED(status))
        pl_json_add_whole(json, "signal", (uint64_t) WTERMSIG(status));
    else if (waited && WIFEXITED(status))
        pl_json_add_whole(json, "exit_status", (uint64_t) WEXITSTATUS(status));
    else if (header->end == PL_END_EXIT || header->end == PL_END_QUICK)
        pl_json_add_whole(json, "exit_status", header->exit_status & 0xff);
}

/* Only in the profile of a process that was attached to. */
static void write_attached(struct pl_json *json, const struct pl_profile *profile)
{
    static const char *const sources[] = {[PL_BEFORE_MALLOC] = "malloc", [PL_BEFORE_RESIDENT] = "resident"};
    const struct pl_header *header = &profile->header;
    char words[256];
    if (!pl_describe_attached(profile, words, sizeof words))
        return;
    bool known = header->before_how == PL_BEFORE_MALLOC || header->before_how == PL_BEFORE_RESIDENT;
    pl_json_add_text(json, "attached", words);
    pl_json_add_real(json, "attached_s", (double) header->attached_ns / 1e9);
    pl_json_add_real(json, "before_bytes", known ? (double) header->before_bytes : NAN);
    pl_json_add_text(json, "before_source", known ? sources[header->before_how] : NULL);
}

static void write_process(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "pid", profile->header.pid);
    pl_json_add_whole(json, "parent_pid", profile->header.parent_pid);
    pl_json_add_whole(json, "uid", profile->header.uid);
    pl_json_add_text(json, "name", profile->comm);
    pl_json_key(json, "command");
    pl_json_begin(json, '[');
    for (const char **word = profile->argv; *word; word++) {
        pl_json_separate(json);
        pl_json_text(json, *word);
    }
    pl_json_end(json, ']');
    pl_json_add_text(json, "exe", profile->executable);
    pl_json_add_index(json, "allocator", profile->allocator);
    pl_json_add_text(json, "directory", profile->directory);
    pl_json_add_whole(json, "machine", profile->header.machine);
    write_start(json, profile);
    pl_json_add_real(json, "duration_s", profile->duration_s);
    pl_json_add_known(json, "exit_s", profile->exit_s);
    write_ending(json, profile);
    pl_json_add_bool(json, "forked", profile->header.flags & PL_FLAG_FORKED);
    write_attached(json, profile);
    pl_json_end(json, '}');
}

static const char *mode_name(uint32_t mode)
{
    static const char *const names[] = {
        [PL_MODE_SAMPLED] = "sampled", [PL_MODE_EXACT] = "exact", [PL_MODE_AUTO] = "auto"};
    return mode < sizeof names / sizeof *names && names[mode] ? names[mode] : "unknown";
}

/* What the figures are about, if that is not everything from the start to the end. */
static void write_extent(struct pl_json *json, const struct pl_profile *profile, const char *selection)
{
    const struct pl_header *header = &profile->header;
    bool bounded = header->size_to && header->size_to < UINT64_MAX;
    pl_json_begin(json, '{');
    pl_json_add_text(json, "selection", selection);
    pl_json_add_whole(json, "resets", header->resets);
    pl_json_add_known(json, "reset_s", profile->reset_s);
    pl_json_add_text(json, "snapshot", profile->snapshot_name);
    pl_json_add_real(json, "snapshot_s", profile->snapshot_name ? profile->snapshot_s : NAN);
    pl_json_add_whole(json, "merged", profile->merged);
    pl_json_add_bool(json, "addresses", profile->addresses);
    pl_json_add_bool(json, "difference", profile->difference);
    pl_json_add_whole(json, "base_sites", profile->base_sites);
    pl_json_add_whole(json, "size_from", header->size_from);
    pl_json_add_real(json, "size_to", bounded ? (double) header->size_to : NAN);
    pl_json_end(json, '}');
}

static void write_sampling(struct pl_json *json, const struct pl_profile *profile)
{
    char method[256];
    pl_describe_method(profile, method, sizeof method);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "method", method);
    pl_json_add_bool(json, "exact", profile->exact && !pl_filefull_lost(&profile->header));
    pl_json_add_real(json, "exact_calls", profile->exact_calls);
    pl_json_add_real(json, "exact_bytes", profile->exact_bytes);
    pl_json_add_text(json, "mode", mode_name(profile->header.mode));
    pl_json_add_whole(json, "interval_bytes", profile->header.interval_bytes);
    pl_json_add_whole(json, "call_charge", profile->header.call_charge);
    pl_json_add_whole(json, "samples", profile->samples);
    pl_json_add_whole(json, "samples_live", profile->samples_live);
    pl_json_end(json, '}');
}

static void write_auto(struct pl_json *json, const struct pl_profile *profile)
{
    const struct pl_auto *automatic = &profile->header.automatic;
    struct pl_unsampled unsampled = pl_totals_unsampled(profile);
    pl_json_begin(json, '{');
    pl_json_add_real(json, "overhead", automatic->overhead_ppm / 1e6);
    pl_json_add_bool(json, "exact_now", automatic->exact != 0);
    pl_json_add_whole(json, "interval_bytes", automatic->interval_bytes);
    pl_json_add_whole(json, "interval_max", automatic->interval_max);
    pl_json_add_whole(json, "left_exact", automatic->left);
    pl_json_add_whole(json, "returned_to_exact", automatic->returned);
    pl_json_add_whole(json, "exact_calls", automatic->exact_calls);
    pl_json_add_real(json, "exact_cpu_s", (double) automatic->exact_ns / 1e9);
    pl_json_add_whole(json, "unsampled_sites", unsampled.sites);
    pl_json_add_real(json, "unsampled_bytes", unsampled.bytes);
    pl_json_end(json, '}');
}

static void write_cost(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '{');
    pl_json_add_known(json, "profiler_cpu_s", profile->cost_s);
    pl_json_add_known(json, "process_cpu_s", profile->cpu_s);
    pl_json_end(json, '}');
}

static void write_peak(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '{');
    pl_json_add_real(json, "time_s", profile->peak_s);
    pl_json_add_real(json, "slack_bytes", profile->peak_slack_bytes);
    pl_json_end(json, '}');
}

/* Where each bucket of the histograms begins. */
static void write_scales(struct pl_json *json, const struct pl_profile *profile)
{
    double sizes[PL_SIZE_BUCKETS], lifetimes[PL_LIFE_BUCKETS];
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++)
        sizes[i] = pl_size_bucket_from(i);
    for (unsigned i = 0; i < PL_LIFE_BUCKETS; i++)
        lifetimes[i] = pl_life_bucket_from(i) * profile->unit_s;
    pl_json_begin(json, '{');
    pl_json_add_known(json, "unit_s", profile->unit_s);
    pl_json_add_histogram(json, "sizes_from", sizes, PL_SIZE_BUCKETS);
    pl_json_add_histogram(json, "lifetimes_from_s", lifetimes, PL_LIFE_BUCKETS);
    pl_json_add_histogram(json, "ages_until_s", profile->age, PL_COHORTS);
    pl_json_end(json, '}');
}

static void write_totals(struct pl_json *json, const struct pl_profile *profile)
{
    uint64_t calls[PL_FN_MAX] = {0};
    for (uint32_t t = 0; t < profile->threads; t++)
        for (int i = 0; i < PL_FN_COUNT; i++)
            calls[i] += profile->thread[t].calls[i];
    pl_json_begin(json, '{');
    pl_json_add_metrics(json, profile, profile->total);
    add_spread(json, &profile->spread);
    pl_json_add_functions(json, "functions", calls);
    pl_json_end(json, '}');
}

static void write_counters(struct pl_json *json, const uint64_t *counter, const struct pl_named_counter *info,
                           int count)
{
    pl_json_begin(json, '{');
    for (int i = 0; i < count; i++)
        pl_json_add_whole(json, info[i].key, counter[i]);
    pl_json_end(json, '}');
}

static void write_losses(struct pl_json *json, const struct pl_profile *profile)
{
    write_counters(json, profile->header.losses, pl_loss_info, PL_LOSS_COUNT);
}

static void write_stops(struct pl_json *json, const struct pl_profile *profile)
{
    write_counters(json, profile->header.stops, pl_stop_info, PL_STOP_COUNT);
}

static void write_reading(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "file_bytes", profile->file_bytes);
    pl_json_add_whole(json, "damage", profile->damage);
    pl_json_add_whole(json, "in_flight", profile->in_flight);
    pl_json_add_whole(json, "bad_settings", profile->header.bad_settings);
    pl_json_end(json, '}');
}

/* --- the long arrays --- */

static void write_modules(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->modules; i++) {
        const struct pl_module_view *module = &profile->module[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_json_add_text(json, "path", module->path);
        pl_json_add_text(json, "name", pl_traits_module(profile, i));
        pl_json_add_text(json, "build_id", module->build_id);
        pl_json_add_hex(json, "bias", module->bias);
        pl_json_add_hex(json, "start", module->start);
        pl_json_add_hex(json, "end", module->end);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_place(struct pl_json *json, const struct pl_frame_view *frame, const struct pl_place *place)
{
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "function", place->function);
    if (*place->linkage)
        pl_json_add_text(json, "linkage", place->linkage);
    pl_json_add_text(json, "file", place->file);
    pl_json_add_whole(json, "line", place->line);
    pl_json_add_whole(json, "column", place->column);
    pl_json_add_whole(json, "module", frame->module);
    pl_json_add_hex(json, "address", frame->address);
    pl_json_add_bool(json, "inlined", place->inlined);
    if (frame->flags & PL_FRAME_GUESS)
        pl_json_add_bool(json, "guessed", true);
    if (frame->flags & PL_FRAME_GAP)
        pl_json_add_bool(json, "gap", true);
    if (frame->flags & PL_FRAME_CUT)
        pl_json_add_bool(json, "cut", true);
    if (place->allocator)
        pl_json_add_bool(json, "allocator", true);
    pl_json_end(json, '}');
}

static void write_frames(struct pl_json *json, const struct pl_profile *profile)
{
    static const struct pl_place nameless = {.function = "", .linkage = "", .file = ""};
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->frames; i++) {
        const struct pl_frame_view *frame = &profile->frame[i];
        for (uint32_t p = 0; p < frame->places; p++)
            write_place(json, frame, &frame->place[p]);
        if (!frame->places)
            write_place(json, frame, &nameless);
    }
    pl_json_end(json, ']');
}

static uint32_t *number_places(const struct pl_profile *profile)
{
    uint32_t *first = calloc((size_t) profile->frames + 1, sizeof *first);
    if (!first)
        abort();
    for (uint32_t i = 0; i < profile->frames; i++)
        first[i + 1] = first[i] + (profile->frame[i].places ? profile->frame[i].places : 1);
    return first;
}

static void write_stacks(struct pl_json *json, const struct pl_profile *profile)
{
    uint32_t *first = number_places(profile);
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->stacks; i++) {
        const struct pl_stack_view *stack = &profile->stack[i];
        pl_json_line(json);
        pl_json_begin(json, '[');
        for (uint32_t f = 0; f < stack->frames; f++)
            for (uint32_t n = first[stack->frame[f]]; n < first[stack->frame[f] + 1]; n++) {
                pl_json_separate(json);
                pl_json_whole(json, n);
            }
        pl_json_end(json, ']');
    }
    pl_json_end(json, ']');
    free(first);
}

static void write_threads(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->threads; i++) {
        const struct pl_thread_view *thread = &profile->thread[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_json_add_whole(json, "tid", thread->tid);
        pl_json_add_text(json, "name", thread->name);
        pl_json_add_whole(json, "threads", thread->threads);
        pl_json_add_bool(json, "alive", thread->alive);
        pl_json_add_real(json, "start_s", (double) thread->start_ns * 1e-9);
        pl_json_key(json, "end_s");
        fprintf(json->out, thread->end_ns ? "%.9g" : "null", (double) thread->end_ns * 1e-9);
        pl_json_add_whole(json, "calls", sum_calls(thread->calls));
        pl_json_add_whole(json, "bytes", thread->bytes);
        pl_json_add_functions(json, "functions", thread->calls);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_tags(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->tags; i++) {
        const struct pl_tag_view *tag = &profile->tag[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_json_add_text(json, "name", tag->name);
        pl_json_add_path(json, "path", profile, i);
        pl_json_add_index(json, "parent", i ? tag->parent : UINT32_MAX);
        pl_json_add_whole(json, "depth", tag->depth);
        pl_json_add_text(json, "kind", pl_json_tag_kind(profile, i));
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_scopes(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->scopes; i++) {
        const struct pl_scope_view *scope = &profile->scope[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_json_add_whole(json, "thread", scope->thread);
        pl_json_add_whole(json, "tag", scope->tag);
        pl_json_add_whole(json, "entered", scope->entered);
        pl_json_add_whole(json, "calls", sum_calls(scope->calls));
        pl_json_add_whole(json, "bytes", scope->bytes);
        pl_json_add_functions(json, "functions", scope->calls);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_sites(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->sites; i++) {
        const struct pl_site_view *site = &profile->site[i];
        struct pl_figures figures = pl_site_figures(site);
        struct pl_spread spread = pl_site_spread(site);
        struct pl_estimate metric[PL_METRIC_COUNT];
        pl_site_estimate(site, metric);
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_json_add_index(json, "stack", site->stack);
        pl_json_add_whole(json, "thread", site->thread);
        pl_json_add_whole(json, "tag", site->tag);
        pl_json_add_bool(json, "other_sizes", site->other_sizes);
        pl_json_add_real(json, "exact_calls", figures.allocated.exact_objects);
        pl_json_add_whole(json, "samples", figures.allocated.sampled.samples);
        pl_json_add_whole(json, "samples_freed", figures.freed.sampled.samples);
        pl_json_add_metrics(json, profile, metric);
        add_spread(json, &spread);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_timeline(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->moments; i++) {
        const struct pl_moment_view *moment = &profile->moment[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_json_add_real(json, "time_s", moment->seconds);
        pl_json_add_real(json, "live_bytes", moment->live_bytes);
        pl_json_add_real(json, "live_blocks", moment->live_objects);
        pl_json_add_real(json, "allocated_bytes", moment->allocated_bytes);
        pl_json_add_real(json, "calls", moment->allocated_calls);
        pl_json_add_known(json, "rss_bytes", moment->rss_bytes);
        pl_json_add_known(json, "file_bytes", moment->file_bytes);
        pl_json_add_known(json, "profiler_bytes", moment->own_bytes);
        pl_json_add_whole(json, "interval_bytes", moment->interval_bytes);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

static void write_footprint(struct pl_json *json, const struct pl_footprint_record *footprint)
{
    static const char *const facts[PL_FACT_COUNT] = {
#define ROW(name, word) word,
        PL_FOOTPRINT_FACTS(ROW)
#undef ROW
    };
    pl_json_begin(json, '{');
    pl_json_add_real(json, "time_s", (double) footprint->time_ns / 1e9);
    pl_json_add_bool(json, "exact", footprint->flags & PL_FOOTPRINT_EXACT);
    pl_json_add_bool(json, "unread", footprint->flags & PL_FOOTPRINT_UNREAD);
    pl_json_key(json, "parts");
    pl_json_begin(json, '[');
    for (int i = 0; i < PL_PART_COUNT; i++) {
        pl_json_separate(json);
        pl_json_begin(json, '{');
        pl_json_add_text(json, "part", pl_footprint_info[i].key);
        pl_json_add_text(json, "title", pl_footprint_info[i].help);
        pl_json_add_bool(json, "heap", i < PL_PART_HEAP_END);
        pl_json_add_whole(json, "virtual_bytes", footprint->part[i].virtual);
        pl_json_add_whole(json, "resident_bytes", footprint->part[i].resident);
        pl_json_add_whole(json, "pss_bytes", footprint->part[i].pss);
        pl_json_add_whole(json, "swap_bytes", footprint->part[i].swap);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
    pl_json_key(json, "facts");
    pl_json_begin(json, '{');
    for (int i = 0; i < PL_FACT_COUNT; i++)
        pl_json_add_whole(json, facts[i], footprint->fact[i]);
    pl_json_end(json, '}');
    pl_json_end(json, '}');
}

static void write_memory(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->footprints; i++) {
        pl_json_line(json);
        write_footprint(json, &profile->footprint[i]);
    }
    pl_json_end(json, ']');
}

static void add_resident(struct pl_json *json, const struct pl_resident_bytes *bytes)
{
    pl_json_add_whole(json, "live_bytes", bytes->live);
    pl_json_add_whole(json, "resident_bytes", bytes->resident);
    pl_json_add_whole(json, "swapped_bytes", bytes->swapped);
    pl_json_add_whole(json, "untouched_bytes", bytes->untouched);
    pl_json_add_real(json, "live_error", (double) bytes->live_error);
    pl_json_add_real(json, "resident_error", (double) bytes->resident_error);
    pl_json_add_real(json, "swapped_error", (double) bytes->swapped_error);
    pl_json_add_real(json, "untouched_error", (double) bytes->untouched_error);
}

void pl_profile_json_resident(struct pl_json *json, const struct pl_resident_record *reading)
{
    pl_json_add_real(json, "time_s", (double) reading->time_ns / 1e9);
    pl_json_add_bool(json, "exact", reading->flags & PL_FOOTPRINT_EXACT);
    add_resident(json, &reading->all);
}

static void write_resident(struct pl_json *json, const struct pl_profile *profile,
                           const struct pl_resident_record *reading)
{
    pl_json_begin(json, '{');
    pl_profile_json_resident(json, reading);
    pl_json_key(json, "sites");
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < reading->sites; i++) {
        uint32_t site = reading->site[i].site;
        uint32_t stack = site < profile->records ? profile->stack_of_record[site] : PL_NO_STACK;
        pl_json_separate(json);
        pl_json_begin(json, '{');
        pl_json_add_index(json, "stack", stack < profile->stacks ? stack : PL_NO_STACK);
        add_resident(json, &reading->site[i]);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
    pl_json_end(json, '}');
}

static void write_residency(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->residents; i++) {
        pl_json_line(json);
        write_resident(json, profile, &profile->resident[i]);
    }
    pl_json_end(json, ']');
}

static uint32_t index_of(uint32_t number)
{
    return number ? number - 1 : UINT32_MAX;
}

void pl_profile_json_holder(struct pl_json *json, const struct pl_holder_view *holder, const char *key, uint32_t place)
{
    static const char *const kinds[PL_HOLDERS] = {
        [PL_HOLDER_ROOT] = "root", [PL_HOLDER_BLOCKS] = "blocks", [PL_HOLDER_REST] = "rest", [PL_HOLDER_WAY] = "way"};
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "kind", kinds[holder->kind]);
    pl_json_add_text(json, "name", holder->kind == PL_HOLDER_ROOT ? holder->name : NULL);
    pl_json_add_index(json, "parent", index_of(holder->parent));
    pl_json_add_index(json, "way", index_of(holder->way));
    pl_json_add_index(json, key, place);
    pl_json_add_real(json, "blocks", holder->objects);
    pl_json_add_real(json, "bytes", holder->space);
    pl_json_end(json, '}');
}

static void write_holders(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 1; i < profile->holders; i++)
        pl_profile_json_holder(json, &profile->holder[i], "stack", profile->holder[i].stack);
    pl_json_end(json, ']');
}

static void write_shares(struct pl_json *json, const struct pl_composition_view *composition)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < composition->shares; i++) {
        pl_json_separate(json);
        pl_json_begin(json, '{');
        pl_json_add_whole(json, "site", composition->share[i].site);
        pl_json_add_real(json, "blocks", composition->share[i].objects);
        pl_json_add_real(json, "bytes", composition->share[i].bytes);
        pl_json_add_real(json, "calls", composition->share[i].calls);
        pl_json_add_real(json, "allocated_bytes", composition->share[i].allocated);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

void pl_profile_json_composition(struct pl_json *json, const struct pl_composition_view *composition)
{
    pl_json_add_real(json, "time_s", composition->seconds);
    pl_json_add_real(json, "live_bytes", composition->live_bytes);
    pl_json_add_real(json, "live_blocks", composition->live_objects);
    pl_json_add_real(json, "left_out_bytes", composition->left_out_bytes);
    pl_json_add_real(json, "allocated_bytes", composition->allocated_bytes);
    pl_json_add_real(json, "calls", composition->allocated_calls);
}

static void write_compositions(struct pl_json *json, const struct pl_profile *profile)
{
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < profile->compositions; i++) {
        const struct pl_composition_view *composition = &profile->composition[i];
        pl_json_line(json);
        pl_json_begin(json, '{');
        pl_profile_json_composition(json, composition);
        pl_json_key(json, "sites");
        write_shares(json, composition);
        pl_json_end(json, '}');
    }
    pl_json_end(json, ']');
}

/* --- advice --- */

/* A stack to show for a path: the one with most calls. */
static uint32_t stack_of(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path)
{
    uint32_t stack = PL_NO_STACK;
    double most = -1;
    for (uint32_t i = 0; i < profile->sites; i++) {
        if (paths->of_site[i] != path)
            continue;
        double calls = pl_site_value(&profile->site[i], PL_METRIC_ALLOC_OBJECTS);
        if (calls > most) {
            stack = profile->site[i].stack;
            most = calls;
        }
    }
    return stack;
}

/* One stack for each of the other sites that the advice is about; or its node, if node_of_stack is given. */
static void write_others(struct pl_json *json, const struct pl_profile *profile, const struct pl_paths *paths,
                         const struct pl_advice *advice, const uint32_t *node_of_stack)
{
    pl_json_key(json, node_of_stack ? "other_nodes" : "other_stacks");
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < advice->other_count; i++) {
        uint32_t stack = stack_of(profile, paths, advice->others[i]);
        if (stack == PL_NO_STACK)
            continue;
        pl_json_separate(json);
        pl_json_whole(json, node_of_stack ? node_of_stack[stack] : stack);
    }
    pl_json_end(json, ']');
}

static void write_piece(struct pl_json *json, const struct pl_profile *profile, const struct pl_locations *locations,
                        const struct pl_paths *paths, const struct pl_advice *advice, const uint32_t *node_of_stack)
{
    bool placed = advice->path != PL_ADVICE_NO_PATH;
    uint32_t stack = placed ? stack_of(profile, paths, advice->path) : PL_NO_STACK;
    const struct pl_location *location = placed ? &locations->location[paths->path[advice->path].location[0]] : NULL;
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "kind", pl_advice_info[advice->kind].word);
    pl_json_add_index(json, "stack", stack);
    if (node_of_stack)
        pl_json_add_index(json, "node", stack == PL_NO_STACK ? UINT32_MAX : node_of_stack[stack]);
    write_others(json, profile, paths, advice, NULL);
    if (node_of_stack)
        write_others(json, profile, paths, advice, node_of_stack);
    pl_json_add_text(json, "function", location ? location->name : NULL);
    pl_json_add_text(json, "file", location ? location->file : NULL);
    pl_json_add_real(json, "line", location ? location->line : NAN);
    pl_json_add_text(json, "headline", advice->headline);
    pl_json_add_text(json, "evidence", advice->evidence);
    pl_json_add_text(json, "action", advice->action);
    pl_json_add_real(json, "gain_bytes", advice->gain_bytes);
    pl_json_add_real(json, "gain_calls", advice->gain_calls);
    pl_json_add_real(json, "weight", advice->weight);
    pl_json_end(json, '}');
}

void pl_profile_json_advice(struct pl_json *json, const struct pl_profile *profile, struct pl_locations *locations,
                            const struct pl_paths *paths, const uint32_t *node_of_stack)
{
    struct pl_advices advices;
    pl_advice_find(profile, locations, paths, &PL_ADVICE_COMMANDS, NULL, &advices);
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < advices.count; i++)
        write_piece(json, profile, locations, paths, &advices.advice[i], node_of_stack);
    pl_json_end(json, ']');
    pl_advice_free(&advices);
}

static void write_advice(struct pl_json *json, const struct pl_profile *profile)
{
    if (profile->difference) { /* a difference has none, and finding that out takes memory */
        pl_json_begin(json, '[');
        pl_json_end(json, ']');
        return;
    }
    struct pl_locations *locations = pl_locations_new(profile, &(struct pl_location_options){0});
    struct pl_paths paths = pl_paths_new(profile, locations, PL_SHAPE_SITE, PL_ADVICE_DEPTH);
    pl_profile_json_advice(json, profile, locations, &paths, NULL);
    pl_locations_free(locations);
}

/* --- the whole --- */

static const struct part {
    const char *name;
    void (*write)(struct pl_json *json, const struct pl_profile *profile);
} parts[] = {
    {"process", write_process},
    {"sampling", write_sampling},
    {"auto", write_auto},
    {"cost", write_cost},
    {"peak", write_peak},
    {"scales", write_scales},
    {"totals", write_totals},
    {"losses", write_losses},
    {"stops", write_stops},
    {"reading", write_reading},
    {"modules", write_modules},
    {"frames", write_frames},
    {"stacks", write_stacks},
    {"threads", write_threads},
    {"tags", write_tags},
    {"scopes", write_scopes},
    {"sites", write_sites},
    {"timeline", write_timeline},
    {"snapshots", write_compositions},
    {"memory", write_memory},
    {"residency", write_residency},
    {"holders", write_holders},
    {"advice", write_advice},
};

#define PARTS (sizeof parts / sizeof *parts)

static bool is_listed(const char *name, const char *const *list)
{
    for (; list && *list; list++)
        if (!strcmp(*list, name))
            return true;
    return false;
}

static void add_part(struct pl_json *json, const struct pl_profile *profile, const struct part *part)
{
    pl_json_line(json);
    pl_json_key(json, part->name);
    part->write(json, profile);
}

void pl_profile_json_members(struct pl_json *json, const struct pl_profile *profile, const char *selection,
                             const char *const *left_out)
{
    pl_json_add_whole(json, "plimsoll", SCHEMA_VERSION);
    pl_json_line(json);
    pl_json_key(json, "extent");
    write_extent(json, profile, selection);
    for (size_t i = 0; i < PARTS; i++)
        if (!is_listed(parts[i].name, left_out))
            add_part(json, profile, &parts[i]);
}

void pl_profile_json_some(struct pl_json *json, const struct pl_profile *profile, const char *const *names)
{
    for (size_t i = 0; i < PARTS; i++)
        if (is_listed(parts[i].name, names))
            add_part(json, profile, &parts[i]);
}

void pl_export_json(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    struct pl_json json = {.out = out};
    pl_json_begin(&json, '{');
    pl_profile_json_members(&json, profile, options->selection, NULL);
    fputs("\n}\n", out);
}
