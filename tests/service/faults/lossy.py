"""A wire to PostgreSQL that breaks at the worst moment."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

#: How PostgreSQL says that a statement is done: the tag of a CommandComplete message.
_WRITTEN = re.compile(rb"C\x00\x00\x00.(INSERT 0|UPDATE|DELETE) [1-9]", re.DOTALL)
_COMMITTED = re.compile(rb"C\x00\x00\x00.COMMIT", re.DOTALL)
_CHUNK = 65_536
Moment = Literal["writing", "committing"]


class Wire:
    """Passes everything on until `break_when`, then that answer is lost, and the connection too.

    "writing" is in the middle of the next transaction that writes, which is undone; "committing"
    is at its end: it is done, but nobody hears of it.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._moments: list[Moment] = []
        #: Whether nobody can connect once it broke.
        self.stays_broken = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def whole(self) -> bool:
        """Whether it is not going to break."""
        return not self._moments

    def break_when(self, *moments: Moment) -> None:
        """Break at each of these moments, one after the other."""
        self._moments = list(moments)

    def close(self) -> None:
        # Whoever waits in accept or recv is woken by a shutdown, not by closing.
        for each in (self._listening, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if self.stays_broken and self.whole:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                self._open += [near, far]
                threading.Thread(target=self._ask, args=(near, far), daemon=True).start()
                threading.Thread(target=self._answer, args=(near, far), daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while content := near.recv(_CHUNK):
                far.sendall(content)
        _hang_up(far)

    def _answer(self, near: socket.socket, far: socket.socket) -> None:
        written = False
        with suppress(OSError):
            while content := far.recv(_CHUNK):
                written = written or _WRITTEN.search(content) is not None
                committed = _COMMITTED.search(content) is not None
                if written and self._breaks(committed):
                    break
                written = written and not committed
                near.sendall(content)
        _hang_up(near)
        _hang_up(far)

    def _breaks(self, committed: bool) -> bool:
        breaks = self._moments[:1] == ["committing" if committed else "writing"]
        if breaks:
            del self._moments[0]
        return breaks


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire(port: int) -> Iterator[Wire]:
    made = Wire(port)
    try:
        yield made
    finally:
        made.close()
