# SPDX-License-Identifier: MIT
"""inside - what a program is told about itself is what it knows itself (programs/inside.c)."""

import functools
import sys

# First, because it knows the way to tests/lib.
from tagged import check
import claims

for a_mode, a_word in (("exact", "exact"), ("sampled", "sampled")):
    claims.add(f"statistics asked for inside the program are right, also in handlers, and allocate nothing, {a_mode}",
               functools.partial(check, "inside", a_word, mode=a_mode))

if __name__ == "__main__":
    sys.exit(claims.main())
