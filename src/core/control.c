/* SPDX-License-Identifier: MIT */
/* control.c - see control.h. */
#include "core/control.h"

#include "core/budget.h"
#include "core/sys.h"
#include "format/settings.h"

void pl_control_sampled(struct pl_process *process, uint64_t interval_bytes)
{
    struct pl_header *header = pl_file_header(&process->file);
    store_relaxed(&process->sampled, 1);
    if (load_relaxed(&header->steered_max) < interval_bytes)
        store_relaxed(&header->steered_max, interval_bytes);
}

static void set_mode(struct pl_process *process, struct pl_header *header, uint32_t mode)
{
    if (pl_config.mode == PL_MODE_SAMPLED && mode != PL_MODE_SAMPLED)
        pl_control_sampled(process, load_relaxed(&process->interval_bytes));
    pl_config.mode = mode;
    store_relaxed(&header->mode, mode);
}

static void set_budget(struct pl_process *process, struct pl_header *header, uint32_t overhead_ppm)
{
    pl_config.overhead_ppm = overhead_ppm;
    pl_budget_allow(&process->budget, overhead_ppm);
    store_relaxed(&header->automatic.overhead_ppm, overhead_ppm);
}

/* Invariant of auto mode: budget.exact is not set while memory is being given back (meter.c). */
static bool begin_exact(struct pl_process *process)
{
    if (load_acquire(&process->blocks.giving_back))
        return false;
    process->budget.exact = true;
    return true;
}

bool pl_control_begin(struct pl_process *process, uint32_t *request)
{
    struct pl_header *header = pl_file_header(&process->file);
    struct pl_control *control = &header->control;
    *request = load_acquire(&control->request);
    uint32_t mode = load_relaxed(&control->mode), ppm = load_relaxed(&control->overhead_ppm);
    uint64_t wanted = load_relaxed(&control->interval_bytes);
    if (mode == PL_MODE_EXACT || mode == PL_MODE_AUTO)
        set_mode(process, header, mode);
    if (ppm >= PL_OVERHEAD_MIN_PPM && ppm <= PL_OVERHEAD_MAX_PPM && ppm != pl_config.overhead_ppm)
        set_budget(process, header, ppm);
    pl_config.off = load_relaxed(&control->off); /* children inherit what is set from outside, too */
    pl_config.wanted_bytes = wanted >= PL_SAMPLE_MIN && wanted <= PL_SAMPLE_MAX ? wanted : 0;
    return pl_config.mode != PL_MODE_EXACT || begin_exact(process);
}

static uint64_t value_of(const struct pl_control *control, uint32_t what)
{
    return what == PL_ASKED_SAMPLE     ? load_relaxed(&control->interval_bytes)
           : what == PL_ASKED_OVERHEAD ? load_relaxed(&control->overhead_ppm)
                                       : 0;
}

/* In a sandbox no clock may be read. */
static uint64_t time_of(const struct pl_process *process)
{
    return load_relaxed(&process->sandboxed) ? 0 : pl_sys_clock_ns(CLOCK_MONOTONIC) - process->start_ns;
}

void pl_control_end(struct pl_process *process, uint32_t request)
{
    struct pl_header *header = pl_file_header(&process->file);
    uint32_t what = load_relaxed(&header->control.asked);
    struct pl_obeyed *obeyed = &header->obeyed[header->requests % PL_OBEYED_MAX];
    obeyed->time_ns = time_of(process);
    obeyed->value = value_of(&header->control, what);
    store_relaxed(&obeyed->what, what < PL_ASKED_COUNT ? what : (uint32_t) PL_ASKED_NOTHING);
    store_release(&header->requests, header->requests + 1);
    store_release(&header->taken, request);
}
