/* SPDX-License-Identifier: MIT */
/*
 * jit.c - names of code that is in no file, from what its compiler leaves for perf.
 *
 *   /tmp/perf-PID.map   START SIZE name      hexadecimal, one function a line, appended as code is compiled
 *   jit-PID.dump        jitdump.c            with times, and with lines
 *
 * Compilers reuse addresses. A jitdump says when code was put where, and the profile when it saw the code: the last
 * code before that is the right one. A map has no times. If it has several names for an address, the last one is that
 * of the last version of the code that was seen there, and the others are used if there is one for each version.
 *
 * Either file is in a directory where others may create files: it is trusted only if it is a regular file, belongs to
 * the user of the process or to root, is writable by nobody else, and was written since the process started.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

#define FILE_BYTES_MAX (256ll << 20)
#define NS_PER_S 1000000000ull
#define SLACK_UNITS 64u /* some 0.1 ms: clocks of the processor and of the system are that close */
#define ITEMS_MAX 256u  /* of code that was at one address, one after the other */

struct code {
    const char *name;
    uint64_t from_units; /* since the start of the process; 0 in a map */
    const struct pl_jit_line *line;
    uint32_t lines;
    uint64_t moved_by;
};

/* What one file says. */
struct table {
    struct code *code;
    uint32_t count, capacity;
    struct pl_spans spans;
};

struct pl_jit {
    const struct pl_header *header;
    double unit_ns;
    struct pl_arena *arena;  /* of this struct; places have their texts in that of the profile */
    struct pl_arena *places; /* of the profile */
    char *map_text;          /* this and the next: the files */
    char *dump_text;
    bool ticks; /* times of the dump are those of the processor's clock */
    struct table map, dump;
};

/* ---- files ---- */

static bool is_trusted(int fd, const struct pl_header *header, struct stat *status)
{
    if (fstat(fd, status) != 0 || !S_ISREG(status->st_mode) || status->st_size > FILE_BYTES_MAX)
        return false;
    if ((status->st_uid != header->uid && status->st_uid != 0) || (status->st_mode & (S_IWGRP | S_IWOTH)))
        return false;
    /* File times may be a clock tick behind. */
    return ((uint64_t) status->st_mtim.tv_sec + 1) * NS_PER_S + (uint64_t) status->st_mtim.tv_nsec >=
           header->start_realtime_ns;
}

/* The whole file, with a NUL after it. NULL: none that can be trusted. It may grow meanwhile: that part is for the next
 * time. */
static char *read_trusted(const char *path, const struct pl_header *header, size_t *bytes)
{
    struct stat status;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *bytes = 0;
    if (fd < 0)
        return NULL;
    if (is_trusted(fd, header, &status)) {
        ssize_t now;
        text = pl_grow_zeroed((size_t) status.st_size + 1, 1);
        while (*bytes < (size_t) status.st_size &&
               (now = read(fd, text + *bytes, (size_t) status.st_size - *bytes)) > 0)
            *bytes += (size_t) now;
    }
    close(fd);
    return text;
}

/* ---- tables ---- */

static void add(struct table *table, uint64_t address, uint64_t bytes, const struct code *code)
{
    if (bytes == 0 || bytes > UINT64_MAX - address)
        return;
    table->code = pl_grow(table->code, table->count, &table->capacity, sizeof *table->code);
    table->code[table->count] = *code;
    pl_spans_add(&table->spans, address, address + bytes, table->count++);
}

static void free_table(struct table *table)
{
    free(table->code);
    pl_spans_free(&table->spans);
}

static void add_line(struct table *map, char *line)
{
    char *end;
    uint64_t start = strtoull(line, &end, 16);
    uint64_t bytes = *end == ' ' ? strtoull(end + 1, &end, 16) : 0;
    if (*end == ' ' && end[1] != '\0')
        add(map, start, bytes, &(struct code){.name = end + 1});
}

static void read_map(struct pl_jit *jit, const char *sysroot)
{
    char path[PATH_MAX];
    size_t bytes;
    snprintf(path, sizeof path, "%s/tmp/perf-%u.map", sysroot, jit->header->pid);
    jit->map_text = read_trusted(path, jit->header, &bytes);
    for (char *line = jit->map_text, *next; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        add_line(&jit->map, line);
    }
    pl_spans_sort(&jit->map.spans);
}

/* ---- the dump ---- */

/* A time of the dump, since the start of the process. */
static uint64_t units_of(const struct pl_jit *jit, uint64_t time)
{
    const struct pl_header *header = jit->header;
    if (jit->ticks)
        return time > header->clock.start_ticks ? (time - header->clock.start_ticks) >> PL_UNIT_SHIFT : 0;
    double ns = time > header->start_monotonic_ns ? (double) (time - header->start_monotonic_ns) : 0;
    return jit->unit_ns > 0 ? (uint64_t) (ns / jit->unit_ns) : 0;
}

static void add_code(void *context, const struct pl_jit_code *code)
{
    struct pl_jit *jit = context;
    add(&jit->dump, code->address, code->bytes,
        &(struct code){code->name, units_of(jit, code->time), code->line, code->lines, code->moved_by});
}

static bool read_dump(struct pl_jit *jit, const char *path)
{
    struct pl_jitdump_header about;
    size_t bytes;
    char *text = read_trusted(path, jit->header, &bytes);
    if (!text || !pl_jitdump_header(text, bytes, &about) || about.pid != jit->header->pid) {
        free(text);
        return false;
    }
    jit->dump_text = text;
    jit->ticks = about.ticks;
    pl_jitdump_read(text, bytes, jit->arena, add_code, jit);
    pl_spans_sort(&jit->dump.spans);
    return true;
}

/* A compiler maps the first page of its dump, so that perf sees where it is. `sysroot` is /proc/PID/root if the process
 * runs. */
static bool read_mapped_dump(struct pl_jit *jit, const char *sysroot)
{
    char maps[64], name[32], path[PATH_MAX];
    char *line = NULL;
    size_t room = 0;
    unsigned pid;
    int end = 0;
    bool found = false;
    if (sscanf(sysroot, "/proc/%u/root%n", &pid, &end) != 1 || end == 0 || sysroot[end])
        return false;
    snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
    snprintf(name, sizeof name, "/jit-%u.dump\n", jit->header->pid);
    FILE *file = fopen(maps, "re");
    while (!found && file && getline(&line, &room, file) > 0) {
        char *slash = strchr(line, '/'), *last = strrchr(line, '/');
        if (!slash || strcmp(last, name) != 0)
            continue;
        last[strlen(last) - 1] = '\0';
        found = snprintf(path, sizeof path, "%s%s", sysroot, slash) < PATH_MAX && read_dump(jit, path);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Where compilers put it: the working directory (V8), /tmp (.NET), ~/.debug/jit (LLVM, Java's agent). */
static void find_dump(struct pl_jit *jit, const char *sysroot, const char *directory)
{
    const char *home = getenv("JITDUMPDIR");
    const char *pattern[] = {directory, "/tmp", "/.debug/jit/*"};
    if (read_mapped_dump(jit, sysroot))
        return;
    if (!home)
        home = getenv("HOME");
    for (unsigned i = 0; i < 3; i++) {
        char path[PATH_MAX];
        glob_t found;
        bool done = false;
        const char *above = i == 2 && home ? home : "";
        if (snprintf(path, sizeof path, "%s%s%s/jit-%u.dump", sysroot, above, pattern[i], jit->header->pid) >= PATH_MAX)
            continue;
        if (i < 2) {
            done = read_dump(jit, path);
        } else if (glob(path, GLOB_NOSORT, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc && !done; j++)
                done = read_dump(jit, found.gl_pathv[j]);
            globfree(&found);
        }
        if (done)
            return;
    }
}

struct pl_jit *pl_jit_open(const struct pl_profile *profile, const char *sysroot)
{
    if (profile->header.flags & PL_FLAG_MERGED) /* addresses of several processes */
        return NULL;
    struct pl_jit *jit = pl_grow_zeroed(1, sizeof *jit);
    jit->header = &profile->header;
    jit->unit_ns = profile->unit_s * 1e9;
    jit->arena = pl_arena_new();
    jit->places = profile->arena;
    sysroot = sysroot ? sysroot : "";
    read_map(jit, sysroot);
    find_dump(jit, sysroot, profile->directory);
    if (jit->map.count > 0 || jit->dump.count > 0)
        return jit;
    pl_jit_free(jit);
    return NULL;
}

void pl_jit_free(struct pl_jit *jit)
{
    if (!jit)
        return;
    free(jit->map_text);
    free(jit->dump_text);
    free_table(&jit->map);
    free_table(&jit->dump);
    pl_arena_free(jit->arena);
    free(jit);
}

/* ---- looking up ---- */

/* The last code that was put there before it was seen. */
static const struct code *find_in_dump(const struct pl_jit *jit, const struct pl_jit_question *question)
{
    uint32_t item[ITEMS_MAX], count = pl_spans_list(&jit->dump.spans, question->address, item, ITEMS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct code *code = &jit->dump.code[item[i]];
        if (question->units == 0 || code->from_units <= question->units + SLACK_UNITS)
            return code;
    }
    return NULL;
}

static const struct code *find_in_map(const struct pl_jit *jit, const struct pl_jit_question *question)
{
    uint32_t item[ITEMS_MAX], count = pl_spans_list(&jit->map.spans, question->address, item, ITEMS_MAX);
    const struct code *name[ITEMS_MAX]; /* the last first; one that was compiled again is there once */
    uint32_t names = 0;
    for (uint32_t i = 0; i < count; i++)
        if (names == 0 || strcmp(name[names - 1]->name, jit->map.code[item[i]].name) != 0)
            name[names++] = &jit->map.code[item[i]];
    if (names <= 1 || question->version + 1 >= question->versions)
        return names ? name[0] : NULL;
    return names == question->versions ? name[names - 1 - question->version] : NULL;
}

static void set_line(const struct code *code, uint64_t address, struct pl_place *out)
{
    uint32_t lines = pl_spans_up_to(code->line, code->lines, sizeof *code->line, address - code->moved_by);
    if (lines == 0 || !code->line[lines - 1].file[0])
        return;
    out->file = code->line[lines - 1].file;
    out->line = code->line[lines - 1].line;
    out->column = 0;
}

bool pl_jit_find(struct pl_jit *jit, const struct pl_jit_question *question, struct pl_place *out)
{
    const struct code *code = find_in_dump(jit, question);
    if (!code)
        code = find_in_map(jit, question);
    if (!code)
        return false;
    pl_jit_name(jit->places, code->name, out);
    set_line(code, question->address, out);
    out->file = pl_arena_text(jit->places, out->file, strlen(out->file));
    return true;
}
