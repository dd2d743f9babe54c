# SPDX-License-Identifier: MIT
"""limits - a check passes if its limit is kept, fails if not, and reports what cannot be decided."""

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

# What programs/known.c does without its thread: rule, place, the smallest limit that is kept, the largest that is not.
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
    claims.add(f"{name}{kept} passes", functools.partial(hold, rule, where, kept, "ok"))
    claims.add(f"{name}{broken} fails", functools.partial(hold, rule, where, broken, "FAIL"))
claims.add("a limit of a thread can fail", functools.partial(hold, "--max-calls", "thread:worker=", "19", "FAIL", ""))
claims.add("a limit of a thread can pass",
           functools.partial(hold, "--max-allocated", "thread:^worker$=", "22K", "ok", ""))


def total(path, metric):
    done = command("export", "--format", "json", path)
    return round(json.loads(done.stdout)["totals"][metric]["value"])


@claim
def limits_of_the_whole_process_are_exact():
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
def one_failing_rule_fails_the_check_and_names_the_worst_site():
    text = check(profile("alone"), "--max-peak", "32M", "--no-leaks", status=FAILED)
    assert outcomes(text) == ["ok", "FAIL"] and text.splitlines()[-1] == "1 of 2 checks failed", text
    assert "in 50 blocks" in text and "worst: keep_session" in text, text
    assert "known.c:" in text and "(97.7 KiB)" in text, text


@claim
def a_program_that_frees_everything_passes():
    text = check(profile("tidy"), "--no-leaks", "--max-never-freed", "0", "--no-suspected-leaks", status=OK)
    assert outcomes(text) == ["ok"] * 3 and text.endswith("3 checks passed\n"), text


@claim
def without_default_suppressions_blocks_of_libraries_fail():
    text = check(profile("tidy"), "--no-leaks", "--no-default-suppressions", status=FAILED)
    assert outcomes(text) == ["FAIL"], text


@claim
def suppressions_exclude_the_sites_that_they_match():
    file = written("excused", "# known\nleak:keep_session\n")
    assert outcomes(check(profile(), "--no-leaks", "--suppressions", file, status=OK)) == ["ok"]


@claim
def suppressions_exclude_no_other_sites():
    file = written("others", "leak:nobody_home\n")
    text = check(profile(), "--no-leaks", "--suppressions", file, status=FAILED)
    assert "matched nothing: leak:nobody_home" in text, text


@claim
def a_growing_leak_is_suspected():
    path = HERE / "service.plim"
    serve(path)
    text = check(path, "--no-suspected-leaks", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "worst: log_request" in text and "growing" in text, text


@claim
def a_short_run_is_too_short_for_suspected_leaks():
    text = check(profile(), "--no-suspected-leaks", status=FAILED)
    assert "cannot tell" in text and "too short" in text, text


@claim
def the_comparison_between_figure_and_limit_is_printed_correctly():
    for limit, wanted in (("1000000", "≤ 977 KiB"), ("999999", "> 977 KiB"), ("1000", "> 1000 B")):
        assert wanted in check(profile("alone"), "--max-peak", f"build_table={limit}")
    assert "limit 977 KiB" in check(sampled(1), "--max-peak", "build_table=1000000")
    assert "> +5% " in check(profile("more"), "--max-allocated", f"build_table=+5%:{profile('alone')}")
    assert "limit 1 GiB" in check(profile("die"), "--max-never-freed", "1G")


@claim
def sizes_may_have_a_decimal_point():
    for limit, wanted in (("0.96M", "ok"), (".95MiB", "FAIL"), ("976.5K", "FAIL"), ("976.6k", "ok"), ("0.5G", "ok")):
        hold("--max-peak", "build_table=", limit, wanted)


# ---- killed, running and damaged profiles ----


@claim
def leaks_of_a_killed_process_cannot_be_decided():
    text = check(profile("die"), "--no-leaks", "--max-never-freed", "1G", status=FAILED)
    assert outcomes(text) == ["FAIL"] * 2 and "cannot tell: killed by SIGKILL" in text and "max-live" in text, text


@claim
def live_blocks_of_a_killed_process_can_be_checked():
    text = check(profile("die"), "--max-live", "keep_session=100000", status=OK)
    assert outcomes(text) == ["ok"] and "killed by SIGKILL: figures are as of then" in text, text
    check(profile("die"), "--max-live", "keep_session=99999", status=FAILED)


@claim
def a_running_process_can_be_checked_by_its_pid():
    settings = environment(LD_PRELOAD=RUNTIME, PLIMSOLL_SAMPLE="exact", PLIMSOLL_OUT=HERE / "running.plim")
    running = subprocess.Popen([known.KNOWN, "wait"], stdout=subprocess.PIPE, env=settings)
    try:
        running.stdout.readline()
        text = check(running.pid, "--max-live", "keep_session=100000", "--no-leaks", status=FAILED)
        assert outcomes(text) == ["ok", "FAIL"] and "so live blocks may be in use" in text, text
    finally:
        running.kill()
        running.communicate()


@claim
def without_recorded_allocations_only_calls_can_be_checked():
    path = profile("", "--exact", "--off")
    text = check(path, "--max-peak", "1G", "--max-calls", "100000", status=FAILED)
    assert outcomes(text) == ["FAIL", "ok"] and "cannot tell: nothing was recorded" in text, text


@claim
def losses_make_passing_checks_unsure():
    path = HERE / "losses.plim"
    subprocess.run([BUILD / "tests" / "reader" / "forge", "losses", path], check=True)
    text = check(path, "--max-calls", "1000000", status=OK)
    assert outcomes(text) == ["unsure"] and "the profile has losses" in text, text
    check(path, "--max-calls", "1000000", "--strict", status=FAILED)


RULES = ["--max-peak", "1G", "--max-calls", "1000000", "--max-live", "keep_session=0", "--max-rss", "+9%", "--no-leaks"]


def says_nothing_of(path):
    text = check(path, *RULES, "--baseline", profile("alone"), status=FAILED)
    assert outcomes(text) == ["FAIL"] * 5 and text.count("cannot tell: the file is damaged or truncated") == 5, text
    assert "worst" not in text and "the profile has losses" not in text, text
    return text


@claim
def checks_of_a_truncated_file_cannot_be_decided():
    whole = profile("alone").read_bytes()
    for share in (0.4, 0.6, 0.8, 1):
        path = HERE / "cut.plim"
        path.write_bytes(whole[:int(len(whole) * share) - 1])
        assert "the file is truncated: " in says_nothing_of(path)


@claim
def checks_of_a_damaged_file_cannot_be_decided():
    """From one third on every fortieth byte is changed: some records are invalid, some figures look plausible."""
    content = bytearray(profile("alone").read_bytes())
    for at in range(len(content) // 3, len(content), 40):
        content[at] ^= 0xA5
    path = HERE / "damaged.plim"
    path.write_bytes(content)
    assert "from a damaged file: " in says_nothing_of(path)


@claim
def checks_of_a_file_with_zeros_instead_of_sites_cannot_be_decided():
    """A disk that lost power leaves such files. If the zeros begin before the sites, reports know no allocation."""
    whole, path, met = profile("alone").read_bytes(), HERE / "zeros.plim", 0
    for begin in range(64 << 10, len(whole), 8 << 10):
        path.write_bytes(whole[:begin].ljust(len(whole), b"\0"))
        if "not known: no allocation was recorded" in command("report", path).stdout:
            met += 1
            text = check(path, "--max-peak", "1G", "--no-leaks", status=FAILED)
            assert outcomes(text) == ["FAIL"] * 2 and "cannot tell: nothing was recorded" in text, text
    assert met


@claim
def checks_of_a_sum_with_a_truncated_part_cannot_be_decided():
    cut, path = HERE / "part.plim", HERE / "merged-cut.plim"
    cut.write_bytes(profile("more").read_bytes()[:-1])
    assert command("merge", "-q", "-f", "-o", path, profile("alone"), cut).returncode == 0
    assert "cannot tell" in check(path, "--max-peak", "1G", status=FAILED)


@claim
def checks_against_a_truncated_baseline_cannot_be_decided():
    path = HERE / "cut-baseline.plim"
    path.write_bytes(profile("alone").read_bytes()[:-1])
    text = check(profile("alone"), "--max-growth", "900%", "--baseline", path, status=FAILED)
    assert outcomes(text) == ["FAIL"] * 4 and "baseline: cannot tell" in text, text


@claim
def a_merged_peak_is_called_a_sum_of_peaks():
    path = HERE / "merged.plim"
    assert command("merge", "-q", "-f", "-o", path, profile("alone"), profile("more")).returncode == 0
    text = check(path, "--max-calls", "parse_line=2000", "--max-rss", "1G", status=FAILED)
    assert outcomes(text) == ["ok", "FAIL"] and "sum of their peaks" in text and "cannot tell" in text, text


# ---- places ----


@claim
def a_place_that_matches_nothing_fails_because_it_may_be_misspelt():
    for where in ("parse_lime", "tag:reqest", "thread:wroker"):
        text = check(profile(), "--max-calls", f"{where}=1000", status=FAILED)
        assert outcomes(text) == ["FAIL"] and "misspelt" in text, text


@claim
def allow_unmatched_accepts_a_place_that_matches_nothing():
    check(profile(), "--max-calls", "parse_lime=1000", "--allow-unmatched", status=OK)


@claim
def a_limit_of_zero_accepts_a_place_that_matches_nothing():
    check(profile(), "--max-calls", "parse_lime=0", status=OK)
    check(profile(), "--max-calls", "parse_line=0", status=FAILED)


@claim
def a_place_needs_to_match_in_only_one_of_several_profiles():
    text = check(profile("alone"), profile(), "--max-calls", "thread:worker=1000", status=OK)
    assert outcomes(text) == ["ok", "ok"] and "no match here" in text, text


@claim
def an_unmatched_function_is_unsure_in_a_sampled_profile_and_an_unmatched_tag_fails():
    text = check(sampled(1), "--max-calls", "parse_lime=10000000", "--max-calls", "tag:reqest=1000", status=FAILED)
    assert outcomes(text) == ["unsure", "FAIL"] and "too rare to be sampled" in text, text


# ---- samples ----


@claim
def a_limit_that_is_just_kept_fails_no_more_often_than_the_interval_allows():
    """Of the 95% intervals one in forty is too high. Of 12, at most 2 may be (p < 0.4% for 3)."""
    limits = ["--max-calls=parse_line=1000", "--max-peak=build_table=1000000", "--max-live=keep_session=100000"]
    found = [outcomes(check(sampled(seed), *limits)) for seed in SEEDS]
    failed = [sum(row[i] == "FAIL" for row in found) for i in range(3)]
    assert max(failed) <= 2, failed
    assert all(row[1] != "ok" for row in found), found


@claim
def a_limit_far_from_the_figure_passes_or_fails_with_certainty():
    for seed in SEEDS:
        text = check(sampled(seed), "--max-peak", "build_table=500000", "--max-peak", "build_table=2M", status=FAILED)
        assert outcomes(text) == ["FAIL", "ok"] and "sampled every 8 KiB" in text, text


@claim
def an_unsure_check_passes_and_fails_with_strict():
    text = check(sampled(1), "--max-peak", "build_table=1000000", status=OK)
    assert outcomes(text) == ["unsure"] and "within the error" in text and "1 check passed (1 unsure)" in text, text
    assert outcomes(check(sampled(1), "--max-peak", "build_table=1000000", "--strict", status=FAILED)) == ["FAIL"]


@claim
def strict_does_not_change_certain_results():
    check(sampled(1), "--max-peak", "build_table=2M", "--strict", status=OK)


@claim
def one_live_sample_proves_a_leak():
    proofs = 0
    for seed in SEEDS:
        text = check(sampled(seed), "--no-leaks", status=None)
        live = "keep_session" in text
        proofs += live
        assert outcomes(text) == (["FAIL"] if live else ["unsure"]), text
    assert proofs, "no run has a live sample, so nothing was tested"


@claim
def no_live_sample_does_not_prove_that_nothing_leaked():
    text = check(sampled(1, "tidy"), "--no-leaks", status=OK)
    assert outcomes(text) == ["unsure"] and "at most" in text, text


@claim
def calls_of_the_whole_process_are_exact_in_a_sampled_profile():
    path = sampled(1)
    calls = total(path, "alloc_objects")
    check(path, "--max-calls", calls, "--strict", status=OK)
    check(path, "--max-calls", calls - 1, status=FAILED)


@claim
def calls_of_tags_and_threads_are_exact_in_a_sampled_profile():
    for where, calls in (("tag:request", 40), ("tag:request/answer", 40)):
        check(sampled(1), "--max-calls", f"{where}={calls}", "--strict", status=OK)
        check(sampled(1), "--max-calls", f"{where}={calls - 1}", status=FAILED)
    check(sampled(1), "--max-calls", "thread:worker=19", status=FAILED)


# ---- growth ----


@claim
def growth_beyond_the_limit_fails_and_names_the_site():
    text = check(profile("more"), "--max-allocated", f"+5%:{profile('alone')}", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "+9.9% vs" in text, text
    assert "worst: build_table" in text and "(+97.7 KiB)" in text, text


@claim
def growth_within_the_limit_passes():
    text = check(profile("more"), "--max-allocated", f"+12%:{profile('alone')}", status=OK)
    assert outcomes(text) == ["ok"], text


@claim
def max_growth_checks_four_figures():
    text = check(profile("alone"), "--max-growth", f"0%:{profile('alone')}", status=OK)
    assert outcomes(text) == ["ok"] * 4, text
    labels = [line.split()[1] for line in text.splitlines()[:4]]
    assert labels == ["peak", "live", "allocated", "calls"], text


@claim
def max_growth_can_be_limited_to_a_site():
    path = profile("more")
    found = outcomes(check(path, "--max-growth", f"build_table=9%:{profile('alone')}", "--baseline", path))
    assert found[2:] == ["FAIL", "FAIL"] and found[1] == "ok", found
    found = outcomes(check(path, "--max-growth", "parse_line=0", "--baseline", profile("alone"), status=OK))
    assert set(found[1:]) == {"ok"}, found


@claim
def one_baseline_serves_all_rules():
    rules = ["--max-allocated", "+20%", "--max-calls", "+20%", "--max-rss", "+900%", "--max-never-freed", "+1%"]
    text = check(profile("more"), *rules, "--baseline", profile("alone"), status=OK)
    assert outcomes(text) == ["ok"] * 4, text


@claim
def no_growth_and_tiny_growth_are_described_in_words():
    alone, crumb = profile("alone"), profile("crumb")
    text = check(alone, "--max-growth", "5%", "--max-peak", "build_table=+0%", "--baseline", alone, status=OK)
    assert text.count(f"the same as in {alone.name} (") == 5 and "%" not in text.replace("≤ +5%", "").replace(
        "≤ +0%", ""), text
    text = check(crumb, "--max-calls", f"+0%:{alone}", status=FAILED)
    assert "> +0% " in text and "up by less than 0.1% vs" in text, text
    text = check(alone, "--max-calls", f"+0%:{crumb}", status=OK)
    assert "down by less than 0.1% vs" in text, text


@claim
def growth_from_zero_fails():
    text = check(profile("alone"), "--max-live", f"keep_session=+50%:{profile('tidy')}", status=FAILED)
    assert outcomes(text) == ["FAIL"] and "0 B in" in text, text


@claim
def growth_within_noise_is_not_a_failure():
    """The same program with other seeds has not grown. At most 2 of 12 may fail, as above."""
    found = [outcomes(check(sampled(seed + 100), "--max-peak", f"+0%:{sampled(seed)}")) for seed in SEEDS]
    failed, unsure = found.count(["FAIL"]), found.count(["unsure"])
    assert failed <= 2 and unsure + failed >= 10, found


@claim
def a_site_that_only_the_baseline_has_is_not_called_misspelt():
    text = check(profile("tidy"), "--max-live", f"keep_session=+0%:{profile('alone')}", status=OK)
    assert outcomes(text) == ["ok"] and "misspelt" not in text, text


@claim
def the_peak_of_several_threads_is_unsure_within_its_margin():
    text = check(profile(), "--max-peak", total(profile(), "peak_space"), status=OK)
    assert outcomes(text) == ["unsure"] and "several threads is known to within" in text, text


# ---- several profiles ----


@claim
def each_profile_is_checked_by_itself():
    text = check(profile("alone"), profile("tidy"), "--no-leaks", status=FAILED)
    assert outcomes(text) == ["FAIL", "ok"] and "1 of 2 checks failed" in text, text
    assert text.index("known-alone") < text.index("FAIL") < text.index("known-tidy"), text


@claim
def quiet_prints_only_failures():
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
