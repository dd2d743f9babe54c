/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: the cold path of allocations that may be
   recorded, and of frees of recorded blocks.  Part of malloc.c.

   The order is that of core/visit.h.

   A block that the profiler has recorded has MALLOC_PROF_KNOWN set in its
   size, exactly while the program uses it: never in a free chunk, nor in
   one in tcache or fastbins.  */

#include "malloc/plimsoll/core/process.h"
#include "malloc/plimsoll/core/visit.h"
#include "malloc_prof.h"

/* Reached by a tail jump from the public function, so that the return
   address is the program's.  */
#define malloc_prof_cold \
  PL_ARCH_ENTRY __attribute_noinline__ __attribute__ ((cold, noclone))

_Static_assert (MINSIZE >= 32, "granule_shift in malloc_prof.c relies on it");

/* Sets or clears the mark of a block.  Takes the arena's lock, because
   freeing or splitting a neighbour modifies PREV_INUSE in the same word,
   with that lock held and without atomics.  */
static malloc_prof_cold void
malloc_prof_mark (mchunkptr p, bool known)
{
  mstate av = (chunk_is_mmapped (p) || SINGLE_THREAD_P
	       ? NULL : arena_for_chunk (p));
  if (av != NULL)
    __libc_lock_lock (av->mutex);
  INTERNAL_SIZE_T head = chunksize_nomask (p);
  set_head (p, known ? head | MALLOC_PROF_KNOWN : head & ~MALLOC_PROF_KNOWN);
  if (av != NULL)
    __libc_lock_unlock (av->mutex);
}

/* Clears the mark of a block.  True: the profiler may have a record of it.
   If the profiler was never on, a mark means that the heap is corrupt.  The
   exception is a second copy of libc, in a namespace of its own (dlmopen):
   it may get a block of the first one, and has no records.  */
static __always_inline bool
malloc_prof_unmark (mchunkptr p, const char *corrupt)
{
  bool recording = __pl_config.ready;
#ifdef SHARED
  bool strange = !recording && __libc_initial;
#else
  bool strange = !recording;
#endif
  if (__glibc_unlikely (strange))
    malloc_printerr (corrupt);
  malloc_prof_mark (p, false);
  return recording;
}

/* The second half of a visit.  PLAN is the result of the first half.  */
static __always_inline void *
malloc_prof_allocated (enum __pl_function function, size_t bytes, void *mem,
		       struct __pl_cold_plan plan,
		       const struct __pl_start *start)
{
  if (plan.how != PL_COLD_SKIPPED)
    __malloc_prof_notice_unloads ();
  __pl_visit_allocated (function, bytes, mem, plan, start);
  if (plan.how != PL_COLD_SKIPPED && mem != NULL)
    malloc_prof_mark (mem2chunk (mem), true);
  return mem;
}

static malloc_prof_cold void *
malloc_prof_malloc (size_t bytes)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  struct __pl_cold_plan plan = __pl_visit_due (PL_FN_MALLOC, bytes);
  void *mem = uncounted_malloc (bytes);
  return malloc_prof_allocated (PL_FN_MALLOC, bytes, mem, plan, &start);
}

static malloc_prof_cold void *
malloc_prof_calloc (size_t n, size_t elem_size)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  size_t bytes = n * elem_size;
  struct __pl_cold_plan plan = __pl_visit_due (PL_FN_CALLOC, bytes);
  void *mem = inline_calloc (n, elem_size);
  return malloc_prof_allocated (PL_FN_CALLOC, bytes, mem, plan, &start);
}

static malloc_prof_cold void *
malloc_prof_memalign (size_t alignment, size_t bytes, void *address)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  struct __pl_cold_plan plan = __pl_visit_due (PL_FN_ALIGNED, bytes);
  void *mem = uncounted_memalign (alignment, bytes, address);
  return malloc_prof_allocated (PL_FN_ALIGNED, bytes, mem, plan, &start);
}

static malloc_prof_cold int
malloc_prof_posix_memalign (void **memptr, size_t alignment, size_t size)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  struct __pl_cold_plan plan = __pl_visit_due (PL_FN_ALIGNED, size);
  void *mem = NULL;
  int error = inline_posix_memalign (&mem, alignment, size);
  malloc_prof_allocated (PL_FN_ALIGNED, size, mem, plan, &start);
  if (error == 0)
    *memptr = mem;
  return error;
}

/* Calls the real realloc, and books what becomes of the old block, whose size
   goes to *BEFORE.  A function of its own, so that the records of the old
   block are not on the stack while the new block is recorded.  */
static malloc_prof_cold void *
malloc_prof_move (void *oldmem, size_t bytes, size_t *before)
{
  struct __pl_cold_known known;
  bool taken = false;
  if (oldmem != NULL)
    {
      mchunkptr oldp = mem2chunk (oldmem);
      if (chunksize_nomask (oldp) & MALLOC_PROF_KNOWN)
	{
	  if (__glibc_unlikely (misaligned_chunk (oldp)))
	    malloc_printerr ("realloc(): invalid pointer");
	  taken = (malloc_prof_unmark (oldp, "realloc(): invalid pointer")
		   && __pl_cold_take (oldmem, &known));
	}
      *before = taken ? __pl_cold_known_size (&known) : memsize (oldp);
    }
  void *mem = uncounted_realloc (oldmem, bytes);
  bool failed = __pl_visit_realloc_failed (mem, bytes);
  if (taken)
    __pl_visit_realloc_old (oldmem, &known, failed);
  if (taken && failed)
    malloc_prof_mark (mem2chunk (oldmem), true);
  return mem;
}

/* The block OLDMEM may be recorded.  DUE: the countdown has run out.  */
static malloc_prof_cold void *
malloc_prof_realloc (void *oldmem, size_t bytes, bool due)
{
  size_t before = 0;
  struct __pl_cold_plan plan = { PL_COLD_SKIPPED, 0 };
  if (due)
    plan = __pl_visit_due (PL_FN_REALLOC, bytes);
  void *mem = malloc_prof_move (oldmem, bytes, &before);
  if (plan.how != PL_COLD_SKIPPED)
    __malloc_prof_notice_unloads ();
  struct __pl_start start;
  PL_START_HERE (&start);
  __pl_visit_realloc_new (oldmem, before, mem, bytes, due, plan, &start);
  if (plan.how != PL_COLD_SKIPPED && mem != NULL)
    malloc_prof_mark (mem2chunk (mem), true);
  return mem;
}

/* Frees a marked block.  There may be no record of it: a forked child has
   its parent's blocks, but not its parent's records.  */
static malloc_prof_cold void
malloc_prof_free (void *mem)
{
  mchunkptr p = mem2chunk (mem);
  if (__glibc_unlikely (misaligned_chunk (p)))
    malloc_printerr ("free(): invalid pointer");
  if (malloc_prof_unmark (p, "free(): invalid size"))
    __pl_visit_freeing (mem);
  __libc_free (mem);
}
