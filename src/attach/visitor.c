/* SPDX-License-Identifier: MIT */
/* visitor.c - see visitor.h. */
#include "attach/visitor.h"

#include <stdlib.h>
#include <string.h>

#define CODE_MAX 1024

/* ---- a place for the code ---- */

/* The page is mapped from the file, whose bytes behind the code are padding: zero, or our own code from last time. */
static bool is_free(const struct pl_tracee *tracee, uint64_t at, const uint8_t *code, size_t bytes)
{
    static const uint8_t zeros[CODE_MAX];
    uint8_t there[CODE_MAX];
    return pl_tracee_read(tracee, at, there, bytes) && (!memcmp(there, zeros, bytes) || !memcmp(there, code, bytes));
}

static uint64_t find_place(const struct pl_tracee *tracee, const struct pl_loaded *loaded, const uint8_t *code,
                           size_t bytes)
{
    for (size_t i = 1; i < loaded->count; i++) { /* libraries only: a program may check its own code */
        const struct pl_loaded_module *module = &loaded->module[i];
        uint64_t at = module->code_room - ((bytes + 15) & ~(size_t) 15);
        if (module->code && at >= module->code_end && is_free(tracee, at, code, bytes))
            return at;
    }
    return 0;
}

/* ---- sending ---- */

static bool at_marker(const struct pl_visitor *visitor)
{
    struct pl_machine_registers registers;
    return pl_machine_read(visitor->tid, &registers) && pl_machine_at_marker(&registers, visitor->code);
}

static bool await_marker(struct pl_visitor *visitor, uint64_t wait_ns)
{
    uint64_t until_ns = pl_tracee_now_ns() + wait_ns;
    for (;;) {
        uint64_t now_ns = pl_tracee_now_ns();
        if (!pl_tracee_step(visitor->tid) ||
            pl_tracee_wait_call(visitor->tracee, visitor->tid, now_ns < until_ns ? until_ns - now_ns : 0) !=
                PL_TRACEE_CALL)
            return false;
        if (at_marker(visitor))
            return true;
    }
}

bool pl_visitor_send(struct pl_visitor *visitor, struct pl_tracee *tracee, const struct pl_loaded *loaded,
                     const struct pl_tracee_thread *thread)
{
    size_t bytes, frame_bytes = pl_machine_frame_bytes();
    const uint8_t *code = pl_machine_visitor(&bytes);
    uint64_t top = pl_machine_sp(&thread->registers) - PL_MACHINE_RED_ZONE - PL_VISITOR_TEXT;
    struct pl_machine_registers registers = thread->registers;
    void *frame = calloc(1, frame_bytes);
    *visitor = (struct pl_visitor){
        .tracee = tracee,
        .tid = thread->tid,
        .code = bytes <= CODE_MAX ? find_place(tracee, loaded, code, bytes) : 0,
        .frame = (top - frame_bytes) & ~(uint64_t) (PL_MACHINE_FRAME_ALIGN - 1),
    };
    visitor->text = visitor->frame + frame_bytes;
    bool ready = frame && visitor->code && pl_tracee_write(tracee, visitor->code, code, bytes);
    if (ready) {
        pl_machine_fill_frame(frame, &registers);
        pl_machine_send(&registers, visitor->code, visitor->frame);
        ready = pl_tracee_write(tracee, visitor->frame, frame, frame_bytes) &&
                pl_machine_write(visitor->tid, &registers) && await_marker(visitor, 1000000000u);
    }
    free(frame);
    return ready;
}

bool pl_visitor_write_text(struct pl_visitor *visitor, const char *text)
{
    size_t bytes = strlen(text) + 1;
    return bytes <= PL_VISITOR_TEXT && pl_tracee_write(visitor->tracee, visitor->text, text, bytes);
}

bool pl_visitor_call(struct pl_visitor *visitor, uint64_t function, const uint64_t argument[6], uint64_t wait_ns,
                     uint64_t *result)
{
    struct pl_machine_call call = {.function = function};
    memcpy(call.argument, argument, sizeof call.argument);
    if (!pl_tracee_write(visitor->tracee, visitor->frame, &call, sizeof call) || !await_marker(visitor, wait_ns) ||
        !pl_tracee_read(visitor->tracee, visitor->frame, &call, sizeof call))
        return false;
    *result = call.result;
    return true;
}
