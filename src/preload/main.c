/* SPDX-License-Identifier: MIT */
/*
 * main.c - when does the program's own work end? When main returns or exit is called, before any exit handler runs:
 * what those free is told apart from what was freed in time.
 *
 * The handlers of the program are called in the reverse order of their registration, so none of ours could be the first
 * whatever we do. So main is called through us (and exit, lifecycle.c). Frames of ours are in nobody's stack
 * (pl_front.owns).
 */
#include <stdlib.h>

#include "compiler.h"
#include "next.h"
#include "process.h"

typedef int main_function(int argc, char **argv, char **environment);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                           void (*rtld_fini)(void), void *stack_end);

static main_function *program_main;

static int call_main(int argc, char **argv, char **environment)
{
    int status = program_main(argc, argv, environment);
    pl_process_exiting(pl_process);
    return status;
}

EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    start_function *next = (start_function *) pl_next_find("__libc_start_main");
    program_main = main;
    return next(call_main, argc, argv, init, fini, rtld_fini, stack_end);
}
