// SPDX-License-Identifier: MIT
//
// raii.cpp - C++ scopes: however a block is left, the tag around it is charged again.
//
//   raii ACCOUNT
//
// Exceptions are allocated under a tag of their own, which is not compared.
#include "../../lib/patience.h"
#include "account.h"

#include <plimsoll.hpp>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace
{

constexpr int turns = 40;

// The account's side of a scope.
struct Booked {
    explicit Booked(const char *name)
    {
        account_pushed(name);
    }
    ~Booked()
    {
        account_popped();
    }
    Booked(const Booked &) = delete;
    Booked &operator=(const Booked &) = delete;
};

// Hides from the compiler that this always throws. Otherwise it would warn of infinite recursion.
volatile bool failing = true;

void fail()
{
    plimsoll::Scope scope("throws");
    Booked booked("throws");
    account->tag[account_tag_now()].loose = 1;
    if (failing)
        throw 7;
}

void return_early(int i)
{
    PLIMSOLL_SCOPE("early");
    Booked booked("early");
    allocate(10);
    if (i % 2)
        return;
    PLIMSOLL_SCOPE("later");
    Booked later("later");
    allocate(20);
}

void throw_through_scopes(int depth)
{
    PLIMSOLL_SCOPE("level");
    Booked booked("level");
    allocate(30 + static_cast<size_t>(depth));
    if (depth > 0)
        throw_through_scopes(depth - 1);
    else
        fail();
}

void catch_inside()
{
    static const std::string name("named by a string");
    plimsoll::Scope scope(name);
    Booked booked("named by a string");
    try {
        throw_through_scopes(5);
    } catch (int) {
        allocate(60); // charged to the scope of the catch
    }
    allocate(61);
}

struct Shape {
    static void draw()
    {
        PLIMSOLL_FUNCTION_SCOPE();
        Booked booked("Shape::draw");
        allocate(70);
    }
};

void work(unsigned number)
{
    static plimsoll::Tag prepared("prepared");
    for (int i = 0; i < turns; i++) {
        return_early(i);
        catch_inside();
        Shape::draw();
        plimsoll::Scope scope(prepared);
        Booked booked("prepared");
        allocate(80 + number);
    }
    allocate(90);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    account_open(argv[1]);
    work(0);
    crew_run(1, 2, work);
    return 0;
}
