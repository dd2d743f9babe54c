/* SPDX-License-Identifier: MIT */
/* file.c - see file.h. */
#include "file.h"

#include <errno.h>

#include "memory.h"
#include "text.h"

#define GROW_FIRST (256u << 10) /* one fallocate at start; then the file doubles, up to GROW_MOST at a time */
#define GROW_MOST (1u << 20)
#define LOCK_SPINS 1000
#define LOCK_DOZES 1000 /* of a millisecond each: the holder may be waiting for a processor */
#define INTERRUPTS_MAX 1000
#define FOR_THREADS (256u << 10)
#define MADV_POPULATE_WRITE_ 23 /* Linux 5.14; others refuse it, and that is all */

#define WRITER_KINDS (PL_KIND_SCOPE + 1)

/* Which chunk of the file is the k-th of its kind, plus one. Private: nothing is read back from the file. Kinds that
 * are few, or small, by nature have a short list: 4,096 chunks of sites are 4 million. */
#define FEW 128u
#define SOME 4096u
static struct {
    uint16_t text[PL_CHUNKS_MAX], rows[PL_CHUNKS_MAX], tallies[PL_CHUNKS_MAX], remotes[PL_CHUNKS_MAX];
    uint16_t frames[2 * SOME], sites[SOME], tags[SOME], scopes[SOME];
    uint16_t modules[FEW], threads[FEW], moments[FEW], snapshots[FEW];
    uint8_t padding[4096]; /* fork wipes whole pages */
} chunks PAGE_ALIGNED;

static const struct {
    uint16_t *chunk;
    uint32_t most;
} lists[WRITER_KINDS] = {
    [PL_KIND_TEXT] = {chunks.text, PL_CHUNKS_MAX},
    [PL_KIND_MODULE] = {chunks.modules, FEW},
    [PL_KIND_FRAME] = {chunks.frames, 2 * SOME},
    [PL_KIND_THREAD] = {chunks.threads, FEW},
    [PL_KIND_SITE] = {chunks.sites, SOME},
    [PL_KIND_ROW] = {chunks.rows, PL_CHUNKS_MAX},
    [PL_KIND_TALLY] = {chunks.tallies, PL_CHUNKS_MAX},
    [PL_KIND_REMOTE] = {chunks.remotes, PL_CHUNKS_MAX},
    [PL_KIND_MOMENT] = {chunks.moments, FEW},
    [PL_KIND_SNAPSHOT] = {chunks.snapshots, FEW},
    [PL_KIND_TAG] = {chunks.tags, SOME},
    [PL_KIND_SCOPE] = {chunks.scopes, SOME},
};

/* The mapping, kept where fork does not wipe it: a child must know what to give back. */
static struct {
    void *base;
    uint64_t bytes;
    int fd;
    uint64_t inode, device;
} inherited;

/* Of a file that is there. */
static struct pl_header *header_of(const struct pl_file *file)
{
    return (struct pl_header *) (void *) file->base;
}

static uint8_t *chunk_at(const struct pl_file *file, uint32_t chunk)
{
    return file->base + PL_CHUNKS_OFFSET + (uint64_t) chunk * PL_CHUNK_BYTES;
}

void pl_file_lost(const struct pl_file *file, enum pl_loss loss)
{
    if (file->base)
        fetch_add(&header_of(file)->losses[loss], 1);
}

/* ---- growing ---- */

/* Asked by one thread at a time: under grow_lock, or when a file is made or abandoned. The stack may be a small one. */
static struct statx st;

static bool is_file(int fd, uint64_t device, uint64_t inode)
{
    return fd >= 0 && pl_sys_stat_fd(fd, &st) == 0 && st.stx_ino == inode &&
           ((uint64_t) st.stx_dev_major << 32 | st.stx_dev_minor) == device;
}

/* Blocks for the range, for certain: fallocate, or zeros where the file system has no fallocate. */
static long allocate(int fd, uint64_t from, uint64_t bytes)
{
    struct pl_limit limit;
    if (pl_sys_limit(PL_LIMIT_FSIZE, &limit) == 0 && from + bytes > limit.soft)
        return -EFBIG; /* asking all the same would raise SIGXFSZ */
    long r = pl_sys_fallocate(fd, from, bytes);
    if (r != -EOPNOTSUPP && r != -ENOSYS)
        return r;
    static const uint8_t zeros[4096];
    for (uint64_t done = 0; done < bytes; done += sizeof zeros) {
        r = pl_sys_pwrite(fd, zeros, sizeof zeros, from + done);
        if (r != (long) sizeof zeros)
            return r < 0 ? r : -ENOSPC;
    }
    return 0;
}

/* tmpfs gives up as soon as a signal comes. Then ask again, for no more than is needed. (Inline: for
 * the stack's sake.) */
INLINE bool extend(struct pl_file *file, int fd, uint64_t to, uint64_t need)
{
    for (int i = 0; i < INTERRUPTS_MAX; i++, to = need) {
        long r = allocate(fd, file->file_bytes, to - file->file_bytes);
        if (r == 0 && file->base) /* one fault for all its pages instead of one for each */
            pl_sys_madvise(file->base + file->file_bytes, to - file->file_bytes, MADV_POPULATE_WRITE_);
        if (r == 0)
            file->file_bytes = to;
        if (r != -EINTR)
            return r == 0;
    }
    return false;
}

/* Called with grow_lock held. */
static bool grow(struct pl_file *file, uint64_t need)
{
    uint64_t step = file->file_bytes < GROW_MOST ? file->file_bytes : GROW_MOST;
    uint64_t to = file->file_bytes + step;
    if (to < need)
        to = need;
    if (to > file->mapped_bytes)
        to = file->mapped_bytes;
    if (to < need || file->full)
        return false;
    bool ours = is_file(file->fd, file->device, file->inode);
    long fd = ours ? file->fd : pl_sys_open(file->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0);
    bool done = fd >= 0 && is_file((int) fd, file->device, file->inode) && extend(file, (int) fd, to, need);
    if (!ours && fd >= 0)
        pl_sys_close((int) fd);
    if (!done)
        store_relaxed(&file->full, PL_LOSS_FILE_FULL + 1);
    return done;
}

/* The word is the holder's thread pointer: a thread that finds its own was thrown out of here by a signal handler. */
static bool lock(struct pl_file *file)
{
    uintptr_t self = pl_thread_pointer();
    int tries =
        load_relaxed(&file->full) ? LOCK_SPINS : LOCK_SPINS + LOCK_DOZES; /* full: held for a moment, or for ever */
    for (int i = 0; i < tries; i++) {
        if (load_relaxed(&file->grow_lock) == self || swap_if(&file->grow_lock, 0, self))
            return true;
        if (i < LOCK_SPINS)
            pl_pause();
        else
            pl_sys_doze(1000000);
    }
    swap_if(&file->full, 0, PL_LOSS_FILE_FULL + 1); /* its holder is gone: nobody is to wait so long a second time */
    return false;
}

/* The last of the room is for threads: what they count is exact also when nothing else is known. */
static uint64_t room_for(const struct pl_file *file, enum pl_kind kind)
{
    uint64_t kept = file->mapped_bytes / 16 < FOR_THREADS ? file->mapped_bytes / 16 : FOR_THREADS;
    return kind == PL_KIND_THREAD ? file->mapped_bytes : file->mapped_bytes - kept;
}

/* Makes the k-th chunk of a kind exist. */
static bool add_chunks(struct pl_file *file, enum pl_kind kind, uint32_t k)
{
    struct pl_header *header = header_of(file);
    if (!lock(file))
        return false;
    for (uint32_t i = 0; i <= k; i++) {
        if (lists[kind].chunk[i])
            continue;
        uint64_t chunk = header->chunks;
        uint64_t end = PL_CHUNKS_OFFSET + (chunk + 1) * PL_CHUNK_BYTES;
        if (chunk >= PL_CHUNKS_MAX - 1 || end > room_for(file, kind) || (end > file->file_bytes && !grow(file, end)))
            break;
        store_release(&header->chunks, chunk + 1);
        store_release(&lists[kind].chunk[i], (uint16_t) (chunk + 1));
    }
    store_release(&file->grow_lock, 0);
    return load_acquire(&lists[kind].chunk[k]) != 0;
}

void pl_file_freeze(struct pl_file *file, bool frozen)
{
    swap_if(&file->full, frozen ? 0 : PL_LOSS_SANDBOX + 1, frozen ? PL_LOSS_SANDBOX + 1 : 0);
}

void pl_file_reserve(struct pl_file *file, uint64_t bytes)
{
    if (!lock(file))
        return;
    uint64_t need = PL_CHUNKS_OFFSET + header_of(file)->chunks * PL_CHUNK_BYTES + bytes;
    if (need > file->mapped_bytes)
        need = file->mapped_bytes;
    if (need > file->file_bytes)
        grow(file, need);
    store_release(&file->grow_lock, 0);
}

/* ---- appending ---- */

uint8_t pl_file_nowhere[PL_CHUNK_BYTES] __attribute__((aligned(64)));
uint8_t *pl_file_base = pl_file_nowhere;

void *pl_file_record(const struct pl_file *file, enum pl_kind kind, uint32_t number)
{
    uint32_t per_chunk = PL_CHUNK_BYTES / pl_record_bytes[kind];
    uint32_t k = number / per_chunk;
    uint32_t chunk = k < lists[kind].most ? load_acquire(&lists[kind].chunk[k]) : 0;
    if (unlikely(!chunk || !file->base))
        return pl_file_nowhere;
    return chunk_at(file, chunk - 1) + (uint64_t) (number % per_chunk) * pl_record_bytes[kind];
}

static bool have_chunk(struct pl_file *file, enum pl_kind kind, uint64_t number)
{
    uint64_t k = number / (PL_CHUNK_BYTES / pl_record_bytes[kind]);
    if (k >= lists[kind].most || (!load_acquire(&lists[kind].chunk[k]) && !add_chunks(file, kind, (uint32_t) k)))
        return false;
    /* Written down at every use: whoever was to do it when the chunk was new may have been thrown out before. */
    store_release(&file->base[PL_HEADER_BYTES + lists[kind].chunk[k] - 1], (uint8_t) kind);
    return true;
}

static void lost_growth(const struct pl_file *file)
{
    pl_file_lost(file, load_relaxed(&file->full) == PL_LOSS_SANDBOX + 1 ? PL_LOSS_SANDBOX : PL_LOSS_FILE_FULL);
}

uint32_t pl_file_append(struct pl_file *file, enum pl_kind kind, void **record)
{
    if (!file->base)
        return 0;
    uint64_t number = fetch_add(&header_of(file)->count[kind], 1);
    if (number == 0 || number > UINT32_MAX || !have_chunk(file, kind, number)) {
        lost_growth(file);
        return 0;
    }
    *record = pl_file_record(file, kind, (uint32_t) number);
    return (uint32_t) number;
}

struct pl_text pl_file_text(struct pl_file *file, const char *text, uint64_t bytes)
{
    struct pl_text none = {0, 0};
    uint64_t room = (bytes + 7) & ~7ull;
    if (!file->base || !bytes || bytes > PL_PATH_MAX)
        return none;
    for (;;) {
        uint64_t at = fetch_add(&header_of(file)->count[PL_KIND_TEXT], room);
        if (at > UINT32_MAX || !have_chunk(file, PL_KIND_TEXT, at)) {
            lost_growth(file);
            return none;
        }
        if (at / PL_CHUNK_BYTES != (at + room - 1) / PL_CHUNK_BYTES)
            continue; /* would cross a chunk: leave a hole and take the next place */
        pl_copy(pl_file_record(file, PL_KIND_TEXT, (uint32_t) at), text, bytes);
        return (struct pl_text){(uint32_t) at, (uint32_t) bytes};
    }
}

/* ---- creating and leaving ---- */

/* Where the program has bounded its own address space, it is not for us to fill. */
static uint64_t modest(uint64_t bytes)
{
    struct pl_limit limit;
    uint64_t share = pl_sys_limit(PL_LIMIT_AS, &limit) == 0 ? limit.soft / 64 : bytes;
    return share >= bytes ? bytes : share > GROW_FIRST ? share : GROW_FIRST;
}

/* As much address space as the limit allows; less where there is less to be had. */
static bool map(struct pl_file *file, int fd, uint64_t limit_bytes)
{
    for (uint64_t bytes = (modest(limit_bytes) + 4095) & ~4095ull; bytes >= GROW_FIRST; bytes /= 2) {
        bytes &= ~4095ull;
        int fixed = inherited.base && inherited.bytes >= bytes ? MAP_FIXED : 0;
        file->base = pl_sys_mmap(fixed ? inherited.base : NULL, bytes, MAP_SHARED | MAP_NORESERVE | fixed, fd);
        file->mapped_bytes = bytes;
        if (file->base)
            return true;
    }
    return false;
}

static bool take(struct pl_file *file, int fd)
{
    if (pl_sys_stat_fd(fd, &st))
        return false;
    file->inode = st.stx_ino;
    file->device = (uint64_t) st.stx_dev_major << 32 | st.stx_dev_minor;
    file->file_bytes = 0;
    if (!extend(file, fd, GROW_FIRST, GROW_FIRST) || !map(file, fd, file->limit_bytes))
        return false;
    long high = pl_sys_dup_above(fd, PL_FD_AT_LEAST);
    file->fd = high >= 0 ? (int) high : -1; /* -1: growing opens the path again */
    return true;
}

static void remember(const struct pl_file *file)
{
    inherited.base = file->base;
    inherited.bytes = file->mapped_bytes;
    inherited.fd = file->fd;
    inherited.inode = file->inode;
    inherited.device = file->device;
    pl_sys_madvise(file->base, file->mapped_bytes, MADV_DONTDUMP);
}

static void start_counts(struct pl_header *header)
{
    /* Number 0 of each kind means "none". Symbols are not written by us. */
    for (int kind = 1; kind < WRITER_KINDS; kind++)
        header->count[kind] = kind == PL_KIND_TEXT ? 8 : kind != PL_KIND_SYMBOL;
}

long pl_file_create(struct pl_file *file, const char *path, uint64_t limit_bytes)
{
    long fd = pl_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fd;
    pl_memory_wipe_on_fork(&chunks, sizeof chunks & ~(size_t) 4095);
    pl_copy(file->path, path, pl_text_bytes(path) + 1);
    file->limit_bytes = limit_bytes < PL_FILE_BYTES_MAX ? limit_bytes : PL_FILE_BYTES_MAX;
    bool ok = take(file, (int) fd);
    pl_sys_close((int) fd);
    if (!ok) {
        pl_sys_unlink(path);
        file->base = NULL;
        return -ENOSPC; /* or a limit that amounts to it */
    }
    remember(file);
    start_counts(header_of(file));
    return 0;
}

void pl_file_detach(void)
{
    if (inherited.base)
        pl_sys_mmap(inherited.base, inherited.bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
}

void pl_file_abandon(void)
{
    if (inherited.fd > 0 && is_file(inherited.fd, inherited.device, inherited.inode))
        pl_sys_close(inherited.fd);
    inherited.fd = -1;
}

/* ---- copying ---- */

static long write_all(int fd, const void *from, uint64_t bytes, uint64_t to)
{
    for (uint64_t done = 0; done < bytes;) {
        long n = pl_sys_pwrite(fd, (const uint8_t *) from + done, bytes - done, to + done);
        if (n == 0)
            return -EIO;
        if (n < 0 && n != -EINTR)
            return n;
        done += n > 0 ? (uint64_t) n : 0;
    }
    return 0;
}

/* The naming before the named, as the reader has it (reader/snapshot.c). Threads come before what they have booked,
 * since the tag that they name is charged with the rest; those that have come since are added in the end. */
static const uint8_t figures_first[] = {PL_KIND_THREAD, PL_KIND_SNAPSHOT, PL_KIND_REMOTE,
                                        PL_KIND_TALLY,  PL_KIND_ROW,      PL_KIND_SCOPE};

static bool holds_figures(uint8_t kind)
{
    for (unsigned i = 0; i < sizeof figures_first; i++)
        if (kind == figures_first[i])
            return true;
    return false;
}

/* Does a chunk of this kind belong to the pass: that of one kind, or that of all others (0)? */
static bool belongs(uint8_t kind, uint8_t pass)
{
    return pass ? kind == pass : !holds_figures(kind);
}

/* A handler may fork in the middle of it, and the child go on: what is known of the file is wiped then, but not where
 * it is mapped. */
struct copier {
    const uint8_t *base;
    int fd;
};

static const struct pl_header *original(const struct copier *copier)
{
    return (const struct pl_header *) (const void *) copier->base;
}

/* Runs of chunks at once. */
static long write_chunks(const struct copier *copier, uint64_t chunk_count, uint8_t pass)
{
    const uint8_t *kind = copier->base + PL_HEADER_BYTES;
    long r = 0;
    for (uint64_t from = 0, end; from < chunk_count && r == 0; from = end + 1) {
        for (end = from; end < chunk_count && belongs(load_acquire(&kind[end]), pass);)
            end++;
        uint64_t at = PL_CHUNKS_OFFSET + from * PL_CHUNK_BYTES;
        r = write_all(copier->fd, copier->base + at, (end - from) * PL_CHUNK_BYTES, at);
    }
    return r;
}

/* Writing beyond the limit would raise SIGXFSZ. */
static bool may_hold(uint64_t chunk_count)
{
    struct pl_limit limit;
    return pl_sys_limit(PL_LIMIT_FSIZE, &limit) || PL_CHUNKS_OFFSET + chunk_count * PL_CHUNK_BYTES <= limit.soft;
}

/* Each pass over the chunks that there are by then. */
static long write_figures(const struct copier *copier)
{
    long r = 0;
    for (unsigned i = 0; i < sizeof figures_first && r == 0; i++) {
        uint64_t chunk_count = load_acquire(&original(copier)->chunks);
        r = may_hold(chunk_count) ? write_chunks(copier, chunk_count, figures_first[i]) : -EFBIG;
    }
    return r;
}

static long write_threads(const struct pl_file *file, const struct copier *copier, uint64_t from, uint64_t to)
{
    long r = 0;
    for (; from < to && r == 0; from++) {
        const uint8_t *record = pl_file_record(file, PL_KIND_THREAD, (uint32_t) from);
        if (record != pl_file_nowhere)
            r = write_all(copier->fd, record, sizeof(struct pl_thread_record), (uint64_t) (record - copier->base));
    }
    return r;
}

/* Figures that come to a new chunk meanwhile are not in the copy. The magic comes last: a copy that was cut short by
 * the end of the process is not taken for a profile. */
static long write_copy(const struct pl_file *file, const struct copier *copier, struct pl_header *room,
                       void (*change)(struct pl_header *))
{
    int fd = copier->fd;
    uint64_t threads = load_acquire(&original(copier)->count[PL_KIND_THREAD]);
    long r = write_figures(copier);
    pl_copy(room, original(copier), sizeof *room);
    if (change)
        change(room);
    if (r == 0)
        r = may_hold(room->chunks) ? pl_sys_truncate(fd, PL_CHUNKS_OFFSET + room->chunks * PL_CHUNK_BYTES) : -EFBIG;
    if (r == 0)
        r = write_chunks(copier, room->chunks, 0);
    if (r == 0)
        r = write_threads(file, copier, threads, room->count[PL_KIND_THREAD]);
    if (r == 0)
        r = write_all(fd, copier->base + PL_HEADER_BYTES, room->chunks, PL_HEADER_BYTES);
    if (r == 0)
        r = write_all(fd, room->magic + sizeof room->magic, sizeof *room - sizeof room->magic, sizeof room->magic);
    return r ? r : write_all(fd, room->magic, sizeof room->magic, 0);
}

long pl_file_copy(const struct pl_file *file, const char *path, struct pl_header *room,
                  void (*change)(struct pl_header *header))
{
    struct copier copier = {.base = file->base};
    if (!copier.base)
        return -ENODATA;
    long fd = pl_sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fd;
    copier.fd = (int) fd;
    long r = write_copy(file, &copier, room, change);
    pl_sys_close((int) fd);
    if (r && file->base == copier.base) /* otherwise forked: the copy is the parent's */
        pl_sys_unlink(path);
    return r;
}
