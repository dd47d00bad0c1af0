"""One model in memory: schema, catalogue, posterior, and how it decides."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fabcost.bandit.bandit import Choice, choose
from fabcost.bandit.streams import Streams
from fabcost.features.folded import FoldedRows
from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.service.catalogue import Catalogue
from fabcost.service.counting import entropy
from fabcost.service.errors import InvalidRequestError
from fabcost.service.learning import Learning, Published
from fabcost.service.messages import (
    Arm,
    DecisionAnswer,
    DecisionRequest,
    LoggedImpression,
    Record,
)
from fabcost.service.model_settings import DRAWS, ModelSettings
from fabcost.service.records import DecisionRecord, NewRecord, encoded
from fabcost.service.scenes import Scene, Scenes
from fabcost.service.store.rows import DecisionRow

#: An imported decision is followed by its outcome at once.
_TIME_FOR_OUTCOME = 60.0


class Made(NamedTuple):
    """A decision: its answer, what to write (nothing in mode "off"), and the choice's entropy."""

    answer: DecisionAnswer
    row: DecisionRow | None
    entropy: float | None


class Steps(NamedTuple):
    """How the schema grew since the last time this was asked: steps ``first``, …, as JSON."""

    first: int
    steps: list[str]


class _Arm(NamedTuple):
    """What was chosen, on whose behalf, and the probabilities that this had."""

    place: int
    arm: Arm
    choice: Choice | None
    propensities: FloatArray | None


class Model:
    """A model that decides; it learns elsewhere, in `Learning`.

    Parameters
    ----------
    name, settings
        As it was made, or changed later.
    created, edited
        When.
    schema
        As it has grown so far.
    catalogue
        Its items.
    learning
        Publishes the posterior.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        *,
        created: float,
        edited: float,
        schema: Schema,
        catalogue: Catalogue,
        learning: Learning,
    ) -> None:
        self.name = name
        self.created = created
        self.schema = schema
        self.catalogue = catalogue
        self.learning = learning
        self._scenes = Scenes(schema, catalogue)
        self._steps_told = schema.steps
        self._wide: tuple[Published, Gaussian] = (learning.published, learning.published.belief)
        self.change(settings, edited)

    def change(self, settings: ModelSettings, edited: float) -> None:
        """Decide by other settings from now on."""
        self.settings = settings
        self.edited = edited
        self._policy = settings.policy.policy()
        self._draws = DRAWS[settings.propensities]
        self._streams = Streams(settings.seed)

    def decide(self, request: DecisionRequest, decision: str, now: float) -> Made:
        """Choose an item; errors leave everything as it was."""
        scene, excluded = self._scenes.of(request)
        published, belief = self._belief()
        chosen = self._chosen(request, decision, belief, scene.rows, excluded)
        answer = self._answer(request, decision, chosen, scene.names, published, now)
        if self.settings.mode == "off":
            return Made(answer, None, None)
        row = self._row(request, answer, chosen, scene, now)
        shares = chosen.propensities
        return Made(answer, row, None if shares is None else entropy(shares))

    def logged(self, given: LoggedImpression, decision: str, now: float) -> DecisionRow:
        """A decision of the past as a row; without an outcome it will not be learnt."""
        if given.item not in given.candidates:
            raise InvalidRequestError(f"item {given.item!r} is not among the candidates")
        shares = given.propensities
        if shares is not None and len(shares) != len(given.candidates):
            raise InvalidRequestError(
                f"there are {len(shares)} propensities but {len(given.candidates)} candidates"
            )
        request = DecisionRequest(context=given.context, candidates=given.candidates)
        scene, _ = self._scenes.of(request)
        place = list(given.candidates).index(given.item)
        made = now if given.time is None else min(given.time, now)
        answer = DecisionAnswer(
            decision_id=decision,
            item=given.item,
            ranking=[given.item],
            scores=[0.0],
            propensities=None if shares is None else [shares[place]],
            arm="imported",
            posterior_version=self.learning.published.version,
            deadline=now + _TIME_FOR_OUTCOME,
        )
        record = DecisionRecord(
            context=given.context,
            candidates=list(given.candidates),
            answer=answer,
            mode=self.settings.mode,
            features=given.candidates,
            all_propensities=shares,
        )
        known = given.value is not None
        return DecisionRow(
            model=self.name,
            decision=decision,
            made=made,
            deadline=answer.deadline,
            arm="imported",
            item=given.item,
            active=known,
            learns=known,
            features=scene.at(place).row,
            record=encoded(record),
        )

    def check_items(self, items: dict[str, Record]) -> None:
        """An error if the schema cannot read one of the items; nothing changes."""
        try:
            ReadItems.by(self.schema.reader(), items)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error

    def new_steps(self) -> Steps | None:
        """How the schema grew since the last time."""
        first = self._steps_told
        if self.schema.steps == first:
            return None
        self._steps_told = self.schema.steps
        return Steps(first, [json.dumps(step) for step in self.schema.steps_since(first)])

    def _belief(self) -> tuple[Published, Gaussian]:
        """The published posterior, with the prior for columns that nothing was learnt about."""
        published, width = self.learning.published, self.schema.width
        if self._wide[0] is not published or self._wide[1].dimension != width:
            belief = widened(published.belief, width, self.settings.prior_variance)
            self._wide = (published, belief)
        return self._wide

    def _chosen(
        self,
        request: DecisionRequest,
        decision: str,
        belief: Gaussian,
        rows: FoldedRows,
        excluded: Sequence[int],
    ) -> _Arm:
        mode, holdback = self.settings.mode, self.settings.holdback
        allowed = len(rows) - len(excluded)
        if mode in ("off", "logging-only"):
            return _Arm(_first(rows, excluded), "baseline", None, None)
        rng = self._streams.of(decision)
        choice = choose(
            belief,
            self._policy,
            rows,
            rng=rng,
            top_k=min(request.top_k, allowed),
            exclude=excluded,
            draws=self._draws,
            floor=self.settings.floor,
        )
        if mode == "apprentice":
            return _Arm(_first(rows, excluded), "baseline", choice, None)
        shares = choice.propensities
        if holdback == 0.0:
            return _Arm(choice.index, "bandit", choice, shares)
        if shares is not None:
            among = np.ones(len(shares))
            among[list(excluded)] = 0.0
            shares = (1.0 - holdback) * shares + holdback * among / allowed
        if rng.random() >= holdback:
            return _Arm(choice.index, "bandit", choice, shares)
        places = np.delete(np.arange(len(choice.scores)), excluded)
        return _Arm(int(rng.choice(places)), "holdback", choice, shares)

    def _answer(
        self,
        request: DecisionRequest,
        decision: str,
        chosen: _Arm,
        names: tuple[str, ...],
        published: Published,
        now: float,
    ) -> DecisionAnswer:
        order, scores = [chosen.place], [0.0]
        if chosen.choice is not None:
            ranked = chosen.choice.ranking.tolist()
            others = [index for index in ranked if index != chosen.place]
            order = [chosen.place, *others][: request.top_k]
            scores = [chosen.choice.scores.item(index) for index in order]
        shares = chosen.propensities
        return DecisionAnswer(
            decision_id=decision,
            item=names[chosen.place],
            ranking=[names[index] for index in order],
            scores=scores,
            propensities=None if shares is None else [shares.item(index) for index in order],
            arm=chosen.arm,
            posterior_version=published.version,
            deadline=now + self.settings.reward_wait_seconds,
            durable=self.settings.mode != "off",
        )

    def _row(
        self,
        request: DecisionRequest,
        answer: DecisionAnswer,
        chosen: _Arm,
        scene: Scene,
        now: float,
    ) -> DecisionRow:
        mode, shares, served = self.settings.mode, chosen.propensities, scene.at(chosen.place)
        would = None if chosen.choice is None else scene.names[chosen.choice.index]
        record = NewRecord(
            context=scene.context,
            candidates=scene.candidates,
            answer=answer,
            mode=mode,
            features=request.candidates,
            item_features=served.features,
            catalogue_version=self.catalogue.version if request.candidates is None else 0,
            all_propensities=None if shares is None else shares.tolist(),
            would_choose=would if chosen.arm == "baseline" else None,
            deferred=request.deferred,
        )
        return DecisionRow(
            model=self.name,
            decision=answer.decision_id,
            made=now,
            deadline=answer.deadline,
            arm=answer.arm,
            item=answer.item,
            active=not request.deferred,
            learns=mode in ("online", "apprentice"),
            features=served.row,
            record=encoded(record),
        )


def widened(belief: Gaussian, width: int, prior_variance: float) -> Gaussian:
    """The belief with independent weights of mean zero added, up to ``width``.

    Examples
    --------
    >>> widened(Gaussian.isotropic(1), 3, 4.0).sd
    array([1., 2., 2.])
    """
    known = belief.dimension
    if known >= width:
        return belief
    mean, root = np.zeros(width), np.zeros((width, width))
    mean[:known] = belief.mean
    root[:known, :known] = belief.root
    root[range(known, width), range(known, width)] = math.sqrt(prior_variance)
    return Gaussian.from_kernel(mean, root)


def _first(rows: FoldedRows, excluded: Sequence[int]) -> int:
    return next(place for place in range(len(rows)) if place not in excluded)
