/* SPDX-License-Identifier: MIT */
/*
 * forged.c - writes exact profiles that are hard to get from a program:
 *
 *   forged FILE tags N       with N tags
 *   forged FILE threads N    with N threads, each with its own name
 *   forged FILE crew BYTES   with four threads, one of which keeps a block of BYTES bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define CREW 4
#define BATCH_BYTES 1024
#define NAME_BYTES 24

static uint32_t make_stack(struct forge *forge, const char *function)
{
    const char *const stack[] = {"main", function, NULL};
    return forge_stack(forge, forge_module(forge, "/opt/bin/example", 0xab), "example.c", stack);
}

static void count(struct forge *forge, uint32_t site, uint32_t thread, uint32_t bytes)
{
    forge_count(forge_tally_at(forge, forge_tally(forge, site, thread)), 1, bytes);
}

static void make_tags(struct forge *forge, uint32_t tags)
{
    uint32_t stack = make_stack(forge, "work"), thread = forge_thread(forge, "main", tags, 10ull * tags);
    char name[NAME_BYTES];
    for (uint32_t i = 0; i < tags; i++) {
        snprintf(name, sizeof name, "tag %u", i);
        uint32_t tag = forge_tag(forge, 0, name);
        forge_scope(forge, thread, tag, 1, 10);
        count(forge, forge_tagged_site(forge, stack, tag), thread, 10);
    }
}

static void make_threads(struct forge *forge, uint32_t threads)
{
    uint32_t site = forge_site(forge, make_stack(forge, "work"));
    char name[NAME_BYTES];
    for (uint32_t i = 0; i < threads; i++) {
        snprintf(name, sizeof name, "thread %u", i);
        count(forge, site, forge_thread(forge, name, 1, 10), 10);
    }
}

static void make_crew(struct forge *forge, uint32_t bytes)
{
    uint32_t site = forge_site(forge, make_stack(forge, "keep"));
    forge_header(forge)->batch_bytes = BATCH_BYTES;
    count(forge, site, forge_thread(forge, "first", 1, bytes), bytes);
    for (int i = 1; i < CREW; i++)
        forge_thread(forge, "other", 0, 0);
}

static const struct kind {
    const char *word;
    void (*make)(struct forge *forge, uint32_t number);
} kinds[] = {{"tags", make_tags}, {"threads", make_threads}, {"crew", make_crew}};

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct forge *forge = forge_new();
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].word, argv[2]))
            kinds[i].make(forge, (uint32_t) strtoul(argv[3], NULL, 10));
    int result = forge_write(forge, argv[1]);
    forge_free(forge);
    return result != 0;
}
