/* SPDX-License-Identifier: MIT */
/*
 * glibc.c - the glibc with the profiler inside.
 *
 * A directory is taken for one only if its libc.so.6 says so itself, by a note; a glibc built for comparison looks the
 * same from outside and would record nothing. Which release it is, SOURCE says: files of different releases do not mix,
 * so where it is not the system's, all of glibc's libraries have to be there.
 */
#include "glibc.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "about.h"
#include "library.h"
#include "say.h"
#include "setting.h"

#define NOTE_NAME "Plimsoll"
#define NOTE_TYPE 1

#if defined(__x86_64__)
#define LOADER "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "ld-linux-aarch64.so.1"
#endif

#define NEXT_STEP "`make glibc` builds one, --glibc-dir DIR says where it is"

/* --- is it one? --- */

static bool has_note(Elf_Data *data)
{
    GElf_Nhdr note;
    size_t name_at, content_at;
    for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name_at, &content_at)) > 0;)
        if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof NOTE_NAME &&
            !memcmp((const char *) data->d_buf + name_at, NOTE_NAME, sizeof NOTE_NAME))
            return true;
    return false;
}

bool pl_glibc_inside(Elf *elf)
{
    size_t count;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int) i, &header) || header.p_type != PT_NOTE)
            continue;
        Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
        if (has_note(elf_getdata_rawchunk(elf, (int64_t) header.p_offset, header.p_filesz, type)))
            return true;
    }
    return false;
}

static bool is_inside(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool inside = elf && pl_glibc_inside(elf);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return inside;
}

static bool read_release(struct pl_glibc *glibc)
{
    char line[256], *path = pl_say_print("%s/SOURCE", glibc->directory);
    FILE *source = fopen(path, "re");
    while (source && !*glibc->release && fgets(line, sizeof line, source))
        sscanf(line, "release %15s", glibc->release);
    if (source)
        fclose(source);
    free(path);
    return *glibc->release;
}

bool pl_glibc_is_systems(const struct pl_glibc *glibc)
{
    return !strcmp(glibc->release, gnu_get_libc_version());
}

static bool is_complete(const struct pl_glibc *glibc)
{
    char *other = pl_say_print("%s/libm.so.6", glibc->libraries);
    bool complete = pl_glibc_is_systems(glibc) || !access(other, R_OK);
    free(other);
    return complete;
}

/* What is wrong with the directory; NULL: nothing. The caller frees it. */
static char *find_fault(struct pl_glibc *glibc)
{
    if (access(glibc->libc, R_OK))
        return pl_say_print("%s: %s; " NEXT_STEP, glibc->libc, strerror(errno));
    if (access(glibc->loader, X_OK))
        return pl_say_print("%s: %s; " NEXT_STEP, glibc->loader, strerror(errno));
    if (!is_inside(glibc->libc))
        return pl_say_print("%s is a glibc without the profiler; " NEXT_STEP, glibc->libc);
    if (!read_release(glibc))
        return pl_say_print("%s/SOURCE does not say which release it is; " NEXT_STEP, glibc->directory);
    if (!is_complete(glibc))
        return pl_say_print("it is glibc %s without its other libraries, and this system has %s; `make glibc "
                            "RELEASE=%s` builds them, too",
                            glibc->release, gnu_get_libc_version(), glibc->release);
    if (strpbrk(glibc->libraries, ":;"))
        return pl_say_print("a path with a colon or a semicolon cannot be given to a loader; move it");
    return NULL;
}

/* --- where is it? --- */

static char *last_found; /* see pl_glibc_libraries() */

static struct pl_glibc describe(char *directory)
{
    return (struct pl_glibc){
        .directory = directory,
        .libraries = pl_say_print("%s/lib", directory),
        .loader = pl_say_print("%s/lib/" LOADER, directory),
        .libc = pl_say_print("%s/lib/libc.so.6", directory),
    };
}

static bool take(char *directory, struct pl_glibc *out)
{
    *out = describe(directory);
    char *fault = find_fault(out);
    if (fault) {
        pl_say("cannot use the glibc in %s: %s", directory, fault);
        pl_glibc_free(out);
    } else {
        free(last_found);
        last_found = pl_say_print("%s", out->libraries);
    }
    free(fault);
    return !fault;
}

bool pl_glibc_find(const char *named, struct pl_glibc *out)
{
    char *directory = named ? realpath(named, NULL) : pl_library_beside("glibc");
    if (directory)
        return take(directory, out);
    char *own = pl_library_own_directory();
    if (named)
        pl_say("cannot use the glibc in %s: %m; " NEXT_STEP, named);
    else
        pl_say("there is no glibc with the profiler inside, neither in %s/glibc nor in " PL_ABOUT_PREFIX
               "/lib/plimsoll/glibc; " NEXT_STEP,
               own);
    free(own);
    return false;
}

void pl_glibc_free(struct pl_glibc *glibc)
{
    free(glibc->directory);
    free(glibc->libraries);
    free(glibc->loader);
    free(glibc->libc);
    *glibc = (struct pl_glibc){0};
}

const char *pl_glibc_libraries(void)
{
    if (last_found)
        return last_found;
    const char *named = getenv(PL_GLIBC_VARIABLE);
    char *directory = named && *named ? realpath(named, NULL) : pl_library_beside("glibc");
    last_found = directory ? pl_say_print("%s/lib", directory) : NULL;
    free(directory);
    return last_found;
}

/* --- how is it used? --- */

/* --library-path takes the place of the variable, for this program; what it finds besides the loader knows itself. */
static char *library_path(const struct pl_glibc *glibc)
{
    const char *asked = getenv("LD_LIBRARY_PATH");
    bool more = asked && *asked;
    return pl_say_print("%s%s%s", glibc->libraries, more ? ":" : "", more ? asked : "");
}

/* A name without a slash would be looked for among the libraries, and one with a dash in front be an option. */
static char *spell_out(const char *binary)
{
    return pl_say_print("%s%s", strchr(binary, '/') && *binary != '-' ? "" : "./", binary);
}

char **pl_glibc_command(const struct pl_glibc *glibc, const struct pl_program *program)
{
    char *path = library_path(glibc), *binary = spell_out(program->binary);
    char *front[] = {glibc->loader, "--library-path", path, "--argv0", program->argv[0], binary, NULL};
    char **command = pl_program_join(front, program->argv + 1);
    free(binary);
    free(path);
    return command;
}
