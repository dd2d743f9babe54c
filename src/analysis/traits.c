/* SPDX-License-Identifier: MIT */
/*
 * traits.c - questions that all readers of a profile ask.
 */
#include "analysis/traits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/leftovers.h"
#include "analysis/filefull.h"
#include "reader/base/grow.h"

#define COMMAND_MOST 4096
#define COMM_BYTES 15 /* the kernel keeps so many of a name */

bool pl_traits_estimated(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    return !profile->exact && !(header->mode == PL_MODE_SAMPLED && header->interval_bytes <= 1);
}

bool pl_traits_behind(const struct pl_profile *profile)
{
    return pl_traits_estimated(profile) && (profile->header.end == PL_END_NONE || profile->snapshot_name);
}

bool pl_traits_lossy(const struct pl_profile *profile)
{
    const uint64_t *losses = profile->header.losses;
    return losses[PL_LOSS_THREADS] || losses[PL_LOSS_TAGS] || pl_filefull_lost(&profile->header) || profile->damage;
}

bool pl_traits_seen(const struct pl_profile *profile)
{
    const char *other = profile->bypass[PL_BYPASS_MALLOC];
    return profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0 || !other || !*other;
}

bool pl_traits_recorded(const struct pl_profile *profile)
{
    bool nothing = profile->exact && !(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0) && pl_traits_seen(profile);
    return profile->samples > 0 || profile->exact_calls > 0 || nothing;
}

bool pl_traits_tagged(const struct pl_profile *profile)
{
    for (uint32_t i = 1; i < profile->tags; i++)
        if (profile->tag[i].kind == PL_TAG_NAMED)
            return true;
    return false;
}

bool pl_traits_timed(const struct pl_profile *profile)
{
    return pl_leftovers_ending(profile) == PL_ENDING_RUNNING || profile->header.end_monotonic_ns;
}

/* --- the program --- */

const char *pl_traits_program(const struct pl_profile *profile)
{
    return *profile->executable ? basename(profile->executable) : profile->comm;
}

/* Debian's redis-server is a link to redis-check-rdb: people know the name that they typed. The kernel's name of the
 * process and its first argument must agree on it, since a program may set either. */
static const char *called_as(const struct pl_profile *profile)
{
    const char *typed = profile->argv[0] ? basename(profile->argv[0]) : "";
    return *typed && !strncmp(typed, profile->comm, COMM_BYTES) ? typed : NULL;
}

const char *pl_traits_module(const struct pl_profile *profile, uint32_t module)
{
    const char *path = profile->module[module].path;
    const char *called = *path && !strcmp(path, profile->executable) ? called_as(profile) : NULL;
    return called ? called : basename(path);
}

char *pl_traits_command(const struct pl_profile *profile)
{
    char *command = NULL;
    size_t bytes = 0;
    FILE *out = pl_grow_check(open_memstream(&command, &bytes), 1, sizeof *out);
    fputs(profile->argv[0] ? profile->argv[0] : profile->comm, out);
    for (const char **word = profile->argv[0] ? profile->argv + 1 : profile->argv; *word; word++) {
        fprintf(out, " %s", **word ? *word : "''"); /* an empty one must not vanish */
        if (ftell(out) > COMMAND_MOST)
            break;
    }
    fclose(out);
    return pl_grow_check(command, 1, bytes);
}

bool pl_traits_other_program(const struct pl_profile *a, const struct pl_profile *b)
{
    const char *one = pl_traits_program(a), *other = pl_traits_program(b);
    return *one && *other && strcmp(one, other) != 0;
}

bool pl_traits_other_command(const struct pl_profile *a, const struct pl_profile *b)
{
    const char **one = a->argv, **other = b->argv;
    if (pl_traits_other_program(a, b) || !*one || !*other)
        return pl_traits_other_program(a, b) || *one || *other;
    if (strcmp(basename(*one), basename(*other)) != 0)
        return true;
    for (one++, other++; *one && *other && !strcmp(*one, *other); one++, other++)
        ;
    return *one || *other;
}
