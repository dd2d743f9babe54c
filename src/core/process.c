/* SPDX-License-Identifier: MIT */
/* process.c - see process.h. */
#include "process.h"

#include <errno.h>

#include "arch.h"
#include "clock.h"
#include "cold.h"
#include "eras.h"
#include "filter.h"
#include "hash.h"
#include "memory.h"
#include "paths.h"
#include "rows.h"
#include "settings.h"
#include "text.h"

#define PAGES(type) ((sizeof(type) + 4095) & ~(size_t) 4095)
#define ATTEMPTS 1000
#define CLOCK_TRIES 8
#define VISIT_DOZES 200  /* of 0.1 ms each */
#define ENDER_DOZES 1000 /* of 1 ms each */
#define LINGER_DOZES 50  /* likewise, for all threads together */
#define SANDBOX_THREADS 32
#define SANDBOX_LEVELS 5 /* untouched, it costs address space only */
#define SANDBOX_FILE_BYTES (2u << 20)
#define TRIFLE_CALLS 1000 /* a child that made fewer, on its way to exec, is not worth a file */

/* Whole pages, shared with nothing else: fork wipes them. */
static union {
    struct pl_process process;
    uint8_t pages[PAGES(struct pl_process)];
} wiped PAGE_ALIGNED;

struct pl_process *const pl_process = &wiped.process;
struct pl_config pl_config;
uint32_t pl_memory_frozen;
uint64_t pl_clock_stopped;
uint8_t pl_filter[PL_FILTER_BYTES] PAGE_ALIGNED;

/* ---- small readings ---- */

static long read_file(const char *path, char *to, size_t bytes)
{
    long fd = pl_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    size_t n = 0;
    for (long got = 1; got > 0 && n<bytes; n += got> 0 ? (size_t) got : 0)
        got = pl_sys_read((int) fd, to + n, bytes - n);
    pl_sys_close((int) fd);
    return (long) n;
}

/* Field 22 of /proc/self/stat, counted from behind the command's closing parenthesis (the command may contain any). */
static uint64_t start_ticks(char *scratch, size_t bytes)
{
    long n = read_file("/proc/self/stat", scratch, bytes - 1);
    int field = 2;
    if (n <= 0)
        return 0;
    scratch[n] = 0;
    const char *at = scratch + n;
    while (at > scratch && *at != ')')
        at--;
    for (; *at && field < 22; at++)
        field += *at == ' ';
    return pl_text_take_number(&at);
}

static uint64_t draw_seed(const struct pl_process *process)
{
    uint64_t seed = 0;
    if (pl_config.seeded)
        return process->forked ? pl_hash(pl_config.seed, process->pid) : pl_config.seed;
    if (pl_sys_getrandom(&seed, sizeof seed) != (long) sizeof seed)
        seed = pl_hash(pl_sys_clock_ns(CLOCK_MONOTONIC), process->pid);
    return seed;
}

/* ---- the header ---- */

/* The words of the command, each with a zero behind it. */
static long read_command(char *to, size_t bytes)
{
    const struct pl_behind *behind = pl_config.behind;
    if (!behind)
        return read_file("/proc/self/cmdline", to, bytes);
    pl_copy(to, behind->command, behind->command_bytes);
    return behind->command_bytes;
}

static void describe_command(struct pl_process *process, struct pl_file *file, struct pl_header *header)
{
    char *scratch = process->scratch;
    long n = read_command(scratch, PL_PATH_MAX);
    if (n == PL_PATH_MAX)
        header->flags |= PL_FLAG_CUT_COMMAND;
    if (n > 0)
        header->command = pl_file_text(file, scratch, (uint64_t) n);
    header->executable = pl_file_text(file, process->executable, pl_text_bytes(process->executable));
    n = pl_sys_getcwd(scratch, PL_PATH_MAX);
    if (n > 1)
        header->directory = pl_file_text(file, scratch, (uint64_t) n - 1);
    if (!pl_text_same(process->destination, file->path))
        header->destination = pl_file_text(file, process->destination, pl_text_bytes(process->destination));
}

static void describe(struct pl_process *process, struct pl_file *file)
{
    struct pl_header *header = pl_file_header(file);
    header->version = PL_VERSION;
    header->byte_order = PL_BYTE_ORDER;
    header->chunk_bytes = PL_CHUNK_BYTES;
    header->machine = PL_ARCH_MACHINE;
    header->flags = process->forked ? PL_FLAG_FORKED : 0;
    header->pid = process->pid;
    header->parent_pid = pl_sys_getppid();
    header->uid = pl_sys_getuid();
    header->bad_settings = pl_config.bad;
    header->start_monotonic_ns = process->start_ns;
    header->start_realtime_ns =
        pl_sys_clock_ns(CLOCK_REALTIME) - (pl_sys_clock_ns(CLOCK_MONOTONIC) - process->start_ns);
    header->start_ticks = start_ticks(process->scratch, sizeof process->scratch);
    header->mode = pl_config.mode;
    header->call_charge = PL_CALL_CHARGE;
    header->interval_bytes = pl_config.interval_bytes;
    header->clock.start_ticks = process->start_ticks;
    header->batch_bytes = PL_BATCH_LEAST;
    header->seed = process->seed;
    pl_budget_describe(process, header);
    header->control.off = pl_config.off;
    header->control.interval_bytes = pl_config.wanted_bytes;
    header->size_from = process->size_from;
    header->size_to = process->size_to;
    pl_copy(header->comm, process->comm, sizeof header->comm);
    describe_command(process, file, header);
}

/* ---- the file ---- */

static bool create_in(struct pl_process *process, const char *directory)
{
    long r = -EEXIST;
    char *path = process->scratch;
    if (!directory[0])
        return false;
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++) {
        if (!pl_path_live(process, directory, i, path, PL_PATH_MAX))
            return false;
        r = pl_file_create(&process->opening, path, pl_config.max_file_bytes);
    }
    return r == 0;
}

static bool create_at_destination(struct pl_process *process)
{
    long r = -EEXIST;
    char *path = process->scratch;
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++) {
        if (!pl_path_final(process, i, path, PL_PATH_MAX))
            return false;
        r = pl_file_create(&process->opening, path, pl_config.max_file_bytes);
    }
    if (r == 0)
        pl_copy(process->destination, path, pl_text_bytes(path) + 1);
    return r == 0;
}

/* On tmpfs while the program lives: stores into a mapped disk file can wait for the disk. */
static bool create(struct pl_process *process)
{
    if (pl_config.run_dir[0])
        return create_in(process, pl_config.run_dir);
    if (pl_config.live_dir[0] && !pl_text_same(pl_config.live_dir, "."))
        return create_in(process, pl_config.live_dir);
    return (!pl_config.live_dir[0] && (create_in(process, "/dev/shm") || create_in(process, pl_config.runtime_dir))) ||
           create_at_destination(process);
}

static void write_overflow_site(struct pl_file *file)
{
    void *at;
    if (pl_file_append(file, PL_KIND_SITE, &at) == PL_SITE_OVERFLOW)
        store_release(&((struct pl_site *) at)->valid, 1);
}

/* From here on it is a profile, whatever kills the program: what every profile has is in it. */
static void sign(struct pl_file *file)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    pl_copy(pl_file_header(file)->magic, PL_MAGIC, sizeof PL_MAGIC - 1);
}

/* Other threads see the file all at once, when its first records are in their places. */
static void publish(struct pl_process *process)
{
    struct pl_file *file = &process->file;
    uint8_t *base = process->opening.base;
    process->opening.base = NULL;
    pl_copy(file, &process->opening, sizeof *file);
    pl_file_base = base;
    store_release(&file->base, base);
}

bool pl_process_open(struct pl_process *process)
{
    struct pl_file *file = &process->opening;
    if (load_acquire(&process->file.base))
        return true;
    if (process->file_failed || process->sandboxed)
        return false;
    process->file_failed = true; /* one try; also keeps a second thread out */
    bool named = pl_path_destination(process, pl_config.out, process->destination, sizeof process->destination);
    if (!named || !create(process)) {
        store_release(&process->state, PL_PROCESS_IGNORED);
        return false;
    }
    describe(process, file);
    pl_modules_start(file);
    write_overflow_site(file);
    sign(file);
    publish(process);
    pl_process_obey(process);
    return true;
}

/* ---- control ---- */

bool pl_process_overruled(const struct pl_process *process)
{
    if (!process->file.base)
        return pl_config.off || pl_config.wanted_bytes;
    const struct pl_control *control = &pl_file_header(&process->file)->control;
    return load_relaxed(&control->interval_bytes) || load_relaxed(&control->off);
}

uint64_t pl_process_interval(const struct pl_process *process)
{
    if (!process->file.base)
        return pl_config.off ? 0 : pl_config.wanted_bytes ? pl_config.wanted_bytes : process->interval_bytes;
    const struct pl_control *control = &pl_file_header(&process->file)->control;
    uint64_t wanted = load_relaxed(&control->interval_bytes);
    if (load_relaxed(&control->off))
        return 0;
    return wanted >= PL_SAMPLE_MIN && wanted <= PL_SAMPLE_MAX ? wanted : load_relaxed(&process->interval_bytes);
}

/* What is live, and the peak, is from now on that of what is allocated from now on. */
static void begin_anew(struct pl_process *process, struct pl_header *header)
{
    uint32_t resets;
    if (!process->sandboxed)
        store_relaxed(&header->reset_ns, pl_sys_clock_ns(CLOCK_MONOTONIC));
    store_relaxed(&process->totals.live_bytes, 0);
    store_relaxed(&process->totals.live_objects, 0);
    store_relaxed(&process->peak_bytes, 0);
    store_relaxed(&process->sampled, 0);
    store_relaxed(&header->peak.bytes, 0);
    store_relaxed(&header->peak.units, pl_timeline_now(process));
    do { /* of several threads that come at once, the last has the last word */
        resets = load_acquire(&process->resets);
        store_release(&header->resets, resets);
    } while (resets != load_acquire(&process->resets));
    fetch_add(&process->changes, 1);
}

static void obey_reset(struct pl_process *process)
{
    struct pl_header *header = pl_file_header(&process->file);
    uint32_t seen = load_relaxed(&process->resets), wanted = load_relaxed(&header->control.reset);
    if (unlikely(seen != wanted) && swap_if(&process->resets, seen, wanted))
        begin_anew(process, header);
}

void pl_process_obey(struct pl_process *process)
{
    if (process->file.base)
        obey_reset(process);
    bool all = pl_config.mode != PL_MODE_SAMPLED && process->budget.exact && process->file.base &&
               load_relaxed(&process->state) == PL_PROCESS_ON && !pl_process_overruled(process);
    if (process->file.base && load_relaxed(&pl_file_header(&process->file)->control.interval_bytes))
        store_relaxed(&process->sampled, 1);
    uint32_t how = load_acquire(&process->exiting) ? PL_COUNT_EXITING : PL_COUNT_ALL;
    uint32_t counting = all ? load_relaxed(&process->changes) << PL_TICKET_SHIFT | how : PL_COUNT_NOTHING;
    uint32_t before = load_relaxed(&process->counting);
    if (before == counting)
        return;
    if (!before || !counting)
        store_relaxed(&process->left_exact, pl_clock());
    store_release(&process->counting, counting);
}

void pl_process_changed(struct pl_process *process)
{
    fetch_add(&process->changes, 1);
    pl_process_obey(process);
}

void pl_process_reset(struct pl_process *process)
{
    if (!process->file.base)
        return;
    fetch_add(&pl_file_header(&process->file)->control.reset, 1);
    pl_process_obey(process);
}

/* ---- start ---- */

static void read_link(const char *path, char *to)
{
    long n = pl_sys_readlink(path, to, PL_PATH_MAX - 1);
    to[n > 0 ? n : 0] = 0;
}

static const char *last_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

static void cut_name(char to[16], const char *name)
{
    size_t n = pl_text_bytes(name);
    pl_copy(to, name, n < 15 ? n : 15);
    to[n < 15 ? n : 15] = 0;
}

/* The path that the kernel has for a file, as it would for an executable: no links in it. */
static void read_path(const char *path, char *to, char *scratch)
{
    struct pl_line link = pl_line_in(scratch, PL_PATH_MAX);
    long fd = pl_sys_open(path, O_PATH | O_CLOEXEC, 0);
    to[0] = 0;
    if (fd < 0)
        return;
    pl_line_text(&link, "/proc/self/fd/");
    pl_line_number(&link, (uint64_t) fd);
    read_link(scratch, to);
    pl_sys_close((int) fd);
}

static bool is_loader(const char *name)
{
    return name[0] == 'l' && name[1] == 'd' && (name[2] == '-' || name[2] == '.');
}

/* NULL: the kernel knows. */
static struct pl_behind *keep_program(const char *comm, char *scratch)
{
    struct pl_program program;
    struct pl_behind *behind = NULL;
    if (pl_front.program && pl_front.program(&program))
        behind = pl_memory_kept(pl_memory_pages(sizeof *behind));
    if (!behind)
        return NULL;
    for (char *const *word = program.arguments; *word; word++)
        for (const char *c = *word; behind->command_bytes < sizeof behind->command; c++)
            if (!(behind->command[behind->command_bytes++] = *c))
                break;
    read_path(program.path, behind->program, scratch);
    cut_name(behind->name, last_name(program.path));
    if (is_loader(comm))
        pl_copy(behind->loader, comm, sizeof behind->loader);
    return behind;
}

/* The program's name, where the kernel has its loader's. */
static void correct_name(char name[16])
{
    const struct pl_behind *behind = pl_config.behind;
    if (unlikely(behind != NULL) && behind->loader[0] && pl_text_same(name, behind->loader))
        pl_copy(name, behind->name, sizeof behind->name);
}

static void find_executable(struct pl_process *process)
{
    if (pl_config.behind)
        pl_copy(process->executable, pl_config.behind->program, sizeof process->executable);
    else
        read_link("/proc/self/exe", process->executable);
}

void pl_process_thread_name(char name[16])
{
    pl_sys_thread_name(name);
    correct_name(name);
}

/* Both clocks at one moment: whoever is preempted between the two tries again. */
void pl_process_read_clocks(struct pl_process *process)
{
    for (int i = 0; i < CLOCK_TRIES; i++) {
        process->start_ticks = pl_clock();
        process->start_ns = pl_sys_clock_ns(CLOCK_MONOTONIC);
        if (pl_clock() - process->start_ticks < PL_TICKS_AT_ONCE)
            return;
    }
}

static enum pl_process_state start(struct pl_process *process)
{
    if (pl_memory_frozen)
        return PL_PROCESS_IGNORED; /* forked in a sandbox */
    process->forked = pl_config.ready;
    if (!pl_config.ready) {
        if (pl_front.unwanted())
            return PL_PROCESS_IGNORED;
        char **environment = pl_front.environment();
        if (!environment)
            return PL_PROCESS_NEW; /* too early: libc has not seen its environment yet */
        pl_config_read(&pl_config, environment, pl_front.mode ? pl_front.mode : PL_MODE_AUTO);
        if (pl_front.configure)
            pl_front.configure(&pl_config);
        if (pl_config.mode == PL_MODE_SAMPLED && !pl_config.interval_bytes)
            pl_config.interval_bytes = PL_SAMPLE_USUAL;
        if (pl_sys_getcwd(pl_config.directory, sizeof pl_config.directory) <= 0)
            pl_config.directory[0] = 0;
    }
    pl_memory_wipe_on_fork(&wiped, sizeof wiped);
    pl_memory_wipe_on_fork(pl_filter, sizeof pl_filter);
    if (pl_front.started)
        pl_front.started();
    pl_file_abandon();
    if (!pl_tls.visiting) /* a visit that goes on in the child may be about to write to one */
        pl_block_abandon();
    pl_sys_thread_name(process->comm);
    if (!process->forked)
        pl_config.behind = keep_program(process->comm, process->scratch);
    correct_name(process->comm);
    if (!pl_config_chooses(&pl_config, process->comm))
        return PL_PROCESS_IGNORED;
    process->pid = pl_sys_getpid();
    if (pl_sys_clock_is_forbidden())
        store_relaxed(&pl_clock_stopped, 1);
    pl_process_read_clocks(process);
    process->seed = draw_seed(process);
    process->interval_bytes = pl_config.interval_bytes ? pl_config.interval_bytes : PL_SAMPLE_USUAL;
    process->timeline.shift = PL_TIMELINE_SHIFT_FIRST;
    process->changes = 1; /* a new thread has seen none */
    process->size_from = pl_config.size_from;
    process->size_to = pl_config.size_to;
    pl_budget_start(&process->budget, pl_config.overhead_ppm, PL_AUTO_CREDIT_NS);
    find_executable(process);
    return PL_PROCESS_ON;
}

/* Another thread says the last words. What it copies is not to change meanwhile; and should this thread want to end the
 * process too, the profile would be lost on its way. When they are said nothing is recorded any more: threads that go
 * on allocating are held back a little, so that the profile holds what they did, should the process be gone by then. */
static void wait_for_ender(struct pl_process *process)
{
    for (int i = 0; i < ENDER_DOZES; i++) {
        uintptr_t ender = load_acquire(&process->ender);
        if (!ender || ender == pl_thread_pointer()) /* called off; or it is us, in a handler or on the way out */
            return;
        if (load_acquire(&process->ended) && fetch_add(&process->lingered, 1) >= LINGER_DOZES)
            return;
        pl_sys_doze(1000000);
    }
}

bool pl_process_start(struct pl_process *process)
{
    if (!swap_if(&process->state, PL_PROCESS_NEW, PL_PROCESS_STARTING)) {
        if (load_acquire(&process->state) == PL_PROCESS_ENDING)
            wait_for_ender(process);
        return load_acquire(&process->state) == PL_PROCESS_ON;
    }
    struct pl_fp_state fp;
    pl_fp_enter(&fp);
    enum pl_process_state state = start(process);
    store_release(&process->state, state);
    bool on = state == PL_PROCESS_ON && (process->forked || pl_process_open(process));
    pl_fp_leave(&fp);
    return on;
}

void pl_process_forked(struct pl_process *process, struct pl_tls *tls)
{
    if (!pl_config.ready)
        return;
    bool known = process->state != PL_PROCESS_NEW && process->pid == pl_sys_getpid();
    if (known && pl_thread_mine(tls)) /* another's handler allocated before ours was called */
        return;
    if (process->state != PL_PROCESS_NEW && !known) {
        /* A kernel that does not know MADV_WIPEONFORK: start over by hand. */
        for (size_t i = 0; i < sizeof wiped.pages; i++)
            wiped.pages[i] = 0;
        for (size_t i = 0; i < sizeof pl_filter; i++)
            pl_filter[i] = 0;
    }
    if (tls->visiting) /* a handler has forked: its thread goes on with what it was about to write to the parent's file
                        */
        pl_file_detach();
    *tls = (struct pl_tls){
        .goodbyes = tls->goodbyes,
        .visiting = tls->visiting,
        .tag = tls->tag,
        .beyond = tls->beyond,
        .paused = tls->paused,
        .front = tls->front,
    };
}

/* ---- changes ---- */

/* What will be wanted inside and cannot be had there: a file with room in it, tables, blocks for new threads. */
static void stock_up(struct pl_process *process)
{
    if (!pl_process_open(process))
        return;
    pl_thread_register(process, &pl_tls);
    pl_thread_spare(process, SANDBOX_THREADS);
    pl_map_reserve(&process->map, SANDBOX_LEVELS);
    pl_live_reserve(&process->live, SANDBOX_LEVELS);
    if (process->counting && process->blocks.granule_shift)
        pl_block_reserve(&process->blocks);
    pl_cold_bring_up_to_date(process, true);
    pl_file_reserve(&process->file, SANDBOX_FILE_BYTES);
}

static void confine(struct pl_process *process, bool inside)
{
    store_relaxed(&pl_memory_frozen, inside);
    store_relaxed(&process->sandboxed, inside);
    pl_file_freeze(&process->file, inside);
    for (struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        t->walk.may_probe = !inside;
    uint32_t *flags = process->file.base ? &pl_file_header(&process->file)->flags : NULL;
    if (flags && inside)
        __atomic_fetch_or(flags, PL_FLAG_SANDBOXED, __ATOMIC_RELAXED);
    else if (flags)
        __atomic_fetch_and(flags, ~PL_FLAG_SANDBOXED, __ATOMIC_RELAXED);
}

bool pl_process_sandbox(struct pl_process *process)
{
    if (load_relaxed(&pl_memory_frozen))
        return false;
    bool on = pl_process_start(process);
    if (on && process->pid != pl_sys_getpid()) /* a vfork child, which has our memory and not our fate */
        return false;
    if (on)
        stock_up(process);
    confine(process, true);
    return true;
}

void pl_process_sandbox_refused(struct pl_process *process)
{
    confine(process, false);
}

void pl_process_unloaded(struct pl_process *process)
{
    fetch_add(&process->generation, 1);
    pl_unwind_forget();
    if (process->file.base)
        fetch_add(&pl_file_header(&process->file)->unloads, 1);
}

/* ---- the end ---- */

/* `run` collects the files in its directory as long as its mark is there. */
static bool will_be_collected(struct pl_process *process)
{
    struct pl_line line = pl_line_in(process->scratch, PL_PATH_MAX);
    if (!pl_config.run_dir[0])
        return false;
    pl_line_text(&line, pl_config.run_dir);
    pl_line_text(&line, "/.owner");
    return pl_sys_access(process->scratch, 0) == 0;
}

static bool has_destination(const struct pl_process *process)
{
    return pl_file_header(&process->file)->destination.bytes != 0;
}

/* The copy has nowhere else to go. */
static void settle_down(struct pl_header *header)
{
    header->destination = (struct pl_text){0, 0};
}

/* Leaves the path of the copy in process->scratch. */
static bool copy_to_destination(struct pl_process *process)
{
    long r = -EEXIST;
    struct pl_header *room = (struct pl_header *) (void *) (process->scratch + PL_PATH_MAX);
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++)
        if (!pl_path_final(process, i, process->scratch, PL_PATH_MAX))
            return false;
        else
            r = pl_file_copy(&process->file, process->scratch, room, settle_down);
    return r == 0;
}

/* Visits wait from now on, but for those that began before. They get a little time to end: a thread that is stopped, or
 * was thrown out of a visit, does not keep us. */
static void let_visits_end(const struct pl_process *process)
{
    int dozes = VISIT_DOZES;
    for (const struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        while (t != pl_tls.thread && load_acquire(&t->busy) && dozes-- > 0)
            pl_sys_doze(100000);
}

/* True when it is for the caller to say the last words. A vfork child shares our memory: it must not end us. */
static bool begin_end(struct pl_process *process)
{
    if (!process->file.base || process->pid != pl_sys_getpid())
        return false;
    if (process->state != PL_PROCESS_ON || !swap_if(&process->ender, 0, pl_thread_pointer())) {
        wait_for_ender(process);
        return false;
    }
    store_release(&process->state, PL_PROCESS_ENDING);
    store_release(&process->counting, PL_COUNT_NOTHING);
    let_visits_end(process);
    return true;
}

void pl_process_exiting(struct pl_process *process)
{
    if (process->state != PL_PROCESS_ON || (!process->sandboxed && process->pid != pl_sys_getpid()))
        return;
    if (exchange(&process->exiting, 1u))
        return;
    if (process->file.base && !process->sandboxed)
        pl_file_header(&process->file)->exit_ns = pl_sys_clock_ns(CLOCK_MONOTONIC);
    pl_process_obey(process);
}

static void last_words(struct pl_process *process, enum pl_end how, int exit_status)
{
    struct pl_header *header = pl_file_header(&process->file);
    if (pl_thread_mine(&pl_tls))
        pl_live_tell(process, pl_tls.thread);
    pl_timeline_take(process, pl_timeline_now(process), true);
    pl_budget_end(process);
    if (!process->sandboxed) {
        pl_thread_book_all(process);
        header->end_monotonic_ns = pl_sys_clock_ns(CLOCK_MONOTONIC);
    } else if (pl_tls.thread) {
        pl_thread_book(process, pl_tls.thread, &pl_tls);
    }
    header->exit_status = (uint32_t) exit_status;
    store_release(&header->end, (uint32_t) how);
}

/* To its destination, unless `plimsoll run` is there to do it. */
static bool move(struct pl_process *process)
{
    bool unwanted = pl_file_header(&process->file)->flags & PL_FLAG_NO_OUTPUT;
    if (process->adrift || (unwanted && !will_be_collected(process)))
        pl_sys_unlink(process->file.path);
    if (unwanted || !has_destination(process) || will_be_collected(process) || !copy_to_destination(process))
        return false;
    if (!process->adrift)
        pl_sys_unlink(process->file.path);
    return true;
}

void pl_process_end(struct pl_process *process, enum pl_end how, int exit_status)
{
    if (load_relaxed(&process->sandboxed)) {
        if (process->state == PL_PROCESS_ON && process->file.base &&
            (how == PL_END_EXIT || pl_file_header(&process->file)->end != PL_END_EXIT)) /* on its way out: _exit */
            last_words(process, how, exit_status);
        return;
    }
    if (!begin_end(process))
        return;
    last_words(process, how, exit_status);
    if (pl_front.ending)
        pl_front.ending(process);
    move(process);
    store_release(&process->ended, 1);
}

/* Shells fork for every command: what a child does between fork and exec is hardly ever of interest. */
static bool is_trifle(const struct pl_process *process)
{
    return process->forked && load_relaxed(&process->totals.calls) < TRIFLE_CALLS && !process->adrift;
}

bool pl_process_exec(struct pl_process *process, const char *path)
{
    if (!process->file.base || load_relaxed(&pl_memory_frozen) || (path && pl_sys_access(path, 1 /* X_OK */) != 0) ||
        !begin_end(process))
        return false;
    last_words(process, PL_END_EXEC, 0);
    if (is_trifle(process)) {
        pl_sys_unlink(process->file.path);
        return false;
    }
    return move(process);
}

void pl_process_exec_failed(struct pl_process *process, bool copied)
{
    if (load_relaxed(&process->ender) != pl_thread_pointer() || process->pid != pl_sys_getpid())
        return;
    pl_file_header(&process->file)->end = PL_END_NONE;
    pl_file_header(&process->file)->end_monotonic_ns = 0;
    if (copied) {
        pl_copy(process->file.path, process->scratch, pl_text_bytes(process->scratch) + 1);
        process->adrift = true;
    }
    store_release(&process->ender, 0);
    store_release(&process->state, PL_PROCESS_ON);
    pl_process_obey(process);
}
