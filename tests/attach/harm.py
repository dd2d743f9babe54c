# SPDX-License-Identifier: MIT
"""harm - attaching does no harm: not to a busy process, not again and again, and not if the command is killed."""

import os
import random
import signal
import subprocess
import sys
import time

from subjects import PLIMSOLL, WAIT, Place, Subject, environment
import claims
from claims import claim, say
from patience import await_true

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


@claim
def threads_and_programs_that_begin_and_end_meanwhile_are_not_harmed():
    with Place() as place, Subject("restless", 3) as subject:
        for _ in range(min(CYCLES, 200)):
            place.cycle(subject.pid)
            subject.is_well()
        subject.progresses()


@claim
def a_process_that_is_stopped_meanwhile_is_left_stopped_and_goes_on_when_it_is_continued():
    """As by Ctrl-Z and fg in a shell, again and again."""
    with Place() as place, Subject("churn", 3) as subject:
        chance, ends = random.Random(20), {0: 0, 1: 0}
        for i in range(min(CYCLES, 100)):
            words = (("attach", "-q", "-o", "s.plim"), ("detach", "-q", "--no-symbols"))[i % 2]
            command = [str(word) for word in (PLIMSOLL, *words, subject.pid)]
            with subprocess.Popen(command, cwd=place.path, env=environment(), stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None:
                    os.kill(subject.pid, signal.SIGTSTP if i % 4 < 2 else signal.SIGSTOP)
                    time.sleep(chance.random() / 100)
                    os.kill(subject.pid, signal.SIGCONT)
                    time.sleep(chance.random() / 50)
                said = process.stderr.read()
            ends[process.returncode] += 1
            assert process.returncode == 0 or any(word in said for word in (
                "is stopped", "stopped by a signal", "at work for another command, or stopped", "does not stop",
                "profiled already", "not attached to", "no safe moment", "in the way all the time",
                "did not leave the profiler in time")), said
            subject.is_well()
            subject.progresses()
        say(f"{ends[0]} of {sum(ends.values())} commands were successful")
        place.plimsoll("detach", subject.pid, "-q", "--no-symbols")
        os.kill(subject.pid, signal.SIGSTOP)
        await_true(lambda: subject.status("State").startswith("T"))
        assert place.plimsoll("attach", subject.pid, "-q").returncode == 1
        assert subject.status("State").startswith("T") and subject.status("TracerPid") == "0"
        os.kill(subject.pid, signal.SIGCONT)
        place.cycle(subject.pid)
        subject.is_well()


class Killer:
    """Runs commands on a process and kills them at random moments of the time that they take. Only those are hits that
    were running: a command that had ended by itself has to have said what is allowed."""

    ANSWERS = {  # of a command that fails: the process is in the other state, or does not allocate
        "attach": ("profiled already",),
        "detach": ("not attached to",),
        "control": ("is not being profiled", "was started without Plimsoll", "at its next allocation"),
    }

    def __init__(self, place, subject):
        self.place, self.subject, self.chance = place, subject, random.Random(20)
        self.seconds, self.hits, self.tracing, self.tries = {}, 0, 0, 0

    def start(self, words):
        command = [str(word) for word in (PLIMSOLL, *words)]
        return subprocess.Popen(command, cwd=self.place.path, env=environment(), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def note_end(self, words, process, begin):
        """The time a whole command takes is measured again and again: the machine may become slower or faster."""
        said = process.stderr.read()
        done = process.returncode == 0
        assert done or any(answer in said for answer in self.ANSWERS[words[0]]), (words, process.returncode, said)
        if done or words[0] not in self.seconds:
            self.seconds[words[0]] = time.monotonic() - begin

    def let_end(self, words):
        begin = time.monotonic()
        with self.start(words) as process:
            process.wait()
            self.note_end(words, process, begin)

    def traces(self, process):
        return self.subject.status("TracerPid") == str(process.pid)

    def kill(self, words):
        """Every second one at a random moment after it has begun to trace the process: that is a short part of it."""
        self.tries += 1
        begin = time.monotonic()
        moment = self.chance.random() * self.seconds[words[0]]
        with self.start(words) as process:
            if self.tries % 2 and words[0] != "control":
                while process.poll() is None and not self.traces(process):
                    pass
                moment /= 3
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                tracing = self.traces(process)
                process.kill()
            if process.wait() == -signal.SIGKILL:
                self.hits += 1
                self.tracing += tracing
            else:
                self.note_end(words, process, begin)


def check_kills(*mode):
    with Place() as place, Subject(*mode) as subject:
        killer = Killer(place, subject)
        attach = ("attach", subject.pid, "--wait", WAIT, "-q", "-o", "k.plim")
        control = ("control", subject.pid, "sample", "64K")
        detach = ("detach", subject.pid, "--wait", WAIT, "-q", "--no-symbols")
        for words in (attach, control, detach):
            killer.let_end(words)
        while killer.hits < KILLS // 2:
            killer.kill((attach, control, detach, attach, detach)[killer.tries % 5])
            subject.is_well()
            if mode[0] == "churn":
                subject.progresses()
            assert killer.tries < KILLS * 10, f"of {killer.tries} commands, {killer.hits} were running when killed"
        say(f"{killer.hits} of {killer.tries} were killed, {killer.tracing} while they traced the process")
        # Whatever state it was left in, it can be attached to or detached from.
        killer.let_end(detach)
        place.cycle(subject.pid)
        subject.is_well()


@claim
def a_command_that_is_killed_leaves_a_process_that_allocates_as_it_was_or_attached():
    check_kills("churn", 8 if KILLS > 100 else 3)


@claim
def a_command_that_is_killed_leaves_a_process_whose_threads_wait_as_it_was_or_attached():
    check_kills("waits")


if __name__ == "__main__":
    sys.exit(claims.main())
