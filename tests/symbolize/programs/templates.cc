// SPDX-License-Identifier: MIT
// templates.cc - what C++ does to names: templates, lambdas, local classes, anonymous namespaces.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shop
{

template <typename Key> class Stock
{
  public:
    void add(const Key &key, const std::string &name)
    {
        items_[key].push_back(std::make_unique<std::string>(name));
    }

    size_t count() const
    {
        size_t total = 0;
        for (const auto &[key, names] : items_)
            total += names.size();
        return total;
    }

  private:
    std::map<Key, std::vector<std::unique_ptr<std::string>>> items_;
};

} // namespace shop

namespace
{

struct Clerk {
    std::string name;
    __attribute__((noinline)) std::string greet(int times)
    {
        std::string text;
        for (int i = 0; i < times; i++)
            text += name + " says hello ";
        return text;
    }
};

} // namespace

__attribute__((noinline)) static int sell(int times)
{
    struct Till {
        std::vector<int> coins;
        __attribute__((noinline)) int take(int coin)
        {
            coins.push_back(coin);
            return static_cast<int>(coins.size());
        }
    };
    Till till;
    auto twice = [&till](int coin) __attribute__((noinline))
    {
        return till.take(coin) + till.take(coin);
    };
    int total = 0;
    for (int i = 0; i < times; i++)
        total += twice(i);
    return total;
}

int main(int argc, char **)
{
    shop::Stock<int> numbered;
    shop::Stock<std::string> named;
    std::function<void(int)> order = [&](int n) __attribute__((always_inline))
    {
        numbered.add(n, "thing");
        named.add("thing", std::to_string(n));
    };
    for (int i = 0; i < argc * 4; i++)
        order(i);
    std::printf("%zu %zu %d %zu\n", numbered.count(), named.count(), sell(argc), Clerk{"Ann"}.greet(argc).size());
}
