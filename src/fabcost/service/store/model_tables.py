"""Models, the steps by which their schemas grew, and their catalogues."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from fabcost.service.store.rows import Deletion, ItemRow, ModelRow
from fabcost.service.store.session import Session
from fabcost.wire.errors import AlreadyThereError, TakenOverError, UnknownModelError

#: Rows that one transaction deletes, or a few more.
ROWS_AT_ONCE = 1000
# Each with the least key there is.
_LARGE_TABLES: tuple[tuple[str, str | float], ...] = (
    ("feedback", ""),
    ("decisions", ""),
    ("tallies", ""),
    ("items", ""),
    ("past_items", -1),
    ("counts", -math.inf),
)


class ModelTables(Session):
    """Models and what fixes how they read a record; the methods are those of the protocol."""

    def models(self) -> list[ModelRow]:
        """All models."""
        return [ModelRow(*row) for row in self._run("models")]

    def insert_model(self, row: ModelRow, base: bytes | None) -> None:
        """A new model; `AlreadyThereError` if there is one of that name."""
        self._note(row.created, row.edited)
        if not self._write("insert_model", **row._asdict(), base=base):
            raise AlreadyThereError(row.model)

    def model_base(self, model: str) -> bytes | None:
        """The learner the model started from, if it was imported."""
        rows = self._run("model_base", model=model)
        return rows[0][0] if rows else None

    def update_model(self, model: str, settings: str, edited: float) -> None:
        """Replace the settings; `UnknownModelError` if there is no such model."""
        self._note(edited)
        if not self._write("update_model", model=model, settings=settings, edited=edited):
            raise UnknownModelError(model)

    def delete_model(self, model: str) -> None:
        """Forget a model and everything that belongs to it, at once."""
        self._write("delete_model", model=model)

    def mark_deleted(self, model: str) -> None:
        """Have a model no longer; its rows are left to `delete_piece`."""
        self._write("mark_deleted", model=model)

    def deleted_models(self) -> list[str]:
        """Models that are marked, and of which something is left."""
        return [model for (model,) in self._run("deleted_models")]

    def delete_piece(self, deletion: Deletion) -> Deletion | None:
        """Delete about `ROWS_AT_ONCE` rows of a marked model; where to go on, if more are left."""
        rows = 0
        while rows < ROWS_AT_ONCE:
            if deletion.table == len(_LARGE_TABLES):
                self.delete_model(deletion.model)
                return None
            deletion, some = self._delete_some(deletion)
            rows += some
        return deletion

    def _delete_some(self, deletion: Deletion) -> tuple[Deletion, int]:
        model, table, after = deletion
        name, first = _LARGE_TABLES[table]
        after = first if after is None else after
        # What PostgreSQL has deleted it reads again until it is vacuumed: so go on after it.
        rows = self._write(f"delete_some_{name}", model=model, after=after, limit=ROWS_AT_ONCE)
        if len(rows) < ROWS_AT_ONCE:
            return Deletion(model, table + 1), len(rows)
        return Deletion(model, table, max(key for (key,) in rows)), len(rows)

    def advance(self, model: str, *, head: int, to: int) -> None:
        """Compare and swap ``head_lsn``; `TakenOverError` if it is not ``head``."""
        if not self._write("advance", model=model, head=head, to=to):
            raise TakenOverError(f"the log of model {model!r} does not end at {head} any more")

    def insert_steps(self, model: str, first: int, steps: Sequence[str]) -> None:
        """Steps ``first``, ``first + 1``, … as JSON; those that are there already stay."""
        rows = [(model, first + place, step) for place, step in enumerate(steps)]
        self._write_batch("insert_steps", ("model", "seq", "step"), rows)

    def steps(self, model: str) -> list[str]:
        """All steps in order."""
        return [step for (step,) in self._run("steps", model=model)]

    def put_items(self, model: str, version: int, items: Sequence[ItemRow]) -> None:
        """Add or replace items (a replaced item keeps its place) and set the version."""
        latest = {row.item: row.features for row in items}
        ((last,),) = self._run("last_place", model=model)
        rows = [
            (model, item, last + k, features, version)
            for k, (item, features) in enumerate(latest.items(), 1)
        ]
        self._write_batch("put_items", ("model", "item", "rank", "features", "since"), rows)
        self._write("set_catalogue_version", model=model, version=version)

    def delete_items(self, model: str, version: int, items: Collection[str]) -> None:
        """Remove items and set the version; which versions had them stays known."""
        past = [(model, item, version) for item in items]
        self._write_batch("keep_past_items", ("model", "item", "until"), past)
        rows = [(model, item) for item in items]
        self._write_batch("delete_items", ("model", "item"), rows)
        self._write("set_catalogue_version", model=model, version=version)

    def items(self, model: str) -> list[ItemRow]:
        """All items in the order of their first coming."""
        return [ItemRow(*row) for row in self._run("items", model=model)]

    def listed_items(self, model: str, version: int) -> list[str]:
        """The ids that a version of the catalogue had, in the order of their first coming."""
        return [item for (item,) in self._run("listed_items", model=model, version=version)]
