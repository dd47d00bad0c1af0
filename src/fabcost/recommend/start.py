"""What a new recommender has from another: columns, and what is known of their weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fabcost.bandit.bandit import Learner
from fabcost.features.document import as_step
from fabcost.features.kinds import Text
from fabcost.features.layout import Step
from fabcost.features.prior import translation
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.inheritance.effects import InheritedEffects
from fabcost.inference.inheritance.information import Information, marginal
from fabcost.inference.inheritance.inheritance import Inheritance
from fabcost.inference.online import FabCost


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
        schema.regrow(self._steps(schema), most_columns=None)

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
            raise ValueError(f"the learner to start from is a {kind} but must be FabCost")
        theirs, names = frozenset(schema.columns), self.schema.columns
        both = [place for place, name in enumerate(names) if name in theirs]
        told, effects = _learnt(learner, both), None
        if learner.own is not None and items:
            effects = InheritedEffects.of(learner.own, learner.posterior, both, items)
            placed = self._placed(effects.rows[:, 2:], both, schema)
            effects = effects._replace(rows=np.column_stack([effects.rows[:, :2], placed]))
        told = told._replace(rows=self._placed(told.rows, both, schema))
        return Inheritance.given(base, told, self.discount, effects)

    def _placed(self, rows: FloatArray, both: list[int], schema: Schema) -> FloatArray:
        """Rows over columns that both have, in the columns of a schema."""
        ours = {name: place for place, name in enumerate(schema.columns)}
        names = self.schema.columns
        wide = np.zeros((len(rows), len(names)))
        wide[:, both] = rows
        translated = wide @ translation(self.schema._layout, schema.features)
        placed = np.zeros((len(rows), schema.width))
        placed[:, [ours[names[place]] for place in both]] = translated[:, both]
        return placed


def _learnt(learner: FabCost, places: list[int]) -> Information:
    if not places:
        raise ValueError("no column of the schema has the name of one of those to start from")
    before = learner.prior if learner.inheritance is None else learner.inheritance.base
    return Information.gained(marginal(before, places), marginal(learner.posterior, places))
