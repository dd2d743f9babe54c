# SPDX-License-Identifier: MIT
"""servers - programs that we did not write go on unharmed while they serve, however often they are attached to.

Each is under load all the time, and everything that it answers is verified. CYCLES says how often; the clients' rate
before and after is printed, with that of the second half before as a control, and nothing depends on it.
"""

import contextlib
import gzip
import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from subjects import PATIENCE_S, Place, Subject, environment
import claims
from claims import Skip, claim, say
from patience import await_true

CYCLES = int(os.environ.get("CYCLES", "3"))
QUICK = CYCLES <= 10
CLIENTS = 3
MEASURE_S = 5  # only in the long run, and only printed


os.environ["PATH"] += ":/usr/sbin"  # where nginx is


def need(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Clients:
    """Threads that call ask() without pause. A wrong answer is an exception, and keeps."""

    def __init__(self, ask, count=CLIENTS):
        self.asked, self.faults, self.over = [0] * count, [], False
        self.threads = [threading.Thread(target=self._run, args=(ask, i), daemon=True) for i in range(count)]

    def _run(self, ask, number):
        try:
            with contextlib.closing(ask(number)) as answers:
                while not self.over:
                    next(answers)
                    self.asked[number] += 1
        except Exception as fault:  # it is reported by check()
            self.faults.append(repr(fault))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.check()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join(PATIENCE_S)

    def check(self):
        """Every client gets another answer, and all answers were right."""
        before = list(self.asked)
        await_true(lambda: self.faults or all(now > then for now, then in zip(self.asked, before)), "an answer")
        assert not self.faults, self.faults

    def rate(self):
        before, begin = sum(self.asked), time.monotonic()
        time.sleep(MEASURE_S)
        return (sum(self.asked) - before) / (time.monotonic() - begin)


def check_profile(place, subject, clients):
    """It is profiled while it serves."""
    place.attach(subject.pid, "-q", "-o", "served.plim")
    clients.check()
    place.detach(subject.pid, "-q", "--no-symbols")
    subject.is_well()
    clients.check()
    totals = place.read("served.plim")["totals"]
    assert totals["alloc_objects"]["value"] > 0, totals


def cycle(subjects, clients):
    """Attaches and detaches CYCLES times, to one process after the other."""
    with Place() as place:
        os.chmod(place.path, 0o777)  # it may be another user's
        rates = [] if QUICK else [clients.rate(), clients.rate()]
        for i in range(CYCLES):
            subject = subjects[i % len(subjects)]
            place.cycle(subject.pid)
            subject.is_well()
            clients.check()
        check_profile(place, subjects[0], clients)
        rates += [] if QUICK else [clients.rate(), clients.rate()]
        say(f"{CYCLES} cycles, {sum(clients.asked)} right answers" +
            (f"; answers a second before: {rates[0]:.0f}, {rates[1]:.0f}, after: {rates[2]:.0f}, {rates[3]:.0f}"
             if rates else ""))


class Server(Subject):
    """A process whose output is a client's, and that another process may have started."""

    def __init__(self, pid, process=None):
        self.pid, self.process = pid, process

    def is_well(self):
        path = Path(f"/proc/{self.pid}")
        assert path.exists() and (not self.process or self.process.poll() is None), f"{self.pid} has ended"
        await_true(lambda: self.status("TracerPid") == "0", "the end of tracing")
        assert self.status("State")[0] not in "TtZ", self.status("State")


@contextlib.contextmanager
def serving(command, is_ready, **how):
    process = subprocess.Popen([str(word) for word in command], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how)
    try:
        await_true(lambda: process.poll() is not None or is_ready(), f"{command[0]}")
        assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def accepts(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


# ---- redis ----


def redis_client(port, number):
    """Writes lists and strings, and reads them back."""
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as stream:

        def ask(*words):
            stream.write(b"*%d\r\n" % len(words))
            for word in words:
                stream.write(b"$%d\r\n%s\r\n" % (len(word), word))
            stream.flush()
            kind = stream.readline()
            if kind[:1] == b"$":
                return stream.read(int(kind[1:]) + 2)[:-2]
            return kind[1:-2]

        turn = 0
        while True:
            turn += 1
            key = b"key:%d:%d" % (number, turn % 500)
            value = hashlib.sha256(key + b"%d" % turn).hexdigest().encode() * (1 + turn % 60)
            assert ask(b"SET", key, value) == b"OK"
            assert ask(b"APPEND", key, value) == b"%d" % (2 * len(value))
            assert ask(b"GET", key) == value * 2, f"{key}: another value"
            assert int(ask(b"RPUSH", b"list:%d" % number, value)) > 0
            if turn % 100 == 0:
                assert int(ask(b"DEL", b"list:%d" % number)) == 1
            yield


@claim
def redis_goes_on_serving():
    need("redis-server")
    with Place() as home:
        port = free_port()
        command = ("redis-server", "--port", port, "--save", "", "--appendonly", "no", "--dir", home.path,
                   "--io-threads", 2)
        with serving(command, lambda: accepts(port)) as process:
            with Clients(lambda number: redis_client(port, number)) as clients:
                load = None
                if shutil.which("redis-benchmark"):
                    load = subprocess.Popen(["redis-benchmark", "-p", str(port), "-l", "-q", "-r", "10000", "-d", "300",
                                             "-t", "set,get,lpush,lpop,hset"], stdout=subprocess.DEVNULL)
                try:
                    cycle([Server(process.pid, process)], clients)
                    assert not load or load.poll() is None, "redis-benchmark has ended"
                finally:
                    if load:
                        load.kill()
                        load.wait()


# ---- nginx ----

NGINX = """
daemon off; master_process on; worker_processes 2; pid {home}/nginx.pid; error_log {home}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c;
  uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;
  gzip on; gzip_types *; gzip_min_length 1;
  server {{ listen 127.0.0.1:{port}; root {home}/www; }}
}}
"""


def http_client(port, pages, number):
    names = sorted(pages)
    turn = number
    while True:
        turn += 1
        name = names[turn % len(names)]
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{name}",
                                         headers={"Accept-Encoding": "gzip"} if turn % 2 else {})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            body = answer.read()
            if answer.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
        assert body == pages[name], f"{name}: another page"
        yield


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@claim
def workers_of_nginx_go_on_serving():
    need("nginx")
    with Place() as home:
        os.chmod(home.path, 0o755)
        port, www = free_port(), home.path / "www"
        www.mkdir()
        pages = {f"page{i}.txt": os.urandom(500) * (i + 1) for i in range(20)}
        for name, text in pages.items():
            (www / name).write_bytes(text)
        (home.path / "nginx.conf").write_text(NGINX.format(home=home.path, port=port))
        command = ("nginx", "-c", home.path / "nginx.conf", "-p", home.path, "-e", home.path / "error.log")
        with serving(command, lambda: accepts(port)) as process:
            with Clients(lambda number: http_client(port, pages, number)) as clients:
                cycle([Server(worker) for worker in children(process.pid)], clients)


# ---- PostgreSQL ----


def postgres_tools():
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not tools or not shutil.which("pgbench"):
        raise Skip("PostgreSQL is not installed")
    try:
        return tools[-1].parent, pwd.getpwnam("postgres")
    except KeyError:
        raise Skip("there is no user postgres") from None


def psql(home, query):
    done = subprocess.run(["psql", "-h", home, "-U", "postgres", "-At", "-c", query, "postgres"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Transactions(Clients):
    """pgbench counts its own transactions, in the table pgbench_history."""

    def __init__(self, home):
        super().__init__(None, 0)
        self.home = home
        command = ["pgbench", "-h", home, "-U", "postgres", "-c", str(CLIENTS), "-n", "-T", "100000", "postgres"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def done(self):
        return int(psql(self.home, "select count(*) from pgbench_history"))

    def check(self):
        before = self.done()
        await_true(lambda: self.process.poll() is not None or self.done() > before, "a transaction")
        assert self.process.poll() is None, "pgbench has ended"
        self.asked = [before]

    def rate(self):
        before, begin = self.done(), time.monotonic()
        time.sleep(MEASURE_S)
        return (self.done() - before) / (time.monotonic() - begin)


@claim
def postgresql_goes_on_under_pgbench():
    if os.geteuid() != 0:
        raise Skip("this needs root, to run PostgreSQL as its own user")
    tools, user = postgres_tools()
    with Place() as home:
        os.chown(home.path, user.pw_uid, user.pw_gid)
        data = home.path / "data"
        as_postgres = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": home.path}
        subprocess.run([tools / "initdb", "-D", data, "-A", "trust", "-N"], check=True, stdout=subprocess.DEVNULL,
                       env=environment(), **as_postgres)
        command = (tools / "postgres", "-D", data, "-k", home.path, "-c", "listen_addresses=", "-c", "fsync=off")
        is_ready = lambda: subprocess.run(["pg_isready", "-q", "-h", home.path]).returncode == 0
        with serving(command, is_ready, **as_postgres) as process:
            subprocess.run(["pgbench", "-h", home.path, "-U", "postgres", "-i", "-q", "postgres"], check=True,
                           stderr=subprocess.DEVNULL)
            with Transactions(home.path) as clients:
                backends = [int(pid) for pid in psql(
                    home.path, "select pid from pg_stat_activity where application_name = 'pgbench'").split()]
                assert set(backends) <= set(children(process.pid)) and len(backends) == CLIENTS, backends
                cycle([Server(backend) for backend in backends], clients)
            sums = psql(home.path, "select (select sum(abalance) from pgbench_accounts), "
                                   "(select sum(tbalance) from pgbench_tellers), "
                                   "(select sum(bbalance) from pgbench_branches), "
                                   "(select sum(delta) from pgbench_history)").split("|")
            assert len(set(sums)) == 1, f"the sums of a transaction differ: {sums}"


# ---- programs that answer on stdout ----


def answers_of(subject, expected):
    """Asks the program again and again, in one client."""

    def ask(_):
        while True:
            subject.process.stdin.write(b"go\n")
            answer = subject.line()
            assert answer == expected, f"{answer} instead of {expected}"
            yield

    return ask


NODE = """
const { Worker, isMainThread, parentPort } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib');
function work() {
  let sum = 0;
  for (let i = 0; i < 300; i++) {
    const text = Buffer.from(JSON.stringify(Array.from({length: 30}, (_, k) => ({k, v: 'x'.repeat(k * i % 97)}))));
    const back = zlib.inflateSync(zlib.deflateSync(text));
    if (!back.equals(text)) throw new Error('wrong');
    sum = (sum + crypto.createHash('sha256').update(back).digest()[0]) % 65536;
  }
  return sum;
}
if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', (sum) => console.log(sum + work()));
  require('readline').createInterface({input: process.stdin}).on('line', () => worker.postMessage(0));
  console.log('ready');
} else parentPort.on('message', () => parentPort.postMessage(work()));
"""

PYTHON = """
import hashlib, json, sys, threading
def work():
    texts = [json.dumps({str(k): "x" * (k * i % 97) for k in range(40)}) for i in range(200)]
    return hashlib.sha256("".join(json.dumps(json.loads(text)) for text in texts).encode()).hexdigest()
def churn(expected):
    while True:
        if work() != expected:
            print("wrong", flush=True)
expected = work()
for _ in range(3):
    threading.Thread(target=churn, args=(expected,), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    print(work(), flush=True)
"""


def answer_while_cycled(command):
    with Subject(command=command) as subject:
        subject.process.stdin.write(b"go\n")
        expected = subject.line()
        with Clients(answers_of(subject, expected), 1) as clients:
            cycle([Server(subject.pid, subject.process)], clients)


@claim
def node_with_a_worker_thread_goes_on():
    need("node")
    with Place() as home:
        script = home.path / "work.js"
        script.write_text(NODE)
        answer_while_cycled(("node", script))


@claim
def python_with_threads_goes_on():
    answer_while_cycled(("python3", "-c", PYTHON))


RUST = """
use std::io::BufRead;
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn churn(mut n: usize) -> ! {
    loop {
        let mut keep: Vec<(u8, Vec<u8>)> = Vec::new();
        for i in 0..500 {
            n = n.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let byte = (n >> 40) as u8;
            let mut block = vec![byte; 1 + (n >> 33) % 3000];
            if i % 3 == 0 {
                block.resize(block.len() * 2, byte);
            }
            keep.push((byte, block));
            let (byte, block) = &keep[(n >> 20) % keep.len()];
            if block.iter().any(|x| x != byte) {
                println!("wrong");
            }
            if keep.len() > 50 {
                keep.swap_remove((n >> 16) % 50);
            }
        }
    }
}

fn main() {
    for seed in 0..4 {
        std::thread::spawn(move || churn(seed));
    }
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let words: Vec<String> = (0..1000).map(|i| format!("{}{}", line.as_ref().unwrap(), i)).collect();
        println!("{}", words.concat().len());
    }
}
"""

CARGO = """
[package]
name = "linked"
version = "0.1.0"
edition = "2021"
[dependencies]
tikv-jemallocator = "0.6"
[profile.release]
debug = 1
"""


@claim
def a_rust_program_with_jemalloc_linked_in_goes_on():
    need("cargo")
    if QUICK:
        raise Skip("it takes minutes to build; the long test has it")
    with Place() as home:
        (home.path / "src").mkdir()
        (home.path / "src" / "main.rs").write_text(RUST)
        (home.path / "Cargo.toml").write_text(CARGO)
        done = subprocess.run(["cargo", "build", "-q", "--release"], cwd=home.path, capture_output=True, text=True)
        if done.returncode:
            raise Skip(f"the crate tikv-jemallocator cannot be had: {done.stderr.strip().splitlines()[0]}")
        answer_while_cycled((home.path / "target" / "release" / "linked",))


if __name__ == "__main__":
    sys.exit(claims.main())
