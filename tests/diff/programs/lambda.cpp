/* SPDX-License-Identifier: MIT */
/*
 * lambda.cpp - two lambdas that allocate. They are inlined, unless -DAPART is given: then debug information has another
 * name for them than their symbols.
 */
#include <cstdlib>

#ifdef APART
#define HOW __attribute__((noinline))
#else
#define HOW __attribute__((always_inline))
#endif

static void *volatile sink;

namespace shop
{

__attribute__((noinline)) void *take(std::size_t bytes)
{
    void *block = std::malloc(bytes);
    sink = block;
    return block;
}

__attribute__((noinline)) void serve(int customers)
{
    auto greet = [](int number) HOW {
        for (int i = 0; i < number; i++)
            take(100);
        sink = nullptr;
    };
    auto sell = [](int number) HOW {
        for (int i = 0; i < number; i++)
            take(300);
        sink = nullptr;
    };
    greet(customers);
    sell(2 * customers);
    sink = nullptr;
}

} // namespace shop

int main()
{
    shop::serve(50);
    return 0;
}
