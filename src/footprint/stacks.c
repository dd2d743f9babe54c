/* SPDX-License-Identifier: MIT */
/* stacks.c - see stacks.h. */
#include "footprint/stacks.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNLIMITED_USUAL (2ull << 20) /* as pthread_create() has it */
#define GUARD_MOST (1ull << 20)

static bool read_line(const char *path, const char *begin, char *line, int bytes)
{
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, bytes, file))
        found = !strncmp(line, begin, strlen(begin));
    if (file)
        fclose(file);
    return found;
}

/* "202 0x7f.. 0x.. 0x.. 0x.. 0x.. 0x.. SP PC", "-1 SP PC", or "running". */
static uint64_t parse_pointer(char *line)
{
    char *last = NULL, *before = NULL, *rest = line, *word;
    while ((word = strsep(&rest, " \n")))
        if (*word) {
            before = last;
            last = word;
        }
    return before && !strncmp(before, "0x", 2) ? strtoull(before, NULL, 16) : 0;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *) left, b = *(const uint64_t *) right;
    return (a > b) - (a < b);
}

static void take_thread(struct pl_stacks *stacks, pid_t pid, const char *tid)
{
    char path[64], line[512];
    stacks->threads++;
    snprintf(path, sizeof path, "/proc/%d/task/%.10s/syscall", pid, tid);
    uint64_t pointer = read_line(path, "", line, sizeof line) ? parse_pointer(line) : 0;
    uint64_t *more = pointer ? realloc(stacks->pointer, (stacks->count + 1ull) * sizeof *more) : NULL;
    if (!more)
        return;
    stacks->pointer = more;
    stacks->pointer[stacks->count++] = pointer;
}

static uint64_t usual_size(pid_t pid)
{
    char path[64], line[256];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/limits", pid);
    if (!read_line(path, "Max stack size", line, sizeof line) ||
        sscanf(line + strlen("Max stack size"), "%" SCNu64, &bytes) != 1)
        return UNLIMITED_USUAL;
    return bytes;
}

void pl_stacks_read(struct pl_stacks *stacks, pid_t pid)
{
    char path[64];
    *stacks = (struct pl_stacks){.usual = usual_size(pid)};
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        if (*task->d_name != '.')
            take_thread(stacks, pid, task->d_name);
    if (tasks)
        closedir(tasks);
    if (stacks->count)
        qsort(stacks->pointer, stacks->count, sizeof *stacks->pointer, by_value);
}

void pl_stacks_free(struct pl_stacks *stacks)
{
    free(stacks->pointer);
    *stacks = (struct pl_stacks){0};
}

static bool has_pointer(const struct pl_stacks *stacks, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < stacks->count; i++)
        if (stacks->pointer[i] - from < to - from)
            return true;
    return false;
}

static bool is_guarded(const struct pl_space *space, size_t number)
{
    const struct pl_space_part *part = &space->part[number], *guard = part - 1;
    return number && guard->to == part->from && !guard->readable && !guard->writable && !guard->executable &&
           guard->to - guard->from <= GUARD_MOST;
}

/* What lies behind a stack may be another mapping of the same kind: to the kernel both are one. */
uint64_t pl_stacks_at(const struct pl_stacks *stacks, const struct pl_space *space, size_t number, bool *running)
{
    const struct pl_space_part *part = &space->part[number];
    uint64_t bytes = part->to - part->from;
    *running = true;
    if (!strcmp(part->name, "[stack]"))
        return bytes;
    if (!is_guarded(space, number) || !part->writable)
        return 0;
    uint64_t usual = bytes < stacks->usual ? bytes : stacks->usual;
    if (has_pointer(stacks, part->from, part->from + usual))
        return usual;
    if (has_pointer(stacks, part->from, part->to))
        return bytes;
    *running = stacks->count < stacks->threads; /* it may be that of a thread whose pointer is not known */
    return bytes >= stacks->usual ? usual : 0;
}
