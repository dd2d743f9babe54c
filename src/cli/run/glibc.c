/* SPDX-License-Identifier: MIT */
/*
 * glibc.c - the glibc with the profiler inside.
 *
 * Its libc.so.6 is recognised by an ELF note: a glibc that was built for comparison looks the same otherwise and would
 * record nothing. The file SOURCE gives the release. Libraries of different releases do not mix, so if the release is
 * not the system's, all of glibc's libraries must be there.
 */
#include "cli/run/glibc.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/about.h"
#include "cli/run/library.h"
#include "cli/run/loads.h"
#include "cli/say.h"
#include "cli/setting.h"

#define NOTE_NAME "Plimsoll"
#define NOTE_TYPE 1

#if defined(__x86_64__)
#define LOADER "ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "ld-linux-aarch64.so.1"
#endif

#define NEXT_STEP "build one with `make glibc`, or give its directory with --glibc-dir DIR"

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
        pl_say("there is no glibc with the profiler inside, neither in %s/glibc nor in " PL_ABOUT_LIBRARIES
               "/glibc; " NEXT_STEP,
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

/* --library-path overrides LD_LIBRARY_PATH, so it must include it. The loader adds its default paths itself. */
static char *library_path(const char *libraries)
{
    const char *asked = getenv("LD_LIBRARY_PATH");
    bool more = asked && *asked;
    return pl_say_print("%s%s%s", libraries, more ? ":" : "", more ? asked : "");
}

/* The directory of a file. The caller frees it. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int bytes = slash ? (int) (slash - path) : 1;
    return pl_say_print("%.*s", bytes ? bytes : 1, slash ? path : ".");
}

static bool is_in(const char *path, const char *directory)
{
    char *own = directory_of(path);
    bool same = !strcmp(own, directory);
    free(own);
    return same;
}

/*
 * The binary as an argument of the loader. Normally $ORIGIN is the directory of the file that the kernel has opened,
 * but a loader that is executed directly uses the path that it was given. So a link into another directory is resolved.
 * `./` is added to a name without a slash, which the loader would search among the libraries, and to one that begins
 * with a dash, which would be an option.
 */
static char *file_of(const char *binary)
{
    char *directory = directory_of(binary);
    char *around = realpath(directory, NULL), *itself = realpath(binary, NULL);
    bool elsewhere = around && itself && !is_in(itself, around);
    free(around);
    free(directory);
    if (elsewhere)
        return itself;
    free(itself);
    return pl_say_print("%s%s", strchr(binary, '/') && *binary != '-' ? "" : "./", binary);
}

static char **append(char **words, char *const *more)
{
    char **longer = pl_program_join(words, more);
    pl_program_free_words(words);
    return longer;
}

/* `libraries` is the glibc's library directory, as a path without separators of a list. */
static char **command_with(const struct pl_glibc *glibc, const char *libraries,
                           const struct pl_program_command *program, char *const *options)
{
    char *path = library_path(libraries), *file = file_of(program->binary);
    char *front[] = {glibc->loader, "--library-path", path, NULL};
    char *rear[] = {"--argv0", program->argv[0], file, NULL};
    char **command = append(append(pl_program_join(front, options), rear), program->argv + 1);
    free(file);
    free(path);
    return command;
}

struct libc_search {
    const struct pl_glibc *glibc;
    char *foreign; /* a libc.so.6 that is not the glibc's own */
};

static bool same_file(const char *one, const char *other)
{
    struct stat a, b;
    return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void consider(void *context, const char *path)
{
    struct libc_search *search = context;
    if (!search->foreign && !strcmp(basename(path), "libc.so.6") && !same_file(path, search->glibc->libc))
        search->foreign = pl_say_print("%s", path);
}

/* The libc.so.6 that the command would load instead of ours; NULL: it loads ours. The caller frees it. */
static char *find_foreign(const struct pl_glibc *glibc, char **command)
{
    struct libc_search search = {glibc, NULL};
    char **list = pl_program_join((char *[]){command[0], "--list", NULL}, command + 1);
    pl_loads(list, consider, &search);
    pl_program_free_words(list);
    return search.foreign;
}

/*
 * A program with the path of the system's libraries in its DT_RPATH finds its libc.so.6 there, whatever --library-path
 * says, and a loader crashes with another glibc's libc. In that case ours is preloaded; but only then, because it would
 * come before libraries that replace its functions: allocators, sanitizers.
 */
static char **find_command(const struct pl_glibc *glibc, const char *libraries,
                           const struct pl_program_command *program)
{
    char **command = command_with(glibc, libraries, program, (char *[]){NULL});
    char *foreign = find_foreign(glibc, command);
    if (!foreign)
        return command;
    pl_program_free_words(command);
    free(foreign);
    char *libc = pl_say_print("%s/libc.so.6", libraries);
    command = command_with(glibc, libraries, program, (char *[]){"--preload", libc, NULL});
    free(libc);
    foreign = find_foreign(glibc, command);
    if (!foreign)
        return command;
    pl_say("cannot run %s with --glibc: its RPATH or LD_PRELOAD loads %s, which does not work with another glibc's "
           "loader; use --glibc-tree",
           program->binary, foreign);
    pl_program_free_words(command);
    free(foreign);
    return NULL;
}

char **pl_glibc_command(const struct pl_glibc *glibc, const struct pl_program_command *program)
{
    char *libraries = pl_library_listable(glibc->libraries);
    if (!libraries) {
        pl_say("cannot use the glibc in %s: its path must not contain a blank, colon, semicolon or dollar sign, and "
               "there is no safe place for a link; move it",
               glibc->directory);
        return NULL;
    }
    char **command = find_command(glibc, libraries, program);
    free(libraries);
    return command;
}

/* --- the name of the process --- */

char *pl_glibc_call(const struct pl_glibc *glibc, const struct pl_program_command *program, const char *directory)
{
    char *names = pl_say_print("%s/.called", directory);
    char *link = pl_say_print("%s/%s", names, basename(program->called));
    bool made = !mkdir(names, 0700) && !symlink(glibc->loader, link) && !access(link, X_OK);
    free(names);
    if (made)
        return link;
    pl_glibc_uncall(link);
    return NULL;
}

void pl_glibc_uncall(char *link)
{
    if (!link)
        return;
    unlink(link);
    *strrchr(link, '/') = 0;
    rmdir(link);
    free(link);
}
