/* SPDX-License-Identifier: MIT */
/*
 * target.c - inspects the program before it runs.
 *
 * Preloading and --glibc both fail silently: static, setuid and foreign programs ignore LD_PRELOAD, and a glibc that is
 * not used, or whose malloc is not used, cannot report that. So we inspect the file that will be executed, or the
 * interpreter of a script.
 */
#include "cli/run/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/run/allocator.h"
#include "cli/run/enclose.h"
#include "cli/run/glibc.h"
#include "cli/say.h"
#include "format/settings.h"

#define SAME_MACHINE "build it, or Plimsoll, for the same machine"

/* The messages that --glibc and --glibc-tree share. */
/* clang-format off */
#define INSIDE_GLIBC(option)                                                                                           \
    [PL_OBSTACLE_SECURE] = {.is = "is setuid, setgid or has file capabilities, so the profiler stays off",             \
                            .advice = "profile a copy without them (cp drops them), or run it as its owner"},          \
    [PL_OBSTACLE_CLASS] = {.is = "is a 32-bit program, and the glibc with the profiler inside is 64-bit",              \
                           .advice = "build it for 64 bits"},                                                          \
    [PL_OBSTACLE_MACHINE] = {.is = "is built for another machine", .advice = SAME_MACHINE},                            \
    [PL_OBSTACLE_LIBC] = {.is = "uses a C library other than glibc (its loader is not glibc's)",                       \
                          .advice = "build it against glibc"},                                                         \
    [PL_OBSTACLE_OWN_MALLOC] = {.is = "defines malloc itself (an allocator is linked in), so glibc's is not used",     \
                                .advice = "link the allocator as a shared library, and profile it without " option},   \
    [PL_OBSTACLE_HIDDEN_MALLOC] = {.is = "has an allocator linked in, so only its libraries' allocations are seen",    \
                                   .advice = "link the allocator as a shared library, and profile it without " option},\
    [PL_OBSTACLE_PREFIXED] = {.is = "has an allocator linked in; calls that go directly to it are not seen:",          \
                              .advice = "build it so that it calls malloc"},                                           \
    [PL_OBSTACLE_SANITIZER] = {.is = "has a sanitizer linked in (-fsanitize), whose malloc it uses",                   \
                               .advice = "build it without the sanitizer"},                                            \
    [PL_OBSTACLE_ALLOCATOR] = {.is = "does not use glibc's malloc but that of",                                        \
                               .advice = "profile it without " option}
/* clang-format on */

static const struct words {
    const char *is, *advice;
    const char *topic; /* of `help`, with more on this; NULL: none */
} words[PL_WAY_COUNT][PL_OBSTACLE_COUNT] = {
    [PL_WAY_PRELOAD] =
        {
            [PL_OBSTACLE_STATIC] = {.is = "is statically linked, so it cannot be preloaded",
                                    .advice = "link the profiler in, with pkg-config --libs plimsoll-static",
                                    .topic = "static"},
            [PL_OBSTACLE_SECURE] = {.is =
                                        "is setuid, setgid or has file capabilities, so the loader ignores LD_PRELOAD",
                                    .advice = "profile a copy without them (cp drops them), or run it as its owner"},
            [PL_OBSTACLE_CLASS] = {.is = "is a 32-bit program, and libplimsoll.so is 64-bit",
                                   .advice = "build it for 64 bits"},
            [PL_OBSTACLE_MACHINE] = {.is = "is built for another machine", .advice = SAME_MACHINE},
            [PL_OBSTACLE_LIBC] = {.is = "uses a C library other than glibc and musl (its loader is neither's)",
                                  .advice = "build it against glibc or musl"},
            [PL_OBSTACLE_OWN_MALLOC] =
                {.is = "defines malloc itself (an allocator is linked in), which Plimsoll could not hook",
                 .advice = "link the allocator as a shared library, or preload it: LD_PRELOAD=libjemalloc.so.2"},
            [PL_OBSTACLE_HIDDEN_MALLOC] = {.is = "has an allocator linked in, which Plimsoll could not hook",
                                           .advice = "link the allocator as a shared library, or preload it",
                                           .topic = "nothing"},
            [PL_OBSTACLE_PREFIXED] = {.is = "has an allocator linked in, which Plimsoll could not hook:",
                                      .advice = "build it so that it calls malloc (redis: make MALLOC=libc)"},
            [PL_OBSTACLE_SANITIZER] =
                {.is = "has a sanitizer linked in (-fsanitize), and Plimsoll does not see calls of its malloc",
                 .advice = "build it without the sanitizer; clang's AddressSanitizer also works as a shared library: "
                           "-shared-libsan"},
        },
    [PL_WAY_LOADER] =
        {
            [PL_OBSTACLE_STATIC] = {.is = "is static, and not linked with the libc.a that has the profiler inside",
                                    .advice = "link it with that libc.a",
                                    .topic = "static"},
            INSIDE_GLIBC("--glibc"),
            [PL_OBSTACLE_UNREADABLE] = {.is = "may be executed but not read, and the loader has to read it",
                                        .advice = "use --glibc-tree, or profile it without --glibc"},
        },
    [PL_WAY_TREE] =
        {
            [PL_OBSTACLE_STATIC] =
                {.is = "is static, and not linked with the libc.a that has the profiler inside, so only the programs "
                       "that it starts are profiled",
                 .advice = "link it with that libc.a",
                 .topic = "static"},
            INSIDE_GLIBC("--glibc-tree"),
            [PL_OBSTACLE_LOADER] =
                {.is = "is not profiled itself, only the programs that it starts, because it uses its own loader,",
                 .advice = "use --glibc, or profile it without --glibc-tree"},
        },
};

/* --- inspection --- */

static bool is_secure(const char *path)
{
    struct stat status;
    if (stat(path, &status) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return false;
    if (status.st_mode & S_ISUID && status.st_uid != getuid())
        return true;
    if (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool find_segment(Elf *elf, GElf_Word type, GElf_Phdr *out)
{
    size_t count;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int) i, out) && out->p_type == type)
            return true;
    return false;
}

static char *read_loader(Elf *elf, const char *raw, size_t raw_bytes)
{
    GElf_Phdr header;
    if (!find_segment(elf, PT_INTERP, &header) || header.p_offset >= raw_bytes ||
        header.p_filesz > raw_bytes - header.p_offset)
        return NULL;
    return strndup(raw + header.p_offset, header.p_filesz);
}

static bool section_defines(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *function)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = header->sh_entsize && data ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int) i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            symbol.st_shndx == SHN_UNDEF)
            continue; /* the binding does not matter: linking makes hidden functions local */
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name && !strcmp(name, function))
            return true;
    }
    return false;
}

/* Does a symbol table of this kind define the function? */
static bool defines(Elf *elf, GElf_Word table, const char *function)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && header.sh_type == table &&
            section_defines(elf, section, &header, function))
            return true;
    }
    return false;
}

/* Does it need libc.so.6, a name that only glibc has? */
static bool needs_glibc(Elf *elf)
{
    GElf_Dyn entry;
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        Elf_Data *data =
            gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC ? elf_getdata(section, NULL) : NULL;
        for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
            const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : NULL;
            if (name && !strcmp(name, "libc.so.6"))
                return true;
        }
    }
    return false;
}

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

/* The loader itself has no loader, but honours LD_PRELOAD for the program that it runs. */
static bool is_loader(const char *path)
{
    return !strncmp(basename(path), "ld-", 3);
}

/* Is libplimsoll.a linked in? Its code has a section of its own, which strip leaves alone. */
static bool has_runtime(Elf *elf)
{
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names))
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && !strcmp(name, "pl_text"))
            return true;
    }
    return false;
}

static enum pl_obstacle inspect_static(struct pl_target *target, Elf *elf)
{
    target->inside = pl_glibc_inside(elf);
    bool served = target->way == PL_WAY_PRELOAD ? has_runtime(elf) : target->inside;
    GElf_Phdr header;
    target->shallow = served && !find_segment(elf, PT_GNU_EH_FRAME, &header);
    return served || is_loader(target->program.binary) ? PL_OBSTACLE_NONE : PL_OBSTACLE_STATIC;
}

/* Judges by the loader that the program names. With --glibc another loader runs it, so needing libc.so.6 is enough. */
static bool is_for_glibc(const struct pl_target *target, Elf *elf)
{
    return strstr(target->loader, "ld-linux") || strstr(target->loader, "ld-2.") ||
           (target->way != PL_WAY_PRELOAD && needs_glibc(elf));
}

/* libplimsoll.so serves both C libraries; the profiler inside glibc only its own. */
static bool is_served(const struct pl_target *target, Elf *elf)
{
    return is_for_glibc(target, elf) || (target->way == PL_WAY_PRELOAD && strstr(target->loader, "ld-musl"));
}

static bool defines_anywhere(Elf *elf, const char *function)
{
    return defines(elf, SHT_DYNSYM, function) || defines(elf, SHT_SYMTAB, function);
}

static bool is_sanitized(Elf *elf)
{
    static const char *const starts[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init", "__hwasan_init"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (defines_anywhere(elf, starts[i]))
            return true;
    return false;
}

/* The malloc of an allocator that is linked in under names of its own. NULL: there is none. */
static const char *find_prefixed(Elf *elf)
{
    static const char *const names[] = {PL_LINKED_MALLOCS};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (defines_anywhere(elf, names[i]))
            return names[i];
    return NULL;
}

/* CPython has mimalloc for its objects, and uses it only if it is told to. */
static bool is_python(Elf *elf)
{
    return defines_anywhere(elf, "_PyMem_MiMalloc");
}

static bool has_allocator(Elf *elf)
{
    if (defines(elf, SHT_DYNSYM, "malloc") || is_python(elf) || has_runtime(elf))
        return false;
    return find_prefixed(elf) || (defines(elf, SHT_SYMTAB, "malloc") && !is_sanitized(elf));
}

bool pl_target_has_allocator(const char *binary)
{
    int fd = open(binary, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool has = elf && elf_kind(elf) == ELF_K_ELF && has_allocator(elf);
    elf_end(elf);
    close(fd);
    return has;
}

static enum pl_obstacle inspect_dynamic(struct pl_target *target, Elf *elf)
{
    if (!is_served(target, elf))
        return PL_OBSTACLE_LIBC;
    if (target->way == PL_WAY_TREE && !pl_enclose_covers(target->loader))
        return PL_OBSTACLE_LOADER;
    bool exported = defines(elf, SHT_DYNSYM, "malloc");
    if (!exported && !defines(elf, SHT_SYMTAB, "malloc")) {
        target->prefixed = find_prefixed(elf);
        return target->prefixed ? PL_OBSTACLE_PREFIXED : PL_OBSTACLE_NONE;
    }
    if (is_sanitized(elf))
        return PL_OBSTACLE_SANITIZER;
    return exported ? PL_OBSTACLE_OWN_MALLOC : PL_OBSTACLE_HIDDEN_MALLOC;
}

static enum pl_obstacle inspect_elf(struct pl_target *target, Elf *elf)
{
    GElf_Ehdr header;
    size_t raw_bytes;
    const char *raw = elf_rawfile(elf, &raw_bytes);
    if (!raw || !gelf_getehdr(elf, &header))
        return PL_OBSTACLE_NONE;
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return PL_OBSTACLE_CLASS;
    if (header.e_machine != OUR_MACHINE)
        return PL_OBSTACLE_MACHINE;
    target->loader = read_loader(elf, raw, raw_bytes);
    return target->loader ? inspect_dynamic(target, elf) : inspect_static(target, elf);
}

static enum pl_obstacle inspect_file(struct pl_target *target)
{
    enum pl_obstacle obstacle = PL_OBSTACLE_NONE;
    int fd = open(target->program.binary, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return target->way == PL_WAY_LOADER && errno == EACCES ? PL_OBSTACLE_UNREADABLE : PL_OBSTACLE_NONE;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        obstacle = inspect_elf(target, elf);
    elf_end(elf);
    close(fd);
    return obstacle;
}

/* In musl the C library and its loader are one file, with two names. */
static bool is_libc(const char *name)
{
    return !strcmp(name, "libc.so.6") || !strcmp(name, "libc.so") || !strncmp(name, "ld-musl", strlen("ld-musl"));
}

/* The preloaded library hooks any malloc; the profiler inside glibc sees only glibc's. */
static enum pl_obstacle inspect_allocator(struct pl_target *target)
{
    struct pl_allocator allocator = pl_allocator_find(target->loader, target->program.binary);
    bool libc = !allocator.library || is_libc(basename(allocator.library));
    target->new = allocator.new;
    target->asan = !libc && (!strncmp(basename(allocator.library), "libasan.", 8) ||
                             !strncmp(basename(allocator.library), "libclang_rt.asan", 16));
    if (!libc)
        target->allocator = allocator.library;
    else
        free(allocator.library);
    return libc || target->way == PL_WAY_PRELOAD ? PL_OBSTACLE_NONE : PL_OBSTACLE_ALLOCATOR;
}

struct pl_target pl_target_inspect(char *const *argv, enum pl_way way)
{
    struct pl_target target = {.way = way, .program = pl_program_find(argv)};
    if (!target.program.binary)
        return target;
    target.obstacle = inspect_file(&target);
    bool secure = is_secure(target.program.binary);
    target.demoted = secure && way == PL_WAY_LOADER && target.loader;
    if (target.obstacle == PL_OBSTACLE_NONE && secure && !target.demoted)
        target.obstacle = PL_OBSTACLE_SECURE;
    if (target.loader && target.obstacle != PL_OBSTACLE_OWN_MALLOC && !pl_target_blocked(&target)) {
        enum pl_obstacle obstacle = inspect_allocator(&target);
        target.obstacle = target.obstacle ? target.obstacle : obstacle;
    }
    return target;
}

void pl_target_free(struct pl_target *target)
{
    pl_program_free(&target->program);
    free(target->loader);
    free(target->allocator);
}

/* The preloaded library hooks an allocator that is linked in; whether it can is known when it has tried. */
bool pl_target_blocked(const struct pl_target *target)
{
    return target->obstacle != PL_OBSTACLE_NONE && target->obstacle != PL_OBSTACLE_HIDDEN_MALLOC &&
           target->obstacle != PL_OBSTACLE_PREFIXED &&
           !(target->obstacle == PL_OBSTACLE_OWN_MALLOC && target->way == PL_WAY_PRELOAD);
}

bool pl_target_refused(const struct pl_target *target)
{
    static const bool refused[PL_OBSTACLE_COUNT] = {
        [PL_OBSTACLE_STATIC] = true, [PL_OBSTACLE_CLASS] = true,      [PL_OBSTACLE_MACHINE] = true,
        [PL_OBSTACLE_LIBC] = true,   [PL_OBSTACLE_UNREADABLE] = true,
    };
    return target->way == PL_WAY_LOADER && refused[target->obstacle];
}

char *pl_target_why(const struct pl_target *target)
{
    if (target->obstacle == PL_OBSTACLE_NONE)
        return NULL;
    const char *which = target->obstacle == PL_OBSTACLE_ALLOCATOR  ? target->allocator
                        : target->obstacle == PL_OBSTACLE_LOADER   ? target->loader
                        : target->obstacle == PL_OBSTACLE_PREFIXED ? target->prefixed
                                                                   : NULL;
    return pl_say_print("%s %s%s%s", target->program.binary, words[target->way][target->obstacle].is, which ? " " : "",
                        which ? which : "");
}

char *pl_target_advice(const struct pl_target *target)
{
    const struct words *found = &words[target->way][target->obstacle];
    if (target->obstacle == PL_OBSTACLE_NONE)
        return NULL;
    if (target->obstacle == PL_OBSTACLE_STATIC && target->inside)
        return pl_say_print("its glibc has the profiler inside: add --glibc");
    return found->topic ? pl_say_print("%s; see `%s help %s`", found->advice, pl_say_self(), found->topic)
                        : pl_say_print("%s", found->advice);
}
