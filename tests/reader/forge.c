/* SPDX-License-Identifier: MIT */
/*
 * forge.c - writes profile files by format.h.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "forge.h"

struct forge {
    unsigned char *image;
    uint32_t chunk[PL_KINDS_MAX][PL_CHUNKS_MAX]; /* the number of the k-th chunk of a kind */
    uint32_t chunks[PL_KINDS_MAX];
};

static void die(const char *what)
{
    fprintf(stderr, "forge: %s\n", what);
    exit(1);
}

struct pl_header *forge_header(struct forge *forge)
{
    return (struct pl_header *) forge->image;
}

unsigned char *forge_image(struct forge *forge)
{
    return forge->image;
}

size_t forge_bytes(const struct forge *forge)
{
    return PL_CHUNKS_OFFSET + ((const struct pl_header *) forge->image)->chunks * (size_t) PL_CHUNK_BYTES;
}

void *forge_record(struct forge *forge, enum pl_kind kind, uint32_t number)
{
    uint32_t per_chunk = PL_CHUNK_BYTES / pl_record_bytes[kind];
    if (number / per_chunk >= forge->chunks[kind])
        die("no such record");
    uint32_t chunk = forge->chunk[kind][number / per_chunk];
    return forge->image + pl_chunk_offset(chunk) + number % per_chunk * pl_record_bytes[kind];
}

static void add_chunk(struct forge *forge, enum pl_kind kind)
{
    struct pl_header *header = forge_header(forge);
    if (header->chunks >= PL_CHUNKS_MAX - 1)
        die("the image is full");
    if (pl_chunk_is_directory((uint32_t) header->chunks))
        forge->image[pl_chunk_entry((uint32_t) header->chunks++)] = PL_KIND_DIRECTORY;
    forge->chunk[kind][forge->chunks[kind]++] = (uint32_t) header->chunks;
    forge->image[pl_chunk_entry((uint32_t) header->chunks++)] = (unsigned char) kind;
}

uint32_t forge_append(struct forge *forge, enum pl_kind kind, uint32_t records)
{
    uint64_t *count = &forge_header(forge)->count[kind];
    uint32_t number = (uint32_t) *count;
    *count += records;
    while (*count > (uint64_t) forge->chunks[kind] * (PL_CHUNK_BYTES / pl_record_bytes[kind]))
        add_chunk(forge, kind);
    return number;
}

struct pl_text forge_text(struct forge *forge, const char *text, size_t bytes)
{
    uint64_t used = forge_header(forge)->count[PL_KIND_TEXT];
    if (bytes > PL_CHUNK_BYTES)
        die("a text is at most a chunk long");
    if (bytes == 0)
        return (struct pl_text){0, 0};
    if (used % PL_CHUNK_BYTES + bytes > PL_CHUNK_BYTES)
        forge_append(forge, PL_KIND_TEXT, (uint32_t) (PL_CHUNK_BYTES - used % PL_CHUNK_BYTES));
    uint32_t offset = forge_append(forge, PL_KIND_TEXT, (uint32_t) bytes);
    memcpy(forge_record(forge, PL_KIND_TEXT, offset), text, bytes);
    return (struct pl_text){offset, (uint32_t) bytes};
}

static struct pl_text text_of(struct forge *forge, const char *text)
{
    return forge_text(forge, text, strlen(text));
}

uint32_t forge_module(struct forge *forge, const char *path, uint8_t build_id)
{
    uint32_t number = forge_append(forge, PL_KIND_MODULE, 1);
    struct pl_module *module = forge_record(forge, PL_KIND_MODULE, number);
    module->build_id_bytes = build_id ? 20 : 0;
    memset(module->build_id, build_id, module->build_id_bytes);
    module->bias = 0x555500000000 + number * 0x100000ull;
    module->start = module->bias;
    module->end = module->bias + 0x100000;
    module->path = text_of(forge, path);
    module->valid = 1;
    return number;
}

uint32_t forge_frame(struct forge *forge, uint32_t parent, uint32_t module, uint64_t where)
{
    uint32_t number = forge_append(forge, PL_KIND_FRAME, 1);
    *(struct pl_frame *) forge_record(forge, PL_KIND_FRAME, number) =
        (struct pl_frame){.module = module, .parent = parent, .where = where};
    return number;
}

uint32_t forge_thread(struct forge *forge, const char *name, uint64_t calls, uint64_t bytes)
{
    const struct pl_header *header = forge_header(forge);
    uint32_t number = forge_append(forge, PL_KIND_THREAD, 1);
    struct pl_thread_record *thread = forge_record(forge, PL_KIND_THREAD, number);
    thread->tid = header->pid + number - 1;
    thread->threads = 1;
    thread->alive = number == 1;
    thread->start_ns = header->start_monotonic_ns + (number - 1) * 1000000000ull;
    thread->end_ns = thread->alive ? 0 : thread->start_ns + 500000000ull;
    thread->calls[PL_FN_MALLOC] = calls;
    thread->bytes = bytes;
    memcpy(thread->name, name, strnlen(name, sizeof thread->name));
    thread->valid = 1;
    return number;
}

uint32_t forge_site(struct forge *forge, uint32_t stack)
{
    uint32_t number = forge_append(forge, PL_KIND_SITE, 1);
    *(struct pl_site *) forge_record(forge, PL_KIND_SITE, number) = (struct pl_site){.valid = 1, .stack = stack};
    return number;
}

uint32_t forge_row(struct forge *forge, uint32_t site, uint32_t thread)
{
    uint32_t number = forge_append(forge, PL_KIND_ROW, 1);
    *forge_row_at(forge, number) =
        (struct pl_row){.site = site, .thread = thread, .reset = forge_header(forge)->resets};
    return number;
}

struct pl_row *forge_row_at(struct forge *forge, uint32_t row)
{
    return forge_record(forge, PL_KIND_ROW, row);
}

uint32_t forge_tally(struct forge *forge, uint32_t site, uint32_t thread)
{
    uint32_t number = forge_append(forge, PL_KIND_TALLY, 1);
    *forge_tally_at(forge, number) = (struct pl_tally){
        .site = site,
        .thread = thread,
        .owner = thread,
        .smallest = UINT32_MAX,
        .number = number,
        .reset = (uint16_t) forge_header(forge)->resets,
    };
    return number;
}

struct pl_tally *forge_tally_at(struct forge *forge, uint32_t tally)
{
    return forge_record(forge, PL_KIND_TALLY, tally);
}

uint32_t forge_small(struct forge *forge, uint32_t site, uint32_t thread)
{
    if (forge_header(forge)->count[PL_KIND_SMALL] == 0)
        forge_append(forge, PL_KIND_SMALL, 1); /* number 0 means "none" */
    uint32_t number = forge_append(forge, PL_KIND_SMALL, 1);
    *forge_small_at(forge, number) = (struct pl_small){
        .site = site | PL_SMALL_MARK,
        .thread = thread,
        .smallest = UINT16_MAX,
        .reset = (uint16_t) forge_header(forge)->resets,
    };
    return number;
}

struct pl_small *forge_small_at(struct forge *forge, uint32_t small)
{
    return forge_record(forge, PL_KIND_SMALL, small);
}

static void add_to_cell(struct pl_small *small, unsigned what)
{
    unsigned i = 0;
    while (small->cell[i] && small->cell[i] >> 8 != what)
        i++;
    small->cell[i] = (uint16_t) (what << 8 | ((small->cell[i] & 255u) + 1));
}

void forge_count_small(struct pl_small *small, uint16_t size)
{
    unsigned bucket = 0;
    while (size >= 16u << bucket)
        bucket++;
    small->calls++;
    small->bytes += size;
    small->smallest = size < small->smallest ? size : small->smallest;
    small->largest = size > small->largest ? size : small->largest;
    add_to_cell(small, PL_CELL_SIZES + bucket);
    add_to_cell(small, PL_CELL_MADE);
}

void forge_free_small(struct pl_small *small, uint16_t size, uint64_t units)
{
    unsigned bucket = 0;
    while (units >> bucket)
        bucket++;
    small->freed_calls++;
    small->freed_bytes += size;
    add_to_cell(small, PL_CELL_LIVES + bucket);
    add_to_cell(small, PL_CELL_GONE);
}

struct pl_remote *forge_remote(struct forge *forge, uint32_t tally)
{
    uint32_t number = forge_append(forge, PL_KIND_REMOTE, 1);
    struct pl_remote *remote = forge_record(forge, PL_KIND_REMOTE, number);
    remote->tally = tally;
    forge_tally_at(forge, tally)->remote = number;
    return remote;
}

void forge_count(struct pl_tally *tally, uint64_t calls, uint32_t size)
{
    unsigned bucket = 0;
    while (bucket + 1 < PL_SIZE_BUCKETS && size >= 16u << bucket)
        bucket++;
    tally->calls += calls;
    tally->bytes += calls * size;
    tally->sizes[bucket] += (uint32_t) calls;
    tally->smallest = size < tally->smallest ? size : tally->smallest;
    tally->largest = size > tally->largest ? size : tally->largest;
}

uint32_t forge_churn(struct forge *forge, uint32_t site, uint32_t thread, uint32_t tag, uint64_t calls, uint32_t size)
{
    uint32_t number = forge_tally(forge, site, thread);
    struct pl_tally *tally = forge_tally_at(forge, number);
    struct pl_thread_record *record = forge_thread_at(forge, thread);
    forge_count(tally, calls, size);
    tally->freed_calls = tally->temporaries = calls / 2;
    tally->freed_bytes = calls / 2 * size;
    forge_scope(forge, thread, tag, calls, calls * size);
    record->calls[PL_FN_MALLOC] += calls;
    record->bytes += calls * size;
    return number;
}

uint32_t forge_namesake(struct forge *forge, uint32_t caller, uint32_t module, const char *name, const char *other,
                        uint32_t number, uint64_t calls, uint32_t size)
{
    uint32_t tag = forge_tag(forge, 0, name);
    uint32_t thread = forge_thread(forge, name, 0, 0);
    uint32_t frame = forge_frame(forge, caller, module, 0x2000 + 16 * number);
    uint32_t inlined = forge_symbol(forge, frame, other, other, 7);
    struct pl_symbol *symbol = forge_record(forge, PL_KIND_SYMBOL, inlined);
    symbol->inlined = 1;
    symbol->linkage = forge_text(forge, other, strlen(other));
    forge_symbol(forge, frame, name, name, 10 + number);
    return forge_churn(forge, forge_tagged_site(forge, frame, tag), thread, tag, calls, size);
}

void forge_keep(struct pl_tally *tally, uint64_t calls, uint64_t bytes)
{
    tally->freed_calls = tally->calls - calls;
    tally->freed_bytes = tally->bytes - bytes;
    tally->lives[10] = (uint32_t) tally->freed_calls;
}

static uint32_t add_tag(struct forge *forge, struct pl_tag_record record)
{
    uint32_t number = forge_append(forge, PL_KIND_TAG, 1);
    record.valid = 1;
    *forge_tag_at(forge, number) = record;
    return number;
}

uint32_t forge_tag(struct forge *forge, uint32_t parent, const char *name)
{
    size_t bytes = strlen(name), piece = bytes < PL_TAG_PIECE ? bytes : PL_TAG_PIECE;
    uint32_t last = add_tag(forge, (struct pl_tag_record){.parent = parent, .name = forge_text(forge, name, piece)});
    uint32_t first = last;
    for (size_t at = piece; at < bytes; at += piece) {
        piece = bytes - at < PL_TAG_PIECE ? bytes - at : PL_TAG_PIECE;
        struct pl_tag_record rest = {.kind = PL_TAG_REST, .name = forge_text(forge, name + at, piece)};
        uint32_t next = add_tag(forge, rest);
        forge_tag_at(forge, last)->rest = next;
        last = next;
    }
    return first;
}

uint32_t forge_tag_of_kind(struct forge *forge, enum pl_tag_kind kind)
{
    return add_tag(forge, (struct pl_tag_record){.kind = kind});
}

struct pl_tag_record *forge_tag_at(struct forge *forge, uint32_t tag)
{
    return forge_record(forge, PL_KIND_TAG, tag);
}

struct pl_thread_record *forge_thread_at(struct forge *forge, uint32_t thread)
{
    return forge_record(forge, PL_KIND_THREAD, thread);
}

struct pl_scope_record *forge_scope(struct forge *forge, uint32_t thread, uint32_t tag, uint64_t calls, uint64_t bytes)
{
    struct pl_scope_record *scope = forge_record(forge, PL_KIND_SCOPE, forge_append(forge, PL_KIND_SCOPE, 1));
    *scope = (struct pl_scope_record){.valid = 1, .thread = thread, .tag = tag, .entered = 1, .bytes = bytes};
    scope->calls[PL_FN_MALLOC] = calls;
    scope->reset = forge_header(forge)->resets;
    return scope;
}

uint32_t forge_tagged_site(struct forge *forge, uint32_t stack, uint32_t tag)
{
    uint32_t number = forge_site(forge, stack);
    ((struct pl_site *) forge_record(forge, PL_KIND_SITE, number))->tag = tag;
    return number;
}

uint32_t forge_other_sizes(struct forge *forge, uint32_t tag)
{
    uint32_t number = forge_tagged_site(forge, 0, tag);
    ((struct pl_site *) forge_record(forge, PL_KIND_SITE, number))->kind = PL_SITE_OTHER_SIZES;
    return number;
}

void forge_make_snapshot(struct forge *forge, const char *name, uint64_t after_ns)
{
    struct pl_header *header = forge_header(forge);
    header->flags |= PL_FLAG_SNAPSHOT;
    header->end = PL_END_NONE;
    header->end_monotonic_ns = 0;
    header->snapshot_name = text_of(forge, name);
    header->snapshot_ns = header->start_monotonic_ns + after_ns;
}

/* All threads see the reset at once. Rows, tallies and scopes that exist already count as old from now on. */
void forge_reset(struct forge *forge, uint64_t after_ns)
{
    struct pl_header *header = forge_header(forge);
    header->control.reset = ++header->resets;
    header->reset_ns = header->start_monotonic_ns + after_ns;
    for (uint32_t i = 1; i < header->count[PL_KIND_THREAD]; i++) {
        struct pl_thread_record *thread = forge_thread_at(forge, i);
        thread->reset = header->resets;
        thread->reset_bytes = thread->bytes;
        memcpy(thread->reset_calls, thread->calls, sizeof thread->calls);
    }
}

struct pl_moment *forge_moment(struct forge *forge, uint64_t time_ns)
{
    struct pl_moment *moment = forge_record(forge, PL_KIND_MOMENT, forge_append(forge, PL_KIND_MOMENT, 1));
    moment->time_ns = time_ns;
    return moment;
}

struct pl_composition_record *forge_composition(struct forge *forge, uint64_t time_ns)
{
    struct pl_composition_record *composition =
        forge_record(forge, PL_KIND_COMPOSITION, forge_append(forge, PL_KIND_COMPOSITION, 1));
    composition->time_ns = time_ns;
    return composition;
}

void forge_holds(struct pl_composition_record *composition, uint32_t who, uint32_t objects, uint64_t bytes)
{
    composition->entry[composition->entries++] = (struct pl_composition_entry){who, objects, bytes, objects, bytes};
    composition->live_objects += objects;
    composition->live_bytes += bytes;
    composition->allocated_calls += objects;
    composition->allocated_bytes += bytes;
}

uint32_t forge_symbol(struct forge *forge, uint32_t frame, const char *function, const char *file, uint32_t line)
{
    uint32_t number = forge_append(forge, PL_KIND_SYMBOL, 1);
    *(struct pl_symbol *) forge_record(forge, PL_KIND_SYMBOL, number) = (struct pl_symbol){
        .frame = frame, .line = line, .function = text_of(forge, function), .file = text_of(forge, file)};
    return number;
}

uint32_t forge_stack(struct forge *forge, uint32_t module, const char *file, const char *const *function)
{
    uint32_t frame = 0;
    for (uint32_t i = 0; function[i]; i++) {
        uint64_t where = 0x1000;
        for (const char *c = function[i]; *c; c++)
            where = where * 31 % 0xfffffff + (unsigned char) *c;
        frame = forge_frame(forge, frame, module, where);
        forge_symbol(forge, frame, function[i], file, 10 * (i + 1));
    }
    forge_header(forge)->flags |= PL_FLAG_SYMBOLS;
    return frame;
}

void forge_sample(struct pl_sums *sums, double size, double weight, uint64_t samples)
{
    double n = (double) samples, spread = weight * (weight - 1);
    sums->objects += n * weight;
    sums->space += n * weight * size;
    sums->objects_variance += n * spread;
    sums->space_variance += n * spread * size * size;
    sums->samples += samples;
}

static void fill_header(struct forge *forge)
{
    static const char command[] = "./example\0--rows\0 12";
    struct pl_header *header = forge_header(forge);
    memcpy(header->magic, PL_MAGIC, sizeof header->magic);
    header->version = PL_VERSION;
    header->byte_order = PL_BYTE_ORDER;
    header->chunk_bytes = PL_CHUNK_BYTES;
    header->machine = EM_X86_64;
    header->end = PL_END_EXIT;
    header->pid = 4711;
    header->parent_pid = 4710;
    header->start_realtime_ns = 1700000000000000000ull;
    header->start_monotonic_ns = 1000000000000ull;
    header->end_monotonic_ns = header->start_monotonic_ns + 12800000000ull;
    header->start_ticks = UINT64_MAX; /* not that of any running process */
    header->mode = PL_MODE_SAMPLED;
    header->call_charge = 64;
    header->interval_bytes = 512 << 10;
    header->seed = 1;
    memcpy(header->comm, "example", 8);
    header->executable = text_of(forge, "/opt/example/bin/example");
    header->command = forge_text(forge, command, sizeof command);
    header->directory = text_of(forge, "/home/someone");
    header->destination = text_of(forge, "/home/someone/plimsoll.example.4711.plim");
}

struct forge *forge_new(void)
{
    struct forge *forge = calloc(1, sizeof *forge);
    void *image =
        mmap(NULL, PL_FILE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!forge || image == MAP_FAILED)
        die("out of memory");
    forge->image = image;
    for (int kind = PL_KIND_TEXT; kind <= PL_KIND_SCOPE; kind++)
        forge_append(forge, kind, kind == PL_KIND_TEXT ? 8 : 1); /* number 0 means "none" */
    fill_header(forge);
    forge_module(forge, "", 0);
    forge_site(forge, 0);
    return forge;
}

void forge_free(struct forge *forge)
{
    munmap(forge->image, PL_FILE_BYTES_MAX);
    free(forge);
}

int forge_write(const struct forge *forge, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int result = 0;
    for (size_t done = 0; done < forge_bytes(forge) && result == 0;) {
        ssize_t wrote = write(fd, forge->image + done, forge_bytes(forge) - done);
        if (wrote > 0)
            done += (size_t) wrote;
        else
            result = wrote < 0 ? -errno : -EIO;
    }
    close(fd);
    return result;
}

const struct forge_scenario *forge_find(const char *name)
{
    for (const struct forge_scenario *scenario = forge_scenario; scenario->name; scenario++)
        if (strcmp(scenario->name, name) == 0)
            return scenario;
    return NULL;
}
