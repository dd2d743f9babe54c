/* SPDX-License-Identifier: MIT */
/*
 * push.c - the push command: sends the profile of a process to a store, at intervals.
 *
 * Each time it sends what is live, with duration 0, and what was allocated since the last time that something was sent.
 * If the store is down, nothing is kept: the next request that gets through has everything since the last one that did,
 * with the true duration. So an outage loses no allocation, and needs no room.
 *
 * Invariant: what was allocated counts as sent once the store may have it. If it accepted the data but its answer got
 * lost, the allocations are not sent again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/option.h"
#include "cli/proc.h"
#include "cli/serve/curl.h"
#include "cli/serve/fleet.h"
#include "cli/serve/stores.h"
#include "cli/subject.h"
#include "export/gzip.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define EVERY_LEAST NS_PER_S
#define EVERY_MOST (3600 * NS_PER_S)
#define TIMEOUT_MS 30000L
#define JITTER_PARTS 10 /* an interval is shorter by up to one part in so many */

static struct {
    const char *to;
    uint64_t every_ns;
    const char *token_file, *tenant, *service, *ca;
    bool once, no_names;
} given = {.every_ns = 15 * NS_PER_S};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "to", .takes = "STORE+URL", .help = "where to: " PL_STORE_NAMES ", a plus sign, and the address of the "
     "store, for example otlp+http://127.0.0.1:4318", .type = &pl_type_text, .into = &given.to},
    {.name = "every", .takes = "TIME", .fallback = "15s", .help = "how often, less up to a tenth at random",
     .type = &pl_type_time, .into = &given.every_ns, .min = EVERY_LEAST, .max = EVERY_MOST, .example = "15s"},
    {.name = "once", .help = "send what is live now, and end", .type = &pl_type_flag, .into = &given.once},
    {.name = "service", .takes = "NAME", .fallback = "$OTEL_SERVICE_NAME of the process, or its program",
     .help = "the name of the service", .type = &pl_type_text, .into = &given.service},
    {.name = "token-file", .takes = "FILE", .help = "send the token in FILE as `Authorization: Bearer TOKEN`; it is read "
     "again each time", .type = &pl_type_text, .into = &given.token_file},
    {.name = "tenant", .takes = "NAME", .help = "send `X-Scope-OrgID: NAME`, as Pyroscope wants it with several tenants",
     .type = &pl_type_text, .into = &given.tenant},
    {.name = "ca", .takes = "FILE", .fallback = "the system's", .help = "certificates (PEM) that sign the store's",
     .type = &pl_type_text, .into = &given.ca},
    {.name = "addresses", .help = "send addresses and build-ids instead of names, for stores that look them up",
     .type = &pl_type_flag, .into = &given.no_names},
    {0},
};
/* clang-format on */

struct pusher {
    const struct pl_store *store;
    char *url;
    struct pl_fleet fleet;
    struct pl_member *member;
    CURL *curl;
    int signals, process;
    bool failing; /* the last request failed, and that has been said */
};

/* --- the store --- */

static enum pl_exit refuse_to(void)
{
    return pl_say_usage("--to %s: not a store; give " PL_STORE_NAMES ", a plus sign and an address, for example "
                        "pyroscope+https://profiles.example",
                        given.to);
}

static enum pl_exit find_store(struct pusher *pusher)
{
    const char *plus = given.to ? strchr(given.to, '+') : NULL, *url = plus ? plus + 1 : "";
    if (!given.to)
        return pl_say_usage("push needs --to STORE+URL, for example --to otlp+http://127.0.0.1:4318");
    pusher->store = plus ? pl_store_find(given.to, (size_t) (plus - given.to)) : NULL;
    if (!pusher->store || (strncmp(url, "http://", 7) && strncmp(url, "https://", 8)))
        return refuse_to();
    const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
    if (!*host || host == path)
        return refuse_to();
    pusher->url = path && path[1] ? pl_say_print("%s", url)
                                  : pl_say_print("%.*s%s", (int) (path ? path - url : (long) strlen(url)), url,
                                                 pusher->store->path);
    return PL_EXIT_OK;
}

/* --- a request --- */

enum outcome { SENT, UNCERTAIN, FAILED };

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void) data, (void) context;
    return size * count;
}

/* The line in the file. NULL: there is none. The caller frees it. */
static char *read_token(void)
{
    char token[4096] = "";
    FILE *file = fopen(given.token_file, "re");
    if (!file || !fgets(token, sizeof token, file))
        pl_say("cannot read %s: %m", given.token_file);
    if (file)
        fclose(file);
    token[strcspn(token, " \t\r\n")] = 0;
    return *token ? pl_say_print("Authorization: Bearer %s", token) : NULL;
}

static struct curl_slist *add_header(struct curl_slist *list, char *header)
{
    struct curl_slist *longer = header ? pl_curl.slist_append(list, header) : list;
    free(header);
    return longer;
}

static struct curl_slist *make_headers(const struct pl_store *store)
{
    struct curl_slist *list = add_header(NULL, pl_say_print("Content-Type: %s", store->type));
    list = add_header(list, pl_say_print("Expect:")); /* no wait for 100 Continue */
    if (store->gzip)
        list = add_header(list, pl_say_print("Content-Encoding: gzip"));
    if (given.tenant)
        list = add_header(list, pl_say_print("X-Scope-OrgID: %s", given.tenant));
    return given.token_file ? add_header(list, read_token()) : list;
}

static void say_failure(struct pusher *pusher, const char *why)
{
    if (!pusher->failing)
        pl_say("%s: %s; what was allocated will be sent with the next request that succeeds", pusher->url, why);
    pusher->failing = true;
}

/* Errors that come before anything was sent. */
static bool reached_nobody(CURLcode code)
{
    static const CURLcode early[] = {CURLE_COULDNT_RESOLVE_PROXY,    CURLE_COULDNT_RESOLVE_HOST,
                                     CURLE_COULDNT_CONNECT,          CURLE_SSL_CONNECT_ERROR,
                                     CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE};
    for (size_t i = 0; i < sizeof early / sizeof *early; i++)
        if (early[i] == code)
            return true;
    return false;
}

static enum outcome judge(struct pusher *pusher, CURLcode code)
{
    long status = 0;
    char *type = NULL, why[160];
    if (code != CURLE_OK) {
        say_failure(pusher, pl_curl.easy_strerror(code));
        return reached_nobody(code) ? FAILED : UNCERTAIN;
    }
    pl_curl.easy_getinfo(pusher->curl, CURLINFO_RESPONSE_CODE, &status);
    pl_curl.easy_getinfo(pusher->curl, CURLINFO_CONTENT_TYPE, &type);
    bool ours = !type || !strncmp(type, pusher->store->answer, strlen(pusher->store->answer));
    if (status / 100 == 2 && ours) {
        if (pusher->failing)
            pl_say("%s: works again", pusher->url);
        pusher->failing = false;
        return SENT;
    }
    snprintf(why, sizeof why, status / 100 == 2 ? "not a store: it answers with %.80s" : "the store answers %.0s%ld",
             type ? type : "", status);
    say_failure(pusher, why);
    return FAILED;
}

static enum outcome post(struct pusher *pusher, const char *body, size_t bytes)
{
    struct curl_slist *headers = make_headers(pusher->store);
    CURL *curl = pusher->curl;
    pl_curl.easy_reset(curl);
    pl_curl.easy_setopt(curl, CURLOPT_URL, pusher->url);
    pl_curl.easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) bytes);
    pl_curl.easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    pl_curl.easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    pl_curl.easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    pl_curl.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    pl_curl.easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L); /* on a reused connection, libcurl may send it twice */
    pl_curl.easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    if (given.ca)
        pl_curl.easy_setopt(curl, CURLOPT_CAINFO, given.ca);
    enum outcome outcome = judge(pusher, pl_curl.easy_perform(curl));
    pl_curl.slist_free_all(headers);
    return outcome;
}

/* --- what is sent --- */

static enum outcome send_parcel(struct pusher *pusher, const struct pl_parcel *parcel)
{
    char *body = NULL;
    size_t bytes = 0;
    FILE *memory = pl_say_memory(open_memstream(&body, &bytes));
    FILE *packed = pusher->store->gzip ? pl_gzip_open(memory) : memory;
    pusher->store->write(parcel, packed);
    if (packed != memory)
        fclose(packed);
    fclose(memory);
    enum outcome outcome = post(pusher, body, bytes);
    free(body);
    return outcome;
}

/* A service's instance is a process: the same name as long as it lives, whoever sends. */
static char *name_instance(const struct pl_member *member, const char *host)
{
    return pl_say_print("%s:%d:%llu", host, member->pid, (unsigned long long) member->header.start_realtime_ns);
}

/* Sends once. What was allocated then counts as sent unless the store cannot have it. */
static void push(struct pusher *pusher)
{
    struct pl_member *member = pusher->member;
    struct pl_digest *digest = pl_fleet_digest(&pusher->fleet, member);
    char host[256] = "", pid[16];
    uint64_t now_ns = pl_fleet_now_ns(), since_ns;
    if (!digest)
        return;
    gethostname(host, sizeof host - 1);
    snprintf(pid, sizeof pid, "%d", member->pid);
    char *instance = name_instance(member, host);
    const struct pl_otlp_attribute who[] = {{"service.name", given.service ? given.service : member->service},
                                            {"service.instance.id", instance},
                                            {"host.name", host},
                                            {"process.pid", pid},
                                            {NULL, NULL}};
    struct pl_told told = pl_fleet_told(member);
    struct pl_digest_row *row = pl_fleet_delta(member, digest, now_ns, &since_ns);
    const struct pl_digest_view view[] = {
        {digest, digest->row, digest->rows, PL_DIGEST_LIVE, now_ns, 0, PL_METRIC_INUSE_SPACE},
        {digest, row, digest->rows, PL_DIGEST_ALLOCATED, since_ns, now_ns - since_ns, PL_METRIC_ALLOC_SPACE},
    };
    struct pl_parcel parcel = {who, view, told.last ? 2 : 1, given.no_names}; /* the first time nothing is new */
    if (send_parcel(pusher, &parcel) == FAILED)
        pl_fleet_untell(member, &told);
    else
        free(told.last);
    free(row);
    free(instance);
    pl_digest_free(digest);
}

/* --- the process --- */

/* The profile stays readable when it is moved after the process has ended. */
static bool hold(struct pusher *pusher)
{
    int file = open(pusher->member->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    pusher->process = (int) syscall(SYS_pidfd_open, pusher->member->pid, 0);
    if (file < 0 || pusher->process < 0)
        return false;
    free(pusher->member->path);
    pusher->member->path = pl_say_print("/proc/self/fd/%d", file);
    return true;
}

static enum pl_exit find_process(struct pusher *pusher, const char *typed)
{
    char *path = NULL;
    pid_t pid = pl_subject_pid(typed);
    if (pid < 0)
        return pl_say_usage("%s: not a PID; a finished profile can be sent with `%s export --format otlp` and curl",
                            typed, pl_say_self());
    enum pl_exit status = pl_subject_live(pid, &path);
    free(path);
    if (status != PL_EXIT_OK)
        return status;
    pl_fleet_look(&pusher->fleet);
    pusher->member = pl_fleet_find(&pusher->fleet, pid);
    if (!pusher->member || !hold(pusher))
        return pl_say_failure("process %d has just ended", pid);
    return PL_EXIT_OK;
}

/* --- again and again --- */

/* A little less than the interval, so that many machines do not send at the same moment. */
static int next_wait_ms(void)
{
    uint64_t every_ms = given.every_ns / NS_PER_MS, spread = every_ms / JITTER_PARTS + 1;
    return (int) (every_ms - (uint64_t) random() % spread);
}

static void follow(struct pusher *pusher)
{
    struct pollfd event[] = {{.fd = pusher->signals, .events = POLLIN}, {.fd = pusher->process, .events = POLLIN}};
    push(pusher);
    while (!given.once && !event[0].revents && !event[1].revents) {
        int ready = poll(event, 2, next_wait_ms());
        if (ready < 0 && errno != EINTR)
            return;
        if (ready >= 0)
            push(pusher); /* at the end, too: what the process did last is the most interesting */
    }
    if (event[1].revents)
        pl_say("process %d has ended", pusher->member->pid);
}

static int block_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    return signalfd(-1, &ending, SFD_CLOEXEC);
}

static enum pl_exit run(struct pusher *pusher, const char *typed)
{
    struct pl_names_options names = {.quiet = true};
    enum pl_exit status = find_store(pusher);
    if (status == PL_EXIT_OK)
        status = find_process(pusher, typed);
    if (status == PL_EXIT_OK)
        status = pl_names_read(&names, &pusher->fleet.rules);
    if (status != PL_EXIT_OK)
        return status;
    if (!pl_curl_load())
        return pl_say_failure("cannot send without " PL_CURL_LIBRARY "; install libcurl");
    srandom((unsigned) pl_proc_now_ns());
    pusher->signals = block_signals();
    pusher->curl = pl_curl.easy_init();
    pl_say_memory(pusher->curl);
    follow(pusher);
    pl_curl.easy_cleanup(pusher->curl);
    return pusher->failing ? PL_EXIT_FAILURE : PL_EXIT_OK;
}

static int push_main(int argc, char **argv)
{
    struct pusher pusher = {.process = -1};
    if (argc != 1)
        return pl_say_usage("push needs one PID; `%s ls` lists the processes that are being profiled", pl_say_self());
    enum pl_exit status = run(&pusher, argv[0]);
    pl_fleet_free(&pusher.fleet);
    free(pusher.url);
    return status;
}

const struct pl_command pl_command_push = {
    .name = "push",
    .arguments = "PID",
    .summary = "send the profile of a process to OpenTelemetry, Pyroscope or Parca",
    .details =
        "Sends the profile of a running process to a store, until the process ends or Ctrl-C: each time what is live "
        "(duration 0), and what was allocated since the last time (duration: since then). Stores add the second kind "
        "up, so nothing is sent twice. It begins when `push` does: what the process allocated before is not sent.\n"
        "\n"
        "If the store is down or refuses, nothing is lost and nothing is kept: the next request that succeeds has all "
        "since the last one that did. If an answer does not come, the store may have the data, and it is not sent "
        "again.\n"
        "\n"
        "The process is not disturbed, and need not be reached by a network. Proxies are those of libcurl: "
        "$https_proxy, $no_proxy.",
    .examples = "plimsoll push --to otlp+http://127.0.0.1:4318 PID\n"
                "plimsoll push --to pyroscope+https://profiles.example --tenant web --token-file token PID\n"
                "plimsoll push --to parca+http://127.0.0.1:7070 --every 30s --service indexer PID",
    .statuses = "1: the last request failed.",
    .options = options,
    .main = push_main,
};
