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
 * The directory has room for 16,384 chunks. The last of them, and of each further 16,384, is not a chunk of records but
 * the directory of the next 16,384.
 *
 * The profiled process maps the file and writes to it while others read it. The file must be valid after a kill -9 at
 * any instruction. Three rules ensure that:
 *
 *   1. A record is reserved by fetch-add on count[kind], filled in, and published by storing its first word last, with
 *      release order. A record whose first word is zero does not exist.
 *   2. Records never move and, once published, keep their identity. Record 0 of each kind is never used: a 0 in any
 *      field that names a record means "none".
 *   3. Counters only grow and have one writer, except where it says "by any thread": those are added to atomically.
 *
 * Writer and reader share this directory and nothing else. The byte order is that of the machine that wrote the file.
 */
#ifndef PL_FORMAT_H
#define PL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define PL_MAGIC "PLIMSOLL"
#define PL_VERSION 5u
#define PL_VERSION_OLDEST 4u /* that readers understand: a file of version 4 is also one of version 5 */
#define PL_BYTE_ORDER 0x01020304u

#define PL_HEADER_BYTES 4096u
#define PL_CHUNK_BYTES 16384u
#define PL_DIRECTORY_CHUNKS PL_CHUNK_BYTES /* described by one directory, one byte for each */
#define PL_CHUNKS_MAX (4 * PL_DIRECTORY_CHUNKS)
#define PL_CHUNKS_OFFSET (PL_HEADER_BYTES + PL_DIRECTORY_CHUNKS)
#define PL_FILE_BYTES_MAX (PL_CHUNKS_OFFSET + (uint64_t) PL_CHUNKS_MAX * PL_CHUNK_BYTES)

/* Where a chunk begins. */
static inline uint64_t pl_chunk_offset(uint32_t chunk)
{
    return PL_CHUNKS_OFFSET + (uint64_t) chunk * PL_CHUNK_BYTES;
}

/* Is the chunk a directory? */
static inline int pl_chunk_is_directory(uint32_t chunk)
{
    return chunk % PL_DIRECTORY_CHUNKS == PL_DIRECTORY_CHUNKS - 1;
}

/* Where the kind of a chunk is: in the first directory, or in one that is a chunk. */
static inline uint64_t pl_chunk_entry(uint32_t chunk)
{
    uint32_t first = chunk - chunk % PL_DIRECTORY_CHUNKS;
    return (first ? pl_chunk_offset(first - 1) : PL_HEADER_BYTES) + (chunk - first);
}

/* Kinds of record. The values are part of the format; those below PL_KINDS_MAX are reserved for later kinds. */
enum pl_kind {
    PL_KIND_NONE = 0,
    PL_KIND_TEXT = 1,         /* bytes; a string never crosses a chunk */
    PL_KIND_MODULE = 2,       /* struct pl_module */
    PL_KIND_FRAME = 3,        /* struct pl_frame: the stack trie */
    PL_KIND_THREAD = 4,       /* struct pl_thread_record */
    PL_KIND_SITE = 5,         /* struct pl_site */
    PL_KIND_ROW = 6,          /* struct pl_row: a thread's samples at a site */
    PL_KIND_SYMBOL = 7,       /* struct pl_symbol: written by `plimsoll run` when the process has ended */
    PL_KIND_TALLY = 8,        /* struct pl_tally: a thread's exact counts at a site */
    PL_KIND_REMOTE = 9,       /* struct pl_remote: frees of a tally's blocks by other threads */
    PL_KIND_MOMENT = 10,      /* struct pl_moment: the timeline; record = slot + 1 */
    PL_KIND_COMPOSITION = 11, /* struct pl_composition_record: heap composition at one time; record = slot + 1 */
    PL_KIND_TAG = 12,         /* struct pl_tag_record: the tag tree */
    PL_KIND_SCOPE = 13,       /* struct pl_scope_record: a thread's exact calls and bytes under a tag */
    PL_KIND_DIRECTORY = 14,   /* bytes: the kinds of the next chunks */
    PL_KIND_SMALL = 15,       /* struct pl_small: a tally of few calls. Since version 5 */
    PL_KIND_HEAP = 16,        /* struct pl_heap_record: a heap beside malloc's. Since version 5 */
    PL_KIND_LEDGER = 17,      /* struct pl_ledger: a thread's counts at a site in such a heap. Since version 5 */
    PL_KIND_VERDICT = 18,     /* struct pl_verdict_record: what nothing points to. Readers of version 5 may ignore it */
    PL_KIND_FOOTPRINT = 19, /* struct pl_footprint_record: what RSS consisted of. Readers of version 5 may ignore it */
    PL_KIND_FUNCTION = 20,  /* struct pl_function_record: functions of interpreted code. Likewise */
    PL_KIND_JIT = 21,       /* struct pl_jit_record: frames of code in no file. Readers of version 5 may ignore it */
    PL_KIND_RESIDENT = 22,  /* struct pl_resident_record: how much of live blocks was resident. Likewise */
    PL_KIND_HOLDER = 23,    /* struct pl_holder_record: what holds the heap. Readers of version 5 may ignore it */
    PL_KINDS_MAX = 32,
};

/* The allocation functions whose calls are counted, exactly, per thread. The order is part of the format. */
#define PL_FUNCTIONS(X)                                                                                                \
    X(MALLOC, "malloc")                                                                                                \
    X(CALLOC, "calloc")                                                                                                \
    X(REALLOC, "realloc")                                                                                              \
    X(ALIGNED, "aligned") /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */                               \
    X(NEW, "new")         /* operator new, of an allocator whose operator new does not call malloc */

enum pl_function {
#define PL_ENUM(name, text) PL_FN_##name,
    PL_FUNCTIONS(PL_ENUM)
#undef PL_ENUM
        PL_FN_COUNT
};
#define PL_FN_MAX 8

/* Losses: what the runtime saw but could not record, with the reason. The order is part of the format. */
#define PL_LOSSES(X)                                                                                                   \
    X(NESTED, "nested", "samples lost: a signal handler allocated while Plimsoll was recording")                       \
    X(FILE_FULL, "file_full", "records that did not fit into the file")                                                \
    X(TABLE_FULL, "table_full", "samples lost: a lookup table was full")                                               \
    X(LIVE_FULL, "live_full", "blocks that count as freed at once: there was no memory to follow them")                \
    X(MISSED_FREE, "missed_free", "recorded blocks whose free was missed: the allocator reused their addresses")       \
    X(THREADS, "threads", "threads that could not be registered")                                                      \
    X(MEMORY, "memory", "memory requests by Plimsoll that the system refused")                                         \
    X(SANDBOX, "sandbox", "records lost: the file could not grow in a seccomp sandbox")                                \
    X(STALE_BUSY, "stale_busy", "samples abandoned by longjmp")                                                        \
    X(DEAD_THREAD, "dead_thread", "samples lost: their threads were ending")                                           \
    X(TAGS, "tags", "scopes without room for their tag: charged to the enclosing tag")                                 \
    X(POPS, "pops", "pops without a matching push")                                                                    \
    X(TAG_NAMES, "tag_names", "tag names truncated to 64 KiB")                                                         \
    X(MAPPINGS, "mappings",                                                                                            \
      "changes of mappings and announced heaps not recorded: in handlers, in ending threads, or after a long wait")

enum pl_loss {
#define PL_ENUM(name, text, help) PL_LOSS_##name,
    PL_LOSSES(PL_ENUM)
#undef PL_ENUM
        PL_LOSS_COUNT
};
#define PL_LOSS_MAX 32

/* Why the file did not grow, when records were first lost because of that. The order is part of the format. */
enum pl_full {
    PL_FULL_NOT = 0,        /* no record was lost; or not known: written by an older version */
    PL_FULL_BOUND = 1,      /* the limit that was set: limit_bytes */
    PL_FULL_FILE_LIMIT = 2, /* the limit on the size of files, RLIMIT_FSIZE: limit_bytes */
    PL_FULL_DEVICE = 3,     /* no space left on the file system, or a quota */
    PL_FULL_ADDRESSES = 4,  /* no room in the address space: RLIMIT_AS, or another mapping was in the way */
    PL_FULL_SANDBOX = 5,    /* in a seccomp sandbox the file does not grow */
    PL_FULL_FORMAT = 6,     /* no file can have more records of this kind */
    PL_FULL_ERROR = 7,      /* another error: full_errno */
    PL_FULL_COUNT
};

/* Why an unwind ended. Only the first is the normal end of a stack. The order is part of the format. */
#define PL_STOPS(X)                                                                                                    \
    X(END, "end", "reached the outermost frame")                                                                       \
    X(DEPTH, "depth", "deep stacks truncated in the middle")                                                           \
    X(NO_CFI, "no_cfi", "stacks truncated at code without unwind tables and without a usable frame pointer")           \
    X(BOUNDS, "bounds", "stacks truncated where the next frame would lie outside of them")                             \
    X(ZERO, "zero", "stacks truncated at a return address of zero")                                                    \
    X(BAD_CFI, "bad_cfi", "stacks truncated at unwind tables that could not be understood")                            \
    X(FOREIGN, "foreign", "stacks truncated at memory that is not the thread's stack and could not be probed")         \
    X(ASTRAY, "astray", "stacks truncated where wrong unwind tables led to an address that is not code")

enum pl_stop {
#define PL_ENUM(name, text, help) PL_STOP_##name,
    PL_STOPS(PL_ENUM)
#undef PL_ENUM
        PL_STOP_COUNT
};
#define PL_STOP_MAX 16

/* Ways in which allocations of the program go past the profiler, unseen. The order is part of the format. */
enum pl_bypass {
    PL_BYPASS_MALLOC = 0, /* the program's malloc is another one: a library's that comes first, or the program's own */
    PL_BYPASS_SCOPE = 1,  /* a module was loaded so that it does not use the program's malloc: RTLD_DEEPBIND, dlmopen */
    PL_BYPASS_LINKED =
        2, /* an allocator is linked in under names of its own: calls that go directly to it are unseen */
    PL_BYPASS_COUNT,
};
#define PL_BYPASS_MAX 4

/* A text: a byte range of the concatenated PL_KIND_TEXT chunks. Not NUL-terminated. {0, 0} is the empty text. */
struct pl_text {
    uint32_t offset;
    uint32_t bytes;
};

enum pl_mode {
    PL_MODE_SAMPLED = 1,
    PL_MODE_EXACT = 2,
    PL_MODE_AUTO = 3,
};

/* How the process says that it ended. What its parent saw, in wait_status, is more reliable. */
enum pl_end {
    PL_END_NONE = 0,     /* still running, or killed */
    PL_END_EXIT = 1,     /* exit() or return from main */
    PL_END_QUICK = 2,    /* _exit, _Exit, quick_exit */
    PL_END_EXEC = 3,     /* replaced by another program */
    PL_END_DETACHED = 4, /* it goes on, and is not profiled any more */
};

enum pl_flag {
    PL_FLAG_FORKED = 1u << 0,        /* the process began as a fork of a profiled one, without exec */
    PL_FLAG_WAITED = 1u << 1,        /* wait_status is known */
    PL_FLAG_SANDBOXED = 1u << 2,     /* the process entered seccomp: the file does not grow any more */
    PL_FLAG_CUT_COMMAND = 1u << 3,   /* the command line was too long and is cut */
    PL_FLAG_SYMBOLS = 1u << 4,       /* symbol records are complete */
    PL_FLAG_NO_NEXT = 1u << 5,       /* reserved for: no next malloc was found. The runtime does not set it */
    PL_FLAG_SNAPSHOT = 1u << 6,      /* a snapshot: a copy made while the process went on; see snapshot_name */
    PL_FLAG_NO_OUTPUT = 1u << 7,     /* the program has asked for no profile to be kept when it ends */
    PL_FLAG_MERGED = 1u << 8,        /* made of several profiles, `merged` of them: peaks are the sum of theirs */
    PL_FLAG_OUT_OF_MEMORY = 1u << 9, /* with PL_FLAG_WAITED: the kernel probably killed it for lack of memory */
    PL_FLAG_ATTACHED = 1u << 10,     /* `plimsoll attach` began to profile a running process: see attached_ns */
    PL_FLAG_LINKED = 1u << 11,       /* an allocator that is linked into the program is seen, by jumps in its code */
    PL_FLAG_LATE = 1u << 12,         /* with PL_FLAG_LINKED: what libraries allocated before that is not known */
};

/* What the size of the heap before `plimsoll attach` comes from. The order is part of the format. */
enum pl_before {
    PL_BEFORE_UNKNOWN = 0,
    PL_BEFORE_MALLOC = 1,   /* glibc's malloc says so: bytes in blocks, with its own overhead */
    PL_BEFORE_RESIDENT = 2, /* the allocator is another one: resident memory that is no file's */
};

/* What the resident memory of a process consists of. X(name, word, title); the order is part of the format. Those
 * before MAPPED are the allocator's. */
#define PL_FOOTPRINT_PARTS(X)                                                                                          \
    X(LIVE, "live", "live blocks, as requested")                                                                       \
    X(SLACK, "slack", "what malloc rounded them up by")                                                                \
    X(OTHER, "other", "in use, but not in the profile")                                                                \
    X(CACHED, "cached", "free, in caches of threads")                                                                  \
    X(FREE, "free", "free, between other blocks")                                                                      \
    X(TOP, "top", "free, at the end of a heap")                                                                        \
    X(TABLES, "tables", "malloc's own headers and tables")                                                             \
    X(REST, "rest", "the rest of malloc's mappings")                                                                   \
    X(MAPPED, "mapped", "anonymous mappings")                                                                          \
    X(STACKS, "stacks", "thread stacks")                                                                               \
    X(CODE, "code", "code and constants of modules")                                                                   \
    X(DATA, "data", "variables of modules")                                                                            \
    X(FILES, "files", "other mapped files")                                                                            \
    X(COPIES, "copies", "private copies of their pages")                                                               \
    X(SHARED, "shared", "shared memory")                                                                               \
    X(DEVICES, "devices", "devices")                                                                                   \
    X(RESERVED, "reserved", "reserved addresses")                                                                      \
    X(PROFILER, "profiler", "Plimsoll itself")                                                                         \
    X(UNEXPLAINED, "unexplained", "unexplained")

enum pl_footprint_part {
#define PL_ENUM(name, word, title) PL_PART_##name,
    PL_FOOTPRINT_PARTS(PL_ENUM)
#undef PL_ENUM
        PL_PART_COUNT
};
#define PL_PART_HEAP_END PL_PART_MAPPED /* parts before it are the allocator's */
#define PL_PART_MAX 32

/* What else is known then. X(name, word); the order is part of the format. Resident bytes, unless it says otherwise. */
#define PL_FOOTPRINT_FACTS(X)                                                                                          \
    X(LIVE_REQUESTED, "live_requested") /* requested bytes of live blocks, resident or not */                          \
    X(LIVE_ERROR, "live_error")         /* half the 95% interval of that; 0: counted */                                \
    X(HEAPS, "heaps")                   /* number of heaps of glibc's malloc that were read; 0: none could be */       \
    X(ARENA_HEAPS, "arena_heaps")       /* number of those that do not belong to the main arena */                     \
    X(ARENA_FREE, "arena_free")         /* free in these, also at their ends */                                        \
    X(TRIMMABLE, "trimmable")           /* free in whole pages, which malloc_trim(0) gives back */                     \
    X(PINNED, "pinned")                 /* free on pages that are mostly free, but not wholly */                       \
    X(THREADS, "threads")               /* number */                                                                   \
    X(STACKS, "stacks")                 /* number of mappings that were found to be stacks */                          \
    X(STACKS_KEPT, "stacks_kept")       /* number of those that the C library keeps for new threads */                 \
    X(STACK_LARGEST, "stack_largest")   /* address space; this and the next without the main thread's */               \
    X(STACK_LEAST, "stack_least")                                                                                      \
    X(STACK_TOUCHED, "stack_touched") /* of the one that has most */                                                   \
    X(HUGE, "huge")                   /* in transparent huge pages */                                                  \
    X(HEAP_HUGE, "heap_huge")         /* in those, in mappings of the allocator */                                     \
    X(HUGETLB, "hugetlb")             /* in reserved huge pages, which are not in RSS */                               \
    X(READING_NS, "reading_ns")       /* time that reading took */

enum pl_footprint_fact {
#define PL_ENUM(name, word) PL_FACT_##name,
    PL_FOOTPRINT_FACTS(PL_ENUM)
#undef PL_ENUM
        PL_FACT_COUNT
};
#define PL_FACT_MAX 28

enum pl_footprint_flag {
    PL_FOOTPRINT_EXACT = 1,  /* each live block was known */
    PL_FOOTPRINT_UNREAD = 2, /* its memory could not be read, so only the kernel's figures are known */
};

/* When somebody looked which blocks can still be reached. The order is part of the format. */
enum pl_looked {
    PL_LOOKED_NOT = 0,
    PL_LOOKED_RUNNING = 1, /* `plimsoll leaks`: the process went on */
    PL_LOOKED_EXIT = 2,    /* `plimsoll run --leaks`: when the program called exit, and exit handlers had run */
    PL_LOOKED_SIGNAL = 3,  /* the same, when a signal was about to end it */
    PL_LOOKED_COUNT,
};

/* Is there a Python interpreter in the process, and are its frames read? The order is part of the format. */
enum pl_python_seen {
    PL_PYTHON_NOT = 0,
    PL_PYTHON_READ = 1,
    PL_PYTHON_OTHER = 2, /* its version, or its build, is one that we do not know: stacks have native frames only */
};

/*
 * Control words: the owner of the file may write them while the process runs (`plimsoll control`), and the program does
 * through the API. The runtime reads them on its cold path and checks their range.
 *
 * Who writes from outside sets the words, then `asked`, and increments `request` last. When the process has obeyed, its
 * header's `taken` has the same value as `request`.
 */
#define PL_ASKED(X)                                                                                                    \
    X(NOTHING, "nothing")                                                                                              \
    X(OFF, "off")                                                                                                      \
    X(ON, "on")                                                                                                        \
    X(RESET, "reset")                                                                                                  \
    X(SAMPLE, "sample")                                                                                                \
    X(EXACT, "exact")                                                                                                  \
    X(AUTO, "auto")                                                                                                    \
    X(OVERHEAD, "overhead") /* auto mode, with another budget */

enum pl_asked {
#define PL_ENUM(name, text) PL_ASKED_##name,
    PL_ASKED(PL_ENUM)
#undef PL_ENUM
        PL_ASKED_COUNT
};

struct pl_control {
    uint64_t interval_bytes; /* sampling interval; 0: not set; otherwise it overrules the mode, exact and auto too */
    uint32_t off;            /* 1: record nothing */
    uint32_t reset;          /* increment to reset: rows, tallies and scopes from before do not count any more */
    uint32_t mode;           /* enum pl_mode, exact or auto, from now on; 0: as it is */
    uint32_t overhead_ppm;   /* the budget of auto mode from now on; 0: as it is */
    uint32_t asked;          /* enum pl_asked: what the last request was about */
    uint32_t request;        /* number of requests from outside */
};

/* A request from outside that the process has obeyed. */
#define PL_OBEYED_MAX 16
struct pl_obeyed {
    uint64_t time_ns; /* since the start of the process */
    uint64_t value;   /* with PL_ASKED_SAMPLE the interval in bytes, with PL_ASKED_OVERHEAD the budget in ppm */
    uint32_t what;    /* enum pl_asked */
    uint32_t reserved;
};

/*
 * Time. Lifetimes and ages are counted in units of 2^PL_UNIT_SHIFT ticks of the processor's clock, about 1.5 us. To
 * compute the length of a unit, the header has the time both in ticks and in nanoseconds, at the start and late in the
 * run.
 */
#define PL_UNIT_SHIFT 12
struct pl_clock {
    uint64_t start_ticks; /* at start_monotonic_ns */
    uint64_t last_ticks;  /* at last_ns; 0: not yet known */
    uint64_t last_ns;
};

/*
 * The peak of live bytes, and what was live then, by copy on write. A new era begins whenever the heap shrinks from a
 * new peak; `era` is the one that began at the last peak. (Eras also begin with new cohorts.) Before a record changes
 * for the first time after a peak, it saves its figures and stores the number of the current era. So at the peak a row
 * or tally held its saved figures if its own era is not older than `era`, and its present figures otherwise. If more is
 * live now than `bytes`, the peak is now.
 */
struct pl_peak {
    uint64_t bytes;
    uint64_t units; /* time of the peak, since the start */
    uint32_t era;
    uint32_t peaks; /* how many peaks were declared */
};

/*
 * What one half of the samples found (core/records/halves.h). Bytes, as that half estimates them: what is live is
 * `more` than what all samples estimate, or less if it is negative; `peak` is the most that it has found; `other` is
 * what the other half estimated at that moment. If live + more is not below `peak`, that moment is now.
 */
#define PL_HALVES 2
struct pl_half {
    int64_t more;
    int64_t peak;
    int64_t other;
};

/* What auto mode did. Times are CPU time. spent_ns is the time of the profiler's own cold path, as it measures it. */
struct pl_auto {
    uint32_t overhead_ppm; /* the budget: 20,000 is 2% */
    uint32_t exact;        /* 1: every allocation is being counted now */
    uint64_t interval_bytes;
    uint64_t interval_max;
    uint64_t spent_ns;
    uint64_t cpu_ns;      /* of the whole process, when spent_ns was last written */
    uint64_t exact_calls; /* how many calls had been made when exact mode was first left; 0: it never was */
    uint64_t exact_ns;    /* CPU time that the process had used then */
    uint32_t left;        /* how often exact mode was left, */
    uint32_t returned;    /* and entered again */
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
    uint32_t wait_status;  /* with PL_FLAG_WAITED: from waitpid() */
    uint32_t bad_settings; /* bit n: setting n of settings.h had an invalid value, which was ignored */
    uint64_t start_realtime_ns;
    uint64_t start_monotonic_ns; /* CLOCK_MONOTONIC, like all other times that do not say otherwise */
    uint64_t end_monotonic_ns;   /* 0 while running */
    uint64_t start_ticks;        /* field 22 of /proc/PID/stat: tells the process from a later one with the same pid */

    uint32_t mode; /* enum pl_mode */
    uint32_t call_charge;
    uint64_t interval_bytes;
    uint64_t seed;

    char comm[16];
    struct pl_text executable;
    struct pl_text command; /* argv, NUL-separated */
    struct pl_text directory;
    struct pl_text destination; /* where the file goes when the process has ended; empty: it stays here */

    uint64_t chunks;              /* chunks in use */
    uint64_t count[PL_KINDS_MAX]; /* records reserved, record 0 included; bytes for TEXT. By any thread */
    uint64_t losses[PL_LOSS_MAX]; /* enum pl_loss; this and the next four are written by any thread */
    uint64_t stops[PL_STOP_MAX];  /* enum pl_stop */
    uint64_t visits; /* stacks looked up: of samples, of other heaps, and those that are new to exact mode */
    uint64_t frames_walked;
    uint64_t unloads; /* how often modules were seen to be unloaded */
    struct pl_control control;
    struct pl_clock clock;
    struct pl_peak peak;
    struct pl_auto automatic;
    uint64_t exit_ns; /* when main returned or exit was called: later frees are those of exit handlers; 0: neither */
    uint32_t timeline_shift;      /* a slot of the timeline lasts 2^this units */
    uint32_t batch_bytes;         /* with several threads, live totals are off by at most this per thread */
    struct pl_text snapshot_name; /* with PL_FLAG_SNAPSHOT */
    uint64_t snapshot_ns;         /* with PL_FLAG_SNAPSHOT: when it was taken */
    uint64_t size_from;           /* allocations of other sizes are counted in one site per tag; 0, UINT64_MAX: all */
    uint64_t size_to;
    uint64_t reset_ns;    /* time of the last reset; 0: none */
    uint32_t resets;      /* number of resets that the runtime has applied: control.reset when it last read it */
    uint32_t merged;      /* with PL_FLAG_MERGED: the number of profiles */
    uint32_t allocator;   /* the module of the program's malloc; 0: not known */
    uint32_t full;        /* enum pl_full: the first reason for losses of kind FILE_FULL and SANDBOX */
    uint64_t damage;      /* in a file that a reader made from others: number of records dropped from those */
    uint64_t limit_bytes; /* the file does not grow beyond this; 0: not known */
    uint32_t full_errno;  /* with PL_FULL_ERROR and PL_FULL_DEVICE */
    uint32_t credit_ms;   /* of auto mode; 0: not known, written before there was a choice: PL_CREDIT_PRELOAD_MS */
    struct pl_text bypass[PL_BYPASS_MAX]; /* enum pl_bypass: the first module that it is about; empty: none */
    uint32_t steerable;   /* 1: the process obeys requests from outside; 0: it was written by an older version */
    uint32_t taken;       /* control.request, when the process last obeyed a request */
    uint64_t steered_max; /* since the last reset: the longest sampling interval that control words, or a mode that they
                             have ended, have set; 0: none. `mode` and `interval_bytes` only say what is in force now */
    uint64_t
        requests; /* obeyed so far; the last PL_OBEYED_MAX of them are in `obeyed`, number n at n % PL_OBEYED_MAX */
    struct pl_obeyed obeyed[PL_OBEYED_MAX];
    struct pl_half half[PL_HALVES]; /* by any thread */
    uint64_t attached_ns;           /* with PL_FLAG_ATTACHED: how long the process had been running by then */
    uint64_t before_bytes;  /* with PL_FLAG_ATTACHED: the heap that was there by then; none of its blocks are known */
    uint32_t before_how;    /* enum pl_before: what before_bytes is */
    uint32_t blocks_layout; /* with blocks_at: PL_BLOCKS_LAYOUT of the runtime (core/blocks/blocks.h) */
    uint64_t blocks_at;     /* where in the process's memory its struct pl_blocks is; 0: not known */
    uint32_t looked;        /* enum pl_looked: whether records of kind VERDICT are complete, and when they were made */
    uint32_t looked_partly; /* with `looked`: 1: there may be blocks that the profiler did not know */
    uint64_t looked_ns;     /* with `looked`: since the start of the process */
    uint64_t live_at;       /* the same for its struct pl_live, and its */
    uint32_t live_layout;   /* PL_LIVE_LAYOUT (core/blocks/live.h) */
    uint32_t live_reserved;
    uint32_t python;         /* enum pl_python_seen: whether frames of Python code are read */
    uint32_t python_version; /* with `python`: as in Py_Version; 0: not known */
    uint64_t own_rss_bytes;  /* the highest RSS of a moment, about; 0: the next two were not measured */
    uint64_t own_bytes;      /* the part of it that is private memory of the profiler, */
    uint64_t own_file_bytes; /* and the part that is this file */
    uint64_t own_end_bytes;  /* private memory of the profiler when the process ended; 0: not measured */
    uint8_t reserved[PL_HEADER_BYTES - 1664];
};

/* A loaded object. The same object loaded again at another address is another module. Module 1 is always "no module":
 * its offsets are addresses. Frames of Python code are in a module of this path. */
#define PL_MODULE_UNKNOWN 1u
#define PL_MODULE_PYTHON "[python]"
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
 * A node of the stack trie: one frame. `parent` is its caller (0: this is the outermost frame). The number of a stack
 * is that of its innermost node.
 *
 *   63     61 60      56 55                                              0
 *  ┌─────────┬──────────┬─────────────────────────────────────────────────┐
 *  │ version │  flags   │ address in the module (for module 1: in memory) │
 *  └─────────┴──────────┴─────────────────────────────────────────────────┘
 *
 * The address is a return address: look up address - 1. With PL_FRAME_EXACT, a signal interrupted the frame at this
 * address: look up the address itself.
 *
 * A compiler that works at run time may put other code where some was before. So frames of module 1 have a version, 0
 * for the first code that was seen at the address; see pl_jit_record.
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
#define PL_FRAME_GAP (1ull << 58)   /* not a frame: frames are missing here, because the stack was too deep */
#define PL_FRAME_CUT (1ull << 59)   /* the unwind stopped at this frame before the end of the stack */
#define PL_FRAME_PYTHON                                                                                                \
    (1ull << 60) /* a frame of Python code: not an address, but a function record and a line, as drawn there */
#define PL_FRAME_ADDRESS_MASK ((1ull << 56) - 1)
#define PL_FRAME_VERSION_SHIFT 61
#define PL_FRAME_VERSIONS 8 /* the last one is that of all later code, too */

/*
 * A function of interpreted code, which frames refer to instead of an address:
 *
 *   63      56 55                     24 23                 0
 *  ┌──────────┬─────────────────────────┬────────────────────┐
 *  │  flags   │ number of this record   │ line; 0: not known │
 *  └──────────┴─────────────────────────┴────────────────────┘
 *
 * Several records may be the same function. Files that a reader has made from others have no such records: there the
 * lower 56 bits are a hash of function, file and line, and symbol records say which.
 */
#define PL_FRAME_LINE_BITS 24
#define PL_FRAME_LINE_MASK ((1u << PL_FRAME_LINE_BITS) - 1)
struct pl_function_record {
    uint32_t valid; /* published last; 1 */
    uint32_t first_line;
    struct pl_text function;
    struct pl_text file;
    uint64_t reserved;
};

struct pl_thread_record {
    uint32_t valid;   /* 1 */
    uint32_t tid;     /* of the last thread that used this record; 0: not known */
    uint32_t threads; /* how many threads have used it, one after the other */
    uint32_t alive;
    char name[16];
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t calls[PL_FN_MAX]; /* exact; failed calls may be included: the hot path does not see results */
    uint64_t bytes;            /* exact; requested */
    uint32_t tag;              /* the tag that is charged now: calls and bytes that no scope has yet belong to it */
    uint32_t reset;            /* the reset of the next two; older than `resets`: no allocation since the last reset */
    uint64_t reset_calls[PL_FN_MAX]; /* `calls` and `bytes` at that reset */
    uint64_t reset_bytes;
    uint64_t reserved[7];
};

/*
 * A node of the tag tree: a tag says what memory is for. Tag 0 is the root, which means "no tag" and has no record. A
 * name longer than PL_TAG_PIECE bytes continues in the record `rest`, whose kind is PL_TAG_REST. Several records may
 * have the same parent and name: they are the same tag.
 */
#define PL_TAG_PIECE 4096u
enum pl_tag_kind {
    PL_TAG_NAMED = 0,  /* made by the program */
    PL_TAG_OFF = 1,    /* charged while recording is switched off; parent 0 */
    PL_TAG_PAUSED = 2, /* charged while the thread is paused; parent 0 */
    PL_TAG_REST = 3,   /* not a tag: the next part of a name */
};
struct pl_tag_record {
    uint32_t valid; /* 1 */
    uint32_t parent;
    struct pl_text name; /* usually UTF-8, but may be any bytes */
    uint32_t rest;
    uint32_t kind; /* enum pl_tag_kind */
    uint64_t reserved;
};

/*
 * The calls and bytes of one thread under one tag, without the tags below it: exact in every mode. The thread writes it
 * when it enters or leaves a tag. What its thread record has counted since then belongs to the thread record's `tag`.
 */
struct pl_scope_record {
    uint32_t valid; /* 1 */
    uint32_t thread;
    uint32_t tag;
    uint32_t reset;
    uint64_t entered; /* how often */
    uint64_t calls[PL_FN_MAX];
    uint64_t bytes;
    uint64_t reserved[4];
};

/* A site: a stack that allocates, under a tag. Site 1 is always "(overflow)": allocations that found no room. */
#define PL_SITE_OVERFLOW 1u
enum pl_site_kind {
    PL_SITE_STACK = 0,
    PL_SITE_OTHER_SIZES = 1, /* all stacks: allocations whose size is not between size_from and size_to */
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

/* Sums of the third order, which show how uneven the weights are: the same sample adds w*(w-1)*(w-1)*y*y*y. 0: not
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
 * Cohorts: the ages of blocks. A cohort is a period of PL_MOMENTS_PER_COHORT slots of the timeline. `made` counts the
 * blocks allocated in it, `gone` those of them that were freed. When the timeline's slots double in length, cohorts are
 * merged in pairs. Each row or tally does that when it is next written to; until then its `cohort_shift` is smaller
 * than timeline_shift.
 */
#define PL_SIZE_BUCKETS 22
#define PL_LIFE_BUCKETS 32
#define PL_COHORTS 8
#define PL_MOMENTS_PER_COHORT 32

/*
 * The samples of one thread at one site: what it allocated, and what was freed of that. Each writer has its own cache
 * line: the owner's allocations, the owner's frees, and other threads' frees (`remote`, each sum added to atomically).
 *
 *   live = allocated - freed - remote
 *
 * `sequence` is odd while the owner is writing. Histograms are sums of weights, added to by any thread.
 */
struct pl_row {
    uint32_t site; /* published last */
    uint32_t thread;
    uint32_t sequence;
    uint32_t era; /* of the owner's figures: allocated and freed */
    struct pl_sums allocated;
    uint32_t smallest; /* sizes of samples; UINT32_MAX means that or more */
    uint32_t largest;
    struct pl_sums freed;
    double temporaries; /* freed by the same thread before its next allocation */
    double realloc_calls;
    double realloc_moved; /* bytes copied */
    struct pl_sums remote;
    uint32_t remote_era;
    uint32_t reset; /* the value of `resets` when the row was made */
    uint64_t reserved1[2];
    struct pl_sums peak; /* saved for the peak: allocated - freed */
    double realloc_in_place;
    struct pl_skew skew;        /* of `allocated`; written by the owner */
    struct pl_sums peak_remote; /* saved for the peak: remote */
    double exit_objects;        /* freed since main returned or exit was called; by any thread */
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
 * The same with exact counts: what one thread allocated at one site while every allocation was counted. One cache line
 * has nearly everything that a malloc writes, another what a free writes. The u32 counters cannot overflow, because the
 * thread goes on with a second tally for the same site before `calls` reaches 2^32.
 */
struct pl_tally {
    uint32_t site; /* published last */
    uint32_t thread;
    uint32_t era; /* of what allocations write: calls, bytes */
    uint32_t smallest;
    uint64_t calls;
    uint64_t bytes;
    uint32_t largest;
    uint32_t remote; /* a record of kind REMOTE; 0: no other thread has freed a block of this tally */
    uint32_t sizes[PL_SIZE_BUCKETS];

    uint32_t owner;     /* `thread`, and `cohort` in bits 24 to 26: both again, in the cache line of frees */
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

    uint32_t made[PL_COHORTS]; /* without calls - made_calls, which belong to `cohort` */
    uint32_t gone[PL_COHORTS]; /* without freed_calls - gone_calls, which belong to `cohort` */
    uint64_t made_calls;
    uint64_t gone_calls;
    uint8_t cohort;
    uint8_t cohort_shift;
    uint16_t reset;  /* the lower 16 bits of `resets` when the tally was made */
    uint32_t number; /* of this record */

    uint64_t peak_calls; /* this and the next three: saved for the peak */
    uint64_t peak_bytes;
    uint64_t peak_freed_calls;
    uint64_t peak_freed_bytes;
};

#define PL_OWNER_COHORT_SHIFT 24 /* in `owner`; threads have smaller numbers */
#define PL_OWNER_COHORT (7u << PL_OWNER_COHORT_SHIFT)

/*
 * The first calls of a thread at a site. Most stacks of a compiler are used a few times only, and a tally takes seven
 * times as much room. What a tally has as histograms, a small record has as a list of cells, each with a counter:
 *
 *   15      8 7       0
 *  ┌─────────┬─────────┐    cells are used from the first to the last; 0: not in use
 *  │ what    │ count   │    a counter that has no cell is 0
 *  └─────────┴─────────┘
 *
 * Before a record would have to say more than it has room for (the 256th call, a block of more than PL_SMALL_SIZE
 * bytes, a cell too many, bytes that a realloc has copied), its thread replaces it by a tally: the thread copies the
 * figures to a new tally, names that in `grown`, and publishes the tally last. So the figures are in one record or in
 * the other after a kill -9 at any instruction:
 *
 *   the record counts unless the tally `grown` is published and has the same site and thread
 *
 * Its figures do not change after that. Blocks that were counted here are counted in the tally when they are freed,
 * except by another thread that has not yet seen it: a record of kind REMOTE that names this record belongs to the
 * tally then.
 */
#define PL_SMALL_MARK (1u << 31)
#define PL_SMALL_CALLS 255u
#define PL_SMALL_SIZE 65535u
#define PL_SMALL_CELLS 9
enum pl_small_cell {
    PL_CELL_NONE = 0,
    PL_CELL_SIZES = 1,                               /* this and the next 21: sizes */
    PL_CELL_LIVES = PL_CELL_SIZES + PL_SIZE_BUCKETS, /* 32 of them: lives */
    PL_CELL_MADE = PL_CELL_LIVES + PL_LIFE_BUCKETS,  /* 8: made */
    PL_CELL_GONE = PL_CELL_MADE + PL_COHORTS,        /* 8: gone */
    PL_CELL_TEMPORARIES = PL_CELL_GONE + PL_COHORTS, /* the rest as in a tally */
    PL_CELL_EXIT_CALLS,
    PL_CELL_REALLOC_CALLS,
    PL_CELL_REALLOC_IN_PLACE,
    PL_CELL_END
};
struct pl_small {
    uint32_t site; /* published last; with PL_SMALL_MARK, by which the writer tells it from the owner of a tally */
    uint32_t thread;
    uint32_t era;    /* of all figures */
    uint32_t grown;  /* the tally that replaces this record; 0: none */
    uint32_t remote; /* as in a tally. By any thread */
    uint32_t bytes;
    uint32_t freed_bytes;
    uint32_t peak_bytes; /* saved for the peak: live bytes */
    uint32_t exit_bytes;
    uint16_t smallest;
    uint16_t largest;
    uint16_t reset;
    uint8_t calls;
    uint8_t freed_calls;
    uint8_t peak_calls; /* saved for the peak: live blocks */
    uint8_t cohort_shift;
    uint16_t cell[PL_SMALL_CELLS]; /* enum pl_small_cell << 8 | count */
};

/* Frees of a tally's blocks by threads that do not own it. There may be several such records for one tally: add up all
 * of them. If `thread` is 0, all figures are added to atomically, otherwise only `gone`, and only that thread writes.
 */
struct pl_remote {
    uint32_t tally; /* published last; with PL_SMALL_MARK: the number of a small record */
    uint32_t era;
    uint64_t calls;
    uint64_t bytes;
    uint64_t peak_calls; /* this and the next: saved for the peak */
    uint64_t peak_bytes;
    uint64_t exit_calls;
    uint64_t exit_bytes;
    uint32_t gone[PL_COHORTS]; /* cohorts as in the tally; when they are merged, the tally's owner moves these there */
    uint32_t lives[PL_LIFE_BUCKETS];
    uint32_t thread; /* 0: any */
    uint32_t next;   /* another record for the same tally: for the writer, readers need not follow it. By any thread */
    uint64_t reserved[4];
};

/*
 * A heap beside malloc's: what the program maps, what an allocator maps that is not the C library's, pools and arenas
 * that the program announces. Its figures are in ledgers and never part of malloc's.
 *
 * The peak works as malloc's does: before a ledger changes for the first time after a peak, it saves what is live in it
 * and stores the heap's era. So at the peak a ledger held its saved figures if its era is not older than the heap's,
 * and its present ones otherwise. If more is live now than `peak_bytes`, the peak is now.
 */
enum pl_heap_kind {
    PL_HEAP_MALLOC = 0,    /* has no record */
    PL_HEAP_MAPPINGS = 1,  /* mmap, mremap, shmat, brk and sbrk, called by the program */
    PL_HEAP_ALLOCATOR = 2, /* the same, called by the program's malloc, if that is a library of its own */
    PL_HEAP_NAMED = 3,     /* announced by plimsoll_heap_create(): each name is a heap */
    PL_HEAP_KINDS
};
struct pl_heap_record {
    uint32_t kind;  /* published last; enum pl_heap_kind */
    uint32_t reset; /* of the next five */
    uint32_t era;
    uint32_t peaks;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t peak_units; /* time of the peak, since the start */
    uint64_t held_bytes; /* of chunks that the heap has taken from malloc or from another heap */
    struct pl_text name; /* with PL_HEAP_NAMED */
    uint64_t reserved[9];
};

/*
 * What one thread allocated at one site in a heap beside malloc's: counted one by one, and in `sampled` what samples
 * stand for. Histograms and reallocs add up both. Changed under a lock, by any thread; `sequence` is odd while it
 * changes. A part of a block may be freed: it counts as freed with its last byte. Cohorts as in a row.
 */
struct pl_ledger {
    uint32_t site; /* published last */
    uint32_t thread;
    uint32_t heap;
    uint32_t sequence;
    uint32_t reset;
    uint32_t era;
    uint64_t calls;
    uint64_t bytes;
    uint64_t freed_calls;
    uint64_t freed_bytes;
    uint64_t peak_calls; /* saved for the peak: live blocks, and bytes */
    uint64_t peak_bytes;
    uint64_t smallest;
    uint64_t largest;
    uint64_t realloc_calls;
    uint64_t realloc_moved; /* bytes */
    uint64_t realloc_in_place;
    uint64_t exit_calls; /* freed since main returned or exit was called */
    uint64_t exit_bytes;
    uint32_t sizes[PL_SIZE_BUCKETS];
    uint32_t lives[PL_LIFE_BUCKETS];
    uint32_t made[PL_COHORTS];
    uint32_t gone[PL_COHORTS];
    uint32_t cohort_shift;
    uint32_t reserved[9];
    struct pl_sums sampled;
    struct pl_sums sampled_freed;
    struct pl_sums sampled_peak; /* saved for the peak: live */
    struct pl_skew skew;         /* of `sampled` */
};

/*
 * The timeline: totals, at the first visit to the cold path in each slot of time, and at the end. Slot = units since
 * the start >> timeline_shift. When all slots are used, the shift grows by one and of each pair of records one is
 * dropped. An empty slot has time 0.
 */
#define PL_MOMENTS 255
struct pl_moment {
    uint64_t time_ns; /* published last; since the start of the process */
    uint64_t live_bytes;
    uint64_t live_objects;
    uint64_t allocated_bytes;
    uint64_t allocated_calls;
    uint64_t rss_bytes;      /* 0: not known */
    uint64_t interval_bytes; /* the sampling interval then; 0: every allocation was counted */
    uint64_t file_bytes;     /* the part of RSS that is backed by files or shared memory; the rest is anonymous */
};

/* Heap composition at one time: which sites held the heap, and how much they had allocated until then. Only those with
 * more than a small share of either total are listed. Slot = the moment's slot / PL_MOMENTS_PER_COMPOSITION; records
 * are dropped along with those of the timeline. */
#define PL_COMPOSITIONS 16
#define PL_MOMENTS_PER_COMPOSITION 16
#define PL_COMPOSITION_ENTRIES 510
#define PL_COMPOSITION_ROW (1u << 31)
#define PL_COMPOSITION_SITE (1u << 30)
#define PL_COMPOSITION_SMALL (1u << 29)
struct pl_composition_entry {
    uint32_t who;       /* a tally; or, with one of the marks, a row, all records of a site, or a small record */
    uint32_t objects;   /* live; UINT32_MAX means that or more */
    uint64_t bytes;     /* live */
    uint64_t calls;     /* until then, */
    uint64_t allocated; /* and the bytes that they requested */
};
struct pl_composition_record {
    uint64_t time_ns; /* published last; since the start of the process */
    uint64_t live_bytes;
    uint64_t live_objects;
    uint32_t entries;
    uint32_t left_out;        /* how many rows, tallies or sites were too small to be listed */
    uint64_t allocated_bytes; /* this, the next and live_*: totals of all, listed or not */
    uint64_t allocated_calls;
    uint64_t reserved[2];
    struct pl_composition_entry entry[PL_COMPOSITION_ENTRIES];
};

/*
 * The blocks of a thread's site that can no longer be reached, when somebody followed all pointers of the process.
 * `lost` and `sampled` include those that are lost with others. Counts are whole numbers, or sums of weights.
 */
struct pl_verdict_record {
    uint32_t site; /* published last */
    uint32_t thread;
    double lost_objects; /* that were counted: nothing leads to them from a root */
    double lost_space;
    struct pl_sums sampled; /* that were sampled: likewise */
    double with_objects;    /* the part of both that other lost blocks lead to */
    double with_space;
    double along_objects; /* of any site: those that blocks of this site take along */
    double along_space;
    double inner_objects; /* not lost, but held only by pointers to the middle of a block */
    double inner_space;
    uint64_t example;       /* the address of a lost block; 0: none is lost */
    uint64_t inner_example; /* of a block that is held only by such pointers; 0: there is none */
};

/*
 * What the resident memory of the process consisted of at one time: `plimsoll run --memory` and `report --memory` write
 * it. Parts add up to RSS.
 */
struct pl_footprint_record {
    uint64_t time_ns; /* published last; since the start of the process */
    uint32_t flags;   /* enum pl_footprint_flag */
    uint32_t reserved;
    struct pl_footprint_bytes {
        uint64_t virtual, resident, pss, swap;
    } part[PL_PART_MAX];
    uint64_t fact[PL_FACT_MAX];
};

/*
 * How much of what was live was resident at one time, of all and by site: `plimsoll run --resident` writes it. Sites
 * are in falling order of what is not resident; those that find no room count only in `all`.
 */
#define PL_RESIDENT_SITES 72
struct pl_resident_record {
    uint64_t time_ns; /* published last; since the start of the process */
    uint32_t flags;   /* enum pl_footprint_flag */
    uint32_t sites;   /* of `site` */
    struct pl_resident_bytes {
        uint32_t site; /* record of PL_KIND_SITE; 0: not known */
        uint32_t reserved;
        uint64_t live, resident, swapped, untouched;
        float live_error, resident_error, swapped_error, untouched_error; /* half the 95% interval; 0: counted */
    } all, site[PL_RESIDENT_SITES - 1];
    uint64_t unused[6];
};

/*
 * A symbol for a frame, stored in the file so that it can be read on another machine. Several records with the same
 * frame are functions inlined there, in the order of their numbers, innermost first.
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

/*
 * When a frame of module 1 was recorded for the first time in this stack. What is known of code that a compiler made at
 * run time has times, too, so the two together say which code was there.
 */
struct pl_jit_record {
    uint32_t frame; /* published last */
    uint32_t reserved;
    uint64_t units; /* since the start of the process */
};

/*
 * What held the heap when `plimsoll retained` followed all pointers: trees below roots. A node of blocks is dominated
 * by its parent: nothing else leads to it. A node of a way is the next step from a root to a block, on a shortest way.
 * Blocks of one function that follow each other are one node. A parent comes before its children.
 */
enum pl_holder {
    PL_HOLDER_NONE,
    PL_HOLDER_ROOT,   /* with a name; record 0 is its parent */
    PL_HOLDER_BLOCKS, /* that a site allocated */
    PL_HOLDER_REST,   /* others below the same parent, which are too small to be listed */
    PL_HOLDER_WAY,
    PL_HOLDERS
};
#define PL_HOLDER_NAME 160
struct pl_holder_record {
    uint32_t kind; /* published last */
    uint32_t parent;
    uint32_t site;  /* of blocks and ways; 0: not known */
    uint32_t way;   /* of blocks: the end of a way to one of them; 0: not known */
    double objects; /* here, not below; of a way: 0 */
    double space;
    char name[PL_HOLDER_NAME]; /* of a root: "g_cache  map<...>  server.cpp:12 [server]"; ends with 0 */
};

/* The type of each kind's records. A kind that is not listed has no records. */
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
    X(COMPOSITION, struct pl_composition_record)                                                                       \
    X(TAG, struct pl_tag_record)                                                                                       \
    X(SCOPE, struct pl_scope_record)                                                                                   \
    X(DIRECTORY, uint8_t)                                                                                              \
    X(SMALL, struct pl_small)                                                                                          \
    X(HEAP, struct pl_heap_record)                                                                                     \
    X(LEDGER, struct pl_ledger)                                                                                        \
    X(VERDICT, struct pl_verdict_record)                                                                               \
    X(FOOTPRINT, struct pl_footprint_record)                                                                           \
    X(FUNCTION, struct pl_function_record)                                                                             \
    X(JIT, struct pl_jit_record)                                                                                       \
    X(RESIDENT, struct pl_resident_record)                                                                             \
    X(HOLDER, struct pl_holder_record)

#define PL_RECORD_SIZE_(name, type) [PL_KIND_##name] = sizeof(type),
static const uint32_t pl_record_bytes[PL_KINDS_MAX] __attribute__((unused)) = {PL_RECORDS(PL_RECORD_SIZE_)};

/* The layout is frozen. A change needs a new PL_VERSION. */
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
PL_FREEZE_AT(struct pl_header, steerable, 1104);
PL_FREEZE_AT(struct pl_header, obeyed, 1128);
PL_FREEZE_AT(struct pl_header, looked, 1592);
PL_FREEZE_AT(struct pl_header, own_rss_bytes, 1632);
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
PL_FREEZE(struct pl_small, 64);
PL_FREEZE_AT(struct pl_small, calls, 42);
PL_FREEZE_AT(struct pl_small, cell, 46);
PL_FREEZE(struct pl_remote, 256);
PL_FREEZE(struct pl_heap_record, 128);
PL_FREEZE(struct pl_ledger, 584);
PL_FREEZE_AT(struct pl_ledger, sizes, 128);
PL_FREEZE(struct pl_moment, 64);
PL_FREEZE(struct pl_composition_record, 16384);
PL_FREEZE(struct pl_verdict_record, 128);
PL_FREEZE(struct pl_footprint_record, 1264);
PL_FREEZE(struct pl_holder_record, 192);
PL_FREEZE(struct pl_symbol, 64);
PL_FREEZE(struct pl_function_record, 32);
PL_FREEZE(struct pl_jit_record, 16);
PL_FREEZE(struct pl_resident_record, 4096);

#endif
