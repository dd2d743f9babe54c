/* SPDX-License-Identifier: MIT */
/*
 * advice_footprint.c - advice from what RSS consists of: arenas, memory that could be trimmed, holes between blocks,
 * stacks, huge pages.
 *
 * It is there if somebody has asked what RSS consists of (`report --memory`, `run --memory`), and is about the last
 * time that this was done. Gains are resident bytes.
 */
#include <math.h>

#include "analysis/advice/advice_work.h"

#define BYTES_LEAST (4.0 * (1 << 20))
#define SHARE_LEAST 0.05 /* of RSS */
#define HOLES_LEAST 0.20 /* of malloc's resident memory */
#define HUGE_LEAST 0.10  /* of RSS */
#define STACKS_VIRTUAL_LEAST (256.0 * (1 << 20))
#define STACKS_UNTOUCHED_LEAST 8 /* times as large as what any thread has touched */

/* NULL: nobody has asked. */
static const struct pl_footprint_record *last_of(const struct pl_advice_work *work)
{
    const struct pl_profile *profile = work->profile;
    return profile->footprints ? &profile->footprint[profile->footprints - 1] : NULL;
}

static double resident(const struct pl_footprint_record *footprint, int from, int to)
{
    return (double) pl_footprint_sum(footprint, from, to).resident;
}

static double rss_of(const struct pl_footprint_record *footprint)
{
    return resident(footprint, 0, PL_PART_COUNT);
}

static double fact(const struct pl_footprint_record *footprint, enum pl_footprint_fact which)
{
    return (double) footprint->fact[which];
}

static bool is_much(const struct pl_footprint_record *footprint, double bytes)
{
    return bytes >= BYTES_LEAST && bytes >= SHARE_LEAST * rss_of(footprint);
}

static const char *in_bytes(struct pl_advice_work *work, double bytes)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_bytes(text, bytes);
    return pl_advice_print(work, "%s", text);
}

static const char *in_numbers(struct pl_advice_work *work, double number)
{
    char text[PL_FIGURE_BYTES];
    pl_figure_count(text, number);
    return pl_advice_print(work, "%s", text);
}

/* "RSS is 60.1 MiB, of which live blocks are 18.0 MiB." */
static const char *describe_rss(struct pl_advice_work *work, const struct pl_footprint_record *footprint)
{
    return pl_advice_print(work, "RSS is %s, of which live blocks are %s", in_bytes(work, rss_of(footprint)),
                           in_bytes(work, (double) footprint->part[PL_PART_LIVE].resident));
}

static void add(struct pl_advice_work *work, const struct pl_advice *advice, double bytes)
{
    struct pl_advice whole = *advice;
    whole.path = PL_ADVICE_NO_PATH;
    whole.weight = fmin(1, bytes / rss_of(last_of(work)));
    pl_advice_add(work, &whole);
}

void pl_advice_arenas(struct pl_advice_work *work)
{
    const struct pl_footprint_record *footprint = last_of(work);
    double heaps = footprint ? fact(footprint, PL_FACT_ARENA_HEAPS) : 0;
    double bytes = footprint ? fact(footprint, PL_FACT_ARENA_FREE) : 0;
    if (heaps < 2 || !is_much(footprint, bytes))
        return;
    add(work,
        &(struct pl_advice){
            .kind = PL_ADVICE_ARENAS,
            .headline = pl_advice_print(work, "%s are free in %s heaps that belong to arenas of threads",
                                        in_bytes(work, bytes), in_numbers(work, heaps)),
            .evidence =
                pl_advice_print(work,
                                "%s. There are %s threads now. A thread uses free memory of its own arena "
                                "only.",
                                describe_rss(work, footprint), in_numbers(work, fact(footprint, PL_FACT_THREADS))),
            .action = "set MALLOC_ARENA_MAX=2 in the environment, or mallopt(M_ARENA_MAX, 2): threads share fewer "
                      "arenas, and wait for each other more often. The gain is at most what is free in them now",
            .gain_bytes = bytes,
        },
        bytes);
}

void pl_advice_trim(struct pl_advice_work *work)
{
    const struct pl_footprint_record *footprint = last_of(work);
    double bytes = footprint ? fact(footprint, PL_FACT_TRIMMABLE) : 0;
    if (!footprint || !is_much(footprint, bytes))
        return;
    add(work,
        &(struct pl_advice){
            .kind = PL_ADVICE_TRIM,
            .headline = pl_advice_print(work, "malloc keeps %s of whole pages that are free", in_bytes(work, bytes)),
            .evidence = pl_advice_print(work, "%s; %s are free at the ends of heaps, %s between blocks.",
                                        describe_rss(work, footprint),
                                        in_bytes(work, (double) footprint->part[PL_PART_TOP].resident),
                                        in_bytes(work, (double) footprint->part[PL_PART_FREE].resident)),
            .action = (double) footprint->part[PL_PART_TOP].resident >= bytes / 2
                          ? "set M_TRIM_THRESHOLD (GLIBC_TUNABLES=glibc.malloc.trim_threshold=131072), so that malloc "
                            "keeps less at the end of its heap, or call malloc_trim(0) after freeing much"
                          : "call malloc_trim(0) after freeing much, which gives these pages back",
            .gain_bytes = bytes,
        },
        bytes);
}

/* Free memory that no call gives back, because something lives on each of its pages. */
void pl_advice_holes(struct pl_advice_work *work)
{
    const struct pl_footprint_record *footprint = last_of(work);
    if (!footprint || !footprint->fact[PL_FACT_HEAPS])
        return;
    double trimmable = fact(footprint, PL_FACT_TRIMMABLE) - (double) footprint->part[PL_PART_TOP].resident;
    double holes = (double) footprint->part[PL_PART_FREE].resident - fmax(0, trimmable);
    double heap = resident(footprint, 0, PL_PART_HEAP_END);
    if (!is_much(footprint, holes) || holes < HOLES_LEAST * heap)
        return;
    add(work,
        &(struct pl_advice){
            .kind = PL_ADVICE_HOLES,
            .headline = pl_advice_print(work, "%s are free between live blocks, on pages that cannot be given back",
                                        in_bytes(work, holes)),
            .evidence = pl_advice_print(work,
                                        "%s; malloc has %s in all. %s of the free memory are on pages that are "
                                        "mostly free.",
                                        describe_rss(work, footprint), in_bytes(work, heap),
                                        in_bytes(work, fact(footprint, PL_FACT_PINNED))),
            .action =
                "allocate long-lived blocks apart from short-lived ones, for example from a pool (`plimsoll report "
                "--memory PID` lists the sites whose blocks keep such pages), or try an allocator that keeps blocks "
                "of one size together (LD_PRELOAD=libjemalloc.so.2, libmimalloc.so.2) and compare RSS. The gain is "
                "at most the free memory",
            .gain_bytes = holes,
        },
        holes);
}

/* Address space that nobody needs costs no memory; stacks that were used deeply once do. */
void pl_advice_stacks(struct pl_advice_work *work)
{
    const struct pl_footprint_record *footprint = last_of(work);
    if (!footprint)
        return;
    const struct pl_footprint_bytes *stacks = &footprint->part[PL_PART_STACKS];
    double touched = fact(footprint, PL_FACT_STACK_TOUCHED), largest = fact(footprint, PL_FACT_STACK_LARGEST);
    bool large = (double) stacks->virtual >= STACKS_VIRTUAL_LEAST && largest >= STACKS_UNTOUCHED_LEAST * touched;
    bool much = is_much(footprint, (double) stacks->resident);
    if (!large && !much)
        return;
    const char *resident_bytes = in_bytes(work, (double) stacks->resident);
    add(work,
        &(struct pl_advice){
            .kind = PL_ADVICE_STACKS,
            .headline = much ? pl_advice_print(work, "%s of thread stacks are resident", resident_bytes)
                             : pl_advice_print(work, "thread stacks reserve %s of addresses and use %s",
                                               in_bytes(work, (double) stacks->virtual), resident_bytes),
            .evidence = pl_advice_print(work,
                                        "There are %s threads, and %s stacks of ended threads that the C library "
                                        "keeps; the largest is %s, and no thread has touched more than %s.",
                                        in_numbers(work, fact(footprint, PL_FACT_THREADS)),
                                        in_numbers(work, fact(footprint, PL_FACT_STACKS_KEPT)), in_bytes(work, largest),
                                        in_bytes(work, touched)),
            .action =
                much ? "use fewer threads, and no large arrays on their stacks: a page that was touched once stays "
                       "resident until the thread ends"
                     : "set a smaller size with pthread_attr_setstacksize(), if address space or committed memory "
                       "is limited (ulimit -v, vm.overcommit_memory=2). Otherwise nothing is gained: only touched "
                       "pages are resident",
            .gain_bytes = 0,
        },
        (double) stacks->resident);
}

void pl_advice_hugepages(struct pl_advice_work *work)
{
    const struct pl_footprint_record *footprint = last_of(work);
    double bytes = footprint ? fact(footprint, PL_FACT_HUGE) : 0;
    if (!footprint || bytes < BYTES_LEAST || bytes < HUGE_LEAST * rss_of(footprint))
        return;
    double heap = fact(footprint, PL_FACT_HEAP_HUGE);
    add(work,
        &(struct pl_advice){
            .kind = PL_ADVICE_HUGEPAGES,
            .headline = pl_advice_print(work, "%s of RSS are in transparent huge pages", in_bytes(work, bytes)),
            .evidence = pl_advice_print(work,
                                        "%s; %s of the huge pages are in mappings of malloc, %s in others. When one "
                                        "byte of a huge page is touched, all of its 2 MiB become resident.",
                                        describe_rss(work, footprint), in_bytes(work, heap),
                                        in_bytes(work, fmax(0, bytes - heap))),
            .action =
                "run it once without them, and compare RSS and run time: prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), or "
                "`madvise` in /sys/kernel/mm/transparent_hugepage/enabled. How much of them nobody has touched, "
                "the kernel does not say",
            .gain_bytes = 0,
        },
        bytes);
}
