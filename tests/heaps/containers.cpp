// SPDX-License-Identifier: MIT
//
// containers.cpp - containers whose allocators announce what they do. Prints what each heap must have at the end: HEAP
// CALLS BYTES BLOCKS LIVE HELD. Counts by wrapping the allocator below the announced one.
#include <plimsoll.hpp>

#include <cstdio>
#include <list>
#include <map>
#include <string>
#include <vector>

struct Account {
    unsigned long calls = 0, bytes = 0, blocks = 0, live = 0;

    void add(std::size_t size)
    {
        calls++;
        bytes += size;
        blocks++;
        live += size;
    }

    void take(std::size_t size)
    {
        blocks--;
        live -= size;
    }

    void print(const char *name) const
    {
        std::printf("%s %lu %lu %lu %lu 0\n", name, calls, bytes, blocks, live);
        std::fflush(stdout);
    }
};

class Counted : public std::pmr::memory_resource
{
  public:
    Account account;

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        account.add(bytes);
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }

    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override
    {
        account.take(bytes);
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
        return this == &other;
    }
};

static Account listed;

template <class T> struct Counting {
    using value_type = T;
    Counting() = default;
    template <class U> Counting(const Counting<U> &)
    {
    }
    T *allocate(std::size_t count)
    {
        listed.add(count * sizeof(T));
        return std::allocator<T>().allocate(count);
    }
    void deallocate(T *block, std::size_t count)
    {
        listed.take(count * sizeof(T));
        std::allocator<T>().deallocate(block, count);
    }
    template <class U> bool operator==(const Counting<U> &) const
    {
        return true;
    }
    template <class U> bool operator!=(const Counting<U> &) const
    {
        return false;
    }
};

int main()
{
    static Counted counted;
    static plimsoll::MemoryResource resource("resource", &counted);
    static std::pmr::map<int, std::pmr::string> names(&resource);
    for (int i = 0; i < 3000; i++)
        names[i % 700] = std::pmr::string(static_cast<std::size_t>(i % 90), 'x', &resource);
    names.erase(names.find(100), names.find(300));
    counted.account.print("resource");

    using Numbers = plimsoll::Allocator<int, Counting<int>>;
    static plimsoll::Heap heap("list");
    static std::list<int, Numbers> numbers{Numbers(heap)};
    static std::vector<int, Numbers> more{Numbers(heap)};
    for (int i = 0; i < 1000; i++) {
        numbers.push_back(i);
        more.push_back(i);
    }
    numbers.remove_if([](int i) { return i % 3 == 0; });
    auto copy = more;
    copy.clear();
    copy.shrink_to_fit();
    listed.print("list");
    std::_Exit(0); // the figures are those of now
}
