# SPDX-License-Identifier: MIT
"""Makes and walks binary trees of objects: little else than allocation. usage: trees_job.py ROUNDS"""

import sys


class Node:
    def __init__(self, depth):
        self.left = Node(depth - 1) if depth else None
        self.right = Node(depth - 1) if depth else None
        self.name = f"node {depth}"

    def count(self):
        return 1 + (self.left.count() + self.right.count() if self.left else 0)


kept = Node(12)
print(sum(Node(10).count() for _ in range(int(sys.argv[1]))) + kept.count())
