# SPDX-License-Identifier: MIT
"""diff.py - what people see of two profiles: what changed is named, first things first, and what did not is not."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims
from built import BUILD
from claims import claim
from runs import changes, command, diff, profile, sampled, scratch

EXACT = "--exact"


def first(text):
    found = changes(text)
    assert found, text
    return found[0]


@claim
def an_exact_profile_against_itself_has_no_change():
    text = diff(profile("sites", EXACT), profile("sites", EXACT))
    assert not changes(text) and "nothing has changed" in text, text


@claim
def the_one_leak_of_an_exact_profile_is_the_only_change():
    text = diff(profile("sites", EXACT), profile("sites-leak", EXACT))
    assert len(changes(text)) == 1 and "keep_session" in first(text) and " new " in first(text), text
    assert first(text).split()[0] == "+5.7" and "noise" not in text, text


@claim
def and_the_other_way_round_it_is_gone():
    text = diff(profile("sites-leak", EXACT), profile("sites", EXACT))
    assert len(changes(text)) == 1 and " gone " in first(text) and first(text).split()[0] == "-5.7", text


def check_sampled_leak(before, after):
    for seed in range(1, 6):
        text = diff(sampled(before, seed), sampled(after, 100 + seed))
        assert "keep_session" in first(text), text


@claim
def a_leak_is_named_first_among_samples():
    check_sampled_leak("sites", "sites-leak")


@claim
def also_where_every_line_has_moved():
    check_sampled_leak("sites", "sites-edited-leak")


@claim
def and_where_one_of_the_two_was_counted():
    text = diff(profile("sites", EXACT), sampled("sites-leak", 7))
    assert "keep_session" in first(text), text


@claim
def lines_that_moved_are_no_changes():
    text = diff("--metric", "allocated", profile("sites", EXACT), profile("sites-edited", EXACT))
    assert not changes(text) and "by functions alone" in text, text


@claim
def unless_one_insists_on_lines():
    text = diff("--lines", "--top", "1000", profile("sites", EXACT), profile("sites-edited", EXACT))
    gone = [line for line in changes(text) if " gone " in line]
    new = [line for line in changes(text) if " new " in line]
    assert len(gone) == len(new) >= 64, text


@claim
def a_build_elsewhere_is_the_same_program():
    text = diff(profile("sites", EXACT), profile("elsewhere", EXACT))
    assert not changes(text) and "by functions alone" not in text, text


@claim
def noise_is_counted_and_shown_when_asked_for():
    pair = sampled("sites", 1), sampled("sites", 2)
    text = diff(*pair)
    assert "changes are within noise; --all shows them" in text, text
    assert all("within noise" in line for line in changes(diff("--all", *pair))), text
    assert len(changes(diff("--all", "--top", "7", *pair))) == 7


@claim
def threads_compare_by_name():
    text = diff("--by", "thread", profile("sites", EXACT), profile("sites-leak", EXACT))
    assert len(changes(text)) == 1 and first(text).rstrip().endswith("sites"), text


def tagged(which):
    path = Path(scratch.name) / f"tagged-{which}.plim"
    subprocess.run([BUILD / "tests" / "cli" / "tagged", which, path], check=True)
    return path


@claim
def a_new_tag_is_named():
    text = diff("--by", "tag", "--metric", "allocated", tagged("exact"), tagged("many"))
    assert len(changes(text)) == 1 and first(text).split()[-2:] == ["new", "many"], text


@claim
def calls_of_tags_are_exact_where_stacks_were_sampled():
    text = diff("--by", "tag", "--metric", "calls", "--all", tagged("exact"), tagged("sampled"))
    assert not changes(text) and "nothing has changed" in text, text


@claim
def names_cannot_command_the_terminal():
    text = diff("--by", "tag", "--metric", "allocated", tagged("exact"), tagged("odd"))
    assert "\\x1b[31mred" in text and "\x1b" not in text and "two\\x0alines" in text, text
    assert max(map(len, text.splitlines())) < 200, text


@claim
def a_selection_limits_both_sides():
    pair = profile("sites", EXACT), profile("sites-leak", EXACT)
    assert "keep_session" in diff("--focus", "keep_session", *pair)
    assert not changes(diff("--ignore", "keep_session", *pair))


@claim
def one_profile_is_not_enough():
    for words in [(), (profile("sites", EXACT),), (profile("sites", EXACT),) * 3]:
        done = command("diff", *words)
        assert done.returncode == 2 and "plimsoll diff A.plim B.plim" in done.stderr, done


if __name__ == "__main__":
    sys.exit(claims.main())
