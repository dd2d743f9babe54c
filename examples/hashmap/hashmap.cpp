// SPDX-License-Identifier: MIT
//
// hashmap.cpp - fills a hash map without reserve() and with it, and tells the profiler which is which.
//
// Only the filling is of interest. So the program is started with recording switched off, by PLIMSOLL_OFF=1 or
// `plimsoll run --off`, and switches it on only while it fills a map.
//
// It is not linked with any library of Plimsoll, and runs without the profiler as well.

#include <plimsoll.hpp>

#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

namespace
{

using Map = std::unordered_map<long, long>;

// Recording is on as long as this object lives.
struct Recorded {
    Recorded()
    {
        plimsoll_start();
    }
    ~Recorded()
    {
        plimsoll_stop();
    }
};

// Allocates a good deal, which is not of interest.
std::vector<long> make_keys(int count)
{
    std::vector<long> keys;
    for (long i = 0; i < count; i++)
        keys.push_back(i * 2654435761 % 4294967296);
    return keys;
}

void fill(Map &map, const std::vector<long> &keys)
{
    PLIMSOLL_FUNCTION_SCOPE();
    for (long key : keys)
        map[key]++;
}

void fill_without_reserve(const std::vector<long> &keys)
{
    Map map;
    Recorded recorded;
    PLIMSOLL_SCOPE("without reserve");
    fill(map, keys); // the table of buckets is replaced again and again
}

void fill_with_reserve(const std::vector<long> &keys)
{
    Map map;
    Recorded recorded;
    PLIMSOLL_SCOPE("with reserve");
    map.reserve(keys.size());
    fill(map, keys);
}

} // namespace

int main(int argc, char **argv)
{
    int count = argc > 1 ? std::atoi(argv[1]) : 100000;
    std::vector<long> keys = make_keys(count);
    fill_without_reserve(keys);
    fill_with_reserve(keys);

    struct plimsoll_stats stats;
    if (plimsoll_stats(&stats, sizeof stats) == 0)
        std::printf("the profiler saw %llu calls in all\n", static_cast<unsigned long long>(stats.calls));
    else
        std::printf("filled two maps with %d keys; nobody watched\n", count);
    return 0;
}
