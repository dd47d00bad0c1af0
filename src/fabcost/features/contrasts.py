"""Contrasts: what the weights say of levels and numbers beside each other, as rows over columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fabcost.features.growth import Constants
from fabcost.features.kinds import Boolean, Numeric
from fabcost.features.layout import Block, Layout
from fabcost.impressions import FloatArray


class Contrast(NamedTuple):
    """A level beside the mean of its feature's levels, a number one ``step`` larger, or true.

    The ``row`` times the weights is what that adds to the log-odds where all other features are as
    usual: numbers at their mean, levels in equal shares.

    Examples
    --------
    >>> Contrast("age", "", 2.0, np.array([0.0, 1.0])).level
    ''
    """

    feature: str
    level: str
    step: float
    row: FloatArray


class Pair(NamedTuple):
    """A contrast of an item's feature in one level of the context, and how far it is ``apart``.

    Both are rows; the latter is beside the mean over all levels of that feature of the context.

    Examples
    --------
    >>> Pair("device", "tv", Contrast("age", "", 2.0, np.zeros(1)), np.zeros(1)).context
    'device'
    """

    context: str
    within: str
    contrast: Contrast
    apart: FloatArray


class Contrasts:
    """Those of all features of a layout, with the constants of numbers that scale themselves.

    Examples
    --------
    >>> from fabcost.features.kinds import Categorical
    >>> layout = Layout(bias=True)
    >>> make = layout.add(Categorical("make", levels=("ford", "kia")))
    >>> [found.row for found in Contrasts(layout, {}).of(make)]
    [array([ 0. ,  0.5, -0.5]), array([ 0. , -0.5,  0.5])]
    """

    def __init__(self, layout: Layout, constants: Mapping[str, Constants]) -> None:
        self._width = len(layout.columns)
        self._layout = layout
        self._constants = constants

    def by_role(self, role: str) -> list[Contrast]:
        """Those of all features of the context, or of the item."""
        blocks = self._layout.blocks.values()
        return [each for block in blocks if block.feature.role == role for each in self.of(block)]

    def pairs(self) -> Iterator[Pair]:
        """Those of items' features within each level of a feature of the context."""
        for cross in self._layout.crosses:
            context, item = cross.first, cross.second
            if context.feature.role == "item":
                context, item = item, context
            if (context.feature.role, item.feature.role) == ("context", "item"):
                yield from self._within(context, item)

    def of(self, block: Block, pinned: Mapping[str, int] | None = None) -> list[Contrast]:
        """Those of one feature; features that are ``pinned`` have the level of that slot."""
        feature, levels = block.feature, _levels(block)
        if isinstance(feature, Numeric | Boolean):
            slot = block.slots.get(feature.name)
            scale = self._constants.get(feature.name, Constants()).scale
            step = scale * getattr(feature, "scale", 0.0)
            rows = [] if slot is None else [scale * self._effect(block, slot, pinned or {})]
            return [Contrast(feature.name, "", step, row) for row in rows]
        if len(levels) < 2:
            return []
        effects = np.array([self._effect(block, slot, pinned or {}) for slot in levels.values()])
        rows, zeros = effects - effects.mean(axis=0), [0.0] * len(levels)
        return [Contrast(feature.name, *each) for each in zip(levels, zeros, rows, strict=True)]

    def _within(self, context: Block, item: Block) -> Iterator[Pair]:
        levels = _levels(context)
        found = [self.of(item, {context.feature.name: slot}) for slot in levels.values()]
        if len(levels) < 2 or not found[0]:
            return
        mean = np.mean([[each.row for each in contrasts] for contrasts in found], axis=0)
        for level, contrasts in zip(levels, found, strict=True):
            for contrast, usual in zip(contrasts, mean, strict=True):
                yield Pair(context.feature.name, level, contrast, contrast.row - usual)

    def _effect(self, block: Block, slot: int, pinned: Mapping[str, int]) -> FloatArray:
        """What the weights of a slot add, those of its crosses included."""
        row = np.zeros(self._width)
        row[block.where[slot]] = 1.0
        for cross in block.crosses:
            first = cross.first is block
            other = cross.second if first else cross.first
            places = cross.where[slot] if first else cross.where[:, slot]
            row[places] += self._usual(other, pinned)
        return row

    def _usual(self, block: Block, pinned: Mapping[str, int]) -> FloatArray:
        """What a feature's slots have on average."""
        name, usual = block.feature.name, np.zeros(len(block.slots))
        if name in pinned:
            usual[pinned[name]] = 1.0
        elif isinstance(block.feature, Numeric):
            usual[[block.slots[name]]] = self._constants.get(name, Constants()).mean
        elif levels := _levels(block):
            usual[list(levels.values())] = 1.0 / len(levels)
        return usual


def _levels(block: Block) -> dict[str, int]:
    mark = f"{block.feature.name}="
    return {
        label.removeprefix(mark): slot
        for label, slot in block.slots.items()
        if label.startswith(mark)
    }
