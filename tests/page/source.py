# SPDX-License-Identifier: MIT
"""source - the page's sources type-check, and the bundle in the tree is up to date and small."""

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
    """Runs a script with node; skips the claim if node or the page's packages are not installed."""
    if not shutil.which("node"):
        raise Skip("node is not installed")
    if not (WEB / "node_modules/typescript").is_dir():
        raise Skip("web/node_modules is not there: tools/setup check installs it")
    done = subprocess.run(["node", *map(str, words)], cwd=WEB, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr


@claim
def the_sources_type_check():
    node(WEB / "node_modules/typescript/bin/tsc", "--noEmit", "-p", WEB)


def files_of(directory):
    return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


@claim
def the_committed_bundle_is_up_to_date():
    with tempfile.TemporaryDirectory() as place:
        node(WEB / "build.mjs", "--out", place)
        fresh = files_of(place)
    shipped = files_of(BUILT)
    stale = [name for name in {*fresh, *shipped} if fresh.get(name) != shipped.get(name)]
    assert not stale, f"web/built is out of date: {sorted(stale)}; run `make page`"


@claim
def script_and_style_are_less_than_150_kilobytes_gzipped():
    sizes = {name: len(gzip.compress((BUILT / name).read_bytes(), 9)) for name in ("page.js", "page.css")}
    say(f"gzipped: {sizes}")
    assert sum(sizes.values()) < MOST_BYTES, sizes


if __name__ == "__main__":
    sys.exit(main())
