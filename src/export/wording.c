/* SPDX-License-Identifier: MIT */
/*
 * wording.c - texts that several text formats have in common.
 */
#include "export/wording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/label.h"
#include "reader/base/grow.h"
#include "reader/base/index.h"

char *pl_wording_command(const struct pl_profile *profile)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    pl_grow_check(out, 1, sizeof *out);
    for (const char **word = profile->argv; *word; word++)
        fprintf(out, "%s%s", word == profile->argv ? "" : " ", *word);
    pl_grow_check(fclose(out) ? NULL : text, bytes, 1);
    char *clean = pl_label_clean(*text ? text : *profile->executable ? profile->executable : profile->comm);
    free(text);
    return clean;
}

char *pl_wording_frame(const struct pl_flat *flat, uint32_t line, uint64_t address, bool brief)
{
    const struct pl_flat_line *at = &flat->line[line];
    const struct pl_flat_function *function = &flat->function[at->function];
    if (function->kind != PL_FLAT_CODE)
        return pl_label_print("%s", function->name);
    const char *file = brief ? basename(function->file) : function->file;
    if (*file)
        return pl_label_print("0x%" PRIX64 ": %s (%s:%" PRIu32 ")", address, function->name, file, at->line);
    const char *module = function->module == PL_FLAT_NONE ? "" : flat->profile->module[function->module].path;
    return pl_label_print("0x%" PRIX64 ": %s (in %s)", address, function->name, *module ? module : "???");
}

uint64_t *pl_wording_addresses(const struct pl_flat *flat)
{
    uint64_t *address = pl_grow_zeroed(flat->lines + 1ull, sizeof *address);
    for (uint32_t i = 0; i < flat->profile->frames; i++) {
        const uint32_t *line;
        uint32_t lines = pl_flat_frame_lines(flat, i, &line);
        for (uint32_t k = 0; k < lines; k++)
            if (!address[line[k]] && flat->function[flat->line[line[k]].function].kind == PL_FLAT_CODE)
                address[line[k]] = flat->profile->frame[i].address;
    }
    return address;
}

/* --- files --- */

struct file_key {
    const struct pl_flat *flat;
    const char *file;
};

static bool is_in_file(const void *context, uint32_t function)
{
    const struct file_key *key = context;
    return !strcmp(key->flat->function[function].file, key->file);
}

uint32_t *pl_wording_files(const struct pl_flat *flat)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_index index = pl_index_new(arena, flat->functions);
    uint32_t *first = pl_grow_zeroed(flat->functions + 1ull, sizeof *first);
    for (uint32_t i = 0; i < flat->functions; i++) {
        struct file_key key = {flat, flat->function[i].file};
        uint32_t *slot = pl_index_find(&index, pl_index_text(1, key.file), 0, is_in_file, &key);
        if (!*slot)
            *slot = i + 1;
        first[i] = *slot - 1;
    }
    pl_arena_free(arena);
    return first;
}

/* --- names --- */

struct pl_wording_names pl_wording_names_new(const struct pl_flat *flat, void (*tame)(char *name))
{
    return (struct pl_wording_names){flat, tame, pl_grow_zeroed(flat->functions + 1ull, sizeof(char *))};
}

void pl_wording_names_free(struct pl_wording_names *names)
{
    for (uint32_t i = 0; i < names->flat->functions; i++)
        free(names->name[i]);
    free(names->name);
}

const char *pl_wording_name(struct pl_wording_names *names, uint32_t line)
{
    uint32_t function = names->flat->line[line].function;
    char **name = &names->name[function];
    if (!*name) {
        *name = pl_label_clean(names->flat->function[function].name);
        if (names->tame)
            names->tame(*name);
    }
    return *name;
}
