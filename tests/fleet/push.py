# SPDX-License-Identifier: MIT
"""push - `plimsoll push` sends what is live, and what was allocated, each allocation once, in the forms that OpenTelemetry,
Pyroscope and Parca take; also if the store is down, refuses, or is none.

The stores here are our own: they check requests as the documents of these systems say.
"""

import json
import os
import re
import subprocess
import sys

# First, because it adds tests/lib, tests/export and tests/page to the path.
from served import PATIENCE_S, PLIMSOLL, Steps, environment, place
import claims
from claims import claim
from pprofs import one
from pushed import Pusher, Store, allocated, otlp, pprofs


@claim
def a_collector_gets_what_is_live_and_each_allocation_once():
    with Store() as store, Steps() as steps:
        steps.step(1000)
        with Pusher(f"otlp+{store.url}", steps):
            first = otlp(store.next())
            assert first.totals() == {name: value for name, value in steps.totals().items() if "inuse" in name}
            assert {profile.resource["service.name"] for profile in first.profiles} == {steps.service}
            assert {profile.resource["process.pid"] for profile in first.profiles} == {str(steps.pid)}
            steps.step(500)
            sum_of = 0
            while sum_of < 1000:
                found = otlp(store.next())
                sum_of += found.totals()["alloc_objects"]
            assert sum_of == 1000 and found.totals()["inuse_objects"] == steps.totals()["inuse_objects"]
            assert otlp(store.next()).totals()["alloc_objects"] == 0
            names = {name for stack in range(1, len(found.table["stack"])) for name in found.names(stack)}
            assert "keep_block" in names and found.table["link"] == [{}], names


@claim
def pyroscope_gets_names_that_its_users_know_and_a_tenant():
    with Store() as store, Steps() as steps:
        with Pusher(f"pyroscope+{store.url}", steps, "--tenant", "web", "--service", "indexer"):
            path, headers, _, _ = first = store.next()
            assert path == "/push.v1.PusherService/Push" and headers["X-Scope-OrgID"] == "web"
            assert len(list(pprofs(first))) == 1
            steps.step(20)
            sum_of = 0
            while sum_of < 40:
                live, new = pprofs(store.next())
                sum_of += new[1].totals()["alloc_objects"]
            for labels, profile in (live, new):
                assert labels["__name__"] == "memory" and labels["__delta__"] == "false", labels
                assert labels["service_name"] == "indexer" and labels["process_pid"] == str(steps.pid)
                assert all(re.fullmatch(r"\w+", name) for name in labels), labels
                period = profile.all["period_type"][0]
                assert [profile.text(period, field) for field in ("type", "unit")] == ["space", "bytes"]
            assert live[1].types == [("inuse_objects", "count"), ("inuse_space", "bytes")]
            assert new[1].types == [("alloc_objects", "count"), ("alloc_space", "bytes")]
            assert not one(live[1].all, "duration_nanos") and one(new[1].all, "duration_nanos")


@claim
def parca_gets_sequential_numbers_and_normalized_addresses():
    with Store() as store, Steps() as steps:
        steps.step(20)
        with Pusher(f"parca+{store.url}", steps):
            request = store.next()
            assert request[0] == "/api/profiles/writeraw" and json.loads(request[2])["normalized"] is True
            ((labels, profile),) = pprofs(request)
            assert labels["__name__"] == "memory" and "__delta__" not in labels and len(labels) == 5, labels
            for kind in ("mapping", "function", "location"):
                assert [one(each, "id") for each in profile.all[kind]] == list(range(1, len(profile.all[kind]) + 1))
            assert profile.totals()["inuse_objects"] == steps.totals()["inuse_objects"]


@claim
def addresses_are_sent_without_names_if_asked_for():
    with Store() as store, Steps() as steps:
        steps.step(20)
        with Pusher(f"otlp+{store.url}", steps, "--addresses", "--once"):
            found = otlp(store.next())
        assert not any("lines" in location for location in found.table["location"]) and found.table["function"] == [{}]
        assert any("process.executable.build_id.gnu" in found.attributes(mapping) for mapping in found.table["mapping"])
        assert "keep_block" not in found.table["string"]


@claim
def what_a_store_refuses_comes_with_the_next_request_and_the_failure_is_said_once():
    with Store(200, 503, 500, 429, 400) as store, Steps() as steps:
        with Pusher(f"otlp+{store.url}", steps) as pusher:
            store.next()
            steps.step(50)
            for _ in range(4):
                assert allocated(store.next()) == 100, "it was not sent again"
            good = store.next()
            assert good[3] == 200 and allocated(good) == 100
            after = store.next()
            assert allocated(after) == 0
            status, said = pusher.end()
        assert status == 0 and said.count("the store answers 503") == 1 and said.count("works again") == 1, (status, said)


@claim
def an_answer_that_gets_lost_counts_nothing_twice():
    with Store(200, 0) as store, Steps() as steps:
        with Pusher(f"otlp+{store.url}", steps):
            store.next()
            steps.step(50)
            sums = [allocated(store.next()) for _ in range(3)]
        assert sum(sums) == 100 and 100 in sums, sums


@claim
def a_server_that_is_no_store_is_told_apart():
    with Store(kind="text/html") as store, Steps() as steps:
        with Pusher(f"otlp+{store.url}", steps, "--once") as pusher:
            said = pusher.process.communicate(timeout=PATIENCE_S)[1]
        assert pusher.process.returncode == 1 and "not a store: it answers with text/html" in said, said


@claim
def a_store_that_is_down_is_said_and_does_no_harm():
    with Steps() as steps:
        with Pusher("otlp+http://127.0.0.1:1", steps, "--once") as pusher:
            said = pusher.process.communicate(timeout=PATIENCE_S)[1]
        assert pusher.process.returncode == 1 and "http://127.0.0.1:1/v1development/profiles: " in said, said
        steps.step(1)


@claim
def the_last_allocations_are_sent_when_the_process_ends():
    with Store() as store, Steps() as steps:
        with Pusher(f"otlp+{store.url}", steps, "--every", "1h") as pusher:
            store.next()
            steps.step(50)
            steps.process.stdin.close()
            assert steps.process.wait(PATIENCE_S) == 0
            assert allocated(store.next()) >= 100
            assert pusher.process.wait(PATIENCE_S) == 0
            assert f"process {steps.pid} has ended" in pusher.process.stderr.read()
        steps.process.stdin = open(os.devnull)


@claim
def the_token_is_sent():
    path = place() / "token"
    path.write_text("very-secret-token\n")
    with Store() as store, Steps() as steps:
        with Pusher(f"otlp+{store.url}", steps, "--once", "--token-file", path) as pusher:
            assert store.next()[1]["Authorization"] == "Bearer very-secret-token"
            assert "secret" not in pusher.process.communicate(timeout=PATIENCE_S)[1]


@claim
def wrong_options_are_refused_with_what_to_type():
    for words, said in ((["1"], "push needs --to STORE+URL"), (["--to", "http://x", "1"], "not a store"),
                        (["--to", "zipkin+http://x", "1"], "not a store"), (["--to", "otlp+ftp://x", "1"], "not a store"),
                        (["--to", "otlp+http://", "1"], "not a store"), (["--to", "otlp+http://x", "1", "2"], "push takes one PID"),
                        (["--to", "otlp+http://x", "app.plim"], "not a PID"),
                        (["--to", "otlp+http://x", "--every", "10ms", "1"], "--every")):
        done = subprocess.run([PLIMSOLL, "push", *words], capture_output=True, text=True, env=environment(),
                              cwd=place(), timeout=PATIENCE_S)
        assert done.returncode == 2 and said in done.stderr, (words, done.returncode, done.stderr)


if __name__ == "__main__":
    sys.exit(claims.main())
