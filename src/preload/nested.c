/* SPDX-License-Identifier: MIT */
/* nested.c - calls within calls: of a C library whose functions call one another through our hooks, and our own. */
#include <errno.h>

#include "core/threads.h"
#include "preload/front.h"
#include "preload/libc.h"
#include "preload/next.h"

/* ---- the C library's ---- */

/*
 * musl's calloc() calls malloc(), and its other functions call aligned_alloc(), by their public names: each block would
 * be counted twice. So we do what these functions do, one level below. They are the same for any allocator: musl has
 * them so that a program may bring its own malloc.
 */
static void clear(void *block, size_t bytes)
{
    uint64_t *word = block, *end = word + bytes / sizeof *word;
    const size_t page = 4096 / sizeof *word;
    while (word < end) {
        uint64_t *stop = (size_t) (end - word) < page ? end : word + page, used = 0;
        for (const uint64_t *each = word; each < stop; each++)
            used |= *each;
        for (; word < stop; word++) /* an untouched page stays untouched, and takes no memory */
            if (used)
                *word = 0;
    }
    for (uint8_t *byte = (uint8_t *) end; byte < (uint8_t *) block + bytes; byte++)
        *byte = 0;
}

static void *nested_calloc(size_t n, size_t m)
{
    size_t bytes;
    void *block = NULL;
    if (__builtin_mul_overflow(n, m, &bytes))
        errno = ENOMEM;
    else if ((block = pl_next.malloc(bytes)))
        clear(block, bytes);
    return block;
}

static int nested_posix_memalign(void **out, size_t alignment, size_t n)
{
    if (alignment < sizeof(void *))
        return EINVAL;
    void *block = pl_next.aligned_alloc(alignment, n);
    if (!block)
        return errno;
    *out = block;
    return 0;
}

static void *nested_valloc(size_t n)
{
    return pl_next.aligned_alloc(pl_front_page_bytes(), n);
}

void pl_next_unnest(void)
{
    if (!pl_libc()->nests || !pl_libc_has((uintptr_t) pl_next.malloc))
        return;
    pl_next.calloc = nested_calloc;
    pl_next.posix_memalign = nested_posix_memalign;
    pl_next.memalign = pl_next.aligned_alloc;
    pl_next.valloc = nested_valloc;
}

/* ---- ours ---- */

void pl_next_hide(struct pl_tls *before)
{
    *before = pl_tls;
    pl_tls.charge_left = 1ull << 62; /* will not run out, and does not look as if it had */
}

void pl_next_show(const struct pl_tls *before)
{
    pl_tls.charge_left = before->charge_left;
    for (int i = 0; i < PL_FN_COUNT; i++)
        pl_tls.calls[i] = before->calls[i];
}
