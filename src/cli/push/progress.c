/* SPDX-License-Identifier: MIT */
/* progress.c - see progress.h. */
#include "cli/push/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/say.h"

#define MAGIC 0x31544e45534c50ull /* PLSENT1 */
#define PARTS_MOST (1u << 22)

struct pl_progress {
    char *sent, *fresh, *sending; /* paths: the file, the next one, the mark of a round */
    uint64_t began_ns;            /* the round */
    int lock;
    bool failing;
};

/* The file: a head, and for each process an entry and its parts. `check` is a hash of everything after the head. */
struct head {
    uint64_t magic, check, time_ns, entries, ended;
};

struct entry {
    uint64_t start_ns, last_ns;
    uint32_t pid, resets, parts, zero;
};

static uint64_t hash(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count; count--)
        hash = (hash ^ *at++) * 0x100000001b3ull;
    return hash;
}

/* --- opening --- */

enum pl_exit pl_progress_open(const char *directory, struct pl_progress **out)
{
    *out = NULL;
    if (!directory)
        return PL_EXIT_OK;
    if (mkdir(directory, 0700) && errno != EEXIST)
        return pl_say_failure("cannot make %s: %m", directory);
    char *path = pl_say_print("%s/lock", directory);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) ? errno : 0;
    free(path);
    if (error) {
        if (lock >= 0)
            close(lock);
        return error == EWOULDBLOCK ? pl_say_failure("%s is used by another agent", directory)
                                    : pl_say_failure("cannot write to %s: %s", directory, strerror(error));
    }
    *out = pl_say_memory(calloc(1, sizeof **out));
    **out = (struct pl_progress){.sent = pl_say_print("%s/sent", directory),
                                 .fresh = pl_say_print("%s/sent.new", directory),
                                 .sending = pl_say_print("%s/sending", directory),
                                 .lock = lock};
    return PL_EXIT_OK;
}

void pl_progress_close(struct pl_progress *progress)
{
    if (!progress)
        return;
    close(progress->lock);
    free(progress->sent);
    free(progress->fresh);
    free(progress->sending);
    free(progress);
}

/* --- reading --- */

struct reading {
    FILE *file;
    uint64_t check;
    bool bad;
};

static void take(struct reading *reading, void *into, size_t bytes)
{
    reading->bad |= fread(into, 1, bytes, reading->file) != bytes;
    reading->check = hash(reading->check, into, bytes);
}

/* A process that is there gets its entry. Returns false if it has ended. */
static bool recall_entry(struct pl_fleet *fleet, const struct entry *entry, struct pl_digest_part *part, bool forget)
{
    struct pl_member *member = pl_fleet_find(fleet, (pid_t) entry->pid);
    if (!member || member->header.start_realtime_ns != entry->start_ns)
        return false;
    if (forget)
        return true;
    free(member->last);
    member->last = pl_say_memory(malloc((entry->parts + 1ull) * sizeof *part));
    memcpy(member->last, part, entry->parts * sizeof *part);
    member->last_parts = entry->parts;
    member->last_resets = entry->resets;
    member->last_ns = entry->last_ns;
    return true;
}

struct recalled {
    uint64_t known, ended, time_ns;
    bool bad;
};

/* With `fleet` NULL: only checks the file. */
static struct recalled read_sent(const struct pl_progress *progress, struct pl_fleet *fleet, bool forget)
{
    struct head head;
    struct recalled found = {.bad = true};
    struct reading reading = {fopen(progress->sent, "re"), 0, false};
    if (!reading.file)
        return (struct recalled){.bad = errno != ENOENT};
    bool good = fread(&head, sizeof head, 1, reading.file) == 1 && head.magic == MAGIC;
    for (uint64_t i = 0; good && !reading.bad && i < head.entries; i++) {
        struct entry entry = {0};
        take(&reading, &entry, sizeof entry);
        if (reading.bad || entry.parts > PARTS_MOST)
            break;
        struct pl_digest_part *part = pl_say_memory(malloc((entry.parts + 1ull) * sizeof *part));
        take(&reading, part, entry.parts * sizeof *part);
        if (fleet && !reading.bad) {
            bool here = recall_entry(fleet, &entry, part, forget);
            found.known += here;
            found.ended += !here;
        }
        free(part);
    }
    found.bad = !good || reading.bad || reading.check != head.check;
    found.time_ns = good ? head.time_ns : 0;
    found.ended += good ? head.ended : 0;
    fclose(reading.file);
    return found;
}

static void say_time(char text[32], uint64_t time_ns)
{
    time_t seconds = (time_t) (time_ns / 1000000000u);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || !strftime(text, 32, "%F %T", &parts))
        *text = 0;
}

void pl_progress_recall(struct pl_progress *progress, struct pl_fleet *fleet)
{
    char when[32];
    if (!progress)
        return;
    if (read_sent(progress, NULL, false).bad) {
        pl_say("%s cannot be used; deltas begin anew", progress->sent);
        return;
    }
    bool unknown = !access(progress->sending, F_OK);
    struct recalled found = read_sent(progress, fleet, unknown);
    if (!found.time_ns)
        return;
    fleet->since_ns = unknown ? fleet->since_ns : found.time_ns; /* what began later is not known to any store */
    say_time(when, found.time_ns);
    if (unknown && found.known)
        pl_say("the last agent was ended while it sent: what %llu processes have allocated since %s may be missing",
               (unsigned long long) found.known, when);
    if (found.ended)
        pl_say("%llu processes have ended since %s: what they allocated after that is missing",
               (unsigned long long) found.ended, when);
}

/* --- writing --- */

static void say_trouble(struct pl_progress *progress, const char *path)
{
    if (!progress->failing)
        pl_say("cannot write %s: %m; after a restart, deltas will begin anew", path);
    progress->failing = true;
}

void pl_progress_begin(struct pl_progress *progress)
{
    if (!progress)
        return;
    progress->began_ns = pl_fleet_now_ns();
    int file = open(progress->sending, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0)
        close(file);
    else { /* a file without a mark could make the next agent send something twice */
        say_trouble(progress, progress->sending);
        unlink(progress->sent);
    }
}

static void put(FILE *file, uint64_t *check, const void *bytes, size_t count)
{
    *check = hash(*check, bytes, count);
    fwrite(bytes, 1, count, file);
}

static bool write_sent(const struct pl_progress *progress, const struct pl_fleet *fleet, uint64_t ended)
{
    struct head head = {.magic = MAGIC, .time_ns = progress->began_ns, .ended = ended};
    int descriptor = open(progress->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file)
        return false;
    fwrite(&head, sizeof head, 1, file);
    for (size_t i = 0; i < fleet->count; i++) {
        const struct pl_member *member = &fleet->member[i];
        if (!member->last)
            continue;
        const struct entry entry = {member->header.start_realtime_ns,
                                    member->last_ns,
                                    (uint32_t) member->pid,
                                    member->last_resets,
                                    member->last_parts,
                                    0};
        put(file, &head.check, &entry, sizeof entry);
        put(file, &head.check, member->last, entry.parts * sizeof *member->last);
        head.entries++;
    }
    rewind(file);
    fwrite(&head, sizeof head, 1, file);
    bool written = !ferror(file);
    return !fclose(file) && written;
}

void pl_progress_end(struct pl_progress *progress, const struct pl_fleet *fleet, uint64_t ended)
{
    if (!progress)
        return;
    if (!write_sent(progress, fleet, ended) || rename(progress->fresh, progress->sent)) {
        say_trouble(progress, progress->fresh);
        unlink(progress->fresh);
        unlink(progress->sent);
        return;
    }
    unlink(progress->sending);
    progress->failing = false;
}
