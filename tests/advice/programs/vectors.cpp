// SPDX-License-Identifier: MIT
//
// vectors.cpp - vectors that grow while they are filled, or that have reserved their capacity.
//
//   vectors push|reserve
//
#include <cstdio>
#include <cstring>
#include <vector>

static const int vectors = 100, elements = 20000;

struct pair {
    long one, other;
};

static __attribute__((noinline)) long site_fill(std::vector<pair> &vector)
{
    for (long i = 0; i < elements; i++)
        vector.push_back(pair{i, -i});
    return static_cast<long>(vector.size());
}

int main(int count, char **words)
{
    bool reserve = count == 2 && !std::strcmp(words[1], "reserve");
    if (!reserve && (count != 2 || std::strcmp(words[1], "push")))
        return 2;
    long sum = 0;
    for (int i = 0; i < vectors; i++) {
        std::vector<pair> vector;
        if (reserve)
            vector.reserve(elements);
        sum += site_fill(vector);
    }
    std::printf("%ld\n", sum);
}
