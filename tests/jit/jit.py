# SPDX-License-Identifier: MIT
"""jit - code that was made at run time: stacks go on through it, and it has the names that its compiler wrote down."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import claims  # noqa: E402
from built import BUILD, PLIMSOLL, environment  # noqa: E402
from claims import Skip, claim  # noqa: E402
from pagedata import load  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

COMPILER = BUILD / "tests" / "jit" / "compiler"
NAMES = {"alpha", "beta", "gamma", "delta", "inner", "outer"}
RIGHT = {"alpha": 10, "beta": 20, "gamma": 12, "delta": 3, "inner": 4}
WAYS = ({"PLIMSOLL_SAMPLE": "exact"}, {"PLIMSOLL_SAMPLE": "1"})
places, maps = [], []

def new_place():
    places.append(Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm")))
    return places[-1]

def run(*command, settings=None, options=()):
    """Runs a program under the profiler, and returns its profile."""
    place = new_place()
    done = subprocess.run(
        [PLIMSOLL, "run", *options, "--output", place / "out.plim", "--", *command], cwd=place, text=True,
        timeout=PATIENCE_S, env=environment(**(settings or {})), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    profile = place / "out.plim"
    maps.append(Path(f"/tmp/perf-{export(profile)['process']['pid']}.map"))
    return profile

def ask(*words):
    done = subprocess.run([PLIMSOLL, *words], text=True, check=False, env=environment(), timeout=PATIENCE_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stdout

def export(profile):
    return json.loads(ask("export", "--format", "json", profile))

def languages(profile, name):
    """As the page colours them."""
    page = profile.with_suffix(".page")
    ask("export", "--format", "page", "-o", page, profile)
    return load(page).languages(name)

def stacks(profile):
    """(functions from the outermost to the innermost, calls)"""
    out = ask("export", "--format", "collapsed", "--metric", "calls", profile)
    return [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1])) for line in out.splitlines()]

def calls_by_name(profile):
    """Calls of allocate(), by the generated function that called it; None: it has no name."""
    counts = Counter()
    for stack, calls in stacks(profile):
        if stack[-1] == "allocate":
            assert "main" in stack, stack
            counts[stack[-2] if stack[-2] in NAMES else None] += calls
    return dict(counts)

@claim
def a_jitdump_names_code_that_was_replaced_and_moved():
    for settings in WAYS:
        profile = run(COMPILER, "dump", settings=settings)
        assert calls_by_name(profile) == RIGHT, calls_by_name(profile)

@claim
def a_perf_map_names_replaced_code_and_says_nothing_about_code_that_was_moved():
    for settings in WAYS:
        found = calls_by_name(run(COMPILER, "map", settings=settings))
        assert found == {"alpha": 10, "beta": 20, "gamma": 5, "delta": 3, "inner": 4, None: 7}, found

@claim
def generated_code_may_call_generated_code():
    [stack] = [stack for stack, _ in stacks(run(COMPILER, "both")) if "inner" in stack]
    assert stack[-5:] == ["main", "outer", "between", "inner", "allocate"], stack


@claim
def lines_of_a_jitdump_move_with_the_code():
    profile = export(run(COMPILER, "dump"))
    lines = {(place["file"], place["line"]) for place in profile["frames"] if place["function"] == "gamma"}
    assert lines == {("/src/story.jit", 8)}, lines

@claim
def the_page_knows_what_was_made_at_run_time():
    profile = run(COMPILER, "both")
    assert languages(profile, "gamma") == {"other"}, languages(profile, "gamma")
    assert languages(profile, "allocate") == {"native"}, languages(profile, "allocate")

@claim
def names_stay_in_the_profile_when_map_and_dump_are_gone():
    profile = run(COMPILER, "both")
    for path in [maps[-1], *profile.parent.glob("jit-*.dump")]:
        path.unlink()
    assert calls_by_name(profile) == RIGHT, calls_by_name(profile)

@claim
def children_have_names_too():
    place = new_place()
    subprocess.run([PLIMSOLL, "run", "--exact", "--output", place / "%p.plim", "--", "sh", "-c",
                    f"{COMPILER} dump; {COMPILER} dump; true"], cwd=place, check=True, env=environment(),
                   stderr=subprocess.DEVNULL, timeout=PATIENCE_S)  # fmt: skip
    found = [calls_by_name(path) for path in place.glob("*.plim")]
    assert sorted(filter(None, found), key=str) == [RIGHT, RIGHT], found

@claim
def a_running_process_is_read_with_what_it_has_written_so_far():
    place = new_place()
    command = [PLIMSOLL, "run", "--exact", "--output", place / "out.plim", "--", COMPILER, "both", ".", "wait"]
    with subprocess.Popen(command, cwd=place, text=True, env=environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as runner:  # fmt: skip
        assert runner.stdout.readline() == "ready\n"
        [pid] = (int(path.name[4:-5]) for path in place.glob("jit-*.dump"))
        maps.append(Path(f"/tmp/perf-{pid}.map"))
        out = ask("report", "--tree", "--metric", "calls", "--threshold", "0", str(pid))
        runner.stdin.close()
        assert runner.wait(PATIENCE_S) == 0
    assert all(name in out for name in NAMES), out

# ---- runtimes of others ----

def needs(command):
    if not shutil.which(command):
        raise Skip(f"{command} is not installed")

SERVER = """
const http = require('http'), zlib = require('zlib'), kept = [];
function keepPage(id) { kept.push(Buffer.allocUnsafeSlow(50000).fill(id)); }
function handleRequest(id) { keepPage(id); return zlib.deflateSync(Buffer.alloc(20000, 'x')); }
const server = http.createServer((request, response) => response.end(handleRequest(Number(request.url.slice(1)))));
server.listen(0, '127.0.0.1', async () => {
  const port = server.address().port, agent = new http.Agent({ keepAlive: true });
  for (let i = 0; i < 100; i++)
    await new Promise((done) => http.get({ port, path: '/' + i, agent }, (r) => r.resume().on('end', done)));
  agent.destroy();
  server.close();
});
"""

def node_finds_functions(option):
    needs("node")
    script = new_place() / "server.js"
    script.write_text(SERVER)
    profile = run("node", option, "--interpreted-frames-native-stack", script, options=["--exact"])
    kept = sum(calls for stack, calls in stacks(profile) if "keepPage" in stack and "handleRequest" in stack)
    assert kept >= 100, kept
    [place] = {(place["file"], place["line"]) for place in export(profile)["frames"] if place["function"] == "keepPage"}
    assert place == (str(script), 3), place
    assert languages(profile, "keepPage") == {"JavaScript"}, languages(profile, "keepPage")
    report = ask("report", profile)
    peak = report[report.index("At the peak") :].splitlines()[1]
    assert "keepPage" in peak and "server.js:3" in peak, report

@claim
def a_node_servers_functions_are_found_from_its_perf_map():
    node_finds_functions("--perf-basic-prof")

@claim
def a_node_servers_functions_are_found_from_its_jitdump():
    node_finds_functions("--perf-prof")

JAVA = """
public class Keep {
    static java.util.ArrayList<java.nio.ByteBuffer> kept = new java.util.ArrayList<>();
    static void keepPage(int bytes) { kept.add(java.nio.ByteBuffer.allocateDirect(bytes)); }
    public static void main(String[] words) { for (int i = 0; i < 20000; i++) keepPage(1000 + i % 10); }
}
"""

@claim
def a_java_methods_name_is_found_from_the_map_at_exit():
    needs("java")
    needs("javac")
    place = new_place()
    (place / "Keep.java").write_text(JAVA)
    subprocess.run(["javac", "Keep.java"], cwd=place, check=True, timeout=PATIENCE_S)
    profile = run("java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit",
                  "-cp", place, "Keep", options=["--exact"])  # fmt: skip
    if not maps[-1].exists():
        raise Skip("this Java does not write a map at its end")
    found = sum(calls for stack, calls in stacks(profile) if any("Keep.keepPage" in name or "Keep.main" in name
                                                                 for name in stack))  # fmt: skip
    assert found > 1000, found
    assert languages(profile, "Keep.main") | languages(profile, "Keep.keepPage") == {"Java"}

PHP = """<?php
class Cart {
    function keepPage(array &$kept, int $n) { $kept[] = str_repeat("x", 30000 + $n); }
}
function handleRequest($cart, int $n) { $kept = []; for ($i = 0; $i < 50; $i++) $cart->keepPage($kept, $n); }
for ($i = 0; $i < 40; $i++) handleRequest(new Cart, $i);
"""

@claim
def a_php_function_is_found_from_the_perf_map_of_its_jit():
    needs("php")
    script = new_place() / "job.php"
    script.write_text(PHP)
    profile = run("php", "-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0", "-d",
                  "opcache.jit_buffer_size=32M", "-d", "opcache.jit=1205", "-d", "opcache.jit_debug=16", script,
                  options=["--exact"], settings={"USE_ZEND_ALLOC": "0"})  # fmt: skip
    if not maps[-1].exists():
        raise Skip("this PHP has no compiler that writes a perf map (opcache)")
    found = sum(calls for stack, calls in stacks(profile) if "Cart::keepPage" in stack)
    assert found >= 2000, found

# LuaJIT writes such a map itself only if it was built with LUAJIT_USE_PERFTOOLS. Debian's was not: so the script does.
LUA = """
local ffi, jutil = require "ffi", require "jit.util"
local map = io.open("/tmp/perf-" .. io.open("/proc/self/stat"):read("*n") .. ".map", "w")
local start = {}
jit.attach(function(what, trace, fn, pc)
  if what == "start" then start[trace] = jutil.funcinfo(fn, pc) end
  if what ~= "stop" then return end
  local code, at = jutil.tracemc(trace)
  local info = start[trace]
  map:write(string.format("%x %x TRACE_%d::%s:%d\\n", at, #code, trace, info.source:sub(2), info.currentline))
end, "trace")
ffi.cdef "void *malloc(size_t);"
local function keepPage(n) ffi.C.malloc(3000 + n) end
for i = 1, 20000 do keepPage(i % 10) end
map:close()
"""

@claim
def a_trace_of_luajit_is_found_from_a_map_as_it_writes_it():
    needs("luajit")
    place = new_place()
    (place / "shop.lua").write_text(LUA)
    profile = run("luajit", place / "shop.lua", options=["--exact"])
    places = {(frame["file"], frame["line"]) for frame in export(profile)["frames"] if "TRACE_" in frame["function"]}
    found = sum(calls for stack, calls in stacks(profile) if any(name.startswith("TRACE_") for name in stack))
    assert found > 15000 and any(file.endswith("shop.lua") and line for file, line in places), (found, places)

def clean():
    for path in maps:
        path.unlink(missing_ok=True)
    for path in places:
        shutil.rmtree(path, ignore_errors=True)

if __name__ == "__main__":
    try:
        status = claims.main()
    finally:
        clean()
    sys.exit(status)
