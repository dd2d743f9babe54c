# SPDX-License-Identifier: MIT
"""profiles - runs a program of this directory under the profiler, and reads its profile through `plimsoll export`.

A profile is turned into the same tables of Figures that a ledger has (ledger.py). The site of a stack is its innermost
function named site_SOMETHING. A stack without such a function is not the program's, and must not lead through its main.
"""

import signal
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from built import BUILD, RUNTIME, environment, export, finish, runnable  # noqa: E402
from claims import expect  # noqa: E402
from ledger import Figures, Ledger, add_up, compare  # noqa: E402
from patience import PATIENCE_S, await_true  # noqa: E402
from place import LedgerPlace  # noqa: E402

PROGRAMS = BUILD / "tests" / "exact"

# start_monotonic_ns of format.h: ledgers use this clock, and exports count from there.
START_OFFSET = 64

# Functions of libraries that allocate on behalf of a program.
BY_LIBRARIES = ("pthread_create", "dlopen", "dlclose", "dlsym", "fork", "atexit", "_M_start_thread", "__libc_start")

# Where an exported site has the figures of a ledger's cell.
EXPORTED = {
    "calls": lambda site: site["alloc_objects"]["value"],
    "bytes": lambda site: site["alloc_space"]["value"],
    "freed_calls": lambda site: site["alloc_objects"]["value"] - site["inuse_objects"]["value"],
    "freed_bytes": lambda site: site["alloc_space"]["value"] - site["inuse_space"]["value"],
    "temporaries": lambda site: site["temp_objects"]["value"],
    "realloc_calls": lambda site: site["reallocs"]["calls"],
    "realloc_moved": lambda site: site["reallocs"]["moved_bytes"],
    "realloc_in_place": lambda site: site["reallocs"]["in_place"],
    "exit_calls": lambda site: site["freed_at_exit"]["blocks"],
    "exit_bytes": lambda site: site["freed_at_exit"]["bytes"],
}


class Profile:
    """An exported profile: `json` is all of it. It began at start_ns, by CLOCK_MONOTONIC."""

    def __init__(self, path):
        self.json = export(path)
        self.path = path
        self.start_ns = struct.unpack_from("=Q", Path(path).read_bytes(), START_OFFSET)[0]
        self.sites = self.json["sites"]
        self.names = [frame["function"] for frame in self.json["frames"]]

    def functions(self, site):
        """The names on a site's stack, innermost first."""
        return [self.names[i] for i in self.json["stacks"][site["stack"]]] if site["stack"] is not None else []

    def site_name(self, site):
        """Without parameters, which C++ names have."""
        return next((name.split("(")[0] for name in self.functions(site) if name.startswith("site_")), None)

    def named(self, name):
        return [site for site in self.sites if self.site_name(site) == name]

    def tid(self, site):
        return self.json["threads"][site["thread"]]["tid"]

    def table(self, key, figures=None):
        """key of a site (None: leave it out) -> the sum of its figures."""
        table = {}
        for site in self.sites:
            chosen = key(site)
            if chosen is not None:
                found = figures(site) if figures else Figures({name: get(site) for name, get in EXPORTED.items()})
                table.setdefault(chosen, Figures()).update(found)
        return table

    def by_site(self):
        return self.table(self.site_name)

    def by_thread_and_site(self, ledger):
        """The same keys as ledger.cell. Threads that the ledger does not have are named by their tid."""

        def key(site):
            name, number = self.site_name(site), ledger.number_of(self.tid(site))
            return name and (f"tid {self.tid(site)}" if number is None else number, name)

        return self.table(key)

    # ---- over time ----

    def slot_seconds(self):
        """An upper limit of a slot of the timeline: unless the run is short, more than half of 255 slots are used."""
        return max(0.002, self.json["process"]["duration_s"] / 120)

    def snapshots(self):
        """(seconds, site name -> bytes) of each heap composition."""
        for snapshot in self.json["snapshots"]:
            shares = Figures()
            for share in snapshot["sites"]:
                shares[self.site_name(self.sites[share["site"]])] += share["bytes"]
            yield snapshot["time_s"], shares

    def histogram(self, site_name, name):
        """bucket -> blocks, for buckets that have any."""
        buckets = Figures()
        for site in self.named(site_name):
            buckets.update({bucket: blocks for bucket, blocks in enumerate(site[name]) if blocks})
        return buckets

    # ---- rules for every exact profile ----

    def losses(self):
        return {name: count for name, count in self.json["losses"].items() if count}

    def strangers(self):
        """Stacks that lead from main to an allocation, but not through a site or a library that may allocate."""
        for site in self.sites:
            functions = self.functions(site)
            if self.site_name(site) or "main" not in functions:
                continue
            if not any(name.startswith(BY_LIBRARIES) for name in functions):
                yield f"not from a site: {' < '.join(functions[:8])}"

    def sums(self):
        """The sums of sites must be the totals, also for each thread."""
        whole = add_up(self.table(lambda site: 0))
        totals = self.json["totals"]
        for name, metric in (("calls", "alloc_objects"), ("bytes", "alloc_space")):
            if whole[name] != totals[metric]["value"]:
                yield f"all sites have {whole[name]} {name}, the total is {totals[metric]['value']}"
        threads = self.table(lambda site: site["thread"])
        for number, thread in enumerate(self.json["threads"]):
            seen = threads.get(number, Figures())
            if (seen["calls"], seen["bytes"]) != (thread["calls"], thread["bytes"]):
                yield (f"sites of thread {number} have {seen['calls']} calls, {seen['bytes']} bytes; "
                       f"the thread itself {thread['calls']}, {thread['bytes']}")

    def errors(self):
        """Exact figures have no error."""
        for site in self.sites:
            for name, value in site.items():
                if isinstance(value, dict) and value.get("error"):
                    yield f"{name} of {self.site_name(site)} has an error of {value['error']}"

    def spreads(self):
        """Each block has a size. A freed block has a lifetime, a live one an age."""
        whole = {"sizes": lambda site: site["alloc_objects"]["value"],
                 "lifetimes": lambda site: site["alloc_objects"]["value"] - site["inuse_objects"]["value"],
                 "ages": lambda site: site["inuse_objects"]["value"]}
        for site in self.sites:
            for name, blocks in whole.items():
                if sum(site[name]) != blocks(site):
                    yield f"{name} of {self.site_name(site)} are {site[name]}, for {blocks(site)} blocks"

    def problems(self):
        found = [*self.strangers(), *self.sums(), *self.errors(), *self.spreads()]
        if self.losses():
            found.append(f"losses {self.losses()}")
        if self.json["reading"]["damage"]:
            found.append(f"damage: {self.json['reading']}")
        return found


class Place(LedgerPlace):
    """A directory on tmpfs in which one program runs."""

    def __init__(self):
        super().__init__()
        self.stdout = ""

    def start(self, program, *words, sample="exact", behind=(), **settings):
        chosen = {
            "LD_PRELOAD": " ".join(str(library) for library in (RUNTIME, *behind)),
            "PLIMSOLL_SAMPLE": sample,
            "PLIMSOLL_LIVE_DIR": self.live,
            "PLIMSOLL_OUT": self.path / "out.%p.plim",
            **settings,
        }
        command, variables = runnable((PROGRAMS / program, self.ledger_path, *words), environment(**chosen))
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=variables, cwd=self.path, **pipes)

    def run(self, program, *words, **options):
        """Runs a program to its end."""
        process = self.start(program, *words, **options)
        done = finish(process, PATIENCE_S)
        self.stdout = done.stdout
        assert done.returncode == 0, f"{program} ended with status {done.returncode}: {done.stderr}"
        return process.pid

    def await_account(self, process, enough):
        """Waits until enough() holds for the account that the program keeps."""

        def says_enough():
            if process.poll() is not None:
                raise RuntimeError(f"it ended with {process.returncode}")
            try:
                return enough()
            except (OSError, AssertionError, struct.error, IndexError):
                return False  # it does not exist yet, or has just grown

        await_true(says_enough, "the program's work")

    def calls(self):
        """The number of calls in the ledger."""
        return sum(cell["calls"] for cell in self.ledger().cell.values())

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def files(self):
        return sorted(self.path.glob("**/*.plim"))

    def profile(self, pid=None):
        """The only profile, or the one of a process."""
        profiles = [Profile(path) for path in self.files()]
        chosen = [profile for profile in profiles if pid in (None, profile.json["process"]["pid"])]
        assert len(chosen) == 1, f"{len(chosen)} profiles of {pid}: {self.files()}"
        return chosen[0]

    def ledger(self, suffix=""):
        return Ledger(str(self.ledger_path) + suffix)


def check_exact(profile, ledger, per_thread=True, without=()):
    """The profile is consistent and agrees with the ledger."""
    problems = profile.problems()
    if per_thread:
        problems += compare(ledger.cell, profile.by_thread_and_site(ledger), without=without)
    else:
        problems += compare(ledger.by_site(), profile.by_site(), without=without)
    expect(problems, f"in {profile.path.name}")
