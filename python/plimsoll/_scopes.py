# SPDX-License-Identifier: MIT
"""_scopes - tags: what the memory is for.

The profiler keeps one current tag for each thread. Coroutines and generators of one thread take turns, so a tag that
one of them has entered would be charged for what the others allocate. A Follower prevents that: it runs each step of a
coroutine in the tags of that coroutine, and puts the thread's own tag back when the step ends.
"""

import asyncio
import collections.abc
import functools
import inspect
from typing import Any, Callable, Coroutine, Dict, Optional, TypeVar, cast

from . import _library
from ._figures import Stats, figures_of

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")

_prepared: Dict[str, int] = {}
_PREPARED_MAX = 16384  # the profiler has no more tags


def _text(name: str) -> bytes:
    """A name may be any text: C's texts end at a NUL."""
    return name.replace("\0", "\u2400").encode("utf-8", "surrogateescape")


def _prepare(name: str) -> Optional[int]:
    handle = cast(Optional[int], _library.prepare(_text(name)))  # type: ignore[misc]
    if handle and len(_prepared) < _PREPARED_MAX:
        _prepared[name] = handle
    return handle


def _enter(name: str) -> None:
    handle = _prepared.get(name) or _prepare(name)
    if handle:
        _library.enter(handle)  # type: ignore[misc]
    else:
        _library.push(_text(name))  # type: ignore[misc]


class tag:
    """Charges what the current thread allocates to a tag, until the end of the block:

        with plimsoll.tag("load"):
            rows = load()

    Tags nest: "parse" inside "load" is "load/parse". As a decorator, it charges each call of a function. Coroutines and
    generators that are decorated keep their tag while they are suspended, and do not charge others to it:

        @plimsoll.tag("request")
        async def answer(request): ...

    In a coroutine, a `with` block that contains an `await` needs follow() or follow_tasks().
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a tag is a str, not {type(name).__name__}")
        self.name = name

    if _library.loaded:

        def __enter__(self) -> "tag":
            _enter(self.name)
            return self

        def __exit__(self, *_: object) -> None:
            _library.pop()  # type: ignore[misc]

    else:

        def __enter__(self) -> "tag":
            return self

        def __exit__(self, *_: object) -> None:
            pass

    def __call__(self, function: Function) -> Function:
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} is an asynchronous generator, which no tag can follow; "
                            "use `with plimsoll.tag(...)` between its yields")
        if not _library.loaded:
            return function
        return cast(Function, _decorated(self, function))

    def __repr__(self) -> str:
        return f"plimsoll.tag({self.name!r})"


def tagged(function: Function) -> Function:
    """Charges each call of a function to a tag with the function's qualified name."""
    return tag(getattr(function, "__qualname__", None) or repr(function))(function)


def _decorated(scope: tag, function: Callable[..., Any]) -> Callable[..., Any]:
    def inside() -> "Context":
        with scope:
            return capture()

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            return await _Follower(function(*args, **kwargs), inside())

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            return (yield from _Follower(function(*args, **kwargs), inside()))

    else:

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with scope:
                return function(*args, **kwargs)

    return run


# ---- threads ----


class Context:
    """The tag of a thread, as capture() returns it: a number, to be taken along to another thread."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def adopt(self) -> "_Adopted":
        """`with context.adopt():` makes it the current tag of this thread until the end of the block."""
        return _Adopted(self)

    def wrap(self, function: Function) -> Function:
        """The same function, which runs in this tag, in whichever thread: `executor.submit(context.wrap(work), job)`"""
        if not _library.loaded:
            return function

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.adopt():
                return function(*args, **kwargs)

        return cast(Function, run)

    def stats(self) -> Optional[Stats]:
        """Figures of this tag, in all threads, without the tags below it. None without the profiler."""
        return figures_of(_library.tag_stats, self._number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._number == other._number

    def __hash__(self) -> int:
        return hash(self._number)

    def __repr__(self) -> str:
        return f"plimsoll.Context({self._number:#x})"


def capture() -> Context:
    """The current tag of this thread."""
    return Context(_library.capture() if _library.capture else 0)


class _Adopted:
    __slots__ = ("_context", "_before")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._before = 0

    def __enter__(self) -> Context:
        if _library.adopt:
            self._before = _library.adopt(self._context._number)
        return self._context

    def __exit__(self, *_: object) -> None:
        if _library.adopt:
            _library.adopt(self._before)


# ---- coroutines and generators ----


class _Follower(collections.abc.Coroutine):  # type: ignore[type-arg]
    """A coroutine or generator with tags of its own. Made only where the profiler is loaded."""

    __slots__ = ("_steps", "_number")

    def __init__(self, steps: Any, context: Context) -> None:
        self._steps = steps
        self._number = context._number

    def _step(self, function: Callable[..., Any], *arguments: Any) -> Any:
        adopt = cast(Callable[[int], int], _library.adopt)
        before = adopt(self._number)
        try:
            return function(*arguments)
        finally:
            self._number = adopt(before)

    def send(self, value: Any) -> Any:
        return self._step(self._steps.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._steps.throw, *error)

    def close(self) -> None:
        self._step(self._steps.close)

    def __next__(self) -> Any:
        return self.send(None)

    def __iter__(self) -> Any:
        return self

    __await__ = __iter__

    def __getattr__(self, name: str) -> Any:
        """Names, code and frames are those of the coroutine: event loops and debuggers show them."""
        return getattr(self._steps, name)


def follow(coroutine: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
    """The same coroutine, with tags of its own: it begins in the current tag, and keeps those that it has entered while
    it waits. `asyncio.run(plimsoll.follow(main()))`"""
    return _Follower(coroutine, capture()) if _library.loaded else coroutine


def follow_tasks(loop: Optional[asyncio.AbstractEventLoop] = None) -> None:
    """From now on, each new task of the running loop (or of this one) keeps its own tags, and begins in the tag of the
    code that has created it."""
    if not _library.loaded:
        return
    loop = loop or asyncio.get_running_loop()
    make: Any = loop.get_task_factory() or _new_task
    if not getattr(make, "follows_tags", False):
        loop.set_task_factory(_factory(make))


def _new_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> "asyncio.Task[Any]":
    return asyncio.Task(coroutine, loop=loop, **options)


def _factory(make: Any) -> Any:
    def following(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        return make(loop, follow(coroutine), **options)

    following.follows_tags = True  # type: ignore[attr-defined]
    return following
