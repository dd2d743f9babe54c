/* SPDX-License-Identifier: MIT */
/*
 * maps.cpp - inserts into a std::map and erases from it at random: small blocks of one size, from few stacks, which are
 * freed in no particular order and mostly miss the cache.
 *
 *   maps STEPS
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

int main(int argc, char **argv)
{
    constexpr uint32_t keys = 1u << 17;
    std::map<uint32_t, uint64_t> map;
    uint64_t random = 1;
    for (long i = 0, steps = argc > 1 ? std::atol(argv[1]) : 100000; i < steps; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        auto [at, fresh] = map.emplace(static_cast<uint32_t>(random >> 33) % keys, random);
        if (!fresh)
            map.erase(at);
    }
    std::printf("%zu\n", map.size());
    return 0;
}
