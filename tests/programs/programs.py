# SPDX-License-Identifier: MIT
"""programs - real programs behave as without us, with every allocator, and their profiles are plausible.

Each job runs with and without us. Stdout, stderr and exit status must be the same to the byte. Then every profile, one
for each process, must fulfil format.h. If every allocation was sampled and a process had one thread, the sums of the
sites must be the thread's exact totals, to the call and to the byte.
"""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
JOBS = HERE / "jobs"
sys.path.insert(0, str(HERE.parent / "lib"))

import allocators  # noqa: E402
import claims  # noqa: E402
import plim  # noqa: E402
from built import BUILD, PLIMSOLL, RUNTIME, finish  # noqa: E402
from claims import Skip, claim  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

RUNTIME_CXX = BUILD / "libplimsoll-cxx.so"
OBJECTS = BUILD / "tests" / "programs" / "objects"

# A job: the programs that it needs, and its command.
JOB_TABLE = {
    "python3": (["/usr/bin/python3"], ["/usr/bin/python3", JOBS / "python.py"]),
    "python3 with threads": (["/usr/bin/python3"], ["/usr/bin/python3", JOBS / "threads.py"]),
    "perl": (["perl"], ["perl", JOBS / "perl.pl"]),
    "a bash pipeline": (["bash", "awk", "sed"], ["bash", JOBS / "pipeline.sh"]),
    "git": (["git"], ["bash", JOBS / "git.sh"]),
    "sqlite3": (["sqlite3"], ["sqlite3", "-bail", ":memory:", f".read {JOBS / 'sqlite.sql'}"]),
    "gcc": (["gcc"], ["bash", JOBS / "gcc.sh", JOBS / "gcc.c"]),
    "node": (["node"], ["node", JOBS / "node.js"]),
    "redis-server under redis-benchmark": (["redis-server", "redis-benchmark"], ["bash", JOBS / "redis.sh"]),
}
SAMPLES = os.environ.get("PROGRAMS_SAMPLES", "512K 1").split()  # the default interval, and every allocation


# ---- running ----


class Outcome:
    """The output of a run, and its profiles."""

    def __init__(self, done, place, live):
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.files = plim.find(place, live)
        self.left_behind = plim.find(live)
        self.profiles = [plim.Profile(path) for path in self.files]

    def shown(self):
        return self.status, self.stdout, self.stderr

    def main(self, comm):
        """The profile of the process of this name that made the most calls."""
        chosen = [profile for profile in self.profiles if profile.comm == comm]
        assert chosen, f"no profile of {comm} among {sorted({p.comm for p in self.profiles})}"
        return max(chosen, key=lambda profile: profile.calls)


def run_to_the_end(words, **options):
    """A job that hangs is ended together with all processes that it started."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, start_new_session=True, **pipes, **options)
    return finish(process, PATIENCE_S, kill=lambda process: os.killpg(process.pid, signal.SIGKILL))


def run(command, preload=(), before=(), **settings):
    """Runs a command in its own directory, with a small environment that does not depend on ours."""
    place = Path(tempfile.mkdtemp(prefix="plimsoll-test."))
    live = Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm"))
    words = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(place), "LANG": "C.UTF-8"}
    words.update({"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "TMPDIR": str(place)})
    if preload:
        words["LD_PRELOAD"] = " ".join(str(path) for path in preload)
    if settings:  # the job must not see the profiles
        words.update({"PLIMSOLL_LIVE_DIR": str(live), "PLIMSOLL_OUT": str(place / "%c.%p.plim")})
    words.update({name: str(value) for name, value in settings.items()})
    work = place / "work"
    work.mkdir()
    try:
        done = run_to_the_end([str(word) for word in (*before, *command)], env=words, cwd=work)
        outcome = Outcome(done, place, live)
        for attribute in ("stdout", "stderr"):
            setattr(outcome, attribute, getattr(outcome, attribute).replace(str(place).encode(), b"PLACE"))
        return outcome
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(live, ignore_errors=True)


@functools.lru_cache(maxsize=None)
def bare(job, allocator):
    needs, command = JOB_TABLE[job]
    for program in needs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    return run(command, preload=[allocators.need(allocator)] if allocator else ())


# ---- checks ----


def check_same(with_us, without):
    for name, a, b in zip(("status", "stdout", "stderr"), with_us.shown(), without.shown()):
        assert a == b, f"{name} differs:\n{a}\n-- without us --\n{b}"


def check_profile(profile, everything):
    problems = list(profile.problems())
    name = f"{profile.comm} {profile.command!r}"
    assert not problems, "\n".join([name, *problems[:10]])
    losses = {loss: n for loss, n in profile.losses.items() if n}
    assert not losses, f"{name}: {losses}"
    total, gone = profile.total("allocated"), profile.total("gone")
    visits = profile.visits_of_samples()
    assert gone.samples <= total.samples == visits, f"{name}: {total}, {gone}, {visits} visits"
    if everything and sum(thread.threads for thread in profile.threads.values()) == 1:
        assert (total.samples, total.objects, total.space) == (profile.calls, profile.calls, profile.bytes), (
            f"{name}: the sites have {total}, the thread {profile.calls} calls, {profile.bytes} bytes"
        )


def check_ends(profiles):
    """A process that was not killed has recorded how it ended."""
    silent = [f"{p.comm} {p.command!r}" for p in profiles if p.end == 0]
    assert not silent, f"no ending was recorded: {silent}"


def check_job(job, allocator, sample):
    without = bare(job, allocator)
    if without.status != bare(job, None).status:  # Redis 8 calls functions that only jemalloc has
        raise Skip(f"it does not run with {allocator} even without us")
    behind = [allocators.need(allocator)] if allocator else []
    outcome = run(JOB_TABLE[job][1], preload=[RUNTIME, *behind], PLIMSOLL_SAMPLE=sample)
    check_same(outcome, without)
    assert outcome.profiles, "there is no profile"
    for profile in outcome.profiles:
        check_profile(profile, sample == "1")
    check_ends(outcome.profiles)
    assert not outcome.left_behind, f"not moved: {outcome.left_behind}"
    busiest = max(outcome.profiles, key=lambda profile: profile.calls)
    figures = f"{busiest.comm}: {busiest.calls} calls, {busiest.bytes} bytes"
    assert busiest.calls > 100 and busiest.bytes > 10000, figures


def check_run(job):
    """Under `plimsoll run`, which adds only its summary, on stderr, after the program's own output there."""
    without = bare(job, None)
    place = Path(tempfile.mkdtemp(prefix="plimsoll-test.out."))
    try:
        before = [PLIMSOLL, "run", "--sample", "64K", "--keep-all", "-o", place / "%c.%p.plim", "--"]
        outcome = run(JOB_TABLE[job][1], before=before)
        assert (outcome.status, outcome.stdout) == (without.status, without.stdout), f"{outcome.shown()}"
        assert outcome.stderr.startswith(without.stderr), outcome.stderr
        said = outcome.stderr[len(without.stderr) :].decode().splitlines()
        assert said and all(line.startswith("plimsoll: ") for line in said), said
        profiles = [plim.Profile(path) for path in plim.find(place)]
        assert profiles, f"no profile: {said}"
        for profile in profiles:
            check_profile(profile, False)
    finally:
        shutil.rmtree(place, ignore_errors=True)


for a_job in JOB_TABLE:
    for an_allocator in (None, *allocators.LIBRARIES):
        for a_sample in SAMPLES:
            over = f" over {an_allocator}" if an_allocator else ""
            claims.add(
                f"{a_job} behaves{over} as without us, sampled every {a_sample}",
                functools.partial(check_job, a_job, an_allocator, a_sample),
            )
    claims.add(f"{a_job} behaves under plimsoll run as without it", functools.partial(check_run, a_job))


# ---- operator new ----


def check_operators(runtime, allocator, before=()):
    """All calls of each operator are at one site, counted once, and all freed."""
    behind = [allocators.need(allocator)] if allocator else []
    modest = ["modest"] if allocator == "mimalloc" else []  # its operator new aborts instead of throwing
    command = [OBJECTS, *modest]
    without = run(command, preload=behind)
    assert without.status == 0, without.shown()
    outcome = run(command, preload=[*([runtime] if runtime else []), *behind], before=before, PLIMSOLL_SAMPLE="1")
    assert (outcome.status, outcome.stdout) == (without.status, without.stdout), outcome.shown()
    profile = outcome.main("objects")
    check_profile(profile, True)
    wrong = []
    for name, calls, size in re.findall(r"^(\S+) (\d+) (\d+)$", without.stdout.decode(), re.MULTILINE):
        rows = [row for row in profile.rows.values() if row.allocated.space == int(size) * row.allocated.samples]
        seen = sum(row.allocated.samples for row in rows)
        live = seen - sum(row.gone.samples for row in rows)
        if (seen, live) != (int(calls), 0):
            wrong.append(f"{name}: {seen} of {calls} calls seen, {live} of them live")
    assert not wrong, "\n".join(wrong)


for an_allocator in (None, *allocators.LIBRARIES):
    over = f" over {an_allocator}" if an_allocator else ""
    claims.add(
        f"with libplimsoll-cxx.so{over} every operator new is seen and counted once",
        functools.partial(check_operators, RUNTIME_CXX, an_allocator),
    )
    claims.add(
        f"plimsoll run chooses the library that sees every operator new{over}",
        functools.partial(check_operators, None, an_allocator, (PLIMSOLL, "run", "--sample", "1", "--")),
    )


@claim
def with_libplimsoll_so_over_glibc_every_operator_new_is_seen_and_counted_once():
    check_operators(RUNTIME, None)


if __name__ == "__main__":
    sys.exit(claims.main())
