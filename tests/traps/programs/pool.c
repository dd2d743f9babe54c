/* SPDX-License-Identifier: MIT */
/* pool.c - uses, moves and frees blocks that dlsym() allocated while the runtime looked up the real malloc. */
#include <dlfcn.h>
#include <sys/wait.h>

#include "trap.h"

extern void *dlsym_block;

static int is_full_of(const char *block, char letter, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (block[i] != letter)
            return 0;
    return 1;
}

static void free_in_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        free(dlsym_block);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    (void) argv;
    CHECK(dlsym(RTLD_DEFAULT, "printf") != NULL);
    CHECK(dlsym_block && is_full_of(dlsym_block, 'p', 200));
    free_in_child();
    if (argc > 1) {
        free(dlsym_block);
        return 0;
    }
    char *moved = realloc(dlsym_block, 5000);
    CHECK(moved && is_full_of(moved, 'p', 200));
    memset(moved, 'q', 5000);
    moved = realloc(moved, 50);
    CHECK(moved && is_full_of(moved, 'q', 50));
    free(moved);
    return 0;
}
