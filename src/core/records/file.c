/* SPDX-License-Identifier: MIT */
/* file.c - see file.h. */
#include "core/records/file.h"

#include <errno.h>

#include "core/blocks/blocks.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/text.h"

#define PAGE PL_ARCH_PAGE_MOST
#define PAGE_LEAST 4096u
/* At the start; then the allocated part grows by a quarter, by up to GROW_MOST at a time, and the mapping doubles. Most
 * processes of a server that forks for each connection need little more than GROW_FIRST. */
#define GROW_FIRST PL_FILE_YOUNG
#define YOUNG_PAGES (PL_FILE_YOUNG / PAGE)
_Static_assert(YOUNG_PAGES <= 64, "a bit for each page");
#define GROW_SHARE 4
#define GROW_MOST (1u << 20)
#define AS_SHARE 64 /* of a limited address space we take at most one part in so many */
#define LONELY_FROM 0x7e8000000000ull
#define LONELY_STEP (1ull << 30)
#define LONELY_PLACES 256
#define REFUSED_FOR 1024u /* after a failure, only one attempt in so many asks the kernel again */
#define FOR_THREADS (256u << 10)

#define WRITER_KINDS (PL_KIND_JIT + 1)

/* For each kind: which chunk of the file is its k-th, plus one. Private memory, because nothing that is read back from
 * the file is trusted. The first chunks of all kinds lie side by side: each page that a short process touches costs it
 * as much as dozens of allocations. Kinds with few or small records have short lists: 4,096 chunks hold 4 million
 * sites, 16,384 hold 16 million frames. */
#define FEW 128u
#define SOME 4096u
#define MANY 16384u
#define CLAIM_SHIFT 24
static struct {
    uint16_t list[MANY][WRITER_KINDS];
    uint32_t claims[PL_CHUNKS_MAX]; /* what each chunk is: kind << CLAIM_SHIFT | k; 0: not claimed */
    uint8_t padding[PAGE];          /* fork wipes whole pages */
} chunks PAGE_ALIGNED;
_Static_assert(PL_CHUNKS_MAX - 1 <= UINT16_MAX, "the last chunk is never used, so the others fit, plus one");

/* How many chunks a kind may have; 0: we do not write records of this kind. */
static const uint16_t most_of[WRITER_KINDS] = {
    [PL_KIND_TEXT] = MANY,     [PL_KIND_MODULE] = FEW,      [PL_KIND_FRAME] = MANY, [PL_KIND_THREAD] = FEW,
    [PL_KIND_SITE] = SOME,     [PL_KIND_ROW] = MANY,        [PL_KIND_TALLY] = MANY, [PL_KIND_REMOTE] = MANY,
    [PL_KIND_MOMENT] = FEW,    [PL_KIND_COMPOSITION] = FEW, [PL_KIND_TAG] = SOME,   [PL_KIND_SCOPE] = SOME,
    [PL_KIND_DIRECTORY] = FEW, [PL_KIND_SMALL] = MANY,      [PL_KIND_HEAP] = FEW,   [PL_KIND_LEDGER] = SOME,
    [PL_KIND_FUNCTION] = SOME, [PL_KIND_JIT] = SOME,
};

INLINE uint16_t *chunk_of(enum pl_kind kind, uint64_t k)
{
    return &chunks.list[k][kind];
}

/* The mapping, in memory that fork does not wipe: a child maps its own file over it. */
static struct {
    void *base;
    uint64_t bytes;
} inherited;

static struct pl_header *header_at(uint8_t *base)
{
    return (struct pl_header *) (void *) base;
}

static uint8_t *chunk_at(const struct pl_file *file, uint32_t chunk)
{
    return file->base + pl_chunk_offset(chunk);
}

void pl_file_lost(const struct pl_file *file, enum pl_loss loss)
{
    if (file->base)
        fetch_add(&header_at(file->base)->losses[loss], 1);
}

/* ---- growing ---- */

/* Stores `value` unless a larger one is there. */
static void at_least(uint64_t *to, uint64_t value)
{
    for (uint64_t now = load_relaxed(to); now < value && !swap_if(to, now, value);)
        now = load_relaxed(to);
}

/* Out of line, to save stack: inlined, their frames would add to those of other calls. */

/* Before Linux 5.14: one page after the other. */
static OUT_OF_LINE COLD long touch_pages(uint8_t *from, uint64_t bytes)
{
    static uint32_t word;
    for (; bytes; from += PAGE_LEAST, bytes -= PAGE_LEAST) {
        long r = pl_sys_touch(&word, from);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Allocates the pages of a mapped range without a descriptor. A store into a page that cannot be allocated would raise
 * SIGBUS; these calls fail instead. They change no byte, so several threads may do this at the same time. */
INLINE long populate(uint8_t *from, uint64_t bytes)
{
    long r = pl_sys_populate(from, bytes);
    return r == -EINVAL ? touch_pages(from, bytes) : r;
}

/* If the program has limited its address space, we leave most of it to the program. */
static bool is_modest(uint64_t bytes)
{
    struct pl_limit limit;
    return bytes <= GROW_FIRST || pl_sys_limit(PL_LIMIT_AS, &limit) != 0 || bytes <= limit.soft / AS_SHARE;
}

/* Where the mapping ends: at `from` or after it. Another thread may have extended it and not published that yet, or a
 * signal handler may have left by longjmp in between. If the mapping is shorter than we say, the kernel answers EFAULT;
 * if it is longer, ENOMEM; if it ends just there, the kernel extends it by a page. The program's own mapping behind
 * ours is never taken for a part of it. An emulated kernel may answer ENOMEM to everything: then nothing is known. */
static uint64_t find_end(uint8_t *base, uint64_t from, uint64_t limit_bytes)
{
    uint64_t beyond = limit_bytes + 2 * PAGE; /* no mapping ends here: we never ask about the page before it */
    if (pl_sys_stretch(base, beyond, beyond + PAGE) != -EFAULT)
        return from;
    for (beyond = limit_bytes + PAGE; from < beyond && beyond - from > PAGE;) {
        uint64_t middle = from + ((beyond - from) / 2 & ~(PAGE - 1ull));
        long r = pl_sys_stretch(base, middle, middle + PAGE);
        if (r == -EFAULT)
            beyond = middle;
        else
            from = r < 0 ? middle : middle + PAGE;
    }
    return from;
}

/* How long the mapping should become: twice as long, or no more than is needed; 0 if it may not grow. */
static OUT_OF_LINE uint64_t next_end(const struct pl_file *file, uint64_t mapped, uint64_t need)
{
    uint64_t to = 2 * mapped < file->limit_bytes ? 2 * mapped : file->limit_bytes;
    if (to < need || !is_modest(to))
        to = need;
    return is_modest(to) ? to : 0;
}

/* Extends the mapping in place from `from`, if it ends there. Returns where it ends. */
static OUT_OF_LINE uint64_t stretch(const struct pl_file *file, uint8_t *base, uint64_t from, uint64_t to)
{
    long r = pl_sys_stretch(base, from, to);
    if (r >= 0)
        return to;
    uint64_t end = find_end(base, from, file->limit_bytes);
    /* EAGAIN: mlockall() has locked it, and more would exceed a limit */
    if (end == from && r == -EAGAIN && pl_sys_munlock(base, from) == 0)
        return pl_sys_stretch(base, from, to) < 0 ? from : to;
    return end;
}

static bool stop_growth(struct pl_file *file, enum pl_full why, long error)
{
    store_relaxed(&file->full_errno, (uint32_t) -error);
    store_relaxed(&file->full, why);
    return false;
}

/* Extends the mapping until at least `need` bytes are mapped. */
static OUT_OF_LINE bool map_more(struct pl_file *file, uint8_t *base, uint64_t need)
{
    for (uint64_t mapped; (mapped = load_acquire(&file->mapped_bytes)) < need;) {
        uint64_t to = next_end(file, mapped, need), end = to ? stretch(file, base, mapped, to) : mapped;
        if (end == mapped)
            return stop_growth(file, PL_FULL_ADDRESSES, -ENOMEM);
        at_least(&inherited.bytes, end);
        at_least(&file->mapped_bytes, end);
    }
    return true;
}

static long allocate(struct pl_file *file, uint8_t *base, uint64_t to)
{
    uint64_t from = load_relaxed(&file->file_bytes);
    long r = from < to ? populate(base + from, to - from) : 0;
    if (r == 0)
        at_least(&file->file_bytes, to);
    return r;
}

/* The bits of `young` for a range of the file. */
INLINE uint64_t young_bits(uint64_t from, uint64_t to)
{
    uint64_t all = ~0ull >> (64 - YOUNG_PAGES), first = from / PAGE, end = (to + PAGE - 1) / PAGE;
    uint64_t below_end = end >= YOUNG_PAGES ? all : (1ull << end) - 1;
    return first >= YOUNG_PAGES ? 0 : below_end & ~((1ull << first) - 1);
}

static OUT_OF_LINE bool may_grow(struct pl_file *file, uint64_t need)
{
    if (need > __atomic_load_n(&file->limit_bytes, __ATOMIC_SEQ_CST))
        return stop_growth(file, file->limit_why, 0);
    if (load_relaxed(&file->frozen))
        return stop_growth(file, PL_FULL_SANDBOX, 0);
    uint32_t full = load_relaxed(&file->full);
    return !full || full == PL_FULL_SANDBOX || full == file->limit_why ||
           fetch_add(&file->refused, 1) % REFUSED_FOR == 0;
}

/* If there is less space than for a whole step, takes no more than is needed. */
static OUT_OF_LINE bool allocate_more(struct pl_file *file, uint8_t *base, uint64_t need)
{
    uint64_t now = load_relaxed(&file->file_bytes), step = (now / GROW_SHARE) & ~(PAGE - 1ull);
    uint64_t to = now + (step < GROW_MOST ? step : GROW_MOST);
    uint64_t mapped = load_relaxed(&file->mapped_bytes), most = mapped < file->limit_bytes ? mapped : file->limit_bytes;
    to = to > most ? most : to;
    long r = to > need ? allocate(file, base, to) : -EAGAIN;
    if (r < 0)
        r = allocate(file, base, need);
    if (r < 0)
        return stop_growth(file, r == -EFAULT ? PL_FULL_DEVICE : PL_FULL_ERROR, r);
    store_relaxed(&file->full, PL_FULL_NOT);
    return true;
}

/* Allocates the pages of a range that has young ones. */
static OUT_OF_LINE COLD bool allocate_young(struct pl_file *file, uint8_t *base, uint64_t from, uint64_t to)
{
    if (!may_grow(file, to))
        return false;
    uint64_t in_chunk = (from - PL_CHUNKS_OFFSET) % PL_CHUNK_BYTES;
    if (from >= PL_CHUNKS_OFFSET &&
        in_chunk >= PAGE) /* the second page of a chunk: then the rest of it is likely to follow */
        to = from - in_chunk + PL_CHUNK_BYTES;
    from &= ~(PAGE - 1ull);
    to = (to + PAGE - 1) & ~(PAGE - 1ull);
    long r = populate(base + from, to - from);
    if (r < 0)
        return stop_growth(file, r == -EFAULT ? PL_FULL_DEVICE : PL_FULL_ERROR, r);
    fetch_or(&file->young, young_bits(from, to));
    store_relaxed(&file->full, PL_FULL_NOT);
    return true;
}

/* Is this range of the file, in chunks that are assigned, allocated? If not, allocates it. */
INLINE bool have_pages(struct pl_file *file, uint8_t *base, uint64_t from, uint64_t to)
{
    uint64_t bits = young_bits(from, to);
    return likely((load_relaxed(&file->young) & bits) == bits) || allocate_young(file, base, from, to);
}

/* Counted, for pl_file_trim(). The steps are called from here, one after another, to save stack: this is the deepest
 * part of the cold path, and none of them has the frame of another below it. */
INLINE bool grow(struct pl_file *file, uint8_t *base, uint64_t need)
{
    __atomic_fetch_add(&file->growing, 1, __ATOMIC_SEQ_CST);
    bool done = may_grow(file, need) && map_more(file, base, need) && allocate_more(file, base, need);
    __atomic_fetch_sub(&file->growing, 1, __ATOMIC_SEQ_CST);
    return done;
}

/* The last part of the file is reserved for thread records: their counts are exact even if nothing else is recorded. */
static uint64_t room_for(const struct pl_file *file, enum pl_kind kind)
{
    uint64_t kept = file->limit_bytes / 16 < FOR_THREADS ? file->limit_bytes / 16 : FOR_THREADS;
    return kind == PL_KIND_THREAD ? file->limit_bytes : file->limit_bytes - kept;
}

/* May a chunk of this kind end here? If not, sets the reason. The word of a live block has room for the place of a
 * tally, or of a small record, in the first 256 MiB. */
static bool may_end(struct pl_file *file, enum pl_kind kind, uint64_t end)
{
    if (end > room_for(file, kind))
        return stop_growth(file, file->limit_why, 0);
    if ((kind == PL_KIND_TALLY || kind == PL_KIND_SMALL) && end > PL_BLOCK_TALLY_END)
        return stop_growth(file, PL_FULL_FORMAT, 0);
    return true;
}

/* Does what a claim on a chunk says. Any thread may do this for another, more than once. The list comes before the
 * count: a chunk that is counted has been assigned. */
static void assign(struct pl_file *file, uint8_t *base, uint64_t chunk, uint32_t claim)
{
    uint32_t kind = claim >> CLAIM_SHIFT, k = claim & ((1u << CLAIM_SHIFT) - 1);
    if (!kind) /* a signal handler forked here, and this is the child */
        return;
    store_release(&base[pl_chunk_entry((uint32_t) chunk)], (uint8_t) kind);
    swap_if(chunk_of(kind, k), 0, (uint16_t) (chunk + 1));
    at_least(&file->chunks, chunk + 1);
}

/*
 * Assigns the next chunk to a kind, as its k-th. There is no lock that a slow, stopped or dead thread could hold: each
 * thread makes room itself, which is harmless if several do it, then claims the chunk by compare-and-swap. A thread
 * that finds a claim on the chunk completes it first.
 *
 * No k-th chunk is assigned twice: `chunks` is read before the list. If the list then has no k-th chunk, none of the
 * chunks below `chunks` is it, and a chunk above cannot be claimed before this one. Where a directory belongs, the
 * thread assigns that first.
 */
static uint32_t claim_for(uint32_t chunk, enum pl_kind kind, uint32_t k)
{
    if (pl_chunk_is_directory(chunk))
        return (uint32_t) PL_KIND_DIRECTORY << CLAIM_SHIFT | chunk / PL_DIRECTORY_CHUNKS;
    return (uint32_t) kind << CLAIM_SHIFT | k;
}

enum chunk_state { CHUNK_REFUSED, CHUNK_THERE, CHUNK_NEEDS_ROOM };

/* Is what assigning this chunk writes to allocated: its entry, and itself? */
INLINE bool is_allocated(const struct pl_file *file, uint32_t chunk)
{
    uint64_t entry = pl_chunk_entry(chunk), bits = young_bits(entry, entry + 1);
    return pl_chunk_offset(chunk + 1) <= load_acquire(&file->file_bytes) && (load_relaxed(&file->young) & bits) == bits;
}

static enum chunk_state add_chunk(struct pl_file *file, uint8_t *base, enum pl_kind kind, uint32_t k)
{
    for (;;) {
        uint32_t chunk = (uint32_t) load_acquire(&file->chunks);
        if (load_acquire(chunk_of(kind, k)))
            return CHUNK_THERE;
        if (chunk >= PL_CHUNKS_MAX - 1)
            return stop_growth(file, PL_FULL_FORMAT, 0), CHUNK_REFUSED;
        if (!load_relaxed(&chunks.claims[chunk])) {
            if (!may_end(file, kind, pl_chunk_offset(chunk + 1)))
                return CHUNK_REFUSED;
            if (!is_allocated(file, chunk))
                return CHUNK_NEEDS_ROOM;
            swap_if(&chunks.claims[chunk], 0, claim_for(chunk, kind, k));
        }
        assign(file, base, chunk, load_acquire(&chunks.claims[chunk]));
    }
}

/* Readers number the chunks of a kind in the order of the file, so those before the k-th must be assigned first. */
static enum chunk_state add_chunks(struct pl_file *file, uint8_t *base, enum pl_kind kind, uint32_t k)
{
    enum chunk_state state = CHUNK_THERE;
    for (uint32_t i = 0; i <= k && state == CHUNK_THERE; i++)
        if (!load_relaxed(chunk_of(kind, i)))
            state = add_chunk(file, base, kind, i);
    return state;
}

/* Allocates what the next chunk needs. */
static OUT_OF_LINE COLD bool make_chunk_room(struct pl_file *file, uint8_t *base)
{
    uint32_t chunk = (uint32_t) load_acquire(&file->chunks);
    uint64_t entry = pl_chunk_entry(chunk), end = pl_chunk_offset(chunk + 1);
    return (end <= load_acquire(&file->file_bytes) || grow(file, base, end)) &&
           have_pages(file, base, entry, entry + 1);
}

void pl_file_freeze(struct pl_file *file, bool frozen)
{
    store_relaxed(&file->frozen, frozen);
}

void pl_file_reserve(struct pl_file *file, uint64_t bytes)
{
    uint64_t need = pl_chunk_offset((uint32_t) load_relaxed(&file->chunks)) + bytes;
    need = need < file->limit_bytes ? need : file->limit_bytes;
    if (!file->base)
        return;
    have_pages(file, file->base, 0, need < PL_FILE_YOUNG ? need : PL_FILE_YOUNG);
    if (need > load_relaxed(&file->file_bytes))
        grow(file, file->base, need);
}

/* ---- appending ---- */

uint8_t pl_file_nowhere[PL_CHUNK_BYTES] __attribute__((aligned(64)));
uint8_t *pl_file_base = pl_file_nowhere;

INLINE uint8_t *place_of(const struct pl_file *file, enum pl_kind kind, uint32_t number)
{
    uint32_t per_chunk = PL_CHUNK_BYTES / pl_record_bytes[kind];
    uint32_t k = number / per_chunk;
    uint32_t chunk = k < most_of[kind] ? load_acquire(chunk_of(kind, k)) : 0;
    if (unlikely(!chunk || !file->base))
        return pl_file_nowhere;
    return chunk_at(file, chunk - 1) + (uint64_t) (number % per_chunk) * pl_record_bytes[kind];
}

bool pl_file_has(const struct pl_file *file, const void *at, uint64_t bytes)
{
    uint64_t from = (uint64_t) ((const uint8_t *) at - file->base), bits = young_bits(from, from + bytes);
    return (load_relaxed(&file->young) & bits) == bits;
}

/* If there was no room for the record, some of its pages may be missing: then it is nowhere, too. */
INLINE void *record_of(const struct pl_file *file, enum pl_kind kind, uint32_t number)
{
    uint8_t *at = place_of(file, kind, number);
    bool old = (uint64_t) (at - file->base) >= PL_FILE_YOUNG;
    return likely(old || pl_file_has(file, at, pl_record_bytes[kind])) ? at : pl_file_nowhere;
}

void *pl_file_record(const struct pl_file *file, enum pl_kind kind, uint32_t number)
{
    /* At every free by another thread: with a known size, nothing is divided. And it names a record that has room. */
    if (kind == PL_KIND_REMOTE)
        return place_of(file, PL_KIND_REMOTE, number);
    if (kind == PL_KIND_ROW) /* for every sample */
        return record_of(file, PL_KIND_ROW, number);
    return record_of(file, kind, number);
}

uint32_t pl_file_number(const struct pl_file *file, enum pl_kind kind, const void *record)
{
    uint64_t offset = (uint64_t) ((const uint8_t *) record - file->base) - PL_CHUNKS_OFFSET;
    uint32_t claim =
        offset / PL_CHUNK_BYTES < PL_CHUNKS_MAX ? load_acquire(&chunks.claims[offset / PL_CHUNK_BYTES]) : 0;
    if (claim >> CLAIM_SHIFT != (uint32_t) kind)
        return 0;
    uint32_t first = (claim & ((1u << CLAIM_SHIFT) - 1)) * (PL_CHUNK_BYTES / pl_record_bytes[kind]);
    return first + (uint32_t) (offset % PL_CHUNK_BYTES) / pl_record_bytes[kind];
}

static OUT_OF_LINE enum chunk_state find_chunk(struct pl_file *file, uint8_t *base, enum pl_kind kind, uint64_t number)
{
    uint64_t k = number / (PL_CHUNK_BYTES / pl_record_bytes[kind]);
    if (k >= most_of[kind])
        return stop_growth(file, PL_FULL_FORMAT, 0), CHUNK_REFUSED;
    uint64_t chunk = load_acquire(chunk_of(kind, k));
    if (unlikely(!chunk)) {
        enum chunk_state state = add_chunks(file, base, kind, (uint32_t) k);
        if (state != CHUNK_THERE)
            return state;
        chunk = load_acquire(chunk_of(kind, k));
    }
    /* At every use: the thread that assigned it may have been stopped there. */
    at_least(&header_at(base)->chunks, chunk);
    return CHUNK_THERE;
}

/* Is there room for `bytes` from this record on? One step after the other, to save stack. */
INLINE bool have_room(struct pl_file *file, uint8_t *base, enum pl_kind kind, uint64_t number, uint64_t bytes)
{
    enum chunk_state state;
    while ((state = find_chunk(file, base, kind, number)) == CHUNK_NEEDS_ROOM)
        if (!make_chunk_room(file, base))
            return false;
    if (state == CHUNK_REFUSED)
        return false;
    uint64_t at = (uint64_t) (place_of(file, kind, (uint32_t) number) - base);
    return have_pages(file, base, at, at + bytes);
}

static COLD void lost_growth(const struct pl_file *file, uint8_t *base)
{
    uint32_t why = load_relaxed(&file->full);
    struct pl_header *header = header_at(base);
    fetch_add(&header->losses[why == PL_FULL_SANDBOX ? PL_LOSS_SANDBOX : PL_LOSS_FILE_FULL], 1);
    if (!load_relaxed(&header->full)) {
        store_relaxed(&header->full_errno, load_relaxed(&file->full_errno));
        store_relaxed(&header->full, why);
    }
}

/* A file that did not grow may grow again later. Numbers that nobody can use would then be chunks without records, so a
 * full file hands out none. */
INLINE bool has_room(struct pl_file *file, uint8_t *base, enum pl_kind kind)
{
    return likely(!load_relaxed(&file->full)) ||
           have_room(file, base, kind, load_relaxed(&header_at(base)->count[kind]), pl_record_bytes[kind]);
}

uint32_t pl_file_append(struct pl_file *file, enum pl_kind kind, void **record)
{
    uint8_t *base = file->base;
    if (!base)
        return 0;
    uint64_t number = has_room(file, base, kind) ? fetch_add(&header_at(base)->count[kind], 1) : 0;
    if (number == 0 || number > UINT32_MAX || !have_room(file, base, kind, number, pl_record_bytes[kind])) {
        lost_growth(file, base);
        return 0;
    }
    *record = pl_file_record(file, kind, (uint32_t) number);
    return (uint32_t) number;
}

struct pl_text pl_file_text(struct pl_file *file, const char *text, uint64_t bytes)
{
    struct pl_text none = {0, 0};
    uint64_t room = (bytes + 7) & ~7ull;
    uint8_t *base = file->base;
    if (!base || !bytes || bytes > PL_PATH_MAX)
        return none;
    for (;;) {
        uint64_t at = has_room(file, base, PL_KIND_TEXT) ? fetch_add(&header_at(base)->count[PL_KIND_TEXT], room) : 0;
        if (at && at / PL_CHUNK_BYTES != (at + room - 1) / PL_CHUNK_BYTES)
            continue; /* would cross into another chunk: leave a hole and try again */
        if (at == 0 || at > UINT32_MAX || !have_room(file, base, PL_KIND_TEXT, at, room)) {
            lost_growth(file, base);
            return none;
        }
        pl_memory_copy(pl_file_record(file, PL_KIND_TEXT, (uint32_t) at), text, bytes);
        return (struct pl_text){(uint32_t) at, (uint32_t) bytes};
    }
}

/* ---- creating and leaving ---- */

/* Where a mapping can grow in place: the kernel places mappings below the ones that it has, from the top, and begins up
 * to 1 TiB below the end of the address space. This is another 256 GiB below, far from the heap, and the highest part
 * of what all sanitizers take for memory of the program: ThreadSanitizer ends programs with mappings elsewhere. Random,
 * like the kernel's own choices. */
static void *lonely_place(void)
{
    uint64_t random = 0;
    if (pl_sys_getrandom(&random, sizeof random) != (long) sizeof random)
        random = pl_hash(pl_sys_clock_ns(CLOCK_MONOTONIC), pl_sys_getpid());
    return (void *) (uintptr_t) (LONELY_FROM + random % LONELY_PLACES * LONELY_STEP);
}

/* Without MADV_RANDOM, the first store makes a file system on disk read ahead, as far as the disk is set to: 8 MiB of a
 * hole, in the page cache of every process. */
static uint8_t *map_at(void *at, uint64_t bytes, int fixed, int fd)
{
    uint8_t *base = pl_sys_mmap(at, bytes, MAP_SHARED | MAP_NORESERVE | fixed, fd);
    if (base)
        pl_sys_madvise(base, bytes, MADV_RANDOM);
    return base;
}

/* Maps the file at its full size, or at what there is of that. */
static bool map_whole(struct pl_file *file, int fd)
{
    for (uint64_t bytes = file->limit_bytes; bytes >= GROW_FIRST; bytes = bytes / 2 & ~(PAGE - 1ull)) {
        file->mapped_bytes = bytes;
        if ((is_modest(bytes) || bytes / 2 < GROW_FIRST) && (file->base = map_at(NULL, bytes, 0, fd)))
            return true;
    }
    return false;
}

/* Maps the beginning of the file, where the mapping can grow: its last page is added by growing. Valgrind, for example,
 * does not let a file's mapping grow. */
static bool map_to_grow(struct pl_file *file, int fd)
{
    uint64_t bytes = GROW_FIRST;
    void *place = lonely_place();
    file->base = map_at(place, bytes - PAGE, 0, fd);
    file->mapped_bytes = bytes;
    if (file->base == place && pl_sys_stretch(place, bytes - PAGE, bytes) >= 0)
        return true;
    if (file->base)
        pl_sys_munmap(file->base, bytes - PAGE);
    return false;
}

/* A child maps as much as its parent, over its file. */
static bool map(struct pl_file *file, int fd)
{
    if (!inherited.base)
        return map_to_grow(file, fd) || map_whole(file, fd);
    file->base = map_at(inherited.base, inherited.bytes, MAP_FIXED, fd);
    file->mapped_bytes = inherited.bytes;
    return file->base != NULL || map_whole(file, fd);
}

/* The file gets its full size at once, as a hole: growing it later would need a descriptor, or its path. */
static long size(struct pl_file *file, int fd, uint64_t limit_bytes)
{
    struct pl_limit limit;
    file->limit_bytes = limit_bytes < PL_FILE_BYTES_MAX ? limit_bytes : PL_FILE_BYTES_MAX;
    file->limit_why = PL_FULL_BOUND;
    if (pl_sys_limit(PL_LIMIT_FSIZE, &limit) == 0 && limit.soft < file->limit_bytes) { /* it would raise SIGXFSZ */
        file->limit_bytes = limit.soft;
        file->limit_why = PL_FULL_FILE_LIMIT;
    }
    file->limit_bytes &= ~(PAGE - 1ull);
    return file->limit_bytes < GROW_FIRST ? -EFBIG : pl_sys_truncate(fd, file->limit_bytes);
}

/* A file system on disk finds room for zeros that are written at once in a tenth of the time that it needs for stores
 * into one page after the other. Whether there is room shows when the pages are allocated. */
static void write_zeros(int fd)
{
    static uint8_t zeros[1u << 14]; /* never written to: the kernel has one page of zeros for everybody */
    for (uint64_t at = 0; at < GROW_FIRST; at += sizeof zeros)
        if (pl_sys_pwrite(fd, zeros, sizeof zeros, at) != (long) sizeof zeros)
            return;
}

#define TMPFS_MAGIC 0x01021994

/* Allocates the beginning of the file. In memory that is the page of the header, and those with records follow; but
 * there must be room for all. */
static long allocate_first(struct pl_file *file, int fd)
{
    static struct statfs space; /* static, because the stack may be small */
    bool in_memory = pl_sys_statfs_fd(fd, &space) == 0 && space.f_type == TMPFS_MAGIC;
    if (in_memory && space.f_blocks && (uint64_t) space.f_bavail * (uint64_t) space.f_bsize < GROW_FIRST)
        return -ENOSPC;
    if (!in_memory)
        write_zeros(fd);
    if (!map(file, fd))
        return -ENOMEM;
    uint64_t bytes = in_memory ? PAGE : GROW_FIRST;
    file->young = young_bits(0, bytes);
    file->file_bytes = GROW_FIRST;
    return populate(file->base, bytes);
}

static long take(struct pl_file *file, int fd, uint64_t limit_bytes)
{
    static struct statx st; /* static, because the stack may be small; only one file is created at a time */
    long r = pl_sys_stat_fd(fd, &st);
    if (r == 0)
        r = size(file, fd, limit_bytes);
    file->inode = st.stx_ino;
    file->chunks = 0;
    if (r == 0)
        r = allocate_first(file, fd);
    if (r < 0)
        return r;
    pl_sys_madvise(file->base, file->mapped_bytes, MADV_DONTDUMP);
    inherited.base = file->base;
    inherited.bytes = file->mapped_bytes;
    return 0;
}

/* Nothing must be left that a store could reach: a page of the file may be missing. */
static void unmap(struct pl_file *file)
{
    if (file->base && file->base == inherited.base)
        pl_file_detach();
    else if (file->base)
        pl_sys_munmap(file->base, file->mapped_bytes);
    file->base = NULL;
}

static void start_counts(struct pl_header *header)
{
    /* Number 0 of each kind means "none". Kinds without a list are not written by us; directories have no number. */
    for (int kind = 1; kind < WRITER_KINDS; kind++)
        header->count[kind] = kind == PL_KIND_TEXT ? 8 : most_of[kind] && kind != PL_KIND_DIRECTORY;
}

long pl_file_create(struct pl_file *file, const char *path, uint64_t limit_bytes)
{
    long fd = pl_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fd;
    if (!inherited.base) /* a child inherits that, too */
        pl_memory_wipe_on_fork(&chunks, sizeof chunks & ~(size_t) 4095);
    pl_memory_copy(file->path, path, pl_text_bytes(path) + 1);
    long r = take(file, (int) fd, limit_bytes);
    pl_sys_close((int) fd);
    if (r < 0) {
        pl_sys_unlink(path);
        unmap(file);
        return r == -EEXIST ? -EIO : r; /* EEXIST would mean: try another name */
    }
    start_counts(header_at(file->base));
    header_at(file->base)->limit_bytes = file->limit_bytes;
    return 0;
}

/* Threads go on freeing, and may append. So the allocated part stays, and first we make sure that it does not grow any
 * more: who begins to grow it now sees the new limit, and if somebody is doing that already, the file stays as it is.
 */
void pl_file_trim(struct pl_file *file)
{
    static struct statx st; /* static, because the stack may be small; only one thread ends the process */
    uint64_t size_before = file->limit_bytes;
    __atomic_store_n(&file->limit_bytes, load_acquire(&file->file_bytes), __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&file->growing, __ATOMIC_SEQ_CST))
        return;
    long fd = pl_sys_open(file->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (pl_sys_stat_fd((int) fd, &st) == 0 && st.stx_ino == file->inode && st.stx_size == size_before)
        pl_sys_truncate((int) fd, load_acquire(&file->file_bytes));
    pl_sys_close((int) fd);
}

void pl_file_detach(void)
{
    if (inherited.base)
        pl_sys_mmap(inherited.base, inherited.bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
}

void pl_file_leave(struct pl_file *file)
{
    if (file->base)
        pl_sys_munmap(file->base, file->mapped_bytes);
    file->base = pl_file_base = inherited.base = NULL;
    pl_memory_wipe(&chunks, sizeof chunks & ~(size_t) 4095);
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

/* Records that refer to others come first, as in the reader (reader/image.c). Threads come before their scopes: the
 * tag in a thread's record is charged with what its scopes do not have yet, so scopes must not be older. Threads that
 * appear meanwhile are added at the end. Tallies come before small records: a record that has grown
 * since is then copied with the figures that it grew with. */
static const uint8_t figures_first[] = {PL_KIND_THREAD, PL_KIND_COMPOSITION, PL_KIND_REMOTE, PL_KIND_TALLY,
                                        PL_KIND_SMALL,  PL_KIND_ROW,         PL_KIND_LEDGER, PL_KIND_SCOPE};

static bool holds_figures(uint8_t kind)
{
    for (unsigned i = 0; i < sizeof figures_first; i++)
        if (kind == figures_first[i])
            return true;
    return false;
}

/* Does a chunk of this kind belong to the pass: that of one kind, or that of all others (0)? Directories are copied at
 * the end. */
static bool belongs(uint8_t kind, uint8_t pass)
{
    return pass ? kind == pass : !holds_figures(kind) && kind != PL_KIND_DIRECTORY;
}

/* A signal handler may fork during a copy, and the copy continue in the child: struct pl_file is wiped there, so the
 * address of the mapping is kept here. */
struct copier {
    const struct pl_file *file;
    const uint8_t *base;
    int fd;
};

static const struct pl_header *original(const struct copier *copier)
{
    return (const struct pl_header *) (const void *) copier->base;
}

/* Writes a part of the file, without the pages that are not allocated: reading one would allocate it. */
static long write_part(const struct copier *copier, uint64_t from, uint64_t to)
{
    long r = 0;
    uint64_t young = load_relaxed(&copier->file->young);
    for (uint64_t end; from < to && r == 0; from = end) {
        bool there = from >= PL_FILE_YOUNG || young >> from / PAGE & 1;
        for (end = (from / PAGE + 1) * PAGE; end < to && end < PL_FILE_YOUNG && (young >> end / PAGE & 1) == there;)
            end += PAGE;
        end = end > to || (there && end >= PL_FILE_YOUNG) ? to : end;
        if (there)
            r = write_all(copier->fd, copier->base + from, end - from, from);
    }
    return r;
}

/* Writes adjacent chunks with one call. */
static long write_chunks(const struct copier *copier, uint64_t chunk_count, uint8_t pass)
{
    long r = 0;
    for (uint32_t from = 0, end; from < chunk_count && r == 0; from = end + 1) {
        for (end = from; end < chunk_count && belongs(load_acquire(&copier->base[pl_chunk_entry(end)]), pass);)
            end++;
        r = write_part(copier, pl_chunk_offset(from), pl_chunk_offset(end));
    }
    return r;
}

/* Only the kinds of the chunks that are in the copy. */
static long write_directories(const struct copier *copier, uint64_t chunk_count)
{
    long r = 0;
    for (uint32_t first = 0; first < chunk_count && r == 0; first += PL_DIRECTORY_CHUNKS) {
        uint64_t at = pl_chunk_entry(first), kinds = chunk_count - first;
        kinds = kinds < PL_DIRECTORY_CHUNKS ? kinds : PL_DIRECTORY_CHUNKS;
        r = write_part(copier, at, at + kinds);
    }
    return r;
}

/* Writing beyond the limit would raise SIGXFSZ. */
static bool may_hold(uint64_t chunk_count)
{
    struct pl_limit limit;
    return pl_sys_limit(PL_LIMIT_FSIZE, &limit) || pl_chunk_offset((uint32_t) chunk_count) <= limit.soft;
}

/* Each pass reads the number of chunks again. */
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

/* Figures in chunks that are added meanwhile are not in the copy. The magic comes last: if the process ends during the
 * copy, the incomplete file is not taken for a profile. */
static long write_copy(const struct pl_file *file, const struct copier *copier, struct pl_header *room,
                       void (*change)(struct pl_header *))
{
    int fd = copier->fd;
    uint64_t threads = load_acquire(&original(copier)->count[PL_KIND_THREAD]);
    long r = write_figures(copier);
    pl_memory_copy(room, original(copier), sizeof *room);
    if (change)
        change(room);
    if (r == 0)
        r = may_hold(room->chunks) ? pl_sys_truncate(fd, pl_chunk_offset((uint32_t) room->chunks)) : -EFBIG;
    if (r == 0)
        r = write_chunks(copier, room->chunks, 0);
    if (r == 0)
        r = write_threads(file, copier, threads, room->count[PL_KIND_THREAD]);
    if (r == 0)
        r = write_directories(copier, room->chunks);
    if (r == 0)
        r = write_all(fd, room->magic + sizeof room->magic, sizeof *room - sizeof room->magic, sizeof room->magic);
    return r ? r : write_all(fd, room->magic, sizeof room->magic, 0);
}

long pl_file_copy(const struct pl_file *file, const char *path, struct pl_header *room,
                  void (*change)(struct pl_header *header))
{
    struct copier copier = {.file = file, .base = file->base};
    if (!copier.base)
        return -ENODATA;
    long fd = pl_sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fd;
    copier.fd = (int) fd;
    long r = write_copy(file, &copier, room, change);
    pl_sys_close((int) fd);
    if (r && file->base == copier.base) /* different: we are a forked child, and the copy is the parent's */
        pl_sys_unlink(path);
    return r;
}
