/* SPDX-License-Identifier: MIT */
/*
 * escapes.c - asks for a block whose address cannot be stored where it is to go, and ends at that moment: whoever could
 * have read it there would have found the block recorded.
 */
#include <signal.h>
#include <sys/mman.h>

#include "../../traps/programs/trap.h"

static void end(int signal)
{
    (void) signal;
    _exit(0);
}

static NOINLINE int escapes_allocate(void **to)
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
