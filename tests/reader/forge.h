/* SPDX-License-Identifier: MIT */
/*
 * forge.h - makes profile files without a profiled process: correct ones and damaged ones.
 *
 * The image is one piece of memory as large as a file may be, so records never move, and a test may change any byte
 * before it is read. It is written from format.h alone, without the runtime's code. If the two disagree, a test fails.
 */
#ifndef PL_FORGE_H
#define PL_FORGE_H

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct forge;

/* An image with a header and no records but the unknown module and the overflow site. */
struct forge *forge_new(void);
void forge_free(struct forge *forge);

struct pl_header *forge_header(struct forge *forge);
unsigned char *forge_image(struct forge *forge);
size_t forge_bytes(const struct forge *forge);
int forge_write(const struct forge *forge, const char *path);

/* Each adds a record and returns its number. */
uint32_t forge_module(struct forge *forge, const char *path, uint8_t build_id);
uint32_t forge_frame(struct forge *forge, uint32_t parent, uint32_t module, uint64_t where);
uint32_t forge_thread(struct forge *forge, const char *name, uint64_t calls, uint64_t bytes);
uint32_t forge_site(struct forge *forge, uint32_t stack);
uint32_t forge_row(struct forge *forge, uint32_t site, uint32_t thread);
uint32_t forge_symbol(struct forge *forge, uint32_t frame, const char *function, const char *file, uint32_t line);

/* A stack of functions, outermost first, NULL after the last. All are in one file, ten lines apart. Returns the
 * innermost frame. */
uint32_t forge_stack(struct forge *forge, uint32_t module, const char *file, const char *const *function);

struct pl_text forge_text(struct forge *forge, const char *text, size_t bytes);

/* Adds a chunk of a kind; returns a record of any kind; adds records of a kind. */
void *forge_record(struct forge *forge, enum pl_kind kind, uint32_t number);
uint32_t forge_append(struct forge *forge, enum pl_kind kind, uint32_t records);

struct pl_row *forge_row_at(struct forge *forge, uint32_t row);
uint32_t forge_tally(struct forge *forge, uint32_t site, uint32_t thread);
struct pl_tally *forge_tally_at(struct forge *forge, uint32_t tally);
struct pl_remote *forge_remote(struct forge *forge, uint32_t tally);
uint32_t forge_small(struct forge *forge, uint32_t site, uint32_t thread);
struct pl_small *forge_small_at(struct forge *forge, uint32_t small);
struct pl_moment *forge_moment(struct forge *forge, uint64_t time_ns);
struct pl_composition_record *forge_composition(struct forge *forge, uint64_t time_ns);

/* A tag; a name longer than one piece continues in further records. A scope of a thread, with `calls` to malloc. */
uint32_t forge_tag(struct forge *forge, uint32_t parent, const char *name);
uint32_t forge_tag_of_kind(struct forge *forge, enum pl_tag_kind kind);
struct pl_tag_record *forge_tag_at(struct forge *forge, uint32_t tag);
struct pl_scope_record *forge_scope(struct forge *forge, uint32_t thread, uint32_t tag, uint64_t calls, uint64_t bytes);
struct pl_thread_record *forge_thread_at(struct forge *forge, uint32_t thread);

/* The site of a stack under a tag; the site of all stacks under a tag, for sizes that are not recorded by stack. */
uint32_t forge_tagged_site(struct forge *forge, uint32_t stack, uint32_t tag);
uint32_t forge_other_sizes(struct forge *forge, uint32_t tag);

/* Makes the profile a snapshot taken this long after the start; resets its figures (once more). */
void forge_make_snapshot(struct forge *forge, const char *name, uint64_t after_ns);
void forge_reset(struct forge *forge, uint64_t after_ns);

/* Counts `calls` blocks of `size` bytes in a tally. */
void forge_count(struct pl_tally *tally, uint64_t calls, uint32_t size);

/* Counts a block of `size` bytes, allocated in the first cohort, in a small record; frees one after `units`. There must
 * be room for it. */
void forge_count_small(struct pl_small *small, uint16_t size);
void forge_free_small(struct pl_small *small, uint16_t size, uint64_t units);

/* A tally of this many calls, half of them freed at once. Thread and scope count them, too. Returns its number. */
uint32_t forge_churn(struct forge *forge, uint32_t site, uint32_t thread, uint32_t tag, uint64_t calls, uint32_t size);

/* The same for a stack in which everything has one name: a function called by `caller`, its file, tag and thread. A
 * function of another name is inlined into it. `number` makes it different from others. */
uint32_t forge_namesake(struct forge *forge, uint32_t caller, uint32_t module, const char *name, const char *other,
                        uint32_t number, uint64_t calls, uint32_t size);

/* Frees all but these of the blocks that the tally counts. */
void forge_keep(struct pl_tally *tally, uint64_t calls, uint64_t bytes);

/* Adds an entry to a heap composition, and to its totals. */
void forge_holds(struct pl_composition_record *composition, uint32_t who, uint32_t objects, uint64_t bytes);

/* Adds `samples` samples of `size` bytes and weight `weight` to the sums, as the runtime does. */
void forge_sample(struct pl_sums *sums, double size, double weight, uint64_t samples);

/* Scenarios by name; NULL ends the table. */
struct forge_scenario {
    const char *name;
    const char *help;
    void (*build)(struct forge *forge);
};
extern const struct forge_scenario forge_scenario[];
const struct forge_scenario *forge_find(const char *name);

#endif
