// SPDX-License-Identifier: MIT
// templates.cpp - allocates through templates, so that names are long: three instances of one function, two handlers,
// and containers of containers. It frees nothing.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

struct Row {
    long values[8];
};

template <class T> __attribute__((noinline)) void *make(std::size_t count)
{
    return new T[count];
}

template <class T> __attribute__((noinline)) void *fill(std::size_t count)
{
    void *made = make<T>(count);
    asm volatile("" : "+r"(made)); // prevents a tail call, which would remove the frame
    return made;
}

static void *(*const fills[])(std::size_t) = {fill<int>, fill<long>, fill<Row>};

using Table = std::map<std::string, std::vector<Row>>;

__attribute__((noinline)) void handle_get(Table &table, int i)
{
    table["a name too long to be kept in the string itself " + std::to_string(i)].resize(10);
}

__attribute__((noinline)) void handle_put(Table &table, int i)
{
    table["another name too long to be kept in the string itself " + std::to_string(i)].resize(20);
}

static void *kept[3];

int main()
{
    Table *table = new Table;
    for (int i = 0; i < 3; i++)
        kept[i] = fills[i](100);
    for (int i = 0; i < 20; i++) {
        handle_get(*table, i);
        handle_put(*table, i);
    }
}
