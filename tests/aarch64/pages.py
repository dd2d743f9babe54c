# SPDX-License-Identifier: MIT
"""pages - figures and layout where the kernel's pages are larger than 4 KiB; the same claims hold for any size.

machine.py runs it on kernels that have such pages.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims  # noqa: E402
import plim  # noqa: E402
from built import BUILD, RUNTIME, environment, runnable  # noqa: E402
from claims import claim  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

TRAPS = BUILD / "tests" / "traps"


def profiled(place, program, *words, **settings):
    """The profiles that a program and its children leave."""
    variables = environment(LD_PRELOAD=RUNTIME, PLIMSOLL_OUT=f"{place}/%p.plim", PLIMSOLL_LIVE_DIR=place, **settings)
    command, variables = runnable([TRAPS / program, *words], variables)
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done
    profiles = [plim.Profile(path) for path in Path(place).glob("*.plim")]
    for profile in profiles:
        problems = list(profile.problems())
        assert not problems, problems[:10]
    return profiles


@claim
def exact_and_sampled_profiles_are_sound():
    for sample in ("exact", "1", "16K"):
        with tempfile.TemporaryDirectory() as place:
            (profile,) = profiled(place, "quiet", PLIMSOLL_SAMPLE=sample)
            assert sum(thread.all_calls for thread in profile.threads.values()) >= 1000


@claim
def a_profile_grows_over_many_pages():
    with tempfile.TemporaryDirectory() as place:
        (profile,) = profiled(place, "ledger", "4", "20000", PLIMSOLL_SAMPLE="1")
        assert not {name: n for name, n in profile.losses.items() if n and name != "stale_busy"}, profile.losses


@claim
def children_begin_with_empty_tables():
    with tempfile.TemporaryDirectory() as place:
        profiles = profiled(place, "forks", "fork", "20", PLIMSOLL_SAMPLE="exact")
        assert len(profiles) > 10, len(profiles)


if __name__ == "__main__":
    sys.exit(claims.main())
