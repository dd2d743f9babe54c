/* SPDX-License-Identifier: MIT */
/*
 * select.c - selects a part of a profile.
 *
 * A tag is given by the last names of its path, each in full: `parse` matches request/parse and load/parse, but not
 * parser. A leading slash means the root. If several tags match, all of them are selected, and all tags below them.
 */
#include "cli/select.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/instant.h"
#include "analysis/narrow.h"
#include "cli/nearest.h"
#include "cli/report/tagview.h"
#include "cli/run/summary.h"
#include "reader/base/arena.h"

#define OFFERED_MAX 6
#define OFFERED_BYTES 80u
#define NO_TAG "(no tag)"
#define ROOT 0u

const char *const pl_select_metric_words[2 * PL_METRIC_COUNT + 1] = {
#define WORD(name, key, word, unit, help) word,
    PL_METRICS(WORD)
#undef WORD
#define KEY(name, key, word, unit, help) key,
        PL_METRICS(KEY)
#undef KEY
};

enum pl_metric pl_select_metric(const struct pl_select *select, enum pl_metric otherwise)
{
    if (select->metric == PL_SELECT_NO_METRIC)
        return otherwise;
    return (enum pl_metric)(select->metric % PL_METRIC_COUNT); /* the words list every metric twice */
}

/* --- suggestions, nearest names first --- */

struct offer {
    const char *name;
    unsigned distance;
};

static int nearest_first(const void *left, const void *right)
{
    const struct offer *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Cuts a name to OFFERED_BYTES, between characters. */
static size_t short_bytes(const char *name)
{
    size_t bytes = strnlen(name, OFFERED_BYTES);
    while (bytes > 0 && ((unsigned char) name[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

static char *lower(const char *text)
{
    char *lowered = pl_say_print("%s", text);
    for (char *at = lowered; *at; at++)
        *at = (char) tolower((unsigned char) *at);
    return lowered;
}

/* Ignores case. */
static unsigned distance_between(const char *typed, const char *name)
{
    char *one = lower(typed), *other = lower(name);
    unsigned distance = pl_nearest_distance(one, other);
    free(other);
    free(one);
    return distance;
}

/* Sorts the offers. Returns the first names, separated by commas, without duplicates. The caller frees it. */
static char *list_offers(struct offer *offer, size_t count)
{
    char *list = pl_say_print("%s", "");
    size_t shown = 0, i = 0;
    if (count)
        qsort(offer, count, sizeof *offer, nearest_first);
    for (; i < count && shown < OFFERED_MAX; i++) {
        if (i && !strcmp(offer[i].name, offer[i - 1].name))
            continue;
        char *longer =
            pl_say_print("%s%s%.*s", list, shown++ ? ", " : "", (int) short_bytes(offer[i].name), offer[i].name);
        free(list);
        list = longer;
    }
    char *all = pl_say_print("%s%s", list, i < count ? ", ..." : "");
    free(list);
    return all;
}

/* --- tags --- */

/* The length of the name, as it is or as it is printed, if the text ends with it; else 0. */
static size_t name_at_end(const char *text, size_t bytes, const char *name)
{
    char *printed = pl_say_clean(name);
    const char *const ways[] = {name, printed};
    size_t found = 0;
    for (int i = 0; i < 2 && !found; i++) {
        size_t length = strlen(ways[i]);
        found = length <= bytes && !memcmp(text + bytes - length, ways[i], length) ? length : 0;
    }
    free(printed);
    return found;
}

/* Is `typed` a sequence of whole names, joined by slashes, at the end of the tag's path? */
static bool answers_to(const struct pl_profile *profile, uint32_t tag, const char *typed)
{
    for (size_t rest = strlen(typed); tag != ROOT; tag = profile->tag[tag].parent) {
        size_t bytes = name_at_end(typed, rest, pl_tagview_name(profile, tag));
        if (!bytes)
            return false;
        rest -= bytes;
        if (rest == 0)
            return true;
        if (typed[--rest] != '/')
            return false;
        if (rest == 0 && profile->tag[tag].parent == ROOT)
            return true;
    }
    return false;
}

/* One pass is enough, because a tag comes after its parent. */
uint32_t pl_select_tags(const struct pl_profile *profile, const char *typed, bool *in, uint32_t *one)
{
    uint32_t meant = 0;
    for (uint32_t i = 1; i < profile->tags; i++) {
        bool answers = answers_to(profile, i, typed);
        meant += answers;
        *one = answers ? i : *one;
        in[i] = answers || in[profile->tag[i].parent];
    }
    if (meant == 0 && !strcmp(typed, NO_TAG)) {
        in[ROOT] = true;
        meant++;
    }
    return meant;
}

static unsigned distance_to(const struct pl_tag_view *tag, const char *typed)
{
    unsigned name = distance_between(typed, tag->name), path = distance_between(typed, tag->path);
    bool begins = *typed && !strncasecmp(tag->name, typed, strlen(typed));
    return begins ? 0 : name < path ? name : path;
}

static enum pl_exit refuse_tag(const struct pl_profile *profile, const char *typed, const char *subject)
{
    if (profile->tags <= 1)
        return pl_say_usage("--tag %s: this program used no tags; see `%s help tags`", typed, pl_say_self());
    struct offer *offer = pl_say_memory(calloc(profile->tags, sizeof *offer));
    for (uint32_t i = 1; i < profile->tags; i++)
        offer[i - 1] = (struct offer){pl_tagview_path(profile, i), distance_to(&profile->tag[i], typed)};
    char *list = list_offers(offer, profile->tags - 1);
    pl_say("--tag %s: no such tag; tags are: %s", typed, list);
    pl_say("to list all tags: %s report --by tag %s", pl_say_self(), subject);
    free(list);
    free(offer);
    return PL_EXIT_USAGE;
}

static char *describe_tags(const struct pl_profile *profile, const char *typed, uint32_t meant, uint32_t one)
{
    if (one == ROOT)
        return pl_say_print("allocated without a tag");
    if (meant > 1)
        return pl_say_print("%u tags named %s, and below", meant, typed);
    return pl_say_print("tag %s, and below", pl_tagview_path(profile, one));
}

static enum pl_exit choose_tags(const struct pl_select *select, const struct pl_profile *profile, const char *subject,
                                bool *in, char **words)
{
    const char *typed = select->tag;
    uint32_t one = ROOT, meant = pl_select_tags(profile, typed, in, &one);
    if (meant == 0 && !select->may_be_empty)
        return refuse_tag(profile, typed, subject);
    *words = meant ? describe_tags(profile, typed, meant, one) : pl_say_print("tag %s, and below", typed);
    return PL_EXIT_OK;
}

/* --- threads --- */

/* The caller frees it. */
static char *list_threads(const struct pl_profile *profile, const char *typed)
{
    struct offer *offer = pl_say_memory(calloc(profile->threads + 1ull, sizeof *offer));
    for (uint32_t i = 0; i < profile->threads; i++)
        offer[i] = (struct offer){profile->thread[i].name, distance_between(typed, profile->thread[i].name)};
    char *list = list_offers(offer, profile->threads);
    free(offer);
    return list;
}

static enum pl_exit refuse_thread(const struct pl_profile *profile, const char *typed)
{
    char *list = list_threads(profile, typed);
    pl_say("--thread %s: no thread name matches; threads are: %s", typed, list);
    free(list);
    return PL_EXIT_USAGE;
}

static enum pl_exit make_groups(const struct pl_profile *profile, enum pl_grouping grouping,
                                const struct pl_choice *choice, struct pl_groups *out)
{
    char why[PL_WHY_BYTES];
    if (pl_groups_make(profile, grouping, choice, out, why))
        return pl_say_usage("%s: %s; use a POSIX extended regular expression, for example --%s 'worker-.*'",
                            choice->only ? "--thread" : "--merge-threads", why,
                            choice->only ? "thread" : "merge-threads");
    return PL_EXIT_OK;
}

static enum pl_exit choose_threads(const struct pl_select *select, const struct pl_profile *profile, bool *in)
{
    const char *typed = select->thread;
    struct pl_groups groups;
    struct pl_choice choice = {.only = typed};
    uint32_t meant = 0;
    enum pl_exit status = make_groups(profile, PL_GROUP_ALL, &choice, &groups);
    if (status != PL_EXIT_OK)
        return status;
    for (uint32_t i = 0; i < profile->threads; i++) {
        in[i] = groups.of[i] != PL_NO_GROUP;
        meant += in[i];
    }
    pl_groups_free(&groups);
    return meant || select->may_be_empty ? PL_EXIT_OK : refuse_thread(profile, typed);
}

/* Warns if the expression matched no thread. A merged group is named after the expression. */
static void check_merged(const struct pl_profile *profile, const char *merge, const struct pl_groups *groups)
{
    for (uint32_t i = 0; i < groups->groups; i++)
        if (!strcmp(groups->name[i], merge))
            return;
    char *list = list_threads(profile, merge);
    pl_say("--merge-threads %s: matches no whole thread name; threads are: %s", merge, list);
    free(list);
}

enum pl_exit pl_select_groups(const struct pl_select *select, const struct pl_profile *profile,
                              enum pl_grouping grouping, struct pl_groups *out)
{
    struct pl_choice choice = {.merge = select->merge};
    enum pl_exit status = make_groups(profile, grouping, &choice, out);
    if (status == PL_EXIT_OK && select->merge)
        check_merged(profile, select->merge, out);
    return status;
}

enum pl_exit pl_select_threads(const struct pl_select *select, const struct pl_profile *profile, struct pl_groups *out)
{
    enum pl_exit status = pl_select_groups(select, profile, PL_GROUP_NAME, out);
    if (status == PL_EXIT_OK && !select->merge)
        pl_groups_fold(out, profile->threads);
    return status;
}

/* --- stacks --- */

static enum pl_exit compile(const char *option, const char *typed, regex_t *out)
{
    char why[PL_WHY_BYTES];
    int error = regcomp(out, typed, REG_EXTENDED | REG_NOSUB);
    if (!error)
        return PL_EXIT_OK;
    regerror(error, out, why, sizeof why);
    return pl_say_usage("%s %s: %s; use a POSIX extended regular expression, for example %s 'parse_.*'", option, typed,
                        why, option);
}

static bool is_found(const regex_t *regex, const char *text)
{
    return *text && !regexec(regex, text, 0, NULL, 0);
}

static bool frame_matches(const struct pl_profile *profile, const regex_t *regex, const struct pl_frame_view *frame)
{
    for (uint32_t i = 0; i < frame->places; i++) {
        const struct pl_place *place = &frame->place[i];
        if (is_found(regex, place->function) || is_found(regex, place->linkage) || is_found(regex, place->file) ||
            (place->original && is_found(regex, place->original)))
            return true;
    }
    return is_found(regex, profile->module[frame->module].path);
}

uint32_t pl_select_stacks(const struct pl_profile *profile, const regex_t *regex, bool through, bool *in)
{
    bool *matches = pl_say_memory(calloc(profile->frames + 1ull, sizeof *matches));
    uint32_t left = 0;
    for (uint32_t i = 0; i < profile->frames; i++)
        matches[i] = frame_matches(profile, regex, &profile->frame[i]);
    for (uint32_t i = 0; i < profile->stacks; i++) {
        bool found = false;
        for (uint32_t f = 0; f < profile->stack[i].frames && !found; f++)
            found = matches[profile->stack[i].frame[f]];
        in[i] &= found == through;
        left += in[i];
    }
    free(matches);
    return left;
}

static enum pl_exit choose_stacks(const struct pl_select *select, const struct pl_profile *profile, bool through,
                                  bool *in)
{
    const char *option = through ? "--focus" : "--ignore", *typed = through ? select->focus : select->ignore;
    regex_t regex;
    enum pl_exit status = compile(option, typed, &regex);
    if (status != PL_EXIT_OK)
        return status;
    uint32_t left = pl_select_stacks(profile, &regex, through, in);
    regfree(&regex);
    if (left || !profile->stacks || select->may_be_empty)
        return PL_EXIT_OK;
    return pl_say_usage("%s %s: no stack is left; the expression is matched against functions, source files and "
                        "modules",
                        option, typed);
}

/* --- all of these --- */

struct chosen {
    bool *tag, *thread, *stack;
    char *words; /* NULL: everything */
};

static void add_words(struct chosen *chosen, const char *how, const char *what)
{
    char *words = pl_say_print("%s%s%s%s", chosen->words ? chosen->words : "", chosen->words ? "; " : "", how, what);
    free(chosen->words);
    chosen->words = words;
}

static enum pl_exit choose(const struct pl_select *select, const struct pl_profile *whole, const char *subject,
                           struct chosen *chosen)
{
    char *tags = NULL;
    enum pl_exit status = PL_EXIT_OK;
    if (select->tag)
        status = choose_tags(select, whole, subject, chosen->tag, &tags);
    if (tags)
        add_words(chosen, "", tags);
    free(tags);
    if (select->thread && status == PL_EXIT_OK) {
        status = choose_threads(select, whole, chosen->thread);
        add_words(chosen, "threads matching ", select->thread);
    }
    if (select->focus && status == PL_EXIT_OK) {
        status = choose_stacks(select, whole, true, chosen->stack);
        add_words(chosen, "stacks matching ", select->focus);
    }
    if (select->ignore && status == PL_EXIT_OK) {
        status = choose_stacks(select, whole, false, chosen->stack);
        add_words(chosen, "stacks not matching ", select->ignore);
    }
    return status;
}

/* --- times --- */

bool pl_select_in_time(const struct pl_select *select)
{
    return select->since != PL_SELECT_NO_TIME || select->until != PL_SELECT_NO_TIME;
}

enum pl_exit pl_select_moments(const struct pl_select *select, const struct pl_profile *profile, int *first, int *last)
{
    double from = select->since == PL_SELECT_NO_TIME ? 0 : (double) select->since / 1e9;
    double to = select->until == PL_SELECT_NO_TIME ? profile->duration_s : (double) select->until / 1e9;
    char since[PL_FIGURE_BYTES], end[PL_FIGURE_BYTES];
    pl_figure_seconds(end, profile->duration_s);
    if (from >= to && select->until == PL_SELECT_NO_TIME)
        return pl_say_usage("--since: the profile ends before that, after %s", end);
    if (from >= to)
        return pl_say_usage("--since must be before --until; the profile ends after %s", end);
    if (profile->compositions == 0)
        return pl_say_failure("--since and --until: the profile has no data on times in between; it ran for %s", end);
    *first = select->since == PL_SELECT_NO_TIME ? PL_INSTANT_START : pl_instant_near(profile, from);
    *last = select->until == PL_SELECT_NO_TIME ? PL_INSTANT_END : pl_instant_near(profile, to);
    if (*first != *last)
        return PL_EXIT_OK;
    pl_figure_seconds(since, pl_instant_seconds(profile, *first));
    return pl_say_failure("--since and --until: the nearest time with data is %s for both; choose times farther apart, "
                          "or take snapshots (%s help snapshot)",
                          since, pl_say_self());
}

static enum pl_exit choose_times(const struct pl_select *select, struct pl_selection *selection, struct chosen *chosen)
{
    const struct pl_profile *profile = selection->profile;
    char since[PL_FIGURE_BYTES], until[PL_FIGURE_BYTES];
    int first, last;
    enum pl_exit status = pl_select_moments(select, profile, &first, &last);
    if (status != PL_EXIT_OK)
        return status;
    pl_figure_seconds(since, pl_instant_seconds(profile, first));
    pl_figure_seconds(until, pl_instant_seconds(profile, last));
    selection->profile = pl_instant_between(profile, first, last, selection->arena);
    add_words(chosen, "since ", since);
    add_words(chosen, "until ", until);
    return PL_EXIT_OK;
}

/* --- heaps --- */

#define MALLOC_HEAP "malloc"

static enum pl_exit refuse_heap(const struct pl_profile *profile, const char *typed)
{
    char *list = pl_say_print("%s", MALLOC_HEAP);
    for (uint32_t i = 0; i < profile->heaps; i++) {
        char *longer = pl_say_print("%s, %s", list, profile->heap[i].name);
        free(list);
        list = longer;
    }
    enum pl_exit status = pl_say_usage("--heap %s: the profile has no heap of that name; it has %s", typed, list);
    free(list);
    return status;
}

static enum pl_exit choose_heap(const struct pl_select *select, struct pl_selection *selection)
{
    const struct pl_profile *opened = selection->opened;
    if (!select->heap || !strcmp(select->heap, MALLOC_HEAP))
        return PL_EXIT_OK;
    for (uint32_t i = 0; i < opened->heaps; i++) {
        if (strcmp(select->heap, opened->heap[i].name))
            continue;
        selection->whole = pl_narrow_heap(opened, i, selection->arena);
        selection->profile = selection->whole;
        return PL_EXIT_OK;
    }
    return refuse_heap(opened, select->heap);
}

static enum pl_exit apply(const struct pl_select *select, const char *subject, struct pl_selection *selection)
{
    const struct pl_profile *whole = selection->profile;
    struct chosen chosen = {
        .tag = pl_arena_alloc(selection->arena, whole->tags + 1ull),
        .thread = pl_arena_alloc(selection->arena, whole->threads + 1ull),
        .stack = pl_arena_alloc(selection->arena, whole->stacks + 1ull),
    };
    memset(chosen.stack, true, whole->stacks);
    enum pl_exit status = choose(select, whole, subject, &chosen);
    if (status == PL_EXIT_OK && chosen.words) {
        struct pl_part part = {
            select->tag ? chosen.tag : NULL,
            select->thread ? chosen.thread : NULL,
            select->focus || select->ignore ? chosen.stack : NULL,
        };
        selection->profile = pl_narrow(whole, &part, selection->arena);
    }
    if (status == PL_EXIT_OK && pl_select_in_time(select))
        status = choose_times(select, selection, &chosen);
    selection->words = chosen.words;
    return status;
}

/* What is lost is known only if somebody has looked, and not of a part of the run. */
static enum pl_exit check_metric(const struct pl_select *select, const struct pl_selection *selection)
{
    enum pl_metric metric = pl_select_metric(select, PL_METRIC_INUSE_SPACE);
    if ((int) metric < pl_profile_metrics(selection->profile))
        return PL_EXIT_OK;
    if (selection->opened->looked != PL_LOOKED_NOT)
        return pl_say_failure("what is lost is known of malloc's heap and of the whole run only, not at a moment or between two");
    return pl_say_failure("nobody has looked what is lost in %s: see `%s help leaks`", selection->subject,
                          pl_say_self());
}

enum pl_exit pl_select_take(const struct pl_select *select, struct pl_profile *whole, const char *typed,
                            struct pl_selection *out)
{
    struct pl_selection selection = {
        .whole = whole, .opened = whole, .profile = whole, .subject = pl_summary_typed(typed), .arena = pl_arena_new()};
    enum pl_exit status = choose_heap(select, &selection);
    if (status == PL_EXIT_OK)
        status = apply(select, selection.subject, &selection);
    if (status == PL_EXIT_OK)
        status = check_metric(select, &selection);
    if (status != PL_EXIT_OK)
        pl_select_free(&selection);
    else
        *out = selection;
    return status;
}

void pl_select_free(struct pl_selection *selection)
{
    pl_arena_free(selection->arena);
    free(selection->words);
    free(selection->subject);
    pl_profile_close(selection->opened);
}
