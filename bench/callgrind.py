# SPDX-License-Identifier: MIT
"""callgrind - the instructions that each function of the allocator executes, counted by callgrind.

bench/calls makes every call from a function of its own, so the cost that callgrind charges to that function's callees
is the price of the calls. A run with twice as many calls, minus a run, excludes start-up and the work of first calls.
Counts are exact: a fraction in a quotient is a path that is taken now and then, not noise.
"""

import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from disassembly import disassemble, target

COUNT = 2000  # calls; more calls give the same quotients


@dataclass
class Account:
    """What callgrind recorded about one run. Functions are (object file, name)."""

    executed: dict = field(default_factory=lambda: defaultdict(Counter))  # function -> address in its file -> times
    called: dict = field(default_factory=lambda: defaultdict(Counter))  # function -> function called -> instructions

    def __sub__(self, other):
        def less(mine, theirs):
            return defaultdict(Counter, {key: Counter({what: count - theirs[key][what] for what, count in one.items()
                                                       if count != theirs[key][what]}) for key, one in mine.items()})

        return Account(less(self.executed, other.executed), less(self.called, other.called))

    def cost_of_calls(self, caller):
        """Instructions of everything that this function calls, directly or indirectly."""
        return sum(self.called_by(caller).values())

    def called_by(self, caller):
        """The functions that this function calls, each with its instructions."""
        return sum((callees for (_, name), callees in self.called.items() if plain_name(name) == caller), Counter())


def plain_name(name):
    """The name without the suffixes that compilers give to clones."""
    return name.split(".")[0]


def read_account(lines):
    """Reads callgrind's output, written with --dump-instr=yes --dump-line=no and nothing compressed."""
    account = Account()
    here, there = {"ob": "", "fn": ""}, {}  # the function, and its callee, which is in the same file if none is named
    of_call = False  # the next line of figures is the cost of a call
    for line in lines:
        key, _, value = line.rstrip("\n").partition("=")
        if key in here:
            here[key] = value
        elif key in ("cob", "cfn"):
            there[key[1:]] = value
        elif key == "calls":
            of_call = True
        elif line.startswith("0x"):
            address, figure = line.split()
            function = here["ob"], here["fn"]
            if of_call:
                account.called[function][there.get("ob", here["ob"]), there["fn"]] += int(figure)
            else:
                account.executed[function][int(address, 16)] += int(figure)
            of_call, there = False, {}
    return account


def run_account(command, variables, directory):
    out = directory / "callgrind.out"
    settings = [f"{name}={value}" for name, value in variables.items()]
    words = ["valgrind", "-q", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={out}",
             "--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no", "env", *settings,
             *command]
    subprocess.run([str(word) for word in words], check=True, cwd=directory)
    with open(out) as lines:
        account = read_account(lines)
    out.unlink()
    return account


def account_of_calls(calls, loader, kind, size, threads=1, variables=None, directory=None, after=lambda: None):
    """The cost of COUNT calls that come after as many others. `calls` is bench/calls, which `loader` starts."""
    def run(count):
        account = run_account([*loader, calls, kind, size, count // threads, threads], variables or {}, directory)
        after()
        return account

    return run(2 * COUNT) - run(COUNT)


# ---- the executed instructions ----

LONGEST_INSTRUCTION = 15


@dataclass
class Step:
    """One executed instruction."""

    function: str
    address: int
    mnemonic: str
    operands: str
    following: int  # the address after it

    def goes_to(self):
        """Where control may go next within this function. After a call it continues behind the call."""
        if self.mnemonic.startswith("ret"):
            return []
        to = target(self.operands) if self.mnemonic.startswith("j") else None
        targets = [] if to is None else [to]
        return targets if self.mnemonic.startswith("jmp") else [self.following, *targets]

    def __str__(self):
        return f"{self.mnemonic:8} {self.operands}".rstrip()


def executed_steps(library, name, addresses):
    """address -> step, for the executed ones."""
    first, last = min(addresses), max(addresses)
    code = disassemble(library, "-d", f"--start-address={first}", f"--stop-address={last + LONGEST_INSTRUCTION}")
    ends = [*(address for address, _, _ in code[1:]), 0]
    steps = [Step(name, *instruction, end) for instruction, end in zip(code, ends)]
    return {step.address: step for step in steps if step.address in addresses}


def in_order(steps):
    """The steps in an order in which control can pass through all of them once. By address if there is none."""
    first = min(steps)
    stack = [(first, [first])]
    while stack:
        at, walked = stack.pop()
        if len(walked) == len(steps):
            return [steps[address] for address in walked]
        stack += [(to, [*walked, to]) for to in steps[at].goes_to() if to in steps and to not in walked]
    return [steps[address] for address in sorted(steps)]


def executed_code(account, caller):
    """The steps of one call, through every function that it reaches, without those that only some calls take."""
    found, wanted = {}, list(account.called_by(caller))
    while wanted:
        function = wanted.pop(0)
        if function not in found:
            taken = {address for address, times in account.executed[function].items() if times >= COUNT}
            found[function] = in_order(executed_steps(*function, taken)) if taken else []
            wanted += account.called[function]
    return [step for steps in found.values() for step in steps]
