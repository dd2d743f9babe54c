# SPDX-License-Identifier: MIT
"""docs - every piece of C and C++ in docs/api.md compiles unchanged, and every function has an example.

A block with an #include is a whole file. Other blocks are the body of a function, after the header. PRELUDE declares
what they use and do not define.
"""

import re
from pathlib import Path

from api import INCLUDE, SOURCE, STRICT, claim, compile_program, main, say, scratch

DOCUMENT = SOURCE / "docs/api.md"
UNUSED = ["-Wno-unused-variable", "-Wno-unused-function", "-Wno-unused-but-set-variable", "-Wno-unused-parameter"]

# Declarations that the examples use.
PRELUDE = """
#include <stdlib.h>
struct job { plimsoll_context context; void (*function)(struct job *); };
void work(void);
void do_job(struct job *job);
void warm_up(void);
int next_request(void);
"""
LANGUAGES = {
    "c": ("plimsoll.h", "c", [("gcc", ["-std=c99"]), ("clang", ["-std=c99"])]),
    "cpp": ("plimsoll.hpp", "cpp", [("g++", ["-std=c++14"]), ("clang++", ["-std=c++14"])]),
}


def blocks():
    return re.findall(r"^```(c|cpp)\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


def as_file(language, text):
    if "#include" in text:
        return text
    return f"#include <{LANGUAGES[language][0]}>\n{PRELUDE}\nvoid example(void);\nvoid example(void)\n{{\n{text}}}\n"


@claim
def every_example_compiles():
    found = blocks()
    assert len(found) > 10, f"only {len(found)} examples"
    problems = 0
    for number, (language, text) in enumerate(found):
        _, suffix, compilers = LANGUAGES[language]
        with scratch() as directory:
            source = Path(directory) / f"example.{suffix}"
            source.write_text(as_file(language, text))
            for compiler, options in compilers:
                try:
                    compile_program(compiler, source, Path(directory) / "example.o", "-c", *options, *STRICT, *UNUSED)
                except AssertionError as wrong:
                    problems += 1
                    say(f"example {number + 1}:\n{text}\n{wrong}")
    assert not problems


@claim
def every_function_has_an_example():
    header = (INCLUDE / "plimsoll.h").read_text()
    functions = re.findall(r"^PLIMSOLL_API [^;(]*?\b(plimsoll_\w+)\(", header, re.MULTILINE) + ["plimsoll_pushf"]
    wrapper = (INCLUDE / "plimsoll.hpp").read_text()
    classes = re.findall(r"^class (?:PLIMSOLL_NODISCARD )?(\w+)$", wrapper, re.MULTILINE)
    functions += [f"plimsoll::{name}" for name in classes if name != "FunctionName"]
    functions += ["PLIMSOLL_SCOPE", "PLIMSOLL_FUNCTION_SCOPE"]
    text = "\n".join(block for _, block in blocks())
    missing = [name for name in functions if not re.search(rf"\b{name}\b", text)]
    assert len(functions) > 25 and not missing, missing


if __name__ == "__main__":
    raise SystemExit(main())
