"""Models from the database into memory, and new ones into both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import msgspec

from fabcost.features.schema import Schema
from fabcost.inference import file as learner_file
from fabcost.service.learning.recovery import Keeper, Progress, Recovery
from fabcost.service.metrics import Metrics
from fabcost.service.models.catalogue import Catalogue
from fabcost.service.models.model import Model
from fabcost.service.store.rows import ModelRow
from fabcost.service.store.store import Store
from fabcost.wire.settings import ModelSettings

#: What reading a learner or learning its log can raise, unlike a database that fails.
_UNREADABLE = (ValueError, LookupError, TypeError, ArithmeticError, msgspec.MsgspecError)


class LoadedModel(NamedTuple):
    """A model for deciding, and what the writer needs of it."""

    model: Model
    keeper: Keeper


@dataclass
class LoadedModels:
    """All models of a database that this server has taken over."""

    store: Store
    latest_time: float
    models: dict[str, Model] = field(default_factory=dict)
    keepers: dict[str, Keeper] = field(default_factory=dict)
    unreadable: dict[str, Exception] = field(default_factory=dict)


def load_all(
    store: Store,
    tell: Callable[[str], object],
    metrics: Metrics,
    progress: Progress | None = None,
) -> LoadedModels:
    """Take over the database and recover every model.

    One whose learner cannot be recovered goes on without it, see `load`; one whose settings, schema
    or items cannot be read is left as it is, and the others are served.
    """
    progress = progress or Progress()
    store.open(take_over=True)
    try:
        loaded, rows = LoadedModels(store, store.latest_time()), store.models()
        progress.begin(models=len(rows))
        for row in rows:
            try:
                each = load(store, row, tell, metrics, progress, or_provisional=True)
                loaded.models[row.model], loaded.keepers[row.model] = each
            except _UNREADABLE as error:
                tell(f"model {row.model!r} cannot be read and is not served: {error!r}")
                loaded.unreadable[row.model] = error
            progress.loaded()
    except BaseException:
        store.close()
        raise
    return loaded


def load(
    store: Store,
    row: ModelRow,
    tell: Callable[[str], object],
    metrics: Metrics,
    progress: Progress | None = None,
    *,
    or_provisional: bool = False,
) -> LoadedModel:
    """Recover one model: its learner as if the server had never stopped.

    If that fails it is an error; or, if asked for, the model goes on from its prior with a
    learner of which nothing is ever written, and its `Learning.failure` tells.
    """
    settings = msgspec.json.decode(row.settings, type=ModelSettings)
    schema = schema_of(settings)
    width = schema.width
    schema.regrow(json.loads(step) for step in store.steps(row.model))
    schema.limit_columns(settings.most_weights)
    items = {item.item: json.loads(item.features) for item in store.items(row.model)}
    catalogue = Catalogue(schema, row.catalogue_version, items)
    refreshed = partial(metrics.refreshed, row.model)
    recovery = Recovery(store, row.model, settings, width=width, complain=tell, refreshed=refreshed)
    try:
        learning = recovery.learning(row.head_lsn, progress or Progress())
    except _UNREADABLE as error:
        if not or_provisional:
            raise
        tell(f"model {row.model!r} cannot be loaded and goes on from its prior: {error!r}")
        learning = recovery.provisional(row.head_lsn, error)
    metrics.applied(row.model, row.head_lsn)
    model = Model(
        row.model,
        settings,
        created=row.created,
        edited=row.edited,
        schema=schema,
        catalogue=catalogue,
        learning=learning,
    )
    keeper = Keeper(settings, recovery, learning, row.head_lsn, row.catalogue_version)
    return LoadedModel(model, keeper)


def make(
    store: Store,
    name: str,
    settings: ModelSettings,
    base: bytes | None,
    now: float,
    metrics: Metrics,
) -> LoadedModel:
    """Write a new model and load it; a ValueError says what is wrong with its settings."""
    width = schema_of(settings).width
    if base is not None:
        known = learner_file.from_bytes(base).posterior.dimension
        if known > width:
            raise ValueError(f"the learner has {known} weights but the schema {width} columns")
    settings.policy.policy()
    settings.refresh.schedule()
    text = msgspec.json.encode(settings).decode()
    row = ModelRow(name, text, now, now, 0, 0)
    store.insert_model(row, base)
    return load(store, row, str, metrics)


def schema_of(settings: ModelSettings) -> Schema:
    """The schema of a new model."""
    if settings.schema is None:
        return Schema.open(scaled=False)
    schema = Schema.from_dict(settings.schema, most_columns=settings.most_weights)
    if schema.width == 0:
        raise ValueError("the schema has no columns yet: give it a bias or a declared feature")
    return schema
