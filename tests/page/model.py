# SPDX-License-Identifier: MIT
"""model - runs web/tests/*.test.ts in node, each as a claim: the page must compute the same figures as the reader.

Tests compare the page's figures with exports. PLIMSOLL_MODEL names a directory, in which profiles.json lists

    {"name", "difference": of two profiles?, "page": page data, "json": the JSON export of the same,
     "parts": [{"narrowing": the page's selection, "since", "until", "json": the export of that part}]}

PLIMSOLL_SOURCE names the tree. NAME.report is the output of `plimsoll report` for each, NAME.digits.report that with all rows and all digits, and
figures.txt the output of tests/page/figures.c.
"""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import claims  # noqa: E402
from built import BUILD, PLIMSOLL, SOURCE, environment  # noqa: E402
from claims import Skip, say  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

WEB = SOURCE / "web"
EXPORTED = BUILD / "tests/export"
MIXTURE = BUILD / "tests/page/mixture"
FIGURES = BUILD / "tests/page/figures"
FORGE = BUILD / "tests/reader/forge"

# name -> options of `plimsoll run`, and the program that is profiled.
RECORDED = {
    "exact": (["--exact"], [MIXTURE, 1000]),
    "sampled": (["--sample=1K", "--seed=7"], [MIXTURE, 1000]),
    "coarse": (["--sample=64K", "--seed=7"], [MIXTURE, 1000]),
    "turned": (["--overhead=1%", "--credit=100ms"], [MIXTURE, 200000]),
    "large": (["--exact", "--above=1000"], [MIXTURE, 1000]),
    "phases": (["--exact"], [EXPORTED / "phases"]),
    "swarm": (["--exact"], [EXPORTED / "swarm", 600]),
    "shapes": (["--sample=2K", "--seed=5"], [EXPORTED / "shapes"]),
    "before": (["--exact"], [EXPORTED / "shapes", "before"]),
    "after": (["--exact"], [EXPORTED / "shapes", "after"]),
    "renamed": (["--exact"], ["./renamed", 1000]),
}
# name -> the first and the second profile.
DIFFERENCES = {"difference": ("before", "after"), "sampled-difference": ("coarse", "sampled"),
               "mixed-difference": ("exact", "sampled"), "turned-difference": ("sampled", "turned")}
# scenarios of tests/reader/forge.
FORGED = ("empty", "leak", "losses", "threads", "pools", "exact", "auto", "auto-charge", "tags", "tags-sampled", "reset",
          "1k-stacks")

NOTHING = {"tag": None, "thread": None, "focus": [], "hide": []}

# Parts of a profile: options of `plimsoll export` -> the same selection on the page, with functions by name.
NARROWED = {
    "--tag=request": {"tag": "request"},
    "--tag=parse": {"tag": "request/parse"},
    "--thread=^odd$": {"thread": "odd"},
    "--thread=^even$ --tag=answer": {"thread": "even", "tag": "request/answer"},
    "--focus=^remember$": {"focus": ["remember"]},
    "--ignore=^remember$": {"hide": ["remember"]},
    "--focus=^left$ --ignore=^parse$ --thread=^even$": {"focus": ["left"], "hide": ["parse"], "thread": "even"},
    "--focus=^left$ --thread=^mixture$": {"focus": ["left"], "thread": "mixture"},
}
PARTS = {
    **dict.fromkeys(("exact", "sampled", "coarse", "turned", "large"), NARROWED),
    **dict.fromkeys(("sampled-difference", "mixed-difference", "turned-difference"), NARROWED),
    "forged-losses": {"--ignore=^string_new$": {"hide": ["string_new"]}},
    "forged-tags": {"--tag=request": {"tag": "request"}},
    "forged-tags-sampled": {"--tag=request": {"tag": "request"}},
    "difference": {"--focus=^main$": {"focus": ["main"]}, "--ignore=audit": {"hide": ["shapes::audit"]}},
}
# The same within time intervals.
NARROWED_IN_TIME = {"--focus=^left$ --thread=^even$": {"focus": ["left"], "thread": "even"}}
PARTS_IN_TIME = dict.fromkeys(("exact", "sampled", "turned"), NARROWED_IN_TIME)


def run(place, *command, status=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, env=environment(), cwd=place,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == status, f"{' '.join(map(str, command))}: status {done.returncode}: {said}"
    return done.stdout


def subject(name):
    """The arguments of `plimsoll export` for this profile or difference."""
    base, now = DIFFERENCES.get(name, (None, name))
    return [f"{now}.plim"] if base is None else [f"--diff-base={base}.plim", f"{now}.plim"]


def export(place, name, form, *options):
    """Writes an export and returns its path."""
    path = place / f"{name}.{len(list(place.iterdir()))}.{form}"
    run(place, PLIMSOLL, "export", "--format", form, *options, "-o", path, *subject(name))
    return path


def intervals(moments):
    """Pairs of times in seconds; None is the start or the end. A short run may have one moment, or none."""
    if not moments:
        return []
    early, middle, late = moments[0], moments[len(moments) // 2], moments[-1]
    return [(None, middle), (middle, None), (0, middle)] + ([(early, late)] if early < late else [])


def describe_part(place, name, options, narrowing, since=None, until=None):
    given = {"since": since, "until": until}
    times = [f"--{word}={seconds:.9f}s" for word, seconds in given.items() if seconds is not None]
    return {"narrowing": {**NOTHING, **narrowing}, "since": since, "until": until,
            "json": export(place, name, "json", *options.split(), *times)}


def describe(place, name):
    page, whole = export(place, name, "page"), export(place, name, "json")
    parts = [describe_part(place, name, *part) for part in PARTS.get(name, {}).items()]
    snapshots = [] if name in DIFFERENCES else json.loads(whole.read_bytes())["snapshots"]
    moments = [each["time_s"] for each in snapshots]
    for times in intervals(sorted(set(moments))):
        for part in {"": {}, **PARTS_IN_TIME.get(name, {})}.items():
            parts.append(describe_part(place, name, *part, *times))
    return {"name": name, "difference": name in DIFFERENCES, "page": page, "json": whole, "parts": parts}


def write_report(place, name):
    for form, options in {"report": [], "digits.report": ["--metric=calls", "--top=1000000", "--all-digits"]}.items():
        said = run(place, PLIMSOLL, "report", "--color=never", *options, f"{name}.plim")
        (place / f"{name}.{form}").write_bytes(said)


def write_tags(place, name):
    (place / f"{name}.tags.json").write_bytes(run(place, PLIMSOLL, "export", "--format", "tags-json", f"{name}.plim"))


def rename(place):
    """A link to a program without lines: reports name its functions with the link."""
    run(place, "strip", "--strip-debug", "-o", "target", MIXTURE)
    (place / "renamed").symlink_to("target")


def profiles(place):
    rename(place)
    for name, (options, program) in RECORDED.items():
        run(place, PLIMSOLL, "run", *options, "-o", f"{name}.plim", "--", *program)
    for scenario in FORGED:
        run(place, FORGE, scenario, f"forged-{scenario}.plim")
    names = [*RECORDED, *(f"forged-{scenario}" for scenario in FORGED)]
    for name in names:
        write_report(place, name)
        write_tags(place, name)
    described = [describe(place, name) for name in [*names, *DIFFERENCES]]
    (place / "profiles.json").write_text(json.dumps(described, default=str))
    (place / "figures.txt").write_bytes(run(place, FIGURES))


def bundle(place):
    """Bundles each test into one file for node."""
    if not shutil.which("node"):
        raise Skip("node is not installed")
    if not (WEB / "node_modules/esbuild").is_dir():
        raise Skip("web/node_modules is not there: tools/setup check installs it")
    run(place, "node", WEB / "build.mjs", "--out", place, "--tests")


@functools.cache
def prepare(place):
    """Once for all claims. Returns the exception, or None."""
    try:
        bundle(place)
        profiles(place)
    except Exception as problem:
        return problem
    return None


def check(place, test):
    problem = prepare(place)
    if problem:
        raise problem
    bundled = place / "tests" / f"{test.stem}.mjs"
    done = subprocess.run(["node", "--test", bundled], capture_output=True, text=True, cwd=place, timeout=PATIENCE_S,
                          env=environment(PLIMSOLL_MODEL=place, PLIMSOLL_SOURCE=SOURCE))
    if done.returncode != 0:
        say(done.stdout + done.stderr)
    assert done.returncode == 0, f"status {done.returncode}"


def main():
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm") as name:
        for test in sorted((WEB / "tests").glob("*.test.ts")):
            claims.add(f"the page's model: {test.name}", functools.partial(check, Path(name), test))
        return claims.main()


if __name__ == "__main__":
    sys.exit(main())
