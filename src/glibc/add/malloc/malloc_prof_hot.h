/* SPDX-License-Identifier: MIT */
/* The heap profiler inside malloc: its hot path.  Part of malloc.c.

   Every allocation is counted, and its charge subtracted from the thread's
   countdown: four instructions on x86_64, no atomics, no branch taken.  Every
   free tests one more bit of a word that it tests anyway.  Both cost the same
   whether the profiler is on or off.  */

#ifndef _MALLOC_PROF_HOT_H
#define _MALLOC_PROF_HOT_H 1

#include "malloc_prof.h"

/* The profiler's thread-local struct also has the pointer to the tcache, so
   that one load of a thread-local offset serves both.  */
#define __pl_front_tls tcache_perthread_struct
#include "malloc/plimsoll/core/threads.h"
#include "malloc/plimsoll/format/settings.h"

/* Counts a call that requests BYTES bytes.  True: the countdown has run out,
   and the call must take the cold path.  The countdown is unsigned and runs
   out by borrowing, so no size is too large.  It is zero in a new thread.  */
static __always_inline bool
malloc_prof_charge (enum __pl_function function, size_t bytes)
{
  return __glibc_unlikely (
    __pl_arch_charge_alone (&__pl_tls.charge_left, &__pl_tls.calls[function],
			    bytes + PL_CALL_CHARGE));
}

#endif /* malloc_prof_hot.h */
