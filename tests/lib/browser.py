# SPDX-License-Identifier: MIT
"""browser - runs a script that examines something in a browser (browser.mjs), and returns its result."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from built import environment
from claims import Skip
from patience import PATIENCE_S

TESTS = Path(__file__).resolve().parent.parent


def needed():
    """Skips the claim if the browser, or node to drive it, is missing."""
    if not (TESTS / "node_modules" / "playwright-core").is_dir() or not shutil.which("node"):
        raise Skip("node or its packages are missing: tools/setup check installs them")
    named = os.environ.get("CHROMIUM")
    if not any(map(shutil.which, [named] if named else ["chromium-headless-shell", "chromium"])):
        raise Skip("chromium is not installed")


def browse(script, *arguments):
    """`script` is a path. Returns what it passes to print(). A failure of the script is a failure of the claim."""
    needed()
    command = ["node", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, env=environment(), stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, f"{Path(script).name}: status {done.returncode}: {said}"
    return json.loads(done.stdout)
