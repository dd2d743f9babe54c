// SPDX-License-Identifier: MIT
//
// wrapped.cpp - memory that is allocated through wrappers: operator new, an inlined allocator of a container, a
// function like xmalloc(). Also a constructor that allocates and is called by a container.
#include <cstdlib>
#include <memory>
#include <vector>

#define NOINLINE __attribute__((noinline))

static void *volatile kept;

extern "C" NOINLINE void *xmalloc(size_t bytes)
{
    kept = malloc(bytes);
    return kept;
}

NOINLINE void by_new()
{
    kept = new char[1000];
}

NOINLINE void by_wrapper()
{
    kept = xmalloc(200);
}

// The whole vector is inlined here. It calls operator new.
NOINLINE void by_container(size_t bytes)
{
    std::vector<char> block(bytes);
    kept = block.data();
}

struct Constructed {
    NOINLINE Constructed(size_t bytes)
    {
        kept = malloc(bytes);
    }
};

NOINLINE void by_constructor()
{
    kept = new std::shared_ptr<Constructed>(std::make_shared<Constructed>(40));
}

int main()
{
    for (int i = 0; i < 10; i++) {
        by_new();
        by_wrapper();
        by_container(30);
        by_constructor();
    }
    return 0;
}
