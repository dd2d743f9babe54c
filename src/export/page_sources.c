/* SPDX-License-Identifier: MIT */
/*
 * page_sources.c - lines of source code for the page: those around the places that have most of something.
 *
 * A page is passed on, and a profile may come from anybody: it says which files to read, and what it says must not put
 * somebody's keys into a report. So only files are read whose names are those of source code.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page_work.h"
#include "snippet.h"
#include "utf8.h"

#define TOP 60    /* sites of each metric */
#define CONTEXT 3 /* lines before and behind */
#define LINE_BYTES_MOST 400
#define BYTES_MOST (256u << 10) /* of all lines */
#define LINE_NUMBER_MOST (1u << 26)

static const enum pl_metric metrics[] = {PL_METRIC_INUSE_SPACE, PL_METRIC_PEAK_SPACE, PL_METRIC_ALLOC_SPACE,
                                         PL_METRIC_ALLOC_OBJECTS, PL_METRIC_TEMP_OBJECTS};
#define METRICS (sizeof metrics / sizeof *metrics)

struct wanted {
    const struct pl_spot *spot[METRICS * TOP]; /* places whose lines are */
    uint32_t count;
};

/* --- which lines --- */

static bool is_source(const char *file)
{
    static const char *const suffixes[] = {
        "adb",  "ads", "asm", "c",     "c++", "cc",  "cpp", "cs",   "cu",  "cuh", "cxx", "d",
        "f",    "f90", "go",  "h",     "h++", "hh",  "hpp", "hs",   "hxx", "inc", "inl", "ipp",
        "java", "js",  "kt",  "l",     "lua", "m",   "ml",  "mm",   "nim", "pas", "py",  "pyx",
        "rb",   "rs",  "s",   "swift", "tcc", "tpp", "ts",  "vala", "y",   "zig",
    };
    const char *name = basename(file), *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && suffix > name && i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcasecmp(suffix + 1, suffixes[i]))
            return true;
    return false;
}

/* The heaviest paths, heaviest first. Returns how many. */
static uint32_t find_top(const struct pl_paths *paths, enum pl_metric metric, uint32_t top[TOP])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < paths->count; i++) {
        double value = fabs(paths->path[i].metric[metric].value);
        uint32_t at = count;
        while (at > 0 && fabs(paths->path[top[at - 1]].metric[metric].value) < value)
            at--;
        if (at == TOP || !(value > 0))
            continue;
        count += count < TOP;
        memmove(&top[at + 1], &top[at], (count - at - 1) * sizeof *top);
        top[at] = i;
    }
    return count;
}

static int by_line(const void *left, const void *right)
{
    const struct pl_spot *a = *(const struct pl_spot *const *) left, *b = *(const struct pl_spot *const *) right;
    int files = strcmp(a->source, b->source);
    return files ? files : (a->line > b->line) - (a->line < b->line);
}

static void choose(const struct pl_page_work *work, struct wanted *wanted)
{
    for (size_t m = 0; m < METRICS; m++) {
        uint32_t top[TOP], count = find_top(&work->paths, metrics[m], top);
        for (uint32_t i = 0; i < count; i++) {
            const struct pl_spot *spot = &work->spots->spot[work->paths.path[top[i]].spot[0]];
            if (spot->line && spot->line < LINE_NUMBER_MOST && is_source(spot->source))
                wanted->spot[wanted->count++] = spot;
        }
    }
    qsort(wanted->spot, wanted->count, sizeof *wanted->spot, by_line);
}

/* --- their text --- */

/* Without a part of a character at its end. */
static size_t cut(char *line)
{
    size_t bytes = 0;
    while (line[bytes]) {
        uint32_t character;
        size_t more = pl_utf8_decode(line + bytes, &character);
        if (bytes + more > LINE_BYTES_MOST)
            break;
        bytes += more;
    }
    line[bytes] = 0;
    return bytes;
}

static void write_snippet(struct pl_json *json, const struct pl_spot *spot, const struct pl_snippet *snippet)
{
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "file", spot->source);
    pl_json_add_bool(json, "younger", snippet->younger);
    pl_json_add_whole(json, "first", snippet->first);
    pl_json_key(json, "lines");
    pl_json_begin(json, '[');
    for (uint32_t i = 0; i < snippet->count; i++) {
        pl_json_separate(json);
        pl_json_text(json, snippet->line[i]);
    }
    pl_json_end(json, ']');
    pl_json_end(json, '}');
}

/* Returns how many bytes it has. */
static size_t write_lines(struct pl_json *json, struct pl_snippets *reader, const struct pl_spot *spot, uint32_t last,
                          size_t room)
{
    struct pl_snippet snippet;
    uint32_t first = spot->line > CONTEXT ? spot->line - CONTEXT : 1;
    size_t bytes = 0;
    if (!pl_snippets_read(reader, spot, first, last, &snippet))
        return 0;
    for (uint32_t i = 0; i < snippet.count; i++)
        bytes += cut(snippet.line[i]);
    if (bytes <= room)
        write_snippet(json, spot, &snippet);
    pl_snippet_free(&snippet);
    return bytes <= room ? bytes : 0;
}

/* Places that are close to each other have their lines together. */
void pl_page_write_sources(struct pl_json *json, const struct pl_page_work *work)
{
    struct wanted wanted = {.count = 0};
    struct pl_snippets *reader = pl_snippets_new(work->profile);
    size_t room = BYTES_MOST;
    if (!work->options->page.no_sources)
        choose(work, &wanted);
    pl_json_begin(json, '[');
    for (uint32_t i = 0, next; i < wanted.count; i = next) {
        uint32_t last = wanted.spot[i]->line + CONTEXT;
        for (next = i + 1; next < wanted.count; next++) {
            const struct pl_spot *spot = wanted.spot[next];
            if (strcmp(spot->source, wanted.spot[i]->source) || spot->line > last + CONTEXT + 1)
                break;
            last = spot->line + CONTEXT;
        }
        room -= write_lines(json, reader, wanted.spot[i], last, room);
    }
    pl_snippets_free(reader);
    pl_json_end(json, ']');
}
