/* SPDX-License-Identifier: MIT */
/*
 * test_damage.c - broken binaries: truncated anywhere, or with changed bytes in the most sensitive places.
 *
 * The claim is only that nothing crashes, hangs or reads outside of the file (sanitizers check that). What is found in
 * a broken file does not matter.
 */
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workshop.h"

struct image {
    unsigned char *data;
    size_t bytes;
};

static struct image load(const char *path)
{
    struct stat status;
    struct image image;
    assert_int_equal(stat(path, &status), 0);
    image.bytes = (size_t) status.st_size;
    image.data = malloc(image.bytes);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(image.data, 1, image.bytes, file), image.bytes);
    fclose(file);
    return image;
}

static void save(const struct image *image, size_t bytes)
{
    FILE *file = fopen(made("broken"), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(image->data, 1, bytes, file), bytes);
    fclose(file);
}

/* Looks up addresses all over the code of the original program in the broken file. */
static void try_broken(struct text text)
{
    struct pl_elf *elf = NULL;
    char why[PL_WHY_BYTES];
    if (pl_elf_open_with(made("broken"), &(struct pl_elf_options){.debug_path = "/nowhere"}, &elf, why) != 0)
        return;
    for (uint64_t address = text.low; address < text.high; address += 61) {
        struct found found = find(elf, address);
        for (uint32_t i = 0; i < found.places; i++)
            assert_true(strlen(found.place[i].function) + strlen(found.place[i].file) < 1 << 20);
    }
    pl_elf_close(elf);
}

static void truncated_binaries_are_harmless(void **state)
{
    (void) state;
    run("gcc -O2 -g '%s' -o program", source("inlines.c"));
    struct image image = load(made("program"));
    struct text text = text_of(made("program"));
    for (size_t bytes = 0; bytes < 600; bytes += 7) { /* headers */
        save(&image, bytes);
        try_broken(text);
    }
    for (size_t bytes = 600; bytes < image.bytes; bytes += 131) {
        save(&image, bytes);
        try_broken(text);
    }
    free(image.data);
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t) (*state >> 33);
}

struct part {
    size_t offset, bytes;
};

static struct part part_of(const char *path, const char *section)
{
    struct pl_binary file;
    GElf_Shdr header;
    struct part part = {0};
    assert_int_equal(pl_binary_open(path, NULL, &file), 0);
    if (pl_binary_section(file.elf, section, &header))
        part = (struct part){.offset = header.sh_offset, .bytes = header.sh_size};
    pl_binary_close(&file);
    return part;
}

/* Changes a few bytes of a part, some hundred times. */
static void damage(const char *path, struct part part, uint32_t rounds)
{
    uint64_t random = part.offset + 1;
    struct text text = text_of(path);
    for (uint32_t round = 0; part.bytes > 0 && round < rounds; round++) {
        struct image image = load(path);
        for (uint32_t i = 0; i < 1 + round % 8; i++)
            image.data[part.offset + next_random(&random) % part.bytes] = (unsigned char) next_random(&random);
        save(&image, image.bytes);
        try_broken(text);
        free(image.data);
    }
}

static void changed_bytes_in_tables_are_harmless(void **state)
{
    (void) state;
    static const char *const section[] = {".debug_line", ".debug_line_str", ".debug_str", ".symtab",
                                          ".strtab",     ".dynsym",         ".rela.plt",  ".debug_rnglists"};
    run("gcc -O2 -g '%s' -o program", source("inlines.c"));
    damage(made("program"), (struct part){.offset = 0, .bytes = 64}, 100);
    for (size_t i = 0; i < sizeof section / sizeof *section; i++)
        damage(made("program"), part_of(made("program"), section[i]), 100);
}

static void changed_bytes_in_old_line_tables_are_harmless(void **state)
{
    (void) state;
    run("gcc -O2 -gdwarf-4 '%s' -o program", source("inlines.c"));
    damage(made("program"), part_of(made("program"), ".debug_line"), 200);
    damage(made("program"), part_of(made("program"), ".debug_ranges"), 100);
}

static void changed_bytes_in_dwarf_entries_are_harmless(void **state)
{
    (void) state;
    run("gcc -O2 -g '%s' -o program", source("inlines.c"));
    damage(made("program"), part_of(made("program"), ".debug_info"), 300);
    damage(made("program"), part_of(made("program"), ".debug_abbrev"), 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_binaries_are_harmless),
        cmocka_unit_test(changed_bytes_in_tables_are_harmless),
        cmocka_unit_test(changed_bytes_in_old_line_tables_are_harmless),
        cmocka_unit_test(changed_bytes_in_dwarf_entries_are_harmless),
    };
    return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
