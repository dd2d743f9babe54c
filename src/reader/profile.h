/* SPDX-License-Identifier: MIT */
/*
 * profile.h - a profile as the reader sees it: copied, checked, folded.
 *
 * pl_profile_open() copies the file once and never reads it again, so a file that is being written to, truncated or
 * replaced meanwhile cannot change what was checked. Every offset, count and string is checked before use; records that
 * make no sense are dropped and counted in `damage`.
 *
 * The order of reading makes a live file consistent: rows first, then what rows refer to (sites, frames, modules), so
 * that every record referred to is there. In use = allocated - freed - remote; frees are read before allocations, so
 * that a figure read during an update errs towards "in use", never below zero.
 *
 * Functions return 0 or a negative errno and leave outputs untouched on failure; `why` gets one line for a person.
 */
#ifndef PL_PROFILE_H
#define PL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* An estimate and its 95% confidence interval. Exact figures have low == value == high and error 0. */
struct pl_estimate {
    double value;
    double error; /* half-width, for showing as ± */
    double low;
    double high;
};

/* The metrics, one vocabulary everywhere. Adding one is one row. */
#define PL_METRICS(X)                                                                                                  \
    X(ALLOC_OBJECTS, "alloc_objects", "calls", "calls", "allocations made")                                            \
    X(ALLOC_SPACE, "alloc_space", "allocated", "bytes", "bytes requested by all allocations")                          \
    X(INUSE_OBJECTS, "inuse_objects", "blocks", "blocks", "blocks not freed (yet)")                                    \
    X(INUSE_SPACE, "inuse_space", "live", "bytes", "bytes not freed (yet)")                                            \
    X(PEAK_OBJECTS, "peak_objects", "peak-blocks", "blocks", "blocks that were live when the heap was largest")        \
    X(PEAK_SPACE, "peak_space", "peak", "bytes", "bytes that were live when the heap was largest")                     \
    X(TEMP_OBJECTS, "temp_objects", "temporary", "calls", "allocations freed by their thread before its next one")     \
    X(LOST_OBJECTS, "lost_objects", "lost-blocks", "blocks", "blocks that nothing leads to any more")                  \
    X(LOST_SPACE, "lost_space", "lost", "bytes", "bytes of blocks that nothing leads to any more")

enum pl_metric {
#define PL_ENUM(name, key, word, unit, help) PL_METRIC_##name,
    PL_METRICS(PL_ENUM)
#undef PL_ENUM
        PL_METRIC_COUNT
};

struct pl_metric_info {
    const char *key;  /* as in JSON and pprof */
    const char *word; /* as shown to people; accepted by --metric beside the key */
    const char *unit; /* "bytes", "calls", "blocks" */
    const char *help;
};
extern const struct pl_metric_info pl_metric_info[PL_METRIC_COUNT];

struct pl_module_view {
    const char *path;                       /* "" for the module of addresses without one */
    char build_id[2 * PL_BUILD_ID_MAX + 1]; /* hex, "" if none */
    uint64_t bias, start, end, fingerprint;
};

/* A place in the code. `function` and `file` are "" until symbolized, or when unknown. */
struct pl_place {
    const char *function; /* demangled */
    const char *linkage;  /* mangled; "" if it is the same as `function` and no rule has changed that */
    const char *file;
    uint32_t line;
    uint32_t column;
    bool inlined; /* into the next place of the same frame */
    /* Set by rules for names (simplify.h). */
    bool allocator;       /* it only passes memory on */
    bool bare;            /* `function` has neither return type nor parameters, whatever it looks like */
    const char *original; /* the function's name before a rule changed it; NULL: none did */
};

/* One address; its places are innermost first, and there is at least one after symbolizing. */
struct pl_frame_view {
    uint32_t module;  /* index into modules */
    uint64_t address; /* in the module */
    uint64_t flags;   /* PL_FRAME_EXACT, GUESS, GAP, CUT, PYTHON, and the version */
    uint32_t places;
    const struct pl_place *place;
    uint32_t record;      /* one of the file's records of this frame: what pl_symbol.frame refers to */
    uint64_t first_units; /* of code in no file: when the frame was first recorded, since the start; 0: not known */
};

/* A stack: indexes of frames, innermost first. */
struct pl_stack_view {
    uint32_t frames;
    const uint32_t *frame;
};

struct pl_thread_view {
    uint32_t tid;
    uint32_t threads; /* how many threads these figures stand for */
    bool alive;
    char name[17];
    uint64_t start_ns, end_ns; /* since the start of the process; end 0 while alive */
    uint64_t calls[PL_FN_MAX];
    uint64_t bytes;
};

/*
 * What is known of a site beyond its sums. Counts are exact or sums of weights (estimates without intervals).
 *
 * ages[i] is the number of blocks live now that were allocated in the i-th age class, oldest first: profile->age says
 * when each class ends. Classes are PL_COHORTS equal stretches of the run.
 */
struct pl_spread {
    double sizes[PL_SIZE_BUCKETS];
    double lives[PL_LIFE_BUCKETS];
    double ages[PL_COHORTS];
    uint64_t smallest, largest; /* 0, 0: not known; UINT32_MAX means that or more */
    double realloc_calls;
    double realloc_moved; /* bytes copied */
    double realloc_in_place;
    double exit_objects; /* freed by exit handlers */
    double exit_space;
    double with_objects; /* of those that are lost, those that other lost blocks lead to */
    double with_space;
    double along_objects; /* of any site: those that blocks of this one take along */
    double along_space;
    double inner_objects; /* held only by pointers to the middle of a block */
    double inner_space;
    uint64_t lost_example; /* the address of a lost block; 0: none is lost */
    uint64_t inner_example;
};

/* Objects and bytes: an exact part that was counted, and a part that samples stand for. */
struct pl_amount {
    double exact_objects;
    double exact_space;
    struct pl_sums sampled;
};

/* What may exist beside the samples although none was taken of it, with 95% confidence (totals.c). Of several sites
 * together it is the largest of theirs, not the sum: that none was taken is then one event. */
struct pl_hidden {
    double objects;
    double space;
};

/* How much more and how much less than `peak` there was at other times when the heap may have been as large: samples do
 * not tell which of them was the peak (peakrange.c). */
struct pl_peakrange {
    double more_objects, less_objects;
    double more_space, less_space;
};

/* Everything that metrics are computed from. Figures of sites are added first, then estimated once. */
struct pl_figures {
    struct pl_amount allocated;
    struct pl_amount freed;     /* by any thread */
    struct pl_amount peak;      /* live when the heap was largest */
    struct pl_amount temporary; /* only its objects are used */
    struct pl_amount lost;      /* nothing leads to them any more; 0 unless somebody has looked */
    struct pl_skew skew;        /* of the samples in `allocated`; 0: not known */
    double unseen_interval;     /* mean gap between samples while not everything was counted; 0: everything was */
    uint64_t call_charge;       /* bytes that each call counted in that gap in addition to its size; at least 1 */
    struct pl_hidden hidden;
    struct pl_peakrange peakrange;
};

/* What memory is for. Tag 0 is the root: no tag. A tag comes after its parent. */
struct pl_tag_view {
    const char *name;   /* the last part of the path; "" for the root */
    const char *path;   /* "request/parse"; "" for the root. A slash in a name is not escaped: compare tags by index */
    uint32_t parent;    /* index; the root is its own */
    uint32_t depth;     /* the root has 0 */
    uint32_t same_name; /* a number that tags of the same name share, wherever they are */
    enum pl_tag_kind kind; /* PL_TAG_OFF and PL_TAG_PAUSED are named "(off)" and "(paused)" */
};

/* Exact calls and bytes of a thread under a tag itself, without the tags below it. All scopes of a thread add up to its
 * own figures. */
struct pl_scope_view {
    uint32_t thread; /* indexes */
    uint32_t tag;
    uint64_t entered; /* times */
    uint64_t calls[PL_FN_MAX];
    uint64_t bytes;
};

/* A thread's share of a site. */
struct pl_site_view {
    uint32_t stack;                  /* index into stacks; PL_NO_STACK for the overflow site and for other sizes */
    uint32_t thread;                 /* index into threads */
    uint32_t tag;                    /* index into tags */
    bool other_sizes;                /* all allocations under this tag of sizes outside of size_from to size_to */
    bool at_moment;                  /* as of a moment of the run: what is known only of the whole run is missing */
    const struct pl_packed *figures; /* this and the next: site.h unpacks them */
    const struct pl_packed *spread;
};
#define PL_NO_STACK UINT32_MAX
#define PL_NO_MODULE UINT32_MAX
#define PL_ROOT_TAG 0u

struct pl_moment_view {
    double seconds; /* since the start */
    double live_bytes, live_objects;
    double allocated_bytes, allocated_calls; /* since the start, or the reset */
    double rss_bytes;                        /* 0: not known */
    double file_bytes;                       /* the part of it that is backed by files and shared memory */
    double own_bytes;                        /* the part of RSS that is Plimsoll's own; 0: not known */
    double own_private_bytes;                /* of that, all but the profile */
    uint64_t interval_bytes;                 /* 0: exact */
};

/* A heap composition: which sites held the heap at a moment. Sites that are not listed held `left_out_bytes`
 * together. */
struct pl_composition_share {
    uint32_t site; /* index into sites */
    double objects, bytes;
    double calls, allocated; /* made until then, and the bytes they requested */
    bool divided;            /* known only for all threads together: their parts are estimates */
};
struct pl_composition_view {
    double seconds;
    double live_bytes, live_objects, left_out_bytes;
    double allocated_bytes, allocated_calls;
    /* Sites that are not listed, as fractions of what they allocated in the whole run: */
    double others_allocated, others_calls; /* allocated until then */
    double others_bytes, others_objects;   /* live then */
    double unnamed_bytes, unnamed_calls;   /* and, not as fractions, what they had allocated until then */
    uint32_t shares;
    const struct pl_composition_share *share;
};

/* What held a part of the heap: see struct pl_holder_record. Numbers are those of its records. */
struct pl_holder_view {
    enum pl_holder kind;
    uint32_t parent, way;
    uint32_t stack; /* PL_NO_STACK: not known */
    double objects, space;
    char name[PL_HOLDER_NAME];
};

/* A heap beside malloc's, with sites of its own. */
struct pl_heap_view {
    enum pl_heap_kind kind;
    const char *name;
    uint32_t sites;
    struct pl_site_view *site;
    struct pl_figures all; /* this and the next: of all sites */
    struct pl_spread spread;
    bool peak_is_now;
    double peak_s;     /* when it was largest */
    double held_bytes; /* of chunks from other heaps; 0: it has not said that it has any */
};

struct pl_profile {
    char *path;
    uint64_t file_bytes;
    struct pl_header header; /* strings in it are not checked: use the fields below */

    const char *comm;
    const char *executable;
    const char *directory;
    const char *destination;
    const char **argv; /* NULL-terminated */
    const char *shown; /* the heap that the figures are of; NULL: malloc's */
    bool
        addresses; /* a heap of mappings: its bytes are addresses, and only the kernel knows what of them is resident */
    bool running;  /* the process exists now and is the one that wrote the file */
    double duration_s;

    uint32_t modules;
    struct pl_module_view *module;
    uint32_t allocator; /* the module whose malloc was used; PL_NO_MODULE: not known */
    uint32_t frames;
    struct pl_frame_view *frame;
    uint32_t stacks;
    struct pl_stack_view *stack;
    uint32_t threads;
    struct pl_thread_view *thread;
    uint32_t sites;
    struct pl_site_view *site;
    uint32_t base_sites; /* of a difference: the first `base_sites` sites are the base's and count negatively; totals
                            are signed. 0 otherwise */
    uint32_t records;    /* of sites in the file that this was read from; 0: made from other profiles */
    uint32_t *stack_of_record; /* the stack of each; PL_NO_STACK: none */
    bool difference;
    double since_s, until_s; /* of a difference between two moments of one run; 0, 0: between two runs */
    const char *method;      /* how the figures were obtained, in words; NULL: the other fields tell */
    bool part;               /* only some tags, threads or stacks are included: moments are about the whole process */
    bool by_stack;   /* chosen by stack: calls and bytes come from sites, are as exact as those, and are not split by
                        function: all are in calls[0] */
    uint32_t merged; /* how many profiles were merged; 0: this is of one process. The peak is the sum of theirs */
    uint32_t tags;   /* at least the root */
    struct pl_tag_view *tag;
    uint32_t scopes; /* by thread, then by tag */
    struct pl_scope_view *scope;
    const char *bypass[PL_BYPASS_COUNT]; /* "": allocations did not go past the profiler in this way */
    const char *snapshot_name;           /* NULL: not a snapshot. "" if it has no name */
    double snapshot_s;                   /* when it was taken, since the start */
    double reset_s;                      /* figures are about what was allocated since then; 0: since the start */
    enum pl_looked looked;               /* when somebody looked what is lost: of several processes, of the last */
    bool looked_partly;                  /* not all blocks were known then, or not all processes were looked at */
    double looked_s;                     /* since the start */

    uint32_t moments; /* in order of time */
    struct pl_moment_view *moment;
    uint32_t compositions; /* likewise */
    struct pl_composition_view *composition;
    uint32_t holders; /* what held the heap, if somebody has asked: 0, or number 0 is not used */
    struct pl_holder_view *holder;
    uint32_t footprints; /* likewise: what RSS consisted of, if somebody has asked */
    struct pl_footprint_record *footprint;
    uint32_t residents; /* likewise: how much of what was live was resident */
    struct pl_resident_record *resident;

    struct pl_estimate total[PL_METRIC_COUNT]; /* alloc_* are exact: from the threads' counters */
    struct pl_spread spread;                   /* of all sites together */
    uint64_t samples;                          /* allocations that were sampled, not counted */
    uint64_t samples_live;
    double exact_calls; /* allocations that were counted one by one */
    double exact_bytes;
    double recorded_calls;   /* calls that were counted or could have been sampled: all except those in */
    double recorded_bytes;   /* "(off)" and "(paused)", of which only calls and bytes are known */
    bool exact;              /* every allocation was counted: every figure is exact */
    double unit_s;           /* length of a unit of time, the first bucket of lives; 0: not known */
    double age[PL_COHORTS];  /* when each age class ends, in seconds since the start; unused ones end with the last */
    double peak_s;           /* when the heap was largest */
    double peak_slack_bytes; /* how far the peak may be off with several threads; 0: not at all */
    double exit_s;           /* when main returned or exit was called; 0: never */
    /* CPU time of the profiler, by its own measurement, and of the process then; 0: unknown. Not included: the
     * instructions that every malloc and free executes, and the cache misses that the profiler causes. */
    double cost_s, cpu_s;

    uint32_t heaps; /* beside malloc's, which all other fields are about */
    struct pl_heap_view *heap;

    uint64_t damage;    /* records that made no sense and were dropped */
    uint64_t in_flight; /* rows and tallies that were copied, or whose process was killed, during an update */
    struct pl_arena *arena;
};

/* How many metrics it has: what is lost comes last, and is known only if somebody has looked. */
static inline int pl_profile_metrics(const struct pl_profile *profile)
{
    return profile->looked == PL_LOOKED_NOT ? PL_METRIC_LOST_OBJECTS : PL_METRIC_COUNT;
}

#define PL_WHY_BYTES 512
int pl_profile_open(const char *path, struct pl_profile **out, char why[PL_WHY_BYTES]);

/* The same from memory, for the fuzzer. `data` is not modified, and not needed afterwards. */
int pl_profile_load(const void *data, size_t bytes, struct pl_profile **out, char why[PL_WHY_BYTES]);
void pl_profile_close(struct pl_profile *profile);

/* Checks what an opened profile promises: every index is in range, every string is there, every site has 0 <= freed,
 * peak <= allocated, temporary <= freed and lost <= allocated - freed, moments and heap compositions are in order, and
 * nothing is infinite. */
bool pl_profile_valid(const struct pl_profile *profile);

/* The smallest size (bytes), or lifetime (units), that belongs to a bucket. */
double pl_size_bucket_from(unsigned bucket);
double pl_life_bucket_from(unsigned bucket);
/* About how long a block in this bucket lived, in units. */
double pl_life_bucket_middle(unsigned bucket);

void pl_spread_add(struct pl_spread *to, const struct pl_spread *more);

/* 95% confidence interval of a sum over samples (docs/maths.md). `samples` is the number of samples in it. */
struct pl_estimate pl_estimate_of(double value, double variance, double samples);

/* Figures of sites are added first. Then one interval per metric is computed from the sums: the exact part plus the
 * interval of the sampled part. */
void pl_figures_add(struct pl_figures *to, const struct pl_figures *more);
void pl_estimate_figures(const struct pl_figures *figures, struct pl_estimate metric[PL_METRIC_COUNT]);

/* What a site may hide between its samples, from its figures and from the sizes that are known of it: 0, 0 if they are
 * not. */
struct pl_hidden pl_estimate_hidden(const struct pl_figures *figures, double gap_bytes, double smallest,
                                    double largest);

/* Estimates where no sample was taken: 0, with an upper end for what may have gone unseen. */
void pl_estimate_unsampled(uint64_t interval_bytes, uint32_t call_charge, struct pl_estimate metric[PL_METRIC_COUNT]);

extern const char *const pl_function_name[PL_FN_COUNT];
struct pl_named_counter {
    const char *key;
    const char *help;
};
extern const struct pl_named_counter pl_loss_info[PL_LOSS_COUNT];
extern const struct pl_named_counter pl_stop_info[PL_STOP_COUNT];
extern const struct pl_named_counter pl_footprint_info[PL_PART_COUNT]; /* its word and title */

/* The sum of the parts from `from` up to, but not including, `to`. 0, PL_PART_COUNT: as the kernel counts it. */
struct pl_footprint_bytes pl_footprint_sum(const struct pl_footprint_record *footprint, int from, int to);

/* How many places all frames have: several for a frame with inlined functions. */
uint32_t pl_profile_places(const struct pl_profile *profile);

/* Is the process that wrote a profile still running? Best effort: a pid means something only in its own pid namespace,
 * so a process in another one counts as ended. */
bool pl_profile_process_runs(const struct pl_header *header);

/* Are two profiles from the same process? A program that it becomes by exec is another. */
bool pl_profile_same_process(const struct pl_header *a, const struct pl_header *b);

#endif
