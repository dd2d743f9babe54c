/* SPDX-License-Identifier: MIT */
/*
 * escapes.c - requests a block whose address cannot be stored at the given place, and ends at that instant. Once the
 * address is visible to others, the block must be recorded.
 */
#include <signal.h>
#include <sys/mman.h>

#include "../../traps/programs/trap.h"

static void end(int signal)
{
    (void) signal;
    _exit(0);
}

static APART int escapes_allocate(void **to)
{
    int error = posix_memalign(to, 64, 1000);
    keep(to);
    return error;
}

int main(void)
{
    void **page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && signal(SIGSEGV, end) != SIG_ERR);
    escapes_allocate(page);
    return 1;
}
