/* SPDX-License-Identifier: MIT */
/*
 * library.c - finds libplimsoll.so: beside us when we run from the build directory, in the library directory otherwise.
 */
#include "library.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "about.h"
#include "say.h"
#include "setting.h"

#define NAME "libplimsoll.so"
#define NAME_NEW "libplimsoll-cxx.so"

/* Relative ones are relative to the directory of the executable, so an installation may be moved as a whole. */
static const char *const places[] = {
    "",
    "../lib/plimsoll",
    "../" PL_ABOUT_LIBDIR "/plimsoll",
    "../" PL_ABOUT_LIBDIR,
    PL_ABOUT_PREFIX "/lib/plimsoll",
    PL_ABOUT_PREFIX "/" PL_ABOUT_LIBDIR,
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

/* LD_PRELOAD is a list separated by blanks and colons, with no way to quote them. */
static char *check_spelling(char *path)
{
    if (!strpbrk(path, " :"))
        return path;
    pl_say("cannot preload %s: LD_PRELOAD allows no blank or colon in a path; move it, or set " PL_LIBRARY_VARIABLE
           " to a copy",
           path);
    free(path);
    return NULL;
}

static char *find_named(const char *named)
{
    char *path = realpath(named, NULL);
    if (!path)
        pl_say("cannot use " PL_LIBRARY_VARIABLE "=%s: %m", named);
    return path ? check_spelling(path) : NULL;
}

static char *search(const char *directory, const char *name)
{
    char *path = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !path; i++) {
        char *candidate = *places[i] == '/' ? pl_say_print("%s/%s", places[i], name)
                                            : pl_say_print("%s/%s/%s", directory, places[i], name);
        path = realpath(candidate, NULL);
        free(candidate);
    }
    return path;
}

char *pl_library_beside(const char *name)
{
    char *directory = pl_library_own_directory(), *path = search(directory, name);
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
        pl_say("cannot find %s beside %s/plimsoll or in " PL_ABOUT_PREFIX "/lib/plimsoll; set " PL_LIBRARY_VARIABLE
               " to its path",
               new ? NAME_NEW : NAME, directory);
    free(directory);
    return path ? check_spelling(path) : NULL;
}

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

char *pl_library_unload(const char *before)
{
    char *copy = pl_say_print("%s", before), *left = pl_say_print("%s", ""), *save;
    for (char *word = strtok_r(copy, " :", &save); word; word = strtok_r(NULL, " :", &save)) {
        if (!strcmp(basename(word), NAME) || !strcmp(basename(word), NAME_NEW))
            continue;
        char *longer = pl_say_print("%s%s%s", left, *left ? ":" : "", word);
        free(left);
        left = longer;
    }
    free(copy);
    return left;
}
