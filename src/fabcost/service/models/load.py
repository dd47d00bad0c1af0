"""Models from the database into memory, new ones into both, and files of `fabcost.Recommender`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, get_args

import msgspec

from fabcost import archive
from fabcost.bandit.rules import RULES
from fabcost.features.hashed import HashedSchema
from fabcost.features.schema import Schema
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import MAX_SWEEPS, Refresh
from fabcost.inference.wide.learner import WideFabCost
from fabcost.recommend.document import FORMAT, format_of, prior_to_dict
from fabcost.recommend.recommender import Recommender
from fabcost.recommend.weights import Start
from fabcost.service.learning.follower import Follower
from fabcost.service.learning.recovery import (
    Keeper,
    Progress,
    Recovery,
    from_base,
    new_learner,
    new_wide_learner,
    schema_of,
    to_base,
)
from fabcost.service.learning.wide import AnyFollower
from fabcost.service.models.catalogue import Catalogue
from fabcost.service.models.model import Model
from fabcost.service.store.rows import DecisionRow, ModelRow, impression, record
from fabcost.service.store.store import Store
from fabcost.service.telemetry import Metrics
from fabcost.wire.errors import in_words
from fabcost.wire.messages import DecisionRequest
from fabcost.wire.settings import (
    LONGEST_WAIT,
    ModelSettings,
    PolicySettings,
    RefreshSettings,
    WideSettings,
)

#: What reading a learner or learning its log can raise, unlike a database that fails.
_UNREADABLE = (ValueError, LookupError, TypeError, ArithmeticError, msgspec.MsgspecError)
#: The settings of each rule, which have its parameters in their order.
_RULES: dict[Any, Any] = {
    RULES[each.__struct_config__.tag]: each for each in get_args(PolicySettings)
}
_OF_FILE = (
    *("prior", "prior_variance", "window", "most_kept"),
    *("half_life", "belief", "refresh", "most_weights"),
)
#: Where a recommender's file keeps the settings of a model; `Recommender.load` passes over them.
_SERVICE = "service"
#: Bytes of a file's settings; some twenty times as many in memory while they are read.
MOST_SETTINGS = 8 * 1024 * 1024


class LoadedModel(NamedTuple):
    """A model for deciding, and what the writer needs of it."""

    model: Model
    keeper: Keeper


class MadeOf(NamedTuple):
    """Settings of a new model, and its learner before the first impression of its log."""

    settings: ModelSettings
    base: bytes


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
    *,
    share: bool = False,
) -> LoadedModels:
    """Take over the database, or join those that ``share`` it, and recover every model.

    One whose learner cannot be recovered goes on without it, see `load`; one whose settings, schema
    or items cannot be read is left as it is, and the others are served.
    """
    progress = progress or Progress()
    store.open(take_over=True, share=share)
    try:
        loaded, rows = LoadedModels(store, store.latest_time()), store.models()
        progress.begin(models=len(rows))
        for row in rows:
            each = load_or_tell(store, row, tell, metrics, progress, loaded.unreadable)
            if each is not None:
                loaded.models[row.model], loaded.keepers[row.model] = each
            progress.loaded()
    except BaseException:
        store.close()
        raise
    return loaded


def load_or_tell(
    store: Store,
    row: ModelRow,
    tell: Callable[[str], object],
    metrics: Metrics,
    progress: Progress | None,
    unreadable: dict[str, Exception],
) -> LoadedModel | None:
    """Recover one model, or put it among those that cannot be read."""
    try:
        return load(store, row, tell, metrics, progress, or_provisional=True)
    except _UNREADABLE as error:
        tell(f"model {row.model!r} cannot be read and is not served: {error!r}")
        unreadable[row.model] = error
        return None


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
    schema, steps = schema_of(settings), store.steps(row.model)
    schema.regrow(map(json.loads, steps))
    schema.limit_columns(settings.most_weights)
    agreed = schema
    if store.session.shared:
        # The learner's is that of the database; decisions may be ahead of it, or astray.
        agreed = schema_of(settings)
        agreed.regrow(map(json.loads, steps))
    items = {item.item: json.loads(item.features) for item in store.items(row.model)}
    catalogue = Catalogue(schema, row.catalogue_version, items)
    refreshed = partial(metrics.refreshed, row.model)
    recovery = Recovery(store, row.model, settings, agreed, complain=tell, refreshed=refreshed)
    try:
        learning = recovery.learning(row.head_lsn, progress or Progress())
    except _UNREADABLE as error:
        if not or_provisional:
            raise
        tell(f"model {row.model!r} cannot be loaded and goes on from its prior: {error!r}")
        learning = recovery.provisional(row.head_lsn, error)
    metrics.applied(row.model, row.head_lsn)
    model = Model(row.model, settings, row.created, row.edited, schema, catalogue, learning)
    keeper = Keeper(settings, recovery, learning, row.head_lsn, row.catalogue_version, row.created)
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
        known = from_base(base).posterior.dimension
        if known > width:
            raise ValueError(f"the learner has {known} weights but the schema {width} columns")
    settings.policy.policy()
    settings.refresh.schedule()
    text = msgspec.json.encode(settings).decode()
    row = ModelRow(name, text, now, now, 0, 0)
    store.insert_model(row, base)
    return load(store, row, str, metrics)


def to_file(settings: ModelSettings, grown: dict[str, Any], follower: AnyFollower) -> bytes:
    """What `Recommender.load` reads.

    ``grown`` is the schema of now as a document; ``follower`` is a copy and may be changed.
    """
    schema = Schema.from_dict(grown, most_columns=None)
    if isinstance(settings.belief, WideSettings):
        schema = HashedSchema(schema, settings.belief.bits)
    if isinstance(follower, Follower):
        follower.growth.complete(follower.learner, schema)
    recommender = Recommender(
        schema,
        learner=follower.learner,
        policy=settings.policy.policy(),
        prior=settings.variances(),
        most_weights=settings.most_weights,
        seed=settings.seed,
        wait=settings.reward_wait_seconds,
    )
    recommender.weights.given = follower.growth.given if isinstance(follower, Follower) else 0
    document, arrays = archive.unpack(FORMAT, recommender.to_bytes())
    # The schema is in the file as it has grown.
    own = msgspec.structs.replace(settings, schema=None)
    saved = {**document, _SERVICE: msgspec.to_builtins(own)}
    return archive.pack(format_of(document), saved, arrays)


def from_file(content: bytes, settings: ModelSettings | None) -> MadeOf:
    """The settings of a model that goes on as the file's recommender would, and its learner.

    What fixes how it learns comes from the file.  Everything else is that of ``settings``, or of
    the model from which the file came, or else the recommender's policy and wait, in seconds.
    """
    document, _ = archive.unpack(FORMAT, content, "the file", most_settings=MOST_SETTINGS)
    recommender = Recommender.from_bytes(content, source="the file")
    learner = recommender.learner
    if not isinstance(learner, FabCost | WideFabCost):
        raise ValueError(f"the file's learner is a {type(learner).__name__} but must be FabCost")
    given = msgspec.to_builtins(settings or _settings(recommender, document))
    fixed = {"schema": recommender.schema.to_dict(), "moments": learner.moments}
    if isinstance(learner, WideFabCost):
        fixed["belief"] = {"kind": "wide", **asdict(learner.name)}
        fixed |= _limits(learner)
    else:
        fixed |= _prior(recommender, learner) | _limits(learner)
        fixed["refresh"] = msgspec.to_builtins(_refresh(learner.refresh_schedule))
        fixed["most_weights"] = max(given["most_weights"], recommender.schema.width)
    # What it has of these is the file's.
    free = {name: value for name, value in given.items() if name not in _OF_FILE}
    return MadeOf(_checked({**free, **fixed}), to_base(learner, recommender.weights.given))


def from_start(content: bytes, settings: ModelSettings, discount: float | None) -> MadeOf:
    """The settings of a new model, and a learner that has seen nothing but inherits from a file.

    An open schema begins with the file's columns.
    """
    archive.unpack(FORMAT, content, "the file", most_settings=MOST_SETTINGS)
    source = Recommender.from_bytes(content, source="the file")
    start, schema = Start(source.schema, source.learner, discount), schema_of(settings)
    start.grow(schema)
    given = msgspec.to_builtins(settings) | {"schema": schema.to_dict()}
    learner: FabCost | WideFabCost
    if isinstance(settings.belief, WideSettings):
        learner = new_wide_learner(settings, settings.belief, start)
    else:
        variances = settings.variances()
        prior = start.on(schema.prior(variances), schema, variances.items)
        learner = new_learner(settings, prior, settings.refresh.schedule())
        given["most_weights"] = max(settings.most_weights, schema.width)
    return MadeOf(_checked(given), to_base(learner, 0))


def _limits(learner: FabCost | WideFabCost) -> dict[str, Any]:
    """How many impressions are kept, and how soon they are forgotten."""
    limits: dict[str, Any] = {}
    if isinstance(learner, FabCost) and learner.most_kept is not None:
        limits["most_kept" if learner.visits_all else "window"] = learner.most_kept
    if learner.half_life is not None:
        limits["half_life"] = asdict(learner.half_life)
    return limits


def _prior(recommender: Recommender, learner: FabCost) -> dict[str, Any]:
    """That of the weights, and of the effects that the learner's items have."""
    own = learner.own
    prior = replace(recommender.prior, items=0.0 if own is None else own.variance)
    return prior_to_dict(prior, owned=own is not None)


def _settings(recommender: Recommender, document: dict[str, Any]) -> ModelSettings:
    if _SERVICE in document:
        return _checked(document[_SERVICE])
    rule: Any = recommender.bandit.policy
    policy: PolicySettings = _RULES[type(rule)](*astuple(rule))
    wait = document["ledger"]["wait"]
    if wait is None:
        return ModelSettings(policy=policy)
    return ModelSettings(policy=policy, reward_wait_seconds=min(wait, LONGEST_WAIT))


def _refresh(schedule: Refresh) -> RefreshSettings:
    refresh = {
        "geometric": RefreshSettings(growth=schedule.growth),
        "at": RefreshSettings(kind="at", points=list(schedule.points)),
        "never": RefreshSettings(kind="never"),
    }.get(schedule.kind)
    if schedule.max_sweeps > MAX_SWEEPS:
        raise ValueError(
            f"the file's max_sweeps is {schedule.max_sweeps} but must be at most {MAX_SWEEPS}"
        )
    if refresh is None:
        raise ValueError(f"the file's refresh schedule is {schedule.kind!r}, which is not offered")
    return refresh


def _checked(settings: Any) -> ModelSettings:
    try:
        return msgspec.convert(settings, ModelSettings)
    except msgspec.ValidationError as error:
        raise ValueError(f"the file is of no model that can be: {in_words(error)}") from error


def regrow(model: Model, steps: list[str]) -> None:
    """Have the columns that the database has; further ones stay if they come after those."""
    schema = model.schema
    known = [json.dumps(step) for step in schema.steps_since(0)]
    common = min(len(known), len(steps))
    if known[:common] == steps[:common]:
        schema.regrow(map(json.loads, steps[common:]))
    else:
        fresh = schema_of(model.settings)
        fresh.regrow(map(json.loads, steps))
        fresh.limit_columns(model.settings.most_weights)
        schema.become(fresh)
        model.catalogue.replace(model.catalogue.version, model.catalogue.items)
        if not model.settings.belief:
            model.learning.tell_all()
            model.begin_to_follow()
    model.lineage += 1
    model.steps_told = len(steps)


def rewritten(model: Model, row: DecisionRow) -> DecisionRow:
    """A decision of the model, in the columns of now."""
    made = record(row.record)
    features = made.item_features if made.features is None else made.features[row.item]
    request = DecisionRequest(context=made.context, candidates={row.item: features or {}})
    scene, _ = model.scenes.of(request)
    alike = impression(row.features).alike
    return row._replace(features=model.written(scene.at(0).row, alike=alike))
