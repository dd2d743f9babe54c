# SPDX-License-Identifier: MIT
"""release - one version in one place, and one tarball for one commit."""

import re
import shutil
import tarfile
from pathlib import Path

from packaged import BUILD, PLIMSOLL, SOURCE, VERSION, Skip, claim, expect, main, run, scratch

SEMANTIC = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?"


# ---- the version ----


def found(path, pattern):
    """The text that the pattern's only group matches first in a file of the tree."""
    match = re.search(pattern, (SOURCE / path).read_text(), re.MULTILINE)
    assert match, f"{path}: no {pattern}"
    return match[1]


@claim
def the_version_is_a_semantic_one():
    assert re.fullmatch(SEMANTIC, VERSION), VERSION


@claim
def every_file_with_a_version_has_the_same_version():
    crate = r'^name = "plimsoll"\nversion = "(.*)"'
    said = {
        "plimsoll version": run(PLIMSOLL, "version").split()[1],
        "plimsoll help --man": re.search(r'"Plimsoll (\S+)"', run(PLIMSOLL, "help", "--man"))[1],
        "plimsoll.pc": found(BUILD / "meson-private/plimsoll.pc", r"^Version: (.*)"),
        "CHANGELOG.md": found("CHANGELOG.md", r"^## (\d\S*),"),
        "debian/changelog": found("debian/changelog", r"^plimsoll \((.*)-0plimsoll\d+\)"),
        "python/pyproject.toml": found("python/pyproject.toml", r'^version = "(.*)"'),
        "rust/Cargo.toml": found("rust/Cargo.toml", crate),
        "rust/Cargo.lock": found("rust/Cargo.lock", crate),
        "tests/rust/Cargo.lock": found("tests/rust/Cargo.lock", crate),
    }
    expect(f"{what} says {version}, VERSION {VERSION}" for what, version in said.items() if version != VERSION)


@claim
def the_changelog_begins_with_unreleased_changes_and_lists_releases_in_order():
    headings = re.findall(r"^## (.*)$", (SOURCE / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased", headings[0]
    releases = [re.fullmatch(rf"({SEMANTIC}), (\d{{4}}-\d\d-\d\d)", heading) for heading in headings[1:]]
    assert releases and all(releases), headings
    dates = [release[2] for release in releases]
    assert dates == sorted(dates, reverse=True), dates


# ---- the tarball ----


def clone(place):
    """A clone of the last commit, with the current script and Makefile."""
    if not (SOURCE / ".git").exists():
        raise Skip("this is not a clone")
    run("git", "clone", "--quiet", SOURCE, place)
    shutil.copy(SOURCE / "tools/dist", place / "tools/dist")
    return place


def make_tarball(place, **settings):
    into = place / "into"
    run("make", "--no-print-directory", "--file", SOURCE / "Makefile", "dist", f"BUILD={into}", cwd=place, **settings)
    (tarball,) = (into / "dist").iterdir()
    return tarball


@claim
def tarballs_of_two_clones_are_identical():
    with scratch() as directory:
        one = clone(Path(directory) / "one")
        other = clone(Path(directory) / "other" / "place with blanks")
        settings = {"tar.umask": "0077", "core.autocrlf": "true", "tar.tar.gz.command": "gzip -1"}
        for name, value in settings.items():
            run("git", "config", name, value, cwd=other)
        (other / "left-behind.c").write_text("")
        tarballs = [make_tarball(one), make_tarball(one),
                    make_tarball(other, GZIP="-1", TZ="Asia/Tokyo", LC_ALL="C", HOME=directory)]
        assert {tarball.name for tarball in tarballs} == {f"plimsoll-{VERSION}.tar.gz"}, tarballs
        assert len({tarball.read_bytes() for tarball in tarballs}) == 1, "tarballs differ"


@claim
def the_tarball_has_the_files_and_the_date_of_the_commit_and_no_owner():
    with scratch() as directory:
        place = clone(Path(directory) / "one")
        date = int(run("git", "log", "-1", "--format=%ct", cwd=place))
        tracked = set(run("git", "ls-tree", "-r", "--name-only", "HEAD", cwd=place).splitlines())
        with tarfile.open(make_tarball(place)) as tar:
            members = tar.getmembers()
        top = f"plimsoll-{VERSION}"
        files = {member.name.removeprefix(f"{top}/") for member in members if not member.isdir()}
        assert files == tracked, files ^ tracked
        assert "web/built/page.js" in files, "without the built page users would need npm"
        expect(f"{member.name}: {member.uid}:{member.gid} {member.mtime} {member.mode:o}" for member in members
               if (member.uid, member.gid, member.mtime) != (0, 0, date) or member.mode not in (0o755, 0o644, 0o777)
               or member.name.split("/")[0] != top)


if __name__ == "__main__":
    raise SystemExit(main())
