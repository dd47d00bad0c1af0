"""What becomes of decisions within one transaction: outcomes, impressions, and counts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fabcost.service.learning.keeper import Keeper
from fabcost.service.learning.learner import Learnt, predicted
from fabcost.service.store.record import impression
from fabcost.service.store.rows import Resolution, StoredDecision
from fabcost.service.store.store import Store
from fabcost.service.writer.counts import Counts
from fabcost.wire.errors import TakenOverError, UnknownModelError
from fabcost.wire.settings import ModelSettings


class Outcomes:
    """Numbers the impressions of each model; nothing outside the transaction changes.

    Parameters
    ----------
    store
        In a transaction.
    keepers
        The models by name.
    counts
        Added to, and written in the end.
    """

    def __init__(self, store: Store, keepers: Mapping[str, Keeper], counts: Counts) -> None:
        self._store = store
        self._keepers = keepers
        self._counts = counts
        self._unwritten: list[StoredDecision] = []
        self._fresh: dict[str, list[tuple[StoredDecision, Learnt]]] = {}
        self._heads = {name: keeper.head for name, keeper in keepers.items()}

    def settings(self, model: str) -> ModelSettings:
        """Of a model that exists."""
        keeper = self._keepers.get(model)
        if keeper is None:
            raise UnknownModelError(model)
        return keeper.settings

    def resolve(
        self, stored: StoredDecision, now: float, outcome: str, value: float | None
    ) -> StoredDecision:
        """What became of a decision, to be written by `write`."""
        label = lsn = None
        if value is not None:
            label = 1 if value > self.settings(stored.model).click_threshold else -1
            self._counts.outcome(
                stored.model, stored.item, stored.arm, made=stored.made, clicked=label > 0
            )
        elif stored.arm != "imported":
            self._counts.discarded(stored)
        if label is not None and stored.learns:
            lsn = self._heads[stored.model] = self._heads[stored.model] + 1
            learnt = Learnt(impression(stored.features), label)
            self._fresh.setdefault(stored.model, []).append((stored, learnt))
        resolved = stored._replace(resolved=now, outcome=outcome, value=value, label=label, lsn=lsn)
        self._unwritten.append(resolved)
        return resolved

    def write(self) -> int:
        """Write what was resolved since the last time; how many rows."""
        rows = [
            Resolution(
                each.model,
                each.decision,
                each.resolved or 0.0,
                each.outcome or "",
                each.value,
                each.label,
                each.lsn,
            )
            for each in self._unwritten
        ]
        self._unwritten.clear()
        if rows and self._store.resolve(rows) != len(rows):
            raise TakenOverError("a decision was resolved by another server")
        return len(rows)

    def finish(self) -> dict[str, list[Learnt]]:
        """Compare and swap the heads, and add up the counts; what is to be learnt."""
        for model, head in self._heads.items():
            keeper = self._keepers[model]
            if head != keeper.head:
                self._store.advance(model, head=keeper.head, to=head)
        for model, fresh in self._fresh.items():
            self._predict(model, fresh)
        self._counts.write(self._store)
        return {model: [each for _, each in fresh] for model, fresh in self._fresh.items()}

    def _predict(self, model: str, fresh: list[tuple[StoredDecision, Learnt]]) -> None:
        """Count how well a model predicted; one that cannot predict does not stop the others."""
        keeper = self._keepers[model]
        learnt = [each for _, each in fresh]
        try:
            p = predicted(keeper.learning.published, keeper.settings.prior_variance, learnt)
        except Exception:  # noqa: BLE001 - the transaction is also that of other models
            return
        clicked = np.array([each.label for each in learnt])
        self._counts.predictions([stored for stored, _ in fresh], p, clicked)
