/* SPDX-License-Identifier: MIT */
/*
 * symbolize.c - all frames of a profile, binary by binary.
 *
 * Frames are sorted by module and address. So each binary is opened once and closed before the next, an address that
 * occurs again is its neighbour, and what the index builds for one address serves those that follow. (A library that
 * was loaded twice is one module in the profile.)
 *
 * A wrong name is worse than none: a file that is not the one that ran is reported as stale and not used, unless
 * forced. Its debug file may still be found, because build-ids outlive files.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"
#include "reader/symbols/symcache.h"

#define PLACES_MAX 256     /* inlined calls at one address; tens occur */
#define PROGRESS_FRAMES 64 /* between two calls of progress() */

static const struct pl_place nothing = {.function = "", .linkage = "", .file = ""};

/* A frame in the order of work. */
struct task {
    uint32_t module;
    uint32_t frame;
    uint64_t address; /* to look up */
};

struct session {
    struct pl_profile *profile;
    struct pl_symbolize_options options;
    struct pl_elf_options elf_options;
    bool cache_opened;
    struct pl_symcache *cache; /* NULL: none, or not opened yet */
    struct pl_symbolize_counts counts;
    struct task *task;
    uint32_t tasks;
};

/* What the addresses of a module are looked up in: nothing, a binary, or a map of JIT code. */
struct source {
    struct pl_module_status status;
    struct pl_elf *elf;
    struct pl_symcache_entry *known; /* of the binary; NULL: nothing is kept */
    struct pl_jit *jit;
};

/* ---- order ---- */

static int by_module(const void *a, const void *b)
{
    const struct task *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

/* A return address follows the call, so the byte before it is looked up. An interrupted instruction is where it is. */
static uint64_t lookup_address(const struct pl_frame_view *frame)
{
    return (frame->flags & PL_FRAME_EXACT) || frame->address == 0 ? frame->address : frame->address - 1;
}

static void list_tasks(struct session *session)
{
    struct pl_profile *profile = session->profile;
    for (uint32_t i = 0; i < profile->frames; i++) {
        struct pl_frame_view *frame = &profile->frame[i];
        if (!(frame->flags & (PL_FRAME_GAP | PL_FRAME_PYTHON)) && frame->module < profile->modules)
            session->task[session->tasks++] =
                (struct task){.module = frame->module, .frame = i, .address = lookup_address(frame)};
    }
    qsort(session->task, session->tasks, sizeof *session->task, by_module);
}

/* ---- sources ---- */

static bool has_suffix(const char *text, const char *suffix)
{
    size_t bytes = strlen(text), tail = strlen(suffix);
    return bytes >= tail && strcmp(text + bytes - tail, suffix) == 0;
}

/* The vdso, anonymous memory, and everything else that has no file. */
static bool has_no_file(const char *path)
{
    return path[0] == '\0' || path[0] == '[' || strncmp(path, "linux-vdso", strlen("linux-vdso")) == 0;
}

static bool is_the_one_that_ran(const struct pl_module_view *module, const struct pl_elf *elf)
{
    if (module->build_id[0])
        return strcmp(module->build_id, pl_elf_build_id(elf)) == 0;
    return module->fingerprint == 0 || module->fingerprint == pl_elf_fingerprint(elf);
}

static void open_jit(struct session *session, struct source *source)
{
    source->jit = pl_jit_open(session->profile, session->options.sysroot);
}

/* The file at the module's path, whatever it is now. */
static int open_path(struct session *session, const struct pl_elf_options *options, const struct pl_module_view *module,
                     struct pl_elf **out)
{
    char path[PATH_MAX], why[PL_WHY_BYTES];
    if (has_suffix(module->path, " (deleted)"))
        return -ENOENT;
    const char *directory = module->path[0] == '/' ? "" : session->profile->directory;
    int length = snprintf(path, sizeof path, "%s%s%s", directory, directory[0] ? "/" : "", module->path);
    return length < PATH_MAX ? pl_elf_open_with(path, options, out, why) : -ENAMETOOLONG;
}

/* The same, below the sysroot or not. Where both have a file, the one that ran is taken. */
static int open_somewhere(struct session *session, const struct pl_module_view *module, struct pl_elf **out)
{
    struct pl_elf_options here = session->elf_options;
    struct pl_elf *other = NULL;
    int error = open_path(session, &session->elf_options, module, out);
    if (!session->options.sysroot_or_here || (!error && is_the_one_that_ran(module, *out)))
        return error;
    here.sysroot = NULL;
    if (open_path(session, &here, module, &other) != 0)
        return error;
    if (!error && !is_the_one_that_ran(module, other)) {
        pl_elf_close(other);
        return 0;
    }
    if (!error)
        pl_elf_close(*out);
    *out = other;
    return 0;
}

/* The file of the module's name in the directory `beside`, if it is the one that ran. */
static bool open_beside(struct session *session, const struct pl_module_view *module, struct source *source)
{
    char path[PATH_MAX], why[PL_WHY_BYTES];
    struct pl_elf_options here = session->elf_options;
    struct pl_elf *elf;
    here.sysroot = NULL;
    const char *beside = session->options.beside, *slash = strrchr(module->path, '/');
    if (!beside || !slash || !(module->build_id[0] || module->fingerprint) ||
        snprintf(path, sizeof path, "%s%s", beside, slash) >= PATH_MAX || pl_elf_open_with(path, &here, &elf, why))
        return false;
    if (!is_the_one_that_ran(module, elf)) {
        pl_elf_close(elf);
        return false;
    }
    pl_elf_close(source->elf);
    source->elf = elf;
    return true;
}

static void drop_stale(struct session *session, const struct pl_module_view *module, struct source *source)
{
    source->status.state = PL_MODULE_STALE;
    snprintf(source->status.now, sizeof source->status.now, "%s", pl_elf_build_id(source->elf));
    if (session->options.force)
        return;
    pl_elf_close(source->elf);
    source->elf = NULL;
    pl_elf_open_build_id(module->build_id, &session->elf_options, &source->elf);
}

static void open_binary(struct session *session, const struct pl_module_view *module, struct source *source)
{
    int error = open_somewhere(session, module, &source->elf);
    bool found = error == 0 && is_the_one_that_ran(module, source->elf);
    if (found || open_beside(session, module, source))
        return;
    if (error == -ENOEXEC) {
        source->status.state = PL_MODULE_NO_ELF;
    } else if (error) {
        source->status.state = PL_MODULE_MISSING;
        pl_elf_open_build_id(module->build_id, &session->elf_options, &source->elf);
    } else {
        drop_stale(session, module, source);
    }
}

static void open_source(struct session *session, const struct pl_module_view *module, struct source *source)
{
    *source = (struct source){.status.state = PL_MODULE_OK};
    if (!has_no_file(module->path)) {
        open_binary(session, module, source);
        return;
    }
    source->status.state = PL_MODULE_NO_ELF;
    if (module->path[0] == '\0' && module->bias == 0)
        open_jit(session, source);
}

/* Opened when the first binary needs it: a profile without stacks does not. */
static struct pl_symcache *cache_of(struct session *session)
{
    if (!session->cache_opened && session->options.cache)
        session->cache = pl_symcache_open(session->options.cache, session->options.cache_bytes_max);
    session->cache_opened = true;
    return session->cache;
}

/* Reads what is known of the binary. For modules with frames only, since it looks for the debug file. */
static void recall(struct session *session, struct source *source)
{
    char identity[PL_ELF_IDENTITY_BYTES];
    if (source->elf && cache_of(session) && pl_elf_identity(source->elf, identity))
        source->known = pl_symcache_read(session->cache, identity, session->profile->arena);
}

static void close_source(struct session *session, struct source *source)
{
    if (source->known && pl_elf_is_settled(source->elf))
        pl_symcache_write(session->cache, source->known);
    pl_symcache_forget(source->known);
    pl_elf_close(source->elf);
    pl_jit_free(source->jit);
}

/* ---- frames ---- */

static uint32_t look_up_binary(struct session *session, struct source *source, uint64_t address,
                               struct pl_place out[PLACES_MAX])
{
    uint32_t places;
    if (source->known && pl_symcache_find(source->known, address, out, PLACES_MAX, &places)) {
        session->counts.cached++;
        return places;
    }
    places = pl_elf_find(source->elf, address, out, PLACES_MAX);
    session->counts.read++;
    if (source->known)
        pl_symcache_add(source->known, address, out, places);
    return places;
}

static bool has_debug_info(struct source *source)
{
    bool has_dwarf;
    if (!source->elf || (source->known && pl_symcache_knows_dwarf(source->known, &has_dwarf)))
        return source->elf && has_dwarf;
    has_dwarf = pl_elf_has_dwarf(source->elf);
    if (source->known)
        pl_symcache_set_dwarf(source->known, has_dwarf);
    return has_dwarf;
}

static bool is_neighbour(const struct session *session, const struct task *task, const struct task *other)
{
    return other >= session->task && other < session->task + session->tasks && other->module == task->module &&
           other->address == task->address;
}

static uint32_t version_of(const struct session *session, const struct task *task)
{
    return (uint32_t) (session->profile->frame[task->frame].flags >> PL_FRAME_VERSION_SHIFT);
}

/* How many versions of the code at this address the profile has. */
static uint32_t versions_at(const struct session *session, const struct task *task)
{
    uint32_t highest = version_of(session, task);
    for (int step = -1; step <= 1; step += 2)
        for (const struct task *other = task + step; is_neighbour(session, task, other); other += step)
            highest = version_of(session, other) > highest ? version_of(session, other) : highest;
    return highest + 1;
}

static uint32_t look_up(struct session *session, struct source *source, const struct task *task,
                        struct pl_place out[PLACES_MAX])
{
    if (source->elf)
        return look_up_binary(session, source, task->address, out);
    struct pl_jit_question question = {.address = task->address,
                                       .units = session->profile->frame[task->frame].first_units,
                                       .version = version_of(session, task),
                                       .versions = versions_at(session, task)};
    return source->jit && pl_jit_find(source->jit, &question, out);
}

/* Names stored in the profile were found when the binary was there. They are better than those of a file that may not
 * be that binary; but where they have no line, debug information may have turned up since. */
static bool keeps_stored(const struct pl_frame_view *frame, const struct source *source)
{
    if (frame->places == 0 || !frame->place[0].function[0])
        return false;
    return frame->place[0].file[0] || source->status.state != PL_MODULE_OK;
}

static void set_places(struct pl_profile *profile, struct pl_frame_view *frame, const struct pl_place *place,
                       uint32_t places)
{
    struct pl_place *kept = pl_arena_alloc(profile->arena, places * sizeof *kept);
    memcpy(kept, place, places * sizeof *kept);
    frame->place = kept;
    frame->places = places;
}

static void name_frame(struct session *session, struct source *source, const struct task *task)
{
    struct pl_profile *profile = session->profile;
    struct pl_frame_view *frame = &profile->frame[task->frame];
    if (keeps_stored(frame, source))
        return;
    /* The same address with other flags. */
    if (is_neighbour(session, task, task - 1) && !source->jit) {
        frame->place = profile->frame[task[-1].frame].place;
        frame->places = profile->frame[task[-1].frame].places;
        return;
    }
    struct pl_place place[PLACES_MAX];
    uint32_t places = look_up(session, source, task, place);
    if (places > 0)
        set_places(profile, frame, place, places);
}

static void show_progress(struct session *session, uint32_t done)
{
    if (session->options.progress && (done % PROGRESS_FRAMES == 0 || done == session->tasks))
        session->options.progress(session->options.context, (double) done / session->tasks);
}

/* Names the frames of a module, from *task on; leaves *task at the first frame of another. */
static struct pl_module_status name_module(struct session *session, uint32_t module, uint32_t *task)
{
    struct source source;
    open_source(session, &session->profile->module[module], &source);
    if (*task < session->tasks && session->task[*task].module == module)
        recall(session, &source);
    for (; *task < session->tasks && session->task[*task].module == module; ++*task) {
        name_frame(session, &source, &session->task[*task]);
        source.status.debug_info = has_debug_info(&source);
        show_progress(session, *task + 1);
    }
    close_source(session, &source);
    return source.status;
}

static void name_the_rest(struct pl_profile *profile)
{
    for (uint32_t i = 0; i < profile->frames; i++) {
        if (profile->frame[i].places > 0)
            continue;
        profile->frame[i].place = &nothing;
        profile->frame[i].places = 1;
    }
}

int pl_symbolize(struct pl_profile *profile, const struct pl_symbolize_options *options,
                 struct pl_module_status *status)
{
    struct session session = {.profile = profile};
    if (options)
        session.options = *options;
    session.elf_options.sysroot = session.options.sysroot;
    session.elf_options.arena = profile->arena;
    session.elf_options.server = session.options.no_debuginfod ? NULL : pl_debuginfod_new();
    session.task = pl_grow_zeroed(profile->frames + 1ull, sizeof *session.task);
    list_tasks(&session);
    for (uint32_t module = 0, task = 0; module < profile->modules; module++) {
        struct pl_module_status found = name_module(&session, module, &task);
        if (status)
            status[module] = found;
    }
    name_the_rest(profile);
    if (session.options.counts)
        *session.options.counts = session.counts;
    pl_symcache_close(session.cache);
    pl_debuginfod_free(session.elf_options.server);
    free(session.task);
    return 0;
}
