# SPDX-License-Identifier: MIT
"""stacks - the stacks of a profile, from its JSON export, as other formats should have them.

A stack is a tuple of frames, outermost first. Frames are {"name", "file", "line"}, or the result of `of` for them.
"""

import itertools
import posixpath
import re
from collections import Counter

import exporting

NO_ROOM = "(no room in the file for this stack)"
OTHER_SIZES = "(other sizes)"
ALLOCATOR_DEPTH = 12


def visible(text):
    """What a text becomes where control characters are not allowed: label.h, as the documentation describes it."""
    text = re.sub(r"[\0-\x1f]", lambda match: chr(0x2400 + ord(match[0])), text).replace("\x7f", "\u2421")
    return re.sub("[\x80-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]", "\ufffd", text)


def straight(path):
    """A path without "..". glibc has some directories twice: ./elf/./elf/dl-init.c."""
    path = re.sub(r"^(\./)*", "", re.sub(r"^(\./.*?/)(?=\1)", "", path))
    return posixpath.normpath(path) if re.search(r"/\.\.?/", path) else path


def frame(whole, number):
    one = whole["frames"][number]
    module = whole["modules"][one["module"]]["path"]
    name = one["function"] or f"{module.rsplit('/', 1)[-1]}+{one['address']}"
    return {"name": name, "file": straight(one["file"]), "line": one["line"], "module": module}


def calls(whole, stack):
    """The frames of a stack by call: a function with everything that was inlined into it."""
    found = [[]]
    for number in stack:
        found[-1].append(number)
        if not whole["frames"][number]["inlined"]:
            found.append([])
    return [call for call in found if call]


def demanding(whole, stack):
    """The frames of a stack, innermost first, without allocator wrappers."""
    def hands_on(number):
        return whole["frames"][number].get("allocator", False)

    found = calls(whole, stack)
    skip = max((i + 1 for i, call in enumerate(found[:-1][:ALLOCATOR_DEPTH]) if all(map(hands_on, call))), default=0)
    for call in found[skip:]:
        own = [*itertools.dropwhile(hands_on, call)]
        yield from own or call


def lines(whole, site):
    """The frames of a site, outermost first."""
    if site["stack"] is None:
        name = OTHER_SIZES if site["other_sizes"] else NO_ROOM
        return [{"name": name, "file": "", "line": 0, "module": ""}]
    return [frame(whole, number) for number in demanding(whole, whole["stacks"][site["stack"]])][::-1]


def weights(profile, metric, of, *options, before=lambda whole, site: ()):
    """{(of(frame), ...): its figure}, without stacks whose figure is 0. `before` gives the frames before a stack."""
    whole, found = exporting.as_json(profile, *options), Counter()
    for site in whole["sites"]:
        key = (*before(whole, site), *map(of, lines(whole, site)))
        found[key] += exporting.figures(site)[metric]
    return {key: value for key, value in found.items() if value}


def tags(whole, site):
    """The names of a site's tags, outermost first, as --by tag has them."""
    names, tag = [], site["tag"]
    while whole["tags"][tag]["parent"] is not None and tag:
        names.insert(0, whole["tags"][tag]["name"] or '""')
        tag = whole["tags"][tag]["parent"]
    return names or ["(no tag)"]


def thread_and_tags(whole, site):
    return [whole["threads"][site["thread"]]["name"] or "(no name)", *tags(whole, site)]


def differ(found, wanted):
    """The differences of {stack: figure}, one line each."""
    for key in wanted.keys() | found.keys():
        if found.get(key) != wanted.get(key):
            yield f"{found.get(key)}, not {wanted.get(key)}: {key}"
