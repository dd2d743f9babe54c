# SPDX-License-Identifier: MIT
"""inside - the statistics that a program gets about itself agree with its own account (programs/inside.c)."""

import functools
import sys

# First, because it adds tests/lib to the path.
from tagged import check
import claims

for a_mode, a_word in (("exact", "exact"), ("sampled", "sampled")):
    claims.add(f"a program's statistics about itself are right, also in handlers, and allocate nothing, {a_mode}",
               functools.partial(check, "inside", a_word, mode=a_mode))

if __name__ == "__main__":
    sys.exit(claims.main())
