/* SPDX-License-Identifier: MIT */
/*
 * stub.c - libplimsoll-stub.so: defines every function of plimsoll.h; each does nothing.
 *
 * For programs that cannot leave the functions undefined: code compiled with -fno-pic, and linkers or languages without
 * weak symbols. If libplimsoll.so is preloaded, its functions take precedence. Each function returns what the macros of
 * plimsoll.h return without the profiler, so a program behaves the same with and without the stub.
 */
#define PLIMSOLL_IMPLEMENTATION
#include <plimsoll.h>

#define UNUSED __attribute__((unused))

/* clang-format off */
void plimsoll_push(UNUSED const char *name) {}
void plimsoll_pop(void) {}
plimsoll_tag plimsoll_prepare(UNUSED const char *name) { return NULL; }
void plimsoll_enter(UNUSED plimsoll_tag tag) {}
plimsoll_context plimsoll_capture(void) { return 0; }
plimsoll_context plimsoll_adopt(UNUSED plimsoll_context context) { return 0; }

plimsoll_heap plimsoll_heap_create(UNUSED const char *name, UNUSED plimsoll_heap above) { return NULL; }
void plimsoll_heap_clear(UNUSED plimsoll_heap heap) {}
void plimsoll_heap_destroy(UNUSED plimsoll_heap heap) {}
void plimsoll_heap_allocated(UNUSED plimsoll_heap heap, UNUSED void *block, UNUSED size_t bytes) {}
void plimsoll_heap_reallocated(UNUSED plimsoll_heap heap, UNUSED const void *old, UNUSED void *block,
                               UNUSED size_t bytes) {}
void plimsoll_heap_freed(UNUSED plimsoll_heap heap, UNUSED const void *block) {}
void plimsoll_heap_took(UNUSED plimsoll_heap heap, UNUSED void *chunk, UNUSED size_t bytes) {}
void plimsoll_heap_gave(UNUSED plimsoll_heap heap, UNUSED const void *chunk) {}

int plimsoll_loaded(void) { return 0; }
int plimsoll_active(void) { return 0; }
void plimsoll_start(void) {}
void plimsoll_stop(void) {}
void plimsoll_pause(void) {}
void plimsoll_resume(void) {}
void plimsoll_reset(void) {}
int plimsoll_sample(UNUSED uint64_t bytes) { return -ENOSYS; }
int plimsoll_sizes(UNUSED uint64_t from, UNUSED uint64_t to) { return -ENOSYS; }
int plimsoll_snapshot(UNUSED const char *name) { return -ENOSYS; }
int plimsoll_snapshot_if_due(void) { return 0; }
int plimsoll_write(UNUSED const char *path) { return -ENOSYS; }
void plimsoll_output(UNUSED int wanted) {}

int plimsoll_stats(UNUSED struct plimsoll_stats *out, UNUSED size_t bytes) { return -ENOSYS; }
int plimsoll_thread_stats(UNUSED struct plimsoll_stats *out, UNUSED size_t bytes) { return -ENOSYS; }
int plimsoll_tag_stats(UNUSED plimsoll_context tag, UNUSED struct plimsoll_stats *out, UNUSED size_t bytes)
{ return -ENOSYS; }
int plimsoll_pairs(UNUSED plimsoll_see *see, UNUSED void *context) { return -ENOSYS; }
/* clang-format on */
