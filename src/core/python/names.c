/* SPDX-License-Identifier: MIT */
/*
 * names.c - the records of Python functions, and the lines of instructions.
 *
 * Code objects die and others get their addresses. So a record belongs to an address together with what was there: the
 * first line, and the strings of the name and the file, with their hashes. A line is kept for each instruction that was
 * seen, because it takes a walk through the line table to find it.
 */
#include "core/hash.h"
#include "core/process.h"
#include "core/python/python.h"
#include "core/python/reader.h"

#define KEY_FUNCTION 0x66756e6374696f6eu
#define KEY_LINE 0x6c696e65u
#define KEY_NAME 0x6e616d65u

#define NAME_MOST 300u /* bytes of a function's name */

/* ---- strings ---- */

/* A string's state, beginning with its kind. */
#define STATE_KIND(state) ((state) &7) /* bytes of a character: 1, 2 or 4 */
#define STATE_COMPACT (1u << 3)
#define STATE_ASCII (1u << 4)

static uint32_t character_at(uintptr_t at, unsigned bytes)
{
    uintptr_t word = pl_walk_load(at & ~7ul) >> 8 * (at & 7);
    return bytes == 4 ? (uint32_t) word : bytes == 2 ? (uint16_t) word : (uint8_t) word;
}

static unsigned put_utf8(char *to, uint32_t c)
{
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = more; i > 0; i--, c >>= 6)
        to[i] = (char) (0x80 | (c & 0x3f));
    to[0] = (char) (first[more] | c);
    return more + 1;
}

/* Copies a string into the reader's text, as UTF-8, up to `most` bytes. Returns how many; 0 if it is no string. */
static uint32_t read_text(struct pl_thread *thread, uintptr_t object, uint32_t most)
{
    const struct pl_python_layout *layout = &pl_python.layout;
    if (!pl_python_may_read(thread, object, layout->text_header))
        return 0;
    uint64_t length = pl_walk_load(object + layout->text_length);
    uint32_t state = pl_python_word32(object + layout->text_state) >> layout->text_kind;
    uint32_t kind = STATE_KIND(state), used = 0;
    uintptr_t at = object + (state & STATE_ASCII ? layout->text_header : layout->text_header_other);
    if (!(state & STATE_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    for (uint64_t i = 0; i < length && used + 4 <= most; i++, at += kind) {
        if ((i == 0 || (at & 4095) < kind) && !pl_python_may_read(thread, at & ~7ul, 8))
            return 0;
        used += put_utf8(thread->python->text + used, character_at(at, kind) & 0x1fffff);
    }
    return used;
}

/* Each text is in the file once: the map leads from its hash to its offset. */
static struct pl_text keep_text(struct pl_process *process, const char *text, uint32_t bytes)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(pl_hash_bytes(PL_FNV_START, text, bytes), KEY_NAME));
    uint32_t offset = slot ? load_acquire(&slot->id) : 0;
    if (!offset && slot)
        offset = pl_map_settle(slot, pl_file_text(&process->file, text, bytes).offset);
    return offset ? (struct pl_text){offset, bytes} : (struct pl_text){0, 0};
}

static struct pl_text text_of(struct pl_process *process, struct pl_thread *thread, uintptr_t object, uint32_t most)
{
    uint32_t bytes = read_text(thread, object, most);
    return keep_text(process, thread->python->text, bytes);
}

/* ---- functions ---- */

static uint64_t hash_of_text(struct pl_thread *thread, uintptr_t object)
{
    unsigned hash = pl_python.layout.text_hash;
    return pl_python_may_read(thread, object, hash + 8) ? object ^ pl_walk_load(object + hash) : object;
}

#define TABLE_HASHED 4096u /* bytes of a line table that tell it from another */

static uint64_t hash_of_table(struct pl_thread *thread, uintptr_t object)
{
    const struct pl_python_layout *layout = &pl_python.layout;
    if (!pl_python_may_read(thread, object, layout->bytes_first))
        return object;
    uint64_t bytes = pl_walk_load(object + layout->bytes_size), hash = bytes;
    uintptr_t at = object + layout->bytes_first, end = at + (bytes < TABLE_HASHED ? bytes & ~7ull : TABLE_HASHED);
    for (; at < end; at += 8)
        if (pl_python_may_read(thread, at, 8))
            hash = pl_hash(hash, pl_walk_load(at));
    for (unsigned i = 0; bytes < TABLE_HASHED && i < bytes % 8; i++)
        if (pl_python_may_read(thread, at, 8))
            hash = pl_hash(hash, pl_python_byte(at + i));
    return hash;
}

/* Tells a code object from others that had its address before. */
static uint64_t identity_of(struct pl_thread *thread, uintptr_t code)
{
    const struct pl_python_layout *layout = &pl_python.layout;
    uint64_t name = hash_of_text(thread, pl_walk_load(code + layout->code_name));
    uint64_t file = hash_of_text(thread, pl_walk_load(code + layout->code_file));
    uint64_t lines = hash_of_table(thread, pl_walk_load(code + layout->code_lines));
    return pl_hash(pl_hash(pl_hash(code, name), pl_hash(file, lines)),
                   pl_python_word32(code + layout->code_first_line));
}

void pl_python_write_function(struct pl_process *process, struct pl_thread *thread)
{
    const struct pl_python_layout *layout = &pl_python.layout;
    struct pl_python_reader *reader = thread->python;
    void *at;
    struct pl_text name = text_of(process, thread, pl_walk_load(reader->code + layout->code_name), NAME_MOST);
    struct pl_text file = text_of(process, thread, pl_walk_load(reader->code + layout->code_file), PL_PYTHON_TEXT);
    uint32_t id = pl_file_append(&process->file, PL_KIND_FUNCTION, &at);
    struct pl_slot *slot = id ? pl_map_slot(&process->map, pl_hash(reader->identity, KEY_FUNCTION)) : NULL;
    reader->refused = slot ? 0 : reader->identity;
    if (!slot)
        return;
    struct pl_function_record *record = at;
    record->first_line = pl_python_word32(reader->code + layout->code_first_line);
    record->function = name;
    record->file = file;
    store_release(&record->valid, 1); /* publish */
    pl_map_settle(slot, id);
}

/* ---- lines ---- */

/* The bytes of a line table. */
struct table {
    struct pl_thread *thread;
    uintptr_t at;
    uintptr_t end;
    uintptr_t page; /* that may be read */
};

#define TABLE_MOST (1u << 22)

static struct table open_table(struct pl_thread *thread, uintptr_t object)
{
    struct table table = {.thread = thread};
    const struct pl_python_layout *layout = &pl_python.layout;
    if (!pl_python_may_read(thread, object, layout->bytes_first) ||
        pl_walk_load(object + layout->bytes_size) > TABLE_MOST)
        return table;
    table.at = object + layout->bytes_first;
    table.end = table.at + pl_walk_load(object + layout->bytes_size);
    return table;
}

/* Is there another byte, and may it be read? */
static bool has_more(struct table *table)
{
    uintptr_t page = table->at >> PL_PYTHON_PAGE_SHIFT;
    if (table->at >= table->end)
        return false;
    if (page != table->page && !pl_python_has_page(table->thread, page)) {
        table->end = table->at;
        return false;
    }
    table->page = page;
    return true;
}

/* 0 at the end. */
static uint8_t next_byte(struct table *table)
{
    return has_more(table) ? pl_python_byte(table->at++) : 0;
}

/* 3.9: how far to the next instruction that begins a line, and how many lines. */
static uint32_t line_by_lnotab(struct table *table, uint32_t line, int64_t wanted)
{
    for (int64_t at = 0; table->at < table->end;) {
        at += next_byte(table);
        if (at > wanted)
            break;
        line += (uint32_t) (int8_t) next_byte(table);
    }
    return line;
}

/* 3.10: the length of a stretch of instructions, and how its line differs from the last; -128: it has none. */
static uint32_t line_by_linetable(struct table *table, uint32_t line, int64_t wanted)
{
    for (int64_t at = 0; table->at < table->end;) {
        at += next_byte(table);
        int8_t more = (int8_t) next_byte(table);
        line += more == -128 ? 0 : (uint32_t) more;
        if (at > wanted)
            return more == -128 ? 0 : line;
    }
    return 0;
}

/* Six bits a byte, the lowest first; bit 6 says that more follow. In the signed form, the lowest bit is the sign. */
static int32_t signed_number(struct table *table)
{
    uint32_t number = 0, shift = 0;
    uint8_t byte;
    do {
        byte = next_byte(table);
        number |= shift < 32 ? (uint32_t) (byte & 63) << shift : 0;
        shift += 6;
    } while (byte & 64);
    return number & 1 ? -(int32_t) (number >> 1) : (int32_t) (number >> 1);
}

/* Since 3.11: each entry begins with a byte that has bit 7, the form of the entry, and how many units of code it is
 * about. Forms 10 to 12 have the change of the line in themselves, 13 and 14 a number, 15 no line. */
static uint32_t line_by_locations(struct table *table, uint32_t line, int64_t wanted)
{
    for (int64_t at = 0; table->at < table->end;) {
        uint8_t head = next_byte(table);
        unsigned form = head >> 3 & 15;
        if (form == 13 || form == 14)
            line += (uint32_t) signed_number(table);
        else if (form >= 10 && form <= 12)
            line += form - 10;
        at += (head & 7) + 1;
        if (at > wanted)
            return form == 15 ? 0 : line;
        while (has_more(table) && !(pl_python_byte(table->at) & 0x80))
            next_byte(table);
    }
    return 0;
}

static OUT_OF_LINE uint32_t find_line(struct pl_thread *thread, const struct pl_python_frame *frame)
{
    const struct pl_python_layout *layout = &pl_python.layout;
    struct table table = open_table(thread, pl_walk_load(frame->code + layout->code_lines));
    uint32_t line = pl_python_word32(frame->code + layout->code_first_line);
    int64_t wanted = layout->code_start == PL_PYTHON_NONE
                         ? (int64_t) (int32_t) frame->instruction * layout->instruction_bytes
                         : (int64_t) (frame->instruction - (frame->code + layout->code_start)) / 2;
    if (wanted >= 0 && layout->lines == PL_PYTHON_LOCATIONS)
        line = line_by_locations(&table, line, wanted);
    else if (wanted >= 0 && layout->lines == PL_PYTHON_LINETABLE)
        line = line_by_linetable(&table, line, wanted);
    else if (wanted >= 0)
        line = line_by_lnotab(&table, line, wanted);
    return line <= PL_FRAME_LINE_MASK ? line : 0;
}

static uint32_t line_of(struct pl_process *process, struct pl_thread *thread, const struct pl_python_frame *frame,
                        uint64_t identity)
{
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(pl_hash(identity, KEY_LINE), frame->instruction));
    uint32_t known = slot ? load_acquire(&slot->id) : 0;
    if (known)
        return known - 1;
    uint32_t line = find_line(thread, frame);
    return slot ? pl_map_settle(slot, line + 1) - 1 : line;
}

/* ---- frames ---- */

/* The word of a frame that is not named yet; 0: it gets no name. False: its function needs a record first. */
static bool name_frame(struct pl_process *process, struct pl_thread *thread, uint64_t *word)
{
    struct pl_python_reader *reader = thread->python;
    struct pl_python_frame frame;
    uint64_t flags = *word & ~PL_FRAME_ADDRESS_MASK;
    if (!pl_python_read(thread, *word & PL_FRAME_ADDRESS_MASK, &frame)) {
        *word = 0;
        return true;
    }
    uint64_t term = pl_python_term(thread, &frame);
    unsigned place = (unsigned) (term * 0x9e3779b97f4a7c15u >> 56) % PL_PYTHON_RECENT;
    if (likely(reader->recent[place].term == term && reader->recent[place].word)) {
        *word = flags | reader->recent[place].word;
        return true;
    }
    uint64_t identity = identity_of(thread, frame.code);
    struct pl_slot *slot = pl_map_slot(&process->map, pl_hash(identity, KEY_FUNCTION));
    uint32_t function = slot ? load_acquire(&slot->id) : 0;
    if (!function && slot && reader->refused != identity) {
        reader->code = frame.code;
        reader->identity = identity;
        return false;
    }
    if (!function) {
        *word = 0;
        return true;
    }
    uint64_t found = (uint64_t) function << PL_FRAME_LINE_BITS | line_of(process, thread, &frame, identity);
    reader->recent[place].word = 0; /* if left by longjmp from here on, the entry is not valid */
    signal_fence();
    reader->recent[place].term = term;
    signal_fence();
    reader->recent[place].word = found;
    *word = flags | found;
    return true;
}

bool pl_python_next_function(struct pl_process *process, struct pl_thread *thread)
{
    struct pl_python_reader *reader = thread->python;
    struct pl_walk *walk = &thread->walk;
    if (!reader || !reader->unnamed)
        return false;
    pl_python_begin(thread);
    for (; reader->named < walk->frames; reader->named++) {
        uint64_t *word = &walk->frame[reader->named];
        if ((*word & PL_FRAME_PYTHON) && !name_frame(process, thread, word))
            return true;
        if (*word)
            walk->frame[reader->kept++] = *word;
    }
    walk->frames = reader->kept;
    reader->unnamed = 0;
    return false;
}
