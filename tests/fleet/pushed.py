# SPDX-License-Identifier: MIT
"""pushed - starts `plimsoll push`, and stores of our own that keep what it sends."""

import base64
import gzip
import http.server
import json
import queue
import signal
import subprocess
import threading

# First, because it adds tests/lib, tests/export and tests/page to the path.
from served import PATIENCE_S, PLIMSOLL, environment
from otlps import Request
from pprofs import Pprof

TYPES = {"/v1development/profiles": "application/x-protobuf", "/push.v1.PusherService/Push": "application/json",
         "/api/profiles/writeraw": "application/json"}


class Store:
    """An HTTP server that keeps the requests and answers with the next of `answers`, then with 200."""

    def __init__(self, *answers, kind=None):
        self.answers, self.kind, self.requests = list(answers), kind, queue.Queue()
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = store.answers.pop(0) if store.answers else 200
                store.requests.put((self.path, self.headers, body, status))
                if status == 0:  # it hangs up after it has read everything
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Type", store.kind or TYPES[self.path])
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}" if "json" in TYPES[self.path] else b"\n\0")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def next(self):
        return self.requests.get(timeout=PATIENCE_S)


class Pusher:
    """`plimsoll push OPTIONS PID`, as long as the block lasts."""

    def __init__(self, to, steps, *options):
        self.command = [str(word) for word in (PLIMSOLL, "push", "--to", to, "--every", "1s", *options, steps.pid)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True, env=environment())
        return self

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=PATIENCE_S)[1]
        return self.process.returncode, said

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        self.process.stderr.close()


def otlp(request):
    """(figures of what is live, figures of what was allocated, or None)."""
    path, headers, body, _ = request
    assert path == "/v1development/profiles" and headers["Content-Type"] == "application/x-protobuf", (path, headers)
    assert headers["Content-Encoding"] == "gzip"
    found = Request(gzip.decompress(body))
    for profile in found.profiles:
        assert bool(profile.duration_ns) == profile.type.startswith("alloc"), profile.type
    return found


def pprofs(request):
    """(labels, pprof) of each series of Pyroscope and Parca."""
    _, headers, body, _ = request
    assert headers["Content-Type"] == "application/json"
    for series in json.loads(body)["series"]:
        labels = series["labels"]["labels"] if isinstance(series["labels"], dict) else series["labels"]
        (sample,) = series["samples"]
        yield {label["name"]: label["value"] for label in labels}, Pprof(base64.b64decode(sample["rawProfile"]))


def allocated(request):
    return otlp(request).totals().get("alloc_objects", 0)
