/* SPDX-License-Identifier: MIT */
/*
 * parts.c - the part of the evaluator that its compiler has moved away.
 *
 * Compilers put code that a profile of the build did not see apart from the rest of a function, where no exported
 * symbol reaches. Debian's Python 3.14 has nearly all of the evaluator there. The exported part jumps to it, and the
 * unwind tables have its range; and since it is the same function, the caller's frame is as far away on both sides of
 * such a jump, which is not so at the beginning of another function.
 */
#include "core/python/python.h"
#include "core/unwind/ehframe.h"

static struct pl_cfi cfi; /* one thread looks, and the cold path has little stack */

struct distance {
    int64_t offset;
    uint8_t from;
};

/* How far the caller's frame is. False: not known, or as at the beginning of a function. */
static bool find_distance(uintptr_t where, struct distance *out)
{
    if (pl_ehframe_find(&cfi, where) != PL_CFI_FOUND || cfi.row.cfa_is_expression)
        return false;
    *out = (struct distance){cfi.row.cfa_offset, cfi.row.cfa_register};
    return out->from != PL_ARCH_SP || out->offset != PL_ARCH_CALL_PUSHES;
}

static bool is_same_function(uintptr_t jump, uintptr_t target)
{
    struct distance here, there;
    return find_distance(jump, &here) && find_distance(target, &there) && here.from == there.from &&
           here.offset == there.offset;
}

COLD void pl_python_find_far_part(void)
{
    uintptr_t end = pl_python.evaluator_end, target;
    if (!swap_if(&pl_python.sought, 0, 1))
        return;
    for (uintptr_t at = pl_python.evaluator; at + PL_ARCH_JUMP_BYTES <= end; at += 1u << PL_ARCH_CODE_SHIFT) {
        if (!pl_arch_far_jump((const uint8_t *) at, &target) || target < pl_python.module ||
            target >= pl_python.module_end || (target >= pl_python.evaluator && target < end) ||
            !is_same_function(at, target))
            continue;
        store_relaxed(&pl_python.far, cfi.function);
        store_release(&pl_python.far_end, cfi.function_end);
        return;
    }
}
