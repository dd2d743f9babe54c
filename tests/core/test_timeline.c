/* SPDX-License-Identifier: MIT */
/*
 * test_timeline.c - tests what timeline.h and format.h say about moments and heap compositions: each is in its slot and
 * correct whenever the process is stopped; their number is limited; taking them disturbs nobody.
 *
 * This program includes file.c, so that each test can begin with the tables of a new process. The tests set the time:
 * `now` in slots of the first length. At slot n, all totals are n + 1.
 */
#include "core_tests.h"

#include <fenv.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "core/process.h"
#include "core/records/file.c"

#define LIMIT (64u << 20)
#define SMALL (256u << 10)
#define FIRST PL_TIMELINE_SHIFT_FIRST
#define TALLIES 20000
#define PER_MOMENT_BYTES 1000 /* what the second tally allocates in each slot */

static struct pl_process process;

/* ---- a process ---- */

static struct pl_header *header(void)
{
    return pl_file_header(&process.file);
}

static int begin(const char *name, uint64_t limit_bytes)
{
    memset(&process, 0, sizeof process);
    memset(&chunks, 0, sizeof chunks);
    process.pid = (uint32_t) getpid();
    pl_process_read_clocks(&process);
    process.interval_bytes = 4096;
    return pl_file_create(&process.file, in_directory(name), limit_bytes) == 0 ? 0 : -1;
}

static int start_large(void **state)
{
    (void) state;
    new_directory();
    return begin("x.plim", LIMIT);
}

static int start_small(void **state)
{
    (void) state;
    new_directory();
    return begin("x.plim", SMALL);
}

static int end(void **state)
{
    (void) state;
    munmap(process.file.base, process.file.mapped_bytes);
    inherited.base = NULL;
    drop_directory();
    return 0;
}

static void *append(enum pl_kind kind)
{
    void *at;
    assert_int_not_equal(pl_file_append(&process.file, kind, &at), 0);
    return at;
}

/* A tally at a site of its own that no small record leads to. */
static struct pl_tally *add_tally(uint64_t calls, uint64_t bytes)
{
    struct pl_tally *tally = append(PL_KIND_TALLY);
    struct pl_site *site = append(PL_KIND_SITE);
    site->kind = PL_SITE_OTHER_SIZES;
    tally->calls = calls;
    tally->bytes = bytes;
    tally->site = tally->number = (uint32_t) header()->count[PL_KIND_TALLY] - 1;
    return tally;
}

static struct pl_row *add_row(uint64_t samples, double objects, double space)
{
    struct pl_row *row = append(PL_KIND_ROW);
    row->allocated = (struct pl_sums){.samples = samples, .objects = objects, .space = space};
    row->site = 1;
    return row;
}

static void look(uint64_t slot, bool last)
{
    process.totals = (struct pl_totals){(int64_t) slot + 1, (int64_t) slot + 1, slot + 1, slot + 1};
    pl_timeline_take(&process, slot << FIRST, last);
}

/* ---- records in the file ---- */

static const struct pl_moment *moment(unsigned slot)
{
    static const struct pl_moment none;
    if (slot + 1 >= header()->count[PL_KIND_MOMENT])
        return &none;
    return pl_file_record(&process.file, PL_KIND_MOMENT, slot + 1);
}

static const struct pl_composition_record *composition(unsigned slot)
{
    return pl_file_record(&process.file, PL_KIND_COMPOSITION, slot + 1);
}

/* How many slots of the first length a slot has now. */
static uint64_t length(void)
{
    return 1ull << (header()->timeline_shift - FIRST);
}

static unsigned moments(void)
{
    unsigned n = 0;
    for (unsigned slot = 0; slot < PL_MOMENTS; slot++)
        n += moment(slot)->time_ns != 0;
    return n;
}

/* Every moment is in its slot, consistent, and later than those before it. */
static void check_moments(void)
{
    uint64_t last_ns = 0;
    for (unsigned slot = 0; slot < PL_MOMENTS; slot++) {
        const struct pl_moment *m = moment(slot);
        if (!m->time_ns)
            continue;
        assert_true(m->time_ns > last_ns);
        last_ns = m->time_ns;
        assert_int_equal((m->allocated_calls - 1) / length(), slot);
        assert_int_equal(m->allocated_bytes, m->allocated_calls);
        assert_int_equal(m->live_bytes, m->allocated_calls);
        assert_int_equal(m->live_objects, m->allocated_calls);
    }
}

static uint64_t bytes_of(const struct pl_composition_record *s, uint32_t who)
{
    for (uint32_t i = 0; i < s->entries; i++)
        if (s->entry[i].who == who)
            return s->entry[i].bytes;
    return 0;
}

/* ---- moments ---- */

static void slots_double_when_all_are_used_and_keep_their_first_look(void **state)
{
    (void) state;
    for (uint64_t n = 0; n < PL_MOMENTS << 5; n++) {
        look(n, false);
        if (n % 64 && n % PL_MOMENTS > 2)
            continue;
        check_moments();
        uint64_t current = n / length();
        for (unsigned slot = 0; slot <= current; slot++)
            assert_int_equal(moment(slot)->allocated_calls, slot * length() + 1);
        assert_int_equal(moments(), current + 1);
    }
    assert_int_equal(header()->timeline_shift, FIRST + 5);
    assert_int_equal(process.timeline.shift, FIRST + 5);
}

static void an_idle_program_has_empty_slots_and_correct_moments(void **state)
{
    (void) state;
    uint64_t random = 1;
    for (uint64_t n = 0, step = 1; n < 1ull << 30; n += 1 + draw(&random, step += step / 5 + 1)) {
        look(n, false);
        check_moments();
    }
    assert_in_range(moments(), 2, PL_MOMENTS - 1);
    assert_int_equal(moment(0)->allocated_calls, 1);
}

static void the_last_moment_is_always_taken(void **state)
{
    (void) state;
    look(7, false);
    uint64_t first_ns = moment(7)->time_ns;
    process.totals.calls = 100;
    pl_timeline_take(&process, (7 << FIRST) + 1, true);
    assert_int_equal(moment(7)->allocated_calls, 100);
    assert_true(moment(7)->time_ns > first_ns);
    process.totals.calls = 101;
    pl_timeline_take(&process, 2 << FIRST, true); /* an old time: the thread that ends the process had to wait */
    assert_int_equal(moment(7)->allocated_calls, 101);
    assert_int_equal(moments(), 1);
}

static void a_late_look_does_not_replace_a_moment(void **state)
{
    (void) state;
    look(7, false);
    struct pl_moment before = *moment(7);
    process.totals.calls = 100;
    pl_timeline_take(&process, (8 << FIRST) - 1, false);
    pl_timeline_take(&process, 3 << FIRST, false);
    assert_memory_equal(moment(7), &before, sizeof before);
    assert_int_equal(moments(), 1);
    assert_int_equal(process.timeline.due, 8 << FIRST);
}

static void a_look_from_before_the_start_changes_nothing(void **state)
{
    (void) state;
    look(7, false);
    pl_timeline_take(&process, (uint64_t) -5 >> PL_UNIT_SHIFT, false); /* another processor's clock is 5 ticks behind */
    assert_int_equal(header()->timeline_shift, FIRST);
    assert_int_equal(moments(), 1);
    process.start_ticks = pl_arch_ticks() + 1000000000;
    assert_int_equal(pl_timeline_now(&process), 0);
}

static void a_moment_has_its_sampling_interval_and_no_negative_figures(void **state)
{
    (void) state;
    process.totals.live_bytes = process.totals.live_objects = -5;
    pl_timeline_take(&process, 0, false);
    assert_int_equal(moment(0)->live_bytes, 0);
    assert_int_equal(moment(0)->live_objects, 0);
    assert_int_equal(moment(0)->interval_bytes, 4096);
    process.counting = PL_COUNT_ALL;
    look(1, false);
    assert_int_equal(moment(1)->interval_bytes, 0);
    process.counting = PL_COUNT_NOTHING;
    header()->control.interval_bytes = 65536;
    look(2, false);
    assert_int_equal(moment(2)->interval_bytes, 65536);
}

static void clock_and_ticks_are_read_together(void **state)
{
    (void) state;
    look(0, false);
    usleep(2000);
    look(1, false);
    const struct pl_clock *clock = &header()->clock;
    assert_true(clock->last_ticks > process.start_ticks && clock->last_ticks <= pl_arch_ticks());
    assert_int_equal(clock->last_ns - process.start_ns, moment(1)->time_ns);
    assert_true(moment(1)->time_ns - moment(0)->time_ns >= 2000000);
    assert_true(pl_timeline_now(&process) >= (clock->last_ticks - process.start_ticks) >> PL_UNIT_SHIFT);
}

static void resident_memory_is_read_and_no_descriptor_stays_open(void **state)
{
    (void) state;
    struct rlimit before, none;
    long next = dup(0), pages = 0;
    close((int) next);
    look(0, false);
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(statm, "%*d %ld", &pages), 1);
    fclose(statm);
    assert_in_range(moment(0)->rss_bytes, (uint64_t) pages * 2048, (uint64_t) pages * 8192);
    assert_int_equal(dup(0), next);
    close((int) next);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    look(1, false);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(moment(1)->rss_bytes, 0); /* not known */
    assert_int_equal(moment(1)->allocated_calls, 2);
}

/* ---- cohorts ---- */

static void each_cohort_and_each_doubling_begins_an_era(void **state)
{
    (void) state;
    look(0, false);
    uint32_t era = process.era;
    for (uint64_t n = 1; n < 4 * PL_MOMENTS; n++) {
        uint32_t shift = process.timeline.shift, cohort = process.timeline.cohort;
        look(n, false);
        bool changed = process.timeline.shift != shift || process.timeline.cohort != cohort;
        assert_int_equal(process.era, era + changed);
        assert_int_equal(process.timeline.cohort, n / length() / PL_MOMENTS_PER_COHORT);
        assert_in_range(process.timeline.cohort, 0, PL_COHORTS - 1);
        era = process.era;
    }
    assert_true(era > 2 * PL_COHORTS);
}

/* ---- heap compositions ---- */

static void a_heap_composition_names_every_site_while_there_is_room(void **state)
{
    (void) state;
    void *at;
    for (unsigned i = 1; i <= 400; i++)
        add_tally(i, 10 * i);
    struct pl_tally *gone = add_tally(3, 30), *shared = add_tally(10, 1000), *torn = add_tally(5, 50);
    gone->freed_calls = 3, gone->freed_bytes = 30;
    torn->freed_calls = 6, torn->freed_bytes = 60;
    shared->freed_calls = 2, shared->freed_bytes = 200;
    uint32_t own = pl_file_append(&process.file, PL_KIND_REMOTE, &at);
    *(struct pl_remote *) at = (struct pl_remote){.tally = 402, .thread = 9, .calls = 2, .bytes = 200};
    shared->remote = pl_file_append(&process.file, PL_KIND_REMOTE, &at);
    *(struct pl_remote *) at = (struct pl_remote){.tally = 402, .next = own, .calls = 1, .bytes = 100};
    struct pl_row *row = add_row(5, 1000.4, 64000.6), *empty = add_row(3, 0.1 + 0.2, 99);
    row->freed = (struct pl_sums){.samples = 1, .objects = 100, .space = 4000};
    row->remote = (struct pl_sums){.samples = 2, .objects = 300, .space = 10000};
    empty->freed = (struct pl_sums){.samples = 3, .objects = 0.3, .space = 98.5}; /* the rest is rounding */
    pl_file_append(&process.file, PL_KIND_TALLY, &at);                            /* not published */
    ((struct pl_tally *) at)->calls = ((struct pl_tally *) at)->bytes = 1000000;
    look(0, false);

    const struct pl_composition_record *s = composition(0);
    assert_int_equal(s->time_ns, moment(0)->time_ns);
    assert_int_equal(s->entries, 404);
    assert_int_equal(s->left_out, 0);
    for (uint32_t i = 1; i <= 400; i++)
        assert_int_equal(bytes_of(s, i), 10 * i);
    assert_int_equal(bytes_of(s, 402), 500);
    assert_int_equal(bytes_of(s, PL_COMPOSITION_ROW | 1), 50001);
    assert_int_equal(s->entry[400].bytes, 0); /* all freed: listed because it allocated */
    assert_int_equal(s->entry[400].allocated, 30);
    assert_int_equal(s->entry[403].objects, 600);
    assert_int_equal(s->entry[403].calls, 1000);
    assert_int_equal(s->live_bytes, 10 * 400 * 401 / 2 + 500 + 50001);
    assert_int_equal(s->live_objects, 400 * 401 / 2 + 5 + 600);
    assert_int_equal(s->allocated_calls, 400 * 401 / 2 + 3 + 10 + 5 + 1000);
    assert_int_equal(s->allocated_bytes, 10 * 400 * 401 / 2 + 30 + 1000 + 50 + 64001);
}

/* There are more sites than places: many small ones, and among them some large ones. */
static uint64_t mixed(uint64_t i)
{
    uint64_t random = i * 0x9e3779b97f4a7c15u;
    return i % 64 ? 1 + draw(&random, 1000) : 1000000 + draw(&random, 200000);
}

/* The large sites come first, and must keep their places against all others. */
static uint64_t growing(uint64_t i)
{
    return i <= 50 ? 30000000 : 50 * i;
}

static uint64_t alike(uint64_t i)
{
    return i == TALLIES / 2 ? 50 * TALLIES : 50;
}

static void check_crowd(uint64_t (*bytes_held)(uint64_t i))
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= TALLIES; i++)
        sum += add_tally(1, bytes_held(i))->bytes;
    look(0, false);
    const struct pl_composition_record *s = composition(0);
    assert_int_equal(s->live_bytes, sum);
    assert_int_equal(s->live_objects, TALLIES);
    assert_int_equal(s->entries + s->left_out, TALLIES);
    assert_true(s->entries <= PL_COMPOSITION_ENTRIES);
    unsigned matter = 0;
    for (uint32_t i = 1; i <= TALLIES; i++)
        if (bytes_held(i) > sum / 400) {
            assert_int_equal(bytes_of(s, i | PL_COMPOSITION_SITE), bytes_held(i));
            matter++;
        }
    assert_true(matter > 0);
    for (uint32_t i = 0; i < s->entries; i++)
        assert_int_equal(s->entry[i].bytes, bytes_held(s->entry[i].who & ~PL_COMPOSITION_SITE));
}

static void a_site_of_many_threads_is_named_even_if_each_thread_holds_little(void **state)
{
    (void) state;
    for (uint64_t i = 1; i <= TALLIES; i++) {
        struct pl_tally *tally = add_tally(2, 100);
        tally->site = i % 2 ? 1 : tally->site;
    }
    look(0, false);
    const struct pl_composition_record *s = composition(0);
    assert_int_equal(bytes_of(s, 1 | PL_COMPOSITION_SITE), 100 * TALLIES / 2);
    assert_int_equal(s->entry[0].calls, TALLIES);
    assert_int_equal(s->entry[0].allocated, 100 * TALLIES / 2);
    assert_int_equal(s->live_bytes, 100 * TALLIES);
}

static void a_site_that_allocated_much_is_named_even_if_all_is_freed(void **state)
{
    (void) state;
    for (uint64_t i = 1; i <= TALLIES; i++)
        add_tally(1, 100);
    struct pl_tally *busy = add_tally(1000, 100 * TALLIES);
    busy->freed_calls = busy->calls;
    busy->freed_bytes = busy->bytes;
    look(0, false);
    bool named = false;
    for (uint32_t i = 0; i < composition(0)->entries; i++)
        named |= composition(0)->entry[i].who == (busy->site | PL_COMPOSITION_SITE) &&
                 composition(0)->entry[i].calls == 1000;
    assert_true(named);
}

static void blocks_from_before_the_last_reset_are_not_counted(void **state)
{
    (void) state;
    add_tally(1, 100);
    process.resets = 7;
    add_tally(1, 10)->reset = 7;
    look(0, false);
    assert_int_equal(composition(0)->entries, 1);
    assert_int_equal(composition(0)->live_bytes, 10);
    assert_int_equal(composition(0)->allocated_bytes, 10);
}

static void among_many_sites_of_all_sizes_only_small_ones_are_left_out(void **state)
{
    (void) state;
    check_crowd(mixed);
}

static void among_many_growing_sites_only_small_ones_are_left_out(void **state)
{
    (void) state;
    check_crowd(growing);
}

static void among_many_equal_sites_only_small_ones_are_left_out(void **state)
{
    (void) state;
    check_crowd(alike);
}

static void heap_compositions_are_the_first_look_of_their_slots_and_show_growth(void **state)
{
    (void) state;
    struct pl_tally *still = add_tally(1, 5000000), *grows = add_tally(1, 0);
    for (uint64_t n = 0; n < PL_MOMENTS << 4; n++) {
        grows->bytes = (n + 1) * PER_MOMENT_BYTES;
        look(n, false);
        if (n % 97)
            continue;
        unsigned current = (unsigned) (n / length()) / PL_MOMENTS_PER_COMPOSITION;
        for (unsigned slot = 0; slot < PL_COMPOSITIONS; slot++) {
            uint64_t first = slot * length() * PL_MOMENTS_PER_COMPOSITION;
            assert_int_equal(composition(slot)->time_ns != 0, slot <= current);
            if (slot > current)
                continue;
            assert_int_equal(bytes_of(composition(slot), 1), still->bytes);
            assert_int_equal(bytes_of(composition(slot), 2), (first + 1) * PER_MOMENT_BYTES);
            assert_true(slot == 0 || composition(slot)->time_ns > composition(slot - 1)->time_ns);
        }
    }
}

/* ---- limits ---- */

static void a_long_run_needs_no_more_room_than_a_short_one(void **state)
{
    (void) state;
    for (uint64_t n = 0; n < 1ull << 40; n += n / 100 + 1)
        look(n, false);
    assert_int_equal(header()->count[PL_KIND_MOMENT], PL_MOMENTS + 1);
    assert_int_equal(header()->count[PL_KIND_COMPOSITION], PL_COMPOSITIONS + 1);
    assert_int_equal(header()->chunks,
                     1 + 1 +
                         PL_COMPOSITIONS); /* one of moments; one for each composition, and for the unused record 0 */
    assert_int_equal(header()->losses[PL_LOSS_FILE_FULL], 0);
}

static uint64_t fill_file(void)
{
    void *at;
    uint64_t tallies = 0;
    for (; pl_file_append(&process.file, PL_KIND_TALLY, &at); tallies++)
        *(struct pl_tally *) at = (struct pl_tally){.site = 1, .calls = 1, .bytes = 10};
    header()->count[PL_KIND_SITE] = 2;
    return tallies;
}

static void a_full_file_has_cohorts_but_no_timeline(void **state)
{
    (void) state;
    static const uint8_t nothing[sizeof pl_file_nowhere];
    memset(pl_file_nowhere, 0, sizeof pl_file_nowhere);
    fill_file();
    uint64_t lost = header()->losses[PL_LOSS_FILE_FULL];
    for (uint64_t n = 0; n < 4 * PL_MOMENTS; n++)
        look(n, n % 10 == 0);
    assert_int_equal(process.timeline.cohort, 7);
    assert_true(process.era > 2 * PL_COHORTS);
    assert_in_range(header()->losses[PL_LOSS_FILE_FULL] - lost, 1, 1 + PL_COMPOSITIONS);
    assert_memory_equal(pl_file_nowhere, nothing, sizeof pl_file_nowhere);
}

static void a_heap_composition_counts_only_records_that_fit(void **state)
{
    (void) state;
    look(0, false);
    look(PL_MOMENTS_PER_COMPOSITION, false);
    pl_file_append(&process.file, PL_KIND_COMPOSITION, &(void *){NULL}); /* the next composition has its room already */
    process.timeline.compositions++;
    uint64_t tallies = fill_file();
    *(struct pl_tally *) (void *) pl_file_nowhere = (struct pl_tally){.site = 1, .calls = 1, .bytes = 1000000};
    header()->count[PL_KIND_TALLY] += 1000; /* these did not fit */
    look(2 * PL_MOMENTS_PER_COMPOSITION, false);
    assert_int_equal(composition(2)->live_objects, tallies);
    assert_int_equal(composition(2)->live_bytes, 10 * tallies);
}

/* A load from there would raise SIGBUS. */
static void a_heap_composition_reads_no_page_that_found_no_memory(void **state)
{
    (void) state;
    void *at;
    look(0, false);
    look(PL_MOMENTS_PER_COMPOSITION, false);
    append(PL_KIND_COMPOSITION); /* the next one has its room already */
    process.timeline.compositions++;
    uint64_t offset = (uint64_t) ((uint8_t *) append(PL_KIND_SMALL) - process.file.base);
    uint64_t left = PAGE - offset % PAGE;
    if (left > PL_CHUNK_BYTES / 2 || process.file.young == young_bits(0, PL_FILE_YOUNG))
        skip(); /* the chunk has no second page, or all are allocated at the start */
    for (uint64_t room = left / sizeof(struct pl_small); room > 1; room--)
        append(PL_KIND_SMALL);
    assert_int_equal(truncate(process.file.path, (off_t) (offset + left)), 0); /* as if there were no more memory */
    assert_int_equal(pl_file_append(&process.file, PL_KIND_SMALL, &at), 0);
    look(2 * PL_MOMENTS_PER_COMPOSITION, false);
    assert_int_equal(composition(2)->live_objects, 0);
}

/* ---- side effects ---- */

static void floating_point_flags_do_not_change(void **state)
{
    (void) state;
    struct pl_arch_fp_state fp;
    struct pl_row *row = add_row(3, 1.0 / 3, 1e300);
    row->freed = (struct pl_sums){.samples = 1, .objects = 1e-9, .space = 1.0 / 7};
    feclearexcept(FE_ALL_EXCEPT);
    pl_arch_fp_enter(&fp);
    pl_arch_fp_leave(&fp);
    look(0, false);
    struct pl_arch_fp_state after;
    pl_arch_fp_enter(&after);
    assert_memory_equal(&after, &fp, sizeof fp);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

/* After this the kernel kills the process for any system call but exit. */
static void enter_sandbox(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        _exit(2);
}

static _Noreturn void sandboxed_child(void)
{
    begin("y.plim", LIMIT);
    add_tally(1, 100);
    look(0, false);
    usleep(1000);
    pl_file_reserve(&process.file, 1 << 20);
    pl_file_freeze(&process.file, true);
    process.sandboxed = 1;
    enter_sandbox();
    for (uint64_t n = 1; n < 3 * PL_MOMENTS; n++)
        look(n, false);
    const struct pl_moment *m = moment(100);
    bool good = m->time_ns > 1000000 && m->time_ns < 60000000000 && m->allocated_calls > 100 && m->rss_bytes == 0 &&
                composition(5)->time_ns && composition(5)->live_bytes == 100;
    for (;;)
        syscall(SYS_exit_group, !good); /* not _exit(): sanitizers make system calls there */
}

static void in_a_sandbox_the_timeline_goes_on_without_system_calls(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    int status;
    pid_t pid = fork();
    if (!pid)
        sandboxed_child();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- threads ---- */

#define LOOKS 20000
static uint64_t next_look;

static void look_often(unsigned number)
{
    (void) number;
    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t n = fetch_add(&next_look, 1);
        fetch_add(&process.totals.calls, 1);
        pl_timeline_take(&process, n << FIRST, n % 100 == 0);
    }
}

static void concurrent_threads_leave_a_timeline_in_order(void **state)
{
    (void) state;
    uint64_t last_ns = 0, last_calls = 0;
    next_look = 0;
    add_tally(1, 100);
    run_threads(4, look_often);
    for (unsigned slot = 0; slot < PL_MOMENTS; slot++)
        if (moment(slot)->time_ns) {
            assert_true(moment(slot)->time_ns > last_ns && moment(slot)->allocated_calls >= last_calls);
            last_ns = moment(slot)->time_ns;
            last_calls = moment(slot)->allocated_calls;
        }
    assert_int_equal(process.timeline.taking, 0);
    assert_true(moments() > 10);
    assert_in_range(header()->count[PL_KIND_MOMENT], moments() + 1, PL_MOMENTS + 1);
}

static void no_thread_waits_for_one_that_died_during_a_look(void **state)
{
    (void) state;
    look(3, false);
    process.timeline.taking = 1;
    look(4, false);
    assert_int_equal(moments(), 1);
    assert_true(process.timeline.due > 4 << FIRST); /* it is not tried again at every visit */
    look(5, true);
    assert_int_equal(moments(), 1);
    process.timeline.taking = 0; /* the thread was only slow, and has finished */
    look(6, false);
    assert_int_equal(moments(), 2);
}

/* ---- kill -9 ---- */

#define STEPPED                                                                                                        \
    (PL_MOMENTS + 1) /* the look that is stepped through: slots double, and it is the first of a new one               \
                      */

static void look_at_two(uint64_t n, struct pl_tally *one, struct pl_tally *two)
{
    one->bytes = n + 1;
    two->bytes = 2 * (n + 1);
    look(n, false);
}

/* Fills all slots, and stops before and after the look that makes the slots double. */
static _Noreturn void stepped_child(struct pl_tally *one, struct pl_tally *two)
{
    if (ptrace(PTRACE_TRACEME, 0, 0, 0))
        _exit(1);
    for (uint64_t n = 1; n < PL_MOMENTS; n++)
        look_at_two(n, one, two);
    raise(SIGSTOP);
    look_at_two(STEPPED, one, two);
    raise(SIGSTOP);
    _exit(0);
}

struct evidence {
    uint64_t time_ns[STEPPED + 2]; /* indexed by the value of all totals at that time */
    unsigned found;
    unsigned newest;
};

static void add_evidence(struct evidence *evidence, uint64_t figure, uint64_t time_ns)
{
    assert_in_range(figure, 1, STEPPED + 1);
    if (evidence->time_ns[figure])
        assert_int_equal(evidence->time_ns[figure], time_ns); /* also if it stands in two slots */
    else
        evidence->found++;
    evidence->time_ns[figure] = time_ns;
    if (figure > evidence->newest)
        evidence->newest = (unsigned) figure;
}

static void check_order(const struct evidence *evidence)
{
    uint64_t last_ns = 0;
    for (unsigned i = 1; i < STEPPED + 2; i++)
        if (evidence->time_ns[i]) {
            assert_true(evidence->time_ns[i] > last_ns);
            last_ns = evidence->time_ns[i];
        }
}

/* Everything in the file is correct, and no more is missing than necessary. */
static void check_what_a_kill_would_leave(void)
{
    static struct evidence of_moments, of_compositions;
    memset(&of_moments, 0, sizeof of_moments);
    memset(&of_compositions, 0, sizeof of_compositions);
    for (unsigned slot = 0; slot < PL_MOMENTS; slot++) {
        const struct pl_moment *m = moment(slot);
        if (!m->time_ns)
            continue;
        add_evidence(&of_moments, m->live_bytes, m->time_ns);
        assert_true(m->live_objects == m->live_bytes && m->allocated_bytes == m->live_bytes &&
                    m->allocated_calls == m->live_bytes && m->interval_bytes == 4096 && m->rss_bytes);
    }
    for (unsigned slot = 0; slot < PL_COMPOSITIONS; slot++) {
        const struct pl_composition_record *s = composition(slot);
        if (!s->time_ns)
            continue;
        add_evidence(&of_compositions, s->live_bytes / 3, s->time_ns);
        assert_true(s->entries == 2 && s->entry[0].bytes + s->entry[1].bytes == s->live_bytes);
        assert_int_equal(s->entry[1].bytes, 2 * s->entry[0].bytes);
    }
    check_order(&of_moments);
    check_order(&of_compositions);
    assert_true(of_moments.found > PL_MOMENTS / 2 && of_moments.newest >= PL_MOMENTS);
    assert_true(of_compositions.found >= PL_COMPOSITIONS / 2);
}

/* Starts a traced copy of this process, with the same records in the same places. */
static pid_t start_stepping(void)
{
    void *at;
    int status;
    struct pl_tally *one = add_tally(1, 0), *two = add_tally(1, 0);
    while (process.timeline.compositions < PL_COMPOSITIONS)
        process.timeline.compositions += pl_file_append(&process.file, PL_KIND_COMPOSITION, &at) != 0;
    look_at_two(0, one, two);
    assert_int_equal(madvise(&chunks, sizeof chunks & ~4095ul, 19 /* MADV_KEEPONFORK */), 0);
    pid_t pid = fork();
    if (!pid)
        stepped_child(one, two);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSTOPPED(status))
        skip(); /* ptrace is not allowed here */
    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
    return pid;
}

static void a_kill_at_any_instruction_leaves_a_correct_timeline(void **state)
{
    (void) state;
    int status;
    unsigned steps = 0;
    pid_t pid = start_stepping();
    do {
        check_what_a_kill_would_leave();
        assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        steps++;
    } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(header()->timeline_shift, FIRST + 1);
    assert_int_equal(moment(STEPPED / 2)->allocated_calls, STEPPED + 1);
    assert_int_equal(composition(PL_COMPOSITIONS / 2)->live_bytes, 3 * (STEPPED + 1));
    assert_true(steps > 10000);
}

#define LARGE(test) cmocka_unit_test_setup_teardown(test, start_large, end)
#define SMALL_ONE(test) cmocka_unit_test_setup_teardown(test, start_small, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LARGE(slots_double_when_all_are_used_and_keep_their_first_look),
        LARGE(an_idle_program_has_empty_slots_and_correct_moments),
        LARGE(the_last_moment_is_always_taken),
        LARGE(a_late_look_does_not_replace_a_moment),
        LARGE(a_look_from_before_the_start_changes_nothing),
        LARGE(a_moment_has_its_sampling_interval_and_no_negative_figures),
        LARGE(clock_and_ticks_are_read_together),
        LARGE(resident_memory_is_read_and_no_descriptor_stays_open),
        LARGE(each_cohort_and_each_doubling_begins_an_era),
        LARGE(a_heap_composition_names_every_site_while_there_is_room),
        LARGE(among_many_sites_of_all_sizes_only_small_ones_are_left_out),
        LARGE(among_many_growing_sites_only_small_ones_are_left_out),
        LARGE(among_many_equal_sites_only_small_ones_are_left_out),
        LARGE(a_site_of_many_threads_is_named_even_if_each_thread_holds_little),
        LARGE(a_site_that_allocated_much_is_named_even_if_all_is_freed),
        LARGE(blocks_from_before_the_last_reset_are_not_counted),
        LARGE(heap_compositions_are_the_first_look_of_their_slots_and_show_growth),
        LARGE(a_long_run_needs_no_more_room_than_a_short_one),
        SMALL_ONE(a_full_file_has_cohorts_but_no_timeline),
        SMALL_ONE(a_heap_composition_counts_only_records_that_fit),
        LARGE(a_heap_composition_reads_no_page_that_found_no_memory),
        LARGE(floating_point_flags_do_not_change),
        LARGE(in_a_sandbox_the_timeline_goes_on_without_system_calls),
        LARGE(concurrent_threads_leave_a_timeline_in_order),
        LARGE(no_thread_waits_for_one_that_died_during_a_look),
        LARGE(a_kill_at_any_instruction_leaves_a_correct_timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
