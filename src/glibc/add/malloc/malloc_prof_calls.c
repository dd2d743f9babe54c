/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: the long way of calls that are sampled,
   and of blocks that were.  Part of malloc.c.

   The order is the same everywhere.  An allocation is recorded after it is
   made and before its address escapes.  A record is removed before the block
   is freed, since another thread may be given the address at once, and put
   back if the call turns out to have failed.

   A block that the profiler knows has MALLOC_PROF_KNOWN set in its size,
   exactly while it is in use by the program: never in a free chunk, nor in
   one that waits in tcache or fastbins.  */

#include "malloc_prof.h"
#include "plimsoll/process.h"
#include "plimsoll/visit.h"

/* Reached by a jump from the function that was called, so that the return
   address is the program's.  */
#define malloc_prof_cold \
  __attribute_noinline__ __attribute__ ((cold, noclone))

_Static_assert (MINSIZE >= 32, "granule_shift in malloc_prof.c says so");

/* The freeing or splitting of a neighbour does a plain read-modify-write of
   PREV_INUSE in the same word, with the arena's lock held.  */
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

/* Takes the mark of a block away.  True: the profiler may have a record of
   it.  Where it was never on, the mark is a sign of a corrupt heap; but the
   copy of libc in a namespace of its own (dlmopen) may be given a block of
   the first one's, and has no records.  */
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

/* The second half of a visit.  WEIGHT is what the first half returned.  */
static __always_inline void *
malloc_prof_allocated (enum __pl_function function, size_t bytes, void *mem,
		       double weight, const struct __pl_start *start)
{
  if (weight != 0)
    __malloc_prof_notice_unloads ();
  __pl_visit_allocated (function, bytes, mem, weight, start);
  if (weight != 0 && mem != NULL)
    malloc_prof_mark (mem2chunk (mem), true);
  return mem;
}

static malloc_prof_cold void *
malloc_prof_malloc (size_t bytes)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  double weight = __pl_visit_due (PL_FN_MALLOC, bytes);
  void *mem = uncounted_malloc (bytes);
  return malloc_prof_allocated (PL_FN_MALLOC, bytes, mem, weight, &start);
}

static malloc_prof_cold void *
malloc_prof_calloc (size_t n, size_t elem_size)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  size_t bytes = n * elem_size;
  double weight = __pl_visit_due (PL_FN_CALLOC, bytes);
  void *mem = inline_calloc (n, elem_size);
  return malloc_prof_allocated (PL_FN_CALLOC, bytes, mem, weight, &start);
}

static malloc_prof_cold void *
malloc_prof_memalign (size_t alignment, size_t bytes, void *address)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  double weight = __pl_visit_due (PL_FN_ALIGNED, bytes);
  void *mem = uncounted_memalign (alignment, bytes, address);
  return malloc_prof_allocated (PL_FN_ALIGNED, bytes, mem, weight, &start);
}

static malloc_prof_cold int
malloc_prof_posix_memalign (void **memptr, size_t alignment, size_t size)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  double weight = __pl_visit_due (PL_FN_ALIGNED, size);
  void *mem = NULL;
  int error = inline_posix_memalign (&mem, alignment, size);
  malloc_prof_allocated (PL_FN_ALIGNED, size, mem, weight, &start);
  if (error == 0)
    *memptr = mem;
  return error;
}

/* What the program had asked for, where that is known; otherwise what it
   got.  */
static size_t
malloc_prof_size (mchunkptr p, const struct __pl_known *known)
{
  size_t size;
  return __pl_known_size (known, &size) ? size : memsize (p);
}

/* The block OLDMEM may be known.  DUE: the countdown has run out.  Freeing by
   realloc (p, 0) is no failure, and no allocation either.  */
static malloc_prof_cold void *
malloc_prof_realloc (void *oldmem, size_t bytes, bool due)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  struct __pl_known known = { 0 };
  size_t before = 0;
  bool taken = false;
  double weight = due ? __pl_visit_due (PL_FN_REALLOC, bytes) : 0;
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
      before = malloc_prof_size (oldp, &known);
    }
  void *mem = uncounted_realloc (oldmem, bytes);
  if (taken && (mem != NULL || bytes == 0))
    __pl_cold_freed (NULL, &known);
  else if (taken)
    {
      __pl_cold_restore (oldmem, &known);
      malloc_prof_mark (mem2chunk (oldmem), true);
    }
  if (due)
    malloc_prof_allocated (PL_FN_REALLOC, bytes, mem, weight, &start);
  else if (mem == NULL)
    __pl_cold_uncount (PL_FN_REALLOC, bytes);
  if (mem != NULL && oldmem != NULL && weight != 0)
    __pl_cold_moved (mem, before, mem != oldmem);
  return mem;
}

/* A block that is marked is freed.  It may be unknown all the same: a child
   has its parent's blocks, and not its parent's records.  */
static malloc_prof_cold void
malloc_prof_free (void *mem)
{
  struct __pl_known known;
  mchunkptr p = mem2chunk (mem);
  if (__glibc_unlikely (misaligned_chunk (p)))
    malloc_printerr ("free(): invalid pointer");
  if (malloc_prof_unmark (p, "free(): invalid size")
      && !__pl_exact_free (mem) && __pl_cold_take (mem, &known))
    __pl_cold_freed (mem, &known);
  __libc_free (mem);
}
