/* SPDX-License-Identifier: MIT */
/*
 * directory.c - lists the processes: a page for people, and targets for Prometheus's HTTP service discovery.
 *
 * Names of services come from the processes. In the page they are escaped, and the page has no script; its security
 * policy forbids any.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/serve/answers.h"
#include "export/json.h"

struct listed {
    const struct pl_fleet *fleet;
    const struct pl_place_served *place;
};

/* --- for people --- */

static void write_escaped(const char *text, FILE *out)
{
    static const struct {
        char character;
        const char *written;
    } escapes[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (; *text; text++) {
        const char *written = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            written = escapes[i].character == *text ? escapes[i].written : written;
        if (written)
            fputs(written, out);
        else
            fputc((unsigned char) *text < ' ' ? '?' : *text, out);
    }
}

static void write_member(const struct pl_member *member, FILE *out)
{
    static const char *const kinds[] = {"heap", "allocs", "delta_heap"};
    fprintf(out, "<tr><td>%d</td><td>", member->pid);
    write_escaped(member->service, out);
    fputs("</td><td>", out);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(out, "<a href=\"/debug/pprof/%s?pid=%d\">%s</a> ", kinds[i], member->pid, kinds[i]);
    fprintf(out, "</td><td><code>plimsoll view %d</code></td></tr>\n", member->pid);
}

static void write_index(void *context, FILE *out)
{
    const struct listed *listed = context;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>plimsoll serve</title>\n"
          "<h1>Processes that are being profiled</h1>\n"
          "<table><tr><th>PID</th><th>Service</th><th>pprof</th><th>Live page</th></tr>\n",
          out);
    for (size_t i = 0; i < listed->fleet->count; i++)
        write_member(&listed->fleet->member[i], out);
    fputs("</table>\n<p><a href=\"/metrics\">metrics</a>, <a href=\"/targets/metrics\">targets/metrics</a>, "
          "<a href=\"/targets/pprof\">targets/pprof</a></p>\n</html>\n",
          out);
}

void pl_answer_index(struct pl_fleet *fleet, const struct pl_question *question, const struct pl_place_served *place,
                     struct pl_answer *answer)
{
    (void) question;
    pl_answer_write(answer, write_index, &(struct listed){fleet, place});
}

/* --- for Prometheus --- */

/* A target, which is this server. Its labels are complete, except those that the caller adds. */
static void begin_target(struct pl_json *json, const struct pl_place_served *place)
{
    pl_json_separate(json);
    pl_json_begin(json, '{');
    pl_json_key(json, "targets");
    pl_json_begin(json, '[');
    pl_json_text(json, place->host);
    pl_json_end(json, ']');
    pl_json_key(json, "labels");
    pl_json_begin(json, '{');
    pl_json_add_text(json, "__scheme__", place->tls ? "https" : "http");
}

static void end_target(struct pl_json *json)
{
    pl_json_end(json, '}');
    pl_json_end(json, '}');
}

static void write_targets_metrics(void *context, FILE *out)
{
    const struct listed *listed = context;
    struct pl_json json = {.out = out};
    pl_json_begin(&json, '[');
    begin_target(&json, listed->place);
    pl_json_add_text(&json, "__metrics_path__", "/metrics");
    end_target(&json);
    pl_json_end(&json, ']');
    fputc('\n', out);
}

static void write_targets_pprof(void *context, FILE *out)
{
    const struct listed *listed = context;
    struct pl_json json = {.out = out};
    pl_json_begin(&json, '[');
    for (size_t i = 0; i < listed->fleet->count; i++) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", listed->fleet->member[i].pid);
        begin_target(&json, listed->place);
        pl_json_add_text(&json, "__param_pid", pid);
        pl_json_add_text(&json, "pid", pid);
        pl_json_add_text(&json, "service_name", listed->fleet->member[i].service);
        end_target(&json);
    }
    pl_json_end(&json, ']');
    fputc('\n', out);
}

void pl_answer_targets_metrics(struct pl_fleet *fleet, const struct pl_question *question,
                               const struct pl_place_served *place, struct pl_answer *answer)
{
    (void) question;
    pl_answer_write(answer, write_targets_metrics, &(struct listed){fleet, place});
}

void pl_answer_targets_pprof(struct pl_fleet *fleet, const struct pl_question *question,
                             const struct pl_place_served *place, struct pl_answer *answer)
{
    (void) question;
    pl_answer_write(answer, write_targets_pprof, &(struct listed){fleet, place});
}
