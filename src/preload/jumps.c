/* SPDX-License-Identifier: MIT */
/*
 * jumps.c - longjmp, under all its names: a signal handler may leave by it, out of one of our hooks.
 *
 * The visit that it interrupted is over then. And if it had not yet set the next countdown, the thread would never come
 * back to the cold path. Both is put right here, on the way out.
 */
#include "jumps.h"

#include "arch.h"
#include "cold.h"
#include "compiler.h"
#include "next.h"

#define NORETURN __attribute__((noreturn))

#define JUMPS(X) X(longjmp) X(_longjmp) X(siglongjmp) X(__longjmp_chk)

static struct {
#define FIELD(name) NORETURN void (*name)(void *, int);
    JUMPS(FIELD)
#undef FIELD
} next;

/* setjmp.h knows the buffers by a type of its own; what is in them is none of our business. */
#define JUMP(name)                                                                                                     \
    EXPORT NORETURN void name(void *to, int value);                                                                    \
    void name(void *to, int value)                                                                                     \
    {                                                                                                                  \
        if (unlikely(!next.name))                                                                                      \
            pl_jumps_start();                                                                                          \
        pl_cold_thrown(pl_jump_target(to));                                                                            \
        next.name(to, value);                                                                                          \
    }
JUMPS(JUMP)

void pl_jumps_start(void)
{
#define LOOK_UP(name) next.name = (__typeof__(next.name)) pl_next_find(#name);
    JUMPS(LOOK_UP)
#undef LOOK_UP
}
