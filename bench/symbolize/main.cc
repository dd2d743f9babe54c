// SPDX-License-Identifier: MIT
// main.cc - runs every unit that was linked in.
#include <cstddef>
#include <cstdio>

struct Part {
    size_t (*run)(size_t seed);
    Part *next;
};
Part *parts;

int main(int argc, char **)
{
    size_t total = 0;
    for (Part *part = parts; part; part = part->next)
        total += part->run(argc);
    std::printf("%zu\n", total);
}
