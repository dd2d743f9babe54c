# SPDX-License-Identifier: MIT
"""known - allocates from everything that Python has, and says what its own stack was each time.

Prints a line of JSON for each allocation: its size, which no other has, and the stack, innermost frame first.
"""

import asyncio
import atexit
import ctypes
import functools
import gc
import json
import os
import signal
import sys
import threading

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]

lock = threading.Lock()
records = []


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def stack_from(frame):
    stack = []
    while frame:
        stack.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return stack


def next_size(frame):
    with lock:
        records.append([100_000 + 16 * len(records), stack_from(frame)])
        return records[-1][0]


def alloc():
    libc.malloc(next_size(sys._getframe()))


# ---- what allocates ----


def nested():
    def inner():
        def innermost():
            alloc()

        innermost()

    inner()
    alloc()


def recursive(depth):
    if depth == 0:
        alloc()
        return
    recursive(depth - 1)


def mutual(depth):
    return other(depth - 1) if depth else alloc()


def other(depth):
    return mutual(depth - 1) if depth else alloc()


class Thing:
    def __init__(self):
        alloc()

    def method(self):
        alloc()

    @property
    def attribute(self):
        alloc()
        return 1

    @classmethod
    def of_class(cls):
        alloc()

    @staticmethod
    def of_none():
        alloc()

    def __getattr__(self, name):
        alloc()
        return name

    def __lt__(self, with_):
        alloc()
        return True

    def __enter__(self):
        alloc()
        return self

    def __exit__(self, *what):
        alloc()


def things():
    thing = Thing()
    thing.method()
    assert thing.attribute
    Thing.of_class()
    Thing.of_none()
    assert thing.missing
    sorted([thing, thing])
    with thing:
        alloc()


def generate(count):
    for _ in range(count):
        alloc()
        yield 1


def delegate():
    yield from generate(1)
    alloc()


def generators():
    for _ in generate(1):
        alloc()
    sum(generate(1))
    list(delegate())
    next(alloc() for _ in range(1))
    sent = receive()
    next(sent)
    try:
        sent.send(2)
    except StopIteration:
        pass


def receive():
    value = yield
    if value:
        alloc()


async def awaited():
    alloc()
    await asyncio.sleep(0)
    alloc()


async def stream():
    for _ in range(1):
        alloc()
        yield 1


async def tasks():
    await awaited()
    await asyncio.gather(awaited(), awaited())
    async for _ in stream():
        alloc()


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def from_c():
    @CALLBACK
    def compare(_a, _b):
        alloc()
        return 0

    def calls_again(x):
        array = (ctypes.c_int * 2)(2, 1)
        libc.qsort(array, 2, ctypes.sizeof(ctypes.c_int), compare)
        return x

    array = (ctypes.c_int * 2)(2, 1)
    libc.qsort(array, 2, ctypes.sizeof(ctypes.c_int), compare)
    list(map(calls_again, [1]))
    sorted([1], key=lambda x: alloc() or x)
    functools.reduce(lambda a, b: alloc(), [1, 2])
    functools.partial(calls_again, 1)()


def decorate(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        alloc()
        return function(*arguments)

    return wrapper


@decorate
@decorate
def decorated():
    alloc()


def comprehensions():
    [alloc() for _ in range(1)]
    {alloc() for _ in range(1)}
    {1: alloc() for _ in range(1)}
    [[alloc() for _ in range(1)] for _ in range(1)]
    (lambda: alloc())()
    (lambda: (lambda: alloc())())()


class Raised(Exception):
    def __init__(self, *arguments):
        alloc()
        super().__init__(*arguments)


def exceptions():
    try:
        raise Raised("one")
    except Raised:
        alloc()
    finally:
        alloc()
    try:
        try:
            int("no number")
        except ValueError as error:
            alloc()
            raise Raised from error
    except Raised:
        alloc()


class Dies:
    def __del__(self):
        alloc()


def dying():
    thing = Dies()
    del thing
    Dies()


class Cycle:
    def __init__(self):
        self.itself = self

    def __del__(self):
        alloc()


def collected():
    Cycle()
    gc.collect()


def interrupted(depth):
    if depth:
        return interrupted(depth - 1)
    signal.raise_signal(signal.SIGUSR1)
    return [alloc() for _ in range(2)]


def signals():
    before = signal.signal(signal.SIGUSR1, lambda number, frame: alloc())
    interrupted(3)
    signal.signal(signal.SIGUSR1, before)


def executed():
    exec(compile("def made():\n\n    alloc()\nmade()", "<made>", "exec"), {"alloc": alloc})
    exec(compile("def made():\n    alloc()\n\nmade()", "<made>", "exec"), {"alloc": alloc})
    eval("alloc()")
    # Code objects that die: the next ones get their addresses, and those of their strings.
    for n in range(10, 40):
        exec(compile(f"def made{n}(): alloc()\nmade{n}()", "<made>", "exec"), {"alloc": alloc})


def long_function(which):
    # Lines far apart, and long lines: jumps that the line table stores in more than a byte.
    if which == 0:
        alloc()
    text = """























































































































    """
    if which == 1: text = [len(text), len(text), len(text), len(text), len(text), len(text), len(text), alloc(), len(text)]
    if which == 2:
        alloc()


def umläut_ünd_日本():
    alloc()


def everything():
    alloc()
    nested()
    recursive(40)
    mutual(5)
    things()
    generators()
    asyncio.run(tasks())
    from_c()
    decorated()
    comprehensions()
    exceptions()
    dying()
    collected()
    signals()
    executed()
    for which in range(3):
        long_function(which)
    umläut_ünd_日本()
    # twice from the same places
    for _ in range(2): alloc()  # fmt: skip


def print_records():
    for record in records:
        print(json.dumps(record))
    sys.stdout.flush()


def at_exit():
    records.clear()
    libc.malloc(60_000)
    alloc()
    print_records()


def in_child():
    """Forks, and allocates there."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        records.clear()
        libc.malloc(50_000)
        nested()
        print_records()
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    everything()
    threads = [threading.Thread(target=recursive, args=(n,)) for n in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print_records()
    if "fork" in sys.argv:
        in_child()
        thread = threading.Thread(target=in_child)
        thread.start()
        thread.join()
    atexit.register(at_exit)
