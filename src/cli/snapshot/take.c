/* SPDX-License-Identifier: MIT */
/*
 * take.c - takes a snapshot: reads the live profile, finds a name for the file, writes it, stores names of functions.
 *
 * A file is created with O_EXCL under its final name, so no file is ever replaced and two processes never write the
 * same one. It is not valid as a profile before it is complete. The profile itself says where its snapshots go. That is
 * trusted only for processes of our own user; otherwise another user could make root write anywhere.
 */
#include "cli/snapshot/take.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cache.h"
#include "cli/files.h"
#include "cli/run/collect.h"
#include "cli/run/glibc.h"
#include "cli/run/summary.h"
#include "cli/say.h"
#include "format/settings.h"
#include "reader/symbols/symbolize.h"
#include "reader/write/annotate.h"
#include "reader/write/copy.h"

#define ATTEMPTS_MAX 10000
#define NUMBER_DIGITS_MAX 18

/* --- where it goes --- */

static bool is_ours(const char *live, const char *root)
{
    struct stat status;
    return !root && !stat(live, &status) && status.st_uid == geteuid();
}

/* The file that snapshots are named after. The caller frees it. */
static char *named_after(const struct pl_take_options *options, const struct pl_copy *copy, const char *live,
                         const char *root)
{
    const char *destination = pl_copy_destination(copy);
    const char *own = *basename(destination) ? destination : live;
    if (options->out && pl_files_is_directory(options->out))
        return pl_say_print("%s/%s", options->out, basename(own));
    if (options->out)
        return pl_say_print("%s", options->out);
    return pl_say_print("%s", is_ours(live, root) ? own : basename(own));
}

static bool has_number(const char *text, uint32_t number)
{
    char digits[16];
    int count = snprintf(digits, sizeof digits, "%u", number);
    for (const char *at = strstr(text, digits); at; at = strstr(at + 1, digits))
        if ((at == text || !isdigit((unsigned char) at[-1])) && !isdigit((unsigned char) at[count]))
            return true;
    return false;
}

/* May another process have the same destination? The process that `plimsoll run` started has the name to itself, its
 * descendants do not; without `run`, the process that was not forked has it. */
static bool has_namesake(const struct pl_copy *copy, const char *live)
{
    const struct pl_header *header = pl_copy_header(copy);
    const char *run = strstr(live, "/" PL_COLLECT_PREFIX);
    bool first = run ? strtoul(run + sizeof PL_COLLECT_PREFIX, NULL, 10) == header->parent_pid
                     : !(header->flags & PL_FLAG_FORKED);
    return !first && !has_number(basename(pl_copy_destination(copy)), header->pid);
}

/* app.plim: "app", or "app.4711". The caller frees it. */
static char *stem_of(const char *path, uint32_t pid)
{
    char *stem = pl_files_stem(path), *apart = pid ? pl_say_print("%s.%u", stem, pid) : NULL;
    if (apart)
        free(stem);
    return apart ? apart : stem;
}

/* The number of "app.0012.plim" for the stem "app"; 0: it is not a numbered snapshot of this stem. */
static uint64_t number_of(const char *name, const char *stem)
{
    size_t stem_bytes = strlen(stem);
    if (strncmp(name, stem, stem_bytes) || name[stem_bytes] != '.')
        return 0;
    const char *digits = name + stem_bytes + 1;
    size_t count = strspn(digits, "0123456789");
    if (count < 4 || count > NUMBER_DIGITS_MAX || strcmp(digits + count, PL_SUFFIX))
        return 0;
    return strtoull(digits, NULL, 10);
}

static uint64_t highest_number(const char *stem)
{
    const char *base = basename(stem);
    char *path = base == stem ? pl_say_print(".") : pl_say_print("%.*s", (int) (base - stem), stem);
    DIR *directory = opendir(path);
    uint64_t highest = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        uint64_t number = number_of(entry->d_name, base);
        highest = number > highest ? number : highest;
    }
    if (directory)
        closedir(directory);
    free(path);
    return highest;
}

/* --- the file --- */

struct naming {
    const char *exact; /* use this path only; NULL: derive it from the stem */
    const char *stem;
    const char *name;
    uint64_t number;
};

/* The path of an attempt. The caller frees it. */
static char *path_for(const struct naming *naming, int attempt)
{
    if (naming->exact)
        return pl_say_print("%s", naming->exact);
    if (!naming->name)
        return pl_say_print("%s.%04llu" PL_SUFFIX, naming->stem, (unsigned long long) naming->number);
    if (attempt == 0)
        return pl_say_print("%s.%s" PL_SUFFIX, naming->stem, naming->name);
    return pl_say_print("%s.%s.%04d" PL_SUFFIX, naming->stem, naming->name, attempt + 1);
}

/* A descriptor, or a negative errno; *path is what was tried last. */
static int make_file(struct naming *naming, char **path)
{
    int attempts = naming->exact ? 1 : ATTEMPTS_MAX, fd = -1, error = EEXIST;
    for (int attempt = 0; attempt < attempts && error == EEXIST; attempt++) {
        naming->number += attempt > 0;
        free(*path);
        *path = path_for(naming, attempt);
        fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
        error = fd < 0 ? errno : 0;
    }
    return fd < 0 ? -error : fd;
}

static int write_file(struct pl_copy *copy, const char *name, int fd, struct pl_take_file *out)
{
    struct stat status;
    int result = pl_copy_write(copy, name ? name : "", fd);
    out->file_bytes = fstat(fd, &status) ? 0 : (uint64_t) status.st_size;
    if (close(fd) && result == 0) /* quotas and network file systems report errors here */
        result = -errno;
    if (result != 0)
        unlink(out->path);
    return result;
}

static int store(const struct pl_take_options *options, struct pl_copy *copy, const char *live, const char *place,
                 uint64_t number, struct pl_take_file *out, char *why)
{
    bool chosen = options->out && !pl_files_is_directory(options->out);
    bool apart = options->apart || (options->alone && !chosen && has_namesake(copy, live));
    char *stem = stem_of(place, apart ? pl_copy_header(copy)->pid : 0);
    bool exact = options->sole && !pl_files_is_directory(options->out);
    uint64_t highest = options->name || exact ? 0 : highest_number(stem);
    struct naming naming = {exact ? place : NULL, stem, options->name, number > highest ? number : highest + 1};
    int fd = make_file(&naming, &out->path);
    int result = fd < 0 ? fd : write_file(copy, options->name, fd, out);
    out->number = naming.number;
    if (result == -EEXIST)
        snprintf(why, PL_WHY_BYTES, "%.350s already exists, and a snapshot never replaces a file", out->path);
    else if (result != 0)
        snprintf(why, PL_WHY_BYTES, "cannot write %.350s: %s", out->path, strerror(-result));
    free(stem);
    return result;
}

/* --- its names --- */

static int find_names(struct pl_profile *profile, const char *root, struct pl_namecache *known)
{
    if (known && pl_namecache_apply(known, profile))
        return 0;
    int result = pl_symbolize(
        profile,
        &(struct pl_symbolize_options){.sysroot = root, .beside = pl_glibc_libraries(), .cache = pl_cache_symbols()},
        NULL);
    if (result == 0 && known)
        pl_namecache_learn(known, profile);
    return result;
}

static int store_names(struct pl_take_file *taken, const char *root, struct pl_namecache *known, char *why)
{
    struct stat status;
    struct pl_profile *profile;
    int result = pl_profile_open(taken->path, &profile, why);
    if (result != 0)
        return result;
    result = find_names(profile, root, known);
    if (result == 0)
        result = pl_annotate(taken->path, profile, why);
    if (!stat(taken->path, &status))
        taken->file_bytes = (uint64_t) status.st_size;
    pl_profile_close(profile);
    return result;
}

/* --- one snapshot --- */

int pl_take_one(const struct pl_take_options *options, const char *live, const char *root, uint64_t number,
                struct pl_namecache *known, struct pl_take_file *out, char why[PL_WHY_BYTES])
{
    struct pl_copy *copy;
    struct pl_take_file taken = {0};
    int result = pl_copy_take(live, &copy, why);
    if (result != 0)
        return result;
    char *place = named_after(options, copy, live, root);
    result = store(options, copy, live, place, number, &taken, why);
    free(place);
    pl_copy_free(copy);
    if (result == 0 && !options->no_symbols && store_names(&taken, root, known, why) != 0)
        result = PL_TAKE_NAMELESS;
    if (result < 0)
        pl_take_free(&taken);
    else
        *out = taken;
    return result;
}

void pl_take_free(struct pl_take_file *taken)
{
    free(taken->path);
    *taken = (struct pl_take_file){0};
}

/* --- a series --- */

int pl_take_due(struct pl_take_series *series, const char *live, const char *root, uint64_t now_ns, const char **path,
                char why[PL_WHY_BYTES])
{
    struct pl_take_file taken;
    *path = NULL;
    uint64_t place = pl_series_due(&series->places, now_ns);
    if (!place)
        return 0;
    uint64_t wanted = series->offset + place;
    if (!series->known)
        series->known = pl_namecache_new();
    int result = pl_take_one(&series->options, live, root, wanted, series->known, &taken, why);
    if (result < 0) {
        series->failed++;
        return result;
    }
    pl_take_free(&series->last);
    series->last = taken;
    series->offset += taken.number - wanted; /* the numbers up to there belong to other snapshots */
    pl_series_add(&series->places, place, taken.path);
    *path = series->last.path;
    return result;
}

void pl_take_rest(struct pl_take_series *series)
{
    pl_take_free(&series->last);
    pl_namecache_free(series->known);
    series->known = NULL;
}

void pl_take_free_series(struct pl_take_series *series)
{
    pl_take_rest(series);
    pl_series_free(&series->places);
}

char *pl_take_words(const struct pl_take_series *series)
{
    const struct pl_series *places = &series->places;
    unsigned long long taken = places->taken_in_all;
    if (!places->count)
        return pl_say_print("no snapshot");
    char *first = pl_summary_typed(places->taken[0].path);
    char *last = pl_summary_typed(places->taken[places->count - 1].path);
    char *kept = places->count < taken ? pl_say_print(", %zu kept", places->count) : pl_say_print("%s", "");
    char *words = pl_say_print("%llu snapshot%s%s: %s%s%s", taken, taken == 1 ? "" : "s", kept, first,
                               places->count > 1 ? " to " : "", places->count > 1 ? last : "");
    free(kept);
    free(last);
    free(first);
    return words;
}
