/* SPDX-License-Identifier: MIT */
/* output.c - see output.h. */
#include "cli/run/output.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/setting.h"

/* The working directory, with its percent signs escaped: they must not be expanded as part of the pattern. */
static char *literal_here(void)
{
    char here[PATH_MAX], *escaped = pl_say_memory(malloc(2 * PATH_MAX)), *to = escaped;
    if (!getcwd(here, sizeof here))
        strcpy(here, ".");
    for (const char *at = here; *at; at++) {
        if (*at == '%')
            *to++ = '%';
        *to++ = *at;
    }
    *to = 0;
    return escaped;
}

char *pl_output_absolute(const char *pattern)
{
    size_t bytes = strlen(pattern);
    bool directory = pattern[bytes - 1] == '/' || pl_files_is_directory(pattern);
    char *here = *pattern == '/' ? pl_say_print("%s", "") : literal_here();
    char *absolute = pl_say_print("%s%s%s%s%s", here, *pattern == '/' ? "" : "/", pattern,
                                  directory && pattern[bytes - 1] != '/' ? "/" : "", directory ? PL_OUT_DEFAULT : "");
    free(here);
    return absolute;
}

char *pl_output_directory(const char *absolute)
{
    char *directory = pl_say_print("%s", absolute), *to = directory;
    strrchr(directory, '/')[directory == strrchr(directory, '/')] = 0; /* "/x" lies in "/" */
    for (const char *from = directory; *from; from++) {
        if (*from == '%' && from[1] != '%') {
            free(directory);
            return NULL;
        }
        from += *from == '%';
        *to++ = *from;
    }
    *to = 0;
    return directory;
}

void pl_output_check(const char *directory, const char *consequence)
{
    if (directory && access(directory, W_OK | X_OK))
        pl_say("cannot write to %s: %m; %s", directory, consequence);
}
