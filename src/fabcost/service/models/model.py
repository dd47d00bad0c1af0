"""One model in memory: schema, catalogue, posterior, and how it decides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fabcost import kernels
from fabcost.bandit.bandit import Choice, choose
from fabcost.bandit.prospects import Belief
from fabcost.bandit.rows import Rows, own_rows
from fabcost.features.reader import ReadItems
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.inference.own.effects import OwnEffects, effects_of
from fabcost.inference.wide.belief import WideGaussian
from fabcost.service.learning.follower import Published, widened
from fabcost.service.learning.learner import Learning
from fabcost.service.learning.recovery import follows_schema
from fabcost.service.models.candidates import (
    CandidateAmounts,
    Scene,
    Scenes,
    amounts_of,
    at_step,
    check_amounts,
    encoded,
)
from fabcost.service.models.catalogue import Catalogue
from fabcost.service.store.rows import MANY, DecisionRow, NewRecord, Shares
from fabcost.service.writer.requests import Steps
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import Arm, DecisionAnswer, DecisionRequest, ModelAnswer, Record
from fabcost.wire.settings import DRAWS, ModelSettings


class Chosen(NamedTuple):
    """What was chosen, on whose behalf, and the probabilities that this had."""

    place: int
    arm: Arm
    choice: Choice | None
    propensities: FloatArray | None


class Made(NamedTuple):
    """A decision: its answer, what to write (nothing in mode "off"), and the choice's entropy."""

    answer: DecisionAnswer
    row: DecisionRow | None
    entropy: float | None


class Known(NamedTuple):
    """What a model decides by: a belief about all columns of now, and the items' own effects."""

    published: Published
    belief: Belief
    own: OwnEffects | None

    def rows(self, scene: Scene) -> Rows:
        """Candidates, with the effects of their items if they have any."""
        if self.own is None:
            return scene.rows
        return own_rows(scene.rows, self.own, scene.names, self.belief.dimension)

    def digest(self) -> str:
        """SHA-256 of the bits of what is published."""
        if isinstance(self.belief, WideGaussian):
            return self.belief.digest()
        return self.published.digest(self.own)


class Streams:
    """Generators for named decisions, all from one seed: the same decision draws the same numbers.

    Examples
    --------
    >>> streams = Streams(7)
    >>> first = streams.of("visit-1").random()
    >>> streams.of("visit-2").random() == first, Streams(7).of("visit-1").random() == first
    (False, True)
    """

    def __init__(self, seed: int) -> None:
        self._keyed = hashlib.blake2b(digest_size=32, key=seed.to_bytes(8, "little"))
        # Of NumPy's generators the fastest to set and to draw normals from.
        self._bits, self._seeds = np.random.SFC64(0), bytearray(32)
        self._generator, seeds = np.random.Generator(self._bits), np.frombuffer(self._seeds, "<u8")
        self._state: Any = {**self._bits.state, "state": {"state": seeds}}

    def of(self, name: str) -> np.random.Generator:
        """The generator of ``name`` at its beginning, good until the next call."""
        hashed = self._keyed.copy()
        hashed.update(name.encode("utf-8", "surrogatepass"))
        self._seeds[:] = hashed.digest()
        self._bits.state = self._state
        return self._generator


@dataclass(eq=False)
class Model:
    """A model that decides; it learns elsewhere, in `Learning`, which publishes the posterior."""

    name: str
    settings: ModelSettings
    created: float
    edited: float
    schema: Schema
    catalogue: Catalogue
    learning: Learning

    def __post_init__(self) -> None:
        self.scenes = Scenes(self.schema, self.catalogue)
        #: How often it was heard that the schema grew on another server.
        self.lineage = 0
        #: Steps of the schema that the database has, or is about to have.
        self.steps_told = self.schema.steps
        self._variances = self.settings.variances()
        self._tells_steps = follows_schema(self.settings, self.schema)
        self.begin_to_follow()
        self.change(self.settings, self.edited)

    def begin_to_follow(self) -> None:
        """Decide by what is published, all of which is new."""
        published = self.learning.published
        own = effects_of(published.belief.dimension, self._variances.items)
        # A wide belief goes on changing elsewhere: here is one that follows it.
        wide = self.settings.belief
        belief = wide.wide().learner().posterior if wide else published.belief
        self._known = Known(published, belief, own)
        self._follow()

    def change(self, settings: ModelSettings, edited: float) -> None:
        """Decide by other settings from now on."""
        self.settings, self.edited = settings, edited
        self._policy, self._streams = settings.policy.policy(), Streams(settings.seed)
        self._valued = settings.valued

    @property
    def degraded(self) -> str | None:
        """Why it is not served in full; None if it is."""
        return None if self.learning.failure is None else "stopped learning"

    def shown(self) -> ModelAnswer:
        """As it is now."""
        return ModelAnswer(
            name=self.name,
            settings=self.settings,
            created=self.created,
            edited=self.edited,
            weights=self.schema.width,
            items=len(self.catalogue),
            impressions=self.learning.lsn,
            posterior_version=self.learning.published.version,
            degraded=self.degraded,
        )

    def decide(self, request: DecisionRequest, decision: str, now: float) -> Made:
        """Choose an item; errors leave everything as it was."""
        given = self._valued or request.values or request.costs
        amounts = amounts_of(request, self.catalogue, self.settings) if given else None
        scene, excluded = self.scenes.of(request)
        known = self.known()
        rows = known.rows(scene)
        chosen = self._choose(known.belief, rows, decision, request.top_k, excluded, amounts)
        answer = self._answer(request, decision, chosen, scene.names, known.published, now)
        if self.settings.mode == "off":
            return Made(answer, None, None)
        row = self._row(request, answer, chosen, scene, excluded, amounts, now)
        shares = chosen.propensities
        return Made(answer, row, None if shares is None else float(kernels.entropy(shares)))

    def check_items(self, items: dict[str, Record]) -> None:
        """An error if the schema cannot read one of the items; nothing changes."""
        try:
            ReadItems.by(self.schema.reader(), items)
            check_amounts(items, self.settings)
        except ValueError as error:
            raise InvalidRequestError(str(error)) from error

    def new_steps(self) -> Steps | None:
        """How the schema grew since the last time."""
        first = self.steps_told
        if self.schema.steps == first:
            return None
        self.steps_told = self.schema.steps
        return Steps(first, [json.dumps(step) for step in self.schema.steps_since(first)])

    def written(self, row: str, *, alike: bool = False) -> str:
        """An impression, with what the learner must know of the schema of now."""
        return at_step(row, self.schema.steps if self._tells_steps else None, alike=alike)

    def known(self) -> Known:
        """What is published, with the prior for columns that nothing was learnt about."""
        published = self.learning.published
        if self._known.published is not published:
            # Of columns that grew elsewhere it is heard a moment later than what was learnt.
            if published.belief.dimension <= self.schema.width or self.settings.belief:
                self._follow()
        elif self._known.belief.dimension != self.schema.width:
            self._widen(self._known.published)
        return self._known

    def _follow(self) -> None:
        """Take over what was published meanwhile, all of it."""
        published, changes = self.learning.collect()
        _, belief, own = self._known
        follower: Any = own if own is not None else belief
        for each in changes:
            follower.follow(each)
        self._widen(published)

    def _widen(self, published: Published) -> None:
        belief, own = published.belief, self._known.own
        if isinstance(belief, WideGaussian):
            belief = self._known.belief
        elif belief.dimension < self.schema.width:
            belief = widened(belief, self.schema.prior(self._variances))
        if own is not None and own.weights < belief.dimension:
            own.widen(belief.dimension - own.weights)
        self._known = Known(published, belief, own)

    def _choose(
        self,
        belief: Belief,
        rows: Rows,
        decision: str,
        top_k: int,
        excluded: list[int],
        amounts: CandidateAmounts | None,
    ) -> Chosen:
        """One of the rows; the same decision id gives the same choice.

        With holdback ``h`` a row of ``n`` that has the probability ``p`` under the policy is
        shown with ``(1 − h) p + h / n``.
        """
        mode, holdback = self.settings.mode, self.settings.holdback
        if mode in ("off", "logging-only"):
            return Chosen(_first(rows, excluded), "baseline", None, None)
        rng, allowed = self._streams.of(decision), len(rows) - len(excluded)
        choice = choose(
            belief,
            self._policy,
            rows,
            rng=rng,
            top_k=min(top_k, allowed),
            exclude=excluded,
            draws=DRAWS[self.settings.propensities],
            floor=self.settings.floor,
            values=None if amounts is None else amounts.values,
            costs=None if amounts is None else amounts.costs,
        )
        if mode == "apprentice":
            return Chosen(_first(rows, excluded), "baseline", choice, None)
        if holdback == 0.0:
            return Chosen(choice.index, "bandit", choice, choice.propensities)
        others = np.delete(np.arange(len(rows)), excluded)
        shares = choice.propensities
        if shares is not None:
            shares = (1.0 - holdback) * shares
            shares[others] += holdback / allowed
        if rng.random() >= holdback:
            return Chosen(choice.index, "bandit", choice, shares)
        return Chosen(int(rng.choice(others)), "holdback", choice, shares)

    def _answer(
        self,
        request: DecisionRequest,
        decision: str,
        chosen: Chosen,
        names: tuple[str, ...],
        published: Published,
        now: float,
    ) -> DecisionAnswer:
        order, choice = [chosen.place], chosen.choice
        if choice is not None and request.top_k > 1:
            others = [index for index in choice.ranking.tolist() if index != chosen.place]
            if chosen.place != choice.index:  # which the floor may have put first
                others.sort(key=choice.scores.item, reverse=True)
            order = [chosen.place, *others][: request.top_k]
        scores = [0.0] if choice is None else [choice.scores.item(index) for index in order]
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
        chosen: Chosen,
        scene: Scene,
        excluded: list[int],
        amounts: CandidateAmounts | None,
        now: float,
    ) -> DecisionRow:
        mode, shares, served = self.settings.mode, chosen.propensities, scene.at(chosen.place)
        few = None if shares is None or shares.size < MANY else Shares.of(shares)
        would = None if chosen.choice is None else scene.names[chosen.choice.index]
        click_value, cost = (1.0, 0.0) if amounts is None else amounts.at(chosen.place)
        record = NewRecord(
            context=scene.context,
            candidates=scene.candidates,
            answer=answer,
            mode=mode,
            features=request.candidates,
            item_features=served.features,
            catalogue_version=self.catalogue.version if request.candidates is None else 0,
            all_propensities=None if shares is None or few is not None else shares.tolist(),
            would_choose=would if chosen.arm == "baseline" else None,
            excluded=[scene.names[place] for place in excluded],
            deferred=request.deferred,
            listed=scene.listed,
            shares=few,
            values=request.values,
            costs=request.costs,
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
            features=self.written(served.row, alike=self._known.own is None and scene.rows.alike),
            record=encoded(record),
            click_value=click_value,
            cost=cost,
        )


def _first(rows: Rows, excluded: Sequence[int]) -> int:
    return next(place for place in range(len(rows)) if place not in excluded)
