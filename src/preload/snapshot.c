/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - copies the loader's list of modules into a table that hooks may read.
 *
 * The list is collected under the loader's lock into memory of this call's own, sorted, and published as a whole. Two
 * threads may do so at once; the counters of loads and unloads that the loader keeps say whose list is the newer one.
 */
#include "snapshot.h"

#include <link.h>
#include <sys/mman.h>

#include "find.h"

struct collection {
    uint64_t generation;
    size_t count;
    struct pl_found module[PL_SNAPSHOT_MODULES];
};

/* The loader's own record of a module, known by its dynamic section. Its list is stable: the loader's lock is held. */
static struct link_map *find_map(uintptr_t dynamic)
{
    struct link_map *map = dynamic ? _r_debug.r_map : NULL;
    while (map != NULL && (uintptr_t) map->l_ld != dynamic)
        map = map->l_next;
    return map;
}

static void add_segment(struct pl_found *module, uintptr_t start, uintptr_t end)
{
    const uintptr_t page = 4096;
    start &= ~(page - 1);
    end = (end + page - 1) & ~(page - 1);
    if (module->end == 0 || start < module->start)
        module->start = start;
    if (end > module->end)
        module->end = end;
}

static void describe(struct pl_found *module, const struct dl_phdr_info *info)
{
    uintptr_t dynamic = 0;
    *module = (struct pl_found){.bias = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *program = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + program->p_vaddr;
        if (program->p_type == PT_LOAD)
            add_segment(module, start, start + program->p_memsz);
        else if (program->p_type == PT_GNU_EH_FRAME)
            module->eh_frame_hdr = (const void *) start;
        else if (program->p_type == PT_DYNAMIC)
            dynamic = start;
    }
    module->map = find_map(dynamic);
}

/* Loaders list modules nearly in the order of their addresses, one way or the other: insertion is cheap enough. */
static void insert(struct collection *collection, const struct pl_found *module)
{
    size_t at = collection->count++;
    for (; at > 0 && collection->module[at - 1].start > module->start; at--)
        collection->module[at] = collection->module[at - 1];
    collection->module[at] = *module;
}

static int collect(struct dl_phdr_info *info, size_t bytes, void *argument)
{
    struct collection *collection = argument;
    struct pl_found module;
    if (bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        collection->generation = info->dlpi_adds + info->dlpi_subs;
    describe(&module, info);
    if (module.end > module.start && collection->count < PL_SNAPSHOT_MODULES)
        insert(collection, &module);
    return 0;
}

void pl_snapshot_refill(void)
{
    struct collection *collection =
        mmap(NULL, sizeof *collection, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (collection == MAP_FAILED) /* the last snapshot stays: what is new since then is guessed */
        return;
    dl_iterate_phdr(collect, collection);
    pl_module_find_publish(collection->module, collection->count, collection->generation);
    munmap(collection, sizeof *collection);
}
