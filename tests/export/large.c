/* SPDX-License-Identifier: MIT */
/*
 * large.c - writes a synthetic profile of a large program: many stacks, in many modules.
 *
 * usage: large FILE STACKS ADDRESSES [MODULE BUILD-ID TEXT-START TEXT-BYTES]...
 *
 * Stacks have 24 frames and share their outer parts with earlier ones, as in real programs. Their frames are ADDRESSES
 * different addresses, spread over the code of the modules. The same arguments give the same file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define DEPTH 24
#define MODULE_WORDS 4
#define SHARED_AT_LEAST 14 /* frames that a new stack shares with an earlier one, at most DEPTH - 1 */

struct module {
    uint32_t record;
    uint64_t start, bytes;
};

static uint64_t state = 1;

static uint64_t chance(uint64_t below)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % below;
}

static uint32_t write_module(struct forge *forge, const char *path, const char *build_id)
{
    uint32_t number = forge_module(forge, path, 1);
    struct pl_module *record = forge_record(forge, PL_KIND_MODULE, number);
    record->build_id_bytes = (uint32_t) (strlen(build_id) / 2);
    for (uint32_t i = 0; i < record->build_id_bytes; i++) {
        char pair[3] = {build_id[2 * i], build_id[2 * i + 1], 0};
        record->build_id[i] = (uint8_t) strtoul(pair, NULL, 16);
    }
    return number;
}

static uint64_t address_of(const struct module *module, uint64_t place, uint64_t places)
{
    return module->start + place * (module->bytes / places);
}

/* frame[] is the stack of the last site, outermost first. A new stack branches off somewhere in it. */
static void write_stack(struct forge *forge, const struct module *module, uint64_t modules, uint64_t addresses,
                        uint32_t *frame)
{
    uint64_t per_module = addresses / modules + 1;
    for (uint64_t depth = SHARED_AT_LEAST + chance(DEPTH - SHARED_AT_LEAST); depth < DEPTH; depth++) {
        const struct module *in = &module[chance(modules)];
        frame[depth] = forge_frame(forge, depth ? frame[depth - 1] : 0, in->record,
                                   address_of(in, chance(per_module), per_module));
    }
}

int main(int argc, char **argv)
{
    static struct module module[64];
    uint32_t frame[DEPTH] = {0};
    uint64_t modules = argc > 4 ? (uint64_t) (argc - 4) / MODULE_WORDS : 0;
    if (modules == 0 || modules > 64)
        return 2;
    uint64_t stacks = strtoull(argv[2], NULL, 0), addresses = strtoull(argv[3], NULL, 0);
    struct forge *forge = forge_new();
    for (uint64_t i = 0; i < modules; i++) {
        char **word = argv + 4 + MODULE_WORDS * i;
        module[i] = (struct module){write_module(forge, word[0], word[1]), strtoull(word[2], NULL, 0),
                                    strtoull(word[3], NULL, 0)};
    }
    uint32_t thread = forge_thread(forge, "main", stacks * 10, stacks * 1000);
    for (uint64_t depth = 0; depth < SHARED_AT_LEAST; depth++)
        frame[depth] = forge_frame(forge, depth ? frame[depth - 1] : 0, module[0].record,
                                   address_of(&module[0], depth, SHARED_AT_LEAST));
    for (uint64_t i = 0; i < stacks; i++) {
        write_stack(forge, module, modules, addresses, frame);
        uint32_t tally = forge_tally(forge, forge_site(forge, frame[DEPTH - 1]), thread);
        forge_count(forge_tally_at(forge, tally), 10, 100);
        forge_keep(forge_tally_at(forge, tally), i % 10, 100 * (i % 10));
    }
    return forge_write(forge, argv[1]) ? 1 : 0;
}
