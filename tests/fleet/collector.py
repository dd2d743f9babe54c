# SPDX-License-Identifier: MIT
"""collector - a real OpenTelemetry Collector, built from Go's modules, takes what `plimsoll push` and `export --format
otlp` write, and what comes out of it has the same totals.

It needs a Go that is new enough and can fetch modules. Without, the claims are skipped.
"""

import functools
import gzip
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

# First, because it adds tests/lib, tests/export and tests/page to the path.
from served import PATIENCE_S, PLIMSOLL, Steps, environment, place
import claims
from claims import Skip, claim
from otlps import Request
from patience import await_true
from pushed import Pusher, Store

SOURCE = Path(__file__).resolve().parent / "collector"
BUILD_S = 900


@functools.cache
def collector():
    """The path of the program."""
    go, path = shutil.which("go"), place() / "collector"
    if not go:
        raise Skip("go is not installed")
    done = subprocess.run([go, "build", "-o", path, "."], cwd=SOURCE, capture_output=True, text=True, timeout=BUILD_S,
                          env={**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOTOOLCHAIN": "local"})
    if done.returncode != 0:
        raise Skip(f"the Collector cannot be built here: {done.stderr.strip().splitlines()[-1][:200]}")
    return path


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def collecting(store):
    """The address of a Collector that sends what it receives to the store."""
    program, port, config = collector(), free_port(), place() / "collector.yaml"
    config.write_text(f"""
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  otlp_http:
    profiles_endpoint: {store.url}/v1development/profiles
    compression: gzip
    sending_queue: {{enabled: false}}
service:
  telemetry: {{metrics: {{level: none}}}}
  pipelines: {{profiles: {{receivers: [otlp], exporters: [otlp_http]}}}}
""")
    process = subprocess.Popen([program, "--config", config, "--feature-gates", "service.profilesSupport"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    try:
        await_true(lambda: listens(port), "the Collector")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def came_out(store):
    return Request(gzip.decompress(store.next()[2]))


@claim
def what_is_pushed_comes_out_with_the_same_totals():
    with Store() as store, collecting(store) as url, Steps() as steps:
        steps.step(1000)
        with Pusher(f"otlp+{url}", steps) as pusher:
            first = came_out(store)
            assert first.totals() == {name: value for name, value in steps.totals().items() if "inuse" in name}
            assert {profile.resource["service.name"] for profile in first.profiles} == {steps.service}
            steps.step(500)
            sum_of = 0
            while sum_of < 1000:
                sum_of += came_out(store).totals()["alloc_objects"]
            assert sum_of == 1000
            assert pusher.end()[0] == 0


@claim
def what_is_exported_comes_out_with_the_same_totals():
    with Store() as store, collecting(store) as url, Steps() as steps:
        steps.step(1000)
        done = subprocess.run([PLIMSOLL, "export", "--format", "otlp", str(steps.pid)], capture_output=True,
                              env=environment(), timeout=PATIENCE_S)
        request = urllib.request.Request(f"{url}/v1development/profiles", done.stdout,
                                         {"Content-Type": "application/x-protobuf"})
        assert urllib.request.urlopen(request, timeout=PATIENCE_S).status == 200
        assert came_out(store).totals() == steps.totals()


if __name__ == "__main__":
    sys.exit(claims.main())
