r"""The prior of standardised features, in the columns as they are.

Weights :math:`w_j \sim N(0, v_j)` belong to features that are standardised: a number z with
constants (m, s) is :math:`(z - m)/s`, a cross is the product of two such.  Written out, feature j
is :math:`\sum_i L_{ij} x_i` over columns :math:`x_i`, so the weights of the columns are
:math:`\theta = L w`, of root :math:`L \operatorname{diag}(\sqrt{v})`:

* a number adds 1/s to its own column and −m/s to the constant;
* a cross of z and a adds 1/s to z × a and −m/s to a; one of two numbers has four terms.

A weight that m values share stands for the mean of their effects, of variance v/m.  How many will
come is not known when the first does; a feature of which values share, such as a user's id, has
hundreds or thousands, and `SHARED_BY` is the m of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fabcost.features.growth import Constants
from fabcost.features.kinds import Feature, Numeric
from fabcost.features.layout import Block, Cross, Layout, Places
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.prior import Prior

SHARED_BY = 100


class _Factors(NamedTuple):
    """Of each slot of a feature: 1/s, and −m/s; of one that values share: 1/√m, and 0."""

    own: FloatArray
    rest: FloatArray


def prior_of(
    layout: Layout, constants: Mapping[str, Constants], prior: Prior, start: int = 0
) -> Gaussian:
    """The belief about the weights of the columns from ``start`` on, before any impression.

    A number that came at ``start`` or later is taken with the constants 0 and 1: then those
    columns are independent of the ones before, and the prior of all is made of such blocks.

    Examples
    --------
    >>> layout = Layout(bias=True)
    >>> block = layout.add(Numeric("age"))
    >>> wide = prior_of(layout, {"age": Constants(3.0, 2.0)}, Prior(constant=4.0, numbers=1.0))
    >>> wide.root
    array([[ 2. , -1.5],
           [ 0. ,  0.5]])
    >>> prior_of(layout, {}, Prior(numbers=9.0), start=1).root
    array([[3.]])
    """
    root = _Root(layout, prior, start)
    factors = {
        name: _factors(block, constants.get(name), start) for name, block in layout.blocks.items()
    }
    if layout.fair:
        for name, block in layout.blocks.items():
            factors[name].own[block.shared] /= math.sqrt(SHARED_BY)
    for name, block in layout.blocks.items():
        root.add_block(block, factors[name])
    for cross in layout.crosses:
        root.add_cross(cross, factors)
    return Gaussian.from_root(np.zeros(len(root.values)), root.values)


class _Root:
    """Filled entry by entry; those of columns before ``start`` are left out."""

    def __init__(self, layout: Layout, prior: Prior, start: int) -> None:
        self._sd = {name: math.sqrt(getattr(prior, name)) for name in _GROUPS}
        self._start = start
        self._bias = layout.bias
        self.values = np.zeros((len(layout.columns) - start,) * 2)
        if layout.bias and start == 0:
            self.values[0, 0] = self._sd["constant"]

    def add_block(self, block: Block, factors: _Factors) -> None:
        if not block.where.size:
            return
        sd = np.full(block.where.size, self._sd["categories"])
        if isinstance(block.feature, Numeric):
            sd[block.slots[block.feature.name]] = self._sd["numbers"]
        self._put(block.where, block.where, factors.own * sd)
        if self._bias:
            self._put(np.zeros_like(block.where), block.where, factors.rest * sd)

    def add_cross(self, cross: Cross, factors: Mapping[str, _Factors]) -> None:
        first, second = cross.first, cross.second
        if not cross.where.size:
            return
        a, b = factors[first.feature.name], factors[second.feature.name]
        sd = self._sd["crosses"]
        self._put(cross.where, cross.where, np.outer(a.own, b.own) * sd)
        if not self._bias:
            return
        shape = cross.where.shape
        of_second = np.broadcast_to(second.where[None, :], shape)
        of_first = np.broadcast_to(first.where[:, None], shape)
        self._put(of_second, cross.where, np.outer(a.rest, b.own) * sd)
        self._put(of_first, cross.where, np.outer(a.own, b.rest) * sd)
        self._put(np.zeros(shape, dtype=np.intp), cross.where, np.outer(a.rest, b.rest) * sd)

    def _put(self, rows: Places, columns: Places, values: FloatArray) -> None:
        wanted = (values != 0.0) & (rows >= self._start) & (columns >= self._start)
        self.values[rows[wanted] - self._start, columns[wanted] - self._start] = values[wanted]


_GROUPS = ("constant", "numbers", "categories", "crosses")


def _factors(block: Block, constants: Constants | None, start: int) -> _Factors:
    own, rest = np.ones(block.where.size), np.zeros(block.where.size)
    slot = block.slots.get(block.feature.name)
    if constants is not None and slot is not None and block.where[slot] >= start > 0:
        constants = None
    if constants is not None and slot is not None:
        own[slot], rest[slot] = 1.0 / constants.scale, -constants.mean / constants.scale
    return _Factors(own, rest)


def translation(layout: Layout, features: Mapping[str, Feature]) -> FloatArray:
    r"""By what to multiply rows from the right, for numbers with the means and scales of others.

    A number :math:`z = (v - m)/s` is :math:`(v - m')/s'` there, that is
    :math:`(z - \bar m)/\bar s` with :math:`\bar m = (m' - m)/s` and :math:`\bar s = s'/s`, as if
    these were its constants.  It is exact as far as numbers are not bounded; columns keep their
    names and order.

    Examples
    --------
    >>> layout = Layout(bias=True)
    >>> block = layout.add(Numeric("age", mean=3.0, scale=2.0))
    >>> translation(layout, {"age": Numeric("age", mean=5.0, scale=4.0)})
    array([[ 1. , -0.5],
           [ 0. ,  0.5]])
    """
    constants = {}
    for name, block in layout.blocks.items():
        ours, theirs = block.feature, features.get(name)
        if isinstance(ours, Numeric) and isinstance(theirs, Numeric):
            mean, scale = (theirs.mean - ours.mean) / ours.scale, theirs.scale / ours.scale
            constants[name] = Constants(mean, scale)
    return prior_of(layout, constants, Prior.same(1.0)).root
