/* SPDX-License-Identifier: MIT */
/*
 * metrics.c - figures of all processes in OpenMetrics text, for Prometheus and others.
 *
 * A process has a series for each row of the table, one for each of its losses, and one for each of its largest tags.
 * There is none by stack: that would be as many as there are lines of code. All samples of a metric must follow each
 * other, so the profiles are read first.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "cli/serve/answers.h"
#include "reader/site.h"

#define TAGS_MOST 20 /* of one process; the others are one series together */

struct tag {
    char *path;
    double live_bytes;
};

/* What a process has to say. */
struct reading {
    const struct pl_member *member;
    double live_bytes, live_blocks, allocated_bytes, calls, resident_bytes, cost_s;
    uint64_t losses[PL_LOSS_COUNT];
    struct tag *tag;
    size_t tags;
};

static const struct metric {
    const char *name, *type, *unit, *help;
    size_t at; /* a double in struct reading */
} metrics[] = {
#define ROW(name, type, unit, help, field)                                                                             \
    {                                                                                                                  \
        name, type, unit, help, offsetof(struct reading, field)                                                        \
    }
    ROW("plimsoll_live_bytes", "gauge", "bytes", "Bytes on the heap that are not freed.", live_bytes),
    ROW("plimsoll_live_blocks", "gauge", "", "Blocks on the heap that are not freed.", live_blocks),
    ROW("plimsoll_allocated_bytes", "counter", "bytes", "Bytes requested since the process began.", allocated_bytes),
    ROW("plimsoll_allocations", "counter", "", "Calls of allocation functions.", calls),
    ROW("plimsoll_resident_bytes", "gauge", "bytes", "Resident memory of the process.", resident_bytes),
    ROW("plimsoll_cost_seconds", "counter", "seconds", "CPU time of the profiler, by its own measurement.", cost_s),
#undef ROW
};

/* --- reading --- */

static double read_resident(pid_t pid)
{
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (double) pages * (double) sysconf(_SC_PAGESIZE);
}

static int largest_first(const void *left, const void *right)
{
    const struct tag *a = left, *b = right;
    return (a->live_bytes < b->live_bytes) - (a->live_bytes > b->live_bytes);
}

/* The smallest become one: "(others)". */
static void bound_tags(struct reading *reading)
{
    qsort(reading->tag, reading->tags, sizeof *reading->tag, largest_first);
    if (reading->tags <= TAGS_MOST)
        return;
    struct tag *others = &reading->tag[TAGS_MOST - 1];
    for (size_t i = TAGS_MOST; i < reading->tags; i++) {
        others->live_bytes += reading->tag[i].live_bytes;
        free(reading->tag[i].path);
    }
    free(others->path);
    others->path = pl_say_print("(others)");
    reading->tags = TAGS_MOST;
}

static void read_tags(const struct pl_profile *profile, struct reading *reading)
{
    double *live = pl_say_memory(calloc(profile->tags + 1u, sizeof *live));
    for (uint32_t i = 0; i < profile->sites; i++)
        live[profile->site[i].tag] += pl_site_value(&profile->site[i], PL_METRIC_INUSE_SPACE);
    reading->tag = pl_say_memory(calloc(profile->tags + 1u, sizeof *reading->tag));
    for (uint32_t i = 0; profile->tags > 1 && i < profile->tags; i++)
        if (live[i] > 0)
            reading->tag[reading->tags++] = (struct tag){pl_say_print("%s", profile->tag[i].path), live[i]};
    bound_tags(reading);
    free(live);
}

static bool read_member(struct pl_member *member, struct reading *reading)
{
    struct pl_profile *profile;
    if (!pl_fleet_read(member, false, &profile))
        return false;
    *reading = (struct reading){
        .member = member,
        .live_bytes = profile->total[PL_METRIC_INUSE_SPACE].value,
        .live_blocks = profile->total[PL_METRIC_INUSE_OBJECTS].value,
        .allocated_bytes = profile->total[PL_METRIC_ALLOC_SPACE].value,
        .calls = profile->total[PL_METRIC_ALLOC_OBJECTS].value,
        .resident_bytes = read_resident(member->pid),
        .cost_s = profile->cost_s,
    };
    memcpy(reading->losses, profile->header.losses, sizeof reading->losses);
    read_tags(profile, reading);
    pl_profile_close(profile);
    return true;
}

/* --- writing --- */

struct readings {
    struct reading *reading;
    size_t count;
};

static void write_label_value(const char *text, FILE *out)
{
    char *clean = pl_say_clean(text);
    fputc('"', out);
    for (const char *at = clean; *at; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', out);
        fputc(*at, out);
    }
    fputc('"', out);
    free(clean);
}

static void write_labels(const struct reading *reading, const char *name, const char *value, FILE *out)
{
    fputs("{service_name=", out);
    write_label_value(reading->member->service, out);
    fprintf(out, ",pid=\"%d\"", reading->member->pid);
    if (name) {
        fprintf(out, ",%s=", name);
        write_label_value(value, out);
    }
    fputc('}', out);
}

static void write_head(const char *name, const char *type, const char *unit, const char *help, FILE *out)
{
    fprintf(out, "# TYPE %s %s\n", name, type);
    if (*unit)
        fprintf(out, "# UNIT %s %s\n", name, unit);
    fprintf(out, "# HELP %s %s\n", name, help);
}

static void write_metric(const struct readings *readings, const struct metric *metric, FILE *out)
{
    write_head(metric->name, metric->type, metric->unit, metric->help, out);
    for (size_t i = 0; i < readings->count; i++) {
        double value;
        memcpy(&value, (const char *) &readings->reading[i] + metric->at, sizeof value);
        fprintf(out, "%s%s", metric->name, strcmp(metric->type, "counter") ? "" : "_total");
        write_labels(&readings->reading[i], NULL, NULL, out);
        fprintf(out, " %.17g\n", value);
    }
}

static void write_losses(const struct readings *readings, FILE *out)
{
    write_head("plimsoll_losses", "counter", "", "What the profiler could not record, by reason.", out);
    for (size_t i = 0; i < readings->count; i++)
        for (int loss = 0; loss < PL_LOSS_COUNT; loss++)
            if (readings->reading[i].losses[loss]) {
                fputs("plimsoll_losses_total", out);
                write_labels(&readings->reading[i], "reason", pl_loss_info[loss].key, out);
                fprintf(out, " %llu\n", (unsigned long long) readings->reading[i].losses[loss]);
            }
}

static void write_tags(const struct readings *readings, FILE *out)
{
    write_head("plimsoll_tag_live_bytes", "gauge", "bytes", "Bytes on the heap that are not freed, by tag.", out);
    for (size_t i = 0; i < readings->count; i++)
        for (size_t t = 0; t < readings->reading[i].tags; t++) {
            fputs("plimsoll_tag_live_bytes", out);
            write_labels(&readings->reading[i], "tag", readings->reading[i].tag[t].path, out);
            fprintf(out, " %.17g\n", readings->reading[i].tag[t].live_bytes);
        }
}

static void write_all(void *context, FILE *out)
{
    const struct readings *readings = context;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        write_metric(readings, &metrics[i], out);
    write_losses(readings, out);
    write_tags(readings, out);
    fputs("# EOF\n", out);
}

static void free_readings(struct readings *readings)
{
    for (size_t i = 0; i < readings->count; i++) {
        for (size_t t = 0; t < readings->reading[i].tags; t++)
            free(readings->reading[i].tag[t].path);
        free(readings->reading[i].tag);
    }
    free(readings->reading);
}

void pl_answer_metrics(struct pl_fleet *fleet, const struct pl_question *question, const struct pl_place_served *place,
                       struct pl_answer *answer)
{
    struct readings readings = {.reading = pl_say_memory(calloc(fleet->count + 1, sizeof *readings.reading))};
    (void) question, (void) place;
    for (size_t i = 0; i < fleet->count; i++)
        readings.count += read_member(&fleet->member[i], &readings.reading[readings.count]);
    pl_answer_write(answer, write_all, &readings);
    free_readings(&readings);
}
