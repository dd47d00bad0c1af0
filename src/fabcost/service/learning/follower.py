"""A learner with the weights that its schema had at each impression, and how they are handed on."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fabcost import kernels
from fabcost.bandit.prospects import Belief
from fabcost.features.document import is_revision
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian, Marginal
from fabcost.impressions import FloatArray, Tally
from fabcost.inference.online import FabCost
from fabcost.inference.own.directory import OwnChanges, OwnLaw
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.schedule import Refresh
from fabcost.inference.wide.belief import WideGaussian
from fabcost.prior import Prior
from fabcost.recommend.surprise import Surprise
from fabcost.recommend.weights import revise
from fabcost.service.store.rows import Impression
from fabcost.sparse import SparseRows

#: Changes of items that may wait to be collected, if the items are not more.
_MANY = 1000


class Learnt(NamedTuple):
    """An impression and its label, ±1, or ``fraction`` of a click; what was shown, and when."""

    impression: Impression
    label: int
    item: str | None = None
    made: float = 0.0
    fraction: float | None = None

    @property
    def reward(self) -> float:
        """How much of a click it was."""
        return float(self.label > 0) if self.fraction is None else self.fraction


class OneVariance:
    """Every weight has the same prior variance, and comes with the first row that needs it."""

    given = 0

    def __init__(self, variance: float) -> None:
        self.variance = variance

    def is_behind(self, impression: Impression, weights: int) -> bool:
        """Whether an impression needs more than so many weights."""
        return impression.width > weights

    def grow(self, learner: FabCost, impression: Impression) -> None:
        """Give the learner the weights that an impression needs."""
        learner.grow(self.variance, impression.width - learner.prior.dimension)

    def complete(self, learner: FabCost, schema: Schema) -> None:
        """Give the learner the weights that a schema has."""
        learner.grow(self.variance, schema.width - learner.prior.dimension)

    def widened(self, belief: Gaussian, impressions: Sequence[Impression]) -> Gaussian:
        """A belief about the columns of all impressions."""
        width = max(each.width for each in impressions)
        if width <= belief.dimension:
            return belief
        return widened(belief, Gaussian.isotropic(width, variance=self.variance))

    def provisional(self) -> OneVariance:
        """For a learner that keeps no impressions."""
        return self

    def copy(self) -> OneVariance:
        """For another learner."""
        return self


class BySchema:
    """The prior of a schema as it was when decisions were made, which also may be revised.

    ``then`` is at the last impression that was learnt, and goes on as ``now`` did: another thread
    may let that one grow.  The first ``given`` weights keep the prior that they came with.
    """

    def __init__(
        self, prior: Prior, now: Schema, then: Schema, given: int = 0, *, revises: bool = True
    ) -> None:
        self.prior = prior
        self.given = given
        self._now = now
        self._then = then
        self._revises = revises
        #: How often the schema had grown by then, and its columns.
        self.steps, self.width = then.steps, then.width

    def is_behind(self, impression: Impression, weights: int) -> bool:  # noqa: ARG002
        """Whether the schema had grown before an impression."""
        return (impression.steps or 0) > self.steps

    def grow(self, learner: FabCost, impression: Impression) -> None:
        """Give the learner the weights that the schema had, and the prior."""
        self._grow_to(learner, impression.steps or 0)

    def complete(self, learner: FabCost, schema: Schema) -> None:
        """The same for a schema that is as this one is, or was, now."""
        self._grow_to(learner, schema.steps)

    def _grow_to(self, learner: FabCost, steps: int) -> None:
        before, weights = self.steps, learner.prior.dimension
        self.go_to(steps)
        prior, more = self._then.prior, self.width > weights
        if not self._revises:
            # A new prior would be put in place of what was learnt.
            if more:
                root = prior(self.prior).root[weights:, weights:]
                learner.grow(Gaussian.from_root(np.zeros(len(root)), root))
            return
        if more:
            learner.grow(prior(self.prior, start=weights))
        if any(map(is_revision, self._then.steps_since(before))):
            revise(learner, prior(self.prior), self.given)

    def go_to(self, steps: int) -> None:
        """Be the schema that had grown so often; a ValueError if that is not known."""
        self._then.regrow(self._now.steps_since(self.steps)[: max(steps - self.steps, 0)])
        self.steps, self.width = self._then.steps, self._then.width
        if self.steps < steps:
            raise ValueError(f"the schema grew {self.steps} times but {steps} are asked for")

    def widened(self, belief: Gaussian, impressions: Sequence[Impression]) -> Gaussian:
        """A belief about the columns that the schema had at all impressions."""
        steps, at = max(each.steps or 0 for each in impressions), self
        if steps > self.steps:
            at = self.copy()
            at.go_to(steps)
        if at.width <= belief.dimension:
            return belief
        return widened(belief, at._then.prior(self.prior))

    def provisional(self) -> BySchema:
        """For a learner that keeps no impressions."""
        return BySchema(self.prior, self._now, self._then.copy(), revises=False)

    def copy(self) -> BySchema:
        """For another learner."""
        return BySchema(self.prior, self._now, self._then.copy(), self.given)


Growth = OneVariance | BySchema


@dataclass(eq=False)
class Follower:
    """A learner, how it grows, and how much late outcomes surprised it."""

    learner: FabCost
    growth: Growth
    late: Surprise = field(default_factory=Surprise)

    def __post_init__(self) -> None:
        """Refreshes are whole: the service has its own way to spread them."""
        self.learner.finish()
        self.learner.most_work = None

    def learn(self, impressions: Sequence[Learnt]) -> None:
        """Learn in order, giving the learner new weights just before they are needed."""
        start = 0
        for i, (impression, *_) in enumerate(impressions):
            if self.growth.is_behind(impression, self.learner.prior.dimension):
                self._observe(impressions[start:i])
                self.growth.grow(self.learner, impression)
                start = i
        self._observe(impressions[start:])

    def _observe(self, impressions: Sequence[Learnt]) -> None:
        if impressions:
            rows = dense([each.impression for each in impressions], self.learner.prior.dimension)
            items, times = zip(*((each.item, each.made) for each in impressions), strict=True)
            self.learner.observe_many(rows, outcomes_of(impressions), items, at=times)

    @property
    def work(self) -> int:
        """Multiplications of a refresh after the next impression."""
        return (self.learner.kept + 1) * int(self.learner.prior.dimension) ** 2

    def publisher(self, lsn: int) -> Publisher:
        """That hands over what it learns."""
        return Publisher(lsn, self.learner)

    def provisional(self) -> Follower:
        """One that goes on filtering from here, and is never refreshed."""
        of = self.learner
        learner = FabCost(of.posterior, refresh=Refresh.never(), moments=of.moments)
        learner.own = None if of.own is None else of.own.copy()
        return Follower(learner, self.growth.provisional())

    def copy(self) -> Follower:
        """One that is equal."""
        return Follower(FabCost.restored(*self.learner.state()), self.growth.copy())

    def predicted(self, belief: Any, impressions: Sequence[Learnt]) -> FloatArray:
        """The click probability of each impression under a Gaussian of maybe fewer weights."""
        rows = [each.impression for each in impressions]
        return predicted(self.growth.widened(belief, rows), self.learner.own, impressions)


@dataclass(frozen=True, eq=False)
class Published:
    """A posterior to decide by: after ``lsn`` impressions and ``refreshes``."""

    lsn: int
    refreshes: int
    belief: Belief
    time: float = 0.0

    @cached_property
    def version(self) -> str:
        """How decisions name it."""
        return f"{self.lsn}.{self.refreshes}"

    def digest(self, own: OwnEffects | None = None) -> str:
        """SHA-256 of the bits of its mean and root, and of the items' own effects if any."""
        if isinstance(self.belief, WideGaussian):
            return self.belief.digest()
        content = hashlib.sha256(self.belief.mean.tobytes())
        content.update(np.ascontiguousarray(self.belief.root).tobytes())
        if own is not None:
            content.update(json.dumps(own.keys).encode())
            content.update(own.rows[:, : self.belief.dimension + 2].tobytes())
        return content.hexdigest()


class Collected(NamedTuple):
    """What is published, and the changes since the last time: of items' effects, or wide ones."""

    published: Published
    changes: tuple[Any, ...]


class Publisher:
    """Hands over what was learnt: all of a moment, or nothing of it.

    Of the items only those go from hand to hand that have changed: one after an impression, all
    after a refresh, or when more changes wait than there are items.
    """

    def __init__(self, lsn: int, learner: FabCost) -> None:
        self._lock = threading.Lock()
        #: Whose changes it tells; all of another's.
        self.of: OwnEffects | None = None
        self._version = self._many = 0
        self._waiting: list[OwnChanges] = []
        self.latest = self.publish(lsn, learner.refreshes, learner)

    def publish(self, lsn: int, refreshes: int, learner: FabCost) -> Published:
        """Say what is known now; for the thread that learns."""
        published = Published(lsn, refreshes, learner.posterior, time.time())
        changes = self._changes(learner.own)
        with self._lock:
            if changes is not None:
                self._keep(changes)
            self.latest = published
        return published

    def collect(self) -> Collected:
        """Take what is new; for the one thread that decides."""
        with self._lock:
            waiting, self._waiting, self._many = self._waiting, [], 0
            return Collected(self.latest, tuple(waiting))

    def _changes(self, own: OwnEffects | None) -> OwnChanges | None:
        if own is None:
            return None
        # Another learner's versions mean nothing: everything is told.
        follows = own is self.of and self._many <= max(len(own), _MANY)
        changes = own.changes(self._version if follows else own.version + 1)
        self.of, self._version = own, changes.version
        return changes

    def _keep(self, changes: OwnChanges) -> None:
        if changes.slots is None:
            self._waiting, self._many = [], 0
        self._waiting.append(changes)
        self._many += len(changes.keys)


def widened(belief: Gaussian, prior: Gaussian) -> Gaussian:
    """The belief, and what the prior of all weights adds for those that are beyond it."""
    known, width = belief.dimension, prior.dimension
    if known >= width:
        return belief
    mean, root = np.zeros(width), prior.root.copy()
    mean[:known] = belief.mean
    root[:known, :known] = belief.root
    return Gaussian.from_kernel(mean, root)


def outcomes_of(impressions: Sequence[Learnt]) -> list[int] | Tally:
    """Labels or, if those of a model are, fractions of a click, also for 0 and 1."""
    fractions = impressions[0].fraction is not None
    rewards = [each.reward for each in impressions]
    return Tally(rewards, 1.0) if fractions else [each.label for each in impressions]


def dense(impressions: Sequence[Impression], width: int) -> FloatArray:
    """Rows of ``width`` columns, written out."""
    rows = np.zeros((len(impressions), width))
    for row, each in zip(rows, impressions, strict=True):
        row[each.columns] = each.numbers
    return rows


def sparse(impressions: Sequence[Impression], width: int) -> SparseRows:
    """Rows of ``width`` columns that are not written out."""
    return SparseRows.of_pairs([(each.columns, each.numbers) for each in impressions], width)


def predicted(belief: Belief, own: OwnEffects | None, impressions: Sequence[Learnt]) -> FloatArray:
    """The click probability of each impression; the items may know of fewer weights."""
    law = None if own is None else own.law([each.item for each in impressions])
    centres, variances = log_odds(belief, law, [each.impression for each in impressions])
    clicks: FloatArray = kernels.predictions(centres, np.maximum(variances, 1e-300), True)
    return clicks


def log_odds(belief: Belief, law: OwnLaw | None, impressions: Sequence[Impression]) -> Marginal:
    """Mean and variance of the log-odds of each impression, given the law of its item."""
    if isinstance(belief, WideGaussian):
        return belief.marginal(sparse(impressions, belief.dimension))
    if law is not None:
        rows = dense(impressions, belief.dimension)
        rows[:, : law.tilt.shape[1]] -= law.tilt
        centres, variances = belief.marginal(rows)
        return Marginal(centres + law.offset, variances + law.noise * law.noise)
    centres, variances = np.zeros(len(impressions)), np.zeros(len(impressions))
    for i, impression in enumerate(impressions):
        numbers = np.array(impression.numbers)
        along = numbers @ belief.root[impression.columns]
        centres[i], variances[i] = numbers @ belief.mean[impression.columns], along @ along
    return Marginal(centres, variances)
