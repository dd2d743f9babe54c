/* SPDX-License-Identifier: MIT */
/*
 * scrape.c - profiles for those who scrape pprof, as the handlers of Go's net/http/pprof give them.
 *
 *   heap, allocs       everything since the start; they differ in the figure that is shown first
 *   ...?seconds=N      what changes in N seconds from now on
 *   delta_heap         what is live, and what was allocated since the last time that somebody asked
 *
 * One process is asked about by its pid, or all of a service, as their sum.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/proc.h"
#include "cli/say.h"
#include "cli/serve/answers.h"
#include "export/pprof.h"

#define METRICS (PL_DIGEST_LIVE | PL_DIGEST_ALLOCATED)
#define NS_PER_S 1000000000ull

/* Digests of some processes, and rows with figures of them. */
struct pl_seen {
    struct pl_digest_view *view;
    struct pl_digest **digest;
    struct pl_digest_row **row; /* of our own; NULL: those of the digest */
    size_t count;
    uint64_t time_ns;  /* CLOCK_REALTIME, when they were read */
    uint64_t since_ns; /* when what was allocated in them begins; 0: with the process */
};

void pl_seen_free(struct pl_seen *before)
{
    for (size_t i = 0; before && i < before->count; i++) {
        pl_digest_free(before->digest[i]);
        free(before->row[i]);
    }
    if (before) {
        free(before->view);
        free(before->digest);
        free(before->row);
    }
    free(before);
}

static void add(struct pl_seen *set, struct pl_digest *digest, struct pl_digest_row *row)
{
    size_t count = set->count + 1;
    set->view = pl_say_memory(realloc(set->view, count * sizeof *set->view));
    set->digest = pl_say_memory(realloc(set->digest, count * sizeof(*set->digest)));
    set->row = pl_say_memory(realloc(set->row, count * sizeof(*set->row)));
    set->view[set->count] = (struct pl_digest_view){
        .digest = digest, .row = row ? row : digest->row, .rows = digest->rows, .metrics = METRICS};
    set->digest[set->count] = digest;
    set->row[set->count++] = row;
}

/* --- which processes --- */

static bool is_asked(const struct pl_question *question, const struct pl_member *member)
{
    if (question->pid >= 0)
        return member->pid == question->pid;
    return !question->service || !strcmp(question->service, member->service);
}

static const char *find_fault(const struct pl_fleet *fleet, const struct pl_question *question, unsigned *status)
{
    size_t asked = 0;
    for (size_t i = 0; i < fleet->count; i++)
        asked += is_asked(question, &fleet->member[i]);
    bool named = question->pid >= 0 || question->service;
    *status = asked > 0 && !named ? 400 : 404;
    if (!asked)
        return "No such process is being profiled.\n";
    return asked > 1 && !named ? "Several processes are being profiled: add ?pid=PID or ?service=NAME.\n" : NULL;
}

/* --- reading them --- */

static void negate(struct pl_digest_row *row, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        for (int m = 0; m < PL_METRIC_COUNT; m++)
            row[i].value[m] = -row[i].value[m];
}

static struct pl_seen *read_all(struct pl_fleet *fleet, const struct pl_question *question, bool delta)
{
    struct pl_seen *set = pl_say_memory(calloc(1, sizeof *set));
    set->time_ns = pl_fleet_now_ns();
    for (size_t i = 0; i < fleet->count; i++) {
        struct pl_member *member = &fleet->member[i];
        struct pl_digest *digest = is_asked(question, member) ? pl_fleet_digest(fleet, member) : NULL;
        uint64_t since_ns = 0;
        if (!digest)
            continue;
        add(set, digest, delta ? pl_fleet_delta(fleet, member, digest, set->time_ns, &since_ns) : NULL);
        set->since_ns = delta && (!set->since_ns || since_ns < set->since_ns) ? since_ns : set->since_ns;
    }
    return set;
}

/* Turns what was seen before into what is to be subtracted, and adds it. */
static void subtract(struct pl_seen *now, struct pl_seen *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct pl_digest *digest = before->digest[i];
        struct pl_digest_row *row = pl_say_memory(calloc(digest->rows + 1ull, sizeof *row));
        memcpy(row, digest->row, digest->rows * sizeof *row);
        negate(row, digest->rows);
        add(now, before->digest[i], row);
    }
    now->since_ns = before->time_ns;
    before->count = 0;
}

/* --- writing --- */

struct written {
    const struct pl_seen *set;
    enum pl_metric metric;
};

static void write_sum(void *context, FILE *out)
{
    const struct written *written = context;
    const struct pl_seen *set = written->set;
    struct pl_digest *sum = pl_digest_join(set->view, (uint32_t) set->count, PL_DIGEST_SUM, NULL);
    struct pl_pprof pprof = {
        .view = {sum, sum->row, sum->rows, METRICS, set->time_ns, 0, written->metric},
        .relative = true,
        .block_sizes = true,
    };
    if (set->since_ns) {
        pprof.view.time_ns = set->since_ns;
        pprof.view.duration_ns = set->time_ns - set->since_ns;
    }
    pl_pprof_write(&pprof, out);
    pl_digest_free(sum);
}

static void give(struct pl_answer *answer, struct pl_seen *set, enum pl_metric metric)
{
    struct written written = {set, metric};
    if (set->count) {
        pl_answer_write(answer, write_sum, &written);
    } else {
        answer->status = 404;
        answer->why = "The process has ended.\n";
    }
    pl_seen_free(set);
}

static void answer_profile(struct pl_fleet *fleet, const struct pl_question *question, struct pl_answer *answer,
                           enum pl_metric metric)
{
    if (!answer->before) {
        answer->why = find_fault(fleet, question, &answer->status);
        if (answer->why)
            return;
    }
    struct pl_seen *now = read_all(fleet, question, false);
    if (question->seconds && !answer->before) {
        answer->before = now;
        answer->due_ns = pl_proc_now_ns() + (uint64_t) question->seconds * NS_PER_S;
        return;
    }
    if (answer->before && now->count)
        subtract(now, answer->before);
    answer->due_ns = 0;
    give(answer, now, metric);
}

void pl_answer_heap(struct pl_fleet *fleet, const struct pl_question *question, const struct pl_place_served *place,
                    struct pl_answer *answer)
{
    (void) place;
    answer_profile(fleet, question, answer, PL_METRIC_INUSE_SPACE);
}

void pl_answer_allocs(struct pl_fleet *fleet, const struct pl_question *question, const struct pl_place_served *place,
                      struct pl_answer *answer)
{
    (void) place;
    answer_profile(fleet, question, answer, PL_METRIC_ALLOC_SPACE);
}

void pl_answer_delta_heap(struct pl_fleet *fleet, const struct pl_question *question,
                          const struct pl_place_served *place, struct pl_answer *answer)
{
    (void) place;
    answer->why = find_fault(fleet, question, &answer->status);
    if (!answer->why && question->seconds) {
        answer->status = 400;
        answer->why = "delta_heap has no ?seconds: it lasts from one question to the next; use heap.\n";
    }
    if (!answer->why)
        give(answer, read_all(fleet, question, true), PL_METRIC_INUSE_SPACE);
}
