# SPDX-License-Identifier: MIT
"""claims - a test file is a list of claims; running it prints TAP.

A claim is a sentence and a function. The function raises if the sentence is not true, raises Skip if it cannot be
tested here, and may say() what helps to understand a failure. The sentence is the function's name. Where claims are
made in a loop, it is given:

    @claim
    def the_profile_of_a_killed_process_opens(): ...

    for program in PROGRAMS:
        claims.add(f"{program} behaves as without us", functools.partial(check, program))

usage of every test file: FILE.py [WORD...]     only the claims with all of these words in them
"""

import os
import sys
import time
import traceback

LINE_MAX = 1000
made = []


class Skip(Exception):
    """Something that the claim needs is missing on this machine."""


def unable():
    """Claims that cannot be tested here, with the reasons: lines "WORDS: REASON" of the files CLAIMS_UNABLE."""
    paths = os.environ.get("CLAIMS_UNABLE", "").split(":")
    lines = [line for path in paths if path for line in open(path, encoding="utf-8").read().splitlines()]
    return [line.split(": ", 1) for line in lines if ": " in line and not line.startswith("#")]


def add(sentence, function):
    made.append((sentence, function))


def claim(function):
    add(function.__name__.replace("_", " "), function)
    return function


def say(text):
    for line in str(text).splitlines():
        print("#", line if len(line) < LINE_MAX else line[:LINE_MAX] + " ...", flush=True)


def expect(problems, said=""):
    """Fails with the first problems of the list, if there are any."""
    problems = list(problems)
    assert not problems, "\n".join([f"{len(problems)} problems {said}:", *problems[:12]])


def attempt(sentence, function):
    """The TAP result of one claim: verdict and text."""
    try:
        for words, reason in unable():
            if sentence.startswith(words):
                raise Skip(reason)
        function()
        return "ok", sentence
    except Skip as reason:
        return "ok", f"{sentence} # SKIP {reason}"
    except Exception:
        say(traceback.format_exc())
        return "not ok", sentence


def main(words=None):
    words = sys.argv[1:] if words is None else words
    chosen = [(sentence, function) for sentence, function in made if all(word in sentence for word in words)]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (sentence, function) in enumerate(chosen, 1):
        begin = time.monotonic()
        verdict, text = attempt(sentence, function)
        failed += verdict != "ok"
        print(verdict, number, "-", text, flush=True)
        if os.environ.get("CLAIMS_TIMES"):
            say(f"{time.monotonic() - begin:.2f} s")
    return 1 if failed else 0
