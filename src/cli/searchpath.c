/* SPDX-License-Identifier: MIT */
/* searchpath.c - see searchpath.h. */
#include "cli/searchpath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"

int pl_searchpath_check(const char *path)
{
    struct stat status;
    if (stat(path, &status))
        return errno;
    return S_ISREG(status.st_mode) && !access(path, X_OK) ? 0 : EACCES;
}

/* Skips files that may not be executed, but then fails with EACCES instead of ENOENT. */
static char *search(const char *name, int *error)
{
    const char *path = getenv("PATH");
    *error = ENOENT;
    for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
        int bytes = (int) strcspn(path, ":");
        char *file = pl_say_print("%.*s%s%s", bytes, path, bytes ? "/" : "./", name);
        int verdict = pl_searchpath_check(file);
        if (!verdict) {
            *error = 0;
            return file;
        }
        *error = verdict == EACCES ? EACCES : *error;
        free(file);
    }
    return NULL;
}

char *pl_searchpath_find(const char *name, int *error)
{
    if (*name && !strchr(name, '/'))
        return search(name, error);
    *error = pl_searchpath_check(name);
    return *error && *error != EACCES ? NULL : pl_say_print("%s", name);
}
