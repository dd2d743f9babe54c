/* SPDX-License-Identifier: MIT */
/* visitor.c - see visitor.h. */
#include "attach/visitor.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define VISIT_MAX 2048
#define WAY_NS 30000000000ull /* for going there, or home: a thread waits for nobody, but a busy machine lets it wait  \
                               */
#define LATE_NS 200000000ull
#define STACK_WORDS 32768
#define WORDS_AT_ONCE 512

/* ---- a place for the visit ---- */

/* Will the thread return to the visit at this place? A tracer that was killed may have left it there. */
static bool will_return_to(const struct pl_tracee *tracee, const struct pl_tracee_thread *thread, uint64_t at,
                           size_t bytes)
{
    uint64_t word[WORDS_AT_ONCE], sp = pl_machine_sp(&thread->registers) & ~7ull, registers[PL_ARCH_REGISTERS];
    pl_machine_dwarf(&thread->registers, registers);
    at += pl_machine_visit_code();
    bytes -= pl_machine_visit_code();
    if (registers[PL_ARCH_PC] - at <= bytes || registers[PL_ARCH_RETURN] - at <= bytes)
        return true;
    for (size_t words = 0; words < STACK_WORDS; words += WORDS_AT_ONCE) {
        size_t got = pl_tracee_read_some(tracee, sp + words * sizeof *word, word, sizeof word) / sizeof *word;
        for (size_t i = 0; i < got; i++)
            if (word[i] - at <= bytes)
                return true;
        if (got < WORDS_AT_ONCE)
            break;
    }
    return false;
}

static bool is_deserted(const struct pl_tracee *tracee, uint64_t at, size_t bytes)
{
    for (size_t i = 0; i < tracee->count; i++)
        if (!tracee->thread[i].gone && will_return_to(tracee, &tracee->thread[i], at, bytes))
            return false;
    return true;
}

static bool is_zero(const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (from[i])
            return false;
    return true;
}

static bool is_free(const struct pl_tracee *tracee, uint64_t at, size_t bytes)
{
    uint8_t there[VISIT_MAX];
    return pl_tracee_read(tracee, at, there, bytes) &&
           (is_zero(there, bytes) || (pl_machine_is_visit(there, bytes) && is_deserted(tracee, at, bytes)));
}

/*
 * The last page of a library's code is mapped from its file, and what is behind the code is padding. Places lie at
 * whole multiples of their size from its end, so one never overlaps another. Not in the program: it may check its own
 * code. Returns the next place below `at`, in module *i or the next one; at the beginning, both are 0.
 */
static uint64_t next_place(const struct pl_loaded *loaded, size_t bytes, size_t *i, uint64_t at)
{
    for (; *i < loaded->count; at = 0) {
        const struct pl_loaded_module *module = &loaded->module[*i];
        uint64_t next = (at ? at : module->code_room) - bytes;
        if (*i && module->code && next >= module->code_end)
            return next;
        ++*i;
    }
    return 0;
}

static size_t place_bytes(void)
{
    return (pl_machine_visit_bytes() + 15) & ~(size_t) 15;
}

static uint64_t find_place(const struct pl_tracee *tracee, const struct pl_loaded *loaded)
{
    size_t bytes = place_bytes(), i = 0;
    uint64_t at = 0;
    while ((at = next_place(loaded, bytes, &i, at)) && !is_free(tracee, at, bytes))
        ;
    return at;
}

bool pl_visitor_is_out(const struct pl_tracee *tracee, const struct pl_loaded *loaded,
                       const struct pl_tracee_thread *thread)
{
    uint8_t there[VISIT_MAX];
    size_t bytes = place_bytes(), i = 0;
    for (uint64_t at = 0; (at = next_place(loaded, bytes, &i, at));)
        if (pl_tracee_read(tracee, at, there, bytes) && pl_machine_is_visit(there, bytes) &&
            pl_machine_is_on_visit(there, at, &thread->registers))
            return true;
    return false;
}

/* ---- waiting ---- */

static enum pl_machine_place place_of(const struct pl_visitor *visitor, struct pl_machine_registers *registers)
{
    return pl_machine_read(visitor->tid, registers) ? pl_machine_place(registers, visitor->visit) : PL_PLACE_OTHER;
}

/*
 * A call that is late may wait for a lock whose owner was stopped by a signal: some runtimes stop all threads that way,
 * and wait for ours. So after LATE_NS the thread gets its signals. A handler runs on the visit's stack like on any
 * other. If the process is stopped meanwhile (SIGSTOP), the call is waited for, but not a thread on its way.
 */
static enum pl_tracee_wait await_call(struct pl_visitor *visitor, bool called, uint64_t late_ns, uint64_t until_ns)
{
    const uint64_t *signals = NULL;
    for (bool late = !called || late_ns >= until_ns;;) {
        enum pl_tracee_wait how = pl_tracee_wait_call(visitor->tid, late ? until_ns : late_ns, signals);
        signals = NULL;
        if (how == PL_TRACEE_LATE && !late) {
            late = true;
            signals = &visitor->signals;
        } else if (how != PL_TRACEE_STOPPED || !called) {
            return how;
        }
    }
}

/* Lets it go on until it is at the marker or at the door. OTHER: it has not come there in time. */
static enum pl_machine_place await_place(struct pl_visitor *visitor, bool called, uint64_t wait_ns,
                                         struct pl_machine_registers *registers)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns, late_ns = until_ns - wait_ns + LATE_NS;
    enum pl_machine_place place = PL_PLACE_OTHER;
    while (place == PL_PLACE_OTHER) {
        if (!pl_tracee_step(visitor->tid))
            return PL_PLACE_OTHER;
        enum pl_tracee_wait how = await_call(visitor, called, late_ns, until_ns);
        visitor->stopped = how == PL_TRACEE_STOPPED;
        if (how != PL_TRACEE_CALL)
            return PL_PLACE_OTHER;
        place = place_of(visitor, registers);
    }
    return place;
}

/* Of one that does not come, only this is known: to be let go, it has to stop. */
static void leave_alone(struct pl_visitor *visitor)
{
    struct pl_tracee_thread *thread = pl_tracee_find(visitor->tracee, visitor->tid);
    if (thread)
        thread->stopped = false;
    ptrace(PTRACE_INTERRUPT, visitor->tid, NULL, NULL);
    pl_tracee_let_go(visitor->tracee, visitor->tid);
    visitor->tid = 0;
}

/* ---- sending ---- */

static bool write_visit(const struct pl_visitor *visitor)
{
    uint8_t visit[VISIT_MAX];
    pl_machine_fill_visit(visit, &visitor->before, visitor->signals, visitor->memory);
    return pl_tracee_write(visitor->tracee, visitor->visit, visit, pl_machine_visit_bytes());
}

/* The place is as it was before. */
static void clear_visit(const struct pl_visitor *visitor)
{
    static const uint8_t zeros[VISIT_MAX];
    pl_tracee_write(visitor->tracee, visitor->visit, zeros, pl_machine_visit_bytes());
}

/* The thread blocks signals itself. That we block them before it runs makes sure that none is delivered earlier, which
 * would hide from the kernel what it has interrupted. */
static bool enter(const struct pl_visitor *visitor)
{
    struct pl_machine_registers registers = visitor->before;
    uint64_t blocked = pl_machine_blocked();
    pl_machine_send(&registers, visitor->visit);
    return pl_machine_write(visitor->tid, &registers) &&
           ptrace(PTRACE_SETSIGMASK, visitor->tid, (void *) sizeof blocked, &blocked) == 0;
}

bool pl_visitor_send(struct pl_visitor *visitor, struct pl_tracee *tracee, const struct pl_loaded *loaded,
                     const struct pl_tracee_thread *thread, const char **why)
{
    struct pl_machine_registers registers;
    *visitor = (struct pl_visitor){.tracee = tracee, .before = thread->registers};
    *why = "this processor is too old for our code";
    if (!pl_machine_able())
        return false;
    *why = "there is no room for our code in its libraries";
    visitor->visit = find_place(tracee, loaded);
    if (!visitor->visit || ptrace(PTRACE_GETSIGMASK, thread->tid, (void *) sizeof visitor->signals, &visitor->signals))
        return false;
    visitor->tid = thread->tid;
    if (!write_visit(visitor) || !enter(visitor)) {
        visitor->tid = 0;
        return false;
    }
    enum pl_machine_place place = await_place(visitor, false, WAY_NS, &registers);
    *why = visitor->stopped ? "it was stopped by a signal; its borrowed thread goes back by itself after SIGCONT"
                            : "its thread did not execute our code";
    if (place == PL_PLACE_MARKER) {
        visitor->memory = pl_machine_memory(&registers);
        return write_visit(visitor);
    }
    if (place == PL_PLACE_DOOR) {
        *why = "it gets no more memory from the kernel";
        pl_visitor_dismiss(visitor, &(const char *){NULL});
    } else {
        leave_alone(visitor);
    }
    return false;
}

/* ---- calls ---- */

uint64_t pl_visitor_text(const struct pl_visitor *visitor)
{
    return visitor->memory + offsetof(struct pl_machine_memory, text);
}

bool pl_visitor_write_text(struct pl_visitor *visitor, const char *text)
{
    size_t bytes = strlen(text) + 1;
    return bytes <= sizeof((struct pl_machine_memory *) NULL)->text &&
           pl_tracee_write(visitor->tracee, pl_visitor_text(visitor), text, bytes);
}

bool pl_visitor_if_abandoned(struct pl_visitor *visitor, uint64_t function)
{
    return pl_tracee_write(visitor->tracee, visitor->memory + offsetof(struct pl_machine_memory, abandoned), &function,
                           sizeof function);
}

bool pl_visitor_call(struct pl_visitor *visitor, uint64_t function, const uint64_t argument[PL_VISITOR_ARGUMENTS],
                     uint64_t wait_ns, uint64_t *result)
{
    struct {
        uint64_t function, argument[PL_VISITOR_ARGUMENTS];
    } call = {.function = function};
    struct pl_machine_registers registers;
    if (!visitor->tid)
        return false;
    memcpy(call.argument, argument, sizeof call.argument);
    if (pl_tracee_write(visitor->tracee, visitor->memory, &call, sizeof call) &&
        await_place(visitor, true, wait_ns, &registers) == PL_PLACE_MARKER)
        return pl_tracee_read(visitor->tracee, visitor->memory + offsetof(struct pl_machine_memory, result), result,
                              sizeof *result);
    leave_alone(visitor);
    return false;
}

/* ---- going home ---- */

static bool pass_door(struct pl_visitor *visitor, const struct pl_machine_handlers *handlers)
{
    int signal;
    if (!pl_machine_leave(visitor->tid, &visitor->before, visitor->signals, handlers, pl_tracee_now_ns() + WAY_NS,
                          &signal))
        return false;
    clear_visit(visitor);
    ptrace(PTRACE_DETACH, visitor->tid, NULL, (void *) (long) signal);
    pl_tracee_forget(visitor->tracee, visitor->tid);
    visitor->tid = 0;
    return true;
}

static uint64_t caught_signals(pid_t tid)
{
    char path[64], line[256];
    uint64_t caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "SigCgt: %" SCNx64, &caught);
    if (file)
        fclose(file);
    return caught;
}

/* The thread itself asks the kernel, by rt_sigaction(). */
static struct pl_machine_handlers ask_for_handlers(struct pl_visitor *visitor)
{
    struct pl_machine_handlers handlers = {.caught = caught_signals(visitor->tid)};
    uint64_t result, action[2]; /* the handler, and flags */
    for (unsigned i = 0; i < 64; i++) {
        const uint64_t argument[PL_VISITOR_ARGUMENTS] = {SYS_rt_sigaction, i + 1, 0, pl_visitor_text(visitor), 8};
        if (handlers.caught >> i & 1 &&
            pl_visitor_call(visitor, pl_machine_system_call(visitor->visit), argument, WAY_NS, &result) && !result &&
            pl_tracee_read(visitor->tracee, pl_visitor_text(visitor), action, sizeof action) &&
            !(action[1] & SA_RESTART))
            handlers.ending |= 1ull << i;
    }
    return handlers;
}

static bool go_home(struct pl_visitor *visitor)
{
    struct pl_machine_registers registers;
    struct pl_machine_handlers handlers = {0};
    if (visitor->memory && pl_machine_asks_for_handlers() && pl_machine_call(&visitor->before) >= 0)
        handlers = ask_for_handlers(visitor);
    if (!visitor->tid)
        return false;
    bool at_door = !visitor->memory || (pl_visitor_if_abandoned(visitor, 0) &&
                                        await_place(visitor, false, WAY_NS, &registers) == PL_PLACE_DOOR);
    return at_door && pass_door(visitor, &handlers);
}

bool pl_visitor_dismiss(struct pl_visitor *visitor, const char **why)
{
    pid_t tid = visitor->tid;
    if (!tid || go_home(visitor))
        return true;
    *why = pl_tracee_has_ended(visitor->tracee, tid) ? "its borrowed thread has ended"
           : visitor->stopped ? "it was stopped by a signal; its borrowed thread goes back by itself after SIGCONT"
                              : "its borrowed thread is not back yet; it goes back by itself";
    if (visitor->tid)
        leave_alone(visitor);
    return false;
}
