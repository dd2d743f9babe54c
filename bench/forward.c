/* SPDX-License-Identifier: MIT */
/*
 * forward.c - the least that a preloaded allocation hook can do: jump to the next definition.
 *
 * This is the cost of being preloaded at all. What Plimsoll costs in addition is its own. Each pointer first points to
 * a function that finds the real one, so the hooks contain no test.
 */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* result, name, parameters, arguments */
#define HOOKS(X)                                                                                                       \
    X(void *, malloc, (size_t bytes), (bytes))                                                                         \
    X(void *, calloc, (size_t count, size_t bytes), (count, bytes))                                                    \
    X(void *, realloc, (void *block, size_t bytes), (block, bytes))                                                    \
    X(void *, memalign, (size_t alignment, size_t bytes), (alignment, bytes))                                          \
    X(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))                                     \
    X(int, posix_memalign, (void **block, size_t alignment, size_t bytes), (block, alignment, bytes))                  \
    X(void *, valloc, (size_t bytes), (bytes))                                                                         \
    X(void *, pvalloc, (size_t bytes), (bytes))                                                                        \
    X(void *, reallocarray, (void *block, size_t count, size_t bytes), (block, count, bytes))                          \
    X(void, free, (void *block), (block))

#define POINTER(result, name, parameters, arguments)                                                                   \
    static result first_##name parameters;                                                                             \
    static result(*next_##name) parameters = first_##name;                                                             \
    EXPORT result name parameters;                                                                                     \
    EXPORT result name parameters                                                                                      \
    {                                                                                                                  \
        return next_##name arguments;                                                                                  \
    }
HOOKS(POINTER)

#define FIND(result, name, parameters, arguments) next_##name = (result(*) parameters) dlsym(RTLD_NEXT, #name);
static void find_all(void){HOOKS(FIND)}

#define FIRST(result, name, parameters, arguments)                                                                     \
    static result first_##name parameters                                                                              \
    {                                                                                                                  \
        find_all();                                                                                                    \
        return next_##name arguments;                                                                                  \
    }
HOOKS(FIRST)
