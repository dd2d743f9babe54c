/* SPDX-License-Identifier: MIT */
/*
 * workshop.c - builds programs and compares our answers with those of nm, llvm-symbolizer and addr2line.
 */
#include <gelf.h>
#include <unistd.h>

#include "workshop.h"

static char directory[PATH_BYTES / 2];

int workshop_open(void **state)
{
    (void) state;
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/plimsoll-symbolize.XXXXXX", base && base[0] ? base : "/tmp");
    unsetenv("DEBUGINFOD_URLS"); /* no server is asked unless a test sets one */
    return mkdtemp(directory) ? 0 : -1;
}

int workshop_close(void **state)
{
    (void) state;
    char command[PATH_BYTES];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

static const char *path_in(const char *where, const char *below, const char *name)
{
    static char path[8][PATH_BYTES];
    static unsigned next;
    char *out = path[next++ % 8];
    snprintf(out, PATH_BYTES, "%s%s/%s", where, below, name);
    return out;
}

const char *made(const char *name)
{
    return path_in(directory, "", name);
}

const char *source(const char *name)
{
    const char *root = getenv("PLIMSOLL_SOURCE");
    assert_non_null(root);
    return path_in(root, "/tests/symbolize/programs", name);
}

bool have(const char *tool)
{
    char command[256];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", tool);
    return system(command) == 0;
}

static void write_command(char *out, size_t bytes, const char *format, va_list arguments)
{
    int start = snprintf(out, bytes, "cd '%s' && ", directory);
    vsnprintf(out + start, bytes - (size_t) start, format, arguments);
}

void run(const char *format, ...)
{
    char command[PATH_BYTES * 2];
    va_list arguments;
    va_start(arguments, format);
    write_command(command, sizeof command, format, arguments);
    va_end(arguments);
    int status = system(command);
    if (status != 0)
        fail_msg("status %d from: %s", status, command);
}

void ask(char *out, size_t bytes, const char *format, ...)
{
    char command[PATH_BYTES * 2];
    va_list arguments;
    va_start(arguments, format);
    write_command(command, sizeof command, format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(out, (int) bytes, pipe))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    while (fgetc(pipe) != EOF)
        ;
    pclose(pipe);
}

struct pl_elf *open_elf(const char *path, const struct pl_elf_options *options)
{
    struct pl_elf *elf = NULL;
    char why[PL_WHY_BYTES] = "";
    struct pl_elf_options none = {.debug_path = made("no-debug-files")};
    if (pl_elf_open_with(path, options ? options : &none, &elf, why) != 0)
        fail_msg("%s", why);
    return elf;
}

uint64_t address_of(const char *path, const char *symbol)
{
    char line[PATH_BYTES];
    ask(line, sizeof line, "nm '%s' 2>/dev/null | awk '$3 == \"%s\" {print $1}'", path, symbol);
    uint64_t address = strtoull(line, NULL, 16);
    if (address == 0)
        fail_msg("%s has no symbol %s", path, symbol);
    return address;
}

struct text text_of(const char *path)
{
    struct pl_binary file;
    GElf_Shdr header;
    assert_int_equal(pl_binary_open(path, NULL, &file), 0);
    assert_non_null(pl_binary_section(file.elf, ".text", &header));
    pl_binary_close(&file);
    return (struct text){.low = header.sh_addr, .high = header.sh_addr + header.sh_size};
}

struct found find(struct pl_elf *elf, uint64_t address)
{
    struct found found;
    found.places = pl_elf_find(elf, address, found.place, PLACES_MAX);
    return found;
}

/* ---- reference tools ---- */

/* Starts `tool` for the file `told`, on every stride-th address. */
static FILE *start_oracle(const char *tool, const char *told, struct text text, uint32_t stride)
{
    FILE *addresses = fopen(made("addresses"), "w");
    assert_non_null(addresses);
    for (uint64_t address = text.low; address < text.high; address += stride)
        fprintf(addresses, "0x%llx\n", (unsigned long long) address);
    fclose(addresses);
    char command[PATH_BYTES * 2];
    snprintf(command, sizeof command, "%s'%s' <'%s' 2>/dev/null", tool, told, made("addresses"));
    FILE *oracle = popen(command, "r");
    assert_non_null(oracle);
    return oracle;
}

static bool read_line(FILE *from, char *out, size_t bytes)
{
    if (!fgets(out, (int) bytes, from))
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

/* For an address without a line llvm-symbolizer gives the file from the symbol table, which does not count. */
static bool is_no_place(const char *line)
{
    size_t bytes = strlen(line);
    return bytes >= 4 && strcmp(line + bytes - 4, ":0:0") == 0;
}

static void show_place(const struct found *found, uint32_t i, char *out, size_t bytes)
{
    const struct pl_place *place = &found->place[i];
    if (i < found->places && place->file[0])
        snprintf(out, bytes, "%s:%u:%u", place->file, place->line, place->column);
    else
        snprintf(out, bytes, "??:0:0");
}

static void compare_block(FILE *oracle, const struct found *found, uint64_t address)
{
    static char name[1 << 20], theirs[PATH_BYTES], ours[PATH_BYTES];
    uint32_t places = 0;
    while (read_line(oracle, name, sizeof name) && name[0]) {
        assert_true(read_line(oracle, theirs, sizeof theirs));
        show_place(found, places, ours, sizeof ours);
        if (strcmp(ours, theirs) != 0 && !(strcmp(ours, "??:0:0") == 0 && is_no_place(theirs)))
            fail_msg("at 0x%llx, place %u: ours is %s, llvm-symbolizer's %s (%s)", (unsigned long long) address, places,
                     ours, theirs, name);
        places++;
    }
    if (places != (found->places ? found->places : 1))
        fail_msg("at 0x%llx: %u places, llvm-symbolizer finds %u", (unsigned long long) address, found->places, places);
}

uint32_t assert_agrees_with_llvm(struct pl_elf *elf, const char *told, uint32_t stride)
{
    if (!have("llvm-symbolizer"))
        skip();
    struct text text = text_of(told);
    FILE *oracle = start_oracle("llvm-symbolizer --inlines --obj=", told, text, stride);
    uint32_t lines = 0;
    for (uint64_t address = text.low; address < text.high; address += stride) {
        struct found found = find(elf, address);
        compare_block(oracle, &found, address);
        lines += found.places > 0 && found.place[0].line > 0;
    }
    pclose(oracle);
    return lines;
}

uint32_t assert_agrees_with_addr2line(struct pl_elf *elf, const char *told, uint32_t stride)
{
    if (!have("addr2line"))
        skip();
    char theirs[PATH_BYTES], ours[PATH_BYTES];
    struct text text = text_of(told);
    FILE *oracle = start_oracle("addr2line -e ", told, text, stride);
    uint32_t lines = 0;
    for (uint64_t address = text.low; address < text.high; address += stride) {
        assert_true(read_line(oracle, theirs, sizeof theirs));
        theirs[strcspn(theirs, " ")] = '\0'; /* (discriminator 2) */
        if (strchr(theirs, '?'))
            continue;
        struct found found = find(elf, address);
        snprintf(ours, sizeof ours, "%s:%u", found.places ? found.place[0].file : "", found.place[0].line);
        assert_string_equal(ours, theirs);
        lines++;
    }
    pclose(oracle);
    return lines;
}
