# SPDX-License-Identifier: MIT
"""on_terminal - runs a command on a pseudo-terminal and prints what appears there. usage: on_terminal.py COLUMNS WORD...

The exit status is the command's.
"""

import fcntl
import os
import pty
import struct
import sys
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from patience import await_readable  # noqa: E402

ROWS = 24


def read_all(descriptor):
    seen = b""
    while True:
        await_readable(descriptor, "the command's output")
        try:
            more = os.read(descriptor, 65536)
        except OSError:  # EIO: the last process has closed the terminal
            return seen
        if not more:
            return seen
        seen += more


def main():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    seen = read_all(terminal)
    _, status = os.waitpid(child, 0)
    sys.stdout.write(seen.decode().replace("\r\n", "\n"))
    sys.exit(os.waitstatus_to_exitcode(status))


main()
