"""How soon a learner forgets, and at which impressions it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
from fabcost.tilted import Moments, is_exact

Unit = Literal["impressions", "seconds"]

SHORTEST, LONGEST = 1.0, 1e15
#: Half-lives between two steps: at least the first; at most the second, if impressions are few.
STEP, LONGEST_STEP = 1 / 16, 1 / 4
_LOOK_AHEAD = 4096


@dataclass(frozen=True)
class HalfLife:
    r"""How soon a learner forgets: what an impression says counts half after ``length``.

    The precision of every site is multiplied by :math:`\gamma = 2^{-\text{age}/\text{length}}` and
    the mean stays, so a belief that is not renewed grows as wide as its prior around where it is,
    and one that is has the weight of at most :math:`1.44\,\text{length}` impressions.  It is done
    in steps of a sixteenth of a half-life or more, since each is a new factorisation.

    Attributes
    ----------
    length
        At least 1.
    unit
        "impressions" that were learnt, or "seconds" of the times that come with them; these may
        be of any unit that ``length`` has too.

    Examples
    --------
    >>> HalfLife(5_000), HalfLife(7 * 86_400, "seconds").unit
    (HalfLife(length=5000.0, unit='impressions'), 'seconds')
    """

    length: float
    unit: Unit = "impressions"

    def __post_init__(self) -> None:
        if not SHORTEST <= self.length <= LONGEST:
            raise ValueError(
                f"the half-life is {self.length} but must lie between {SHORTEST:g} and {LONGEST:g}"
            )
        if self.unit not in ("impressions", "seconds"):
            raise ValueError(f"unit is {self.unit!r} but must be 'impressions' or 'seconds'")
        object.__setattr__(self, "length", float(self.length))


def as_half_life(given: HalfLife | float | None) -> HalfLife | None:
    """A `HalfLife` as it is, or a number of impressions; None for no forgetting.

    Examples
    --------
    >>> as_half_life(100)
    HalfLife(length=100.0, unit='impressions')
    """
    return given if given is None or isinstance(given, HalfLife) else HalfLife(given)


class Ageing:
    """When a learner forgets: it is a function of what came in which order, and of nothing else.

    Attributes
    ----------
    half_life
        How soon.
    reached
        Up to where on the clock the belief has aged; None before the first impression.
    since
        Impressions that had been seen then.
    few
        Fewer than so many since are not worth a step, unless it is long.

    Examples
    --------
    >>> ageing = Ageing(HalfLife(160), few=1)
    >>> [part.stop for part in ageing.parts(seen=0, many=25, at=None, age=lambda halvings: 1)]
    [10, 20, 25]
    """

    def __init__(self, half_life: HalfLife, few: int) -> None:
        self.half_life = half_life
        self.reached: float | None = None
        self.since = 0
        self.few = few

    @classmethod
    def of(cls, half_life: HalfLife | None, weights: int, moments: Moments) -> Ageing | None:
        """For a learner of so many weights, if it forgets."""
        if half_life is None:
            return None
        if not is_exact(moments):
            raise ValueError(f"moments is {moments!r} but a half-life needs 'exact'")
        return cls(half_life, weights // 2)

    def parts(
        self, seen: int, many: int, at: npt.ArrayLike | None, age: Callable[[float], int]
    ) -> Iterator[slice]:
        """The next ``many`` impressions in parts, between which the belief is let ``age``.

        That is told how many half-lives to age, and answers what is then ``few``.  What is wrong
        with the times is said before anything changes.
        """
        times = self.clock(seen, many, at)
        if self.reached is None and many:
            self.reached = float(times[0])
        done = 0
        while done < many:
            ahead = self._before_step(seen + done, times[done:])
            if ahead:
                yield slice(done, done + ahead)
                done += ahead
            else:
                self.few = age(float(self._steps(times[done : done + 1])[0]))
                self.reached, self.since = float(times[done]), seen + done

    def clock(self, seen: int, many: int, at: npt.ArrayLike | None) -> FloatArray:
        """The times of the next ``many`` impressions, checked; or their numbers."""
        if self.half_life.unit == "impressions":
            return np.arange(seen, seen + many, dtype=np.float64)
        if at is None:
            raise ValueError("at is None but a half-life in seconds needs the time of impressions")
        times = np.broadcast_to(np.asarray(at, dtype=np.float64), (many,))
        for wrong in times[~(np.abs(times) <= LONGEST)]:
            raise ValueError(f"at is {wrong} but must be a finite number of seconds")
        return times

    def _before_step(self, seen: int, times: FloatArray) -> int:
        """How many impressions come before one at which it is time to age."""
        for start in range(0, times.size, _LOOK_AHEAD):
            some = times[start : start + _LOOK_AHEAD]
            steps = self._steps(some)
            since = seen - self.since + start + np.arange(some.size)
            due = (steps >= STEP) & ((since >= self.few) | (steps >= LONGEST_STEP))
            if due.any():
                return start + int(due.argmax())
        return times.size

    def _steps(self, times: FloatArray) -> FloatArray:
        return np.asarray((times - (self.reached or 0.0)) / self.half_life.length)

    def state(self) -> dict[str, Any]:
        """Plain JSON, for `fabcost.inference.saved.checks.ageing_of`."""
        of = {"length": self.half_life.length, "unit": self.half_life.unit, "mean": "stays"}
        return {**of, "reached": self.reached, "since": self.since, "few": self.few}
