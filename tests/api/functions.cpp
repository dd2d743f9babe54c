// SPDX-License-Identifier: MIT
//
// functions.cpp - functions of every kind. Each checks the name that PLIMSOLL_FUNCTION_SCOPE() gives it.

#include <plimsoll.hpp>

#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

static int wrong;

static void expect(const char *pretty, const char *expected)
{
    std::vector<char> name(std::strlen(pretty) + 1);
    plimsoll::detail::FunctionName(pretty, name.data());
    if (!std::strcmp(name.data(), expected))
        return;
    wrong++;
    std::printf("%s: is %s, not %s\n", pretty, name.data(), expected);
}

#define IS(name) expect(__PRETTY_FUNCTION__, name)

namespace shop
{

template <class T> class Cart
{
  public:
    explicit Cart(int)
    {
        IS("shop::Cart::Cart");
    }
    ~Cart()
    {
        IS("shop::Cart::~Cart");
    }
    std::vector<T> items(const T &) const
    {
        IS("shop::Cart::items");
        [](int) { IS("shop::Cart::items::<lambda>"); }(1);
        return {};
    }
    T &reference()
    {
        IS("shop::Cart::reference");
        static T last{};
        return last;
    }
    static std::map<int, T> *call(int (*)(char))
    {
        IS("shop::Cart::call");
        return nullptr;
    }
    template <class U> U convert(U value) volatile
    {
        IS("shop::Cart::convert");
        return value;
    }
    bool operator<(const Cart &) const
    {
        IS("shop::Cart::operator<");
        return false;
    }
    Cart &operator<<(int)
    {
        IS("shop::Cart::operator<<");
        return *this;
    }
    Cart *operator->()
    {
        IS("shop::Cart::operator->");
        return this;
    }
    void operator()(int) const
    {
        IS("shop::Cart::operator()");
    }
    int operator[](int)
    {
        IS("shop::Cart::operator[]");
        return 0;
    }
    explicit operator bool() const
    {
        IS("shop::Cart::operator bool");
        return true;
    }
    void operators()
    {
        IS("shop::Cart::operators");
    }
};

namespace
{
struct Hidden {
    void member() &
    {
        IS("shop::Hidden::member");
    }
};
int hidden(int)
{
    IS("shop::hidden");
    return 1;
}
} // namespace

int (*pointer(int))(int)
{
    IS("shop::pointer");
    return hidden;
}

template <class A, class B> auto sum(A a, B b) -> decltype(a + b)
{
    IS("shop::sum");
    return a + b;
}

const unsigned long long *words(const char *, ...)
{
    IS("shop::words");
    return nullptr;
}

template <bool flag> struct Flag {
    static void show()
    {
        IS("shop::Flag::show");
    }
};

} // namespace shop

extern "C" int plain(int)
{
    IS("plain");
    return 0;
}

static void members()
{
    shop::Cart<std::vector<int>> cart(1);
    cart.items({1});
    cart.reference();
    cart.call(nullptr);
    cart.convert(1.0);
    cart << (cart < cart);
    cart.operator->();
    cart(1);
    cart.operators();
    if (cart && cart[1])
        return;
    shop::Hidden hidden;
    hidden.member();
}

// Texts of other compilers.
static void texts()
{
    expect("auto main()::(lambda at a.cpp:1:2)::operator()(int) const", "main::<lambda>");
    expect("void f(T) [with T = int (*)(char)]", "f");
    expect("decltype(a + b) ns::add(A, B)", "ns::add");
    expect("void A<(3 > 2)>::f()", "A::f");
    expect("void A<B::operator->>::f()", "A::f");
    expect("", "");
    expect("(", "");
    expect("f<", "f");
    expect("operator", "operator");
}

int main()
{
    IS("main");
    members();
    shop::pointer(1)(1);
    shop::sum(1, 2.0);
    shop::words("");
    shop::Flag<(3 > 2)>::show();
    plain(1);
    struct Local {
        void member()
        {
            IS("main::Local::member");
        }
    };
    Local().member();
    [] { [] { IS("main::<lambda>::<lambda>"); }(); }();
    texts();
    return wrong ? 1 : 0;
}
