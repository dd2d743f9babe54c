# SPDX-License-Identifier: MIT
"""tables - prints figures and targets as Markdown that also reads well in a terminal."""

import sys


class Targets:
    """What was promised, what was measured, and whether the target is met."""

    def __init__(self):
        self.rows = []

    def add(self, what, measured, promised, met):
        self.rows.append([what, measured, promised, "met" if met else "**missed**"])

    @property
    def missed(self):
        return sum(row[3] != "met" for row in self.rows)


def table(title, note, head, rows):
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]

    def line(cells):
        padded = [str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                  for i, (cell, width) in enumerate(zip(cells, widths))]
        return "| " + " | ".join(padded) + " |"

    print(f"\n## {title}\n")
    print(note + "\n")
    print(line(head))
    print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
    for row in rows:
        print(line(row))
    sys.stdout.flush()
