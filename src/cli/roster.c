/* SPDX-License-Identifier: MIT */
/*
 * roster.c - who allocated, by thread.
 *
 * A pool of forty workers is one thing to a reader, not forty, so threads of one name are one line. Where even that
 * leaves more lines than are worth reading, names that differ only in a number at their end are one name, too:
 * worker-1 to worker-40 are worker-*.
 */
#include "roster.h"

#include <stdlib.h>
#include <string.h>

#include "figure.h"

#define LINES_MAX 10
#define NAME_WIDTH 22 /* at most; a narrow terminal has less */
#define NAME_WIDTH_LEAST 8
#define WHO_WIDTH 16
#define CALLS_WIDTH 14
#define BYTES_WIDTH 12
#define SHARE_WIDTH 8

/* Threads that are shown as one. */
struct group {
    const char *name;
    size_t name_bytes; /* that they have in common */
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

static struct group make_group(const struct pl_thread_view *thread)
{
    const char *name = *thread->name ? thread->name : "?";
    return (struct group){
        .name = name,
        .name_bytes = strlen(name),
        .threads = thread->threads ? thread->threads : 1,
        .calls = sum_calls(thread),
        .bytes = thread->bytes,
        .tid = thread->tid,
    };
}

static void drop_number(struct group *group)
{
    size_t bytes = group->name_bytes;
    while (bytes > 1 && strchr("0123456789", group->name[bytes - 1]))
        bytes--;
    group->name_bytes = bytes;
}

static int by_name(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = strncmp(a->name, b->name, a->name_bytes < b->name_bytes ? a->name_bytes : b->name_bytes);
    return order ? order : (a->name_bytes > b->name_bytes) - (a->name_bytes < b->name_bytes);
}

static int most_bytes_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : by_name(a, b);
}

/* Groups of one name become one. Returns how many are left. */
static uint32_t fold(struct group *group, uint32_t count)
{
    uint32_t kept = 0;
    qsort(group, count, sizeof *group, by_name);
    for (uint32_t i = 0; i < count; i++) {
        if (!kept || by_name(&group[kept - 1], &group[i])) {
            group[kept++] = group[i];
            continue;
        }
        group[kept - 1].threads += group[i].threads;
        group[kept - 1].calls += group[i].calls;
        group[kept - 1].bytes += group[i].bytes;
    }
    return kept;
}

static uint32_t gather(const struct pl_profile *profile, struct group *group)
{
    for (uint32_t i = 0; i < profile->threads; i++)
        group[i] = make_group(&profile->thread[i]);
    uint32_t count = fold(group, profile->threads);
    if (count > LINES_MAX) {
        for (uint32_t i = 0; i < count; i++)
            drop_number(&group[i]);
        count = fold(group, count);
    }
    qsort(group, count, sizeof *group, most_bytes_first);
    return count;
}

/* --- lines --- */

/* What the other columns leave to the name. */
static size_t name_width(const struct pl_term *term)
{
    size_t others = 2 + WHO_WIDTH + CALLS_WIDTH + BYTES_WIDTH + SHARE_WIDTH;
    size_t width = term->width > others + NAME_WIDTH_LEAST ? term->width - others : NAME_WIDTH_LEAST;
    return width < NAME_WIDTH ? width : NAME_WIDTH;
}

/* The name they share, with a star for the numbers that were left out of it; and how many they are. */
static void put_who(struct pl_term *term, const struct group *group)
{
    bool starred = group->threads > 1 && group->name[group->name_bytes];
    char *name = pl_say_print("%.*s%s", (int) group->name_bytes, group->name, starred ? "*" : "");
    char *who = pl_say_print("%u", group->tid);
    if (group->threads > 1) {
        char number[PL_FIGURE_BYTES];
        pl_figure_exact(number, group->threads);
        free(who);
        who = pl_say_print("%s threads", number);
    }
    pl_term_pad(term, 2);
    pl_term_cut(term, PL_STYLE_PLAIN, group->threads > 1 ? name : group->name, name_width(term) - 1);
    pl_term_pad(term, 2 + name_width(term));
    pl_term_right(term, PL_STYLE_PLAIN, who, WHO_WIDTH);
    free(who);
    free(name);
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
    struct group *group = pl_say_memory(calloc(view->profile->threads + 1ull, sizeof *group));
    uint32_t count = gather(view->profile, group);
    put_title(view->term);
    for (uint32_t i = 0; i < count && i < LINES_MAX; i++)
        put_group(view, &group[i]);
    if (count > LINES_MAX) {
        pl_term_print(view->term, PL_STYLE_DIM, "  (%u more)", count - LINES_MAX);
        pl_term_end(view->term);
    }
    free(group);
}
