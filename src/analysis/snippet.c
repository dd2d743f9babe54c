/* SPDX-License-Identifier: MIT */
/*
 * snippet.c - lines of source code around a place of a profile.
 *
 * Files are read when they are asked for, one at a time: whoever asks names few.
 */
#include "snippet.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grow.h"

#define FILE_BYTES_MOST (64 << 20)
#define LINE_BYTES_MOST 4096 /* more of a line is not looked at */
#define TAB_WIDTH 4

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

/* Of a binary that is gone the time of the run has to do: it was there then. */
static bool is_younger(const struct pl_profile *profile, const struct timespec *written, const char *binary)
{
    struct stat status;
    struct timespec built = {.tv_sec = (time_t) (profile->header.start_realtime_ns / 1000000000)};
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

static void read_lines(FILE *file, uint32_t last, struct pl_snippet *snippet)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    uint32_t lines_room = 0;
    for (uint32_t number = 1; number <= last && (bytes = getline(&line, &room, file)) >= 0; number++) {
        if (number < snippet->first)
            continue;
        snippet->line = pl_grow(snippet->line, snippet->count, &lines_room, sizeof *snippet->line);
        snippet->line[snippet->count++] = lay_out(line, (size_t) bytes);
    }
    free(line);
}

bool pl_snippet_read(const struct pl_profile *profile, const struct pl_spot *spot, uint32_t first, uint32_t last,
                     struct pl_snippet *out)
{
    struct timespec written;
    struct pl_snippet snippet = {.first = first > 1 ? first : 1};
    bool possible = *spot->source && last <= FILE_BYTES_MOST; /* no file has more lines than bytes */
    FILE *file = possible ? find_file(profile, spot->source, &written) : NULL;
    if (!file)
        return false;
    read_lines(file, last, &snippet);
    fclose(file);
    if (!snippet.count)
        return false;
    snippet.younger = is_younger(profile, &written, spot->binary);
    *out = snippet;
    return true;
}

void pl_snippet_free(struct pl_snippet *snippet)
{
    for (uint32_t i = 0; i < snippet->count; i++)
        free(snippet->line[i]);
    free(snippet->line);
}
