/* SPDX-License-Identifier: MIT */
/* apart.h - APART: a function that keeps its own frame and name, however it is optimized. */
#ifndef LIB_APART_H
#define LIB_APART_H

#if __has_attribute(noclone)
#define APART __attribute__((noinline, noclone))
#else
#define APART __attribute__((noinline)) /* clang makes no clones */
#endif

#endif
