/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: what the program maps and unmaps.

   These are the functions that programs call.  glibc itself calls others
   (__mmap, __munmap and so on), so that what malloc, the loader and
   pthread_create map does not come here.  */

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "malloc/plimsoll/core/mapping_calls.h"
#include "malloc_prof.h"

/* malloc has no mappings of its own by these names.  */
static enum __pl_heap_kind
heap_of (uintptr_t caller)
{
  __malloc_prof_notice_unloads ();
  return PL_HEAP_MAPPINGS;
}

static const struct __pl_mapping_calls real =
  {
    .mmap = __mmap,
    .munmap = __munmap,
    .mremap = __mremap,
    .brk = __brk,
    .sbrk = __sbrk,
    .shmat = __malloc_prof_shmat,
    .shmdt = __malloc_prof_shmdt,
    .heap = heap_of,
  };

/* Called by the program alone, so that the return address is its.  */
#define ENTRY PL_ARCH_ENTRY __attribute_noinline__ __attribute__ ((noclone))

ENTRY void *
__malloc_prof_mmap (void *at, size_t bytes, int protection, int flags, int fd,
		    off_t offset)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  return __pl_mapping_map (&real, at, bytes, protection, flags, fd, offset,
			   &start);
}
weak_alias (__malloc_prof_mmap, mmap)
weak_alias (__malloc_prof_mmap, mmap64)
_Static_assert (sizeof (off_t) == sizeof (off64_t), "both are one function");

ENTRY int
__malloc_prof_munmap (void *at, size_t bytes)
{
  return __pl_mapping_unmap (&real, at, bytes);
}
weak_alias (__malloc_prof_munmap, munmap)

ENTRY void *
__malloc_prof_mremap (void *at, size_t bytes, size_t new_bytes, int flags, ...)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  void *new_at = NULL;
  if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
    {
      va_list rest;
      va_start (rest, flags);
      new_at = va_arg (rest, void *);
      va_end (rest);
    }
  return __pl_mapping_remap (&real, at, bytes, new_bytes, flags, new_at,
			     &start);
}
weak_alias (__malloc_prof_mremap, mremap)

ENTRY int
__malloc_prof_brk (void *end)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  return __pl_mapping_set_break (&real, end, &start);
}
weak_alias (__malloc_prof_brk, brk)

ENTRY void *
__malloc_prof_sbrk (intptr_t bytes)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  return __pl_mapping_move_break (&real, bytes, &start);
}
weak_alias (__malloc_prof_sbrk, sbrk)

ENTRY void *
__malloc_prof_attach (int id, const void *at, int flags)
{
  struct __pl_start start;
  PL_START_HERE (&start);
  return __pl_mapping_attach (&real, id, at, flags, &start);
}
weak_alias (__malloc_prof_attach, shmat)

ENTRY int
__malloc_prof_detach (const void *at)
{
  return __pl_mapping_detach (&real, at);
}
weak_alias (__malloc_prof_detach, shmdt)
