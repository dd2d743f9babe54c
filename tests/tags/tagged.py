# SPDX-License-Identifier: MIT
"""tagged - runs a program of this directory under the profiler, and compares its profile with its own account.

The account (programs/account.h) and the profile are both turned into tables: (thread, tag) -> Figures. A tag is the
tuple of its path from the root. Each part is (kind, name), so that "a/b" and "b" inside "a" are two tags. This file and
tests/lib/plim.py read the profile with nothing but format.h.

These must be the same, to the call and to the byte:

  in every mode   calls of each function, bytes, times entered: from the scopes
  in exact mode   also calls, bytes, frees, freed bytes, what was live at the peak, other sizes: from the tallies

Samples are compared with the truth, too. The account knows the variance of their estimates: for each allocation
(1 - p)/p, and for bytes that times its size squared, with p = 1 - exp(-(size + 64)/T) (docs/maths.md). An estimate may
be off by SIGMAS standard deviations, which happens twice in 10^9 times with many samples, and by SAMPLES samples more,
for cases with few. Freed and live blocks are part of the allocated ones, so their variance is not larger. Seeds are
fixed.
"""

import math
import re
import struct
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exact"))

# First, because it adds tests/lib to the path.
from profiles import BUILD, Place, environment, expect  # noqa: E402, F401
import plim  # noqa: E402

PROGRAMS = BUILD / "tests" / "tags"
BUMP = BUILD / "tests" / "kill" / "bump.so"
HEADER = (HERE / "programs" / "account.h").read_text()

SIGMAS, SAMPLES = 6, 3
FUNCTIONS = ("malloc", "calloc", "realloc", "aligned")
NAMED = plim.TAG_NAMED

# ---- the account ----


def constant(name):
    return int(re.search(rf"#define {name} \(?(\w+?)u?\b", HEADER).group(1), 0)


THREADS, TAGS, CELLS = (constant(f"ACCOUNT_{name}") for name in ("THREADS", "TAGS", "CELLS"))
HEAD = struct.Struct("=6I4Q")
TAG = struct.Struct("=4IQ")
CELL = struct.Struct("=II18Q3d")
CELL_FIELDS = (
    *(f"calls of {name}" for name in FUNCTIONS), "bytes", "entered",
    *(f"failed of {name}" for name in FUNCTIONS), "failed bytes",
    "freed calls", "freed bytes", "peak calls", "peak bytes", "other calls", "other bytes", "resets",
    "variance of calls", "variance of bytes", "weight",
)  # fmt: skip

NAME_MOST, MARK_BYTES = 65536, 20


def as_recorded(name):
    """A name that is too long is truncated and ends in a hash of the whole name."""
    if len(name) <= NAME_MOST:
        return name
    digest = 0xCBF29CE484222325
    for byte in name:
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return name[: NAME_MOST - MARK_BYTES] + "…#".encode() + b"%016x" % (digest ^ len(name))


class Figures(Counter):
    """Figures by name. A missing figure is 0."""

    def sum_of(self, prefix):
        return sum(self[f"{prefix} of {name}"] for name in FUNCTIONS)


class Account:
    """cell[thread, tag] -> Figures, for what is compared: since the last reset, and not loose."""

    def __init__(self, path):
        raw = Path(path).read_bytes()
        magic, self.threads, tags, cells, _, self.resets, *rest = HEAD.unpack_from(raw)
        self.live_bytes, self.peak_bytes, self.pops, self.lost = rest
        assert magic == constant("ACCOUNT_MAGIC"), f"{path} is not an account, or was never started"
        self.tids = struct.unpack_from(f"={THREADS}I", raw, HEAD.size)
        at = HEAD.size + 4 * THREADS
        text = at + TAGS * TAG.size + CELLS * CELL.size
        self.tags, self.loose = [()], set()
        for i in range(1, tags):
            parent, kind, loose, name_bytes, name = TAG.unpack_from(raw, at + i * TAG.size)
            part = as_recorded(raw[text + name : text + name + name_bytes]) if kind == NAMED else b""
            self.tags.append((*self.tags[parent], (kind, part)))
            if loose:
                self.loose.add(self.tags[i])
        at += TAGS * TAG.size
        self.cell = {}
        for i in range(cells):
            thread, tag, *figures = CELL.unpack_from(raw, at + i * CELL.size)
            figures = Figures(dict(zip(CELL_FIELDS, figures)))
            if figures.pop("resets") == self.resets:
                self.cell[thread, self.tags[tag]] = figures

    def number_of(self, tid):
        return self.tids.index(tid) if tid in self.tids else f"tid {tid}"


# ---- the profile ----

class Profile(plim.Profile):
    """plim.Profile, and charged[thread record, path of tag] -> Figures."""

    def __init__(self, path):
        super().__init__(path)
        self.losses = {name: count for name, count in self.losses.items() if count}
        self.charge()

    def charge(self):
        """Calls in a thread's record that its scopes do not have belong to its current tag."""
        self.charged, self.behind, rest = defaultdict(Figures), [], {}
        for number, thread in self.threads.items():
            rest[number] = Figures()
            if thread.reset == self.resets:
                rest[number].update(requests(thread.calls, thread.bytes))
                rest[number].subtract(requests(thread.reset_calls, thread.reset_bytes))
        for scope in self.scopes.values():
            if scope.reset == self.resets:
                figures = requests(scope.calls, scope.bytes)
                self.charged[scope.thread, self.path_of_tag(scope.tag)].update(figures, entered=scope.entered)
                rest[scope.thread].subtract(figures)
        for number, figures in rest.items():
            self.charged[number, self.path_of_tag(self.threads[number].tag)].update(figures)
            self.behind += [f"thread {number}: its scopes have {-n} {name} more than the thread"
                            for name, n in figures.items() if n < 0]

    # ---- tables like the account's ----

    def by_tag(self, account):
        table = defaultdict(Figures)

        def key(thread, tag):
            return account.number_of(self.threads[thread].tid), tag

        for (thread, tag), figures in self.charged.items():
            table[key(thread, tag)].update(figures)
        for share, figures in self.counted():
            table[key(share.thread, self.path_of_tag(self.sites[share.site][2]))].update(figures)
        return table

    def counted(self):
        """Rows and tallies since the last reset, with their figures."""
        tallies = [tally for tally in self.tallies.values() if tally.reset == self.resets & 0xFFFF]
        live = sum(tally.allocated.space - tally.gone.space for tally in tallies)
        for tally in tallies:
            yield tally, self.tally_figures(tally, live > self.peak_bytes)
        for row in self.rows.values():
            if row.reset == self.resets:
                yield row, amounts("sampled ", row.allocated, row.gone)

    def tally_figures(self, tally, now_is_peak):
        figures = amounts("counted ", tally.allocated, tally.gone)
        if self.sites[tally.site][3] == plim.SITE_OTHER_SIZES:
            figures.update({"other calls": tally.calls, "other bytes": tally.bytes})

        def then(era, saved, now):
            return saved if era >= self.peak_era and not now_is_peak else now

        made = then(tally.era, (tally.peak_calls, tally.peak_bytes), (tally.calls, tally.bytes))
        gone = [then(tally.freed_era, (tally.peak_freed_calls, tally.peak_freed_bytes),
                     (tally.freed_calls, tally.freed_bytes))]
        gone += [then(r.era, (r.peak_calls, r.peak_bytes), (r.calls, r.bytes)) for r in tally.remotes]
        figures["peak calls"] += made[0] - sum(g[0] for g in gone)
        figures["peak bytes"] += made[1] - sum(g[1] for g in gone)
        return figures


def requests(calls, size):
    return Figures({"bytes": size, **{f"calls of {name}": calls[name] for name in FUNCTIONS}})


def amounts(prefix, allocated, gone):
    return Figures({f"{prefix}calls": allocated.objects, f"{prefix}bytes": allocated.space,
                    f"{prefix}freed calls": gone.objects, f"{prefix}freed bytes": gone.space})


# ---- comparing ----


def show(key):
    thread, tag = key
    path = "/".join(name.decode(errors="replace")[:40] if kind == NAMED else ("", "(off)", "(paused)")[kind]
                    for kind, name in tag)
    return f"thread {thread}, tag {path or '-'}"


def merged(table, key_of):
    """The same figures under fewer keys, added."""
    sums = defaultdict(Figures)
    for key, figures in table.items():
        sums[key_of(key)].update(figures)
    return sums


class Comparison:
    """Compares all figures of two tables. `mode`: exact, sampled, or totals (only what is exact in every mode)."""

    def __init__(self, account, profile, mode, peak=False, slack=None, interval=0, ahead=0, per_thread=True):
        self.mode, self.peak, self.slack, self.interval, self.ahead = mode, peak, Figures(slack), interval, ahead
        self.truth, self.seen, self.loose = account.cell, profile.by_tag(account), account.loose
        if not per_thread:
            self.truth, self.seen = (merged(table, lambda key: ("all", key[1])) for table in (self.truth, self.seen))
        self.found = list(profile.behind)

    def figure(self, key, name, true, seen, more=0, less=0):
        if not true - less <= seen <= true + more:
            allowed = f" (-{less:.0f} +{more:.0f})" if more or less else ""
            self.found.append(f"{show(key)}, {name}: {seen} in the profile, should be {true}{allowed}")

    def problems(self):
        for key in sorted(set(self.truth) | set(self.seen), key=str):
            if key[1] in self.loose:
                continue
            true, seen = self.truth.get(key, Figures()), self.seen.get(key, Figures())
            at_start = math.inf if key in ((0, ()), ("all", ())) else 0  # libraries allocate before main
            self.compare_scope(key, true, seen, at_start)
            if self.mode == "exact" and (not key[1] or key[1][0][0] == NAMED):
                self.compare_counts(key, true, seen, at_start)
            if self.mode == "sampled" and (not key[1] or key[1][0][0] == NAMED):
                self.compare_samples(key, true, seen, at_start)
        return self.found

    def compare_scope(self, key, true, seen, at_start):
        """The profiler takes failed requests back if it sees them: always in exact mode."""
        failed = 0 if self.mode == "exact" else 1
        for function in FUNCTIONS:
            name = f"calls of {function}"
            more = failed * true[f"failed of {function}"] + at_start + self.ahead
            self.figure(key, name, true[name], seen[name], more)
        more = failed * true["failed bytes"] + at_start + self.ahead * 4096
        self.figure(key, "bytes", true["bytes"], seen["bytes"], more)
        self.figure(key, "entered", true["entered"], seen["entered"], self.ahead)

    def compare_counts(self, key, true, seen, at_start):
        more = at_start + self.ahead
        self.figure(key, "counted calls", true.sum_of("calls"), seen["counted calls"], more)
        self.figure(key, "counted bytes", true["bytes"], seen["counted bytes"], at_start + self.ahead * 4096)
        self.figure(key, "freed calls", true["freed calls"], seen["counted freed calls"], more)
        self.figure(key, "freed bytes", true["freed bytes"], seen["counted freed bytes"], at_start + self.ahead * 4096)
        for name in ("other calls", "other bytes"):
            self.figure(key, name, true[name], seen[name])
        if self.peak:
            for name in ("peak calls", "peak bytes"):
                self.figure(key, name, true[name], seen[name], at_start + self.slack[name], self.slack[name])

    def compare_samples(self, key, true, seen, at_start):
        calls = SIGMAS * math.sqrt(true["variance of calls"]) + SAMPLES * true["weight"]
        size = SIGMAS * math.sqrt(true["variance of bytes"]) + SAMPLES * self.interval
        for name, value, off in (
            ("calls", true.sum_of("calls"), calls), ("freed calls", true["freed calls"], calls),
            ("bytes", true["bytes"], size), ("freed bytes", true["freed bytes"], size),
        ):  # fmt: skip
            self.figure(key, f"estimated {name}", value, seen[f"sampled {name}"], off + at_start, off)


# ---- running ----

MODES = {"exact": ("exact", 0), "sampled": ("4096", 4096), "coarsely sampled": ("524288", 524288), "auto": ("auto", 0)}


def run(place, program, *words, mode="exact", behind=(), **settings):
    sample, interval = MODES[mode]
    return place.run(PROGRAMS / program, *words, sample=sample, behind=behind, ACCOUNT_INTERVAL=interval,
                     PLIMSOLL_SEED=7, **settings)


def accounts(place, suffix=""):
    return Account(str(place.ledger_path) + suffix)


def the_profile(place, pid):
    profiles = [profile for profile in map(Profile, place.files()) if not profile.flags & plim.FLAG_SNAPSHOT]
    found = [profile for profile in profiles if profile.pid == pid]
    assert len(found) == 1, f"{len(found)} profiles of {pid}: {place.files()}"
    return found[0]


def compare(account, profile, mode, losses=None, **options):
    """Fails with every wrong figure. In auto mode figures are exact as long as nothing was sampled."""
    kind = {"exact": "exact", "auto": "totals" if profile.rows else "exact"}.get(mode, "sampled")
    problems = Comparison(account, profile, kind, interval=MODES[mode][1], **options).problems()
    if profile.losses != (losses or {}):
        problems.append(f"losses {profile.losses}, expected {losses or {}}")
    expect(problems, f"in {mode} mode")


def check(program, *words, mode="exact", losses=None, peak=False, per_thread=True, slack=None, behind=(),
          compare_nothing=False, **settings):
    """Runs a program to its end and compares everything. `losses` may be a function of the account."""
    with Place() as place:
        pid = run(place, program, *words, mode=mode, behind=behind, **settings)
        account, profile = accounts(place), the_profile(place, pid)
        expected = losses(account) if callable(losses) else losses
        if not compare_nothing:
            compare(account, profile, mode, expected, peak=peak, per_thread=per_thread, slack=slack)
        return account, profile
