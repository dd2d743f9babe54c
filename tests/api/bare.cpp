// SPDX-License-Identifier: MIT
//
// bare.cpp - functions that bare.py disassembles: what a scope adds to a program that is not profiled.

#include <plimsoll.hpp>

extern "C" {

int work(int number);

int plain(int number)
{
    int result = work(number);
    return work(result + number);
}

int pushed(int number)
{
    plimsoll_push("x");
    int result = work(number);
    plimsoll_pop();
    return work(result + number);
}

int entered(int number, plimsoll_tag tag)
{
    plimsoll_enter(tag);
    int result = work(number);
    plimsoll_pop();
    return work(result + number);
}

int scoped(int number)
{
    int result;
    {
        PLIMSOLL_SCOPE("x");
        result = work(number);
    }
    return work(result + number);
}

int named(int number)
{
    int result;
    {
        PLIMSOLL_FUNCTION_SCOPE();
        result = work(number);
    }
    return work(result + number);
}

int string_scoped(int number, const std::string &name)
{
    int result;
    {
        plimsoll::Scope scope(name);
        result = work(number);
    }
    return work(result + number);
}

int paused(int number)
{
    int result;
    {
        plimsoll::Paused pause;
        result = work(number);
    }
    return work(result + number);
}
}
