# SPDX-License-Identifier: MIT
"""deepest - how much of the stack a function may take, with all that it calls."""


class Deepest:
    """Longest paths through a graph of calls, by depth-first search; a cycle has no longest path and is reported.

    Functions go by where they start. Whoever knows what they are says in own() how many bytes a function takes itself,
    and in calls() whom it calls: (bytes that it has taken by then, start of the other).
    """

    def __init__(self, functions):
        self.functions = functions
        self.done, self.active, self.problems = {}, [], []

    def own(self, function):
        raise NotImplementedError

    def calls(self, function):
        raise NotImplementedError

    def deepest(self, start):
        """(bytes, chain) of the deepest path from this function; the chain is of (function, bytes it has taken)."""
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
