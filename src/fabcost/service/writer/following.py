"""What other servers have written to a database that is shared, and how this one goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from fabcost.features.schema import Schema
from fabcost.service.learning.recovery import Keeper, schema_of
from fabcost.service.store.rows import ItemRow, ModelRow
from fabcost.service.store.store import Store
from fabcost.service.writer.requests import Write
from fabcost.wire.errors import ServiceError, TakenOverError
from fabcost.wire.settings import ModelSettings


class Relisted(NamedTuple):
    """The catalogue of a model as the database has it."""

    model: str
    version: int
    items: list[ItemRow]


class Resettled(NamedTuple):
    """A model has other settings."""

    model: str
    settings: ModelSettings
    edited: float


class Regrown(NamedTuple):
    """The schema of a model grew elsewhere: all its steps as JSON."""

    model: str
    steps: list[str]


class Outgrown(NamedTuple):
    """Decisions whose columns are others now, to be written in those."""

    writes: list[Write]


class Appeared(NamedTuple):
    """A model was made, as whoever loads it returns it."""

    model: str
    loaded: Any


class Disappeared(NamedTuple):
    """A model was deleted."""

    model: str


News = Relisted | Resettled | Regrown | Outgrown | Appeared | Disappeared


@dataclass(eq=False)
class Following:
    """Knows what others wrote; for the thread that writes.

    ``load`` recovers a model that is new here and has its ``keeper``; ``tell`` tells the loop.
    """

    store: Store
    keepers: dict[str, Keeper]
    unreadable: dict[str, Exception]
    load: Callable[[ModelRow], Any]
    tell: Callable[[News], object] = id
    #: Models that are there but not loaded yet.
    unloaded: dict[str, ModelRow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        #: Models whose making or change may be in the database, but whoever asked was told not.
        self.unheard: set[str] = set()
        self._behind: set[str] = set()
        # Whose schema grew in the transaction, and in one that failed.
        self._grown: set[str] = set()
        self._doubtful: set[str] = set()

    @property
    def is_behind(self) -> bool:
        """Whether to `follow`, which is for within a transaction."""
        return self.store.session.moved or bool(self._doubtful)

    def follow(self) -> list[str]:
        """Read what others wrote, within a transaction; the models that are no more."""
        rows = {row.model: row for row in self.store.models()}
        gone = [name for name in (*self.keepers, *self.unreadable) if not self._has(name, rows)]
        for name in gone:
            self.keepers.pop(name, None)
            self.unreadable.pop(name, None)
            if name not in self.unheard:
                self.tell(Disappeared(name))
        self.unloaded = {
            name: row
            for name, row in rows.items()
            if name not in self.keepers and name not in self.unreadable
        }
        for name, keeper in self.keepers.items():
            self._catch_up(rows[name], keeper)
        self._regrow()
        self.store.session.followed()
        return gone

    def take_back(self) -> None:
        """Undo what whoever asked for it was told is not done."""
        shared = self.store.session.shared
        for row in self.store.models():
            if shared and row.model not in self.unheard:
                continue
            if row.model in self.keepers:
                settings = msgspec.json.encode(self.keepers[row.model].settings).decode()
                if settings != row.settings:
                    self.store.update_model(row.model, settings, row.edited)
            elif row.model not in self.unreadable:
                self.store.delete_model(row.model)

    def _has(self, name: str, rows: dict[str, ModelRow]) -> bool:
        """Whether a model is there, and not another of the same name."""
        keeper = self.keepers.get(name)
        return name in rows and (keeper is None or keeper.created == rows[name].created)

    def _catch_up(self, row: ModelRow, keeper: Keeper) -> None:
        if row.head_lsn < keeper.head:
            raise TakenOverError(
                f"the log of model {row.model!r} ends at {row.head_lsn} "
                f"but this server knows {keeper.head}"
            )
        if row.head_lsn > keeper.head:
            new = keeper.recovery.chunks(keeper.head, row.head_lsn)
            keeper.missed += chain.from_iterable(new)
            keeper.head = row.head_lsn
            self._behind.add(row.model)
        if msgspec.json.encode(keeper.settings).decode() != row.settings:
            keeper.settings = msgspec.json.decode(row.settings, type=ModelSettings)
            self.tell(Resettled(row.model, keeper.settings, row.edited))
        if keeper.catalogue != row.catalogue_version:
            keeper.catalogue = row.catalogue_version
            self.tell(Relisted(row.model, keeper.catalogue, self.store.items(row.model)))

    def _regrow(self) -> None:
        if not self.store.session.shared:
            return
        for name in self._doubtful & self.keepers.keys():
            self._look_again(name, self.keepers[name])
        self._doubtful.clear()
        known = {name: keeper.recovery.schema.steps for name, keeper in self.keepers.items()}
        for name, steps in self.store.steps_since(known).items():
            schema = self.keepers[name].recovery.schema
            self._fork(name, schema.steps, steps)

    def _look_again(self, name: str, keeper: Keeper) -> None:
        """Be as the database says: what a transaction had grown may not be there, or differ."""
        schema, steps = keeper.recovery.schema, self.store.steps(name)
        pairs = zip(texts(schema), steps, strict=False)
        same = next((k for k, (known, there) in enumerate(pairs) if known != there), None)
        if same is None and schema.steps <= len(steps):
            return
        fresh = schema_of(keeper.recovery.settings)
        fresh.regrow(map(json.loads, steps[:same]))
        schema.become(fresh)
        if same is not None:
            self._fork(name, same, steps[same:])

    def _fork(self, name: str, at: int, steps: Iterable[str]) -> None:
        """Grow as others did; what was decided here by a schema that had grown further is stale."""
        keeper = self.keepers[name]
        keeper.forks.append(at)
        keeper.recovery.schema.regrow(map(json.loads, steps))
        self.tell(Regrown(name, texts(keeper.recovery.schema)))

    def outgrown(self, writes: Iterable[Write]) -> list[Write]:
        """Decisions whose columns are not those of the database; schemas grow by the others."""
        if not self.store.session.shared:
            return []
        stale = []
        for write in writes:
            keeper = self.keepers[write.row.model]
            if not self._fits(write, keeper):
                if write.lineage == len(keeper.forks):
                    self._fork(write.row.model, keeper.recovery.schema.steps, [])
                stale.append(write)
        return stale

    def is_known(self, write: Write) -> bool:
        """Whether the columns of a decision are those of the database, as far as that is known."""
        keeper = self.keepers[write.row.model]
        return write.lineage == len(keeper.forks) and write.reaches <= keeper.recovery.schema.steps

    def _fits(self, write: Write, keeper: Keeper) -> bool:
        schema = keeper.recovery.schema
        if write.lineage < len(keeper.forks) and write.reaches > keeper.forks[write.lineage]:
            return False
        if write.steps is not None and write.steps.first <= schema.steps:
            self._grown.add(write.row.model)
            schema.regrow(map(json.loads, write.steps.steps[schema.steps - write.steps.first :]))
        return write.reaches <= schema.steps

    def end(self, *, failed: bool) -> None:
        """A transaction has ended: learn what was missed, outside it, where nobody waits."""
        if failed:
            self._doubtful |= self._grown
        else:
            self.unheard.clear()
        self._grown.clear()
        self._learn()
        with suppress(ServiceError) if failed else nullcontext():
            self._load()

    def _load(self) -> None:
        while self.unloaded:
            name, row = next(iter(self.unloaded.items()))
            loaded = self.load(row)
            del self.unloaded[name]
            if loaded is not None:
                self.keepers[name] = loaded.keeper
                self.tell(Appeared(name, loaded))

    def _learn(self) -> None:
        behind, self._behind = self._behind, set()
        for name in behind & self.keepers.keys():
            keeper = self.keepers[name]
            missed, keeper.missed = keeper.missed, []
            keeper.learning.apply(missed)


def texts(schema: Schema) -> list[str]:
    """The steps of a schema as JSON."""
    return [json.dumps(step) for step in schema.steps_since(0)]
