/* SPDX-License-Identifier: MIT */
/* resolver.c - has an IFUNC whose resolver allocates before libc itself is initialised. */
#include "../../traps/programs/trap.h"

static void *block;

static int answer(void)
{
    return 42;
}

__attribute__((used)) static int (*resolve(void))(void)
{
    block = malloc(100);
    return answer;
}

int resolved(void) __attribute__((ifunc("resolve")));

static APART void *resolver_allocate(void)
{
    return keep(malloc(100));
}

int main(void)
{
    for (int i = 0; i < 300; i++)
        free(resolver_allocate());
    CHECK(resolved() == 42 && block);
    free(block);
    return 0;
}
