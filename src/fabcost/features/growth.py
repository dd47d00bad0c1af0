"""How a schema grows: features declared and met, labels, and the constants of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabcost.features import document
from fabcost.features.feature import Feature, Term
from fabcost.features.items import Placed
from fabcost.features.kinds import Numeric
from fabcost.features.layout import Layout, Step
from fabcost.features.reader import Openness
from fabcost.features.scales import Scales, is_revision


class ColumnGrowth:
    """The columns of a schema and what they came from, step by step.

    Examples
    --------
    >>> growth = ColumnGrowth(None, bias=True)
    >>> growth.declare(Numeric("age"), None)
    >>> growth.layout.columns
    ['bias', 'age']
    """

    def __init__(self, openness: Openness | None, *, bias: bool) -> None:
        self.layout = Layout(bias=bias)
        self.layout.fair = openness is not None and openness.scaled
        self.scales = Scales(centred=bias)
        self.declared: list[Feature] = []
        self.crosses: list[tuple[str, str]] = []
        self._crosses_all = openness is not None and openness.crosses

    def declare(self, feature: Feature, most: int | None) -> None:
        """A feature that is there from the start, if there is room for it."""
        if not isinstance(feature, Feature):
            raise ValueError(f"a feature is {feature!r} but must be one of the feature kinds")
        self.layout.check_new(feature)
        self.layout.require(feature.size, most)
        self.layout.add(feature)
        self.declared.append(feature)

    def cross(self, pair: Sequence[str], most: int | None) -> None:
        """A declared cross, if there is room for it."""
        names = tuple(pair)
        blocks = self.layout.blocks
        if len(names) != 2 or names[0] == names[1] or not blocks.keys() >= set(names):
            known = ", ".join(map(repr, blocks)) or "none"
            raise ValueError(f"a cross is {pair!r} but must be two different names among {known}")
        first, second = blocks[names[0]], blocks[names[1]]
        self.layout.require(first.size.crossed(second.size), most)
        self.layout.cross(first, second)
        self.crosses.append((names[0], names[1]))

    def meet(self, feature: Feature) -> None:
        """A feature that came by itself: without columns, if there is no room for them."""
        columns = self.layout.has_room(feature, crossed=self._crosses_all)
        self.replay(document.as_step(feature, columns=columns), None)

    def replay(self, step: Step, most: int | None) -> None:
        """Grow by a step, be it new or an earlier schema's."""
        if is_revision(step):
            self.scales.revise(step)  # type: ignore[arg-type]
        elif isinstance(step, dict):
            self._add_met(*document.of_step(step), most)
        else:
            self.layout.regrow(step[0], step[1], most)
        self.layout.grown.append(step)

    def see(self, placed: Mapping[str, Placed]) -> None:
        """Count the numbers of records that have been placed, and revise what has moved."""
        for name, (slots, numbers) in placed.items():
            if self.scales.follows(name):
                self.scales.take(name, numbers[slots >= 0].tolist())
        self._revise()

    def see_context(self, terms: Sequence[Term]) -> None:
        """`see` for one record of the context."""
        for block, term in zip(self.layout.by_role["context"], terms, strict=True):
            if term.label and self.scales.follows(block.feature.name):
                self.scales.take(block.feature.name, (term.number,))
        self._revise()

    def _revise(self) -> None:
        for step in self.scales.revisions():
            self.replay(step, None)

    def _add_met(self, feature: Feature, columns: bool, most: int | None) -> None:
        """A feature that came by itself, with its crosses if it has columns."""
        self.layout.check_new(feature)
        if not columns:
            self.layout.know(feature)
            return
        self.layout.require(self.layout.size_of(feature, crossed=self._crosses_all), most)
        self.layout.meet(feature, crossed=self._crosses_all)
        if isinstance(feature, Numeric) and feature.bound is not None:
            self.scales.know(feature.name)

    def written(self, openness: Openness | None) -> dict[str, Any]:
        """The document of the schema."""
        grown, seen = self.layout.grown, self.scales.state()
        bias = self.layout.bias
        return document.write(self.declared, self.crosses, bias, openness, grown, seen)
