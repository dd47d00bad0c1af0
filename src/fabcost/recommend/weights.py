"""A learner's weights: as another knew them, then in step with a schema that grows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from fabcost.bandit.bandit import Learner
from fabcost.features.document import as_step, is_revision
from fabcost.features.hashed import HashedSchema
from fabcost.features.kinds import Text
from fabcost.features.layout import Step
from fabcost.features.prior import translation
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.forgetting import HalfLife
from fabcost.inference.inheritance.information import Information, InheritedEffects, marginal
from fabcost.inference.inheritance.inheritance import Inheritance
from fabcost.inference.online import FabCost
from fabcost.inference.saved.checks import whole
from fabcost.inference.summary import Summary, summarise
from fabcost.inference.wide.learner import Wide, WideFabCost
from fabcost.prior import Prior
from fabcost.tilted import Moments


class Start(NamedTuple):
    """Another recommender's schema and learner, and the discount of what it knows.

    The discount is a number above 0 and at most 1, or None for one that the outcomes decide.

    Examples
    --------
    >>> ours, theirs = (Schema.open(), Schema.open())
    >>> rows = theirs.design([{"make": "kia"}])
    >>> learner = FabCost(Gaussian.isotropic(2))
    >>> learner.observe(rows[0], True)
    >>> start = Start(theirs, learner, 1.0)
    >>> start.grow(ours)
    >>> ours.columns, start.on(Gaussian.isotropic(2), ours).prior.mean.round(2)
    (('bias', 'make=kia'), array([0.36, 0.36]))
    """

    schema: Schema
    learner: Learner
    discount: float | None = None

    def grow(self, schema: Schema) -> None:
        """Give an open schema the features that this one has, and text its values.

        Numbers then have the anchors and constants of here.
        """
        steps = self._steps(schema)
        if isinstance(schema, HashedSchema):  # whose values have no columns of their own
            steps = (step for step in steps if isinstance(step, dict) and "name" in step)
        schema.regrow(steps, most_columns=None)

    def _steps(self, schema: Schema) -> Iterator[Step]:
        known, columns = schema.features, frozenset(schema.columns)
        open_for = self.schema.features.keys() - known.keys() if schema.openness else frozenset()
        steps = self.schema.steps_since(0)
        met = {step["name"] for step in steps if isinstance(step, dict) and "name" in step}
        for name, feature in self.schema.features.items():
            if name in open_for and name not in met:
                yield as_step(feature)
        for step in steps:
            if isinstance(step, list):
                text = isinstance(known.get(step[0]), Text) and step[1] not in columns
                wanted = step[0] in open_for or text
            else:
                wanted = step.get("name", step.get("constants of")) in open_for
            if wanted:
                yield step

    def on(self, base: Gaussian, schema: Schema, items: float = 0.0) -> Inheritance:
        """A prior of a schema, with what is known of the weights of columns of the same name.

        Others are integrated out.  If ``items`` have effects of this variance here, and had there,
        what is known of them comes with their keys.
        """
        learner = self.learner
        if not isinstance(learner, FabCost):
            kind = type(learner).__name__
            raise ValueError(
                f"the learner to start from is a {kind} but must be FabCost, for a full belief"
            )
        theirs, owners = frozenset(schema._layout.owners()), self.schema._layout.owners()
        both = [place for place, owner in enumerate(owners) if owner in theirs]
        told, effects = _learnt(learner, both), None
        if learner.own is not None and items:
            effects = InheritedEffects.of(learner.own, learner.posterior, both, items)
            placed = self._placed(effects.rows[:, 2:], both, schema)
            effects = effects._replace(rows=np.column_stack([effects.rows[:, :2], placed]))
        told = told._replace(rows=self._placed(told.rows, both, schema))
        return Inheritance.given(base, told, self.discount, effects)

    def _placed(self, rows: FloatArray, both: list[int], schema: Schema) -> FloatArray:
        """Rows over columns that both have, in the columns of a schema."""
        ours = {owner: place for place, owner in enumerate(schema._layout.owners())}
        owners = self.schema._layout.owners()
        wide = np.zeros((len(rows), len(owners)))
        wide[:, both] = rows
        translated = wide @ translation(self.schema._layout, schema.features)
        placed = np.zeros((len(rows), schema.width))
        placed[:, [ours[owners[place]] for place in both]] = translated[:, both]
        return placed


def wide_learner(
    belief: Wide,
    half_life: HalfLife | float | None,
    start: Start | None,
    moments: Moments = "exact",
) -> WideFabCost:
    """A learner of a wide belief that has seen nothing, but may know what another found out.

    Examples
    --------
    >>> wide_learner(Wide(bits=4), None, Start(Schema.open(), FabCost(Gaussian.isotropic(1))))
    Traceback (most recent call last):
    ValueError: the belief is wide and has no names: it starts from a wide one, not from FabCost
    """
    if start is None:
        return belief.learner(moments, half_life=half_life)
    other = start.learner
    if not isinstance(other, WideFabCost):
        kind = type(other).__name__
        raise ValueError(
            f"the belief is wide and has no names: it starts from a wide one, not from {kind}"
        )
    return belief.learner(moments, half_life=half_life, start=other, discount=start.discount)


def _learnt(learner: FabCost, places: list[int]) -> Information:
    if not places:
        raise ValueError("no column of the schema has the name of one of those to start from")
    before = learner.prior if learner.inheritance is None else learner.inheritance.base
    return Information.gained(marginal(before, places), marginal(learner.posterior, places))


_SHARED = (
    "feature {name!r} has so many values that new ones share weights: leave it out, put in its "
    "place what is known of the values, or raise most_weights"
)
_LEFT_OUT = (
    "there is no room for the weights of new values of feature {name!r}, which contribute nothing "
    "({width:,} of most_weights={most:,}): leave out features with many values, or raise it"
)


class GrowthWarning(UserWarning):
    """New values of a feature share weights, or have none.

    Examples
    --------
    >>> issubclass(GrowthWarning, UserWarning)
    True
    """


@runtime_checkable
class GrowingLearner(Learner, Protocol):
    """A learner for schemas that grow; `fabcost.FabCost` is one."""

    def grow(self, variance: Gaussian) -> None:
        """Add weights that are independent of the others, with what is believed of them."""
        ...


class Weights:
    """Follows a schema: new columns get weights at their prior, revised constants a new prior.

    Parameters
    ----------
    schema
        Of the recommender.
    prior
        Variances by what a weight belongs to.
    most
        Weights beyond which the schema does not grow; None for any number.
    given
        How many weights have the prior that the caller gave with a learner.

    Examples
    --------
    >>> schema = Schema.open()
    >>> weights = Weights(schema, Prior(), None)
    >>> learner = weights.first_learner()
    >>> items = schema.encode_items({1: {"price": 9_000}, 2: {"price": 11_000}})
    >>> weights.follow(learner)
    >>> learner.posterior.dimension, learner.prior == schema.prior(Prior())
    (2, True)
    """

    def __init__(self, schema: Schema, prior: Prior, most: int | None, given: int = 0) -> None:
        if most is not None and most < 1:
            raise ValueError(f"most_weights is {most!r} but must be at least 1, or None")
        schema.limit_columns(most)
        self.prior = prior
        self.most = most
        self.given = given
        self._schema = schema
        self._followed = schema.steps
        self._warned: set[str] = set()

    def first_learner(
        self, half_life: HalfLife | float | None = None, start: Start | None = None
    ) -> FabCost:
        """For the columns of now, with what is known of them from elsewhere."""
        if self._schema.width == 0:
            raise ValueError("the schema has no columns yet: give it a bias or a declared feature")
        base, items = self._schema.prior(self.prior), self.prior.items
        prior = base if start is None else start.on(base, self._schema, items)
        return FabCost(prior, own_variance=items, half_life=half_life)

    def follow(self, learner: Learner) -> None:
        """Give the learner what the schema has grown since the last time, and warn of squeezes."""
        steps = self._schema.steps
        if steps == self._followed and not self._schema.squeezed:
            return
        known, revised = learner.posterior.dimension, self._schema.steps_since(self._followed)
        if known < self._schema.width and isinstance(learner, GrowingLearner):
            learner.grow(self._schema.prior(self.prior, start=known))
        # As far as the learner can: one that keeps too few impressions goes on with the old.
        if any(map(is_revision, revised)) and isinstance(learner, FabCost):
            revise(learner, self._schema.prior(self.prior), self.given)
        self._followed = steps
        self._warn()

    def summary(self, learner: Learner, pending: int, level: float) -> Summary:
        """What a learner believes of the weights, by the names of their columns."""
        own = learner.own if isinstance(learner, FabCost) else None
        facts: dict[str, Any] = {"decisions that wait": pending}
        if own is not None:
            facts["items with effects of their own"] = (
                f"{len(own):,} (prior sd {own.variance**0.5:.2g})"
            )
        seen, width = getattr(learner, "seen", None), learner.posterior.dimension
        after = "" if seen is None else f" after {seen:,} outcomes"
        title = f"Recommender: {width:,} weights{after}"
        names = self._schema.columns or None  # hashed columns have none
        return summarise(title, learner.posterior, names, level=level, facts=facts)

    def _warn(self) -> None:
        scaled = self._schema.openness is not None and self._schema.openness.scaled
        for name, how in self._schema.squeezed.items():
            if name in self._warned or (how == "shared" and not scaled):
                continue
            self._warned.add(name)
            words = _SHARED if how == "shared" else _LEFT_OUT
            told = words.format(name=name, width=self._schema.width, most=self.most)
            warnings.warn(told, GrowthWarning, stacklevel=4)

    def state(self) -> dict[str, int]:
        """For `limits_of_state`: nothing, if it is as recommenders of before were."""
        state = {} if self.most is None else {"most_weights": self.most}
        return state | {"given_weights": self.given} if self.given else state


def revise(learner: FabCost, prior: Gaussian, given: int) -> None:
    """Put another prior below what was learnt, but for the first ``given`` weights.

    Examples
    --------
    >>> learner = FabCost(Gaussian.isotropic(2))
    >>> revise(learner, Gaussian.isotropic(2, variance=9.0), given=1)
    >>> learner.posterior.sd
    array([1., 3.])
    """
    mean, root = prior.mean.copy(), prior.root.copy()
    mean[:given] = learner.prior.mean[:given]
    root[:given, :given] = learner.prior.root[:given, :given]
    learner.replace_prior(Gaussian.from_root(mean, root))


def check_learner(learner: Learner, schema: Schema) -> None:
    """A ValueError if a learner has not the columns of a schema, or cannot follow it.

    Examples
    --------
    >>> check_learner(FabCost(Gaussian.isotropic(2)), Schema.open())
    Traceback (most recent call last):
    ValueError: the learner has 2 weights but the schema has 1 columns
    """
    weights = learner.posterior.dimension
    if weights != schema.width:
        raise ValueError(
            f"the learner has {weights} weights but the schema has {schema.width} columns"
        )
    if schema.grows and not isinstance(learner, GrowingLearner):
        raise ValueError(
            f"the schema grows but the learner, a {type(learner).__name__}, cannot: "
            "use FabCost, or declare the schema"
        )


def limits_of_state(settings: dict[str, Any], width: int) -> tuple[int | None, int]:
    """``most`` and ``given`` that `Weights.state` tells of.

    Examples
    --------
    >>> limits_of_state({"most_weights": 1000}, width=3)
    (1000, 0)
    """
    most = whole(settings, "most_weights", least=1) if "most_weights" in settings else None
    given = whole(settings, "given_weights") if "given_weights" in settings else 0
    if given > width:
        raise ValueError(f"given_weights is {given} but there are {width} weights")
    return most, given
