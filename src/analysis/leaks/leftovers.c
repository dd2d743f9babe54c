/* SPDX-License-Identifier: MIT */
/*
 * leftovers.c - blocks that were never freed: applies suppressions, sums up by group, and judges each group.
 *
 * A pile is the sum over some stacks. Each group has one. A stack that a built-in rule matches first gets its own pile,
 * because the rule applies only if that stack by itself is no suspected leak. Only groups with live blocks are judged,
 * so the rest of a large profile costs one pass over its sites.
 */
#include "analysis/leaks/leftovers.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "analysis/leaks/judge.h"
#include "reader/base/arena.h"
#include "reader/site.h"

struct pile {
    struct pl_pile sum;
    double most; /* bytes of the stack that holds most */
    uint32_t stack, stacks;
    uint32_t rule; /* the built-in rule; PL_NO_RULE for a group's pile */
    uint32_t group;
};

struct work {
    const struct pl_profile *profile;
    struct pl_suppressions *set;
    const uint32_t *group;
    struct pl_leftovers *leftovers;
    double *live; /* of each stack, in blocks */
    double *bytes;
    uint32_t *pile_of_stack, *pile_of_group; /* number + 1; 0: none */
    struct pile *pile;
    uint32_t piles;
};
#define SUPPRESSED UINT32_MAX

/* --- the run --- */

enum pl_leftover_ending pl_leftovers_ending(const struct pl_profile *profile)
{
    const struct pl_header *header = &profile->header;
    if (profile->running || profile->snapshot_name)
        return PL_ENDING_RUNNING; /* the process was running when a snapshot was taken */
    bool exited = header->flags & PL_FLAG_WAITED ? WIFEXITED((int) header->wait_status)
                                                 : header->end == PL_END_EXIT || header->end == PL_END_QUICK;
    return exited ? PL_ENDING_EXITED : PL_ENDING_KILLED;
}

/* --- piles --- */

static uint32_t slot_of(const struct work *work, uint32_t stack)
{
    return stack == PL_NO_STACK ? work->profile->stacks : stack;
}

static uint32_t group_of(const struct work *work, uint32_t slot)
{
    return work->group ? work->group[slot] : slot;
}

static void find_live(struct work *work)
{
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        const struct pl_site_view *site = &work->profile->site[i];
        struct pl_estimate metric[PL_METRIC_COUNT];
        pl_site_estimate(site, metric);
        work->live[slot_of(work, site->stack)] += metric[PL_METRIC_INUSE_OBJECTS].value;
        work->bytes[slot_of(work, site->stack)] += metric[PL_METRIC_INUSE_SPACE].value;
    }
}

static uint32_t add_pile(struct work *work, uint32_t group, uint32_t rule)
{
    work->pile[work->piles] = (struct pile){.group = group, .rule = rule, .stack = PL_NO_STACK};
    return ++work->piles;
}

static void join_stack(const struct work *work, struct pile *pile, uint32_t slot)
{
    pile->stacks++;
    if (work->bytes[slot] < pile->most)
        return;
    pile->most = work->bytes[slot];
    pile->stack = slot == work->profile->stacks ? PL_NO_STACK : slot;
}

static void credit(struct work *work, uint32_t rule, double blocks, double bytes)
{
    struct pl_suppression *used = &work->set->rule[rule];
    used->stacks++;
    used->blocks += blocks;
    used->bytes += bytes;
}

static void place_stack(struct work *work, uint32_t slot, uint32_t rule)
{
    uint32_t group = group_of(work, slot);
    if (rule != PL_NO_RULE && rule < work->set->own) {
        credit(work, rule, work->live[slot], work->bytes[slot]);
        work->pile_of_stack[slot] = SUPPRESSED;
        return;
    }
    if (work->pile_of_group[group] == 0)
        work->pile_of_group[group] = add_pile(work, group, PL_NO_RULE);
    uint32_t pile = rule == PL_NO_RULE ? work->pile_of_group[group] : add_pile(work, group, rule);
    work->pile_of_stack[slot] = pile;
    join_stack(work, &work->pile[pile - 1], slot);
}

static void place_stacks(struct work *work)
{
    struct pl_suppressor *suppressor = work->set ? pl_suppressor_new(work->profile, work->set) : NULL;
    for (uint32_t slot = 0; slot <= work->profile->stacks; slot++) {
        uint32_t stack = slot == work->profile->stacks ? PL_NO_STACK : slot;
        if (work->live[slot] > 0)
            place_stack(work, slot, suppressor ? pl_suppressor_rule(suppressor, stack) : PL_NO_RULE);
    }
    if (suppressor)
        pl_suppressor_free(suppressor);
}

/* Stacks without live blocks go to their group's pile, too: they say how much of the group was freed. */
static struct pile *pile_of(const struct work *work, uint32_t slot)
{
    uint32_t number = work->pile_of_stack[slot] ? work->pile_of_stack[slot] : work->pile_of_group[group_of(work, slot)];
    return number == 0 || number == SUPPRESSED ? NULL : &work->pile[number - 1];
}

static void fill_piles(struct work *work)
{
    for (uint32_t i = 0; i < work->profile->sites; i++) {
        const struct pl_site_view *site = &work->profile->site[i];
        uint32_t slot = slot_of(work, site->stack);
        struct pile *pile = pile_of(work, slot);
        if (pile) {
            pl_site_add_figures(&pile->sum.figures, site);
            pl_site_add_spread(&pile->sum.spread, site);
        } else if (work->pile_of_stack[slot] == SUPPRESSED) {
            pl_site_add_figures(&work->leftovers->suppressed, site);
        }
    }
    for (uint32_t s = 0; s < work->profile->compositions && s < PL_COMPOSITIONS; s++) {
        const struct pl_composition_view *composition = &work->profile->composition[s];
        for (uint32_t i = 0; i < composition->shares; i++) {
            struct pile *pile = pile_of(work, slot_of(work, work->profile->site[composition->share[i].site].stack));
            if (!pile)
                continue;
            pile->sum.seen[s] += composition->share[i].bytes;
            pile->sum.held[s] += composition->share[i].objects;
        }
    }
}

static void merge(struct pile *to, const struct pile *more)
{
    pl_figures_add(&to->sum.figures, &more->sum.figures);
    pl_spread_add(&to->sum.spread, &more->sum.spread);
    for (uint32_t i = 0; i < PL_COMPOSITIONS; i++)
        to->sum.seen[i] += more->sum.seen[i], to->sum.held[i] += more->sum.held[i];
    to->stacks += more->stacks;
    if (more->most >= to->most) {
        to->most = more->most;
        to->stack = more->stack;
    }
}

/* Built-in rules are for one-time allocations of malloc: they do not apply to many blocks, to suspected leaks, nor to
 * mappings. */
static void apply_builtin(struct work *work)
{
    for (uint32_t i = 0; i < work->piles; i++) {
        struct pile *pile = &work->pile[i];
        if (pile->rule == PL_NO_RULE)
            continue;
        struct pl_leftover item = {0};
        pl_judge(work->profile, &pile->sum, work->leftovers->ending, &item);
        if (item.verdict == PL_LEFT_SUSPECTED || work->profile->addresses ||
            pl_judge_witnesses(&pile->sum.figures) > work->set->rule[pile->rule].blocks_most) {
            merge(&work->pile[work->pile_of_group[pile->group] - 1], pile);
        } else {
            credit(work, pile->rule, item.metric[PL_METRIC_INUSE_OBJECTS].value,
                   item.metric[PL_METRIC_INUSE_SPACE].value);
            pl_figures_add(&work->leftovers->suppressed, &pile->sum.figures);
        }
    }
}

/* --- the result --- */

static int gravest_first(const void *left, const void *right)
{
    const struct pl_leftover *a = left, *b = right;
    bool site_a = a->doubt != PL_DOUBT_STACKS, site_b = b->doubt != PL_DOUBT_STACKS;
    bool suspect_a = a->verdict == PL_LEFT_SUSPECTED, suspect_b = b->verdict == PL_LEFT_SUSPECTED;
    double x = a->metric[PL_METRIC_INUSE_SPACE].value, y = b->metric[PL_METRIC_INUSE_SPACE].value;
    if (site_a != site_b)
        return site_a ? -1 : 1;
    if (suspect_a != suspect_b)
        return suspect_a ? -1 : 1;
    return x != y ? (x < y ? 1 : -1) : (a->group > b->group) - (a->group < b->group);
}

static void collect(struct work *work)
{
    struct pl_leftovers *leftovers = work->leftovers;
    leftovers->item = pl_arena_alloc(leftovers->arena, (work->piles + 1ull) * sizeof *leftovers->item);
    for (uint32_t i = 0; i < work->piles; i++) {
        const struct pile *pile = &work->pile[i];
        if (pile->rule != PL_NO_RULE || pile->stacks == 0)
            continue;
        struct pl_leftover *item = &leftovers->item[leftovers->count++];
        *item = (struct pl_leftover){.group = pile->group, .stack = pile->stack, .stacks = pile->stacks};
        pl_judge(work->profile, &pile->sum, leftovers->ending, item);
        if (item->stack == PL_NO_STACK) {
            item->verdict = PL_LEFT_UNKNOWN;
            item->doubt = PL_DOUBT_STACKS;
        }
        leftovers->suspected += item->verdict == PL_LEFT_SUSPECTED;
        leftovers->aged |= item->aged;
        pl_figures_add(&leftovers->left, &pile->sum.figures);
    }
    qsort(leftovers->item, leftovers->count, sizeof *leftovers->item, gravest_first);
    pl_estimate_figures(&leftovers->left, leftovers->left_metric);
    pl_estimate_figures(&leftovers->suppressed, leftovers->suppressed_metric);
    leftovers->rules = work->set ? work->set->count : 0;
    for (uint32_t i = 0; i < leftovers->rules; i++) {
        leftovers->rules_used += work->set->rule[i].stacks > 0;
        leftovers->builtin_used += work->set->rule[i].stacks > 0 && i >= work->set->own;
    }
}

struct pl_leftovers *pl_leftovers_new(const struct pl_profile *profile, struct pl_suppressions *set,
                                      const uint32_t *group, uint32_t groups)
{
    struct pl_arena *arena = pl_arena_new(), *scratch = pl_arena_new();
    struct pl_leftovers *leftovers = pl_arena_alloc(arena, sizeof *leftovers);
    struct work work = {.profile = profile, .set = set, .group = group, .leftovers = leftovers};
    size_t slots = profile->stacks + 1ull, piles = 0;
    leftovers->arena = arena;
    leftovers->ending = pl_leftovers_ending(profile);
    leftovers->classes = pl_judge_classes(profile);
    leftovers->timed = pl_judge_timed(profile);
    leftovers->exit_objects = profile->spread.exit_objects;
    leftovers->exit_space = profile->spread.exit_space;
    work.live = pl_arena_alloc(scratch, slots * sizeof *work.live);
    work.bytes = pl_arena_alloc(scratch, slots * sizeof *work.bytes);
    work.pile_of_stack = pl_arena_alloc(scratch, slots * sizeof *work.pile_of_stack);
    work.pile_of_group = pl_arena_alloc(scratch, (group ? groups + 1ull : slots) * sizeof *work.pile_of_group);
    find_live(&work);
    for (size_t i = 0; i < slots; i++)
        piles += work.live[i] > 0;
    work.pile = pl_arena_alloc(scratch, (2 * piles + 1) * sizeof *work.pile); /* a stack's own, and its group's */
    place_stacks(&work);
    fill_piles(&work);
    apply_builtin(&work);
    collect(&work);
    pl_arena_free(scratch);
    return leftovers;
}

void pl_leftovers_free(struct pl_leftovers *leftovers)
{
    pl_arena_free(leftovers->arena);
}
