/* SPDX-License-Identifier: MIT */
/*
 * debugfile.c - finds the debug information of a stripped binary.
 *
 * In this order: by build-id below the debug directories; by the name in the binary's .gnu_debuglink, where gdb would
 * look for it; from a server. A file is accepted only if it belongs to the binary: its build-id is the same or, if the
 * binary has none, its checksum is the one in .gnu_debuglink.
 */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "reader/symbols/symbolize_work.h"

#define DEBUG_PATH "/usr/lib/debug"

/* What a debug file must match. */
struct wanted {
    const struct pl_elf_options *options;
    const char *build_id; /* "" if the binary has none */
    GElf_Word checksum;   /* compared if there is no build-id */
};

static bool has_checksum(const struct pl_binary *file, GElf_Word checksum)
{
    size_t bytes;
    const char *image = elf_rawfile(file->elf, &bytes);
    return image && (GElf_Word) crc32_z(0, (const unsigned char *) image, bytes) == checksum;
}

static bool belongs(const struct wanted *wanted, const struct pl_binary *file)
{
    char build_id[PL_BUILD_ID_TEXT];
    if (!wanted->build_id[0])
        return has_checksum(file, wanted->checksum);
    pl_binary_build_id(file, build_id);
    return strcmp(build_id, wanted->build_id) == 0;
}

static int accept_file(const struct wanted *wanted, struct pl_binary file, struct pl_binary *out)
{
    if (belongs(wanted, &file)) {
        *out = file;
        return 0;
    }
    pl_binary_close(&file);
    return -ENOENT;
}

/* Tries the path below the given sysroot, if any, and then below our own root. */
__attribute__((format(printf, 3, 4))) static int try_path(const struct wanted *wanted, struct pl_binary *out,
                                                          const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t) length >= sizeof path)
        return -ENAMETOOLONG;
    struct pl_binary file;
    const char *sysroot = wanted->options->sysroot;
    if (sysroot && pl_binary_open(path, sysroot, &file) == 0 && accept_file(wanted, file, out) == 0)
        return 0;
    return pl_binary_open(path, NULL, &file) == 0 ? accept_file(wanted, file, out) : -ENOENT;
}

/* Calls `attempt` for each debug directory until one succeeds. */
static int each_directory(const struct wanted *wanted, const char *name, struct pl_binary *out,
                          int (*attempt)(const struct wanted *wanted, const char *directory, const char *name,
                                         struct pl_binary *out))
{
    const char *rest = wanted->options->debug_path ? wanted->options->debug_path : DEBUG_PATH;
    char directory[PATH_MAX];
    while (*rest) {
        size_t bytes = strcspn(rest, ":");
        if (bytes > 0 && bytes < sizeof directory) {
            memcpy(directory, rest, bytes);
            directory[bytes] = '\0';
            if (attempt(wanted, directory, name, out) == 0)
                return 0;
        }
        rest += bytes + (rest[bytes] == ':');
    }
    return -ENOENT;
}

static int try_build_id(const struct wanted *wanted, const char *directory, const char *build_id, struct pl_binary *out)
{
    return try_path(wanted, out, "%s/.build-id/%.2s/%s.debug", directory, build_id, build_id + 2);
}

static int ask_server(const struct wanted *wanted, struct pl_binary *out)
{
    struct pl_binary file;
    if (!wanted->options->server || !wanted->build_id[0] ||
        pl_debuginfod_find(wanted->options->server, wanted->build_id, &file) != 0)
        return -ENOENT;
    return accept_file(wanted, file, out);
}

static int find_local_build_id(const struct wanted *wanted, struct pl_binary *out)
{
    if (strlen(wanted->build_id) < 4)
        return -ENOENT;
    return each_directory(wanted, wanted->build_id, out, try_build_id);
}

int pl_debugfile_find_build_id(const char *build_id, const struct pl_elf_options *options, struct pl_binary *out)
{
    struct wanted wanted = {.options = options, .build_id = build_id};
    return find_local_build_id(&wanted, out) == 0 ? 0 : ask_server(&wanted, out);
}

/* The directory of the binary itself, not of a link to it. */
static bool directory_of(const char *path, const char *sysroot, char out[PATH_MAX])
{
    if (sysroot && sysroot[0])
        snprintf(out, PATH_MAX, "%s", path);
    else if (!realpath(path, out))
        return false;
    char *slash = strrchr(out, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static int try_linked(const struct wanted *wanted, const char *directory, const char *name, struct pl_binary *out)
{
    return try_path(wanted, out, "%s/%s", directory, name);
}

static int find_link(struct wanted *wanted, const struct pl_binary *main, const char *path, struct pl_binary *out)
{
    char directory[PATH_MAX], below[PATH_MAX + NAME_MAX + 2];
    const char *name = dwelf_elf_gnu_debuglink(main->elf, &wanted->checksum);
    if (!name || !name[0] || strchr(name, '/') || strlen(name) > NAME_MAX ||
        !directory_of(path, wanted->options->sysroot, directory))
        return -ENOENT;
    if (try_path(wanted, out, "%s/%s", directory, name) == 0 ||
        try_path(wanted, out, "%s/.debug/%s", directory, name) == 0)
        return 0;
    snprintf(below, sizeof below, "%s/%s", directory[0] == '/' ? directory + 1 : directory, name);
    return each_directory(wanted, below, out, try_linked);
}

int pl_debugfile_find(const struct pl_binary *main, const char *path, const struct pl_elf_options *options,
                      struct pl_binary *out)
{
    char build_id[PL_BUILD_ID_TEXT];
    pl_binary_build_id(main, build_id);
    struct wanted wanted = {.options = options, .build_id = build_id};
    if (find_local_build_id(&wanted, out) == 0 || find_link(&wanted, main, path, out) == 0)
        return 0;
    return ask_server(&wanted, out);
}

void pl_debugfile_find_alternate(Dwarf *dwarf, const struct pl_elf_options *options, struct pl_binary *out)
{
    const char *name;
    const void *id;
    ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
    if (bytes <= 0 || bytes > PL_BUILD_ID_MAX || dwarf_getalt(dwarf))
        return;
    char build_id[PL_BUILD_ID_TEXT];
    for (ssize_t i = 0; i < bytes; i++)
        snprintf(build_id + 2 * i, 3, "%02x", ((const unsigned char *) id)[i]);
    pl_debugfile_find_build_id(build_id, options, out);
}
