/* SPDX-License-Identifier: MIT */
/*
 * leaks.c - the leaks command: which blocks of a process nothing points to any more, by the site that allocated them.
 * It looks at a running process, or prints what `run --leaks` or an earlier look has stored in a profile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/leaks/look.h"
#include "cli/leaks/lost.h"
#include "cli/option.h"
#include "cli/proc.h"
#include "cli/report/print.h"
#include "cli/select.h"
#include "cli/subject.h"

#define TOP 20
#define DEPTH 6

static struct {
    uint64_t top, depth;
    bool inner, full_names, no_symbols, force, all_digits;
    const char *names, *sysroot, *output;
    int colour;
} given;

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "inner", .help = "also list blocks that are held only by pointers to the middle of them",
     .type = &pl_type_flag, .into = &given.inner},
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "none",
     .help = "also store what is lost, with a snapshot of the profile of process PID, in FILE",
     .type = &pl_type_text, .into = &given.output},
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

/* --- how it was found out --- */

static void put_how(const struct pl_view *view, const struct pl_reach *reach)
{
    char read[PL_FIGURE_BYTES];
    pl_figure_bytes(read, (double) reach->read_bytes);
    if (*reach->whole)
        pl_print_paragraph(
            view, "the process stood still for %.1f ms, while %s were read: it could not be copied, because %s",
            (double) reach->still_ns / 1e6, read, reach->whole);
    else
        pl_print_paragraph(
            view,
            "the process stood still for %.1f ms (%u thread%s), of which the kernel took %.1f ms to copy it; "
            "%s were read, from a copy",
            (double) reach->still_ns / 1e6, reach->threads, reach->threads == 1 ? "" : "s",
            (double) reach->copying_ns / 1e6, read);
}

static void put_when(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (profile->merged)
        pl_print_paragraph(view, "pointers were followed %s", pl_lost_when(profile));
    else
        pl_print_paragraph(view, "pointers were followed %s, %.3g s after its start", pl_lost_when(profile),
                           profile->looked_s);
}

static enum pl_exit print_profile(const struct pl_profile *profile, const struct pl_reach *reach, const char *subject)
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
    pl_lost_put(&view, given.inner);
    if (reach)
        put_how(&view, reach);
    else
        put_when(&view);
    pl_head_losses(&view);
    pl_locations_free(view.locations);
    pl_groups_free(&threads);
    return PL_EXIT_OK;
}

static struct pl_subject_options how_to_read(void)
{
    return (struct pl_subject_options){.command = "leaks",
                                       .force = given.force,
                                       .sysroot = given.sysroot,
                                       .no_symbols = given.no_symbols,
                                       .names = {.file = given.names, .full = given.full_names}};
}

/* --- a running process --- */

/* An empty file that nobody sees, or the one that the user wants. */
static int make_file(void)
{
    return given.output ? pl_look_make_file(given.output) : memfd_create("plimsoll leaks", MFD_CLOEXEC);
}

static int copy_profile(const char *live, const struct pl_look *look, int fd, const char *path, char why[PL_WHY_BYTES])
{
    int result = pl_look_copy_profile(live, fd, path, why);
    return result == 0 ? pl_annotate_look(path, look, why) : result;
}

static enum pl_exit print_copy(pid_t pid, const char *path, const struct pl_reach *reach, const char *subject)
{
    struct pl_subject_options names = how_to_read();
    struct pl_profile *profile;
    char why[PL_WHY_BYTES], *root = pl_proc_root(pid);
    enum pl_exit status = pl_subject_read(&names, path, root, &profile);
    free(root);
    if (status != PL_EXIT_OK)
        return status;
    if (given.output && !given.no_symbols && pl_annotate(path, profile, why) != 0)
        pl_say("%s; the profile is complete, but reading it needs the program's files", why);
    status = print_profile(profile, reach, subject);
    pl_profile_close(profile);
    return status;
}

static enum pl_exit store_and_print(pid_t pid, const char *live, const struct pl_look_taken *taken, const char *subject)
{
    char why[PL_WHY_BYTES];
    int fd = make_file();
    if (fd < 0)
        return given.output ? pl_look_refuse_file(given.output) : pl_say_failure("cannot copy the profile: %m");
    char *path = given.output ? pl_say_print("%s", given.output) : pl_say_print("/proc/self/fd/%d", fd);
    enum pl_exit status = copy_profile(live, &taken->look, fd, path, why)
                              ? pl_say_failure("%s", why)
                              : print_copy(pid, path, &taken->reach, subject);
    if (status != PL_EXIT_OK && given.output)
        unlink(given.output);
    free(path);
    close(fd);
    return status;
}

static enum pl_exit look_and_print(pid_t pid, const char *live, const char *subject)
{
    struct pl_look_taken taken;
    bool good = pl_look_take(&taken, pid, live, PL_LOOKED_RUNNING);
    enum pl_exit status = good ? store_and_print(pid, live, &taken, subject) : pl_say_failure("%s", taken.problem);
    pl_look_free(&taken);
    return status;
}

/* --- a profile --- */

static enum pl_exit print_stored(int argc, char **argv)
{
    struct pl_subject_options names = how_to_read();
    struct pl_profile *profile;
    enum pl_exit status = pl_subject_open(&names, argc, argv, &profile);
    if (status != PL_EXIT_OK)
        return status;
    if (profile->looked == PL_LOOKED_NOT)
        status = pl_say_failure("%s does not say what points where: %s run --leaks -- PROGRAM stores that when "
                                "PROGRAM ends, %s leaks PID while it runs; %s report --leaks %s shows what was never "
                                "freed",
                                argv[0], pl_say_self(), pl_say_self(), pl_say_self(), argv[0]);
    else
        status = print_profile(profile, NULL, argv[0]);
    pl_profile_close(profile);
    return status;
}

static int leaks_main(int argc, char **argv)
{
    char *live;
    enum pl_exit status = argc ? pl_subject_check("leaks", argc, argv)
                               : pl_say_usage("leaks needs the PID of a process, or a FILE of `run --leaks`; `%s ls` "
                                              "lists processes that are profiled",
                                              pl_say_self());
    if (status != PL_EXIT_OK)
        return status;
    pid_t pid = pl_subject_pid(argv[0]);
    if (given.all_digits)
        pl_figure_all_digits();
    if (pid < 0)
        return given.output ? pl_say_usage("leaks %s: --output is for a PID", argv[0]) : print_stored(argc, argv);
    status = pl_subject_live(pid, &live);
    if (status != PL_EXIT_OK)
        return status;
    status = look_and_print(pid, live, argv[0]);
    free(live);
    return status;
}

const struct pl_command pl_command_leaks = {
    .name = "leaks",
    .arguments = "PID|FILE",
    .summary = "find blocks that nothing points to",
    .details =
        "Follows all pointers of process PID, from its global variables, stacks, registers and thread-local storage "
        "through its heap, and lists the blocks that it does not come to: the program cannot free them any more. They "
        "are listed by the site that allocated them, with the address of one. A block that only lost blocks point to "
        "is lost with them, and is listed apart.\n"
        "\n"
        "`run --leaks` does the same when a program ends, and stores the result in its profile; with --output, "
        "this command stores it in a snapshot. Of such a FILE, `leaks` prints the result again, and `report`, `diff`, "
        "`export` and `check` have the metric `lost`.\n"
        "\n"
        "A block that is held only by pointers to the middle of it, or of another such block, is probably in use, "
        "because programs do point to parts of objects; --inner lists such blocks.\n"
        "\n"
        "In exact mode the verdict is on every block. Where blocks are sampled, it is on each sample, and the figures "
        "are "
        "estimates with a 95% confidence interval; blocks that auto mode had counted before it began to sample are "
        "exact. The pointers of the blocks in between are followed as well, if the allocator is glibc's, whose heaps "
        "say "
        "where they are. With another one, only blocks are found that nothing at all points to, so that more may be "
        "lost.\n"
        "\n"
        "The process stands still while it makes a copy of itself, and the copy is read while it goes on; the last "
        "lines say for how long. You need the right to trace the process, like a debugger. Contents of memory are "
        "neither written nor shown.\n"
        "\n"
        "This is another question than that of `report --leaks`, which finds memory that grows, although something may "
        "well point to it. See docs/leaks.md.",
    .examples = "plimsoll leaks PID\n"
                "plimsoll leaks --inner --depth 3 PID\n"
                "plimsoll leaks -o lost.plim PID",
    .files = PL_NAMES_FILES,
    .options = options,
    .main = leaks_main,
};
