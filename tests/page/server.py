# SPDX-License-Identifier: MIT
"""server - `plimsoll view` serves its own user, refuses everybody else, and survives hostile clients."""

import functools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from built import PLIMSOLL, environment
from claims import Skip, claim, expect, main
from serving import ANSWER_S, GZIP, Growing, Place, Viewer, child_of, descriptors_allowed, head_of, listening, talk

ALWAYS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                               "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
THINGS = {"": "text/html; charset=utf-8", "page.js": "text/javascript; charset=utf-8",
          "page.css": "text/css; charset=utf-8", "data": "application/octet-stream"}
CROWD = 1000
GUESTS_MAX = 256
SOON_S = 5  # before the server closes idle connections
TRIES = 5
NOBODY = 65534

place = Place()
profile = place.record()
viewer = None


def problems_of(answer, status):
    """What is wrong with an answer that should have this status, and must have the headers of ALWAYS."""
    if answer.status != status:
        yield f"status {answer.status}, not {status}: {answer.body[:80]}"
    for name, value in ALWAYS.items():
        if answer.headers.get(name) != value:
            yield f"{name}: {answer.headers.get(name)}"
    yield from (f"{name} in the answer" for name in answer.headers if name.startswith("access-control-"))


def refused(status, *answers):
    expect(problem for answer in answers for problem in problems_of(answer, status))


@claim
def there_are_four_resources_and_each_has_its_type_and_all_headers():
    for name, kind in THINGS.items():
        answer = viewer.get(name, GZIP)
        expect(problems_of(answer, 200), f"of {name!r}")
        assert answer.headers["content-type"] == kind and answer.body, (name, answer.headers)
    assert b'src="page.js"' in viewer.get().body


@claim
def HEAD_returns_the_headers_of_GET_without_a_body():
    for name in THINGS:
        got, told = viewer.get(name, GZIP), viewer.get(name, GZIP, method="HEAD")
        expect(problems_of(told, 200), f"of {name!r}")
        assert told.body == b"" and told.headers["content-length"] == str(len(got.body)), told.headers


@claim
def data_equals_the_export_and_a_known_etag_gets_304():
    answer = viewer.get("data", GZIP)
    exported = place.plimsoll("export", "--format", "page", profile, "-o", "out.page")
    assert exported.returncode == 0, exported.stderr
    served, written = head_of(answer.page_data()), head_of((place.path / "out.page").read_bytes())
    assert served["totals"] == written["totals"] and served["columns"] == written["columns"]
    assert served["page"]["live"] is False
    again = viewer.get("data", {**GZIP, "If-None-Match": answer.headers["etag"]})
    refused(304, again)
    assert again.body == b""
    refused(200, viewer.get("data", {**GZIP, "If-None-Match": '"0"'}))


@claim
def data_is_served_gzipped_only():
    refused(406, viewer.get("data"), viewer.get("data", {"Accept-Encoding": "br, gzip;q=0"}))
    refused(200, viewer.get("data", {"Accept-Encoding": "deflate, gzip;q=0.5"}),
            viewer.get("data", {"Accept-Encoding": "*"}))


@claim
def without_the_token_every_path_is_404():
    wrong = viewer.token[:-1] + ("0" if viewer.token[-1] != "0" else "1")
    paths = ["/", "/data", "/page.js", f"/{wrong}/", f"/{wrong}/data", f"/{viewer.token[:-1]}/", f"/{viewer.token}0/",
             f"/{viewer.token}", f"/{viewer.token.upper()}/", "/" + 32 * "0" + "/", f"/x/{viewer.token}/",
             "/favicon.ico", "*", f"/?{viewer.token}/"]
    if viewer.token.upper() == viewer.token:
        paths.remove(f"/{viewer.token.upper()}/")
    answers = [viewer.ask(path, GZIP) for path in paths]
    refused(404, *answers)
    nothing = viewer.get("nothing")
    refused(404, nothing)
    assert {answer.body for answer in answers} == {nothing.body}, "the answer tells a wrong token from a wrong name"


@claim
def requests_with_another_host_are_refused():
    for host in (viewer.host, f"localhost:{viewer.port}"):
        refused(200, viewer.get(host=host))
    names = ["127.0.0.1", "localhost", f"127.0.0.1:{viewer.port + 1}", f"localhost:{viewer.port}.", "evil.example",
             f"evil.example:{viewer.port}", f"127.0.0.1:{viewer.port}@evil.example", f"0.0.0.0:{viewer.port}",
             f"[::1]:{viewer.port}", f"127.0.0.1:0{viewer.port}", f"x127.0.0.1:{viewer.port}", f"127.1:{viewer.port}"]
    refused(403, *(viewer.get(host=name) for name in names))


@claim
def a_missing_or_duplicate_host_is_refused():
    path = f"/{viewer.token}/"
    refused(403, viewer.ask(path, host="", version="1.0"),
            talk(viewer.port, viewer.request(path)[:-2] + b"Host: evil.example\r\n\r\n"))
    none = viewer.ask(path, host="")
    assert none.status in (400, 403), none.status
    assert viewer.ask(f"http://evil.example/{viewer.token}/").status == 404


@claim
def requests_from_other_sites_are_refused():
    for site in ("cross-site", "same-site", "nonsense"):
        refused(403, viewer.get("data", {**GZIP, "Sec-Fetch-Site": site}))
    for site in ("same-origin", "none"):
        refused(200, viewer.get("data", {**GZIP, "Sec-Fetch-Site": site}))


@claim
def no_answer_allows_another_origin_to_read_it():
    for origin in ("null", "http://evil.example", f"http://{viewer.host}"):
        refused(200, viewer.get("data", {**GZIP, "Origin": origin}))
    refused(405, viewer.get("data", {"Origin": "http://evil.example", "Access-Control-Request-Method": "GET"},
                            method="OPTIONS"))


@claim
def only_GET_and_HEAD_are_allowed():
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "NONSENSE"):
        answer = viewer.get(method=method, headers={"Content-Length": "0"})
        expect(problems_of(answer, 405), f"of {method}")
        assert answer.headers["allow"] == "GET, HEAD"
    large = talk(viewer.port, viewer.request(f"/{viewer.token}/", {"Content-Length": "100000000"}, method="POST") +
                 b"x" * 100000)
    assert large.status in (0, 405), large.status


@claim
def paths_with_dots_escapes_and_additions_are_404():
    ways = ["..", "../", "%2e%2e/", "%2e%2e%2f", "..%2f", "..\\", "..%5c", "....//", "%252e%252e/", "./", ".//", "/",
            "%00", "page.js%00", "page.js/", "page.js/..", "page.js;x", "%70age.js", "data/", "Page.js", "page.js%20",
            "//data"]
    paths = [f"/{viewer.token}/{way}{rest}" for way in ways for rest in ("", "etc/passwd", "../../../../etc/passwd")]
    paths += [f"//{viewer.token}/", f"/./{viewer.token}/", f"/%2e/{viewer.token}/", "/../../../../etc/passwd"]
    answers = [viewer.ask(path) for path in paths]
    refused(404, *answers)


@claim
def the_server_survives_long_and_malformed_requests():
    token = viewer.token.encode()
    refused(404, viewer.ask("/" + "a" * 8192), viewer.get("a" * 8192), viewer.get("../" * 2700))
    for request in (b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\n\r\n", b"GET\r\n\r\n", b"\r\n\r\n\r\n\r\n", b"\0" * 1000,
                    viewer.request(b"/" + token + b"/\0data"),
                    viewer.request(f"/{viewer.token}/", {f"X-{i}": "y" * 100 for i in range(1000)}),
                    viewer.request(f"/{viewer.token}/", {"Content-Length": "-1"}),
                    viewer.request(f"/{viewer.token}/", {"Content-Length": "5"}) + b"hello",
                    viewer.request(f"/{viewer.token}/", {"Transfer-Encoding": "chunked"}) + b"ffffffffffffffff\r\n",
                    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256))):
        answer = talk(viewer.port, request, seconds=2)
        assert answer.status in (0, 200, 400, 403, 404, 405, 413, 414, 431), (request[:60], answer.status)
        assert b"PLIMPAGE" not in answer.body
        refused(200, viewer.get())


@claim
def one_connection_serves_many_requests():
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=ANSWER_S) as connection:
        for _ in range(3):
            connection.sendall(viewer.request(f"/{viewer.token}/page.css", {"Connection": "keep-alive"}, method="HEAD"))
            answer = connection.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\n"), answer[:200]


class Late(AssertionError):
    """An answer took so long that the server may have waited for other clients."""


def timely(function):
    """Retries a claim that fails with Late. A busy machine may delay an answer now and then; a server that waits for
    other clients does so every time."""

    @functools.wraps(function)
    def tried():
        for _ in range(TRIES - 1):
            with suppress(Late):
                return function()
        return function()

    return tried


def answered_soon(server=None):
    begin = time.monotonic()
    refused(200, (server or viewer).get("data", GZIP))
    took = time.monotonic() - begin
    if took >= SOON_S:
        raise Late(f"it took {took:.1f} s")


@contextmanager
def crowd(first_words):
    """Many connections that send `first_words` and then nothing."""
    descriptors_allowed(CROWD + 200)
    connections = []
    try:
        for i in range(CROWD):
            connections.append(socket.create_connection(("127.0.0.1", viewer.port), timeout=ANSWER_S))
            connections[-1].sendall(first_words)
            if i % 100 == 0:
                answered_soon()
        answered_soon()
        yield connections
    finally:
        for connection in connections:
            connection.close()


def is_held(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def count_held(connections, most, seconds):
    """Waits until at most `most` of them are open, or the time is over. Returns how many are open."""
    end = time.monotonic() + seconds
    while (held := sum(map(is_held, connections))) > most and time.monotonic() < end:
        time.sleep(0.2)
    return held


@claim
@timely
def a_thousand_silent_connections_lock_nobody_out_and_are_closed():
    with crowd(b"") as connections:
        held = count_held(connections, 0, ANSWER_S)
        assert held == 0, f"{held} are still open"
        answered_soon()


@claim
@timely
def a_thousand_half_sent_requests_lock_nobody_out():
    with crowd(b"GET /" + viewer.token.encode() + b"/ HTTP/1.1\r\nHost: 127"):
        answered_soon()


@claim
@timely
def if_there_are_too_many_connections_the_oldest_are_closed():
    with crowd(b"GET / HTTP/1.1\r\nX: ") as connections:
        held = count_held(connections, GUESTS_MAX, ANSWER_S)
        assert 0 < held <= GUESTS_MAX, f"{held} are open"
        assert is_held(connections[-1]) and not is_held(connections[0]), "others than the oldest were closed"
        for connection in connections[-GUESTS_MAX // 2:]:
            connection.send(b"y")
        answered_soon()


@claim
@timely
def new_connections_are_accepted_even_with_few_descriptors():
    with Viewer(profile, within=["prlimit", "--nofile=160"]) as each:
        connections = [socket.create_connection(("127.0.0.1", each.port), timeout=ANSWER_S) for _ in range(300)]
        answered_soon(each)
        for connection in connections:
            connection.close()


@claim
@timely
def clients_that_do_not_read_do_not_delay_others():
    slow = []
    for _ in range(50):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", viewer.port))
        connection.sendall(100 * viewer.request(f"/{viewer.token}/page.js", {"Connection": "keep-alive"}))
        slow.append(connection)
    answered_soon()
    for connection in slow:
        connection.close()
    answered_soon()


@claim
def it_listens_on_loopback_only():
    found = listening(viewer.process.pid)
    assert found == [("0100007F", viewer.port)], found


@claim
def every_start_has_another_token_and_port():
    with Viewer(profile) as one, Viewer(profile) as other:
        assert one.token != other.token and one.port != other.port
        assert one.ask(f"/{other.token}/").status == 404


@claim
def each_signal_ends_it_with_status_0_and_without_printing_the_token_on_stderr():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with Viewer(profile) as each:
            status, said = each.end(number)
            assert status == 0 and each.token not in said, (number, status, said)


@claim
def over_ssh_it_prints_the_command_for_port_forwarding():
    with Viewer(profile, SSH_CONNECTION="192.0.2.7 50000 192.0.2.9 22", DISPLAY=":0", BROWSER="/bin/false") as each:
        said = each.end()[1]
    assert re.search(rf"ssh -L {each.port}:127\.0\.0\.1:{each.port} \S*192\.0\.2\.9", said), said
    assert "opening" not in said, said


def browser_that_notes(what="$@"):
    """(program, the file to which it writes `what`: by default its arguments)"""
    program, noted = place.path / "browser", place.path / "noted"
    program.write_text(f'#!/bin/sh\n(echo "{what}") > {noted}.part 2>&1\nmv {noted}.part {noted}\n')
    program.chmod(0o755)
    noted.unlink(missing_ok=True)
    return program, noted


def soon(passes, seconds=ANSWER_S):
    """Whether passes() becomes true in time."""
    end = time.monotonic() + seconds
    while not passes() and time.monotonic() < end:
        time.sleep(0.05)
    return passes()


@contextmanager
def opening(what="$@", **settings):
    """(a viewer that has started a browser, what that browser has written)"""
    program, noted = browser_that_notes(what)
    with Viewer(profile, DISPLAY=":0", BROWSER=program, **settings) as each:
        assert soon(noted.exists), "no browser was started"
        yield each, noted.read_text()


@claim
def the_browser_gets_an_address_that_works_once_and_not_the_token():
    with opening() as (each, given):
        assert given.startswith(f"http://{each.host}/") and each.token not in given, given
        path = path_of(each, given)
        refused(404, each.ask(path, method="HEAD"), each.ask(path + "data", GZIP))
        refused(403, each.ask(path, {"Sec-Fetch-Site": "cross-site"}))
        led = each.ask(path)
        refused(303, led)
        assert led.headers["location"] == each.url
        refused(404, each.ask(path))
        said = each.end()[1]
        assert each.token not in said and "refused a client" not in said, said


def path_of(each, given):
    return given.strip().removeprefix(f"http://{each.host}")


@contextmanager
def as_another_user():
    """Sockets created inside the block belong to the user `nobody`."""
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@claim
def other_users_who_read_the_browsers_command_line_are_refused():
    with opening() as (each, given):
        path = path_of(each, given)
        refused(404, each.ask("/"))  # makes Python load modules now: they may be in root's home
        for _ in range(3):
            with as_another_user():
                answer = each.ask(path)
            refused(404, answer)
            assert each.token not in repr(vars(answer)), answer.headers
        refused(303, each.ask(path))
        said = each.end()[1]
        assert said.count(f"refused a client of another user (uid {NOBODY})") == 1, said


@claim
def no_command_line_contains_the_token():
    with opening() as (each, _):
        for words in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert each.token.encode() not in words.read_bytes(), words
            except (FileNotFoundError, ProcessLookupError):
                pass


@claim
def the_browser_gets_none_of_our_descriptors_signal_settings_and_limits():
    def of(*names):
        return {name: re.search(rf"^{name}:?\s+(.*)$", noted, re.MULTILINE)[1] for name in names}

    with opening("$(cat /proc/self/status /proc/self/limits; ls -l /proc/$$/fd)") as (_, noted):
        pass
    before = Path("/proc/self/limits").read_text()
    wanted = re.search(r"^Max open files\s+(.*)$", before, re.MULTILINE)[1]
    assert of("Max open files")["Max open files"] == wanted, noted
    signals = {name: int(value, 16) for name, value in of("SigIgn", "SigBlk").items()}
    inherited = int(re.search(r"^SigIgn:\s+(.*)$", Path("/proc/self/status").read_text(), re.MULTILINE)[1], 16)
    of_ours = 1 << (signal.SIGPIPE - 1)  # the test itself may run in the background, where SIGINT is ignored
    assert signals["SigBlk"] == 0 and signals["SigIgn"] & (of_ours | ~inherited) == 0, noted
    open_files = re.findall(r" (\d+) -> (\S+)", noted)
    strangers = [pair for pair in open_files if pair[1] != "/dev/null" and str(place.path) not in pair[1] and
                 not pair[1].startswith("pipe:")]
    extra = [pair for pair in open_files if int(pair[0]) > 2 and pair[1] == "/dev/null"]
    assert not strangers and not extra, noted


@claim
def no_browser_is_opened_without_a_display_or_with_no_open():
    program, noted = browser_that_notes()
    for arguments, settings in ((["--no-open"], {"DISPLAY": ":0"}), ([], {})):
        with Viewer(*arguments, profile, BROWSER=program, **settings) as each:
            assert "opening" not in each.end()[1]
    time.sleep(0.3)
    assert not noted.exists()


@claim
def a_given_port_is_used_and_a_port_in_use_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = place.plimsoll("view", "--no-open", "--port", port, profile)
        assert done.returncode == 1 and f"port {port} is in use" in done.stderr and not done.stdout, done
    with Viewer(profile, "--port", port) as each:
        assert each.port == port
    for wrong in ("0", "65536", "http"):
        done = place.plimsoll("view", "--port", wrong, profile)
        assert done.returncode == 2 and "--port" in done.stderr, done


@claim
def bad_subjects_are_refused_before_anything_is_served():
    (place.path / "text").write_text("hello")
    for arguments, status, words in (
        (["nowhere.plim"], 1, "there is no file nowhere.plim"),
        (["text"], 1, "not a Plimsoll profile"),
        ([profile, "nowhere.plim"], 1, "there is no file nowhere.plim"),
        ([profile, profile, profile], 2, "takes one FILE or PID, or two to compare; got 3"),
        (["--since", "1s", profile, profile], 2, "need a single profile"),
        (["--suppressions", "nowhere", profile], 1, "nowhere"),
        (["--tag", "none", profile], 2, "--tag none"),
        (["999999999"], 1, "there is no process 999999999"),
    ):
        for command in ("view", "html"):
            done = place.plimsoll(command, *arguments)
            assert done.returncode == status and words in done.stderr and not done.stdout, (command, arguments, done)


@claim
def two_profiles_are_served_as_a_difference():
    later = place.record("later.plim", lines=30)
    with Viewer(profile, later) as each:
        head = head_of(each.get("data", GZIP).page_data())
    assert head["extent"]["difference"] and head["diff"]["before"]["subject"].endswith("out.plim"), head["page"]
    assert head["page"]["subject"].endswith("later.plim") and head["page"]["live"] is False


def live_bytes(head):
    return head["totals"]["inuse_space"]["value"]


def follow(preloaded, end, words):
    """Views a process until `end` has ended it; the last reading then says so in these words."""
    with Place() as own, Growing(own, preloaded) as growing, Viewer(growing.pid) as each:
        begin = each.newest(lambda head: True)
        assert begin["page"]["live"] and begin["page"]["subject"] == str(growing.pid), begin["page"]
        for _ in range(5):
            has = growing.grow()
        each.newest(lambda head: live_bytes(head) >= has > live_bytes(begin))
        assert b"keep_more" in each.data, "a live reading has no function names"
        end(growing)
        last = each.newest(lambda head: not head["page"]["live"])
        assert b"keep_more" in each.data, "the last reading has no function names"
        assert live_bytes(last) >= has and words in last["process"]["ended"], last["process"]
        status, said = each.end()
        assert status == 0 and f"process {growing.pid} has ended" in said, said


@claim
def a_process_under_run_is_followed_until_it_has_ended():
    follow(False, lambda growing: growing.end(), "exited 0")


@claim
def a_process_with_a_preloaded_runtime_is_followed_until_it_has_ended():
    follow(True, lambda growing: growing.end(), "exited 0")


@claim
def a_process_is_followed_until_it_is_killed():
    follow(True, lambda growing: growing.process.kill(), "ended, exit status unknown")


@claim
def a_process_is_followed_until_it_becomes_another_program():
    script = "read -r line; exec sleep 60"
    with Place() as own:
        command = [str(PLIMSOLL), "run", "-q", "--exact", "-o", str(own.path / "x.%p.plim"), "--", "bash", "-c", script]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment())
        try:
            pid = child_of(process.pid)
            with Viewer(pid) as each:
                assert each.newest(lambda head: True)["page"]["live"]
                process.stdin.write(b"\n")
                process.stdin.close()
                last = each.newest(lambda head: not head["page"]["live"])
                assert "exec" in last["process"]["ended"], last["process"]
                assert "has become another program" in each.end()[1]
        finally:
            os.kill(pid, signal.SIGKILL)
            process.wait()


@claim
def the_file_of_a_running_process_is_followed_too():
    with Place() as own, Growing(own, preloaded=True) as growing:
        maps = Path(f"/proc/{growing.pid}/maps").read_text()
        live = re.search(r"(/\S+\.plim\S*)$", maps, re.MULTILINE)[1]
        with Viewer(live) as each:
            has = growing.grow()
            head = each.newest(lambda head: live_bytes(head) >= has)
            assert head["page"]["live"] and head["page"]["subject"] == live, head["page"]


@claim
def a_profile_that_becomes_unreadable_is_reported_once_and_the_page_stays():
    with Place() as own, Growing(own, preloaded=True) as growing:
        maps = Path(f"/proc/{growing.pid}/maps").read_text()
        live = Path(re.search(r"(/\S+\.plim\S*)$", maps, re.MULTILINE)[1])
        with Viewer(live) as each, open(live, "r+b", buffering=0) as file:
            has, magic = live_bytes(each.newest(lambda head: True)), os.pread(file.fileno(), 8, 0)
            os.pwrite(file.fileno(), b"nonsense", 0)
            said = each.hear("not a Plimsoll profile")
            for _ in range(4):
                assert live_bytes(head_of(each.get("data", GZIP).page_data())) == has
                time.sleep(1.1)  # time for another reading, whose failure must not be reported again
            os.pwrite(file.fileno(), magic, 0)
            has = growing.grow()
            each.newest(lambda head: live_bytes(head) >= has)
            said += each.end()[1]
        assert said.count("not a Plimsoll profile") == 1, said


@claim
def a_process_is_read_only_when_a_client_asks():
    with Place() as own, Growing(own) as growing, Viewer(growing.pid) as each:
        tag = each.get("data", GZIP).headers["etag"]
        time.sleep(1.5)
        after = each.get("data", GZIP).headers["etag"]
        time.sleep(3)
        assert each.get("data", GZIP).headers["etag"] in (after, str(f'"{int(after[1:-1]) + 1}"')), (tag, after)


@claim
def the_server_still_answers_after_all_of_this():
    refused(200, viewer.get("data", GZIP))


if __name__ == "__main__":
    with place, Viewer(profile) as viewer:
        sys.exit(main())
