/* SPDX-License-Identifier: MIT */
/*
 * oracle.c - a preload that unwinds every allocation twice, with pl_unwind and with libgcc, and compares.
 *
 *   LD_PRELOAD=oracle.so UNWIND_LOG=file program
 *
 * writes one "compared" line per process, and a "DIFFERS" line for each difference.
 *
 *   UNWIND_TRACE=1      our frames are those first seen with the hash of pl_trace_stack: see recall_traced()
 *   UNWIND_REMEMBER=1   rules are kept when a module is unloaded: there must be differences
 *
 * Code that must not allocate where it wants a comparison (a signal handler) calls oracle_compare() instead.
 *
 * The two agree if they have the same frames, up to the outermost, and the same frames as interrupted. Where our walk
 * guesses, libgcc must have ended.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/compiler.h"
#include "core/unwind/find.h"
#include "core/unwind/trace.h"
#include "core/unwind/unwind.h"
#include "reference.h"

#define EXPORT __attribute__((visibility("default")))
#define THREAD_LOCAL static __thread INITIAL_EXEC
#define SHOWN_MAX 5

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *block);

static struct {
    uint64_t compared;
    uint64_t different;
    uint64_t nested; /* signals inside a comparison */
    uint64_t deepest;
    uint64_t frames;
    uint64_t exact;
    uint64_t guessed;
    uint64_t traced; /* hashes, and how many different ones */
    uint64_t stacks;
    uint64_t stops[PL_STOP_MAX];
} counts;

static bool ready;
static bool remember;
static bool tracing;
static uint32_t generation = 1;
static pid_t process;
static char log_path[4096];
static struct pl_found_module loader;

THREAD_LOCAL volatile bool busy;
THREAD_LOCAL struct pl_walk walk;
THREAD_LOCAL struct reference reference;
THREAD_LOCAL struct pl_trace *trace;

static const char *const stop_names[] = {
#define NAME(name, text, help) text,
    PL_STOPS(NAME)
#undef NAME
};

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    int file = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line, bytes < (int) sizeof line ? (size_t) bytes : sizeof line - 1) < 0)
        abort();
    close(file);
}

static const char *describe(char *text, size_t bytes, uintptr_t pc)
{
    struct pl_found_module module;
    bool found = pl_find_module(pc, &module);
    const char *name = found && module.map && *module.map->l_name ? module.map->l_name : found ? "program" : "nowhere";
    snprintf(text, bytes, "%s+0x%lx", name, (unsigned long) (pc - (found ? module.bias : 0)));
    return text;
}

/* The frame's number in the whole stack. The place of the gap has none. */
static size_t number_of(uint32_t slot)
{
    bool outer = walk.walked > PL_WALK_FRAMES && slot > PL_WALK_FRAMES / 2;
    return outer ? walk.walked - PL_WALK_FRAMES / 2 + (slot - PL_WALK_FRAMES / 2 - 1) : slot;
}

static bool frame_agrees(uint64_t frame, size_t number)
{
    uintptr_t pc;
    bool exact;
    return reference_frame(&reference, number, &pc, &exact) && (frame & PL_FRAME_ADDRESS_MASK) == pc &&
           !!(frame & PL_FRAME_EXACT) == exact;
}

/* The number of the first frame that differs, or -1. */
static long first_difference(void)
{
    for (uint32_t slot = 0; slot < walk.frames; slot++) {
        size_t number = number_of(slot);
        if (walk.frame[slot] & PL_FRAME_GAP)
            continue;
        if (walk.frame[slot] & PL_FRAME_GUESS)
            return number == reference.count ? -1 : (long) number;
        if (!frame_agrees(walk.frame[slot], number))
            return (long) number;
    }
    return walk.walked == reference.count ? -1 : (long) walk.walked;
}

/* Flags about the walk as a whole. */
static bool flags_agree(void)
{
    bool cut = walk.frame[walk.frames - 1] & PL_FRAME_CUT;
    bool deep = walk.walked > PL_WALK_FRAMES;
    if (deep != (walk.stop == PL_STOP_DEPTH) || deep != (walk.frames == PL_WALK_FRAMES + 1))
        return false;
    return deep || cut == (walk.stop != PL_STOP_END);
}

static void show_difference(long number)
{
    char ours[300], theirs[300];
    uint64_t shown = __atomic_fetch_add(&counts.different, 1, __ATOMIC_RELAXED);
    if (shown >= SHOWN_MAX)
        return;
    say("DIFFERS pid %d frame %ld: we walked %u (%s), libgcc %zu\n", getpid(), number, walk.walked,
        stop_names[walk.stop], reference.count);
    for (size_t i = number > 2 ? (size_t) number - 2 : 0; i < (size_t) number + 3; i++) {
        uintptr_t pc = 0;
        bool exact = false;
        reference_frame(&reference, i, &pc, &exact);
        uint64_t frame = i < walk.frames ? walk.frame[i] : 0;
        say("  #%zu ours %s flags %lx | libgcc %s%s\n", i, describe(ours, sizeof ours, frame & PL_FRAME_ADDRESS_MASK),
            (unsigned long) (frame >> PL_FRAME_FLAG_SHIFT), describe(theirs, sizeof theirs, pc), exact ? " exact" : "");
    }
}

static void count_walk(void)
{
    fetch_add(&counts.compared, 1);
    fetch_add(&counts.frames, walk.walked);
    fetch_add(&counts.stops[walk.stop], 1);
    if (walk.walked > counts.deepest)
        counts.deepest = walk.walked;
    for (uint32_t i = 0; i < walk.frames; i++) {
        if (walk.frame[i] & PL_FRAME_EXACT)
            fetch_add(&counts.exact, 1);
        if (walk.frame[i] & PL_FRAME_GUESS)
            fetch_add(&counts.guessed, 1);
    }
}

/* ---- tracing ---- */

/* A walk, as it was when its hash was new. */
struct remembered {
    uint64_t hash;
    uint32_t frames;
    uint32_t walked;
    enum pl_stop stop;
    uint64_t frame[];
};

#define STACKS (1u << 20)
#define STACK_BYTES (8ul << 30)
static struct remembered **stacks; /* by hash, of all threads */
static char *stack_memory;
static char *stack_end;
static uint32_t stacks_lock;

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? (abort(), NULL) : memory;
}

static struct remembered **find_stack(uint64_t hash)
{
    size_t at = hash % STACKS;
    while (stacks[at] && stacks[at]->hash != hash)
        at = (at + 1) % STACKS;
    return &stacks[at];
}

static struct remembered *remember_walk(uint64_t hash)
{
    struct remembered *stack = (struct remembered *) (void *) stack_end;
    stack_end += sizeof *stack + walk.frames * sizeof *stack->frame;
    if (++counts.stacks > STACKS / 2 || stack_end > stack_memory + STACK_BYTES - sizeof walk)
        abort();
    *stack = (struct remembered){hash, walk.frames, walk.walked, walk.stop};
    memcpy(stack->frame, walk.frame, walk.frames * sizeof *stack->frame);
    return stack;
}

/* Traces the stack, and replaces `walk` by the walk that was stored when its hash was first seen, by any thread. False:
 * not traced. */
static bool recall_traced(const struct pl_start *start)
{
    if (!trace)
        trace = map(pl_trace_bytes);
    uint64_t hash = pl_trace_stack(trace, &walk, start, __atomic_load_n(&generation, __ATOMIC_ACQUIRE));
    if (hash == 0)
        return false;
    fetch_add(&counts.traced, 1);
    while (!swap_if(&stacks_lock, 0, 1))
        continue;
    struct remembered **stack = find_stack(hash);
    if (*stack) {
        walk.frames = (*stack)->frames;
        walk.walked = (*stack)->walked;
        walk.stop = (*stack)->stop;
        memcpy(walk.frame, (*stack)->frame, walk.frames * sizeof *walk.frame);
    } else {
        pl_unwind(&walk, start);
        *stack = remember_walk(hash);
    }
    __atomic_store_n(&stacks_lock, 0, __ATOMIC_RELEASE);
    return true;
}

static void forget_modules(void)
{
    if (remember)
        return;
    pl_rule_forget();
    __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
}

/* ---- each allocation ---- */

static __attribute__((noinline)) void compare(const struct pl_start *start)
{
    walk.may_probe = true;
    if (!tracing || !recall_traced(start))
        pl_unwind(&walk, start);
    bool started = reference_walk(&reference, start->sp);
    count_walk();
    long number = started ? first_difference() : 0;
    if (number >= 0 || !flags_agree())
        show_difference(number);
}

static void visit(const struct pl_start *start)
{
    if (!ready)
        return;
    if (busy) {
        fetch_add(&counts.nested, 1);
        return;
    }
    int error = errno;
    busy = true;
    signal_fence();
    compare(start);
    signal_fence();
    busy = false;
    errno = error;
}

static void report(void)
{
    char command[200] = "";
    if (!ready || getpid() != process)
        return;
    ready = false;
    busy = true;
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file >= 0 ? read(file, command, sizeof command - 1) : 0;
    close(file);
    for (ssize_t i = 0; i < bytes - 1; i++)
        if (command[i] < ' ')
            command[i] = ' ';
    say("compared %lu different %lu nested %lu deepest %lu frames %lu exact %lu guessed %lu", counts.compared,
        counts.different, counts.nested, counts.deepest, counts.frames, counts.exact, counts.guessed);
    for (int i = 0; i < PL_STOP_COUNT; i++)
        say(" %s %lu", stop_names[i], counts.stops[i]);
    say(" traced %lu stacks %lu command %s\n", counts.traced, counts.stacks, command);
}

static void forked(void)
{
    memset(&counts, 0, sizeof counts);
    stacks_lock = 0; /* its owner does not exist in the child */
    process = getpid();
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("UNWIND_LOG");
    if (path == NULL)
        return;
    snprintf(log_path, sizeof log_path, "%s", path);
    remember = getenv("UNWIND_REMEMBER") != NULL;
    pl_unwind_prepare();
    tracing = getenv("UNWIND_TRACE") != NULL;
    if (tracing) {
        stacks = map(STACKS * sizeof *stacks);
        stack_memory = stack_end = map(STACK_BYTES);
    }
    process = getpid();
    pl_find_module((uintptr_t) _r_debug.r_brk, &loader);
    reference_walk(&reference, 0); /* initialises libgcc */
    pthread_atfork(NULL, NULL, forked);
    atexit(report);
    ready = true;
}

#define VISIT()                                                                                                        \
    do {                                                                                                               \
        struct pl_start start;                                                                                         \
        PL_START_HERE(&start);                                                                                         \
        visit(&start);                                                                                                 \
    } while (0)

EXPORT void oracle_compare(void);
void oracle_compare(void)
{
    VISIT();
}

EXPORT void *malloc(size_t bytes)
{
    VISIT();
    return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    VISIT();
    return __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *block, size_t bytes)
{
    VISIT();
    return __libc_realloc(block, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes)
{
    VISIT();
    return __libc_memalign(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    VISIT();
    return __libc_memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    VISIT();
    void *block = __libc_memalign(alignment, bytes);
    if (block != NULL)
        *out = block;
    return block == NULL ? ENOMEM : 0;
}

/* The loader frees its record of a module after unloading it: every free from the loader may be one. */
EXPORT void free(void *block)
{
    uintptr_t caller = (uintptr_t) __builtin_return_address(0);
    if (caller - loader.start < loader.end - loader.start)
        forget_modules();
    __libc_free(block);
}

EXPORT int dlclose(void *handle)
{
    int (*next)(void *) = (int (*)(void *)) dlsym(RTLD_NEXT, "dlclose");
    int result = next(handle);
    forget_modules();
    return result;
}

EXPORT void _exit(int status)
{
    report();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
