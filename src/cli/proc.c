/* SPDX-License-Identifier: MIT */
/*
 * proc.c - finds profiles through /proc and in the directories of live profiles.
 *
 * A forked child maps its parent's profile until it has something of its own to record, so a mapping alone proves
 * nothing: a profile belongs to the process whose pid its header has. Files are compared by inode and name, not by
 * device, because maps and stat disagree on devices for some file systems (btrfs, overlayfs).
 */
#include "cli/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/say.h"
#include "format/settings.h"
#include "reader/profile.h"

#define RUN_PREFIX "plimsoll-run."

/* --- processes --- */

static pid_t read_inner_pid(pid_t pid)
{
    char path[64], line[256];
    pid_t inner = pid;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "NSpid:", 6))
            continue;
        for (char *word = strtok(line + 6, " \t\n"); word; word = strtok(NULL, " \t\n"))
            inner = (pid_t) atoi(word);
        break;
    }
    if (status)
        fclose(status);
    return inner;
}

struct pl_proc_table pl_proc_read(void)
{
    struct pl_proc_table table = {0};
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!isdigit((unsigned char) entry->d_name[0]))
            continue;
        table.proc = pl_say_memory(realloc(table.proc, (table.count + 1) * sizeof *table.proc));
        pid_t pid = (pid_t) atoi(entry->d_name);
        table.proc[table.count++] = (struct pl_proc){pid, read_inner_pid(pid)};
    }
    if (directory)
        closedir(directory);
    return table;
}

void pl_proc_free(struct pl_proc_table *table)
{
    free(table->proc);
    *table = (struct pl_proc_table){0};
}

/* A program that sets a title overwrites its arguments: the title ends with a zero byte, and blanks or zero bytes fill
 * the rest. */
char *pl_proc_title(pid_t pid)
{
    char path[64], title[1024];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    FILE *file = fopen(path, "re");
    size_t bytes = file ? fread(title, 1, sizeof title - 1, file) : 0;
    if (file)
        fclose(file);
    while (bytes && (!title[bytes - 1] || title[bytes - 1] == ' '))
        bytes--;
    title[bytes] = 0;
    const char *name = *title == '/' || *title == '.' ? basename(title) : title; /* a path: its directory is left out */
    for (size_t i = 0; i < bytes; i++)
        if (!title[i])
            title[i] = ' ';
    return bytes ? pl_say_print("%s", name) : NULL;
}

/* --- mappings --- */

struct mapping {
    uint64_t start, end, inode;
    char *path; /* as the process sees it */
};

/* The kernel writes a newline in a name as \012. */
static void unescape(char *path)
{
    char *to = path;
    for (; *path; to++) {
        bool newline = !strncmp(path, "\\012", 4);
        *to = newline ? '\n' : *path;
        path += newline ? 4 : 1;
    }
    *to = 0;
}

/* Calls `visit` with each mapped file that has the suffix of a profile, until it returns true. */
static bool each_mapping(pid_t pid, bool (*visit)(pid_t, struct mapping *, void *), void *context)
{
    char name[64], *line = NULL;
    size_t room = 0;
    bool stop = false;
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "re");
    while (maps && !stop && getline(&line, &room, maps) > 0) {
        struct mapping mapping;
        int path_at = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu %n", &mapping.start, &mapping.end, &mapping.inode, &path_at) < 3)
            continue;
        mapping.path = line + path_at;
        unescape(mapping.path);
        if (path_at && pl_files_has_suffix(mapping.path))
            stop = visit(pid, &mapping, context);
    }
    if (maps)
        fclose(maps);
    free(line);
    return stop;
}

static bool same_namespace(pid_t pid, const char *kind)
{
    char name[64], ours[64] = "", theirs[64] = "";
    snprintf(name, sizeof name, "/proc/self/ns/%s", kind);
    ssize_t our_bytes = readlink(name, ours, sizeof ours - 1);
    snprintf(name, sizeof name, "/proc/%d/ns/%s", pid, kind);
    ssize_t their_bytes = readlink(name, theirs, sizeof theirs - 1);
    return our_bytes > 0 && (their_bytes <= 0 || !strcmp(ours, theirs));
}

/* Roots differ in the same mount namespace after a chroot. */
static bool same_root(pid_t pid)
{
    char name[64];
    struct stat ours, theirs;
    snprintf(name, sizeof name, "/proc/%d/root/", pid);
    return stat("/", &ours) || stat(name, &theirs) || (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

char *pl_proc_root(pid_t pid)
{
    if (same_namespace(pid, "mnt") && same_root(pid))
        return NULL;
    return pl_say_print("/proc/%d/root", pid);
}

/* A path of /proc/PID/maps, as the process itself would name it. The kernel shows us that path and the process's root
 * in the same way, so after a chroot the second is the beginning of the first. */
static const char *below_root(pid_t pid, const char *path)
{
    char name[64], root[PATH_MAX];
    snprintf(name, sizeof name, "/proc/%d/root", pid);
    ssize_t bytes = readlink(name, root, sizeof root);
    bool inside = bytes > 1 && (size_t) bytes < sizeof root && !strncmp(path, root, (size_t) bytes);
    return inside && path[bytes] == '/' ? path + bytes : path;
}

static char *openable_path(pid_t pid, const struct mapping *mapping)
{
    char *root = pl_proc_root(pid);
    char *path = pl_say_print("%s%s", root ? root : "", root ? below_root(pid, mapping->path) : mapping->path);
    free(root);
    return path;
}

/* --- profiles --- */

bool pl_proc_header(const char *path, struct pl_header *header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t bytes = pread(fd, header, sizeof *header, 0);
    close(fd);
    return bytes == (ssize_t) sizeof *header && !memcmp(header->magic, PL_MAGIC, sizeof header->magic);
}

/* A snapshot is only a copy: no process records into it. */
static bool is_lived_in(const char *path, struct pl_header *header)
{
    return pl_proc_header(path, header) && !(header->flags & PL_FLAG_SNAPSHOT);
}

static void add(struct pl_proc_finds *finds, char *path, const struct pl_header *header, pid_t pid)
{
    finds->found = pl_say_memory(realloc(finds->found, (finds->count + 1) * sizeof *finds->found));
    finds->found[finds->count++] = (struct pl_proc_found){.path = path, .header = *header, .pid = pid};
}

struct mapped_search {
    const struct pl_proc *proc;
    struct pl_proc_finds *finds;
};

static bool visit_mapped(pid_t pid, struct mapping *mapping, void *context)
{
    struct mapped_search *search = context;
    struct pl_header header;
    char *path = openable_path(pid, mapping);
    if (is_lived_in(path, &header) && header.pid == (uint32_t) search->proc->inner_pid) {
        add(search->finds, path, &header, pid);
        return true;
    }
    free(path);
    return false;
}

void pl_proc_find_mapped(const struct pl_proc_table *table, struct pl_proc_finds *finds)
{
    for (size_t i = 0; i < table->count; i++)
        each_mapping(table->proc[i].pid, visit_mapped, &(struct mapped_search){&table->proc[i], finds});
}

struct writer_search {
    const char *name;
    uint64_t inode;
};

static bool visit_writer(pid_t pid, struct mapping *mapping, void *context)
{
    const struct writer_search *search = context;
    (void) pid;
    return mapping->inode == search->inode && !strcmp(basename(mapping->path), search->name);
}

/*
 * File systems where the kernel counts a writable mapping as a file that is open for writing. overlayfs does not: there
 * the mapping belongs to another file, below it.
 */
static bool counts_writers(int fd)
{
    static const unsigned long kinds[] = {TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC};
    struct statfs status;
    if (fstatfs(fd, &status))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long) status.f_type == kinds[i])
            return true;
    return false;
}

bool pl_proc_counts_writers(const char *directory)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool counts = fd >= 0 && counts_writers(fd);
    if (fd >= 0)
        close(fd);
    return counts;
}

/*
 * False: no process has the file mapped or open for writing. Reading the status of every process on the machine would
 * tell us too, but takes milliseconds; the kernel grants a read lease only if there is no writer. Somebody who opens
 * the file for writing before we close it waits that long, and we get a signal: one that is ignored by default.
 */
static bool may_have_writer(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool free_of_writers =
        fd >= 0 && counts_writers(fd) && !fcntl(fd, F_SETSIG, SIGURG) && !fcntl(fd, F_SETLEASE, F_RDLCK);
    if (fd >= 0)
        close(fd);
    return !free_of_writers;
}

bool pl_proc_unwritten(const char *path)
{
    struct pl_proc_table table = {0};
    struct pl_header header;
    if (!may_have_writer(path))
        return true;
    char *directory = pl_say_print("%.*s", (int) (strrchr(path, '/') - path), path);
    bool counted = pl_proc_counts_writers(directory);
    free(directory);
    if (counted || !pl_proc_header(path, &header) || pl_profile_process_runs(&header))
        return false;
    bool written = pl_proc_writer(&table, path, &header);
    pl_proc_free(&table);
    return !written;
}

pid_t pl_proc_writer(struct pl_proc_table *table, const char *path, const struct pl_header *header)
{
    struct stat status;
    if (stat(path, &status) || !may_have_writer(path))
        return 0;
    if (!table->count)
        *table = pl_proc_read();
    struct writer_search search = {basename(path), status.st_ino};
    for (size_t i = 0; i < table->count; i++)
        if ((uint32_t) table->proc[i].inner_pid == header->pid &&
            each_mapping(table->proc[i].pid, visit_writer, &search))
            return table->proc[i].pid;
    return 0;
}

/* --- profiles that were left behind --- */

/* A process with a fixed PLIMSOLL_OUT has a link there to its live profile. */
static bool is_link(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISLNK(status.st_mode);
}

enum extent { FILES, FILES_AND_RUNS, RUNS }; /* what to look at: files, directories of runs */

static void search_directory(struct pl_proc_table *table, const char *path, enum extent extent,
                             struct pl_proc_finds *finds)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct pl_header header;
        char *name = pl_say_print("%s/%s", path, entry->d_name);
        bool run = !strncmp(entry->d_name, RUN_PREFIX, strlen(RUN_PREFIX));
        bool profile =
            !run && extent != RUNS && !is_link(name) && pl_files_has_suffix(name) && is_lived_in(name, &header);
        if (run && extent != FILES)
            search_directory(table, name, FILES, finds);
        if (profile && !pl_proc_writer(table, name, &header))
            add(finds, name, &header, 0);
        else
            free(name);
    }
    if (directory)
        closedir(directory);
}

void pl_proc_find_leftover(struct pl_proc_table *table, struct pl_proc_finds *finds)
{
    const char *const places[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("PLIMSOLL_LIVE_DIR")};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i] && *places[i])
            search_directory(table, places[i], FILES_AND_RUNS, finds);
    search_directory(table, ".", RUNS, finds); /* in a container they are beside their destination */
}

void pl_proc_free_finds(struct pl_proc_finds *finds)
{
    for (size_t i = 0; i < finds->count; i++)
        free(finds->found[i].path);
    free(finds->found);
    *finds = (struct pl_proc_finds){0};
}

static char *newest_left_by(pid_t pid, const struct pl_proc_finds *finds)
{
    const struct pl_proc_found *newest = NULL;
    for (size_t i = 0; i < finds->count; i++)
        if (finds->found[i].header.pid == (uint32_t) pid &&
            (!newest || finds->found[i].header.start_realtime_ns > newest->header.start_realtime_ns))
            newest = &finds->found[i];
    return newest ? pl_say_print("%s", newest->path) : NULL;
}

char *pl_proc_profile(pid_t pid)
{
    struct pl_proc one = {pid, read_inner_pid(pid)};
    struct pl_proc_finds finds = {0};
    each_mapping(pid, visit_mapped, &(struct mapped_search){&one, &finds});
    char *path = finds.count ? pl_say_print("%s", finds.found[0].path) : NULL;
    pl_proc_free_finds(&finds);
    return path;
}

static bool visit_unreadable(pid_t pid, struct mapping *mapping, void *context)
{
    char *path = openable_path(pid, mapping), **found = context;
    if (access(path, R_OK) && errno == EACCES) {
        *found = path;
        return true;
    }
    free(path);
    return false;
}

char *pl_proc_unreadable(pid_t pid)
{
    char *path = NULL;
    each_mapping(pid, visit_unreadable, &path);
    return path;
}

char *pl_proc_left_by(pid_t pid)
{
    struct pl_proc_table table = {0};
    struct pl_proc_finds finds = {0};
    pl_proc_find_leftover(&table, &finds);
    char *path = newest_left_by(pid, &finds);
    pl_proc_free_finds(&finds);
    pl_proc_free(&table);
    return path;
}

uint64_t pl_proc_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

bool pl_proc_await(pid_t pid, uint64_t ns)
{
    sigset_t interrupts;
    uint64_t until_ns = pl_proc_now_ns() + ns;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigaddset(&interrupts, SIGHUP);
    sigprocmask(SIG_BLOCK, &interrupts, NULL);
    for (uint64_t now_ns; (now_ns = pl_proc_now_ns()) < until_ns;) {
        uint64_t left_ns = until_ns - now_ns < 100000000u ? until_ns - now_ns : 100000000u;
        if (sigtimedwait(&interrupts, NULL, &(struct timespec){0, (long) left_ns}) > 0)
            return true;
        if (kill(pid, 0) && errno == ESRCH)
            return false;
    }
    return true;
}
