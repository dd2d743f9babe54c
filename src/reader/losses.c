/* SPDX-License-Identifier: MIT */
/*
 * losses.c - the words for one of what is missing from a profile; pl_loss_info has them for many.
 */
#include "losses.h"

static const char *const one[PL_LOSS_COUNT] = {
    [PL_LOSS_NESTED] = "sample inside the profiler's own cold path (a signal handler that allocates)",
    [PL_LOSS_FILE_FULL] = "record that did not fit into the file (bound, disk full or file size limit)",
    [PL_LOSS_TABLE_FULL] = "sample that found a lookup table full",
    [PL_LOSS_LIVE_FULL] = "sample whose later free cannot be seen, for want of room in the live table",
    [PL_LOSS_MISSED_FREE] = "sampled block whose free was not seen: its address was handed out again",
    [PL_LOSS_THREADS] = "thread that could not be registered",
    [PL_LOSS_MEMORY] = "request for memory that the system refused",
    [PL_LOSS_SANDBOX] = "growth given up because the program entered a seccomp sandbox",
    [PL_LOSS_STALE_BUSY] = "visit abandoned by longjmp",
    [PL_LOSS_DEAD_THREAD] = "sample in a thread that had already said goodbye",
    [PL_LOSS_TAGS] = "scope that found no room for its tag: charged to the tag around it",
    [PL_LOSS_POPS] = "end of a scope that had not begun",
    [PL_LOSS_TAG_NAMES] = "tag whose name was cut, being longer than 64 KiB",
};

const char *pl_losses_text(int loss, uint64_t count)
{
    return count == 1 && one[loss] ? one[loss] : pl_loss_info[loss].help;
}
