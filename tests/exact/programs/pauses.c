/* SPDX-License-Identifier: MIT */
/*
 * pauses.c - a few blocks that live for ever, with long pauses in between.
 *
 *   pauses LEDGER
 *
 * Prints for each block when it was made, as nanoseconds of CLOCK_MONOTONIC: "made SITE AT_LEAST AT_MOST". The pauses
 * double, as they do between the steps of a container that grows steadily.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X) X(first) X(second) X(third) X(fourth) X(fifth)
LEDGER_DECLARE(SITES);

#define BYTES (1 << 20) /* large enough to be sampled for certain */

SITES(LEDGER_MALLOC_SITE)
static struct block (*const sites[])(size_t) = {SITES(LEDGER_FUNCTION)};

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned site = 0; site < SITE_COUNT; site++) {
        ledger_sleep_ms(40u << site);
        uint64_t before = ledger_now_ns();
        sites[site](BYTES);
        dprintf(1, "made %s %llu %llu\n", site_names[site], (unsigned long long) before,
                (unsigned long long) ledger_now_ns());
    }
    return 0;
}
