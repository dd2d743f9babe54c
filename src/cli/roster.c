/* SPDX-License-Identifier: MIT */
/*
 * roster.c - who allocated, by thread.
 *
 * Threads are taken together as threads.c says.
 */
#include "roster.h"

#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "threads.h"

#define LINES_MAX 10
#define LINES_BRIEF 4
#define NAME_WIDTH 22 /* at most; a narrow terminal has less */
#define NAME_WIDTH_LEAST 8
#define WHO_WIDTH 16
#define CALLS_WIDTH 14
#define BYTES_WIDTH 12
#define SHARE_WIDTH 8

/* Threads that are shown as one. */
struct group {
    const char *name;
    uint64_t threads, calls, bytes;
    uint32_t tid; /* of one of them */
};

static uint64_t sum_calls(const struct pl_thread_view *thread)
{
    uint64_t calls = 0;
    for (int i = 0; i < PL_FN_COUNT; i++)
        calls += thread->calls[i];
    return calls;
}

static int most_bytes_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    return a->bytes != b->bytes   ? (a->bytes < b->bytes ? 1 : -1)
           : a->calls != b->calls ? (a->calls < b->calls ? 1 : -1)
                                  : strcmp(a->name, b->name);
}

/* The caller frees it. */
static struct group *gather(const struct pl_view *view)
{
    const struct pl_groups *threads = view->threads;
    struct group *group = pl_say_memory(calloc(threads->groups + 1ull, sizeof *group));
    for (uint32_t i = 0; i < threads->groups; i++)
        group[i] = (struct group){.name = pl_threads_name(threads, i), .threads = threads->threads[i]};
    for (uint32_t i = 0; i < view->profile->threads; i++) {
        const struct pl_thread_view *thread = &view->profile->thread[i];
        if (threads->of[i] == PL_NO_GROUP)
            continue;
        struct group *of = &group[threads->of[i]];
        of->calls += sum_calls(thread);
        of->bytes += thread->bytes;
        of->tid = thread->tid;
    }
    qsort(group, threads->groups, sizeof *group, most_bytes_first);
    return group;
}

/* --- lines --- */

/* What the other columns leave to the name. */
static size_t name_width(const struct pl_term *term)
{
    size_t others = 2 + WHO_WIDTH + CALLS_WIDTH + BYTES_WIDTH + SHARE_WIDTH;
    size_t width = term->width > others + NAME_WIDTH_LEAST ? term->width - others : NAME_WIDTH_LEAST;
    return width < NAME_WIDTH ? width : NAME_WIDTH;
}

static void put_who(struct pl_term *term, const struct group *group)
{
    char number[PL_FIGURE_BYTES];
    pl_figure_exact(number, group->threads);
    char *who = group->threads > 1 ? pl_say_print("%s threads", number) : pl_say_print("%u", group->tid);
    pl_term_pad(term, 2);
    pl_term_cut(term, PL_STYLE_PLAIN, group->name, name_width(term) - 1);
    pl_term_pad(term, 2 + name_width(term));
    pl_term_right(term, PL_STYLE_PLAIN, who, WHO_WIDTH);
    free(who);
}

static void put_group(const struct pl_view *view, const struct group *group)
{
    struct pl_term *term = view->term;
    char calls[PL_FIGURE_BYTES], bytes[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_exact(calls, group->calls);
    pl_figure_bytes(bytes, (double) group->bytes);
    pl_figure_percent(share, pl_view_share(view->profile, PL_METRIC_ALLOC_SPACE, (double) group->bytes));
    put_who(term, group);
    pl_term_right(term, PL_STYLE_PLAIN, calls, CALLS_WIDTH);
    pl_term_right(term, PL_STYLE_PLAIN, bytes, BYTES_WIDTH);
    pl_term_right(term, PL_STYLE_BOLD, share, SHARE_WIDTH);
    pl_term_end(term);
}

static void put_title(struct pl_term *term)
{
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, "Threads");
    pl_term_pad(term, 2 + name_width(term));
    pl_term_right(term, PL_STYLE_DIM, "tid", WHO_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "calls", CALLS_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "bytes", BYTES_WIDTH);
    pl_term_right(term, PL_STYLE_DIM, "share", SHARE_WIDTH);
    pl_term_end(term);
}

void pl_roster_print(const struct pl_view *view)
{
    struct group *group = gather(view);
    uint32_t count = view->threads->groups, most = view->brief ? LINES_BRIEF : LINES_MAX;
    while (count > 1 && !group[count - 1].calls) /* not since the reset */
        count--;
    put_title(view->term);
    for (uint32_t i = 0; i < count && i < most; i++)
        put_group(view, &group[i]);
    if (count > most) {
        pl_term_print(view->term, PL_STYLE_DIM, "  (%u more: --by thread)", count - most);
        pl_term_end(view->term);
    }
    free(group);
}
