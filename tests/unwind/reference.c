/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include <unwind.h>

static void keep(struct reference *reference, uintptr_t pc, bool exact)
{
    size_t number = reference->count++;
    if (number < REFERENCE_HALF) {
        reference->inner[number] = pc;
        reference->inner_exact[number] = exact;
    }
    reference->outer[number % REFERENCE_HALF] = pc;
    reference->outer_exact[number % REFERENCE_HALF] = exact;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument)
{
    struct reference *reference = argument;
    int before_instruction = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &before_instruction);
    if (!reference->started && _Unwind_GetCFA(context) == reference->start_sp)
        reference->started = true;
    if (reference->started && pc != 0) /* the step out of the outermost frame has pc 0 */
        keep(reference, pc, before_instruction);
    return _URC_NO_REASON;
}

bool reference_walk(struct reference *reference, uintptr_t start_sp)
{
    reference->start_sp = start_sp;
    reference->started = false;
    reference->count = 0;
    _Unwind_Backtrace(visit, reference);
    return reference->started;
}

bool reference_frame(const struct reference *reference, size_t number, uintptr_t *pc, bool *exact)
{
    if (number >= reference->count)
        return false;
    bool inner = number < REFERENCE_HALF;
    if (!inner && reference->count - number > REFERENCE_HALF)
        return false;
    *pc = inner ? reference->inner[number] : reference->outer[number % REFERENCE_HALF];
    *exact = inner ? reference->inner_exact[number] : reference->outer_exact[number % REFERENCE_HALF];
    return true;
}
