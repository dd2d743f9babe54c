# SPDX-License-Identifier: MIT
"""junit - the file for CI servers is well-formed whatever names are in it, and agrees with the table."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

from known import FAILED, HERE, OK, check, outcomes, profile, sampled

import claims
from built import BUILD
from claims import Skip, claim

HOSTILE = BUILD / "tests" / "lib" / "hostile"


def suites(*words, status):
    """(text, suites) of a check that also writes its JUnit file."""
    path = HERE / "junit.xml"
    path.unlink(missing_ok=True)
    text = check(*words, "--junit", path, status=status)
    if not shutil.which("xmllint"):
        raise Skip("xmllint is not installed")
    done = subprocess.run(["xmllint", "--noout", path], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    root = tree.parse(path).getroot()
    assert root.tag == "testsuites", root.tag
    for suite in root:
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.get("tests")), suite.attrib
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures")), suite.attrib
        assert len(suite.findall("testcase/error")) == int(suite.get("errors")), suite.attrib
    for sum_of in ("tests", "failures", "errors"):
        assert int(root.get(sum_of)) == sum(int(suite.get(sum_of)) for suite in root), root.attrib
    return text, list(root)


@claim
def each_profile_is_a_suite_and_each_rule_a_case():
    _, found = suites(profile("alone"), profile("tidy"), "--no-leaks", "--max-calls", "parse_line=1000", status=FAILED)
    assert [suite.get("name") for suite in found] == [profile("alone").name, profile("tidy").name]
    for suite in found:
        assert [case.get("name") for case in suite] == ["no-leaks", "max-calls parse_line=1000"], suite
    assert [suite.get("failures") for suite in found] == ["1", "0"]


@claim
def a_failure_has_the_text_of_the_table():
    text, found = suites(profile("alone"), "--max-never-freed", "50K", status=FAILED)
    failure = found[0].find("testcase/failure")
    assert failure.get("type") == "max-never-freed" and failure.get("message") == failure.text, failure.attrib
    assert text.splitlines()[0].split() == ["FAIL", *failure.text.replace("KiB: in", "KiB in").split()], failure.text
    assert "worst: keep_session" in failure.text, failure.text


@claim
def an_unsure_check_is_not_a_failure_and_is_mentioned():
    _, found = suites(sampled(1), "--max-peak", "build_table=1000000", status=OK)
    assert found[0].find("testcase/failure") is None
    assert "unsure: " in found[0].find("testcase/system-out").text
    assert "sampled every 8 KiB" in found[0].find("system-out").text


@claim
def a_profile_that_cannot_be_read_is_an_error():
    _, found = suites("nowhere.plim", profile("tidy"), "--no-leaks", status=FAILED)
    assert [suite.get("errors") for suite in found] == ["1", "0"]
    assert "cannot be read" in found[0].find("testcase/error").get("message")


@claim
def hostile_names_are_escaped():
    path = HERE / "<&\"'>\x07 .plim"
    subprocess.run([HOSTILE, "names", path], check=True)
    names = ["two", "script", "amp", "escape", "UTF-8", "characters", "calc", "xxxx", "<script>", "\x1b", "]]>"]
    rules = [word for name in names for word in ("--max-calls", name.replace("[", "\\[") + "=1")]
    text, found = suites(path, *rules, "--max-calls", "tag:=1+1=5", "--no-leaks", "--allow-unmatched", status=FAILED)
    assert len(found[0].findall("testcase")) == len(names) + 2
    assert "\x07" not in text and "\x1b" not in text and max(map(len, text.splitlines())) < 1000, text
    assert any("<script>" in failure.text for failure in found[0].iter("failure"))


@claim
def a_junit_file_that_cannot_be_written_is_a_failure():
    text = check(profile("tidy"), "--no-leaks", "--junit", HERE / "nowhere" / "junit.xml", status=FAILED)
    assert outcomes(text) == ["ok"] and "cannot write" in text and "No such file or directory" in text, text


@claim
def a_full_disk_is_a_failure():
    text = check(profile("tidy"), "--no-leaks", "--junit", "/dev/full", status=FAILED)
    assert "cannot write /dev/full" in text, text


if __name__ == "__main__":
    sys.exit(claims.main())
