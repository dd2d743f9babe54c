/* SPDX-License-Identifier: MIT */
/*
 * library.c - finds libplimsoll.so: beside our executable in the build directory, otherwise in the library directory.
 */
#include "cli/run/library.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/about.h"
#include "cli/cache.h"
#include "cli/say.h"
#include "cli/setting.h"

#define NAME "libplimsoll.so"
#define NAME_NEW "libplimsoll-cxx.so"

/* Relative paths are relative to the directory of the executable, so an installation can be moved as a whole. */
static const char *const places[] = {
    "",
    "../" PL_ABOUT_LIBDIR "/plimsoll",
    "../lib/plimsoll",
    PL_ABOUT_LIBRARIES,
};

char *pl_library_own_directory(void)
{
    char path[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
    path[bytes > 0 ? bytes : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return pl_say_print("%s", path);
}

/* --- a path that a loader's list can contain --- */

/*
 * LD_PRELOAD separates paths by blanks and colons, --library-path by colons and semicolons, and neither can quote them;
 * $ORIGIN and the like are expanded in both. A file with such characters in its path gets a symbolic link without them.
 *
 * The link must outlive the run: a daemon that the program left behind may start another program next week with the
 * same LD_PRELOAD, and a loader that does not find the file prints an error on that program's stderr. We cannot know
 * when the last copy of the environment is gone, so the link stays. There is one link for each path, in a directory
 * that all runs of the user share, and later runs reuse it. /dev/shm and $XDG_RUNTIME_DIR may be emptied when the user
 * logs out; in /var/tmp, files are removed after a month, if at all. It comes before the home directory, which a server
 * that changes its user often may not enter.
 *
 * Nobody else may change the link, because programs of this user load the file that it points to. So each directory of
 * its path must belong to the user or to root, and nobody else may rename files in it.
 */
#define LIST_SEPARATORS " :;$"
#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static bool is_listable(const char *path)
{
    return !strpbrk(path, LIST_SEPARATORS);
}

/* `leaf`: this directory contains the link. */
static bool is_safe_step(const char *path, bool leaf)
{
    struct stat status;
    if (lstat(path, &status) || !S_ISDIR(status.st_mode))
        return false;
    bool guarded = !(status.st_mode & (S_IWGRP | S_IWOTH)), sticky = status.st_mode & S_ISVTX;
    return (status.st_uid == geteuid() && guarded) || (status.st_uid == 0 && !leaf && (guarded || sticky));
}

static bool is_safe(const char *directory)
{
    char *step = pl_say_print("%s", directory), *slash;
    bool safe = is_safe_step(step, true);
    while (safe && (slash = strrchr(step, '/'))) {
        *slash = 0;
        safe = is_safe_step(*step ? step : "/", false);
    }
    free(step);
    return safe;
}

static bool leads_to(const char *link, const char *path)
{
    char found[PATH_MAX];
    ssize_t bytes = readlink(link, found, sizeof found);
    return bytes > 0 && (size_t) bytes == strlen(path) && !memcmp(found, path, (size_t) bytes);
}

/* Several runs may do this at once: symlink() is atomic, and all of them make the same link. */
static char *make_link(const char *around, const char *path)
{
    const char *name = basename(path);
    char *directory = realpath(around, NULL), *link = NULL;
    if (directory && is_listable(directory) && is_safe(directory)) {
        link = pl_say_print("%s/%s", directory, is_listable(name) ? name : NAME);
        if (symlink(path, link) && !leads_to(link, path)) {
            free(link);
            link = NULL;
        }
    }
    free(directory);
    return link;
}

/* Makes the link in a directory of its own, so that it can have the file's name, by which readers recognise our
 * functions. */
static char *make_link_below(const char *base, const char *path)
{
    uint64_t hash = FNV_START;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char) *at) * FNV_PRIME;
    char *around = pl_say_print("%s/%016llx", base, (unsigned long long) hash);
    pl_cache_make(base);
    if (is_safe_step(base, true)) /* not through a link that somebody else has put there */
        pl_cache_make(around);
    char *link = make_link(around, path);
    free(around);
    return link;
}

static char *make_link_in_home(const char *path)
{
    char *base = pl_cache_home(), *link = base ? make_link_below(base, path) : NULL;
    free(base);
    return link;
}

char *pl_library_listable(const char *path)
{
    if (is_listable(path))
        return pl_say_print("%s", path);
    char *base = pl_say_print("/var/tmp/plimsoll-%u", (unsigned) geteuid());
    char *link = make_link_below(base, path);
    free(base);
    return link ? link : make_link_in_home(path);
}

/* --- finding it --- */

/* Frees the path, and returns one that can be preloaded. NULL: the error has been printed. */
static char *make_listable(char *path)
{
    char *listable = path ? pl_library_listable(path) : NULL;
    if (path && !listable)
        pl_say("cannot preload %s: LD_PRELOAD allows no blank or colon in a path, and there is no safe place for a "
               "link; move it, or set " PL_LIBRARY_VARIABLE " to a copy",
               path);
    free(path);
    return listable;
}

static char *find_named(const char *named)
{
    char *path = realpath(named, NULL);
    if (!path)
        pl_say("cannot use " PL_LIBRARY_VARIABLE "=%s: %m", named);
    return make_listable(path);
}

/* The file's absolute path. Only the directory is resolved: the installed file is a link to one with a version in its
 * name. */
static char *find_in(char *directory, const char *name)
{
    char *real = realpath(directory, NULL), *path = real ? pl_say_print("%s/%s", real, name) : NULL;
    free(directory);
    free(real);
    if (path && !access(path, F_OK))
        return path;
    free(path);
    return NULL;
}

static char *search(const char *directory, const char *name)
{
    char *path = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !path; i++)
        path = find_in(*places[i] == '/' ? pl_say_print("%s", places[i]) : pl_say_print("%s/%s", directory, places[i]),
                       name);
    return path;
}

char *pl_library_beside(const char *name)
{
    char *directory = pl_library_own_directory(), *found = search(directory, name);
    char *path = found ? realpath(found, NULL) : NULL;
    free(found);
    free(directory);
    return path;
}

char *pl_library_find(bool new)
{
    const char *named = getenv(PL_LIBRARY_VARIABLE);
    if (named && *named)
        return find_named(named);
    char *directory = pl_library_own_directory(), *path = search(directory, new ? NAME_NEW : NAME);
    if (!path)
        pl_say("cannot find %s beside %s/plimsoll or in " PL_ABOUT_LIBRARIES "; set " PL_LIBRARY_VARIABLE
               " to its path",
               new ? NAME_NEW : NAME, directory);
    free(directory);
    return make_listable(path);
}

/* --- LD_PRELOAD --- */

/* With or without a version at the end of its name. */
static bool is_ours(const char *path)
{
    const char *name = basename(path);
    size_t bytes = strlen(NAME);
    return !strcmp(name, NAME_NEW) || (!strncmp(name, NAME, bytes) && (!name[bytes] || name[bytes] == '.'));
}

char *pl_library_unload(const char *before)
{
    char *copy = pl_say_print("%s", before), *left = pl_say_print("%s", ""), *save;
    for (char *word = strtok_r(copy, " :", &save); word; word = strtok_r(NULL, " :", &save))
        if (!is_ours(word))
            pl_say_append(&left, ":", word);
    free(copy);
    return left;
}

/* In front: of two libraries that define malloc, the program uses the first. */
char *pl_library_preload(const char *library, const char *before)
{
    char *others = pl_library_unload(before ? before : "");
    char *list = pl_say_print("%s%s%s", library, *others ? ":" : "", others);
    free(others);
    return list;
}
