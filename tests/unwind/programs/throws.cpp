// SPDX-License-Identifier: MIT
//
// throws.cpp - allocations during exceptions: while one is thrown, in destructors on its way, in handlers; and the deep
// library stacks of everyday C++.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Guard {
    explicit Guard(const std::string &name) : text(name + std::string(40, 'r'))
    {
    }
    ~Guard()
    {
        std::string more = text + "a destructor that allocates while an exception passes";
        (void) more;
    }
    std::string text;
};

int descend(int depth)
{
    Guard guard("depth " + std::to_string(depth));
    if (depth == 0)
        throw std::runtime_error("thrown below " + guard.text);
    return descend(depth - 1) + static_cast<int>(guard.text.size());
}

int catch_below(int depth)
{
    try {
        return descend(depth);
    } catch (const std::exception &caught) {
        std::string message = std::string(caught.what()) + " caught, allocating in the handler";
        try {
            throw;
        } catch (const std::runtime_error &again) {
            return static_cast<int>((message + again.what()).size());
        }
    }
}

std::size_t use_library()
{
    std::map<std::string, std::vector<int>> map;
    for (int i = 0; i < 400; i++)
        map["a key long enough to be allocated " + std::to_string(i * 7919 % 1000)].push_back(i);
    std::regex pattern("([a-z ]+) ([0-9]+)$");
    std::smatch match;
    std::vector<std::string> keys;
    for (const auto &entry : map)
        if (std::regex_search(entry.first, match, pattern))
            keys.push_back(match[1].str() + match[2].str());
    std::sort(keys.begin(), keys.end(), [](const std::string &a, const std::string &b) {
        std::string longer = a + " and then some more";
        return longer < b;
    });
    std::function<std::size_t(int)> nest = [&](int n) {
        std::string text(50 + static_cast<std::size_t>(n), 'x');
        return n ? nest(n - 1) + text.size() : 0;
    };
    std::ostringstream out;
    for (const auto &key : keys)
        out << key << 3.25 << '\n';
    return out.str().size() + nest(20);
}

} // namespace

int main(int argc, char **argv)
{
    int times = argc > 1 ? std::atoi(argv[1]) : 10;
    std::size_t total = 0;
    for (int round = 0; round < times; round++) {
        for (int i = 0; i < 40; i++)
            total += static_cast<std::size_t>(catch_below(i % 25));
        total += use_library();
    }
    std::thread thread([&] {
        for (int i = 0; i < 200; i++)
            total += static_cast<std::size_t>(catch_below(i % 10));
    });
    thread.join();
    std::cout << total << "\n";
}
