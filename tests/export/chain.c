/* SPDX-License-Identifier: MIT */
/*
 * chain.c - `chain FILE` writes an exact profile that is too large for one picture: a chain of 150 functions that only
 * pass calls on, with two functions at its end, and 20 functions too small to show between main and a common callee.
 *
 *   main 1000 -> pass_0 -> ... -> pass_149 -> left 700, right 200
 *        main -> small_0 ... small_19 -> common 100 (5 each)
 */
#include <stdio.h>

#include "forge.h"

#define LINKS 150
#define SMALL 20

static void add(struct forge *forge, uint32_t module, uint32_t thread, const char *const *stack, uint64_t calls)
{
    uint32_t site = forge_site(forge, forge_stack(forge, module, "src/chain.c", stack));
    struct pl_thread_record *record = forge_thread_at(forge, thread);
    forge_count(forge_tally_at(forge, forge_tally(forge, site, thread)), calls, 1);
    record->calls[PL_FN_MALLOC] += calls;
    record->bytes += calls;
}

int main(int argc, char **argv)
{
    static char name[LINKS][16], small[16];
    const char *stack[LINKS + 3] = {"main"};
    if (argc != 2)
        return 2;
    struct forge *forge = forge_new();
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 0, 0);
    for (int i = 0; i < LINKS; i++) {
        snprintf(name[i], sizeof name[i], "pass_%d", i);
        stack[i + 1] = name[i];
    }
    stack[LINKS + 1] = "left";
    add(forge, module, thread, stack, 700);
    stack[LINKS + 1] = "right";
    add(forge, module, thread, stack, 200);
    for (int i = 0; i < SMALL; i++) {
        snprintf(small, sizeof small, "small_%d", i);
        add(forge, module, thread, (const char *const[]){"main", small, "common", NULL}, 5);
    }
    int result = forge_write(forge, argv[1]);
    forge_free(forge);
    return result != 0;
}
