/* SPDX-License-Identifier: MIT */
/*
 * middle.c - a library of one's own, preloaded beside the profiler, that configures a program which cannot be changed.
 *
 *     LD_PRELOAD=build/examples/middle/libmiddle.so plimsoll run -- git log -p
 *
 * Its constructor runs before the program's main, in every process of it. All of it is meant to be replaced: here each
 * process is a tag, blocks below 64 bytes are only counted, what zlib allocates to unpack something is a tag, and there
 * is a snapshot of the moment at which the program begins to exit, before it frees what it held.
 *
 * It is linked with nothing of Plimsoll: without the profiler it does nothing.
 */
#define _GNU_SOURCE
#include <plimsoll.h>

#include <dlfcn.h>
#include <stdlib.h>

#define SMALL_BYTES 64

static void at_exit(void)
{
    plimsoll_snapshot("exit");
}

__attribute__((constructor)) static void configure(void)
{
    if (!plimsoll_loaded())
        return;
    plimsoll_sizes(SMALL_BYTES, UINT64_MAX);
    plimsoll_push(program_invocation_short_name); /* never popped: what main allocates is charged to it */
    atexit(at_exit);
}

/* A function that the program calls in another library can be given a tag: this is called instead of it. */
int inflateInit_(void *stream, const char *version, int stream_bytes)
{
    int (*next)(void *, const char *, int);
    *(void **) &next = dlsym(RTLD_NEXT, "inflateInit_");
    plimsoll_push("zlib");
    int result = next(stream, version, stream_bytes);
    plimsoll_pop();
    return result;
}
