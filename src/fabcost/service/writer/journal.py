"""The database and what was learnt from it, kept in step; and decisions that wait for it."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.service.learning.follower import Learnt
from fabcost.service.learning.recovery import Keeper
from fabcost.service.store.rows import (
    CalibrationRow,
    CountRow,
    DecisionRow,
    Deletion,
    ItemRow,
    Key,
    ModelRow,
    StoredDecision,
    TallyRow,
    record,
)
from fabcost.service.store.store import Store
from fabcost.service.writer.requests import MOST_AT_ONCE, Activate, Awaiting, Feed, Request, Write
from fabcost.service.writer.transaction import Result, Transaction
from fabcost.wire.errors import TakenOverError, UnknownModelError

#: What all refreshes in the background together may still take when the server stops.
_REFRESHES_END_SECONDS = 1.0
#: Decisions that are written but not in the counts yet, with their entropies.
Uncounted = list[tuple[DecisionRow | StoredDecision, float | None]]
_MINUTE = 60.0
_OUTERMOST_BIN = 12


class Relisted(NamedTuple):
    """The catalogue of a model as the database has it."""

    model: str
    version: int
    items: list[ItemRow]


class Deleted(NamedTuple):
    """A piece of a model, and where to go on if more is left."""

    model: str
    rest: Deletion | None


class Journal:
    """Writes requests and learns from them; for one thread.

    The ``store`` is open, with this server's epoch; ``unreadable`` models are left as they are.
    """

    def __init__(
        self, store: Store, keepers: dict[str, Keeper], unreadable: dict[str, Exception]
    ) -> None:
        self.store = store
        self.keepers = keepers
        self.unreadable = unreadable
        self._parked: set[Key] = store.parked()
        #: Models that callers have no longer, and of which something is left in the database.
        self.deletions = {model: Deletion(model) for model in store.deleted_models()}
        # None if they must be read from the database.
        self._uncounted: Uncounted | None = None

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

    def delete(self, model: str) -> Deleted:
        """Mark a model as deleted, and delete the first of its rows."""
        self.store.mark_deleted(model)
        return Deleted(model, self.store.delete_piece(Deletion(model)))

    def delete_more(self) -> Deleted | None:
        """Delete some more rows of a model that was deleted, if there is one."""
        for model, deletion in self.deletions.items():
            return Deleted(model, self.store.delete_piece(deletion))
        return None

    def deleted(self, piece: Deleted | None) -> None:
        """A piece is durable."""
        if piece is None:
            return
        self.forget(piece.model)
        self.deletions.pop(piece.model, None)
        if piece.rest is not None:
            self.deletions[piece.model] = piece.rest

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
        if not self.store.append_decisions([each.row for each in writes]):
            self._uncounted = None
            return False
        self._uncounted += [(each.row, each.entropy) for each in writes]
        return True

    def _is_plain(self, write: Write) -> bool:
        row = write.row
        if self._parked and (row.model, row.decision) in self._parked:
            return False
        return write.steps is None and row.model in self.keepers

    def transact(self, group: Sequence[Request]) -> Result:
        """Write requests in one transaction, and learn when it is durable."""
        gone = {each.done: model for each in group if (model := self._gone(each)) is not None}
        group = [each for each in group if each.done not in gone]
        with self.store.transaction():
            uncounted = self._uncounted
            if uncounted is None:
                uncounted = [(each, _recorded_entropy(each)) for each in self.store.uncounted()]
            counts = Additions(uncounted)
            transaction = Transaction(self.store, self.keepers, self._parked, counts)
            result = transaction.run(group, unreadable=self.unreadable)
        self._uncounted = []
        self._parked |= result.parked
        self._parked -= result.unparked
        result.answers += [(done, UnknownModelError(model)) for done, model in gone.items()]
        for model, learnt in result.learnt.items():
            keeper = self.keepers[model]
            keeper.head += len(learnt)
            keeper.learning.apply(learnt)
        return result

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

    def reopen(self) -> list[Relisted]:
        """Connect again, and learn what a transaction committed whose end was not heard.

        The catalogues that are not as the loop was told are returned.  `TakenOverError` if the
        database lacks what was written; nothing is written to it then.
        """
        try:
            return self._rejoin()
        except TakenOverError:
            self.store.close()
            raise

    def _rejoin(self) -> list[Relisted]:
        self.store.reopen()
        self._uncounted = None
        relisted = []
        with self.store.transaction():
            rows = self.store.models()
            for row in rows:
                if row.model in self.keepers:
                    relisted += self._catch_up(row, self.keepers[row.model])
                elif row.model not in self.unreadable:
                    # Whoever asked for it was told that it is not there.
                    self.store.delete_model(row.model)
            self._parked = self.store.parked()
            self.deletions = {model: Deletion(model) for model in self.store.deleted_models()}
            # Fails here if the decisions cannot be read, rather than at the next request.
            self.store.due(0.0, 1)
        there = {row.model for row in rows}
        for model in (self.keepers.keys() | self.unreadable.keys()) - there:
            self.forget(model)
        for each in relisted:
            self.keepers[each.model].catalogue = each.version
        return relisted

    def _catch_up(self, row: ModelRow, keeper: Keeper) -> list[Relisted]:
        """Learn what was not heard of, and find items that were put or deleted."""
        keeper.catch_up(row.head_lsn)
        settings = msgspec.json.encode(keeper.settings).decode()
        if settings != row.settings:
            # Whoever asked for other settings was told that nothing was changed.
            self.store.update_model(row.model, settings, row.edited)
        if keeper.catalogue == row.catalogue_version:
            return []
        return [Relisted(row.model, row.catalogue_version, self.store.items(row.model))]


class Backlog:
    """Decisions that were answered from memory: in the writer's queue, then here, in their order.

    Those beyond the ``most`` that are kept are not written at all.
    """

    def __init__(self, most: int, tell: Callable[[str], object]) -> None:
        #: Decisions that were answered and will never be written, for want of room.
        self.lost = 0
        self._most = most
        self._tell = tell
        self._kept: deque[Write] = deque()
        #: Those of the queue; changed by the loop and by the thread, always by one operation.
        self.queued: set[Awaiting] = set()

    def __len__(self) -> int:
        return len(self._kept) + len(self.queued)

    def has_room(self, write: Write) -> bool:
        """Whether a decision is to be written; if not, it is lost."""
        # Later steps of a schema mean nothing without the earlier ones; they are few.
        room = len(self) < self._most or write.steps is not None
        self.lost += not room
        return room

    def keep(self, write: Write) -> None:
        """Put a decision aside, if there is room."""
        self.queued.discard(write.done)
        if self.has_room(write):
            self._kept.append(write)

    def write(self, transact: Callable[[list[Request]], object]) -> None:
        """Write all; what is written when an error comes is not kept any longer."""
        most = MOST_AT_ONCE
        while self._kept:
            group: list[Request] = list(islice(self._kept, most))
            try:
                transact(group)
            except ValueError as error:
                if most > 1:
                    most = 1
                    continue
                self._tell(f"a decision could not be written: {error}")
            for _ in group:
                self._kept.popleft()


class Additions:
    """What one transaction adds to the counts for people, by minute and arm, item, prediction.

    All of it goes to the minute in which the decision was made.
    """

    def __init__(self, uncounted: Uncounted) -> None:
        self.has_decisions = False
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
        self._add(row, _recorded_entropy(row), -1)

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
            self._minute(each)[3] += loss
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
        start = math.floor(row.made / _MINUTE) * _MINUTE
        return self._sums.setdefault((row.model, start, row.arm), [0, 0, 0, 0.0, 0.0, 0.0, 0.0])

    def _tally(self, row: DecisionRow | StoredDecision) -> list[float]:
        return self._tallies.setdefault((row.model, row.item), [0, 0, 0, 0.0, 0.0])


def _recorded_entropy(row: StoredDecision) -> float | None:
    """That of the choice, as it was written down."""
    shares = None if row.arm == "imported" else record(row.record).all_propensities
    return None if shares is None else float(kernels.entropy(np.array(shares)))
