/* SPDX-License-Identifier: MIT */
/*
 * crowd.c - `crowd FILE TIMES` writes an exact profile with a stack for each possible fate of blocks around the peak of
 * the heap: some were live then, some are live at the end, some were temporary. All figures are TIMES those below.
 */
#include <stdlib.h>

#include "forge.h"

#define PEAK_ERA 1u

struct way {
    const char *function;
    uint64_t calls, bytes;
    uint64_t peak_calls, peak_bytes;
    uint64_t live_calls, live_bytes;
    uint64_t temporary;
};

static const struct way ways[] = {
    {"never_freed", 10, 105, 10, 105, 10, 105, 0},   {"gone_after_peak", 7, 700, 7, 700, 0, 0, 0},
    {"after_peak", 5, 55, 0, 0, 5, 55, 0},           {"temporary", 100, 1003, 0, 0, 0, 0, 100},
    {"gone_at_peak", 20, 333, 0, 0, 0, 0, 4},        {"fewer_but_larger", 50, 777, 20, 300, 10, 450, 12},
    {"as_many_but_larger", 9, 100, 4, 30, 4, 50, 1}, {"as_many_but_smaller", 9, 90, 4, 50, 4, 40, 0},
    {"all_at_both", 8, 80, 5, 50, 4, 41, 0},         {"without_bytes", 6, 0, 2, 0, 2, 0, 1},
};
#define WAYS (sizeof ways / sizeof *ways)

/* The last block before the peak, a temporary one: there can be only one. */
static const struct way last = {"last_before_peak", 3, 33, 1, 13, 0, 0, 3};

static void add_way(struct forge *forge, uint32_t module, uint32_t thread, const struct way *way, uint64_t times)
{
    const char *const stack[] = {"_start", "main", way->function, NULL};
    uint32_t site = forge_site(forge, forge_stack(forge, module, "src/crowd.c", stack));
    struct pl_tally *tally = forge_tally_at(forge, forge_tally(forge, site, thread));
    struct pl_thread_record *record = forge_thread_at(forge, thread);
    tally->calls = way->calls * times;
    tally->bytes = way->bytes * times;
    tally->era = tally->freed_era = PEAK_ERA;
    tally->peak_calls = way->peak_calls * times;
    tally->peak_bytes = way->peak_bytes * times;
    forge_keep(tally, way->live_calls * times, way->live_bytes * times);
    tally->temporaries = way->temporary * times;
    record->calls[PL_FN_MALLOC] += tally->calls;
    record->bytes += tally->bytes;
    forge_header(forge)->peak.bytes += tally->peak_bytes;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct forge *forge = forge_new();
    struct pl_header *header = forge_header(forge);
    header->mode = PL_MODE_EXACT;
    header->interval_bytes = 0;
    header->peak = (struct pl_peak){.era = PEAK_ERA, .peaks = 1};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 0, 0);
    for (size_t i = 0; i < WAYS; i++)
        add_way(forge, module, thread, &ways[i], strtoull(argv[2], NULL, 10));
    add_way(forge, module, thread, &last, 1);
    int result = forge_write(forge, argv[1]);
    forge_free(forge);
    return result != 0;
}
