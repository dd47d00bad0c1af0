"""A prior with information from elsewhere, of which outcomes say how much to believe."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.inference.ep import log_mass, sweep
from fabcost.inference.history import Carried, History, Sites, joined
from fabcost.inference.inheritance.information import Information, InheritedEffects
from fabcost.inference.own.directory import NOBODY, NOT_OWNED, Owned
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.schedule import Portion

#: Among which the evidence chooses.
DISCOUNTS = (0.0, 0.01, 0.1, 1.0)
#: The one before there is any.
FIRST = 0.1
#: Impressions between two looks at the evidence, as a share of those so far, and after the last.
_GROWTH, LOOKED = 1.25, 400
_SWEEPS, _TOLERANCE = 3, 1e-3
#: Log odds that nothing of elsewhere holds here, at one outcome and more for each e-fold of them.
DOUBT = (-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Inheritance:
    r"""A prior times information from another learner to a power, the discount.

    A discount δ is a power prior (Ibrahim and Chen, 2000): δ n impressions of elsewhere count as
    much as n of here.  If it is not given, it is the one of `DISCOUNTS` under which the outcomes
    so far were most probable, with a `doubt`, anew until there are `LOOKED` of them.  A history
    from which items were forgotten cannot be asked: the discount then stays.

    Attributes
    ----------
    base
        The prior below.
    information
        Of the other learner, in the columns of this one.
    discount
        In force.
    look
        The number of impressions from which on the evidence is asked again; None for never.
    effects
        Of items that the other learner knew; None if they have none of their own.

    Examples
    --------
    >>> told = Information.gained(Gaussian.isotropic(1), Gaussian([2.0], [[0.1]]))
    >>> Inheritance.given(Gaussian.isotropic(1), told, 1.0).prior
    Gaussian(mean=array([2.]), sd=array([0.31622777]))
    """

    base: Gaussian
    information: Information
    discount: float = FIRST
    look: int | None = 1
    effects: InheritedEffects | None = None

    @classmethod
    def given(
        cls,
        base: Gaussian,
        information: Information,
        discount: float | None,
        effects: InheritedEffects | None = None,
    ) -> Inheritance:
        """With a discount that stays, or None for one that the outcomes decide."""
        if discount is None:
            return cls(base, information, effects=effects)
        if not 0.0 < discount <= 1.0:
            raise ValueError(f"discount is {discount} but must be above 0 and at most 1, or None")
        return cls(base, information, float(discount), None, effects)

    @property
    def dimension(self) -> int:
        """D, the number of weights."""
        return self.base.dimension

    @property
    def prior(self) -> Gaussian:
        """The belief of the weights before the first impression."""
        return self._prior(self.discount)

    def _prior(self, discount: float) -> Gaussian:
        prior = self.information.on(self.base, discount)
        if self.effects is None or discount == 0.0:
            return prior
        return self.effects.coupling(discount, self.dimension).on(prior, 1.0)

    def enter(self, own: OwnEffects | None) -> None:
        """Give the items of elsewhere their slots, in a table that knows none yet."""
        if self.effects is None:
            return
        if own is None or own.variance != self.effects.variance:
            given = 0.0 if own is None else own.variance
            raise ValueError(
                f"own_variance is {given} but what is inherited of items is for "
                f"{self.effects.variance}"
            )
        own.enter(self.effects.keys)
        self.begin(own)

    def begin(self, own: OwnEffects) -> None:
        """Let all items be as they are before the first impression."""
        own.clear()
        if self.effects is not None:
            self.effects.put(own, self.discount)

    def on(self, base: Gaussian) -> Inheritance:
        """With another prior below."""
        return replace(self, base=base)

    def widened(self, fresh: Gaussian) -> Inheritance:
        """With more weights, of which nothing is known from elsewhere."""
        information = self.information.widened(fresh.dimension)
        return replace(self, base=joined(self.base, fresh), information=information)

    def weighed(self, seen: int, history: History, own: OwnEffects | None) -> Inheritance:
        """With the discount that the outcomes speak for, if it is time to look."""
        if self.look is None or seen < self.look or history.count != seen:
            return self
        X, y, _ = history.kept()
        items = history.items_between(0, y.size)
        keys = None
        if own is not None and items is not None:
            known = own.keys
            keys = [None if item == NOBODY else known[item] for item in items.tolist()]
        return self.chosen(seen, Portion(X, y, keys, history.counts_between(0, y.size)), own)

    def chosen(self, seen: int, outcomes: Portion, own: OwnEffects | None) -> Inheritance:
        """With the discount that all outcomes so far speak for."""
        found = [replace(self, discount=each)._evidence(outcomes, own) for each in DISCOUNTS]
        found[0] += doubt(seen)
        return replace(self, discount=DISCOUNTS[int(np.argmax(found))], look=next_look(seen))

    def _evidence(self, outcomes: Portion, known: OwnEffects | None) -> float:
        """log p(outcomes), by a few sweeps of EP."""
        prior = self.prior
        X, y = outcomes.rows, outcomes.labels
        belief, sites = Carried.of(prior), Sites.flat(y.size)
        own = None if known is None else OwnEffects(prior.dimension, known.variance)
        owned: Owned | tuple[()] = NOT_OWNED
        if own is not None and outcomes.keys is not None:
            slots = own.enter(outcomes.keys)
            self.begin(own)
            owned = own.written(slots)
        first = None if own is None or self.effects is None else own.copy()
        swept = sweep(
            belief,
            X,
            y,
            sites,
            exact=True,
            tolerance=_TOLERANCE,
            max_sweeps=_SWEEPS,
            owned=owned,
            counts=outcomes.counts,
        )
        posterior = belief.gaussian(keep=True)
        return swept.log_factors + log_mass(prior, posterior, X, sites, own, owned, first)


def next_look(seen: int) -> int | None:
    """When the evidence is asked after a look at so many impressions; None for never again.

    Examples
    --------
    >>> next_look(100), next_look(LOOKED)
    (125, None)
    """
    return math.ceil(_GROWTH * seen) if seen < LOOKED else None


def doubt(seen: int) -> float:
    """Log odds that nothing of elsewhere holds here, but for what so many outcomes say of it.

    They grow: as long as next to nothing was learnt here, there is little to lose by a belief that
    is wrong and most to gain by one that is right.

    Examples
    --------
    >>> doubt(1), round(doubt(55), 3)
    (-1.0, 3.007)
    """
    first, growth = DOUBT
    # Rounded: not every machine's logarithm has the same last bit.
    return first + growth * round(math.log(seen), 9)


def put_below(
    inheritance: Inheritance | None, prior: Gaussian | Inheritance
) -> tuple[Inheritance | None, Gaussian]:
    """What is inherited, if anything, on another prior, and the belief that both make.

    Examples
    --------
    >>> put_below(None, Gaussian.isotropic(1))[0] is None
    True
    """
    if isinstance(prior, Inheritance):
        return prior, prior.prior
    if inheritance is None:
        return None, prior
    return put_below(None, inheritance.on(prior))
