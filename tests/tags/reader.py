# SPDX-License-Identifier: MIT
"""reader - the figures of tags in `plimsoll export` agree with the accounts of the programs.

The same comparison as in figures.py, with the figures of the reader instead of those in the file; and its confidence
intervals must contain the true value as often as they promise.
"""

import functools
import json
import subprocess
import sys
from collections import defaultdict

# First, because it adds tests/lib to the path.
from tagged import BUILD, FUNCTIONS, NAMED, Figures, Place, accounts, compare, environment, run, show, the_profile
import claims
from claims import claim, say

PLIMSOLL = BUILD / "plimsoll"
KINDS = {"named": NAMED, "off": 1, "paused": 2}

# Independent 95% intervals contain the true value in 95% of cases. This allows 5 standard deviations less.
COVERAGE, INTERVALS_LEAST = 0.90, 500


def export(path, form):
    command = [PLIMSOLL, "export", "--format", form, path]
    return json.loads(subprocess.run(command, capture_output=True, env=environment(), check=True).stdout)


def path_of(tags, index):
    """As in tagged.py: (kind, name) from the root on."""
    tag = tags[index]
    if tag["parent"] is None:
        return ()
    name = tag["name"].encode() if tag["kind"] == "named" else b""
    return (*path_of(tags, tag["parent"]), (KINDS[tag["kind"]], name))


class Exported:
    """An export with the interface of tagged.Profile that a comparison needs."""

    behind = ()

    def __init__(self, path):
        self.json = export(path, "json")
        self.losses = {name: count for name, count in self.json["losses"].items() if count}
        self.rows = self.json["sampling"]["samples"]
        self.paths = [path_of(self.json["tags"], i) for i in range(len(self.json["tags"]))]

    def key(self, account, part):
        return account.number_of(self.json["threads"][part["thread"]]["tid"]), self.paths[part["tag"]]

    def by_tag(self, account):
        table = defaultdict(Figures)
        for scope in self.json["scopes"]:
            calls = {f"calls of {name}": scope["functions"][name] for name in FUNCTIONS}
            table[self.key(account, scope)].update(calls, bytes=scope["bytes"], entered=scope["entered"])
        for site in self.json["sites"]:
            value = {name: metric["value"] for name, metric in site.items() if name.endswith(("_objects", "_space"))}
            figures = Figures()
            for unit, name in (("objects", "calls"), ("space", "bytes")):
                made, left = f"alloc_{unit}", f"inuse_{unit}"
                figures[f"counted {name}"] = value[made]
                figures[f"counted freed {name}"] = value[made] - value[left]
                figures[f"sampled {name}"], figures[f"sampled freed {name}"] = value[made], value[made] - value[left]
                figures[f"other {name}"] = value[made] if site["other_sizes"] else 0
            figures["peak calls"], figures["peak bytes"] = value["peak_objects"], value["peak_space"]
            table[self.key(account, site)].update(figures)
        return table


def check(program, *words, mode="exact", peak=False, **settings):
    with Place() as place:
        pid = run(place, program, *words, mode=mode, **settings)
        account, path = accounts(place), the_profile(place, pid).path
        compare(account, Exported(path), mode, peak=peak)


for a_mode in ("exact", "sampled"):
    for a_sentence, *a_command in (
        ("100 nested scopes are exported correctly", "nesting", "deep"),
        ("200 concurrent threads are exported correctly", "nesting", "crowd"),
        ("one thread with random operations is exported correctly", "mix", 1, 20000, "alone"),
        ("four threads that free and move each other's blocks are exported correctly", "mix", 4, 5000, "together"),
        ("calls while stopped are exported correctly", "control", "stop"),
        ("calls while paused are exported correctly", "control", "pause"),
        ("figures after a reset are exported correctly", "control", "reset"),
    ):
        is_alone = a_command[:2] in (["nesting", "deep"], ["mix", 1])
        claims.add(f"{a_sentence}, {a_mode}", functools.partial(check, *a_command, mode=a_mode, peak=is_alone))
claims.add("other sizes are exported correctly, exact", functools.partial(check, "control", "sizes", peak=True))


@claim
def confidence_intervals_of_tags_contain_the_true_value_as_often_as_promised():
    with Place() as place:
        pid = run(place, "mix", 1, 40000, "alone", mode="sampled")
        account, path = accounts(place), the_profile(place, pid).path
        nodes, tags = export(path, "tags-json")["trees"][0]["nodes"], export(path, "json")["tags"]
    inside = {"inuse_objects": [], "inuse_space": []}
    for node in nodes:
        true = account.cell.get((0, path_of(tags, node["tag"])))
        if not true or not node["depth"]:
            continue
        live = {"inuse_objects": true.sum_of("calls") - true["freed calls"],
                "inuse_space": true["bytes"] - true["freed bytes"]}
        for name, value in live.items():
            interval = node["self"][name]
            inside[name].append(interval["low"] <= value <= interval["high"])
        assert node["self"]["alloc_space"]["value"] == true["bytes"], f"{show((0, path_of(tags, node['tag'])))}: {node}"
        assert not node["self"]["alloc_space"]["error"] and not node["self"]["alloc_objects"]["error"]
    for name, hits in inside.items():
        say(f"{name}: {sum(hits)} of {len(hits)} intervals")
        assert len(hits) >= INTERVALS_LEAST and sum(hits) >= COVERAGE * len(hits)


if __name__ == "__main__":
    sys.exit(claims.main())
