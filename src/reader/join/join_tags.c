/* SPDX-License-Identifier: MIT */
/*
 * join_tags.c - joins the tags of several profiles into one tree. A tag is identified by its parent, kind and name.
 *
 * A tag comes after its parent in each profile, so one pass meets every parent before its children. Names may be long
 * and shared by many tags, so each name of a profile is looked up once: tags with the same name have the same
 * `same_name`.
 */
#include <string.h>

#include "reader/base/index.h"
#include "reader/join/join_work.h"

#define ROOT 0u

struct tags {
    struct pl_profile *out;
    struct pl_index by_place; /* tags by parent, kind and name */
    struct pl_index by_name;
    const char **name;
    uint32_t names;
};

struct question {
    const struct tags *tags;
    const char *name;
    struct pl_tag_view wanted;
};

static bool same_name(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return strcmp(question->tags->name[entry], question->name) == 0;
}

static uint32_t find_name(struct tags *tags, const char *name)
{
    struct question question = {.tags = tags, .name = name};
    uint32_t *slot = pl_index_find(&tags->by_name, pl_index_text(tags->by_name.seed, name), 0, same_name, &question);
    if (*slot == 0) {
        tags->name[tags->names] = name;
        *slot = ++tags->names;
    }
    return *slot - 1;
}

static bool same_tag(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct pl_tag_view *tag = &question->tags->out->tag[entry], *wanted = &question->wanted;
    return tag->parent == wanted->parent && tag->kind == wanted->kind && tag->same_name == wanted->same_name;
}

static uint32_t find_tag(struct tags *tags, struct pl_tag_view wanted)
{
    struct pl_profile *out = tags->out;
    struct question question = {.tags = tags, .wanted = wanted};
    uint64_t place = (uint64_t) wanted.parent << 32 | wanted.kind;
    uint32_t *slot = pl_index_find(&tags->by_place, place, wanted.same_name, same_tag, &question);
    if (*slot == 0) {
        wanted.depth = out->tag[wanted.parent].depth + 1;
        out->tag[out->tags] = wanted;
        *slot = ++out->tags;
    }
    return *slot - 1;
}

static uint32_t count_names(const struct pl_profile *part)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < part->tags; i++)
        most = part->tag[i].same_name >= most ? part->tag[i].same_name + 1 : most;
    return most;
}

static void join_part(struct pl_join_work *work, uint32_t p, struct tags *tags)
{
    const struct pl_profile *part = work->part[p];
    uint32_t *of = pl_arena_alloc(work->scratch, part->tags * sizeof *of);
    uint32_t *name_of = pl_arena_alloc(work->scratch, count_names(part) * sizeof *name_of); /* + 1; 0: not looked up */
    for (uint32_t i = 1; i < part->tags; i++) {
        struct pl_tag_view wanted = part->tag[i];
        uint32_t *name = &name_of[wanted.same_name];
        if (*name == 0)
            *name = find_name(tags, wanted.name) + 1;
        wanted.same_name = *name - 1;
        wanted.parent = of[wanted.parent];
        of[i] = find_tag(tags, wanted);
    }
    work->map[p].tag = of;
}

void pl_join_tags(struct pl_join_work *work)
{
    struct pl_profile *out = work->out;
    uint32_t most = 1;
    for (uint32_t p = 0; p < work->parts; p++)
        most += work->part[p]->tags;
    struct tags tags = {
        .out = out,
        .by_place = pl_index_new(work->scratch, most),
        .by_name = pl_index_new(work->scratch, most),
        .name = pl_arena_alloc(work->scratch, most * sizeof *tags.name),
    };
    out->tag = pl_arena_alloc(out->arena, most * sizeof *out->tag);
    out->tag[ROOT] = (struct pl_tag_view){.name = "", .path = ""};
    out->tags = 1;
    for (uint32_t p = 0; p < work->parts; p++)
        join_part(work, p, &tags);
}

/* Joining a profile with one of its own parts does not change its tags, so the part's map refers to them. */
const uint32_t *pl_join_tags_of(const struct pl_profile *joined, const struct pl_profile *part, struct pl_arena *arena)
{
    const struct pl_profile *both[] = {joined, part};
    struct pl_profile same = {.arena = arena};
    struct pl_join_map map[2] = {0};
    struct pl_join_work work = {.part = both, .parts = 2, .out = &same, .scratch = arena, .map = map};
    pl_join_tags(&work);
    return map[1].tag;
}
