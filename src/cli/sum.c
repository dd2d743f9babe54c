/* SPDX-License-Identifier: MIT */
/*
 * sum.c - adds up many profiles into one.
 *
 * Profiles are opened a few at a time, added to the sum, and closed. Symbols that the files lack are looked up by the
 * caller at the end, once for all of them.
 */
#include "cli/sum.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files.h"
#include "cli/proc.h"
#include "cli/term.h"
#include "format/settings.h"
#include "reader/join/join.h"

#define PROGRESS "plimsoll: reading profiles"

/* --- adding up --- */

static void add_up(struct pl_sum *sum)
{
    struct pl_profile *total = pl_join((const struct pl_profile *const *) sum->part, sum->parts, PL_JOIN_SUM);
    pl_join_keep(total);
    pl_sum_close(sum);
    sum->part[sum->parts++] = total;
}

void pl_sum_add(struct pl_sum *sum, struct pl_profile *profile)
{
    sum->part[sum->parts++] = profile;
    sum->bytes += profile->file_bytes;
    if (sum->parts > PL_SUM_PROFILES || sum->bytes > PL_SUM_BYTES)
        add_up(sum);
}

struct pl_profile *pl_sum_total(struct pl_sum *sum)
{
    if (sum->parts > 1 || (sum->parts && !sum->part[0]->merged))
        add_up(sum);
    return sum->parts ? sum->part[0] : NULL;
}

void pl_sum_close(struct pl_sum *sum)
{
    for (uint32_t i = 0; i < sum->parts; i++)
        pl_profile_close(sum->part[i]);
    sum->parts = 0;
    sum->bytes = 0;
}

bool pl_sum_twice(const struct pl_header *a, const struct pl_header *b)
{
    bool merged = a->flags & PL_FLAG_MERGED;
    if (merged != !!(b->flags & PL_FLAG_MERGED))
        return false;
    return merged ? memcmp(a, b, sizeof *a) == 0 : pl_profile_same_process(a, b);
}

/* --- a directory --- */

struct file {
    char *path;
    struct pl_header header;
    bool unreadable;
    bool spare; /* another file has the same figures, or later ones */
};

struct files {
    struct file *file;
    size_t count;
};

/* `app.plim`, and `app.plim.4712` of a process that it started. A file that is called like a profile and is none fails
 * when it is opened: then it can be named with the reason. */
static bool is_candidate(const char *name, struct file *file)
{
    if (*name == '.' || !strstr(name, PL_SUFFIX))
        return false;
    if (pl_proc_header(file->path, &file->header))
        return true;
    file->unreadable = true;
    return pl_files_has_suffix(name) && !pl_files_is_directory(file->path);
}

static void list(const char *path, struct files *files)
{
    struct dirent **entry;
    int count = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct file file = {.path = pl_say_print("%s/%s", path, entry[i]->d_name)};
        bool listed = is_candidate(entry[i]->d_name, &file);
        if (listed) {
            files->file = pl_say_memory(realloc(files->file, (files->count + 1) * sizeof *files->file));
            files->file[files->count++] = file;
        } else {
            free(file.path);
        }
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
}

static void free_files(struct files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->file[i].path);
    free(files->file);
}

/* The profile of a process has all that its snapshots have, and a later snapshot all that an earlier one has. */
static bool has_more(const struct pl_header *a, const struct pl_header *b)
{
    bool a_copy = a->flags & PL_FLAG_SNAPSHOT, b_copy = b->flags & PL_FLAG_SNAPSHOT;
    return a_copy != b_copy ? b_copy : a->snapshot_ns >= b->snapshot_ns;
}

static size_t set_spares_aside(struct files *files)
{
    size_t spares = 0;
    for (size_t i = 0; i < files->count; i++) {
        for (size_t k = 0; k < i && !files->file[i].spare; k++) {
            struct file *one = &files->file[k], *other = &files->file[i];
            if (one->spare || one->unreadable || other->unreadable || !pl_sum_twice(&one->header, &other->header))
                continue;
            *(has_more(&one->header, &other->header) ? &other->spare : &one->spare) = true;
            spares++;
        }
    }
    return spares;
}

static size_t add_files(struct pl_sum *sum, const struct files *files)
{
    size_t added = 0;
    for (size_t i = 0; i < files->count; i++) {
        struct pl_profile *profile;
        char why[PL_WHY_BYTES];
        const struct file *file = &files->file[i];
        int error = file->spare ? -ENOENT : pl_profile_open(file->path, &profile, why);
        if (!error && profile->damage)
            pl_say("%s is damaged; only its readable part is added", file->path);
        if (!error)
            pl_sum_add(sum, profile);
        else if (error != -ENOENT) /* its process was just ending, and has moved it */
            pl_say("%s; the figures are without it", why);
        added += !error;
        pl_term_progress(PROGRESS, (double) (i + 1) / (double) (files->count + 1));
    }
    pl_term_progress(PROGRESS, 1);
    return added;
}

static void say_spares(const char *path, size_t spares)
{
    if (spares)
        pl_say("%s: left out %zu file%s whose figures are part of another: snapshots, or copies", path, spares,
               spares == 1 ? "" : "s");
}

enum pl_exit pl_sum_directory(const char *path, struct pl_profile **out)
{
    struct pl_sum sum = {.parts = 0};
    struct files files = {0};
    list(path, &files);
    say_spares(path, set_spares_aside(&files));
    size_t added = add_files(&sum, &files);
    if (added > 1)
        pl_sum_total(&sum);
    if (added)
        *out = sum.part[0];
    free_files(&files);
    return added ? PL_EXIT_OK
                 : pl_say_failure("%s has no profile in it: no file *" PL_SUFFIX " that can be read", path);
}
