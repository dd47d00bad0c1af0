"""Models as files of `fabcost.Recommender`, out of the service and into it."""

from __future__ import annotations

import msgspec

from fabcost import archive
from fabcost.inference.fabcost import FabCost
from fabcost.recommender import Recommender
from fabcost.service.model import Model
from fabcost.service.model_settings import ModelSettings, RefreshSettings


def to_file(model: Model, learner: FabCost) -> bytes:
    """What `Recommender.load` reads; ``learner`` is a copy and may be changed."""
    missing = model.schema.width - learner.posterior.dimension
    if missing:
        learner.grow(model.settings.prior_variance, missing)
    recommender = Recommender(
        model.schema,
        learner=learner,
        policy=model.settings.policy.policy(),
        prior_variance=model.settings.prior_variance,
        seed=model.settings.seed,
        wait=model.settings.reward_wait_seconds,
    )
    return recommender.to_bytes()


def from_file(content: bytes, settings: ModelSettings | None) -> tuple[ModelSettings, bytes]:
    """The settings of a model that goes on as the file's recommender would, and its learner.

    What fixes how it learns comes from the file, everything else from ``settings``.
    """
    recommender = Recommender.from_bytes(content, source="the file")
    learner = recommender.learner
    if not isinstance(learner, FabCost):
        raise ValueError(f"the file's learner is a {type(learner).__name__} but must be FabCost")
    schedule = learner.refresh_schedule
    refresh = {
        "geometric": RefreshSettings(growth=schedule.growth),
        "at": RefreshSettings(kind="at", points=list(schedule.points)),
        "never": RefreshSettings(kind="never"),
    }.get(schedule.kind)
    if refresh is None:
        raise ValueError(f"the file's refresh schedule is {schedule.kind!r}, which is not offered")
    fixed = {
        "schema": recommender.schema.to_dict(),
        "prior_variance": recommender.prior_variance,
        "refresh": refresh,
        "moments": learner.moments,
        "window": learner.window,
    }
    given = msgspec.structs.replace(settings or ModelSettings(), **fixed)
    return given, archive.to_bytes(learner)
