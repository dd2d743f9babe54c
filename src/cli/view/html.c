/* SPDX-License-Identifier: MIT */
/*
 * html.c - the html command: writes the page and a profile into one file, to keep or to send.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/figure.h"
#include "cli/files.h"
#include "cli/view/pages.h"
#include "cli/run/summary.h"
#include "cli/term.h"
#include "format/settings.h"
#include "page/document.h"

static struct {
    struct pl_pages_options pages;
    const char *output;
} given = {.pages = {.command = "html", .select = PL_SELECT_NOTHING}};

/* clang-format off */
static const struct pl_option options[] = {
    {.name = "output", .letter = 'o', .takes = "FILE", .fallback = "the profile's name with .html, in this directory",
     .help = "file to write to; - is stdout", .type = &pl_type_text, .into = &given.output},
    PL_PAGES_OPTIONS(given.pages),
    {0},
};
/* clang-format on */

/* --- the file name --- */

/* "out/app.plim": "app"; "app.plim.2": "app.2". The caller frees it. */
static char *page_stem(const char *path)
{
    const char *name = basename(path), *suffix = strstr(name, PL_SUFFIX);
    size_t bytes = strlen(PL_SUFFIX);
    return suffix && suffix > name ? pl_say_print("%.*s%s", (int) (suffix - name), name, suffix + bytes)
                                   : pl_say_print("%s", name);
}

/* A file in the working directory. For a running process, named after its future profile. The caller frees it. */
static char *name_file(const struct pl_pages *pages, const char *typed)
{
    const struct pl_profile *profile = pages->side[pages->sides - 1].selection.whole;
    const char *destination = basename(profile->destination);
    bool running = !strchr(typed, '.') && access(typed, F_OK);
    char *stem = page_stem(running && *destination ? destination : typed);
    char *name = pl_say_print("%s%s.html", stem, pages->sides == 2 ? ".diff" : "");
    free(stem);
    return name;
}

/* --- writing --- */

static void write_document(void *pages, FILE *out)
{
    pl_document_write(pl_pages_write, pages, out);
}

static void say_written(const char *path)
{
    struct stat status;
    char size[PL_FIGURE_BYTES], *typed = pl_summary_typed(path);
    if (!stat(path, &status) && S_ISREG(status.st_mode)) {
        pl_figure_bytes(size, (double) status.st_size);
        pl_say("wrote %s (%s); it needs no network and no other files", typed, size);
        pl_say("next: xdg-open %s; or send it to somebody", typed);
    }
    free(typed);
}

static enum pl_exit write_file(struct pl_pages *pages, const char *path)
{
    struct pl_files_content content = {"the page", PL_FILES_PRIVATE, write_document, pages};
    pl_term_busy("plimsoll: writing");
    enum pl_exit status = pl_files_write(&content, path);
    pl_term_busy(NULL);
    if (status == PL_EXIT_OK)
        say_written(path);
    return status;
}

static enum pl_exit write_page(struct pl_pages *pages, const char *typed)
{
    if (given.output && !strcmp(given.output, "-")) {
        write_document(pages, stdout);
        return PL_EXIT_OK;
    }
    char *path = given.output ? pl_say_print("%s", given.output) : name_file(pages, typed);
    enum pl_exit status = write_file(pages, path);
    free(path);
    return status;
}

static int html_main(int argc, char **argv)
{
    struct pl_pages pages;
    if (given.output && !strcmp(given.output, "-") && isatty(STDOUT_FILENO))
        return pl_say_usage("the page cannot be written to a terminal; use -o FILE, or > FILE");
    enum pl_exit status = pl_pages_begin(&given.pages, argc, argv);
    if (status != PL_EXIT_OK)
        return status;
    status = pl_pages_open(&given.pages, argc, argv, &pages);
    if (status == PL_EXIT_OK) {
        status = write_page(&pages, argv[argc - 1]);
        pl_pages_close(&pages);
    }
    pl_pages_end(&given.pages);
    return status;
}

const struct pl_command pl_command_html = {
    .name = "html",
    .arguments = "[FILE|PID [AFTER]]",
    .summary = "write an interactive page for the browser, as one file",
    .details =
        "Writes the interactive page: the heap over time, flame graphs, tables of sites and functions, tags, threads, "
        "sizes, lifetimes, leaks. It is one self-contained file: it opens from the disk, without a network, on any "
        "machine, and can be mailed or attached to a ticket. Its content security policy forbids all network access.\n"
        "\n" PL_SUBJECT_NEWEST "\n"
        "\n"
        "With two profiles, the page shows what has changed from the first to the second, as `plimsoll diff` does.\n"
        "\n"
        "The page contains what the profile contains: names of functions and files, the command line, and lines of "
        "source code around the important sites, unless --no-source is given. So the file is readable only by you, as "
        "profiles are; chmod changes that.\n"
        "\n"
        "`plimsoll view` shows the same page without writing a file, and shows a running process live.",
    .examples = "plimsoll html out.plim\n"
                "plimsoll html -o report.html --no-source out.plim\n"
                "plimsoll html --focus libc out.plim\n"
                "plimsoll html exact.plim out.plim -o changes.html  # what has changed\n"
                "plimsoll html PID",
    .files = PL_NAMES_FILES,
    .reads_newest = true,
    .options = options,
    .main = html_main,
};
