"""The database, what was learnt from it, and what people are shown of it, kept in step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.service.learning.follower import Learnt
from fabcost.service.learning.recovery import Keeper
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    DecisionRow,
    Key,
    ModelRow,
    StoredDecision,
    TallyRow,
    recorded_entropy,
)
from fabcost.service.store.store import Store
from fabcost.service.writer.following import Following, News, Outgrown
from fabcost.service.writer.requests import (
    Activate,
    Deleted,
    Deletions,
    Expire,
    Feed,
    Request,
    Write,
)
from fabcost.service.writer.transaction import Result, Transaction
from fabcost.wire.errors import TakenOverError, UnknownModelError

#: What all refreshes in the background together may still take when the server stops.
_REFRESHES_END_SECONDS = 1.0
#: Between two looks at which servers are gone.
_BURY_SECONDS = 5.0


class Journal:
    """Writes requests and learns from them; for one thread.

    The ``store`` is open, with this server's epoch; ``unreadable`` models are left as they are;
    ``load`` recovers one that another server made.
    """

    def __init__(
        self,
        store: Store,
        keepers: dict[str, Keeper],
        unreadable: dict[str, Exception],
        load: Callable[[ModelRow], Any] = id,
    ) -> None:
        self.store = store
        self.keepers = keepers
        self.unreadable = unreadable
        self._load = load
        #: Told of what is not as the loop was told before.
        self.tell: Callable[[News], object] = id
        self._parked: set[Key] = store.parked()
        self.deletions = Deletions(store)
        #: Whether this server expires, deletes and saves: one of those that share a database does.
        self.leads = not store.session.shared
        # None if they must be read from the database.
        self._uncounted: Uncounted | None = None
        self._bury_at = 0.0
        #: By the monotonic clock, when everything that the database had was known.
        self.known_at = time.monotonic()

    @cached_property
    def following(self) -> Following:
        """What others wrote, and what this server wrote before it lost a connection."""
        return Following(self.store, self.keepers, self.unreadable, self._load, self.tell)

    @property
    def has_uncounted(self) -> bool:
        """Whether decisions were written that the counts do not have yet."""
        return self._uncounted is None or bool(self._uncounted)

    def forget(self, model: str) -> None:
        """Know nothing of a model that was deleted."""
        self.keepers.pop(model, None)
        self.unreadable.pop(model, None)
        if self._uncounted is not None:
            self._uncounted = [each for each in self._uncounted if each[0].model != model]

    def deleted(self, piece: Deleted | None) -> None:
        """A piece is durable."""
        if piece is None:
            return
        self.forget(piece.model)
        self.deletions.end(piece)

    def appended(self, group: Sequence[Request]) -> bool:
        """Write decisions by a single statement, if there is nothing else and all are new.

        They are counted with a later transaction: each statement waits for the loop to let go of
        the interpreter.
        """
        if self._uncounted is None:
            return False
        writes = [each for each in group if isinstance(each, Write) and self._is_plain(each)]
        if len(writes) < len(group):
            return False
        if not self._append([each.row for each in writes]):
            self._uncounted = None
            return False
        self._uncounted += [(each.row, each.entropy) for each in writes]
        return True

    def _append(self, rows: list[DecisionRow]) -> bool:
        try:
            return self.store.append_decisions(rows)
        except ValueError:  # another server may have deleted their model
            if not self.store.session.shared:
                raise
        return False

    def _is_plain(self, write: Write) -> bool:
        row = write.row
        if self._parked and (row.model, row.decision) in self._parked:
            return False
        if write.steps is not None or row.model not in self.keepers:
            return False
        return not self.store.session.shared or self.following.is_known(write)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One in which everything is known that others wrote, which is learnt after it."""
        if not self.store.session.shared:
            with self.store.transaction():
                yield
            return
        try:
            with self.store.transaction():
                began = time.monotonic()
                if self.following.is_behind:
                    self._follow()
                yield
        except BaseException:
            self.following.end(failed=True)
            raise
        self.following.end(failed=False)
        self.known_at = began

    def _follow(self) -> None:
        for model in self.following.follow():
            self.forget(model)
        self._parked = self.store.parked()
        self.deletions.look_again()

    def transact(self, group: Sequence[Request]) -> Result:
        """Write requests in one transaction, and learn when it is durable."""
        with self.transaction():
            gone = {each.done: model for each in group if (model := self._gone(each)) is not None}
            asked = [each for each in group if each.done not in gone]
            idle, stale = self._left_to_others(asked) if self.store.session.shared else ([], [])
            left = {each.done for each in idle} | {each.done for each in stale}
            counts = Additions(self.keepers, *self._not_counted())
            transaction = Transaction(self.store, self.keepers, self._parked, counts)
            asked = [each for each in asked if each.done not in left]
            unloaded = self.following.unloaded if self.store.session.shared else ()
            result = transaction.run(asked, without={*self.unreadable, *unloaded})
        self._uncounted = []
        self._parked |= result.parked
        self._parked -= result.unparked
        result.answers += [(done, UnknownModelError(model)) for done, model in gone.items()]
        result.answers += [(each.done, 0) for each in idle]
        for model, learnt in result.learnt.items():
            keeper = self.keepers[model]
            keeper.head += len(learnt)
            keeper.learning.apply(learnt)
        if stale:
            self.tell(Outgrown(stale))
        return result

    def _left_to_others(self, group: Sequence[Request]) -> tuple[list[Expire], list[Write]]:
        """Deadlines, unless this is the server that leads; and what must be written otherwise."""
        expiries = [each for each in group if isinstance(each, Expire)]
        if expiries:
            self.leads = self.store.session.leads()
            for keeper in self.keepers.values():
                keeper.learning.saves(self.leads)
        writes = [each for each in group if isinstance(each, Write)]
        return [] if self.leads else expiries, self.following.outgrown(writes)

    def _not_counted(self) -> tuple[Uncounted, list[int]]:
        """Decisions that the counts do not have, also those of servers that are gone."""
        bury = self.leads and time.monotonic() > self._bury_at
        if self._uncounted is not None and not (bury and self.store.session.shared):
            return self._uncounted, []
        self._bury_at = time.monotonic() + _BURY_SECONDS
        dead = self.store.session.dead() if self.leads else []
        return [(each, recorded_entropy(each)) for each in self.store.uncounted(dead)], dead

    def _gone(self, request: Request) -> str | None:
        """The model that a request is about, if it was deleted."""
        if not isinstance(request, Write | Feed | Activate):
            return None
        model = request.row.model if isinstance(request, Write) else request.key[0]
        return None if model in self.keepers else model

    def snapshot(self, model: str) -> None:
        """Write the learner's state, if one was packed."""
        saving = self.keepers[model].learning.saving
        if saving is not None:
            saving.write(self.store, model)

    def close_the_books(self) -> None:
        """Count what is not counted yet, and snapshot every learner that is not being refreshed."""
        if self.has_uncounted:
            self.transact([])
        latest = time.monotonic() + _REFRESHES_END_SECONDS
        for model, keeper in self.keepers.items():
            keeper.learning.stop(max(0.0, latest - time.monotonic()))
            self.snapshot(model)

    def reopen(self) -> None:
        """Connect again, and learn what a transaction committed whose end was not heard.

        `TakenOverError` if the database lacks what was written; nothing is written to it then.
        """
        try:
            self._rejoin()
        except TakenOverError:
            self.store.close()
            raise

    def _rejoin(self) -> None:
        self.store.reopen()
        self._uncounted = None
        with self.store.transaction():
            self.following.take_back()
            self._follow()
            # Fails here if the decisions cannot be read, rather than at the next request.
            self.store.due(0.0, 1)
        self.following.end(failed=False)


#: Decisions that are written but not in the counts yet, with their entropies.
Uncounted = list[tuple[DecisionRow | StoredDecision, float | None]]
_OUTERMOST_BIN = 12
_MINUTE, _FINE, _YOUNG_SECONDS = 60.0, 5.0, 600.0


def width(at: float, created: float) -> float:
    """Seconds that are counted together: fewer in the first minutes of a model.

    Examples
    --------
    >>> width(90.0, created=70.0), width(700.0, created=70.0), width(50.0, created=70.0)
    (5.0, 60.0, 60.0)
    """
    age = at - math.floor(created / _MINUTE) * _MINUTE
    return _FINE if 0.0 <= age < _YOUNG_SECONDS else _MINUTE


class Additions:
    """What one transaction adds to the counts for people, by minute and arm, item, prediction.

    All of it goes to the minute in which the decision was made, or to a part of it while the model
    is young: its keeper knows since when there is one.
    """

    def __init__(
        self, keepers: Mapping[str, Keeper], uncounted: Uncounted, dead: Sequence[int] = ()
    ) -> None:
        self._keepers = keepers
        self.has_decisions = False
        #: Servers that are gone, whose decisions are among those that were not counted.
        self.dead = dead
        self._sums: dict[tuple[str, float, str], list[float]] = {}
        self._tallies: dict[tuple[str, str], list[float]] = {}
        self._bins: dict[tuple[str, int], list[float]] = {}
        for row, entropy in uncounted:
            self.decision(row, entropy)

    def decision(self, row: DecisionRow | StoredDecision, entropy: float | None) -> None:
        """A decision was made."""
        self.has_decisions = True
        self._add(row, entropy, 1)

    def never_shown(self, row: StoredDecision) -> None:
        """A decision counts no longer."""
        self._add(row, recorded_entropy(row), -1)

    def outcome(self, row: StoredDecision, label: int, fraction: float | None) -> None:
        """It is known what became of a decision: a click or none, or so much of one."""
        clicked = label > 0
        reward = float(clicked) if fraction is None else fraction
        for sums in (self._minute(row), self._tally(row)):
            sums[1] += 1
            sums[2] += clicked
            sums[-2] += reward
            sums[-1] += reward * row.click_value - row.cost

    def predictions(self, outcomes: Sequence[tuple[StoredDecision, Learnt]], p: FloatArray) -> None:
        """How well what is now learnt had been predicted."""
        p = np.clip(p, 1e-12, 1.0 - 1e-12)
        reward = np.array([learnt.reward for _, learnt in outcomes])
        losses = -(reward * np.log(p) + (1.0 - reward) * np.log(1.0 - p))
        odds = np.clip(np.floor(np.log(p / (1.0 - p))), -_OUTERMOST_BIN, _OUTERMOST_BIN - 1)
        every = zip(outcomes, losses.tolist(), odds.astype(int).tolist(), p.tolist(), strict=True)
        for (each, learnt), loss, place, probability in every:
            minute = self._minute(each)
            minute[3] += loss
            minute[5] += probability
            sums = self._bins.setdefault((each.model, place), [0, 0.0, 0, 0.0])
            sums[0] += 1
            sums[1] += probability
            sums[2] += learnt.label > 0
            sums[3] += learnt.reward

    def write(self, store: Store) -> None:
        """Add everything to the database."""
        minutes = [
            CountRow(*key, int(n), int(seen), int(clicks), *sums)
            for key, (n, seen, clicks, *sums) in self._sums.items()
        ]
        bins = [
            CalibrationRow(*key, int(n), predicted, int(clicks), rewards)
            for key, (n, predicted, clicks, rewards) in self._bins.items()
        ]
        tallies = [
            TallyRow(*key, int(n), int(seen), int(clicks), *sums)
            for key, (n, seen, clicks, *sums) in self._tallies.items()
        ]
        store.counts.add(minutes, bins, tallies)

    def _add(self, row: DecisionRow | StoredDecision, entropy: float | None, by: int) -> None:
        sums = self._minute(row)
        sums[0] += by
        sums[4] += by * (entropy or 0.0)
        self._tally(row)[0] += by

    def _minute(self, row: DecisionRow | StoredDecision) -> list[float]:
        keeper = self._keepers.get(row.model)
        seconds = width(row.made, 0.0 if keeper is None else keeper.created)
        key = (row.model, math.floor(row.made / seconds) * seconds, row.arm)
        return self._sums.setdefault(key, [0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def _tally(self, row: DecisionRow | StoredDecision) -> list[float]:
        return self._tallies.setdefault((row.model, row.item), [0, 0, 0, 0.0, 0.0])
