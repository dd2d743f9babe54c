/* SPDX-License-Identifier: MIT */
/* tags.c - see tags.h. */
#include "core/records/tags.h"

#include "core/hash.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/text.h"

#define NAME_MOST 65536u  /* bytes of a name */
#define CUT_MARK_BYTES 20 /* "…#" and 16 digits */
#define ROOM_BYTES 65536u

struct node {
    const struct pl_tag_name *name;
    uint32_t parent;
    uint32_t kind; /* enum pl_tag_kind */
};

/* Memory for names, one after the other. When it is full, a new one is mapped. */
struct room {
    uint64_t used;
    uint64_t bytes;
    uint8_t at[];
};

/* Hash tables have at least twice as many slots as entries, so that searches are short. */
static struct tags {
    uint32_t most; /* of tags, and also of names: a name may be prepared and never entered */
    uint32_t count;
    uint32_t names;
    uint32_t mask;
    struct room *room;
    const struct pl_tag_name **name; /* by hash of the text */
    uint32_t *index;                 /* by hash of parent and name: a tag */
    uint32_t *record;                /* by tag: the number of its record in the file; fork wipes this table */
    struct node node[];
} * tags;

/* ---- the tables ---- */

static uint32_t slots_for(uint32_t entries)
{
    uint32_t slots = 64;
    while (slots < 2 * entries)
        slots *= 2;
    return slots;
}

static void *piece(uint8_t **at, size_t bytes)
{
    void *here = *at;
    *at += (bytes + 63) & ~(size_t) 63;
    return here;
}

static COLD struct tags *make(void)
{
    uint32_t most = pl_config.max_tags + PL_TAG_FIRST, slots = slots_for(most);
    size_t nodes = sizeof *tags + most * sizeof tags->node[0];
    size_t bytes = pl_memory_pages(nodes + slots * (sizeof *tags->name + sizeof *tags->index) + 3 * 64);
    size_t record_bytes = pl_memory_pages(most * sizeof *tags->record);
    uint8_t *at = pl_memory_kept(bytes);
    uint32_t *record = at ? pl_memory_new(record_bytes) : NULL;
    if (!record) {
        if (at)
            pl_memory_free(at, bytes);
        return NULL;
    }
    uint8_t *rest = at;
    struct tags *new = piece(&rest, nodes);
    new->most = most;
    new->count = PL_TAG_FIRST;
    new->mask = slots - 1;
    new->name = piece(&rest, slots * sizeof *new->name);
    new->index = piece(&rest, slots * sizeof *new->index);
    new->record = record;
    new->node[PL_TAG_AT_OFF].kind = PL_TAG_OFF;
    new->node[PL_TAG_AT_PAUSED].kind = PL_TAG_PAUSED;
    if (!swap_if(&tags, NULL, new)) {
        pl_memory_free(at, bytes);
        pl_memory_free(record, record_bytes);
    }
    return load_acquire(&tags);
}

INLINE struct tags *tables(void)
{
    struct tags *there = load_acquire(&tags);
    return likely(there != NULL) ? there : make();
}

void pl_tag_forget_all(void)
{
    tags = NULL;
}

/* ---- names ---- */

static struct room *new_room(struct tags *in, struct room *full, size_t need)
{
    size_t bytes = pl_memory_pages(sizeof *full + (need > ROOM_BYTES ? need : ROOM_BYTES));
    struct room *new = pl_memory_kept(bytes);
    if (!new)
        return NULL;
    new->bytes = bytes - sizeof *new;
    if (!swap_if(&in->room, full, new))
        pl_memory_free(new, bytes);
    return load_acquire(&in->room);
}

static void *reserve(struct tags *in, size_t bytes)
{
    size_t need = (bytes + 7) & ~(size_t) 7;
    struct room *room = load_acquire(&in->room);
    for (;;) {
        uint64_t at = room ? fetch_add(&room->used, need) : 0;
        if (room && at + need <= room->bytes)
            return room->at + at;
        room = new_room(in, room, need);
        if (!room)
            return NULL;
    }
}

/* A name that is too long is cut and ends in a hash of the whole text, so that two names with the same beginning stay
 * different. */
static void put_text(struct pl_tag_name *name, const char *text, bool cut)
{
    uint32_t kept = name->bytes;
    if (cut) {
        kept = NAME_MOST - CUT_MARK_BYTES;
        while (kept && ((uint8_t) text[kept] & 0xc0) == 0x80) /* do not cut inside a UTF-8 character */
            kept--;
        struct pl_text_line mark = pl_text_line_in(name->text + kept, CUT_MARK_BYTES + 1);
        pl_text_line_text(&mark, "\xe2\x80\xa6#");
        for (int shift = 60; shift >= 0; shift -= 4)
            pl_text_line_char(&mark, "0123456789abcdef"[name->hash >> shift & 15]);
        name->bytes = kept + (uint32_t) pl_text_bytes(name->text + kept);
    }
    pl_memory_copy(name->text, text, kept);
}

static struct pl_tag_name *new_name(struct tags *in, const char *text, uint64_t hash, size_t bytes)
{
    uint32_t kept = bytes > NAME_MOST ? NAME_MOST : (uint32_t) bytes;
    if (load_relaxed(&in->names) >= in->most)
        return NULL;
    struct pl_tag_name *name = reserve(in, sizeof *name + kept + 1);
    if (!name)
        return NULL;
    fetch_add(&in->names, 1);
    name->hash = hash;
    name->bytes = kept;
    put_text(name, text, bytes > NAME_MOST);
    return name;
}

/* Names that were cut are compared by the hash of the whole text only. */
static bool is_name(const struct pl_tag_name *name, const char *text, uint64_t hash, size_t bytes)
{
    return name->hash == hash && (bytes > NAME_MOST || (name->bytes == bytes && pl_text_same(name->text, text)));
}

const struct pl_tag_name *pl_tag_name_of(const struct pl_process *process, const char *text)
{
    struct tags *in = tables();
    struct pl_tag_name *mine = NULL;
    if (!in)
        return NULL;
    size_t bytes = pl_text_bytes(text);
    uint64_t hash = pl_hash_bytes(PL_FNV_START, text, bytes) ^ bytes;
    uint32_t at = (uint32_t) (pl_hash(hash, bytes)) & in->mask, first = at;
    do {
        const struct pl_tag_name *there = load_acquire(&in->name[at]);
        if (!there && !mine && !(mine = new_name(in, text, hash, bytes)))
            return NULL;
        if (!there && swap_if(&in->name[at], NULL, mine)) {
            if (bytes > NAME_MOST)
                pl_file_lost(&process->file, PL_LOSS_TAG_NAMES);
            return mine;
        }
        there = load_acquire(&in->name[at]);
        if (is_name(there, text, hash, bytes))
            return there;
        at = (at + 1) & in->mask;
    } while (at != first);
    return NULL;
}

/* ---- tags ---- */

/* If another thread makes the same tag at the same time and is faster, this number is never used. */
static uint32_t new_tag(struct tags *in, uint32_t parent, const struct pl_tag_name *name)
{
    uint32_t tag = fetch_add(&in->count, 1);
    if (tag >= in->most) {
        fetch_add(&in->count, -1);
        return 0;
    }
    in->node[tag].name = name;
    in->node[tag].parent = parent;
    return tag;
}

uint32_t pl_tag_below(uint32_t parent, const struct pl_tag_name *name)
{
    struct tags *in = load_acquire(&tags); /* not NULL, because there is a name */
    uint32_t mine = 0, at = (uint32_t) pl_hash((uintptr_t) name, parent) & in->mask, first = at;
    do {
        uint32_t there = load_acquire(&in->index[at]);
        if (!there && !mine && !(mine = new_tag(in, parent, name)))
            return 0;
        if (!there && swap_if(&in->index[at], 0, mine))
            return mine;
        there = load_acquire(&in->index[at]);
        if (in->node[there].name == name && in->node[there].parent == parent)
            return there;
        at = (at + 1) & in->mask;
    } while (at != first);
    return 0;
}

bool pl_tag_exists(uint32_t tag)
{
    const struct tags *in = load_acquire(&tags);
    return tag == PL_TAG_AT_ROOT || (in && tag >= PL_TAG_FIRST && tag < in->most && in->node[tag].name);
}

uint32_t pl_tag_parent(uint32_t tag)
{
    return tags->node[tag].parent;
}

uint32_t pl_tag_count(void)
{
    const struct tags *in = load_acquire(&tags);
    return in ? load_relaxed(&in->count) - PL_TAG_FIRST : 0;
}

/* ---- records ---- */

/* Writes the piece of a name that begins at `from`; {0, 0} also if there is no room. */
static COLD struct pl_text write_text(struct pl_file *file, const struct pl_tag_name *name, uint32_t from)
{
    uint32_t bytes = name ? name->bytes - from : 0;
    if (!bytes)
        return (struct pl_text){0, 0};
    return pl_file_text(file, name->text + from, bytes < PL_TAG_PIECE ? bytes : PL_TAG_PIECE);
}

/* 0: no room. A function of its own, like write_text(): the frame below is small while the file grows. */
static COLD uint32_t write_record(struct pl_file *file, uint32_t parent, uint32_t kind, uint32_t rest,
                                  struct pl_text text)
{
    void *at;
    uint32_t number = pl_file_append(file, PL_KIND_TAG, &at);
    if (!number)
        return 0;
    struct pl_tag_record *record = at;
    record->parent = parent;
    record->kind = kind;
    record->rest = rest;
    record->name = text;
    store_release(&record->valid, 1); /* publish */
    return number;
}

/* Writes the pieces of the name from the last to the first, because each record refers to the next piece. */
static uint32_t write_tag(struct pl_file *file, const struct node *node, uint32_t parent)
{
    uint32_t bytes = node->name ? node->name->bytes : 0, number = 0;
    uint32_t from = bytes ? (bytes - 1) / PL_TAG_PIECE * PL_TAG_PIECE : 0;
    for (;; from -= PL_TAG_PIECE) {
        struct pl_text text = write_text(file, node->name, from);
        if (bytes && !text.bytes)
            return 0;
        number = write_record(file, from ? 0 : parent, from ? PL_TAG_REST : node->kind, number, text);
        if (!number || !from)
            return number;
    }
}

/* In a new file the parents of a tag may have no records yet: they are written first. */
uint32_t pl_tag_record(struct pl_process *process, uint32_t tag)
{
    struct tags *in = tag ? tables() : NULL;
    if (!in)
        return 0;
    while (!load_acquire(&in->record[tag])) {
        uint32_t top = tag;
        while (in->node[top].parent && !load_acquire(&in->record[in->node[top].parent]))
            top = in->node[top].parent;
        uint32_t number = write_tag(&process->file, &in->node[top], in->record[in->node[top].parent]);
        if (!number)
            return 0;
        swap_if(&in->record[top], 0, number);
    }
    return in->record[tag];
}
