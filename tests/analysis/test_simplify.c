/* SPDX-License-Identifier: MIT */
/*
 * test_simplify.c - rules for names: how they are parsed, how they change names, and that they keep all sums.
 */
#include "model.h"

#include "analysis/names/cxxname.h"
#include "analysis/names/simplify.h"
#include "reader/base/arena.h"

static struct pl_simplify *rules(const char *text)
{
    char why[PL_WHY_BYTES] = "";
    struct pl_simplify *set = pl_simplify_new();
    if (pl_simplify_parse(set, "rules", text, strlen(text), why) != 0)
        fail_msg("%s", why);
    return set;
}

/* Applies a set of rules, and the built-in ones, to a name. */
static void assert_simplified(const char *text, const char *name, const char *expected)
{
    struct pl_simplify *set = rules(text);
    struct pl_arena *arena = pl_arena_new();
    assert_string_equal(pl_simplify_name(set, arena, name).name, expected);
    pl_arena_free(arena);
    pl_simplify_free(set);
}

static struct pl_simplified simplified(const char *text, const char *name)
{
    struct pl_simplify *set = rules(text);
    struct pl_arena *arena = pl_arena_new();
    struct pl_simplified result = pl_simplify_name(set, arena, name);
    result.name = NULL;
    pl_arena_free(arena);
    pl_simplify_free(set);
    return result;
}

/* --- the grammar of names --- */

static void assert_bare(const char *name, const char *expected)
{
    struct pl_cxxname_part bare = pl_cxxname_bare(name);
    assert_int_equal(bare.bytes, strlen(expected));
    assert_memory_equal(bare.text, expected, bare.bytes);
}

static void a_bare_name_has_neither_return_type_nor_parameters(void **state)
{
    (void) state;
    assert_bare("main", "main");
    assert_bare("main(int, char**)", "main");
    assert_bare("void sort<int*>(int*, int*)", "sort<int*>");
    assert_bare("Table::take(std::function<void (int)>&&) && [clone .cold]", "Table::take");
    assert_bare("run(int)::{lambda()#2}::operator()() const", "run(int)::{lambda()#2}::operator()");
    assert_bare("(anonymous namespace)::helper(int)", "(anonymous namespace)::helper");
    assert_bare("std::ostream& operator<< <char>(std::ostream&, char)", "operator<< <char>");
    assert_bare("Row::operator unsigned long() const", "Row::operator unsigned long");
    assert_bare("operator new(unsigned long)", "operator new");
    assert_bare("decltype(auto) pick<int>(int)", "pick<int>");
    assert_bare("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>::drop");
    assert_bare("main.(*Server).Serve", "main.(*Server).Serve");
    assert_bare("", "");
}

/* --- built-in rules --- */

static void default_arguments_of_templates_are_stripped(void **state)
{
    (void) state;
    assert_simplified("", "std::vector<Row, std::allocator<Row> >::push_back(Row const&)",
                      "std::vector<Row>::push_back(Row const&)");
    assert_simplified(
        "", "std::map<int, Row, std::less<int>, std::allocator<std::pair<int const, Row> > >::operator[](int&&)",
        "std::map<int, Row>::operator[](int&&)");
    assert_simplified("", "std::unique_ptr<Row, std::default_delete<Row> >::reset(Row*)",
                      "std::unique_ptr<Row>::reset(Row*)");
    assert_simplified("", "std::map<A, std::vector<B, std::allocator<B> >, std::less<A>, std::allocator<C> >::at",
                      "std::map<A, std::vector<B>>::at");
    assert_simplified(
        "",
        "std::_Hashtable<int, int, std::allocator<int>, std::__detail::_Identity, std::equal_to<int>, "
        "std::hash<int>, std::__detail::_Mod_range_hashing, std::__detail::_Default_ranged_hash, "
        "std::__detail::_Prime_rehash_policy, std::__detail::_Hashtable_traits<false, true, true> >::find",
        "std::_Hashtable<int, int>::find");
    assert_simplified("", "Both<std::allocator<int>, std::allocator<char> >::make", "Both<std::allocator<int>>::make");
    assert_simplified("", "<alloc::vec::Vec<T, alloc::alloc::Global> as core::ops::Drop>::drop",
                      "<alloc::vec::Vec<T> as core::ops::Drop>::drop");
}

static void arguments_that_are_not_defaults_stay(void **state)
{
    (void) state;
    static const char *const names[] = {"std::vector<Row, Pool<Row> >::push_back(Row const&)",
                                        "std::allocator_traits<std::allocator<int> >::allocate",
                                        "Both<std::allocator<int>, int>::make",
                                        "Row::operator<(Row const&) const",
                                        "bool operator< <int, int>(A<int> const&, A<int> const&)",
                                        "std::vector<int, my::std::allocator<int> >::resize",
                                        "a<b",
                                        "<<<<",
                                        "f<(>)>",
                                        "x<,>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_simplified("", names[i], names[i]);
}

static void basic_string_becomes_string(void **state)
{
    (void) state;
#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    assert_simplified("", STRING "::_M_append(char const*, unsigned long)",
                      "std::string::_M_append(char const*, unsigned long)");
    assert_simplified("", STRING "::basic_string<std::allocator<char> >(char const*, std::allocator<char> const&)",
                      "std::string::string(char const*, std::allocator<char> const&)");
    assert_simplified("", STRING "::~basic_string()", "std::string::~string()");
    assert_simplified("", "std::vector<" STRING ", std::allocator<" STRING " > >::reserve(unsigned long)",
                      "std::vector<std::string>::reserve(unsigned long)");
    assert_simplified("",
                      "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>::append",
                      "std::string::append");
    assert_simplified("", "std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::find",
                      "std::wstring::find");
    assert_simplified("", "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <char>(X)",
                      "std::ostream& std::operator<< <char>(X)");
    assert_simplified("", "std::__cxx11::basic_ostringstream<char, std::char_traits<char>, std::allocator<char> >::str",
                      "std::ostringstream::str");
#undef STRING
}

static void internal_prefixes_of_the_c_library_and_rust_hashes_are_removed(void **state)
{
    (void) state;
    assert_simplified("", "__GI___strdup", "strdup");
    assert_simplified("", "__GI__IO_file_doallocate", "_IO_file_doallocate");
    assert_simplified("", "__pthread_create_2_1", "pthread_create");
    assert_simplified("", "__printf", "printf");
    assert_simplified("", "___asprintf", "asprintf");
    assert_simplified("", "__vsnprintf", "vsnprintf");
    assert_simplified("", "_IO_new_fopen", "fopen");
    assert_simplified("", "__new_popen", "popen");
    assert_simplified("", "__GI__IO_getdelim", "getdelim");
    assert_simplified("", "__realpath", "realpath");
    assert_simplified("", "__printf_chk", "__printf_chk");
    assert_simplified("", "my__printf", "my__printf");
    assert_simplified("", "dlopen@@GLIBC_2.34", "dlopen");
    assert_simplified("", "app::index::add::h0123456789abcdef", "app::index::add");
    assert_simplified("", "<hashbrown::raw::RawTableInner>::resize_inner::<alloc::alloc::Global>",
                      "<hashbrown::raw::RawTableInner>::resize_inner");
    assert_simplified("", "app::index::add::h0123456789abcde", "app::index::add::h0123456789abcde");
}

static void allocators_are_recognised(void **state)
{
    (void) state;
    static const char *const names[] = {
        "malloc",
        "calloc",
        "__libc_memalign",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::nothrow_t const&)",
        "std::allocator<int>::allocate(unsigned long)",
        "std::__1::allocator<int>::allocate[abi:ue170006](unsigned long)",
        "void* std::__1::__libcpp_operator_new[abi:ne180100]<unsigned long>(unsigned long)",
        "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
        "std::__new_allocator<int>::allocate(unsigned long, void const*)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
        ("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&, "
         "unsigned long)"),
        "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
        "std::_Rb_tree<int, int, std::_Identity<int>, std::less<int>, std::allocator<int> >::_M_get_node()",
        "__rust_alloc",
        "__rustc::__rust_alloc_zeroed",
        "__rdl_realloc",
        "alloc::raw_vec::RawVecInner<A>::reserve::do_reserve_and_handle",
        "alloc::raw_vec::finish_grow::h0123456789abcdef",
        "alloc::alloc::exchange_malloc",
        "<alloc::raw_vec::RawVecInner>::finish_grow",
        "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
        "<app::Counted as core::alloc::global::GlobalAlloc>::alloc",
        "g_malloc0_n",
        "g_strdup_printf",
        "PyObject_Malloc",
        "_PyObject_GC_New",
        "PyMem_RawCalloc",
        "new_arena",
        "PyDataMem_UserNEW_ZEROED",
        "default_malloc",
        "jv_mem_alloc",
        "jv_mem_realloc",
        "xmalloc",
        "do_xmalloc",
        "ztrymalloc_usable",
        "je_malloc_default",
        "_mi_heap_malloc_zero",
        "sqlite3DbMallocRawNN",
        "sqlite3MemRealloc",
        "CRYPTO_zalloc",
        "CRYPTO_strndup",
        "CRYPTO_memdup",
        "CRYPTO_clear_realloc",
        "CRYPTO_secure_malloc",
        "OPENSSL_strdup",
        "zend_mm_alloc_heap",
        "Perl_more_sv",
        "ngx_memalign",
        "ngx_pcalloc",
        "ngx_create_pool",
        "palloc0",
        "pstrdup",
        "MemoryContextAllocZeroAligned",
        "AllocSetContextCreateInternal",
        "_sdsnewlen",
        "sdsdup",
        "ggc_internal_cleared_alloc(unsigned long, void (*)(void*), unsigned long, unsigned long)",
        "node::NodeArrayBufferAllocator::AllocateUninitialized(unsigned long)",
        "v8::internal::Heap::AllocateExternalBackingStore(std::function<void* (unsigned long)> const&, unsigned long)",
        "v8::ArrayBuffer::NewBackingStoreForNodeLTS(v8::Isolate*, unsigned long)",
        "char* node::UncheckedMalloc<char>(unsigned long)",
        "v8::internal::AllocAtLeastWithRetry(unsigned long)",
        "v8::internal::AlignedAllocWithRetry(unsigned long, unsigned long)",
        "v8::internal::AccountingAllocator::AllocateSegment(unsigned long, bool)",
        "v8::base::Malloc(unsigned long)",
        "v8::internal::Zone::Expand(unsigned long)",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!simplified("", names[i]).allocator)
            fail_msg("not known: %s", names[i]);
}

static void other_functions_are_not_recognised_as_allocators(void **state)
{
    (void) state;
    static const char *const names[] = {
        "malloc_report",
        "main",
        "new_arenas",
        "default_malloc_size",
        "jv_mem_uninitialised",
        "Pool::operator()(int)",
        "my::operator new_thing()",
        "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
        "void work(std::allocator<int>&)",
        "alloc::vec::Vec<T>::push",
        "index_malloc",
        "tcp_connect",
        "sdscatlen",
        "ngx_create_listening",
        "ggc_collect",
        "Perl_sv_grow",
        "CRYPTO_alloc_ex_data",
        "v8::internal::AllocationSite::GetNestedSites()",
        "v8::internal::Factory::NewFixedArray(int)",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (simplified("", names[i]).allocator)
            fail_msg("recognised as an allocator: %s", names[i]);
}

/* --- user rules --- */

static void a_rename_replaces_every_match(void **state)
{
    (void) state;
    assert_simplified("rename worker_[0-9]+ => worker", "worker_12", "worker");
    assert_simplified("rename (in|out)::([a-z]+) => \\2/\\1/\\0", "f(in::a, out::b)", "f(a/in/in::a, b/out/out::b)");
    assert_simplified("rename fill<.*> => fill<T>", "void fill<int>(std::vector<int>&)", "fill<T>");
    assert_simplified("rename ^x => y", "xxx", "yxx");
    assert_simplified("rename x$ => y", "xxx", "xxy");
    assert_simplified("rename (a)|(b) => [\\1\\2]", "ab", "[a][b]");
    assert_simplified("rename very::long:: =>", "very::long::name", "name");
    assert_simplified("rename a => \\\\", "bab", "b\\b");
}

/* A text that every match begins with is searched for first. That must not miss matches that begin otherwise. */
static void a_match_may_begin_with_any_alternative(void **state)
{
    (void) state;
    assert_simplified("rename foo|bar => x", "bar", "x");
    assert_simplified("rename a(b|c)|d => x", "d", "x");
    assert_simplified("rename ab?c => x", "ac", "x");
    assert_simplified("rename ab*c => x", "ac", "x");
    assert_simplified("rename ab{0,1}c => x", "ac", "x");
    assert_simplified("rename a[(]|b => x", "b", "x");
    assert_simplified("rename a\\(|b => x", "b", "x");
    assert_simplified("rename ^ab+ => x", "abb", "x");
    assert_simplified("rename a(b|c) => x", "ac", "x");
    assert_simplified("rename ^ab$ => x", "int ab(int)", "x");
    assert_simplified("rename ^int ab => x", "int ab(int)", "x(int)");
    assert_simplified("rename (^ab) => x", "int ab(int)", "x");
    assert_simplified("strip ^ab$", "f<int, ab>", "f<int>");
    assert_simplified("strip (ab|cd)", "f<int, e, cd, ab, abc>", "f<int, e, abc>");
    assert_simplified("rename a)|b => x", "b", "x"); /* a ) without a ( is an ordinary character */
    assert_simplified("rename x(ab[[:alpha:])|]|cd)y => z", "xcdy", "z");
    assert_simplified("rename x(ab[])|]|cd)y => z", "xcdy", "z");
    assert_simplified("rename x(ab\\)|\\||cd)y => z", "xcdy", "z");
    assert_simplified("rename x(ab|cd)?y => z", "xy", "z");
    assert_simplified("rename x(ab|cd){0,1}y => z", "xy", "z");
    assert_simplified("rename x(ab|)y => z", "xy", "z");
    assert_simplified("rename x(ab|c?d)y => z", "xdy", "z");
    assert_simplified("rename x(ab|cd|e(f|g))y => z", "xegy", "z");
    assert_simplified("rename x(a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q)y => z", "xqy", "z");
}

/* A name may contain the beginning of every match without a match. A later match must still be found. */
static void a_match_is_found_after_a_false_start(void **state)
{
    (void) state;
    assert_simplified("spell ab(c|d)e => x", "abcabdabe ab abde abce", "abcabdabe ab x x");
    assert_simplified("spell \\<ab => x", "cab ab", "cab x");
    assert_simplified("spell (a)b(c)?|q => [\\2\\1]", "ab abc", "[a] [ca]");
}

/* Brackets nested too deeply are left alone, but not their contents. */
static void arguments_are_stripped_at_any_depth(void **state)
{
    (void) state;
    char name[400] = "", expected[400] = "";
    for (int i = 0; i < 100; i++) {
        strcat(name, "a<");
        strcat(expected, "a<");
    }
    strcat(name, "int, zz");
    strcat(expected, "int");
    for (int i = 0; i < 100; i++) {
        strcat(name, ">");
        strcat(expected, ">");
    }
    assert_simplified("strip zz", name, expected);
    assert_simplified("strip zz", "a(<b<int, zz>", "a(<b<int>");
    assert_simplified("strip zz", "operator<<int, zz>(a<b, zz>)->c<d, zz>", "operator<<int, zz>(a<b>)->c<d>");
}

static void spell_replaces_text_anywhere_in_a_name(void **state)
{
    (void) state;
    assert_simplified("spell my::Table => Table", "my::Table::add(my::Table const&) const",
                      "Table::add(Table const&) const");
    assert_simplified("rename my::Table => Table", "my::Table::add(my::Table const&) const", "Table::add");
    assert_simplified("spell ^main$ => x", "main(int)", "main(int)");
}

static void rules_are_applied_in_order_after_the_built_in_ones(void **state)
{
    (void) state;
    assert_simplified("rename a => b\nrename b => c\n", "a", "c");
    assert_simplified("rename b => c\nrename a => b\n", "a", "b");
    assert_simplified("rename ^std::vector<Row>:: => Rows::", "std::vector<Row, std::allocator<Row> >::clear()",
                      "Rows::clear");
}

static void blanks_and_arrows_can_be_part_of_a_rule(void **state)
{
    (void) state;
    assert_simplified("  rename\t  unsigned long   =>   size_t  \r\n", "f(unsigned long, long)", "f(size_t, long)");
    assert_simplified("rename a=>b => c => d", "a=>b", "c => d");
    assert_simplified("rename x =[>] y => z", "x => y", "z");
    assert_simplified("rename [ ]$ => !", "x ", "x!");
}

static void a_rule_is_also_tried_without_return_type_and_parameters(void **state)
{
    (void) state;
    assert_true(simplified("cut ^main$", "main(int, char**)").cut);
    assert_true(simplified("drop ^apply<", "void apply<int>(int)").drop);
    assert_true(simplified("drop \\(int\\)$", "void apply<int>(int)").drop);
    assert_true(simplified("allocator ^Pool::take$", "Pool::take(unsigned long)").allocator);
    assert_false(simplified("cut ^main$", "domain(int)").cut);
    assert_simplified("rename ^apply<int>$ => apply_int", "void apply<int>(int)", "apply_int");
}

static void user_rules_can_strip_arguments(void **state)
{
    (void) state;
    assert_simplified("strip Pool<.*>", "Table<int, Pool<int, 4> >::add", "Table<int>::add");
    assert_simplified("strip Pool", "Table<int, Pool<int> >::add", "Table<int, Pool<int> >::add");
}

/* Reports show such a name as it is, so nothing that looks like a return type or parameters may be removed. */
static void a_name_given_by_a_rule_is_bare(void **state)
{
    (void) state;
    static const struct {
        const char *rule, *name;
        bool bare;
    } cases[] = {
        {"rename ^list_ => list growth", "list_resize", true},
        {"join ^list_.* => list growth (all)", "list_resize", true},
        {"rename ^fill<.*>$ => fill", "void fill<int>(int)", true},
        {"rename ^void fill.*$ => some fill", "void fill<int>(int)", true},
        {"rename ^void => int", "void fill<int>(int)", false},
        {"spell fill => make", "void fill<int>(int)", false},
        {"cut fill", "void fill<int>(int)", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (simplified(cases[i].rule, cases[i].name).bare != cases[i].bare)
            fail_msg("%s", cases[i].rule);
    assert_simplified("rename ^a$ => list growth\nrename ^growth$ => x", "a", "list growth");
    assert_simplified("rename ^a$ => list growth\nrename growth$ => x", "a", "list x");
    assert_simplified("rename ^a$ => f(int)\nrename f => g", "a", "g(int)");
}

static void no_name_becomes_empty(void **state)
{
    (void) state;
    assert_simplified("rename .+ =>", "main", "main");
    assert_simplified("rename main =>", "int main(int)", "int main(int)");
}

static void a_rule_that_would_leave_an_empty_name_records_that(void **state)
{
    (void) state;
    struct pl_simplify *set = rules("rename ^main$ =>\nrename ^nobody$ =>\nspell ^m =>");
    struct pl_arena *arena = pl_arena_new();
    assert_string_equal(pl_simplify_name(set, arena, "main").name, "ain");
    const struct pl_simplify_rule *rule = &set->rule[set->builtin];
    assert_true(rule[0].emptied && !rule[1].emptied && !rule[2].emptied);
    assert_int_equal(rule[0].names, 0);
    assert_int_equal(rule[2].names, 1);
    pl_arena_free(arena);
    pl_simplify_free(set);
}

static void with_no_defaults_only_user_rules_apply(void **state)
{
    (void) state;
    assert_simplified("no-defaults", "std::vector<Row, std::allocator<Row> >::clear()",
                      "std::vector<Row, std::allocator<Row> >::clear()");
    assert_false(simplified("no-defaults", "malloc").allocator);
    assert_true(simplified("allocator ^take$\nno-defaults", "take").allocator);
}

/* --- invalid rules --- */

static void invalid_rules_are_refused_with_file_and_line(void **state)
{
    (void) state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"renam a => b", "rules:1: `renam` is not a rule; rules are spell, rename"},
        {"# fine\n\nrename a b", "rules:3: expected rename REGEX => TEXT, with blanks around"},
        {"rename a =>b", "rules:1: expected rename REGEX => TEXT, with blanks around"},
        {"rename => b", "rules:1: rename needs a regular expression"},
        {"cut", "rules:1: cut needs a regular expression"},
        {"drop a => b", "rules:1: drop takes only an expression"},
        {"drop (a", "rules:1: `(a` is not a regular expression: "},
        {"cut [a", "rules:1: `[a` is not a regular expression: "},
        {"rename (a) => \\2", "rules:1: \\2 stands for a group in ( ), but the expression has only 1"},
        {"rename a => \\n", "rules:1: a backslash before another character"},
        {"rename a => b\\", "rules:1: a backslash before nothing"},
        {"cut (a)\\1", "rules:1: an expression cannot have back-references"},
        {"drop a*", "rules:1: `a*` matches the empty text, so it matches everywhere"},
        {"rename .* => x", "rules:1: `.*` matches the empty text, so it matches everywhere"},
        {"no-defaults please", "rules:1: no-defaults takes no argument"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char why[PL_WHY_BYTES] = "";
        struct pl_simplify *set = pl_simplify_new();
        assert_int_not_equal(pl_simplify_parse(set, "rules", bad[i].text, strlen(bad[i].text), why), 0);
        if (strncmp(why, bad[i].says, strlen(bad[i].says)) != 0)
            fail_msg("%s: %s", bad[i].text, why);
        assert_int_equal(set->count, set->builtin);
        pl_simplify_free(set);
    }
}

static void an_invalid_file_leaves_the_set_unchanged(void **state)
{
    (void) state;
    char why[PL_WHY_BYTES];
    struct pl_simplify *set = rules("drop ^a$");
    static const char text[] = "no-defaults\ncut ^b$\nnonsense\n", binary[] = "cut \0x";
    assert_int_not_equal(pl_simplify_parse(set, "x", text, strlen(text), why), 0);
    assert_int_equal(set->count, set->builtin + 1);
    assert_false(set->no_defaults);
    assert_int_not_equal(pl_simplify_parse(set, "x", binary, sizeof binary - 1, why), 0);
    assert_int_not_equal(pl_simplify_read(set, "/nowhere/names", why), 0);
    assert_non_null(strstr(why, "/nowhere/names: No such file"));
    assert_int_not_equal(pl_simplify_read(set, "/tmp", why), 0);
    assert_int_not_equal(pl_simplify_read(set, "/dev/zero", why), 0);
    assert_int_equal(set->count, set->builtin + 1);
    pl_simplify_free(set);
}

/* --- hostile names --- */

/* Names made of one repeated part. A match with exponential cost would exceed the time limit of the test. */
static void names_of_4000_characters_are_handled_in_time(void **state)
{
    (void) state;
    static const char *const parts[] = {"a",
                                        "<",
                                        ">",
                                        "(",
                                        "a<",
                                        "std::",
                                        "std::allocator<",
                                        ", ",
                                        "<a,",
                                        "(<",
                                        "a(b)::",
                                        "::_M_",
                                        "operator",
                                        "operator<",
                                        "{",
                                        "[",
                                        "-> ",
                                        "\xff\xfe",
                                        "<a, std::allocator<a> >",
                                        "std::basic_string<char>"};
    struct pl_simplify *set = rules("rename (a*)*b => x\nrename (a|aa)+c => x\nrename (a?){30}d => x\n"
                                    "drop (.*)*!\ncut (<.*)+#\nrename a(.*;)? => aa\nstrip (a|a*)+z\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct pl_arena *arena = pl_arena_new();
        char name[4001 + 32] = "";
        for (size_t bytes = 0; bytes < 4000; bytes += strlen(parts[i]))
            strcpy(name + bytes, parts[i]);
        assert_true(strlen(pl_simplify_name(set, arena, name).name) > 0);
        pl_arena_free(arena);
    }
    pl_simplify_free(set);
}

static void names_beyond_the_length_limit_are_left_alone(void **state)
{
    (void) state;
    enum { BYTES = 1 << 20 };
    char *name = malloc(BYTES + 1);
    memset(name, 'a', BYTES);
    name[BYTES] = 0;
    struct pl_simplify *set = rules("rename a => bbbbbbbbbb");
    struct pl_arena *arena = pl_arena_new();
    assert_ptr_equal(pl_simplify_name(set, arena, name).name, name);
    pl_simplify_free(set);
    set = rules(
        "rename a => aaaaaaaaaaaaaaaaaaaa\nrename a+ => \\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\n"
        "rename a+ => \\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\n");
    assert_true(strlen(pl_simplify_name(set, arena, "aaaaaaaaaa").name) <= 16 << 10);
    pl_arena_free(arena);
    pl_simplify_free(set);
    free(name);
}

/* --- profiles --- */

#define APP "/opt/app/server"

static struct model *model_simple(void)
{
    struct model *model = model_new(1, 1);
    return model;
}

static void model_end(struct model *model)
{
    model_free(model);
}

static void apply(struct model *model, const char *text, bool keep_names)
{
    struct pl_simplify *set = rules(text);
    model_pack(model);
    pl_simplify_profile(set, &model->profile, keep_names);
    pl_simplify_free(set);
}

/* Checks the stack of a site, written as "inner<outer". */
static void assert_stack(const struct model *model, uint32_t site, const char *expected)
{
    const struct pl_profile *profile = &model->profile;
    const struct pl_stack_view *stack = &profile->stack[profile->site[site].stack];
    char text[512] = "";
    for (uint32_t f = 0; f < stack->frames; f++)
        for (uint32_t p = 0; p < profile->frame[stack->frame[f]].places; p++) {
            strcat(text, *text ? "<" : "");
            strcat(text, profile->frame[stack->frame[f]].place[p].function);
        }
    assert_string_equal(text, expected);
}

static double sum_of(const struct model *model, enum pl_metric metric)
{
    double sum = 0;
    for (uint32_t i = 0; i < model->profile.sites; i++)
        sum += unpack_site(&model->profile.site[i])->metric[metric].value;
    return sum;
}

static void stacks_that_become_equal_are_merged_and_their_figures_added(void **state)
{
    (void) state;
    struct model *model = model_simple();
    SITE(model, STACK(model, APP, "fill<int>", APP, "main"), 10, 3, 4);
    SITE(model, STACK(model, APP, "fill<long>", APP, "main"), 100, 1, 2);
    SITE(model, STACK(model, APP, "other", APP, "main"), 1000, 1, 1);
    const double seen[] = {5, 7};
    model_seen(model, 0, seen, 2);
    model->share[1][0].site = 1;
    model->share[1][1] = (struct pl_composition_share){.site = 0, .objects = 1, .bytes = 6};
    model->composition[1].shares = 2;
    model_pack(model);
    double live = sum_of(model, PL_METRIC_INUSE_SPACE), calls = sum_of(model, PL_METRIC_ALLOC_OBJECTS);

    apply(model, "rename ^fill<.*> => fill", false);
    assert_int_equal(model->profile.sites, 2);
    assert_int_equal(model->profile.stacks, 2);
    assert_stack(model, 0, "fill<main");
    assert_float_equal(unpack_site(&model->profile.site[0])->metric[PL_METRIC_INUSE_SPACE].value, 4 * 10 + 2 * 100, 0);
    assert_float_equal(unpack_site(&model->profile.site[0])->metric[PL_METRIC_ALLOC_OBJECTS].value, 7 + 3, 0);
    assert_float_equal(unpack_site(&model->profile.site[0])->spread.ages[0], 6, 0);
    assert_float_equal(sum_of(model, PL_METRIC_INUSE_SPACE), live, 0);
    assert_float_equal(sum_of(model, PL_METRIC_ALLOC_OBJECTS), calls, 0);
    assert_int_equal(model->profile.composition[1].shares, 1);
    assert_int_equal(model->profile.composition[1].share[0].site, 0);
    assert_float_equal(model->profile.composition[1].share[0].bytes, 13, 0);
    model_end(model);
}

static void sites_of_other_threads_and_tags_stay_separate(void **state)
{
    (void) state;
    struct model *model = model_simple();
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t site = SITE(model, STACK(model, APP, i % 2 ? "a" : "b", APP, "main"), 10, 0, 1);
        model->view[site].thread = i / 2;
    }
    model->view[3].tag = 1;
    apply(model, "rename ^[ab]$ => c", false);
    assert_int_equal(model->profile.stacks, 1);
    assert_int_equal(model->profile.sites, 3);
    model_end(model);
}

static void a_rename_keeps_lines_and_a_join_removes_them(void **state)
{
    (void) state;
    for (int join = 0; join < 2; join++) {
        struct model *model = model_simple();
        SITE(model, STACK(model, APP, "handle_get", APP, "main"), 10, 0, 1);
        SITE(model, STACK(model, APP, "handle_put", APP, "main"), 10, 0, 1);
        model->place[2].line = 70;
        apply(model, join ? "join ^handle_.* => handle" : "rename ^handle_.* => handle", false);
        assert_int_equal(model->profile.sites, join ? 1 : 2);
        assert_stack(model, 0, "handle<main");
        model_end(model);
    }
}

static void dropped_frames_and_callers_of_a_cut_frame_are_removed(void **state)
{
    (void) state;
    struct model *model = model_simple();
    SITE(model, STACK(model, APP, "add", APP, "guard", APP, "serve(int)", APP, "loop", APP, "main"), 10, 0, 1);
    SITE(model, STACK(model, APP, "add", APP, "serve(int)", APP, "pool"), 10, 0, 1);
    apply(model, "drop ^guard$\ncut ^serve$\n", false);
    assert_int_equal(model->profile.stacks, 1);
    assert_int_equal(model->profile.sites, 1);
    assert_int_equal(model->profile.frames, 2);
    assert_stack(model, 0, "add<serve(int)");
    model_end(model);
}

static void a_stack_keeps_its_innermost_frame(void **state)
{
    (void) state;
    struct model *model = model_simple();
    SITE(model, STACK(model, APP, "add", APP, "main"), 10, 0, 1);
    SITE(model, STACK(model, APP, "b", APP, "add", APP, "main"), 10, 0, 1);
    apply(model, "drop .\ncut ^add$", false);
    assert_stack(model, 0, "add");
    assert_stack(model, 1, "b");
    assert_float_equal(sum_of(model, PL_METRIC_INUSE_SPACE), 20, 0);
    model_end(model);
}

static void inlined_places_are_dropped_and_cut_like_frames(void **state)
{
    (void) state;
    struct model *model = model_simple();
    uint32_t stack = STACK(model, APP, "new", APP, "add", APP, "grow", APP, "main");
    SITE(model, stack, 10, 0, 1);
    for (uint32_t i = 0; i < 2; i++)
        model->place[i].inlined = true;
    model->frame[0].places = 3; /* new and add are inlined into grow */
    model->in_stack[0][1] = 3;
    model->stack[0].frames = 2;
    apply(model, "drop ^new$\ncut ^add$", false);
    assert_stack(model, 0, "add");
    assert_false(model->profile.frame[0].place[0].inlined);
    model_end(model);
}

static void the_original_names_are_kept_beside_the_new_ones(void **state)
{
    (void) state;
    struct model *model = model_simple();
    SITE(model, STACK(model, APP, "old", APP, "std::allocator<int>::allocate", APP, "main"), 10, 0, 1);
    apply(model, "rename old => new\nrename allocate => get", false);
    const struct pl_frame_view *frame = model->profile.frame;
    assert_string_equal(frame[0].place[0].function, "new");
    assert_string_equal(frame[0].place[0].linkage, "old");
    assert_string_equal(frame[0].place[0].original, "old");
    assert_true(frame[1].place[0].allocator);
    assert_null(frame[2].place[0].original);
    assert_string_equal(frame[2].place[0].linkage, "");
    model_end(model);
}

static void rules_can_shorten_stacks_and_keep_names(void **state)
{
    (void) state;
    struct model *model = model_simple();
    SITE(model, STACK(model, APP, "old", APP, "guard", APP, "main"), 10, 0, 1);
    apply(model, "join old => new\ndrop guard\ncut new\n", true);
    assert_stack(model, 0, "old");
    assert_int_equal(model->profile.frame[0].place[0].line, 7);
    model_end(model);
}

static void without_user_rules_stacks_do_not_change(void **state)
{
    (void) state;
    struct model *model = model_simple();
    SITE(model, STACK(model, APP, "add", APP, "main"), 10, 0, 1);
    SITE(model, STACK(model, APP, "add", APP, "main"), 10, 0, 1); /* the same functions at other addresses */
    apply(model, "", false);
    assert_int_equal(model->profile.sites, 2);
    assert_ptr_equal(model->profile.stack, model->stack);
    model_end(model);
}

static void profiles_stay_valid(void **state)
{
    (void) state;
    for (const struct forge_scenario *scenario = forge_scenario; scenario->name; scenario++) {
        struct pl_profile *profile = load_scenario(scenario->name);
        struct pl_estimate total = profile->total[PL_METRIC_ALLOC_SPACE];
        struct pl_simplify *set = rules("rename [a-m]+ => x\njoin [n-z]+ => y\ndrop ^y\ncut x_y\n");
        pl_simplify_profile(set, profile, false);
        if (!pl_profile_valid(profile))
            fail_msg("%s", scenario->name);
        assert_float_equal(profile->total[PL_METRIC_ALLOC_SPACE].value, total.value, 0);
        pl_simplify_free(set);
        pl_profile_close(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bare_name_has_neither_return_type_nor_parameters),
        cmocka_unit_test(default_arguments_of_templates_are_stripped),
        cmocka_unit_test(arguments_that_are_not_defaults_stay),
        cmocka_unit_test(basic_string_becomes_string),
        cmocka_unit_test(internal_prefixes_of_the_c_library_and_rust_hashes_are_removed),
        cmocka_unit_test(allocators_are_recognised),
        cmocka_unit_test(other_functions_are_not_recognised_as_allocators),
        cmocka_unit_test(a_rename_replaces_every_match),
        cmocka_unit_test(a_match_may_begin_with_any_alternative),
        cmocka_unit_test(a_match_is_found_after_a_false_start),
        cmocka_unit_test(arguments_are_stripped_at_any_depth),
        cmocka_unit_test(spell_replaces_text_anywhere_in_a_name),
        cmocka_unit_test(rules_are_applied_in_order_after_the_built_in_ones),
        cmocka_unit_test(blanks_and_arrows_can_be_part_of_a_rule),
        cmocka_unit_test(a_rule_is_also_tried_without_return_type_and_parameters),
        cmocka_unit_test(user_rules_can_strip_arguments),
        cmocka_unit_test(a_name_given_by_a_rule_is_bare),
        cmocka_unit_test(no_name_becomes_empty),
        cmocka_unit_test(a_rule_that_would_leave_an_empty_name_records_that),
        cmocka_unit_test(with_no_defaults_only_user_rules_apply),
        cmocka_unit_test(invalid_rules_are_refused_with_file_and_line),
        cmocka_unit_test(an_invalid_file_leaves_the_set_unchanged),
        cmocka_unit_test(names_of_4000_characters_are_handled_in_time),
        cmocka_unit_test(names_beyond_the_length_limit_are_left_alone),
        cmocka_unit_test(stacks_that_become_equal_are_merged_and_their_figures_added),
        cmocka_unit_test(sites_of_other_threads_and_tags_stay_separate),
        cmocka_unit_test(a_rename_keeps_lines_and_a_join_removes_them),
        cmocka_unit_test(dropped_frames_and_callers_of_a_cut_frame_are_removed),
        cmocka_unit_test(a_stack_keeps_its_innermost_frame),
        cmocka_unit_test(inlined_places_are_dropped_and_cut_like_frames),
        cmocka_unit_test(the_original_names_are_kept_beside_the_new_ones),
        cmocka_unit_test(rules_can_shorten_stacks_and_keep_names),
        cmocka_unit_test(without_user_rules_stacks_do_not_change),
        cmocka_unit_test(profiles_stay_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
