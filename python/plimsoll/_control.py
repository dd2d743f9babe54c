# SPDX-License-Identifier: MIT
"""_control - controls the profiler from inside the program.

Without the profiler, all of these do nothing. With it, those that can fail raise OSError.
"""

import os
from typing import Optional, Union

from . import _library
from ._figures import check

_ALL_SIZES = 2**64 - 1


def loaded() -> bool:
    """The profiler is loaded in this process."""
    return _library.loaded


def active() -> bool:
    """This thread's allocations are being recorded: the profiler is loaded, not stopped, and not paused."""
    return bool(_library.active and _library.active())


def start() -> None:
    """Starts recording in the whole process, after stop() or if PLIMSOLL_OFF=1 is set."""
    if _library.start:
        _library.start()


def stop() -> None:
    """Stops recording in the whole process. Calls and bytes are still counted, under the tag "(off)"."""
    if _library.stop:
        _library.stop()


class pause:
    """Stops recording for the calling thread, until the end of the block: `with plimsoll.pause():`"""

    __slots__ = ()

    def __enter__(self) -> None:
        if _library.pause:
            _library.pause()

    def __exit__(self, *_: object) -> None:
        if _library.resume:
            _library.resume()


def reset() -> None:
    """Begins all figures again: the profile only has what is allocated from now on."""
    if _library.reset:
        _library.reset()


def sample(interval: int) -> None:
    """One sample per so many bytes on average, from now on. 0: as the profiler was started."""
    if interval < 0:
        raise ValueError("an interval is not negative")
    if _library.sample:
        check(_library.sample(interval))


def sizes(smallest: int = 0, largest: Optional[int] = None) -> None:
    """Records stacks only for blocks of these sizes, both included."""
    if _library.sizes:
        check(_library.sizes(smallest, _ALL_SIZES if largest is None else largest))


def snapshot(name: Optional[str] = None) -> bool:
    """Takes a snapshot: app.NAME.plim, or a number in place of the name. False without the profiler."""
    if not _library.snapshot:
        return False
    check(_library.snapshot(None if name is None else os.fsencode(name)), name)
    return True


def snapshot_if_due() -> bool:
    """Takes a snapshot if PLIMSOLL_SNAPSHOT_EVERY says that one is due. Call it in the main loop."""
    return bool(_library.snapshot_if_due and check(_library.snapshot_if_due()))


def write(path: Union[str, "os.PathLike[str]"]) -> bool:
    """Writes a snapshot to this path, which must not exist. False without the profiler."""
    if not _library.write:
        return False
    check(_library.write(os.fsencode(path)), os.fspath(path))
    return True


def output(wanted: bool) -> None:
    """False: keep no profile when the program ends."""
    if _library.output:
        _library.output(int(wanted))
