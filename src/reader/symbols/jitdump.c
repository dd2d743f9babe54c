/* SPDX-License-Identifier: MIT */
/*
 * jitdump.c - reads the records of a jitdump: code that was loaded or moved, with times and lines.
 *
 *   header   magic version bytes machine 0 pid | time | flags
 *   record   id bytes time, then
 *     LOAD     pid tid | vma address bytes index | name, NUL, the code
 *     MOVE     pid tid | vma from to bytes index
 *     LINES    address count | count times: address, line, discriminator, file, NUL     of the next LOAD
 *
 * perf defines the format (tools/perf/Documentation/jitdump-specification.txt). Compilers append to the file while it
 * is read: a record that is not there as a whole ends it.
 *
 * V8 of Node 20 frees the name of a script before it writes it into LINES: the first bytes are what free() leaves
 * there, often with a NUL, so that all that follows is shifted. Lines are used only if all of the record makes sense.
 * V8 also puts file and line into the names of functions.
 */
#include <string.h>

#include "reader/base/grow.h"
#include "reader/base/utf8.h"
#include "reader/symbols/symbolize_work.h"

#define MAGIC 0x4a695444u /* in the other byte order, it is a file of another machine */
#define TICKS 1u          /* of the header's flags */

enum record_id { LOAD = 0, MOVE = 1, LINES = 2 };

struct header {
    uint32_t magic, version, bytes, machine, reserved, pid;
    uint64_t time, flags;
};

struct record {
    uint32_t id, bytes;
    uint64_t time;
};

struct load {
    uint32_t pid, tid;
    uint64_t vma, address, bytes, index;
};

struct move {
    uint32_t pid, tid;
    uint64_t vma, from, to, bytes, index;
};

struct lines {
    uint64_t address, count;
};

struct entry {
    uint64_t address;
    uint32_t line, discriminator;
};

/* The part of the file, or of a record, that has not been read yet. */
struct rest {
    const char *at;
    size_t bytes;
};

/* Code that was loaded, by its number in the file: a move refers to it. */
struct known {
    uint64_t index; /* first: pl_spans_up_to() searches by it */
    struct pl_jit_code code;
};

struct reading {
    struct pl_arena *arena;
    void (*add)(void *context, const struct pl_jit_code *code);
    void *context;
    struct pl_jit_code described; /* address and lines of the next LOAD */
    struct known *known;
    uint32_t count, capacity;
};

/* Takes `bytes` bytes off; they may be misaligned. */
static bool take(struct rest *rest, void *out, size_t bytes)
{
    if (rest->bytes < bytes)
        return false;
    memcpy(out, rest->at, bytes);
    rest->at += bytes;
    rest->bytes -= bytes;
    return true;
}

static const char *take_text(struct rest *rest)
{
    const char *text = rest->at, *end = rest->bytes ? memchr(text, '\0', rest->bytes) : NULL;
    if (!end)
        return NULL;
    rest->bytes -= (size_t) (end + 1 - text);
    rest->at = end + 1;
    return text;
}

/* Compilers count: numbers increase. */
static struct known *find(struct reading *reading, uint64_t index)
{
    uint32_t up_to = pl_spans_up_to(reading->known, reading->count, sizeof *reading->known, index);
    return up_to > 0 && reading->known[up_to - 1].index == index ? &reading->known[up_to - 1] : NULL;
}

static void load(struct reading *reading, struct rest rest, uint64_t time)
{
    struct load load;
    const char *name;
    if (!take(&rest, &load, sizeof load) || !(name = take_text(&rest)))
        return;
    struct pl_jit_code code = {.address = load.address, .bytes = load.bytes, .time = time, .name = name};
    if (reading->described.address == load.address) {
        code.line = reading->described.line;
        code.lines = reading->described.lines;
    }
    reading->described = (struct pl_jit_code){0};
    reading->known = pl_grow(reading->known, reading->count, &reading->capacity, sizeof *reading->known);
    reading->known[reading->count++] = (struct known){load.index, code};
    reading->add(reading->context, &code);
}

/* From now on the code is elsewhere. Its lines move with it. */
static void move(struct reading *reading, struct rest rest, uint64_t time)
{
    struct move move;
    struct known *known = take(&rest, &move, sizeof move) ? find(reading, move.index) : NULL;
    if (!known || known->code.address != move.from)
        return;
    known->code.moved_by += move.to - move.from;
    known->code.address = move.to;
    known->code.bytes = move.bytes;
    known->code.time = time;
    reading->add(reading->context, &known->code);
}

static int by_address(const void *a, const void *b)
{
    const struct pl_jit_line *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static bool is_file_name(const char *text)
{
    while (*text) {
        uint32_t character;
        text += pl_utf8_decode(text, &character);
        if (character == PL_UTF8_BAD || character < ' ')
            return false;
    }
    return true;
}

/* Records are padded to multiples of 8 bytes. */
static bool is_padding(struct rest rest)
{
    static const char zeros[8];
    return rest.bytes < sizeof zeros && memcmp(rest.at, zeros, rest.bytes) == 0;
}

static bool take_lines(struct rest rest, struct pl_jit_line *line, uint64_t count)
{
    const char *file = "", *text;
    struct entry entry;
    for (uint64_t i = 0; i < count; i++) {
        if (!take(&rest, &entry, sizeof entry) || !(text = take_text(&rest)))
            return false;
        if (strcmp(text, "\xff") != 0) /* the same file as before */
            file = text;
        if (!is_file_name(file))
            return false;
        line[i] = (struct pl_jit_line){entry.address, entry.line, file};
    }
    return is_padding(rest);
}

static void describe(struct reading *reading, struct rest rest)
{
    struct lines about;
    if (!take(&rest, &about, sizeof about) || about.count > rest.bytes / sizeof(struct entry))
        return;
    struct pl_jit_line *line = pl_arena_alloc(reading->arena, about.count * sizeof *line);
    if (!take_lines(rest, line, about.count))
        return;
    if (about.count > 1)
        qsort(line, about.count, sizeof *line, by_address);
    reading->described = (struct pl_jit_code){.address = about.address, .line = line, .lines = (uint32_t) about.count};
}

bool pl_jitdump_header(const void *data, size_t bytes, struct pl_jitdump_header *out)
{
    struct header header;
    struct rest rest = {data, bytes};
    if (!take(&rest, &header, sizeof header) || header.magic != MAGIC || header.bytes < sizeof header)
        return false;
    *out = (struct pl_jitdump_header){.pid = header.pid, .ticks = header.flags & TICKS};
    return true;
}

void pl_jitdump_read(const void *data, size_t bytes, struct pl_arena *arena,
                     void (*add)(void *context, const struct pl_jit_code *code), void *context)
{
    struct reading reading = {.arena = arena, .add = add, .context = context};
    struct rest rest = {data, bytes};
    struct header header;
    struct record record;
    if (!take(&rest, &header, sizeof header) || header.bytes < sizeof header || header.bytes > bytes)
        return;
    rest = (struct rest){(const char *) data + header.bytes, bytes - header.bytes};
    while (take(&rest, &record, sizeof record) && record.bytes >= sizeof record &&
           record.bytes - sizeof record <= rest.bytes) {
        struct rest body = {rest.at, record.bytes - sizeof record};
        if (record.id == LOAD)
            load(&reading, body, record.time);
        else if (record.id == MOVE)
            move(&reading, body, record.time);
        else if (record.id == LINES)
            describe(&reading, body);
        rest.at += body.bytes;
        rest.bytes -= body.bytes;
    }
    free(reading.known);
}
