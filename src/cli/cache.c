/* SPDX-License-Identifier: MIT */
/*
 * cache.c - see cache.h.
 */
#include "cli/cache.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"

/* With sudo, the home directory may be that of another user, who could not use what root makes there. */
static bool may_make(const char *absolute)
{
    struct stat status;
    char *around = pl_say_print("%.*s/", (int) (strrchr(absolute, '/') - absolute), absolute);
    bool may = geteuid() != 0 || (!stat(around, &status) && status.st_uid == 0);
    free(around);
    return may;
}

/* A program that changes its user must still be able to follow a link to our library, whatever our umask is. */
void pl_cache_make(const char *path)
{
    if (!mkdir(path, 0711))
        chmod(path, 0711);
}

char *pl_cache_home(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache && *cache == '/'; /* the XDG specification says to ignore relative paths */
    if (!own && !(home && *home == '/'))
        return NULL;
    char *all = own ? pl_say_print("%s", cache) : pl_say_print("%s/.cache", home);
    char *directory = pl_say_print("%s/plimsoll", all);
    if (may_make(all))
        mkdir(all, 0700);
    if (may_make(directory))
        pl_cache_make(directory);
    free(all);
    return directory;
}

const char *pl_cache_symbols(void)
{
    static char directory[PATH_MAX];
    const char *named = getenv(PL_CACHE_VARIABLE);
    if (named && !strcmp(named, PL_CACHE_OFF))
        return NULL;
    if (named && *named) {
        pl_cache_make(named);
        return named;
    }
    char *home = pl_cache_home();
    bool fits = home && snprintf(directory, sizeof directory, "%s", home) < (int) sizeof directory;
    free(home);
    return fits ? directory : NULL;
}
