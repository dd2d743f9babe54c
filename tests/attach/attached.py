# SPDX-License-Identifier: MIT
"""attached - a process that was attached to is profiled as if it had been preloaded, from then on."""

import re
import signal
import subprocess
import sys

from subjects import PLIMSOLL, PLUGIN, SUBJECT, WAIT, Place, Subject, calls_by_function, environment
import claims
from claims import claim
from patience import await_true

THREADS = 4
TIMES = 500


def work_calls(times):
    return 5 * times  # malloc, calloc, realloc twice, aligned_alloc


@claim
def counts_since_attach_equal_the_ledger_to_the_call():
    with Place() as place, Subject("ledger", THREADS) as subject:
        subject.order("work", TIMES)
        place.attach(subject.pid, "--exact", "-o", "ledger.plim")
        subject.order("work", TIMES)
        subject.order("keep", TIMES)
        place.detach(subject.pid)
        subject.order("work", TIMES)
        profile = place.read("ledger.plim")
        calls, live = calls_by_function(profile)
        assert profile["sampling"]["exact"], profile["sampling"]
        assert calls["work"] == THREADS * work_calls(TIMES), calls
        assert live["work"] == 0, live
        assert calls["kept_block"] == live["kept_block"] == THREADS * TIMES, (calls, live)
        functions = profile["totals"]["functions"]
        assert functions == {
            "malloc": THREADS * TIMES * 2, "calloc": THREADS * TIMES, "realloc": THREADS * TIMES * 2,
            "aligned": THREADS * TIMES, "new": 0,
        }, functions
        assert not any(profile["losses"].values()), profile["losses"]


@claim
def frees_of_blocks_from_before_are_not_counted_and_the_report_says_so():
    with Place() as place, Subject("ledger", THREADS) as subject:
        subject.order("keep", TIMES)
        place.attach(subject.pid, "--exact", "-o", "before.plim")
        subject.order("drop")
        subject.order("keep", 10)
        running = place.plimsoll("report", subject.pid).stdout
        place.detach(subject.pid)
        profile = place.read("before.plim")
        assert profile["totals"]["inuse_objects"]["value"] == THREADS * 10, profile["totals"]["inuse_objects"]
        assert profile["process"]["ended"] == "detached"
        assert profile["process"]["before_source"] == "malloc"
        assert profile["process"]["before_bytes"] >= THREADS * TIMES * 100, profile["process"]
        for text in (running, place.plimsoll("report", "before.plim").stdout):
            text = " ".join(text.split())
            assert "after the start; blocks older than that are not in it (the heap had" in text, text


@claim
def sampled_and_automatic_modes_work_too():
    for words in (("--sample", "4K"), ()):
        with Place() as place, Subject("ledger", THREADS) as subject:
            place.attach(subject.pid, *words, "-o", "mode.plim")
            subject.order("keep", 20000)
            place.detach(subject.pid)
            totals = place.read("mode.plim")["totals"]
            assert totals["functions"]["malloc"] == THREADS * 20000, totals["functions"]
            live = totals["inuse_objects"]
            assert abs(live["value"] - THREADS * 20000) <= 3 * live["error"] + 1, live


@claim
def attaching_again_begins_a_new_profile():
    with Place() as place, Subject("ledger", 2) as subject:
        for i in range(5):
            place.attach(subject.pid, "--exact", "-o", f"again{i}.plim")
            subject.order("work", 10 + i)
            place.detach(subject.pid)
            subject.order("work", 3)
        for i in range(5):
            calls, _ = calls_by_function(place.read(f"again{i}.plim"))
            assert calls["work"] == 2 * work_calls(10 + i), calls


@claim
def after_detach_the_code_of_libc_is_what_it_was_before():
    with Place() as place, Subject("ledger", 2) as subject:
        before = subject.code()
        place.attach(subject.pid, "-o", "code.plim")
        assert subject.code() != before, "attach has changed nothing"
        place.detach(subject.pid)
        assert subject.code() == before


@claim
def a_library_that_is_loaded_after_attach_is_profiled():
    with Place() as place, Subject("ledger", 1) as subject:
        place.attach(subject.pid, "--exact", "-o", "plugin.plim")
        subject.order("load", PLUGIN)
        subject.order("load", PLUGIN)
        place.detach(subject.pid)
        calls, _ = calls_by_function(place.read("plugin.plim"))
        assert calls["plugin_allocate"] == 2000, calls


@claim
def the_name_is_that_of_the_process_and_not_of_the_thread_that_loads_the_profiler():
    with Place() as place, Subject("churn", 2) as subject:
        place.attach(subject.pid, "--exact", "-o", "named.plim")
        place.detach(subject.pid)
        assert place.read("named.plim")["process"]["name"] == "subject"


@claim
def fork_is_followed():
    with Place() as place, Subject("ledger", 2) as subject:
        place.attach(subject.pid, "--exact", "-o", "%p.plim")
        subject.order("fork")
        place.detach(subject.pid)
        names = sorted(path.name for path in place.path.glob("*.plim"))
        assert len(names) == 2 and f"{subject.pid}.plim" in names, names
        child = next(name for name in names if name != f"{subject.pid}.plim")
        profile = place.read(child)
        calls, _ = calls_by_function(profile)
        assert calls["forked_block"] == 5000, calls
        assert profile["process"]["forked"] and "attached" not in profile["process"]


@claim
def programs_that_it_starts_are_followed_and_after_detach_no_more():
    with Place() as place, Subject("ledger", 1) as subject:
        place.attach(subject.pid, "--exact", "-o", "%p.plim")
        subject.order("spawn", SUBJECT)
        place.detach(subject.pid)
        subject.order("spawn", SUBJECT)
        names = {path.name for path in place.path.glob("*.plim")} - {f"{subject.pid}.plim"}
        assert len(names) == 1, names
        calls, live = calls_by_function(place.read(names.pop()))
        assert calls["kept_block"] == live["kept_block"] == 1000, calls


@claim
def the_end_of_an_attached_process_leaves_its_profile():
    with Place() as place, Subject("ledger", 1) as subject:
        place.attach(subject.pid, "--exact", "-o", "end.plim")
        subject.order("work", 7)
        subject.process.stdin.write(b"exec /bin/sh\n")
        assert subject.process.wait() == 7
        calls, _ = calls_by_function(place.read("end.plim"))
        assert calls["work"] == work_calls(7), calls


@claim
def attach_for_a_while_detaches_and_prints_a_summary():
    with Place() as place, Subject("churn", 2) as subject:
        said = place.attach(subject.pid, "--for", "300ms", "-o", "for.plim")
        still = [float(ms) for ms in re.findall(r"stood still for ([\d.]+) ms", said)]
        assert len(still) == 2 and all(ms > 0 for ms in still), said
        assert "detached from" in said and "wrote for.plim" in said, said
        assert place.read("for.plim")["totals"]["alloc_objects"]["value"] > 0
        subject.is_well()


@claim
def attach_for_a_while_ends_earlier_by_ctrl_c():
    with Place() as place, Subject("churn", 2) as subject:
        command = [PLIMSOLL, "attach", str(subject.pid), "--wait", WAIT, "--for", "1h", "-o", "for.plim"]
        with subprocess.Popen(command, cwd=place.path, stderr=subprocess.PIPE, text=True, env=environment()) as running:
            assert "attached to" in running.stderr.readline()
            running.send_signal(signal.SIGINT)
            said = running.communicate()[1]
        assert "detached from" in said and "wrote for.plim" in said, said
        assert place.read("for.plim")["process"]["ended"] == "detached"
        subject.is_well()


@claim
def a_request_that_the_process_has_not_taken_up_before_detach_is_reported():
    with Place() as place, Subject("ledger", 1) as subject:
        place.attach(subject.pid, "--exact", "-o", "control.plim")
        command = [PLIMSOLL, "control", str(subject.pid), "off", "--wait", WAIT]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as waiting:
            await_true(lambda: "a request is waiting" in place.plimsoll("control", subject.pid).stdout, "the request")
            place.detach(subject.pid)
            said = waiting.communicate()[1]
        assert waiting.returncode == 1 and f"process {subject.pid} was detached from before" in said, said
        said = place.plimsoll("control", subject.pid).stderr
        assert f"plimsoll attach {subject.pid}` profiles it from now on" in said, said


@claim
def ls_and_snapshot_and_kill_work_as_for_a_preloaded_process():
    with Place() as place, Subject("ledger", 2) as subject:
        place.attach(subject.pid, "--exact", "-o", "kill.plim")
        subject.order("work", 11)
        assert str(subject.pid) in place.plimsoll("ls").stdout
        done = place.plimsoll("snapshot", subject.pid, "-o", "taken.plim")
        assert done.returncode == 0, done.stderr
        subject.process.kill()
        subject.process.wait()
        there = place.path / "kill.plim"  # if there was no room for a live profile elsewhere
        left = place.plimsoll("export", "--format", "json", there if there.exists() else subject.pid)
        assert left.returncode == 0, left.stderr
        calls, _ = calls_by_function(place.read("taken.plim"))
        assert calls["work"] == 2 * work_calls(11), calls


if __name__ == "__main__":
    sys.exit(claims.main())
