// SPDX-License-Identifier: MIT
//
// shapes.cpp - a program whose profile has everything that is difficult for an export: nested tags, threads with names,
// inlined functions, recursion, templates, and one function under two tags and in two threads.
//
//   shapes [before|after]
//
// It does the same in every run. `after` differs from `before`, which is the default, in three ways: the cache is twice
// as large, render is gone, and there is an audit.
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <vector>

#include <plimsoll.hpp>

#define NOINLINE __attribute__((noinline))
#define INLINE __attribute__((always_inline)) inline

namespace shapes
{

static bool after;
static void *kept[16384];
static size_t keeps;

static void keep(void *block)
{
    kept[__atomic_fetch_add(&keeps, 1, __ATOMIC_RELAXED)] = block;
}

// Two functions that are always inlined.
static INLINE void *innermost(size_t bytes)
{
    return memset(malloc(bytes), 1, bytes);
}

static INLINE void *between(size_t bytes)
{
    return innermost(bytes + 1);
}

extern "C" NOINLINE void *shape_block(size_t bytes)
{
    return between(bytes);
}

template <typename Key, typename Value> class Table
{
    std::map<Key, Value> entries;

  public:
    NOINLINE void add(const Key &key, const Value &value)
    {
        entries.emplace(key, value);
    }
    NOINLINE Table &operator<<(int key)
    {
        add(key, Value(size_t(key % 7 + 1), 'x'));
        return *this;
    }
};

NOINLINE void *descend(int depth)
{
    void *block = depth ? descend(depth - 1) : shape_block(4095);
    __asm__ volatile("" ::: "memory");
    return block;
}

NOINLINE void load_index()
{
    PLIMSOLL_SCOPE("index");
    auto table = new Table<int, std::vector<char>>;
    for (int i = 0; i < 300; i++)
        *table << i;
    keep(table);
}

NOINLINE void load_cache()
{
    PLIMSOLL_SCOPE("cache");
    for (int i = 0; i < (after ? 400 : 200); i++)
        keep(shape_block(1023));
}

NOINLINE void parse(int turns)
{
    PLIMSOLL_SCOPE("parse");
    for (int i = 0; i < turns; i++)
        free(shape_block(63));
}

NOINLINE void render()
{
    PLIMSOLL_SCOPE("render");
    std::vector<std::unique_ptr<std::string>> page;
    for (int i = 0; i < 50; i++)
        page.push_back(std::make_unique<std::string>(2000, ' '));
}

NOINLINE void audit()
{
    PLIMSOLL_SCOPE("audit");
    for (int i = 0; i < 25; i++)
        keep(shape_block(9999));
}

NOINLINE void *serve(void *name)
{
    pthread_setname_np(pthread_self(), static_cast<const char *>(name));
    PLIMSOLL_SCOPE("request");
    parse(2000);
    if (!after)
        render();
    return nullptr;
}

} // namespace shapes

int main(int argc, char **argv)
{
    shapes::after = argc > 1 && !strcmp(argv[1], "after");
    shapes::load_index();
    shapes::load_cache();
    for (int depth = 1; depth < 20; depth++)
        shapes::keep(shapes::descend(depth));
    shapes::parse(100);
    if (shapes::after)
        shapes::audit();
    for (const char *name : {"worker-1", "worker-2"}) {
        pthread_t thread;
        pthread_create(&thread, nullptr, shapes::serve, const_cast<char *>(name));
        pthread_join(thread, nullptr);
    }
    return 0;
}
