/* SPDX-License-Identifier: MIT */
/*
 * middle.c - a library, preloaded beside the profiler, that configures it for a program which cannot be changed.
 *
 *     LD_PRELOAD=build/examples/middle/libmiddle.so plimsoll run -- git log -p
 *
 * Its constructor runs before main, in every process of the program. Replace all of it by what you need: here each
 * process is a tag, blocks below 64 bytes are only counted, what zlib allocates to unpack something is a tag, and a
 * snapshot is taken when the program begins to exit, before it frees what it held.
 *
 * It is not linked with any library of Plimsoll: without the profiler it does nothing.
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

/* Gives a tag to a function that the program calls in another library: this one is called instead. */
int inflateInit_(void *stream, const char *version, int stream_bytes)
{
    int (*next)(void *, const char *, int);
    *(void **) &next = dlsym(RTLD_NEXT, "inflateInit_");
    plimsoll_push("zlib");
    int result = next(stream, version, stream_bytes);
    plimsoll_pop();
    return result;
}
