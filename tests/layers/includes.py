# SPDX-License-Identifier: MIT
"""includes - which layer may include which headers. usage: includes.py layers | system"""

import re
import sys

from build import SOURCE, compile_commands, headers_read, layer_of, verdict

# A layer may read the headers of these layers, directly or indirectly. Writer and reader share nothing but `format`.
MAY_READ = {
    "format": {"format"},
    "core": {"core", "format"},
    "preload": {"preload", "core", "format"},
    "static": {"static", "preload", "core", "format"},
    "stub": {"stub"},
    "reader": {"reader", "format"},
    "analysis": {"analysis", "reader", "format"},
    "export": {"export", "analysis", "reader", "format"},
    "page": {"page", "export", "analysis", "reader", "format"},
    "attach": {"attach", "core", "format"},
    "reach": {"reach", "attach", "core", "format"},
    "footprint": {"footprint", "reach", "attach", "core", "format"},
    "cli": {"cli", "footprint", "reach", "attach", "core", "page", "export", "analysis", "reader", "format"},
}

# Headers that the core may include, for types and constants. (objects.py checks that it calls nothing.)
PLAIN = re.compile(r"(std(arg|bool|def|int)|limits|errno|elf|link|endian|fcntl|time|"
                   r"sys/(mman|shm|stat|statfs|syscall|uio)|linux/.*|asm/.*)\.h")


def layers():
    problems, looked_at = [], 0
    layer_of_object = {entry["output"]: layer_of(entry["file"]) for entry in compile_commands()}
    for compiled, header in headers_read():
        layer, known = layer_of_object.get(compiled), layer_of(header)
        if layer and known:
            looked_at += 1
            if known not in MAY_READ[layer]:
                problems.append(f"{compiled} ({layer}) reads {header}")
    verdict(problems, looked_at)


def system():
    problems, looked_at = [], 0
    for path in sorted((SOURCE / "src" / "core").rglob("*.[ch]")):
        for header in re.findall(r"^#\s*include\s*<(.*?)>", path.read_text(), re.MULTILINE):
            looked_at += 1
            if not PLAIN.fullmatch(header):
                problems.append(f"{path.relative_to(SOURCE)} includes <{header}>")
    verdict(problems, looked_at)


if __name__ == "__main__":
    {"layers": layers, "system": system}[sys.argv[1]]()
