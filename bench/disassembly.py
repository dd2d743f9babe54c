# SPDX-License-Identifier: MIT
"""disassembly - parses the output of objdump."""

import re
import subprocess

LINE = re.compile(r"^\s*([0-9a-f]+):\t(?:notrack |bnd )?(\S+)\s*(.*?)\s*$")


def disassemble(library, *options, objdump="objdump"):
    """The instructions that objdump prints with these options, in order, as (address, mnemonic, operands)."""
    command = [objdump, "--no-show-raw-insn", *options, library]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [(int(match[1], 16), match[2], match[3]) for match in map(LINE.match, output.splitlines()) if match]


def disassemble_exported(library, function, objdump="objdump", internal=False):
    """The instructions of a function that the library exports, found by its address; empty if it does not export it. In
    a library without other symbols objdump finds the wrong ones by name. Internal functions are found if the library is
    not stripped."""
    command = ["nm", *([] if internal else ["--dynamic"]), "--defined-only", "--print-size", library]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        address, *size, _, name = line.split()
        if size and name.split("@")[0] == function:
            begin, end = int(address, 16), int(address, 16) + int(size[0], 16)
            return disassemble(library, "-d", f"--start-address={begin}", f"--stop-address={end}", objdump=objdump)
    return []


def target(operands):
    """The target of a direct jump; None for other kinds of jumps. AArch64's compare-and-branch has it last."""
    match = re.match(r"(?:\w+, )*([0-9a-f]+)\b(?: <|$)", operands)
    return int(match[1], 16) if match else None
