/* SPDX-License-Identifier: MIT */
/*
 * viewer.c - the view command: the page, served to one's own browser; of a running process, live.
 *
 * The server's thread hands out what is there. This one waits: for somebody to want a newer reading, for the process to
 * end, for Ctrl-C. It reads when it is asked to, and never so often that it takes more than a tenth of a core: whatever
 * a reading took of one, there is nine times that until the next.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "browser.h"
#include "feed.h"
#include "follow.h"
#include "observe.h"
#include "pages.h"
#include "peer.h"
#include "server.h"
#include "summary.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define REST_FACTOR 9
#define REST_LEAST_NS NS_PER_S
#define LAST_WORDS_NS (NS_PER_S / 2) /* after a process has ended, until `plimsoll run` has written down how */
#define PORT_MAX 65535

static struct {
    struct pl_pages_options pages;
    uint64_t port;
    bool no_open;
} given = {.pages = {.command = "view", .select = PL_SELECT_NOTHING}};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "port", .letter = 'p', .takes = "N", .fallback = "one that is free", .help = "the port to serve on",
     .type = &pl_type_count, .into = &given.port, .min = 1, .max = PORT_MAX, .example = "8080"},
    {.name = "no-open", .help = "print the address, and open no browser", .type = &pl_type_flag,
     .into = &given.no_open},
    PL_PAGES_OPTIONS(given.pages),
    {0},
};
/* clang-format on */

struct viewer {
    const char *typed;
    struct pl_feed *feed;
    struct pl_server *server;
    struct pl_observe *observe; /* NULL: of what does not change any more */
    bool replaced;              /* its process has become another program, which has a profile of its own */
    bool failed;                /* the last reading; why has been said */
    uint64_t due_ns;            /* no reading before that */
    int signals;
};

/* --- readings --- */

static enum pl_exit put(struct viewer *viewer, struct pl_pages *pages)
{
    int error = pl_feed_put(viewer->feed, pl_pages_write, pages);
    pl_pages_close(pages);
    return error ? pl_say_failure("cannot make the page: %s", strerror(-error)) : PL_EXIT_OK;
}

/* Of this thread, which makes the readings. */
static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t) used.tv_sec * NS_PER_S + (uint64_t) used.tv_nsec;
}

/* Reads a process that is being observed; `live`: it will be read again. */
static enum pl_exit read_again(struct viewer *viewer, bool live)
{
    struct pl_subject_options how = pl_pages_reading(&given.pages);
    struct pl_profile *profile;
    struct pl_pages pages;
    uint64_t begin_ns = cpu_ns();
    pl_say_hush(viewer->failed);
    enum pl_exit status = pl_observe_read(viewer->observe, &how, &profile);
    if (status == PL_EXIT_OK) {
        viewer->replaced = profile->header.end == PL_END_EXEC;
        status = pl_pages_take(&given.pages, profile, viewer->typed, &pages);
    }
    if (status == PL_EXIT_OK) {
        pages.live = live && !viewer->replaced;
        status = put(viewer, &pages);
    }
    pl_say_hush(false);
    viewer->failed = status != PL_EXIT_OK;
    uint64_t rest_ns = REST_FACTOR * (cpu_ns() - begin_ns);
    viewer->due_ns = pl_follow_now_ns() + (rest_ns > REST_LEAST_NS ? rest_ns : REST_LEAST_NS);
    return status;
}

/* What was asked for need not be there yet in the next reading, nor still. */
static enum pl_exit read_first(struct viewer *viewer, int argc, char **argv)
{
    struct pl_pages pages;
    viewer->typed = argv[argc - 1];
    viewer->observe = argc == 1 && !given.pages.select.snapshot ? pl_observe_open(argv[0]) : NULL;
    if (viewer->observe) {
        enum pl_exit status = read_again(viewer, true);
        given.pages.select.may_be_empty = true;
        viewer->due_ns = 0; /* names are looked up once: the next takes less */
        return status;
    }
    enum pl_exit status = pl_pages_open(&given.pages, argc, argv, &pages);
    return status == PL_EXIT_OK ? put(viewer, &pages) : status;
}

static void look_away(struct viewer *viewer, const char *what)
{
    pl_say("process %d %s; the page shows how it was in the end. Ctrl-C ends this, too",
           pl_observe_pid(viewer->observe), what);
    pl_observe_close(viewer->observe);
    viewer->observe = NULL;
}

static void read_last(struct viewer *viewer)
{
    struct timespec pause = {.tv_nsec = LAST_WORDS_NS};
    nanosleep(&pause, NULL);
    read_again(viewer, false);
    look_away(viewer, "has ended");
}

static void read_next(struct viewer *viewer)
{
    pl_feed_granted(viewer->feed);
    read_again(viewer, true);
    if (viewer->replaced)
        look_away(viewer, "has become another program");
}

/* --- what happens --- */

/* What is waited for. A wish waits until a reading is due; without a process there is nothing to wish for. */
enum { SIGNAL, END, WISH, EVENTS };

static int wait_for(const struct viewer *viewer, struct pollfd event[EVENTS])
{
    uint64_t now_ns = pl_follow_now_ns();
    bool live = viewer->observe, due = now_ns >= viewer->due_ns;
    event[SIGNAL] = (struct pollfd){.fd = viewer->signals, .events = POLLIN};
    event[END] = (struct pollfd){.fd = live ? pl_observe_end(viewer->observe) : -1, .events = POLLIN};
    event[WISH] = (struct pollfd){.fd = live && due ? pl_feed_wish(viewer->feed) : -1, .events = POLLIN};
    int wait_ms = live && !due ? (int) ((viewer->due_ns - now_ns) / NS_PER_MS + 1) : -1;
    return poll(event, EVENTS, wait_ms);
}

static void serve(struct viewer *viewer)
{
    for (;;) {
        struct pollfd event[EVENTS];
        int events = wait_for(viewer, event);
        if (events < 0 && errno != EINTR)
            return;
        if (events <= 0)
            continue;
        if (event[SIGNAL].revents)
            return;
        if (event[END].revents)
            read_last(viewer);
        else if (event[WISH].revents)
            read_next(viewer);
    }
}

/* --- how people come to see it --- */

/* The server's thread says so, and once is enough. */
static void say_turned_away(uint32_t user)
{
    static bool said;
    if (!said && user == PL_PEER_UNKNOWN)
        pl_say("it cannot be found out whose browser has come (/proc/net/tcp); open the address above by hand");
    else if (!said)
        pl_say("a program of another user (%u) wanted to see the page, and was turned away", user);
    said = true;
}

static enum pl_exit start(struct viewer *viewer)
{
    struct pl_server_options how = {
        .port = (uint16_t) given.port, .feed = viewer->feed, .turned_away = say_turned_away};
    int error = pl_server_start(&how, &viewer->server);
    if (error == -EADDRINUSE)
        return pl_say_failure("port %u is in use; choose another, or leave out --port", how.port);
    if (error == -EACCES)
        return pl_say_failure("port %u is for root; choose one from 1024 on, or leave out --port", how.port);
    return error ? pl_say_failure("cannot serve the page: %s", strerror(-error)) : PL_EXIT_OK;
}

static void announce(const struct viewer *viewer)
{
    char *tunnel = pl_browser_tunnel(pl_server_port(viewer->server));
    bool opens = !given.no_open && pl_browser_here();
    puts(pl_server_url(viewer->server));
    pl_say_flush();
    if (viewer->observe)
        pl_say("process %d is running: the page follows it", pl_observe_pid(viewer->observe));
    if (tunnel)
        pl_say("on the machine you sit at, type: %s; then open the address in its browser", tunnel);
    pl_say("%s; Ctrl-C ends it", opens ? "opening it in your browser" : "open this address in a browser");
    free(tunnel);
    if (opens)
        pl_browser_open(pl_server_ticket(viewer->server));
}

/* Before there is a second thread: it takes no signals then. */
static int block_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &ending, SFD_CLOEXEC);
}

static enum pl_exit view(struct viewer *viewer, int argc, char **argv)
{
    enum pl_exit status = read_first(viewer, argc, argv);
    if (status == PL_EXIT_OK) {
        viewer->signals = block_signals();
        status = start(viewer);
    }
    if (status != PL_EXIT_OK)
        return status;
    announce(viewer);
    serve(viewer);
    pl_server_stop(viewer->server);
    close(viewer->signals);
    return status;
}

static int view_main(int argc, char **argv)
{
    enum pl_exit status = pl_pages_begin(&given.pages, argc, argv);
    if (status != PL_EXIT_OK)
        return status;
    struct viewer viewer = {.feed = pl_feed_new()};
    status = view(&viewer, argc, argv);
    pl_observe_close(viewer.observe);
    pl_feed_free(viewer.feed);
    pl_pages_end(&given.pages);
    return status;
}

const struct pl_command pl_command_view = {
    .name = "view",
    .arguments = "FILE|PID [AFTER]",
    .summary = "show a profile, or a running process, in your browser",
    .details =
        "Serves the interactive page to your browser, and opens it: the heap over time, flame graphs, tables of sites "
        "and functions, tags, threads, sizes, lifetimes, leaks. Of a running process the page is live: it moves while "
        "the program runs, and can be frozen. The process does not notice. With two profiles, the page shows what has "
        "changed from the first to the second.\n"
        "\n"
        "The address is printed to stdout. It has a secret in it, and is good until Ctrl-C: whoever has it can see the "
        "profile, if they are on this machine. Nobody else can: only the loopback address is served.\n"
        "\n"
        "On a machine that you have logged in to by SSH, `view` prints the command that brings its port to where you "
        "sit. The port number must be the same on both sides; --port chooses it.\n"
        "\n"
        "`plimsoll html` writes the same page to a file, to keep or to send.",
    .examples = "plimsoll view out.plim\n"
                "plimsoll view PID\n"
                "plimsoll view exact.plim out.plim  # what is different\n"
                "plimsoll view --no-open out.plim",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = view_main,
};
