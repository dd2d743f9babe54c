/* SPDX-License-Identifier: MIT */
/*
 * process.c - asks /proc about a process.
 *
 * A pid is used again; a pid with its start time is not. The command name in /proc/PID/stat may contain anything,
 * spaces and parentheses included, so fields are counted from the last closing one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

#define FIELD_STATE 3
#define FIELD_START_TICKS 22

/* False if there is no such process. */
static bool read_stat(uint32_t pid, uint64_t *start_ticks, char *state)
{
    char path[32], line[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t bytes = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[bytes] = '\0';
    const char *field = strrchr(line, ')');
    for (int i = FIELD_STATE - 1; field && i < FIELD_START_TICKS; i++) {
        field = strchr(field + 1, ' ');
        if (field && i + 1 == FIELD_STATE)
            *state = field[1];
    }
    if (field)
        *start_ticks = strtoull(field + 1, NULL, 10);
    return field != NULL;
}

bool pl_process_runs(const struct pl_header *header)
{
    uint64_t start_ticks;
    char state = 0;
    bool gone = header->end == PL_END_EXEC || (header->flags & (PL_FLAG_WAITED | PL_FLAG_SNAPSHOT)) != 0;
    if (gone || header->pid == 0 || !read_stat(header->pid, &start_ticks, &state))
        return false;
    return start_ticks == header->start_ticks && !strchr("ZX", state);
}

bool pl_process_same(const struct pl_header *a, const struct pl_header *b)
{
    return a->pid == b->pid && a->start_monotonic_ns == b->start_monotonic_ns && a->seed == b->seed;
}
