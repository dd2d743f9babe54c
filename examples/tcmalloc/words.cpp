// SPDX-License-Identifier: MIT
//
// words.cpp - counts the words of files, on tcmalloc, which still manages the heap.
//
//   words FILE...
//
// tcmalloc brings an operator new of its own, which calls no malloc. `plimsoll run` sees that, and counts there; in
// reports these calls are "new". One tag per file shows which of them the table of words grew for: a word is charged to
// the file in which it was seen first.
#include <cstdio>
#include <fstream>
#include <plimsoll.hpp>
#include <string>
#include <unordered_map>

using Table = std::unordered_map<std::string, unsigned>;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void count_line(const std::string &line, Table &table)
{
    PLIMSOLL_SCOPE("words");
    for (std::string::size_type at = 0; at < line.size();) {
        std::string::size_type end = at;
        while (end < line.size() && is_letter(line[end]))
            end++;
        if (end > at)
            table[line.substr(at, end - at)]++;
        at = end + 1;
    }
}

static bool count_file(const char *path, Table &table)
{
    const std::string name(path);
    plimsoll::Scope scope(name);
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        count_line(line, table);
    return file.eof();
}

int main(int argc, char **argv)
{
    Table table;
    unsigned most = 0;
    for (int i = 1; i < argc; i++)
        if (!count_file(argv[i], table)) {
            std::fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
    for (const auto &word : table)
        most = word.second > most ? word.second : most;
    std::printf("%zu words, the most frequent %u times\n", table.size(), most);
    return 0;
}
