/* SPDX-License-Identifier: MIT */
/*
 * operators.cpp - calls every operator new and delete a known number of times.
 *
 *   operators [failing]     with failing, also some that throw, which not every allocator survives
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../lib/apart.h"

struct alignas(64) wide {
    char bytes[128];
};

static const std::size_t huge = std::size_t(1) << 62;

template <class T> static T *keep(T *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static APART void plain()
{
    for (int i = 0; i < 100; i++) {
        delete keep(new int(i));
        delete[] keep(new char[100]);
    }
}

static APART void without_throwing()
{
    for (int i = 0; i < 100; i++) {
        int *one = keep(new (std::nothrow) int(i));
        char *many = keep(new (std::nothrow) char[50]);
        ::operator delete(one, std::nothrow);
        ::operator delete[](many, std::nothrow);
    }
}

static APART void aligned()
{
    for (int i = 0; i < 100; i++) {
        delete keep(new wide);
        delete[] keep(new wide[2]);
        delete keep(new (std::nothrow) wide);
        delete[] keep(new (std::nothrow) wide[2]);
    }
}

static APART void sized()
{
    for (int i = 0; i < 100; i++) {
        ::operator delete(keep(::operator new(40)), 40);
        ::operator delete[](keep(::operator new[](41)), 41);
        ::operator delete(keep(::operator new(128, std::align_val_t(64))), 128, std::align_val_t(64));
    }
}

static APART int failing()
{
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        caught += keep(::operator new(huge, std::nothrow)) == nullptr;
        try {
            keep(::operator new(huge));
        } catch (const std::bad_alloc &) {
            caught++;
        }
    }
    return caught;
}

static APART std::size_t containers()
{
    std::vector<std::string> words;
    std::size_t length = 0;
    for (int i = 0; i < 1000; i++)
        words.push_back(std::string(100, char('a' + i % 26)));
    for (const auto &word : words)
        length += word.size();
    return length;
}

static void work()
{
    plain();
    without_throwing();
    aligned();
    sized();
}

static APART void afterwards()
{
    for (int i = 0; i < 10000; i++)
        delete[] keep(new char[1000]);
}

int main(int argc, char **)
{
    std::thread other(work);
    other.join();
    work();
    std::printf("%d %zu\n", argc > 1 ? failing() : 0, containers());
    afterwards();
    auto shared = std::make_shared<int>(1);
    try {
        throw std::runtime_error("a message that is too long to be kept inside of a std::string");
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    return *shared - 1;
}
