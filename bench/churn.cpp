/* SPDX-License-Identifier: MIT */
/*
 * churn.cpp - makes, fills, searches and frees containers of the standard library, which C++ programs allocate with.
 *
 *   churn ROUNDS
 *
 * A round keeps an index of words (map of string to vector), a cache (unordered_map) and a queue (list), and removes
 * older entries, so that blocks of different ages are freed in no particular order.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

class Random
{
  public:
    uint32_t below(uint32_t bound)
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>(state >> 33) % bound;
    }

  private:
    uint64_t state = 1;
};

struct Document {
    std::string title;
    std::vector<std::string> words;
};

class Library
{
  public:
    size_t add(Random &random)
    {
        auto document = std::make_shared<Document>();
        document->title = "document number " + std::to_string(random.below(100000));
        for (uint32_t i = 0, words = 5 + random.below(30); i < words; i++)
            document->words.push_back(word(random));
        for (const std::string &each : document->words)
            index[each].push_back(document->title);
        cache[document->title] = document;
        queue.push_back(document);
        if (queue.size() > 300)
            forget(random);
        return document->words.size();
    }

  private:
    static std::string word(Random &random)
    {
        return "w" + std::to_string(random.below(5000)) + std::string(random.below(24), 'x');
    }

    void forget(Random &random)
    {
        auto oldest = queue.front();
        queue.pop_front();
        cache.erase(oldest->title);
        for (const std::string &each : oldest->words)
            if (random.below(4) != 0)
                index.erase(each);
    }

    std::map<std::string, std::vector<std::string>> index;
    std::unordered_map<std::string, std::shared_ptr<Document>> cache;
    std::list<std::shared_ptr<Document>> queue;
};

} // namespace

int main(int argc, char **argv)
{
    Random random;
    Library library;
    size_t words = 0;
    for (long i = 0, rounds = argc > 1 ? std::atol(argv[1]) : 1000; i < rounds; i++)
        words += library.add(random);
    std::printf("%zu\n", words);
    return 0;
}
