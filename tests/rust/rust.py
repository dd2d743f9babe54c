# SPDX-License-Identifier: MIT
"""rust - the crate plimsoll: a Rust program has correct figures by thread and tag and readable names, and costs next to
nothing without the profiler.

src/bin/answers.rs keeps a ledger of what it does. The profile must have the same figures. Cargo builds everything,
offline, below the build directory.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import claims  # noqa: E402
from built import BUILD, PLIMSOLL, RUNTIME, SOURCE  # noqa: E402
from claims import Skip, claim, say  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

TARGETS = BUILD / "tests" / "rust"
CRATE = SOURCE / "rust"
LONG_NAME = (HERE / "src" / "bin" / "answers.rs").read_text()
FUNCTIONS = ("malloc", "calloc", "realloc", "aligned")
MANGLED = re.compile(r"(^|\W)_(R[A-Za-z0-9]|ZN)|\$(LT|GT|u20|RF|BP|C)\$|::h[0-9a-f]{16}\b|\.\.")


def environment(**settings):
    """The caller's environment, without variables that change the build or profile cargo, and without None settings."""
    unwanted = ("PLIMSOLL_", "CARGO_", "RUST")
    words = {k: v for k, v in os.environ.items() if not k.startswith(unwanted) or k in ("CARGO_HOME", "RUSTUP_HOME")}
    words.pop("LD_PRELOAD", None)
    words.update({"PLIMSOLL_CACHE": "off", **settings})
    return {k: str(v) for k, v in words.items() if v is not None}


@functools.lru_cache(maxsize=None)
def cargos():
    """Every working cargo of PATH, each with the rustc beside it."""
    found = {}
    for directory in os.environ.get("PATH", "").split(":"):
        tools = [Path(directory) / name for name in ("cargo", "rustc", "rustdoc")]
        if all(os.access(tool, os.X_OK) for tool in tools):
            said = subprocess.run([tools[1], "--version"], capture_output=True, text=True)
            if said.returncode == 0:
                found.setdefault(said.stdout.strip(), tools)
    return found


def cargo(*words, where=HERE, flavour="plain", tools=None, **settings):
    if not cargos():
        raise Skip("cargo is not installed")
    program, rustc, rustdoc = tools or next(iter(cargos().values()))
    chosen = {"CARGO_TARGET_DIR": TARGETS / flavour, "RUSTC": rustc, "RUSTDOC": rustdoc, **settings}
    command = [program, words[0], "--offline", "--locked", "-j2", *words[1:]]
    done = subprocess.run(command, cwd=where, env=environment(**chosen), capture_output=True, text=True)
    assert done.returncode == 0, f"cargo {' '.join(words)}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "warning:" not in done.stderr, f"cargo {' '.join(words)}:\n{done.stderr}"
    return done.stdout


@functools.lru_cache(maxsize=None)
def build(flavour="plain", *options, flags=None):
    """The directory with the programs."""
    cargo("build", *options, flavour=flavour, RUSTFLAGS=flags)
    return TARGETS / flavour / ("release" if "--release" in options else "debug")


class Run:
    """One run of a program, and its profile."""

    def __init__(self, program, *words, sample="exact", preload=RUNTIME, **settings):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm") as name:
            place = Path(name)
            (place / "live").mkdir()
            chosen = {"LD_PRELOAD": preload, "PLIMSOLL_SAMPLE": sample, "PLIMSOLL_LIVE_DIR": place / "live",
                      "PLIMSOLL_OUT": place / "out.plim", "PLIMSOLL_SEED": 1, **settings}
            done = subprocess.run([program, *words], cwd=place, env=environment(**chosen), capture_output=True,
                                  text=True, timeout=PATIENCE_S)
            assert done.returncode == 0, f"{program}: status {done.returncode}: {done.stderr}"
            self.stdout = done.stdout
            self.files = sorted(path.name for path in place.glob("*.plim"))
            out = place / "out.plim"
            self.json = json.loads(plimsoll("export", "--format", "json", out)) if out.exists() else None
            self.reports = [plimsoll("report", *view, out) for view in VIEWS] if out.exists() else []

    def lines(self, mark):
        """Rows of its output: those of the ledger, or those that begin with `=`."""
        rows = [line.split("\t") for line in self.stdout.splitlines()]
        return [row for row in rows if (row[0] == "=") == (mark == "=")]

    def ledger(self):
        """(thread, tag) -> figures, as the program booked them."""
        head, *rows = self.lines("")
        return {(row[0], LONG_NAME if row[1] == "(long)" else row[1]): dict(zip(head[2:], map(int, row[2:])))
                for row in rows}

    def told(self):
        """What the profiler returned to the program: subject -> words."""
        return {row[1]: row[2:] for row in self.lines("=")}

    def key(self, record):
        """(thread, tag) of a scope or a site."""
        return self.json["threads"][record["thread"]]["name"], self.json["tags"][record["tag"]]["path"]

    def scopes(self):
        """(thread, tag) -> exact figures."""
        table = {}
        for scope in self.json["scopes"]:
            figures = {**scope["functions"], "entered": scope["entered"], "bytes": scope["bytes"]}
            table.setdefault(self.key(scope), Counter()).update(figures)
        return table

    def sites(self):
        """(thread, tag) -> figures, summed over stacks."""
        table = {}
        for site in self.json["sites"]:
            made, live = site["alloc_objects"]["value"], site["inuse_objects"]["value"]
            made_bytes, live_bytes = site["alloc_space"]["value"], site["inuse_space"]["value"]
            figures = {"calls": made, "bytes": made_bytes}
            freed = {"freed_calls": made - live, "freed_bytes": made_bytes - live_bytes}
            table.setdefault(self.key(site), Counter()).update({**figures, **freed})
        return table

    def functions(self):
        return {frame["function"] for frame in self.json["frames"]}


# Names must be readable in each of these.
VIEWS = ([], ["--tree", "--metric", "calls"], ["--leaks"], ["--full-names"])


def plimsoll(*words):
    done = subprocess.run([PLIMSOLL, *words], capture_output=True, env=environment(DEBUGINFOD_URLS=""))
    assert done.returncode == 0, f"plimsoll {words}: status {done.returncode}: {done.stderr.decode()}"
    return done.stdout.decode(errors="replace")


def expect(problems):
    problems = list(problems)
    assert not problems, "\n".join([f"{len(problems)} problems:", *problems[:20]])


def differences(true, seen, figures):
    for key, account in true.items():
        for figure in figures:
            value = seen.get(key, {}).get(figure, 0)
            if value != account[figure]:
                thread, tag = key
                yield f"{thread}, {tag[:60]!r}: {figure} {value} in the profile, should be {account[figure]}"


def check_scopes(run):
    """Calls of each function, bytes and entries of every thread and tag are exact in every mode."""
    true = run.ledger()
    assert len(true) > 25, f"a ledger of {len(true)} accounts"
    expect(differences(true, run.scopes(), (*FUNCTIONS, "entered", "bytes")))
    assert not run.json["reading"]["damage"], run.json["reading"]
    lost = {name: count for name, count in run.json["losses"].items() if count}
    assert not lost, f"losses {lost}"


def check_sites(run):
    """Blocks belong to the thread and tag that allocated them. Their figures are exact in exact mode."""
    true, seen = run.ledger(), run.sites()
    for account in true.values():
        account["calls"] = sum(account[name] for name in FUNCTIONS)
    paused = {key: true.pop(key) for key in list(true) if key[1] == "(paused)"}
    expect(differences(true, seen, ("calls", "bytes", "freed_calls", "freed_bytes")))
    assert paused and not any(key in seen for key in paused), "stacks were recorded during a pause"


# ---- figures ----


@claim
def every_figure_of_every_thread_and_tag_is_exact_in_exact_mode():
    run = Run(build() / "answers")
    check_scopes(run)
    check_sites(run)


@claim
def in_sampled_mode_calls_bytes_and_entries_of_every_thread_and_tag_are_exact():
    run = Run(build() / "answers", sample="4K")
    assert run.json["sampling"]["samples"], "nothing was sampled"
    check_scopes(run)


@claim
def a_program_with_the_standard_allocator_has_the_same_figures():
    run = Run(build("system", "--features", "system") / "answers")
    check_scopes(run)
    check_sites(run)


@claim
def a_program_linked_with_the_profiler_has_the_same_figures_without_a_preload():
    program = build("link", "--features", "link", flags=f"-L native={BUILD}") / "answers"
    run = Run(program, preload=None, LD_LIBRARY_PATH=BUILD)
    assert run.json, "there is no profile"
    check_scopes(run)
    check_sites(run)


@claim
def the_program_gets_the_same_figures_from_the_api():
    run = Run(build() / "answers")
    told, true = run.told(), run.ledger()
    boxes, func = true["answers", "boxes"], true["answers", "Func"]
    live_bytes = func["bytes"] - func["freed_bytes"]
    assert told["tag Func"] == [str(n) for n in (func["malloc"], func["bytes"], 1, live_bytes)] + ["true"], told
    assert told["pairs"] == ["true", str(boxes["malloc"]), str(boxes["bytes"] - boxes["freed_bytes"])], told
    assert told["panic in pairs"] == ["true"], told
    calls, main = int(told["process"][0]), int(told["thread"][0])
    assert main < calls <= run.json["totals"]["alloc_objects"]["value"], told


@claim
def without_the_profiler_the_program_runs_and_gets_errors():
    run = Run(build() / "answers", preload=None)
    assert run.json is None
    assert run.told()["process"] == ["Unsupported"] and run.told()["pairs"][0] == "false", run.stdout
    assert run.ledger() == Run(build() / "answers").ledger()


# ---- control ----

CONTROLS = {
    "loaded": "true", "active when stopped": "false", "active when started": "true", "sizes": "()", "all sizes": "()",
    "no sizes": "InvalidInput", "snapshot": "()", "numbered snapshot": "()", "snapshot if due": "false", "write": "()",
    "write again": "AlreadyExists", "write to nowhere": "NotFound", "write to no path": "InvalidInput", "sample": "()",
    "sample too little": "InvalidInput", "sample as before": "()",
}
BARE_CONTROLS = {
    name: "false" if name in ("loaded", "active when stopped", "active when started", "snapshot if due")
    else "Unsupported" for name in CONTROLS
}


@claim
def every_control_does_what_it_promises():
    run = Run(build() / "controls")
    assert dict(run.lines("")) == CONTROLS, run.stdout
    assert len(run.files) == 4 and {"now.plim", "out.plim", "out.warm ü.plim"} <= set(run.files), run.files
    sites = {tag: [] for tag in ("before", "stopped", "sizes")}
    for site in run.json["sites"]:
        sites.setdefault(run.key(site)[1], []).append((site["other_sizes"], site["alloc_space"]["value"]))
    assert not sites["before"] and not sites["stopped"], sites
    assert sorted(sites["sizes"]) == [(False, 100), (False, 2000), (True, 2100)], sites


@claim
def names_that_are_too_long_are_truncated_counted_and_stay_different():
    run = Run(build() / "controls")
    cut = {tag["name"] for tag in run.json["tags"] if len(tag["name"]) > 50000}
    assert len(cut) == 2 and run.json["losses"]["tag_names"] == 2, run.json["losses"]


@claim
def a_program_that_switches_output_off_leaves_no_profile():
    run = Run(build() / "controls", "quiet")
    assert run.json is None and "now.plim" in run.files, run.files


@claim
def without_the_profiler_every_control_returns_an_error():
    run = Run(build() / "controls", preload=None)
    assert dict(run.lines("")) == BARE_CONTROLS and not run.files, run.stdout


# ---- names ----


def check_names(program, prefix):
    run = Run(program)
    if not any(frame.get("linkage", "").startswith(prefix) for frame in run.json["frames"]):
        raise Skip(f"this compiler writes no names that begin with {prefix}")
    expect(name for name in run.functions() if MANGLED.search(name))
    for wanted in ("answers::boxes", "answers::work", "answers::main"):
        assert wanted in run.functions(), f"no {wanted} in {sorted(run.functions())}"
    for view, report in zip(VIEWS, run.reports):
        expect(f"{view}: {line}" for line in report.splitlines() if MANGLED.search(line))


@claim
def names_with_legacy_mangling_are_readable_in_every_report():
    check_names(build() / "answers", "_ZN")


@claim
def names_with_v0_mangling_are_readable_in_every_report():
    check_names(build("v0", flags="-C symbol-mangling-version=v0") / "answers", "_R")


# ---- cost and builds ----


@claim
def without_the_profiler_a_scope_costs_a_load_a_test_and_a_branch():
    if not shutil.which("objdump"):
        raise Skip("objdump is not installed")
    program = build("plain", "--release", "--bin", "bare") / "bare"
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--no-addresses", "--disassemble=work_in_scope",
                            program], capture_output=True, text=True, check=True).stdout
    code = re.findall(r"^\t(\S+) *(.*)$", shown, re.MULTILINE)
    first = [name for name, _ in code if not name.startswith(("push", "sub"))]
    assert first[:3] == ["mov", "test", "je"], shown
    target = re.search(r"^\tje .*<(work_in_scope\+0x[0-9a-f]+)>", shown, re.MULTILINE)
    assert target and "(%rip)" in code[[name for name, _ in code].index("mov")][1], shown


@claim
def the_tests_and_documentation_examples_of_the_crate_pass():
    said = cargo("test", where=CRATE)
    say(" ".join(re.findall(r"test result: (ok\. \d+ passed)", said)))


@claim
def the_code_in_the_guide_compiles_and_runs():
    said = cargo("test", "--doc")
    assert not re.search(r"running 0 tests", said), said


@claim
def the_example_shows_the_memory_of_its_tags():
    cargo("build", "--example", "words", where=CRATE)
    run = Run(TARGETS / "plain" / "debug" / "examples" / "words", SOURCE / "README.md", SOURCE / "CONTRIBUTING.md")
    assert re.search(r"distinct words", run.stdout), run.stdout
    tags = {key[1] for key in run.scopes()}
    assert {"reading", "counting", "counting/merging"} <= tags, tags


def check_builds(tools):
    cargo("build", where=CRATE, flavour="other", tools=tools)
    cargo("build", flavour="other", tools=tools)


for a_version, some_tools in list(cargos().items())[1:]:
    claims.add(f"the crate builds with {a_version}", functools.partial(check_builds, some_tools))


if __name__ == "__main__":
    sys.exit(claims.main())
