"""The kernels' compilation: say so when it takes long, outlive a cache that is damaged or old."""

from __future__ import annotations

import gc
import hashlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from inspect import getfile
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import caching, event

_KERNELS: list[Any] = []
_plain = partial(njit, cache=True, nogil=True, no_cfunc_wrapper=True)


def kernel(**options: bool) -> Callable[[Callable[..., Any]], Any]:
    """What Python calls.  Numba would make an entrance for C besides, and compile that too."""

    def compiled(function: Callable[..., Any]) -> Any:
        _KERNELS.append(_plain(**options)(function))
        return _KERNELS[-1]

    return compiled


#: What kernels call, and become part of: it has no entrance for Python, nor a file of its own.
helper = partial(njit, no_cfunc_wrapper=True, no_cpython_wrapper=True)

PATIENCE_SECONDS = 1.0
#: How often it is told how far it is where there is no terminal.
REPORT_SECONDS = 10.0
_PACKAGE = __name__.partition(".")[0]


class Announcer(event.Listener):
    """Is told of the kernels of a module that are compiled, and says so when that takes long.

    Meanwhile no garbage is collected, which would take a sixth of the time.
    """

    def __init__(self, module: str) -> None:
        self.module = module
        self._depth = 0
        self._began: float | None = None
        self._timer: threading.Timer | None = None
        self._announced = False
        self._collects = False

    def __str__(self) -> str:
        """How far it is; nothing if nothing had to be compiled."""
        if self._began is None:
            return ""
        there = sum(bool(each.overloads) for each in _KERNELS)
        seconds = time.monotonic() - self._began
        return (
            "compiling its numerical kernels (only once): "
            f"{there} of at most {len(_KERNELS)}, {seconds:.0f} s"
        )

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Tell all the while how far it is, and not once only."""
        before, self._announced, over = self._announced, True, threading.Event()
        teller = threading.Thread(target=self._tell, args=(over,), daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()
            self._announced, self._began = before, None

    def on_start(self, event: Any) -> None:
        """One is begun, perhaps for the sake of another."""
        if not self._ours(event):
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._began = self._began or time.monotonic()
        self._collects = gc.isenabled()
        gc.disable()
        if not self._announced:
            self._timer = threading.Timer(PATIENCE_SECONDS, self._announce)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        """One is done."""
        if not self._ours(event):
            return
        self._depth -= 1
        if self._depth > 0:
            return
        if self._collects:
            gc.enable()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ours(self, event: Any) -> bool:
        return _is_within(event.data["dispatcher"].py_func, self.module)

    def _announce(self) -> None:
        self._announced = True
        _say("compiling its numerical kernels, once for this machine…")

    def _tell(self, over: threading.Event) -> None:
        """In one line that changes, or in one after the other where there is no terminal."""
        live, told = sys.stderr.isatty(), False
        while not over.wait(PATIENCE_SECONDS if live or not told else REPORT_SECONDS):
            if text := str(self):
                sys.stderr.write("\r" * (live and told))
                _say(text, end="" if live else "\n")
                told = True
        if told:
            sys.stderr.write("\r" * live)
            _say(f"{self}, done")


#: Told of the compilation of this package's kernels.
compiling = Announcer(_PACKAGE)


def announce_slow_compilation(module: str) -> None:
    """Watch the compilation of the kernels of ``module`` (a module's or package's ``__name__``)."""
    compiling.module = module
    event.register("numba:compile", compiling)


def _outlive_damage() -> None:
    """Let Numba compile anew those of our functions whose file it cannot read."""
    read = caching.FunctionCache.load_overload

    def load_overload(cache: Any, sig: Any, target_context: Any) -> Any:
        try:
            return read(cache, sig, target_context)
        except Exception as error:
            if not _is_within(cache._py_func, _PACKAGE):
                raise
            _start_anew(cache, error)
            return None

    caching.FunctionCache.load_overload = load_overload  # type: ignore[method-assign]


def _know_helpers() -> None:
    """Let Numba compile anew those of our functions beside whose source another has changed.

    It looks at a function's own file, and would go on with what helpers of other files were.
    """
    begin = caching.FunctionCache.__init__

    def __init__(self: Any, py_func: Any) -> None:  # noqa: N807
        begin(self, py_func)
        if _is_within(py_func, _PACKAGE):
            stored = self._cache_file
            stored._source_stamp = (stored._source_stamp, _sources(Path(getfile(py_func)).parent))

    caching.FunctionCache.__init__ = __init__  # type: ignore[method-assign]


@cache
def _sources(folder: Path) -> str:
    files = sorted(folder.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _start_anew(cache: Any, error: Exception) -> None:
    """What is compiled now replaces what was there, unless nothing can be written there."""
    why = f"{type(error).__name__} in {cache.cache_path}"
    _say(f"the compiled {cache._py_func.__name__} cannot be read and is made again ({why})")
    try:
        cache.flush()
    except OSError:
        cache.disable()


def _is_within(function: Any, package: str) -> bool:
    return f"{function.__module__}.".startswith(f"{package}.")


def _say(message: str, end: str = "\n") -> None:
    sys.stderr.write(f"fabcost: {message}{end}")
    sys.stderr.flush()


_outlive_damage()
_know_helpers()
