/* SPDX-License-Identifier: MIT */
/* arch.h - includes the port to the processor that we are compiled for. */
#ifndef PL_ARCH_H
#define PL_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#include "core/arch/x86_64.h"
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#include "core/arch/aarch64.h"
#else
#error "Plimsoll's runtime has no port to this processor yet: write src/core/arch/<processor>.h"
#endif

/* Where the calling convention leaves no doubt about the stack, a port need not define it. */
#ifndef PL_ARCH_ENTRY
#define PL_ARCH_ENTRY
#endif

/* Memory that shares no page with anything else, on any kernel. */
#define PAGE_ALIGNED __attribute__((aligned(PL_ARCH_PAGE_MOST)))

#endif
