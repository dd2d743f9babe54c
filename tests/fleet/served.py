# SPDX-License-Identifier: MIT
"""served - starts processes whose heap changes only when they are told to, and `plimsoll serve`, and asks it."""

import atexit
import functools
import itertools
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in ("lib", "export", "page"):
    sys.path.insert(0, str(HERE.parent / folder))

from built import BUILD, PLIMSOLL, RUNTIME, environment, export  # noqa: E402
from patience import PATIENCE_S, await_readable  # noqa: E402
from serving import Answer  # noqa: E402

STEPS = BUILD / "tests" / "fleet" / "steps"
FIGURES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
numbers = itertools.count()


@functools.cache
def place():
    """The directory of this test."""
    path = Path(tempfile.mkdtemp(prefix="plimsoll-fleet.", dir="/dev/shm"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class Steps:
    """programs/steps.c, being profiled."""

    def __init__(self, service=None):
        self.service = service or f"steps {next(numbers)} of {os.getpid()}"
        settings = environment(LD_PRELOAD=RUNTIME, PLIMSOLL_SAMPLE="exact", PLIMSOLL_LIVE_DIR=place(),
                               PLIMSOLL_OUT=place() / "%p.plim", OTEL_SERVICE_NAME=self.service)
        self.process = subprocess.Popen([STEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings)
        self.pid = self.process.pid
        self.hear("ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0
        self.process.stdout.close()

    def hear(self, word):
        await_readable(self.process.stdout, f"{word!r}")
        said = self.process.stdout.readline()
        assert said == f"{word}\n", said

    def step(self, count):
        """It allocates `count` blocks of 100 bytes and keeps them, and as many of 50 that it frees."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        self.hear("done")

    def totals(self):
        """The figures of the JSON export."""
        totals = export(str(self.pid))["totals"]
        return {metric: totals[metric]["value"] for metric in FIGURES}


class Clock:
    """The clock of a server: it is ahead of the real one as soon as a test says so (programs/leap.c)."""

    def __init__(self):
        self.file = place() / f"clock.{next(numbers)}"
        self.leap(0)

    def leap(self, seconds):
        with open(self.file, "r+b" if self.file.exists() else "w+b") as file:
            file.write(struct.pack("<q", seconds))

    def settings(self):
        return {"LD_PRELOAD": BUILD / "tests" / "fleet" / "leap.so", "LEAP": self.file}


# Short processes of other tests, which an agent of root sees, too.
MISSED = re.compile("plimsoll: up to [0-9]+ short processes ended before they could be read; their figures are missing\n")


class Server:
    """`plimsoll serve OPTIONS`. It must end with status 0."""

    def __init__(self, *options, listen="127.0.0.1:0", clock=None):
        self.settings = clock.settings() if clock else {}
        self.command = [str(word) for word in (PLIMSOLL, "serve", "--listen", listen, *options)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.PIPE, env=environment(**self.settings))
        await_readable(self.process.stdout, "the address")
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise AssertionError(f"serve said {self.process.communicate()[1]}")
        found = re.fullmatch(r"https?://(.*):(\d+)", self.url)
        self.port = int(found[2]) if found else None
        self.host = f"127.0.0.1:{self.port}" if found else "localhost"
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        said = MISSED.sub("", self.process.communicate(timeout=PATIENCE_S)[1])
        assert kind or (self.process.returncode == 0 and not said), f"status {self.process.returncode}: {said}"

    def connect(self):
        if self.port:
            return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(self.url)
        return connection

    def request(self, path, headers=None, method="GET"):
        named = {"Host": self.host, "Connection": "close", **(headers or {})}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items() if value)]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def talk(self, request, connection=None):
        data = b""
        with connection or self.connect() as connection:
            connection.sendall(request)
            while piece := connection.recv(1 << 16):
                data += piece
        return Answer(data)

    def get(self, path, headers=None, **rest):
        return self.talk(self.request(path, headers, **rest))
