/* SPDX-License-Identifier: MIT */
/*
 * page_sources.c - the "sources" member of page data: source lines around the places with the largest figures.
 *
 * The profile names the files to read. It may come from a stranger, and the page may be passed on, so a forged profile
 * must not copy the user's private keys into the page. Hence only files with the suffix of source code are read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/snippet.h"
#include "page/data/page_work.h"
#include "reader/base/utf8.h"

#define TOP 60    /* sites per metric */
#define CONTEXT 3 /* lines before and after */
#define LINE_BYTES_MOST 400
#define BYTES_MOST (256u << 10) /* of all lines together */
#define LINE_NUMBER_MOST (1u << 26)

static const enum pl_metric metrics[] = {PL_METRIC_INUSE_SPACE, PL_METRIC_PEAK_SPACE, PL_METRIC_ALLOC_SPACE,
                                         PL_METRIC_ALLOC_OBJECTS, PL_METRIC_TEMP_OBJECTS};
#define METRICS (sizeof metrics / sizeof *metrics)

struct wanted {
    const struct pl_location *location[METRICS * TOP]; /* places whose lines are wanted */
    uint32_t count;
};

/* --- choosing lines --- */

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
    const struct pl_location *a = *(const struct pl_location *const *) left,
                             *b = *(const struct pl_location *const *) right;
    int files = strcmp(a->source, b->source);
    return files ? files : (a->line > b->line) - (a->line < b->line);
}

static void choose(const struct pl_page_work *work, struct wanted *wanted)
{
    for (size_t m = 0; m < METRICS; m++) {
        uint32_t top[TOP], count = find_top(&work->paths, metrics[m], top);
        for (uint32_t i = 0; i < count; i++) {
            const struct pl_location *location = &work->locations->location[work->paths.path[top[i]].location[0]];
            if (location->line && location->line < LINE_NUMBER_MOST && is_source(location->source))
                wanted->location[wanted->count++] = location;
        }
    }
    qsort(wanted->location, wanted->count, sizeof *wanted->location, by_line);
}

/* --- reading and writing them --- */

/* Truncates the line, but never inside a character. Returns its length. */
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

static void write_snippet(struct pl_json *json, const struct pl_location *location, const struct pl_snippet *snippet)
{
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "file", location->source);
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

/* Writes the lines if they fit into `room`. Returns how many bytes it wrote. */
static size_t write_lines(struct pl_json *json, struct pl_snippets *reader, const struct pl_location *location,
                          uint32_t last, size_t room)
{
    struct pl_snippet snippet;
    uint32_t first = location->line > CONTEXT ? location->line - CONTEXT : 1;
    size_t bytes = 0;
    if (!pl_snippets_read(reader, location, first, last, &snippet))
        return 0;
    for (uint32_t i = 0; i < snippet.count; i++)
        bytes += cut(snippet.line[i]);
    if (bytes <= room)
        write_snippet(json, location, &snippet);
    pl_snippet_free(&snippet);
    return bytes <= room ? bytes : 0;
}

/* Places close to each other share one snippet. */
void pl_page_sources_write(struct pl_json *json, const struct pl_page_work *work)
{
    struct wanted wanted = {.count = 0};
    struct pl_snippets *reader = pl_snippets_new(work->profile);
    size_t room = BYTES_MOST;
    if (!work->about->no_sources)
        choose(work, &wanted);
    pl_json_begin(json, '[');
    for (uint32_t i = 0, next; i < wanted.count; i = next) {
        uint32_t last = wanted.location[i]->line + CONTEXT;
        for (next = i + 1; next < wanted.count; next++) {
            const struct pl_location *location = wanted.location[next];
            if (strcmp(location->source, wanted.location[i]->source) || location->line > last + CONTEXT + 1)
                break;
            last = location->line + CONTEXT;
        }
        room -= write_lines(json, reader, wanted.location[i], last, room);
    }
    pl_snippets_free(reader);
    pl_json_end(json, ']');
}
