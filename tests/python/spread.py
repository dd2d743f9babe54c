# SPDX-License-Identifier: MIT
"""spread - does what known.py does in other processes and interpreters. usage: spread.py fork|spawn|subinterpreter"""

import multiprocessing
import sys
from pathlib import Path

import known

# Until 3.11, a subinterpreter's thread is known while it holds the GIL: PyDLL does not release it.
CODE = f"""
import ctypes, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import known
if sys.version_info < (3, 12):
    known.libc = ctypes.PyDLL(None)
    known.libc.malloc.restype, known.libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
known.libc.malloc(50_000)
known.nested()
known.generators()
known.print_records()
"""


def work():
    known.records.clear()
    known.libc.malloc(50_000)
    known.nested()
    known.generators()
    known.print_records()


def subinterpreter():
    try:
        import _interpreters as interpreters
        interpreters.exec(interpreters.create("legacy"), CODE)
    except ImportError:
        import _xxsubinterpreters as interpreters
        options = {"isolated": False} if sys.version_info >= (3, 12) else {}
        interpreters.run_string(interpreters.create(**options), CODE)


if __name__ == "__main__":
    if sys.argv[1] == "subinterpreter":
        subinterpreter()
    else:
        process = multiprocessing.get_context(sys.argv[1]).Process(target=work)
        process.start()
        process.join()
        assert process.exitcode == 0
