# SPDX-License-Identifier: MIT
"""pytest_plugin - holds tests against limits.

    @pytest.mark.plimsoll(max_peak="50 MiB", no_leaks=True)
    def test_load(): ...

    $ pytest --plimsoll

The words are those of `plimsoll check`. The figures of a test begin when its function is called, with a reset of the
profile, and end when it returns. Without the profiler the tests run and are not checked, and the summary says so.

There are three outcomes, as in `plimsoll check`: a limit that is compared with an estimate is `unsure`, and passes unless
--plimsoll-strict is given.
"""

import ctypes
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Tuple, Union

import pytest

from . import _control, _library

RESTARTED = "PLIMSOLL_PYTEST"  # set in a pytest that --plimsoll has started again
HOW = "use `pytest --plimsoll`, or `plimsoll run --exact -- pytest`"


# ---- rules ----


class Figures(NamedTuple):
    """What a test has allocated, and what of it was still live when it had returned."""

    peak: int
    allocated: int
    calls: int
    never_freed: int
    never_freed_blocks: int
    exact: bool


class Rule(NamedTuple):
    label: str
    value: Callable[[Figures], int]
    bytes: bool
    always_exact: bool


RULES = {
    "max_peak": Rule("peak", lambda figures: figures.peak, True, False),
    "max_never_freed": Rule("never freed", lambda figures: figures.never_freed, True, False),
    "no_leaks": Rule("never freed", lambda figures: figures.never_freed, True, False),
    "max_allocated": Rule("allocated", lambda figures: figures.allocated, True, True),
    "max_calls": Rule("calls", lambda figures: figures.calls, False, True),
}
UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def read_limit(word: str, value: Union[int, str, bool]) -> Optional[int]:
    """The limit in bytes or calls; None: there is none (no_leaks=False). Raises ValueError."""
    if word not in RULES:
        raise ValueError(f"is not a rule; the rules are {', '.join(RULES)}")
    if word == "no_leaks":
        if not isinstance(value, bool):
            raise ValueError("is True or False; max_never_freed takes a limit")
        return 0 if value else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if RULES[word].bytes and isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", value.strip())
        if match and match[2].upper() in UNITS:
            return int(float(match[1]) * UNITS[match[2].upper()])
        raise ValueError("is not a size: use bytes with K, M or G, or KiB, MiB or GiB, for example \"50 MiB\"")
    raise ValueError("is not a size, for example \"50 MiB\"" if RULES[word].bytes else "is not a number of calls")


def limits_of(item: pytest.Item) -> Dict[str, int]:
    """Rule -> limit. The mark of the function replaces rules of its class and module."""
    limits: Dict[str, int] = {}
    for mark in reversed(list(item.iter_markers("plimsoll"))):
        if mark.args:
            raise pytest.UsageError(f"{item.nodeid}: plimsoll() takes names: plimsoll(max_peak=\"50 MiB\")")
        for word, value in mark.kwargs.items():
            try:
                limit = read_limit(word, value)
            except ValueError as wrong:
                raise pytest.UsageError(f"{item.nodeid}: plimsoll({word}={value!r}): {wrong}") from None
            limits.pop(word, None)
            if limit is not None:
                limits[word] = limit
    return limits


# ---- figures ----


def say_bytes(value: int) -> str:
    """As all of Plimsoll prints them: 848 B, 2.1 MiB, 404 KiB."""
    shown, units = float(value), ["B", "KiB", "MiB", "GiB", "TiB"]
    while shown >= 1024 * 0.9995 and len(units) > 1:
        shown /= 1024
        units.pop(0)
    return f"{shown:,.0f} {units[0]}" if units[0] == "B" or shown >= 99.95 else f"{shown:.1f} {units[0]}"


def say_limit(value: int, rule: Rule) -> str:
    text = say_bytes(value) if rule.bytes else f"{value:,}"
    return text.replace(".0 ", " ")


class Meter:
    """Measures from begin() to end(). What it needs itself is allocated before."""

    def __init__(self) -> None:
        self.then, self.now, self.after = (_library.RawStats() for _ in range(3))

    def read(self, raw: _library.RawStats) -> None:
        if _library.stats(ctypes.byref(raw), ctypes.sizeof(raw)):  # type: ignore[misc]
            raw.exact = 0

    def begin(self) -> None:
        self.read(self.then)  # once, so that nothing is made for the first time below
        gc.collect()
        _control.reset()
        self.read(self.then)

    def end(self) -> Figures:
        self.read(self.now)
        gc.collect()
        self.read(self.after)
        then, now, after = self.then, self.now, self.after
        return Figures(peak=max(0, now.peak_bytes - then.live_bytes), allocated=now.allocated_bytes - then.allocated_bytes,
                       calls=now.calls - then.calls, never_freed=max(0, after.live_bytes - then.live_bytes),
                       never_freed_blocks=max(0, after.live_blocks - then.live_blocks),
                       exact=bool(then.exact and now.exact and after.exact))


# ---- verdicts ----

Line = List[str]  # outcome, label, figure, relation and limit, words: a list, because pytest-xdist sends it as JSON


def judge(word: str, limit: int, figures: Figures) -> Line:
    rule = RULES[word]
    value = rule.value(figures)
    certain = figures.exact or rule.always_exact or (limit == 0 and value > 0)  # one sample is proof
    outcome = "unsure" if not certain else "FAIL" if value > limit else "ok"
    relation = {"ok": "≤", "FAIL": ">", "unsure": "limit"}[outcome]
    words = []
    if rule.label == "never freed" and value:
        words.append(f"in {figures.never_freed_blocks:,} block{'' if figures.never_freed_blocks == 1 else 's'}")
    if not (figures.exact or rule.always_exact):
        words.append("the figure is an estimate: use --exact")
    figure = say_bytes(value) if rule.bytes else f"{value:,}"
    shown = "" if word == "no_leaks" else f"{relation} {say_limit(limit, rule)}"
    return [outcome, rule.label, figure, shown, "; ".join(words)]


def table(lines: List[Line]) -> List[str]:
    """The lines with columns aligned, as `plimsoll check` prints them."""
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    texts = []
    for outcome, label, figure, limit, words in lines:
        texts.append(f"{outcome:<6}  {label:<{widths[1]}}  {figure:>{widths[2]}}  {limit:<{widths[3]}}  {words}".rstrip())
    return texts


def keep_profile(item: pytest.Item) -> Optional[Path]:
    """A snapshot of the test's profile, in pytest's cache."""
    cache = getattr(item.config, "cache", None)
    if cache is None:
        return None
    name = re.sub(r"[^\w.-]+", "_", item.nodeid.replace("::", "."))[-120:].strip("_.")
    path = Path(cache.mkdir("plimsoll")) / f"{name}.plim"
    try:
        path.unlink()
    except FileNotFoundError:
        pass
    try:
        _control.write(path)
    except OSError:
        return None
    return path


def worst(path: Path, lines: List[Line]) -> None:
    """Adds the site that contributes most, according to `plimsoll check`, to the lines that have failed."""
    rules = {"peak": "--max-peak", "never freed": "--max-live", "allocated": "--max-allocated", "calls": "--max-calls"}
    failed = [line for line in lines if line[0] == "FAIL"]
    command = [shutil.which("plimsoll") or "", "check", "--color", "never"]
    for line in failed:
        command += [rules[line[1]], "0"]
    clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("PLIMSOLL_")}
    clean["COLUMNS"] = "1000"
    try:
        said = subprocess.run([*command, str(path)], capture_output=True, text=True, env=clean, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return
    rows = [row for row in said.splitlines() if row.startswith("FAIL")]
    if len(rows) == len(failed):
        for line, row in zip(failed, rows):
            _, found, site = row.partition("worst: ")
            if not site.startswith("0x"):  # the name of a stripped program's function
                line[4] = "; ".join(filter(None, [line[4], found + site]))


class Result(NamedTuple):
    lines: List[Line]  # none: not measured
    figures: Optional[Figures]
    profile: Optional[Path]


def measured(item: pytest.Item, limits: Dict[str, int], figures: Figures) -> Result:
    lines = [judge(word, limit, figures) for word, limit in limits.items()]
    if not any(line[0] == "FAIL" for line in lines):
        return Result(lines, figures, None)
    path = keep_profile(item)
    if path:
        worst(path, lines)
    return Result(lines, figures, path)


# ---- hooks ----


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("plimsoll")
    group.addoption("--plimsoll", action="store_true",
                    help="run the tests under `plimsoll run --exact`, so that limits of @pytest.mark.plimsoll are checked")
    group.addoption("--plimsoll-strict", action="store_true",
                    help="fail tests whose limits cannot be checked, or only against estimates")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, None]:
    """Before pytest captures any output."""
    if early_config.known_args_namespace.plimsoll and not _control.loaded():
        start_again(list(early_config.invocation_params.args))
    yield


def python_command(arguments: List[str]) -> List[str]:
    if hasattr(sys, "orig_argv"):
        return [sys.executable, *sys.orig_argv[1:]]
    by_module = os.path.basename(sys.argv[0]) == "__main__.py"
    return [sys.executable, *(["-m", "pytest"] if by_module else [sys.argv[0]]), *arguments]


def start_again(arguments: List[str]) -> None:
    """The same command, under the profiler. Does not return. Profiles of the session are not kept: that of pytest would
    begin with its last test that has limits."""
    program = shutil.which("plimsoll")
    if arguments != sys.argv[1:]:
        raise pytest.UsageError("--plimsoll is for the command pytest; start this program with `plimsoll run --exact`")
    if not program:
        raise pytest.UsageError("--plimsoll: there is no program plimsoll on the PATH")
    if RESTARTED in os.environ:
        raise pytest.UsageError("--plimsoll: the profiler cannot be loaded into this Python; see `plimsoll run --help`")
    with tempfile.TemporaryDirectory(prefix="plimsoll-pytest.") as place:
        command = [program, "run", "--exact", "-q", "-o", f"{place}/%p.plim", "--", *python_command(arguments)]
        with subprocess.Popen(command, env={**os.environ, RESTARTED: "1"}) as child:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest itself obeys it
            status = child.wait()
    raise SystemExit(status if status >= 0 else 128 - status)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "plimsoll(max_peak=, max_never_freed=, no_leaks=, max_allocated=, max_calls=): "
                            "hold the test against these limits, which are those of `plimsoll check`")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: List[pytest.Item]) -> None:
    for item in items:
        limits_of(item)  # a wrong mark ends the session before a test runs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """What pytest itself does for a test, around the call of its function, is not measured."""
    limits = limits_of(item)
    if not limits:
        yield
        return
    setattr(item, "runtest", held(item, item.runtest, limits))
    yield
    delattr(item, "runtest")


def held(item: pytest.Item, function: Callable[[], object], limits: Dict[str, int]) -> Callable[[], None]:
    """The function of the test, which fails if a limit is exceeded."""
    strict = item.config.getoption("plimsoll_strict")

    def run() -> None:
        meter = Meter()
        meter.begin()
        function()
        conclude(measured(item, limits, meter.end()))

    def run_unmeasured() -> None:
        function()
        conclude(Result([], None, None))

    def conclude(result: Result) -> None:
        setattr(item, "_plimsoll", result)
        if result.figures:
            item.user_properties += [(f"plimsoll.{name}", value) for name, value in result.figures._asdict().items()]
        text = failure(result, strict)
        if text:
            pytest.fail(text, pytrace=False)

    return run if _control.loaded() else run_unmeasured


def failure(result: Result, strict: bool) -> Optional[str]:
    """What a person reads under the name of the test, or None if it has passed."""
    if not result.lines:
        return f"limits not checked: pytest does not run under plimsoll; {HOW}" if strict else None
    bad = [line for line in result.lines if line[0] == "FAIL" or (strict and line[0] == "unsure")]
    if not bad:
        return None
    count = len(result.lines)
    text = [*table(result.lines), f"{len(bad)} of {count} {'check' if count == 1 else 'checks'} failed"]
    if result.profile:
        text.append(f"next: plimsoll report {shown_path(result.profile)}")
    return "\n".join(text)


def shown_path(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Generator[None, Any, None]:
    """The report takes the result along, also from a worker of pytest-xdist."""
    outcome = yield
    result: Optional[Result] = getattr(item, "_plimsoll", None)
    if call.when != "call" or result is None:
        return
    report: Any = outcome.get_result()
    report.plimsoll = result.lines


def reports_of(stats: Dict[str, List[Any]]) -> List[Tuple[str, List[Line]]]:
    found = [report for reports in stats.values() for report in reports if hasattr(report, "plimsoll")]
    return [(report.nodeid, report.plimsoll) for report in found]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    results = reports_of(terminalreporter.stats)
    if not results:
        return
    unmeasured = sum(not lines for _, lines in results)
    rows = [(line, node) for node, lines in results for line in lines]
    chosen = rows if config.getoption("verbose") > 0 else [row for row in rows if row[0][0] != "ok"]
    terminalreporter.section("plimsoll", sep="=")
    for text, (_, node) in zip(table([line for line, _ in chosen]) if chosen else [], chosen):
        terminalreporter.write_line(f"{text}  {node}")
    if rows:
        counts = {outcome: sum(line[0] == outcome for line, _ in rows) for outcome in ("ok", "FAIL", "unsure")}
        terminalreporter.write_line(f"{len(rows)} limit{'' if len(rows) == 1 else 's'} of {len(results) - unmeasured} "
                                    f"test{'' if len(results) - unmeasured == 1 else 's'}: "
                                    + ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count))
    if unmeasured:
        terminalreporter.write_line(f"the limits of {unmeasured} test{'' if unmeasured == 1 else 's'} were not checked, "
                                    f"because pytest does not run under plimsoll: {HOW}")
