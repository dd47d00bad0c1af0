"""The recommender: raw records in, decisions out, feedback whenever it comes."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fabcost import archive
from fabcost.bandit.bandit import Bandit, Choice, Learner
from fabcost.bandit.prospects import positions
from fabcost.bandit.rules import Policy
from fabcost.features.hashed import hashed
from fabcost.features.items import EncodedItems
from fabcost.features.layout import MOST_WEIGHTS
from fabcost.features.reader import Record
from fabcost.features.schema import Schema
from fabcost.impressions import FloatArray
from fabcost.inference.forgetting import HalfLife
from fabcost.inference.online import FabCost
from fabcost.inference.own.directory import Key
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.summary import LEVEL, Summary
from fabcost.inference.wide.learner import Wide, WideFabCost
from fabcost.prior import Prior
from fabcost.recommend import document, options
from fabcost.recommend.alarms import Alarm, Watch
from fabcost.recommend.ledger import (
    Decision,
    ExpiredDecisionError,
    Feedback,
    Ledger,
    Numbers,
    Outcome,
    Pending,
    as_outcome,
    check_ledger,
    checked_time,
)
from fabcost.recommend.weights import Start, Weights, check_learner, limits_of_state, wide_learner
from fabcost.sparse import SparseRows


class Recommender:
    """Decisions about items with raw features, learnt from feedback that may come late.

    There is no clock inside: ``now`` is a number in the unit of ``wait``.  Wherever it is given,
    the pending decisions that are due by then first expire to "no click".  A decision made
    without ``now`` never expires.

    Parameters
    ----------
    schema
        How records become rows; the recommender works on a copy, `schema`.
    prior
        How far weights and the items' own effects are expected to reach; `fabcost.prior.Prior`
        unless given.
    learner
        `fabcost.FabCost` unless given; it must have a weight for each column of the schema.
    policy
        `fabcost.bandit.rules.DEFAULT` unless given.
    prior_variance
        In place of ``prior``: one variance for all weights, and no effects of items' own.
    most_weights
        Beyond which an open schema, or one with text, grows no further; a
        `fabcost.recommend.weights.GrowthWarning` names the features whose new values then share
        weights or have none.  None for any number.
    seed
        The same seed and the same calls give the same bits.
    wait
        How long after its decision feedback may come; None for ever.
    half_life
        After which what an outcome says counts half: a number of outcomes, or a
        `fabcost.HalfLife`, of which the seconds are those of ``now``, at the decision.  None for
        never; a learner that is given has its own.
    start
        Another recommender, or the file of one, whose posterior is the prior of columns of the
        same name; an open schema begins with its columns.  A wide one starts from a wide one.
    discount
        How much of an impression there one here is, above 0 and at most 1; None for what the
        outcomes speak for, see `fabcost.inference.inheritance.inheritance.Inheritance`.
    belief
        `fabcost.Wide`, for very many hashed weights, without items' own effects; None: the full.

    Examples
    --------
    >>> rec = Recommender(Schema.open(), seed=7)
    >>> adverts = {"ad-1": {"make": "ford", "age": 3}, "ad-2": {"make": "kia", "age": 1}}
    >>> decision = rec.recommend({"device": "mobile"}, adverts)
    >>> rec.feedback(decision.id, clicked=True), rec.feedback(decision.id, clicked=True)
    (<Feedback.APPLIED: 'applied'>, <Feedback.DUPLICATE: 'duplicate'>)
    """

    def __init__(
        self,
        schema: Schema,
        *,
        prior: Prior | None = None,
        learner: Learner | None = None,
        policy: Policy | None = None,
        prior_variance: float | None = None,
        most_weights: int | None = MOST_WEIGHTS,
        seed: int | np.random.Generator = 7,
        wait: float | None = None,
        half_life: HalfLife | float | None = None,
        start: Recommender | str | os.PathLike[str] | None = None,
        discount: float | None = None,
        belief: Wide | None = None,
    ) -> None:
        if learner is not None and (half_life is not None or start is not None):
            raise ValueError("half_life and start must be None beside a learner, which has its own")
        self.schema = schema.copy() if belief is None else hashed(schema, belief.bits)
        origin = None if start is None else self._origin(start, discount)
        if origin is not None:
            origin.grow(self.schema)
        if belief is not None:
            options.check_wide(learner, prior, prior_variance)
            learner, prior_variance = wide_learner(belief, half_life, origin), belief.variance
        given = 0 if learner is None else self.schema.width
        variances = options.one_prior(prior, prior_variance)
        self.weights = Weights(self.schema, variances, most_weights, given)
        first = self.weights.first_learner(half_life, origin) if learner is None else learner
        self.bandit = Bandit(first, policy=policy, seed=seed)
        self._ledger = Ledger(wait)
        self._watch = Watch()
        check_learner(first, self.schema)

    @property
    def own(self) -> OwnEffects | None:
        """What is known of the items' own effects, if they have any."""
        return self.learner.own if isinstance(self.learner, FabCost) else None

    @property
    def learner(self) -> Learner:
        """Its posterior has a weight for each of ``schema.columns``."""
        return self.bandit.learner

    @property
    def prior(self) -> Prior:
        """Variances of the weights, by what they belong to."""
        return self.weights.prior

    @property
    def prior_variance(self) -> float:
        """That of numbers, and of all weights unless a `fabcost.Prior` was given."""
        return self.weights.prior.numbers

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong with the data so far, in words; see `fabcost.recommend.alarms`."""
        return self._watch.alarms(self.schema)

    @property
    def pending(self) -> tuple[int, ...]:
        """The decisions that wait for feedback."""
        return tuple(self._ledger.pending)

    def catalogue(self, items: Mapping[Any, Record]) -> EncodedItems:
        """Items encoded once, to be given to `recommend` as candidates."""
        encoded = self.schema.encode_items(items)
        self.weights.follow(self.learner)
        return encoded

    def recommend(
        self,
        context: Record,
        candidates: Mapping[Any, Record] | EncodedItems,
        *,
        now: float | None = None,
        top_k: int = 1,
        exclude: Collection[Hashable] = (),
        draws: int | None = None,
        floor: float = 0.0,
        values: Mapping[Any, float] | None = None,
        costs: Mapping[Any, float] | None = None,
    ) -> Decision:
        """Choose one of the candidates, given by id with their records or as a `catalogue`.

        Where items have effects of their own, ids are strings or integers.
        Ids in ``exclude`` that are not among the candidates are ignored.  With ``draws`` the
        decision carries propensities, see `fabcost.bandit.bandit.Bandit.choose`.  With
        ``values``, of a click on each id, or ``costs``, of showing it, value · P(click) − cost is
        what is compared.
        """
        now = checked_time(now)
        options.check_options(top_k, draws, floor)
        reader = self.schema.reader()
        terms = reader.read(context, "context")
        read = options.read_candidates(self.schema, reader, candidates)
        names: tuple[Any, ...] = read.names
        excluded = positions(names, exclude)
        worths, expenses = options.amounts(names, values, costs)
        own = self.own
        if own is not None:
            own.find(names)  # a ValueError if one can be no item
        # Whatever can be refused has been: from here on the state changes.
        self._expire_before(now)
        self.schema.grow_to(reader)
        items = read if isinstance(read, EncodedItems) else self.schema.place_items(reader, read)
        rows = self.schema.drawn(terms, items)
        self.weights.follow(self.learner)
        self._watch.decided(alike=own is None and rows.alike)
        choice = self.bandit.choose(
            rows,
            top_k=top_k,
            exclude=excluded,
            draws=draws,
            floor=floor,
            items=names,
            values=worths,
            costs=expenses,
        )
        return self._issue(choice, names, rows.numbers(choice.index), now)

    def feedback(self, decision: int, clicked: Any, *, now: float | None = None) -> Feedback:
        """Learn what became of a decision, once; a reward of 0.3 is 0.3 of a click.

        The first feedback counts.  A decision that was never made is an `UnknownDecisionError`,
        one that had expired an `ExpiredDecisionError`; both are ValueErrors, and nothing is learnt.
        """
        outcome = as_outcome(clicked)
        self._ledger.check_issued(decision)
        self._expire_before(checked_time(now))
        try:
            if not self._ledger.is_open(decision):
                return Feedback.DUPLICATE
        except ExpiredDecisionError:
            self._watch.late += 1
            raise
        self._learn(self._ledger.pending[decision], outcome, now)
        del self._ledger.pending[decision]
        return Feedback.APPLIED

    def expire(self, now: float) -> tuple[int, ...]:
        """Learn "no click" for the decisions that have waited until ``now``; their ids."""
        checked_time(now)
        expired = []
        for decision, pending in self._ledger.due(now):
            self._learn(pending, as_outcome(False), now, expired=True)
            expired.append(decision)
        return tuple(expired)

    def summary(self, *, level: float = LEVEL) -> Summary:
        """Names, means, sds and intervals of the weights, as a table, and what else is known."""
        return self.weights.summary(self.learner, len(self._ledger.pending), level)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, without pickle; see `load`."""
        archive.replace_file(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recommender:
        """Read a recommender that goes on with the same bits as if it had never stopped."""
        return cls.from_bytes(Path(path).read_bytes(), source=str(path))

    def to_bytes(self) -> bytes:
        """The file of `save` as bytes."""
        settings, arrays = self._state()
        return archive.pack(document.format_of(settings), settings, arrays)

    @classmethod
    def from_bytes(cls, content: bytes, *, source: str = "the data") -> Recommender:
        """The recommender of `to_bytes`; ``source`` names the data in errors."""
        settings, arrays = archive.unpack(document.FORMAT, content, source)
        with archive.told_of(source, document.FORMAT):
            return cls._restored(settings, arrays)

    @classmethod
    def _origin(cls, start: Recommender | str | os.PathLike[str], discount: float | None) -> Start:
        other = start if isinstance(start, Recommender) else cls.load(start)
        return Start(other.schema, other.learner, discount)

    def _expire_before(self, now: float | None) -> None:
        if now is not None:
            self.expire(now)

    def _issue(
        self, choice: Choice, names: tuple[Any, ...], row: Numbers, now: float | None
    ) -> Decision:
        item = names[choice.index]
        decision = self._ledger.issue(row, now, None if self.own is None else item)
        ranking = tuple([names[index] for index in choice.ranking.tolist()])
        return Decision(decision, item, ranking, choice.scores, choice.propensities, now)

    def _learn(
        self, pending: Pending, outcome: Outcome, now: float | None, *, expired: bool = False
    ) -> None:
        row = pending.row(self.schema.width, sparse=isinstance(self.learner, WideFabCost))
        predicted = self._predicted(row, pending.item)
        made = now if pending.time is None else pending.time
        self.bandit.learn(row, outcome[0], pending.item, at=made)
        seen, foretold = None if isinstance(row, SparseRows) else row, (outcome[1], *predicted)
        self._watch.learnt(seen, *foretold, expired=expired)

    def _predicted(self, row: FloatArray | SparseRows, item: Key | None) -> tuple[float, float]:
        """Mean and variance of the log-odds of a click."""
        belief: Any = self.learner.posterior
        rows: Any = row if isinstance(row, SparseRows) else row[None, :]
        own = self.own
        found = belief.marginal(rows) if own is None else own.marginal(belief, rows, [item])
        return found.mean.item(), found.variance.item()

    def _state(self) -> tuple[dict[str, Any], dict[str, archive.Array]]:
        learner, of_learner = document.learner_state(self.learner)
        ledger, of_ledger = self._ledger.state()
        settings: dict[str, Any] = {
            "schema": self.schema.to_dict(),
            **learner,
            "ledger": ledger,
            "policy": document.policy_to_dict(self.bandit.policy),
            "rng": document.rng_state(self.bandit.rng),
            **document.prior_to_dict(self.prior, owned=self.own is not None),
            **self.weights.state(),
            "watch": self._watch.state(),
        }
        return settings, of_learner | of_ledger

    @classmethod
    def _restored(cls, settings: dict[str, Any], arrays: dict[str, archive.Array]) -> Recommender:
        learner = document.restored_learner(settings, arrays)
        weights = learner.posterior.dimension
        most, given = limits_of_state(settings, weights)
        schema = Schema.from_dict(settings["schema"], most_columns=weights)
        recommender = cls(
            hashed(schema, learner.name.bits) if isinstance(learner, WideFabCost) else schema,
            learner=learner,
            policy=document.policy_from_dict(settings["policy"]),
            prior=document.prior_from_dict(settings),
            most_weights=most,
        )
        recommender.weights.given = given
        recommender.bandit.rng.bit_generator.state = settings["rng"]
        check_ledger(settings["ledger"], arrays, recommender.schema.width)
        recommender._ledger = Ledger.restored(settings["ledger"], arrays)
        if "watch" in settings:
            recommender._watch = Watch.restored(settings["watch"])
        return recommender
