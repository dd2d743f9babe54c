# SPDX-License-Identifier: MIT
"""debian - debian/ agrees with the tree: files, dependencies, licences, and the hot path with Debian's options."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

from packaged import BUILD, SOURCE, claim, contents, expect, main, run, scratch

DEBIAN = SOURCE / "debian"
TRIPLET = "x86_64-linux-gnu"

# Options that distributions add. Debian 13 has all but the last two, Ubuntu has those as well.
HARDENING = "-g -O2 -fstack-protector-strong -fstack-clash-protection -fcf-protection -D_FORTIFY_SOURCE=3 -flto=auto"


def fields(text):
    """A paragraph of debian/control: field -> value."""
    found = re.findall(r"^(\S+):(.*(?:\n[ \t].*)*)", text, re.MULTILINE)
    return {name: " ".join(value.split()) for name, value in found}


def paragraphs():
    return [fields(text) for text in (DEBIAN / "control").read_text().split("\n\n")]


def names(list_of_packages):
    return {re.split(r"[ (|]", word.strip())[0] for word in list_of_packages.split(",") if word.strip()}


def packages_of(group):
    """The packages of a group in tools/packages."""
    text = re.sub(r"#.*", "", (SOURCE / "tools/packages").read_text())
    (body,) = re.findall(rf"^\[{group}\][^\n]*\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    return {line.split()[0].split("|")[0] for line in body.splitlines() if line.strip()}


# ---- files ----


def installed():
    """All paths after Debian's `meson install`."""
    with scratch() as directory:
        run("meson", "install", "--no-rebuild", "--quiet", "-C", BUILD, DESTDIR=directory)
        options = json.loads(run("meson", "introspect", "--buildoptions", BUILD))
        prefix, libdir = (next(option["value"] for option in options if option["name"] == name)
                          for name in ("prefix", "libdir"))
        files = {name for name in contents(f"{directory}{prefix}") if not name.endswith("/")}
    return {"usr/" + re.sub(rf"^{libdir}/", f"lib/{TRIPLET}/", name) for name in files}


def patterns():
    """(package, pattern) of every line of debian/PACKAGE.install."""
    return [(path.stem, line.split()[0]) for path in DEBIAN.glob("*.install") for line in path.read_text().splitlines()]


@claim
def every_installed_file_is_in_exactly_one_package():
    files, problems = installed(), []
    assert len(files) > 20, files
    for file in sorted(files):
        owners = {package for package, pattern in patterns() if fits(file, pattern)}
        if len(owners) != 1:
            problems.append(f"{file}: {sorted(owners) or 'in no package'}")
    problems += [f"{package}: {pattern} matches no installed file" for package, pattern in patterns()
                 if not any(fits(file, pattern) for file in files)]
    expect(problems)


def fits(file, pattern):
    """Matches a pattern as dh_install does: an asterisk does not match a slash."""
    parts, wanted = file.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


@claim
def every_install_list_belongs_to_a_package_of_the_control_file():
    known = {paragraph["Package"] for paragraph in paragraphs() if "Package" in paragraph}
    listed = {path.stem for suffix in ("install", "docs", "examples") for path in DEBIAN.glob(f"*.{suffix}")}
    assert listed == known, listed ^ known


@claim
def the_package_of_the_library_is_named_after_its_soname():
    said = run("readelf", "--dynamic", "--wide", BUILD / "libplimsoll.so")
    abi = re.search(r"soname: \[libplimsoll\.so\.(\d+)\]", said)[1]
    assert any(paragraph.get("Package") == f"libplimsoll{abi}" for paragraph in paragraphs()), abi


# ---- dependencies and licences ----


@claim
def the_build_dependencies_are_what_make_needs():
    essential = {"gcc", "g++", "libc6-dev"}  # from build-essential, which is never listed
    wanted = packages_of("build") - essential
    named = names(paragraphs()[0]["Build-Depends"]) - {"debhelper-compat"}
    assert named == wanted, named ^ wanted


@claim
def the_licence_of_every_library_bundled_with_the_page_is_named():
    bundled = json.loads((SOURCE / "web/package.json").read_text())["dependencies"]
    text = (DEBIAN / "copyright").read_text().lower()
    missing = [name for name in bundled if name not in text]
    assert bundled and not missing, missing


# ---- compiler options ----


@claim
def hardening_options_neither_lengthen_the_hot_path_nor_add_calls_to_the_core():
    with scratch() as directory:
        build = Path(directory) / "build"
        run("meson", "setup", "--buildtype", "plain", build, CFLAGS=HARDENING, LDFLAGS="-Wl,-z,relro -flto=auto")
        run("ninja", "-C", build, "libplimsoll.so.1")
        run(SOURCE / "tools/hot", build / "libplimsoll.so")
        run("python3", "-B", SOURCE / "tests/layers/objects.py", "calls", PLIMSOLL_SOURCE=SOURCE, PLIMSOLL_BUILD=build)
        asked = run("nm", "--dynamic", "--undefined-only", build / "libplimsoll.so")
        assert "_chk" not in asked, asked


if __name__ == "__main__":
    raise SystemExit(main())
