# SPDX-License-Identifier: MIT
"""refusals - a process that cannot be attached to is left as it was, and one line says what is in the way."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from subjects import BUILD, PLIMSOLL, SOURCE, SUBJECT, Place, Subject, environment
import claims
from claims import Skip, claim
from patience import await_true


def refuse(place, pid, *words, command="attach", status=1, prefix=()):
    """The command fails with one line that contains these words."""
    whole = [str(word) for word in (*prefix, PLIMSOLL, command, pid, "--wait", "300ms")]
    done = subprocess.run(whole, cwd=place.path, env=environment(), capture_output=True, text=True)
    assert done.returncode == status, (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr, (word, done.stderr)


@claim
def what_is_no_process():
    with Place() as place:
        ended = subprocess.Popen(["true"])
        ended.wait()
        refuse(place, ended.pid, "there is no such process")
        refuse(place, ended.pid, "there is no such process", command="detach")
        refuse(place, "server", "not a PID", status=2)
        refuse(place, "0", "not a PID", status=2)


@claim
def a_zombie():
    with Place() as place:
        ended = subprocess.Popen(["true"])
        await_true(lambda: "State:\tZ" in Path(f"/proc/{ended.pid}/status").read_text())
        refuse(place, ended.pid, "zombie")
        ended.wait()


@claim
def a_thread_of_the_kernel():
    if Path("/proc/2/comm").exists() and Path("/proc/2/comm").read_text() == "kthreadd\n":
        with Place() as place:
            refuse(place, 2, "thread of the kernel" if os.geteuid() == 0 else "process 2")
    else:
        raise Skip("no thread of the kernel is visible here")


@claim
def a_thread_of_a_process():
    with Place() as place, Subject("churn", 1) as subject:
        thread = next(int(t) for t in os.listdir(f"/proc/{subject.pid}/task") if int(t) != subject.pid)
        refuse(place, thread, f"a thread of process {subject.pid}")


@claim
def a_process_that_is_stopped_stays_stopped():
    with Place() as place, Subject("churn", 1) as subject:
        os.kill(subject.pid, signal.SIGSTOP)
        await_true(lambda: subject.status("State").startswith("T"))
        refuse(place, subject.pid, "is stopped", f"kill -CONT {subject.pid}")
        assert subject.status("State").startswith("T")
        refuse(place, subject.pid, "is stopped", command="detach")
        os.kill(subject.pid, signal.SIGCONT)
        await_true(lambda: not subject.status("State").startswith("T"))
        subject.is_well()


@claim
def a_process_that_is_traced():
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    with Place() as place, Subject("churn", 1) as subject:
        with subprocess.Popen(["strace", "-qq", "-p", str(subject.pid), "-e", "trace=none"]) as strace:
            await_true(lambda: subject.status("TracerPid") == str(strace.pid))
            refuse(place, subject.pid, f"process {strace.pid} traces it already")
            strace.terminate()
        subject.is_well()


# A program that says that it has begun, and waits.
WAITS = "#include <stdio.h>\n#include <unistd.h>\nint main(void){puts(\"ready\");fflush(stdout);pause();}\n"


@claim
def a_static_program():
    if not shutil.which("cc"):
        raise Skip("there is no compiler here")
    with Place() as place:
        program = place.path / "static"
        done = subprocess.run(["cc", "-static", "-xc", "-", "-o", program], input=WAITS, text=True, capture_output=True)
        if done.returncode:
            raise Skip("no static program can be linked here")
        with Subject(command=(program,)) as subject:
            refuse(place, subject.pid, "statically linked")
            subject.is_well()


@claim
def a_program_of_musl():
    if not shutil.which("musl-gcc"):
        raise Skip("musl-gcc is not installed")
    with Place() as place:
        program = place.path / "small"
        subprocess.run(["musl-gcc", "-xc", "-", "-o", program], input=WAITS, text=True, check=True)
        with Subject(command=(program,)) as subject:
            refuse(place, subject.pid, "musl", "plimsoll run")
            subject.is_well()


@claim
def the_command_itself():
    with Place() as place:
        done = subprocess.run(["bash", "-c", 'exec "$0" attach $$', PLIMSOLL], cwd=place.path, env=environment(),
                              capture_output=True, text=True)
        assert done.returncode == 1 and "this command itself" in done.stderr, done


@claim
def a_process_that_has_asked_not_to_be_traced():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this needs root and setpriv")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if subprocess.run([*nobody, "test", "-x", PLIMSOLL]).returncode:
        raise Skip("another user cannot reach the build directory")
    script = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print('ready', flush=True); time.sleep(1000)"
    with Place() as place, Subject(command=(*nobody, "/usr/bin/python3", "-c", script)) as subject:
        os.chmod(place.path, 0o777)
        refuse(place, subject.pid, "the kernel protects it", "run this as root", prefix=nobody)
        subject.is_well()
        place.cycle(subject.pid)  # root may
        subject.is_well()


@claim
def a_setuid_program():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this needs root and setpriv")
    with Place() as place:
        os.chmod(place.path, 0o755)
        program = place.path / "privileged"
        shutil.copy(SUBJECT, program)
        program.chmod(0o4755)
        command = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "ledger", 1)
        with Subject(command=command) as subject:
            if not subject.status("Uid").startswith("65534\t0"):
                raise Skip("programs are not setuid here")
            before = subject.code()
            refuse(place, subject.pid, "setuid")
            assert subject.code() == before
            subject.is_well()
            subject.order("work", 3)


@claim
def a_32_bit_program():
    if not shutil.which("cc"):
        raise Skip("there is no compiler here")
    with Place() as place:
        program = place.path / "small"
        text = "int main(void){for(;;);}\n"
        done = subprocess.run(["cc", "-m32", "-nostdlib", "-static", "-xc", "-", "-o", program, "-Wl,-emain"], input=text,
                              text=True, capture_output=True)
        if done.returncode:
            raise Skip("no 32-bit program can be linked here")
        with subprocess.Popen([program]) as process:
            await_true(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(program))
            refuse(place, process.pid, "32-bit")
            process.kill()


@claim
def a_sandbox_and_a_process_with_one_thread_in_a_sandbox():
    for words in (("sandbox",), ("sandbox", 1)):
        with Place() as place, Subject(*words) as subject:
            assert subject.status("Seccomp") == ("2" if len(words) == 1 else "0")
            refuse(place, subject.pid, "seccomp", "plimsoll run")
            subject.is_well()


@claim
def a_process_whose_first_thread_has_ended():
    with Place() as place, Subject("headless") as subject:
        await_true(lambda: subject.status("State").startswith("Z"))
        refuse(place, subject.pid, "its first thread has ended", "plimsoll run")
        assert subject.process.poll() is None


@claim
def a_process_that_shares_its_memory_with_a_child():
    with Place() as place, Subject("shared") as subject:
        child = int(Path(f"/proc/{subject.pid}/task/{subject.pid}/children").read_text())
        refuse(place, subject.pid, f"process {child} shares its memory")
        refuse(place, child, f"shares its memory with its parent, process {subject.pid}")
        subject.is_well()


@claim
def a_program_that_was_started_by_calling_the_loader():
    loaders = [path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path)]
    if not loaders:
        raise Skip("the loader is not where it usually is")
    with Place() as place, Subject(command=(loaders[0], SUBJECT, "ledger", 1)) as subject:
        refuse(place, subject.pid, "calling the loader itself", "plimsoll run")
        subject.is_well()


# Root, but without the right to trace: as in most containers.
WITHOUT_PTRACE = ("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace")


def need_setpriv():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this needs root and setpriv")


@claim
def root_without_the_capability_to_trace():
    need_setpriv()
    capability = "CAP_SYS_PTRACE, which root lacks here (a container: --cap-add=SYS_PTRACE)"
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with Place() as place, Subject("ledger", 1) as subject:
        refuse(place, subject.pid, "privileges that we lack", capability, prefix=WITHOUT_PTRACE)
        subject.is_well()
    with Place() as place, Subject(command=(*nobody, "python3", "-c", "print('ready', flush=True); input()")) as subject:
        refuse(place, subject.pid, "belongs to user 65534", capability, prefix=WITHOUT_PTRACE)
        subject.is_well()


@claim
def a_system_that_restricts_tracing():
    need_setpriv()
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise Skip("no namespaces can be made here")
    for scope, prefix, words in ((1, WITHOUT_PTRACE, ("ptrace_scope is 1", "CAP_SYS_PTRACE", "sysctl")),
                                 (3, (), ("ptrace_scope is 3", "until the next boot"))):
        setting = "/proc/sys/kernel/yama"
        script = f"mount -t tmpfs none /proc/sys/kernel && mkdir {setting} && echo {scope} >{setting}/ptrace_scope && " \
                 'exec "$@"'
        restricted = ("unshare", "--mount", "sh", "-c", script, "sh", *prefix)
        with Place() as place, Subject("ledger", 1) as subject:
            refuse(place, subject.pid, *words, prefix=restricted)
            subject.is_well()


@claim
def a_vfork_child():
    with Place() as place, Subject("vforked") as subject:
        child = int(subject.ready.split()[1])
        refuse(place, child, "shares its memory")
        os.kill(child, signal.SIGKILL)


@claim
def a_process_that_is_profiled_already():
    with Place() as place, Subject("ledger", 1) as subject:
        place.attach(subject.pid, "-o", "one.plim")
        refuse(place, subject.pid, "profiled already")
        place.detach(subject.pid)
        refuse(place, subject.pid, "was not attached to", command="detach")
    library = BUILD / "libplimsoll.so"
    with Place() as place, Subject(command=("env", f"LD_PRELOAD={library}", SUBJECT, "ledger", 1)) as subject:
        refuse(place, subject.pid, "profiled already")


@claim
def a_process_of_another_user():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("this needs root and setpriv")
    probe = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with Place() as place, Subject("ledger", 1) as subject:
        os.chmod(place.path, 0o777)
        if subprocess.run([*probe, "test", "-x", PLIMSOLL]).returncode:
            raise Skip("another user cannot reach the build directory")
        refuse(place, subject.pid, "belongs to user 0", prefix=probe)
        subject.is_well()


@claim
def a_moment_that_does_not_come():
    # A process whose only thread is in uninterruptible wait for its vfork child cannot be stopped.
    with Place() as place, Subject("vforked") as subject:
        refuse(place, subject.pid, "does not stop")
        assert subject.process.poll() is None
        os.kill(int(subject.ready.split()[1]), signal.SIGKILL)
        await_true(lambda: subject.status("State")[0] == "S")
        subject.is_well()


@claim
def settings_that_make_no_sense():
    with Place() as place, Subject("churn", 1) as subject:
        for words, said in ((("--only", "foo,bar"), f"--only foo,bar leaves process {subject.pid} out, which is called subject"),
                            (("--for", "0"), "--for 0: too small; the minimum is 0.001 s"),
                            (("--for", "999999h"), "--for 999999h: too large; the maximum is 366 days"),
                            (("--sample", "0"), "--sample 0: too small")):
            done = place.plimsoll("attach", subject.pid, *words)
            assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
        place.attach(subject.pid, "-q", "--only", "foo,subject", "-o", "only.plim")
        place.detach(subject.pid)


@claim
def an_output_directory_that_does_not_exist_is_named_at_once():
    with Place() as place, Subject("churn", 1) as subject:
        said = place.attach(subject.pid, "-o", "/nonexistent/x.plim")
        assert "cannot write to /nonexistent: No such file or directory; the profile will stay" in said, said
        done = place.plimsoll("detach", subject.pid)
        stays = re.search(r"the profile stays in (\S+)", done.stderr)
        assert done.returncode == 1 and stays, done
        os.unlink(stays[1])


@claim
def an_attach_without_a_pid():
    with Place() as place:
        done = place.plimsoll("attach")
        assert done.returncode == 2 and "needs the PID" in done.stderr, done.stderr
        done = place.plimsoll("attach", "1", "2")
        assert done.returncode == 2 and "takes one PID" in done.stderr, done.stderr


if __name__ == "__main__":
    sys.exit(claims.main())
