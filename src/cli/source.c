/* SPDX-License-Identifier: MIT */
/*
 * source.c - lines of source code, for `report --source`:
 *
 *    211 │ while (row < last)
 *    212 │     table->row[row] = strdup(line);     <- bold: this one
 *    213 │ table->rows = last;
 *
 * A file is looked for under the name that debug information has for it: where that is relative, below the directory in
 * which the program was started, then below this one. One that is not there is nobody's fault, so nothing is said of
 * it. What is there may be anything: only regular files are read, and lines are cut to the width, tabs are blanks, and
 * the rest is cleaned where it is printed.
 *
 * Files are read when they are asked for, one at a time: a report names few.
 */
#include "source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utf8.h"

#define CONTEXT 1 /* lines before and behind */
#define LINES (2 * CONTEXT + 1)
#define FILE_BYTES_MOST (64 << 20)
#define LINE_BYTES_MOST 4096 /* more of a line is not looked at */
#define TAB_WIDTH 4

struct pl_source {
    const struct pl_profile *profile;
};

struct pl_source *pl_source_new(const struct pl_profile *profile)
{
    struct pl_source *source = pl_say_memory(calloc(1, sizeof *source));
    source->profile = profile;
    return source;
}

void pl_source_free(struct pl_source *source)
{
    free(source);
}

/* --- which file --- */

static FILE *open_regular(const char *path, struct timespec *written)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool good = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size <= FILE_BYTES_MOST;
    FILE *file = good ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0)
        close(fd);
    if (file)
        *written = status.st_mtim;
    return file;
}

static FILE *find_file(const struct pl_source *source, const char *name, struct timespec *written)
{
    FILE *file = NULL;
    if (*name != '/' && *source->profile->directory) {
        char *path = pl_say_print("%s/%s", source->profile->directory, name);
        file = open_regular(path, written);
        free(path);
    }
    return file ? file : open_regular(name, written);
}

/* Of a binary that is gone the time of the run has to do: it was there then. */
static bool is_younger(const struct pl_source *source, const struct timespec *written, const char *binary)
{
    struct stat status;
    struct timespec built = {.tv_sec = (time_t) (source->profile->header.start_realtime_ns / 1000000000)};
    if (!stat(binary, &status))
        built = status.st_mtim;
    return written->tv_sec != built.tv_sec ? written->tv_sec > built.tv_sec : written->tv_nsec > built.tv_nsec;
}

/* --- which lines --- */

/* What a line looks like: without its end, and with blanks for tabs. */
static char *lay_out(const char *line, size_t bytes)
{
    if (bytes > LINE_BYTES_MOST)
        bytes = LINE_BYTES_MOST;
    char *text = pl_say_memory(calloc(bytes * TAB_WIDTH + 1, 1));
    size_t at = 0;
    for (size_t i = 0; i < bytes && line[i] && line[i] != '\n' && line[i] != '\r'; i++) {
        size_t blanks = line[i] == '\t' ? TAB_WIDTH - at % TAB_WIDTH : 0;
        memset(text + at, ' ', blanks);
        if (!blanks)
            text[at] = line[i];
        at += blanks ? blanks : 1;
    }
    while (at && text[at - 1] == ' ')
        text[--at] = 0;
    return text;
}

/* text[i] is line `first` + i, or NULL where there is none. */
static void read_lines(FILE *file, uint32_t first, char *text[LINES])
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    for (uint32_t number = 1; number < first + LINES && (bytes = getline(&line, &room, file)) >= 0; number++)
        if (number >= first)
            text[number - first] = lay_out(line, (size_t) bytes);
    free(line);
}

/* The indentation that all of them have. */
static size_t common_blanks(char *text[LINES])
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < LINES; i++) {
        size_t blanks = text[i] && *text[i] ? strspn(text[i], " ") : SIZE_MAX;
        least = blanks < least ? blanks : least;
    }
    return least == SIZE_MAX ? 0 : least;
}

static void put_lines(struct pl_term *term, char *text[LINES], uint32_t first, uint32_t wanted, size_t indent)
{
    size_t blanks = common_blanks(text);
    for (uint32_t i = 0; i < LINES; i++) {
        bool this = first + i == wanted;
        if (!text[i] || (!*text[i] && !this))
            continue;
        pl_term_pad(term, indent);
        pl_term_print(term, PL_STYLE_DIM, "%6u │ ", first + i);
        size_t room = term->width > term->column ? term->width - term->column : 1;
        const char *shown = strlen(text[i]) > blanks ? text[i] + blanks : "";
        pl_term_cut(term, this ? PL_STYLE_BOLD : PL_STYLE_DIM, shown, room);
        pl_term_end(term);
    }
}

static void put_younger(struct pl_term *term, const struct pl_spot *spot, size_t indent)
{
    char *words = pl_say_print("%s is younger than %s: lines may have moved", spot->file, spot->module);
    pl_term_pad(term, indent);
    pl_term_words(term, PL_STYLE_WARN, words, indent);
    pl_term_end(term);
    free(words);
}

void pl_source_put(struct pl_source *source, struct pl_term *term, const struct pl_spot *spot, size_t indent)
{
    char *text[LINES] = {0};
    struct timespec written;
    FILE *file = spot->line && *spot->source ? find_file(source, spot->source, &written) : NULL;
    uint32_t first = spot->line > CONTEXT ? spot->line - CONTEXT : 1;
    if (!file)
        return;
    if (spot->line <= FILE_BYTES_MOST) /* no file has more lines than bytes */
        read_lines(file, first, text);
    fclose(file);
    if (text[spot->line - first]) {
        put_lines(term, text, first, spot->line, indent);
        if (is_younger(source, &written, spot->binary))
            put_younger(term, spot, indent);
    }
    for (size_t i = 0; i < LINES; i++)
        free(text[i]);
}
