/* SPDX-License-Identifier: MIT */
/* rootnames.c - see rootnames.h. */
#include "cli/leaks/rootnames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "cli/proc.h"
#include "cli/say.h"
#include "reader/symbols/variables.h"

#define TLS_SPARE 4096u /* glibc's own, and what it reserves for libraries that are loaded later */
#define DESCRIPTOR 4096u

struct module {
    char *path;
    uint64_t bias, low, high; /* in memory */
    struct pl_variables variables;
};

struct pl_rootnames_work {
    pid_t pid;
    struct module *module; /* by address */
    size_t modules;
    uint64_t tls_bytes; /* of one thread, for all modules, at most */
    uint32_t last;      /* the root that was found last */
};

/* --- modules --- */

static int by_address(const void *left, const void *right)
{
    const struct module *a = left, *b = right;
    return a->low < b->low ? -1 : a->low > b->low;
}

/* The first mapping of a file: it begins with its headers. */
static void add_module(struct pl_rootnames_work *work, const char *path, const char *root, uint64_t start, bool symbols)
{
    struct module module = {.path = pl_say_print("%s", path)};
    if (pl_variables_open(path, root, &module.variables) || module.variables.low > module.variables.high) {
        free(module.path);
        return;
    }
    module.bias = start - (module.variables.low & ~(pl_space_page() - 1));
    module.low = module.bias + module.variables.low;
    module.high = module.bias + module.variables.high;
    work->tls_bytes += module.variables.tls_bytes + 64;
    if (!symbols)
        module.variables.count = 0;
    work->module = pl_say_memory(realloc(work->module, (work->modules + 1) * sizeof *work->module));
    work->module[work->modules++] = module;
}

static void read_modules(struct pl_rootnames_work *work, bool symbols)
{
    char path[64], *line = NULL, *root = pl_proc_root(work->pid);
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", work->pid);
    FILE *maps = fopen(path, "re");
    while (maps && getline(&line, &room, maps) > 0) {
        uint64_t start, offset;
        int at = 0;
        char mode[8];
        if (sscanf(line, "%" SCNx64 "-%*x %7s %" SCNx64 " %*s %*u %n", &start, mode, &offset, &at) < 3 || offset ||
            line[at] != '/' || !strncmp(line + at, "/dev/", 5) || mode[1] == 'w')
            continue;
        line[strcspn(line, "\n")] = 0;
        if (!work->modules || strcmp(work->module[work->modules - 1].path, line + at))
            add_module(work, line + at, root, start, symbols);
    }
    free(line);
    free(root);
    if (maps)
        fclose(maps);
    if (work->modules)
        qsort(work->module, work->modules, sizeof *work->module, by_address);
}

static const struct module *module_at(const struct pl_rootnames_work *work, uint64_t address)
{
    for (size_t i = 0; i < work->modules; i++)
        if (address >= work->module[i].low && address < work->module[i].high)
            return &work->module[i];
    return NULL;
}

void pl_rootnames_open(struct pl_rootnames *names, pid_t pid, bool symbols)
{
    *names = (struct pl_rootnames){.work = pl_say_memory(calloc(1, sizeof *names->work))};
    names->work->pid = pid;
    read_modules(names->work, symbols);
}

void pl_rootnames_close(struct pl_rootnames *names)
{
    for (size_t i = 0; i < names->work->modules; i++) {
        pl_variables_close(&names->work->module[i].variables);
        free(names->work->module[i].path);
    }
    free(names->work->module);
    free(names->work);
    for (uint32_t i = 0; i < names->count; i++) {
        free(names->root[i].name);
        free(names->root[i].detail);
    }
    free(names->root);
    *names = (struct pl_rootnames){0};
}

/* --- roots --- */

static uint32_t add(struct pl_rootnames *names, struct pl_root root)
{
    for (uint32_t i = 0; i < names->count; i++) /* only those that are no variables have more than one place */
        if (root.kind != PL_ROOT_VARIABLE && names->root[i].kind == root.kind &&
            !strcmp(names->root[i].name, root.name)) {
            free(root.name);
            free(root.detail);
            names->root[i].from = root.from;
            names->root[i].to = root.to;
            return names->work->last = i;
        }
    if ((names->count & (names->count - 1)) == 0)
        names->root = pl_say_memory(realloc(names->root, (2ull * names->count + 1) * sizeof *names->root));
    names->root[names->count] = root;
    return names->work->last = names->count++;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "map<...>": what a template was given is long, and its name says enough. */
static char *shorten(const char *type)
{
    const char *open = strchr(type, '<'), *close = strrchr(type, '>');
    if (!open || !close || close < open)
        return pl_say_print("%s", type);
    return pl_say_print("%.*s<...>%s", (int) (open - type), type, close + 1);
}

static char *describe_variable(const struct module *module, const struct pl_variable *variable)
{
    char *place =
        *variable->file ? pl_say_print("%s:%u", base_of(variable->file), variable->line) : pl_say_print("%s", "");
    char *type = shorten(variable->type);
    char *text =
        pl_say_print("%s%s%s%s[%s]", type, *type ? "  " : "", place, *place ? "  " : "", base_of(module->path));
    free(type);
    free(place);
    return text;
}

static uint32_t in_module(struct pl_rootnames *names, const struct module *module, uint64_t at)
{
    const struct pl_variable *variable = pl_variables_find(&module->variables, at - module->bias);
    if (variable) {
        struct pl_root root = {
            .kind = PL_ROOT_VARIABLE, .from = module->bias + variable->from, .to = module->bias + variable->to};
        for (uint32_t i = 0; i < names->count; i++)
            if (names->root[i].kind == PL_ROOT_VARIABLE && names->root[i].from == root.from)
                return names->work->last = i;
        root.name = pl_say_print("%s", variable->name);
        root.detail = describe_variable(module, variable);
        return add(names, root);
    }
    struct pl_root root = {.kind = PL_ROOT_DATA,
                           .name = pl_say_print("data of %s", base_of(module->path)),
                           .detail = pl_say_print("%s", ""),
                           .from = at,
                           .to = at + 8};
    return add(names, root);
}

static uint32_t of_thread(struct pl_rootnames *names, const struct pl_roots_thread *thread, uint64_t from, uint64_t to)
{
    char path[64], comm[32] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", names->work->pid, thread->tid);
    FILE *file = fopen(path, "re");
    if (file && fgets(comm, sizeof comm, file))
        comm[strcspn(comm, "\n")] = 0;
    if (file)
        fclose(file);
    return add(names, (struct pl_root){.kind = PL_ROOT_THREAD,
                                       .name = pl_say_print("thread %d%s%s%s", thread->tid, *comm ? " (" : "", comm,
                                                            *comm ? ")" : ""),
                                       .detail = pl_say_print("its stack, registers and thread-local storage"),
                                       .from = from,
                                       .to = to});
}

/* A thread's storage and descriptor lie above its stack, in the same mapping; those of the first thread lie apart, near
 * other memory. */
static uint32_t in_thread(struct pl_rootnames *names, const struct pl_space_part *part, const struct pl_roots *roots,
                          uint64_t at)
{
    for (size_t i = 0; i < roots->threads; i++) {
        const struct pl_roots_thread *thread = &roots->thread[i];
        uint64_t from = thread->descriptor - names->work->tls_bytes - TLS_SPARE, to = thread->descriptor + DESCRIPTOR;
        if (thread->sp >= part->from && thread->sp < part->to)
            return of_thread(names, thread, part->from, part->to);
        if (at >= from && at < to)
            return of_thread(names, thread, from > part->from ? from : part->from, to < part->to ? to : part->to);
    }
    return UINT32_MAX;
}

static uint32_t in_mapping(struct pl_rootnames *names, const struct pl_space_part *part)
{
    char size[PL_FIGURE_BYTES];
    pl_figure_bytes(size, (double) (part->to - part->from));
    char *name = *part->name ? pl_say_print("%s", part->name) : pl_say_print("mapping at 0x%" PRIx64, part->from);
    return add(names, (struct pl_root){.kind = PL_ROOT_MAPPING,
                                       .name = name,
                                       .detail = pl_say_print("(%s)", size),
                                       .from = part->from,
                                       .to = part->to});
}

static uint32_t in_allocator(struct pl_rootnames *names, uint64_t at)
{
    return add(names, (struct pl_root){.kind = PL_ROOT_UNKNOWN,
                                       .name = pl_say_print("memory of the allocator without a known block"),
                                       .detail = pl_say_print("%s", ""),
                                       .from = at,
                                       .to = at + 8});
}

uint32_t pl_rootnames_at(void *context, const struct pl_space *space, const struct pl_roots *roots,
                         const struct pl_roots_thread *thread, uint64_t at)
{
    struct pl_rootnames *names = context;
    const struct pl_root *last = names->count ? &names->root[names->work->last] : NULL;
    if (thread)
        return of_thread(names, thread, 0, 0);
    if (last && at >= last->from && at < last->to)
        return names->work->last;
    const struct module *module = module_at(names->work, at);
    if (module)
        return in_module(names, module, at);
    const struct pl_space_part *part = pl_space_at(space, at);
    uint32_t found = part ? in_thread(names, part, roots, at) : UINT32_MAX;
    if (found != UINT32_MAX)
        return found;
    if (!part || pl_roots_heap(roots, at) || !strcmp(part->name, "[heap]"))
        return in_allocator(names, at);
    return in_mapping(names, part);
}
