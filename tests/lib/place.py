# SPDX-License-Identifier: MIT
"""place - a directory on tmpfs for one program that keeps a ledger: its working directory, live files and results."""

import shutil
import tempfile
from pathlib import Path


class LedgerPlace:
    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm"))
        self.live = self.path / "live"
        self.live.mkdir()
        self.ledger_path = self.path / "ledger"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
