/* SPDX-License-Identifier: MIT */
/*
 * simplify_profile.c - applies rules for names to a profile.
 *
 * There are fewer names than places and fewer places than stacks, so each different name goes through the rules once,
 * each frame takes the results for its names, and a stack only looks at its frames.
 *
 * Built-in rules only change names. If there are other rules, frames that look the same are joined, then stacks of the
 * same frames, then sites of the same stack: that is what people write such rules for.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/names/simplify.h"
#include "reader/base/arena.h"
#include "reader/base/index.h"
#include "reader/fold/shares.h"
#include "reader/site.h"

struct known {
    const char *name; /* as it was */
    struct pl_simplified simplified;
};

struct work {
    struct pl_simplify *set;
    struct pl_profile *profile;
    pl_shorten *shorten;
    const void *shortened_by;
    struct pl_arena *scratch;
    bool keep_names;
    struct known *known;
    uint32_t knowns;
    struct pl_index index;
    bool *dropped, *cut; /* of each frame */
    uint32_t *became;    /* new number of each stack, then of each site */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * 0x100000001b3ull;
    return hash * 31;
}

/* --- names --- */

struct name_question {
    const struct known *known;
    const char *name;
};

static bool same_name(const void *context, uint32_t entry)
{
    const struct name_question *question = context;
    return strcmp(question->known[entry].name, question->name) == 0;
}

static const struct pl_simplified *simplify(struct work *work, const char *name)
{
    struct name_question question = {work->known, name};
    uint32_t *slot = pl_index_find(&work->index, hash_text(1, name), 0, same_name, &question);
    if (*slot == 0) {
        work->known[work->knowns].name = name;
        work->known[work->knowns].simplified = pl_simplify_name(work->set, work->profile->arena, name);
        *slot = ++work->knowns;
    }
    return &work->known[*slot - 1].simplified;
}

/* --- frames --- */

static void rewrite_place(const struct work *work, const struct pl_simplified *simplified, struct pl_place *place)
{
    place->allocator = simplified->allocator;
    if (work->keep_names)
        return;
    if (simplified->renamed) {
        place->original = place->function;
        place->linkage = *place->linkage ? place->linkage : place->function;
        place->function = simplified->name;
        place->bare = simplified->bare;
    }
    if (simplified->join) {
        place->file = "";
        place->line = place->column = 0;
    }
}

static bool changes(const struct pl_simplified *simplified)
{
    return simplified->renamed || simplified->join || simplified->allocator || simplified->drop || simplified->cut;
}

static bool any_changes(struct work *work, const struct pl_frame_view *frame)
{
    for (uint32_t p = 0; p < frame->places; p++)
        if (changes(simplify(work, frame->place[p].function)))
            return true;
    return false;
}

/* A frame whose places were all dropped keeps the innermost, for stacks that have nothing else. */
static void rewrite_frame(struct work *work, uint32_t number)
{
    struct pl_frame_view *frame = &work->profile->frame[number];
    if (!any_changes(work, frame))
        return;
    struct pl_place *place = pl_arena_alloc(work->profile->arena, frame->places * sizeof *place);
    uint32_t places = 0;
    for (uint32_t p = 0; p < frame->places && !work->cut[number]; p++) {
        const struct pl_simplified *simplified = simplify(work, frame->place[p].function);
        work->cut[number] = simplified->cut;
        place[places] = frame->place[p];
        rewrite_place(work, simplified, &place[places]);
        places += !simplified->drop;
    }
    work->dropped[number] = places == 0;
    if (places == 0) {
        place[0] = frame->place[0];
        rewrite_place(work, simplify(work, place[0].function), &place[0]);
        places = 1;
    }
    if (places < frame->places)
        place[places - 1].inlined = false;
    frame->place = place;
    frame->places = places;
}

static void rewrite_frames(struct work *work)
{
    uint32_t names_max = pl_profile_places(work->profile);
    work->known = pl_arena_alloc(work->scratch, (names_max + 1ull) * sizeof *work->known);
    work->index = pl_index_new(work->scratch, names_max);
    for (uint32_t i = 0; i < work->profile->frames; i++)
        rewrite_frame(work, i);
}

/* --- frames that look the same --- */

#define FLAGS_SEEN (PL_FRAME_GUESS | PL_FRAME_GAP | PL_FRAME_CUT)

static bool same_place(const struct pl_place *a, const struct pl_place *b)
{
    return a->line == b->line && a->inlined == b->inlined && strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0;
}

/* Frames without a name are identified by their address. */
static bool is_nameless(const struct pl_frame_view *frame)
{
    return frame->places == 0 || (!*frame->place[0].function && !*frame->place[0].file);
}

static bool look_the_same(const struct pl_frame_view *a, const struct pl_frame_view *b)
{
    if (a->module != b->module || a->places != b->places || ((a->flags ^ b->flags) & FLAGS_SEEN) ||
        (is_nameless(a) && a->address != b->address))
        return false;
    for (uint32_t p = 0; p < a->places; p++)
        if (!same_place(&a->place[p], &b->place[p]))
            return false;
    return true;
}

struct frame_question {
    const struct pl_frame_view *kept, *frame;
};

static bool same_frame(const void *context, uint32_t entry)
{
    const struct frame_question *question = context;
    return look_the_same(&question->kept[entry], question->frame);
}

static uint64_t hash_frame(const struct pl_frame_view *frame)
{
    uint64_t hash = is_nameless(frame) ? frame->address : 0;
    for (uint32_t p = 0; p < frame->places; p++)
        hash = hash_text(hash + frame->place[p].line, frame->place[p].function);
    return hash;
}

/* --- stacks --- */

/* The frames that are left of a stack, by their old numbers; at least its innermost. */
static uint32_t shorten_stack(const void *by, const struct pl_stack_view *stack, uint32_t *to)
{
    const struct work *work = by;
    uint32_t frames = 0;
    for (uint32_t f = 0; f < stack->frames; f++) {
        if (!work->dropped[stack->frame[f]])
            to[frames++] = stack->frame[f];
        if (work->cut[stack->frame[f]])
            break;
    }
    if (frames == 0)
        to[frames++] = stack->frame[0];
    return frames;
}

/* Only frames that are still in a stack are kept, in the order in which stacks refer to them. */
struct kept_frames {
    struct pl_frame_view *frame;
    uint32_t count;
    struct pl_index index;
    uint32_t *number; /* old number -> new number + 1; 0: none yet */
};

static uint32_t keep_frame(struct kept_frames *kept, const struct pl_profile *profile, uint32_t number)
{
    const struct pl_frame_view *frame = &profile->frame[number];
    if (kept->number[number] > 0)
        return kept->number[number] - 1;
    struct frame_question question = {kept->frame, frame};
    uint32_t *slot = pl_index_find(&kept->index, hash_frame(frame), frame->module, same_frame, &question);
    if (*slot == 0) {
        kept->frame[kept->count] = *frame;
        *slot = ++kept->count;
    }
    kept->number[number] = *slot;
    return *slot - 1;
}

static bool same_frames(const struct pl_stack_view *a, const struct pl_stack_view *b)
{
    return a->frames == b->frames && memcmp(a->frame, b->frame, a->frames * sizeof *a->frame) == 0;
}

struct stack_question {
    const struct pl_stack_view *kept, *stack;
};

static bool same_stack(const void *context, uint32_t entry)
{
    const struct stack_question *question = context;
    return same_frames(&question->kept[entry], question->stack);
}

static uint64_t hash_frames(const struct pl_stack_view *stack)
{
    uint64_t hash = stack->frames;
    for (uint32_t f = 0; f < stack->frames; f++)
        hash = (hash ^ stack->frame[f]) * 0x9e3779b97f4a7c15ull;
    return hash;
}

static void join_stacks(struct work *work)
{
    struct pl_profile *profile = work->profile;
    struct pl_index index = pl_index_new(work->scratch, profile->stacks);
    struct kept_frames kept = {
        .frame = pl_arena_alloc(profile->arena, (profile->frames + 1ull) * sizeof *kept.frame),
        .index = pl_index_new(work->scratch, profile->frames),
        .number = pl_arena_alloc(work->scratch, (profile->frames + 1ull) * sizeof *kept.number),
    };
    struct pl_stack_view *stack = pl_arena_alloc(profile->arena, (profile->stacks + 1ull) * sizeof *stack);
    uint32_t stacks = 0;
    work->became = pl_arena_alloc(work->scratch, (profile->stacks + 1ull) * sizeof *work->became);
    for (uint32_t i = 0; i < profile->stacks; i++) {
        const struct pl_stack_view *before = &profile->stack[i];
        uint32_t *frame = pl_arena_alloc(profile->arena, before->frames * sizeof *frame);
        struct pl_stack_view now = {work->shorten(work->shortened_by, before, frame), frame};
        for (uint32_t f = 0; f < now.frames; f++)
            frame[f] = keep_frame(&kept, profile, frame[f]);
        struct stack_question question = {stack, &now};
        uint32_t *slot = pl_index_find(&index, hash_frames(&now), now.frames, same_stack, &question);
        if (*slot == 0) {
            stack[stacks] = now;
            *slot = ++stacks;
        }
        work->became[i] = *slot - 1;
    }
    profile->frame = kept.frame;
    profile->frames = kept.count;
    profile->stack = stack;
    profile->stacks = stacks;
}

/* What else refers to stacks. */
static void renumber_stacks(const struct work *work)
{
    struct pl_profile *profile = work->profile;
    for (uint32_t i = 0; i < profile->records; i++)
        if (profile->stack_of_record[i] != PL_NO_STACK)
            profile->stack_of_record[i] = work->became[profile->stack_of_record[i]];
    for (uint32_t h = 0; h < profile->heaps; h++)
        for (uint32_t i = 0; i < profile->heap[h].sites; i++)
            if (profile->heap[h].site[i].stack != PL_NO_STACK)
                profile->heap[h].site[i].stack = work->became[profile->heap[h].site[i].stack];
    for (uint32_t i = 1; i < profile->holders; i++)
        if (profile->holder[i].stack != PL_NO_STACK)
            profile->holder[i].stack = work->became[profile->holder[i].stack];
}

/* --- sites --- */

struct site_question {
    const struct pl_site_view *kept, *site;
};

static bool same_site(const void *context, uint32_t entry)
{
    const struct site_question *question = context;
    const struct pl_site_view *a = &question->kept[entry], *b = question->site;
    return a->stack == b->stack && a->thread == b->thread && a->tag == b->tag && a->other_sizes == b->other_sizes;
}

static void add_site(struct pl_arena *arena, struct pl_site_view *to, const struct pl_site_view *more)
{
    struct pl_figures figures = pl_site_figures(to);
    struct pl_spread spread = pl_site_spread(to);
    pl_site_add_figures(&figures, more);
    pl_site_add_spread(&spread, more);
    to->figures = pl_site_pack_figures(arena, &figures);
    to->spread = pl_site_pack_spread(arena, &spread);
}

static void join_sites(struct work *work)
{
    struct pl_profile *profile = work->profile;
    struct pl_index index = pl_index_new(work->scratch, profile->sites);
    struct pl_site_view *kept = pl_arena_alloc(profile->arena, (profile->sites + 1ull) * sizeof *kept);
    const uint32_t *stack_became = work->became;
    uint32_t sites = 0;
    work->became = pl_arena_alloc(work->scratch, (profile->sites + 1ull) * sizeof *work->became);
    for (uint32_t i = 0; i < profile->sites; i++) {
        struct pl_site_view *site = &profile->site[i];
        if (site->stack != PL_NO_STACK)
            site->stack = stack_became[site->stack];
        struct site_question question = {kept, site};
        uint64_t who = (uint64_t) site->thread << 32 | site->tag;
        uint32_t *slot = pl_index_find(&index, site->stack, who, same_site, &question);
        if (*slot) {
            add_site(profile->arena, &kept[*slot - 1], site);
        } else {
            kept[sites] = *site;
            *slot = ++sites;
        }
        work->became[i] = *slot - 1;
    }
    profile->site = kept;
    profile->sites = sites;
}

/* --- heap compositions --- */

static void join_shares(const struct work *work, struct pl_composition_view *composition)
{
    struct pl_composition_share *share = pl_arena_alloc(work->profile->arena, composition->shares * sizeof *share);
    for (uint32_t i = 0; i < composition->shares; i++) {
        share[i] = composition->share[i];
        share[i].site = work->became[share[i].site];
    }
    uint32_t shares = pl_shares_join(share, composition->shares);
    pl_shares_sort(share, shares);
    composition->share = share;
    composition->shares = shares;
}

/* --- all of it --- */

static void shorten_stacks(struct work *work)
{
    join_stacks(work);
    renumber_stacks(work);
    join_sites(work);
    for (uint32_t i = 0; i < work->profile->compositions; i++)
        join_shares(work, &work->profile->composition[i]);
}

void pl_shorten_stacks(struct pl_profile *profile, pl_shorten *shorten, const void *by)
{
    struct work work = {.profile = profile, .shorten = shorten, .shortened_by = by, .scratch = pl_arena_new()};
    shorten_stacks(&work);
    pl_arena_free(work.scratch);
}

void pl_simplify_profile(struct pl_simplify *set, struct pl_profile *profile, bool keep_names)
{
    struct work work = {.set = set, .profile = profile, .scratch = pl_arena_new(), .keep_names = keep_names};
    work.dropped = pl_arena_alloc(work.scratch, profile->frames + 1ull);
    work.cut = pl_arena_alloc(work.scratch, profile->frames + 1ull);
    rewrite_frames(&work);
    work.shorten = shorten_stack;
    work.shortened_by = &work;
    if (set->count > set->builtin)
        shorten_stacks(&work);
    pl_arena_free(work.scratch);
}
