# SPDX-License-Identifier: MIT
"""merge - `plimsoll merge`: all figures of the sum are exact, and profiles that cannot be added are refused."""

import collections
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims
from built import BUILD, PLIMSOLL, environment, export
from claims import claim

PARCEL = BUILD / "tests" / "merge" / "merge-parcel"
PARCEL_LATER = BUILD / "tests" / "merge" / "merge-parcel-later"
AGAIN = BUILD / "tests" / "merge" / "merge-again"
FORGE = BUILD / "tests" / "reader" / "forge"
EXACT_METRICS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space")


class Place:
    """A directory for profiles, and the ways to make them."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-merge."))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def plimsoll(self, *words, status=0):
        done = subprocess.run(
            [PLIMSOLL, *map(str, words)], capture_output=True, text=True, cwd=self.path, env=environment()
        )
        assert done.returncode == status, f"{words}: status {done.returncode}, not {status}: {done.stderr}"
        return done.stderr

    def run(self, name, *command, mode=("--exact",)):
        self.plimsoll("run", "-q", *mode, "-o", name, "--", *command)
        return self.path / name

    def forge(self, scenario):
        subprocess.run([FORGE, scenario, self.path / f"{scenario}.plim"], check=True)
        return self.path / f"{scenario}.plim"

    def merge(self, *words):
        self.plimsoll("merge", "-q", "--force", "-o", "sum.plim", *words)
        return export(self.path / "sum.plim")

    def files(self):
        return sorted(path.name for path in self.path.iterdir())


# --- figures by names instead of numbers ---


def value(figures, metric):
    """The value of a figure, which is a number if it is exact and an object otherwise."""
    figure = figures[metric]
    return figure["value"] if isinstance(figure, dict) else figure


def stack_of(profile, site):
    if site["stack"] is None:
        return None
    frames = [profile["frames"][frame] for frame in profile["stacks"][site["stack"]]]
    return tuple(
        (frame["function"], frame["line"], profile["modules"][frame["module"]]["build_id"], frame["address"])
        for frame in frames
    )


def path_of(profile, tag):
    names = []
    while tag:
        names.insert(0, profile["tags"][tag]["name"])
        tag = profile["tags"][tag]["parent"]
    return tuple(names)


def figures_of(profile):
    """Everything that can be added, as one bag of numbers."""
    sums = collections.Counter()
    for metric in EXACT_METRICS:
        sums["total", metric] += value(profile["totals"], metric)
    for function, calls in profile["totals"]["functions"].items():
        sums["function", function] += calls
    for thread in profile["threads"]:
        sums["thread", thread["name"], "calls"] += thread["calls"]
        sums["thread", thread["name"], "bytes"] += thread["bytes"]
        sums["thread", thread["name"], "threads"] += thread["threads"]
    for scope in profile["scopes"]:
        who = "scope", profile["threads"][scope["thread"]]["name"], path_of(profile, scope["tag"])
        for field in ("entered", "calls", "bytes"):
            sums[(*who, field)] += scope[field]
    for site in profile["sites"]:
        who = stack_of(profile, site), profile["threads"][site["thread"]]["name"], path_of(profile, site["tag"])
        for metric in (*EXACT_METRICS, "temp_objects"):
            sums[("site", *who, metric)] += value(site, metric)
        for name in ("sizes", "lifetimes"):
            for bucket, count in enumerate(site[name]):
                sums[("site", *who, name, bucket)] += count
        sums[("site", *who, "copied")] += site["reallocs"]["moved_bytes"]
    for key in list(sums):
        if not sums[key]:
            del sums[key]
    return sums


def differences(whole, parts, rounding=0):
    wanted = collections.Counter()
    for part in parts:
        for key, count in figures_of(part).items():
            wanted[key] += count
    have = figures_of(whole)
    for key in sorted(set(wanted) | set(have), key=repr):
        if abs(wanted[key] - have[key]) > rounding * abs(wanted[key]):
            yield f"{key}: {have[key]}, the parts have {wanted[key]}"


# --- the sum ---


@claim
def the_sum_of_exact_profiles_is_exact():
    with Place() as place:
        files = [place.run(f"p{n}.plim", PARCEL, n) for n in (100, 250, 1000)]
        whole = place.merge(*files)
        claims.expect(differences(whole, [export(path) for path in files]), "in the sum")
        assert whole["sampling"]["exact"] is True
        assert value(whole["totals"], "inuse_space") >= 1350 * 100
        assert whole["timeline"] == [], "a sum of processes with different clocks has a timeline"


@claim
def exact_and_sampled_profiles_can_be_added_and_are_not_called_exact():
    with Place() as place:
        files = [place.run("exact.plim", PARCEL, 5000)]
        files += [place.run(f"s{k}.plim", PARCEL, 20000, mode=("--sample", f"{k}K")) for k in (1, 16)]
        whole = place.merge(*files)
        parts = [export(path) for path in files]
        problems = [line for line in differences(whole, parts, 1e-5) if not line.startswith("('total', 'peak")]
        claims.expect(problems, "in the sum")
        assert whole["sampling"]["exact"] is False
        assert whole["sampling"]["samples"] == sum(part["sampling"]["samples"] for part in parts)


@claim
def sums_can_be_added_to_other_profiles():
    with Place() as place:
        files = [place.run(f"p{n}.plim", PARCEL, n) for n in (10, 20, 30)]
        first = export(place.merge(*files[:2]) and place.path / "sum.plim")
        (place.path / "sum.plim").rename(place.path / "two.plim")
        whole = place.merge(place.path / "two.plim", files[2])
        claims.expect(differences(whole, [first, export(files[2])]), "in the sum")
        assert "3 profiles" in place.plimsoll("merge", "-o", "again.plim", "two.plim", "p30.plim")


@claim
def a_hundred_profiles_are_all_counted():
    with Place() as place:
        one = place.run("one.plim", PARCEL, 10)
        whole = place.merge(*[one] * 100)
        claims.expect(differences(whole, [export(one)] * 100), "in the sum")


@claim
def a_process_tree_is_merged_into_one_profile():
    with Place() as place:
        place.run("tree.%p.plim", "sh", "-c", f"{PARCEL} 100; {PARCEL} 200 & wait; exec {PARCEL} 300")
        files = sorted(place.path.glob("tree.*.plim"))
        assert len(files) >= 3, files
        whole = place.merge(*files)
        claims.expect(differences(whole, [export(path) for path in files]), "in the sum")
        assert sum(thread["threads"] for thread in whole["threads"] if thread["name"] == "worker") == 3


@claim
def a_running_process_can_be_added():
    with Place() as place:
        file = place.run("p.plim", PARCEL, 100)
        waiting = subprocess.Popen(
            [PLIMSOLL, "run", "-q", "--exact", "-o", place.path / "live.plim", "--", PARCEL, "50", "wait"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert waiting.stdout.readline() == "up\n"
        pid = subprocess.run(["pgrep", "-P", str(waiting.pid)], capture_output=True, text=True).stdout.split()[0]
        whole = place.merge(file, pid)
        waiting.communicate()
        calls = sum(scope["calls"] for scope in whole["scopes"] if path_of(whole, scope["tag"]) == ("load", "keep"))
        assert calls == 150, calls


@claim
def a_saved_profile_and_a_saved_sum_read_back_the_same():
    with Place() as place:
        modes = ("--exact",), ("--sample", "1K"), ()
        files = [place.run(f"p{i}.plim", PARCEL, 5000, mode=mode) for i, mode in enumerate(modes)]
        place.merge(*files)
        for path in (*files, place.path / "sum.plim"):
            done = subprocess.run([AGAIN, path, place.path / "again.plim"], capture_output=True, text=True)
            assert done.returncode == 0, f"{path.name}: {done.stderr}"


# --- names and builds ---


@claim
def names_are_kept_when_the_program_is_gone():
    with Place() as place:
        shutil.copy(PARCEL, place.path / "app")
        files = [place.run(f"p{n}.plim", place.path / "app", n) for n in (10, 20)]
        before = place.merge(*files)
        (place.path / "app").unlink()
        after = export(place.path / "sum.plim")
        assert any(f["function"] == "keep" and f["file"].endswith("parcel.c") and f["line"] for f in after["frames"])
        assert before["frames"] == after["frames"]


@claim
def names_that_the_profiles_lack_are_looked_up():
    with Place() as place:
        files = [place.run(f"p{n}.plim", PARCEL, n, mode=("--exact", "--no-symbols")) for n in (10, 20)]
        place.merge(*files)
        text = subprocess.run(["strings", place.path / "sum.plim"], capture_output=True, text=True).stdout
        assert "parcel.c" in text


@claim
def two_builds_of_a_program_stay_separate():
    with Place() as place:
        app = place.path / "app"
        shutil.copy(PARCEL, app)
        first = place.run("first.plim", app, 100)
        app.unlink()
        shutil.copy(PARCEL_LATER, app)
        second = place.run("second.plim", app, 30)
        whole = place.merge(first, second)
        builds = {module["build_id"] for module in whole["modules"] if module["path"] == str(app)}
        assert len(builds) == 2, builds
        claims.expect(differences(whole, [export(first), export(second)]), "in the sum")


@claim
def hostile_names_are_kept():
    with Place() as place:
        files = [place.forge("hostile-names"), place.forge("tags")]
        whole = place.merge(*files)
        names = {frame["function"] for frame in whole["frames"]}
        for path in files:
            assert {frame["function"] for frame in export(path)["frames"]} <= names


@claim
def an_empty_profile_adds_nothing():
    with Place() as place:
        empty, some = place.forge("empty"), place.run("p.plim", PARCEL, 10)
        claims.expect(differences(place.merge(empty, some), [export(empty), export(some)]), "in the sum")
        nothing = place.merge(empty, empty)
        assert value(nothing["totals"], "alloc_objects") == 2 * value(export(empty)["totals"], "alloc_objects")


# --- refused requests ---


@claim
def a_process_is_not_counted_twice_without_force():
    with Place() as place:
        one = place.run("one.plim", PARCEL, 10)
        said = place.plimsoll("merge", one, one, status=1)
        assert "same process" in said and "--force" in said, said
        assert place.files() == ["one.plim"]
        claims.expect(differences(place.merge(one, one), [export(one)] * 2), "in the sum")


@claim
def a_sum_is_not_counted_twice_without_force():
    with Place() as place:
        a, b = place.run("a.plim", PARCEL, 10), place.run("b.plim", PARCEL, 20)
        for name, parts in {"two.plim": (a, b), "other.plim": (b, a)}.items():
            place.plimsoll("merge", "-q", "-o", name, *parts)
        shutil.copy(place.path / "two.plim", place.path / "copy.plim")
        for twin in ("two.plim", "copy.plim"):
            said = place.plimsoll("merge", "two.plim", a, twin, status=1)
            assert f"two.plim and {twin} are the same sum of 2 profiles" in said and "--force" in said, said
        assert "merged.plim" not in place.files()
        whole = place.merge("two.plim", "two.plim")
        claims.expect(differences(whole, [export(place.path / "two.plim")] * 2), "in the sum")


@claim
def a_profile_is_not_written_to_a_pipe_or_to_a_file_named_dash():
    with Place() as place:
        said = place.plimsoll("merge", "-o", "-", place.run("a.plim", PARCEL, 10), status=2)
        assert "-o FILE" in said, said
        assert place.files() == ["a.plim"]


@claim
def a_merged_peak_is_called_a_sum_of_peaks_everywhere():
    with Place() as place:
        other = place.path / "other"
        shutil.copy(PARCEL, other)
        place.merge(place.run("a.plim", PARCEL, 1000), place.run("b.plim", other, 2000))

        def shown(*words):
            done = subprocess.run(
                [PLIMSOLL, *words, "sum.plim"], capture_output=True, text=True, cwd=place.path, env=environment()
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        for words in (("report",), ("report", "--peak"), ("report", "--metric", "peak"), ("report", "--by", "thread")):
            text = shown(*words)
            assert "the heap was largest" not in text and "t the peak" not in text, f"{words}: {text}"
        assert "At their peaks" in shown("report", "--peak")
        for form in ("svg", "dot"):
            text = shown("export", "--format", form, "--metric", "peak")
            assert "2 profiles: sum of peaks, " in text and "heap was largest" not in text, text[:500]


@claim
def no_file_is_overwritten_without_force():
    with Place() as place:
        a, b = place.run("a.plim", PARCEL, 10), place.run("b.plim", PARCEL, 20)
        before = a.read_bytes()
        said = place.plimsoll("merge", "-o", "a.plim", a, b, status=2)
        assert "is both input and output" in said, said
        assert place.plimsoll("merge", a, b).startswith("plimsoll: merged 2 profiles: ")
        assert "already exists" in place.plimsoll("merge", a, b, status=1)
        assert a.read_bytes() == before and place.files() == ["a.plim", "b.plim", "merged.plim"]
        place.plimsoll("merge", "--force", "-o", "a.plim", "a.plim", "b.plim")
        claims.expect(differences(export(a), [export(place.path / "merged.plim")]))


@claim
def a_file_that_cannot_be_read_is_named_and_nothing_is_written():
    with Place() as place:
        good = place.run("good.plim", PARCEL, 10)
        (place.path / "bad.plim").write_bytes(b"not a profile" * 5000)
        said = place.plimsoll("merge", good, "bad.plim", status=1)
        assert "bad.plim" in said, said
        said = place.plimsoll("merge", good, "gone.plim", status=1)
        assert "gone.plim" in said, said
        place.plimsoll("merge", status=2)
        said = place.plimsoll("merge", good, "-o", "no/such.plim", status=1)
        assert "no/such.plim" in said and "No such file or directory" in said, said
        assert place.files() == ["bad.plim", "good.plim"]


@claim
def the_readable_part_of_a_damaged_file_is_added_and_the_sum_is_called_damaged():
    with Place() as place:
        good, cut = place.run("good.plim", PARCEL, 10), place.run("cut.plim", PARCEL, 500)
        os.truncate(cut, cut.stat().st_size // 2)
        said = place.plimsoll("merge", "-o", "sum.plim", good, cut)
        assert "cut.plim is damaged" in said, said
        whole, part = export(place.path / "sum.plim"), export(cut)
        assert whole["reading"]["damage"] == part["reading"]["damage"] > 0
        claims.expect(differences(whole, [export(good), part]), "in the sum")


if __name__ == "__main__":
    sys.exit(claims.main())
