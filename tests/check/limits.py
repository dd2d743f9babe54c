# SPDX-License-Identifier: MIT
"""limits.py - limits that are kept pass, others fail, and what cannot be told is neither hidden nor left to chance."""

import functools
import json
import subprocess
import sys

import known
from known import FAILED, HERE, OK, check, command, outcome, outcomes, profile, sampled, written

import claims
from built import BUILD, RUNTIME, environment
from claims import claim
from service import serve

SEEDS = range(1, 13)

# What programs/known.c does, without its thread: rule, the least limit that is kept, the largest that is not.
ALONE = [
    ("--max-calls", "parse_line=", "1000", "999"),
    ("--max-calls", "function:parse_l.ne=", "1000", "999"),
    ("--max-allocated", "parse_line=", "100000", "99999"),
    ("--max-peak", "build_table=", "1000000", "999999"),
    ("--max-peak-blocks", "build_table=", "100", "99"),
    ("--max-live", "keep_session=", "100000", "99999"),
    ("--max-blocks", "keep_session=", "50", "49"),
    ("--max-never-freed", "keep_session=", "100000", "99999"),
    ("--max-never-freed", "", "100000", "99999"),
    ("--max-temporary", "parse_line=", "100%", "99%"),
    ("--max-temporary", "build_table=", "1%", "0.9%"),
    ("--max-allocated", "tag:request=", "20000", "19999"),
    ("--max-calls", "tag:request/answer=", "40", "39"),
    ("--max-calls", "tag:answer=", "40", "39"),
    ("--max-rss", "", "1G", "64K"),
]


def hold(rule, where, limit, wanted, program="alone"):
    found, text = outcome(profile(program), rule, where + limit)
    assert found == wanted, text


for rule, where, kept, broken in ALONE:
    name = f"{rule} {where}"
    claims.add(f"{name}{kept} is kept", functools.partial(hold, rule, where, kept, "ok"))
    claims.add(f"{name}{broken} is not", functools.partial(hold, rule, where, broken, "FAIL"))
claims.add("a thread has its own limit", functools.partial(hold, "--max-calls", "thread:worker=", "19", "FAIL", ""))
claims.add("which it may keep", functools.partial(hold, "--max-allocated", "thread:^worker$=", "22K", "ok", ""))


def total(path, metric):
    done = command("export", "--format", "json", path)
    return round(json.loads(done.stdout)["totals"][metric]["value"])


@claim
def the_whole_process_is_held_to_the_unit():
    metrics = {"calls": "alloc_objects", "allocated": "alloc_space", "live": "inuse_space", "blocks": "inuse_objects",
               "peak": "peak_space", "peak-blocks": "peak_objects"}
    path = profile("alone")
    for word, metric in metrics.items():
        truth = total(path, metric)
        assert outcomes(check(path, f"--max-{word}", truth, status=OK)) == ["ok"], word
        text = check(path, f"--max-{word}", truth - 1, status=FAILED)
        assert outcomes(text) == ["FAIL"], text
        assert truth < 200 or "1 byte too many" in text or " 1 too many" in text, text


@claim
def one_that_fails_fails_them_all_and_names_who_is_to_blame():
    text = check(profile("alone"), "--max-peak", "32M", "--no-leaks", status=FAILED)
    assert outcomes(text) == ["ok", "FAIL"] and text.splitlines()[-1] == "1 of 2 checks failed", text
    assert "in 50 blocks" in text and "worst: keep_session" in text, text
    assert "known.c:" in text and "(97.7 KiB)" in text, text


@claim
def nothing_is_left_by_a_tidy_program():
    text = check(profile("tidy"), "--no-leaks", "--max-never-freed", "0", "--no-suspected-leaks", status=OK)
    assert outcomes(text) == ["ok"] * 3 and text.endswith("3 checks passed\n"), text


@claim
def but_only_because_libraries_are_excused():
    text = check(profile("tidy"), "--no-leaks", "--no-default-suppressions", status=FAILED)
    assert outcomes(text) == ["FAIL"], text


@claim
def suppressions_excuse_what_they_name():
    file = written("excused", "# known\nleak:keep_session\n")
    assert outcomes(check(profile(), "--no-leaks", "--suppressions", file, status=OK)) == ["ok"]


@claim
def and_nothing_else():
    file = written("others", "leak:nobody_home\n")
    text = check(profile(), "--no-leaks", "--suppressions", file, status=FAILED)
    assert "matched nothing: leak:nobody_home" in text, text


@claim
def a_leak_is_suspected_where_one_grows():
    path = HERE / "service.plim"
    serve(path)
    text = check(path, "--no-suspected-leaks", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "worst: log_request" in text and "growing" in text, text


@claim
def a_short_run_cannot_tell():
    text = check(profile(), "--no-suspected-leaks", status=FAILED)
    assert "cannot tell" in text and "too short" in text, text


@claim
def what_is_printed_between_figure_and_limit_is_true():
    for limit, wanted in (("1000000", "≤ 977 KiB"), ("999999", "> 977 KiB"), ("1000", "> 1000 B")):
        assert wanted in check(profile("alone"), "--max-peak", f"build_table={limit}")
    assert "limit 977 KiB" in check(sampled(1), "--max-peak", "build_table=1000000")
    assert "> +5% " in check(profile("more"), "--max-allocated", f"build_table=+5%:{profile('alone')}")
    assert "limit 1 GiB" in check(profile("die"), "--max-never-freed", "1G")


@claim
def sizes_may_have_a_decimal_point():
    for limit, wanted in (("0.96M", "ok"), (".95MiB", "FAIL"), ("976.5K", "FAIL"), ("976.6k", "ok"), ("0.5G", "ok")):
        hold("--max-peak", "build_table=", limit, wanted)


# ---- what ended otherwise ----


@claim
def what_a_killed_process_would_have_freed_cannot_be_told():
    text = check(profile("die"), "--no-leaks", "--max-never-freed", "1G", status=FAILED)
    assert outcomes(text) == ["FAIL"] * 2 and "cannot tell: killed by SIGKILL" in text and "max-live" in text, text


@claim
def but_what_it_held_can():
    text = check(profile("die"), "--max-live", "keep_session=100000", status=OK)
    assert outcomes(text) == ["ok"] and "killed by SIGKILL: figures are up to then" in text, text
    check(profile("die"), "--max-live", "keep_session=99999", status=FAILED)


@claim
def a_running_process_is_asked_by_its_pid():
    settings = environment(LD_PRELOAD=RUNTIME, PLIMSOLL_SAMPLE="exact", PLIMSOLL_OUT=HERE / "running.plim")
    running = subprocess.Popen([known.KNOWN, "wait"], stdout=subprocess.PIPE, env=settings)
    try:
        running.stdout.readline()
        text = check(running.pid, "--max-live", "keep_session=100000", "--no-leaks", status=FAILED)
        assert outcomes(text) == ["ok", "FAIL"] and "so what is live may be in use" in text, text
    finally:
        running.kill()
        running.communicate()


@claim
def where_nothing_was_recorded_only_calls_are_known():
    path = profile("", "--exact", "--off")
    text = check(path, "--max-peak", "1G", "--max-calls", "100000", status=FAILED)
    assert outcomes(text) == ["FAIL", "ok"] and "cannot tell: nothing was recorded" in text, text


@claim
def losses_make_what_passes_unsure():
    path = HERE / "losses.plim"
    subprocess.run([BUILD / "tests" / "reader" / "forge", "losses", path], check=True)
    text = check(path, "--max-calls", "1000000", status=OK)
    assert outcomes(text) == ["unsure"] and "something was lost" in text, text
    check(path, "--max-calls", "1000000", "--strict", status=FAILED)


RULES = ["--max-peak", "1G", "--max-calls", "1000000", "--max-live", "keep_session=0", "--max-rss", "+9%", "--no-leaks"]


def says_nothing_of(path):
    text = check(path, *RULES, "--baseline", profile("alone"), status=FAILED)
    assert outcomes(text) == ["FAIL"] * 5 and text.count("cannot tell: the file is damaged or cut short") == 5, text
    assert "worst" not in text and "something was lost" not in text, text
    return text


@claim
def of_a_file_that_is_cut_short_nothing_can_be_told():
    whole = profile("alone").read_bytes()
    for share in (0.4, 0.6, 0.8, 1):
        path = HERE / "cut.plim"
        path.write_bytes(whole[:int(len(whole) * share) - 1])
        assert "the file is cut short: " in says_nothing_of(path)


@claim
def nor_of_one_that_is_damaged():
    """From some byte on every fortieth is another: records that make no sense, and figures that look like some."""
    content = bytearray(profile("alone").read_bytes())
    for at in range(len(content) // 3, len(content), 40):
        content[at] ^= 0xA5
    path = HERE / "damaged.plim"
    path.write_bytes(content)
    assert "from a damaged file: " in says_nothing_of(path)


@claim
def nor_of_one_with_zeros_for_sites():
    """As a disk leaves it that lost power: somewhere begin the sites, and with them what a report knows nothing of."""
    whole, path, met = profile("alone").read_bytes(), HERE / "zeros.plim", 0
    for begin in range(64 << 10, len(whole), 8 << 10):
        path.write_bytes(whole[:begin].ljust(len(whole), b"\0"))
        if "not known: no allocation was recorded" in command("report", path).stdout:
            met += 1
            text = check(path, "--max-peak", "1G", "--no-leaks", status=FAILED)
            assert outcomes(text) == ["FAIL"] * 2 and "cannot tell: nothing was recorded" in text, text
    assert met


@claim
def nor_of_what_one_was_merged_into():
    cut, path = HERE / "part.plim", HERE / "merged-cut.plim"
    cut.write_bytes(profile("more").read_bytes()[:-1])
    assert command("merge", "-q", "-f", "-o", path, profile("alone"), cut).returncode == 0
    assert "cannot tell" in check(path, "--max-peak", "1G", status=FAILED)


@claim
def nor_is_one_a_baseline():
    path = HERE / "cut-baseline.plim"
    path.write_bytes(profile("alone").read_bytes()[:-1])
    text = check(profile("alone"), "--max-growth", "900%", "--baseline", path, status=FAILED)
    assert outcomes(text) == ["FAIL"] * 4 and "of the baseline: cannot tell" in text, text


@claim
def a_merged_peak_is_called_what_it_is():
    path = HERE / "merged.plim"
    assert command("merge", "-q", "-f", "-o", path, profile("alone"), profile("more")).returncode == 0
    text = check(path, "--max-calls", "parse_line=2000", "--max-rss", "1G", status=FAILED)
    assert outcomes(text) == ["ok", "FAIL"] and "sum of their peaks" in text and "cannot tell" in text, text


# ---- places ----


@claim
def a_place_that_is_nowhere_fails_as_it_may_be_misspelt():
    for where in ("parse_lime", "tag:reqest", "thread:wroker"):
        text = check(profile(), "--max-calls", f"{where}=1000", status=FAILED)
        assert outcomes(text) == ["FAIL"] and "misspelt" in text, text


@claim
def unless_that_is_allowed():
    check(profile(), "--max-calls", "parse_lime=1000", "--allow-unmatched", status=OK)


@claim
def or_it_was_not_to_be_met():
    check(profile(), "--max-calls", "parse_lime=0", status=OK)
    check(profile(), "--max-calls", "parse_line=0", status=FAILED)


@claim
def it_is_enough_that_one_of_many_has_it():
    text = check(profile("alone"), profile(), "--max-calls", "thread:worker=1000", status=OK)
    assert outcomes(text) == ["ok", "ok"] and "not met here" in text, text


@claim
def samples_may_have_missed_a_function_but_no_tag():
    text = check(sampled(1), "--max-calls", "parse_lime=10000000", "--max-calls", "tag:reqest=1000", status=FAILED)
    assert outcomes(text) == ["unsure", "FAIL"] and "too rare to be sampled" in text, text


# ---- samples ----


@claim
def a_limit_that_is_just_kept_fails_no_more_often_than_stated():
    """Intervals of 95%: one in forty is too high. Of 12, at most 2 (p < 0.4% for 3)."""
    limits = ["--max-calls=parse_line=1000", "--max-peak=build_table=1000000", "--max-live=keep_session=100000"]
    found = [outcomes(check(sampled(seed), *limits)) for seed in SEEDS]
    failed = [sum(row[i] == "FAIL" for row in found) for i in range(3)]
    assert max(failed) <= 2, failed
    assert all(row[1] != "ok" for row in found), found


@claim
def a_limit_far_away_is_kept_or_exceeded_for_certain():
    for seed in SEEDS:
        text = check(sampled(seed), "--max-peak", "build_table=500000", "--max-peak", "build_table=2M", status=FAILED)
        assert outcomes(text) == ["FAIL", "ok"] and "sampled every 8 KiB" in text, text


@claim
def what_is_unsure_passes_and_with_strict_fails():
    text = check(sampled(1), "--max-peak", "build_table=1000000", status=OK)
    assert outcomes(text) == ["unsure"] and "within the error" in text and "1 check passed (1 unsure)" in text, text
    assert outcomes(check(sampled(1), "--max-peak", "build_table=1000000", "--strict", status=FAILED)) == ["FAIL"]


@claim
def strict_or_not_what_is_certain_stays():
    check(sampled(1), "--max-peak", "build_table=2M", "--strict", status=OK)


@claim
def one_sample_of_what_should_not_be_there_is_proof():
    for seed in SEEDS:
        text = check(sampled(seed), "--no-leaks", status=None)
        live = "keep_session" in text
        assert outcomes(text) == (["FAIL"] if live else ["unsure"]), text


@claim
def that_no_sample_is_left_proves_nothing():
    text = check(sampled(1, "tidy"), "--no-leaks", status=OK)
    assert outcomes(text) == ["unsure"] and "at most" in text, text


@claim
def calls_and_bytes_of_the_whole_are_exact_among_samples():
    path = sampled(1)
    calls = total(path, "alloc_objects")
    check(path, "--max-calls", calls, "--strict", status=OK)
    check(path, "--max-calls", calls - 1, status=FAILED)


@claim
def and_so_are_those_of_tags_and_threads():
    for where, calls in (("tag:request", 40), ("tag:request/answer", 40)):
        check(sampled(1), "--max-calls", f"{where}={calls}", "--strict", status=OK)
        check(sampled(1), "--max-calls", f"{where}={calls - 1}", status=FAILED)
    check(sampled(1), "--max-calls", "thread:worker=19", status=FAILED)


# ---- growth ----


@claim
def growth_beyond_the_limit_fails_and_names_who_grew():
    text = check(profile("more"), "--max-allocated", f"+5%:{profile('alone')}", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "+9.9% since" in text, text
    assert "worst: build_table" in text and "(+97.7 KiB)" in text, text


@claim
def growth_within_it_passes():
    text = check(profile("more"), "--max-allocated", f"+12%:{profile('alone')}", status=OK)
    assert outcomes(text) == ["ok"], text


@claim
def max_growth_is_about_four_figures():
    text = check(profile("alone"), "--max-growth", f"0%:{profile('alone')}", status=OK)
    assert outcomes(text) == ["ok"] * 4, text
    labels = [line.split()[1] for line in text.splitlines()[:4]]
    assert labels == ["peak", "live", "allocated", "calls"], text


@claim
def a_part_grows_by_itself():
    path = profile("more")
    found = outcomes(check(path, "--max-growth", f"build_table=9%:{profile('alone')}", "--baseline", path))
    assert found[2:] == ["FAIL", "FAIL"] and found[1] == "ok", found
    found = outcomes(check(path, "--max-growth", "parse_line=0", "--baseline", profile("alone"), status=OK))
    assert set(found[1:]) == {"ok"}, found


@claim
def one_baseline_does_for_all_rules():
    rules = ["--max-allocated", "+20%", "--max-calls", "+20%", "--max-rss", "+900%", "--max-never-freed", "+1%"]
    text = check(profile("more"), *rules, "--baseline", profile("alone"), status=OK)
    assert outcomes(text) == ["ok"] * 4, text


@claim
def no_growth_and_hardly_any_are_said_in_words():
    alone, crumb = profile("alone"), profile("crumb")
    text = check(alone, "--max-growth", "5%", "--max-peak", "build_table=+0%", "--baseline", alone, status=OK)
    assert text.count(f"the same as in {alone.name} (") == 5 and "%" not in text.replace("≤ +5%", "").replace(
        "≤ +0%", ""), text
    text = check(crumb, "--max-calls", f"+0%:{alone}", status=FAILED)
    assert "> +0% " in text and "up by less than 0.1% since" in text, text
    text = check(alone, "--max-calls", f"+0%:{crumb}", status=OK)
    assert "down by less than 0.1% since" in text, text


@claim
def growth_from_nothing_fails():
    text = check(profile("alone"), "--max-live", f"keep_session=+50%:{profile('tidy')}", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "0 B in" in text, text


@claim
def growth_that_may_be_noise_is_not_a_failure():
    """The same program with other seeds: nothing has grown. At most 2 of 12 fail, as above."""
    found = [outcomes(check(sampled(seed + 100), "--max-peak", f"+0%:{sampled(seed)}")) for seed in SEEDS]
    failed, unsure = found.count(["FAIL"]), found.count(["unsure"])
    assert failed <= 2 and unsure + failed >= 10, found


@claim
def what_only_the_baseline_has_is_gone_and_not_misspelt():
    text = check(profile("tidy"), "--max-live", f"keep_session=+0%:{profile('alone')}", status=OK)
    assert outcomes(text) == ["ok"] and "misspelt" not in text, text


@claim
def the_peak_of_several_threads_is_not_held_to_the_byte():
    text = check(profile(), "--max-peak", total(profile(), "peak_space"), status=OK)
    assert outcomes(text) == ["unsure"] and "several threads is known to within" in text, text


# ---- several ----


@claim
def each_profile_is_checked_by_itself():
    text = check(profile("alone"), profile("tidy"), "--no-leaks", status=FAILED)
    assert outcomes(text) == ["FAIL", "ok"] and "1 of 2 checks failed" in text, text
    assert text.index("known-alone") < text.index("FAIL") < text.index("known-tidy"), text


@claim
def quiet_shows_what_failed_only():
    text = check("-q", profile("alone"), profile("tidy"), "--no-leaks", "--max-peak", "1G", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "known-tidy" not in text, text
    assert check("-q", profile("tidy"), "--no-leaks", status=OK) == ""


@claim
def a_profile_that_cannot_be_read_fails_and_the_others_are_checked():
    text = check("nowhere.plim", profile("tidy"), "--no-leaks", status=FAILED)
    assert outcomes(text) == ["FAIL", "ok"], text
    assert "cannot be read" in text and "there is no file nowhere.plim" in text, text


if __name__ == "__main__":
    sys.exit(claims.main())
