/* SPDX-License-Identifier: MIT */
/*
 * library.c - finds libplimsoll.so: beside us when we run from the build directory, in the library directory otherwise.
 */
#include "library.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "about.h"
#include "say.h"
#include "setting.h"

#define NAME "libplimsoll.so"
#define NAME_NEW "libplimsoll-cxx.so"

/* Relative ones are relative to the directory of the executable, so an installation may be moved as a whole. */
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

/* --- a path that a loader's list can have in it --- */

/*
 * LD_PRELOAD separates paths by blanks and colons, --library-path by colons and semicolons, and neither has a way to
 * quote them; $ORIGIN and the like are replaced in both. A file with such a path gets a symbolic link that has none.
 *
 * The link must outlive the run: a daemon that the program left behind may start another program next week, with the
 * same LD_PRELOAD, and a loader that does not find the file says so on that program's stderr. Nobody can tell when the
 * last copy of an environment is gone, so the link stays. There is one for each path, in a directory of the user's that
 * all runs share, and a run that finds it there makes nothing. /dev/shm and $XDG_RUNTIME_DIR may be emptied when the
 * user logs out; /var/tmp is emptied of what is a month old, if at all. It comes before the home directory, which users
 * that a server becomes often may not enter.
 *
 * Nobody else may change the link, since programs of this user load what it leads to. So each directory on the way
 * belongs to the user or to root, and nobody else may rename what is in it.
 */
#define LIST_SEPARATORS " :;$"
#define FNV_START 0xcbf29ce484222325u
#define FNV_PRIME 0x100000001b3u

static bool is_listable(const char *path)
{
    return !strpbrk(path, LIST_SEPARATORS);
}

/* `leaf`: the directory that has the link in it. */
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

/* Users that a program becomes have to find the way, whatever our umask is; what else is there is not their business.
 */
static void make_directory(const char *path)
{
    if (!mkdir(path, 0711))
        chmod(path, 0711);
}

static bool leads_to(const char *link, const char *path)
{
    char found[PATH_MAX];
    ssize_t bytes = readlink(link, found, sizeof found);
    return bytes > 0 && (size_t) bytes == strlen(path) && !memcmp(found, path, (size_t) bytes);
}

/* Several runs may do this at once: symlink() makes all of the link or nothing, and they all want the same. */
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

/* In a directory of its own, so that the link has the name of the file: readers know our functions by that. */
static char *make_link_below(const char *base, const char *path)
{
    uint64_t hash = FNV_START;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char) *at) * FNV_PRIME;
    char *around = pl_say_print("%s/%016llx", base, (unsigned long long) hash);
    make_directory(base);
    if (is_safe_step(base, true)) /* not through a link that somebody else has put there */
        make_directory(around);
    char *link = make_link(around, path);
    free(around);
    return link;
}

static char *make_link_in_home(const char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache && *cache == '/';
    if (!own && !(home && *home == '/'))
        return NULL;
    char *all = own ? pl_say_print("%s", cache) : pl_say_print("%s/.cache", home);
    char *base = pl_say_print("%s/plimsoll", all);
    mkdir(all, 0700);
    char *link = make_link_below(base, path);
    free(base);
    free(all);
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

/* --- where it is --- */

/* Takes the path, and gives one that can be preloaded. */
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

/* The file's absolute path, with its name as we know it: what is installed is a link to a name with a version. */
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

static bool lists(const char *list, const char *library)
{
    size_t bytes = strlen(library);
    for (const char *at = list; *at; at += strspn(at, " :")) {
        size_t word = strcspn(at, " :");
        if (word == bytes && !strncmp(at, library, bytes))
            return true;
        at += word;
    }
    return false;
}

char *pl_library_preload(const char *library, const char *before)
{
    if (before && lists(before, library))
        return pl_say_print("%s", before);
    return pl_say_print("%s%s%s", library, before && *before ? ":" : "", before ? before : "");
}

/* Whatever version its name ends in. */
static bool is_ours(const char *path)
{
    const char *name = basename(path);
    size_t bytes = strlen(NAME);
    return !strcmp(name, NAME_NEW) || (!strncmp(name, NAME, bytes) && (!name[bytes] || name[bytes] == '.'));
}

char *pl_library_unload(const char *before)
{
    char *copy = pl_say_print("%s", before), *left = pl_say_print("%s", ""), *save;
    for (char *word = strtok_r(copy, " :", &save); word; word = strtok_r(NULL, " :", &save)) {
        if (is_ours(word))
            continue;
        char *longer = pl_say_print("%s%s%s", left, *left ? ":" : "", word);
        free(left);
        left = longer;
    }
    free(copy);
    return left;
}
