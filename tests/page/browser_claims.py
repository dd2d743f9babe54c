# SPDX-License-Identifier: MIT
"""browser_claims - tests the page as people use it: opens real reports in chromium, clicks and types.

The claims are in the *.mjs files of this directory; run.mjs checks them all in one browser. This program makes the
profiles (browser_profiles.py), starts run.mjs and reports its results as TAP.
"""

import atexit
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import browser  # noqa: E402
import browser_profiles  # noqa: E402
import claims  # noqa: E402
from built import environment  # noqa: E402
from claims import Skip, say  # noqa: E402

RUNNER = HERE / "run.mjs"


def list_claims():
    """(sentences, None), or (None, the reason to skip all)."""
    try:
        browser.needed()
    except Skip as reason:
        return None, reason
    listed = subprocess.run(["node", RUNNER, "--list"], capture_output=True, text=True, check=True)
    return json.loads(listed.stdout), None


class Trial:
    """A running run.mjs, which prints a line for each claim as soon as it has checked it."""

    def __init__(self, words):
        self.directory = Path(tempfile.mkdtemp(prefix="plimsoll-page."))
        atexit.register(shutil.rmtree, self.directory, ignore_errors=True)
        plan = self.directory / "plan.json"
        plan.write_text(json.dumps(browser_profiles.make(self.directory), default=str))
        self.process = subprocess.Popen(["node", RUNNER, plan, *words], stdout=subprocess.PIPE, text=True,
                                        env=environment(), stdin=subprocess.DEVNULL)
        self.found = {}

    def verdict(self, sentence):
        while sentence not in self.found:
            line = self.process.stdout.readline()
            assert line, f"run.mjs ended with status {self.process.wait()} before it checked this"
            result = json.loads(line)
            self.found[result["sentence"]] = result
        return self.found[sentence]


@functools.cache
def trial():
    return Trial(sys.argv[1:])


def check(sentence):
    result = trial().verdict(sentence)
    if result["failure"] is not None:
        say(result["failure"])
        raise AssertionError(result["failure"].splitlines()[0])


def skip(reason):
    raise reason


def main():
    sentences, reason = list_claims()
    if reason:
        claims.add("the page in a browser", functools.partial(skip, reason))
    for sentence in sentences or []:
        claims.add(sentence, functools.partial(check, sentence))
    return claims.main()


if __name__ == "__main__":
    sys.exit(main())
