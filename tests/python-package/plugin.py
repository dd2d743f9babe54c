# SPDX-License-Identifier: MIT
"""plugin - pytest holds tests against limits: programs/test_limits.py has tests that keep them and that break them."""

import functools
import re
import shutil
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import claims  # noqa: E402
from built import PLIMSOLL  # noqa: E402
from claims import Skip, claim  # noqa: E402
from pythons import PROGRAMS, SYSTEM, found, pytest_version, run, system  # noqa: E402

BREAK = {"test_breaks_peak", "test_leaks", "test_calls_too_often", "test_has_the_limit_of_its_class",
         "test_in_unittest_breaks_peak"}
KEEP = {"test_keeps_all", "test_leaks_within_its_limit", "test_prints_a_lot", "test_makes_a_cycle",
        "test_has_its_own_limit", "test_without_limits"}


class Session:
    """One run of pytest, in a directory of its own."""

    def __init__(self, *words, python=None, tests=None, by=(), status=None, **settings):
        python = python or system()
        if not pytest_version(python):
            raise Skip(f"{python} has no pytest (python3-pytest)")
        with tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm") as name:
            self.place = Path(name)
            (self.place / "live").mkdir()
            if tests is None:
                shutil.copy(PROGRAMS / "test_limits.py", self.place)
            else:
                (self.place / "test_limits.py").write_text(tests)
            done = run(*by, python, "-m", "pytest", "-p", "plimsoll.pytest_plugin", "--color=no", "--junit-xml=junit.xml",
                       "-W", "error", *words, where=self.place, status=status, PLIMSOLL_LIVE_DIR=self.place / "live",
                       **settings)
            self.status, self.said = done.returncode, done.stdout + done.stderr
            self.files = sorted(path.name for path in self.place.glob("*.plim"))
            self.junit = ElementTree.parse(self.place / "junit.xml") if (self.place / "junit.xml").exists() else None
            kept = re.findall(r"^next: plimsoll report (\S+)$", self.said, re.MULTILINE)
            self.reports = {path: run(PLIMSOLL, "report", path, where=self.place).stdout for path in kept}

    def outcomes(self):
        """Name of a test -> failed, skipped or passed."""
        return {case.get("name"): next((child.tag for child in case if child.tag in ("failure", "skipped")), "passed")
                for case in self.junit.iter("testcase")}

    def message(self, test):
        """What pytest prints below the name of a failed test."""
        return re.search(rf"^_+ (?:\w+\.)?{test} _+$(.*?)^(?:_|=|-)", self.said, re.MULTILINE | re.DOTALL)[1]


@functools.lru_cache(maxsize=None)
def session(python=None):
    return Session("--plimsoll", "-v", python=python, status=1)


def check_outcomes(python):
    seen = session(python)
    outcomes = seen.outcomes()
    failed = {name for name, outcome in outcomes.items() if outcome == "failure"}
    assert failed == BREAK and KEEP <= set(outcomes), seen.said
    assert outcomes["test_leaks_as_expected"] == "skipped", seen.said


@claim
def tests_that_break_a_limit_fail_and_others_pass():
    check_outcomes(system())


versions = {pytest_version(path): path for path in found().values()}
for other in [path for version, path in versions.items() if version and version != pytest_version(SYSTEM)][:1]:
    claims.add(f"and with pytest {pytest_version(other)} of another Python", functools.partial(check_outcomes, other))


@claim
def the_message_says_which_limit_was_broken_by_how_much():
    seen = session(system())
    peak, leak, calls = (seen.message(test) for test in ("test_breaks_peak", "test_leaks", "test_calls_too_often"))
    assert re.search(r"^FAIL    peak         6\.0 MiB  > 5 MiB", peak, re.MULTILINE), peak
    assert re.search(r"^ok      never freed      0 B$", peak, re.MULTILINE), peak
    assert "1 of 2 checks failed" in peak, peak
    assert re.search(r"^FAIL    never freed  199 KiB    in 101 blocks", leak, re.MULTILINE), leak
    assert re.search(r"^FAIL    calls +50  > 5 ", calls + " ", re.MULTILINE) or "50  > 5" in calls, calls
    assert re.search(r"^FAIL    allocated  50\.4 KiB  > 1 KiB", calls, re.MULTILINE), calls


@claim
def the_profile_of_a_failed_test_is_kept_and_no_other():
    seen = session(system())
    assert len(seen.reports) == len(BREAK) and not seen.files, (list(seen.reports), seen.files)
    (leak,) = [report for path, report in seen.reports.items() if path.endswith("test_leaks.plim")]
    assert re.search(r"\b101\b.*\n", leak) and "199 KiB" in leak, leak


@claim
def the_summary_lists_limits():
    seen = session(system())
    assert re.search(r"^ok      peak +6\.0 MiB  ≤ 8 MiB +test_limits.py::test_keeps_all$", seen.said, re.MULTILINE), seen.said
    assert re.search(r"^FAIL    peak +6\.0 MiB  > 5 MiB.*test_limits.py::test_breaks_peak$", seen.said, re.MULTILINE), seen.said
    assert re.search(r"^16 limits of 11 tests: 9 ok, 7 FAIL$", seen.said, re.MULTILINE), seen.said


@claim
def junit_has_the_figures_of_a_test():
    (case,) = [case for case in session(system()).junit.iter("testcase") if case.get("name") == "test_breaks_peak"]
    figures = {row.get("name"): row.get("value") for row in case.iter("property")}
    assert 6 << 20 <= int(figures["plimsoll.peak"]) < (6 << 20) + 4096 and figures["plimsoll.never_freed"] == "0", figures
    assert figures["plimsoll.exact"] == "True", figures


@claim
def without_the_profiler_limits_are_not_checked_and_the_summary_says_so():
    seen = Session(status=1)
    assert set(seen.outcomes().values()) == {"passed", "failure"}, seen.said
    failed = {name for name, outcome in seen.outcomes().items() if outcome == "failure"}
    assert failed == {"test_leaks_as_expected"}, seen.said  # expected to fail, and strictly so
    assert "the limits of 11 tests were not checked, because pytest does not run under plimsoll" in seen.said, seen.said
    assert "use `pytest --plimsoll`" in seen.said, seen.said


@claim
def strictly_a_limit_that_cannot_be_checked_is_a_failure():
    seen = Session("--plimsoll-strict", status=1)
    failed = {name for name, outcome in seen.outcomes().items() if outcome == "failure"}
    assert failed == (BREAK | KEEP) - {"test_without_limits"}, seen.said
    assert "limits not checked: pytest does not run under plimsoll" in seen.message("test_keeps_all"), seen.said


SAMPLED = ("run", "--sample", "4K", "-q", "-o", "session.plim", "--")


@claim
def a_limit_on_an_estimate_is_unsure_and_that_on_an_exact_figure_is_not():
    seen = Session(by=(PLIMSOLL, *SAMPLED), status=1)
    failed = {name for name, outcome in seen.outcomes().items() if outcome == "failure"}
    assert failed == {"test_leaks", "test_calls_too_often"}, seen.said
    assert re.search(r"^unsure  peak .* limit 5 MiB +the figure is an estimate: use --exact", seen.said, re.MULTILINE), seen.said
    assert seen.files == ["session.plim"], seen.files


@claim
def strictly_an_unsure_limit_is_a_failure():
    seen = Session("--plimsoll-strict", "-k", "test_keeps_all", by=(PLIMSOLL, *SAMPLED), status=1)
    assert seen.outcomes() == {"test_keeps_all": "failure"}, seen.said


MARK = "import pytest\n@pytest.mark.plimsoll({})\ndef test_it():\n    raise RuntimeError('ran')\n"
WRONG = {
    "max_peek='5M'": "max_peek='5M'): is not a rule; the rules are max_peak, max_never_freed, no_leaks",
    "max_peak='5 MB'": "max_peak='5 MB'): is not a size: use bytes with K, M or G",
    "max_peak=True": "max_peak=True): is not a size",
    "max_calls='5M'": "max_calls='5M'): is not a number of calls",
    "no_leaks='1M'": "no_leaks='1M'): is True or False; max_never_freed takes a limit",
    "'5M'": "takes names: plimsoll(max_peak=\"50 MiB\")",
}
for mark, words in WRONG.items():

    def check(mark=mark, words=words):
        seen = Session(tests=MARK.format(mark), status=4)
        assert words in seen.said and "RuntimeError" not in seen.said, seen.said

    claims.add(f"plimsoll({mark}) ends the session before a test runs", check)


@claim
def a_test_that_fails_by_itself_has_its_own_message():
    seen = Session("--plimsoll", tests=MARK.format("max_peak=0"), status=1)
    assert "RuntimeError: ran" in seen.said and "checks failed" not in seen.said, seen.said


@claim
def without_the_program_plimsoll_the_option_says_what_is_missing():
    seen = Session("--plimsoll", status=4, PATH="/nowhere")
    assert "there is no program plimsoll on the PATH" in seen.said, seen.said


if __name__ == "__main__":
    sys.exit(claims.main())
