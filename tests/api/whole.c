/* SPDX-License-Identifier: MIT */
/*
 * whole.c - calls every function of plimsoll.h and prints the results; valid C99 and C++11.
 *
 * usage: whole FILE      FILE must not exist: plimsoll_write() writes it
 *
 * A line is a key and a number. Lines that begin with "wrong:" report broken promises.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef HIDDEN /* as many libraries include their headers */
#pragma GCC visibility push(hidden)
#include <plimsoll.h>
#pragma GCC visibility pop
#else
#include <plimsoll.h>
#endif

#define BLOCKS 3
#define BLOCK_BYTES 100
#define ERRNO_BEFORE 77

/* Makes a call, which must not change errno. */
#define QUIETLY(call)                                                                                                  \
    do {                                                                                                               \
        errno = ERRNO_BEFORE;                                                                                          \
        call;                                                                                                          \
        if (errno != ERRNO_BEFORE)                                                                                     \
            printf("wrong: errno is %d after %s\n", errno, #call);                                                     \
    } while (0)

#define SAY(key, number)                                                                                               \
    do {                                                                                                               \
        long said;                                                                                                     \
        QUIETLY(said = (long) (number));                                                                               \
        printf("%s %ld\n", key, said);                                                                                 \
    } while (0)

static void *volatile sink;

static void allocate(unsigned blocks)
{
    for (unsigned i = 0; i < blocks; i++) {
        sink = malloc(BLOCK_BYTES);
        free(sink);
    }
}

/* Calls charged to the current tag of this thread. */
static long calls_here(void)
{
    static struct plimsoll_stats stats;
    return plimsoll_tag_stats(plimsoll_capture(), &stats, sizeof stats) ? -1 : (long) stats.calls;
}

static void use_scopes(void)
{
    plimsoll_tag prepared = NULL;
    plimsoll_context outside = 0, inside = 0, before = 0;
    QUIETLY(outside = plimsoll_capture());

    QUIETLY(plimsoll_push("pushed"));
    allocate(BLOCKS);
    SAY("calls.pushed", calls_here());
    QUIETLY(inside = plimsoll_capture());
    QUIETLY(plimsoll_pop());

    QUIETLY(prepared = plimsoll_prepare("prepared"));
    SAY("prepared", prepared != NULL);
    QUIETLY(plimsoll_enter(prepared));
    allocate(2 * BLOCKS);
    SAY("calls.prepared", calls_here());
    QUIETLY(plimsoll_pop());

    QUIETLY(plimsoll_pushf("%s::%0*d", "Class", 3000, 1)); /* longer than the buffer of pushf */
    allocate(BLOCKS);
    SAY("calls.formatted", calls_here());
    QUIETLY(plimsoll_pop());

    QUIETLY(before = plimsoll_adopt(inside));
    allocate(1);
    SAY("calls.adopted", calls_here()); /* those of "pushed", plus one */
    QUIETLY(plimsoll_adopt(before));
    SAY("balanced", plimsoll_capture() == outside);
    QUIETLY(plimsoll_pop()); /* surplus */
    SAY("balanced.still", plimsoll_capture() == outside);
}

static void use_control(void)
{
    SAY("active", plimsoll_active());
    QUIETLY(plimsoll_pause());
    QUIETLY(plimsoll_pause());
    QUIETLY(plimsoll_resume());
    SAY("active.paused", plimsoll_active());
    QUIETLY(plimsoll_resume());
    QUIETLY(plimsoll_stop());
    SAY("active.stopped", plimsoll_active());
    QUIETLY(plimsoll_start());
    SAY("active.started", plimsoll_active());

    SAY("sample", plimsoll_sample(4096));
    SAY("sample.too_coarse", plimsoll_sample(UINT64_C(1) << 41));
    SAY("sample.as_started", plimsoll_sample(0));
    SAY("sizes", plimsoll_sizes(16, 4096));
    SAY("sizes.crossed", plimsoll_sizes(2, 1));
    SAY("sizes.all", plimsoll_sizes(0, UINT64_MAX));
    QUIETLY(plimsoll_reset());
}

static void use_snapshots(const char *path)
{
    SAY("snapshot", plimsoll_snapshot("named"));
    SAY("snapshot.numbered", plimsoll_snapshot(NULL));
    SAY("snapshot.if_due", plimsoll_snapshot_if_due());
    SAY("write", plimsoll_write(path));
    SAY("write.again", plimsoll_write(path));
    QUIETLY(plimsoll_output(0));
    QUIETLY(plimsoll_output(1));
}

static int count_pair(void *context, const char *key, uint64_t number)
{
    (void) number;
    *(long *) context += *key != 0;
    return 0;
}

static void use_statistics(void)
{
    static struct plimsoll_stats all, mine;
    long pairs = 0;
    allocate(BLOCKS);
    SAY("stats", plimsoll_stats(&all, sizeof all));
    SAY("stats.thread", plimsoll_thread_stats(&mine, sizeof mine));
    SAY("stats.tag", plimsoll_tag_stats(plimsoll_capture(), &mine, sizeof mine));
    SAY("stats.calls", all.calls >= BLOCKS && all.calls_of[PLIMSOLL_MALLOC] >= BLOCKS);
    SAY("stats.bytes", all.allocated_bytes >= BLOCKS * BLOCK_BYTES && all.rss_bytes > 0);
    SAY("pairs", plimsoll_pairs(count_pair, &pairs));
    SAY("pairs.any", pairs > 0);
}

static void use_heaps(void)
{
    static char room[64];
    plimsoll_heap heap = NULL, below = NULL;
    QUIETLY(heap = plimsoll_heap_create("heap", NULL));
    QUIETLY(below = plimsoll_heap_create("below", heap));
    SAY("heap", heap != NULL && below != NULL && heap != below);
    QUIETLY(plimsoll_heap_took(heap, room, sizeof room));
    QUIETLY(plimsoll_heap_allocated(heap, room, 16));
    QUIETLY(plimsoll_heap_reallocated(heap, room, room + 16, 32));
    QUIETLY(plimsoll_heap_freed(heap, room + 16));
    QUIETLY(plimsoll_heap_allocated(below, room, 16));
    QUIETLY(plimsoll_heap_gave(heap, room));
    QUIETLY(plimsoll_heap_clear(heap));
    QUIETLY(plimsoll_heap_destroy(heap));
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0); /* a buffer would be allocated inside a scope */
    SAY("loaded", plimsoll_loaded());
    use_scopes();
    use_control();
    use_heaps();
    use_statistics();
    use_snapshots(words[1]);
    return 0;
}
