# SPDX-License-Identifier: MIT
"""top - the screen of `plimsoll top`, in a real terminal: tmux. Nothing waits a fixed time: the screen is polled.

The process on the screen is that of tests/control, which allocates what it is told to.
"""

import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "control"))
import built
import claims
from claims import Skip, claim
from control import Steered
from patience import await_true
from place import LedgerPlace
from unprofiled import unprofiled

NUMBERS = itertools.count()
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?3[0-8]m")


class Terminal:
    """A terminal in which a command runs; afterwards the shell goes on."""

    def __init__(self, place, *words, size=(80, 24), **settings):
        if not shutil.which("tmux"):
            raise Skip("there is no tmux")
        self.socket = str(place.path / f"tmux.{next(NUMBERS)}")  # the last server may still be ending
        self.path = place.path
        command = " ".join(shlex.quote(str(word)) for word in (built.PLIMSOLL, "top", "--interval", "250ms", *words))
        (place.path / "script").write_text(
            f"echo before; stty -g >stty.before; {command}; echo $? >status; stty -g >stty.after; echo after\n"
            "exec sleep 1000\n")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", size[0], "-y", size[1], "-c", place.path,
                  "bash --norc script",
                  env=built.environment(TERM="screen-256color", LANG="C.UTF-8", TMUX=None, **settings))

    def tmux(self, *words, **options):
        options.setdefault("env", built.environment(TMUX=None))
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *map(str, words)], capture_output=True, text=True, **options)
        assert done.returncode == 0, f"tmux {words}: {done.stderr}"
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)

    def screen(self, *words):
        return self.tmux("capture-pane", "-p", *words)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, pattern):
        """Waits until the screen matches, and returns it."""
        seen = [""]

        def matches():
            seen[0] = self.screen()
            return re.search(pattern, seen[0], re.M)

        await_true(matches, lambda: f"{pattern!r} on the screen\n{seen[0]}")
        return seen[0]

    def pid(self):
        """Of plimsoll itself."""
        shell = self.tmux("list-panes", "-F", "#{pane_pid}").strip()
        return int(await_true(lambda: subprocess.run(["pgrep", "-P", shell, "-x", "plimsoll"], capture_output=True,
                                                     text=True).stdout.strip()))

    def ends(self):
        """Waits until the command has ended and the shell goes on; returns its status."""
        self.shows("^after$")
        assert "before" in self.screen(), self.screen()  # what was on the screen before is there again
        before, after = ((self.path / f"stty.{when}").read_text() for when in ("before", "after"))
        assert before == after, f"the terminal was {before}, and is {after}"
        assert self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
        return int((self.path / "status").read_text())


def names(screen):
    """The first word of each row's name, in the order of the screen."""
    return re.findall(r"% +(?:[█▉▊▋▌▍▎▏]+ +)?(\w+)", screen)


def prepare(program):
    """alpha holds the most, beta less, gamma the least."""
    program.tell("keep", "alpha", 300, 1000)
    program.tell("keep", "beta", 200, 1000)
    program.tell("keep", "gamma", 100, 1000)


# ---- the table ----


@claim
def sites_are_listed_with_their_figures_and_the_head_says_what_process_it_is():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            seen = terminal.shows(r"^ *\d+ KiB .*alpha")
            assert [name for name in names(seen) if name in ("alpha", "beta", "gamma_")] == ["alpha", "beta", "gamma_"], seen
            assert re.search(rf"steered .*pid {program.pid} · .* · exact · cost", seen), seen
            assert re.search(r"^ *293 KiB .* steered.c:\d+", seen, re.M) or "293 KiB" in seen, seen
            assert "±" not in seen and all(len(line) <= 80 for line in seen.splitlines()), seen
            terminal.keys("q")
            assert terminal.ends() == 0


@claim
def changes_and_rates_appear_while_the_process_allocates_and_go_away_when_it_stops():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            program.tell("turn")
            terminal.shows(r"^ .*\d+ +\d.*nudge")  # it allocates and frees
            program.tell("keep", "gamma", 1000, 1000)
            seen = terminal.shows(r"^ *1.0 MiB .*gamma")
            assert names(seen)[0] == "gamma_", seen
            terminal.shows(r"^ *1.0 MiB +· +· +· .*gamma")


@claim
def keys_switch_between_sites_functions_tags_and_threads():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("SITE")
            terminal.keys("2")
            assert "main" in names(terminal.shows("FUNCTION.*\n.*main"))
            terminal.keys("3")
            terminal.shows(r"TAG$")
            terminal.shows(r"\(no tag\)")
            terminal.keys("Tab")
            terminal.shows(r"THREAD$")
            assert "steered" in names(terminal.screen())
            terminal.keys("1")
            terminal.shows(r"SITE$")


@claim
def keys_sort_by_any_column_and_reverse_the_order():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("LIVE▼")
            for title in ("CHANGE▼", "ALLOC/S▼", "CALLS/S▼", "PEAK▼", "SHARE▼"):
                terminal.keys("Right")
                terminal.shows(title)
            terminal.keys("Right")  # by name
            seen = terminal.shows(r"SHARE  SITE")
            assert names(seen) == sorted(names(seen)), seen
            terminal.keys("i")
            await_true(lambda: names(terminal.screen()) == sorted(names(terminal.screen()), reverse=True))
            terminal.keys("Right", "i")
            seen = terminal.shows("LIVE▲")
            order = [name for name in names(seen) if name in ("alpha", "beta", "gamma_")]
            assert order == ["gamma_", "beta", "alpha"] or len(order) < 3, seen


@claim
def a_filter_applies_as_it_is_typed():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            terminal.keys("/", "B", "e")
            await_true(lambda: names(terminal.screen()) == ["beta"])
            terminal.keys("BSpace", "BSpace", "x", "x", "x")
            terminal.shows("no name contains the filter")
            terminal.keys("BSpace", "BSpace", "BSpace", "g", "a", "m", "Enter")
            terminal.shows(r"/gam hides \d+")
            assert names(terminal.screen()) == ["gamma_"]
            terminal.keys("Escape")
            terminal.shows("alpha")
            terminal.keys("/", "q")  # a letter of the filter, not the key
            terminal.shows("^/q")


@claim
def a_row_expands_to_its_stack_in_place():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            terminal.keys("Home", "Enter")
            seen = terminal.shows(r"└ main")
            lines = seen.splitlines()
            assert "alpha" in lines[[i for i, line in enumerate(lines) if "└ main" in line][0] - 1], seen
            terminal.keys("Enter")
            await_true(lambda: "└" not in terminal.screen())
            terminal.keys("2", "Enter")  # before the table is drawn: its first row
            seen = terminal.shows(r"└ \w+")
            assert "FUNCTION" in seen and "└" in seen.splitlines()[6], seen


@claim
def on_a_narrow_screen_the_chosen_row_has_its_whole_name():
    whole = r"^alpha  \S*steered\.c:\d+$"
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            seen = terminal.shows(whole)
            assert re.search(whole, seen.splitlines()[22]) and "…" in seen, seen
            terminal.keys("Down")
            terminal.shows(r"^beta  \S*steered\.c:\d+$")
            terminal.tmux("resize-window", "-x", 140, "-y", 24)
            await_true(lambda: not re.search(r"^(alpha|beta)", terminal.screen(), re.M) and "alpha" in terminal.screen())


@claim
def a_frozen_screen_does_not_change_until_it_goes_on():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            terminal.keys("f")
            terminal.shows("FROZEN")
            program.tell("keep", "beta", 2000, 1000)
            terminal.keys("2", "1")  # it still obeys keys
            assert "1.9 MiB" not in terminal.shows("SITE")
            terminal.keys("f")
            terminal.shows(r"^ *[12]\.\d MiB .*beta")


@claim
def after_r_changes_count_from_then_on():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            terminal.keys("r")
            terminal.shows("since r")
            program.tell("keep", "beta", 100, 1000)
            terminal.shows(r"\+97.7 KiB .*beta")
            program.tell("keep", "beta", 100, 1000)
            terminal.shows(r"\+195 KiB .*beta")
            terminal.keys("R")
            await_true(lambda: "since r" not in terminal.screen())


@claim
def what_is_seen_can_be_exported_with_all_its_rows():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid, size=(80, 10)) as terminal:
            terminal.shows("LIVE")
            terminal.keys("x")
            terminal.shows(f"wrote plimsoll-top.{program.pid}.1.txt")
            written = (place.path / f"plimsoll-top.{program.pid}.1.txt").read_text()
            assert all(name in written for name in ("alpha", "beta", "gamma_", "LIVE", f"pid {program.pid}")), written
            assert "\x1b" not in written
            terminal.keys("x")
            terminal.shows(f"wrote plimsoll-top.{program.pid}.2.txt")


@claim
def help_lists_the_keys():
    with LedgerPlace() as place, Steered(place) as program:
        with Terminal(place, program.pid) as terminal:
            terminal.shows("LIVE")
            terminal.keys("?")
            seen = terminal.shows("^Keys")
            assert "freeze" not in seen and "stop refreshing" in seen, seen
            assert "…" not in seen and "~ marks other estimates." in seen, seen  # it fits
            terminal.keys("q")  # any key ends help
            terminal.shows("LIVE")


@claim
def on_a_small_terminal_help_has_pages():
    with LedgerPlace() as place, Steered(place) as program:
        with Terminal(place, program.pid, size=(60, 15)) as terminal:
            terminal.shows("LIVE")
            seen = []
            terminal.keys("?")
            seen.append(terminal.shows("^Keys"))
            while "any key: more" in seen[-1]:
                terminal.keys("Space")
                await_true(lambda: terminal.screen() != seen[-1], "the next page")
                seen.append(terminal.screen())
            assert len(seen) > 1 and "…" not in "".join(seen), seen
            words = " ".join(" ".join(seen).split())
            for said in ("Esc ends the filter", "quit", "~ marks other estimates."):
                assert said in words, (said, words)
            terminal.keys("Space")
            terminal.shows("LIVE▼")
            terminal.keys("?")
            terminal.shows("any key: more")
            terminal.keys("Escape")  # ends it on any page
            terminal.shows("LIVE▼")


# ---- sizes and colours ----


@claim
def it_follows_the_size_of_the_terminal():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            for columns, rows in ((120, 40), (200, 60), (40, 8), (10, 3), (80, 24)):
                terminal.tmux("resize-window", "-x", columns, "-y", rows)
                terminal.shows(r"\? help" if columns >= 40 else "live|calls")
                assert all(len(line) <= columns for line in terminal.screen().splitlines())
            seen = terminal.shows("alpha")
            assert "PEAK" in seen and "SHARE" in seen, seen


@claim
def there_are_colours_unless_no_color_is_set():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        for value, coloured in ((None, True), ("1", False)):
            with Terminal(place, program.pid, NO_COLOR=value) as terminal:
                terminal.shows("alpha")
                assert bool(COLOUR.search(terminal.screen("-e"))) == coloured, terminal.screen("-e")


@claim
def estimates_have_their_confidence_interval():
    with LedgerPlace() as place, Steered(place, sample="4K") as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            seen = terminal.shows(r"± [\d.,]+ [KM]?i?B .*alpha")
            assert re.search(r"^live .*±", seen, re.M) and "sampled every 4 KiB" in seen, seen


# ---- processes ----


@claim
def without_a_pid_it_begins_with_the_list_and_switches_between_processes():
    with LedgerPlace() as place, Steered(place) as one, Steered(place) as two:
        one.tell("keep", "alpha", 100, 1000)
        two.tell("keep", "beta", 100, 1000)
        with Terminal(place, size=(80, 60)) as terminal:
            terminal.shows(rf"^ *{one.pid} .*steered")
            terminal.shows(rf"^ *{two.pid} .*steered")
            for pid, name in ((one.pid, "alpha"), (two.pid, "beta")):
                terminal.keys("Home")
                lines = terminal.shows(rf"^ *{pid} ").splitlines()
                at = [i for i, line in enumerate(lines) if re.match(rf" *{pid} ", line)][0]
                for _ in range(at - 2):
                    terminal.keys("Down")
                terminal.keys("Enter")
                terminal.shows(f"pid {pid} ")
                terminal.shows(name)
                terminal.keys("p")
                terminal.shows("Processes that are being profiled")


@claim
def when_the_process_ends_its_last_state_stays():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        with Terminal(place, program.pid) as terminal:
            terminal.shows("alpha")
            program.process.kill()
            program.process.wait()
            seen = terminal.shows(rf"pid {program.pid} · (killed|ended)")
            assert "alpha" in seen, seen
            terminal.keys("2")
            terminal.shows("main")
            terminal.keys("q")
            assert terminal.ends() == 0


# ---- how it ends ----


def check_ending(number):
    with LedgerPlace() as place, Steered(place) as program:
        with Terminal(place, program.pid) as terminal:
            terminal.shows("LIVE")
            os.kill(terminal.pid(), number)
            assert terminal.ends() == 128 + number


for a_signal in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT):
    claims.add(f"the terminal is as it was after {a_signal.name}", lambda number=a_signal: check_ending(number))


@claim
def a_terminal_that_cannot_do_it_is_named():
    with LedgerPlace() as place, Steered(place) as program:
        done = subprocess.run(["script", "-qec", f"{built.PLIMSOLL} top {program.pid}", "/dev/null"], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, env=built.environment(TERM="nonesuch"))
        assert "cannot use this terminal (TERM=nonesuch); --once prints one screen" in done.stdout, done.stdout


# ---- one screen for a pipe ----


def top(*words, status=0, **settings):
    done = subprocess.run([built.PLIMSOLL, "top", *map(str, words)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=built.environment(COLUMNS=80, **settings))
    assert done.returncode == status, f"top {words}: status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@claim
def one_screen_can_be_printed_to_a_pipe():
    with LedgerPlace() as place, Steered(place) as program:
        prepare(program)
        printed = top(program.pid, "--once", "--interval", "250ms")
        assert names(printed)[:3] == ["alpha", "beta", "gamma_"], printed
        assert "\x1b" not in printed and all(len(line) <= 80 for line in printed.splitlines()), printed
        assert f"pid {program.pid}" in printed and "LIVE▼" in printed and "quit" not in printed, printed
        printed = top(program.pid, "--once", "--interval", "250ms", "--by", "function", "--sort", "name", "--filter", "MAI")
        assert names(printed) == ["main"], printed
        assert str(program.pid) in top("--once")


@claim
def a_closed_pipe_is_quiet():
    with LedgerPlace() as place, Steered(place) as program:
        done = subprocess.run(["bash", "-c", f"{built.PLIMSOLL} top {program.pid} --once --interval 250ms | true"],
                              capture_output=True, text=True, env=built.environment())
        assert done.stderr == "" and done.returncode == 0, done.stderr


@claim
def wrong_arguments_are_refused_in_one_line():
    with unprofiled() as other:
        check_refusals(other)


def check_refusals(unprofiled_pid):
    for words, status, said in ((("x",), 2, "top x: not a PID"), (("1", "2"), 2, "top takes one PID; got 1 and 2"),
                                ((unprofiled_pid, "--once"), 1, "was started without Plimsoll"),
                                (("--interval", "1ms"), 2, "--interval 1ms: too small; the minimum is 0.25 s"),
                                (("--sort", "size"), 2, "--sort size: not a choice"),
                                ((unprofiled_pid,), 2, "top needs a terminal; --once prints one screen")):
        answer = top(*words, status=status)
        assert said in answer, f"{words}: {answer}"


if __name__ == "__main__":
    sys.exit(claims.main())
