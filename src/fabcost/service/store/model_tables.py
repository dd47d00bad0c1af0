"""Models, the steps by which their schemas grew, and their catalogues."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fabcost.service.errors import AlreadyThereError, TakenOverError, UnknownModelError
from fabcost.service.store.rows import ItemRow, ModelRow
from fabcost.service.store.session import Session


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
        """Forget a model and everything that belongs to it."""
        self._write("delete_model", model=model)

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
        rows = [(model, item, last + k, each) for k, (item, each) in enumerate(latest.items(), 1)]
        self._write_batch("put_items", ("model", "item", "rank", "features"), rows)
        self._write("set_catalogue_version", model=model, version=version)

    def delete_items(self, model: str, version: int, items: Collection[str]) -> None:
        """Remove items and set the version."""
        rows = [(model, item) for item in items]
        self._write_batch("delete_items", ("model", "item"), rows)
        self._write("set_catalogue_version", model=model, version=version)

    def items(self, model: str) -> list[ItemRow]:
        """All items in the order of their first coming."""
        return [ItemRow(*row) for row in self._run("items", model=model)]
