# SPDX-License-Identifier: MIT
"""targets - what is built when. usage: targets.py default | product | depends

default   no target of tests/ or bench/ is built by default
product   the target that `make` builds has every default target, and nothing of tests/ or bench/
depends   every test that is a script depends on everything that the root's meson.build links: the command, the runtimes
          and the stub. So `meson test NAME` works in a build directory where nothing has been built yet.
"""

import json
import re
import sys
from pathlib import Path

from build import BUILD, SOURCE, output_of, verdict

ON_REQUEST = ("tests", "bench")
LINKED = ("executable", "shared library")


def introspect(what):
    return json.loads(output_of("meson", "introspect", f"--{what}", BUILD))


def directory_of(target):
    return Path(target["defined_in"]).resolve().parent.relative_to(SOURCE)


def files_of(target):
    """Their paths as ninja names them."""
    return {str(Path(name).resolve().relative_to(BUILD)) for name in target["filename"]}


def on_request(path):
    return path.parts[:1] in [(name,) for name in ON_REQUEST]


def default():
    targets = [target for target in introspect("targets") if on_request(directory_of(target))]
    verdict([f"{target['name']} of {directory_of(target)} is built by default: build_by_default: false is missing"
             for target in targets if target["build_by_default"]], len(targets))


def made_for(*names):
    """These targets, and every file of the build directory that ninja makes for them."""
    return {*names, *output_of("ninja", "-t", "inputs", *names).splitlines()}


def product():
    own = re.findall(r"^    (?:\|+ )?(.+)$", output_of("ninja", "-t", "query", "product"), re.MULTILINE)
    made = made_for(*own)
    problems = [f"product needs {name}" for name in sorted(made) if on_request(Path(name))]
    targets = [target for target in introspect("targets") if target["build_by_default"]]
    problems += [f"{target['name']} of {directory_of(target)} is built by default and not part of product"
                 for target in targets if not files_of(target) <= made]
    verdict(problems, len(targets))


def depends():
    targets = {target["id"]: target for target in introspect("targets")}
    tested = {name for target in targets.values() if directory_of(target) == Path() and target["type"] in LINKED
              for name in files_of(target)}
    scripts = [test for test in introspect("tests") if BUILD not in Path(test["cmd"][0]).resolve().parents]
    problems, made = [], {}
    for test in scripts:
        names = frozenset(name for key in test["depends"] for name in files_of(targets[key]))
        if names not in made:
            made[names] = made_for(*names) if names else set()
        problems += [f"{test['name']} does not depend on {name}" for name in sorted(tested - made[names])]
    verdict(problems, len(scripts))


if __name__ == "__main__":
    {"default": default, "product": product, "depends": depends}[sys.argv[1]]()
