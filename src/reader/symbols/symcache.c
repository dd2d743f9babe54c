/* SPDX-License-Identifier: MIT */
/*
 * symcache.c - see symcache.h.
 *
 * A file is one entry:
 *
 *   header ─ identity ─ answers, sorted by address ─ places ─ texts, each with its terminator
 *
 * It is written to a temporary file and renamed, so readers see the old entry or the whole new one. If two commands
 * write at once, one of them wins, and what the other has found is found again some day. An entry's time of change is
 * its last use.
 *
 * Files are read, not mapped: somebody may truncate them. The checksum finds damage, not malice, so every number in the
 * file is checked before it is used.
 */
#include "reader/symbols/symcache.h"

#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "reader/base/grow.h"
#include "reader/base/index.h"

#define MAGIC "PLIMSYMS"
#define VERSION 1u
#define SUFFIX ".symbols"
#define TEMPORARY ".new-"
#define TEMPORARY_S 3600 /* an older temporary file is of a command that was killed */
#define HEX "0123456789abcdef"
#define MAKER_BYTES 128

struct header {
    char magic[8];
    uint32_t version;
    uint32_t checksum;       /* of the bytes from `identity_bytes` to the end */
    uint32_t identity_bytes; /* a multiple of 8, padded with zeros */
    uint32_t answers;
    uint32_t places;
    uint32_t texts_bytes;
    uint32_t dwarf; /* enum dwarf */
    uint32_t zero;
};
#define CHECKED_FROM offsetof(struct header, identity_bytes)

enum dwarf { DWARF_UNKNOWN, DWARF_ABSENT, DWARF_PRESENT };

struct answer {
    uint64_t address;
    uint32_t place; /* the first of them */
    uint32_t places;
};

struct stored_place {
    uint32_t function, linkage, file; /* offsets of texts */
    uint32_t line, column;
    uint32_t inlined;
};

struct pl_symcache {
    int fd; /* the directory */
    uint64_t bytes_max;
    bool written;
    char maker[MAKER_BYTES]; /* part of every identity */
};

/* An answer that is not in the file yet. */
struct addition {
    uint64_t address;
    uint32_t places;
    struct pl_place *place;
};

struct pl_symcache_entry {
    char name[NAME_MAX + 1];
    char *identity; /* padded with zeros to identity_bytes */
    uint32_t identity_bytes;
    struct pl_arena *arena;

    /* As read; 0 if there was no file. */
    uint32_t answers, places, texts_bytes;
    const struct answer *answer;
    const struct stored_place *place;
    const char *texts;

    enum dwarf dwarf;
    bool changed;
    struct addition *addition;
    uint32_t additions, capacity;
};

/* --- who asks --- */

/* The build-id of the running program, from its notes. */
static int find_own_build_id(struct dl_phdr_info *info, size_t bytes, void *context)
{
    char *out = context;
    (void) bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        const char *note = (const char *) info->dlpi_addr + header->p_vaddr, *end = note + header->p_memsz;
        while (header->p_type == PT_NOTE && end - note > (ptrdiff_t) sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *head = (const void *) note;
            const char *name = note + sizeof *head, *value = name + (head->n_namesz + 3) / 4 * 4;
            if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
                for (unsigned byte = 0; byte < head->n_descsz && byte < 20; byte++)
                    sprintf(out + 2 * byte, "%02x", (unsigned char) value[byte]);
                return 1;
            }
            note = value + (head->n_descsz + 3) / 4 * 4;
        }
    }
    return 1; /* the program itself comes first */
}

/* Another build of Plimsoll, or another libdw, may answer differently. False: we cannot tell which build we are. */
static bool name_maker(char out[MAKER_BYTES])
{
    char build_id[2 * 20 + 1] = "";
    dl_iterate_phdr(find_own_build_id, build_id);
    snprintf(out, MAKER_BYTES, "plimsoll %s, libdw %.64s", build_id, dwfl_version(NULL));
    return build_id[0];
}

/* --- the directory --- */

static bool is_ours(int fd, mode_t denied)
{
    struct stat status;
    return !fstat(fd, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & denied);
}

/* Opens the directory, and makes it if need be. -1: there is none that only we can use. */
static int open_directory(const char *home)
{
    int around = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
    if (around < 0)
        return -1;
    if (is_ours(around, S_IWGRP | S_IWOTH)) {
        mkdirat(around, PL_SYMCACHE_DIRECTORY, 0700);
        fd = openat(around, PL_SYMCACHE_DIRECTORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    close(around);
    if (fd >= 0 && !is_ours(fd, S_IRWXG | S_IRWXO)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

struct pl_symcache *pl_symcache_open(const char *home, uint64_t bytes_max)
{
    char maker[MAKER_BYTES];
    int fd = home && name_maker(maker) ? open_directory(home) : -1;
    if (fd < 0)
        return NULL;
    struct pl_symcache *cache = pl_grow_zeroed(1, sizeof *cache);
    cache->fd = fd;
    cache->bytes_max = bytes_max ? bytes_max : PL_SYMCACHE_BYTES_MAX;
    memcpy(cache->maker, maker, sizeof maker);
    return cache;
}

/* --- the bound --- */

struct file {
    char name[NAME_MAX + 1];
    uint64_t bytes;
    struct timespec used;
};

struct files {
    struct file *file;
    uint32_t count, capacity;
    uint64_t bytes;
};

/* Only files that we have made are counted and removed. */
static bool is_entry(const char *name)
{
    size_t bytes = strlen(name), suffix = strlen(SUFFIX);
    return bytes > suffix && !strcmp(name + bytes - suffix, SUFFIX) && strspn(name, HEX "-") == bytes - suffix;
}

static bool is_temporary(const char *name)
{
    return !strncmp(name, TEMPORARY, strlen(TEMPORARY));
}

static void list_file(const struct pl_symcache *cache, const char *name, struct files *files)
{
    struct stat status;
    if ((!is_entry(name) && !is_temporary(name)) || fstatat(cache->fd, name, &status, AT_SYMLINK_NOFOLLOW))
        return;
    if (is_temporary(name) && status.st_mtime + TEMPORARY_S < time(NULL)) {
        unlinkat(cache->fd, name, 0);
        return;
    }
    files->file = pl_grow(files->file, files->count, &files->capacity, sizeof *files->file);
    struct file *file = &files->file[files->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->bytes = (uint64_t) status.st_size;
    file->used = status.st_mtim;
    files->bytes += file->bytes;
}

static int by_use(const void *left, const void *right)
{
    const struct timespec *a = &((const struct file *) left)->used, *b = &((const struct file *) right)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static void keep_bound(const struct pl_symcache *cache)
{
    struct files files = {0};
    int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        list_file(cache, entry->d_name, &files);
    if (directory)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    if (files.bytes > cache->bytes_max)
        qsort(files.file, files.count, sizeof *files.file, by_use);
    for (uint32_t i = 0; i < files.count && files.bytes > cache->bytes_max; i++) {
        unlinkat(cache->fd, files.file[i].name, 0);
        files.bytes -= files.file[i].bytes;
    }
    free(files.file);
}

void pl_symcache_close(struct pl_symcache *cache)
{
    if (!cache)
        return;
    if (cache->written)
        keep_bound(cache);
    close(cache->fd);
    free(cache);
}

/* --- reading --- */

/* The whole file, in the arena; NULL: none that can be used. */
static const char *read_file(const struct pl_symcache *cache, const char *name, struct pl_arena *arena, size_t *bytes)
{
    struct stat status;
    int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *data = NULL;
    bool fine = !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                !(status.st_mode & (S_IRWXG | S_IRWXO)) && status.st_size >= (off_t) sizeof(struct header) &&
                (uint64_t) status.st_size <= cache->bytes_max && status.st_size <= INT_MAX;
    if (fine) {
        *bytes = (size_t) status.st_size;
        data = pl_arena_alloc(arena, *bytes);
        if (pread(fd, data, *bytes, 0) != (ssize_t) *bytes)
            data = NULL;
        futimens(fd, NULL); /* fails on a read-only file system, where nothing is removed either */
    }
    close(fd);
    return data;
}

static uint32_t checksum_of(const char *data, size_t bytes)
{
    return (uint32_t) crc32_z(0, (const unsigned char *) data + CHECKED_FROM, bytes - CHECKED_FROM);
}

static bool is_sound(const struct pl_symcache_entry *entry, const char *data, size_t bytes)
{
    const struct header *header = (const void *) data;
    if (memcmp(header->magic, MAGIC, sizeof header->magic) || header->version != VERSION ||
        header->identity_bytes != entry->identity_bytes || header->dwarf > DWARF_PRESENT)
        return false;
    uint64_t wanted = sizeof *header + header->identity_bytes + (uint64_t) header->answers * sizeof(struct answer) +
                      (uint64_t) header->places * sizeof(struct stored_place) + header->texts_bytes;
    return wanted == bytes && header->texts_bytes > 0 && !data[bytes - 1] &&
           checksum_of(data, bytes) == header->checksum &&
           !memcmp(data + sizeof *header, entry->identity, entry->identity_bytes);
}

static void take_over(struct pl_symcache_entry *entry, const char *data)
{
    const struct header *header = (const void *) data;
    entry->answers = header->answers;
    entry->places = header->places;
    entry->texts_bytes = header->texts_bytes;
    entry->dwarf = (enum dwarf) header->dwarf;
    entry->answer = (const void *) (data + sizeof *header + header->identity_bytes);
    entry->place = (const void *) (entry->answer + entry->answers);
    entry->texts = (const char *) (entry->place + entry->places);
}

/* "BUILD-ID-HASH.symbols": other files with the same build-id have other entries. */
static void name_entry(struct pl_symcache_entry *entry, const char *build_id)
{
    uint64_t hash = pl_index_text(0x9e3779b97f4a7c15ull, entry->identity);
    snprintf(entry->name, sizeof entry->name, "%.*s-%016llx" SUFFIX, (int) strspn(build_id, HEX), build_id,
             (unsigned long long) hash);
}

struct pl_symcache_entry *pl_symcache_read(struct pl_symcache *cache, const char *identity, struct pl_arena *arena)
{
    struct pl_symcache_entry *entry = pl_grow_zeroed(1, sizeof *entry);
    size_t bytes = strlen(identity) + strlen(cache->maker) + 3;
    entry->identity_bytes = (uint32_t) ((bytes + 7) / 8 * 8);
    entry->identity = pl_grow_zeroed(1, entry->identity_bytes);
    entry->arena = arena;
    snprintf(entry->identity, bytes, "%s; %s", identity, cache->maker);
    name_entry(entry, identity);
    const char *data = read_file(cache, entry->name, arena, &bytes);
    if (data && is_sound(entry, data, bytes))
        take_over(entry, data);
    return entry;
}

/* --- answers --- */

static const char *text_at(const struct pl_symcache_entry *entry, uint32_t offset)
{
    return offset < entry->texts_bytes ? entry->texts + offset : "";
}

static struct pl_place place_at(const struct pl_symcache_entry *entry, uint32_t number)
{
    const struct stored_place *stored = &entry->place[number];
    return (struct pl_place){.function = text_at(entry, stored->function),
                             .linkage = text_at(entry, stored->linkage),
                             .file = text_at(entry, stored->file),
                             .line = stored->line,
                             .column = stored->column,
                             .inlined = stored->inlined != 0};
}

static int by_address(const void *key, const void *item)
{
    uint64_t address = *(const uint64_t *) key, there = ((const struct answer *) item)->address;
    return (address > there) - (address < there);
}

static bool is_in_range(const struct pl_symcache_entry *entry, const struct answer *answer)
{
    return answer->place <= entry->places && answer->places <= entry->places - answer->place;
}

bool pl_symcache_find(const struct pl_symcache_entry *entry, uint64_t address, struct pl_place *out, uint32_t max,
                      uint32_t *places)
{
    const struct answer *answer =
        entry->answers ? bsearch(&address, entry->answer, entry->answers, sizeof *answer, by_address) : NULL;
    if (!answer || answer->places > max || !is_in_range(entry, answer))
        return false;
    for (uint32_t i = 0; i < answer->places; i++)
        out[i] = place_at(entry, answer->place + i);
    *places = answer->places;
    return true;
}

bool pl_symcache_knows_dwarf(const struct pl_symcache_entry *entry, bool *has_dwarf)
{
    *has_dwarf = entry->dwarf == DWARF_PRESENT;
    return entry->dwarf != DWARF_UNKNOWN;
}

void pl_symcache_set_dwarf(struct pl_symcache_entry *entry, bool has_dwarf)
{
    enum dwarf now = has_dwarf ? DWARF_PRESENT : DWARF_ABSENT;
    entry->changed |= entry->dwarf != now;
    entry->dwarf = now;
}

static struct addition *new_addition(struct pl_symcache_entry *entry, uint64_t address, uint32_t places)
{
    entry->addition = pl_grow(entry->addition, entry->additions, &entry->capacity, sizeof *entry->addition);
    struct addition *addition = &entry->addition[entry->additions++];
    *addition = (struct addition){address, places, pl_arena_alloc(entry->arena, places * sizeof *addition->place)};
    return addition;
}

void pl_symcache_add(struct pl_symcache_entry *entry, uint64_t address, const struct pl_place *place, uint32_t places)
{
    struct addition *addition = new_addition(entry, address, places);
    memcpy(addition->place, place, places * sizeof *place);
    entry->changed = true;
}

/* --- writing --- */

/* Old answers become additions, so that there is one list. */
static void add_old(struct pl_symcache_entry *entry)
{
    for (uint32_t i = 0; i < entry->answers; i++) {
        const struct answer *answer = &entry->answer[i];
        if (!is_in_range(entry, answer))
            continue;
        struct addition *addition = new_addition(entry, answer->address, answer->places);
        for (uint32_t p = 0; p < answer->places; p++)
            addition->place[p] = place_at(entry, answer->place + p);
    }
}

static int by_addition(const void *left, const void *right)
{
    const struct addition *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* A file in the making. */
struct making {
    char *texts;
    struct pl_index index; /* of texts */
    uint32_t *offset;      /* by text */
    uint32_t known, texts_bytes;
};

struct question {
    const struct making *making;
    const char *text;
};

static bool is_same_text(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return !strcmp(question->making->texts + question->making->offset[entry], question->text);
}

static uint32_t put_text(struct making *making, const char *text)
{
    struct question question = {making, text};
    uint32_t *slot = pl_index_find(&making->index, pl_index_text(0, text), 0, is_same_text, &question);
    if (!*slot) {
        size_t bytes = strlen(text) + 1;
        memcpy(making->texts + making->texts_bytes, text, bytes);
        making->offset[making->known] = making->texts_bytes;
        making->texts_bytes += (uint32_t) bytes;
        *slot = ++making->known;
    }
    return making->offset[*slot - 1];
}

static struct stored_place put_place(struct making *making, const struct pl_place *place)
{
    return (struct stored_place){.function = put_text(making, place->function),
                                 .linkage = put_text(making, place->linkage),
                                 .file = put_text(making, place->file),
                                 .line = place->line,
                                 .column = place->column,
                                 .inlined = place->inlined};
}

/* Counts places, and the bytes of their texts as if no two were the same. */
static uint32_t count_additions(const struct pl_symcache_entry *entry, size_t *texts_bytes)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < entry->additions; i++) {
        const struct addition *addition = &entry->addition[i];
        places += addition->places;
        for (uint32_t p = 0; p < addition->places; p++)
            *texts_bytes += strlen(addition->place[p].function) + strlen(addition->place[p].linkage) +
                            strlen(addition->place[p].file) + 3;
    }
    return places;
}

/* The file's bytes; the caller frees them. NULL: there are too many. */
static char *make_file(const struct pl_symcache_entry *entry, struct pl_arena *arena, size_t *bytes)
{
    size_t texts_bytes = 1;
    uint32_t places = count_additions(entry, &texts_bytes), place = 0;
    size_t fixed = sizeof(struct header) + entry->identity_bytes + entry->additions * sizeof(struct answer) +
                   places * sizeof(struct stored_place);
    if (fixed + texts_bytes > INT_MAX)
        return NULL;
    char *data = pl_grow_zeroed(1, fixed + texts_bytes);
    struct header *header = (void *) data;
    struct answer *answer = (void *) (data + sizeof *header + entry->identity_bytes);
    struct stored_place *stored = (void *) (answer + entry->additions);
    struct making making = {.texts = data + fixed,
                            .index = pl_index_new(arena, 3 * places + 1),
                            .offset = pl_arena_alloc(arena, (3 * places + 1ull) * sizeof(uint32_t))};
    memcpy(data + sizeof *header, entry->identity, entry->identity_bytes);
    put_text(&making, "");
    for (uint32_t i = 0; i < entry->additions; i++) {
        const struct addition *addition = &entry->addition[i];
        answer[i] = (struct answer){addition->address, place, addition->places};
        for (uint32_t p = 0; p < addition->places; p++)
            stored[place++] = put_place(&making, &addition->place[p]);
    }
    *bytes = fixed + making.texts_bytes;
    *header = (struct header){.magic = MAGIC,
                              .version = VERSION,
                              .identity_bytes = entry->identity_bytes,
                              .answers = entry->additions,
                              .places = places,
                              .texts_bytes = making.texts_bytes,
                              .dwarf = entry->dwarf};
    header->checksum = checksum_of(data, *bytes);
    return data;
}

/* A file beyond this limit would end the process with SIGXFSZ. */
static bool may_write(size_t bytes)
{
    struct rlimit limit;
    return !getrlimit(RLIMIT_FSIZE, &limit) && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

static void put_file(struct pl_symcache *cache, const char *name, const char *data, size_t bytes)
{
    char temporary[64];
    uint64_t random;
    if (bytes > cache->bytes_max || !may_write(bytes) || getrandom(&random, sizeof random, 0) != sizeof random)
        return;
    snprintf(temporary, sizeof temporary, TEMPORARY "%016llx", (unsigned long long) random);
    int fd = openat(cache->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool done = write(fd, data, bytes) == (ssize_t) bytes;
    done = !close(fd) && done && !renameat(cache->fd, temporary, cache->fd, name);
    if (!done)
        unlinkat(cache->fd, temporary, 0);
    cache->written |= done;
}

void pl_symcache_write(struct pl_symcache *cache, struct pl_symcache_entry *entry)
{
    if (!entry->changed)
        return;
    size_t bytes;
    struct pl_arena *arena = pl_arena_new();
    add_old(entry);
    if (entry->additions)
        qsort(entry->addition, entry->additions, sizeof *entry->addition, by_addition);
    char *data = make_file(entry, arena, &bytes);
    if (data)
        put_file(cache, entry->name, data, bytes);
    free(data);
    pl_arena_free(arena);
}

void pl_symcache_forget(struct pl_symcache_entry *entry)
{
    if (!entry)
        return;
    free(entry->identity);
    free(entry->addition);
    free(entry);
}
