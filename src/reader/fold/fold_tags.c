/* SPDX-License-Identifier: MIT */
/*
 * fold_tags.c - joins tag records into a tree, and gives each tag its name and its path.
 *
 * A writer knows a tag's number before it can make another below it, so parent < child in every undamaged file.
 * Rejecting anything else makes one pass enough, and rules out cycles. Two records are the same tag if they have the
 * same parent, kind and name.
 *
 * Names may be long, shared and many, and a hostile file can have all three at once. So each text is measured and
 * hashed once, however many tags have it for a name; names in several pieces together may be at most twice as long as
 * all texts; and if all paths together would be too long, the long ones are cut in the middle.
 */
#include <string.h>

#include "reader/fold/fold.h"
#include "reader/fold/texts.h"

#define PIECES_MAX 20u /* of a name: the runtime stops at 64 KiB */
#define PATH_BYTES_MAX (1u << 20)
#define PATH_BYTES_MIN 64u
#define PATHS_BYTES (64ull << 20) /* of all paths together; the file's size adds to it */
#define PATHS_BYTES_PER_FILE_BYTE 4u
#define CUT "\u2026"
#define CUT_BYTES (sizeof CUT - 1)

/* A text that is the name of tags. */
struct name {
    const char *text;
    size_t bytes;
    uint64_t hash;
    uint32_t same; /* the first name with these bytes */
};

struct work {
    struct pl_profile *profile;
    struct pl_image *image;
    struct pl_texts *texts;
    uint32_t *tag_of;
    struct pl_index tags;
    uint32_t *name_of;        /* tag -> its name */
    struct pl_index by_place; /* names by the address of their text, and by its bytes */
    struct pl_index by_bytes;
    struct name *name;
    uint32_t names;
    uint64_t joined_left; /* bytes left for names in several pieces */
};

/* ---- names ---- */

static const struct pl_tag_record *record_at(const struct work *work, uint32_t number)
{
    return &pl_image_tags(work->image)[number];
}

static bool goes_on(const struct work *work, uint32_t rest)
{
    return rest < pl_image_count(work->image, PL_KIND_TAG) && record_at(work, rest)->valid != 0 &&
           record_at(work, rest)->kind == PL_TAG_REST;
}

/* Finds the pieces of a name, and returns how many. A chain that is too long, or leads to a record of another kind,
 * ends there. */
static uint32_t find_pieces(const struct work *work, const struct pl_tag_record *record, const char **piece)
{
    uint32_t pieces = 0;
    piece[pieces++] = pl_texts_get(work->texts, record->name);
    for (; record->rest != 0; piece[pieces++] = pl_texts_get(work->texts, record->name)) {
        if (pieces == PIECES_MAX || !goes_on(work, record->rest)) {
            work->image->damage++;
            break;
        }
        record = record_at(work, record->rest);
    }
    return pieces;
}

static const char *join_pieces(struct work *work, const char **piece, uint32_t pieces)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < pieces; i++)
        bytes += strlen(piece[i]);
    if (bytes + 1 > work->joined_left) {
        work->image->damage++;
        return piece[0];
    }
    work->joined_left -= bytes + 1;
    char *name = pl_arena_alloc(work->texts->arena, bytes + 1), *end = name;
    for (uint32_t i = 0; i < pieces; i++)
        end = stpcpy(end, piece[i]);
    return name;
}

static const char *read_name(struct work *work, const struct pl_tag_record *record)
{
    static const char *const given[] = {[PL_TAG_OFF] = "(off)", [PL_TAG_PAUSED] = "(paused)"};
    const char *piece[PIECES_MAX];
    if (record->kind != PL_TAG_NAMED)
        return given[record->kind];
    uint32_t pieces = find_pieces(work, record, piece);
    return pieces == 1 ? piece[0] : join_pieces(work, piece, pieces);
}

static uint64_t hash_bytes(const char *text, size_t bytes, uint64_t seed)
{
    uint64_t hash = seed ^ bytes, word;
    for (; bytes >= sizeof word; text += sizeof word, bytes -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = pl_index_mix(hash, word);
    }
    word = 0;
    memcpy(&word, text, bytes);
    return pl_index_mix(hash, word);
}

struct question {
    const struct work *work;
    struct name name;
    uint32_t parent, kind, same; /* for a tag */
};

static bool same_place(const void *context, uint32_t entry)
{
    const struct question *question = context;
    return question->work->name[entry].text == question->name.text;
}

static bool same_bytes(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct name *name = &question->work->name[entry];
    return name->hash == question->name.hash && name->bytes == question->name.bytes &&
           memcmp(name->text, question->name.text, name->bytes) == 0;
}

/* The number of a name. Equal names may have different numbers, but the same `same`. */
static uint32_t find_name(struct work *work, const char *text)
{
    struct question question = {.work = work, .name.text = text};
    uint32_t *slot = pl_index_find(&work->by_place, (uintptr_t) text, 0, same_place, &question);
    if (*slot != 0)
        return *slot - 1;
    struct name *name = &question.name;
    name->bytes = strlen(text);
    name->hash = hash_bytes(text, name->bytes, work->by_bytes.seed);
    uint32_t *first = pl_index_find(&work->by_bytes, name->hash, name->bytes, same_bytes, &question);
    if (*first == 0)
        *first = work->names + 1;
    name->same = *first - 1;
    work->name[work->names] = *name;
    *slot = ++work->names;
    return *slot - 1;
}

/* ---- the tree ---- */

static bool same_tag(const void *context, uint32_t entry)
{
    const struct question *question = context;
    const struct work *work = question->work;
    const struct pl_tag_view *tag = &work->profile->tag[entry];
    return tag->parent == question->parent && tag->kind == question->kind &&
           work->name[work->name_of[entry]].same == question->same;
}

static uint32_t find_tag(struct work *work, uint32_t parent, enum pl_tag_kind kind, const char *text)
{
    struct pl_profile *profile = work->profile;
    uint32_t name = find_name(work, text);
    struct question question = {.work = work, .parent = parent, .kind = kind, .same = work->name[name].same};
    uint32_t *slot = pl_index_find(&work->tags, (uint64_t) parent << 32 | kind, question.same, same_tag, &question);
    if (*slot == 0) {
        work->name_of[profile->tags] = name;
        profile->tag[profile->tags] = (struct pl_tag_view){
            .name = work->name[name].text,
            .parent = parent,
            .depth = profile->tag[parent].depth + 1,
            .kind = kind,
            .same_name = question.same,
        };
        *slot = ++profile->tags;
    }
    return *slot - 1;
}

static bool makes_sense(const struct pl_tag_record *record, uint32_t self)
{
    return record->kind < PL_TAG_REST && record->parent < self &&
           (record->kind == PL_TAG_NAMED || record->parent == PL_ROOT_TAG);
}

/* A tag below a missing tag is missing too. That alone is no damage: both may have been published during the copy, and
 * then no copied record refers to them. */
static uint32_t fold_record(struct work *work, uint32_t number)
{
    const struct pl_tag_record *record = record_at(work, number);
    if (record->valid == 0 || record->kind == PL_TAG_REST)
        return PL_NO_TAG;
    if (!makes_sense(record, number)) {
        work->image->damage++;
        return PL_NO_TAG;
    }
    uint32_t parent = work->tag_of[record->parent];
    return parent == PL_NO_TAG ? PL_NO_TAG : find_tag(work, parent, record->kind, read_name(work, record));
}

/* ---- paths ---- */

/* What a path is made of: the parent's path, a slash, and a name. */
struct parts {
    const char *above, *name;
    size_t above_bytes, name_bytes; /* above_bytes includes the slash */
};

static struct parts parts_of(const struct work *work, const size_t *path_bytes, uint32_t tag)
{
    const struct name *name = &work->name[work->name_of[tag]];
    uint32_t parent = work->profile->tag[tag].parent;
    return (struct parts){
        .above = work->profile->tag[parent].path,
        .above_bytes = parent == PL_ROOT_TAG ? 0 : path_bytes[parent] + 1,
        .name = name->text,
        .name_bytes = name->bytes,
    };
}

static char byte_of(const struct parts *parts, size_t at)
{
    if (at >= parts->above_bytes)
        return parts->name[at - parts->above_bytes];
    return at + 1 == parts->above_bytes ? '/' : parts->above[at];
}

/* Appends bytes from .. to-1 of the whole. */
static char *copy_part(char *out, const struct parts *parts, size_t from, size_t to)
{
    if (from < to && from < parts->above_bytes) {
        size_t slash = parts->above_bytes - 1;
        out = mempcpy(out, parts->above + from, (to < slash ? to : slash) - from);
        if (to > slash)
            *out++ = '/';
        from = parts->above_bytes;
    }
    return from < to ? mempcpy(out, parts->name + (from - parts->above_bytes), to - from) : out;
}

static bool inside_character(const struct parts *parts, size_t at)
{
    return ((unsigned char) byte_of(parts, at) & 0xc0) == 0x80;
}

/* Does not cut inside a character. */
static const char *cut_path(struct pl_arena *arena, const struct parts *parts, size_t limit)
{
    size_t bytes = parts->above_bytes + parts->name_bytes;
    size_t head = limit / 2, tail = bytes - (limit - head - CUT_BYTES);
    for (int i = 0; i < 3 && inside_character(parts, head); i++)
        head--;
    for (int i = 0; i < 3 && inside_character(parts, tail); i++)
        tail++;
    char *path = pl_arena_alloc(arena, limit + 1);
    char *end = copy_part(path, parts, 0, head);
    copy_part(stpcpy(end, CUT), parts, tail, bytes);
    return path;
}

static const char *make_path(struct pl_arena *arena, const struct parts *parts, size_t limit)
{
    size_t bytes = parts->above_bytes + parts->name_bytes;
    if (bytes > limit)
        return cut_path(arena, parts, limit);
    if (parts->above_bytes == 0)
        return parts->name;
    char *path = pl_arena_alloc(arena, bytes + 1);
    copy_part(path, parts, 0, bytes);
    return path;
}

/* How long a path may be: less than PATH_BYTES_MAX only if all paths together would be too long. */
static size_t limit_paths(const struct work *work, size_t *path_bytes)
{
    uint64_t room = PATHS_BYTES + PATHS_BYTES_PER_FILE_BYTE * work->image->file_bytes, all = 0;
    for (uint32_t i = 1; i < work->profile->tags; i++) {
        struct parts parts = parts_of(work, path_bytes, i);
        size_t bytes = parts.above_bytes + parts.name_bytes;
        path_bytes[i] = bytes < PATH_BYTES_MAX ? bytes : PATH_BYTES_MAX;
        all += path_bytes[i];
    }
    size_t share = room / work->profile->tags;
    if (all <= room || share > PATH_BYTES_MAX)
        return PATH_BYTES_MAX;
    return share > PATH_BYTES_MIN ? share : PATH_BYTES_MIN;
}

static void fold_paths(struct work *work, struct pl_arena *scratch)
{
    struct pl_profile *profile = work->profile;
    size_t *path_bytes = pl_arena_alloc(scratch, profile->tags * sizeof *path_bytes);
    size_t limit = limit_paths(work, path_bytes);
    for (uint32_t i = 1; i < profile->tags; i++) {
        struct parts parts = parts_of(work, path_bytes, i);
        profile->tag[i].path = make_path(profile->arena, &parts, limit);
        path_bytes[i] = strlen(profile->tag[i].path);
    }
}

/* ---- all of it ---- */

struct pl_fold_tags pl_fold_tags(struct pl_profile *profile, struct pl_texts *texts, struct pl_arena *scratch)
{
    uint32_t records = pl_image_count(texts->image, PL_KIND_TAG), most = records + 1;
    struct work work = {
        .profile = profile,
        .image = texts->image,
        .texts = texts,
        .tag_of = pl_arena_alloc(scratch, most * sizeof(uint32_t)),
        .tags = pl_index_new(scratch, most),
        .name_of = pl_arena_alloc(scratch, most * sizeof(uint32_t)),
        .by_place = pl_index_new(scratch, most),
        .by_bytes = pl_index_new(scratch, most),
        .name = pl_arena_alloc(scratch, most * sizeof(struct name)),
        .joined_left = 2ull * pl_image_count(texts->image, PL_KIND_TEXT),
    };
    profile->tag = pl_arena_alloc(profile->arena, most * sizeof *profile->tag);
    profile->tag[PL_ROOT_TAG] = (struct pl_tag_view){.name = "", .path = ""};
    profile->tags = 1;
    for (uint32_t i = 1; i < records; i++)
        work.tag_of[i] = fold_record(&work, i);
    fold_paths(&work, scratch);
    return (struct pl_fold_tags){texts->image, work.tag_of};
}

uint32_t pl_fold_tag(const struct pl_fold_tags *tags, uint32_t record)
{
    if (record == PL_ROOT_TAG)
        return PL_ROOT_TAG;
    if (record < pl_image_count(tags->image, PL_KIND_TAG) && tags->of[record] != PL_NO_TAG)
        return tags->of[record];
    tags->image->damage++;
    return PL_ROOT_TAG;
}
