# SPDX-License-Identifier: MIT
"""bare - without the profiler the API costs a test and a branch, and its functions do nothing."""

import functools
import re
from pathlib import Path

from api import BUILD, HERE, INCLUDE, RUNTIME, STRICT, STUB, add, claim, compile_program, have, main, run, say, scratch

LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S+)\s*(.*?)\s*$")
COMPILERS = ("g++", "clang++")
SCOPES = ("pushed", "entered", "scoped", "named", "string_scoped", "paused")
REGISTERS_MAX = 6  # instructions that save, copy and restore registers around a call


# ---- the code of a scope ----


class Bare:
    """The instructions of a function that are executed when every weak symbol is null."""

    def __init__(self, code):
        where = {address: index for index, (address, _, _) in enumerate(code)}
        self.executed, at = [], 0
        while True:
            _, mnemonic, operands = code[at]
            self.executed.append((mnemonic, operands))
            at += 1
            if mnemonic == "ret":
                return
            if mnemonic in ("jmp", "je"):
                at = where[int(operands.split()[0], 16)]
            assert mnemonic in ("jmp", "je", "jne") or not mnemonic.startswith("j"), f"{mnemonic} is not understood"

    def count(self, wanted):
        return sum(bool(wanted(mnemonic, operands)) for mnemonic, operands in self.executed)

    @property
    def calls(self):
        return self.count(lambda mnemonic, _: mnemonic == "call")

    @property
    def branches(self):
        return self.count(lambda mnemonic, _: mnemonic in ("je", "jne"))

    @property
    def loads(self):
        return self.count(lambda _, operands: "(%rip)" in operands)


def disassemble(compiled, function):
    text = run("objdump", f"--disassemble={function}", "--no-show-raw-insn", compiled)
    return [(int(match[1], 16), match[2], match[3]) for match in map(LINE.match, text.splitlines()) if match]


def compile_bare(compiler, directory, *options):
    compiled = Path(directory) / "bare.o"
    have("objdump")
    compile_program(compiler, HERE / "bare.cpp", compiled, "-c", "-O2", "-std=c++11", "-fno-optimize-sibling-calls",
                    *STRICT, *options)
    return compiled


def what_is_more(plain, tagged):
    """What a tagged function executes in addition, beyond a test and a branch each way."""
    more = len(tagged.executed) - len(plain.executed)
    if tagged.calls != plain.calls:
        return "calls something"
    if tagged.branches != 2 or tagged.loads != 2:
        return f"{tagged.branches} branches, {tagged.loads} loads"
    return f"{more} instructions more" if more > 2 * 3 + REGISTERS_MAX else None


def one_test_and_one_branch(compiler):
    problems = []
    with scratch() as directory:
        compiled = compile_bare(compiler, directory)
        plain = Bare(disassemble(compiled, "plain"))
        for function in SCOPES:
            tagged = Bare(disassemble(compiled, function))
            problem = what_is_more(plain, tagged)
            if problem:
                problems.append(f"{function}: {problem}")
                say("\n".join(f"{mnemonic:8}{operands}" for mnemonic, operands in tagged.executed))
    assert not problems, problems


for compiler in COMPILERS:
    add(f"without the profiler entering and leaving a scope are one test and one branch each: {compiler}",
        functools.partial(one_test_and_one_branch, compiler))


@claim
def no_scope_needs_a_guard_or_a_constructor():
    for compiler in COMPILERS:
        for option in ("-O0", "-O2"):
            with scratch() as directory:
                symbols = run("nm", compile_bare(compiler, directory, option))
            assert "plimsoll_enter" in symbols
            assert not re.search(r"guard|_GLOBAL__sub_I", symbols), f"{compiler} {option}:\n{symbols}"


@claim
def function_scopes_are_named_after_class_and_function():
    for compiler in COMPILERS:
        with scratch() as directory:
            program = Path(directory) / "functions"
            compile_program(compiler, HERE / "functions.cpp", program, "-std=c++14", *STRICT)
            run(program)


# ---- symbols ----


def declared():
    text = (INCLUDE / "plimsoll.h").read_text()
    return set(re.findall(r"^PLIMSOLL_API [^;(]*?\b(plimsoll_\w+)\(", text, re.MULTILINE))


def exported(library):
    return {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}


@claim
def the_stub_exports_exactly_what_the_header_declares():
    assert len(declared()) > 20
    assert exported(STUB) == declared(), exported(STUB) ^ declared()


@claim
def every_runtime_exports_exactly_what_the_header_declares():
    for library in (RUNTIME, BUILD / "libplimsoll-cxx.so"):
        found = {name for name in exported(library) if name.startswith("plimsoll_")}
        assert found == declared(), f"{library.name}: {sorted(found ^ declared())}"


@claim
def every_declared_function_may_be_absent():
    macros = set(re.findall(r"^#define (plimsoll_\w+)\(", (INCLUDE / "plimsoll.h").read_text(), re.MULTILINE))
    assert macros == declared(), macros ^ declared()


@claim
def every_runtime_has_the_soname_that_programs_are_linked_with():
    for library in (RUNTIME, BUILD / "libplimsoll-cxx.so"):
        assert "soname: [libplimsoll.so.1]" in run("readelf", "--dynamic", "--wide", library), library.name


if __name__ == "__main__":
    raise SystemExit(main())
