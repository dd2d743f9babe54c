# SPDX-License-Identifier: MIT
"""machine - claims of other suites on real arm64 kernels, in machines that qemu emulates whole.

Each kernel of PLIMSOLL_KERNELS is started with one archive as its root: a Debian's programs (PLIMSOLL_SYSROOT), a build
of everything for arm64, the tests, and a glibc with the profiler in it (PLIMSOLL_GLIBC), all at the paths that they have
here. The tests run there as on any machine. What they print comes back by the serial line.

usage: machine.py [WORD...]     only the files with one of these words in their names
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from built import BUILD, SOURCE, SYSROOT  # noqa: E402

KERNELS = [Path(path) for path in os.environ.get("PLIMSOLL_KERNELS", "").split(":") if path]
GLIBC = Path(os.environ.get("PLIMSOLL_GLIBC", "/nonexistent"))
HOURS = 2
MEMORY = "4G"

# What runs there: files of claims, with words that choose some of them, and unit tests.
SUBJECTS = (
    "aarch64/pages.py",
    "exact/counts.py",
    "kill/kill.py",
    "tags/figures.py",
    "traps/semantics.py",
    "traps/forks.py",
    "traps/threads.py",
    "traps/ends.py",
    "traps/stacks.py",
    "traps/startup.py sandbox",
    "glibc/switches.py",
    "glibc/behaviour.py",
    "attach/test_remote",
    "attach/attached.py",
    "attach/elsewhere.py",
    "attach/harm.py",
    "attach/refusals.py",
    "reach/leaks.py",
    "reach/retained.py",
)
SUBJECTS = [subject for subject in SUBJECTS if any(word in subject for word in sys.argv[1:] or [""])]
UNWANTED = re.compile(r"(^|/)(doc|man|info|locale|include|i18n|boot|modules|\.git|node_modules|[^/]*\.p)$|\.(o|a|deb)$")
INIT = """#!/bin/bash
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts; mount -t tmpfs -o mode=1777 tmpfs /dev/shm; mount -t devpts devpts /dev/pts
chmod 1777 /tmp; ldconfig 2>/dev/null; cd /
echo "@@ kernel $(uname -r) $(getconf PAGESIZE)"
{settings}
for subject in {subjects}; do
    echo "@@ begin $subject"
    set -- $subject
    case $1 in *.py) run="python3 {tests}/$1" ;; *) run=$PLIMSOLL_BUILD/tests/$1 ;; esac
    timeout 3000 $run "${{@:2}}" </dev/null 2>&1 || true
    echo "@@ end $subject"
done
echo "@@ done"; sync; echo o >/proc/sysrq-trigger; sleep 100
"""


# ---- the archive ----


class Archive:
    """A cpio archive, as the kernel unpacks it."""

    def __init__(self, path):
        self.file, self.number, self.made = open(path, "wb"), 0, set()

    def add(self, name, mode, content=b""):
        self.number += 1
        encoded = name.encode() + b"\0"
        fields = [self.number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
        self.pad(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self.pad(content)
        self.made.add(name)

    def pad(self, data):
        self.file.write(data + bytes(-len(data) % 4))

    def parents(self, name):
        for parent in reversed(Path(name).parents):
            if str(parent) not in self.made | {"."}:
                self.add(str(parent), 0o40755)

    def take(self, path, name):
        """A file, link or directory with all that is in it."""
        name = str(name).lstrip("/")
        if UNWANTED.search(name) or name in self.made:
            return
        self.parents(name)
        if path.is_symlink():
            self.add(name, 0o120777, os.readlink(path).encode())
        elif path.is_dir():
            if name:
                self.add(name, 0o40755)
            for entry in sorted(path.iterdir()):
                self.take(entry, f"{name}/{entry.name}")
        elif path.is_file():
            self.add(name, 0o100000 | path.stat().st_mode & 0o7777, path.read_bytes())

    def end(self):
        self.add("TRAILER!!!", 0)
        self.file.close()


def write_archive(path):
    archive = Archive(path)
    settings = {"PLIMSOLL_BUILD": BUILD, "PLIMSOLL_SOURCE": SOURCE, "PLIMSOLL_GLIBC": GLIBC,
                "CLAIMS_UNABLE": SOURCE / "tests/aarch64/unable-in-machine", "CMOCKA_MESSAGE_OUTPUT": "TAP",
                "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    exports = "\n".join(f"export {name}='{value}'" for name, value in settings.items())
    subjects = " ".join(f"'{subject}'" for subject in SUBJECTS)
    init = INIT.format(settings=exports, subjects=subjects, tests=SOURCE / "tests")
    archive.add("init", 0o100755, init.encode())
    archive.take(Path(SYSROOT), "")
    for directory in ("proc", "sys", "dev", "tmp", "root", "run", "etc"):
        if directory not in archive.made:
            archive.add(directory, 0o40755)
    if "bin/sh" not in archive.made:
        archive.add("bin/sh", 0o120777, b"bash")
    archive.add("etc/passwd", 0o100644, b"root:x:0:0::/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n")
    archive.add("etc/group", 0o100644, b"root:x:0:\nnogroup:x:65534:\n")
    for part in ("tests", "tools", "bench", "src/format", "include", "VERSION"):
        archive.take(SOURCE / part, SOURCE / part)
    archive.take(BUILD, BUILD)
    for part in ("lib", "SOURCE"):
        if (GLIBC / part).exists():
            archive.take(GLIBC / part, GLIBC / part)
    archive.end()


# ---- the machine ----


def boot(kernel, archive):
    """Everything that the machine prints until it switches itself off."""
    command = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", MEMORY,
               "-nographic", "-no-reboot", "-nic", "none", "-kernel", kernel, "-initrd", archive, "-append",
               "console=ttyAMA0 panic=-1 quiet rdinit=/init"]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=HOURS * 3600)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    return output.decode(errors="replace").replace("\r", "")


def results(output):
    """(subject, is ok, sentence, remarks before it), of each claim."""
    subject, remarks = "", []
    for line in output.splitlines():
        point = re.match(r"(not )?ok \d+ - (.*)", line)
        if line.startswith("@@ begin "):
            subject, remarks = line[9:], []
        elif point:
            yield subject, not point[1], point[2], remarks
            remarks = []
        elif line.startswith("#"):
            remarks.append(line)


def main():
    number = failed = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        write_archive(f"{place}/root")
        for kernel in KERNELS:
            output = boot(kernel, f"{place}/root")
            started = re.search(r"^@@ kernel (\S+) (\d+)$", output, re.MULTILINE)
            name = f"{started[1]}, pages of {int(started[2]) >> 10} KiB" if started else kernel.name
            claims = list(results(output))
            ended = {subject for subject in SUBJECTS if f"@@ end {subject}\n" in output and
                     any(of == subject for of, *_ in claims)}
            claims += [(subject, False, "was run to its end", output.splitlines()[-20:])
                       for subject in SUBJECTS if subject not in ended]
            for subject, good, sentence, remarks in claims:
                number, failed = number + 1, failed + (not good)
                if not good:
                    print(*(f"# {remark}" for remark in remarks), sep="\n")
                print("ok" if good else "not ok", number, "-", f"{name}: {subject}: {sentence}", flush=True)
    print(f"1..{number}")
    sys.exit(1 if failed or not number else 0)


if __name__ == "__main__":
    if not KERNELS or not SYSROOT:
        print("1..0 # SKIP no kernel: tools/check --soak runs this with some")
        sys.exit(0)
    main()
