/* SPDX-License-Identifier: MIT */
/*
 * page_leaks.c - the "leaks" member of page data: the list of `report --leaks`, with the same verdicts and evidence.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/leaks/leftovers.h"
#include "analysis/leaks/suspicion.h"
#include "analysis/path.h"
#include "page/data/page_work.h"

#define ITEMS_MOST 2000

static const char *const ending_words[PL_ENDINGS] = {
    [PL_ENDING_RUNNING] = "running", [PL_ENDING_EXITED] = "exited", [PL_ENDING_KILLED] = "killed"};
static const char *const verdict_words[PL_LEFT_VERDICTS] = {
    [PL_LEFT_SUSPECTED] = "suspected", [PL_LEFT_UNKNOWN] = "unknown", [PL_LEFT_STOPPED] = "stopped",
    [PL_LEFT_ONCE] = "once",           [PL_LEFT_YOUNG] = "young",
};

/* Blocks without a stack are one group. Its path says whether it stands for other sizes, as in pl_paths_of_stacks(). */
static uint32_t node_of(const struct pl_page_work *work, const struct pl_leftover *item)
{
    bool other_sizes = work->paths.path[item->group].location[0] == work->locations->other_sizes;
    return pl_page_tree_stack(work->tree, item->stack, other_sizes).node;
}

static void write_item(struct pl_json *json, const struct pl_page_work *work, const struct pl_leftovers *left,
                       const struct pl_leftover *item)
{
    char *evidence = pl_suspicion_evidence(work->profile, left, item);
    bool grows = item->verdict == PL_LEFT_SUSPECTED;
    pl_json_line(json);
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "node", node_of(work, item));
    pl_json_add_whole(json, "stacks", item->stacks);
    pl_json_add_estimate(json, "blocks", &item->metric[PL_METRIC_INUSE_OBJECTS]);
    pl_json_add_estimate(json, "bytes", &item->metric[PL_METRIC_INUSE_SPACE]);
    pl_json_add_text(json, "verdict", verdict_words[item->verdict]);
    pl_json_add_text(json, "evidence", evidence);
    pl_json_add_real(json, "bytes_per_s", grows ? item->growth.bytes_per_s : NAN);
    pl_json_add_real(json, "first_s", item->aged ? item->first_s : NAN);
    pl_json_add_real(json, "last_s", item->aged ? item->last_s : NAN);
    pl_json_end(json, '}');
    free(evidence);
}

/* The first items of the report's list, grouped by verdict, the heaviest of each first. */
static void write_items(struct pl_json *json, const struct pl_page_work *work, const struct pl_leftovers *left)
{
    uint32_t count = left->count < ITEMS_MOST ? left->count : ITEMS_MOST;
    pl_json_key(json, "items");
    pl_json_begin(json, '[');
    for (int verdict = 0; verdict < PL_LEFT_VERDICTS; verdict++)
        for (uint32_t i = 0; i < count; i++)
            if ((int) left->item[i].verdict == verdict)
                write_item(json, work, left, &left->item[i]);
    pl_json_end(json, ']');
    pl_json_add_whole(json, "items_left_out", left->count - count);
}

/* A set may be reused, and its counters are never reset: the caller subtracts. */
static uint32_t count_stacks(const struct pl_suppressions *set)
{
    uint32_t stacks = 0;
    for (uint32_t i = 0; i < set->count; i++)
        stacks += set->rule[i].stacks;
    return stacks;
}

static void write_suppressed(struct pl_json *json, const struct pl_leftovers *left, uint32_t stacks)
{
    pl_json_key(json, "suppressed");
    pl_json_begin(json, '{');
    pl_json_add_whole(json, "stacks", stacks);
    pl_json_add_real(json, "blocks", left->suppressed_metric[PL_METRIC_INUSE_OBJECTS].value);
    pl_json_add_real(json, "bytes", left->suppressed_metric[PL_METRIC_INUSE_SPACE].value);
    pl_json_end(json, '}');
}

static void write_leaks(struct pl_json *json, const struct pl_page_work *work, struct pl_suppressions *set)
{
    uint32_t before = count_stacks(set), *group = pl_paths_of_stacks(work->profile, &work->paths);
    struct pl_leftovers *left = pl_leftovers_new(work->profile, set, group, work->paths.count);
    pl_json_begin(json, '{');
    pl_json_add_text(json, "ending", ending_words[left->ending]);
    write_suppressed(json, left, count_stacks(set) - before);
    write_items(json, work, left);
    pl_json_end(json, '}');
    pl_leftovers_free(left);
    free(group);
}

void pl_page_leaks_write(struct pl_json *json, const struct pl_page_work *work)
{
    struct pl_suppressions *set = work->about->suppressions, *builtin = NULL;
    if (work->profile->difference) {
        fputs("null", json->out);
        return;
    }
    if (!set) {
        set = builtin = pl_suppressions_new();
        pl_suppressions_add_builtin(set);
    }
    write_leaks(json, work, set);
    if (builtin)
        pl_suppressions_free(builtin);
}
