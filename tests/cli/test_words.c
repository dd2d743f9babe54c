/* SPDX-License-Identifier: MIT */
/*
 * test_words.c - names, figures, typos and values: the conversions between what machines and what people use.
 */
#include <math.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/figure.h"
#include "analysis/names/shorten.h"
#include "analysis/role.h"
#include "cli/nearest.h"
#include "cli/option.h"
#include "cli/report/histogram.h"
#include "cli/say.h"
#include "cli/term.h"
#include "format/settings.h"
#include "reader/base/arena.h"
#include "reader/base/utf8.h"

/* --- names --- */

static void assert_shortened(const char *demangled, const char *expected)
{
    struct pl_arena *arena = pl_arena_new();
    assert_string_equal(pl_shorten_function(arena, demangled), expected);
    pl_arena_free(arena);
}

static void names_of_c_functions_stay_as_they_are(void **state)
{
    (void) state;
    assert_shortened("main", "main");
    assert_shortened("_ZN3foo3barEv", "_ZN3foo3barEv");
    assert_shortened("parse_line.cold", "parse_line.cold");
    assert_shortened("main.(*Server).Serve", "main.(*Server).Serve");
}

static void parameters_and_everything_after_them_are_dropped(void **state)
{
    (void) state;
    assert_shortened("Table::add(Row const&, int) const", "Table::add");
    assert_shortened("Table::take(std::function<void (int)>&&) &&", "Table::take");
    assert_shortened("f(void (*)(int, char))", "f");
    assert_shortened("Table::add(Row const&) [clone .cold]", "Table::add");
    assert_shortened("name[abi:cxx11](int)", "name");
}

static void the_return_type_of_a_template_is_dropped(void **state)
{
    (void) state;
    assert_shortened("void sort<int*>(int*, int*)", "sort<int*>");
    assert_shortened("std::map<int, Row>& registry<Row>()", "registry<Row>");
    assert_shortened("unsigned long count<int>(int)", "count<int>");
}

static void arguments_of_templates_are_shortened_too(void **state)
{
    (void) state;
    assert_shortened("std::vector<std::pair<int, int> >::push_back(int)",
                     "std::vector<std::pair<int, int>>::push_back");
    assert_shortened("Table<void (*)(int, char)>::add()", "Table<void (…)(…)>::add");
}

static void long_arguments_become_an_ellipsis(void **state)
{
    (void) state;
    assert_shortened("boost::variant<some::quite::long::name, another::quite::long::name>::swap(int)",
                     "boost::variant<…>::swap");
}

static void a_short_first_argument_is_kept_when_the_arguments_are_long(void **state)
{
    (void) state;
    assert_shortened("app::Cache<std::string, std::pair<int, std::string> >::put(int)",
                     "app::Cache<std::string, …>::put");
    assert_shortened("std::vector<std::pair<some::quite::long::name, int> >::push_back(int)",
                     "std::vector<std::pair<…>>::push_back");
    assert_shortened("make<Table<some::quite::long::name, int>, Another::Type, int>(int)", "make<Table<…>, …>");
    assert_shortened("std::operator<< <std::char_traits<char> >(int)", "std::operator<<");
}

static void long_names_lose_their_outer_scopes_and_keep_two_parts(void **state)
{
    (void) state;
    assert_shortened("a::rather::long::and_even_longer::namespace_of_some_project::Class::method(int)",
                     "…::long::and_even_longer::namespace_of_some_project::Class::method");
    assert_shortened("v8::internal::ReusableUnoptimizedCompileState::ReusableUnoptimizedCompileState(int)",
                     "…::ReusableUnoptimizedCompileState::ReusableUnoptimizedCompileState");
    assert_shortened("a_plain_function_with_a_name_that_is_longer_than_anybody_would_type_it",
                     "a_plain_function_with_a_name_that_is_longer_than_anybody_would_type_it");
}

static void operators_keep_their_symbols(void **state)
{
    (void) state;
    assert_shortened("Functor::operator()(int) const", "Functor::operator()");
    assert_shortened("std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>");
    assert_shortened("Row::operator<(Row const&) const", "Row::operator<");
    assert_shortened("Row::operator->() const", "Row::operator->");
    assert_shortened("Row::operator<=>(Row const&) const", "Row::operator<=>");
    assert_shortened("operator new(unsigned long)", "operator new");
    assert_shortened("Row::operator unsigned long() const", "Row::operator unsigned long");
    assert_shortened("std::operator+<char>(char const*)", "std::operator+<char>");
    assert_shortened("operators::list(int)", "operators::list");
}

static void lambdas_and_anonymous_namespaces_stay_recognisable(void **state)
{
    (void) state;
    assert_shortened("main::{lambda(int)#1}::operator()(int) const", "main::{lambda#1}::operator()");
    assert_shortened("run(int)::{lambda()#2}::operator()() const", "run::{lambda#2}::operator()");
    assert_shortened("(anonymous namespace)::helper(int)", "(anon)::helper");
    assert_shortened("ns::(anonymous namespace)::Class::method()", "ns::(anon)::Class::method");
    assert_shortened("main::(anonymous)::operator()<int>", "main::{lambda}::operator()<int>");
    assert_shortened("main()::<lambda(auto:1&)>::operator()<int>(int)", "main::{lambda}::operator()<int>");
    assert_shortened("Table::(anonymous)::add(int)", "Table::{unnamed}::add");
}

static void go_names_lose_the_path_of_their_package(void **state)
{
    (void) state;
    assert_shortened("github.com/user/project/store.(*Table).Add", "store.(*Table).Add");
    assert_shortened("example.org/a-b/c_d.Run.func1", "c_d.Run.func1");
    assert_shortened("Number::operator/(Number const&)", "Number::operator/");
}

static void rust_names_lose_their_trait_and_hash(void **state)
{
    (void) state;
    assert_shortened("app::index::add::h0123456789abcdef", "app::index::add");
    assert_shortened("app::index::h0123456789abcdeg", "app::index::h0123456789abcdeg");
    assert_shortened("app::index::add", "app::index::add");
    assert_shortened("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc::vec::Vec<T>::drop");
}

static void assert_bare_shortened(const char *name, const char *expected)
{
    struct pl_arena *arena = pl_arena_new();
    assert_string_equal(pl_shorten_bare(arena, name), expected);
    pl_arena_free(arena);
}

static void only_arguments_are_shortened_in_a_bare_name(void **state)
{
    (void) state;
    static const char *const whole[] = {
        "list growth", "list growth (all kinds)", "größe \"<x>\"",     "all [lists] (of it)", "<list>",
        "(list)",      "Table::add() const",      "a <b> [c] (d) {e}", "list::growth"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        assert_bare_shortened(whole[i], whole[i]);
    assert_bare_shortened("fill<some::quite::long::name, another::quite::long::name>::of it", "fill<…>::of it");
    assert_bare_shortened("<Stock as shop::Named>::name", "Stock::name");
    assert_bare_shortened("run(int)::{lambda(int)#2}::operator()", "run::{lambda#2}::operator()");
}

static void malformed_names_never_become_empty(void **state)
{
    (void) state;
    static const char *const names[] = {"<",  ">",  "(",  ")",   "f(",        "f<",    "a<b(c>d)",   "operator",
                                        "((", "<>", "()", "{}",  "a b c",     "::",    "<<<<>>>",    "f(int)) const",
                                        "[",  "[]", " ",  "a::", "operator<", "f<(>)", "\xff<\xfe(", "a->b<c"};
    struct pl_arena *arena = pl_arena_new();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(strlen(pl_shorten_function(arena, names[i])) > 0);
    pl_arena_free(arena);
}

static void names_nested_to_any_depth_are_handled(void **state)
{
    (void) state;
    enum { DEPTH = 5000 };
    static char name[4 * DEPTH + 1];
    for (size_t i = 0; i < DEPTH; i++) {
        name[2 * i] = 'a';
        name[2 * i + 1] = '<';
        name[2 * DEPTH + i] = '>';
    }
    struct pl_arena *arena = pl_arena_new();
    assert_true(strlen(pl_shorten_function(arena, name)) > 0);
    pl_arena_free(arena);
}

static void arrays_are_part_of_a_type(void **state)
{
    (void) state;
    assert_shortened("void grab<int []>(int)", "grab<int[]>");
    assert_shortened("void grab<int [4]>(int)", "grab<int[4]>");
    assert_shortened("void grab<int[4]>(int)", "grab<int[4]>");
    assert_shortened("void grab<int [4][2]>(int (*) [4][2])", "grab<int[4][2]>");
    assert_shortened("std::unique_ptr<int [], std::default_delete<int []> >::reset(int*)",
                     "std::unique_ptr<int[], …>::reset");
    assert_shortened("void keep<Name[abi:cxx11]>(int) [clone .cold]", "keep<Name>");
    assert_shortened("store.Map[go.shape.int].Add", "store.Map[go.shape.int].Add");
    assert_shortened("-[Stock addItem:]", "-[Stock addItem:]");
}

static void assert_apart(const char *one, const char *other, const char *shown, const char *other_shown)
{
    struct pl_arena *arena = pl_arena_new();
    struct pl_shortened names[] = {{.full = one}, {.full = "main"}, {.full = other}, {.full = one}};
    pl_shorten_apart(arena, names, 4);
    assert_string_equal(names[0].shown, shown);
    assert_string_equal(names[2].shown, other_shown);
    assert_string_equal(names[3].shown, shown);
    assert_string_equal(names[1].shown, "main");
    pl_arena_free(arena);
}

static void numbers_in_templates_lose_their_types(void **state)
{
    (void) state;
    assert_shortened("base::Worklist<int, (unsigned short)256>::Local::Push()", "base::Worklist<int, 256>::Local::Push");
    assert_shortened("void paint<(Colour)-1>(int)", "paint<-1>");
    assert_shortened("void call<int (*)(char)>(int)", "call<int (…)(…)>");
    assert_apart("f<(char)1>(int)", "f<(short)1>(int)", "f<(char)1>(int)", "f<(short)1>(int)");
}

static void functions_with_equal_short_names_get_longer_ones(void **state)
{
    (void) state;
    assert_apart("Table::add(int)", "Table::add(long, char)", "Table::add(int)", "Table::add(long, char)");
    assert_apart("Table::at(int)", "Table::at(int) const", "Table::at(int)", "Table::at(int) const");
    assert_apart("Table::at(int) &", "Table::at(int) &&", "Table::at(int) &", "Table::at(int) &&");
    assert_apart("void grab<int (&)(int)>()", "void grab<int (&)(long)>()", "grab<int (&)(int)>()",
                 "grab<int (&)(long)>()");
    assert_apart("app::Cache<std::string, std::pair<int, std::string> >::put(int)",
                 "app::Cache<std::string, std::pair<long, std::string> >::put(int)",
                 "app::Cache<std::string, std::pair<int, std::string>>::put",
                 "app::Cache<std::string, std::pair<long, std::string>>::put");
    assert_apart("run()::{lambda(int)#1}::operator()(int) const", "run()::{lambda(long)#1}::operator()(long) const",
                 "run()::{lambda(int)#1}::operator()(int) const", "run()::{lambda(long)#1}::operator()(long) const");
    assert_apart("<Stock as shop::Named>::name", "<Stock as shop::Priced>::name", "<Stock as shop::Named>::name",
                 "<Stock as shop::Priced>::name");
    assert_apart("example.org/one/store.Add", "example.org/two/store.Add", "example.org/one/store.Add",
                 "example.org/two/store.Add");
    assert_apart("name[abi:cxx11](int)", "name(int)", "name[abi:cxx11](int)", "name(int)");
}

static void parts_and_copies_of_one_function_keep_one_short_name(void **state)
{
    (void) state;
    assert_apart("Table::add(int)", "Table::add(int) [clone .cold]", "Table::add", "Table::add");
    assert_apart("Table::add", "Table::add(int)", "Table::add", "Table::add"); /* the first is inlined */
    assert_apart("app::add::h0123456789abcdef", "app::add::hfedcba9876543210", "app::add", "app::add");
}

/* --- names made at random --- */

#define RANDOM_NAMES 3000

static const char *choose(const char *const *texts, size_t count)
{
    return texts[(size_t) rand() % count];
}
#define CHOOSE(...)                                                                                                    \
    choose((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static char *make_type(int depth)
{
    const char *base = CHOOSE("int", "char const", "std::string", "ns::Row", "(anonymous namespace)::Row",
                              "a::rather::long::name::of_a_type");
    const char *suffix = CHOOSE("", "", "*", "&", "&&", " volatile", " []", " [4]", " (*) [4]", " (&)(int)",
                                " (&)(long)", "[abi:cxx11]");
    if (depth == 0 || rand() % 3)
        return pl_say_print("%s%s", base, suffix);
    char *one = make_type(depth - 1), *two = make_type(depth - 1);
    char *type = pl_say_print("%s<%s, %s >%s", CHOOSE("std::pair", "Box"), one, two, suffix);
    free(one);
    free(two);
    return type;
}

static char *make_function(void)
{
    char *of_class = make_type(2), *argument = make_type(2), *parameter = make_type(2);
    const char *scope =
        CHOOSE("", "ns::", "(anonymous namespace)::", "run(int)::", "run(long)::", "run()::{lambda(int)#1}::",
               "run()::{lambda(long)#1}::", "a::very::long::list::of::names::");
    const char *function = CHOOSE("add", "operator()", "operator[]", "operator<", "~Table");
    char *name = pl_say_print("%sTable<%s >::%s%s%s%s%s(%s)%s", scope, of_class, function, rand() % 2 ? "<" : " <",
                              argument, " >", rand() % 4 ? "" : "[abi:v1]", parameter,
                              CHOOSE("", " const", " const volatile", " &", " &&", " const&"));
    free(of_class);
    free(argument);
    free(parameter);
    return name;
}

static void no_two_functions_have_the_same_name(void **state)
{
    (void) state;
    struct pl_arena *arena = pl_arena_new();
    struct pl_shortened *names = pl_arena_alloc(arena, RANDOM_NAMES * sizeof *names);
    unsigned briefs = 0;
    srand(1);
    for (uint32_t i = 0; i < RANDOM_NAMES; i++) {
        char *name = make_function();
        names[i].full = pl_arena_text(arena, name, strlen(name));
        free(name);
    }
    pl_shorten_apart(arena, names, RANDOM_NAMES);
    for (uint32_t i = 0; i < RANDOM_NAMES; i++)
        for (uint32_t j = 0; j < i; j++) {
            bool same = !strcmp(names[i].full, names[j].full);
            briefs += !same && !strcmp(names[i].brief, names[j].brief);
            if (same != !strcmp(names[i].shown, names[j].shown))
                fail_msg("%s\n%s\n%s\n%s", names[i].full, names[j].full, names[i].shown, names[j].shown);
        }
    assert_true(briefs > 100); /* the random names do collide */
    pl_arena_free(arena);
}

static void file_names_are_relative_to_the_directory_or_have_two_parts(void **state)
{
    (void) state;
    struct pl_arena *arena = pl_arena_new();
    assert_string_equal(pl_shorten_file(arena, "/home/me/app/src/index.c", "/home/me/app"), "src/index.c");
    assert_string_equal(pl_shorten_file(arena, "/home/me/apple/index.c", "/home/me/app"), "apple/index.c");
    assert_string_equal(pl_shorten_file(arena, "/usr/include/c++/12/bits/stl_vector.h", "/"), "bits/stl_vector.h");
    assert_string_equal(pl_shorten_file(arena, "./src/index.c", "/x"), "src/index.c");
    assert_string_equal(pl_shorten_file(arena, "../../sysdeps/x86/start.S", ""), "x86/start.S");
    assert_string_equal(pl_shorten_file(arena, "io/../sysdeps/x/../../io/ftw.c", ""), "io/ftw.c");
    assert_string_equal(pl_shorten_file(arena, "", "/x"), "");
    assert_string_equal(pl_shorten_file(arena, "/", ""), "/");
    assert_string_equal(pl_shorten_file(arena, "/app/build/../src/index.c", "/app"), "src/index.c");
    assert_string_equal(pl_shorten_file(arena, "/app/a/b/../.././src/./index.c", "/app"), "src/index.c");
    assert_string_equal(pl_shorten_file(arena, "../../a/../../x/y.c", "/app"), "x/y.c");
    assert_string_equal(pl_shorten_file(arena, "/../x.c", "/app"), "../x.c");
    assert_string_equal(pl_shorten_file(arena, "./elf/./elf/dl-init.c", "/app"), "elf/dl-init.c");
    assert_string_equal(pl_shorten_file(arena, "./a/./b/x.c", "/app"), "a/b/x.c");
    assert_string_equal(pl_shorten_file(arena, "/home/me/registry/serde-1.0/src/de.rs", "/app"), "serde-1.0/src/de.rs");
    pl_arena_free(arena);
}

/* --- roles --- */

static enum pl_role role_of(const char *function, const char *file, const char *module)
{
    struct pl_module_view view = {.path = module};
    struct pl_profile profile = {.executable = "/usr/bin/app", .modules = 1, .module = &view};
    struct pl_place place = {.function = function, .linkage = "", .file = file};
    return pl_role_of(&profile, false, 0, &place);
}

static void the_rules_decide_what_is_an_allocator(void **state)
{
    (void) state;
    struct pl_module_view view = {.path = "/usr/bin/app"};
    struct pl_profile profile = {.executable = "/usr/bin/app", .modules = 1, .module = &view};
    struct pl_place place = {.function = "take", .linkage = "", .file = "", .allocator = true};
    assert_int_equal(pl_role_of(&profile, false, 0, &place), PL_ROLE_ALLOCATOR);
    assert_int_equal(role_of("malloc_report", "", "/usr/bin/app"), PL_ROLE_OWN);
    assert_int_equal(role_of("anything", "", "/opt/libplimsoll.so"), PL_ROLE_ALLOCATOR);
    assert_int_equal(role_of("anything", "", "/usr/lib/x86_64-linux-gnu/libplimsoll.so.1"), PL_ROLE_ALLOCATOR);
}

static enum pl_role managed_role_of(const char *function, const char *linkage, const char *file, const char *module)
{
    struct pl_module_view view = {.path = module};
    struct pl_profile profile = {.executable = "/usr/bin/node", .modules = 1, .module = &view};
    struct pl_place place = {.function = function, .linkage = linkage, .file = file};
    return pl_role_of(&profile, true, 0, &place);
}

static void scripts_and_methods_are_own_code_and_what_runs_them_is_a_library(void **state)
{
    (void) state;
    assert_int_equal(managed_role_of("handle", "JS:*handle /srv/app.js:1:2", "/srv/app.js", ""), PL_ROLE_OWN);
    assert_int_equal(managed_role_of("alloc", "JS:~alloc node:buffer:1:2", "node:buffer", ""), PL_ROLE_LIBRARY);
    assert_int_equal(managed_role_of("void com.shop.Cart.add(int)", "", "", ""), PL_ROLE_OWN);
    assert_int_equal(managed_role_of("void java.util.ArrayList.add(int)", "", "", ""), PL_ROLE_LIBRARY);
    assert_int_equal(managed_role_of("Interpreter", "", "", ""), PL_ROLE_LIBRARY);
    assert_int_equal(managed_role_of("", "", "", ""), PL_ROLE_LIBRARY);
    assert_int_equal(managed_role_of("node::Start", "", "", "/usr/bin/node"), PL_ROLE_LIBRARY);
    assert_int_equal(managed_role_of("resize", "", "", "/srv/node_modules/sharp/sharp.node"), PL_ROLE_OWN);
}

static void code_without_names_of_a_known_compiler_leaves_the_program_its_own(void **state)
{
    (void) state;
    struct pl_module_view view = {.path = ""};
    struct pl_place place = {.function = "compiled", .linkage = "", .file = "/src/query.c"};
    struct pl_frame_view frame = {.places = 1, .place = &place};
    struct pl_profile profile = {.modules = 1, .module = &view, .frames = 1, .frame = &frame};
    assert_false(pl_role_is_managed(&profile));
    place.linkage = "JS:*compiled /src/query.js:1:2";
    assert_true(pl_role_is_managed(&profile));
    view.path = "/usr/bin/app"; /* a mangled name in a binary */
    assert_false(pl_role_is_managed(&profile));
}

static void the_executable_is_own_code_wherever_it_is_installed(void **state)
{
    (void) state;
    assert_int_equal(role_of("f", "", "/usr/bin/app"), PL_ROLE_OWN);
    assert_int_equal(role_of("f", "", "/opt/app/libplugin.so"), PL_ROLE_OWN);
    assert_int_equal(role_of("f", "", "/usr/lib/x86_64-linux-gnu/libc.so.6"), PL_ROLE_LIBRARY);
    assert_int_equal(role_of("f", "", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"), PL_ROLE_LIBRARY);
}

static void libraries_installed_beside_the_program_are_own_code(void **state)
{
    (void) state;
    struct pl_module_view module = {.path = "/usr/lib/x86_64-linux-gnu/libz.so.1"};
    struct pl_profile profile = {.executable = "/home/me/app", .modules = 1, .module = &module};
    struct pl_place place = {.function = "f", .linkage = "", .file = ""};
    assert_int_equal(pl_role_of(&profile, false, 0, &place), PL_ROLE_LIBRARY);
    profile.executable = "/usr/bin/app";
    assert_int_equal(pl_role_of(&profile, false, 0, &place), PL_ROLE_OWN);
}

static void standard_library_code_is_library_code_even_if_inlined(void **state)
{
    (void) state;
    assert_int_equal(role_of("std::vector<int>::push_back", "", "/usr/bin/app"), PL_ROLE_LIBRARY);
    assert_int_equal(role_of("void std::vector<int>::_M_realloc_insert<int>(int&&)", "", "/usr/bin/app"),
                     PL_ROLE_LIBRARY);
    assert_int_equal(role_of("std::string my::name(int)", "", "/usr/bin/app"), PL_ROLE_OWN);
    assert_int_equal(role_of("std::sys::backtrace::__rust_begin_short_backtrace", "", "/usr/bin/app"),
                     PL_ROLE_THRESHOLD);
    assert_int_equal(role_of("helper", "/usr/include/c++/12/bits/x.h", "/usr/bin/app"), PL_ROLE_LIBRARY);
    assert_int_equal(role_of("_start", "", "/usr/bin/app"), PL_ROLE_START);
}

/* --- progress --- */

static void wait_awhile(void)
{
    struct timespec rest = {.tv_sec = 1};
    while (nanosleep(&rest, &rest)) /* signals of the timer interrupt it */
        continue;
}

static void slow_work_prints_progress_on_a_terminal_and_erases_it(void **state)
{
    (void) state;
    char text[4096] = "";
    size_t bytes = 0;
    int terminal;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (!child) {
        pl_term_busy("quick");
        pl_term_busy(NULL);
        pl_term_busy("working");
        wait_awhile();
        pl_term_busy(NULL);
        fputs("done", stderr);
        _exit(0);
    }
    for (ssize_t more; bytes < sizeof text - 1 && (more = read(terminal, text + bytes, sizeof text - 1 - bytes)) > 0;)
        bytes += (size_t) more;
    text[bytes] = 0;
    assert_non_null(strstr(text, "\rworking … 0.7 s\033[K"));
    assert_null(strstr(text, "quick"));
    assert_true(bytes > 8 && !strcmp(text + bytes - 8, "\r\033[Kdone"));
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(terminal);
}

/* --- figures --- */

#define ASSERT_FIGURE(call, expected)                                                                                  \
    do {                                                                                                               \
        char out[2 * PL_FIGURE_BYTES];                                                                                 \
        call;                                                                                                          \
        assert_string_equal(out, expected);                                                                            \
    } while (0)

static void bytes_have_binary_units_and_two_or_three_digits(void **state)
{
    (void) state;
    ASSERT_FIGURE(pl_figure_bytes(out, 0), "0 B");
    ASSERT_FIGURE(pl_figure_bytes(out, 1023), "1,023 B");
    ASSERT_FIGURE(pl_figure_bytes(out, 1024), "1.0 KiB");
    ASSERT_FIGURE(pl_figure_bytes(out, 12.4 * 1048576), "12.4 MiB");
    ASSERT_FIGURE(pl_figure_bytes(out, 388 * 1024), "388 KiB");
    ASSERT_FIGURE(pl_figure_bytes(out, 1048575), "1.0 MiB");
    ASSERT_FIGURE(pl_figure_bytes(out, 0x1p63), "8,192 PiB");
    ASSERT_FIGURE(pl_figure_setting(out, 512 << 10), "512 KiB");
    ASSERT_FIGURE(pl_figure_setting(out, 1536), "1.5 KiB");
}

static void counts_below_a_million_have_all_digits(void **state)
{
    (void) state;
    ASSERT_FIGURE(pl_figure_count(out, 7), "7");
    ASSERT_FIGURE(pl_figure_count(out, 412918), "412,918");
    ASSERT_FIGURE(pl_figure_count(out, 31.4e6), "31.4 M");
    ASSERT_FIGURE(pl_figure_exact(out, 1234567890123), "1,234,567,890,123");
    ASSERT_FIGURE(pl_figure_exact(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void an_error_has_the_unit_of_its_value_and_exact_figures_have_none(void **state)
{
    (void) state;
    struct pl_estimate rough = {.value = 2.1 * 1048576, .error = 0.3 * 1048576};
    struct pl_estimate exact = {.value = 1000, .error = 0};
    struct pl_estimate close = {.value = 1.9 * 1048576, .error = 3 * 1024};
    struct pl_estimate closer = {.value = 1, .error = 0.02};
    struct pl_estimate none = {.value = 0, .error = 2048, .high = 2048};
    struct pl_estimate rough_large = {.value = 864, .error = 3096, .high = 3960};
    struct pl_estimate rougher = {.value = 864, .error = 309618, .high = 310482};
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_INUSE_SPACE, &rough), "2.1 MiB ± 0.30 MiB");
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_ALLOC_OBJECTS, &exact), "1,000");
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_INUSE_SPACE, &close), "1.9 MiB ± 3.0 KiB");
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_INUSE_OBJECTS, &closer), "1");
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_INUSE_SPACE, &none), "at most 2.0 KiB");
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_INUSE_SPACE, &rough_large), "864 B ± 3,096 B");
    ASSERT_FIGURE(pl_figure_estimate(out, PL_METRIC_INUSE_SPACE, &rougher), "at most 303 KiB");
}

static void durations_have_two_units_at_most(void **state)
{
    (void) state;
    ASSERT_FIGURE(pl_figure_seconds(out, 0.0123), "12 ms");
    ASSERT_FIGURE(pl_figure_seconds(out, 12.84), "12.8 s");
    ASSERT_FIGURE(pl_figure_seconds(out, 200), "3 min 20 s");
    ASSERT_FIGURE(pl_figure_seconds(out, 3 * 86400 + 4 * 3600), "3 d 4 h");
    ASSERT_FIGURE(pl_figure_seconds(out, -1), "0 ms");
}

static void spans_have_one_unit_and_no_needless_digits(void **state)
{
    (void) state;
    ASSERT_FIGURE(pl_figure_span(out, 0), "0");
    ASSERT_FIGURE(pl_figure_span(out, 868e-9), "868 ns");
    ASSERT_FIGURE(pl_figure_span(out, 1.6e-6), "1.6 µs");
    ASSERT_FIGURE(pl_figure_span(out, 0.0205), "20.5 ms");
    ASSERT_FIGURE(pl_figure_span(out, 0.9999), "1 s");
    ASSERT_FIGURE(pl_figure_span(out, 9.2), "9.2 s");
    ASSERT_FIGURE(pl_figure_span(out, 119), "119 s");
    ASSERT_FIGURE(pl_figure_span(out, 300), "5 min");
    ASSERT_FIGURE(pl_figure_span(out, 5400), "90 min");
    ASSERT_FIGURE(pl_figure_span(out, 3 * 3600), "3 h");
    ASSERT_FIGURE(pl_figure_span(out, 4 * 86400), "4 d");
}

/* This switches all digits on for good, so it is the last of the tests of figures. */
static void all_digits_are_shown_on_demand(void **state)
{
    (void) state;
    char text[2 * PL_FIGURE_BYTES];
    struct pl_estimate estimate = {.value = 12345678, .error = 2345.4, .low = 12343333, .high = 12348023};
    pl_figure_all_digits();
    pl_figure_bytes(text, 13002342);
    assert_string_equal(text, "13,002,342 B");
    pl_figure_bytes(text, -13002342);
    assert_string_equal(text, "-13,002,342 B");
    pl_figure_count(text, 1030412);
    assert_string_equal(text, "1,030,412");
    pl_figure_estimate(text, PL_METRIC_INUSE_SPACE, &estimate);
    assert_string_equal(text, "12,345,678 B ± 2,345 B");
    pl_figure_setting(text, 512 << 10);
    assert_string_equal(text, "512 KiB");
}

static void figures_of_damaged_files_fit_their_columns(void **state)
{
    (void) state;
    static const double values[] = {INFINITY, -INFINITY, NAN, 1e300, -1e300, -5};
    char out[2 * PL_FIGURE_BYTES];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct pl_estimate estimate = {.value = values[i], .error = fabs(values[i])};
        pl_figure_estimate(out, PL_METRIC_INUSE_SPACE, &estimate);
        pl_figure_percent(out, values[i]);
        pl_figure_seconds(out, values[i]);
        assert_in_range(strlen(out), 1, PL_FIGURE_BYTES - 1);
        pl_figure_span(out, values[i]);
        assert_in_range(strlen(out), 1, PL_FIGURE_BYTES - 1);
    }
}

/* --- typos --- */

static void the_edit_distance_counts_typing_errors(void **state)
{
    (void) state;
    assert_int_equal(pl_nearest_distance("report", "report"), 0);
    assert_int_equal(pl_nearest_distance("reprot", "report"), 1);
    assert_int_equal(pl_nearest_distance("repor", "report"), 1);
    assert_int_equal(pl_nearest_distance("rreport", "report"), 1);
    assert_int_equal(pl_nearest_distance("rebort", "report"), 1);
    assert_int_equal(pl_nearest_distance("", "ls"), 2);
    assert_int_equal(pl_nearest_distance("kitten", "sitting"), 3);
}

static void the_nearest_word_is_found_only_if_it_is_close(void **state)
{
    (void) state;
    struct pl_nearest near = {.word = "exprot"}, far = {.word = "banana"}, prefix = {.word = "re"};
    static const char *const words[] = {"run", "report", "ls", "export", "help", "version"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        pl_nearest_offer(&near, words[i]);
        pl_nearest_offer(&far, words[i]);
        pl_nearest_offer(&prefix, words[i]);
    }
    assert_string_equal(near.best, "export");
    assert_null(far.best);
    assert_string_equal(prefix.best, "report");
}

/* --- values --- */

static enum pl_verdict read_size(const char *text, uint64_t *value)
{
    struct pl_option option = {.type = &pl_type_size, .into = value, .min = 1, .max = 1ull << 40};
    return pl_type_size.read(&option, text);
}

static void sizes_are_accepted_only_if_all_of_the_text_is_one(void **state)
{
    (void) state;
    uint64_t value = 0;
    static const char *const wrong[] = {"", " 1", "1 ", "+1", "-1", "K", "1Q", "1KK", "0x10", "1.5M", "1e3", "1KBs"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(read_size(wrong[i], &value), PL_VALUE_WRONG);
    assert_int_equal(value, 0);
    static const struct {
        const char *text;
        uint64_t value;
    } right[] = {{"1", 1},          {"512K", 512 << 10}, {"512k", 512 << 10},
                 {"1MiB", 1 << 20}, {"2GB", 2ull << 30}, {"1T", 1ull << 40}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(read_size(right[i].text, &value), PL_VALUE_OK);
        assert_int_equal(value, right[i].value);
    }
}

static void sizes_that_overflow_are_too_large(void **state)
{
    (void) state;
    uint64_t value = 0;
    assert_int_equal(read_size("0", &value), PL_VALUE_SMALL);
    assert_int_equal(read_size("2T", &value), PL_VALUE_LARGE);
    assert_int_equal(read_size("18446744073709551616", &value), PL_VALUE_LARGE);
    assert_int_equal(read_size("17179869184G", &value), PL_VALUE_LARGE); /* 2^64 exactly */
    assert_int_equal(value, 0);
}

static void a_sample_is_a_size_or_one_of_two_words(void **state)
{
    (void) state;
    uint64_t value = 7;
    struct pl_option option = {.type = &pl_type_sample, .into = &value, .min = 1, .max = 1ull << 40};
    assert_int_equal(pl_type_sample.read(&option, "exact"), PL_VALUE_OK);
    assert_int_equal(pl_type_sample.read(&option, "auto"), PL_VALUE_OK);
    assert_int_equal(value, 7);
    assert_int_equal(pl_type_sample.read(&option, "4K"), PL_VALUE_OK);
    assert_int_equal(value, 4096);
    assert_int_equal(pl_type_sample.read(&option, "Exact"), PL_VALUE_WRONG);
    assert_int_equal(pl_type_sample.read(&option, "exact "), PL_VALUE_WRONG);
    assert_int_equal(pl_type_sample.read(&option, "0"), PL_VALUE_SMALL);
}

/* Accepts exactly what PLIMSOLL_OVERHEAD accepts. */
static void a_budget_is_a_percentage_with_up_to_four_decimals(void **state)
{
    (void) state;
    static const struct {
        const char *text;
        enum pl_verdict verdict;
        uint64_t ppm;
    } texts[] = {
        {"2", PL_VALUE_OK, 20000},       {"2%", PL_VALUE_OK, 20000},        {"0.5%", PL_VALUE_OK, 5000},
        {"0.01", PL_VALUE_OK, 100},      {"100%", PL_VALUE_OK, 1000000},    {"12.3456%", PL_VALUE_OK, 123456},
        {"2.", PL_VALUE_OK, 20000},      {"002", PL_VALUE_OK, 20000},       {"", PL_VALUE_WRONG, 0},
        {"%", PL_VALUE_WRONG, 0},        {".5", PL_VALUE_WRONG, 0},         {"2x", PL_VALUE_WRONG, 0},
        {"2%%", PL_VALUE_WRONG, 0},      {"2 %", PL_VALUE_WRONG, 0},        {"-1", PL_VALUE_WRONG, 0},
        {" 2", PL_VALUE_WRONG, 0},       {"1.23456", PL_VALUE_WRONG, 0},    {"1e1", PL_VALUE_WRONG, 0},
        {"0", PL_VALUE_SMALL, 0},        {"0.0099%", PL_VALUE_SMALL, 0},    {"101", PL_VALUE_LARGE, 0},
        {"100.0001", PL_VALUE_LARGE, 0}, {"4294967297", PL_VALUE_LARGE, 0}, {"99999999999999999999", PL_VALUE_LARGE, 0},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t value = 0;
        struct pl_option option = {
            .type = &pl_type_budget, .into = &value, .min = PL_OVERHEAD_MIN_PPM, .max = PL_OVERHEAD_MAX_PPM};
        assert_int_equal(pl_type_budget.read(&option, texts[i].text), texts[i].verdict);
        assert_int_equal(value, texts[i].ppm);
    }
}

/* --- histograms --- */

static void quantiles_lie_inside_their_bucket(void **state)
{
    (void) state;
    struct pl_scale scale = pl_histogram_sizes();
    double count[PL_SIZE_BUCKETS] = {[1] = 50, [4] = 50}; /* 16 to 31, 128 to 255 */
    assert_true(pl_histogram_quantile(&scale, count, 0.25) == 24);
    assert_true(pl_histogram_quantile(&scale, count, 0.5) == 32);
    assert_true(pl_histogram_quantile(&scale, count, 0.75) == 192);
    assert_true(pl_histogram_quantile(&scale, count, 1) == 256);
    count[1] = count[4] = 0;
    assert_true(pl_histogram_quantile(&scale, count, 0.5) == 0);
    count[PL_SIZE_BUCKETS - 1] = 1; /* has no upper end */
    assert_true(isfinite(pl_histogram_quantile(&scale, count, 0.99)));
}

static void small_histograms_have_a_character_for_each_bucket(void **state)
{
    (void) state;
    char out[PL_SPARK_BYTES], ends[2 * PL_FIGURE_BYTES];
    struct pl_scale scale = pl_histogram_sizes();
    double count[PL_SIZE_BUCKETS] = {[2] = 8, [3] = 0, [4] = 1, [5] = 4};
    struct pl_range range = pl_histogram_range(&scale, count);
    assert_int_equal(range.first, 2);
    assert_int_equal(range.last, 5);
    pl_histogram_spark(out, count, range);
    assert_string_equal(out, "█ ▁▄");
    pl_histogram_ends(ends, &scale, range);
    assert_string_equal(ends, "32 B…256 B");
    pl_histogram_ends(ends, &scale, (struct pl_range){1, 16});
    assert_string_equal(ends, "16 B     512 KiB");
    pl_histogram_spark(out, (double[32]){[0] = INFINITY, [1] = NAN, [31] = 1}, (struct pl_range){0, 31});
    assert_int_equal(pl_utf8_width(out), 32);
}

/* --- characters --- */

static void only_well_formed_utf8_is_decoded(void **state)
{
    (void) state;
    uint32_t character;
    static const char *const bad[] = {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff", "\xc3",     "\xe2\x82",     "\xf0\x9f\x98", "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pl_utf8_decode(bad[i], &character), 1);
        assert_int_equal(character, PL_UTF8_BAD);
    }
    assert_int_equal(pl_utf8_decode("±", &character), 2);
    assert_int_equal(character, 0xb1);
    assert_int_equal(pl_utf8_decode("\xf0\x9f\x98\x80", &character), 4);
    assert_int_equal(character, 0x1f600);
}

static void widths_are_those_of_a_terminal(void **state)
{
    (void) state;
    assert_int_equal(pl_utf8_width("12.4 MiB ± 0.3"), 14);
    assert_int_equal(pl_utf8_width("日本"), 4);
    assert_int_equal(pl_utf8_width("e\xcc\x81"), 1);
    assert_int_equal(pl_utf8_width("\xff\xfe"), 2);
}

static void cleaned_text_has_no_control_characters(void **state)
{
    (void) state;
    char *clean = pl_say_clean("a\x1b[31m\n\xff\xc2\x9b±");
    assert_string_equal(clean, "a\\x1b[31m\\x0a\\xff\\xc2\\x9b±");
    free(clean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_c_functions_stay_as_they_are),
        cmocka_unit_test(parameters_and_everything_after_them_are_dropped),
        cmocka_unit_test(the_return_type_of_a_template_is_dropped),
        cmocka_unit_test(arguments_of_templates_are_shortened_too),
        cmocka_unit_test(long_arguments_become_an_ellipsis),
        cmocka_unit_test(operators_keep_their_symbols),
        cmocka_unit_test(lambdas_and_anonymous_namespaces_stay_recognisable),
        cmocka_unit_test(rust_names_lose_their_trait_and_hash),
        cmocka_unit_test(go_names_lose_the_path_of_their_package),
        cmocka_unit_test(a_short_first_argument_is_kept_when_the_arguments_are_long),
        cmocka_unit_test(long_names_lose_their_outer_scopes_and_keep_two_parts),
        cmocka_unit_test(only_arguments_are_shortened_in_a_bare_name),
        cmocka_unit_test(malformed_names_never_become_empty),
        cmocka_unit_test(names_nested_to_any_depth_are_handled),
        cmocka_unit_test(arrays_are_part_of_a_type),
        cmocka_unit_test(numbers_in_templates_lose_their_types),
        cmocka_unit_test(functions_with_equal_short_names_get_longer_ones),
        cmocka_unit_test(parts_and_copies_of_one_function_keep_one_short_name),
        cmocka_unit_test(no_two_functions_have_the_same_name),
        cmocka_unit_test(file_names_are_relative_to_the_directory_or_have_two_parts),
        cmocka_unit_test(the_rules_decide_what_is_an_allocator),
        cmocka_unit_test(scripts_and_methods_are_own_code_and_what_runs_them_is_a_library),
        cmocka_unit_test(code_without_names_of_a_known_compiler_leaves_the_program_its_own),
        cmocka_unit_test(the_executable_is_own_code_wherever_it_is_installed),
        cmocka_unit_test(libraries_installed_beside_the_program_are_own_code),
        cmocka_unit_test(standard_library_code_is_library_code_even_if_inlined),
        cmocka_unit_test(bytes_have_binary_units_and_two_or_three_digits),
        cmocka_unit_test(counts_below_a_million_have_all_digits),
        cmocka_unit_test(an_error_has_the_unit_of_its_value_and_exact_figures_have_none),
        cmocka_unit_test(durations_have_two_units_at_most),
        cmocka_unit_test(spans_have_one_unit_and_no_needless_digits),
        cmocka_unit_test(figures_of_damaged_files_fit_their_columns),
        cmocka_unit_test(the_edit_distance_counts_typing_errors),
        cmocka_unit_test(the_nearest_word_is_found_only_if_it_is_close),
        cmocka_unit_test(sizes_are_accepted_only_if_all_of_the_text_is_one),
        cmocka_unit_test(sizes_that_overflow_are_too_large),
        cmocka_unit_test(a_sample_is_a_size_or_one_of_two_words),
        cmocka_unit_test(a_budget_is_a_percentage_with_up_to_four_decimals),
        cmocka_unit_test(quantiles_lie_inside_their_bucket),
        cmocka_unit_test(small_histograms_have_a_character_for_each_bucket),
        cmocka_unit_test(only_well_formed_utf8_is_decoded),
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(cleaned_text_has_no_control_characters),
        cmocka_unit_test(slow_work_prints_progress_on_a_terminal_and_erases_it),
        cmocka_unit_test(all_digits_are_shown_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
