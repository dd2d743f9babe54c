/* SPDX-License-Identifier: MIT */
/*
 * control.h - requests from outside: `plimsoll control` writes control words into the file of a running process.
 *
 * There is no thread, timer or signal that would notice a request at once. A visit to the cold path does, and the
 * thread that looks at the budget (meter.c) obeys: it is the only one that changes the mode. `taken` in the header then
 * tells the requester. The thread itself applies the change at its next allocation, each other thread at its next
 * visit, which is its next allocation if it counts exactly.
 *
 * The words `off`, `interval_bytes` and `reset` also take effect without a request: pl_process_obey() reads them.
 */
#ifndef PL_CONTROL_H
#define PL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/process.h"

/* Is there a request that no thread has obeyed yet? */
INLINE bool pl_control_pending(const struct pl_process *process)
{
    if (!process->file.base)
        return false;
    const struct pl_header *header = pl_file_header(&process->file);
    return unlikely(load_relaxed(&header->control.request) != load_relaxed(&header->taken));
}

/*
 * By the thread that looks. pl_control_begin() sets mode and budget as requested, and returns the number of the
 * request. False: exact mode cannot begin yet, because memory that it needs is being given back; the request stays
 * pending. After pl_process_obey(), pl_control_end() logs the request in the header and says there that it was taken
 * up.
 */
bool pl_control_begin(struct pl_process *process, uint32_t *request);
void pl_control_end(struct pl_process *process, uint32_t request);

/* A sampling interval that `mode` and `interval_bytes` of the header no longer tell about: readers must know that not
 * every allocation was counted. */
void pl_control_sampled(struct pl_process *process, uint64_t interval_bytes);

#endif
