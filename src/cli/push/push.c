/* SPDX-License-Identifier: MIT */
/*
 * push.c - the push command: sends the profile of a process, or of all, to a store, at intervals. rounds.c does it.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>

#include "cli/names.h"
#include "cli/option.h"
#include "cli/push/rounds.h"
#include "cli/say.h"
#include "cli/subject.h"

static struct pl_rounds_options given = {.every_ns = PL_ROUNDS_EVERY};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "to", .takes = "STORE+URL", .help = "where to: " PL_STORE_NAMES ", a plus sign, and the address of the "
     "store, for example otlp+http://127.0.0.1:4318", .type = &pl_type_text, .into = &given.store.to},
    {.name = "every", .takes = "TIME", .fallback = "15s", .help = "how often, less up to a tenth at random",
     .type = &pl_type_time, .into = &given.every_ns, .min = PL_ROUNDS_LEAST, .max = PL_ROUNDS_MOST, .example = "15s"},
    {.name = "once", .help = "send what is live now, and end", .type = &pl_type_flag, .into = &given.once},
    {.name = "service", .takes = "NAME", .fallback = "$OTEL_SERVICE_NAME of the process, or its program",
     .help = "the name of the service", .type = &pl_type_text, .into = &given.service},
    {.name = "state", .takes = "DIRECTORY", .fallback = "none", .help = "remember in DIRECTORY what has been sent, and "
     "go on from there when `push` is started again", .type = &pl_type_text, .into = &given.state},
    {.name = "token-file", .takes = "FILE", .help = "send the token in FILE as `Authorization: Bearer TOKEN`; it is read "
     "again each time", .type = &pl_type_text, .into = &given.store.token_file},
    {.name = "tenant", .takes = "NAME", .help = "send `X-Scope-OrgID: NAME`, as Pyroscope wants it with several tenants",
     .type = &pl_type_text, .into = &given.store.tenant},
    {.name = "ca", .takes = "FILE", .fallback = "the system's", .help = "certificates (PEM) that sign the store's",
     .type = &pl_type_text, .into = &given.store.ca},
    {.name = "addresses", .help = "send addresses and build-ids instead of names, for stores that look them up",
     .type = &pl_type_flag, .into = &given.store.no_names},
    {0},
};
/* clang-format on */

static enum pl_exit find_process(const char *typed, pid_t *out)
{
    char *path = NULL;
    pid_t pid = pl_subject_pid(typed);
    if (pid < 0)
        return pl_say_usage("%s: not a PID; a finished profile can be sent with `%s export --format otlp` and curl",
                            typed, pl_say_self());
    enum pl_exit status = pl_subject_live(pid, &path);
    free(path);
    *out = pid;
    return status;
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

static int push_main(int argc, char **argv)
{
    struct pl_names_options names = {.quiet = true};
    struct pl_simplify *rules;
    if (argc > 1)
        return pl_say_usage("push takes one PID, or none for all processes that `%s ls` lists", pl_say_self());
    enum pl_exit status = pl_sender_check(&given.store);
    if (status == PL_EXIT_OK && argc)
        status = find_process(argv[0], &given.only);
    if (status == PL_EXIT_OK)
        status = pl_names_read(&names, &rules);
    return status == PL_EXIT_OK ? pl_rounds(&given, rules, block_signals()) : status;
}

const struct pl_command pl_command_push = {
    .name = "push",
    .arguments = "[PID]",
    .summary = "send profiles of a process, or of all, to OpenTelemetry, Pyroscope or Parca",
    .details =
        "Sends the profile of a running process to a store, until the process ends or Ctrl-C: each time what is live "
        "(duration 0), and what was allocated since the last time (duration: since then). Stores add the second kind "
        "up, so nothing is sent twice. It begins when `push` does: what the process allocated before is not sent. The "
        "last time, it says how the process ended.\n"
        "\n"
        "Without PID, it sends the profiles of all processes, also of those that begin later; of these, everything "
        "that they have allocated. Processes that end before anything was sent of them are added up, by service.\n"
        "\n"
        "If the store is down or refuses, nothing is lost and nothing is kept: the next request that succeeds has all "
        "since the last one that did. If an answer does not come, the store may have the data, and it is not sent "
        "again. With --state, that also holds if `push` is killed and started again.\n"
        "\n"
        "The process is not disturbed, and need not be reached by a network. Proxies are those of libcurl: "
        "$https_proxy, $no_proxy.",
    .examples = "plimsoll push --to otlp+http://127.0.0.1:4318 PID\n"
                "plimsoll push --to pyroscope+https://profiles.example --tenant web --token-file token PID\n"
                "plimsoll push --to parca+http://127.0.0.1:7070 --every 30s --state /var/lib/plimsoll",
    .statuses = "1: the last request failed.",
    .options = options,
    .main = push_main,
};
