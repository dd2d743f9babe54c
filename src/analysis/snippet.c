/* SPDX-License-Identifier: MIT */
/*
 * snippet.c - lines of source code around a place of a profile.
 *
 * One file is open at a time. A reader keeps its position in the file, so asking for lines in order reads a file once.
 * A profile may name any file and any number of them, so the total of bytes read is limited.
 */
#include "analysis/snippet.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/base/grow.h"

#define FILE_BYTES_MOST (64 << 20)
#define BYTES_MOST (256ull << 20) /* of all files */
#define LINE_BYTES_MOST 4096      /* longer lines are truncated */
#define TAB_WIDTH 4

struct pl_snippets {
    const struct pl_profile *profile;
    const char *source; /* the file's name; NULL: nothing has been read yet */
    FILE *file;         /* NULL: it does not exist */
    struct timespec written;
    uint32_t line; /* the next line to read */
    uint64_t left; /* bytes that may still be read */
};

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

static FILE *find_file(const struct pl_profile *profile, const char *name, struct timespec *written)
{
    FILE *file = NULL;
    if (*name != '/' && *profile->directory) {
        char *path = NULL;
        pl_grow_check(asprintf(&path, "%s/%s", profile->directory, name) < 0 ? NULL : path, 1, 1);
        file = open_regular(path, written);
        free(path);
    }
    return file ? file : open_regular(name, written);
}

/* If the binary no longer exists, the time of the run stands in for its time. */
static bool is_younger(const struct pl_profile *profile, const struct timespec *written, const char *binary)
{
    struct stat status;
    struct timespec built = {.tv_sec = (time_t) (profile->header.start_realtime_ns / 1000000000)};
    if (!stat(binary, &status))
        built = status.st_mtim;
    return written->tv_sec != built.tv_sec ? written->tv_sec > built.tv_sec : written->tv_nsec > built.tv_nsec;
}

/* --- which lines --- */

/* The line without its end and trailing blanks, and with blanks for tabs. */
static char *lay_out(const char *line, size_t bytes)
{
    if (bytes > LINE_BYTES_MOST)
        bytes = LINE_BYTES_MOST;
    char *text = pl_grow_zeroed(bytes * TAB_WIDTH + 1, 1);
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

static void read_lines(struct pl_snippets *reader, uint32_t last, struct pl_snippet *snippet)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    uint32_t lines_room = 0;
    for (; reader->line <= last && reader->left && (bytes = getline(&line, &room, reader->file)) >= 0; reader->line++) {
        reader->left -= (uint64_t) bytes < reader->left ? (uint64_t) bytes : reader->left;
        if (reader->line < snippet->first)
            continue;
        snippet->line = pl_grow(snippet->line, snippet->count, &lines_room, sizeof *snippet->line);
        snippet->line[snippet->count++] = lay_out(line, (size_t) bytes);
    }
    free(line);
}

/* Opens the file, or keeps it open if `line` is not yet behind. */
static void turn_to(struct pl_snippets *reader, const char *source, uint32_t line)
{
    if (reader->source && !strcmp(reader->source, source) && reader->line <= line)
        return;
    if (reader->file)
        fclose(reader->file);
    reader->source = source;
    reader->file = *source ? find_file(reader->profile, source, &reader->written) : NULL;
    reader->line = 1;
}

struct pl_snippets *pl_snippets_new(const struct pl_profile *profile)
{
    struct pl_snippets *reader = pl_grow_zeroed(1, sizeof *reader);
    *reader = (struct pl_snippets){.profile = profile, .left = BYTES_MOST};
    return reader;
}

void pl_snippets_free(struct pl_snippets *reader)
{
    if (reader->file)
        fclose(reader->file);
    free(reader);
}

bool pl_snippets_read(struct pl_snippets *reader, const struct pl_location *location, uint32_t first, uint32_t last,
                      struct pl_snippet *out)
{
    struct pl_snippet snippet = {.first = first > 1 ? first : 1};
    if (last > FILE_BYTES_MOST) /* no file has more lines than bytes */
        return false;
    turn_to(reader, location->source, snippet.first);
    if (reader->file)
        read_lines(reader, last, &snippet);
    if (!snippet.count)
        return false;
    snippet.younger = is_younger(reader->profile, &reader->written, location->binary);
    *out = snippet;
    return true;
}

bool pl_snippet_read(const struct pl_profile *profile, const struct pl_location *location, uint32_t first,
                     uint32_t last, struct pl_snippet *out)
{
    struct pl_snippets *reader = pl_snippets_new(profile);
    bool found = pl_snippets_read(reader, location, first, last, out);
    pl_snippets_free(reader);
    return found;
}

void pl_snippet_free(struct pl_snippet *snippet)
{
    for (uint32_t i = 0; i < snippet->count; i++)
        free(snippet->line[i]);
    free(snippet->line);
}
