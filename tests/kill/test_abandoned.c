/* SPDX-License-Identifier: MIT */
/*
 * test_abandoned.c - what an abandoned visit leaves, after a longjmp or the end of its thread.
 *
 * This program links the core and has its own front end. Nothing is hooked. The tests set the state that an abandoned
 * visit would leave by hand, for every case that a signal can cause but a test cannot.
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

#include "core/arch.h"
#include "core/process.h"
#include "core/records/rows.h"

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

static uint32_t page_bytes(void)
{
    return (uint32_t) sysconf(_SC_PAGESIZE);
}

const struct pl_front pl_front = {
    .environment = environment,
    .unwanted = secure,
    .main_header = main_header,
    .started = nothing,
    .thread_started = nothing,
    .page_bytes = page_bytes,
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
    unlink(pl_process->destination); /* a link to it */
    return rmdir(directory);
}

static uint64_t allocated(void)
{
    struct stat st;
    return stat(pl_process->file.path, &st) == 0 ? (uint64_t) st.st_blocks * 512 : 0;
}

/* Appends until the file has to grow by another chunk of sites. False if that fails. */
static bool append_a_chunk(void)
{
    void *at;
    for (size_t i = 0; i <= PL_CHUNK_BYTES / sizeof(struct pl_site); i++)
        if (!pl_file_append(&pl_process->file, PL_KIND_SITE, &at))
            return false;
    return true;
}

/* ---- tests ---- */

static void a_row_abandoned_during_a_write_is_consistent_after_the_next_write(void **state)
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

static void the_file_still_grows_after_a_thread_died_while_it_grew(void **state)
{
    (void) state;
    if (getenv("PLIMSOLL_EMULATOR")) /* it does not allocate pages: MADV_POPULATE_WRITE does nothing */
        skip();
    struct pl_header *header = pl_file_header(&pl_process->file);
    uint64_t before = allocated();
    for (int i = 0; i < 32; i++) {
        pl_process->file.file_bytes -= PL_CHUNK_BYTES; /* grown, but not published */
        assert_true(append_a_chunk());
    }
    assert_true(allocated() > before);
    assert_int_equal(header->losses[PL_LOSS_FILE_FULL], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_abandoned_during_a_write_is_consistent_after_the_next_write),
        cmocka_unit_test(the_file_still_grows_after_a_thread_died_while_it_grew),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
