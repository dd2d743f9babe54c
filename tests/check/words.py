# SPDX-License-Identifier: MIT
"""words - rules as people write them, on the command line and in files, right and wrong; and what the documents say."""

import functools
import re
import shlex
import sys

from known import FAILED, HERE, OK, USAGE, check, command, outcomes, profile, written

import claims
from built import PLIMSOLL, SOURCE
from claims import claim

# What is typed -> the message.
WRONG = {
    ("--max-peak", "12Q"): "--max-peak 12Q: not a size; use bytes with K, M or G",
    ("--max-peak", "-1"): "--max-peak -1: not a size",
    ("--max-peak", ""): "--max-peak : it needs a limit: max-peak [WHERE=]SIZE",
    ("--max-peak", "99999999999999999999"): "too large",
    ("--max-peak", "6.5"): "--max-peak 6.5: not a size; with a decimal point it needs a unit, for example 6.5M",
    ("--max-peak", "6.M"): "--max-peak 6.M: not a size",
    ("--max-peak", "1.5.5M"): "--max-peak 1.5.5M: not a size",
    ("--max-peak", "1.5e3M"): "--max-peak 1.5e3M: not a size",
    ("--max-peak", "9000000.5G"): "--max-peak 9000000.5G: too large; the maximum is 8 PiB",
    ("--max-calls", "1.5"): "--max-calls 1.5: not a number",
    ("--max-calls", "1000M"): "--max-calls 1000M: not a number",
    ("--max-calls", "parse=x"): "--max-calls parse=x: not a number",
    ("--max-calls", "parse="): "--max-calls parse=: not a number",
    ("--max-calls", "parse_(=5"): "use a POSIX extended regular expression",
    ("--max-calls", "thread:w(=5"): "use a POSIX extended regular expression",
    ("--max-calls", "=5"): "no name before the `=`",
    ("--max-calls", "tag:=5"): "no name before the `=`",
    ("--max-rss", "main=5M"): "--max-rss main=5M: it applies only to the whole process: max-rss SIZE",
    ("--max-temporary", "160%"): "--max-temporary 160%: too large; use a number from 0 to 100",
    ("--max-temporary", "+5%:a.plim"): "a share is not compared with a baseline",
    ("--max-peak", "+5%"): "no baseline to compare with; name one, as in +5%:main.plim, or add --baseline FILE",
    ("--max-peak", "+x%:a.plim"): "--max-peak +x%:a.plim: not a percentage",
    ("--max-peak", "+5%a.plim"): "only a colon and a profile may follow the percentage",
    ("--max-growth", "5%"): "plimsoll: max-growth 5%: no baseline to compare with",
    ("--max-growth", "parse=5%"): "plimsoll: max-growth parse=5%: no baseline to compare with",
    ("--max-growth", "a.plim"): "--max-growth a.plim: not a percentage",
    ("--max-growth", "5%:"): "only a colon and a profile may follow the percentage",
    ("--no-leaks=1",): "--no-leaks takes no value",
    ("--max-peek", "1M"): "did you mean --max-peak?",
    (): "check needs a rule",
}


def refuse(words, said):
    text = check(profile(), *words, status=USAGE)
    assert said in text and not outcomes(text) and len(text.splitlines()) == 1, text


for words, said in WRONG.items():
    claims.add(f"check {' '.join(words)} is refused with a reason", functools.partial(refuse, words, said))


@claim
def check_without_a_profile_is_refused():
    assert "check needs a FILE or a PID" in check("--max-peak", "1M", status=USAGE)


@claim
def a_missing_baseline_is_reported_with_its_rule():
    text = check(profile(), "--max-peak", "+5%:nowhere.plim", status=FAILED)
    assert "there is no file nowhere.plim" in text and "max-peak +5%:nowhere.plim" in text and not outcomes(text), text
    text = check(profile(), "--max-growth", "5%:nowhere.plim", status=FAILED)
    assert "max-growth 5%:nowhere.plim: cannot read the baseline" in text and "max-peak" not in text, text


@claim
def a_missing_baseline_is_reported_even_if_no_rule_uses_it():
    text = check(profile(), "--max-peak", "1G", "--baseline", "nowhere.plim", status=FAILED)
    assert "--baseline nowhere.plim: cannot read the baseline" in text and not outcomes(text), text


@claim
def a_file_has_the_same_rules_in_the_same_words():
    rules = written("rules", "# limits\n\nmax-peak 200M   # generous\n\t--max-calls  parse_line=1000\nno-leaks\r\n")
    text = check(profile(), "--rules", rules, status=FAILED)
    assert outcomes(text) == ["ok", "ok", "FAIL"], text
    same = check(profile(), "--max-peak", "200M", "--max-calls", "parse_line=1000", "--no-leaks", status=FAILED)
    assert text == same, text + same


@claim
def rules_of_several_files_and_options_all_apply():
    one, other = written("one", "max-peak 200M\n"), written("other", "max-calls 5\n")
    text = check(profile(), "--rules", one, "-r", other, "--max-rss", "1G", status=FAILED)
    assert sorted(outcomes(text)) == ["FAIL", "ok", "ok"], text


BAD_LINES = {
    "max-peek 5M": "max-peek 5M: no such rule; did you mean max-peak?",
    "frobnicate": f"frobnicate: no such rule; `{shlex.quote(str(PLIMSOLL))} help check` lists them",
    "max-peak": "max-peak: it needs a limit: max-peak [WHERE=]SIZE",
    "max-peak = 5M": "max-peak = 5M: not a size",
    "max-peak 12Q": "max-peak 12Q: not a size; use bytes with K, M or G",
    "no-leaks please": "no-leaks please: it takes no value",
    "max-calls a(=5": "regular expression",
    "max-peak 5M\0": "not a text file",
}


def refuse_line(line, said):
    rules = written("bad", f"# first\nmax-calls 5\n\n{line}\n")
    text = check(profile(), "--rules", rules, status=USAGE)
    assert f"bad:4: {said}" in text or (f"bad:4: " in text and said in text), text


for line, said in BAD_LINES.items():
    claims.add(f"a file with the line {line!r} is refused with its number", functools.partial(refuse_line, line, said))


@claim
def a_file_without_rules_is_refused():
    assert "contains no rules" in check(profile(), "--rules", written("void", "# later\n"), status=USAGE)


@claim
def a_missing_file_of_rules_is_a_failure():
    assert "cannot read rules from" in check(profile(), "--rules", HERE / "nowhere", status=FAILED)


@claim
def expressions_may_contain_equals_signs_and_colons():
    rules = ["--max-calls", "operator==|parse_line=1000", "--max-calls", "tag::push|parse_line=1000"]
    assert outcomes(check(profile(), *rules, status=OK)) == ["ok", "ok"]


@claim
def file_names_may_contain_equals_signs_and_colons():
    (HERE / "a=1.plim").write_bytes(profile("alone").read_bytes())
    assert outcomes(check(profile("alone"), "--max-calls", "+0%:a=1.plim", status=OK)) == ["ok"]


@claim
def every_rule_is_explained():
    text = (SOURCE / "docs" / "check.md").read_text()
    rules = set(re.findall(r"--(max-[a-z-]+|no-(?:(?:suspected-)?leaks|lost))\b", command("help", "check").stdout))
    assert len(rules) == 14, rules
    missing = {rule for rule in rules if f"`{rule}" not in text}
    assert not missing, missing


if __name__ == "__main__":
    sys.exit(claims.main())
