/* SPDX-License-Identifier: MIT */
/*
 * bump.c - an allocator for tests, used as the real allocator: it returns ascending addresses at a known place, and is
 * safe in signal handlers, which glibc's is not.
 *
 * At this place the 32 low bits of the first addresses are nearly zero, like those of NULL.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PLACE 0x200000000000ul
#define PLACE_BYTES (16ul << 30)
#define HEAD 16ul /* the size of a block, stored before it */

static uintptr_t next;

static void *place(size_t alignment, size_t bytes)
{
    if (!__atomic_load_n(&next, __ATOMIC_RELAXED)) {
        uintptr_t none = 0;
        void *at = mmap((void *) PLACE, PLACE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == (void *) PLACE)
            __atomic_compare_exchange_n(&next, &none, PLACE, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    bytes = (bytes + 15) & ~15ul;
    uintptr_t start = __atomic_fetch_add(&next, bytes + HEAD + alignment, __ATOMIC_RELAXED);
    if (start < PLACE || start + bytes + HEAD + alignment > PLACE + PLACE_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    return (void *) ((start + HEAD + alignment - 1) & ~(alignment - 1));
}

static void *allocate(size_t alignment, size_t bytes)
{
    void *block = place(alignment, bytes);
    if (block)
        ((size_t *) block)[-1] = bytes;
    return block;
}

void *malloc(size_t bytes)
{
    return allocate(16, bytes);
}

void free(void *block)
{
    (void) block;
}

void *calloc(size_t count, size_t bytes)
{
    return allocate(16, count * bytes); /* memory is not reused, so it is zero */
}

void *realloc(void *block, size_t bytes)
{
    void *moved = allocate(16, bytes);
    size_t old = block ? ((size_t *) block)[-1] : 0;
    if (moved && block)
        memcpy(moved, block, old < bytes ? old : bytes);
    return moved;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return allocate(alignment < 16 ? 16 : alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *block = aligned_alloc(alignment, bytes);
    if (block)
        *out = block;
    return block ? 0 : ENOMEM;
}
