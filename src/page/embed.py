#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed - writes a C file that embeds other files, byte for byte: it defines the table that asset.h declares.

usage: embed.py OUTPUT.c FILE...

The assembler includes the bytes. The C file names their hash, so it changes whenever they do, and a compiler cache
cannot return an old object.
"""

import hashlib
import sys
from pathlib import Path

HEAD = """\
/* Made by embed.py. */
#include "asset.h"

#define EMBED(symbol, path, hash)                                                             \\
    __asm__(".section .rodata\\n" #symbol ":\\n"                                              \\
            ".incbin \\"" path "\\" /* " hash " */\\n.byte 0\\n.previous\\n");                  \\
    extern const char symbol[] __attribute__((visibility("hidden")))
"""


def main():
    output, *files = map(Path, sys.argv[1:])
    rows = []
    text = HEAD
    for number, file in enumerate(files):
        data = file.read_bytes()
        text += f'\nEMBED(pl_asset_{number}, "{file}", "{hashlib.sha256(data).hexdigest()}");'
        rows.append(f'    {{"{file.name}", pl_asset_{number}, {len(data)}}},')
    text += "\n\nconst struct pl_asset pl_assets[] = {\n"
    text += "\n".join(rows) + "\n    {0},\n};\n"
    output.write_text(text)


if __name__ == "__main__":
    main()
