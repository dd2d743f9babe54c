/* SPDX-License-Identifier: MIT */
/*
 * test_snippet.c - lines of source code: each file is read once, and the total that is read is limited.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/snippet.h"

#define LARGE_BYTES (64 << 20) /* as large as a file may be */
#define LARGE_READ 4           /* how many of these are read */

static char place[] = "/tmp/plimsoll-snippet.XXXXXX";
static char file[sizeof place + 8];
static const struct pl_profile profile = {.directory = "", .executable = ""};

static int make_place(void **state)
{
    (void) state;
    if (!mkdtemp(place))
        return -1;
    snprintf(file, sizeof file, "%s/x.c", place);
    return 0;
}

static int remove_place(void **state)
{
    (void) state;
    unlink(file);
    return rmdir(place);
}

static void write_file(const char *text)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static bool read_line(struct pl_snippets *reader, const char *source, uint32_t line, const char *wanted)
{
    struct pl_location location = {.source = source, .binary = ""};
    struct pl_snippet snippet;
    if (!pl_snippets_read(reader, &location, line, line, &snippet))
        return false;
    assert_int_equal(snippet.count, 1);
    assert_string_equal(snippet.line[0], wanted);
    pl_snippet_free(&snippet);
    return true;
}

static void a_file_is_read_once_if_lines_are_asked_for_in_order(void **state)
{
    (void) state;
    struct pl_snippets *reader = pl_snippets_new(&profile);
    write_file("one\ntwo\nthree\nfour\n");
    assert_true(read_line(reader, file, 2, "two"));
    assert_true(read_line(reader, file, 1, "one"));
    unlink(file);
    assert_true(read_line(reader, file, 3, "three")); /* still open */
    assert_false(read_line(reader, file, 9, ""));
    assert_false(read_line(reader, file, 10, ""));
    assert_false(read_line(reader, file, 1, "one"));
    pl_snippets_free(reader);
}

/* A path that is spelled differently counts as another file. */
static void the_total_that_is_read_is_limited(void **state)
{
    (void) state;
    struct pl_snippets *reader = pl_snippets_new(&profile);
    char name[LARGE_READ + 1][sizeof place + 32];
    write_file("");
    assert_int_equal(truncate(file, LARGE_BYTES), 0);
    for (int i = 0; i <= LARGE_READ; i++) {
        snprintf(name[i], sizeof name[i], "%s/%.*sx.c", place, 2 * i, "././././");
        assert_int_equal(read_line(reader, name[i], 1, ""), i < LARGE_READ);
    }
    pl_snippets_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_once_if_lines_are_asked_for_in_order),
        cmocka_unit_test(the_total_that_is_read_is_limited),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
