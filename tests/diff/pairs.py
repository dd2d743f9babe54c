# SPDX-License-Identifier: MIT
"""pairs - comparing profiles of different programs, of different builds, of several threads, and large ones."""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims
from built import PLIMSOLL, environment
from claims import Skip, claim
from runs import HERE, build_of, changes, command, diff, profile, scratch

EXACT = "--exact"
FEW, MANY = 250, 1000


def forged(kind, number):
    path = Path(scratch.name) / f"{kind}-{number}.plim"
    if not path.exists():
        subprocess.run([HERE / "forged", path, kind, str(number)], check=True)
    return path


def called(program, *words):
    """The profile of a run with these arguments."""
    path = Path(scratch.name) / ("-".join([program, "called", *words]) + ".plim")
    done = command("run", "-q", EXACT, "-o", path, "--", build_of(program), *words)
    assert done.returncode == 0, done.stderr
    return path


# ---- programs and commands ----


@claim
def comparing_different_programs_is_reported():
    text = diff(profile("sites", EXACT), profile("lambda", EXACT))
    assert "different programs: sites and lambda\n" in text, text


@claim
def different_arguments_of_a_program_are_shown():
    text = diff(called("sites", "--fast"), called("sites", "--slow"))
    lines = text.splitlines()
    assert lines[1].endswith("sites --fast") and lines[3].endswith("sites --slow"), text
    assert "different programs" not in text, text


@claim
def different_directories_of_a_program_are_not_shown():
    text = diff(profile("sites", EXACT), profile("elsewhere", EXACT))
    assert "different programs" not in text and text.splitlines()[1].startswith("after"), text


# ---- lambdas ----


@claim
def a_lambda_is_the_same_whether_inlined_or_not():
    for pair in (("lambda", "lambda-apart"), ("lambda-apart", "lambda")):
        both = [profile(program, EXACT) for program in pair]
        text = diff("--metric", "calls", *both)
        assert "{lambda" in diff("--metric", "calls", "--top", "1000", both[0], profile("sites", EXACT)), text
        assert not changes(text) and "nothing has changed" in text, text


# ---- peaks ----


def totals(text):
    return {line[:22].strip(): line for line in text.splitlines() if "→" in line[:46]}


@claim
def a_difference_of_peaks_within_their_margin_is_not_a_change():
    pair = forged("crew", 100000), forged("crew", 100500)  # two threads at a time, 1 KiB each
    text = diff("--metric", "peak", *pair)
    assert not changes(text) and "no site has changed by more than noise" in text, text
    assert "within noise (± 4.0 KiB)" in totals(text)["At the peak"], text
    assert "known to within 4.0 KiB" in " ".join(text.split()), text
    assert not changes(diff("--metric", "peak-blocks", *pair))


@claim
def a_difference_of_peaks_beyond_their_margin_is_a_change():
    text = diff("--metric", "peak", forged("crew", 100000), forged("crew", 120000))
    assert len(changes(text)) == 1 and "keep" in changes(text)[0], text
    assert "within noise" not in totals(text)["At the peak"], text


@claim
def other_metrics_of_several_threads_are_exact():
    text = diff(forged("crew", 100000), forged("crew", 100500))
    assert len(changes(text)) == 1 and "+500 B" in changes(text)[0] and "noise" not in "".join(changes(text)), text


# ---- limits of the output ----


@claim
def changes_that_are_not_shown_are_counted_with_the_option_that_shows_them():
    pair = profile("sites", EXACT), profile("lambda", EXACT)
    everything = len(changes(diff("--top", "1000", *pair)))
    text = diff("--top", "3", *pair)
    assert len(changes(text)) == 3 and f"{everything - 3} more changes are not shown; --top N" in text, text
    text = diff("--top", "1000", "--threshold", "3%", *pair)
    shown = len(changes(text))
    assert 0 < shown < everything and f"{everything - shown} more changes are below the threshold\n" in text, text
    assert "--top N" not in text, text


@claim
def when_nothing_else_is_shown_noise_is_not_called_other_changes():
    text = diff("--metric", "peak", forged("crew", 100000), forged("crew", 100500))
    assert "1 change is within noise; --all shows it" in text, text


# ---- cost ----


def instructions(by, path):
    """The instructions that comparing a profile with itself takes, without reading it."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=pl_diff_make",
             PLIMSOLL, "diff", "--by", by, path, path]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=environment())
    except FileNotFoundError:
        raise Skip("valgrind is not installed")
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert done.returncode == 0 and found, done.stderr
    return int(found[1])


@claim
def the_cost_is_linear_in_the_number_of_tags_or_threads():
    for by in ("tag", "thread"):
        few, many = (instructions(by, forged(by + "s", number)) for number in (FEW, MANY))
        # Sorting takes a little more than linear time. A linear search for each would take up to 16 times as much.
        assert few > 0 and many / few < 1.5 * MANY / FEW, (by, few, many)


if __name__ == "__main__":
    sys.exit(claims.main())
