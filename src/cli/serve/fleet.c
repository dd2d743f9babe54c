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

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/proc.h"
#include "cli/say.h"
#include "cli/subject.h"

#define LOOK_AGAIN_NS 1000000000ull /* a scan of /proc is good for this long */
#define NO_RULES "none"
#define SERVICE_VARIABLE "OTEL_SERVICE_NAME="

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

static char *name_service(pid_t pid, const struct pl_header *header)
{
    char path[64], program[PATH_MAX], *given = find_variable(pid, SERVICE_VARIABLE);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t bytes = given ? 0 : readlink(path, program, sizeof program - 1);
    if (given || bytes <= 0)
        return given ? given : pl_say_print("%.*s", (int) sizeof header->comm, header->comm);
    program[bytes] = 0;
    return pl_say_print("%s", basename(program));
}

/* --- who is there --- */

static void free_member(struct pl_member *member)
{
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
        .known = pl_namecache_new(),
        .here = true,
    };
}

static void forget_gone(struct pl_fleet *fleet)
{
    size_t kept = 0;
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->member[i].here)
            fleet->member[kept++] = fleet->member[i];
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
        if (!find_same(&(struct pl_fleet){.member = fleet->member, .count = old}, &finds.found[i]))
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
    free(fleet->member);
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

struct pl_digest_row *pl_fleet_delta(struct pl_member *member, const struct pl_digest *digest, uint64_t now_ns,
                                     uint64_t *since_ns)
{
    struct pl_digest_row *row = pl_say_memory(calloc(digest->rows + 1ull, sizeof *row));
    memcpy(row, digest->row, digest->rows * sizeof *row);
    for (uint32_t i = 0; i < digest->rows; i++)
        row[i].value[PL_METRIC_ALLOC_OBJECTS] = row[i].value[PL_METRIC_ALLOC_SPACE] = 0;
    *since_ns = member->last ? member->last_ns : now_ns;
    if (member->last)
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
