# SPDX-License-Identifier: MIT
"""source - what the page is made of: TypeScript without a doubt left, and a bundle that is quickly there."""

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from built import SOURCE  # noqa: E402
from claims import Skip, claim, main, say  # noqa: E402

WEB = SOURCE / "web"
MOST_BYTES = 150_000
TIMEOUT_S = 100


def node(*words):
    """Runs a program of the page's packages; without these the claim is skipped."""
    if not shutil.which("node"):
        raise Skip("node is not installed")
    if not (WEB / "node_modules/typescript").is_dir():
        raise Skip("web/node_modules is not there: tools/setup build installs it")
    done = subprocess.run(["node", *map(str, words)], cwd=WEB, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr


@claim
def every_type_is_right():
    node(WEB / "node_modules/typescript/bin/tsc", "--noEmit", "-p", WEB)


@claim
def script_and_style_are_less_than_150_kilobytes_gzipped():
    with tempfile.TemporaryDirectory() as place:
        node(WEB / "build.mjs", "--out", place)
        sizes = {name: len(gzip.compress(Path(place, name).read_bytes(), 9)) for name in ("page.js", "page.css")}
    say(f"gzipped: {sizes}")
    assert sum(sizes.values()) < MOST_BYTES, sizes


if __name__ == "__main__":
    sys.exit(main())
