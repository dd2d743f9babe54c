# SPDX-License-Identifier: MIT
"""agents - `plimsoll push` without a PID, and `plimsoll serve --to`: one agent sends the profiles of all processes, each
allocation once, also of processes that come and go, and if the agent itself is killed.

Other tests may run on this machine, and an agent of root sees their processes: only our own services are looked at, and
requests that contain none are not decoded.
"""

import contextlib
import gzip
import os
import re
import signal
import shutil
import subprocess
import sys
import time
from collections import Counter

# First, because it adds tests/lib, tests/export and tests/page to the path.
from served import PATIENCE_S, PLIMSOLL, RUNTIME, STEPS, Server, Steps, environment, export, place
import claims
from claims import claim
from pushed import Pusher, Store, otlp

SHORT = 40
OURS = f" of {os.getpid()}".encode()  # ends the names of our services


class Heard:
    """What a store has been told, by service."""

    def __init__(self, store):
        self.store, self.sums, self.profiles = store, {}, []

    def listen(self):
        request = self.store.next()
        if request[3] != 200 or OURS not in gzip.decompress(request[2]):
            return
        for profile in otlp(request).profiles:
            service = profile.resource["service.name"]
            self.profiles.append(profile)
            if profile.type.startswith("alloc"):
                self.sums.setdefault(service, Counter())[profile.type] += profile.total()

    def until(self, true):
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            assert time.monotonic() < deadline, self.sums
            self.listen()

    def sum_of(self, service):
        return self.sums.get(service, Counter())["alloc_objects"]

    def of(self, service):
        return [profile for profile in self.profiles if profile.resource["service.name"] == service]

    def wait_for(self, service, expected):
        """And then for more, to see that nothing comes twice."""
        self.until(lambda: self.sum_of(service) >= expected)
        more = len(self.of(service)) + 1
        self.until(lambda: len(self.of(service)) >= more)
        assert self.sum_of(service) == expected, (self.sum_of(service), expected)


class Agent(Pusher):
    """`plimsoll push OPTIONS` for all processes."""

    def __init__(self, store, *options, every="1s"):
        self.command = [str(word) for word in (PLIMSOLL, "push", "--to", f"otlp+{store.url}", "--every", every, *options)]

    def kill(self):
        self.process.kill()
        return self.process.communicate(timeout=PATIENCE_S)[1]


@claim
def an_agent_sends_every_process_and_all_of_those_that_begin_later():
    with Store() as store, contextlib.ExitStack() as stack:
        old = [stack.enter_context(Steps()) for _ in range(2)]
        for steps in old:
            steps.step(1000)
        stack.enter_context(Agent(store))
        heard = Heard(store)
        heard.until(lambda: all(heard.of(steps.service) for steps in old))
        assert not any(heard.sum_of(steps.service) for steps in old), "allocations from before the agent began"
        new = stack.enter_context(Steps())
        for number, steps in enumerate([*old, new]):
            steps.step(50 + number)
        heard.wait_for(old[0].service, 100)
        heard.wait_for(old[1].service, 102)
        heard.wait_for(new.service, new.totals()["alloc_objects"])
        assert {profile.resource["process.pid"] for profile in heard.of(new.service)} == {str(new.pid)}


def run_brief(name, out):
    """A process that makes three steps and ends. Returns the number of its allocations."""
    program = place() / name
    shutil.copy(STEPS, program)
    settings = environment(LD_PRELOAD=RUNTIME, PLIMSOLL_SAMPLE="exact", PLIMSOLL_LIVE_DIR=place(), PLIMSOLL_OUT=out)
    subprocess.run([program], input=b"3\n", stdout=subprocess.DEVNULL, check=True, env=settings)
    return export(out)["totals"]["alloc_objects"]["value"]


@claim
def processes_that_end_at_once_are_added_up_by_service():
    name = f"brief of {os.getpid()}"[-15:]  # a process's name has no more characters
    expected = 0
    with Store() as store, Agent(store, every="2s"):
        heard = Heard(store)
        with Steps() as steps:  # so we know that the agent watches the directory
            heard.until(lambda: heard.of(steps.service))
        for number in range(SHORT):
            expected += run_brief(name, place() / f"{name}.{number}.plim")
        heard.until(lambda: heard.sum_of(name) >= expected)
        with Steps() as steps:
            heard.until(lambda: heard.of(steps.service))
        assert heard.sum_of(name) == expected, (heard.sum_of(name), expected)
        summed = [profile.resource for profile in heard.of(name)]
        assert any("plimsoll.processes" in resource for resource in summed), summed


@claim
def short_processes_that_nobody_could_read_are_counted():
    """The agent is stopped while they live: it hears of their profiles when these are gone."""
    elsewhere = place() / "elsewhere"  # where the agent does not look
    elsewhere.mkdir()
    with Store() as store, Agent(store) as agent:
        heard = Heard(store)
        with Steps() as steps:  # so we know that the agent watches the directory
            heard.until(lambda: heard.of(steps.service))
        agent.process.send_signal(signal.SIGSTOP)
        for number in range(3):
            run_brief(f"gone of {os.getpid()}"[-15:], elsewhere / f"{number}.plim")
        agent.process.send_signal(signal.SIGCONT)
        with Steps() as steps:
            heard.until(lambda: heard.of(steps.service))
        _, said = agent.end()
    counts = re.findall("up to ([0-9]+) short processes ended before they could be read", said)
    assert sum(map(int, counts)) >= 3, said


@claim
def processes_of_a_run_that_has_just_begun_are_not_missed():
    """`run` makes a directory of its own: the agent, stopped meanwhile, finds what is in it already."""
    name = f"first of {os.getpid()}"[-15:]
    program = place() / name
    shutil.copy(STEPS, program)
    with Store() as store, Agent(store) as agent:
        heard = Heard(store)
        with Steps() as steps:
            heard.until(lambda: heard.of(steps.service))
        agent.process.send_signal(signal.SIGSTOP)
        command = [PLIMSOLL, "run", "-q", "--sample", "exact", "--live-dir", place(), "-o", place() / "first.plim", program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as run:
            assert run.stdout.readline() == b"ready\n"
            agent.process.send_signal(signal.SIGCONT)
            heard.until(lambda: heard.of(name))
            run.stdin.close()


@claim
def the_last_profile_says_how_the_process_ended():
    with Store() as store, Agent(store):
        heard, ends = Heard(store), {}
        for kind in ("exit", signal.SIGSEGV, signal.SIGKILL):
            steps = Steps()
            heard.until(lambda steps=steps: len(heard.of(steps.service)) >= 4)
            if kind == "exit":
                steps.process.stdin.close()
            else:
                steps.process.send_signal(kind)
            steps.process.wait(PATIENCE_S)
            heard.until(lambda steps=steps: any("plimsoll.end" in p.resource for p in heard.of(steps.service)))
            ends[kind] = {p.resource["plimsoll.end"] for p in heard.of(steps.service) if "plimsoll.end" in p.resource}
            steps.process.stdout.close()
            steps.process.stdin.close()
        assert ends["exit"] == {"exited 0"}, ends
        unknown = "ended, exit status unknown"  # before Linux 6.15
        for kind in (signal.SIGSEGV, signal.SIGKILL):
            (end,) = ends[kind]
            assert end.split(",")[0] == f"killed by {kind.name}" or end == unknown, ends
        if tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 15):
            assert unknown not in ends[signal.SIGKILL], ends


@claim
def attributes_come_from_the_environment_of_the_process():
    attributes = "k8s.pod.name=web-1,k8s.namespace.name=shop%20a,service.name=no,bad key=x,=y,process.pid=5"
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = attributes
    try:
        with Store() as store, Steps() as steps, Agent(store):
            heard = Heard(store)
            heard.until(lambda: heard.of(steps.service))
    finally:
        del os.environ["OTEL_RESOURCE_ATTRIBUTES"]
    resource = heard.of(steps.service)[0].resource
    assert resource["k8s.pod.name"] == "web-1" and resource["k8s.namespace.name"] == "shop a", resource
    assert resource["process.pid"] == str(steps.pid) and "bad key" not in resource and "" not in resource, resource


@claim
def an_agent_that_was_killed_goes_on_where_it_stopped():
    state = place() / "state"
    with Store() as store, Steps() as steps:
        heard = Heard(store)
        with Agent(store, "--state", state) as agent:
            heard.until(lambda: heard.of(steps.service))
            steps.step(50)
            heard.wait_for(steps.service, 100)
            heard.until(lambda: not (state / "sending").exists())
            agent.process.send_signal(signal.SIGSTOP)
            idle = not (state / "sending").exists()
            agent.kill()
        steps.step(70)
        with Agent(store, "--state", state) as agent:
            if idle:
                heard.wait_for(steps.service, 240)
            said = agent.end()[1]
        assert idle == ("may be missing" not in said), said
        assert heard.sum_of(steps.service) <= 240


@claim
def an_agent_that_was_killed_while_it_sent_sends_nothing_twice_and_says_so():
    state = place() / "state of a killed one"
    with Store() as store, Steps() as steps:
        heard = Heard(store)
        with Agent(store, "--state", state, every="3s") as agent:
            heard.until(lambda: heard.of(steps.service))
            heard.until(lambda: (state / "sent").exists())
            (state / "sending").touch()
            agent.process.send_signal(signal.SIGSTOP)
            agent.kill()
        (state / "sending").touch()
        steps.step(70)
        with Agent(store, "--state", state) as agent:
            before = len(heard.of(steps.service))
            heard.until(lambda: len(heard.of(steps.service)) >= before + 4)
            said = agent.end()[1]
        assert "may be missing" in said and heard.sum_of(steps.service) == 0, (said, heard.sums)


@claim
def two_agents_do_not_share_a_state():
    state = place() / "shared"
    with Store() as store, Steps() as steps, Agent(store, "--state", state):
        heard = Heard(store)
        heard.until(lambda: heard.of(steps.service))
        with Agent(store, "--state", state) as second:
            said = second.process.communicate(timeout=PATIENCE_S)[1]
        assert second.process.returncode == 1 and "is used by another agent" in said, said


@claim
def a_damaged_state_is_said_and_begins_anew():
    state = place() / "damaged"
    with Store() as store, Steps() as steps:
        heard = Heard(store)
        with Agent(store, "--state", state):
            heard.until(lambda: heard.of(steps.service))
        kept = (state / "sent").read_bytes()
        assert len(kept) > 61, len(kept)  # there is an entry, to change a byte of
        for broken in (kept[:-1], kept[:60] + b"\xff" + kept[61:], b"", b"PLSENT1" * 100, kept):
            (state / "sent").write_bytes(broken)
            steps.step(10)
            with Agent(store, "--state", state) as agent:
                before = len(heard.of(steps.service))
                heard.until(lambda: len(heard.of(steps.service)) > before)
                said = agent.end()[1]
            assert ("cannot be used" in said) == (broken != kept), (len(broken), said)


@claim
def a_full_disk_is_said_once_and_the_agent_goes_on():
    full = place() / "full"
    full.mkdir()
    script = 'mount -t tmpfs -o size=4096 none "$0" && { dd if=/dev/zero of="$0/filler" bs=4096 count=2 2>/dev/null; exec "$@"; }'
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        raise claims.Skip("mounting a small disk needs root")
    with Store() as store, Steps() as steps:
        agent = Agent(store, "--state", full)
        agent.command = ["unshare", "-m", "sh", "-c", script, str(full), *agent.command]
        heard = Heard(store)
        with agent:
            heard.until(lambda: heard.of(steps.service))
            steps.step(50)
            heard.wait_for(steps.service, 100)
            status, said = agent.end()
    assert status == 0 and said.count("cannot write") == 1, said


@claim
def a_store_that_refuses_one_process_gets_the_others():
    with Store(200, 400) as store, Steps() as one, Steps() as two:
        with Agent(store):
            heard = Heard(store)
            for steps in (one, two):
                heard.until(lambda steps=steps: heard.of(steps.service))
            for steps in (one, two):
                steps.step(50)
            heard.wait_for(one.service, 100)
            heard.wait_for(two.service, 100)


@claim
def an_ended_process_is_sent_when_a_store_that_was_down_is_back():
    with Store(200, *[503] * 4) as store, Agent(store):
        heard = Heard(store)
        steps = Steps()
        heard.until(lambda: heard.of(steps.service))
        steps.step(50)
        with steps:
            expected = steps.totals()["alloc_objects"]
        heard.until(lambda: heard.sum_of(steps.service) >= expected)
        assert any(p.resource.get("plimsoll.end") == "exited 0" for p in heard.of(steps.service))


@claim
def serve_sends_too_and_scrapers_lose_nothing_by_it():
    with Store() as store, Steps() as steps, Server("--to", f"otlp+{store.url}", "--every", "1s") as server:
        heard = Heard(store)
        heard.until(lambda: heard.of(steps.service))
        assert server.get(f"/debug/pprof/delta_heap?pid={steps.pid}").status == 200
        steps.step(50)
        heard.wait_for(steps.service, 100)
        from pprofs import Pprof
        found = Pprof(server.get(f"/debug/pprof/delta_heap?pid={steps.pid}").body).totals()
        assert found["alloc_objects"] == 100, found


if __name__ == "__main__":
    sys.exit(claims.main())
