/* SPDX-License-Identifier: MIT */
/*
 * jit.c - names of code that is in no file, from the map a JIT compiler leaves for perf.
 *
 *   START SIZE name        hexadecimal, one function a line, appended as code is compiled
 *
 * Compilers reuse addresses, and only ever append, so the last line that holds an address counts (spans.h).
 *
 * The file is in a directory where anyone may create it: it is trusted only if it is a regular file, belongs to the
 * user of the process or to root, is writable by nobody else, and was written since the process started.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

#define MAP_BYTES_MAX (256ll << 20)
#define NS_PER_S 1000000000ull

struct pl_jit {
    char *text; /* the file; each name ends in NUL */
    const char **name;
    uint32_t names, capacity;
    struct pl_spans spans;
};

static bool is_trusted(int fd, uint32_t uid, uint64_t not_before_ns, struct stat *status)
{
    if (fstat(fd, status) != 0 || !S_ISREG(status->st_mode) || status->st_size > MAP_BYTES_MAX)
        return false;
    if ((status->st_uid != uid && status->st_uid != 0) || (status->st_mode & (S_IWGRP | S_IWOTH)))
        return false;
    /* File times may be a clock tick behind. */
    return ((uint64_t) status->st_mtim.tv_sec + 1) * NS_PER_S + (uint64_t) status->st_mtim.tv_nsec >= not_before_ns;
}

/* The whole file, with a NUL after it. */
static char *read_all(int fd, size_t bytes)
{
    char *text = pl_grow_zeroed(bytes + 1, 1);
    size_t got = 0;
    ssize_t now;
    while (got < bytes && (now = read(fd, text + got, bytes - got)) > 0)
        got += (size_t) now;
    text[got] = '\0';
    return text;
}

static void add_line(struct pl_jit *jit, char *line)
{
    char *end;
    uint64_t start = strtoull(line, &end, 16);
    uint64_t bytes = *end == ' ' ? strtoull(end + 1, &end, 16) : 0;
    if (*end != ' ' || end[1] == '\0' || bytes == 0 || bytes > UINT64_MAX - start)
        return;
    jit->name = pl_grow(jit->name, jit->names, &jit->capacity, sizeof *jit->name);
    jit->name[jit->names] = end + 1;
    pl_spans_add(&jit->spans, start, start + bytes, jit->names++);
}

static void add_lines(struct pl_jit *jit)
{
    for (char *line = jit->text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        add_line(jit, line);
    }
    pl_spans_sort(&jit->spans);
}

struct pl_jit *pl_jit_open(const char *path, uint32_t uid, uint64_t not_before_ns)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct pl_jit *jit = NULL;
    if (is_trusted(fd, uid, not_before_ns, &status)) {
        jit = pl_grow_zeroed(1, sizeof *jit);
        jit->text = read_all(fd, (size_t) status.st_size);
        add_lines(jit);
    }
    close(fd);
    return jit;
}

const char *pl_jit_find(const struct pl_jit *jit, uint64_t address)
{
    uint32_t found = pl_spans_find(&jit->spans, address);
    return found == PL_NO_ITEM ? NULL : jit->name[found];
}

void pl_jit_free(struct pl_jit *jit)
{
    if (!jit)
        return;
    free(jit->text);
    free(jit->name);
    pl_spans_free(&jit->spans);
    free(jit);
}
