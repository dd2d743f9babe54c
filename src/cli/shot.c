/* SPDX-License-Identifier: MIT */
/*
 * shot.c - takes one snapshot: reads the live profile, finds a name for the file, writes it, stores names of functions.
 *
 * A file is made with O_EXCL under its final name, so nobody's file is ever replaced and two of us never share one; it
 * reads as a profile only when it is whole. The profile is somebody's file, and it says where its snapshots go: that is
 * believed only of our own processes, or root could be made to write anywhere.
 */
#include "shot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate.h"
#include "collect.h"
#include "copy.h"
#include "glibc.h"
#include "say.h"
#include "settings.h"
#include "symbolize.h"

#define ATTEMPTS_MAX 10000
#define NUMBER_DIGITS_MAX 18

/* --- where it goes --- */

static bool is_directory(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static bool is_ours(const char *live, const char *root)
{
    struct stat status;
    return !root && !stat(live, &status) && status.st_uid == geteuid();
}

/* The file that snapshots are named after. The caller frees it. */
static char *named_after(const struct pl_shot_options *options, const struct pl_copy *copy, const char *live,
                         const char *root)
{
    const char *destination = pl_copy_destination(copy);
    const char *own = *basename(destination) ? destination : live;
    if (options->out && is_directory(options->out))
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

/* Another process may have the same destination. The one that `plimsoll run` started has the name to itself, those that
 * came from it do not; without `run` it is the one that was not forked. */
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
    size_t bytes = strlen(path), suffix = strlen(PL_SUFFIX);
    bool plain = bytes > suffix && !strcmp(path + bytes - suffix, PL_SUFFIX);
    char *stem = pl_say_print("%.*s", (int) (plain ? bytes - suffix : bytes), path);
    char *apart = pid ? pl_say_print("%s.%u", stem, pid) : NULL;
    if (apart)
        free(stem);
    return apart ? apart : stem;
}

/* The number of "app.0012.plim" for the stem "app"; 0: it is none of its series. */
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
    const char *exact; /* this and no other; NULL: by stem */
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

static int write_file(struct pl_copy *copy, const char *name, int fd, struct pl_shot *out)
{
    struct stat status;
    int result = pl_copy_write(copy, name ? name : "", fd);
    out->file_bytes = fstat(fd, &status) ? 0 : (uint64_t) status.st_size;
    if (close(fd) && result == 0) /* where quotas and network file systems tell */
        result = -errno;
    if (result != 0)
        unlink(out->path);
    return result;
}

static int store(const struct pl_shot_options *options, struct pl_copy *copy, const char *live, const char *place,
                 uint64_t number, struct pl_shot *out, char *why)
{
    bool chosen = options->out && !is_directory(options->out);
    bool apart = options->apart || (options->alone && !chosen && has_namesake(copy, live));
    char *stem = stem_of(place, apart ? pl_copy_header(copy)->pid : 0);
    bool exact = options->sole && !is_directory(options->out);
    uint64_t highest = options->name || exact ? 0 : highest_number(stem);
    struct naming naming = {exact ? place : NULL, stem, options->name, number > highest ? number : highest + 1};
    int fd = make_file(&naming, &out->path);
    int result = fd < 0 ? fd : write_file(copy, options->name, fd, out);
    out->number = naming.number;
    if (result == -EEXIST)
        snprintf(why, PL_WHY_BYTES, "%.350s is there already, and snapshots replace nothing", out->path);
    else if (result != 0)
        snprintf(why, PL_WHY_BYTES, "cannot write %.350s: %s", out->path, strerror(-result));
    free(stem);
    return result;
}

/* --- its names --- */

static int find_names(struct pl_profile *profile, const char *root, struct pl_known *known)
{
    if (known && pl_known_apply(known, profile))
        return 0;
    int result =
        pl_symbolize(profile, &(struct pl_symbolize_options){.sysroot = root, .beside = pl_glibc_libraries()}, NULL);
    if (result == 0 && known)
        pl_known_learn(known, profile);
    return result;
}

static int store_names(struct pl_shot *shot, const char *root, struct pl_known *known, char *why)
{
    struct stat status;
    struct pl_profile *profile;
    int result = pl_profile_open(shot->path, &profile, why);
    if (result != 0)
        return result;
    result = find_names(profile, root, known);
    if (result == 0)
        result = pl_annotate(shot->path, profile, why);
    if (!stat(shot->path, &status))
        shot->file_bytes = (uint64_t) status.st_size;
    pl_profile_close(profile);
    return result;
}

/* --- both --- */

int pl_shot_take(const struct pl_shot_options *options, const char *live, const char *root, uint64_t number,
                 struct pl_known *known, struct pl_shot *out, char why[PL_WHY_BYTES])
{
    struct pl_copy *copy;
    struct pl_shot shot = {0};
    int result = pl_copy_take(live, &copy, why);
    if (result != 0)
        return result;
    char *place = named_after(options, copy, live, root);
    result = store(options, copy, live, place, number, &shot, why);
    free(place);
    pl_copy_free(copy);
    if (result == 0 && !options->no_symbols && store_names(&shot, root, known, why) != 0)
        result = PL_SHOT_NAMELESS;
    if (result < 0)
        pl_shot_free(&shot);
    else
        *out = shot;
    return result;
}

void pl_shot_free(struct pl_shot *shot)
{
    free(shot->path);
    *shot = (struct pl_shot){0};
}
