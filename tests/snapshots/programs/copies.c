/* SPDX-License-Identifier: MIT */
/*
 * copies.c - copies a live profile and checks each copy: `copies LIVE COUNT`. Prints a line for each bad copy and one
 * about all of them. Exits with 1 if any copy was bad.
 *
 * A record may be in flight if its thread was preempted in the middle of an update. That is rare. A copy that was made
 * without care has several of them each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/write/copy.h"

struct seen {
    uint64_t bad, in_flight, bytes, sites, tags;
};

static struct pl_profile *copy_and_open(const char *live, char *why)
{
    struct pl_copy *copy;
    struct pl_profile *profile = NULL;
    char path[64];
    int fd = memfd_create("copy", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (pl_copy_take(live, &copy, why) == 0) {
        int result = pl_copy_write(copy, "copy", fd);
        pl_copy_free(copy);
        if (result != 0)
            snprintf(why, PL_WHY_BYTES, "cannot write: %s", strerror(-result));
        else if (pl_profile_open(path, &profile, why) != 0)
            profile = NULL;
    }
    close(fd);
    return profile;
}

static const char *complain(const struct pl_profile *profile, const struct seen *last)
{
    return profile->damage                                      ? "damaged"
           : !pl_profile_valid(profile)                         ? "not valid"
           : profile->running                                   ? "looks like a running process"
           : !profile->snapshot_name                            ? "not a snapshot"
           : strcmp(profile->snapshot_name, "copy")             ? "called otherwise"
           : *profile->destination                              ? "has a destination"
           : profile->sites < last->sites || profile->sites < 2 ? "lost sites"
           : profile->tags < last->tags                         ? "lost tags"
                                                                : NULL;
}

static void look(const char *live, int number, struct seen *seen)
{
    char why[PL_WHY_BYTES] = "";
    struct pl_profile *profile = copy_and_open(live, why);
    const char *complaint = profile ? complain(profile, seen) : why;
    if (complaint) {
        printf("copy %d: %s (damage %llu)\n", number, complaint, profile ? (unsigned long long) profile->damage : 0);
        seen->bad++;
    }
    if (profile) {
        seen->in_flight += profile->in_flight;
        seen->bytes = profile->file_bytes;
        seen->sites = profile->sites;
        seen->tags = profile->tags;
    }
    pl_profile_close(profile);
}

int main(int argc, char **argv)
{
    struct seen seen = {0};
    int count = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < count; i++)
        look(argv[1], i, &seen);
    printf("%d copies, %llu bad; the last has %llu bytes, %llu sites, %llu tags; %llu in flight in all\n", count,
           (unsigned long long) seen.bad, (unsigned long long) seen.bytes, (unsigned long long) seen.sites,
           (unsigned long long) seen.tags, (unsigned long long) seen.in_flight);
    return seen.bad > 0 || seen.in_flight > (uint64_t) count / 2;
}
