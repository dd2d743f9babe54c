# SPDX-License-Identifier: MIT
"""harm - attaching does no harm: not to a busy process, not again and again, and not if the command is killed."""

import os
import random
import subprocess
import sys
import time

from subjects import PLIMSOLL, Place, Subject, environment
import claims
from claims import claim, say

CYCLES = int(os.environ.get("CYCLES", "25"))
KILLS = int(os.environ.get("KILLS", "40"))
THREADS = 16 if CYCLES > 100 else 4


def kilobytes(subject, field):
    return int(subject.status(field).split()[0])


@claim
def a_program_that_allocates_without_pause_goes_on_unharmed_however_often_it_is_attached_to():
    with Place() as place, Subject("churn", THREADS) as subject:
        for i in range(CYCLES):
            place.cycle(subject.pid)
            subject.is_well()
            if i == 1:
                mapped = kilobytes(subject, "VmSize")
        subject.progresses()
        assert kilobytes(subject, "VmSize") < mapped + 70000, (mapped, subject.status("VmSize"))  # at most an arena
        say(f"{CYCLES} cycles, {THREADS} threads")


@claim
def waiting_system_calls_are_not_interrupted():
    with Place() as place, Subject("waits") as subject:
        for _ in range(min(CYCLES, 20)):
            place.cycle(subject.pid)
            subject.is_well()


@claim
def signals_that_arrive_meanwhile_are_delivered():
    with Place() as place, Subject("signals") as subject:
        for _ in range(min(CYCLES, 10)):
            place.cycle(subject.pid)
            subject.is_well()
        subject.progresses()


def kill_at(place, subject, words, seconds):
    """True: it was killed, and had not ended by itself before."""
    command = [str(word) for word in (PLIMSOLL, *words)]
    process = subprocess.Popen(command, cwd=place.path, env=environment(), stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


@claim
def a_command_that_is_killed_leaves_the_process_as_it_was_or_attached():
    with Place() as place, Subject("churn", 8 if KILLS > 100 else 3) as subject:
        chance, killed = random.Random(20), 0
        begin = time.monotonic()
        place.cycle(subject.pid)
        whole = time.monotonic() - begin
        for i in range(KILLS):
            words = (("attach", subject.pid, "-q", "-o", "k.plim"), ("detach", subject.pid, "-q", "--no-symbols"))[i % 2]
            killed += kill_at(place, subject, words, chance.random() * whole)
            subject.is_well()
            subject.progresses()
        say(f"{killed} of {KILLS} were killed")
        assert killed, "none was killed"
        # Whatever state it was left in, it can be attached to or detached from.
        place.plimsoll("detach", subject.pid, "-q")
        place.cycle(subject.pid)
        subject.is_well()


if __name__ == "__main__":
    sys.exit(claims.main())
