/* SPDX-License-Identifier: MIT */
/* arch.h - includes the port to the processor that we are compiled for. */
#ifndef PL_ARCH_H
#define PL_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#include "core/arch/x86_64.h"
#else
#error "Plimsoll's runtime has no port to this processor yet: write src/core/arch/<processor>.h"
#endif

#endif
