/* SPDX-License-Identifier: MIT */
/*
 * told.c - `told FILE` writes an exact profile of two threads that report their changes in batches of 4,096 bytes. The
 * heap is largest at the end, with 10,000 bytes. The timeline has 8,000; 12,000, which is too much only because of
 * changes that were not reported yet; and 30,000, which is more than these can explain.
 */
#include "forge.h"

#define SECOND 1000000000ull

int main(int argc, char **argv)
{
    static const uint64_t live[] = {8000, 12000, 30000};
    if (argc != 2)
        return 2;
    struct forge *forge = forge_new();
    forge_header(forge)->mode = PL_MODE_EXACT;
    forge_header(forge)->interval_bytes = 0;
    forge_header(forge)->batch_bytes = 4096;
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t site = forge_site(forge, forge_stack(forge, module, "src/told.c", (const char *const[]){"main", NULL}));
    for (int i = 0; i < 2; i++) {
        uint32_t thread = forge_thread(forge, i ? "second" : "first", 5, 5000);
        forge_count(forge_tally_at(forge, forge_tally(forge, site, thread)), 5, 1000);
    }
    for (uint32_t i = 0; i < sizeof live / sizeof *live; i++)
        forge_moment(forge, (i + 1) * SECOND)->live_bytes = live[i];
    int result = forge_write(forge, argv[1]);
    forge_free(forge);
    return result != 0;
}
