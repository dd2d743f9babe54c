/* SPDX-License-Identifier: MIT */
/*
 * view.c - the view command: serves the page to the user's browser; for a running process, live.
 *
 * The server's thread serves the latest reading. This thread waits for three events: a request for a newer reading, the
 * end of the process, Ctrl-C. It reads the profile only on request, and uses at most a tenth of a core: after each
 * reading it waits nine times the CPU time that the reading took.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/view/browser.h"
#include "cli/view/observe.h"
#include "cli/view/pages.h"
#include "cli/proc.h"
#include "page/clients.h"
#include "page/feed.h"
#include "page/http.h"
#include "page/server.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define REST_FACTOR 9
#define REST_LEAST_NS NS_PER_S
#define END_DELAY_NS (NS_PER_S / 2) /* after a process has ended, until `plimsoll run` has recorded how it ended */
#define PORT_MAX 65535

static struct {
    struct pl_pages_options pages;
    uint64_t port;
    bool no_open;
} given = {.pages = {.command = "view", .select = PL_SELECT_NOTHING}};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "port", .letter = 'p', .takes = "N", .fallback = "a free port", .help = "port to serve on",
     .type = &pl_type_count, .into = &given.port, .min = 1, .max = PORT_MAX, .example = "8080"},
    {.name = "no-open", .help = "print the address, but do not open a browser", .type = &pl_type_flag,
     .into = &given.no_open},
    PL_PAGES_OPTIONS(given.pages),
    {0},
};
/* clang-format on */

struct viewer {
    const char *typed;
    struct pl_feed *feed;
    struct pl_server *server;
    struct pl_observe *observe; /* NULL: the profile does not change any more */
    bool replaced;              /* the process has executed another program, which has a profile of its own */
    bool failed;                /* the last reading failed; the error has been printed */
    uint64_t due_ns;            /* no reading before this time */
    int signals;
};

/* --- readings --- */

static enum pl_exit put(struct viewer *viewer, struct pl_pages *pages)
{
    int error = pl_feed_put(viewer->feed, pl_pages_write, pages);
    pl_pages_close(pages);
    return error ? pl_say_failure("cannot make the page: %s", strerror(-error)) : PL_EXIT_OK;
}

/* CPU time of this thread, which makes the readings. */
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
    viewer->due_ns = pl_proc_now_ns() + (rest_ns > REST_LEAST_NS ? rest_ns : REST_LEAST_NS);
    return status;
}

/* A selection that is empty in the first reading is an error; in later readings it may come and go. */
static enum pl_exit read_first(struct viewer *viewer, int argc, char **argv)
{
    struct pl_pages pages;
    viewer->typed = argv[argc - 1];
    viewer->observe = argc == 1 && !given.pages.select.snapshot ? pl_observe_open(argv[0]) : NULL;
    if (viewer->observe) {
        enum pl_exit status = read_again(viewer, true);
        given.pages.select.may_be_empty = true;
        viewer->due_ns = 0; /* no wait: names are looked up once, so the next reading is cheaper */
        return status;
    }
    enum pl_exit status = pl_pages_open(&given.pages, argc, argv, &pages);
    return status == PL_EXIT_OK ? put(viewer, &pages) : status;
}

static void stop_observing(struct viewer *viewer, const char *what)
{
    pl_say("process %d %s; the page shows its last state; Ctrl-C stops the server", pl_observe_pid(viewer->observe),
           what);
    pl_observe_close(viewer->observe);
    viewer->observe = NULL;
}

static void read_last(struct viewer *viewer)
{
    struct timespec pause = {.tv_nsec = END_DELAY_NS};
    nanosleep(&pause, NULL);
    read_again(viewer, false);
    stop_observing(viewer, "has ended");
}

static void read_next(struct viewer *viewer)
{
    pl_feed_clear_request(viewer->feed);
    read_again(viewer, true);
    if (viewer->replaced)
        stop_observing(viewer, "has become another program");
}

/* --- what happens --- */

/* The events to wait for. Requests for a newer reading are ignored until a reading is due, and without a process. */
enum { SIGNAL, END, REQUEST, EVENTS };

static int wait_for(const struct viewer *viewer, struct pollfd event[EVENTS])
{
    uint64_t now_ns = pl_proc_now_ns();
    bool live = viewer->observe, due = now_ns >= viewer->due_ns;
    event[SIGNAL] = (struct pollfd){.fd = viewer->signals, .events = POLLIN};
    event[END] = (struct pollfd){.fd = live ? pl_observe_end(viewer->observe) : -1, .events = POLLIN};
    event[REQUEST] = (struct pollfd){.fd = live && due ? pl_feed_request(viewer->feed) : -1, .events = POLLIN};
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
        else if (event[REQUEST].revents)
            read_next(viewer);
    }
}

/* --- serving --- */

/* Called by the server's thread. Reports only the first client that was refused. */
static void say_turned_away(uint32_t user)
{
    static bool said;
    if (!said && user == PL_CLIENTS_UNKNOWN)
        pl_say("cannot identify the client's user (/proc/net/tcp); open the address above by hand");
    else if (!said)
        pl_say("refused a client of another user (uid %u)", user);
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
        return pl_say_failure("port %u needs root; choose one from 1024 on, or leave out --port", how.port);
    if (error == -ELIBACC)
        return pl_say_failure("cannot serve the page without " PL_HTTP_LIBRARY "; install libmicrohttpd, or use `%s "
                              "html`",
                              pl_say_self());
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
        pl_say("on your own machine, run: %s; then open the address in a browser there", tunnel);
    pl_say("%s; Ctrl-C stops the server", opens ? "opening it in your browser" : "open this address in a browser");
    free(tunnel);
    if (opens)
        pl_browser_open(pl_server_ticket(viewer->server));
}

/* Called before the server's thread starts, which inherits the mask: signals come to this thread only. */
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
    .arguments = "[FILE|PID [AFTER]]",
    .summary = "show a profile, or a running process, in your browser",
    .details =
        "Serves the interactive page, and opens it in your browser: the heap over time, flame graphs, tables of sites "
        "and functions, tags, threads, sizes, lifetimes, leaks. For a running process the page is live: it is updated "
        "while the program runs, and can be frozen. The process is not disturbed. A directory stands for the sum of "
        "the profiles in it. With two profiles, the page shows "
        "what has changed from the first to the second. " PL_SUBJECT_NEWEST "\n"
        "\n"
        "`view` prints the address to stdout. It contains a secret and is valid until Ctrl-C: anybody on this machine "
        "who has it can see the profile. Nobody else can, because only the loopback address is served.\n"
        "\n"
        "On a machine that you have logged in to by SSH, `view` prints the ssh command that forwards its port to your "
        "own machine. The port number must be the same on both sides; --port sets it.\n"
        "\n"
        "`plimsoll html` writes the same page to a file, to keep or to send.",
    .examples = "plimsoll view out.plim\n"
                "plimsoll view PID\n"
                "plimsoll view exact.plim out.plim  # what has changed\n"
                "plimsoll view --no-open out.plim",
    .files = PL_NAMES_FILES,
    .reads_newest = true,
    .options = options,
    .main = view_main,
};
