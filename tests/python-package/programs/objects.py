# SPDX-License-Identifier: MIT
"""objects - makes known numbers of objects under tags. Under a tag Python makes nothing else, but for one iterator.

usage: objects.py N [fork|spawn|subinterpreter]
"""

import multiprocessing
import sys
import threading

import plimsoll

COUNT = int(sys.argv[1])
how = sys.argv[2] if len(sys.argv) > 2 else None
NUMBERS = list(range(COUNT))
kept = [None] * COUNT
large = [None] * COUNT


def make(tag, objects, size):
    with plimsoll.tag(tag):
        for number in NUMBERS:
            objects[number] = bytes(size)


def drop(objects):
    for number in NUMBERS:
        objects[number] = None


def child():
    plimsoll.start()
    make("child", kept, 200)


def work():
    make("kept", kept, 200)
    make("large", large, 1000)  # these are malloc's
    gone = [None] * COUNT
    make("gone", gone, 300)
    drop(gone)
    thread = threading.Thread(target=make, args=("thread", [None] * COUNT, 100))
    thread.start()
    thread.join()
    plimsoll.write("now.plim")  # while `kept` is live
    if how in ("fork", "spawn"):
        process = multiprocessing.get_context(how).Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
    if how == "subinterpreter":
        import _testcapi
        assert _testcapi.run_in_subinterp("kept = [bytes(200) for _ in range(10000)]\nassert len(kept) == 10000\n") == 0


if __name__ == "__main__":
    plimsoll.start()  # with --off: what Python makes at its start is not recorded
    work()
