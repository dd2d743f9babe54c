# SPDX-License-Identifier: MIT
"""tags - counts the words of files, and says what the memory is for."""

import sys
from collections import Counter
from pathlib import Path

import plimsoll


def load(paths):
    texts = []
    for path in paths:
        with plimsoll.tag(Path(path).name):
            texts.append(Path(path).read_text(encoding="utf-8"))
    return texts


@plimsoll.tagged
def split(texts):
    return [text.lower().split() for text in texts]


with plimsoll.tag("load"):
    texts = load(sys.argv[1:])
with plimsoll.tag("count"):
    words = Counter(word for words in split(texts) for word in words)
print(*(f"{word} {count}" for word, count in words.most_common(5)), sep="\n")
