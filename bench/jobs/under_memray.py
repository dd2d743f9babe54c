# SPDX-License-Identifier: MIT
"""Runs a script under memray, without what its command imports. usage: under_memray.py OUT OPTION SCRIPT [WORD...]

OPTION: plain, native_traces or trace_python_allocators.
"""

import runpy
import sys

import memray

out, option, script = sys.argv[1:4]
sys.argv[:] = sys.argv[3:]
with memray.Tracker(out, **({} if option == "plain" else {option: True})):
    runpy.run_path(script, run_name="__main__")
