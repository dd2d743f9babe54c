/* SPDX-License-Identifier: MIT */
/*
 * fleet.c - finds the processes, reads their profiles, and remembers for deltas what they had allocated.
 *
 * A process is known by its pid and the times of its start, so one that gets the pid of an ended one is another. So is
 * a program that a process becomes by exec.
 *
 * Invariant of deltas: what a process has allocated is in one of them at most. If its figures begin anew (a reset), so
 * do its deltas.
 */
#include "cli/serve/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/proc.h"
#include "cli/say.h"
#include "cli/subject.h"
#include "reader/describe.h"

#define MAKING_NS 10000000000ull    /* in which a new file should have become a profile */
#define LOOK_AGAIN_NS 1000000000ull /* a scan of /proc is good for this long */
#define NO_RULES "none"
#define SERVICE_VARIABLE "OTEL_SERVICE_NAME="
#define ATTRIBUTES_VARIABLE "OTEL_RESOURCE_ATTRIBUTES="
#define CONTAINER_DIGITS 64
#define FORGOTTEN_MOST 16384
#define GONE_MOST 1024 /* held after their end; the oldest is forgotten */

struct pl_forgotten {
    uint64_t start_ns;
    uint32_t pid;
};

uint64_t pl_fleet_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* --- names of services --- */

/* The value of a variable of the process, which ends with a zero byte as variables in /proc do. */
static char *find_variable(pid_t pid, const char *assignment)
{
    char path[64], *word = NULL, *found = NULL;
    size_t room = 0, bytes = strlen(assignment);
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getdelim(&word, &room, 0, file) > 0)
        if (!strncmp(word, assignment, bytes) && word[bytes])
            found = pl_say_print("%s", word + bytes);
    if (file)
        fclose(file);
    free(word);
    return found;
}

/* service.name=... among the attributes of a resource. */
static char *find_service_attribute(pid_t pid)
{
    static const char key[] = "service.name=";
    char *all = find_variable(pid, ATTRIBUTES_VARIABLE), *found = NULL;
    for (char *at = all; at && *at && !found; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        size_t bytes = strcspn(at, ",");
        if (bytes > strlen(key) && !strncmp(at, key, strlen(key)))
            found = pl_say_print("%.*s", (int) (bytes - strlen(key)), at + strlen(key));
    }
    free(all);
    return found;
}

static char *name_service(pid_t pid, const struct pl_header *header)
{
    char path[64], program[PATH_MAX], *given = find_variable(pid, SERVICE_VARIABLE);
    if (!given)
        given = find_service_attribute(pid);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t bytes = given ? 0 : readlink(path, program, sizeof program - 1);
    if (given || bytes <= 0)
        return given ? given : pl_say_print("%.*s", (int) sizeof header->comm, header->comm);
    program[bytes] = 0;
    return pl_say_print("%s", basename(program));
}

/* The id of the container: 64 digits in the name of the control group, with all runtimes. */
static char *name_container(pid_t pid)
{
    char path[64], line[PATH_MAX], *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        for (const char *at = line; *at && !found; at += strspn(at, "0123456789abcdef") + 1) {
            if (strspn(at, "0123456789abcdef") == CONTAINER_DIGITS)
                found = pl_say_print("%.*s", CONTAINER_DIGITS, at);
            if (!at[strspn(at, "0123456789abcdef")])
                break;
        }
    if (file)
        fclose(file);
    return found;
}

/* --- what is held --- */

static uint64_t read_kills(const char *path)
{
    char name[64];
    unsigned long long value, kills = 0;
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%63s %llu", name, &value) == 2)
        if (!strcmp(name, "oom_kill"))
            kills = value;
    if (file)
        fclose(file);
    return kills;
}

/* The counter of the process's control group, or of the machine. */
static char *find_kills(pid_t pid)
{
    char path[64], line[PATH_MAX], *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        if (!strncmp(line, "0::", 3))
            found = pl_say_print("/sys/fs/cgroup%.*s/memory.events", (int) strcspn(line + 3, "\n"), line + 3);
    if (file)
        fclose(file);
    if (found && access(found, R_OK)) {
        free(found);
        found = NULL;
    }
    return found ? found : pl_say_print("/proc/vmstat");
}

/* False: the profile is gone, because its process has just ended. */
static bool hold(struct pl_member *member)
{
    struct pl_held *held = &member->held;
    held->file = open(member->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool gone = held->file < 0 && (errno == ENOENT || errno == ESRCH);
    held->process = (int) syscall(SYS_pidfd_open, member->pid, 0);
    held->kills = find_kills(member->pid);
    held->killed = read_kills(held->kills);
    if (held->file >= 0) {
        free(member->path);
        member->path = pl_say_print("/proc/self/fd/%d", held->file);
    }
    return !gone;
}

/* Of a process that was not our child; since Linux 6.15. */
struct exit_info {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t status;
    uint32_t more[2];
};
#define INFO_EXIT (1ull << 3)
#define GET_INFO _IOWR(0xff, 11, struct exit_info)

static bool read_status(int process, int *status)
{
    struct exit_info info = {.mask = INFO_EXIT};
    bool known = process >= 0 && ioctl(process, GET_INFO, &info) == 0 && info.mask & INFO_EXIT;
    *status = known ? info.status : 0;
    return known;
}

/* What `plimsoll run` has written into the profile goes first. */
static void tell_ending(struct pl_member *member, struct pl_profile *profile)
{
    struct pl_held *held = &member->held;
    struct pl_header *header = &profile->header;
    int status;
    if (!(header->flags & PL_FLAG_WAITED) && read_status(held->process, &status)) {
        header->flags |= PL_FLAG_WAITED;
        header->wait_status = (uint32_t) status;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && read_kills(held->kills) > held->killed)
            header->flags |= PL_FLAG_OUT_OF_MEMORY;
    }
    profile->running = false;
    pl_describe_ending(profile, held->ending, sizeof held->ending);
}

/* --- who is there --- */

static void free_member(struct pl_member *member)
{
    if (member->held.file >= 0)
        close(member->held.file);
    if (member->held.process >= 0)
        close(member->held.process);
    free(member->held.kills);
    free(member->attributes);
    free(member->container);
    pl_namecache_free(member->known);
    free(member->path);
    free(member->root);
    free(member->service);
    free(member->last);
}

static struct pl_member *find_same(const struct pl_fleet *fleet, const struct pl_proc_found *found)
{
    struct pl_member *member = pl_fleet_find(fleet, found->pid);
    bool same = member && pl_profile_same_process(&member->header, &found->header) &&
                member->header.start_realtime_ns == found->header.start_realtime_ns;
    return same ? member : NULL;
}

static void add(struct pl_fleet *fleet, const struct pl_proc_found *found)
{
    fleet->member = pl_say_memory(realloc(fleet->member, (fleet->count + 1) * sizeof *fleet->member));
    fleet->member[fleet->count++] = (struct pl_member){
        .pid = found->pid,
        .header = found->header,
        .path = pl_say_print("%s", found->path),
        .root = pl_proc_root(found->pid),
        .service = name_service(found->pid, &found->header),
        .attributes = fleet->holds ? find_variable(found->pid, ATTRIBUTES_VARIABLE) : NULL,
        .container = fleet->holds ? name_container(found->pid) : NULL,
        .known = pl_namecache_new(),
        .here = true,
        .held = {.file = -1, .process = -1},
    };
    if (fleet->holds && !hold(&fleet->member[fleet->count - 1])) /* who saw it appear has it open (pl_fleet_late) */
        free_member(&fleet->member[--fleet->count]);
}

static void keep_gone(struct pl_fleet *fleet, const struct pl_member *member)
{
    if (fleet->gone_count == GONE_MOST) {
        pl_say("process %d: too many processes have ended since something could be sent; this one is forgotten",
               fleet->gone[0].pid);
        free_member(&fleet->gone[0]);
        memmove(fleet->gone, fleet->gone + 1, --fleet->gone_count * sizeof *fleet->gone);
    }
    fleet->gone = pl_say_memory(realloc(fleet->gone, (fleet->gone_count + 1) * sizeof *fleet->gone));
    fleet->gone[fleet->gone_count] = *member;
    fleet->gone[fleet->gone_count++].held.ended = true;
}

static bool was_forgotten(const struct pl_fleet *fleet, const struct pl_header *header)
{
    size_t count = fleet->forgotten_next < FORGOTTEN_MOST ? fleet->forgotten_next : FORGOTTEN_MOST;
    for (size_t i = 0; i < count; i++)
        if (fleet->forgotten[i].start_ns == header->start_realtime_ns && fleet->forgotten[i].pid == header->pid)
            return true;
    return false;
}

static bool is_known(const struct pl_fleet *fleet, const struct pl_header *header)
{
    for (size_t i = 0; i < fleet->count + fleet->gone_count; i++) {
        const struct pl_member *other = i < fleet->count ? &fleet->member[i] : &fleet->gone[i - fleet->count];
        if (pl_profile_same_process(&other->header, header) &&
            other->header.start_realtime_ns == header->start_realtime_ns)
            return true;
    }
    return false;
}

/* A file becomes a profile some microseconds after it appears, or much later if its process has to wait for a
 * processor. */
static bool is_just_made(int file)
{
    struct stat status;
    if (fstat(file, &status))
        return false;
    uint64_t made_ns = (uint64_t) status.st_ctim.tv_sec * 1000000000u + (uint64_t) status.st_ctim.tv_nsec;
    return pl_fleet_now_ns() < made_ns + MAKING_NS;
}

enum pl_late pl_fleet_late(struct pl_fleet *fleet, int file)
{
    struct pl_header header;
    char *path = pl_say_print("/proc/self/fd/%d", file);
    bool begun = pl_proc_header(path, &header);
    if (!begun && is_just_made(file)) {
        free(path);
        return PL_LATE_RUNS;
    }
    bool ours = begun && !(header.flags & (PL_FLAG_SNAPSHOT | PL_FLAG_MERGED)) &&
                header.start_realtime_ns > fleet->since_ns && !is_known(fleet, &header) &&
                !was_forgotten(fleet, &header);
    bool ended = ours && pl_proc_unwritten(path);
    if (!ended) {
        free(path);
        return ours ? PL_LATE_RUNS : PL_LATE_OTHER;
    }
    const struct pl_member late = {
        .pid = (pid_t) header.pid,
        .header = header,
        .path = path,
        .service = pl_say_print("%.*s", (int) sizeof header.comm, header.comm),
        .known = pl_namecache_new(),
        .held = {.file = file, .process = -1},
    };
    keep_gone(fleet, &late);
    return PL_LATE_TAKEN;
}

void pl_fleet_forget(struct pl_fleet *fleet, struct pl_member *gone)
{
    if (!fleet->forgotten)
        fleet->forgotten = pl_say_memory(calloc(FORGOTTEN_MOST, sizeof *fleet->forgotten));
    fleet->forgotten[fleet->forgotten_next++ % FORGOTTEN_MOST] =
        (struct pl_forgotten){gone->header.start_realtime_ns, gone->header.pid};
    free_member(gone);
}

static void forget_gone(struct pl_fleet *fleet)
{
    size_t kept = 0;
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->member[i].here)
            fleet->member[kept++] = fleet->member[i];
        else if (fleet->member[i].held.file >= 0)
            keep_gone(fleet, &fleet->member[i]);
        else
            free_member(&fleet->member[i]);
    fleet->count = kept;
}

static int by_pid(const void *left, const void *right)
{
    const struct pl_member *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

void pl_fleet_look(struct pl_fleet *fleet)
{
    struct pl_proc_finds finds = {0};
    uint64_t now_ns = pl_proc_now_ns();
    if (fleet->looked_ns && now_ns - fleet->looked_ns < LOOK_AGAIN_NS)
        return;
    struct pl_proc_table table = pl_proc_read();
    pl_proc_find_mapped(&table, &finds);
    for (size_t i = 0; i < fleet->count; i++)
        fleet->member[i].here = false;
    for (size_t i = 0; i < finds.count; i++) {
        struct pl_member *member = find_same(fleet, &finds.found[i]);
        if (member)
            member->here = true;
    }
    forget_gone(fleet);
    size_t old = fleet->count;
    for (size_t i = 0; i < finds.count; i++)
        if ((!fleet->only || finds.found[i].pid == fleet->only) &&
            !find_same(&(struct pl_fleet){.member = fleet->member, .count = old}, &finds.found[i]))
            add(fleet, &finds.found[i]);
    qsort(fleet->member, fleet->count, sizeof *fleet->member, by_pid);
    pl_proc_free_finds(&finds);
    pl_proc_free(&table);
    fleet->looked_ns = pl_proc_now_ns();
}

void pl_fleet_free(struct pl_fleet *fleet)
{
    pl_names_forget(fleet->rules);
    for (size_t i = 0; i < fleet->count; i++)
        free_member(&fleet->member[i]);
    for (size_t i = 0; i < fleet->gone_count; i++)
        free_member(&fleet->gone[i]);
    free(fleet->member);
    free(fleet->gone);
    free(fleet->forgotten);
}

struct pl_member *pl_fleet_find(const struct pl_fleet *fleet, pid_t pid)
{
    const struct pl_member key = {.pid = pid};
    return fleet->count ? bsearch(&key, fleet->member, fleet->count, sizeof key, by_pid) : NULL;
}

/* --- reading --- */

/* Rules for names are applied by the caller: to read them takes longer than to read a small profile. */
bool pl_fleet_read(struct pl_member *member, bool names, struct pl_profile **out)
{
    struct pl_subject_options how = {
        .command = "serve", .no_symbols = !names, .known = member->known, .again = true, .names = {.file = NO_RULES}};
    pl_say_hush(true);
    enum pl_exit status = pl_subject_read(&how, member->path, member->root, out);
    pl_say_hush(false);
    return status == PL_EXIT_OK;
}

struct pl_digest *pl_fleet_digest(const struct pl_fleet *fleet, struct pl_member *member)
{
    struct pl_profile *profile;
    if (!pl_fleet_read(member, true, &profile))
        return NULL;
    if (fleet->rules)
        pl_simplify_profile(fleet->rules, profile, false);
    struct pl_flat_options how = {.apart = true, .metric = PL_METRIC_INUSE_SPACE};
    struct pl_flat *flat = pl_flat_new(profile, &how);
    struct pl_digest *digest = pl_digest_new(profile, flat, true);
    member->header = profile->header;
    if (member->held.ended)
        tell_ending(member, profile);
    pl_flat_free(flat);
    pl_profile_close(profile);
    return digest;
}

/* --- deltas --- */

static int by_key(const void *left, const void *right)
{
    const struct pl_digest_part *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

/* Figures only grow, except by a reset. */
static bool began_anew(const struct pl_member *member)
{
    return member->header.resets != member->last_resets;
}

static void add_parts(const struct pl_member *member, const struct pl_digest *digest, struct pl_digest_row *row)
{
    bool anew = began_anew(member);
    for (uint32_t i = 0; i < digest->parts; i++) {
        const struct pl_digest_part *part = &digest->part[i], *before = NULL;
        if (!anew && member->last_parts)
            before = bsearch(part, member->last, member->last_parts, sizeof *part, by_key);
        int64_t calls = part->calls - (before ? before->calls : 0), bytes = part->bytes - (before ? before->bytes : 0);
        row[part->row].value[PL_METRIC_ALLOC_OBJECTS] += calls > 0 ? calls : 0;
        row[part->row].value[PL_METRIC_ALLOC_SPACE] += bytes > 0 ? bytes : 0;
    }
}

static void remember(struct pl_member *member, const struct pl_digest *digest, uint64_t now_ns)
{
    free(member->last);
    member->last = pl_say_memory(calloc(digest->parts + 1ull, sizeof *member->last));
    memcpy(member->last, digest->part, digest->parts * sizeof *member->last);
    member->last_parts = digest->parts;
    member->last_resets = member->header.resets;
    member->last_ns = now_ns;
}

bool pl_fleet_is_new(const struct pl_fleet *fleet, const struct pl_member *member)
{
    return !member->last && fleet->holds && member->header.start_realtime_ns > fleet->since_ns;
}

struct pl_digest_row *pl_fleet_delta(const struct pl_fleet *fleet, struct pl_member *member,
                                     const struct pl_digest *digest, uint64_t now_ns, uint64_t *since_ns)
{
    struct pl_digest_row *row = pl_say_memory(calloc(digest->rows + 1ull, sizeof *row));
    memcpy(row, digest->row, digest->rows * sizeof *row);
    for (uint32_t i = 0; i < digest->rows; i++)
        row[i].value[PL_METRIC_ALLOC_OBJECTS] = row[i].value[PL_METRIC_ALLOC_SPACE] = 0;
    bool new = pl_fleet_is_new(fleet, member);
    *since_ns = member->last ? member->last_ns : new ? member->header.start_realtime_ns : now_ns;
    if (member->last || new)
        add_parts(member, digest, row);
    remember(member, digest, now_ns);
    return row;
}

struct pl_told pl_fleet_told(const struct pl_member *member)
{
    struct pl_told told = {NULL, member->last_parts, member->last_resets, member->last_ns};
    if (member->last) {
        told.last = pl_say_memory(calloc(member->last_parts + 1ull, sizeof *told.last));
        memcpy(told.last, member->last, member->last_parts * sizeof *told.last);
    }
    return told;
}

void pl_fleet_untell(struct pl_member *member, struct pl_told *told)
{
    free(member->last);
    member->last = told->last;
    member->last_parts = told->last_parts;
    member->last_resets = told->last_resets;
    member->last_ns = told->last_ns;
}
