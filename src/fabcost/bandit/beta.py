"""The non-contextual bandit: an independent belief about the click rate of each item."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Choice, check_mixing
from fabcost.bandit.rules import wins
from fabcost.impressions import FloatArray, as_label

_FIRST_CAPACITY = 64
_DRAWS_AT_ONCE = 2**20


class Counts(NamedTuple):
    """How often an item was shown and clicked, and shown and not clicked."""

    clicks: int
    misses: int


class BetaBernoulli:
    r"""Thompson sampling with a Beta belief for each item (the paper's non-contextual bandit).

    The click rate of an item with c clicks and m misses is
    :math:`\theta \sim \mathrm{Beta}(a + c,\, b + m)`, whatever became of the others.  An item
    that was never shown is at the prior and takes no memory.

    Parameters
    ----------
    prior
        The pair (a, b), both above zero.
    seed
        Of the random stream: a seed, or a generator to draw from.

    Examples
    --------
    >>> bandit = BetaBernoulli(prior=(1.0, 1.0), seed=7)
    >>> adverts = ["ad-1", "ad-2"]
    >>> choice = bandit.choose(adverts)
    >>> bandit.learn(adverts[choice.index], clicked=True)
    >>> bandit.counts(adverts[choice.index])
    Counts(clicks=1, misses=0)
    """

    def __init__(
        self, prior: tuple[float, float] = (1.0, 1.0), *, seed: int | np.random.Generator = 0
    ) -> None:
        self.prior = _checked_prior(prior)
        self.rng = np.random.default_rng(seed)
        self._slots: dict[Hashable, int] = {}
        # Slot 0 stays at zero: it belongs to every item that was never shown.
        self._counts = np.zeros((_FIRST_CAPACITY, 2), dtype=np.int64)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def items(self) -> tuple[Hashable, ...]:
        """The items that were learnt about, in the order of their first appearance."""
        return tuple(self._slots)

    def counts(self, item: Hashable) -> Counts:
        """What was seen of an item; zeros if nothing was."""
        clicks, misses = self._counts[self._slot(item)].tolist()
        return Counts(clicks, misses)

    def mean(self, item: Hashable) -> float:
        """The expected click rate, (a + clicks) / (a + b + shown)."""
        clicks, misses = self.counts(item)
        a, b = self.prior
        return (a + clicks) / (a + b + clicks + misses)

    def choose(
        self, items: Sequence[Hashable], *, top_k: int = 1, exclude: Collection[Hashable] = ()
    ) -> Choice:
        """Choose the item with the largest of one draw each, and rank the best ``top_k``.

        Ids in ``exclude`` that are not among ``items`` are ignored.  Equal draws are put in
        random order.
        """
        if top_k < 1:
            raise ValueError(f"top_k is {top_k} but must be at least 1")
        slots, allowed = self._checked(items, exclude)
        scores = np.full(len(items), -np.inf)
        scores[allowed] = self.rng.beta(*self._parameters(slots[allowed]))
        order = np.lexsort((self.rng.random(scores.size), -scores))
        ranking = order[: min(top_k, allowed.size)]
        return Choice(int(ranking[0]), ranking, scores)

    def propensities(
        self,
        items: Sequence[Hashable],
        *,
        draws: int = 256,
        floor: float = 0.0,
        exclude: Collection[Hashable] = (),
    ) -> FloatArray:
        r"""The probability of each item to be chosen.

        :math:`p = (1-f)\,\hat p + f/K` with :math:`\hat p` the win frequencies over ``draws``
        draws of all items and f the ``floor``.

        Examples
        --------
        >>> BetaBernoulli().propensities(["a", "b", "c"], floor=1.0, exclude=["b"])
        array([0.5, 0. , 0.5])
        """
        check_mixing(draws, floor)
        slots, allowed = self._checked(items, exclude)
        won = self._wins(slots[allowed], draws)
        shares = np.zeros(len(items))
        shares[allowed] = (1.0 - floor) * won / draws + floor / allowed.size
        return np.asarray(shares / shares.sum())

    def learn(self, item: Hashable, clicked: Any) -> None:
        """Learn what became of the item that was shown."""
        missed = as_label(clicked) < 0
        slot = self._slot(item)
        if slot == 0:
            slot = len(self._slots) + 1
            self._make_room(slot)
            self._slots[item] = slot
        self._counts[slot, int(missed)] += 1

    def restore(self, items: Sequence[Hashable], counts: npt.NDArray[np.int64]) -> None:
        """Go on from `counts` of these items, a row for each."""
        self._slots = {item: slot for slot, item in enumerate(items, start=1)}
        self._counts = np.zeros((len(items) + _FIRST_CAPACITY, 2), dtype=np.int64)
        self._counts[1 : len(items) + 1] = counts

    def _slot(self, item: Hashable) -> int:
        try:
            return self._slots.get(item, 0)
        except TypeError as error:
            raise ValueError(f"an item is {item!r} but must be hashable") from error

    def _checked(
        self, items: Sequence[Hashable], exclude: Collection[Hashable]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The slot of each item, and the positions that are not excluded."""
        if isinstance(items, str | bytes):
            raise ValueError(f"items are {items!r} but must be a sequence of ids")
        if len(items) == 0:
            raise ValueError("items are empty but there must be at least one")
        slots = np.array([self._slot(item) for item in items], dtype=np.intp)
        for item in exclude:
            self._slot(item)
        if len(set(items)) < len(items):
            raise ValueError(f"items are {len(items)} but only {len(set(items))} are different")
        unwanted = set(exclude)
        allowed = np.flatnonzero([item not in unwanted for item in items])
        if allowed.size == 0:
            raise ValueError(f"all {len(items)} items are excluded but one must be left")
        return slots, allowed

    def _parameters(self, slots: npt.NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        clicks, misses = self._counts[slots].T
        return self.prior[0] + clicks, self.prior[1] + misses

    def _wins(self, slots: npt.NDArray[np.intp], draws: int) -> FloatArray:
        a, b = self._parameters(slots)
        at_once = max(1, _DRAWS_AT_ONCE // slots.size)
        won = np.zeros(slots.size)
        for start in range(0, draws, at_once):
            many = min(at_once, draws - start)
            won += wins(self.rng.beta(a, b, size=(many, slots.size)))
        return won

    def _make_room(self, slot: int) -> None:
        """Double the table when it is full, so that growth costs O(1) for each item."""
        if slot == len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])


def _checked_prior(prior: tuple[float, float]) -> tuple[float, float]:
    try:
        a, b = (float(each) for each in prior)
    except (TypeError, ValueError) as error:
        raise ValueError(f"prior is {prior!r} but must be two numbers") from error
    if not (0.0 < a < math.inf and 0.0 < b < math.inf):
        raise ValueError(f"prior is {prior!r} but both numbers must be finite and above zero")
    return a, b
