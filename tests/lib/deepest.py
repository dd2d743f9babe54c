# SPDX-License-Identifier: MIT
"""deepest - how much stack a function may use, including everything that it calls."""

import re


def functions_of_settings(source):
    """The functions in the table of pl_config_set(). They are read from the tree, so that no new setting is missed."""
    (path,) = (source / "src/core").rglob("config.c")
    body = re.search(r"^bool pl_config_set\(.*?^}", path.read_text(), re.MULTILINE | re.DOTALL)
    functions = tuple(re.findall(r"\] = (\w+),", body[0]))
    assert functions, f"{path}: no table in pl_config_set()"
    return functions


class Deepest:
    """Longest paths through a call graph, by depth-first search. A cycle has no longest path and is reported.

    Functions are identified by their start addresses. Subclasses define own(), the bytes that a function uses itself,
    and calls(), the functions that it calls: (bytes that the caller uses at that point, start of the callee).
    """

    def __init__(self, functions):
        self.functions = functions
        self.done, self.active, self.problems = {}, [], []

    def own(self, function):
        raise NotImplementedError

    def calls(self, function):
        raise NotImplementedError

    def deepest(self, start):
        """(bytes, chain) of the deepest path from this function; the chain is a list of (function, bytes it uses)."""
        function = self.functions[start]
        if start in self.active:
            self.problems.append("recursion through " + function.name)
            return 0, []
        if start not in self.done:
            self.active.append(start)
            own = self.own(function)
            best = (own, [(function, own)])
            for used, callee in self.calls(function):
                below, chain = self.deepest(callee)
                best = max(best, (used + below, [(function, used), *chain]), key=lambda path: path[0])
            self.active.pop()
            self.done[start] = best
        return self.done[start]
