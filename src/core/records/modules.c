/* SPDX-License-Identifier: MIT */
/* modules.c - see modules.h. */
#include "core/records/modules.h"

#include <elf.h>
#include <link.h>

#include "core/hash.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/python/python.h"
#include "core/text.h"

#define KEY_MODULE 0x6d6f64756c65u

void pl_modules_start(struct pl_file *file)
{
    void *at;
    if (pl_file_append(file, PL_KIND_MODULE, &at) == PL_MODULE_UNKNOWN)
        store_release(&((struct pl_module *) at)->valid, 1);
}

/* ---- the identity of an object, read from memory ---- */

/* Where the object's headers can be read. If its segments lie far apart, `found` may be only the segment around the pc;
 * for the main program, the front end then knows where the first page is. */
struct extent {
    uintptr_t start;
    uintptr_t end;
};

static bool is_main(const struct pl_found_module *found)
{
    const struct link_map *map = found->map;
    return map && map->l_name && !map->l_name[0];
}

static struct extent extent_of(const struct pl_found_module *found)
{
    uintptr_t header = is_main(found) ? pl_front.main_header() : 0;
    if (header && (header < found->start || header >= found->end))
        return (struct extent){header, header + 4096};
    return (struct extent){found->start, found->end};
}

static bool inside(struct extent extent, uintptr_t at, uint64_t bytes)
{
    return at >= extent.start && at <= extent.end && bytes <= extent.end - at;
}

/* The program headers as the loader mapped them; NULL unless the object begins with its ELF header. */
static const Elf64_Phdr *program_headers(struct extent extent, unsigned *count)
{
    const Elf64_Ehdr *elf = (const void *) extent.start;
    if (!inside(extent, extent.start, sizeof *elf) || *(const uint32_t *) elf->e_ident != 0x464c457fu)
        return NULL;
    uint64_t bytes = (uint64_t) elf->e_phnum * sizeof(Elf64_Phdr);
    if (elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff + bytes > 4096 ||
        !inside(extent, extent.start + elf->e_phoff, bytes))
        return NULL;
    *count = elf->e_phnum;
    return (const void *) (extent.start + elf->e_phoff);
}

static void find_build_id(const uint8_t *note, uint64_t bytes, struct pl_identity *out)
{
    while (bytes >= 16) {
        const Elf64_Nhdr *head = (const void *) note;
        uint64_t name = (head->n_namesz + 3ull) & ~3ull;
        uint64_t body = (head->n_descsz + 3ull) & ~3ull;
        if (12 + name + body > bytes)
            return;
        bool gnu = head->n_namesz == 4 && *(const uint32_t *) (note + 12) == 0x00554e47u;
        if (gnu && head->n_type == NT_GNU_BUILD_ID && head->n_descsz <= PL_BUILD_ID_MAX) {
            out->build_id = note + 12 + name;
            out->build_id_bytes = head->n_descsz;
            return;
        }
        note += 12 + name + body;
        bytes -= 12 + name + body;
    }
}

static const char *path_of(const struct pl_found_module *found)
{
    const struct link_map *map = found->map;
    if (!map || !map->l_name)
        return "";
    return is_main(found) ? pl_program.path : map->l_name;
}

static void identify(const struct pl_found_module *found, struct pl_identity *out)
{
    unsigned count = 0;
    struct extent extent = extent_of(found);
    const Elf64_Phdr *headers = program_headers(extent, &count);
    out->build_id_bytes = 0;
    out->fingerprint = 0;
    out->path = path_of(found);
    out->path_bytes = pl_text_bytes(out->path);
    if (!headers)
        return;
    out->fingerprint = pl_hash_bytes(PL_FNV_START, (const void *) extent.start, sizeof(Elf64_Ehdr));
    out->fingerprint = pl_hash_bytes(out->fingerprint, headers, count * sizeof *headers);
    for (unsigned i = 0; i < count && !out->build_id_bytes; i++) {
        uintptr_t at = found->bias + headers[i].p_vaddr;
        if (headers[i].p_type == PT_NOTE && inside(extent, at, headers[i].p_memsz))
            find_build_id((const void *) at, headers[i].p_memsz, out);
    }
}

/* ---- its record in the file ---- */

static uint32_t write_module(struct pl_file *file, const struct pl_found_module *found,
                             const struct pl_identity *identity)
{
    void *at;
    struct pl_text path = pl_file_text(file, identity->path, identity->path_bytes);
    uint32_t id = pl_file_append(file, PL_KIND_MODULE, &at);
    if (!id)
        return PL_MODULE_UNKNOWN;
    struct pl_module *module = at;
    module->build_id_bytes = identity->build_id_bytes;
    pl_memory_copy(module->build_id, identity->build_id, identity->build_id_bytes);
    module->bias = found->bias;
    module->start = found->start;
    module->end = found->end;
    module->fingerprint = identity->fingerprint;
    module->path = path;
    store_release(&module->valid, 1); /* publish */
    return id;
}

static uint32_t module_id(struct pl_process *process, struct pl_module_cache *cache)
{
    struct pl_identity *identity = &cache->identity;
    identify(&cache->found, identity);
    uint64_t key = pl_hash(cache->found.bias, KEY_MODULE);
    key = pl_hash_bytes(key, identity->path, identity->path_bytes);
    key = pl_hash_bytes(key, identity->build_id, identity->build_id_bytes);
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(key, identity->fingerprint));
    if (!slot)
        return PL_MODULE_UNKNOWN;
    uint32_t id = load_acquire(&slot->id);
    if (id && load_relaxed(&pl_python.known))
        return id;
    pl_python_meet(process, &cache->found);
    return id ? id : pl_map_settle(slot, write_module(&process->file, &cache->found, identity));
}

uint32_t pl_modules_python(struct pl_process *process)
{
    void *at;
    uint32_t id = load_acquire(&process->python_module);
    if (likely(id))
        return id;
    struct pl_text path = pl_file_text(&process->file, PL_MODULE_PYTHON, sizeof PL_MODULE_PYTHON - 1);
    id = pl_file_append(&process->file, PL_KIND_MODULE, &at);
    if (!id)
        return PL_MODULE_UNKNOWN;
    ((struct pl_module *) at)->path = path;
    store_release(&((struct pl_module *) at)->valid, 1); /* publish */
    pl_python_tell(process);
    return swap_if(&process->python_module, 0, id) ? id : load_acquire(&process->python_module);
}

/*
 * The loader frees a link_map through our free(), so we put it into the live table: when it is freed, its module has
 * been unloaded. Two threads may both insert it. Then the second marker outlives the module, and costs one needless new
 * generation.
 */
static void watch(struct pl_process *process, const struct pl_found_module *found)
{
    const struct pl_record marker = {.row = PL_ROW_LINK_MAP};
    uintptr_t key = (uintptr_t) found->map | PL_LIVE_LINK_MAP;
    if (!pl_live_has(&process->live, key))
        pl_live_insert(&process->live, key, &marker);
}

static bool holds(const struct pl_module_entry *entry, uintptr_t pc, uint32_t generation)
{
    return entry->generation == generation && pc >= entry->start && pc < entry->end;
}

const struct pl_module_entry *pl_modules_find(struct pl_process *process, struct pl_module_cache *cache, uintptr_t pc)
{
    static const struct pl_module_entry unknown = {.id = PL_MODULE_UNKNOWN};
    uint32_t generation = load_relaxed(&process->generation) + 1; /* 0: an empty entry */
    struct pl_found_module *found = &cache->found;
    if (likely(cache->recent) && holds(cache->recent, pc, generation))
        return cache->recent;
    if (!pl_find_module(pc, found))
        return &unknown;
    struct pl_module_entry *entry = &cache->entry[pl_hash(found->start, 0) % PL_MODULE_CACHE];
    if (!holds(entry, pc, generation) || entry->start != found->start) {
        if (found->map)
            watch(process, found);
        entry->generation = 0; /* if left by longjmp from here on, the entry is not valid */
        signal_fence();
        entry->id = module_id(process, cache);
        entry->start = found->start;
        entry->end = found->end;
        entry->bias = entry->id == PL_MODULE_UNKNOWN ? 0 : found->bias; /* unknown: offsets are addresses */
        signal_fence();
        entry->generation = generation;
    }
    cache->recent = entry;
    return entry;
}
