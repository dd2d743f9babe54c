/* SPDX-License-Identifier: MIT */
/*
 * top.c - the top command: a live screen of a running process.
 *
 * The process does not take part: its profile is read as a file. A refresh reads figures only; names are read when
 * there are new stacks. After a reading that took long, the next one waits, so that top uses at most 3% of a core.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/option.h"
#include "cli/pager.h"
#include "cli/proc.h"
#include "cli/subject.h"
#include "cli/term.h"
#include "cli/top/keys.h"
#include "cli/top/screen.h"
#include "cli/top/terminal.h"
#include "cli/view/observe.h"
#include "reader/base/grow.h"
#include "reader/describe.h"

#define NS_PER_S 1e9
#define SHARE_OF_CORE 0.03
#define INTERVAL_DEFAULT_NS 1000000000ull
#define INTERVAL_MIN_NS 250000000ull
#define INTERVAL_MAX_NS 3600000000000ull
#define END_DELAY_NS 300000000 /* after a process has ended, until `plimsoll run` has recorded how it ended */
#define ONCE_ROWS 24
#define EXPORT_COLUMNS 200
#define EXPORTS_MAX 10000

static struct {
    uint64_t interval_ns;
    int by, order, colour;
    const char *filter;
    bool once;
    struct pl_names_options names;
} given = {.interval_ns = INTERVAL_DEFAULT_NS};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "interval", .letter = 'i', .takes = "TIME", .fallback = "1s", .help = "how often to refresh",
     .type = &pl_type_instant, .into = &given.interval_ns, .min = INTERVAL_MIN_NS, .max = INTERVAL_MAX_NS,
     .example = "2s"},
    {.name = "by", .takes = "WHAT", .fallback = "site", .help = "what the table lists: site, function, tag or thread",
     .type = &pl_type_choice, .into = &given.by, .choices = pl_screen_by},
    {.name = "sort", .takes = "COLUMN", .fallback = "live",
     .help = "column to sort by: live, change, rate, calls, peak, share or name",
     .type = &pl_type_choice, .into = &given.order, .choices = pl_screen_order},
    {.name = "filter", .takes = "TEXT", .help = "show only rows whose name or place contains TEXT",
     .type = &pl_type_text, .into = &given.filter},
    {.name = "once", .help = "print one screen and exit: for a pipe or a file", .type = &pl_type_flag,
     .into = &given.once},
    PL_COLOUR_OPTION(given.colour),
    PL_NAMES_OPTION(given.names.file),
    {0},
};
/* clang-format on */

struct top {
    struct pl_screen screen;
    struct pl_observe *observe; /* NULL: no process, or it has ended */
    uint64_t due_ns;
    double wanted_s; /* the interval that the user wants */
    int signals;
    char ended[128], notice[512];
};

/* ---- readings ---- */

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t) used.tv_sec * 1000000000u + (uint64_t) used.tv_nsec;
}

static double read_rss(pid_t pid)
{
    char path[32];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%*s %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (double) pages * (double) sysconf(_SC_PAGESIZE);
}

/* With names if it has stacks that the model does not know. On failure the error has been printed. */
static enum pl_exit read_profile(struct top *top, bool quiet, struct pl_profile **out, bool *named)
{
    struct pl_subject_options how = {.command = "top", .names = given.names, .no_symbols = true};
    how.names.quiet |= quiet;
    pl_say_hush(quiet);
    enum pl_exit status = PL_EXIT_OK;
    *named = !pl_model_profile(top->screen.model);
    if (!*named) {
        status = pl_observe_read(top->observe, &how, out);
        *named = status == PL_EXIT_OK && !pl_model_knows(top->screen.model, *out);
        if (*named)
            pl_profile_close(*out);
    }
    if (*named) {
        how.no_symbols = false;
        status = pl_observe_read(top->observe, &how, out);
    }
    pl_say_hush(false);
    return status;
}

static enum pl_exit take_reading(struct top *top, bool quiet)
{
    struct pl_profile *profile;
    bool named;
    uint64_t before_ns = cpu_ns();
    enum pl_exit status = read_profile(top, quiet, &profile, &named);
    if (status != PL_EXIT_OK)
        return status;
    if (!pl_model_profile(top->screen.model))
        pl_model_remember(top->screen.model, profile, top->wanted_s);
    if (profile->header.end == PL_END_EXEC)
        snprintf(top->ended, sizeof top->ended, "has become another program"), top->screen.ended = top->ended;
    pl_model_put(top->screen.model, profile, named, (double) pl_proc_now_ns() / NS_PER_S, read_rss(top->screen.pid));
    double rest_s = (double) (cpu_ns() - before_ns) / NS_PER_S / SHARE_OF_CORE;
    top->screen.interval_s = rest_s > top->wanted_s ? rest_s : top->wanted_s;
    top->due_ns = pl_proc_now_ns() + (uint64_t) (top->screen.interval_s * NS_PER_S);
    return PL_EXIT_OK;
}

static void forget_process(struct top *top)
{
    pl_model_free(top->screen.model);
    pl_observe_close(top->observe);
    top->screen.model = NULL;
    top->observe = NULL;
    top->screen.ended = NULL;
    top->screen.frozen = false;
    top->screen.expansions = 0;
    top->screen.cursor = PL_ATLAS_NONE;
    top->screen.first = 0;
}

/* On failure the error has been printed, unless `quiet`. */
static enum pl_exit choose_process(struct top *top, pid_t pid, bool quiet)
{
    char typed[16], *live = NULL;
    pl_say_hush(quiet);
    enum pl_exit status = pl_subject_live(pid, &live);
    pl_say_hush(false);
    free(live);
    if (status != PL_EXIT_OK)
        return status;
    snprintf(typed, sizeof typed, "%d", pid);
    struct pl_observe *observe = pl_observe_open(typed);
    if (!observe)
        return quiet ? PL_EXIT_FAILURE : pl_say_failure("cannot read the profile of process %d: %m", pid);
    forget_process(top);
    top->observe = observe;
    top->screen.pid = pid;
    top->screen.model = pl_model_new();
    top->screen.listing = false;
    status = take_reading(top, quiet);
    top->due_ns = pl_proc_now_ns() + (uint64_t) (top->wanted_s * NS_PER_S); /* names are looked up once */
    if (status != PL_EXIT_OK)
        forget_process(top);
    return status;
}

static void note_end(struct top *top)
{
    struct timespec pause = {.tv_nsec = END_DELAY_NS};
    nanosleep(&pause, NULL);
    take_reading(top, true);
    if (!top->screen.ended && pl_model_profile(top->screen.model)) {
        pl_describe_ending(pl_model_profile(top->screen.model), top->ended, sizeof top->ended);
        top->screen.ended = top->ended;
    }
    pl_observe_close(top->observe);
    top->observe = NULL;
}

/* ---- the list of processes ---- */

static void forget_list(struct top *top)
{
    for (size_t i = 0; i < top->screen.listed_count; i++) {
        free(top->screen.listed[i].command);
        free(top->screen.listed[i].method);
    }
    free(top->screen.listed);
    top->screen.listed = NULL;
    top->screen.listed_count = 0;
}

static bool describe(const struct pl_proc_found *found, struct pl_listed *listed)
{
    struct pl_profile *profile;
    char why[PL_WHY_BYTES], method[128];
    if (!found->pid || pl_profile_open(found->path, &profile, why))
        return false;
    const struct pl_estimate *live = &profile->total[PL_METRIC_INUSE_SPACE];
    pl_describe_now(&profile->header, method, sizeof method);
    *listed = (struct pl_listed){
        .pid = found->pid,
        .command = pl_say_clean(profile->comm),
        .method = pl_say_print("%s", method),
        .up_s = profile->duration_s,
        .live_bytes = live->value,
        .live_error = live->error,
        .rss_bytes = read_rss(found->pid),
    };
    pl_profile_close(profile);
    return true;
}

static int largest_first(const void *left, const void *right)
{
    const struct pl_listed *a = left, *b = right;
    int order = (a->live_bytes < b->live_bytes) - (a->live_bytes > b->live_bytes);
    return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

/* The cursor stays on its process. */
static void find_listed(struct top *top, pid_t pid)
{
    struct pl_screen *screen = &top->screen;
    for (size_t i = 0; i < screen->listed_count; i++)
        if (screen->listed[i].pid == pid)
            screen->listed_at = i;
    if (screen->listed_at >= screen->listed_count)
        screen->listed_at = screen->listed_count ? screen->listed_count - 1 : 0;
}

static void read_list(struct top *top)
{
    struct pl_screen *screen = &top->screen;
    pid_t at = screen->listed_at < screen->listed_count ? screen->listed[screen->listed_at].pid : screen->pid;
    uint64_t before_ns = cpu_ns();
    struct pl_proc_table table = pl_proc_read();
    struct pl_proc_finds finds = {0};
    pl_proc_find_mapped(&table, &finds);
    forget_list(top);
    screen->listed = pl_grow_zeroed(finds.count + 1, sizeof *screen->listed);
    for (size_t i = 0; i < finds.count; i++)
        screen->listed_count += describe(&finds.found[i], &screen->listed[screen->listed_count]);
    qsort(screen->listed, screen->listed_count, sizeof *screen->listed, largest_first);
    find_listed(top, at);
    pl_proc_free_finds(&finds);
    pl_proc_free(&table);
    double rest_s = (double) (cpu_ns() - before_ns) / NS_PER_S / SHARE_OF_CORE;
    top->due_ns = pl_proc_now_ns() + (uint64_t) ((rest_s > top->wanted_s ? rest_s : top->wanted_s) * NS_PER_S);
}

/* ---- exporting ---- */

static int count_rows(const struct pl_screen *screen)
{
    struct pl_model_rows rows =
        pl_model_rows(screen->model, screen->by, screen->order, screen->reversed, screen->filter);
    return (int) rows.count + 16 + (int) screen->expansions * (PL_DETAIL_MOST + 2);
}

static void print_screen(const struct pl_screen *screen, struct pl_term *term, int rows, int columns)
{
    struct pl_screen plain = *screen;
    plain.plain = true;
    plain.first = 0;
    struct pl_canvas canvas = pl_canvas_new(rows, columns);
    pl_screen_draw(&plain, &canvas);
    pl_canvas_print(&canvas, term);
    pl_canvas_free(&canvas);
}

/* Beside the working directory's other files; no file is ever replaced. */
static FILE *create_export(pid_t pid, char *path, size_t bytes)
{
    FILE *out = NULL;
    errno = EEXIST;
    for (int i = 1; !out && errno == EEXIST && i < EXPORTS_MAX; i++) {
        snprintf(path, bytes, "plimsoll-top.%d.%d.txt", pid, i);
        out = fopen(path, "wxe");
    }
    return out;
}

static void export_screen(struct top *top)
{
    char path[64];
    FILE *out = create_export(top->screen.pid, path, sizeof path);
    top->screen.notice = top->notice;
    if (!out) {
        snprintf(top->notice, sizeof top->notice, "cannot write %s: %s", path, strerror(errno));
        return;
    }
    struct pl_term term = {.out = out, .width = EXPORT_COLUMNS};
    struct pl_screen whole = top->screen;
    whole.whole = true;
    print_screen(&whole, &term, count_rows(&top->screen), EXPORT_COLUMNS);
    bool failed = ferror(out);
    failed |= fclose(out) != 0;
    snprintf(top->notice, sizeof top->notice, failed ? "cannot write %s" : "wrote %s", path);
}

/* ---- events ---- */

static void draw(struct top *top)
{
    int rows, columns;
    pl_terminal_size(&rows, &columns);
    struct pl_canvas canvas = pl_canvas_new(rows, columns);
    pl_screen_draw(&top->screen, &canvas);
    pl_terminal_show(&canvas);
    pl_canvas_free(&canvas);
}

static void choose_listed(struct top *top)
{
    pid_t pid = top->screen.listed[top->screen.listed_at].pid;
    if (choose_process(top, pid, true) == PL_EXIT_OK)
        return;
    snprintf(top->notice, sizeof top->notice, "process %d has ended, or cannot be read", pid);
    top->screen.notice = top->notice;
    top->screen.listing = true;
    read_list(top);
}

/* True: quit. */
static bool grant(struct top *top, enum pl_wish wish)
{
    switch (wish) {
    case PL_WISH_QUIT:
        return true;
    case PL_WISH_REFRESH:
        top->wanted_s = top->screen.interval_s;
        top->due_ns = 0;
        return false;
    case PL_WISH_EXPORT:
        export_screen(top);
        return false;
    case PL_WISH_LIST:
        top->screen.listing = true;
        read_list(top);
        return false;
    case PL_WISH_CHOOSE:
        choose_listed(top);
        return false;
    case PL_WISH_NOTHING:
        return false;
    }
    return false;
}

static bool press_keys(struct top *top)
{
    for (uint32_t code; (code = pl_terminal_key()) != 0;)
        if (grant(top, pl_keys_press(&top->screen, code)))
            return true;
    return false;
}

static void refresh_if_due(struct top *top)
{
    if (pl_proc_now_ns() < top->due_ns)
        return;
    if (top->screen.listing) {
        read_list(top);
    } else if (top->observe && !top->screen.frozen) {
        if (take_reading(top, true) != PL_EXIT_OK)
            top->due_ns = pl_proc_now_ns() + (uint64_t) (top->wanted_s * NS_PER_S);
        if (top->screen.ended)
            note_end(top);
    }
}

enum { KEYS, SIGNAL, END, EVENTS };

static int wait_for(const struct top *top, struct pollfd event[EVENTS])
{
    uint64_t now_ns = pl_proc_now_ns();
    bool refreshes = top->screen.listing || (top->observe && !top->screen.frozen);
    event[KEYS] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    event[SIGNAL] = (struct pollfd){.fd = top->signals, .events = POLLIN};
    event[END] = (struct pollfd){.fd = top->observe ? pl_observe_end(top->observe) : -1, .events = POLLIN};
    int wait_ms = !refreshes ? -1 : top->due_ns <= now_ns ? 0 : (int) ((top->due_ns - now_ns) / 1000000 + 1);
    return poll(event, EVENTS, wait_ms);
}

/* The signal that ends the command; 0: go on. */
static int take_signal(const struct top *top)
{
    struct signalfd_siginfo info;
    if (read(top->signals, &info, sizeof info) != (ssize_t) sizeof info)
        return 0;
    if (info.ssi_signo != SIGWINCH)
        return (int) info.ssi_signo;
    pl_terminal_resized();
    return 0;
}

/* Returns the signal that ended it, or 0. */
static int watch(struct top *top)
{
    for (;;) {
        struct pollfd event[EVENTS];
        int ending = 0;
        draw(top);
        int events = wait_for(top, event);
        if (events < 0 && errno != EINTR)
            return 0;
        if (events > 0 && event[SIGNAL].revents && (ending = take_signal(top)) != 0)
            return ending;
        if (events > 0 && event[END].revents)
            note_end(top);
        if (events > 0 && event[KEYS].revents & (POLLHUP | POLLERR | POLLNVAL) && !(event[KEYS].revents & POLLIN))
            return 0;
        if (press_keys(top))
            return 0;
        refresh_if_due(top);
    }
}

static void take_signals(struct top *top)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    top->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A signal ends us as it would have without a handler, so that a shell sees it. */
static int end_by(int number)
{
    sigset_t set;
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + number;
}

static bool wants_colour(void)
{
    const char *never = getenv("NO_COLOR");
    return given.colour == PL_COLOUR_ALWAYS || (given.colour == PL_COLOUR_AUTO && !(never && *never));
}

static int show(struct top *top)
{
    take_signals(top);
    if (!pl_terminal_open(wants_colour()))
        return pl_say_failure("cannot use this terminal (TERM=%s); --once prints one screen",
                              getenv("TERM") ? getenv("TERM") : "");
    int ending = watch(top);
    pl_terminal_close();
    return ending ? end_by(ending) : PL_EXIT_OK;
}

/* ---- one screen ---- */

static int rows_for_once(void)
{
    const char *lines = getenv("LINES");
    int rows = lines ? atoi(lines) : 0;
    return rows > 4 ? rows : ONCE_ROWS;
}

/* Rates need two readings. */
static int print_once(struct top *top)
{
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    struct timespec pause = {(time_t) (given.interval_ns / 1000000000u), (long) (given.interval_ns % 1000000000u)};
    if (top->screen.model) {
        struct pollfd end = {.fd = pl_observe_end(top->observe), .events = POLLIN};
        ppoll(&end, 1, &pause, NULL);
        if (end.revents)
            note_end(top);
        else if (take_reading(top, false) != PL_EXIT_OK)
            return PL_EXIT_FAILURE;
    } else {
        read_list(top);
    }
    print_screen(&top->screen, &term, rows_for_once(), (int) term.width);
    return PL_EXIT_OK;
}

/* ---- the command line ---- */

static enum pl_exit check_arguments(int argc, char **argv)
{
    if (argc > 1)
        return pl_say_usage("top takes one PID; got %s and %s", argv[0], argv[1]);
    if (argc && pl_subject_pid(argv[0]) < 0)
        return pl_say_usage("top %s: not a PID; `%s ls` lists the processes that are being profiled; to read a file: "
                            "%s report %s",
                            argv[0], pl_say_self(), pl_say_self(), argv[0]);
    if (!given.once && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
        return pl_say_usage("top needs a terminal; --once prints one screen");
    return PL_EXIT_OK;
}

static int top_main(int argc, char **argv)
{
    enum pl_exit status = check_arguments(argc, argv);
    struct top top = {
        .screen = {.by = (enum pl_model_by) given.by,
                   .order = (enum pl_model_column) given.order,
                   .cursor = PL_ATLAS_NONE,
                   .listing = !argc},
        .wanted_s = (double) given.interval_ns / NS_PER_S,
    };
    top.screen.interval_s = top.wanted_s;
    if (given.filter)
        snprintf(top.screen.filter, sizeof top.screen.filter, "%s", given.filter);
    if (status == PL_EXIT_OK && argc)
        status = choose_process(&top, pl_subject_pid(argv[0]), false);
    if (status != PL_EXIT_OK)
        return (int) status;
    int result = given.once ? print_once(&top) : show(&top);
    forget_process(&top);
    forget_list(&top);
    free(top.screen.expanded);
    return result;
}

const struct pl_command pl_command_top = {
    .name = "top",
    .arguments = "[PID]",
    .summary = "watch a running process: who allocates and holds what, now",
    .details =
        "Shows a process that is being profiled, as htop shows processes: live memory, RSS, what it allocates per "
        "second and what that costs, and a table of sites, functions, tags or threads, which you sort, filter and "
        "expand by keys. `?` lists the keys. Without a PID, top begins with the list of processes.\n"
        "\n"
        "The process does not take part and pays nothing: top reads its profile, at most with 3% of one core; with "
        "very "
        "many stacks it refreshes less often. CHANGE, ALLOC/S and CALLS/S compare with the last refresh or, after `r`, "
        "with the time when you pressed it. ± is the 95% confidence interval of the column that decides the order, and "
        "~ marks other estimates. Exact figures have neither. When the process ends, its last state stays.",
    .examples = "plimsoll top PID\n"
                "plimsoll top PID --by thread --sort calls\n"
                "plimsoll top PID --once --interval 2s",
    .options = options,
    .main = top_main,
};
