/* SPDX-License-Identifier: MIT */
/*
 * tagged.c - `tagged WHICH FILE` writes a synthetic profile of a program with tags, so that every figure of every tag
 * and thread is known.
 *
 * A server runs for 12.8 s. Its main thread loads an index and keeps it. Two workers parse requests and render pages.
 *
 *   exact    every allocation was counted
 *   sampled  calls and bytes of tags as before; stacks were sampled
 *   limits   switched off and paused for a while, sizes limited, reset at 3.2 s; tags and pops were lost
 *   warm     a snapshot of that name, taken at 6.4 s
 *   odd      tag names with control characters, and one of 5,000 letters
 *   deep     40 nested tags
 *   crowd    twelve workers instead of two
 *   killed   as sampled, and the process was killed
 *   lost     as sampled; a thread, a scope, a record and the end of a name did not fit
 *   nested   a pop was forgotten 5,000 times: request/request/request/..., with a parse in each
 *   turns    a pop was forgotten in each of two scopes in turn, 40 times
 *   even     200 tags with the same figures
 *   many     2,345,678 more calls, under one more tag
 *   rough    threads report their memory to each other only every 256 KiB
 *   rougher  the same, every 64 MiB
 *   lucky    three samples estimate 195 blocks, where 100 were allocated
 *   one      a process that allocated once
 */
#include <stdio.h>
#include <string.h>

#include "forge.h"

enum stack { SETUP, INDEX, REQUEST, PARSE, RENDER, STACKS };

static const struct {
    const char *file;
    const char *function[5]; /* NULL after the last */
} stacks[STACKS] = {
    [SETUP] = {"src/main.c", {"_start", "main", "setup"}},
    [INDEX] = {"src/index.c", {"_start", "main", "load_index", "index_add"}},
    [REQUEST] = {"src/request.c", {"worker", "request_new"}},
    [PARSE] = {"src/parse.c", {"worker", "parse_line", "string_new"}},
    [RENDER] = {"src/render.c", {"worker", "render", "page_new"}},
};

enum tag { NONE, LOADING, REQUESTS, PARSING, RENDERING, FUNC, FUNC_LONG, TAGS };

static const struct {
    const char *name;
    enum tag parent;
} tags[TAGS] = {
    [LOADING] = {"index", NONE},        [REQUESTS] = {"request", NONE}, [PARSING] = {"parse", REQUESTS},
    [RENDERING] = {"render", REQUESTS}, [FUNC] = {"Func", NONE},        [FUNC_LONG] = {"FuncLong", NONE},
};

enum thread { MAIN, WORKER_1, WORKER_2, THREADS };

/* Which function allocated, under which tag, and how much of it was freed. */
static const struct entry {
    enum thread thread;
    enum tag tag;
    enum stack stack;
    uint32_t size, calls, freed, entered;
} entries[] = {
    {MAIN, NONE, SETUP, 1024, 10, 0, 0},
    {MAIN, LOADING, INDEX, 1024, 1000, 0, 1},
    {WORKER_1, REQUESTS, REQUEST, 16, 100, 100, 100},
    {WORKER_1, PARSING, PARSE, 64, 20000, 20000, 100},
    {WORKER_1, RENDERING, RENDER, 4096, 500, 490, 100},
    {WORKER_2, PARSING, PARSE, 64, 10000, 10000, 50},
    {WORKER_2, RENDERING, RENDER, 4096, 250, 250, 50},
    {WORKER_2, FUNC, PARSE, 64, 10, 10, 1},
    {WORKER_2, FUNC_LONG, PARSE, 64, 20, 20, 1},
};
#define ENTRIES (sizeof entries / sizeof *entries)

/* --- records --- */

/* Adds the allocations of a thread under a tag, and adds them to the thread's totals. */
static void add_scope(struct forge *forge, uint32_t thread, uint32_t tag, uint64_t entered, enum pl_function function,
                      uint64_t calls, uint64_t bytes)
{
    struct pl_scope_record *scope = forge_scope(forge, thread, tag, 0, bytes);
    scope->entered = entered;
    scope->calls[function] = calls;
    forge_thread_at(forge, thread)->calls[function] += calls;
    forge_thread_at(forge, thread)->bytes += bytes;
}

static void count(struct forge *forge, uint32_t site, uint32_t thread, const struct entry *entry)
{
    struct pl_tally *tally = forge_tally_at(forge, forge_tally(forge, site, thread));
    forge_count(tally, entry->calls, entry->size);
    tally->freed_calls = entry->freed;
    tally->freed_bytes = (uint64_t) entry->freed * entry->size;
}

/* One sample for ten blocks. A site with fewer blocks has no sample. */
static void sample(struct forge *forge, uint32_t site, uint32_t thread, const struct entry *entry)
{
    if (entry->calls < 25)
        return;
    struct pl_row *row = forge_row_at(forge, forge_row(forge, site, thread));
    forge_sample(&row->allocated, entry->size, 10, entry->calls / 10);
    forge_sample(&row->freed, entry->size, 10, entry->freed / 10);
    row->smallest = row->largest = entry->size;
}

/* --- the server --- */

static void begin(struct forge *forge, enum pl_mode mode)
{
    struct pl_header *header = forge_header(forge);
    header->mode = mode;
    header->interval_bytes = mode == PL_MODE_SAMPLED ? 4096 : 0;
    header->automatic.exact = mode != PL_MODE_SAMPLED;
    header->size_to = UINT64_MAX;
    header->end = PL_END_EXIT;
    header->clock.last_ns = header->start_monotonic_ns + 12800000000ull;
    header->clock.last_ticks = 8000000ull << PL_UNIT_SHIFT;
}

static void serve(struct forge *forge, uint32_t workers)
{
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab), stack[STACKS], tag[TAGS] = {0};
    for (int i = 0; i < STACKS; i++)
        stack[i] = forge_stack(forge, module, stacks[i].file, stacks[i].function);
    for (int i = 1; i < TAGS; i++)
        tag[i] = forge_tag(forge, tag[tags[i].parent], tags[i].name);
    forge_thread(forge, "server", 0, 0);
    for (uint32_t i = 1; i <= workers; i++) {
        char name[24];
        snprintf(name, sizeof name, "worker-%u", i);
        forge_thread(forge, name, 0, 0);
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        const struct entry *entry = &entries[i];
        uint32_t thread = (uint32_t) entry->thread + 1;
        uint32_t site = forge_tagged_site(forge, stack[entry->stack], tag[entry->tag]);
        enum pl_function function = entry->tag == LOADING ? PL_FN_CALLOC : PL_FN_MALLOC;
        if (entry->tag || entry->entered)
            add_scope(forge, thread, tag[entry->tag], entry->entered, function, entry->calls,
                      (uint64_t) entry->calls * entry->size);
        else /* the thread's own: allocations outside of its scopes belong to the root tag */
            forge_thread_at(forge, thread)->calls[function] += entry->calls,
                forge_thread_at(forge, thread)->bytes += (uint64_t) entry->calls * entry->size;
        if (forge_header(forge)->mode == PL_MODE_SAMPLED)
            sample(forge, site, thread, entry);
        else
            count(forge, site, thread, entry);
    }
}

static void exact(struct forge *forge)
{
    begin(forge, PL_MODE_EXACT);
    serve(forge, 2);
}

static void sampled(struct forge *forge)
{
    begin(forge, PL_MODE_SAMPLED);
    serve(forge, 2);
}

static void crowd(struct forge *forge)
{
    begin(forge, PL_MODE_EXACT);
    serve(forge, 12);
}

static void limits(struct forge *forge)
{
    struct pl_header *header = forge_header(forge);
    struct entry small = {.size = 8, .calls = 300, .freed = 300}, lost = {.size = 32, .calls = 5, .freed = 5};
    begin(forge, PL_MODE_EXACT);
    header->resets = header->control.reset = 1;
    header->reset_ns = header->start_monotonic_ns + 3200000000ull;
    header->size_from = 16;
    header->size_to = 65536;
    header->losses[PL_LOSS_TAGS] = 7;
    header->losses[PL_LOSS_POPS] = 3;
    serve(forge, 2);
    for (uint32_t i = 1; i <= THREADS; i++)
        forge_thread_at(forge, i)->reset = 1;
    add_scope(forge, 1, forge_tag_of_kind(forge, PL_TAG_OFF), 0, PL_FN_MALLOC, 50, 5000);
    add_scope(forge, 2, forge_tag_of_kind(forge, PL_TAG_PAUSED), 0, PL_FN_MALLOC, 1, 2048);
    add_scope(forge, 3, 2, 1, PL_FN_MALLOC, small.calls, 2400);
    count(forge, forge_other_sizes(forge, 2), 3, &small);
    add_scope(forge, 1, 1, 0, PL_FN_MALLOC, lost.calls, 160);
    count(forge, PL_SITE_OVERFLOW, 1, &lost);
}

static void warm(struct forge *forge)
{
    exact(forge);
    forge_make_snapshot(forge, "warm", 6400000000ull);
}

static void odd(struct forge *forge)
{
    char long_name[5001];
    const char *const names[] = {"\033[31mred", "two\nlines", "größer", "\xff\xfe", "a/b", "", long_name};
    memset(long_name, 'x', 5000);
    long_name[5000] = 0;
    exact(forge);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_scope(forge, 1, forge_tag(forge, 0, names[i]), 1, PL_FN_MALLOC, 1000, 1 << 20);
}

static void deep(struct forge *forge)
{
    uint32_t tag = 0;
    exact(forge);
    for (int i = 1; i <= 40; i++) {
        char name[24];
        snprintf(name, sizeof name, "level-%d", i);
        tag = forge_tag(forge, tag, name);
        add_scope(forge, 1, tag, 1, PL_FN_MALLOC, 1, 1 << 20);
    }
}

static void many(struct forge *forge)
{
    exact(forge);
    add_scope(forge, 1, forge_tag(forge, 0, "many"), 1, PL_FN_MALLOC, 2345678, 2345678 * 16);
}

static void rough(struct forge *forge)
{
    exact(forge);
    forge_header(forge)->batch_bytes = 256 << 10;
}

static void rougher(struct forge *forge)
{
    exact(forge);
    forge_header(forge)->batch_bytes = 64 << 20;
}

static void lucky(struct forge *forge)
{
    begin(forge, PL_MODE_SAMPLED);
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab), tag = forge_tag(forge, 0, "load");
    uint32_t stack = forge_stack(forge, module, stacks[SETUP].file, stacks[SETUP].function);
    uint32_t thread = forge_thread(forge, "one", 0, 0);
    add_scope(forge, thread, tag, 1, PL_FN_MALLOC, 100, 160000);
    struct pl_row *row = forge_row_at(forge, forge_row(forge, forge_tagged_site(forge, stack, tag), thread));
    forge_sample(&row->allocated, 1600, 65, 3);
    row->smallest = row->largest = 1600;
}

static void one(struct forge *forge)
{
    struct entry only = {.size = 14, .calls = 1};
    begin(forge, PL_MODE_EXACT);
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t site = forge_site(forge, forge_stack(forge, module, stacks[SETUP].file, stacks[SETUP].function));
    uint32_t thread = forge_thread(forge, "one", 1, only.size);
    count(forge, site, thread, &only);
}

static void killed(struct forge *forge)
{
    sampled(forge);
    forge_header(forge)->end = PL_END_NONE;
}

static void lost(struct forge *forge)
{
    static const enum pl_loss losses[] = {PL_LOSS_THREADS, PL_LOSS_TAGS, PL_LOSS_FILE_FULL, PL_LOSS_TAG_NAMES};
    sampled(forge);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        forge_header(forge)->losses[losses[i]] = 1;
}

static void nested(struct forge *forge)
{
    uint32_t tag = 0;
    begin(forge, PL_MODE_EXACT);
    forge_thread(forge, "server", 0, 0);
    for (int i = 0; i < 5000; i++) {
        tag = forge_tag(forge, tag, "request");
        add_scope(forge, 1, tag, 1, PL_FN_MALLOC, 2, 100);
        add_scope(forge, 1, forge_tag(forge, tag, "parse"), 1, PL_FN_MALLOC, 1, 300);
    }
}

static void turns(struct forge *forge)
{
    uint32_t tag = 0;
    begin(forge, PL_MODE_EXACT);
    forge_thread(forge, "server", 0, 0);
    for (int i = 0; i < 80; i++) {
        tag = forge_tag(forge, tag, i % 2 ? "b" : "a");
        add_scope(forge, 1, tag, 1, PL_FN_MALLOC, 1, 10);
    }
}

static void even(struct forge *forge)
{
    begin(forge, PL_MODE_EXACT);
    forge_thread(forge, "server", 0, 0);
    for (int i = 0; i < 200; i++) {
        char name[24];
        snprintf(name, sizeof name, "tag-%03d", i);
        add_scope(forge, 1, forge_tag(forge, 0, name), 1, PL_FN_MALLOC, 1, 1000);
    }
}

static const struct forge_scenario which[] = {
    {"exact", "", exact}, {"sampled", "", sampled}, {"limits", "", limits}, {"warm", "", warm},
    {"odd", "", odd},     {"deep", "", deep},       {"crowd", "", crowd},   {"many", "", many},
    {"one", "", one},     {"lucky", "", lucky},     {"rough", "", rough},   {"killed", "", killed},
    {"lost", "", lost},   {"nested", "", nested},   {"turns", "", turns},   {"even", "", even},
    {"rougher", "", rougher},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof which / sizeof *which && argc == 3; i++) {
        if (strcmp(which[i].name, argv[1]) != 0)
            continue;
        struct forge *forge = forge_new();
        which[i].build(forge);
        int result = forge_write(forge, argv[2]);
        forge_free(forge);
        return result != 0;
    }
    fprintf(stderr, "usage: tagged WHICH FILE\n");
    return 2;
}
