# SPDX-License-Identifier: MIT
"""diff - `plimsoll diff` lists what changed, the most important change first, and nothing that did not change."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims
import pagedata
from built import BUILD
from claims import claim
from runs import changes, command, diff, profile, sampled, scratch

EXACT = "--exact"


def first(text):
    found = changes(text)
    assert found, text
    return found[0]


@claim
def an_exact_profile_compared_with_itself_has_no_change():
    text = diff(profile("sites", EXACT), profile("sites", EXACT))
    assert not changes(text) and "nothing has changed" in text, text


@claim
def a_leak_is_the_only_change_between_two_exact_profiles():
    text = diff(profile("sites", EXACT), profile("sites-leak", EXACT))
    assert len(changes(text)) == 1 and "keep_session" in first(text) and " new " in first(text), text
    assert first(text).split()[0] == "+5.7" and "noise" not in text, text


@claim
def a_fixed_leak_is_gone():
    text = diff(profile("sites-leak", EXACT), profile("sites", EXACT))
    assert len(changes(text)) == 1 and " gone " in first(text) and first(text).split()[0] == "-5.7", text


def check_sampled_leak(before, after):
    for seed in range(1, 6):
        text = diff(sampled(before, seed), sampled(after, 100 + seed))
        assert "keep_session" in first(text), text


@claim
def a_leak_is_the_first_change_between_sampled_profiles():
    check_sampled_leak("sites", "sites-leak")


@claim
def a_leak_is_the_first_change_even_if_every_line_has_moved():
    check_sampled_leak("sites", "sites-edited-leak")


@claim
def a_leak_is_the_first_change_between_an_exact_and_a_sampled_profile():
    text = diff(profile("sites", EXACT), sampled("sites-leak", 7))
    assert "keep_session" in first(text), text


@claim
def moved_lines_are_not_changes():
    text = diff("--metric", "allocated", profile("sites", EXACT), profile("sites-edited", EXACT))
    assert not changes(text) and "by functions only" in text, text


@claim
def a_renamed_file_is_no_change():
    text = diff("--metric", "allocated", profile("sites", EXACT), profile("sites-renamed", EXACT))
    assert not changes(text) and "by functions only" in text, text


@claim
def in_the_flame_graph_a_function_of_a_renamed_file_is_one_bar():
    page = Path(scratch.name) / "renamed.page"
    before, after = profile("sites", EXACT), profile("sites-renamed", EXACT)
    done = command("export", "--format", "page", "--diff-base", before, after, "-o", page)
    assert done.returncode == 0, done.stderr
    data = pagedata.load(page)
    texts = data.texts()
    names = [texts[number] for number in data["function.name"]]
    assert names.count("site_00") == names.count("keep_session") == 1, sorted(names)


@claim
def the_total_that_changed_most_is_compared_by_site():
    text = diff(profile("sites", EXACT), profile("sites-burst", EXACT))
    assert text.splitlines()[3].startswith("At the peak"), text
    assert "At the peak, by site" in text and "burst" in first(text), text
    text = diff("--metric", "live", profile("sites", EXACT), profile("sites-burst", EXACT))
    assert "nothing has changed" in text, text
    assert "other totals have changed, too: --metric peak" in text, text


@claim
def with_lines_moved_lines_are_changes():
    text = diff("--lines", "--top", "1000", "--metric", "live", profile("sites", EXACT), profile("sites-edited", EXACT))
    gone = [line for line in changes(text) if " gone " in line]
    new = [line for line in changes(text) if " new " in line]
    assert len(gone) == len(new) >= 64, text


@claim
def a_build_in_another_directory_is_the_same_program():
    text = diff(profile("sites", EXACT), profile("elsewhere", EXACT))
    assert not changes(text) and "by functions only" not in text, text


@claim
def changes_within_noise_are_counted_and_shown_with_all():
    pair = sampled("sites", 1), sampled("sites", 2)
    text = diff(*pair)
    assert "changes are within noise; --all shows them" in text, text
    assert all("within noise" in line for line in changes(diff("--all", *pair))), text
    assert len(changes(diff("--all", "--top", "7", *pair))) == 7


@claim
def threads_are_compared_by_name():
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
def calls_of_tags_are_exact_even_in_a_sampled_profile():
    text = diff("--by", "tag", "--metric", "calls", "--all", tagged("exact"), tagged("sampled"))
    assert not changes(text) and "nothing has changed" in text, text


@claim
def control_characters_in_names_are_escaped():
    text = diff("--by", "tag", "--metric", "allocated", tagged("exact"), tagged("odd"))
    assert "\\x1b[31mred" in text and "\x1b" not in text and "two\\x0alines" in text, text
    assert max(map(len, text.splitlines())) < 200, text


@claim
def a_selection_limits_both_sides():
    pair = profile("sites", EXACT), profile("sites-leak", EXACT)
    assert "keep_session" in diff("--focus", "keep_session", *pair)
    assert not changes(diff("--ignore", "keep_session", *pair))


@claim
def diff_needs_two_profiles():
    for words in [(), (profile("sites", EXACT),), (profile("sites", EXACT),) * 3]:
        done = command("diff", *words)
        assert done.returncode == 2 and "plimsoll diff A.plim B.plim" in done.stderr, done


if __name__ == "__main__":
    sys.exit(claims.main())
