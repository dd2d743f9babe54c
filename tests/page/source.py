# SPDX-License-Identifier: MIT
"""source - what the page is made of: sources that type-check, and a bundle that is small and is what they give."""

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from built import SOURCE  # noqa: E402
from claims import Skip, claim, main, say  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

WEB = SOURCE / "web"
BUILT = WEB / "built"
MOST_BYTES = 150_000


def node(*words):
    """Runs a program of the page's packages; without these the claim is skipped."""
    if not shutil.which("node"):
        raise Skip("node is not installed")
    if not (WEB / "node_modules/typescript").is_dir():
        raise Skip("web/node_modules is not there: tools/setup check installs it")
    done = subprocess.run(["node", *map(str, words)], cwd=WEB, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr


@claim
def every_type_is_right():
    node(WEB / "node_modules/typescript/bin/tsc", "--noEmit", "-p", WEB)


def files_of(directory):
    return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


@claim
def the_page_in_the_tree_is_what_its_sources_give():
    with tempfile.TemporaryDirectory() as place:
        node(WEB / "build.mjs", "--out", place)
        fresh = files_of(place)
    shipped = files_of(BUILT)
    stale = [name for name in {*fresh, *shipped} if fresh.get(name) != shipped.get(name)]
    assert not stale, f"web/built is not what web/src gives: {sorted(stale)}; `make page` makes it anew"


@claim
def script_and_style_are_less_than_150_kilobytes_gzipped():
    sizes = {name: len(gzip.compress((BUILT / name).read_bytes(), 9)) for name in ("page.js", "page.css")}
    say(f"gzipped: {sizes}")
    assert sum(sizes.values()) < MOST_BYTES, sizes


if __name__ == "__main__":
    sys.exit(main())
