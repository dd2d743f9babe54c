/* SPDX-License-Identifier: MIT */
/*
 * symcache.h - names that earlier commands found, kept on disk.
 *
 * An entry has the answers for one binary: the places at each address that was looked up. It is used only for the same
 * question: the same build of Plimsoll, the same binary and the same debug file. Both files are looked for every time,
 * so debug information that is installed later is found. Damaged entries, and directories that another user could
 * write to, are treated as if there were none.
 */
#ifndef PL_SYMCACHE_H
#define PL_SYMCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/base/arena.h"
#include "reader/profile.h"

#define PL_SYMCACHE_BYTES_MAX (64ull << 20) /* of all entries together */
#define PL_SYMCACHE_DIRECTORY "symbols"     /* below the user's directory */

struct pl_symcache;
/* `home` must exist and be ours. `bytes_max` 0: PL_SYMCACHE_BYTES_MAX. NULL: without a cache. */
struct pl_symcache *pl_symcache_open(const char *home, uint64_t bytes_max);
/* Removes the entries that were not used for the longest time, if there are too many bytes. NULL is fine. */
void pl_symcache_close(struct pl_symcache *cache);

/* The answers for a binary. `identity` says which one it is, and begins with a build-id in hex; texts go to the arena.
 */
struct pl_symcache_entry;
struct pl_symcache_entry *pl_symcache_read(struct pl_symcache *cache, const char *identity, struct pl_arena *arena);
/* False: not known. Otherwise sets *places, which may be 0: there is nothing at the address. */
bool pl_symcache_find(const struct pl_symcache_entry *entry, uint64_t address, struct pl_place *out, uint32_t max,
                      uint32_t *places);
bool pl_symcache_knows_dwarf(const struct pl_symcache_entry *entry, bool *has_dwarf);

/* Remembers an answer. Its texts must live until the entry is written. */
void pl_symcache_add(struct pl_symcache_entry *entry, uint64_t address, const struct pl_place *place, uint32_t places);
void pl_symcache_set_dwarf(struct pl_symcache_entry *entry, bool has_dwarf);

/* Writes the entry if there is anything new. */
void pl_symcache_write(struct pl_symcache *cache, struct pl_symcache_entry *entry);
void pl_symcache_forget(struct pl_symcache_entry *entry); /* after it was written, or not */

#endif
