# SPDX-License-Identifier: MIT
"""_heaps - memory that malloc does not know: arenas, shared memory, memory of a GPU."""

from typing import Optional

from . import _library
from ._scopes import _text


class Heap:
    """A heap of its own in reports: `plimsoll report --heap NAME`.

        gpu = plimsoll.Heap("gpu")
        gpu.allocated(pointer, size)
        gpu.freed(pointer)

    Blocks are addresses: int. Heaps of the same name are shown as one. `above` is a heap with which this one is
    destroyed. After destroy(), and after that of a heap above it, a heap does nothing.
    """

    __slots__ = ("_handle", "_above", "_life", "_life_above")

    def __init__(self, name: str, above: Optional["Heap"] = None) -> None:
        self._above = above
        self._life = 0  # how often it was cleared
        self._life_above = above._life if above else 0
        self._handle: Optional[int] = None
        if _library.heap_create and (above is None or above._here()):
            self._handle = _library.heap_create(_text(name), above and above._handle)

    def _here(self) -> Optional[int]:
        """The handle, unless the heap was destroyed, or with one above it."""
        above = self._above
        if above is not None and (above._life != self._life_above or not above._here()):
            self._handle = None
        return self._handle

    def allocated(self, block: int, size: int) -> None:
        """A block was allocated."""
        if self._here():
            _library.heap_allocated(self._handle, block, size)  # type: ignore[misc]

    def reallocated(self, old: int, block: int, size: int) -> None:
        """A block was allocated in place of another one, which may have the same address."""
        if self._here():
            _library.heap_reallocated(self._handle, old, block, size)  # type: ignore[misc]

    def freed(self, block: int) -> None:
        """A block was freed."""
        if self._here():
            _library.heap_freed(self._handle, block)  # type: ignore[misc]

    def took(self, chunk: int, size: int) -> None:
        """The heap has taken a chunk from malloc, or from another heap."""
        if self._here():
            _library.heap_took(self._handle, chunk, size)  # type: ignore[misc]

    def gave(self, chunk: int) -> None:
        """The heap has given a chunk back."""
        if self._here():
            _library.heap_gave(self._handle, chunk)  # type: ignore[misc]

    def clear(self) -> None:
        """All blocks of the heap are freed, its chunks given back, and all heaps below it destroyed."""
        if self._here():
            self._life += 1
            _library.heap_clear(self._handle)  # type: ignore[misc]

    def destroy(self) -> None:
        """The same, and the heap will not be used again."""
        if self._here():
            _library.heap_destroy(self._handle)  # type: ignore[misc]
            self._handle = None
