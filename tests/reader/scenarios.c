/* SPDX-License-Identifier: MIT */
/*
 * scenarios.c - synthetic profiles for tests: what a program would have left, without running it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forge.h"

#define INTERVAL (512.0 * 1024)

static struct pl_row *add_row(struct forge *forge, uint32_t stack, uint32_t thread)
{
    return forge_row_at(forge, forge_row(forge, forge_site(forge, stack), thread));
}

static void build_empty(struct forge *forge)
{
    forge_thread(forge, "example", 0, 0);
}

/* index_add_term never frees some 19 MiB; string_new frees everything; rows_grow keeps one block of 8 MiB. */
static void build_leak(struct forge *forge)
{
    static const char *const term[] = {"_start", "main", "index_file", "index_add_term", NULL};
    static const char *const line[] = {"_start", "main", "index_file", "parse_line", "string_new", NULL};
    static const char *const rows[] = {"_start", "main", "rows_grow", NULL};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 412918, 100768153);
    uint32_t worker = forge_thread(forge, "worker-1", 1001, (8 << 20) + 64000);

    struct pl_row *row = add_row(forge, forge_stack(forge, module, "src/index.c", term), thread);
    forge_sample(&row->allocated, 1648, INTERVAL / (1648 + 64), 40);
    row = add_row(forge, forge_stack(forge, module, "src/parse.c", line), thread);
    forge_sample(&row->allocated, 48, INTERVAL / (48 + 64), 60);
    forge_sample(&row->freed, 48, INTERVAL / (48 + 64), 50);
    forge_sample(&row->remote, 48, INTERVAL / (48 + 64), 10);
    row = add_row(forge, forge_stack(forge, module, "src/table.c", rows), worker);
    forge_sample(&row->allocated, 8 << 20, 1, 1);
    forge_header(forge)->visits = 101;
    forge_header(forge)->frames_walked = 460;
}

/* The same in a process that never had as much memory: some of it was not written to, or the estimate is too high. */
static void build_untouched(struct forge *forge)
{
    build_leak(forge);
    forge_moment(forge, 4000000000ull)->rss_bytes = 16 << 20;
    forge_moment(forge, 8000000000ull)->rss_bytes = 20 << 20;
}

/* A C++ function inlined into another, and a frame without a module. */
static void build_inlined(struct forge *forge)
{
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 10, 10240);
    uint32_t outer = forge_frame(forge, 0, module, 0x1234);
    uint32_t jit = forge_frame(forge, outer, PL_MODULE_UNKNOWN, 0x7f0000001000 | PL_FRAME_GUESS);
    uint32_t inner = forge_frame(forge, jit, module, 0x5678);
    uint32_t inlined =
        forge_symbol(forge, inner, "std::vector<Row>::push_back", "/usr/include/c++/12/bits/stl_vector.h", 1280);
    struct pl_symbol *symbol = forge_record(forge, PL_KIND_SYMBOL, inlined);
    symbol->inlined = 1;
    symbol->linkage = forge_text(forge, "_ZNSt6vectorI3RowSaIS0_EE9push_backERKS0_", 41);
    forge_symbol(forge, inner, "Table::add", "src/table.cpp", 41);
    forge_symbol(forge, outer, "main", "src/main.cpp", 31);
    forge_header(forge)->flags |= PL_FLAG_SYMBOLS;
    forge_sample(&add_row(forge, inner, thread)->allocated, 1024, 1.5, 8);
}

/* Names that look like markup, terminal control or new lines, or are very long. */
static void build_hostile_names(struct forge *forge)
{
    static char endless[4001];
    memset(endless, 'T', 4000);
    static const char *const name[] = {
        "<script>alert(1)</script>", "\"quoted\" \\back\\slash",
        "line one\nline two\r\n",    "semi;colon;frames",
        "\x1b[31mred\x1b[0m",        "tab\there, bell\a",
        "not utf-8: \xff\xfe\xc3",   "]]></name>&amp;'",
        "{\"json\": [1, 2]}",        "%s%n%p",
        "$(reboot) `reboot`",        endless,
    };
    uint32_t module = forge_module(forge, "/tmp/<b>mod\"ule\n</b>", 0xcd);
    uint32_t thread = forge_thread(forge, "<i>\"th;\nread\"</i>", 1200, 120000);
    for (uint32_t i = 0; i < sizeof name / sizeof *name; i++) {
        uint32_t caller = forge_frame(forge, 0, module, 0x100 + i);
        uint32_t frame = forge_frame(forge, caller, module, 0x1000 + i);
        forge_symbol(forge, caller, "main", "a \"file\"\n<name>.c", i);
        forge_symbol(forge, frame, name[i], name[(i + 1) % (sizeof name / sizeof *name)], i);
        forge_sample(&add_row(forge, frame, thread)->allocated, 100, 20, 5 + i);
    }
    static const char command[] = "./ex\"ample\0<script>\0new\nline\0\x1b[31m\0\xff\xfe";
    struct pl_header *header = forge_header(forge);
    header->flags |= PL_FLAG_SYMBOLS;
    header->command = forge_text(forge, command, sizeof command);
    memcpy(header->comm, "ex\"<&>\n\x1b[31m\xff\xff\xff\xff", sizeof header->comm); /* no NUL at its end */
}

/* Every loss and every reason to stop unwinding has a different number. */
static void build_losses(struct forge *forge)
{
    build_leak(forge);
    struct pl_header *header = forge_header(forge);
    for (int i = 0; i < PL_LOSS_COUNT; i++)
        header->losses[i] = 100 + (uint64_t) i;
    for (int i = 0; i < PL_STOP_COUNT; i++)
        header->stops[i] = 200 + (uint64_t) i;
    uint32_t row = forge_row(forge, PL_SITE_OVERFLOW, 1);
    forge_sample(&forge_row_at(forge, row)->allocated, 4096, INTERVAL / 4160, 12);
    header->flags |= PL_FLAG_SANDBOXED | PL_FLAG_CUT_COMMAND;
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* A trie as in a large program: most stacks share their outer frames. `child` holds the callees of each frame, and [8]
 * says whether a stack ends there already. */
static uint32_t grow_stack(struct forge *forge, uint32_t (*child)[9], uint32_t module, uint32_t depth, uint32_t *state)
{
    uint32_t frame = 0;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t random = next_random(state);
        uint32_t choice = random % 8 ? 0 : random / 8 % 8;
        uint32_t *next = &child[frame][choice];
        if (*next == 0)
            *next = forge_frame(forge, frame, module, 0x1000 + 16 * ((i * 977 + choice * 131 + frame % 97) % 40000));
        frame = *next;
    }
    return frame;
}

static uint32_t grow_new_stack(struct forge *forge, uint32_t (*child)[9], const uint32_t module[4], uint32_t *state)
{
    for (;;) {
        uint32_t random = next_random(state);
        uint32_t stack = grow_stack(forge, child, module[random % 4], 25 + random / 4 % 11, state);
        if (child[stack][8]++ == 0)
            return stack;
    }
}

static void build_many_stacks(struct forge *forge, uint32_t stacks)
{
    uint32_t(*child)[9] = calloc(40 * stacks, sizeof *child);
    uint32_t module[4], thread[4], state = 1;
    if (!child)
        abort();
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "/opt/example/lib/libexample%d.so", i);
        module[i] = forge_module(forge, name, (uint8_t) (i + 1));
        snprintf(name, sizeof name, "worker-%d", i);
        thread[i] = forge_thread(forge, name, 205000000, 105000000000);
    }
    for (uint32_t i = 0; i < stacks; i++) {
        uint32_t random = next_random(&state);
        struct pl_row *row = add_row(forge, grow_new_stack(forge, child, module, &state), thread[random % 4]);
        forge_sample(&row->allocated, 16 + random % 1000, 400, 1 + random % 40);
        forge_sample(&row->freed, 16 + random % 1000, 400, random / 1024 % 2 ? 1 + random % 40 : 0);
    }
    free(child);
}

static void build_100k_stacks(struct forge *forge)
{
    build_many_stacks(forge, 100000);
}

static void build_1k_stacks(struct forge *forge)
{
    build_many_stacks(forge, 1000);
}

/* A lock-free writer may publish everything twice. */
static void build_duplicates(struct forge *forge)
{
    uint32_t thread = forge_thread(forge, "example", 40, 4000);
    for (int i = 0; i < 2; i++) {
        uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
        uint32_t outer = forge_frame(forge, 0, module, 0x1000);
        uint32_t inner = forge_frame(forge, outer, module, 0x2000);
        for (int s = 0; s < 2; s++)
            forge_sample(&add_row(forge, inner, thread)->allocated, 100, 1, 10);
    }
}

/* The process was killed in the middle of an update, and nobody waited for it. */
static void build_killed(struct forge *forge)
{
    build_leak(forge);
    forge_header(forge)->end = PL_END_NONE;
    forge_header(forge)->end_monotonic_ns = 0;
    forge_row_at(forge, 2)->sequence = 7;
}

/* 300 thread records, the last of which counts for 100,000 threads. */
static void build_threads(struct forge *forge)
{
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t stack = forge_frame(forge, 0, module, 0x1000);
    uint32_t site = forge_site(forge, stack);
    for (uint32_t i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "thread %u", i);
        uint32_t thread = forge_thread(forge, name, 10 + i, 1000 + i);
        forge_sample(&forge_row_at(forge, forge_row(forge, site, thread))->allocated, 100, 2, 5);
        if (i == 299)
            ((struct pl_thread_record *) forge_record(forge, PL_KIND_THREAD, thread))->threads = 100000;
    }
}

/* A pool of eight threads with one name, and a ninth with another. */
static void build_pools(struct forge *forge)
{
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t site = forge_site(forge, forge_frame(forge, 0, module, 0x1000));
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t thread = forge_thread(forge, i < 8 ? "worker" : "worker-1", 10, 1024);
        forge_sample(&forge_row_at(forge, forge_row(forge, site, thread))->allocated, 100, 2, 5);
    }
}

/* 256 frames with a gap in the middle: recursion beyond the depth limit. */
static void build_deep(struct forge *forge)
{
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab), frame = 0;
    for (uint32_t i = 0; i < 257; i++)
        frame = i == 128 ? forge_frame(forge, frame, PL_MODULE_UNKNOWN, PL_FRAME_GAP)
                         : forge_frame(forge, frame, module, 0x1000 + 16 * (i < 4 ? i : 4));
    uint32_t thread = forge_thread(forge, "example", 10, 1000);
    forge_sample(&add_row(forge, frame, thread)->allocated, 100, 1, 10);
}

/* ---- exact profiles ---- */

#define GHZ 3u
#define TIMELINE_SHIFT 16 /* slots of 0.09 s, and cohorts of 2.86 s */

static struct pl_tally *add_tally(struct forge *forge, uint32_t stack, uint32_t thread)
{
    return forge_tally_at(forge, forge_tally(forge, forge_site(forge, stack), thread));
}

/* Sets a clock of 3 GHz for the run of 12.8 s, and exact mode. */
static void count_everything(struct forge *forge)
{
    struct pl_header *header = forge_header(forge);
    uint64_t lasted_ns = header->end_monotonic_ns - header->start_monotonic_ns;
    header->mode = PL_MODE_AUTO;
    header->interval_bytes = 0;
    header->batch_bytes = 65536;
    header->timeline_shift = TIMELINE_SHIFT;
    header->clock = (struct pl_clock){1000, 1000 + lasted_ns * GHZ, header->end_monotonic_ns};
    header->automatic =
        (struct pl_auto){.overhead_ppm = 20000, .exact = 1, .spent_ns = 61000000, .cpu_ns = 12000000000ull};
    header->exit_ns = header->end_monotonic_ns - 100000000;
}

static uint32_t cohort_units(uint32_t cohort)
{
    return (PL_MOMENTS_PER_COHORT << TIMELINE_SHIFT) * cohort;
}

/* 1,000 terms of 48 bytes, never freed; two hundred in each of five cohorts. */
static void count_terms(struct pl_tally *tally)
{
    forge_count(tally, 1000, 48);
    for (int i = 0; i < 4; i++)
        tally->made[i] = 200;
    tally->made_calls = 800;
    tally->cohort = 4;
    tally->cohort_shift = TIMELINE_SHIFT;
}

/* 5,000 strings of 24 bytes: their thread freed 4,000, most at once; another thread freed 1,000, 30 of them at exit. */
static void count_strings(struct pl_tally *tally, struct pl_remote *remote)
{
    forge_count(tally, 5000, 24);
    tally->freed_calls = 4000;
    tally->freed_bytes = 4000 * 24;
    tally->temporaries = 3500;
    tally->lives[0] = 3500;
    tally->lives[3] = 500;
    tally->made[0] = 5000;
    tally->gone[0] = 4000;
    tally->made_calls = 5000;
    tally->gone_calls = 4000;
    tally->cohort_shift = TIMELINE_SHIFT;
    remote->calls = 1000;
    remote->bytes = 1000 * 24;
    remote->exit_calls = 30;
    remote->exit_bytes = 30 * 24;
    remote->gone[0] = 1000;
    remote->lives[20] = 1000;
}

/* A table that realloc doubled from 1 KiB to 8 MiB. It was freed after the peak. */
static void count_rows(struct pl_tally *tally, uint32_t era)
{
    for (uint32_t size = 1 << 10; size <= 8 << 20; size *= 2)
        forge_count(tally, 1, size);
    tally->realloc_calls = 13;
    tally->realloc_moved = (8 << 20) - (3 << 10); /* all but the first two reallocs copied */
    tally->realloc_in_place = 2;
    tally->peak_freed_calls = tally->freed_calls = tally->calls - 1;
    tally->peak_freed_bytes = tally->freed_bytes = tally->bytes - (8 << 20);
    tally->freed_calls++;
    tally->freed_bytes += 8 << 20;
    tally->freed_era = era;
    tally->lives[23] = 14;
    tally->made[1] = tally->gone[1] = 14;
    tally->made_calls = tally->gone_calls = 14;
    tally->cohort_shift = TIMELINE_SHIFT;
}

/* The heap grows to 8 MiB and falls when the table is freed. */
static void add_timeline(struct forge *forge)
{
    for (uint64_t i = 1; i <= 16; i++) {
        struct pl_moment *moment = forge_moment(forge, i * 800000000);
        moment->live_objects = 60 * i;
        moment->live_bytes = 3000 * i + (i >= 4 && i < 12 ? 8 << 20 : 0);
        moment->allocated_calls = 375 * i;
        moment->allocated_bytes = 10500 * i + (i >= 4 ? 16 << 20 : 0);
        moment->rss_bytes = moment->live_bytes + (2 << 20);
    }
}

/* The profile of a program that allocates little: everything is exact. */
static void build_exact(struct forge *forge)
{
    static const char *const term[] = {"_start", "main", "index_file", "index_add_term", NULL};
    static const char *const line[] = {"_start", "main", "index_file", "parse_line", "string_new", NULL};
    static const char *const rows[] = {"_start", "main", "rows_grow", NULL};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 6000, 1000 * 48 + 5000 * 24);
    uint32_t worker = forge_thread(forge, "worker-1", 14, (16 << 20) - (1 << 10));
    count_everything(forge);
    count_terms(add_tally(forge, forge_stack(forge, module, "src/index.c", term), thread));
    struct pl_tally *strings = add_tally(forge, forge_stack(forge, module, "src/parse.c", line), thread);
    count_strings(strings, forge_remote(forge, strings->number));
    count_rows(add_tally(forge, forge_stack(forge, module, "src/table.c", rows), worker), 7);
    forge_header(forge)->peak =
        (struct pl_peak){.bytes = (8 << 20) + 1000 * 48, .units = cohort_units(3), .era = 7, .peaks = 3};
    add_timeline(forge);
    for (uint32_t i = 1; i <= 3; i++) {
        struct pl_composition_record *composition = forge_composition(forge, i * 4000000000ull);
        forge_holds(composition, 1, 300 * i, 14400 * i);
        if (i == 2)
            forge_holds(composition, 3, 1, 8 << 20);
    }
}

/* Stacks that were used a few times. The record of one has grown into a tally, another thread has freed a block of the
 * second, and a heap composition names the third. */
static void build_small(struct forge *forge)
{
    static const char *const grown[] = {"_start", "main", "read_options", NULL};
    static const char *const shared[] = {"_start", "main", "read_options", "option_new", NULL};
    static const char *const kept[] = {"_start", "main", "open_index", NULL};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 306, 300 * 16 + 2 * 100 + 4 * 1000);
    uint32_t first = forge_site(forge, forge_stack(forge, module, "src/options.c", grown));
    uint32_t second = forge_site(forge, forge_stack(forge, module, "src/options.c", shared));
    uint32_t third = forge_site(forge, forge_stack(forge, module, "src/index.c", kept));
    uint32_t one = forge_small(forge, first, thread), two = forge_small(forge, second, thread),
             three = forge_small(forge, third, thread), tally = forge_tally(forge, first, thread);
    count_everything(forge);
    forge_count(forge_tally_at(forge, tally), 300, 16);
    for (int i = 0; i < 255; i++)
        forge_count_small(forge_small_at(forge, one), 16);
    forge_small_at(forge, one)->grown = tally;
    for (int i = 0; i < 2; i++)
        forge_count_small(forge_small_at(forge, two), 100);
    uint32_t number = forge_append(forge, PL_KIND_REMOTE, 1);
    *(struct pl_remote *) forge_record(forge, PL_KIND_REMOTE, number) =
        (struct pl_remote){.tally = two | PL_SMALL_MARK, .calls = 1, .bytes = 100, .gone = {1}, .lives = {0, 1}};
    forge_small_at(forge, two)->remote = number;
    for (int i = 0; i < 4; i++)
        forge_count_small(forge_small_at(forge, three), 1000);
    forge_free_small(forge_small_at(forge, three), 1000, 300);
    struct pl_composition_record *composition = forge_composition(forge, 4000000000ull);
    forge_holds(composition, three | PL_COMPOSITION_SMALL, 3, 3000);
    forge_holds(composition, one | PL_COMPOSITION_SMALL, 255, 255 * 16);
}

/* Exact for the first 400,000 allocations, then sampled every 96 KiB: the same stack has a tally and a row. */
static void build_auto(struct forge *forge)
{
    static const char *const line[] = {"_start", "main", "parse_line", NULL};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    uint32_t thread = forge_thread(forge, "example", 2000000, 2000000 * 48);
    count_everything(forge);
    uint32_t site = forge_site(forge, forge_stack(forge, module, "src/parse.c", line));
    struct pl_tally *tally = forge_tally_at(forge, forge_tally(forge, site, thread));
    forge_count(tally, 400000, 48);
    tally->freed_calls = 399000;
    tally->freed_bytes = 399000 * 48;
    tally->temporaries = 100000;
    tally->lives[0] = 399000;
    struct pl_row *row = forge_row_at(forge, forge_row(forge, site, thread));
    double weight = 96.0 * 1024 / (48 + 64);
    forge_sample(&row->allocated, 48, weight, 1800);
    forge_sample(&row->freed, 48, weight, 1700);
    row->smallest = row->largest = 48;
    row->sizes[2] = (float) row->allocated.objects;
    row->temporaries = row->freed.objects / 4;
    struct pl_auto *automatic = &forge_header(forge)->automatic;
    automatic->exact = 0;
    automatic->left = 1;
    automatic->exact_calls = 400000;
    automatic->exact_ns = 900000000;
    automatic->interval_bytes = automatic->interval_max = 96 << 10;
}

/* The same by a writer that charges more for a call; and a site that was counted at first and never sampled. */
static void build_auto_charge(struct forge *forge)
{
    static const char *const once[] = {"_start", "main", "read_options", NULL};
    build_auto(forge);
    uint32_t site = forge_site(forge, forge_stack(forge, 1, "src/options.c", once));
    forge_count(forge_tally_at(forge, forge_tally(forge, site, 1)), 1000, 48);
    forge_header(forge)->call_charge = 256;
}

/* ---- tags ---- */

struct server {
    uint32_t main, worker[2];
    uint32_t request, parse, render, index, off; /* parse and render are below request */
    uint32_t handle_request, string_new, term;   /* stacks */
};

static struct server name_server(struct forge *forge)
{
    static const char *const handle[] = {"start_thread", "worker_run", "handle_request", NULL};
    static const char *const string[] = {"start_thread", "worker_run", "handle_request", "string_new", NULL};
    static const char *const term[] = {"_start", "main", "index_file", "index_add_term", NULL};
    uint32_t module = forge_module(forge, "/opt/example/bin/example", 0xab);
    struct server server = {
        .handle_request = forge_stack(forge, module, "src/server.c", handle),
        .string_new = forge_stack(forge, module, "src/string.c", string),
        .term = forge_stack(forge, module, "src/index.c", term),
        .request = forge_tag(forge, 0, "request"),
    };
    server.parse = forge_tag(forge, server.request, "parse");
    server.render = forge_tag(forge, server.request, "render");
    server.index = forge_tag(forge, 0, "index");
    server.off = forge_tag_of_kind(forge, PL_TAG_OFF);
    return server;
}

/* Books a thread's calls under a tag in its thread record. Scopes get them, too, unless the thread is still inside. */
static void book(struct forge *forge, uint32_t thread, uint32_t tag, uint64_t calls, uint64_t bytes, bool in_it)
{
    struct pl_thread_record *record = forge_thread_at(forge, thread);
    record->calls[PL_FN_MALLOC] += calls;
    record->bytes += bytes;
    if (in_it)
        record->tag = tag;
    else
        forge_scope(forge, thread, tag, calls, bytes)->entered = calls / 2;
}

static void count_tagged(struct forge *forge, uint32_t site, uint32_t thread, uint64_t calls, uint32_t size,
                         uint64_t left)
{
    struct pl_tally *tally = forge_tally_at(forge, forge_tally(forge, site, thread));
    forge_count(tally, calls, size);
    forge_keep(tally, left, left * size);
}

/* A worker: 100 requests of 1 KiB, which parse 300 strings and free them, and render 200 and keep 50; 10 buffers too
 * large to be recorded by stack. It is still inside of the scope `parse`. */
static void serve(struct forge *forge, const struct server *server, uint32_t thread)
{
    book(forge, thread, server->request, 110, 100 * 1024 + (10 << 21), false);
    book(forge, thread, server->parse, 300, 300 * 64, true);
    book(forge, thread, server->render, 200, 200 * 64, false);
    count_tagged(forge, forge_tagged_site(forge, server->handle_request, server->request), thread, 100, 1024, 0);
    count_tagged(forge, forge_other_sizes(forge, server->request), thread, 10, 2 << 20, 0);
    count_tagged(forge, forge_tagged_site(forge, server->string_new, server->parse), thread, 300, 64, 0);
    count_tagged(forge, forge_tagged_site(forge, server->string_new, server->render), thread, 200, 64, 50);
}

static void add_server_threads(struct forge *forge, struct server *server)
{
    server->main = forge_thread(forge, "example", 0, 0);
    server->worker[0] = forge_thread(forge, "worker-1", 0, 0);
    server->worker[1] = forge_thread(forge, "worker-2", 0, 0);
    forge_header(forge)->size_to = 1 << 20;
}

/* A server with two workers. Its main thread adds 1,000 terms to an index, makes 500 calls while Plimsoll is off, and
 * one under no tag. */
static void build_tags(struct forge *forge)
{
    struct server server = name_server(forge);
    count_everything(forge);
    add_server_threads(forge, &server);
    book(forge, server.main, server.index, 1000, 1000 * 48, false);
    book(forge, server.main, server.off, 500, 12000, false);
    book(forge, server.main, 0, 1, 4096, true);
    count_tagged(forge, forge_tagged_site(forge, server.term, server.index), server.main, 1000, 48, 1000);
    count_tagged(forge, forge_site(forge, server.term), server.main, 1, 4096, 1);
    serve(forge, &server, server.worker[0]);
    serve(forge, &server, server.worker[1]);
    forge_header(forge)->peak = (struct pl_peak){.bytes = 1 << 20, .units = cohort_units(2), .era = 1, .peaks = 1};
}

static void sample_tagged(struct forge *forge, uint32_t site, uint32_t thread, uint32_t size, uint64_t samples,
                          uint64_t left)
{
    struct pl_row *row = forge_row_at(forge, forge_row(forge, site, thread));
    double weight = INTERVAL / (size + 64);
    forge_sample(&row->allocated, size, weight, samples);
    forge_sample(&row->freed, size, weight, samples - left);
    row->smallest = row->largest = size;
}

/* The same with samples, none of them under "request". */
static void build_sampled_tags(struct forge *forge)
{
    struct server server = name_server(forge);
    add_server_threads(forge, &server);
    book(forge, server.main, server.index, 100000, 4800000, false);
    book(forge, server.main, server.off, 50000, 1200000, false);
    book(forge, server.main, 0, 1, 4096, true);
    sample_tagged(forge, forge_tagged_site(forge, server.term, server.index), server.main, 48, 20, 10);
    for (int i = 0; i < 2; i++) {
        book(forge, server.worker[i], server.request, 100, 100 * 1024, false);
        book(forge, server.worker[i], server.parse, 30000, 30000 * 64, true);
        book(forge, server.worker[i], server.render, 40000, 40000 * 64, false);
        uint32_t render = forge_tagged_site(forge, server.string_new, server.render);
        sample_tagged(forge, forge_tagged_site(forge, server.string_new, server.parse), server.worker[i], 64, 8, 0);
        sample_tagged(forge, render, server.worker[i], 64, 9, 2);
    }
}

static void build_snapshot(struct forge *forge)
{
    build_tags(forge);
    forge_make_snapshot(forge, "warmed up", 3200000000ull);
}

/* A reset after 5 s discards everything of "tags". Then a worker renders 8 strings and keeps 3, and frees a buffer. */
static void build_reset(struct forge *forge)
{
    build_tags(forge);
    forge_moment(forge, 4000000000ull)->allocated_bytes = 20000000;
    forge_reset(forge, 5000000000ull);
    struct pl_thread_record *main = forge_thread_at(forge, 1); /* has not seen the reset: it has not allocated since */
    main->reset = 0;
    main->reset_bytes = main->reset_calls[PL_FN_MALLOC] = 0;
    forge_thread_at(forge, 2)->tag = 3;
    forge_thread_at(forge, 2)->calls[PL_FN_MALLOC] += 8;
    forge_thread_at(forge, 2)->bytes += 8 * 64;
    count_tagged(forge, forge_tagged_site(forge, 3, 3), 2, 8, 64, 3);
    forge_moment(forge, 6000000000ull)->allocated_bytes = 1 << 30;
}

const struct forge_scenario forge_scenario[] = {
    {"empty", "a process that allocated nothing", build_empty},
    {"leak", "one site that never frees, one that frees all, one large block", build_leak},
    {"untouched", "the same, with a peak above RSS", build_untouched},
    {"inlined", "inlined functions, and a frame without a module", build_inlined},
    {"losses", "every loss counter set, and an overflow site", build_losses},
    {"hostile-names", "names with markup, quotes, new lines, escapes, 4,000 characters", build_hostile_names},
    {"duplicates", "modules, frames and sites published twice", build_duplicates},
    {"killed", "ended unobserved, while a row was being written", build_killed},
    {"threads", "300 thread records, one of which counts for 100,000", build_threads},
    {"pools", "eight threads of one name", build_pools},
    {"deep", "a truncated stack", build_deep},
    {"exact", "every allocation counted: peak, temporary allocations, reallocs, timeline, history", build_exact},
    {"small", "stacks that were used a few times", build_small},
    {"auto", "counted at first, then sampled", build_auto},
    {"auto-charge", "the same, with another charge of a call", build_auto_charge},
    {"tags", "a server with tags and three threads: every allocation counted", build_tags},
    {"tags-sampled", "the same, sampled", build_sampled_tags},
    {"snapshot", "the same, as a snapshot taken after 3.2 s", build_snapshot},
    {"reset", "the same, reset after 5 s, and a few more allocations", build_reset},
    {"1k-stacks", "1,000 stacks of about 30 frames", build_1k_stacks},
    {"100k-stacks", "100,000 stacks of about 30 frames", build_100k_stacks},
    {NULL, NULL, NULL},
};
