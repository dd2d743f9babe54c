/* SPDX-License-Identifier: MIT */
/*
 * named.c - --snapshot NAME: the snapshot of the same process with this name, beside its profile.
 *
 * Names and numbers are in the names of files, `app.warm.plim` beside `app.plim`; whose process it was, their headers
 * say.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "say.h"
#include "select.h"

#define SUFFIX ".plim"

/* "dir/app" of "dir/app.plim": the caller frees it. */
static char *stem_of(const char *path)
{
    size_t bytes = strlen(path), suffix = strlen(SUFFIX);
    if (bytes > suffix && !strcmp(path + bytes - suffix, SUFFIX))
        bytes -= suffix;
    return pl_say_print("%.*s", (int) bytes, path);
}

/* Is it `stem.NAME.plim`, `stem.PID.NAME.plim` or, of a second one, `stem.NAME.0002.plim`: is the name between dots? */
static bool has_name(const char *file, const char *stem, const char *name)
{
    size_t bytes = strlen(stem);
    if (strncmp(file, stem, bytes) || file[bytes] != '.')
        return false;
    char *rest = stem_of(file + bytes), *wanted = pl_say_print(".%s.", name), *padded = pl_say_print("%s.", rest);
    bool found = strstr(padded, wanted);
    free(padded);
    free(wanted);
    free(rest);
    return found;
}

static bool of_same_process(const struct pl_header *a, const struct pl_header *b)
{
    return a->pid == b->pid && a->start_realtime_ns == b->start_realtime_ns;
}

/* The latest of them. The caller frees it. */
static char *find_beside(const char *path, const struct pl_header *whose, const char *name)
{
    char *directory = pl_say_print("%.*s", (int) (basename(path) - path), path), *stem = stem_of(basename(path));
    DIR *list = opendir(*directory ? directory : ".");
    char *found = NULL;
    uint64_t found_ns = 0;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct pl_header header;
        if (!has_name(entry->d_name, stem, name))
            continue;
        char *candidate = pl_say_print("%s%s", directory, entry->d_name);
        bool better = pl_proc_header(candidate, &header) && header.flags & PL_FLAG_SNAPSHOT &&
                      of_same_process(&header, whose) && (!found || header.snapshot_ns > found_ns);
        free(better ? found : candidate);
        found = better ? candidate : found;
        found_ns = better ? header.snapshot_ns : found_ns;
    }
    if (list)
        closedir(list);
    free(stem);
    free(directory);
    return found;
}

/* "3" is 0003. */
static char *as_in_names(const char *typed)
{
    bool number = *typed && strspn(typed, "0123456789") == strlen(typed) && strlen(typed) < 10;
    return number ? pl_say_print("%04d", atoi(typed)) : pl_say_print("%s", typed);
}

static void say_none(const char *name, const char *path)
{
    char *stem = stem_of(path);
    pl_say_usage("--snapshot %s: there is none of that name beside %s; see `ls %s.*%s`", name, path, stem, SUFFIX);
    free(stem);
}

char *pl_select_file(const struct pl_select *select, const char *typed)
{
    struct pl_header header;
    if (!select->snapshot)
        return pl_say_print("%s", typed);
    if (!pl_proc_header(typed, &header)) {
        pl_say_usage("--snapshot %s: %s is not a profile, so there are no snapshots beside it; name the file that the "
                     "process leaves, or the snapshot itself",
                     select->snapshot, typed);
        return NULL;
    }
    char *name = as_in_names(select->snapshot), *found = find_beside(typed, &header, name);
    if (!found)
        say_none(select->snapshot, typed);
    free(name);
    return found;
}
