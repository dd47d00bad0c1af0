"""The learner of one model: a fold over its log, with large refreshes in the background.

It is written down now and then, so that a start after a kill learns little again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from fabcost.impressions import FloatArray
from fabcost.inference.online import FabCost
from fabcost.inference.wide.learner import WideFabCost
from fabcost.recommend.surprise import FIRST, Surprise
from fabcost.service.learning.follower import Collected, Learnt, Published
from fabcost.service.learning.wide import AnyFollower
from fabcost.service.store.store import Store

#: A refresh over more than this many multiplications is done in the background.
INLINE = 4_000_000
_NICENESS = 10
#: Impressions between two looks at whether a snapshot is due or the server stops.
_AT_ONCE = 256
#: A snapshot is due after so many impressions, or this share of the log if that is more …
_IMPRESSIONS, _SHARE = 1000, 0.25
#: … or when learning since the last one took so long, or so many times as long as saving it.
SECONDS, _TIMES_SAVING = 5.0, 20.0
#: PostgreSQL hands out no value above half a GiB; without snapshots the log is kept, and learnt.
MOST_BYTES = 500_000_000


class Saving:
    """Packs a learner when it is due, and keeps that until it is written.

    Whoever has the learner calls `learnt` and `pack`; another thread may `write`.  ``pack`` makes
    the bytes from which a follower goes on; ``lsn`` is that of the last snapshot that can be read,
    then of the last that was packed.
    """

    def __init__(self, pack: Callable[[AnyFollower], bytes], lsn: int) -> None:
        self._pack = pack
        #: Whether it is this server that saves.
        self.wanted = True
        #: Whether the last one that was packed cannot be written.
        self.too_large = False
        #: The lsns of the last two that this server wrote.
        self.written = (0, 0)
        self.lsn = lsn
        self._seconds = 0.0
        self._longest = SECONDS
        self._lock = threading.Lock()
        # The lsn and the bytes of what is to be written.
        self._waiting: tuple[int, bytes] | None = None

    def learnt(self, learner: AnyFollower, lsn: int, *, seconds: float) -> None:
        """Say that the learner has impressions up to ``lsn``; the last ones took ``seconds``."""
        self._seconds += seconds
        many = lsn - self.lsn >= max(_IMPRESSIONS, int(_SHARE * self.lsn))
        if many or self._seconds >= self._longest:
            self.pack(learner, lsn)

    def pack(self, learner: AnyFollower, lsn: int) -> None:
        """Pack the learner now, unless that was done."""
        if lsn == self.lsn or not self.wanted:
            return
        started = time.monotonic()
        packed = (lsn, self._pack(learner))
        self.too_large = len(packed[1]) > MOST_BYTES
        if not self.too_large:
            with self._lock:
                self._waiting = packed
        self.lsn, self._seconds = lsn, 0.0
        self._longest = SECONDS
        self._cost(time.monotonic() - started)

    def write(self, store: Store, model: str) -> None:
        """Write what is waiting, in a transaction of its own."""
        packed = self._waiting
        if packed is None or not store.session.leads():
            return
        started = time.monotonic()
        with store.transaction():
            store.put_snapshot(model, packed[0], time.time(), packed[1])
        self._cost(time.monotonic() - started)
        self.written = (self.written[1], packed[0])
        with self._lock:
            if self._waiting is packed:
                self._waiting = None

    def _cost(self, seconds: float) -> None:
        self._longest = max(self._longest, _TIMES_SAVING * seconds)


class Learning:
    """One thread applies impressions; decisions read what is `published`.

    What is learnt is what `fabcost.FabCost` learns from the log alone.  A refresh that takes long
    runs in a thread of its own, while a provisional learner goes on filtering for the decisions;
    when the refresh is done, the impressions since are applied to its result.  So the outcome
    does not depend on how long it took.

    Between two refreshes, and after every few hundred impressions, ``saving`` may pack the learner
    for a snapshot, also in the background: it is in a state of the fold over the log whenever it
    does not learn.  The ``follower`` has the impressions of the log up to ``lsn``; ``refreshed`` is
    told the seconds of each refresh, of which those of at most ``inline`` multiplications are not
    put into the background.
    """

    def __init__(
        self,
        follower: AnyFollower,
        lsn: int,
        *,
        inline: int = INLINE,
        refreshed: Callable[[float], object] = float,
        saving: Saving | None = None,
    ) -> None:
        self._follower = follower
        self._inline = inline
        self._refreshed = refreshed
        self._lock = threading.Lock()
        self._provisional: AnyFollower | None = None
        self._behind: list[Learnt] = []
        self._thread: threading.Thread | None = None
        self._refreshes_before = 0
        self._stopping = False
        self._learnt = lsn
        self.saving = saving
        self.lsn = lsn
        self.failure: Exception | None = None
        self._stuck = False
        self.last_refresh_seconds = 0.0
        self._publisher: Any = follower.publisher(lsn)
        #: The latest posterior to decide by.
        self.published: Published = self._publisher.latest

    @property
    def refreshing(self) -> bool:
        """Whether a refresh is running in the background."""
        return self._provisional is not None

    @property
    def lag(self) -> int:
        """Impressions that wait for the refresh in the background, or for a restart."""
        waits = self.refreshing and self.failure is None
        return self.lsn - (self._learnt if waits else self.published.lsn)

    @property
    def learner(self) -> FabCost | WideFabCost | None:
        """The learner after all impressions up to `lsn`; None while a refresh is running.

        None also for good, once learning has failed.
        """
        return None if self.refreshing or self.failure else self._follower.learner

    @property
    def _learner(self) -> FabCost | WideFabCost:
        return self._follower.learner

    def copied(self) -> AnyFollower | None:
        """A copy of the learner, for the thread that applies; None where `learner` is None."""
        return None if self.learner is None else self._follower.copy()

    @property
    def late(self) -> Surprise:
        """Losses of late, each by what was believed before its outcome was learnt."""
        return self._follower.late

    def collect(self) -> Collected:
        """What is published, and what is new about the items; for the one who decides."""
        collected: Collected = self._publisher.collect()
        return collected

    def predicted(self, impressions: Sequence[Learnt]) -> FloatArray:
        """The click probability of each impression, as it is published."""
        with self._lock:
            serving = self._provisional or self._follower
            return serving.predicted(self.published.belief, impressions)

    def apply(self, impressions: Sequence[Learnt]) -> None:
        """Learn the next impressions of the log and publish.

        The log has them already: if learning fails, `failure` says so, decisions go on by what
        was published, and a restart learns from the log.
        """
        with self._lock:
            self.lsn += len(impressions)
            if self._stuck:
                return
            try:
                self._advance(impressions)
            except Exception as error:  # noqa: BLE001 - `failure` tells
                self._stuck = True
                self.failure = error

    def saves(self, wanted: bool) -> None:
        """Pack the learner for snapshots, or leave that to another server."""
        if self.saving is not None:
            self.saving.wanted = wanted

    def pack(self) -> None:
        """Pack the learner for a snapshot now, if it is not being refreshed."""
        with self._lock:
            if self.learner is not None and self.saving is not None:
                self.saving.pack(self._follower, self.lsn)

    @property
    def saved(self) -> int:
        """The lsn that two snapshots of this server have."""
        return 0 if self.saving is None else min(self.saving.written)

    def tell_all(self) -> None:
        """Publish everything again, for someone who knows nothing of it."""
        with self._lock:
            self._publisher.of = None  # whose versions it knows
            self._publish()

    def wait(self, seconds: float | None = None) -> None:
        """Until no refresh is running, or so long."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def save(self, store: Store, model: str) -> None:
        """Write the learner down now, if it is not being refreshed."""
        if self.learner is not None and self.saving is not None:
            self.saving.pack(self._follower, self.lsn)
            self.saving.write(store, model)

    def stop(self, seconds: float) -> None:
        """Pack the learner for a last snapshot, or leave it to its refresh in the background.

        A refresh that takes longer than ``seconds`` is abandoned: the next start does it again.
        """
        self.wait(seconds)
        self.pack()
        with self._lock:
            self._stopping = True

    def _advance(self, impressions: Sequence[Learnt]) -> None:
        if self._provisional is None:
            impressions = self._learn(impressions, longer=False)
        if impressions:
            self._filter_meanwhile(impressions)
        self._publish()

    def _learn(self, impressions: Sequence[Learnt], *, longer: bool) -> Sequence[Learnt]:
        """Learn, ``longer`` or only until a long refresh is due; the rest."""
        done = 0
        while done < len(impressions):
            filtered = min(self._before_refresh(), len(impressions) - done)
            if filtered:
                self._learn_some(impressions[done : done + filtered])
            elif longer or self._follower.work <= self._inline:
                self._learn_and_refresh(impressions[done])
            else:
                break
            done += max(filtered, 1)
            if longer and self._stopping:
                break
        return impressions[done:]

    def _before_refresh(self) -> int:
        """How many impressions come before one at which a refresh is due, a few hundred at most."""
        due = self._learner.next_refresh
        return _AT_ONCE if due is None else min(due - self._learner.seen - 1, _AT_ONCE)

    def _learn_and_refresh(self, impression: Learnt) -> None:
        before = self._learner.refreshes
        seconds = self._learn_some([impression])
        if self._learner.refreshes > before:
            self.last_refresh_seconds = seconds
            self._refreshed(seconds)

    def _learn_some(self, impressions: Sequence[Learnt]) -> float:
        """Learn, and pack the learner if that is due; how many seconds learning took."""
        started = time.monotonic()
        self._watch(impressions)
        self._follower.learn(impressions)
        seconds = time.monotonic() - started
        self._learnt += len(impressions)
        if self.saving is not None:
            self.saving.learnt(self._follower, self._learnt, seconds=seconds)
        return seconds

    def _watch(self, impressions: Sequence[Learnt]) -> None:
        """Note how well impressions are predicted by those before them."""
        of = self._follower
        if of.learner.seen >= FIRST:
            p = of.predicted(of.learner.posterior, impressions)
            of.late.outcomes(p, [each.reward for each in impressions])

    def _filter_meanwhile(self, impressions: Sequence[Learnt]) -> None:
        if self.failure is None:
            self._behind.extend(impressions)
        if self._provisional is None:
            self._refreshes_before = self._learner.refreshes
            self._provisional = self._follower.provisional()
            self._thread = threading.Thread(target=self._catch_up, name="refresh", daemon=True)
            self._thread.start()
        self._provisional.learn(impressions)

    def _catch_up(self) -> None:
        _give_way()
        try:
            while not self._stopping and (waiting := self._take()):
                self._learn(waiting, longer=True)
        except Exception as error:  # noqa: BLE001 - the provisional learner goes on; `failure` tells
            with self._lock:
                self.failure = error
                self._behind = []

    def _take(self) -> list[Learnt]:
        """What has come meanwhile; if nothing has, the refreshed learner serves again."""
        with self._lock:
            waiting, self._behind = self._behind, []
            if not waiting:
                self._provisional = None
                self._publish()
            return waiting

    def _publish(self) -> None:
        serving = self._provisional or self._follower
        refreshes = self._learner.refreshes if self._provisional is None else self._refreshes_before
        self.published = self._publisher.publish(self.lsn, refreshes, serving.learner)


def _give_way() -> None:
    """Let the threads that answer have the processor first, where a thread can have a priority."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
