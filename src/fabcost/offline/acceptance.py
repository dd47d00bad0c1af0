"""Which rounds of a log a policy would have had, too: by their weights, or by its own choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray, Tally

BoolArray = npt.NDArray[np.bool_]

#: A bound may be the same quotient as a weight, calculated otherwise.
_ROUNDING = 1e-9


class LoggedRound(NamedTuple):
    """One decision of the log: the rows to choose from, what was chosen, and what came of it."""

    rows: FloatArray
    action: int
    reward: float
    propensity: float
    items: Sequence[str] | None = None
    weight: float = 1.0  # how much it counts for who learns from it
    # What a click on each row is worth and what showing it costs, if rules are to know.
    values: FloatArray | None = None
    costs: FloatArray | None = None


def accepted(w: FloatArray, rng: np.random.Generator, largest: float | None = None) -> BoolArray:
    """Which rounds of weights ``w`` are kept, each with a probability in proportion to its weight.

    Examples
    --------
    >>> accepted(np.array([2.0, 0.0]), np.random.default_rng(0))
    array([ True, False])
    """
    most = float(w.max()) if largest is None else _bound(w, largest)
    return rng.random(w.size) * most < w


def agreed(
    bandit: Bandit,
    rounds: Iterable[LoggedRound],
    *,
    least_propensity: float,
    rng: np.random.Generator,
) -> Iterator[tuple[float, bool]]:
    """The reward of each round, and whether `learning_replay` keeps it and learns from it.

    Examples
    --------
    >>> import fabcost
    >>> bandit = Bandit(fabcost.FabCost(fabcost.Gaussian.isotropic(1)), seed=0)
    >>> log = [LoggedRound(np.array([[1.0]]), 0, 1.0, 0.5)] * 2
    >>> list(agreed(bandit, log, least_propensity=0.5, rng=np.random.default_rng(0)))
    [(1.0, True), (1.0, True)]
    """
    for logged in rounds:
        if not 0.0 < least_propensity <= logged.propensity:
            raise ValueError(
                f"least_propensity is {least_propensity} but must be above zero and at most "
                f"every propensity of the log, one of which is {logged.propensity}"
            )
        rows, place = logged.rows, logged.action
        choice = bandit.choose(rows, items=logged.items, values=logged.values, costs=logged.costs)
        is_kept = choice.index == place and rng.random() * logged.propensity < least_propensity
        if is_kept:
            item = None if logged.items is None else logged.items[place]
            came = logged.reward if logged.reward in (0.0, 1.0) else Tally(logged.reward, 1.0)
            bandit.learn(rows[place], came, item, weight=logged.weight)
        yield logged.reward, is_kept


def _bound(w: FloatArray, largest: float) -> float:
    if not 0.0 < largest < np.inf:
        raise ValueError(f"largest_weight is {largest} but must be above zero and finite")
    for i in np.flatnonzero(w > largest * (1.0 + _ROUNDING))[:1]:
        raise ValueError(
            f"weight[{i}] is {w[i]} but largest_weight is {largest}, which no weight may exceed"
        )
    return largest
