# SPDX-License-Identifier: MIT
"""ledger - allocates known numbers of blocks under tags, and prints them as JSON: tag -> [calls, bytes].

Blocks come from aligned_alloc(), which Python itself never calls. So the profile must have exactly these calls of that
function for each tag. `python3 ledger.py quiet` only allocates under tags where Python allocates nothing else from
malloc, so all calls and bytes must be these.
"""

import asyncio
import ctypes
import json
import sys
import threading

import plimsoll

aligned_alloc = ctypes.PyDLL(None).aligned_alloc
aligned_alloc.restype, aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
SIZE = 1008
booked = {}


def take(tag, count):
    """`tag` is the full name that these blocks must be charged to."""
    for _ in range(count):
        aligned_alloc(16, SIZE)
    calls, size = booked.get(tag, (0, 0))
    booked[tag] = (calls + count, size + count * SIZE)


def blocks():
    with plimsoll.tag("load"):
        take("load", 10)
        with plimsoll.tag("parse"):
            take("load/parse", 5)
        take("load", 1)
    try:
        with plimsoll.tag("left by an exception"):
            take("left by an exception", 2)
            raise KeyError
    except KeyError:
        take("-", 1)
    again = plimsoll.tag("again")
    for _ in range(100):
        with again, again:
            take("again/again", 1)
    with plimsoll.tag("naïve ⛵ a\0b"):
        take("naïve ⛵ a␀b", 3)


@plimsoll.tag("decorated")
def decorated(depth):
    take("/".join(["decorated"] * depth), 1)
    if depth < 3:
        decorated(depth + 1)


class Loader:
    @plimsoll.tagged
    def run(self):
        take("Loader.run", 4)


@plimsoll.tag("generator")
def generator():
    take("consumer/generator", 1)
    with plimsoll.tag("inside"):
        got = yield 1
        assert got == "sent"
        take("consumer/generator/inside", 2)
        try:
            yield 2
        except ValueError:
            take("consumer/generator/inside", 3)
    yield 3
    take("consumer/generator", 1)
    return 4


def generators():
    steps = generator()
    with plimsoll.tag("consumer"):
        assert next(steps) == 1  # begins here, and stays in this tag
        take("consumer", 1)
        assert steps.send("sent") == 2
        take("consumer", 1)
    assert steps.throw(ValueError()) == 3
    take("-", 1)
    try:
        next(steps)
    except StopIteration as end:
        assert end.value == 4


def threads():
    with plimsoll.tag("pool"):
        context = plimsoll.capture()

    def adopting():
        with context.adopt() as adopted:
            assert adopted == context
            take("pool", 2)
        take("-", 1)

    for work in (context.wrap(lambda: take("pool", 6)), adopting):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


@plimsoll.tag("coroutine")
async def coroutine(name):
    with plimsoll.tag(name):
        take(f"coroutine/{name}", 1)
        await asyncio.sleep(0)
        take(f"coroutine/{name}", 2)
    await asyncio.sleep(0)
    take("coroutine", 1)
    return name


async def task(name):
    with plimsoll.tag(name):
        take(f"main/{name}", 1)
        await asyncio.sleep(0)
        with plimsoll.tag("inner"):
            take(f"main/{name}/inner", 1)
            await asyncio.sleep(0)
            take(f"main/{name}/inner", 2)
        take(f"main/{name}", 1)


async def waits_for_ever():
    await asyncio.Event().wait()


async def main():
    assert await asyncio.gather(coroutine("a"), coroutine("b")) == ["a", "b"]
    take("-", 1)
    plimsoll.follow_tasks()
    plimsoll.follow_tasks()
    with plimsoll.tag("main"):
        await asyncio.gather(task("x"), task("y"))
        take("main", 1)
    for turns in (0, 2):  # cancelled before it begins, and while it waits
        cancelled = asyncio.ensure_future(waits_for_ever())
        for _ in range(turns):
            await asyncio.sleep(0)
        cancelled.cancel()
        try:
            await cancelled
        except asyncio.CancelledError:
            take("-", 1)


blocks()
decorated(1)
Loader().run()
generators()
threads()
if sys.argv[1:] != ["quiet"]:
    asyncio.run(plimsoll.follow(main()))
assert (plimsoll.stats() is None) == (not plimsoll.loaded())
assert plimsoll.tag("x")(len)([1]) == 1
print(json.dumps(booked))
