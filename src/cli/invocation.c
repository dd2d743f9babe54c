/* SPDX-License-Identifier: MIT */
/*
 * invocation.c - whose profile it is: the program, and how it was called.
 */
#include "invocation.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

#define PRINTED_MAX 4096

const char *pl_invocation_program(const struct pl_profile *profile)
{
    return *profile->executable ? basename(profile->executable) : profile->comm;
}

char *pl_invocation_print(const struct pl_profile *profile)
{
    char *command = pl_say_print("%s", profile->argv[0] ? profile->argv[0] : profile->comm);
    for (const char **word = profile->argv[0] ? profile->argv + 1 : profile->argv; *word; word++) {
        char *longer = pl_say_print("%s %s", command, *word);
        free(command);
        command = longer;
        if (strlen(command) > PRINTED_MAX)
            break;
    }
    return command;
}

bool pl_invocation_other_program(const struct pl_profile *a, const struct pl_profile *b)
{
    const char *one = pl_invocation_program(a), *other = pl_invocation_program(b);
    return *one && *other && strcmp(one, other) != 0;
}

bool pl_invocation_differs(const struct pl_profile *a, const struct pl_profile *b)
{
    const char **one = a->argv, **other = b->argv;
    if (pl_invocation_other_program(a, b) || !*one || !*other)
        return pl_invocation_other_program(a, b) || *one || *other;
    if (strcmp(basename(*one), basename(*other)) != 0)
        return true;
    for (one++, other++; *one && *other && !strcmp(*one, *other); one++, other++)
        ;
    return *one || *other;
}
