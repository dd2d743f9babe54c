/* SPDX-License-Identifier: MIT */
/*
 * test_tags.c - tests tags.h: one name for a text, one tag for a parent and a name, with any number of threads and
 * tags; and the records from which a reader gets both.
 *
 * All tests share one set of tables, as in a process. The last test fills them.
 */
#include "core_tests.h"

#include <sys/wait.h>

#include "core/config.h"
#include "core/process.h"
#include "core/records/tags.h"

#define TAGS_MAX 4000u
#define THREADS 4
#define SHARED 500
#define LONGEST 100000
#define KEPT 65536 /* bytes of a name */

static struct pl_process process;
static char long_text[LONGEST + 1];

static int start(void **state)
{
    (void) state;
    pl_config.max_tags = TAGS_MAX;
    new_directory();
    return pl_file_create(&process.file, in_directory("x.plim"), 64u << 20) == 0 ? 0 : -1;
}

static int end(void **state)
{
    (void) state;
    drop_directory();
    return 0;
}

static const struct pl_tag_name *name_of(const char *text)
{
    const struct pl_tag_name *name = pl_tag_name_of(&process, text);
    assert_non_null(name);
    return name;
}

static uint32_t tag_below(uint32_t parent, const char *text)
{
    uint32_t tag = pl_tag_below(parent, name_of(text));
    assert_int_not_equal(tag, 0);
    return tag;
}

/* A text of this many bytes, all x but the last. */
static const char *text_of(unsigned bytes, char last)
{
    memset(long_text, 'x', bytes);
    long_text[bytes - 1] = last;
    long_text[bytes] = 0;
    return long_text;
}

static uint64_t lost(enum pl_loss loss)
{
    return pl_file_header(&process.file)->losses[loss];
}

/* ---- names ---- */

static void equal_texts_are_one_name(void **state)
{
    (void) state;
    char copy[] = "index";
    assert_ptr_equal(name_of("index"), name_of(copy));
    assert_ptr_not_equal(name_of("index"), name_of("Index"));
    assert_string_equal(name_of("index")->text, "index");
    assert_string_equal(name_of("")->text, "");
}

static void a_name_is_copied(void **state)
{
    (void) state;
    char text[] = "first";
    const struct pl_tag_name *name = name_of(text);
    memcpy(text, "other", 5);
    assert_string_equal(name->text, "first");
    assert_ptr_not_equal(name_of(text), name);
}

static void long_texts_that_differ_in_their_last_byte_are_two_names(void **state)
{
    (void) state;
    static const unsigned lengths[] = {1, 2, 4095, 4096, 4097, 20000, KEPT, KEPT + 1, LONGEST};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const struct pl_tag_name *a = name_of(text_of(lengths[i], 'a')), *b = name_of(text_of(lengths[i], 'b'));
        assert_ptr_not_equal(a, b);
        assert_string_not_equal(a->text, b->text);
        assert_ptr_equal(name_of(text_of(lengths[i], 'a')), a);
        assert_int_equal(strlen(a->text), a->bytes);
    }
}

static void a_name_that_is_too_long_is_truncated_between_characters_and_counted_once(void **state)
{
    (void) state;
    uint64_t before = lost(PL_LOSS_TAG_NAMES);
    for (unsigned shift = 0; shift < 2; shift++) {
        text_of(LONGEST - shift, 'z');
        for (unsigned i = shift; i + 2 < LONGEST; i += 2)
            memcpy(long_text + i, "\xc3\xa4", 2);
        const struct pl_tag_name *name = name_of(long_text);
        assert_in_range(name->bytes, KEPT - 32, KEPT);
        const char *mark = strstr(name->text, "\xe2\x80\xa6#");
        assert_non_null(mark);
        assert_int_equal((mark - name->text) % 2, shift);
        assert_ptr_equal(name_of(long_text), name);
    }
    assert_int_equal(lost(PL_LOSS_TAG_NAMES), before + 2);
}

/* ---- tags ---- */

static void a_tag_is_a_parent_and_a_name(void **state)
{
    (void) state;
    uint32_t a = tag_below(PL_TAG_AT_ROOT, "a"), b = tag_below(PL_TAG_AT_ROOT, "b"), a_b = tag_below(a, "b");
    assert_true(a != b && a != a_b && b != a_b);
    assert_int_equal(tag_below(a, "b"), a_b);
    assert_int_not_equal(tag_below(PL_TAG_AT_ROOT, "a/b"), a_b);
    assert_int_equal(pl_tag_parent(a_b), a);
    assert_true(a_b > a);
    assert_true(pl_tag_exists(a) && pl_tag_exists(PL_TAG_AT_ROOT));
    assert_false(pl_tag_exists(TAGS_MAX - 1) || pl_tag_exists(UINT32_MAX));
}

static void reserved_tags_cannot_be_named(void **state)
{
    (void) state;
    assert_true(tag_below(PL_TAG_AT_ROOT, "(off)") >= PL_TAG_FIRST);
    assert_false(pl_tag_exists(PL_TAG_AT_OFF) || pl_tag_exists(PL_TAG_AT_PAUSED));
}

static uint32_t found[THREADS][SHARED];

static void make_shared(unsigned number)
{
    char text[32];
    uint32_t parent = 0;
    for (unsigned i = 0; i < SHARED; i++) {
        snprintf(text, sizeof text, "shared %u", i / 2);
        found[number][i] = pl_tag_below(i % 2 ? parent : 0, pl_tag_name_of(&process, text));
        parent = found[number][i];
    }
}

static void threads_that_make_the_same_tag_at_once_agree(void **state)
{
    (void) state;
    run_threads(THREADS, make_shared);
    for (unsigned t = 1; t < THREADS; t++)
        assert_memory_equal(found[0], found[t], sizeof found[0]);
    for (unsigned i = 1; i < SHARED; i++)
        assert_true(found[0][i] && found[0][i] != found[0][i - 1]);
}

static void deep_tag_trees_work(void **state)
{
    (void) state;
    uint32_t tag = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint32_t next = tag_below(tag, "deeper");
        assert_int_equal(pl_tag_parent(next), tag);
        tag = next;
    }
    assert_int_not_equal(pl_tag_record(&process, tag), 0);
}

/* ---- records ---- */

static const struct pl_tag_record *record_at(uint32_t number)
{
    const struct pl_tag_record *record = pl_file_record(&process.file, PL_KIND_TAG, number);
    assert_int_equal(record->valid, 1);
    return record;
}

static const char *text_at(struct pl_text text)
{
    const uint8_t *directory = process.file.base + PL_HEADER_BYTES;
    uint32_t chunk = text.offset / PL_CHUNK_BYTES;
    for (uint32_t i = 0; i < PL_DIRECTORY_CHUNKS; i++)
        if (directory[i] == PL_KIND_TEXT && chunk-- == 0)
            return (const char *) process.file.base + PL_CHUNKS_OFFSET + i * (size_t) PL_CHUNK_BYTES +
                   text.offset % PL_CHUNK_BYTES;
    fail();
    return NULL;
}

/* Reads the name piece by piece, as a reader does. */
static void assert_recorded(uint32_t number, const char *expected)
{
    const struct pl_tag_record *record = record_at(number);
    size_t at = 0, bytes = strlen(expected);
    assert_int_equal(record->kind, PL_TAG_NAMED);
    for (;;) {
        assert_true(record->name.bytes <= PL_TAG_PIECE && at + record->name.bytes <= bytes);
        if (record->name.bytes)
            assert_memory_equal(text_at(record->name), expected + at, record->name.bytes);
        at += record->name.bytes;
        if (!record->rest)
            break;
        record = record_at(record->rest);
        assert_int_equal(record->kind, PL_TAG_REST);
    }
    assert_int_equal(at, bytes);
}

static void a_record_has_the_whole_name_of_its_tag(void **state)
{
    (void) state;
    static const unsigned lengths[] = {1, 4095, 4096, 4097, 8192, 8193, 20000, KEPT};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const char *text = text_of(lengths[i], 'r');
        assert_recorded(pl_tag_record(&process, tag_below(0, text)), text);
    }
    assert_recorded(pl_tag_record(&process, tag_below(0, "")), "");
    assert_int_equal(pl_tag_record(&process, PL_TAG_AT_ROOT), 0);
    assert_int_equal(record_at(pl_tag_record(&process, PL_TAG_AT_OFF))->kind, PL_TAG_OFF);
}

static void a_record_is_written_once_and_after_those_of_its_parents(void **state)
{
    (void) state;
    uint32_t outer = tag_below(0, "outer"), middle = tag_below(outer, "middle"), inner = tag_below(middle, "inner");
    uint32_t last = pl_tag_record(&process, inner);
    assert_int_equal(pl_tag_record(&process, inner), last);
    assert_int_equal(record_at(last)->parent, pl_tag_record(&process, middle));
    assert_int_equal(record_at(record_at(last)->parent)->parent, pl_tag_record(&process, outer));
    assert_int_equal(record_at(pl_tag_record(&process, outer))->parent, 0);
    assert_true(last > record_at(last)->parent);
}

static void fork_keeps_tags_and_forgets_their_records(void **state)
{
    (void) state;
    NEEDS_KERNEL();
    const struct pl_tag_name *name = name_of("kept");
    uint32_t tag = pl_tag_below(0, name), record = pl_tag_record(&process, tag);
    pid_t child = fork();
    if (child == 0) {
        bool kept = pl_tag_name_of(&process, "kept") == name && pl_tag_below(0, name) == tag && pl_tag_exists(tag);
        _exit(kept && pl_tag_record(&process, tag) > record ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* ---- the limit ---- */

static void at_the_limit_new_tags_are_refused_and_old_ones_still_found(void **state)
{
    (void) state;
    char text[32];
    uint32_t first = tag_below(0, "bound 0");
    unsigned made = 0, refused = 0;
    for (unsigned i = 0; i < 2 * TAGS_MAX; i++) {
        snprintf(text, sizeof text, "bound %u", i);
        const struct pl_tag_name *name = pl_tag_name_of(&process, text);
        name &&pl_tag_below(0, name) ? made++ : refused++;
    }
    assert_true(made > TAGS_MAX / 2 && made < TAGS_MAX && refused > TAGS_MAX);
    assert_int_equal(pl_tag_count(), TAGS_MAX);
    assert_int_equal(tag_below(0, "bound 0"), first);
    assert_int_equal(pl_tag_below(first, name_of("bound 1")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_one_name),
        cmocka_unit_test(a_name_is_copied),
        cmocka_unit_test(long_texts_that_differ_in_their_last_byte_are_two_names),
        cmocka_unit_test(a_name_that_is_too_long_is_truncated_between_characters_and_counted_once),
        cmocka_unit_test(a_tag_is_a_parent_and_a_name),
        cmocka_unit_test(reserved_tags_cannot_be_named),
        cmocka_unit_test(threads_that_make_the_same_tag_at_once_agree),
        cmocka_unit_test(deep_tag_trees_work),
        cmocka_unit_test(a_record_has_the_whole_name_of_its_tag),
        cmocka_unit_test(a_record_is_written_once_and_after_those_of_its_parents),
        cmocka_unit_test(fork_keeps_tags_and_forgets_their_records),
        cmocka_unit_test(at_the_limit_new_tags_are_refused_and_old_ones_still_found),
    };
    return cmocka_run_group_tests(tests, start, end);
}
