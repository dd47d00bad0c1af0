"""Say so when compiling takes long: the first use of a kernel on a machine."""

from __future__ import annotations

import sys
import threading
from typing import Any

from numba.core import event

PATIENCE_SECONDS = 1.0


class _Announcer(event.Listener):
    """Writes one line to stderr when our compilation has lasted longer than a second."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._depth = 0
        self._timer: threading.Timer | None = None
        self._announced = False

    def on_start(self, event: Any) -> None:
        if not self._ours(event):
            return
        self._depth += 1
        if self._depth == 1 and not self._announced:
            self._timer = threading.Timer(PATIENCE_SECONDS, self._announce)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        if not self._ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ours(self, event: Any) -> bool:
        return bool(event.data["dispatcher"].py_func.__module__.startswith(self._module))

    def _announce(self) -> None:
        self._announced = True
        sys.stderr.write("fabcost: compiling its numerical kernels, once for this machine…\n")
        sys.stderr.flush()


def announce_slow_compilation(module: str) -> None:
    """Watch the compilation of the kernels of ``module`` (a module's ``__name__``)."""
    event.register("numba:compile", _Announcer(module))
