/* SPDX-License-Identifier: MIT */
/*
 * rounds.c - see rounds.h.
 *
 * In each round every process tells what is live, with duration 0, and what was allocated since the last time that
 * something was sent of it. If the store is down, nothing is kept: a profile has all figures since its process began,
 * so the next request that gets through has everything since the last one that did, with the true duration. That is
 * also so when a process has ended: its profile is held open until its last figures are sent.
 *
 * A process that ended before anything was sent of it is added to a sum of its service: a build has thousands of them.
 *
 * Invariant: what was allocated counts as sent once the store may have it. If it accepted the data but its answer got
 * lost, the allocations are not sent again.
 */
#include "cli/push/rounds.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/names.h"
#include "cli/proc.h"
#include "cli/push/arrivals.h"
#include "cli/push/progress.h"
#include "cli/say.h"
#include "cli/serve/fleet.h"

#define NS_PER_MS 1000000ull
#define JITTER_PARTS 10        /* an interval is shorter by up to one part in so many */
#define BACKOFF_MOST 8         /* intervals, at most, while the store is down, */
#define BACKOFF_MOST_MS 300000 /* and time, unless the interval is longer */
#define BATCH_PARCELS 64       /* at most, in a request, */
#define BATCH_BYTES (2u << 20) /* and of digests, unless one has more */
#define ATTRIBUTES_MOST 48
#define KEY_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
#define VALUE_MOST 512
#define SUMS_MOST 64 /* services whose ended processes are added up; the last one is that of all others */
#define FILES_MOST 65536
#define YOUNG_MOST 512

/* Processes of a service that ended before anything was sent of them. */
struct sum {
    char *service;
    struct pl_digest *digest; /* NULL: none yet */
    uint64_t processes, since_ns;
};

/* What is sent of a process, or of a sum. */
struct item {
    struct pl_member *member; /* NULL: of a sum */
    struct sum *sum;
    struct pl_digest *digest;
    struct pl_digest_row *row;
    struct pl_told told;
    struct pl_digest_view view[2];
    struct pl_otlp_attribute who[ATTRIBUTES_MOST + 1];
    char *text[2 * ATTRIBUTES_MOST]; /* of attributes, to be freed */
    size_t attributes, texts;
};

struct rounds {
    struct pl_rounds_options given;
    struct pl_fleet fleet;
    struct pl_sender *sender;
    struct pl_progress *progress;
    struct pl_arrivals *arrivals;
    int young[YOUNG_MOST]; /* profiles that have appeared, of processes that nobody has seen */
    size_t young_count;
    uint64_t missed; /* profiles for which there was no room */
    struct sum sum[SUMS_MOST];
    size_t sums;
    struct item item[BATCH_PARCELS];
    uint32_t items;
    size_t batch_bytes;
    bool down; /* in this round */
    unsigned failures;
    char host[256];
};

/* --- attributes --- */

static char *keep_text(struct item *item, char *text)
{
    return item->text[item->texts++] = text;
}

/* The first of a name counts. */
static void add_attribute(struct item *item, const char *key, const char *value)
{
    for (size_t i = 0; i < item->attributes; i++)
        if (!strcmp(item->who[i].key, key))
            return;
    if (item->attributes < ATTRIBUTES_MOST && value && *value)
        item->who[item->attributes++] = (struct pl_otlp_attribute){key, value};
}

static void undo_percents(char *text)
{
    char *to = text;
    unsigned character;
    for (; *text; text++, to++) {
        bool percent = *text == '%' && isxdigit((unsigned char) text[1]) && isxdigit((unsigned char) text[2]) &&
                       sscanf(text + 1, "%2x", &character) == 1 && character;
        *to = percent ? (char) character : *text;
        text += percent ? 2 : 0;
    }
    *to = 0;
}

/* KEY=VALUE,KEY=VALUE, as $OTEL_RESOURCE_ATTRIBUTES has them. */
static void add_list(struct item *item, const char *list)
{
    char *saved = NULL, *copy = list ? keep_text(item, pl_say_print("%s", list)) : NULL;
    for (char *word = copy ? strtok_r(copy, ",", &saved) : NULL; word; word = strtok_r(NULL, ",", &saved)) {
        char *equals = strchr(word, '=');
        if (!equals || equals == word)
            continue;
        *equals = 0;
        word += strspn(word, " ");
        if (word[strspn(word, KEY_CHARACTERS)] || strlen(equals + 1) > VALUE_MOST)
            continue;
        undo_percents(equals + 1);
        char *value = pl_say_clean(equals + 1);
        if (item->attributes < ATTRIBUTES_MOST && item->texts < sizeof item->text / sizeof *item->text - 4)
            add_attribute(item, word, keep_text(item, value));
        else
            free(value);
    }
}

static void add_service(struct rounds *rounds, struct item *item, const char *service, char *instance)
{
    /* A process chooses its name: stores want UTF-8, and nobody wants control characters. */
    add_attribute(item, "service.name",
                  keep_text(item, pl_say_clean(rounds->given.service ? rounds->given.service : service)));
    add_attribute(item, "service.instance.id", keep_text(item, instance));
    add_attribute(item, "host.name", rounds->host);
}

/* A service's instance is a process: the same name as long as it lives, whoever sends. */
static void describe_member(struct rounds *rounds, struct item *item)
{
    const struct pl_member *member = item->member;
    add_service(
        rounds, item, member->service,
        pl_say_print("%s:%d:%llu", rounds->host, member->pid, (unsigned long long) member->header.start_realtime_ns));
    add_attribute(item, "process.pid", keep_text(item, pl_say_print("%d", member->pid)));
    add_attribute(item, "container.id", member->container);
    if (member->held.ended)
        add_attribute(item, "plimsoll.end", member->held.ending);
    add_list(item, member->attributes);
    add_list(item, getenv("OTEL_RESOURCE_ATTRIBUTES"));
}

static void describe_sum(struct rounds *rounds, struct item *item)
{
    add_service(rounds, item, item->sum->service, pl_say_print("%s:ended", rounds->host));
    add_attribute(item, "plimsoll.processes",
                  keep_text(item, pl_say_print("%llu", (unsigned long long) item->sum->processes)));
    add_list(item, getenv("OTEL_RESOURCE_ATTRIBUTES"));
}

/* --- requests --- */

static void free_item(struct item *item)
{
    for (size_t i = 0; i < item->texts; i++)
        free(item->text[i]);
    free(item->row);
    free(item->told.last);
    if (item->member)
        pl_digest_free(item->digest);
}

static void settle(struct item *item, bool sent)
{
    if (sent && item->sum) {
        pl_digest_free(item->sum->digest);
        item->sum->digest = NULL;
        item->sum->processes = 0;
    }
    if (item->member && item->member->held.ended && sent)
        item->member->here = false; /* to be forgotten */
    if (item->member && !sent) {
        pl_fleet_untell(item->member, &item->told);
        item->told.last = NULL;
    }
}

static enum pl_sent send_items(struct rounds *rounds, uint32_t first, uint32_t count)
{
    struct pl_parcel parcel[BATCH_PARCELS] = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = &rounds->item[first + i];
        parcel[i] = (struct pl_parcel){item->who, item->view, item->sum || !item->row ? 1 : 2};
    }
    enum pl_sent sent = pl_sender_send(rounds->sender, parcel, count);
    if (sent == PL_SENT_REFUSED && count > 1)
        return sent;
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = &rounds->item[first + i];
        bool last = item->member && item->member->held.ended; /* what is refused now will always be */
        settle(item, sent == PL_SENT || sent == PL_SENT_PERHAPS || (sent == PL_SENT_REFUSED && last));
    }
    rounds->down |= sent == PL_SENT_NOT || sent == PL_SENT_PERHAPS;
    return sent;
}

/* If the store does not want a request, it may want all but one process. */
static void send_one_by_one(struct rounds *rounds)
{
    for (uint32_t i = 0; i < rounds->items; i++)
        if (rounds->down)
            settle(&rounds->item[i], false);
        else
            send_items(rounds, i, 1);
}

static void flush(struct rounds *rounds)
{
    if (!rounds->items)
        return;
    if (rounds->down || send_items(rounds, 0, rounds->items) == PL_SENT_REFUSED)
        if (rounds->down || rounds->items > 1)
            send_one_by_one(rounds);
    for (uint32_t i = 0; i < rounds->items; i++)
        free_item(&rounds->item[i]);
    rounds->items = 0;
    rounds->batch_bytes = 0;
}

static struct item *next_item(struct rounds *rounds, size_t bytes)
{
    if (rounds->items == BATCH_PARCELS || (rounds->items && rounds->batch_bytes + bytes > BATCH_BYTES))
        flush(rounds);
    struct item *item = &rounds->item[rounds->items++];
    *item = (struct item){0};
    rounds->batch_bytes += bytes;
    return item;
}

/* --- processes --- */

/* False: its profile cannot be read, or the store is down. */
static bool add_member(struct rounds *rounds, struct pl_member *member)
{
    struct pl_digest *digest = rounds->down ? NULL : pl_fleet_digest(&rounds->fleet, member);
    uint64_t now_ns = pl_fleet_now_ns(), since_ns;
    if (!digest)
        return false;
    struct item *item = next_item(rounds, digest->bytes);
    item->member = member;
    item->digest = digest;
    item->told = pl_fleet_told(member);
    bool both = member->last || pl_fleet_is_new(&rounds->fleet, member); /* else nothing is new yet */
    struct pl_digest_row *row = pl_fleet_delta(&rounds->fleet, member, digest, now_ns, &since_ns);
    item->view[0] =
        (struct pl_digest_view){digest, digest->row, digest->rows, PL_DIGEST_LIVE, now_ns, 0, PL_METRIC_INUSE_SPACE};
    item->view[1] = (struct pl_digest_view){
        digest, row, digest->rows, PL_DIGEST_ALLOCATED, since_ns, now_ns - since_ns, PL_METRIC_ALLOC_SPACE};
    if (both)
        item->row = row;
    else
        free(row);
    describe_member(rounds, item);
    return true;
}

/* --- sums --- */

static struct sum *find_sum(struct rounds *rounds, const char *service)
{
    size_t i = 0;
    while (i < rounds->sums && strcmp(rounds->sum[i].service, service))
        i++;
    if (i == rounds->sums && rounds->sums == SUMS_MOST)
        return &rounds->sum[SUMS_MOST - 1];
    if (i == rounds->sums)
        rounds->sum[rounds->sums++] =
            (struct sum){.service = pl_say_print("%s", i == SUMS_MOST - 1 ? "(others)" : service)};
    return &rounds->sum[i];
}

/* A process that has ended, and of which nothing was sent. */
static void add_to_sum(struct rounds *rounds, struct pl_member *member)
{
    struct pl_digest *digest = pl_fleet_digest(&rounds->fleet, member);
    struct sum *sum = find_sum(rounds, member->service);
    if (!digest) {
        rounds->missed++;
        return;
    }
    const struct pl_digest_view view[] = {
        {digest, digest->row, digest->rows, PL_DIGEST_ALLOCATED, 0, 0, PL_METRIC_ALLOC_SPACE},
        {sum->digest, sum->digest ? sum->digest->row : NULL, sum->digest ? sum->digest->rows : 0, PL_DIGEST_ALLOCATED,
         0, 0, PL_METRIC_ALLOC_SPACE}};
    struct pl_digest *joined = pl_digest_join(view, sum->digest ? 2 : 1, PL_DIGEST_SUM, NULL);
    pl_digest_free(sum->digest);
    pl_digest_free(digest);
    if (!sum->processes++ || member->header.start_realtime_ns < sum->since_ns)
        sum->since_ns = member->header.start_realtime_ns;
    sum->digest = joined;
}

static void add_sum(struct rounds *rounds, struct sum *sum)
{
    uint64_t now_ns = pl_fleet_now_ns();
    if (!sum->digest || rounds->down)
        return;
    struct item *item = next_item(rounds, sum->digest->bytes);
    item->sum = sum;
    item->digest = sum->digest;
    item->view[0] =
        (struct pl_digest_view){sum->digest,   sum->digest->row,       sum->digest->rows,    PL_DIGEST_ALLOCATED,
                                sum->since_ns, now_ns - sum->since_ns, PL_METRIC_ALLOC_SPACE};
    describe_sum(rounds, item);
}

/* --- who has come and gone --- */

static void take_arrival(struct rounds *rounds, int file)
{
    enum pl_late late = pl_fleet_late(&rounds->fleet, file);
    if (late == PL_LATE_RUNS && rounds->young_count < YOUNG_MOST) {
        rounds->young[rounds->young_count++] = file;
        return;
    }
    rounds->missed += late == PL_LATE_RUNS;
    if (late != PL_LATE_TAKEN)
        close(file);
}

/* Whatever has appeared since the last look, and is not among the processes now, has ended. */
static void take_arrivals(struct rounds *rounds)
{
    size_t young = rounds->young_count;
    int waiting[YOUNG_MOST];
    memcpy(waiting, rounds->young, young * sizeof *waiting);
    rounds->young_count = 0;
    for (size_t i = 0; i < young; i++)
        take_arrival(rounds, waiting[i]);
    for (int file; (file = pl_arrivals_next(rounds->arrivals)) >= 0;)
        take_arrival(rounds, file);
    rounds->missed += pl_arrivals_missed(rounds->arrivals);
    if (rounds->missed) /* "up to": some are copies of profiles, or live long enough to be found later */
        pl_say("up to %llu short processes ended before they could be read; their figures are missing",
               (unsigned long long) rounds->missed);
    rounds->missed = 0;
}

/* Ended processes of which nothing was sent go to the sums at once, so that few descriptors are open. */
static void sum_up(struct rounds *rounds)
{
    struct pl_fleet *fleet = &rounds->fleet;
    size_t kept = 0;
    for (size_t i = 0; i < fleet->gone_count; i++)
        if (fleet->only || fleet->gone[i].last || !pl_fleet_is_new(fleet, &fleet->gone[i])) {
            fleet->gone[kept++] = fleet->gone[i];
        } else {
            add_to_sum(rounds, &fleet->gone[i]);
            pl_fleet_forget(fleet, &fleet->gone[i]);
        }
    fleet->gone_count = kept;
}

/* Only while no item is of a process that has ended: it may be forgotten here. */
static void take_ended(struct rounds *rounds)
{
    take_arrivals(rounds);
    sum_up(rounds);
}

static void look(struct rounds *rounds)
{
    struct pl_fleet *fleet = &rounds->fleet;
    char path[4096];
    pl_fleet_look(fleet);
    for (size_t i = 0; i < fleet->count && rounds->arrivals; i++) {
        ssize_t bytes = readlink(fleet->member[i].path, path, sizeof path - 1);
        path[bytes > 0 ? bytes : 0] = 0;
        char *slash = strrchr(path, '/');
        if (slash && slash > path && *path == '/') {
            *slash = 0;
            pl_arrivals_watch(rounds->arrivals, path);
        }
    }
    take_ended(rounds);
}

/* --- a round --- */

static uint64_t count_unsent(const struct rounds *rounds)
{
    uint64_t unsent = rounds->fleet.gone_count;
    for (size_t i = 0; i < rounds->sums; i++)
        unsent += rounds->sum[i].processes;
    return unsent;
}

/* `here` is true until the last figures of an ended process are sent. One whose profile cannot be read is forgotten. */
static void send_gone(struct rounds *rounds)
{
    struct pl_fleet *fleet = &rounds->fleet;
    size_t kept = 0;
    for (size_t i = 0; i < fleet->gone_count; i++) {
        fleet->gone[i].here = true;
        if (!add_member(rounds, &fleet->gone[i]) && !rounds->down)
            fleet->gone[i].here = false;
    }
    flush(rounds);
    for (size_t i = 0; i < fleet->gone_count; i++)
        if (fleet->gone[i].here)
            fleet->gone[kept++] = fleet->gone[i];
        else
            pl_fleet_forget(fleet, &fleet->gone[i]);
    fleet->gone_count = kept;
}

static void send_round(struct rounds *rounds)
{
    struct pl_fleet *fleet = &rounds->fleet;
    look(rounds);
    rounds->down = false;
    pl_progress_begin(rounds->progress);
    for (size_t i = 0; i < fleet->count; i++)
        if (add_member(rounds, &fleet->member[i]) && rounds->items == 1)
            take_ended(rounds); /* a request has been sent, which may have taken a while */
    flush(rounds);
    take_ended(rounds);
    send_gone(rounds);
    for (size_t i = 0; i < rounds->sums; i++)
        add_sum(rounds, &rounds->sum[i]);
    flush(rounds);
    pl_progress_end(rounds->progress, fleet, count_unsent(rounds));
    rounds->failures = rounds->down ? rounds->failures + 1 : 0;
}

/* --- again and again --- */

/* A little less than the interval, so that many machines do not send at the same moment; longer while the store is
 * down. */
static int next_wait_ms(const struct rounds *rounds)
{
    uint64_t every_ms = rounds->given.every_ns / NS_PER_MS, wait_ms = every_ms;
    for (unsigned i = 1; i < rounds->failures && wait_ms < BACKOFF_MOST * every_ms; i++)
        wait_ms *= 2;
    if (wait_ms > BACKOFF_MOST_MS)
        wait_ms = every_ms > BACKOFF_MOST_MS ? every_ms : BACKOFF_MOST_MS;
    uint64_t spread = wait_ms / JITTER_PARTS + 1;
    return (int) (wait_ms - (uint64_t) random() % spread);
}

/* Waits until the next round. False: there is none. Short processes that have come meanwhile are read at once, if they
 * are many. */
static bool wait_for_next(const struct rounds *rounds, int signals, int process)
{
    struct pollfd event[] = {{.fd = signals, .events = POLLIN},
                             {.fd = process, .events = POLLIN},
                             {.fd = pl_arrivals_event(rounds->arrivals), .events = POLLIN}};
    uint64_t due_ns = pl_proc_now_ns() + (uint64_t) next_wait_ms(rounds) * NS_PER_MS;
    for (;;) {
        uint64_t now_ns = pl_proc_now_ns();
        int left_ms = now_ns < due_ns ? (int) ((due_ns - now_ns) / NS_PER_MS) + 1 : 0;
        int ready = left_ms ? poll(event, 3, left_ms) : 0;
        if ((ready < 0 && errno != EINTR) || event[0].revents || event[1].revents)
            return false;
        if (!ready)
            return true;
        if (event[2].revents) {
            eventfd_t many;
            eventfd_read(event[2].fd, &many);
            look((struct rounds *) rounds);
        }
    }
}

/* What a process did last is the most interesting, so there is a round at the end, too. */
static void follow(struct rounds *rounds, int signals)
{
    int process = rounds->fleet.only && rounds->fleet.count ? rounds->fleet.member[0].held.process : -1;
    process = process >= 0 ? dup(process) : -1;
    bool more = true;
    send_round(rounds);
    while (more && !rounds->given.once) {
        more = wait_for_next(rounds, signals, process);
        rounds->fleet.looked_ns = 0;
        send_round(rounds);
        if (rounds->fleet.only && !rounds->fleet.count && process < 0)
            break;
    }
    if (rounds->fleet.only && !rounds->given.once && !rounds->fleet.count)
        pl_say("process %d has ended", rounds->fleet.only);
    if (process >= 0)
        close(process);
}

/* Each process needs two descriptors. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return;
    files.rlim_cur = files.rlim_max < FILES_MOST ? files.rlim_max : FILES_MOST;
    setrlimit(RLIMIT_NOFILE, &files);
}

static void watch_usual(struct rounds *rounds)
{
    const char *const usual[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("PLIMSOLL_LIVE_DIR")};
    if (rounds->fleet.only || rounds->given.once)
        return;
    rounds->arrivals = pl_arrivals_start();
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i] && *usual[i] == '/')
            pl_arrivals_watch(rounds->arrivals, usual[i]);
}

static enum pl_exit start(struct rounds *rounds, int signals)
{
    struct pl_fleet *fleet = &rounds->fleet;
    allow_files();
    watch_usual(rounds);
    pl_fleet_look(fleet);
    if (fleet->only && !fleet->count)
        return pl_say_failure("process %d has just ended", fleet->only);
    pl_progress_recall(rounds->progress, fleet);
    follow(rounds, signals);
    return pl_sender_failing(rounds->sender) ? PL_EXIT_FAILURE : PL_EXIT_OK;
}

enum pl_exit pl_rounds(const struct pl_rounds_options *options, struct pl_simplify *rules, int signals)
{
    struct rounds *rounds = pl_say_memory(calloc(1, sizeof *rounds));
    rounds->given = *options;
    rounds->fleet =
        (struct pl_fleet){.rules = rules, .holds = true, .only = options->only, .since_ns = pl_fleet_now_ns()};
    gethostname(rounds->host, sizeof rounds->host - 1);
    srandom((unsigned) pl_proc_now_ns());
    enum pl_exit status = pl_sender_open(&options->store, &rounds->sender);
    status = status == PL_EXIT_OK ? pl_progress_open(options->state, &rounds->progress) : status;
    status = status == PL_EXIT_OK ? start(rounds, signals) : status;
    pl_arrivals_stop(rounds->arrivals);
    for (size_t i = 0; i < rounds->young_count; i++)
        close(rounds->young[i]);
    for (size_t i = 0; i < rounds->sums; i++) {
        free(rounds->sum[i].service);
        pl_digest_free(rounds->sum[i].digest);
    }
    pl_sender_close(rounds->sender);
    pl_progress_close(rounds->progress);
    pl_fleet_free(&rounds->fleet);
    free(rounds);
    return status;
}
