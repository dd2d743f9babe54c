# SPDX-License-Identifier: MIT
"""collapsed - collapsed stacks, read by flamegraph.pl, by speedscope, and by a parser that is stricter than both.

The tooltips of flamegraph.pl's picture have the figures: "main (1,234 bytes, 56.7%)".
"""

import functools
import re
import sys
import xml.etree.ElementTree
from collections import Counter

import exporting
import stacks
from browser import browse
from claims import add, claim, expect, main
from exporting import HERE, METRICS, PROFILES, WORDS

FLAMEGRAPH = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"  # where Debian installs it
TITLE = "{http://www.w3.org/2000/svg}title"
TOOLTIP = re.compile(r"(.*) \(([\d,]+) bytes, ([\d.]+)%(?:; ([+-]?[\d.]+)%)?\)")


@functools.cache
def written(profile, *options):
    return exporting.export(profile, "collapsed", *options).decode()


def parse(text, figures=1):
    """{stack: figure, or (before, now)}. A line is a stack, a blank and a whole number, or two of those."""
    found = {}
    for line in text.split("\n")[:-1]:
        match = re.fullmatch(r"(.+)" + r" (\d+)" * figures, line)
        assert match, f"not a line: {line!r}"
        assert line.splitlines() == [line] and line.isprintable(), f"control characters: {line!r}"
        stack, values = tuple(match[1].split(";")), [int(value) for value in match.groups()[1:]]
        assert all(name and name == name.strip() for name in stack), f"names with blanks around them: {line!r}"
        assert not re.search(r"\s\d+(\.\d*)?$", match[1]), f"a stack that ends in a number: {line!r}"
        assert any(values), f"nothing: {line!r}"
        found[stack] = [a + b for a, b in zip(found.get(stack, [0] * figures), values)]
    assert not text or text.endswith("\n")
    return {stack: values[0] if figures == 1 else tuple(values) for stack, values in found.items()}


def tame(text):
    """What a name becomes, as the documentation describes it."""
    text = re.sub(r"[^\S ]|\ufeff", "_", stacks.visible(text)).replace(";", ":")
    text = re.sub(r"^ | $", "_", text)
    return re.sub(r" ([\d.]+)$", r"_\1", text)


def wanted(profile, metric, *options, **more):
    return stacks.weights(profile, metric, lambda frame: tame(frame["name"]), *options, **more)


# ---- other programs that read it ----


def flamegraph(text, name):
    """[(function, bytes, percent, change)] of the boxes in flamegraph.pl's picture. The first box is the total."""
    path = exporting.place() / f"{name}.collapsed"
    path.write_text(text)
    program = ("perl", "-CSD", exporting.tool("flamegraph.pl", FLAMEGRAPH))
    done = exporting.run(*program, "--countname", "bytes", "--minwidth", "0", path)
    assert not done.stderr, done.stderr.decode()
    titles = xml.etree.ElementTree.fromstring(done.stdout).iter(TITLE)
    boxes = [TOOLTIP.fullmatch(title.text).groups() for title in titles]
    boxes.sort(key=lambda box: box[0] != "all")
    return [(box[0], int(box[1].replace(",", "")), *box[2:]) for box in boxes]


def check(profile):
    for metric in METRICS:
        found = parse(written(profile(), "--metric", WORDS[metric]))
        expect(stacks.differ(found, wanted(profile(), metric)), metric)
        exporting.same({metric: sum(found.values())}, exporting.totals(profile()))


def check_flamegraph(profile):
    text = written(profile(), "--metric", "allocated")
    boxes = flamegraph(text, profile.__name__)
    assert boxes[0][:3] == ("all", exporting.totals(profile())["alloc_space"], "100"), boxes[0]
    leaves = Counter(name.replace("<", "(").replace(">", ")") for stack in parse(text) for name in stack)
    expect([f"{name!r} is not in the picture" for name in leaves - Counter({box[0]: 1e9 for box in boxes})])


def check_speedscope(profile):
    path = exporting.place() / f"{profile.__name__}.collapsed.txt"
    path.write_text(written(profile(), "--metric", "live"))
    (file,) = browse(HERE / "speedscope.mjs", path)
    (one,) = file["profiles"]
    exporting.same({"inuse_space": one["endValue"]}, exporting.totals(profile()))
    names = {name for stack in parse(path.read_text()) for name in stack}
    assert {frame["name"] for frame in file["shared"]["frames"]} == names


for what, profile in PROFILES.items():
    add(f"every line of {what} is a stack and its figure, for each metric", functools.partial(check, profile))
    add(f"flamegraph.pl draws all of {what}", functools.partial(check_flamegraph, profile))
add("speedscope reads hostile names from collapsed stacks", functools.partial(check_speedscope, exporting.hostile))


@claim
def other_kinds_of_blanks_do_not_separate_a_figure():
    for blank in ("\u00a0", "\u2003", "\u3000", "\ufeff"):
        name = f"{'ends in a number '[: -len(blank.encode())]}{blank}34".encode()
        path = exporting.place() / "blanks.plim"
        path.write_bytes(exporting.hostile().read_bytes().replace(b"ends in a number 34", name))
        found = parse(exporting.export(path, "collapsed").decode())
        assert any(name.endswith("_34") for stack in found for name in stack), f"U+{ord(blank):04x}"
        exporting.same({"inuse_space": sum(found.values())}, exporting.totals(exporting.hostile()))


# ---- selections ----


@claim
def tags_and_threads_are_outermost_frames_on_request():
    for by, before in (("tag", stacks.tags), ("thread,tag", stacks.thread_and_tags)):
        for profile in exporting.exact, exporting.hostile:
            right = stacks.weights(
                profile(),
                "alloc_objects",
                lambda frame: tame(frame["name"]),
                before=lambda whole, site: map(tame, before(whole, site)),
            )
            expect(stacks.differ(parse(written(profile(), "--by", by, "--metric", "calls")), right), by)


@claim
def small_stacks_become_one_line_and_the_total_stays_the_same():
    for metric in METRICS:
        all_of_it = parse(written(exporting.exact(), "--metric", WORDS[metric]))
        less = parse(written(exporting.exact(), "--metric", WORDS[metric], "--threshold", "2"))
        assert sum(less.values()) == sum(all_of_it.values()), metric
        assert sum("more below 2%" in stack[0] for stack in less) <= 1 and len(less) <= len(all_of_it), metric
        assert len(less) < len(all_of_it) or metric == "temp_objects", metric


# ---- differences ----


@functools.cache
def difference(metric):
    return parse(written(exporting.after(), "--metric", WORDS[metric], "--diff-base", exporting.before()), figures=2)


@claim
def a_difference_has_figures_before_and_after():
    for metric in METRICS:
        was, now = (sum(values) for values in zip(*difference(metric).values()))
        exporting.same({metric: was}, exporting.totals(exporting.before()), "before")
        exporting.same({metric: now}, exporting.totals(exporting.after()), "now")


@claim
def every_stack_of_a_difference_has_the_figures_of_both_profiles():
    for metric in METRICS:
        was, now = wanted(exporting.before(), metric), wanted(exporting.after(), metric)
        both = {stack: (was.get(stack, 0), now.get(stack, 0)) for stack in was.keys() | now.keys()}
        expect(stacks.differ(difference(metric), both), metric)


@claim
def flamegraph_draws_a_difference():
    boxes = flamegraph(written(exporting.after(), "--metric", "live", "--diff-base", exporting.before()), "difference")
    assert boxes[0][1] == exporting.totals(exporting.after())["inuse_space"], boxes[0]
    grown = {(name, size) for name, size, _, change in boxes if change and change.startswith("+")}
    assert grown == {("shapes::innermost", 400 * 1024), ("shapes::innermost", 25 * 10000)}, grown


if __name__ == "__main__":
    sys.exit(main())
