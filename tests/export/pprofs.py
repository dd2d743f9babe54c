# SPDX-License-Identifier: MIT
"""pprofs - an export for pprof, parsed by protoc with profile.proto, and shown by `go tool pprof`."""

import gzip
import os
import re
import shutil
import subprocess
from collections import Counter

import stacks
from exporting import HERE, PATIENCE_S, as_json, environment, export, place, run, sites, tool

# ---- protoc ----

PIECE = re.compile(r'(\w+)(?: \{|: (?:"((?:[^"\\]|\\.)*)"|(\S+)))$')


def unescape(text):
    """The text without C escapes. Bytes that are no text become surrogates."""
    return text.encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")


def parse(lines):
    """A message in protobuf's text format: field -> list of values; nested messages likewise."""
    message = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        found = PIECE.match(line)
        assert found and not found[1].isdigit(), f"protoc says {line[:200]!r}"
        if line.endswith("{") and found[2] is None and found[3] is None:
            value = parse(lines)
        elif found[2] is not None:
            value = unescape(found[2])
        else:
            value = {"true": 1, "false": 0}.get(found[3]) if found[3].isalpha() else int(found[3])
        message.setdefault(found[1], []).append(value)
    return message


def protoc(data, message, file):
    """A message, decoded by protoc."""
    command = [tool("protoc"), f"--proto_path={HERE}", f"--decode={message}", file]
    done = subprocess.run(command, input=data, capture_output=True, env=environment(), timeout=PATIENCE_S)
    assert done.returncode == 0 and not done.stderr, f"protoc: {done.stderr.decode(errors='replace')[:1000]}"
    return parse(iter(done.stdout.decode().splitlines()))


def decode(packed):
    """An export, decoded by protoc."""
    return protoc(gzip.decompress(packed), "perftools.profiles.Profile", "profile.proto")


class Pprof:
    """A profile in pprof's format. Missing fields are 0, as in protocol buffers."""

    def __init__(self, packed):
        self.packed = packed
        self.all = decode(packed)
        self.strings = self.all["string_table"]
        self.types = [(self.text(type, "type"), self.text(type, "unit")) for type in self.all["sample_type"]]
        self.samples = self.all.get("sample", [])
        self.mappings, self.locations, self.functions = (
            self.by_id(name) for name in ("mapping", "location", "function"))
        self.comments = [self.strings[number] for number in self.all.get("comment", [])]

    def by_id(self, name):
        found = {one(message, "id"): message for message in self.all.get(name, [])}
        assert len(found) == len(self.all.get(name, [])), f"two {name}s have the same number"
        assert 0 not in found, f"a {name} has number 0"
        return found

    def text(self, message, field):
        return self.strings[one(message, field)]

    def default_type(self):
        return self.text(self.all, "default_sample_type")

    def totals(self):
        names = [name for name, _ in self.types]
        sums = [sum(values) for values in zip(*(sample["value"] for sample in self.samples))]
        return dict(zip(names, sums or [0] * len(names)))

    def lines(self, sample):
        """(location, function, line) of a sample, innermost first."""
        for number in sample.get("location_id", []):
            location = self.locations[number]
            for line in location["line"]:
                yield location, self.functions[one(line, "function_id")], one(line, "line")

    def names(self, sample):
        return tuple(self.text(function, "name") for _, function, _ in self.lines(sample))

    def labels(self, sample):
        return {self.text(label, "key"): self.text(label, "str") if "str" in label else one(label, "num")
                for label in sample.get("label", [])}

    def rows(self):
        """(names, innermost first, tag, thread) -> metric -> number."""
        table = {}
        for sample in self.samples:
            labels = self.labels(sample)
            key = (self.names(sample), labels.get("tag", ""), labels.get("thread", ""))
            table.setdefault(key, Counter()).update(dict(zip((name for name, _ in self.types), sample["value"])))
        return table


def exported(profile, *options):
    return Pprof(export(profile, "pprof", *options))


def one(message, field):
    """The value of a field that occurs once, or not at all because it is 0."""
    (value,) = message.get(field, [0])
    return value


def rows_of_json(profile, *options):
    """The same table as Pprof.rows(), from the JSON export."""
    whole = as_json(profile, *options)
    table = {}
    for site, row in sites(whole):
        stack = tuple(frame["name"] for frame in reversed(stacks.lines(whole, site)))
        key = (stack, whole["tags"][site["tag"]]["path"], whole["threads"][site["thread"]]["name"])
        table.setdefault(key, Counter()).update(row)
    return {key: row for key, row in table.items() if any(row.values())}


# ---- go tool pprof ----


def go():
    """Debian's go, if it is installed."""
    return shutil.which("go", path="/usr/bin") or tool("go")


def saved(profile, *options):
    """The path of an export."""
    path = place() / f"{abs(hash((profile, options)))}.pb.gz"
    if not path.exists():
        path.write_bytes(export(profile, "pprof", *options))
    return path


def show(*words, quiet=True):
    """The output of `go tool pprof WORDS`. If `quiet`, it must not complain, but may explain how it read a word."""
    home = place() / "home"
    home.mkdir(exist_ok=True)
    settings = {"HOME": home, "GOCACHE": home / "cache", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOPROXY": "off",
                "PPROF_TMPDIR": home, "PATH": f"/usr/bin:{os.environ['PATH']}"}
    done = run(go(), "tool", "pprof", *words, env=environment(**settings))
    complaints = [line for line in done.stderr.decode().splitlines() if "Interpreted" not in line]
    assert not quiet or not complaints, f"pprof {' '.join(map(str, words))}: {complaints}"
    return done.stdout.decode()


# 12B 3.4% 5.6% 78B 9.0%  name
FIGURE, SHARE = r"\s*(-?[\d.]+)B?", r"\s+-?[\d.]+%"
ROW = re.compile(f"^{FIGURE}{SHARE}{SHARE}{FIGURE}{SHARE}" r"  (.*?)(?: \((?:partial-)?inline\))?$")


def top(metric, *words, **options):
    """`pprof -top` of a metric, complete and in whole numbers: name -> (flat, cumulative), and the total."""
    text = show("-top", f"-sample_index={metric}", "-unit=B", "-nodecount=1000000", "-nodefraction=0", *words,
                **options)
    total = re.search(r"% of (-?\d+)B? total", text)
    assert total, text
    rows = (ROW.match(line) for line in text.splitlines())
    return {row[3]: (int(row[1]), int(row[2])) for row in rows if row}, int(total[1])
