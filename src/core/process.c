/* SPDX-License-Identifier: MIT */
/* process.c - see process.h. */
#include "core/process.h"

#include <errno.h>

#include "core/arch.h"
#include "core/blocks/filter.h"
#include "core/clock.h"
#include "core/cold.h"
#include "core/control.h"
#include "core/hash.h"
#include "core/look.h"
#include "core/memory.h"
#include "core/pools.h"
#include "core/python/python.h"
#include "core/records/eras.h"
#include "core/records/paths.h"
#include "core/records/rows.h"
#include "core/records/tags.h"
#include "core/records/tallies.h"
#include "core/text.h"
#include "format/settings.h"

#define ATTEMPTS 100
#define CLOCK_TRIES 8
#define VISIT_DOZES 200   /* of 0.1 ms each */
#define ENDER_DOZES 1000  /* of 1 ms each */
#define LINGER_DOZES 50   /* of 1 ms each, for all threads together */
#define TRIFLE_CALLS 1000 /* a forked child that makes fewer calls before exec leaves no profile */

struct pl_process pl_process[1];
struct pl_program pl_program;
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

/* Field 22 of /proc/self/stat. Counted from the last ')', which ends the command: the command may contain any bytes. */
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

/* Not wiped by fork. */
static struct bypass {
    uint32_t state; /* 0 none, 1 being written, 2 complete */
    uint32_t bytes;
    char module[256];
} bypasses[PL_BYPASS_COUNT];

static void describe_bypass(struct pl_file *file, enum pl_bypass how)
{
    const struct bypass *bypass = &bypasses[how];
    if (load_acquire(&bypass->state) == 2)
        pl_file_header(file)->bypass[how] = pl_file_text(file, bypass->module, bypass->bytes);
}

/* Inside a visit, because writing a text may lock the file. */
void pl_process_bypassed(struct pl_process *process, enum pl_bypass how, const char *module)
{
    struct bypass *bypass = &bypasses[how];
    size_t bytes = pl_text_bytes(module);
    if (load_relaxed(&bypass->state) || !swap_if(&bypass->state, 0, 1))
        return;
    bypass->bytes = (uint32_t) (bytes < sizeof bypass->module ? bytes : sizeof bypass->module);
    pl_memory_copy(bypass->module, module, bypass->bytes);
    store_release(&bypass->state, 2);
    struct pl_thread *thread = pl_cold_begin(process, &pl_tls);
    if (thread && process->file.base)
        describe_bypass(&process->file, how);
    if (thread)
        pl_cold_end(process, thread, &pl_tls);
}

/* The name of the process is that of its first thread. `plimsoll attach` and dlopen() may start us in any. */
static void find_name(struct pl_process *process)
{
    char *name = process->comm, *line = process->scratch;
    pl_sys_thread_name(name);
    long n = pl_sys_gettid() == pl_sys_getpid() ? 0 : read_file("/proc/self/comm", line, sizeof process->comm);
    if (n <= 1)
        return;
    line[n - 1] = 0; /* ends with a newline */
    pl_memory_copy(name, line, (size_t) n);
}

/* argv, each word followed by a zero. */
static long read_command(char *to, size_t bytes)
{
    const struct pl_behind *behind = pl_config.behind;
    if (!behind)
        return read_file("/proc/self/cmdline", to, bytes);
    pl_memory_copy(to, behind->command, behind->command_bytes);
    return behind->command_bytes;
}

static void describe_command(struct pl_process *process, struct pl_file *file, struct pl_header *header)
{
    char *scratch = process->scratch;
    const struct pl_program *program = &pl_program;
    if (program->command_bytes == sizeof program->command)
        header->flags |= PL_FLAG_CUT_COMMAND;
    if (program->command_bytes)
        header->command = pl_file_text(file, program->command, program->command_bytes);
    header->executable = pl_file_text(file, pl_program.path, pl_text_bytes(pl_program.path));
    long n = pl_sys_getcwd(scratch, PL_PATH_MAX);
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
    pl_meter_describe(process, header);
    header->control.off = pl_config.off;
    header->control.interval_bytes = pl_config.wanted_bytes;
    header->steerable = 1;
    header->blocks_layout = PL_BLOCKS_LAYOUT;
    header->blocks_at = (uintptr_t) &process->blocks;
    header->live_layout = PL_LIVE_LAYOUT;
    header->live_at = (uintptr_t) &process->live;
    header->size_from = process->size_from;
    header->size_to = process->size_to;
    pl_memory_copy(header->comm, process->comm, sizeof header->comm);
    describe_command(process, file, header);
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        describe_bypass(file, how);
    if (pl_front.describe)
        pl_front.describe(header);
}

/* ---- the file ---- */

/* Names with small numbers first. A process that replaces itself by exec again and again uses them up. */
static unsigned attempt(unsigned i)
{
    return i < ATTEMPTS - 1 ? i : (unsigned) pl_sys_clock_ns(CLOCK_REALTIME);
}

static bool create_in(struct pl_process *process, const char *directory)
{
    long r = -EEXIST;
    char *path = process->scratch;
    if (!directory[0])
        return false;
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++) {
        if (!pl_path_live(process, directory, attempt(i), path, PL_PATH_MAX))
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
        if (!pl_path_final(process, attempt(i), path, PL_PATH_MAX))
            return false;
        r = pl_file_create(&process->opening, path, pl_config.max_file_bytes);
    }
    if (r == 0)
        pl_memory_copy(process->destination, path, pl_text_bytes(path) + 1);
    return r == 0;
}

/* Leads `plimsoll run`, which looks in its directory, to a profile that found no room there. A short link needs none.
 */
static void leave_link(struct pl_process *process)
{
    long r = -EEXIST;
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++)
        if (pl_path_live(process, pl_config.run_dir, attempt(i), process->scratch, PL_PATH_MAX))
            r = pl_sys_symlink(process->opening.path, process->scratch);
}

static bool create_aside(struct pl_process *process)
{
    long r = -EEXIST;
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++) {
        if (!pl_path_aside(process, attempt(i), process->scratch, PL_PATH_MAX))
            return false;
        r = pl_file_create(&process->opening, process->scratch, pl_config.max_file_bytes);
    }
    if (r == 0)
        leave_link(process);
    return r == 0;
}

static bool has_small_shm(void)
{
    static struct statfs space; /* static, because the stack may be small */
    return pl_sys_statfs(PL_SHM, &space) == 0 && space.f_blocks &&
           (uint64_t) space.f_blocks * (uint64_t) space.f_bsize < PL_SHM_SMALL;
}

/* A number in this file, and not one that stands for "no limit"? */
static bool has_limit(const char *path, char *scratch)
{
    long n = read_file(path, scratch, 32);
    scratch[n > 0 ? n : 0] = 0;
    const char *at = scratch;
    return *at >= '0' && *at <= '9' && pl_text_take_number(&at) < PL_MEMORY_NO_LIMIT;
}

/* /dev/shm disappears with its container, is small there, and counts towards the memory limit. Asked once, when the
 * program starts; `plimsoll run` asks more closely (cli/run/place.c) and tells us by PLIMSOLL_RUN. */
static bool belongs_on_disk(char *scratch)
{
    if (pl_config.run_dir[0] || pl_config.live_dir[0])
        return false;
    return pl_config.contained || pl_sys_access("/.dockerenv", 0) == 0 || pl_sys_access("/run/.containerenv", 0) == 0 ||
           has_small_shm() || has_limit("/sys/fs/cgroup/memory.max", scratch) ||
           has_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes", scratch);
}

static bool create_live(struct pl_process *process)
{
    if (pl_config.run_dir[0])
        return create_in(process, pl_config.run_dir);
    if (pl_config.live_dir[0])
        return !pl_text_same(pl_config.live_dir, ".") && create_in(process, pl_config.live_dir);
    return create_in(process, PL_SHM) || create_in(process, pl_config.runtime_dir);
}

/* On tmpfs while the program runs: stores into a mapped file on disk can wait for the disk. If there is no room, or in
 * a container, on disk. */
static bool create(struct pl_process *process)
{
    if (pl_config.on_disk && create_at_destination(process))
        return true;
    return create_live(process) || (pl_config.run_dir[0] ? create_aside(process) : create_at_destination(process));
}

static void read_link(const char *path, char *to)
{
    long n = pl_sys_readlink(path, to, PL_PATH_MAX - 1);
    to[n > 0 ? n : 0] = 0;
}

/* A link that a killed process has left, and whose profile is gone? */
static bool is_stale(const char *path, char *scratch)
{
    read_link(path, scratch);
    return pl_path_is_live(scratch) && pl_sys_access(scratch, 0) == -ENOENT;
}

/* If PLIMSOLL_OUT has no %, several processes have the same destination. The first one that starts gets it: it puts a
 * link there, to its live file, which the profile replaces at the end. */
static void claim_destination(struct pl_process *process)
{
    const char *live = process->opening.path, *wanted = process->destination;
    if (pl_config.run_dir[0] || pl_path_is_pattern(pl_config.out) || pl_text_same(live, wanted))
        return;
    long r = pl_sys_symlink(live, wanted);
    if (r == -EEXIST && is_stale(wanted, process->scratch)) {
        pl_sys_unlink(wanted);
        r = pl_sys_symlink(live, wanted);
    }
    process->claimed = r == 0;
}

/* Removes the link, unless somebody has put something else there. */
static void give_up_claim(struct pl_process *process)
{
    if (!process->claimed)
        return;
    process->claimed = false;
    read_link(process->destination, process->scratch);
    if (pl_text_same(process->scratch, process->file.path))
        pl_sys_unlink(process->destination);
}

static void write_overflow_site(struct pl_file *file)
{
    void *at;
    if (pl_file_append(file, PL_KIND_SITE, &at) == PL_SITE_OVERFLOW)
        store_release(&((struct pl_site *) at)->valid, 1);
}

/* The magic comes last: from here on the file is a valid profile, even if the program is killed. */
static void sign(struct pl_file *file)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    pl_memory_copy(pl_file_header(file)->magic, PL_MAGIC, sizeof PL_MAGIC - 1);
}

/* Other threads see the file only when it is complete. */
static void publish(struct pl_process *process)
{
    struct pl_file *file = &process->file;
    uint8_t *base = process->opening.base;
    process->opening.base = NULL;
    pl_memory_copy(file, &process->opening, sizeof *file);
    store_release(&pl_file_base, base);
    store_release(&file->base, base);
}

bool pl_process_open(struct pl_process *process)
{
    struct pl_file *file = &process->opening;
    if (load_acquire(&process->file.base))
        return true;
    if (process->file_failed || process->sandboxed)
        return false;
    process->file_failed = true; /* one attempt only; also keeps other threads out */
    bool named = pl_path_destination(process, pl_config.out, process->destination, sizeof process->destination);
    if (!named || !create(process)) {
        store_release(&process->state, PL_PROCESS_IGNORED);
        return false;
    }
    claim_destination(process);
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

/* A reset: from now on live figures and the peak only include blocks that are allocated from now on. */
static void begin_reset(struct pl_process *process, struct pl_header *header)
{
    uint32_t resets;
    if (!process->sandboxed)
        store_relaxed(&header->reset_ns, pl_sys_clock_ns(CLOCK_MONOTONIC));
    store_relaxed(&process->totals.live_bytes, 0);
    store_relaxed(&process->totals.live_objects, 0);
    store_relaxed(&process->peak_bytes, 0);
    store_relaxed(&process->sampled, 0);
    store_relaxed(&header->steered_max, 0);
    store_relaxed(&header->peak.bytes, 0);
    for (unsigned i = 0; i < PL_HALVES; i++) {
        store_relaxed(&header->half[i].more, 0);
        store_relaxed(&header->half[i].peak, 0);
        store_relaxed(&header->half[i].other, 0);
    }
    for (unsigned i = 0; i < PL_SIZE_BUCKETS; i++) {
        store_relaxed(&process->gone[i].blocks, 0);
        store_relaxed(&process->gone[i].bytes, 0);
    }
    store_relaxed(&header->peak.units, pl_timeline_now(process));
    do { /* several threads may be here: the header must end up with the latest value */
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
        begin_reset(process, header);
}

void pl_process_obey(struct pl_process *process)
{
    if (process->file.base)
        obey_reset(process);
    bool all = pl_config.mode != PL_MODE_SAMPLED && process->budget.exact && process->file.base &&
               load_relaxed(&process->state) == PL_PROCESS_ON && !pl_process_overruled(process);
    uint64_t wanted = process->file.base ? load_relaxed(&pl_file_header(&process->file)->control.interval_bytes) : 0;
    if (unlikely(wanted))
        pl_control_sampled(process, wanted);
    uint32_t how = load_acquire(&process->exiting) ? PL_COUNT_EXITING : PL_COUNT_ALL;
    uint32_t counting = all ? load_relaxed(&process->changes) << PL_COUNT_BITS | how : PL_COUNT_NOTHING;
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
    pl_memory_copy(to, name, n < 15 ? n : 15);
    to[n < 15 ? n : 15] = 0;
}

/* The path of a file as the kernel has it, without symbolic links, like /proc/self/exe. */
static void read_path(const char *path, char *to, char *scratch)
{
    struct pl_text_line link = pl_text_line_in(scratch, PL_PATH_MAX);
    long fd = pl_sys_open(path, O_PATH | O_CLOEXEC, 0);
    to[0] = 0;
    if (fd < 0)
        return;
    pl_text_line_text(&link, "/proc/self/fd/");
    pl_text_line_number(&link, (uint64_t) fd);
    read_link(scratch, to);
    pl_sys_close((int) fd);
}

static bool is_loader(const char *name)
{
    return name[0] == 'l' && name[1] == 'd' && (name[2] == '-' || name[2] == '.');
}

/* NULL: the program was not started through its loader. */
static struct pl_behind *keep_program(const char *comm, char *scratch)
{
    struct pl_process_program program;
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
        pl_memory_copy(behind->loader, comm, sizeof behind->loader);
    return behind;
}

/* Replaces the loader's name by the program's. */
static void correct_name(char name[16])
{
    const struct pl_behind *behind = pl_config.behind;
    if (unlikely(behind != NULL) && behind->loader[0] && pl_text_same(name, behind->loader))
        pl_memory_copy(name, behind->name, sizeof behind->name);
}

/* A forked child has the same, and looks for nothing in /proc that it can do without: only if its parent, by its name,
 * was not to be profiled, it is the first to ask. */
static void find_program(const struct pl_process *process)
{
    struct pl_program *program = &pl_program;
    if (process->forked && program->path[0])
        return;
    if (pl_config.behind)
        pl_memory_copy(program->path, pl_config.behind->program, sizeof program->path);
    else
        read_link("/proc/self/exe", program->path);
    long n = read_command(program->command, sizeof program->command);
    program->command_bytes = n > 0 ? (uint32_t) n : 0;
}

void pl_process_thread_name(char name[16])
{
    pl_sys_thread_name(name);
    correct_name(name);
}

/* Reads both clocks at the same time: if the thread was preempted in between, reads them again. */
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
    if (process->forked)
        pl_rule_put_aside();
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
        pl_unwind_prepare();
        pl_config.on_disk = belongs_on_disk(process->scratch);
    }
    bool visiting =
        pl_thread_is_visiting(&pl_tls); /* a handler forked in a visit, which may go on to write to tables */
    if (process->forked) {
        pl_memory_forked(visiting);
    } else {
        pl_memory_wipe_on_fork(pl_process, sizeof pl_process);
        pl_memory_wipe_on_fork(pl_filter, sizeof pl_filter);
    }
    if (pl_front.started)
        pl_front.started();
    if (!visiting)
        pl_block_abandon();
    find_name(process);
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
    process->changes = 1; /* not 0: a new thread must catch up */
    process->size_from = pl_config.size_from;
    process->size_to = pl_config.size_to;
    pl_budget_start(&process->budget, pl_config.overhead_ppm, 1000000ull * pl_config.credit_ms);
    find_program(process);
    return PL_PROCESS_ON;
}

/* Another thread is writing the final figures and moving the file. Wait for it, for two reasons: the file must not
 * change while it is copied, and if this thread ended the process meanwhile, the profile would be lost. Once `ended` is
 * set nothing is recorded any more. Threads that still allocate are then delayed a little, 50 ms in all, in the hope
 * that the process is gone by then and nothing is missing from the profile. */
static void wait_for_ender(struct pl_process *process)
{
    for (int i = 0; i < ENDER_DOZES; i++) {
        uintptr_t ender = load_acquire(&process->ender);
        if (!ender || ender == pl_arch_thread_pointer()) /* an exec failed; or we are the ender, perhaps in a handler */
            return;
        if (load_acquire(&process->ended) && fetch_add(&process->lingered, 1) >= LINGER_DOZES)
            return;
        pl_sys_doze(1000000);
    }
}

static bool open_measured(struct pl_process *process)
{
    uint64_t began = pl_meter_begin(process);
    bool open = pl_process_open(process);
    pl_meter_aside(process, began);
    return open;
}

bool pl_process_start(struct pl_process *process)
{
    if (!swap_if(&process->state, PL_PROCESS_NEW, PL_PROCESS_STARTING)) {
        if (load_acquire(&process->state) == PL_PROCESS_ENDING)
            wait_for_ender(process);
        return load_acquire(&process->state) == PL_PROCESS_ON;
    }
    struct pl_arch_fp_state fp;
    pl_arch_fp_enter(&fp);
    enum pl_process_state state = start(process);
    store_release(&process->state, state);
    bool on = state == PL_PROCESS_ON && (process->forked || open_measured(process));
    pl_arch_fp_leave(&fp);
    return on;
}

/* The core may not call libc's memset(). */
static void clear(void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((volatile uint8_t *) at)[i] = 0;
}

void pl_process_forked(struct pl_process *process, struct pl_tls *tls)
{
    if (!pl_config.ready)
        return;
    bool known = process->state != PL_PROCESS_NEW && process->pid == pl_sys_getpid();
    if (known && pl_thread_mine(tls)) /* another library's fork handler allocated before ours was called */
        return;
    if (process->state != PL_PROCESS_NEW && !known) {
        /* A kernel without MADV_WIPEONFORK: wipe by hand. */
        clear(pl_process, sizeof pl_process);
        clear(pl_filter, sizeof pl_filter);
    }
    bool visiting = pl_thread_is_visiting(tls);
    if (visiting) /* a signal handler forked in a visit, which will go on and write to the parent's file */
        pl_file_detach();
    *tls = (struct pl_tls){
        .goodbyes = tls->goodbyes,
        .ticket = visiting ? PL_TICKET_VISITING : 0,
        .tag = tls->tag,
        .beyond = tls->beyond,
        .paused = tls->paused,
        .front = tls->front,
    };
}

/* ---- changes ---- */

void pl_process_unloaded(struct pl_process *process)
{
    uint64_t began = pl_meter_begin(process);
    fetch_add(&process->generation, 1);
    pl_rule_forget();
    pl_python_suspend(); /* until a stack leads into the interpreter again */
    if (process->file.base)
        fetch_add(&pl_file_header(&process->file)->unloads, 1);
    pl_meter_aside(process, began);
}

/* ---- the end ---- */

/* `plimsoll run` collects the files in its directory as long as .owner exists there. */
static bool will_be_collected(struct pl_process *process)
{
    struct pl_text_line line = pl_text_line_in(process->scratch, PL_PATH_MAX);
    if (!pl_config.run_dir[0])
        return false;
    pl_text_line_text(&line, pl_config.run_dir);
    pl_text_line_text(&line, "/.owner");
    return pl_sys_access(process->scratch, 0) == 0;
}

static bool has_destination(const struct pl_process *process)
{
    return pl_file_header(&process->file)->destination.bytes != 0;
}

/* The copy is at its destination. */
static void settle_down(struct pl_header *header)
{
    header->destination = (struct pl_text){0, 0};
}

/* Leaves the path of the copy in process->scratch. */
static bool copy_to_destination(struct pl_process *process)
{
    long r = -EEXIST;
    give_up_claim(process);
    struct pl_header *room = (struct pl_header *) (void *) (process->scratch + PL_PATH_MAX);
    for (unsigned i = 0; i < ATTEMPTS && r == -EEXIST; i++)
        if (!pl_path_final(process, attempt(i), process->scratch, PL_PATH_MAX))
            return false;
        else
            r = pl_file_copy(&process->file, process->scratch, room, settle_down);
    return r == 0;
}

/* New visits wait from now on. Visits that began before get a little time to end; we do not wait longer for a thread
 * that is stopped or that left a visit by longjmp. */
static void let_visits_end(const struct pl_process *process)
{
    int dozes = VISIT_DOZES;
    for (const struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        while (t != pl_tls.thread && load_acquire(&t->busy) && dozes-- > 0)
            pl_sys_doze(100000);
}

/* True if the caller is to write the final figures. A vfork child shares our memory: it must not end its parent. */
static bool begin_end(struct pl_process *process)
{
    if (!process->file.base || process->pid != pl_sys_getpid())
        return false;
    if (process->state != PL_PROCESS_ON || !swap_if(&process->ender, 0, pl_arch_thread_pointer())) {
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

static bool is_text(const struct pl_file *file, struct pl_text text, const char *other, uint64_t bytes)
{
    if (!text.bytes || text.bytes != bytes)
        return false;
    const char *stored = pl_file_record(file, PL_KIND_TEXT, text.offset);
    uint64_t same = 0;
    while (same < bytes && stored[same] == other[same])
        same++;
    return same == bytes;
}

static bool is_padding(char c)
{
    return !c || c == ' ';
}

/* A child of fork has its parent's command in its header, but many then say by a title what they are: "nginx: worker
 * process". */
static void note_title(struct pl_process *process)
{
    struct pl_header *header = pl_file_header(&process->file);
    char *title = process->scratch;
    if (!process->forked || process->sandboxed || pl_config.behind)
        return;
    long n = read_file("/proc/self/cmdline", title, PL_PATH_MAX);
    if (n <= 0 || is_text(&process->file, header->command, title, (uint64_t) n))
        return;
    while (n > 1 && is_padding(title[n - 2]))
        n--;
    title[n - 1] = 0;
    struct pl_text text = pl_file_text(&process->file, title, (uint64_t) n);
    if (text.bytes)
        header->command = text;
}

static void last_words(struct pl_process *process, enum pl_end how, int exit_status)
{
    struct pl_header *header = pl_file_header(&process->file);
    if (pl_thread_mine(&pl_tls))
        pl_era_tell(process, pl_tls.thread);
    pl_timeline_take(process, pl_timeline_now(process), true);
    pl_meter_end(process);
    if (!process->sandboxed) {
        pl_thread_book_all(process);
        header->end_monotonic_ns = pl_sys_clock_ns(CLOCK_MONOTONIC);
    } else if (pl_tls.thread) {
        pl_thread_book(process, pl_tls.thread, &pl_tls);
    }
    note_title(process);
    header->exit_status = (uint32_t) exit_status;
    store_release(&header->end, (uint32_t) how);
}

/* Moves the file to its destination, unless `plimsoll run` will do that. */
static bool move(struct pl_process *process)
{
    bool unwanted = pl_file_header(&process->file)->flags & PL_FLAG_NO_OUTPUT;
    if (process->adrift || (unwanted && !will_be_collected(process))) {
        give_up_claim(process);
        pl_sys_unlink(process->file.path);
    }
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
            (how == PL_END_EXIT || pl_file_header(&process->file)->end != PL_END_EXIT)) /* exit() calls _exit() too */
            last_words(process, how, exit_status);
        return;
    }
    if (process->state == PL_PROCESS_ON && process->pid == pl_sys_getpid())
        pl_look_await(process);
    if (!begin_end(process))
        return;
    last_words(process, how, exit_status);
    if (pl_front.ending)
        pl_front.ending(process);
    if (!move(process) && !will_be_collected(process))
        pl_file_trim(&process->file);
    store_release(&process->ended, 1);
}

void pl_process_leave(struct pl_process *process, bool keep)
{
    if (begin_end(process)) {
        last_words(process, PL_END_DETACHED, 0);
        pl_file_trim(&process->file);
        give_up_claim(process);
        if (!keep)
            pl_sys_unlink(process->file.path);
    }
    for (struct pl_thread *t = load_acquire(&process->threads); t; t = t->next)
        if (t->tls)
            clear(t->tls, sizeof *t->tls);
    pl_file_leave(&process->file);
    pl_memory_free_all();
    pl_block_free_all();
    pl_tag_forget_all();
    pl_pool_forget_all();
    pl_rule_forget();
    pl_python_suspend();
    pl_memory_wipe(pl_process, sizeof pl_process);
    pl_memory_wipe(pl_filter, sizeof pl_filter);
    for (int how = 0; how < PL_BYPASS_COUNT; how++)
        bypasses[how].state = 0;
    clear(&pl_config, sizeof pl_config);
}

/* Shells fork for every command: what a child does between fork and exec is rarely of interest. */
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
        give_up_claim(process);
        pl_sys_unlink(process->file.path);
        return false;
    }
    return move(process);
}

void pl_process_exec_failed(struct pl_process *process, bool copied)
{
    if (load_relaxed(&process->ender) != pl_arch_thread_pointer() || process->pid != pl_sys_getpid())
        return;
    pl_file_header(&process->file)->end = PL_END_NONE;
    pl_file_header(&process->file)->end_monotonic_ns = 0;
    if (copied) {
        pl_memory_copy(process->file.path, process->scratch, pl_text_bytes(process->scratch) + 1);
        process->adrift = true;
    }
    store_release(&process->ender, 0);
    store_release(&process->state, PL_PROCESS_ON);
    pl_process_obey(process);
}
