/* SPDX-License-Identifier: MIT */
/*
 * retained.c - the retained command: which variables, stacks and other roots of a running process hold its heap.
 *
 *   Root              retains   share     blocks  root
 *     ████████▏      78.0 MiB   91.2%    812,004  g_cache  std::map<...>  server.cpp:12  [server]
 *                    60.1 MiB in 700,000 blocks: cache_put  src/cache.c:40
 *                    17.9 MiB in 112,004 blocks: make_key  src/key.c:7
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "analysis/path.h"
#include "cli/leaks/holders.h"
#include "cli/leaks/look.h"
#include "cli/leaks/rootnames.h"
#include "cli/option.h"
#include "cli/proc.h"
#include "cli/report/print.h"
#include "cli/select.h"
#include "cli/subject.h"
#include "export/pairs.h"
#include "reader/base/grow.h"
#include "reader/write/annotate.h"

#define TOP 20
#define SITES 3 /* of each root */
#define DEPTH 6
#define LINKS_MAX 12 /* shown of a way from a root to a block */
#define WAYS 10
#define INDENT 4

static struct {
    uint64_t top;
    const char *site, *names, *sysroot, *output;
    bool full_names, no_symbols, force, all_digits;
    int colour;
} given;

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "site", .takes = "NAME", .help = "show how roots lead to blocks that functions with NAME in their names "
     "have allocated", .type = &pl_type_text, .into = &given.site},
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "none",
     .help = "also store what each root retains, with a snapshot of the profile of process PID, in FILE",
     .type = &pl_type_text, .into = &given.output},
    {.name = "top", .letter = 'n', .takes = "N", .fallback = "20", .help = "number of roots to show",
     .type = &pl_type_count, .into = &given.top, .min = 1, .max = UINT32_MAX},
    PL_OPTION_MORE,
    {.name = "all-digits", .help = "show all digits of bytes and blocks: 13,002,342 B instead of 12.4 MiB",
     .type = &pl_type_flag, .into = &given.all_digits},
    PL_NAMES_OPTION(given.names),
    PL_FULL_NAMES_OPTION(given.full_names),
    {.name = "no-symbols", .help = "show addresses instead of names", .type = &pl_type_flag,
     .into = &given.no_symbols},
    PL_FORCE_OPTION(given.force),
    PL_SYSROOT_OPTION(given.sysroot),
    PL_COLOUR_OPTION(given.colour),
    {0},
};
/* clang-format on */

/* --- sums --- */

struct held {
    struct pl_reach reach;
    struct pl_retain retain;
    struct pl_rootnames names;
    const struct pl_profile *profile;
    struct pl_paths paths;
    uint32_t *path;     /* by block */
    uint32_t *of_stack; /* the path of each stack */
    uint32_t *known;    /* place -> its site in the profile */
    int file;           /* the live profile; -1: none */
};
#define PATH_OTHERS UINT32_MAX /* blocks of many sites, with few bytes each */

/* Blocks of one path that one root retains. Root names->count stands for several roots. */
struct share {
    uint32_t root, path;
    uint64_t objects, space;
};

struct shares {
    struct pl_pairs pairs; /* of root and path */
    struct share *share;   /* by their number, until they are sorted */
    uint32_t count, room;
};

static struct share *share_of(struct shares *shares, uint32_t root, uint32_t path)
{
    uint32_t number = pl_pairs_number(&shares->pairs, root, path);
    if (number == shares->count) {
        shares->share = pl_grow(shares->share, shares->count, &shares->room, sizeof *shares->share);
        shares->share[shares->count++] = (struct share){.root = root, .path = path};
    }
    return &shares->share[number];
}

static void free_shares(struct shares *shares)
{
    pl_pairs_free(&shares->pairs);
    free(shares->share);
}

/* Largest root first, then its largest site. */
static int by_size(const void *left, const void *right, void *context)
{
    const uint64_t *whole = context;
    const struct share *a = left, *b = right;
    if (whole[a->root] != whole[b->root])
        return whole[a->root] < whole[b->root] ? 1 : -1;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    if (a->space != b->space)
        return a->space < b->space ? 1 : -1;
    return (a->path > b->path) - (a->path < b->path);
}

/* --- from blocks to sites --- */

#define UNKNOWN UINT32_MAX

static uint32_t site_of(void *context, uint32_t block)
{
    struct held *held = context;
    uint32_t *known = &held->known[held->reach.census.block[block].place];
    if (*known == UNKNOWN)
        *known = pl_records_site(held->file, held->reach.census.block[block].place);
    return *known;
}

static uint32_t path_of_stack(const struct held *held, uint32_t stack)
{
    return held->of_stack[stack < held->profile->stacks ? stack : held->profile->stacks];
}

static void find_paths(struct held *held, const char *live)
{
    const struct pl_profile *profile = held->profile;
    const struct pl_census *census = &held->reach.census;
    held->known = pl_say_memory(malloc(PL_REACH_PLACES * sizeof *held->known));
    memset(held->known, 0xff, PL_REACH_PLACES * sizeof *held->known);
    held->file = open(live, O_RDONLY | O_CLOEXEC);
    held->path = pl_say_memory(malloc((census->count + 1ull) * sizeof *held->path));
    for (uint32_t i = 0; i < census->count; i++) {
        uint32_t site = site_of(held, i);
        held->path[i] =
            path_of_stack(held, site && site < profile->records ? profile->stack_of_record[site] : PL_NO_STACK);
    }
}

/* --- output --- */

static char *print_amount(uint64_t space, uint64_t objects)
{
    char bytes[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, (double) space);
    pl_figure_count(blocks, (double) objects);
    return pl_say_print("%s in %s block%s", bytes, blocks, pl_figure_plural(blocks));
}

/* The function that a site is named after, and where. The caller frees it. */
static char *print_path(const struct pl_view *view, const struct held *held, uint32_t path)
{
    char place[PL_PRINT_FILE_LINE_BYTES];
    const struct pl_path *which = path < held->paths.count ? &held->paths.path[path] : NULL;
    if (path == PATH_OTHERS)
        return pl_say_print("others");
    if (!which || !which->count)
        return pl_say_print("%s", pl_locations_no_stack(view->profile));
    const struct pl_location *location = &view->locations->location[which->location[0]];
    pl_print_file_line(location, place, sizeof place);
    const struct pl_location *via = which->via == PL_PATH_NO_LOCATION ? NULL : &view->locations->location[which->via];
    return pl_say_print("%s%s%s%s%s%s%s%s", location->name, *place ? "  " : "", place, *location->module ? "  [" : "",
                        location->module, *location->module ? "]" : "", via ? " → " : "", via ? via->name : "");
}

static void put_root(const struct held *held, uint32_t root, uint64_t space, uint64_t objects, double whole)
{
    char bytes[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, (double) space);
    pl_figure_count(blocks, (double) objects);
    pl_figure_percent(share, whole > 0 ? (double) space / whole : 0);
    const struct pl_root *which = root < held->names.count ? &held->names.root[root] : NULL;
    char *name = pl_say_clean(which ? which->name : PL_HOLDERS_SEVERAL);
    printf("%10s  %6s  %9s  %s%s%s\n", bytes, share, blocks, name, which && *which->detail ? "  " : "",
           which ? which->detail : "");
    free(name);
}

static void put_roots(const struct pl_view *view, const struct held *held, struct shares *shares, uint32_t roots)
{
    uint64_t *space = pl_say_memory(calloc(roots + 1ull, sizeof *space));
    uint64_t *objects = pl_say_memory(calloc(roots + 1ull, sizeof *objects)), whole = 0;
    for (uint32_t i = 0; i < shares->count; i++) {
        space[shares->share[i].root] += shares->share[i].space;
        objects[shares->share[i].root] += shares->share[i].objects;
        whole += shares->share[i].space;
    }
    if (shares->count)
        qsort_r(shares->share, shares->count, sizeof *shares->share, by_size, space);
    printf("\n%10s  %6s  %9s  root\n", "retains", "share", "blocks");
    uint32_t shown = 0, sites = 0;
    for (uint32_t i = 0; i < shares->count; i++) {
        const struct share *share = &shares->share[i];
        if (i == 0 || share[-1].root != share->root) {
            if (shown++ == view->top)
                break;
            put_root(held, share->root, space[share->root], objects[share->root], (double) whole);
            sites = 0;
        }
        if (sites++ >= SITES)
            continue;
        char *amount = print_amount(share->space, share->objects), *name = print_path(view, held, share->path);
        printf("%*s%s: %s\n", 12, "", amount, name);
        free(name);
        free(amount);
    }
    free(objects);
    free(space);
}

static void add_up(const struct held *held, struct shares *shares)
{
    const struct pl_census *census = &held->reach.census;
    for (uint32_t i = 0; i < census->count; i++) {
        uint32_t root = held->retain.root[i];
        if (root == PL_RETAIN_LOST)
            continue;
        struct share *share = share_of(shares, root == PL_RETAIN_SEVERAL ? held->retain.roots : root, held->path[i]);
        share->objects++;
        share->space += census->block[i].size;
    }
}

static void put_rest(const struct pl_view *view, const struct held *held)
{
    const struct pl_census *census = &held->reach.census;
    uint64_t space = 0, objects = 0, several = 0;
    char read[PL_FIGURE_BYTES];
    for (uint32_t i = 0; i < census->count; i++) {
        bool lost = held->retain.root[i] == PL_RETAIN_LOST;
        space += lost ? census->block[i].size : 0;
        objects += lost;
        several += held->retain.root[i] == PL_RETAIN_SEVERAL;
    }
    char *amount = print_amount(space, objects);
    if (several)
        pl_print_paragraph(view, "a root retains what nothing else leads to; what several roots lead to, none of them "
                                 "retains alone");
    if (objects)
        pl_print_paragraph(view, "lost: %s that no root leads to; %s leaks %s lists them", amount, pl_say_self(),
                           view->subject);
    free(amount);
    pl_figure_bytes(read, (double) held->reach.read_bytes);
    pl_print_paragraph(view, "the process stood still for %.1f ms; %s were read%s%s",
                       (double) held->reach.still_ns / 1e6, read,
                       *held->reach.whole ? " meanwhile, because " : ", from a copy", held->reach.whole);
    if (!held->reach.complete)
        pl_print_paragraph(view, "there may be blocks that the profiler does not know; what only they lead to is shown "
                                 "as held by the memory that they are in");
}

/* --- ways from roots to blocks --- */

struct way {
    char *text;
    uint64_t space, objects;
};

struct ways {
    struct way *way;
    size_t count, room;
};

static void add_way(struct ways *ways, char *text, uint64_t space)
{
    size_t i = 0;
    while (i < ways->count && strcmp(ways->way[i].text, text))
        i++;
    if (i == ways->count) {
        if (ways->count == ways->room) {
            ways->room = ways->room ? 2 * ways->room : 16;
            ways->way = pl_say_memory(realloc(ways->way, ways->room * sizeof *ways->way));
        }
        ways->way[ways->count++] = (struct way){.text = pl_say_print("%s", text)};
    }
    ways->way[i].space += space;
    ways->way[i].objects++;
}

static const char *function_of(const struct pl_view *view, const struct held *held, uint32_t path)
{
    const struct pl_path *which = path < held->paths.count ? &held->paths.path[path] : NULL;
    return which && which->count ? view->locations->location[which->location[0]].name : "(unknown)";
}

/* The paths of the blocks on the way, from the root on; blocks of one path that follow each other (a list) are one. */
static char *describe_way(const struct pl_view *view, const struct held *held, uint32_t block)
{
    uint32_t link[LINKS_MAX], links = 0, left_out = 0;
    for (uint32_t at = block; at != PL_CENSUS_NONE; at = held->retain.via[at]) {
        if (links && link[links - 1] == held->path[at])
            continue;
        if (links == LINKS_MAX)
            link[links - 1] = held->path[at], left_out++;
        else
            link[links++] = held->path[at];
    }
    char *text = pl_say_clean(held->names.root[held->retain.from[block]].name);
    while (links--) {
        char *longer = pl_say_print("%s%s → %s", text, left_out && links == LINKS_MAX - 2 ? " → …" : "",
                                    function_of(view, held, link[links]));
        free(text);
        text = longer;
    }
    return text;
}

static int largest_way(const void *left, const void *right)
{
    const struct way *a = left, *b = right;
    return a->space != b->space ? (a->space < b->space ? 1 : -1) : strcmp(a->text, b->text);
}

static enum pl_exit put_ways(const struct pl_view *view, const struct held *held)
{
    const struct pl_census *census = &held->reach.census;
    struct ways ways = {0};
    uint64_t lost = 0;
    bool any = false;
    for (uint32_t i = 0; i < census->count; i++) {
        if (!strstr(function_of(view, held, held->path[i]), given.site))
            continue;
        any = true;
        if (held->retain.from[i] == PL_RETAIN_LOST) {
            lost++;
            continue;
        }
        char *text = describe_way(view, held, i);
        add_way(&ways, text, census->block[i].size);
        free(text);
    }
    if (ways.count)
        qsort(ways.way, ways.count, sizeof *ways.way, largest_way);
    for (size_t i = 0; i < ways.count; i++) {
        char *amount = print_amount(ways.way[i].space, ways.way[i].objects);
        if (i < WAYS)
            pl_print_paragraph(view, "%s: %s", amount, ways.way[i].text);
        free(amount);
        free(ways.way[i].text);
    }
    if (ways.count > WAYS)
        pl_print_paragraph(view, "and %zu more ways", ways.count - WAYS);
    if (lost)
        pl_print_paragraph(view, "no root leads to %llu of these blocks", (unsigned long long) lost);
    free(ways.way);
    return any ? PL_EXIT_OK
               : pl_say_failure("no live block was allocated by a function with %s in its name", given.site);
}

/* --- all of it --- */

static bool find_holders(void *context, struct pl_census *census, const struct pl_roots *roots, struct pl_space *space)
{
    struct held *held = context;
    struct pl_retain_namer namer = {pl_rootnames_at, &held->names};
    return pl_retain_find(&held->retain, census, roots, space, &namer);
}

static enum pl_exit print_now(const struct pl_view *view, struct held *held, const char *live)
{
    struct shares shares = {.pairs = pl_pairs_new()};
    find_paths(held, live);
    if (given.site) {
        free_shares(&shares);
        return put_ways(view, held);
    }
    add_up(held, &shares);
    put_roots(view, held, &shares, held->retain.roots);
    put_rest(view, held);
    free_shares(&shares);
    return PL_EXIT_OK;
}

/* What an earlier look has stored, in the form of a new one. */
static void take_stored(struct held *held, struct shares *shares)
{
    const struct pl_profile *profile = held->profile;
    uint32_t *root = pl_say_memory(calloc(profile->holders + 1ull, sizeof *root));
    held->names.root = pl_say_memory(calloc(profile->holders + 1ull, sizeof *held->names.root));
    for (uint32_t i = 1; i < profile->holders; i++) {
        struct pl_holder_view *holder = &profile->holder[i];
        root[i] = root[holder->parent];
        if (holder->kind == PL_HOLDER_ROOT) {
            root[i] = held->names.count;
            held->names.root[held->names.count++] = (struct pl_root){.name = holder->name, .detail = ""};
        } else if (holder->kind != PL_HOLDER_WAY) {
            bool rest = holder->kind == PL_HOLDER_REST;
            struct share *share = share_of(shares, root[i], rest ? PATH_OTHERS : path_of_stack(held, holder->stack));
            share->objects += (uint64_t) holder->objects;
            share->space += (uint64_t) holder->space;
        }
    }
    free(root);
}

static enum pl_exit print_then(const struct pl_view *view, struct held *held)
{
    struct shares shares = {.pairs = pl_pairs_new()};
    take_stored(held, &shares);
    put_roots(view, held, &shares, held->names.count);
    free_shares(&shares);
    free(held->names.root);
    return PL_EXIT_OK;
}

/* `live`: a process was looked at now, and this is its profile; NULL: what is stored is printed. */
static enum pl_exit print_held(struct held *held, const char *live, const char *subject)
{
    struct pl_groups threads;
    struct pl_select none = PL_SELECT_NOTHING;
    enum pl_exit status = pl_select_threads(&none, held->profile, &threads);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    struct pl_location_options names = {.full_names = given.full_names, .no_symbols = given.no_symbols};
    struct pl_view view = {
        .profile = held->profile,
        .whole = held->profile,
        .threads = &threads,
        .locations = pl_locations_new(held->profile, &names),
        .term = &term,
        .subject = subject,
        .top = given.top ? (uint32_t) given.top : TOP,
        .depth = DEPTH,
        .full_names = given.full_names,
    };
    held->paths = pl_paths_new(held->profile, view.locations, PL_SHAPE_SITE, DEPTH);
    held->of_stack = pl_paths_of_stacks(held->profile, &held->paths);
    pl_head_print(&view);
    status = live ? print_now(&view, held, live) : print_then(&view, held);
    free(held->of_stack);
    pl_locations_free(view.locations);
    pl_groups_free(&threads);
    return status;
}

static struct pl_subject_options how_to_read(void)
{
    return (struct pl_subject_options){.command = "retained",
                                       .force = given.force,
                                       .sysroot = given.sysroot,
                                       .no_symbols = given.no_symbols,
                                       .names = {.file = given.names, .full = given.full_names}};
}

/* --- keeping it --- */

static int write_output(struct held *held, const char *live, int fd, char why[PL_WHY_BYTES])
{
    const struct pl_holders_source source = {
        .census = &held->reach.census,
        .retain = &held->retain,
        .names = &held->names,
        .group = held->path,
        .site_of = site_of,
        .context = held,
    };
    struct pl_holders holders = pl_holders_make(&source);
    int result = pl_look_copy_profile(live, fd, given.output, why);
    if (result == 0)
        result = pl_annotate_holders(given.output, holders.record, holders.count, why);
    if (result == 0 && !given.no_symbols && pl_annotate(given.output, held->profile, why) != 0)
        pl_say("%s; the profile is complete, but reading it needs the program's files", why);
    pl_holders_free(&holders);
    return result;
}

static enum pl_exit store(struct held *held, const char *live)
{
    char why[PL_WHY_BYTES];
    int fd = pl_look_make_file(given.output);
    if (fd < 0)
        return pl_look_refuse_file(given.output);
    int result = write_output(held, live, fd, why);
    close(fd);
    if (result == 0)
        return PL_EXIT_OK;
    unlink(given.output);
    return pl_say_failure("%s", why);
}

static enum pl_exit read_and_print(pid_t pid, struct held *held, const char *live, const char *subject)
{
    struct pl_subject_options how = how_to_read();
    struct pl_profile *profile;
    char *root = pl_proc_root(pid);
    enum pl_exit status = pl_subject_read(&how, live, root, &profile);
    free(root);
    if (status != PL_EXIT_OK)
        return status;
    held->profile = profile;
    status = print_held(held, live, subject);
    if (status == PL_EXIT_OK && given.output)
        status = store(held, live);
    if (held->file >= 0)
        close(held->file);
    free(held->known);
    free(held->path);
    pl_profile_close(profile);
    return status;
}

static enum pl_exit print_stored(int argc, char **argv)
{
    struct pl_subject_options how = how_to_read();
    struct held held = {.file = -1};
    struct pl_profile *profile;
    enum pl_exit status = pl_subject_open(&how, argc, argv, &profile);
    if (status != PL_EXIT_OK)
        return status;
    held.profile = profile;
    if (profile->holders)
        status = print_held(&held, NULL, argv[0]);
    else
        status = pl_say_failure("%s does not say what holds the heap: %s retained PID --output FILE stores that of a "
                                "running process",
                                argv[0], pl_say_self());
    pl_profile_close(profile);
    return status;
}

static enum pl_exit refuse_sampled(pid_t pid)
{
    return pl_say_failure("process %d is sampled, and only in exact mode are all of its blocks known: %s run --exact "
                          "-- PROGRAM, or %s attach %d --exact",
                          pid, pl_say_self(), pl_say_self(), pid);
}

static enum pl_exit look(pid_t pid, const char *live, const char *subject)
{
    struct held held = {.file = -1};
    struct pl_look_taken taken = {0};
    struct pl_reach_options how;
    if (!pl_look_prepare(&taken, pid, live, &how))
        return pl_say_failure("%s", taken.problem);
    if (how.live_at)
        return refuse_sampled(pid);
    pl_rootnames_open(&held.names, pid, !given.no_symbols);
    how.instead = find_holders;
    how.context = &held;
    bool good = pl_reach_read(&held.reach, &how);
    enum pl_exit status =
        !good ? pl_say_failure("cannot see what holds the heap of process %d: %s", pid, held.reach.problem)
        : pl_look_began_to_sample(&how, live) ? refuse_sampled(pid)
                                              : read_and_print(pid, &held, live, subject);
    pl_retain_free(&held.retain);
    pl_reach_free(&held.reach);
    pl_rootnames_close(&held.names);
    return status;
}

static int retained_main(int argc, char **argv)
{
    char *live;
    enum pl_exit status = argc ? pl_subject_check("retained", argc, argv)
                               : pl_say_usage("retained needs the PID of a process, or a FILE of `retained "
                                              "--output`; `%s ls` lists processes that are profiled",
                                              pl_say_self());
    if (status != PL_EXIT_OK)
        return status;
    pid_t pid = pl_subject_pid(argv[0]);
    if (given.all_digits)
        pl_figure_all_digits();
    if (pid < 0 && (given.output || given.site))
        return pl_say_usage("retained %s: --%s is for a PID", argv[0], given.output ? "output" : "site");
    if (pid < 0)
        return print_stored(argc, argv);
    status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    status = look(pid, live, argv[0]);
    free(live);
    return status;
}

const struct pl_command pl_command_retained = {
    .name = "retained",
    .arguments = "PID|FILE",
    .summary = "show which variables and stacks of a running process hold its heap",
    .details =
        "Follows all pointers of process PID, like `leaks`, and adds up what each root retains: the blocks that could "
        "not be reached any more without it. Roots are global and static variables, by name and, where debug "
        "information has it, with type and line; the stack and the thread-local storage of each thread; and mappings "
        "that are not the allocator's. The largest sites of each root are listed below it.\n"
        "\n"
        "With --site, it shows how roots lead to the blocks of a site: the root, then the functions that allocated the "
        "blocks on a shortest way.\n"
        "\n"
        "With --output, the result is also stored in a snapshot. Of such a FILE, `retained` prints it again, and the "
        "page "
        "of `html` and `view` has it as a map, from roots to sites, with the way to each.\n"
        "\n"
        "It needs exact mode, because only then all blocks are known by their sites, and the right to trace the "
        "process. The process stands still while "
        "it makes a copy of itself; the last line says for how long. Contents of memory are neither written nor shown.",
    .examples = "plimsoll retained PID\n"
                "plimsoll retained --site Py PID\n"
                "plimsoll retained -o held.plim PID",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = retained_main,
};
