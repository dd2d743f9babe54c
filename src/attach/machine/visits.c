/* SPDX-License-Identifier: MIT */
/* visits.c - see visits.h. */
#include "attach/machine/visits.h"

#include <string.h>

uint64_t pl_visit_offset(const uint8_t *label)
{
    return (uint64_t) (label - pl_visit_begin);
}

static struct pl_visit_head head_of(const void *visit)
{
    struct pl_visit_head head;
    memcpy(&head, visit, sizeof head);
    return head;
}

size_t pl_machine_visit_bytes(void)
{
    return pl_visit_offset(pl_visit_end);
}

size_t pl_machine_visit_code(void)
{
    return pl_visit_offset(pl_visit_entry);
}

uint64_t pl_machine_blocked(void)
{
    return head_of(pl_visit_begin).blocked;
}

bool pl_machine_is_visit(const void *there, size_t bytes)
{
    return bytes >= sizeof(struct pl_visit_head) && head_of(there).mark == head_of(pl_visit_begin).mark;
}

bool pl_machine_is_on_visit(const void *there, uint64_t at, const struct pl_machine_registers *registers)
{
    uint64_t memory = head_of(there).memory, code = at + pl_machine_visit_code();
    return pl_machine_pc(registers) - code <= pl_machine_visit_bytes() - pl_machine_visit_code() ||
           (memory && pl_machine_sp(registers) - memory <= PL_VISIT_MEMORY_BYTES);
}

uint64_t pl_machine_system_call(uint64_t visit)
{
    return visit + pl_visit_offset(pl_visit_system_call);
}

uint64_t pl_machine_copier(uint64_t visit)
{
    return visit + pl_visit_offset(pl_visit_copier);
}

uint64_t pl_machine_wiper(uint64_t visit)
{
    return visit + pl_visit_offset(pl_visit_wiper);
}
