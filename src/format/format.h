/* SPDX-License-Identifier: MIT */
/*
 * format.h - the profile file, byte for byte. This header is the specification.
 *
 *      0 ┌──────────────────────┐
 *        │ struct pl_header     │  who, when, how; control words; losses; how many records of each kind
 *   4096 ├──────────────────────┤
 *        │ directory            │  one byte per chunk: the kind of record it holds (0: not in use)
 *  20480 ├──────────────────────┤
 *        │ chunk 0   16 KiB     │  an array of one kind of record
 *        │ chunk 1              │
 *        │ ...                  │  the k-th chunk of a kind holds that kind's records k*n .. k*n+n-1,
 *        └──────────────────────┘  where n = PL_CHUNK_BYTES / size of the record
 *
 * The file is mapped and written by the profiled process while others read it, and it must make sense after a kill -9
 * at any instruction. Three rules see to that:
 *
 *   1. A record is reserved by fetch-add on count[kind], filled in, and published by storing its first word last, with
 *      release order. A record whose first word is zero does not exist.
 *   2. Records never move and, once published, keep their identity. Record 0 of each kind is never used: a 0 in any
 *      field that names a record means "none".
 *   3. Counters are monotone and have one writer, except where it says "by anyone": those are added to atomically.
 *
 * Writer and reader share this directory and nothing else. Byte order is that of the machine that wrote the file.
 */
#ifndef PL_FORMAT_H
#define PL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define PL_MAGIC "PLIMSOLL"
#define PL_VERSION 4u
#define PL_BYTE_ORDER 0x01020304u

#define PL_HEADER_BYTES 4096u
#define PL_CHUNKS_MAX 16384u
#define PL_CHUNK_BYTES 16384u
#define PL_CHUNKS_OFFSET (PL_HEADER_BYTES + PL_CHUNKS_MAX)
#define PL_FILE_BYTES_MAX (PL_CHUNKS_OFFSET + (uint64_t) PL_CHUNKS_MAX * PL_CHUNK_BYTES)

/* Kinds of record. Values are part of the format; numbers up to PL_KINDS_MAX are reserved for later kinds. */
enum pl_kind {
    PL_KIND_NONE = 0,
    PL_KIND_TEXT = 1,      /* bytes; a string never crosses a chunk */
    PL_KIND_MODULE = 2,    /* struct pl_module */
    PL_KIND_FRAME = 3,     /* struct pl_frame: the stack trie */
    PL_KIND_THREAD = 4,    /* struct pl_thread_record */
    PL_KIND_SITE = 5,      /* struct pl_site */
    PL_KIND_ROW = 6,       /* struct pl_row: a thread's samples at a site */
    PL_KIND_SYMBOL = 7,    /* struct pl_symbol: written by `plimsoll run` when the process has ended */
    PL_KIND_TALLY = 8,     /* struct pl_tally: a thread's exact counts at a site */
    PL_KIND_REMOTE = 9,    /* struct pl_remote: frees of a tally's blocks by other threads */
    PL_KIND_MOMENT = 10,   /* struct pl_moment: the timeline; record = slot + 1 */
    PL_KIND_SNAPSHOT = 11, /* struct pl_snapshot: which sites hold the heap, at a moment; record = slot + 1 */
    PL_KIND_TAG = 12,      /* struct pl_tag_record: the tree of tags */
    PL_KIND_SCOPE = 13,    /* struct pl_scope_record: a thread's exact calls and bytes under a tag */
    PL_KINDS_MAX = 32,
};

/* The allocation functions whose calls are counted, exactly, per thread. Order is part of the format. */
#define PL_FUNCTIONS(X)                                                                                                \
    X(MALLOC, "malloc")                                                                                                \
    X(CALLOC, "calloc")                                                                                                \
    X(REALLOC, "realloc")                                                                                              \
    X(ALIGNED, "aligned") /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */                               \
    X(NEW, "new")         /* operator new of an allocator that does not go through malloc */

enum pl_function {
#define PL_ENUM(name, text) PL_FN_##name,
    PL_FUNCTIONS(PL_ENUM)
#undef PL_ENUM
        PL_FN_COUNT
};
#define PL_FN_MAX 8

/* Losses: what the runtime saw and could not record. Order is part of the format. */
#define PL_LOSSES(X)                                                                                                   \
    X(NESTED, "nested", "samples inside the profiler's own cold path (signal handlers that allocate)")                 \
    X(FILE_FULL, "file_full", "records that did not fit into the file (bound, disk full or file size limit)")          \
    X(TABLE_FULL, "table_full", "samples that found a lookup table full")                                              \
    X(LIVE_FULL, "live_full", "samples whose later free cannot be seen, for want of room in the live table")           \
    X(MISSED_FREE, "missed_free", "sampled blocks whose free was not seen: their address was handed out again")        \
    X(THREADS, "threads", "threads that could not be registered")                                                      \
    X(MEMORY, "memory", "requests for memory that the system refused")                                                 \
    X(SANDBOX, "sandbox", "growth given up because the program entered a seccomp sandbox")                             \
    X(STALE_BUSY, "stale_busy", "visits abandoned by longjmp")                                                         \
    X(DEAD_THREAD, "dead_thread", "samples in threads that had already said goodbye")                                  \
    X(TAGS, "tags", "scopes that found no room for their tag: charged to the tag around them")                         \
    X(POPS, "pops", "ends of scopes that had not begun")                                                               \
    X(TAG_NAMES, "tag_names", "tags whose names were cut, being longer than 64 KiB")

enum pl_loss {
#define PL_ENUM(name, text, help) PL_LOSS_##name,
    PL_LOSSES(PL_ENUM)
#undef PL_ENUM
        PL_LOSS_COUNT
};
#define PL_LOSS_MAX 32

/* Why an unwind ended. Only the first is the natural end of a stack. Order is part of the format. */
#define PL_STOPS(X)                                                                                                    \
    X(END, "end", "reached the outermost frame")                                                                       \
    X(DEPTH, "depth", "deeper than the bound: both ends kept")                                                         \
    X(NO_CFI, "no_cfi", "code without unwind tables, and no frame pointer to trust")                                   \
    X(BOUNDS, "bounds", "would have left the stack")                                                                   \
    X(ZERO, "zero", "a return address of zero")                                                                        \
    X(BAD_CFI, "bad_cfi", "unwind tables that could not be understood")                                                \
    X(FOREIGN, "foreign", "a stack that is not the thread's own and could not be probed")

enum pl_stop {
#define PL_ENUM(name, text, help) PL_STOP_##name,
    PL_STOPS(PL_ENUM)
#undef PL_ENUM
        PL_STOP_COUNT
};
#define PL_STOP_MAX 16

/* A piece of text: a byte range of the concatenated PL_KIND_TEXT chunks. Not NUL-terminated. {0, 0} is
 * the empty text. */
struct pl_text {
    uint32_t offset;
    uint32_t bytes;
};

enum pl_mode {
    PL_MODE_SAMPLED = 1,
    PL_MODE_EXACT = 2,
    PL_MODE_AUTO = 3,
};

/* What the process last said of its own end. The parent knows better: see wait_status. */
enum pl_end {
    PL_END_NONE = 0,  /* still running, or killed */
    PL_END_EXIT = 1,  /* exit() or return from main */
    PL_END_QUICK = 2, /* _exit, _Exit, quick_exit */
    PL_END_EXEC = 3,  /* replaced by another program */
};

enum pl_flag {
    PL_FLAG_FORKED = 1u << 0,      /* the process began as a fork of a profiled one, without exec */
    PL_FLAG_WAITED = 1u << 1,      /* wait_status is known */
    PL_FLAG_SANDBOXED = 1u << 2,   /* entered seccomp: growth stopped */
    PL_FLAG_CUT_COMMAND = 1u << 3, /* the command line was too long and is cut */
    PL_FLAG_SYMBOLS = 1u << 4,     /* symbol records are complete */
    PL_FLAG_NO_NEXT = 1u << 5,     /* no next malloc was found behind ours */
    PL_FLAG_SNAPSHOT = 1u << 6,    /* a copy that was made while the process went on: see snapshot_name */
    PL_FLAG_NO_OUTPUT = 1u << 7,   /* the program does not want a profile to be left when it ends */
    PL_FLAG_MERGED = 1u << 8,      /* of several profiles, `merged` of them: peaks are the sum of theirs */
};

/* Range-checked words that the reader may write into a live file; the runtime looks at them on its cold path. */
struct pl_control {
    uint64_t interval_bytes; /* 0: leave as it is; otherwise it overrules exact and auto mode too */
    uint32_t off;            /* 1: take no samples */
    uint32_t reset;          /* incremented: begin anew. Older rows, tallies and scopes do not count any more */
    uint64_t reserved[2];
};

/*
 * Time. Lifetimes and ages are counted in units of 2^PL_UNIT_SHIFT ticks of the processor's clock, about 1.5 us. The
 * ticks and the nanoseconds of one moment at the start and of one late in the run say how long a unit is.
 */
#define PL_UNIT_SHIFT 12
struct pl_clock {
    uint64_t start_ticks; /* at start_monotonic_ns */
    uint64_t last_ticks;  /* at last_ns; 0: not yet known */
    uint64_t last_ns;
};

/*
 * The high-water mark of live bytes, and what was live then, by copy on write. An era begins whenever the heap falls
 * from a new height; what has changed since then has first saved its figures of before. So at the peak a row, or tally,
 * held its saved figures if its own era is not older than `era`, and otherwise its figures of now. If more is live now
 * than `bytes`, the peak is now.
 */
struct pl_peak {
    uint64_t bytes;
    uint64_t units; /* when, since the start */
    uint32_t era;
    uint32_t peaks; /* how often there was a new one */
};

/* What auto mode did. Times are CPU time; `spent` is what the profiler's own cold path took, by its own measurement. */
struct pl_auto {
    uint32_t overhead_ppm; /* the budget: 20,000 is 2% */
    uint32_t exact;        /* 1: every allocation is being counted now */
    uint64_t interval_bytes;
    uint64_t interval_max;
    uint64_t spent_ns;
    uint64_t cpu_ns;      /* of the whole process, when `spent` was last written */
    uint64_t exact_calls; /* how many calls had been made when exact mode was first left; 0: it never was */
    uint64_t exact_ns;    /* and how much CPU time the process had used */
    uint32_t left;        /* how often exact mode was left, and returned to */
    uint32_t returned;
};

struct pl_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t chunk_bytes;
    uint32_t machine; /* ELF e_machine */
    uint32_t flags;   /* enum pl_flag */
    uint32_t end;     /* enum pl_end */

    uint32_t pid;
    uint32_t parent_pid;
    uint32_t uid;
    uint32_t exit_status;  /* with PL_END_EXIT and PL_END_QUICK */
    uint32_t wait_status;  /* with PL_FLAG_WAITED: as waitpid() gave it */
    uint32_t bad_settings; /* bit n: setting n of settings.h had a value that was not understood, and was ignored */
    uint64_t start_realtime_ns;
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC, as are all other times in the file */
    uint64_t end_monotonic_ns;   /* 0 while running */
    uint64_t start_ticks;        /* field 22 of /proc/PID/stat: tells a process from a later one with its pid */

    uint32_t mode; /* enum pl_mode */
    uint32_t call_charge;
    uint64_t interval_bytes;
    uint64_t seed;

    char comm[16];
    struct pl_text executable;
    struct pl_text command; /* argv, NUL-separated */
    struct pl_text directory;
    struct pl_text destination; /* where the file belongs once the process has ended; empty: here */

    uint64_t chunks;              /* handed out */
    uint64_t count[PL_KINDS_MAX]; /* records reserved, record 0 included; bytes for TEXT */
    uint64_t losses[PL_LOSS_MAX]; /* enum pl_loss */
    uint64_t stops[PL_STOP_MAX];  /* enum pl_stop */
    uint64_t visits;              /* stacks walked: for samples, and for what exact mode sees for the first time */
    uint64_t frames_walked;
    uint64_t unloads; /* modules seen to go away */
    struct pl_control control;
    struct pl_clock clock;
    struct pl_peak peak;
    struct pl_auto automatic;
    uint64_t exit_ns; /* when main returned or exit was called: what is freed later, exit handlers freed; 0: never */
    uint32_t timeline_shift;      /* a slot of the timeline lasts 2^this units */
    uint32_t batch_bytes;         /* with several threads, live totals are off by at most this per thread */
    struct pl_text snapshot_name; /* with PL_FLAG_SNAPSHOT */
    uint64_t snapshot_ns;         /* likewise: when it was taken */
    uint64_t size_from;           /* allocations of other sizes are counted in one site per tag; 0, UINT64_MAX: all */
    uint64_t size_to;
    uint64_t reset_ns;  /* when figures last began anew; 0: never */
    uint32_t resets;    /* as control.reset, when the runtime last looked */
    uint32_t merged;    /* with PL_FLAG_MERGED */
    uint32_t allocator; /* the module of the malloc behind ours; 0: not known */
    uint32_t reserved0;
    uint64_t damage; /* of a file that a reader made of others: what was dropped from those */
    uint8_t reserved[PL_HEADER_BYTES - 1056];
};

/* A loaded object, or the same object loaded again elsewhere. Module 1 is always "no module": its offsets are
 * addresses. */
#define PL_MODULE_UNKNOWN 1u
#define PL_BUILD_ID_MAX 32
struct pl_module {
    uint32_t valid; /* 1 */
    uint32_t build_id_bytes;
    uint8_t build_id[PL_BUILD_ID_MAX];
    uint64_t bias; /* address in memory = address in the ELF file + bias */
    uint64_t start;
    uint64_t end;
    uint64_t fingerprint; /* FNV-1a over the ELF header and program headers: tells builds without a build-id apart */
    struct pl_text path;
    uint64_t reserved[6];
};

/*
 * A node of the stack trie: one frame, its caller being `parent` (0: this is the outermost frame).
 * A stack is named by its innermost node.
 *
 *   63      56 55                                              0
 *  ┌──────────┬─────────────────────────────────────────────────┐
 *  │  flags   │ address in the module (for module 1: in memory) │
 *  └──────────┴─────────────────────────────────────────────────┘
 *
 * The address is a return address: look up address - 1, unless PL_FRAME_EXACT says that the frame was interrupted
 * there.
 */
struct pl_frame {
    uint32_t module; /* published last */
    uint32_t parent;
    uint64_t where;
};
#define PL_FRAME_FLAG_SHIFT 56
#define PL_FRAME_EXACT                                                                                                 \
    (1ull << 56) /* the frame was interrupted by a signal here: the address is not a return address */
#define PL_FRAME_GUESS (1ull << 57) /* found by frame pointer, without unwind tables */
#define PL_FRAME_GAP (1ull << 58)   /* not a frame: frames were left out here (deeper than the bound) */
#define PL_FRAME_CUT (1ull << 59)   /* the stack could not be followed beyond (outside of) this frame */
#define PL_FRAME_ADDRESS_MASK ((1ull << 56) - 1)

struct pl_thread_record {
    uint32_t valid;   /* 1 */
    uint32_t tid;     /* of the last thread to use this record; 0: unknown */
    uint32_t threads; /* how many threads have used it, one after the other */
    uint32_t alive;
    char name[16];
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t calls[PL_FN_MAX]; /* exact; requests, as the hot path does not see results */
    uint64_t bytes;            /* exact; requested */
    uint32_t tag;              /* the one it is charged to now: what its scopes do not account for belongs to it */
    uint32_t reset;            /* the value of `resets` that the next two are about; older: it has seen nothing since */
    uint64_t reset_calls[PL_FN_MAX]; /* `calls` and `bytes` when figures last began anew */
    uint64_t reset_bytes;
    uint64_t reserved[7];
};

/*
 * What memory is for: a node of the tree of tags. Tag 0 is the root, which has no record: no tag. A name that is longer
 * than PL_TAG_PIECE bytes goes on in the record `rest`, whose kind is PL_TAG_REST. Several records may have the same
 * parent and name: they are the same tag.
 */
#define PL_TAG_PIECE 4096u
enum pl_tag_kind {
    PL_TAG_NAMED = 0,  /* by the program */
    PL_TAG_OFF = 1,    /* what was allocated while switched off; parent 0 */
    PL_TAG_PAUSED = 2, /* or while the thread had paused; parent 0 */
    PL_TAG_REST = 3,   /* not a tag: more of a name */
};
struct pl_tag_record {
    uint32_t valid; /* 1 */
    uint32_t parent;
    struct pl_text name; /* UTF-8, or whatever the program says */
    uint32_t rest;
    uint32_t kind; /* enum pl_tag_kind */
    uint64_t reserved;
};

/*
 * What one thread asked for under one tag, itself and not the tags below it: exact in every mode. Written by the owner,
 * when it enters or leaves a tag; what the thread's record has counted since then belongs to the record's `tag`.
 */
struct pl_scope_record {
    uint32_t valid; /* 1 */
    uint32_t thread;
    uint32_t tag;
    uint32_t reset;
    uint64_t entered; /* times */
    uint64_t calls[PL_FN_MAX];
    uint64_t bytes;
    uint64_t reserved[4];
};

/* Who allocates: a stack, under a tag. Site 1 is always "(overflow)": what found no room. */
#define PL_SITE_OVERFLOW 1u
enum pl_site_kind {
    PL_SITE_STACK = 0,
    PL_SITE_OTHER_SIZES = 1, /* all stacks: what is not between size_from and size_to */
};
struct pl_site {
    uint32_t valid; /* 1 */
    uint32_t stack; /* frame record; 0 for the overflow site and other sizes */
    uint32_t tag;
    uint32_t kind; /* enum pl_site_kind */
};

/* Sums over samples. A sample of y (1, or a size) with weight w adds w*y, and w*(w-1)*y*y to the variance. */
struct pl_sums {
    double objects;
    double space;
    double objects_variance;
    double space_variance;
    uint64_t samples;
};

/* Sums of the third order, which tell how uneven the weights are: the same sample adds w*(w-1)*(w-1)*y*y*y. 0: not
 * known. */
struct pl_skew {
    double objects;
    double space;
};

/*
 * Histograms, in powers of two.
 *
 *   sizes[0] up to 15 bytes, [1] 16 to 31, [2] 32 to 63, ... [21] 16 MiB and more
 *   lives[0] less than a unit of time (see pl_clock), [1] 1, [2] 2 to 3, [3] 4 to 7, ... [31] 2^30 units and more
 *
 * Cohorts: how many blocks are how old. A cohort is a stretch of PL_MOMENTS_PER_COHORT slots of the timeline, `made`
 * counts the blocks that were allocated in it and `gone` those of them that are freed. When the timeline's slots
 * double, cohorts join in pairs; each row catches up when it is next written to, and until then `cohort_shift` says how
 * long its cohorts are.
 */
#define PL_SIZE_BUCKETS 22
#define PL_LIFE_BUCKETS 32
#define PL_COHORTS 8
#define PL_MOMENTS_PER_COHORT 32

/*
 * What one thread allocated at one site, and what became of it, by samples. One cache line per writer: the owner's
 * mallocs, the owner's frees, everybody else's frees (added to atomically, each sum by itself).
 *
 *   in use = allocated - freed - remote
 *
 * `sequence` is odd while the owner is writing. Histograms are sums of weights, added to by anyone.
 */
struct pl_row {
    uint32_t site; /* published last */
    uint32_t thread;
    uint32_t sequence;
    uint32_t era; /* of the owner's figures */
    struct pl_sums allocated;
    uint32_t smallest; /* sizes of samples; UINT32_MAX means that or more */
    uint32_t largest;
    struct pl_sums freed;
    double temporaries; /* freed by the same thread before its next allocation */
    double realloc_calls;
    double realloc_moved; /* bytes copied */
    struct pl_sums remote;
    uint32_t remote_era;
    uint32_t reset; /* the value of `resets` when it was new */
    uint64_t reserved1[2];
    struct pl_sums peak; /* saved: allocated - freed */
    double realloc_in_place;
    struct pl_skew skew;        /* of allocated; the owner's */
    struct pl_sums peak_remote; /* saved: remote */
    double exit_objects;        /* freed since main returned or exit was called, by anyone */
    double exit_space;
    uint64_t reserved3;
    float sizes[PL_SIZE_BUCKETS];
    float lives[PL_LIFE_BUCKETS];
    float made[PL_COHORTS];
    float gone[PL_COHORTS];
    uint32_t cohort_shift;
    uint32_t reserved4[9];
};

/*
 * The same, exactly: what one thread allocated at one site while every allocation was counted. One cache line takes
 * nearly all that a malloc writes, another what a free does. All u32 counters stay below 2^32, since a tally is
 * followed by a second one for the same site before its `calls` gets there.
 */
struct pl_tally {
    uint32_t site; /* published last */
    uint32_t thread;
    uint32_t era; /* of what allocations write: calls, bytes */
    uint32_t smallest;
    uint64_t calls;
    uint64_t bytes;
    uint32_t largest;
    uint32_t remote; /* a record of kind REMOTE; 0: no other thread has freed a block */
    uint32_t sizes[PL_SIZE_BUCKETS];

    uint32_t owner;     /* thread, once more */
    uint32_t freed_era; /* of what frees write: freed_calls, freed_bytes */
    uint64_t freed_calls;
    uint64_t freed_bytes;
    uint64_t temporaries;
    uint32_t lives[PL_LIFE_BUCKETS];

    uint64_t realloc_calls;
    uint64_t realloc_moved;    /* bytes copied */
    uint64_t realloc_in_place; /* calls */
    uint64_t exit_calls;       /* freed since main returned or exit was called */
    uint64_t exit_bytes;

    uint32_t made[PL_COHORTS]; /* `made_calls` in all; the rest of `calls` belongs to `cohort` */
    uint32_t gone[PL_COHORTS]; /* `gone_calls` in all; the rest of `freed_calls` belongs to `cohort` */
    uint64_t made_calls;
    uint64_t gone_calls;
    uint8_t cohort;
    uint8_t cohort_shift;
    uint16_t reset;  /* the value of `resets` when it was new, as far as 16 bits tell */
    uint32_t number; /* this record's own */

    uint64_t peak_calls; /* saved */
    uint64_t peak_bytes;
    uint64_t peak_freed_calls;
    uint64_t peak_freed_bytes;
};

/* Frees of a tally's blocks by threads that do not own it. Everything is added to atomically. */
struct pl_remote {
    uint32_t tally; /* published last */
    uint32_t era;
    uint64_t calls;
    uint64_t bytes;
    uint64_t peak_calls; /* saved */
    uint64_t peak_bytes;
    uint64_t exit_calls;
    uint64_t exit_bytes;
    uint32_t gone[PL_COHORTS]; /* in cohorts of the tally's length; the tally's owner takes them over when they join */
    uint32_t lives[PL_LIFE_BUCKETS];
    uint64_t reserved[5];
};

/*
 * The timeline: totals, at the first look in each slot of time, and at the end. Slot = units since the start >>
 * timeline_shift. When all are used the shift grows by one and every second slot is given up; one that was given up has
 * time 0.
 */
#define PL_MOMENTS 255
struct pl_moment {
    uint64_t time_ns; /* published last; since the start of the process */
    uint64_t live_bytes;
    uint64_t live_objects;
    uint64_t allocated_bytes;
    uint64_t allocated_calls;
    uint64_t rss_bytes;      /* 0: not known */
    uint64_t interval_bytes; /* of sampling, then; 0: exact */
    uint64_t file_bytes;     /* the part of rss that files and shared memory are behind */
};

/* A snapshot: who held the heap at a moment, and who had allocated how much until then, as far as either was more than
 * a small share of the whole. Slot = the moment's slot /
 * PL_MOMENTS_PER_SNAPSHOT, and thinned along with the timeline. */
#define PL_SNAPSHOTS 16
#define PL_MOMENTS_PER_SNAPSHOT 16
#define PL_SNAPSHOT_ENTRIES 510
#define PL_SNAPSHOT_ROW (1u << 31)
#define PL_SNAPSHOT_SITE (1u << 30)
struct pl_snapshot_entry {
    uint32_t who; /* number of a tally; or, with one of these, of a row, or of a site: all of its tallies and rows */
    uint32_t objects; /* live; UINT32_MAX means that or more */
    uint64_t bytes;
    uint64_t calls; /* made until then, and what they asked for */
    uint64_t allocated;
};
struct pl_snapshot_record {
    uint64_t time_ns; /* published last; since the start of the process */
    uint64_t live_bytes;
    uint64_t live_objects;
    uint32_t entries;
    uint32_t left_out;        /* rows and tallies that were too small to be named */
    uint64_t allocated_bytes; /* of all of them, named or not */
    uint64_t allocated_calls;
    uint64_t reserved[2];
    struct pl_snapshot_entry entry[PL_SNAPSHOT_ENTRIES];
};

/*
 * A name for a frame, kept in the file so that it can be read on another machine. Several records with the same frame
 * are the inlined functions there, innermost first, in the order of their numbers.
 */
struct pl_symbol {
    uint32_t frame; /* published last */
    uint32_t line;
    struct pl_text function; /* demangled */
    struct pl_text linkage;  /* as in the symbol table */
    struct pl_text file;
    uint32_t inlined; /* 1: inlined into the next record of the same frame */
    uint32_t column;
    uint64_t reserved[3];
};

/* What each kind is an array of. A kind that is missing here is an array of nothing. */
#define PL_RECORDS(X)                                                                                                  \
    X(TEXT, char)                                                                                                      \
    X(MODULE, struct pl_module)                                                                                        \
    X(FRAME, struct pl_frame)                                                                                          \
    X(THREAD, struct pl_thread_record)                                                                                 \
    X(SITE, struct pl_site)                                                                                            \
    X(ROW, struct pl_row)                                                                                              \
    X(SYMBOL, struct pl_symbol)                                                                                        \
    X(TALLY, struct pl_tally)                                                                                          \
    X(REMOTE, struct pl_remote)                                                                                        \
    X(MOMENT, struct pl_moment)                                                                                        \
    X(SNAPSHOT, struct pl_snapshot_record)                                                                             \
    X(TAG, struct pl_tag_record)                                                                                       \
    X(SCOPE, struct pl_scope_record)

#define PL_RECORD_SIZE_(name, type) [PL_KIND_##name] = sizeof(type),
static const uint32_t pl_record_bytes[PL_KINDS_MAX] __attribute__((unused)) = {PL_RECORDS(PL_RECORD_SIZE_)};

/* The layout is frozen. A change here is a new PL_VERSION. */
#define PL_FREEZE(type, size) _Static_assert(sizeof(type) == (size), #type " is frozen at " #size " bytes")
#define PL_FREEZE_AT(type, field, at)                                                                                  \
    _Static_assert(offsetof(type, field) == (at), #type "." #field " is frozen at " #at)
PL_FREEZE(struct pl_header, PL_HEADER_BYTES);
PL_FREEZE_AT(struct pl_header, flags, 24);
PL_FREEZE_AT(struct pl_header, pid, 32);
PL_FREEZE_AT(struct pl_header, start_realtime_ns, 56);
PL_FREEZE_AT(struct pl_header, mode, 88);
PL_FREEZE_AT(struct pl_header, comm, 112);
PL_FREEZE_AT(struct pl_header, executable, 128);
PL_FREEZE_AT(struct pl_header, chunks, 160);
PL_FREEZE_AT(struct pl_header, count, 168);
PL_FREEZE_AT(struct pl_header, losses, 424);
PL_FREEZE_AT(struct pl_header, stops, 680);
PL_FREEZE_AT(struct pl_header, visits, 808);
PL_FREEZE_AT(struct pl_header, control, 832);
PL_FREEZE_AT(struct pl_header, clock, 864);
PL_FREEZE_AT(struct pl_header, peak, 888);
PL_FREEZE_AT(struct pl_header, automatic, 912);
PL_FREEZE(struct pl_module, 128);
PL_FREEZE(struct pl_frame, 16);
PL_FREEZE(struct pl_thread_record, 256);
PL_FREEZE_AT(struct pl_thread_record, calls, 48);
PL_FREEZE_AT(struct pl_thread_record, tag, 120);
PL_FREEZE(struct pl_tag_record, 32);
PL_FREEZE(struct pl_scope_record, 128);
PL_FREEZE(struct pl_site, 16);
PL_FREEZE(struct pl_sums, 40);
PL_FREEZE(struct pl_skew, 16);
PL_FREEZE(struct pl_row, 640);
PL_FREEZE_AT(struct pl_row, allocated, 16);
PL_FREEZE_AT(struct pl_row, freed, 64);
PL_FREEZE_AT(struct pl_row, remote, 128);
PL_FREEZE_AT(struct pl_row, peak, 192);
PL_FREEZE_AT(struct pl_row, skew, 240);
PL_FREEZE_AT(struct pl_row, sizes, 320);
PL_FREEZE(struct pl_tally, 448);
PL_FREEZE_AT(struct pl_tally, sizes, 40);
PL_FREEZE_AT(struct pl_tally, owner, 128);
PL_FREEZE_AT(struct pl_tally, lives, 160);
PL_FREEZE_AT(struct pl_tally, made, 328);
PL_FREEZE_AT(struct pl_tally, peak_calls, 416);
PL_FREEZE(struct pl_remote, 256);
PL_FREEZE(struct pl_moment, 64);
PL_FREEZE(struct pl_snapshot_record, 16384);
PL_FREEZE(struct pl_symbol, 64);

#endif
