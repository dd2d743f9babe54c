/* SPDX-License-Identifier: MIT */
/*
 * test_abandoned.c - what a visit leaves behind that was cut short, by a longjmp or by the end of its thread.
 *
 * The core is linked into this program and given a front end of its own; nothing is hooked. What an abandoned visit
 * would have left is put there by hand, in every case that a signal can bring about but a test cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch.h"
#include "process.h"
#include "rows.h"

/* ---- a front end ---- */

static char directory[] = "/dev/shm/plimsoll-test.XXXXXX";
static char live_dir[64], out[64];
static char *settings[] = {live_dir, out, NULL};

static char **environment(void)
{
    return settings;
}

static bool secure(void)
{
    return false;
}

static uintptr_t main_header(void)
{
    return 0;
}

static void nothing(void)
{
}

static unsigned granule_shift(void)
{
    return 3;
}

const struct pl_front pl_front = {
    .environment = environment,
    .unwanted = secure,
    .main_header = main_header,
    .started = nothing,
    .thread_started = nothing,
    .granule_shift = granule_shift,
};

static int start(void **state)
{
    (void) state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(live_dir, sizeof live_dir, "PLIMSOLL_LIVE_DIR=%s", directory);
    snprintf(out, sizeof out, "PLIMSOLL_OUT=%s/out.plim", directory);
    return pl_process_start(pl_process) && pl_thread_register(pl_process, &pl_tls) ? 0 : -1;
}

static int finish(void **state)
{
    (void) state;
    unlink(pl_process->file.path);
    return rmdir(directory);
}

static uint64_t file_bytes(void)
{
    struct stat st;
    return stat(pl_process->file.path, &st) == 0 ? (uint64_t) st.st_size : 0;
}

/* Appends until the file has to grow by another chunk of sites. False when that was refused. */
static bool append_a_chunk(void)
{
    void *at;
    for (size_t i = 0; i <= PL_CHUNK_BYTES / sizeof(struct pl_site); i++)
        if (!pl_file_append(&pl_process->file, PL_KIND_SITE, &at))
            return false;
    return true;
}

/* ---- claims ---- */

static void a_row_left_in_the_middle_of_a_change_is_whole_again_after_the_next(void **state)
{
    (void) state;
    struct pl_record record = {.size = 100, .weight = 1, .row = pl_tls.thread->overflow_row};
    record.thread = pl_tls.thread->record;
    struct pl_row *row = pl_file_record(&pl_process->file, PL_KIND_ROW, record.row);
    row->sequence |= 1;
    pl_row_allocated(pl_process, pl_tls.thread, &record);
    assert_int_equal(row->sequence % 2, 0);
    assert_int_equal(row->allocated.samples, 1);
    uint32_t before = row->sequence;
    pl_row_freed(pl_process, pl_tls.thread, &record, false);
    assert_int_equal(row->sequence, before + 2);
    assert_int_equal(row->freed.samples, 1);
}

static void the_file_grows_on_although_the_thread_was_thrown_out_while_it_grew(void **state)
{
    (void) state;
    pl_process->file.grow_lock = pl_thread_pointer();
    uint64_t before = file_bytes();
    for (int i = 0; i < 32; i++)
        assert_true(append_a_chunk());
    assert_true(file_bytes() > before);
    assert_int_equal(pl_process->file.grow_lock, 0);
}

/* Last: it ends the growth of this file. */
static void a_thread_that_died_while_the_file_grew_costs_growth_and_not_a_deadlock(void **state)
{
    (void) state;
    struct pl_header *header = pl_file_header(&pl_process->file);
    pl_process->file.grow_lock = pl_thread_pointer() + 64;
    assert_false(append_a_chunk());
    assert_true(header->losses[PL_LOSS_FILE_FULL] > 0);
    uint64_t lost = header->losses[PL_LOSS_FILE_FULL];
    assert_false(append_a_chunk());
    assert_int_equal(header->losses[PL_LOSS_FILE_FULL], lost + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_left_in_the_middle_of_a_change_is_whole_again_after_the_next),
        cmocka_unit_test(the_file_grows_on_although_the_thread_was_thrown_out_while_it_grew),
        cmocka_unit_test(a_thread_that_died_while_the_file_grew_costs_growth_and_not_a_deadlock),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
