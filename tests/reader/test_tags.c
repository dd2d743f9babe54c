/* SPDX-License-Identifier: MIT */
/*
 * test_tags.c - reading tags, scopes and sites with tags, from correct and damaged files.
 */
#include "forged_profile.h"

#define LONG_BYTES 65536

/* The index of the tag with this path. Fails if there is none, or more than one. */
static uint32_t tag_at(const struct pl_profile *profile, const char *path)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < profile->tags; i++) {
        if (strcmp(profile->tag[i].path, path) != 0)
            continue;
        assert_int_equal(found, UINT32_MAX);
        found = i;
    }
    if (found == UINT32_MAX)
        fail_msg("there is no tag %.80s", path);
    return found;
}

static const struct pl_scope_view *scope_at(const struct pl_profile *profile, uint32_t thread, const char *path)
{
    for (uint32_t i = 0; i < profile->scopes; i++)
        if (profile->scope[i].thread == thread && profile->scope[i].tag == tag_at(profile, path))
            return &profile->scope[i];
    return NULL;
}

static void assert_scope(const struct pl_profile *profile, uint32_t thread, const char *path, uint64_t calls,
                         uint64_t bytes)
{
    const struct pl_scope_view *scope = scope_at(profile, thread, path);
    assert_non_null(scope);
    assert_int_equal(scope->calls[PL_FN_MALLOC], calls);
    assert_int_equal(scope->bytes, bytes);
}

static struct pl_profile *load_and_free(struct forge *forge)
{
    struct pl_profile *profile = forge_load(forge);
    forge_free(forge);
    return profile;
}

static char *long_name(char last)
{
    char *name = malloc(LONG_BYTES + 1);
    assert_non_null(name);
    for (int i = 0; i < LONG_BYTES; i++)
        name[i] = (char) (1 + i % 255); /* not UTF-8 */
    name[LONG_BYTES - 1] = last;
    name[LONG_BYTES] = 0;
    return name;
}

/* ---- tags ---- */

static void a_profile_without_tags_has_the_root(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("leak");
    assert_int_equal(profile->tags, 1);
    assert_string_equal(profile->tag[0].path, "");
    assert_int_equal(profile->scopes, 2); /* one for each thread, with all of its calls */
    assert_int_equal(profile->scope[0].tag, 0);
    pl_profile_close(profile);
}

static void a_tag_has_a_name_a_path_and_a_parent(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    const struct pl_tag_view *parse = &profile->tag[tag_at(profile, "request/parse")];
    assert_string_equal(parse->name, "parse");
    assert_int_equal(parse->parent, tag_at(profile, "request"));
    assert_int_equal(parse->depth, 2);
    assert_int_equal(profile->tag[parse->parent].parent, 0);
    assert_int_equal(profile->tags, 6);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void similar_names_and_equal_names_under_other_parents_are_other_tags(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t outer = forge_tag(forge, 0, "Func");
    forge_tag(forge, 0, "FuncLong");
    forge_tag(forge, 0, "");
    forge_tag(forge, outer, "Func");
    forge_tag(forge, outer, "\"quoted\"\n\xff");
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 6);
    assert_int_equal(profile->tag[tag_at(profile, "Func/Func")].depth, 2);
    assert_string_equal(profile->tag[tag_at(profile, "Func/\"quoted\"\n\xff")].name, "\"quoted\"\n\xff");
    assert_string_equal(profile->tag[3].name, "");
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void records_of_the_same_tag_are_one(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t one = forge_tag(forge, 0, "request"), two = forge_tag(forge, 0, "request");
    uint32_t below_one = forge_tag(forge, one, "parse"), below_two = forge_tag(forge, two, "parse");
    forge_scope(forge, 1, below_one, 3, 30)->entered = 2;
    forge_scope(forge, 1, below_two, 4, 40)->entered = 5;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 3);
    assert_scope(profile, 0, "request/parse", 7, 70);
    assert_int_equal(profile->scope[0].entered, 7);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void the_off_tag_is_not_a_tag_named_off(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    forge_tag(forge, 0, "(off)");
    forge_tag_of_kind(forge, PL_TAG_OFF);
    forge_tag_of_kind(forge, PL_TAG_PAUSED);
    forge_tag_of_kind(forge, PL_TAG_OFF);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 4);
    assert_string_equal(profile->tag[2].name, "(off)");
    assert_int_equal(profile->tag[2].kind, PL_TAG_OFF);
    assert_string_equal(profile->tag[3].path, "(paused)");
    pl_profile_close(profile);
}

static void a_long_name_is_joined_from_its_pieces(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    char *one = long_name('1'), *other = long_name('2');
    uint32_t first = forge_tag(forge, 0, one);
    forge_tag(forge, 0, other); /* differs in its last piece */
    uint32_t again = forge_tag(forge, 0, one);
    forge_tag(forge, again, "below");
    forge_scope(forge, 1, first, 1, 10);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 4);
    assert_string_equal(profile->tag[1].name, one);
    assert_string_equal(profile->tag[1].path, one);
    assert_string_equal(profile->tag[2].name, other);
    assert_int_equal(strlen(profile->tag[3].path), LONG_BYTES + strlen("/below"));
    assert_int_equal(profile->scope[0].tag, 1);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
    free(one);
    free(other);
}

/* 16,384 tags, a hundred deep, with different names. */
static void sixteen_thousand_tags_have_their_paths(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t parent = 0, last = 0;
    for (uint32_t i = 0; i < 16384; i++) {
        char name[32];
        snprintf(name, sizeof name, "scope %u", i);
        parent = i % 100 == 0 ? 0 : last;
        last = forge_tag(forge, parent, name);
    }
    forge_scope(forge, 1, 100, 5, 50);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 16385);
    assert_int_equal(profile->tag[profile->scope[0].tag].depth, 100);
    for (uint32_t i = 1; i < profile->tags; i++) {
        const struct pl_tag_view *tag = &profile->tag[i], *above = &profile->tag[tag->parent];
        size_t bytes = strlen(above->path);
        assert_memory_equal(tag->path, above->path, bytes);
        assert_string_equal(tag->path + bytes + (tag->parent != 0), tag->name);
    }
    pl_profile_close(profile);
}

static uint64_t measure_paths(const struct pl_profile *profile)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < profile->tags; i++)
        bytes += strlen(profile->tag[i].path);
    return bytes;
}

/* All full paths together would take 2 GiB. */
static void paths_that_are_too_long_are_truncated_in_the_middle(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    char name[4096];
    uint32_t tag = forge_tag(forge, 0, "first");
    for (int i = 0; i < 1000; i++) {
        memset(name, 'a' + i % 26, sizeof name - 1);
        name[sizeof name - 1] = 0;
        tag = forge_tag(forge, tag, name);
    }
    forge_tag(forge, tag, "last");
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 1003);
    const struct pl_tag_view *last = &profile->tag[1002];
    assert_int_equal(last->depth, 1002);
    assert_string_equal(last->name, "last");
    assert_memory_equal(last->path, "first/aaa", 9);
    assert_non_null(strstr(last->path, "…"));
    assert_string_equal(last->path + strlen(last->path) - 6, "l/last");
    assert_true(measure_paths(profile) < 128 << 20);
    assert_string_equal(profile->tag[1].path, "first");
    pl_profile_close(profile);
}

static void truncation_does_not_split_a_character(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    char name[3000 + 1] = "";
    for (int i = 0; i < 1000; i++)
        memcpy(name + 3 * i, "\u20ac", 4);
    uint32_t tag = 0;
    for (int i = 0; i < 1500; i++)
        tag = forge_tag(forge, tag, name);
    struct pl_profile *profile = load_and_free(forge);
    const char *path = profile->tag[1500].path;
    assert_true(strlen(path) < 1500 * 3000);
    for (const char *c = path; *c; c += *c == '/' ? 1 : 3)
        assert_true(*c == '/' || memcmp(c, "\u20ac", 3) == 0 || memcmp(c, "…", 3) == 0);
    pl_profile_close(profile);
}

/* ---- scopes ---- */

static void calls_that_no_scope_has_booked_belong_to_the_current_tag(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    assert_scope(profile, 1, "request", 110, 100 * 1024 + (10 << 21));
    assert_scope(profile, 1, "request/parse", 300, 300 * 64); /* which no scope has booked */
    assert_scope(profile, 1, "request/render", 200, 200 * 64);
    assert_null(scope_at(profile, 1, ""));
    assert_scope(profile, 0, "", 1, 4096);
    assert_int_equal(scope_at(profile, 1, "request/render")->entered, 100);
    pl_profile_close(profile);
}

static void unbooked_calls_are_found_for_each_function(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    struct pl_thread_record *thread = forge_thread_at(forge, 1);
    thread->calls[PL_FN_MALLOC] = 10;
    thread->calls[PL_FN_REALLOC] = 4;
    thread->bytes = 100;
    thread->tag = forge_tag(forge, 0, "now");
    struct pl_scope_record *scope = forge_scope(forge, 1, forge_tag(forge, 0, "before"), 10, 60);
    scope->calls[PL_FN_REALLOC] = 1;
    struct pl_profile *profile = load_and_free(forge);
    assert_scope(profile, 0, "now", 0, 40);
    assert_int_equal(scope_at(profile, 0, "now")->calls[PL_FN_REALLOC], 3);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void scopes_with_more_calls_than_their_thread_are_believed(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t tag = forge_tag(forge, 0, "busy");
    forge_thread_at(forge, 1)->calls[PL_FN_MALLOC] = 5;
    forge_thread_at(forge, 1)->bytes = 1000;
    forge_thread_at(forge, 1)->tag = forge_tag(forge, 0, "next");
    forge_scope(forge, 1, tag, 8, 900);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->thread[0].calls[PL_FN_MALLOC], 8);
    assert_int_equal(profile->thread[0].bytes, 1000);
    assert_scope(profile, 0, "busy", 8, 900);
    assert_scope(profile, 0, "next", 0, 100);
    assert_true(profile->total[PL_METRIC_ALLOC_OBJECTS].value == 8);
    pl_profile_close(profile);
}

static void a_profile_whose_scopes_have_wrong_sums_is_not_valid(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    profile->scope[0].calls[PL_FN_CALLOC]++;
    assert_false(pl_profile_valid(profile));
    profile->scope[0].calls[PL_FN_CALLOC]--;
    profile->scope[1].tag = profile->tags;
    assert_false(pl_profile_valid(profile));
    pl_profile_close(profile);
}

static void allocations_while_off_are_counted_and_not_recorded(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    assert_true(profile->total[PL_METRIC_ALLOC_OBJECTS].value == 1000 + 500 + 1 + 2 * 610);
    assert_true(profile->recorded_calls == 1000 + 1 + 2 * 610);
    assert_true(profile->recorded_bytes == profile->total[PL_METRIC_ALLOC_SPACE].value - 12000);
    assert_true(profile->exact_calls == profile->recorded_calls);
    pl_profile_close(profile);
}

/* No more can be live than was recorded. */
static void confidence_intervals_end_at_what_was_recorded(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t stack = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    forge_scope(forge, 1, forge_tag_of_kind(forge, PL_TAG_OFF), 1000000, 100000000);
    forge_scope(forge, 1, 0, 6000, 600000);
    forge_sample(&forge_row_at(forge, forge_row(forge, forge_site(forge, stack), 1))->allocated, 100, 3000, 1);
    struct pl_profile *profile = load_and_free(forge);
    assert_true(profile->total[PL_METRIC_INUSE_OBJECTS].high == 6000);
    assert_true(profile->total[PL_METRIC_INUSE_SPACE].high == 600000);
    assert_true(profile->total[PL_METRIC_ALLOC_SPACE].value == 100600000);
    pl_profile_close(profile);
}

/* ---- sites ---- */

static void a_stack_under_two_tags_is_two_sites(void **state)
{
    (void) state;
    struct pl_profile *profile = load_scenario("tags");
    uint32_t parse = tag_at(profile, "request/parse"), render = tag_at(profile, "request/render");
    const struct pl_site_view *parsed = NULL, *rendered = NULL;
    for (uint32_t i = 0; i < profile->sites; i++) {
        parsed = profile->site[i].thread == 1 && profile->site[i].tag == parse ? &profile->site[i] : parsed;
        rendered = profile->site[i].thread == 1 && profile->site[i].tag == render ? &profile->site[i] : rendered;
    }
    assert_non_null(parsed);
    assert_non_null(rendered);
    assert_int_equal(parsed->stack, rendered->stack);
    assert_true(pl_site_value(parsed, PL_METRIC_INUSE_OBJECTS) == 0);
    assert_true(pl_site_value(rendered, PL_METRIC_INUSE_OBJECTS) == 50);
    assert_int_equal(profile->stacks, 3);
    assert_int_equal(profile->sites, 2 + 2 * 4);
    pl_profile_close(profile);
}

static void rows_and_tallies_under_one_tag_are_one_site(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t one = forge_tag(forge, 0, "a"), same = forge_tag(forge, 0, "a");
    uint32_t stack = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    uint32_t tally = forge_tally(forge, forge_tagged_site(forge, stack, one), 1);
    forge_count(forge_tally_at(forge, tally), 3, 10);
    uint32_t row = forge_row(forge, forge_tagged_site(forge, stack, same), 1);
    forge_sample(&forge_row_at(forge, row)->allocated, 10, 2, 2);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->sites, 1);
    assert_true(pl_site_value(&profile->site[0], PL_METRIC_ALLOC_OBJECTS) == 7);
    pl_profile_close(profile);
}

static void each_tag_has_its_own_site_for_other_sizes(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t tag = forge_tag(forge, 0, "a");
    const uint32_t site[] = {PL_SITE_OVERFLOW, forge_other_sizes(forge, 0), forge_other_sizes(forge, tag),
                             forge_other_sizes(forge, tag)};
    for (uint32_t i = 0; i < 4; i++)
        forge_count(forge_tally_at(forge, forge_tally(forge, site[i], 1)), 1 + i, 10);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->sites, 3);
    assert_false(profile->site[0].other_sizes);
    assert_true(profile->site[1].other_sizes && profile->site[2].other_sizes);
    assert_int_equal(profile->site[1].stack, PL_NO_STACK);
    assert_int_equal(profile->site[2].tag, 1);
    assert_true(pl_site_value(&profile->site[2], PL_METRIC_ALLOC_OBJECTS) == 7);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

/* ---- damaged files ---- */

static void tags_that_are_below_themselves_are_dropped(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t good = forge_tag(forge, 0, "good");
    uint32_t loop = forge_tag(forge, 0, "loop"), below = forge_tag(forge, loop, "below");
    forge_tag_at(forge, loop)->parent = below;
    forge_tag_at(forge, forge_tag(forge, 0, "self"))->parent = below + 1;
    forge_tag_at(forge, forge_tag(forge, 0, "far"))->parent = UINT32_MAX;
    forge_tag_at(forge, forge_tag(forge, 0, "kind"))->kind = 77;
    forge_tag_at(forge, forge_tag_of_kind(forge, PL_TAG_OFF))->parent = good;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 2);
    assert_int_equal(profile->damage, 5); /* without "below", whose parent is merely missing */
    pl_profile_close(profile);
}

static void a_tag_below_an_unpublished_one_is_ignored(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t parent = forge_append(forge, PL_KIND_TAG, 1);
    forge_tag(forge, parent, "child");
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 1);
    assert_int_equal(profile->damage, 0);
    pl_profile_close(profile);
}

static void a_name_with_a_cycle_of_pieces_ends(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t rest = forge_tag_of_kind(forge, PL_TAG_REST), tag = forge_tag(forge, 0, "a");
    forge_tag_at(forge, rest)->name = forge_text(forge, "b", 1);
    forge_tag_at(forge, rest)->rest = rest;
    forge_tag_at(forge, tag)->rest = rest;
    forge_tag_at(forge, forge_tag(forge, 0, "other"))->rest = tag; /* which is not a continuation */
    forge_tag_at(forge, forge_tag(forge, 0, "far"))->rest = 1000000;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 4);
    assert_memory_equal(profile->tag[1].name, "abbb", 4);
    assert_true(strlen(profile->tag[1].name) < 100);
    assert_string_equal(profile->tag[2].name, "other");
    assert_string_equal(profile->tag[3].name, "far");
    assert_int_equal(profile->damage, 3);
    pl_profile_close(profile);
}

static void names_that_share_their_text_have_a_limited_cost(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    static char name[PL_CHUNK_BYTES];
    memset(name, 'x', sizeof name);
    uint32_t rest = forge_tag_of_kind(forge, PL_TAG_REST), parent = 0;
    struct pl_text text = forge_text(forge, name, sizeof name);
    forge_tag_at(forge, rest)->name = text;
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t tag = forge_tag(forge, parent, "");
        forge_tag_at(forge, tag)->name = text;
        forge_tag_at(forge, tag)->rest = i % 2 ? rest : 0;
        parent = tag;
    }
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->tags, 20001);
    assert_true(measure_paths(profile) < 256 << 20);
    assert_true(profile->damage > 0); /* for the names that were not joined */
    pl_profile_close(profile);
}

static void references_to_missing_tags_become_the_root(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    uint32_t stack = forge_frame(forge, 0, forge_module(forge, "/bin/app", 1), 0x1000);
    uint32_t rest = forge_tag_of_kind(forge, PL_TAG_REST);
    forge_count(forge_tally_at(forge, forge_tally(forge, forge_tagged_site(forge, stack, 4711), 1)), 3, 10);
    forge_count(forge_tally_at(forge, forge_tally(forge, forge_tagged_site(forge, stack, rest), 1)), 4, 10);
    forge_scope(forge, 1, UINT32_MAX, 5, 50);
    forge_thread_at(forge, 1)->calls[PL_FN_MALLOC] = 7;
    forge_thread_at(forge, 1)->bytes = 70;
    forge_thread_at(forge, 1)->tag = 99;
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->sites, 1);
    assert_int_equal(profile->site[0].tag, 0);
    assert_scope(profile, 0, "", 7, 70);
    assert_int_equal(profile->damage, 4);
    pl_profile_close(profile);
}

static void scopes_without_a_thread_and_with_impossible_counts_are_dropped(void **state)
{
    (void) state;
    struct forge *forge = forge_build("empty");
    forge_scope(forge, 0, 0, 1, 1);
    forge_scope(forge, 2, 0, 1, 1);
    forge_scope(forge, UINT32_MAX, 0, 1, 1);
    for (int i = 0; i < 8; i++)
        forge_scope(forge, 1, 0, 1ull << 61, 1);
    forge_scope(forge, 1, 0, UINT64_MAX, 1);
    struct pl_profile *profile = load_and_free(forge);
    assert_int_equal(profile->scopes, 1);
    assert_scope(profile, 0, "", 1ull << 62, 2);
    assert_int_equal(profile->damage, 3 + 6 + 1);
    pl_profile_close(profile);
}

static void a_site_for_other_sizes_never_has_a_stack(void **state)
{
    (void) state;
    struct forge *forge = forge_build("tags");
    uint32_t site = forge_other_sizes(forge, 1);
    ((struct pl_site *) forge_record(forge, PL_KIND_SITE, site))->stack = 2;
    forge_count(forge_tally_at(forge, forge_tally(forge, site, 1)), 1000, 1);
    struct pl_profile *profile = load_and_free(forge);
    for (uint32_t i = 0; i < profile->sites; i++)
        assert_true(!profile->site[i].other_sizes || profile->site[i].stack == PL_NO_STACK);
    pl_profile_close(profile);
}

static void a_site_of_unknown_kind_keeps_its_figures(void **state)
{
    (void) state;
    struct forge *forge = forge_build("tags");
    uint32_t site = forge_other_sizes(forge, 1);
    ((struct pl_site *) forge_record(forge, PL_KIND_SITE, site))->kind = 9;
    forge_count(forge_tally_at(forge, forge_tally(forge, site, 1)), 1000, 1);
    struct pl_profile *profile = load_and_free(forge);
    assert_true(profile->exact_calls == 1000 + 1000 + 1 + 2 * 610);
    assert_int_equal(profile->damage, 1);
    pl_profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_without_tags_has_the_root),
        cmocka_unit_test(a_tag_has_a_name_a_path_and_a_parent),
        cmocka_unit_test(similar_names_and_equal_names_under_other_parents_are_other_tags),
        cmocka_unit_test(records_of_the_same_tag_are_one),
        cmocka_unit_test(the_off_tag_is_not_a_tag_named_off),
        cmocka_unit_test(a_long_name_is_joined_from_its_pieces),
        cmocka_unit_test(sixteen_thousand_tags_have_their_paths),
        cmocka_unit_test(paths_that_are_too_long_are_truncated_in_the_middle),
        cmocka_unit_test(truncation_does_not_split_a_character),
        cmocka_unit_test(calls_that_no_scope_has_booked_belong_to_the_current_tag),
        cmocka_unit_test(unbooked_calls_are_found_for_each_function),
        cmocka_unit_test(scopes_with_more_calls_than_their_thread_are_believed),
        cmocka_unit_test(a_profile_whose_scopes_have_wrong_sums_is_not_valid),
        cmocka_unit_test(allocations_while_off_are_counted_and_not_recorded),
        cmocka_unit_test(confidence_intervals_end_at_what_was_recorded),
        cmocka_unit_test(a_stack_under_two_tags_is_two_sites),
        cmocka_unit_test(rows_and_tallies_under_one_tag_are_one_site),
        cmocka_unit_test(each_tag_has_its_own_site_for_other_sizes),
        cmocka_unit_test(tags_that_are_below_themselves_are_dropped),
        cmocka_unit_test(a_tag_below_an_unpublished_one_is_ignored),
        cmocka_unit_test(a_name_with_a_cycle_of_pieces_ends),
        cmocka_unit_test(names_that_share_their_text_have_a_limited_cost),
        cmocka_unit_test(references_to_missing_tags_become_the_root),
        cmocka_unit_test(scopes_without_a_thread_and_with_impossible_counts_are_dropped),
        cmocka_unit_test(a_site_for_other_sizes_never_has_a_stack),
        cmocka_unit_test(a_site_of_unknown_kind_keeps_its_figures),
    };
    return cmocka_run_group_tests_name("tags", tests, NULL, NULL);
}
