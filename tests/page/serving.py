# SPDX-License-Identifier: MIT
"""serving - starts `plimsoll view`, talks HTTP to it and ends it. Requests are raw bytes, so tests can send bad ones.

    with Viewer(profile) as viewer:
        answer = viewer.get("data", {"Accept-Encoding": "gzip"})
"""

import gzip
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from built import BUILD, PLIMSOLL, environment
from claims import Skip
from patience import PATIENCE_S

GROW = BUILD / "tests/page/grow"
START_S = ANSWER_S = PATIENCE_S
GZIP = {"Accept-Encoding": "gzip"}


class Answer:
    """A response: status (0: none came), headers with lower-case names, body."""

    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if first.startswith("HTTP/1.") else 0
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}

    def page_data(self):
        return gzip.decompress(self.body)


def head_of(page_data):
    """The JSON text of page data."""
    assert page_data[:8] == b"PLIMPAGE", page_data[:8]
    return json.loads(page_data[16 : 16 + struct.unpack_from("<I", page_data, 12)[0]])


def talk(port, request, seconds=ANSWER_S):
    """Sends bytes and reads until the server closes the connection, or sends nothing for so many seconds."""
    data = b""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        try:
            connection.sendall(request)
            while piece := connection.recv(1 << 16):
                data += piece
        except (TimeoutError, ConnectionError):
            pass
    return Answer(data)


class Viewer:
    """`plimsoll view ARGUMENTS`, as long as the block lasts; it must then end with status 0. Settings are environment
    variables; by default, those that make it open a browser are unset. `within` is a command that runs it."""

    def __init__(self, *arguments, within=(), **settings):
        self.arguments, self.within = arguments, within
        self.settings = {"SSH_CONNECTION": None, "DISPLAY": None, "WAYLAND_DISPLAY": None, **settings}

    def __enter__(self):
        command = [*self.within, PLIMSOLL, "view", *self.arguments]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=environment(**self.settings))
        ready, _, _ = select.select([self.process.stdout], [], [], START_S)
        self.url = self.process.stdout.readline().strip() if ready else ""
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.url)
        if not found:
            self.process.kill()
            said = self.process.communicate()[1]
            raise AssertionError(f"view printed {self.url!r} and said {said}")
        self.port, self.token = int(found[1]), found[2]
        self.host = f"127.0.0.1:{self.port}"
        return self

    def hear(self, words):
        """Reads its stderr until that contains `words`. end() returns the rest."""
        end, said = time.monotonic() + ANSWER_S, ""
        while words not in said and time.monotonic() < end:
            if select.select([self.process.stderr], [], [], 0)[0]:
                said += os.read(self.process.stderr.fileno(), 1 << 16).decode()
            else:
                self.get("data", GZIP)  # a reading is made when somebody asks
        assert words in said, f"view said {said}"
        return said

    def end(self, number=signal.SIGTERM):
        """(status, its stderr)"""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=ANSWER_S)[1]
        return self.process.returncode, said

    def __exit__(self, kind, *_):
        if self.process.poll() is None and kind is None:
            status, said = self.end()
            assert status == 0, f"view ended with {status}: {said}"
        elif self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def request(self, path, headers=None, method="GET", version="1.1", host=None):
        lines = [b"%s %s HTTP/%s" % (method.encode(), path if isinstance(path, bytes) else path.encode(),
                                     version.encode())]
        named = {"Host": self.host if host is None else host, "Connection": "close", **(headers or {})}
        lines += [f"{name}: {value}".encode() for name, value in named.items() if value != ""]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def ask(self, path, headers=None, **rest):
        """Requests a whole path."""
        return talk(self.port, self.request(path, headers, **rest))

    def get(self, name="", headers=None, **rest):
        """Requests a name behind the token."""
        return self.ask(f"/{self.token}/{name}", headers, **rest)

    def newest(self, passes, seconds=ANSWER_S):
        """Polls as the page does. Returns the JSON text of the first reading that passes; self.data is all of it."""
        end, tag = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            answer = self.get("data", {**GZIP, "If-None-Match": tag})
            if answer.status == 200:
                tag, self.data = answer.headers["etag"], answer.page_data()
                head = head_of(self.data)
                if passes(head):
                    return head
            time.sleep(0.2)
        raise AssertionError("no reading passed in time")


class Place:
    """A temporary directory for profiles."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-page."))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def record(self, name="out.plim", lines=20):
        profile = self.path / name
        command = [PLIMSOLL, "run", "-q", "--exact", "-o", profile, "--", GROW]
        done = subprocess.run([str(word) for word in command], input=b"\n" * lines, capture_output=True,
                              env=environment())
        assert profile.exists(), done.stderr.decode()
        return profile

    def plimsoll(self, *arguments, **settings):
        return subprocess.run([str(PLIMSOLL), *map(str, arguments)], cwd=self.path, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=environment(**settings), timeout=START_S)


def child_of(pid):
    """The process that `plimsoll run` has started, as soon as it has mapped its profile."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children and ".plim" in Path(f"/proc/{children[0]}/maps").read_text():
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError("no child has mapped a profile")


class Growing:
    """The program `grow`, profiled: by `plimsoll run`, or by the preloaded runtime alone."""

    def __init__(self, place, preloaded=False):
        run = [PLIMSOLL, "run", "-q", "--exact", "-o", place.path / "grown.plim", "--", GROW]
        command = [GROW] if preloaded else run
        settings = {"LD_PRELOAD": BUILD / "libplimsoll.so", "PLIMSOLL_OUT": place.path / "grown.plim"}
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment(**settings if preloaded else {}))
        self.grow()
        self.pid = self.process.pid if preloaded else child_of(self.process.pid)

    def grow(self):
        """Returns how many bytes it has so far."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def descriptors_allowed(wanted):
    """Raises the limit on open files of this process; skips where it cannot."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise Skip(f"only {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def listening(pid):
    """(address, port) of the sockets that a process listens on; the address is hexadecimal, as the kernel prints it."""
    mine = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        try:
            mine.add(os.readlink(entry.path))
        except FileNotFoundError:
            pass
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in mine:
                address, port = words[1].split(":")
                found.append((address, int(port, 16)))
    return found
