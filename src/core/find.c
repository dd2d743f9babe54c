/* SPDX-License-Identifier: MIT */
/*
 * find.c - asks the loader, or the last snapshot, which module an address belongs to.
 *
 * Snapshots live in two buffers that take turns. Version v is in buffer v & 1, and version v + 1 is written into the
 * other one, so whoever searches version v is disturbed only by the second publication after it, and notices, because
 * the version has moved on. A signal handler that interrupts a publication still finds the last version whole.
 */
#include "find.h"

#include <link.h>
#include <sys/syscall.h>

#include "arch.h"
#include "compiler.h"

#ifndef DLFO_EH_SEGMENT_TYPE /* headers older than glibc 2.35: the layout is part of its ABI */
struct dl_find_object {
    unsigned long long dlfo_flags;
    void *dlfo_map_start;
    void *dlfo_map_end;
    struct link_map *dlfo_link_map;
    void *dlfo_eh_frame;
    unsigned long long reserved[7];
};
int _dl_find_object(void *address, struct dl_find_object *result);
#endif
#pragma weak _dl_find_object

#define SEARCHES_MAX 8 /* a search disturbed this often gives up: a publisher would have to be very busy */

struct snapshot {
    size_t count;
    struct pl_found module[PL_SNAPSHOT_MODULES];
};

static struct snapshot snapshots[2]; /* never touched where the loader answers */
static uint64_t version;             /* 0: nothing published yet */
static uint64_t newest_generation;   /* protected by publisher_pid */
static uint32_t publisher_pid;       /* a lock: 0, or the pid that holds it */
static bool forced;

static bool ask_loader(uintptr_t pc, struct pl_found *out)
{
    struct dl_find_object object;
    if (_dl_find_object((void *) pc, &object) != 0)
        return false;
    out->start = (uintptr_t) object.dlfo_map_start;
    out->end = (uintptr_t) object.dlfo_map_end;
    out->bias = object.dlfo_link_map->l_addr;
    out->eh_frame_hdr = object.dlfo_eh_frame;
    out->map = (void *) object.dlfo_link_map; /* inside glibc, its public part has another name */
    return true;
}

/* The last module that starts at or below pc, if pc lies in it. */
static bool search(const struct snapshot *snapshot, uintptr_t pc, struct pl_found *out)
{
    size_t low = 0;
    size_t high = snapshot->count <= PL_SNAPSHOT_MODULES ? snapshot->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (snapshot->module[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || pc >= snapshot->module[low - 1].end)
        return false;
    *out = snapshot->module[low - 1];
    return true;
}

static COLD bool ask_snapshot(uintptr_t pc, struct pl_found *out)
{
    for (int tries = 0; tries < SEARCHES_MAX; tries++) {
        uint64_t seen = load_acquire(&version);
        if (seen == 0)
            return false;
        bool found = search(&snapshots[seen & 1], pc, out);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (load_relaxed(&version) == seen)
            return found;
    }
    return false;
}

bool pl_module_find_needs_snapshot(void)
{
    return _dl_find_object == NULL || load_relaxed(&forced);
}

bool pl_module_find(uintptr_t pc, struct pl_found *out)
{
    return unlikely(pl_module_find_needs_snapshot()) ? ask_snapshot(pc, out) : ask_loader(pc, out);
}

void pl_module_find_force_snapshot(bool force)
{
    store_relaxed(&forced, force);
}

/* The word holds a pid, so that a fork in the middle of a publication leaves a lock that the child can tell is
 * nobody's. */
static void lock_publication(void)
{
    uint32_t self = (uint32_t) pl_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);
    for (;;) {
        uint32_t holder = load_relaxed(&publisher_pid);
        if (holder != self && swap_if(&publisher_pid, holder, self))
            return;
        pl_pause();
    }
}

void pl_module_find_publish(const struct pl_found *modules, size_t count, uint64_t generation)
{
    lock_publication();
    if (version == 0 || generation >= newest_generation) {
        struct snapshot *next = &snapshots[(version + 1) & 1];
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* whoever still searches this buffer sees that it is out of date */
        next->count = count < PL_SNAPSHOT_MODULES ? count : PL_SNAPSHOT_MODULES;
        for (size_t i = 0; i < next->count; i++)
            next->module[i] = modules[i];
        newest_generation = generation;
        store_release(&version, version + 1);
    }
    store_release(&publisher_pid, 0);
}

bool pl_module_same(uintptr_t a, uintptr_t b)
{
    struct pl_found at_a, at_b;
    return a && b && pl_module_find(a, &at_a) && pl_module_find(b, &at_b) && at_a.start == at_b.start;
}
