// SPDX-License-Identifier: MIT
//
// wrapped.cpp - uses every class and macro of plimsoll.hpp. A line is a tag and the number of calls charged to it.
//
// Each scope allocates a different number of blocks, so that scopes cannot be confused.

#include <plimsoll.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

static void *volatile sink;

static void allocate(int blocks)
{
    for (int i = 0; i < blocks; i++) {
        sink = std::malloc(100);
        std::free(sink);
    }
}

// The calls of one tag in plimsoll_pairs(), summed over threads.
struct Wanted {
    const char *ending;
    std::uint64_t calls;
};

extern "C" int add_up(void *context, const char *key, std::uint64_t number)
{
    Wanted *wanted = static_cast<Wanted *>(context);
    std::size_t key_length = std::strlen(key), length = std::strlen(wanted->ending);
    if (key_length >= length && !std::strcmp(key + key_length - length, wanted->ending))
        wanted->calls += number;
    return 0;
}

static void say(const char *tag)
{
    std::string ending = std::string(".") + tag + ".calls";
    Wanted wanted = {ending.c_str(), 0};
    int result = plimsoll_pairs(add_up, &wanted);
    std::printf("%s %ld\n", tag, result ? -1L : static_cast<long>(wanted.calls));
}

namespace scene
{

template <class T> struct Graph {
    T render(T blocks) const
    {
        PLIMSOLL_FUNCTION_SCOPE();
        allocate(blocks);
        [](int more) {
            PLIMSOLL_FUNCTION_SCOPE();
            allocate(more);
        }(blocks + 1);
        return blocks;
    }
};

} // namespace scene

static plimsoll::Tag early("before main");

static const struct BeforeMain {
    BeforeMain()
    {
        plimsoll::Scope scope(early);
        allocate(10);
    }
} before_main;

static void use_scopes()
{
    {
        plimsoll::Scope scope("literal");
        allocate(1);
    }
    {
        std::string name("string");
        plimsoll::Scope scope(name);
        allocate(2);
    }
    for (int i = 0; i < 3; i++) {
        static plimsoll::Tag tag("tag");
        plimsoll::Scope scope(tag);
        allocate(1);
    }
    for (int i = 0; i < 2; i++) {
        PLIMSOLL_SCOPE("place");
        allocate(2);
    }
    scene::Graph<int>().render(5);
}

static void use_exceptions()
{
    try {
        PLIMSOLL_SCOPE("around");
        PLIMSOLL_SCOPE_OF(inner, "inside");
        throw std::runtime_error("on its way");
    } catch (const std::exception &) {
        PLIMSOLL_SCOPE("thrown");
        allocate(7);
    }
}

static void use_guards()
{
    plimsoll_context context;
    {
        PLIMSOLL_SCOPE("adopted");
        context = plimsoll_capture();
    }
    {
        plimsoll::Adopted adopted(context);
        allocate(8);
    }
    {
        plimsoll::Paused paused;
        allocate(9);
    }
}

#define FIXED(type)                                                                                                    \
    static_assert(!std::is_copy_constructible<plimsoll::type>::value, "belongs to its block");                         \
    static_assert(!std::is_move_constructible<plimsoll::type>::value, "belongs to its block");                         \
    static_assert(std::is_nothrow_destructible<plimsoll::type>::value, "never throws")
FIXED(Scope);
FIXED(Adopted);
FIXED(Paused);
static_assert(noexcept(plimsoll::Scope("")) &&noexcept(plimsoll::Paused()) &&noexcept(plimsoll::Adopted(0)), "ever");
static_assert(std::is_trivially_destructible<plimsoll::Tag>::value, "nothing is done at exit");

int main()
{
    plimsoll_context before = plimsoll_capture();
    use_scopes();
    use_exceptions();
    use_guards();
    bool balanced = plimsoll_capture() == before;
    for (const char *tag :
         {"literal", "string", "tag", "place", "scene::Graph::render",
          "scene::Graph::render/scene::Graph::render::<lambda>", "thrown", "adopted", "(paused)", "before main"})
        say(tag);
    std::printf("balanced %d\n", balanced);
    return 0;
}
