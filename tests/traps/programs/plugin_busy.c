/* SPDX-License-Identifier: MIT */
/*
 * plugin_busy.c - a plugin whose constructor starts a thread and waits for it, while dlopen() holds the loader's lock.
 * The thread makes every call that the runtime intercepts, for the first time in this process.
 */
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "trap.h"

pid_t _Fork(void);

static void allocate(void)
{
    void *block = NULL;
    for (int i = 0; i < 100; i++)
        free(realloc(keep(calloc(3, 5)), 50));
    CHECK(posix_memalign(&block, 32, 32) == 0);
    free(block);
    free(reallocarray(NULL, 5, 5));
    free(memalign(64, 5));
}

static void make_children(void)
{
    char *const nobody[] = {(char *) "/nonexistent", NULL};
    int status;
    pid_t child = fork();
    if (child == 0) {
        free(keep(malloc(10)));
        execv(nobody[0], nobody);
        execve(nobody[0], nobody, nobody);
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    if ((child = _Fork()) == 0)
        _Exit(4);
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4);
}

static void *work(void *unused)
{
    allocate();
    CHECK(pthread_setname_np(pthread_self(), "busy") == 0);
    CHECK(prctl(PR_GET_DUMPABLE) >= 0);
    CHECK(syscall(SYS_getpid) == getpid());
    make_children();
    return unused;
}

__attribute__((constructor)) static void construct(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

void *plugin_call(void);
void *plugin_call(void)
{
    free(keep(malloc(100)));
    return NULL;
}
