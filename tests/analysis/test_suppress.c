/* SPDX-License-Identifier: MIT */
/*
 * test_suppress.c - suppression patterns and files like LeakSanitizer's, and built-in rules that hide no real leak.
 */
#include <errno.h>

#include "analysis/leaks/suppress.h"
#include "model.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#define LIBSTDCXX "/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"
#define APP "/opt/app/server"
#define PLUGIN "/opt/app/plugin.so"

/* --- patterns --- */

static void a_pattern_is_found_anywhere_in_a_name(void **state)
{
    (void) state;
    assert_true(pl_suppress_matches("add", "index_add_term"));
    assert_true(pl_suppress_matches("index_add_term", "index_add_term"));
    assert_false(pl_suppress_matches("index_add_term_", "index_add_term"));
    assert_false(pl_suppress_matches("sub", "index_add_term"));
}

static void an_asterisk_matches_anything(void **state)
{
    (void) state;
    assert_true(pl_suppress_matches("ind*term", "index_add_term"));
    assert_true(pl_suppress_matches("ind*x_*_term", "index_add_term"));
    assert_true(pl_suppress_matches("*", "x"));
    assert_true(pl_suppress_matches("a**b", "ab"));
    assert_false(pl_suppress_matches("term*ind", "index_add_term"));
    assert_false(pl_suppress_matches("ind*ndex", "index_add_term")); /* pieces do not overlap */
}

static void anchors_are_the_ends_of_the_name(void **state)
{
    (void) state;
    assert_true(pl_suppress_matches("^index", "index_add_term"));
    assert_false(pl_suppress_matches("^add", "index_add_term"));
    assert_true(pl_suppress_matches("term$", "index_add_term"));
    assert_false(pl_suppress_matches("add$", "index_add_term"));
    assert_true(pl_suppress_matches("^main$", "main"));
    assert_false(pl_suppress_matches("^main$", "main2"));
    assert_false(pl_suppress_matches("^main$", "domain"));
    assert_true(pl_suppress_matches("^i*m$", "index_add_term"));
    assert_true(pl_suppress_matches("^*term$", "index_add_term"));
    assert_true(pl_suppress_matches("ab$", "ab_ab")); /* the last occurrence matches */
    assert_true(pl_suppress_matches("x*$", "axb"));
}

static void no_pattern_matches_an_unknown_name(void **state)
{
    (void) state;
    assert_false(pl_suppress_matches("*", ""));
    assert_false(pl_suppress_matches("^$", ""));
}

/* --- files --- */

static int parse(struct pl_suppressions *set, const char *text, char why[PL_WHY_BYTES])
{
    return pl_suppressions_parse(set, "app.supp", text, strlen(text), why);
}

static void comments_blanks_and_line_ends_do_not_matter(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(
        parse(set, "# ours\n\n  leak:cache_put \t\r\n\tleak:std::basic_string<char>\n#leak:no\nleak:last", why), 0);
    assert_int_equal(set->count, 3);
    assert_int_equal(set->own, 3);
    assert_string_equal(set->rule[0].pattern, "cache_put");
    assert_string_equal(set->rule[1].pattern, "std::basic_string<char>");
    assert_string_equal(set->rule[2].pattern, "last");
    assert_string_equal(set->rule[2].file, "app.supp");
    assert_int_equal(set->rule[2].line, 6);
    pl_suppressions_free(set);
}

static void lines_for_other_tools_are_counted_and_ignored(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(parse(set, "leak:a\nrace:b\nalloc_dealloc_mismatch:c\nleaks:d\n", why), 0);
    assert_int_equal(set->count, 1);
    assert_int_equal(set->ignored, 3);
    assert_string_equal(set->first_ignored, "app.supp:2: race:");
    pl_suppressions_free(set);
}

static void an_invalid_line_is_reported_and_nothing_of_the_file_is_used(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(parse(set, "leak:before\n", why), 0);
    assert_int_equal(parse(set, "leak:a\nrace:b\n\ncache_put\n", why), -EINVAL);
    assert_ptr_equal(strstr(why, "app.supp:4: "), why);
    assert_int_equal(set->count, 1);
    assert_int_equal(set->ignored, 0);
    assert_int_equal(parse(set, "leak:\n", why), -EINVAL);
    assert_ptr_equal(strstr(why, "app.supp:1: "), why);
    assert_int_equal(parse(set, "Leak: a\n", why), -EINVAL);
    assert_int_equal(parse(set, ":a\n", why), -EINVAL);
    assert_int_equal(pl_suppressions_parse(set, "core", "leak:\0x", 7, why), -EINVAL);
    assert_int_equal(set->count, 1);
    pl_suppressions_free(set);
}

static void a_file_that_cannot_be_read_is_reported(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(pl_suppressions_read(set, "/nonexistent/app.supp", why), -ENOENT);
    assert_non_null(strstr(why, "/nonexistent/app.supp"));
    assert_int_equal(pl_suppressions_read(set, "/tmp", why), -EISDIR);
    pl_suppressions_free(set);
}

/* --- stacks --- */

static uint32_t rule_of(struct model *model, const struct pl_suppressions *set, uint32_t stack)
{
    struct pl_suppressor *suppressor = pl_suppressor_new(&model->profile, set);
    uint32_t rule = pl_suppressor_rule(suppressor, stack);
    pl_suppressor_free(suppressor);
    return rule;
}

static bool matches_function(const char *rule, const char *function)
{
    char why[PL_WHY_BYTES];
    struct model *model = model_new(1, 8);
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(parse(set, rule, why), 0);
    bool matches = rule_of(model, set, STACK(model, APP, function)) == 0;
    pl_suppressions_free(set);
    model_free(model);
    return matches;
}

static void a_pattern_also_matches_the_printed_form_of_a_name(void **state)
{
    (void) state;
    assert_true(matches_function("leak:^leak_one$", "leak_one(int, char const*)"));
    assert_true(matches_function("leak:^leak_one(int", "leak_one(int, char const*)"));
    assert_true(matches_function("leak:^ns::Table<int>::add$", "void ns::Table<int>::add<long>(long) const") == false);
    assert_true(matches_function("leak:^ns::Table<int>::add<long>$", "void ns::Table<int>::add<long>(long) const"));
    assert_true(matches_function("leak:^(anonymous namespace)::keep$",
                                 "(anonymous namespace)::keep(std::function<int (int)>)"));
    assert_true(matches_function("leak:^Visitor::operator()$", "Visitor::operator()(int) const"));
    assert_true(matches_function("leak:^operator new$", "operator new(unsigned long)"));
    assert_false(matches_function("leak:^main::{lambda$", "main::{lambda(int)#1}"));
    assert_false(matches_function("leak:^leak$", "leak_one(int)"));
    assert_false(matches_function("leak:^one$", ")("));
}

static void a_user_rule_matches_function_file_or_module_of_any_frame(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct model *model = model_new(1, 8);
    uint32_t stack = STACK(model, LIBC, "strdup", PLUGIN, "keep", APP, "main");
    model->place[model->in_stack[stack][2]].file = "/home/a/src/server.c";
    static const char *const wanted[] = {"leak:strdup", "leak:^keep$", "leak:src/server.c", "leak:plugin.so",
                                         "leak:libc.so"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct pl_suppressions *set = pl_suppressions_new();
        assert_int_equal(parse(set, wanted[i], why), 0);
        assert_int_equal(rule_of(model, set, stack), 0);
        pl_suppressions_free(set);
    }
    struct pl_suppressions *set = pl_suppressions_new();
    assert_int_equal(parse(set, "leak:other", why), 0);
    assert_int_equal(rule_of(model, set, stack), PL_NO_RULE);
    assert_int_equal(rule_of(model, set, PL_NO_STACK), PL_NO_RULE);
    pl_suppressions_free(set);
    model_free(model);
}

static const char *builtin_for(struct model *model, uint32_t stack)
{
    struct pl_suppressions *set = pl_suppressions_new();
    pl_suppressions_add_builtin(set);
    uint32_t rule = rule_of(model, set, stack);
    const char *pattern = rule == PL_NO_RULE ? "none" : set->rule[rule].pattern;
    pl_suppressions_free(set);
    return pattern;
}

static void blocks_that_libraries_set_up_once_are_suppressed(void **state)
{
    (void) state;
    struct model *model = model_new(1, 8);
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "", LIBC, "setlocale", APP, "main")), "setlocale");
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "strdup", LIBC, "", LIBC, "setlocale", APP, "main")),
                        "setlocale");
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "_IO_file_doallocate", LIBC, "puts", APP, "main")),
                        "_IO_file_doallocate");
    assert_string_equal(builtin_for(model, STACK(model, LIBSTDCXX, "", LOADER, "", LOADER, "")), "*");
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "getpwuid_r@@GLIBC_2.2.5", APP, "main")), "getpw*");
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "__GI___strdup", LIBC, "__textdomain", APP, "main")),
                        "textdomain");
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "__GI_setlocale", APP, "main")), "setlocale");
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "tzset_internal.part.0", APP, "main")), "tz*");
    model_free(model);
}

static void the_programs_own_function_of_the_same_name_is_not_suppressed(void **state)
{
    (void) state;
    struct model *model = model_new(1, 8);
    assert_string_equal(builtin_for(model, STACK(model, APP, "setlocale", APP, "main")), "none");
    assert_string_equal(builtin_for(model, STACK(model, PLUGIN, "_dl_open", APP, "main")), "none");
    model_free(model);
}

static void allocations_of_a_plugin_during_loading_are_not_suppressed(void **state)
{
    (void) state;
    struct model *model = model_new(1, 8);
    uint32_t stack = STACK(model, LIBSTDCXX, "operator new(unsigned long)", PLUGIN, "register_all", LOADER, "call_init",
                           LOADER, "dl_open_worker", LIBC, "dlopen", APP, "main");
    assert_string_equal(builtin_for(model, stack), "none");
    model_free(model);
}

static void blocks_returned_to_the_caller_are_not_suppressed(void **state)
{
    (void) state;
    static const char *const handing_out[] = {
        "strdup",   "strndup",   "getline",    "getdelim",       "fopen",     "fdopen",    "popen",       "opendir",
        "asprintf", "vasprintf", "regcomp",    "getcwd",         "realpath",  "scandir",   "getaddrinfo", "tempnam",
        "wcsdup",   "glob",      "iconv_open", "open_memstream", "hcreate_r", "newlocale", "duplocale"};
    struct model *model = model_new(1, 8);
    for (size_t i = 0; i < sizeof handing_out / sizeof *handing_out; i++) {
        assert_string_equal(builtin_for(model, STACK(model, LIBC, handing_out[i], APP, "main")), "none");
        model->profile.stacks = model->profile.frames = 0;
    }
    assert_string_equal(builtin_for(model, STACK(model, LIBC, "", LIBC, "newlocale", APP, "main")), "newlocale");
    model_free(model);
}

static void an_extension_of_an_interpreter_is_not_suppressed(void **state)
{
    (void) state;
    static const char python[] = "/usr/bin/python3.11", extension[] = "/usr/lib/python3.11/lib-dynload/_x.so";
    struct model *model = model_new(1, 8);
    assert_string_equal(builtin_for(model, STACK(model, python, "PyList_New", python, "pymain_init", python, "main")),
                        "pymain_init*");
    assert_string_equal(builtin_for(model, STACK(model, extension, "make", python, "pymain_init", python, "main")),
                        "none");
    assert_string_equal(
        builtin_for(model, STACK(model, python, "PyList_New", extension, "PyType_Ready", python, "main")), "none");
    model_free(model);
}

static void built_in_rules_are_complete(void **state)
{
    (void) state;
    size_t count = 0;
    for (const struct pl_suppression *rule = pl_suppress_onetime; rule->pattern; rule++, count++) {
        assert_true(*rule->pattern && rule->why && *rule->why);
        assert_non_null(rule->modules[0]);
        assert_true(rule->blocks_most > 0);
        assert_null(rule->file);
    }
    assert_true(count > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_found_anywhere_in_a_name),
        cmocka_unit_test(an_asterisk_matches_anything),
        cmocka_unit_test(anchors_are_the_ends_of_the_name),
        cmocka_unit_test(no_pattern_matches_an_unknown_name),
        cmocka_unit_test(comments_blanks_and_line_ends_do_not_matter),
        cmocka_unit_test(lines_for_other_tools_are_counted_and_ignored),
        cmocka_unit_test(an_invalid_line_is_reported_and_nothing_of_the_file_is_used),
        cmocka_unit_test(a_file_that_cannot_be_read_is_reported),
        cmocka_unit_test(a_pattern_also_matches_the_printed_form_of_a_name),
        cmocka_unit_test(a_user_rule_matches_function_file_or_module_of_any_frame),
        cmocka_unit_test(blocks_that_libraries_set_up_once_are_suppressed),
        cmocka_unit_test(the_programs_own_function_of_the_same_name_is_not_suppressed),
        cmocka_unit_test(allocations_of_a_plugin_during_loading_are_not_suppressed),
        cmocka_unit_test(blocks_returned_to_the_caller_are_not_suppressed),
        cmocka_unit_test(an_extension_of_an_interpreter_is_not_suppressed),
        cmocka_unit_test(built_in_rules_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
