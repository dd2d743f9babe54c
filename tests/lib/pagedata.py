# SPDX-License-Identifier: MIT
"""pagedata - reads page data, which `plimsoll export --format page` writes, with nothing but docs/page-data.md.

Every promise of that document is checked: a file that breaks one raises AssertionError.
"""

import array
import json
import struct

MAGIC = b"PLIMPAGE"
LANGUAGES = ("native", "Python", "JavaScript", "Java", "other")
CODES = {"u8": "B", "u32": "I", "f64": "d"}
BYTES = {"u8": 1, "u32": 4, "f64": 8}
AMOUNTS = ("allocated", "freed", "peak", "temporary")
SUMS = ("exact_objects", "exact_space", "objects", "space", "objects_variance", "space_variance", "samples")

COLUMNS = {
    "text": {"end": "u32"},
    "bytes": {"text": "u8"},
    "function": {"name": "u32", "full": "u32", "file": "u32", "source": "u32", "module": "u32", "role": "u8",
                 "language": "u8"},
    "place": {"function": "u32", "line": "u32"},
    "node": {"parent": "u32", "place": "u32"},
    "site": {"node": "u32", "inner": "u32", "own": "u32", "outer": "u32", "thread": "u32", "tag": "u32",
             "other_sizes": "u8", "stackless": "u8",
             **{f"{amount}.{part}": "f64" for amount in AMOUNTS for part in SUMS},
             "skew.objects": "f64", "skew.space": "f64", "unseen_interval": "f64", "hidden.objects": "f64",
             "hidden.space": "f64", "swing.more_objects": "f64", "swing.less_objects": "f64", "swing.more_space": "f64",
             "swing.less_space": "f64", "smallest": "f64", "largest": "f64",
             "realloc_calls": "f64", "realloc_moved": "f64", "realloc_in_place": "f64", "exit_objects": "f64",
             "exit_space": "f64"},
    "sizes": {"site": "u32", "bucket": "u8", "count": "f64"},
    "lives": {"site": "u32", "bucket": "u8", "count": "f64"},
    "ages": {"site": "u32", "bucket": "u8", "count": "f64"},
    "share": {"snapshot": "u32", "site": "u32", "objects": "f64", "bytes": "f64", "calls": "f64", "allocated": "f64",
              "divided": "u8"},
    "scope": {"thread": "u32", "tag": "u32", "entered": "f64", "calls": "f64", "bytes": "f64", "malloc": "f64",
              "calloc": "f64", "realloc": "f64", "aligned": "f64", "new": "f64"},
    "resident": {"reading": "u32", "node": "u32",
                 **{what + error: "f64" for what in ("live", "resident", "swapped", "untouched")
                    for error in ("", "_error")}},
    "base_scope": {"thread": "u32", "tag": "u32", "calls": "f64", "bytes": "f64"},
}


class PageData:
    """`json` is the JSON text. page["site.node"] is a column, all zeros if it was left out."""

    def __init__(self, data):
        assert data[:8] == MAGIC, data[:8]
        version, text_bytes = struct.unpack_from("<II", data, 8)
        assert version == 1 and (16 + text_bytes) % 8 == 0 and 16 + text_bytes <= len(data), (version, text_bytes)
        self.json = json.loads(data[16:16 + text_bytes].decode("utf-8"))
        self.tables = self.json["tables"]
        assert set(self.tables) == set(COLUMNS), self.tables
        self.stored = {}
        end = 0
        for name, column in self.json["columns"].items():
            table, _, rest = name.partition(".")
            assert column["type"] == COLUMNS[table][rest], (name, column)
            assert column["count"] == self.tables[table], (name, column, self.tables)
            assert column["offset"] % 8 == 0 and column["offset"] >= end, (name, column, end)
            size = column["count"] * BYTES[column["type"]]
            first = 16 + text_bytes + column["offset"]
            assert first + size <= len(data), (name, column, len(data))
            end = column["offset"] + size
            self.stored[name] = array.array(CODES[column["type"]], data[first:first + size])
            assert any(self.stored[name]), f"{name} is all zeros and should be left out"
        assert -(-end // 8) * 8 == len(data) - 16 - text_bytes, (end, len(data))
        self.zeros = {}

    def __getitem__(self, name):
        if name in self.stored:
            return self.stored[name]
        table, _, rest = name.partition(".")
        kind = COLUMNS[table][rest]
        return self.zeros.setdefault(name, array.array(CODES[kind], bytes(self.tables[table] * BYTES[kind])))

    def texts(self):
        raw, ends, first, found = bytes(self["bytes.text"]), self["text.end"], 0, []
        for end in ends:
            assert first <= end <= len(raw)
            found.append(raw[first:end].decode("utf-8"))
            first = end
        assert first == len(raw)
        return found

    def languages(self, name):
        """Of all functions whose name ends so."""
        texts, languages = self.texts(), self["function.language"]
        return {LANGUAGES[languages[i]] for i, text in enumerate(self["function.name"]) if texts[text].endswith(name)}

    def path(self, node):
        """The places from the innermost node to the node below the root."""
        parent, place, found = self["node.parent"], self["node.place"], []
        while node:
            assert parent[node] < node
            found.append(place[node])
            node = parent[node]
        return found


def load(path):
    with open(path, "rb") as file:
        return PageData(file.read())
