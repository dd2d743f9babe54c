/* SPDX-License-Identifier: MIT */
/* hooking.c - see hooking.h. */
#include "attach/hooking.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/linked.h"

#define FUNCTION_MAX (64u << 10)
#define FUNCTION_UNKNOWN 64u /* bytes to read of a function whose size is not known */
#define MAP_TRIES 5
#define STACK_WORDS 32768 /* of each stack: 256 KiB */
#define WORDS_AT_ONCE 512
#define LOWEST (1ull << 20)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define OFFSET(member) (hooking->at + offsetof(struct pl_desk, member))

/* ---- the desk ---- */

static bool is_complete(const struct pl_desk *desk)
{
    return desk->version == PL_DESK_VERSION && desk->hooks <= PL_DESK_HOOKS && desk->begin && desk->end;
}

bool pl_hooking_find(struct pl_hooking *hooking, const struct pl_remote *remote)
{
    uint64_t bytes;
    hooking->problem[0] = 0;
    if (!pl_loaded_first(&remote->loaded, &remote->tracee, PL_DESK_SYMBOL, &hooking->at, &bytes))
        return false;
    if (bytes == sizeof hooking->desk && pl_tracee_read(&remote->tracee, hooking->at, &hooking->desk, bytes) &&
        is_complete(&hooking->desk))
        return true;
    snprintf(hooking->problem, sizeof hooking->problem, "it was attached to by another version of Plimsoll before");
    return false;
}

static bool write_patch(const struct pl_hooking *hooking, const struct pl_tracee *tracee, uint32_t i)
{
    return pl_tracee_write(tracee, OFFSET(patch) + i * sizeof(struct pl_desk_patch), &hooking->desk.patch[i],
                           sizeof(struct pl_desk_patch));
}

/* ---- room for springboards ---- */

static uint64_t page_bytes(void)
{
    return (uint64_t) sysconf(_SC_PAGESIZE);
}

/* The end of the free range that lies nearest below the module. */
static uint64_t find_gap(pid_t pid, uint64_t module, uint64_t bytes)
{
    char path[64], line[512];
    uint64_t from, to, last = LOWEST, gap = 0, page = page_bytes();
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return 0;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || from > module)
            break;
        if (from >= last + bytes + 2 * page && module - from < PL_MACHINE_REACH)
            gap = from - bytes - page; /* a page between, so that nobody's range grows */
        last = to;
    }
    fclose(maps);
    return gap;
}

/* Other threads run, and may map something there first. */
static uint64_t map_room(struct pl_remote *remote, uint64_t near, uint64_t bytes)
{
    for (int i = 0; i < MAP_TRIES; i++) {
        uint64_t at = find_gap(remote->tracee.pid, near, bytes), result = 0;
        const uint64_t argument[6] = {
            at, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ull, 0};
        if (!at || !pl_remote_system_call(remote, SYS_mmap, argument, &result))
            return 0;
        if (result == at)
            return at;
    }
    return 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Room for one function near its entry. */
static uint64_t take_room(struct pl_hooking *hooking, struct pl_remote *remote, const struct pl_loaded_module *module,
                          uint64_t entry)
{
    struct pl_desk *desk = &hooking->desk;
    if (!desk->room || desk->room + PL_MACHINE_ROOM > desk->room_end ||
        distance(desk->room, entry) > PL_MACHINE_REACH) {
        uint64_t bytes = (PL_DESK_HOOKS * PL_MACHINE_ROOM + page_bytes() - 1) & ~(page_bytes() - 1);
        desk->room = map_room(remote, module->start, bytes);
        desk->room_end = desk->room ? desk->room + bytes : 0;
    }
    uint64_t room = desk->room;
    desk->room += room ? PL_MACHINE_ROOM : 0;
    return pl_tracee_write(&remote->tracee, OFFSET(room), &desk->room, 2 * sizeof desk->room) ? room : 0;
}

/* ---- what is there already ---- */

static bool fail(struct pl_hooking *hooking, const char *name, const char *why)
{
    snprintf(hooking->problem, sizeof hooking->problem, "its %s cannot be hooked: %s", name, why);
    return false;
}

/* Functions with several names are hooked once. */
static const struct pl_desk_patch *same_entry(const struct pl_desk *desk, uint32_t count, uint64_t entry)
{
    for (uint32_t i = 0; i < count; i++)
        if (desk->patch[i].entry == entry)
            return &desk->patch[i];
    return NULL;
}

/* Was the function planned when the process was attached to before, and is it still the same? */
static bool is_known(const struct pl_desk_patch *patch, const struct pl_tracee *tracee, uint64_t entry)
{
    uint8_t there[PL_DESK_CODE_BYTES];
    return patch->entry == entry && patch->bytes && patch->bytes <= sizeof there &&
           pl_tracee_read(tracee, patch->jump, there, patch->bytes) &&
           (!memcmp(there, patch->before, patch->bytes) || !memcmp(there, patch->after, patch->bytes));
}

/* ---- an allocator that is linked into the program ---- */

struct linked {
    const struct pl_desk *desk;
    const struct pl_loaded_module *program;
    const char *prefix;
    struct {
        uint64_t entry, bytes;
    } function[PL_DESK_HOOKS];
};

static struct pl_linked_image map_program(pid_t pid)
{
    char path[64];
    struct stat status;
    struct pl_linked_image image = {NULL, 0};
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 && !fstat(fd, &status) && status.st_size > 0
                   ? mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                   : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        image = (struct pl_linked_image){at, (uint64_t) status.st_size};
    return image;
}

static void note_function(void *context, const char *name, const Elf64_Sym *symbol, bool exported)
{
    struct linked *linked = context;
    (void) exported;
    for (uint32_t i = 0; i < linked->desk->hooks; i++)
        if (linked->desk->hook[i].family == PL_DESK_LINKED && symbol->st_value &&
            pl_linked_is_called(linked->desk->hook[i].name, linked->prefix, name)) {
            linked->function[i].entry = linked->program->bias + symbol->st_value;
            linked->function[i].bytes = symbol->st_size;
        }
}

/* Its functions are found in the symbols of the program's file. Of a stripped program, only what it exports is known.
 */
static void find_linked(struct linked *linked, const struct pl_hooking *hooking, const struct pl_remote *remote)
{
    struct pl_linked_image image = map_program(remote->tracee.pid);
    *linked = (struct linked){.desk = &hooking->desk, .program = remote->loaded.module};
    linked->prefix = image.at ? pl_linked_find(&image) : NULL;
    if (linked->prefix)
        pl_linked_each(&image, note_function, linked);
    if (image.at)
        munmap((void *) (uintptr_t) image.at, image.bytes);
}

/* ---- planning: one function ---- */

static const char *make_plan(struct pl_hooking *hooking, struct pl_remote *remote,
                             const struct pl_loaded_module *module, uint32_t i, uint64_t entry, uint64_t bytes)
{
    static uint8_t code[FUNCTION_MAX];
    struct pl_machine_plan plan;
    bytes = !bytes ? FUNCTION_UNKNOWN : bytes < FUNCTION_MAX ? bytes : FUNCTION_MAX;
    if (entry < module->code || entry + bytes > module->code_end ||
        !pl_tracee_read(&remote->tracee, entry, code, bytes))
        return "its code cannot be read";
    const struct pl_machine_function function = {
        .entry = entry,
        .code = code,
        .bytes = bytes,
        .slot = OFFSET(slot) + i * sizeof(uint64_t),
        .room = take_room(hooking, remote, module, entry),
    };
    if (!function.room)
        return "there is no room near it";
    const char *why = pl_machine_plan(&function, &plan);
    if (why)
        return why;
    hooking->desk.patch[i] = plan.patch;
    if (!pl_tracee_write(&remote->tracee, function.room, plan.room, sizeof plan.room))
        return "its springboard cannot be written";
    return NULL;
}

static bool plan_one(struct pl_hooking *hooking, struct pl_remote *remote, const struct pl_loaded_module *module,
                     uint32_t i, uint64_t entry, uint64_t bytes)
{
    const struct pl_desk_hook *hook = &hooking->desk.hook[i];
    struct pl_desk_patch *patch = &hooking->desk.patch[i];
    uint64_t real = entry;
    const struct pl_desk_patch *same = entry ? same_entry(&hooking->desk, i, entry) : NULL;
    const char *why = entry ? NULL : "it is not exported";
    bool needed = hook->needed && (entry || hook->family != PL_DESK_LINKED);
    if (!entry || !hook->hook || same) {
        real = same ? same->body : entry;
        *patch = (struct pl_desk_patch){0};
    } else {
        if (!is_known(patch, &remote->tracee, entry))
            why = make_plan(hooking, remote, module, i, entry, bytes);
        if (why)
            *patch = (struct pl_desk_patch){0};
        real = why ? hook->family == PL_DESK_LINKED ? entry : 0 : patch->body;
    }
    if (why && needed)
        return fail(hooking, hook->name, why);
    hooking->desk.slot[i] = patch->body;
    return (write_patch(hooking, &remote->tracee, i) &&
            pl_tracee_write(&remote->tracee, (uintptr_t) hook->real, &real, sizeof real)) ||
           fail(hooking, hook->name, "its memory cannot be written");
}

/*
 * Which module has each family. If the malloc of all is not libc's, libc's is not used, and the other may have more
 * functions than that has: so it is the linked one, wherever it is. Otherwise one may be linked into the program beside
 * libc's.
 */
static void find_families(const struct pl_remote *remote, const struct linked *linked,
                          const struct pl_loaded_module *family[PL_DESK_FAMILIES])
{
    uint64_t address;
    const struct pl_loaded_module *all = pl_loaded_first(&remote->loaded, &remote->tracee, "malloc", &address, NULL);
    const struct pl_loaded_module *libc =
        pl_loaded_first(&remote->loaded, &remote->tracee, "gnu_get_libc_version", &address, NULL);
    family[PL_DESK_LIBC] = libc;
    family[PL_DESK_MALLOC] = all == libc ? all : NULL;
    family[PL_DESK_LINKED] = all != libc ? all : linked->prefix ? linked->program : NULL;
}

bool pl_hooking_plan(struct pl_hooking *hooking, struct pl_remote *remote)
{
    static struct linked linked;
    const struct pl_loaded_module *module[PL_DESK_FAMILIES];
    find_linked(&linked, hooking, remote);
    find_families(remote, &linked, module);
    for (uint32_t i = 0; i < hooking->desk.hooks; i++) {
        uint32_t family = hooking->desk.hook[i].family;
        bool is_linked = family == PL_DESK_LINKED && linked.prefix && module[family] == linked.program;
        uint64_t bytes = is_linked ? linked.function[i].bytes : 0;
        if (family >= PL_DESK_FAMILIES || !module[family])
            continue;
        uint64_t entry = is_linked
                             ? linked.function[i].entry
                             : pl_loaded_find(&remote->tracee, module[family], hooking->desk.hook[i].name, &bytes);
        if (!plan_one(hooking, remote, module[family], i, entry, bytes))
            return false;
    }
    /* The slots lead to the functions themselves before any entry leads to the slots. */
    return pl_tracee_write(&remote->tracee, hooking->at, hooking->desk.slot, sizeof hooking->desk.slot) ||
           fail(hooking, "malloc", "its memory cannot be written");
}

/* ---- threads ---- */

static bool is_inside_patch(const struct pl_desk *desk, uint64_t pc)
{
    for (uint32_t i = 0; i < desk->hooks; i++)
        if (desk->patch[i].entry && pc > desk->patch[i].jump && pc < desk->patch[i].jump + desk->patch[i].bytes)
            return true;
    return false;
}

/* The registers that the kernel saved for a signal handler lie on the stack, too. So every word of it is looked at. A
 * thread's descriptor lies above its stack, so a stack below it ends there: behind are other threads' unused stacks. */
static bool stack_leads_inside(const struct pl_desk *desk, const struct pl_tracee *tracee, uint64_t sp,
                               uint64_t descriptor)
{
    uint64_t word[WORDS_AT_ONCE], low = UINT64_MAX, high = 0;
    size_t most = descriptor > sp && descriptor - sp < STACK_WORDS * 8 ? (size_t) (descriptor - sp) / 8 : STACK_WORDS;
    for (uint32_t i = 0; i < desk->hooks; i++)
        if (desk->patch[i].entry) {
            low = desk->patch[i].jump < low ? desk->patch[i].jump : low;
            high = desk->patch[i].jump > high ? desk->patch[i].jump : high;
        }
    for (size_t words = 0, got = WORDS_AT_ONCE; got == WORDS_AT_ONCE && words < most; words += got) {
        got = pl_tracee_read_some(tracee, (sp & ~7ull) + words * sizeof *word, word, sizeof word) / sizeof *word;
        for (size_t i = 0; i < got; i++)
            if (word[i] > low && word[i] < high + PL_DESK_CODE_BYTES && is_inside_patch(desk, word[i]))
                return true;
    }
    return false;
}

bool pl_hooking_is_in_the_way(const struct pl_hooking *hooking, const struct pl_tracee *tracee,
                              const struct pl_tracee_thread *thread)
{
    return is_inside_patch(&hooking->desk, pl_machine_pc(&thread->registers)) ||
           stack_leads_inside(&hooking->desk, tracee, pl_machine_sp(&thread->registers),
                              pl_machine_thread_pointer(&thread->registers));
}

bool pl_hooking_is_inside(const struct pl_hooking *hooking, const struct pl_tracee *tracee,
                          const struct pl_tracee_thread *thread)
{
    const struct pl_desk *desk = &hooking->desk;
    uint64_t pc = pl_machine_pc(&thread->registers);
    uint16_t inside = 0;
    if (pc >= desk->code && pc < desk->code_end)
        return true;
    for (uint32_t i = 0; i < desk->hooks; i++) /* before its hook */
        if (desk->patch[i].entry && pc >= desk->patch[i].springboard && pc < desk->patch[i].body)
            return true;
    uint64_t at = pl_machine_thread_pointer(&thread->registers) + (uint64_t) desk->inside;
    return pl_tracee_read(tracee, at, &inside, sizeof inside) && inside;
}

/* ---- switching ---- */

static bool write_slots(struct pl_hooking *hooking, const struct pl_tracee *tracee, bool on)
{
    struct pl_desk *desk = &hooking->desk;
    for (uint32_t i = 0; i < desk->hooks; i++)
        desk->slot[i] = !desk->patch[i].entry ? 0 : on ? desk->hook[i].hook : desk->patch[i].body;
    desk->state = on ? PL_DESK_ATTACHED : PL_DESK_BEGUN;
    return pl_tracee_write(tracee, hooking->at, desk, offsetof(struct pl_desk, rest_of_page));
}

static bool write_entries(const struct pl_hooking *hooking, const struct pl_tracee *tracee, bool on)
{
    for (uint32_t i = 0; i < hooking->desk.hooks; i++) {
        const struct pl_desk_patch *patch = &hooking->desk.patch[i];
        if (patch->entry && !pl_tracee_write(tracee, patch->jump, on ? patch->after : patch->before, patch->bytes))
            return false;
    }
    return true;
}

/* Until the slots change, the entries lead to the functions themselves, by way of their springboards. */
bool pl_hooking_switch_on(struct pl_hooking *hooking, const struct pl_remote *remote)
{
    const struct pl_tracee *tracee = &remote->tracee;
    if (write_entries(hooking, tracee, true) && write_slots(hooking, tracee, true))
        return true;
    write_entries(hooking, tracee, false);
    return fail(hooking, "malloc", "its code cannot be written");
}

bool pl_hooking_switch_off(struct pl_hooking *hooking, const struct pl_remote *remote)
{
    const struct pl_tracee *tracee = &remote->tracee;
    return (write_slots(hooking, tracee, false) && write_entries(hooking, tracee, false)) ||
           fail(hooking, "malloc", "its code cannot be written");
}
