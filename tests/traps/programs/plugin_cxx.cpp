/* SPDX-License-Identifier: MIT */
/* plugin_cxx.cpp - brings libstdc++ into a C program, where only the plugin sees it. */
#include <new>

extern "C" __attribute__((noinline)) void *plugin_cxx_allocate()
{
    char *block = new char[333];
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

extern "C" void *plugin_call()
{
    char *block = static_cast<char *>(plugin_cxx_allocate());
    delete[] block;
    return nullptr;
}
