/* SPDX-License-Identifier: MIT */
/*
 * leaving.c - blocks that main frees, blocks that exit handlers and destructors free, and blocks that are never freed.
 *
 *   leaving LEDGER return|exit|_exit
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITES(X) X(main) X(handlers) X(destructors) X(in_handler) X(never)
LEDGER_DECLARE(SITES);

#define BLOCKS 200

static struct block handlers[BLOCKS], destructors[BLOCKS];

SITES(LEDGER_MALLOC_SITE)

static void handle_exit(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        ledger_free(handlers[i]);
        struct block block = site_in_handler(30 + i);
        if (i % 2)
            ledger_free(block);
    }
}

static __attribute__((destructor)) void destroy(void)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (ledger)
            ledger_free(destructors[i]);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    if (atexit(handle_exit))
        return 3;
    for (size_t i = 0; i < BLOCKS; i++) {
        ledger_free(site_main(1 + i));
        handlers[i] = site_handlers(2 + i);
        destructors[i] = site_destructors(3 + i);
        site_never(4 + i);
    }
    ledger_exiting();
    if (strcmp(argv[2], "exit") == 0)
        exit(0);
    if (strcmp(argv[2], "_exit") == 0)
        _exit(0);
    return 0;
}
