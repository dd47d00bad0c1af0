"""Models as files of `fabcost.Recommender`, out of the service and into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fabcost.bandit.rules import BayesianUCB, EpsilonGreedy, Greedy, Policy, Thompson, Uniform
from fabcost.features.schema import Schema
from fabcost.inference import file as learner_file
from fabcost.inference.ep import MAX_SWEEPS
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh
from fabcost.recommend.recommender import FORMAT, Recommender
from fabcost.storage import archive
from fabcost.wire.settings import (
    LONGEST_WAIT,
    EpsilonGreedySettings,
    GreedySettings,
    ModelSettings,
    PolicySettings,
    RefreshSettings,
    ThompsonSettings,
    UCBSettings,
    UniformSettings,
)

_POLICIES: dict[type[Policy], Callable[[Any], PolicySettings]] = {
    Thompson: lambda policy: ThompsonSettings(policy.scale),
    Greedy: lambda _: GreedySettings(),
    EpsilonGreedy: lambda policy: EpsilonGreedySettings(policy.epsilon),
    BayesianUCB: lambda policy: UCBSettings(policy.quantile),
    Uniform: lambda _: UniformSettings(),
}
#: Where a recommender's file keeps the settings of a model; `Recommender.load` passes over them.
_SERVICE = "service"
#: Bytes of a file's settings; some twenty times as many in memory while they are read.
MOST_SETTINGS = 8 * 1024 * 1024


def to_file(settings: ModelSettings, grown: dict[str, Any], learner: FabCost) -> bytes:
    """What `Recommender.load` reads.

    ``grown`` is the schema of now as a document; ``learner`` is a copy and may be changed.
    """
    schema = Schema.from_dict(grown, most_columns=None)
    missing = schema.width - learner.posterior.dimension
    if missing:
        learner.grow(settings.prior_variance, missing)
    recommender = Recommender(
        schema,
        learner=learner,
        policy=settings.policy.policy(),
        prior_variance=settings.prior_variance,
        most_weights=settings.most_weights,
        seed=settings.seed,
        wait=settings.reward_wait_seconds,
    )
    document, arrays = archive.unpack(FORMAT, recommender.to_bytes())
    # The schema is in the file as it has grown.
    own = msgspec.structs.replace(settings, schema=None)
    return archive.pack(FORMAT, {**document, _SERVICE: msgspec.to_builtins(own)}, arrays)


def from_file(content: bytes, settings: ModelSettings | None) -> tuple[ModelSettings, bytes]:
    """The settings of a model that goes on as the file's recommender would, and its learner.

    What fixes how it learns comes from the file.  Everything else is that of ``settings``, or of
    the model from which the file came, or else the recommender's policy and wait, in seconds.
    """
    document, _ = archive.unpack(FORMAT, content, "the file", most_settings=MOST_SETTINGS)
    recommender = Recommender.from_bytes(content, source="the file")
    learner = recommender.learner
    if not isinstance(learner, FabCost):
        raise ValueError(f"the file's learner is a {type(learner).__name__} but must be FabCost")
    given = msgspec.to_builtins(settings or _settings(recommender, document))
    fixed = {
        "schema": recommender.schema.to_dict(),
        "prior_variance": recommender.prior_variance,
        "refresh": msgspec.to_builtins(_refresh(learner.refresh_schedule)),
        "moments": learner.moments,
        "window": learner.window,
        "most_weights": max(given["most_weights"], recommender.schema.width),
    }
    return _checked({**given, **fixed}), learner_file.to_bytes(learner)


def _settings(recommender: Recommender, document: dict[str, Any]) -> ModelSettings:
    if _SERVICE in document:
        return _checked(document[_SERVICE])
    policy = recommender.bandit.policy
    wait = document["ledger"]["wait"]
    if wait is None:
        return ModelSettings(policy=_POLICIES[type(policy)](policy))
    seconds = min(wait, LONGEST_WAIT)
    return ModelSettings(policy=_POLICIES[type(policy)](policy), reward_wait_seconds=seconds)


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
        raise ValueError(f"the file is of no model that can be: {error}") from error
