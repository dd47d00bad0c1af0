"""When a learner is written down, so that a start after a kill learns little again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from fabcost.inference.online import FabCost
from fabcost.service.store.store import Store

#: A snapshot is due after so many impressions, or this share of the log if that is more …
_IMPRESSIONS, _SHARE = 1000, 0.25
#: … or when learning since the last one took so long, or so many times as long as saving it.
SECONDS, _TIMES_SAVING = 5.0, 20.0


class Saved(NamedTuple):
    """The state of a learner after ``lsn`` impressions of its log."""

    lsn: int
    content: bytes


class Saving:
    """Packs a learner when it is due, and keeps that until it is written.

    Whoever has the learner calls `learnt` and `pack`; another thread may `write`.

    Parameters
    ----------
    pack
        The bytes from which a learner goes on.
    lsn
        Of the last snapshot that can be read; then of the last that was packed.

    Examples
    --------
    >>> from fabcost.gaussian import Gaussian
    >>> saving = Saving(lambda learner: b"state", 0)
    >>> saving.learnt(FabCost(Gaussian.isotropic(1)), 999, seconds=0.1)
    >>> saving.waiting is None
    True
    >>> saving.learnt(FabCost(Gaussian.isotropic(1)), 1000, seconds=0.1)
    >>> saving.waiting
    Saved(lsn=1000, content=b'state')
    """

    def __init__(self, pack: Callable[[FabCost], bytes], lsn: int) -> None:
        self._pack = pack
        self.lsn = lsn
        self._seconds = 0.0
        self._longest = SECONDS
        self._lock = threading.Lock()
        self._waiting: Saved | None = None

    @property
    def waiting(self) -> Saved | None:
        """What is to be written."""
        return self._waiting

    def write(self, store: Store, model: str) -> None:
        """Write what is waiting, in a transaction of its own."""
        saved = self._waiting
        if saved is None:
            return
        started = time.monotonic()
        with store.transaction():
            store.put_snapshot(model, saved.lsn, time.time(), saved.content)
        self._cost(time.monotonic() - started)
        with self._lock:
            if self._waiting is saved:
                self._waiting = None

    def learnt(self, learner: FabCost, lsn: int, *, seconds: float) -> None:
        """Say that the learner has impressions up to ``lsn``; the last ones took ``seconds``."""
        self._seconds += seconds
        many = lsn - self.lsn >= max(_IMPRESSIONS, int(_SHARE * self.lsn))
        if many or self._seconds >= self._longest:
            self.pack(learner, lsn)

    def pack(self, learner: FabCost, lsn: int) -> None:
        """Pack the learner now, unless that was done."""
        if lsn == self.lsn:
            return
        started = time.monotonic()
        saved = Saved(lsn, self._pack(learner))
        with self._lock:
            self._waiting = saved
        self.lsn, self._seconds = lsn, 0.0
        self._longest = SECONDS
        self._cost(time.monotonic() - started)

    def _cost(self, seconds: float) -> None:
        self._longest = max(self._longest, _TIMES_SAVING * seconds)
