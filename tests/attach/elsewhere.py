# SPDX-License-Identifier: MIT
"""elsewhere - a process in a container, which sees other files and other PIDs than we do, is attached to from outside."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from subjects import BUILD, SUBJECT, Place, Subject
import claims
from claims import Skip, claim

TIMES = 300


class Contained(Subject):
    """A subject in namespaces of its own, in which nobody sees the build directory, and /dev/shm is small."""

    def __init__(self, place, *words, unshare=(), prepare="", command=()):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            raise Skip("this needs root and unshare")
        program = place.path / "subject"
        shutil.copy(SUBJECT, program)
        script = (f"mount -t tmpfs none {BUILD} && mount -t tmpfs -o size=64k none /dev/shm && {prepare or 'true'} && "
                  'exec "$@"')
        inside = ("unshare", "--mount", *unshare, "sh", "-c", script, "sh", *command, program, *words)
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
            raise Skip("no namespaces can be made here")
        super().__init__(command=inside)
        while children := Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            self.pid = int(children[0])  # unshare waits for what it has forked


def check_work_is_counted(place, subject):
    """Attached, profiled, detached; no copy of the library is left."""
    place.attach(subject.pid, "--exact", "-o", place.path / "inside.plim")
    subject.order("work", TIMES)
    report = place.plimsoll("report", subject.pid)
    assert report.returncode == 0 and "blocks older than that" in report.stdout, report
    place.detach(subject.pid)
    subject.order("work", TIMES)
    subject.is_well()
    assert place.read("inside.plim")["totals"]["functions"]["malloc"] == TIMES
    there = Path(f"/proc/{subject.pid}/root")
    left = [path for name in ("tmp", "run", "var/tmp", "dev/shm", ".") for path in (there / name).glob("libplimsoll*")]
    assert not left, left


@claim
def a_process_in_another_mount_namespace():
    with Place() as place, Contained(place, "ledger", 1) as subject:
        assert not Path(f"/proc/{subject.pid}/root{BUILD}/plimsoll").exists()
        check_work_is_counted(place, subject)


@claim
def a_process_in_another_pid_namespace():
    with Place() as place, Contained(place, "ledger", 1, unshare=("--pid", "--fork", "--mount-proc")) as subject:
        check_work_is_counted(place, subject)


@claim
def a_process_that_can_gain_no_privileges():
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    with Place() as place, Contained(place, "ledger", 1, command=("setpriv", "--no-new-privs")) as subject:
        assert subject.status("NoNewPrivs") == "1"
        check_work_is_counted(place, subject)


@claim
def a_process_of_another_user_in_a_container():
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    command = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with Place() as place:
        os.chmod(place.path, 0o777)
        with Contained(place, "ledger", 1, command=command) as subject:
            assert subject.status("Uid").startswith("65534"), subject.status("Uid")
            check_work_is_counted(place, subject)


NO_SHM = "mount -t tmpfs -o ro none /dev/shm"  # nothing can be made there


@claim
def a_process_without_a_usable_dev_shm():
    with Place() as place, Contained(place, "ledger", 1, prepare=NO_SHM) as subject:
        check_work_is_counted(place, subject)


@claim
def a_process_that_can_write_nowhere_is_refused():
    with Place() as place, Contained(place, "ledger", 1, prepare=NO_SHM) as subject:
        done = place.plimsoll("attach", subject.pid, "-o", "/nonexistent/x.plim")
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done
        assert "cannot make a profile" in done.stderr and "--live-dir and --output" in done.stderr, done.stderr
        subject.is_well()
        check_work_is_counted(place, subject)  # it can be attached to when there is a place


@claim
def a_container_in_which_no_new_file_can_be_executed_is_refused():
    closed = " && ".join(f"mount -t tmpfs -o noexec none {place}" for place in ("/run", "/var/tmp", "/dev/shm"))
    with Place() as place:
        # The subject's own directory is in /tmp, and / is a mount: both become read-only.
        prepare = f"{closed} && mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && mount --bind / /mnt"
        with Contained(place, "ledger", 1, prepare=f"{prepare} && mount -o remount,bind,ro /") as subject:
            done = place.plimsoll("attach", subject.pid, "--wait", "300ms")
            assert done.returncode == 1 and done.stderr.count("\n") == 1, done
            assert "no directory below" in done.stderr and "executed" in done.stderr, done.stderr
            subject.is_well()
            subject.order("work", TIMES)


# A root directory with little in it: $1. Its /tmp is a link to a directory outside, $2.
CHROOT = """
mkdir -p $1/run $1/proc $1/usr && mount --bind /usr $1/usr && mount --bind /proc $1/proc && ln -s $2 $1/tmp
for name in lib lib64; do
  if test -L /$name; then cp -P /$name $1/$name; else mkdir $1/$name && mount --bind /$name $1/$name; fi
done
cp $3 $1/subject && exec chroot $1 /subject ledger 1
"""


@claim
def a_link_in_a_container_does_not_lead_out_of_it():
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise Skip("this needs root and unshare")
    with Place() as place:
        root, outside = place.path / "root", place.path / "outside"
        outside.mkdir()
        command = ("unshare", "--mount", "sh", "-e", "-c", CHROOT, "sh", root, outside, SUBJECT)
        with Subject(command=command) as subject:
            assert os.readlink(f"/proc/{subject.pid}/root") == str(root)
            before = outside.stat().st_mtime_ns
            place.attach(subject.pid, "-q", "--live-dir", "/run", "-o", "/run/inside.plim")
            place.detach(subject.pid, "-q", "--no-symbols")
            assert outside.stat().st_mtime_ns == before and not list(outside.iterdir()), "something was written outside"
            subject.is_well()
            subject.order("work", TIMES)


if __name__ == "__main__":
    sys.exit(claims.main())
