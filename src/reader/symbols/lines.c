/* SPDX-License-Identifier: MIT */
/*
 * lines.c - the line table of a unit.
 *
 * libdw has one too, but sorts all rows of a unit by address. A function that the linker discarded keeps its rows, from
 * address 0 on, and where that runs into real code (any small position-independent program built with
 * -ffunction-sections and --gc-sections) its lines turn up between those of functions that exist. So rows are kept by
 * sequence here: a run of rows in ascending order for one stretch of code, and only sequences inside the code are kept
 * at all. A row is 16 bytes and nothing is sorted, so this also takes less than half the memory and a quarter of the
 * instructions.
 *
 * A table is a header, tables of directories and files, and a program for a small machine that emits the rows (DWARF 2
 * to 5, section 6.2). Everything is read through a cursor that cannot leave its section; a table that ends too early
 * keeps the rows it had.
 */
#include <dwarf.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/symbols/symbolize_work.h"

struct row {
    uint32_t offset; /* from the start of its sequence */
    uint32_t line;
    uint32_t file;
    uint32_t column;
};

struct sequence {
    uint64_t low;
    uint32_t first, rows; /* in pl_lines.row */
};

/* A name in a table of directories or files. Before DWARF 5, entry 0 is the unit's own. */
struct entry {
    const char *name;
    uint64_t directory;
    const char *path; /* NULL until asked for */
};

struct entries {
    struct entry *entry;
    uint32_t count, capacity;
};

struct pl_lines {
    struct row *row;
    uint32_t rows, row_capacity;
    struct sequence *sequence;
    uint32_t sequences, sequence_capacity;
    struct pl_spans spans; /* of sequences */
    struct entries directory, file;
    const char *unit_directory;
};

/* ---- reading ---- */

/* Once it is at the end it stays there, and everything reads as zero. */
struct cursor {
    const unsigned char *at, *end;
};

static uint64_t take(struct cursor *cursor, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t) (cursor->end - cursor->at) < bytes) {
        cursor->at = cursor->end;
        return 0;
    }
    memcpy(&value, cursor->at, bytes);
    cursor->at += bytes;
    return le64toh(value);
}

static void skip(struct cursor *cursor, uint64_t bytes)
{
    uint64_t left = (uint64_t) (cursor->end - cursor->at);
    cursor->at += bytes < left ? bytes : left;
}

static uint64_t take_leb(struct cursor *cursor, bool is_signed)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;
    while ((byte & 0x80) && cursor->at < cursor->end) {
        byte = *cursor->at++;
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    }
    if (is_signed && shift < 64 && (byte & 0x40))
        value |= ~0ull << shift;
    return value;
}

static uint64_t take_uleb(struct cursor *cursor)
{
    return take_leb(cursor, false);
}

/* "" if the text has no terminator. */
static const char *take_text(struct cursor *cursor)
{
    const char *text = (const char *) cursor->at;
    size_t left = (size_t) (cursor->end - cursor->at), bytes = strnlen(text, left);
    skip(cursor, bytes + 1);
    return bytes < left ? text : "";
}

static const char *text_at(const Elf_Data *section, uint64_t offset)
{
    if (!section || !section->d_buf || offset >= section->d_size)
        return "";
    const unsigned char *start = section->d_buf;
    struct cursor cursor = {.at = start + offset, .end = start + section->d_size};
    return take_text(&cursor);
}

/* ---- the header ---- */

struct header {
    unsigned version;
    unsigned offset_bytes; /* 4, or 8 in 64-bit DWARF */
    unsigned address_bytes;
    unsigned instruction_bytes;
    int line_base;
    unsigned line_range;
    unsigned opcode_base;
    const unsigned char *operands; /* of each standard opcode, from 1 */
    struct cursor tables;          /* directories and files */
    struct cursor program;
};

/* Limits the cursor to one table. */
static void take_length(struct cursor *cursor, struct header *header)
{
    uint64_t bytes = take(cursor, 4);
    header->offset_bytes = bytes == 0xffffffff ? 8 : 4;
    if (header->offset_bytes == 8)
        bytes = take(cursor, 8);
    if (bytes < (uint64_t) (cursor->end - cursor->at))
        cursor->end = cursor->at + bytes;
}

static bool read_header(struct cursor *cursor, struct header *header)
{
    take_length(cursor, header);
    header->version = (unsigned) take(cursor, 2);
    header->address_bytes = 8;
    if (header->version >= 5) {
        header->address_bytes = (unsigned) take(cursor, 1);
        skip(cursor, 1); /* size of a segment selector */
    }
    struct cursor rest = *cursor;
    uint64_t bytes = take(&rest, header->offset_bytes);
    header->tables = rest;
    skip(&rest, bytes);
    header->program = rest;
    header->tables.end = rest.at;

    struct cursor *tables = &header->tables;
    header->instruction_bytes = (unsigned) take(tables, 1);
    skip(tables, header->version >= 4 ? 2 : 1); /* maximum operations per instruction (DWARF 4); default_is_stmt */
    header->line_base = (int8_t) take(tables, 1);
    header->line_range = (unsigned) take(tables, 1);
    header->opcode_base = (unsigned) take(tables, 1);
    header->operands = tables->at;
    skip(tables, header->opcode_base ? header->opcode_base - 1 : 0);
    return header->version >= 2 && header->version <= 5 && header->line_range > 0 && tables->at < tables->end;
}

/* ---- directories and files ---- */

static void add_entry(struct entries *entries, struct entry entry)
{
    entries->entry = pl_grow(entries->entry, entries->count, &entries->capacity, sizeof entry);
    entries->entry[entries->count++] = entry;
}

/* DWARF 2 to 4: names in a row, ended by an empty one. Entry 0 is not written down. */
static void read_old_tables(struct pl_lines *lines, struct header *header)
{
    struct cursor *tables = &header->tables;
    const char *name;
    add_entry(&lines->directory, (struct entry){.name = ""});
    while ((name = take_text(tables))[0])
        add_entry(&lines->directory, (struct entry){.name = name});
    add_entry(&lines->file, (struct entry){.name = ""});
    while ((name = take_text(tables))[0]) {
        add_entry(&lines->file, (struct entry){.name = name, .directory = take_uleb(tables)});
        take_uleb(tables); /* time */
        take_uleb(tables); /* size */
    }
}

/* How a form is stored: a fixed number of bytes, or a kind of text or number. */
enum shape { FIXED, OFFSET, TEXT, ULEB, BLOCK };
static const struct form {
    unsigned form;
    enum shape shape;
    unsigned bytes;
} forms[] = {
    {DW_FORM_line_strp, OFFSET, 0}, {DW_FORM_strp, OFFSET, 0}, {DW_FORM_string, TEXT, 0}, {DW_FORM_udata, ULEB, 0},
    {DW_FORM_data1, FIXED, 1},      {DW_FORM_data2, FIXED, 2}, {DW_FORM_data4, FIXED, 4}, {DW_FORM_data8, FIXED, 8},
    {DW_FORM_data16, FIXED, 16},    {DW_FORM_block, BLOCK, 0}, {DW_FORM_strx, ULEB, 0},   {DW_FORM_strx1, FIXED, 1},
    {DW_FORM_strx2, FIXED, 2},      {DW_FORM_strx3, FIXED, 3}, {DW_FORM_strx4, FIXED, 4},
};

static const struct form *find_form(uint64_t code)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].form == code)
            return &forms[i];
    return NULL;
}

/* A value of one form; texts in *text, numbers returned. */
static uint64_t take_form(struct cursor *cursor, const struct form *form, const struct header *header,
                          const struct pl_line_sections *sections, const char **text)
{
    uint64_t value = 0;
    switch (form->shape) {
    case FIXED:
        if (form->bytes <= 8)
            return take(cursor, form->bytes);
        skip(cursor, form->bytes);
        return 0;
    case OFFSET:
        value = take(cursor, header->offset_bytes);
        *text = text_at(form->form == DW_FORM_strp ? sections->str : sections->line_str, value);
        return 0;
    case TEXT:
        *text = take_text(cursor);
        return 0;
    case ULEB:
        return take_uleb(cursor);
    case BLOCK:
        skip(cursor, take_uleb(cursor));
        return 0;
    }
    return 0;
}

#define COLUMNS_MAX 16 /* kinds of data in an entry: five are defined */

/* DWARF 5: a description of the entries, then the entries. */
static bool read_table(struct entries *entries, struct header *header, const struct pl_line_sections *sections)
{
    struct cursor *tables = &header->tables;
    struct {
        uint64_t content;
        const struct form *form;
    } column[COLUMNS_MAX];
    unsigned columns = (unsigned) take(tables, 1);
    if (columns > COLUMNS_MAX)
        return false;
    for (unsigned i = 0; i < columns; i++) {
        column[i].content = take_uleb(tables);
        column[i].form = find_form(take_uleb(tables));
        if (!column[i].form)
            return false;
    }
    uint64_t count = take_uleb(tables);
    for (uint64_t i = 0; i < count && tables->at < tables->end; i++) {
        struct entry entry = {.name = ""};
        for (unsigned j = 0; j < columns; j++) {
            const char *text = NULL;
            uint64_t value = take_form(tables, column[j].form, header, sections, &text);
            if (column[j].content == DW_LNCT_path && text)
                entry.name = text;
            else if (column[j].content == DW_LNCT_directory_index)
                entry.directory = value;
        }
        add_entry(entries, entry);
    }
    return true;
}

/* ---- the program ---- */

/* The registers of the machine. */
struct machine {
    uint64_t address;
    uint32_t file, line, column;
};
static const struct machine at_start = {.file = 1, .line = 1};

static void emit(struct pl_lines *lines, const struct machine *machine)
{
    struct sequence *sequence = &lines->sequence[lines->sequences - 1];
    if (sequence->rows == 0)
        sequence->low = machine->address;
    uint64_t offset = machine->address - sequence->low;
    if (offset > UINT32_MAX)
        return;
    lines->row = pl_grow(lines->row, lines->rows, &lines->row_capacity, sizeof *lines->row);
    lines->row[lines->rows++] = (struct row){
        .offset = (uint32_t) offset, .line = machine->line, .file = machine->file, .column = machine->column};
    sequence->rows++;
}

static void begin_sequence(struct pl_lines *lines)
{
    lines->sequence = pl_grow(lines->sequence, lines->sequences, &lines->sequence_capacity, sizeof *lines->sequence);
    lines->sequence[lines->sequences++] = (struct sequence){.first = lines->rows};
}

/* Keeps the sequence that now ends if its code was kept by the linker. */
static void end_sequence(struct pl_lines *lines, const struct pl_code *code, uint64_t high)
{
    struct sequence *sequence = &lines->sequence[lines->sequences - 1];
    if (sequence->rows > 0 && pl_code_holds(code, sequence->low)) {
        pl_spans_add(&lines->spans, sequence->low, high, lines->sequences - 1);
        begin_sequence(lines);
    } else {
        lines->rows = sequence->first;
        sequence->rows = 0;
    }
}

static void run_extended(struct pl_lines *lines, const struct header *header, const struct pl_code *code,
                         struct cursor *program, struct machine *machine)
{
    uint64_t bytes = take_uleb(program);
    struct cursor operands = *program;
    skip(program, bytes);
    operands.end = program->at;
    unsigned opcode = (unsigned) take(&operands, 1);
    if (opcode == DW_LNE_set_address) {
        machine->address = take(&operands, header->address_bytes <= 8 ? header->address_bytes : 8);
    } else if (opcode == DW_LNE_end_sequence) {
        end_sequence(lines, code, machine->address);
        *machine = at_start;
    }
}

static void run_standard(struct pl_lines *lines, const struct header *header, unsigned opcode, struct cursor *program,
                         struct machine *machine)
{
    switch (opcode) {
    case DW_LNS_copy:
        emit(lines, machine);
        break;
    case DW_LNS_advance_pc:
        machine->address += take_uleb(program) * header->instruction_bytes;
        break;
    case DW_LNS_advance_line:
        machine->line += (uint32_t) take_leb(program, true);
        break;
    case DW_LNS_set_file:
        machine->file = (uint32_t) take_uleb(program);
        break;
    case DW_LNS_set_column:
        machine->column = (uint32_t) take_uleb(program);
        break;
    case DW_LNS_const_add_pc:
        machine->address += (255 - header->opcode_base) / header->line_range * header->instruction_bytes;
        break;
    case DW_LNS_fixed_advance_pc:
        machine->address += take(program, 2);
        break;
    default: /* flags we do not keep, and opcodes we do not know */
        for (unsigned i = 0; i < header->operands[opcode - 1]; i++)
            take_uleb(program);
    }
}

static void run_program(struct pl_lines *lines, struct header *header, const struct pl_code *code)
{
    struct cursor *program = &header->program;
    struct machine machine = at_start;
    begin_sequence(lines);
    while (program->at < program->end) {
        unsigned opcode = (unsigned) take(program, 1);
        if (opcode >= header->opcode_base) {
            unsigned step = opcode - header->opcode_base;
            machine.address += step / header->line_range * header->instruction_bytes;
            machine.line += (uint32_t) (header->line_base + (int) (step % header->line_range));
            emit(lines, &machine);
        } else if (opcode == 0) {
            run_extended(lines, header, code, program, &machine);
        } else {
            run_standard(lines, header, opcode, program, &machine);
        }
    }
    pl_spans_sort(&lines->spans);
}

/* ---- interface ---- */

void pl_lines_sections(Elf *elf, struct pl_line_sections *out)
{
    static const char *const name[] = {"line", "line_str", "str"};
    Elf_Data **data[] = {&out->line, &out->line_str, &out->str};
    GElf_Shdr header;
    char text[32];
    const char *identity = elf_getident(elf, NULL);
    *out = (struct pl_line_sections){0};
    if (!identity || identity[EI_DATA] != ELFDATA2LSB) /* as all machines Plimsoll runs on */
        return;
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, ".debug_%s", name[i]);
        Elf_Scn *scn = pl_binary_section(elf, text, &header);
        snprintf(text, sizeof text, ".zdebug_%s", name[i]);
        if (!scn)
            scn = pl_binary_section(elf, text, &header);
        *data[i] = scn ? elf_rawdata(scn, NULL) : NULL;
    }
}

struct pl_lines *pl_lines_new(Dwarf_Die *unit, const struct pl_line_sections *sections, const struct pl_code *code)
{
    struct pl_lines *lines = pl_grow_zeroed(1, sizeof *lines);
    Dwarf_Attribute attr;
    Dwarf_Word offset;
    const char *directory = dwarf_attr(unit, DW_AT_comp_dir, &attr) ? dwarf_formstring(&attr) : NULL;
    lines->unit_directory = directory ? directory : "";
    if (!dwarf_attr(unit, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &offset) != 0 || !sections->line ||
        !sections->line->d_buf || offset >= sections->line->d_size)
        return lines;
    const unsigned char *start = sections->line->d_buf;
    struct cursor cursor = {.at = start + offset, .end = start + sections->line->d_size};
    struct header header;
    if (!read_header(&cursor, &header))
        return lines;
    if (header.version < 5)
        read_old_tables(lines, &header);
    else if (!read_table(&lines->directory, &header, sections) || !read_table(&lines->file, &header, sections))
        return lines;
    run_program(lines, &header, code);
    return lines;
}

/* directory/name; the name alone if it is absolute. */
static const char *join(struct pl_arena *arena, const char *directory, const char *name)
{
    if (name[0] == '/' || !directory[0])
        return pl_arena_text(arena, name, strlen(name));
    size_t bytes = strlen(directory) + strlen(name) + 2;
    char *path = pl_arena_alloc(arena, bytes);
    snprintf(path, bytes, "%s/%s", directory, name);
    return path;
}

const char *pl_lines_file(struct pl_lines *lines, uint32_t file, struct pl_arena *arena)
{
    struct entry *entry = file < lines->file.count ? &lines->file.entry[file] : NULL;
    if (!entry || !entry->name[0])
        return "";
    if (entry->path)
        return entry->path;
    const char *directory =
        entry->directory < lines->directory.count ? lines->directory.entry[entry->directory].name : "";
    if (directory[0] == '\0')
        directory = lines->unit_directory;
    else if (directory[0] != '/')
        directory = join(arena, lines->unit_directory, directory);
    return entry->path = join(arena, directory, entry->name);
}

bool pl_lines_find(struct pl_lines *lines, uint64_t address, struct pl_arena *arena, struct pl_place *out)
{
    uint32_t found = pl_spans_find(&lines->spans, address);
    if (found == PL_NO_ITEM)
        return false;
    const struct sequence *sequence = &lines->sequence[found];
    const struct row *row = &lines->row[sequence->first];
    uint32_t from = 0, to = sequence->rows;
    while (from < to) { /* how many rows begin at or before the address: the first one does */
        uint32_t middle = from + (to - from) / 2;
        if (sequence->low + row[middle].offset <= address)
            from = middle + 1;
        else
            to = middle;
    }
    row += from ? from - 1 : 0;
    out->file = pl_lines_file(lines, row->file, arena);
    out->line = row->line;
    out->column = row->column;
    return true;
}

void pl_lines_free(struct pl_lines *lines)
{
    if (!lines)
        return;
    free(lines->row);
    free(lines->sequence);
    free(lines->directory.entry);
    free(lines->file.entry);
    pl_spans_free(&lines->spans);
    free(lines);
}
