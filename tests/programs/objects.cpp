// SPDX-License-Identifier: MIT
//
// objects.cpp - calls every operator new and delete of C++17 a known number of times, each with a different size.
//
// It prints what a profiler must count: per operator its name, calls and bytes of one call.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

// Sized deletes are C++14, but clang needs an option for them.
void operator delete(void *, std::size_t) noexcept;
void operator delete[](void *, std::size_t) noexcept;
void operator delete[](void *, std::size_t, std::align_val_t) noexcept;

static constexpr std::size_t calls = 500;
static constexpr std::align_val_t alignment{256};

// The size is a template argument so that each operator is called from a different function.
template <std::size_t bytes> struct plain {
    char body[bytes];
};
template <std::size_t bytes> struct alignas(256) aligned {
    char body[bytes];
};

template <class T> static T *use(T *object)
{
    if (!object)
        std::exit(1);
    asm volatile("" : : "r"(object) : "memory"); // keeps the compiler from removing the pair of new and delete
    return object;
}

#define REPEAT(...)                                                                                                    \
    for (std::size_t i = 0; i < calls; i++) {                                                                          \
        __VA_ARGS__;                                                                                                   \
    }

static void single()
{
    REPEAT(delete use(new plain<1009>))
    std::printf("new %zu 1009\n", calls);
    REPEAT(auto *p = use(new (std::nothrow) plain<2003>); operator delete(p, std::nothrow))
    std::printf("new-nothrow %zu 2003\n", calls);
    REPEAT(void *p = use(operator new(3001)); operator delete (p, std::size_t{3001}))
    std::printf("new-sized-delete %zu 3001\n", calls);
}

static void arrays()
{
    REPEAT(delete[] use(new char[4001]))
    std::printf("array %zu 4001\n", calls);
    REPEAT(char *p = use(new (std::nothrow) char[5003]); operator delete[](p, std::nothrow))
    std::printf("array-nothrow %zu 5003\n", calls);
    REPEAT(void *p = use(operator new[](6007)); operator delete[](p, std::size_t{6007}))
    std::printf("array-sized-delete %zu 6007\n", calls);
}

static void over_aligned()
{
    REPEAT(delete use(new aligned<7168>))
    std::printf("aligned %zu 7168\n", calls);
    REPEAT(void *p = use(operator new(8192 + 256, alignment, std::nothrow));
           operator delete(p, alignment, std::nothrow))
    std::printf("aligned-nothrow %zu 8448\n", calls);
    REPEAT(void *p = use(operator new[](9216, alignment)); operator delete[](p, alignment))
    std::printf("aligned-array %zu 9216\n", calls);
    REPEAT(void *p = use(operator new[](10240, alignment, std::nothrow));
           operator delete[](p, std::size_t{10240}, alignment))
    std::printf("aligned-array-nothrow %zu 10240\n", calls);
}

static void c_functions()
{
    REPEAT(std::free(use(std::malloc(11003))))
    std::printf("malloc %zu 11003\n", calls);
    REPEAT(std::free(use(std::realloc(use(std::malloc(12007)), 12503))))
    std::printf("malloc-before-realloc %zu 12007\nrealloc %zu 12503\n", calls, calls);
}

static void standard_library()
{
    std::vector<std::unique_ptr<std::string>> kept;
    REPEAT(kept.push_back(std::make_unique<std::string>(13006, 'x')))
    std::printf("string %zu 13007\n", calls);
}

// Not every allocator's operator new can throw. With an argument, nothing impossible is requested.
int main(int argc, char **)
{
    single();
    arrays();
    over_aligned();
    c_functions();
    standard_library();
    try {
        use(operator new(argc > 1 ? 1 : static_cast<std::size_t>(-1) / 4));
    } catch (const std::bad_alloc &) {
        std::puts("bad_alloc");
    }
    return 0;
}
