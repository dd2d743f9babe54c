/* SPDX-License-Identifier: MIT */
/*
 * standard.cpp - containers of the standard library, and every kind of new, each booked when it requests memory.
 *
 *   standard LEDGER
 *
 * A container stays in its thread. Temporary allocations are not booked: a container does not know which call gave it a
 * block.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#define SITES(X) X(vector) X(map) X(string) X(list) X(hash) X(deque) X(plain) X(array) X(aligned) X(nothrow)
LEDGER_DECLARE(SITES);

#define ROUNDS 30
#define ALIGNMENT std::align_val_t(128)

extern "C" {
#define SITE(name, call)                                                                                               \
    static APART void *site_##name(size_t bytes)                                                                       \
    {                                                                                                                  \
        return call;                                                                                                   \
    }
SITE(vector, ::operator new(bytes))
SITE(map, ::operator new(bytes))
SITE(string, ::operator new(bytes))
SITE(list, ::operator new(bytes))
SITE(hash, ::operator new(bytes))
SITE(deque, ::operator new(bytes))
SITE(plain, ::operator new(bytes))
SITE(array, ::operator new[](bytes))
SITE(aligned, ::operator new(bytes, ALIGNMENT))
SITE(nothrow, ::operator new(bytes, std::nothrow))

static void delete_plain(void *address, size_t)
{
    ::operator delete(address);
}

static void delete_sized(void *address, size_t bytes)
{
    ::operator delete(address, bytes);
}

static void delete_array(void *address, size_t bytes)
{
    ::operator delete[](address, bytes);
}

static void delete_aligned(void *address, size_t)
{
    ::operator delete(address, ALIGNMENT);
}
}

namespace
{

#define FUNCTION(name) site_##name,
void *(*const sites[])(size_t) = {SITES(FUNCTION)};
thread_local unsigned this_thread;

struct block allocate(unsigned site, size_t bytes)
{
    ledger_begin(LEDGER_ALLOCATING, site, bytes, nullptr);
    return ledger_allocated(site, bytes, sites[site](bytes));
}

/* The allocator of the containers. */
template <typename T, unsigned site> struct booked {
    using value_type = T;
    template <typename U> struct rebind {
        using other = booked<U, site>;
    };

    booked() = default;
    template <typename U> booked(const booked<U, site> &)
    {
    }

    T *allocate(size_t count)
    {
        return static_cast<T *>(::allocate(site, count * sizeof(T)).address);
    }

    void deallocate(T *address, size_t count)
    {
        ledger_free_by({address, count * sizeof(T), this_thread, site, 0}, delete_sized);
    }

    bool operator==(const booked &) const
    {
        return true;
    }

    bool operator!=(const booked &) const
    {
        return false;
    }
};

using text = std::basic_string<char, std::char_traits<char>, booked<char, SITE_string>>;
using pair = std::pair<const int, text>;

void fill_containers(int round)
{
    std::vector<int, booked<int, SITE_vector>> vector;
    std::map<int, text, std::less<int>, booked<pair, SITE_map>> map;
    std::list<double, booked<double, SITE_list>> list;
    std::unordered_map<int, text, std::hash<int>, std::equal_to<int>, booked<pair, SITE_hash>> hash;
    std::deque<int, booked<int, SITE_deque>> deque;
    for (int i = 0; i < 200 + round; i++) {
        vector.push_back(i);
        map[i * 7919 % 101].append(static_cast<size_t>(i % 50), 'x');
        list.push_back(i);
        hash[i % 90] = text(static_cast<size_t>(i), 'y');
        deque.push_front(i);
        if (i % 3 == 0)
            list.pop_front();
    }
}

/* One block in four is never freed. */
void use_operators(size_t round)
{
    static const struct {
        unsigned site;
        void (*release)(void *, size_t);
    } operators[] = {{SITE_plain, delete_plain},
                     {SITE_plain, delete_sized},
                     {SITE_array, delete_array},
                     {SITE_aligned, delete_aligned},
                     {SITE_nothrow, delete_plain}};
    for (const auto &one : operators) {
        struct block block = allocate(one.site, 128 * (1 + round)); /* a multiple of the alignment */
        block.number = 0;
        if (round % 4)
            ledger_free_by(block, one.release);
    }
}

void work(unsigned number)
{
    ledger_thread(this_thread = number);
    for (int round = 0; round < ROUNDS; round++) {
        fill_containers(round);
        use_operators(static_cast<size_t>(round));
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    std::thread other(work, 1);
    work(0);
    other.join();
    return 0;
}
