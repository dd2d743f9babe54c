/* SPDX-License-Identifier: MIT */
/*
 * leaks.c - the leaks command: which blocks of a running process nothing points to any more, by the site that allocated
 * them.
 *
 *   Lost               bytes  blocks  takes along  example         site
 *     ███████▏       1.9 MiB   1,180      340 KiB  0x55d0c8a012b0  index_add_term  src/index.c:212  [indexer]
 *                    ← index_file  src/index.c:97 ← main  src/main.c:31
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

#include "analysis/figure.h"
#include "attach/obstacles.h"
#include "cli/option.h"
#include "cli/proc.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "cli/select.h"
#include "cli/subject.h"
#include "reach/reach.h"

#define TOP 20
#define DEPTH 6

static struct {
    uint64_t top, depth;
    bool inner, full_names, no_symbols, force, all_digits;
    const char *names, *sysroot;
    int colour;
} given;

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "inner", .help = "also list blocks that are held only by pointers to the middle of them",
     .type = &pl_type_flag, .into = &given.inner},
    {.name = "top", .letter = 'n', .takes = "N", .fallback = "20", .help = "number of sites to show",
     .type = &pl_type_count, .into = &given.top, .min = 1, .max = UINT32_MAX},
    {.name = "depth", .letter = 'd', .takes = "N", .fallback = "6",
     .help = "number of frames per stack to show; stacks with the same frames become one",
     .type = &pl_type_count, .into = &given.depth, .min = 1, .max = UINT32_MAX},
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

/* --- what the profile tells --- */

/* Everything that may have left a live block without an entry in the table of blocks. */
static bool is_complete(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    bool lost = false, bypassed = false;
    for (int i = 0; i < PL_LOSS_TAGS; i++)
        lost |= header->losses[i] != 0;
    for (int i = 0; i < PL_BYPASS_COUNT; i++)
        bypassed |= *profile->bypass[i] != 0;
    bool unrecorded = profile->total[PL_METRIC_ALLOC_OBJECTS].value > profile->recorded_calls;
    return !lost && !bypassed && !unrecorded && !(header->flags & (PL_FLAG_ATTACHED | PL_FLAG_FORKED));
}

static enum pl_exit refuse_estimate(pid_t pid)
{
    return pl_say_failure(
        "process %d is sampled, and only in exact mode are all of its blocks known: %s run --exact -- "
        "PROGRAM, or %s attach %d --exact",
        pid, pl_say_self(), pl_say_self(), pid);
}

/* Can the process be asked at all, before it is stopped? */
static enum pl_exit look_first(pid_t pid, const char *path, struct pl_reach_options *out)
{
    struct pl_profile *profile;
    struct stat status;
    char why[PL_WHY_BYTES];
    if (pl_profile_open(path, &profile, why) != 0)
        return pl_say_failure("cannot read %s: %s", path, why);
    const struct pl_header header = profile->header;
    *out = (struct pl_reach_options){.pid = pid, .blocks_at = header.blocks_at, .complete = is_complete(profile)};
    out->inode = stat(path, &status) == 0 ? status.st_ino : 0;
    bool exact = profile->exact;
    pl_profile_close(profile);
    if (!exact)
        return refuse_estimate(pid);
    if (!header.blocks_at || header.blocks_layout != PL_REACH_LAYOUT)
        return pl_say_failure(
            "process %d is profiled by another version of Plimsoll, which keeps its blocks in another "
            "way; use the plimsoll that started it",
            pid);
    return PL_EXIT_OK;
}

/* --- from blocks to stacks --- */

struct pile {
    uint64_t blocks, bytes;
    uint64_t along_blocks, along_bytes; /* lost with them */
    uint64_t example;                   /* the address of one */
};

struct tally {
    const struct pl_profile *profile;
    int file;                         /* the profile, to look up tallies */
    uint32_t *known;                  /* place -> stack + 1; 0: not looked up yet */
    uint32_t *path;                   /* stack -> path */
    struct pile *pile[PL_HELD_COUNT]; /* by path; the last one is for blocks without a stack */
    struct pile whole[PL_HELD_COUNT];
};

/* The number of the site's record, from the record of its calls (core/records/smalls.h has a picture). */
static uint32_t site_at(int file, uint32_t place)
{
    uint32_t first = 0, owner = 0;
    off_t at = (off_t) place * 64;
    if (pread(file, &first, sizeof first, at) != sizeof first ||
        pread(file, &owner, sizeof owner, at + (off_t) offsetof(struct pl_tally, owner)) != sizeof owner)
        return 0;
    return owner & PL_SMALL_MARK ? owner & ~PL_SMALL_MARK : first;
}

static uint32_t path_of(struct tally *tally, const struct pl_census_block *block)
{
    uint32_t *known = &tally->known[block->place];
    if (!*known) {
        uint32_t site = site_at(tally->file, block->place);
        uint32_t stack = site < tally->profile->records ? tally->profile->stack_of_record[site] : PL_NO_STACK;
        *known = (stack < tally->profile->stacks ? stack : tally->profile->stacks) + 1;
    }
    return tally->path[*known - 1];
}

static void add(struct pile *pile, const struct pl_census_block *block)
{
    if (!pile->blocks || block->address < pile->example)
        pile->example = block->address;
    pile->blocks++;
    pile->bytes += block->size;
}

static void add_along(struct pile *pile, const struct pl_census_block *block)
{
    pile->along_blocks++;
    pile->along_bytes += block->size;
}

static void count_blocks(struct tally *tally, const struct pl_census *census)
{
    for (uint32_t i = 0; i < census->count; i++) {
        const struct pl_census_block *block = &census->block[i];
        add(&tally->whole[block->held], block);
        if (block->held == PL_HELD)
            continue;
        add(&tally->pile[block->held][path_of(tally, block)], block);
        if (block->held == PL_LOST_WITH)
            add_along(&tally->pile[PL_LOST][path_of(tally, &census->block[block->owner])], block);
    }
}

/* --- output --- */

static void fill_bytes(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    pl_figure_bytes(cell->value, (double) pile[path].bytes);
}

static void fill_blocks(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    pl_figure_count(cell->value, (double) pile[path].blocks);
}

static void fill_along(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    if (pile[path].along_blocks)
        pl_figure_bytes(cell->value, (double) pile[path].along_bytes);
    else
        snprintf(cell->value, sizeof cell->value, "-");
}

static void fill_example(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pile *pile = listing->context;
    snprintf(cell->value, sizeof cell->value, "0x%llx", (unsigned long long) pile[path].example);
}

/* Blocks without bytes are lost as well: half a byte, so that their sites are listed, last. */
static void put_piles(const struct pl_view *view, const struct pl_paths *paths, const struct tally *tally,
                      enum pl_verdict_held held, const char *title)
{
    const struct pile *pile = tally->pile[held];
    if (!tally->whole[held].blocks)
        return;
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = pile[i].blocks ? (double) (pile[i].bytes + pile[i].along_bytes) + 0.5 : 0;
    struct pl_listing listing = {
        .view = view,
        .paths = paths,
        .title = title,
        .weight = weight,
        .metric = PL_METRIC_INUSE_SPACE,
        .context = pile,
        .keep = 2,
        .column = {{"bytes", fill_bytes}, {"blocks", fill_blocks}, {"example", fill_example}},
    };
    if (held == PL_LOST && tally->whole[PL_LOST_WITH].blocks) {
        listing.column[3] = listing.column[2];
        listing.column[2] = (struct pl_column){"takes along", fill_along};
    }
    pl_listing_put(&listing);
    free(weight);
}

/* "1.9 MiB in 1,180 blocks". The caller frees it. */
static char *print_pile(const struct pile *pile)
{
    char bytes[PL_FIGURE_BYTES], blocks[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, (double) pile->bytes);
    pl_figure_count(blocks, (double) pile->blocks);
    return pl_say_print("%s in %s block%s", bytes, blocks, pile->blocks == 1 ? "" : "s");
}

static void put_lost(const struct pl_view *view, const struct tally *tally)
{
    const struct pile *lost = &tally->whole[PL_LOST], *along = &tally->whole[PL_LOST_WITH];
    char *text = print_pile(lost), *more = print_pile(along);
    if (!lost->blocks)
        pl_print_paragraph(view, "lost: nothing; something points to every block");
    else if (along->blocks)
        pl_print_paragraph(view, "lost: %s: nothing points to %s; and %s that only lost blocks point to", text,
                           lost->blocks == 1 ? "it" : "them", more);
    else
        pl_print_paragraph(view, "lost: %s: nothing points to %s", text, lost->blocks == 1 ? "it" : "them");
    free(text);
    free(more);
}

static void put_held(const struct pl_view *view, const struct tally *tally)
{
    const struct pile *inner = &tally->whole[PL_HELD_INNER];
    char *text = print_pile(&tally->whole[PL_HELD]), *more = print_pile(inner);
    pl_print_paragraph(view, "held: %s", text);
    if (inner->blocks)
        pl_print_paragraph(view, "probably held: %s, only by pointers to the middle of a block%s", more,
                           given.inner ? "" : "; --inner lists them");
    free(text);
    free(more);
}

static void put_how(const struct pl_view *view, const struct pl_reach *reach)
{
    char read[PL_FIGURE_BYTES];
    pl_figure_bytes(read, (double) reach->read_bytes);
    if (*reach->whole)
        pl_print_paragraph(
            view, "the process stood still for %.1f ms, while %s were read: it could not be copied, because %s",
            (double) reach->still_ns / 1e6, read, reach->whole);
    else
        pl_print_paragraph(view, "the process stood still for %.1f ms (%u thread%s); %s were read, from a copy",
                           (double) reach->still_ns / 1e6, reach->threads, reach->threads == 1 ? "" : "s", read);
    if (!reach->complete)
        pl_print_paragraph(view, "there may be blocks that the profiler does not know, so memory that was freed was "
                                 "searched, too: more may be lost than is shown");
}

static void print_all(const struct pl_view *view, const struct pl_reach *reach, const char *live)
{
    struct tally tally = {.profile = view->profile};
    struct pl_paths paths = pl_paths_new(view->profile, view->locations, PL_SHAPE_SITE, view->depth);
    tally.path = pl_paths_of_stacks(view->profile, &paths);
    tally.known = pl_say_memory(calloc(PL_REACH_PLACES, sizeof *tally.known));
    tally.file = open(live, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < PL_HELD_COUNT; i++)
        tally.pile[i] = pl_say_memory(calloc(paths.count + 1ull, sizeof *tally.pile[i]));
    count_blocks(&tally, &reach->census);
    put_lost(view, &tally);
    put_piles(view, &paths, &tally, PL_LOST, "Lost");
    put_piles(view, &paths, &tally, PL_LOST_WITH, "Lost with those");
    if (given.inner)
        put_piles(view, &paths, &tally, PL_HELD_INNER, "Probably held");
    put_held(view, &tally);
    put_how(view, reach);
    for (int i = 0; i < PL_HELD_COUNT; i++)
        free(tally.pile[i]);
    if (tally.file >= 0)
        close(tally.file);
    free(tally.known);
    free(tally.path);
}

static enum pl_exit print_profile(const struct pl_profile *profile, const struct pl_reach *reach, const char *live,
                                  const char *subject)
{
    struct pl_groups threads;
    struct pl_select none = PL_SELECT_NOTHING;
    enum pl_exit status = pl_select_threads(&none, profile, &threads);
    if (status != PL_EXIT_OK)
        return status;
    struct pl_term term = pl_term_open(stdout, (enum pl_colour) given.colour);
    struct pl_location_options names = {.full_names = given.full_names, .no_symbols = given.no_symbols};
    term.whole = given.full_names;
    struct pl_view view = {
        .profile = profile,
        .whole = profile,
        .threads = &threads,
        .locations = pl_locations_new(profile, &names),
        .term = &term,
        .subject = subject,
        .top = given.top ? (uint32_t) given.top : TOP,
        .depth = given.depth ? (uint32_t) given.depth : DEPTH,
        .full_names = given.full_names,
    };
    pl_head_print(&view);
    print_all(&view, reach, live);
    pl_head_losses(&view);
    pl_locations_free(view.locations);
    pl_groups_free(&threads);
    return PL_EXIT_OK;
}

/* The profile is read after the process, so that it has every stack that a block names. */
static enum pl_exit read_and_print(pid_t pid, const char *live, const char *subject)
{
    struct pl_reach_options how;
    struct pl_reach reach;
    struct pl_profile *profile;
    struct pl_subject_options names = {.command = "leaks",
                                       .force = given.force,
                                       .sysroot = given.sysroot,
                                       .no_symbols = given.no_symbols,
                                       .names = {.file = given.names, .full = given.full_names}};
    enum pl_exit status = look_first(pid, live, &how);
    if (status != PL_EXIT_OK)
        return status;
    pl_term_busy("plimsoll: following pointers");
    bool read = pl_reach_read(&reach, &how);
    pl_term_busy(NULL);
    if (!read) {
        pl_reach_free(&reach);
        return pl_say_failure("cannot look for leaks in process %d: %s", pid, reach.problem);
    }
    char *root = pl_proc_root(pid);
    status = pl_subject_read(&names, live, root, &profile);
    free(root);
    if (status == PL_EXIT_OK) {
        status = print_profile(profile, &reach, live, subject);
        pl_profile_close(profile);
    }
    pl_reach_free(&reach);
    return status;
}

static int leaks_main(int argc, char **argv)
{
    char *live;
    enum pl_exit status =
        argc ? pl_subject_check("leaks", argc, argv)
             : pl_say_usage("leaks needs the PID of a process; `%s ls` lists those that are profiled", pl_say_self());
    if (status != PL_EXIT_OK)
        return status;
    pid_t pid = pl_subject_pid(argv[0]);
    if (pid < 0)
        return pl_say_usage("leaks %s: not a PID; a profile does not say what points where: %s report --leaks %s shows "
                            "what was never freed",
                            argv[0], pl_say_self(), argv[0]);
    if (given.all_digits)
        pl_figure_all_digits();
    status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    status = read_and_print(pid, live, argv[0]);
    free(live);
    return status;
}

const struct pl_command pl_command_leaks = {
    .name = "leaks",
    .arguments = "PID",
    .summary = "find blocks of a running process that nothing points to",
    .details =
        "Follows all pointers of process PID, from its global variables, stacks, registers and thread-local storage "
        "through its heap, and lists the blocks that it does not come to: the program cannot free them any more. They "
        "are listed by the site that allocated them, with the address of one. A block that only lost blocks point to "
        "is "
        "lost with them, and is listed apart.\n"
        "\n"
        "A block that is held only by pointers to the middle of it, or of another such block, is probably in use, "
        "because programs do point to parts of objects; --inner lists such blocks.\n"
        "\n"
        "The process must be profiled in exact mode, because only then all blocks are known: `run --exact`, or `attach "
        "--exact`. It stands still while it makes a copy of itself, and the copy is read while it goes on; the last "
        "lines say for how long. You need the right to trace the process, like a debugger. Contents of memory are "
        "neither written nor shown.\n"
        "\n"
        "This is another question than that of `report --leaks`, which finds memory that grows, although something may "
        "well point to it. See docs/leaks.md.",
    .examples = "plimsoll leaks PID\n"
                "plimsoll leaks --inner --depth 3 PID",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = leaks_main,
};
