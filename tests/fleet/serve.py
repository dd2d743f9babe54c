# SPDX-License-Identifier: MIT
"""serve - `plimsoll serve` gives scrapers the figures that `export` gives, and nothing to those who may not have them.
"""

import functools
import json
import os
import re
import select
import shutil
import ssl
import stat
import subprocess
import sys
import time
import urllib.parse
import urllib.request

# First, because it adds tests/lib, tests/export and tests/page to the path.
from served import FIGURES, PATIENCE_S, PLIMSOLL, Clock, Server, Steps, environment, place
import claims
from claims import Skip, claim
from patience import await_true
from pprofs import Pprof, go, one

TOKEN = "0123456789abcdef0123456789abcdef"
NOBODY = 65534
HEAP, ALLOCS, DELTA = (f"/debug/pprof/{name}" for name in ("heap", "allocs", "delta_heap"))


def profile(server, path, **query):
    answer = server.get(f"{path}?{urllib.parse.urlencode(query)}")
    assert answer.status == 200, (answer.status, answer.body)
    assert answer.headers["content-type"] == "application/octet-stream", answer.headers
    return Pprof(answer.body)


def refused(status, *answers):
    for answer in answers:
        assert answer.status == status, (answer.status, status, answer.body[:200])
        assert answer.headers["x-content-type-options"] == "nosniff" and b"\x1f\x8b" not in answer.body


def token_file(text=TOKEN, name="token"):
    path = place() / name
    path.write_text(text + "\n")
    return path


# ---- pprof ----


@claim
def heap_and_allocs_have_the_figures_of_export():
    with Server() as server, Steps() as steps:
        steps.step(1000)
        for path, first in ((HEAP, "inuse_space"), (ALLOCS, "alloc_space")):
            found = profile(server, path, pid=steps.pid)
            assert found.totals() == steps.totals() and found.default_type() == first, (found.totals(), steps.totals())
            assert found.types == list(zip(FIGURES, ("count", "bytes") * 2)) and not one(found.all, "duration_nanos")
            assert found.text(found.all["mapping"][0], "filename").endswith("/steps")
        names = {name for sample in found.samples for name in found.names(sample)}
        assert {"keep_block", "pass_block"} <= names, names
        assert any(found.labels(sample).get("tag") == "kept" for sample in found.samples)


@claim
def a_profile_of_seconds_has_what_changed_in_them_and_the_server_answers_meanwhile():
    clock = Clock()
    with Server(clock=clock) as server, Steps() as steps:
        steps.step(100)
        with server.connect() as connection:
            connection.sendall(server.request(f"{HEAP}?pid={steps.pid}&seconds=3000"))
            # The server has the request before it answers the first of these, and has read before it answers the second.
            assert [server.get("/metrics").status for _ in range(2)] == [200, 200]
            steps.step(30)
            assert not select.select([connection], [], [], 0)[0], "answered too early"
            clock.leap(3000)
            assert server.get("/metrics").status == 200  # a request makes the server look at its clock
            answer = server.talk(b"", connection)
    found = Pprof(answer.body)
    assert found.totals() == {"alloc_objects": 60, "alloc_space": 30 * 150, "inuse_objects": 30, "inuse_space": 3000}
    assert one(found.all, "duration_nanos") >= 3000e9 and 'filename="heap-delta"' in answer.headers["content-disposition"]


@claim
def delta_heap_has_what_was_allocated_since_the_last_question_and_nothing_twice():
    with Server() as server, Steps() as steps:
        steps.step(500)
        before_ns = time.time_ns()
        first = profile(server, DELTA, pid=steps.pid).totals()
        assert (first["alloc_objects"], first["inuse_objects"] >= 500) == (0, True), first
        for count in (70, 0, 5):
            steps.step(count)
            found = profile(server, DELTA, pid=steps.pid)
            assert found.totals()["alloc_objects"] == 2 * count and found.totals()["alloc_space"] == 150 * count
            assert found.totals()["inuse_space"] == steps.totals()["inuse_space"]
            assert before_ns <= one(found.all, "time_nanos") <= time.time_ns() and one(found.all, "duration_nanos")


@claim
def after_a_reset_a_delta_is_not_negative():
    with Server() as server, Steps() as steps:
        steps.step(500)
        profile(server, DELTA, pid=steps.pid)
        asking = subprocess.Popen([PLIMSOLL, "control", str(steps.pid), "reset"], env=environment(),
                                  stderr=subprocess.DEVNULL)
        while asking.poll() is None:  # it obeys when it allocates
            steps.step(1)
        assert asking.returncode == 0
        steps.step(7)
        found = profile(server, DELTA, pid=steps.pid)
        assert found.totals()["alloc_objects"] == steps.totals()["alloc_objects"] >= 14, found.totals()
        assert min(value for sample in found.samples for value in sample["value"]) >= 0


@claim
def a_service_is_the_sum_of_its_processes():
    name = f"two of {os.getpid()} & more"
    with Server() as server, Steps(name) as one_of_them, Steps(name) as other:
        one_of_them.step(10)
        other.step(32)
        found = profile(server, HEAP, service=name)
        wanted = {metric: one_of_them.totals()[metric] + other.totals()[metric] for metric in FIGURES}
        assert found.totals() == wanted, (found.totals(), wanted)
        rows = [sample for sample in found.samples if "keep_block" in found.names(sample)]
        assert [sample["value"][2] for sample in rows] == [42], "the same stack is there twice"


@claim
def questions_that_cannot_be_answered_are_refused_with_the_reason():
    with Server() as server, Steps() as steps, Steps():
        for query in ("seconds=0", "seconds=-1", "seconds=x", "seconds=", "seconds=1.5", "seconds=99999999999",
                      "pid=0", "pid=x", "pid=99999999999999999999", "debug=1"):
            refused(400, server.get(f"{HEAP}?{query}"))
        refused(400, server.get(HEAP), server.get(f"{DELTA}?pid={steps.pid}&seconds=1"))
        assert b"?pid=PID or ?service=NAME" in server.get(HEAP).body
        refused(404, server.get(f"{HEAP}?pid=1"), server.get(f"{HEAP}?service=nothing"), server.get("/debug/pprof/cpu"))
        assert server.get(f"{HEAP}?pid={steps.pid}&gc=1&debug=0").status == 200


@claim
def a_process_that_ends_while_it_is_asked_about_is_404_or_its_last_figures():
    with Server() as server, Steps() as steps:
        with server.connect() as connection:
            connection.sendall(server.request(f"{HEAP}?pid={steps.pid}&seconds=1"))
            await_true(lambda: server.get("/metrics").status == 200)
            steps.process.stdin.close()
            steps.process.wait(PATIENCE_S)
            assert server.talk(b"", connection).status in (200, 404)
        refused(404, server.get(f"{HEAP}?pid={steps.pid}"))
        steps.process.stdin = open(os.devnull)


@claim
def go_tool_pprof_reads_every_endpoint():
    home = place() / "home"
    home.mkdir(exist_ok=True)
    settings = environment(HOME=home, PPROF_TMPDIR=home, GOCACHE=home / "cache", GOTOOLCHAIN="local", GOPROXY="off",
                           PATH=f"/usr/bin:{os.environ['PATH']}")
    with Server() as server, Steps() as steps:
        steps.step(1000)
        for path, query in ((HEAP, ""), (ALLOCS, ""), (DELTA, ""), (HEAP, "&seconds=1"), (ALLOCS, "&seconds=1")):
            command = [go(), "tool", "pprof", "-top", "-sample_index=inuse_objects", f"{server.url}{path}?pid={steps.pid}{query}"]
            done = subprocess.run(command, capture_output=True, text=True, env=settings, timeout=PATIENCE_S)
            assert done.returncode == 0 and "Type: inuse_objects" in done.stdout, (done.stdout, done.stderr)
            assert bool(query) or "keep_block" in done.stdout, done.stdout


# ---- Prometheus ----


def metrics_of(text, pid):
    """(name, other labels) -> value, of one process."""
    found = {}
    for line in text.splitlines():
        sample = re.fullmatch(r'(\w+)\{service_name="((?:[^"\\]|\\.)*)",pid="(\d+)"(?:,(.*))?\} (\S+)', line)
        assert sample or line.startswith("# "), line
        if sample and int(sample[3]) == pid:
            found[sample[1], sample[4] or ""] = float(sample[5])
    return found


@claim
def metrics_have_the_figures_of_export_and_live_bytes_by_tag():
    with Server() as server, Steps() as steps:
        steps.step(1000)
        answer = server.get("/metrics")
        assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
        text = answer.body.decode()
        assert text.endswith("# EOF\n") and len(set(re.findall("# TYPE (.*)", text))) == text.count("# TYPE ")
        found, totals = metrics_of(text, steps.pid), steps.totals()
        assert found["plimsoll_live_bytes", ""] == totals["inuse_space"]
        assert found["plimsoll_live_blocks", ""] == totals["inuse_objects"]
        assert found["plimsoll_allocated_bytes_total", ""] == totals["alloc_space"]
        assert found["plimsoll_allocations_total", ""] == totals["alloc_objects"]
        assert found["plimsoll_tag_live_bytes", 'tag="kept"'] == 100000
        assert found["plimsoll_resident_bytes", ""] > 100000 and ("plimsoll_cost_seconds_total", "") in found


@claim
def hostile_names_do_not_break_the_texts():
    name = 'a"b\\c\nd<script>&\'{} ' + str(os.getpid())
    with Server() as server, Steps(name) as steps:
        assert metrics_of(server.get("/metrics").body.decode(), steps.pid)
        (target,) = [each for each in json.loads(server.get("/targets/pprof").body)
                     if each["labels"]["pid"] == str(steps.pid)]
        assert target["labels"]["service_name"] == name
        page = server.get("/").body.decode()
        assert "<script>" not in page and "&lt;script&gt;&amp;&#39;" in page


@claim
def a_real_prometheus_discovers_the_targets_and_scrapes_them():
    program = shutil.which("prometheus")
    if not program:
        raise Skip("prometheus is not installed")
    with Server() as server, Steps() as steps:
        steps.step(1000)
        config = place() / "prometheus.yml"
        config.write_text(f"""
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: metrics
    http_sd_configs: [{{url: "{server.url}/targets/metrics", refresh_interval: 1s}}]
  - job_name: pprof
    metrics_path: /debug/pprof/heap
    http_sd_configs: [{{url: "{server.url}/targets/pprof", refresh_interval: 1s}}]
""")
        listen = place() / "listen"
        process = subprocess.Popen([program, f"--config.file={config}", f"--storage.tsdb.path={place() / 'tsdb'}",
                                    "--web.listen-address=127.0.0.1:0", "--log.level=info"],
                                   stdout=subprocess.DEVNULL, stderr=open(listen, "w"), env=environment())
        try:
            address = await_true(lambda: listening_of(process.pid), "Prometheus's port")
            ask = functools.partial(ask_prometheus, address)
            query = urllib.parse.quote(f'plimsoll_live_bytes{{pid="{steps.pid}"}}')
            found = await_true(lambda: ask(f"query?query={query}")["data"]["result"], "a scrape")
            assert float(found[0]["value"][1]) == steps.totals()["inuse_space"], found
            assert found[0]["metric"]["service_name"] == steps.service
            targets = lambda: [each for each in ask("targets")["data"]["activeTargets"]
                               if each["labels"].get("pid") == str(steps.pid)]
            (target,) = await_true(targets, "the target")
            assert f"/debug/pprof/heap?pid={steps.pid}" in target["scrapeUrl"], target
        finally:
            process.kill()
            process.wait()


def ask_prometheus(address, path):
    """The answer of its API; while it is starting, one that has nothing in it."""
    try:
        return json.load(urllib.request.urlopen(f"http://{address}/api/v1/{path}", timeout=PATIENCE_S))
    except OSError:
        return {"data": {"result": [], "activeTargets": []}}


def listening_of(pid):
    """The address at which a process listens on loopback; None: it does not yet."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            continue
    for line in open("/proc/net/tcp").readlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            return f"127.0.0.1:{int(words[1].split(':')[1], 16)}"
    return None


# ---- who may ask ----


@claim
def every_answer_has_the_headers_and_only_GET_and_HEAD_from_our_own_address_are_allowed():
    with Server() as server:
        refused(405, *(server.get("/metrics", {"Content-Length": "0"}, method=method)
                       for method in ("POST", "PUT", "DELETE", "OPTIONS")))
        refused(403, *(server.get("/metrics", {"Host": host}) for host in
                       ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"localhost:{server.port + 1}")))
        refused(403, *(server.get("/metrics", {"Sec-Fetch-Site": site}) for site in ("cross-site", "same-site")))
        assert server.get("/metrics", {"Host": f"localhost:{server.port}"}).status == 200
        assert server.get("/metrics", method="HEAD").body == b""


@claim
def other_paths_are_404_whatever_they_are():
    ways = ("..", "../", "%2e%2e/", "..%2f", "%252e%252e/", "./", "//", "%00", "\\..")
    with Server() as server:
        refused(404, *(server.get(f"/{way}{rest}") for way in ways for rest in ("etc/passwd", "metrics")),
                *(server.get(path) for path in ("/metrics/", "/Metrics", "/debug/pprof", "/debug/pprof/heap/", "/data")))


@claim
def the_server_survives_large_and_malformed_requests_and_silent_clients():
    with Server() as server:
        silent = [server.connect() for _ in range(300)]
        for request in (b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\n\r\n", b"\0" * 1000, b"GET\r\n\r\n",
                        server.request("/metrics", {f"X-{i}": "y" * 100 for i in range(1000)}),
                        server.request(f"{HEAP}?" + "&".join(f"service={i}" for i in range(2000)))):
            try:
                assert server.talk(request).status in (0, 400, 404, 413, 414, 431)
            except ConnectionError:
                pass
            assert server.get("/targets/metrics").status == 200
        for connection in silent:
            connection.close()


@claim
def with_a_token_nobody_gets_anything_without_it():
    with Server("--token-file", token_file()) as server, Steps() as steps:
        paths = ("/", "/metrics", "/targets/pprof", "/nothing", f"{HEAP}?pid={steps.pid}")
        for header in ("", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}0", f"Basic {TOKEN}", TOKEN,
                       f"Bearer {TOKEN[:-1]}x"):
            refused(401, *(server.get(path, {"Authorization": header}) for path in paths))
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert [server.get(path, right).status for path in paths] == [200, 200, 200, 404, 200]


@claim
def without_a_token_other_users_get_metrics_but_no_profiles():
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    with Server() as server, Steps() as steps:
        server.get("/metrics")
        os.seteuid(NOBODY)
        try:
            connections = [server.connect() for _ in range(3)]
        finally:
            os.seteuid(0)
        refused(403, server.talk(server.request(f"{HEAP}?pid={steps.pid}"), connections[0]),
                server.talk(server.request("/"), connections[1]))
        assert server.talk(server.request("/metrics"), connections[2]).status == 200


@claim
def a_unix_socket_is_for_its_owner_only_and_is_removed_at_the_end():
    path = place() / "serve.sock"
    for _ in range(2):
        with Server(listen=path) as server, Steps() as steps:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600 and server.url == str(path)
            steps.step(10)
            assert profile(server, HEAP, pid=steps.pid).totals() == steps.totals()
        assert not path.exists()


def said_by(*options):
    done = subprocess.run([PLIMSOLL, "serve", *map(str, options)], capture_output=True, text=True, env=environment(),
                          timeout=PATIENCE_S)
    return done.returncode, done.stderr


@claim
def beyond_loopback_it_needs_a_token_and_tls_or_says_so():
    short = token_file("short", "short")
    for options, words in ((["--listen", "0.0.0.0:0"], "reaches beyond this machine"),
                           (["--listen", "[::]:0"], "reaches beyond this machine"),
                           (["--listen", "0.0.0.0:0", "--token-file", token_file()], "reaches beyond this machine"),
                           (["--listen", "nonsense"], "not an address with a port"),
                           (["--listen", "127.0.0.1"], "not an address with a port"),
                           (["--listen", "127.0.0.1:99999"], "not an address with a port"),
                           (["--listen", "/" + "x" * 200], "a path of a socket has at most"),
                           (["--tls-cert", "x"], "belong together"),
                           (["--token-file", "/nonexistent"], "cannot read /nonexistent"),
                           (["--token-file", short], "at least 16 characters"),
                           (["4711"], "serve takes no arguments")):
        status, said = said_by(*options)
        assert status in (1, 2) and words in said, (options, status, said)
    with Server("--insecure", listen="0.0.0.0:0") as server:
        assert server.get("/metrics", {"Host": "any.example"}).status == 200


@claim
def tls_is_served_with_the_certificate():
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    certificate, key = place() / "cert.pem", place() / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                   capture_output=True)
    options = ["--token-file", token_file(), "--tls-cert", certificate, "--tls-key", key]
    with Server(*options, listen="0.0.0.0:0") as server:
        context = ssl.create_default_context(cafile=certificate)
        right = {"Authorization": f"Bearer {TOKEN}"}
        with context.wrap_socket(server.connect(), server_hostname="127.0.0.1") as connection:
            connection.sendall(server.request("/targets/metrics", right))
            answer = b""
            while piece := connection.recv(1 << 16):
                answer += piece
        assert b" 200 OK" in answer and b'"__scheme__": "https"' in answer, answer
        assert server.get("/metrics", right).status != 200, "plain HTTP is answered"


@claim
def it_ends_at_once_although_somebody_waits_for_a_profile():
    with Steps() as steps:
        with Server() as server:
            connection = server.connect()
            connection.sendall(server.request(f"{HEAP}?pid={steps.pid}&seconds=3000"))
            await_true(lambda: server.get("/metrics").status == 200)
        connection.close()


if __name__ == "__main__":
    sys.exit(claims.main())
