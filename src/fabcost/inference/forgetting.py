"""Half-lives: when a learner ages, and its belief, sites and items' effects some of them later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.history import Carried, History
from fabcost.inference.own.directory import Key
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.schedule import Portion
from fabcost.tilted import Moments, is_exact

if TYPE_CHECKING:
    from fabcost.inference.online import FabCost


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


#: Beyond so many half-lives nothing is left: the belief is as wide as the prior.
ALL_OF_IT = 30.0
#: What remains of an impression, or is known of an item, that is no longer kept by itself.  EP of
#: older ones too would be nearer to the posterior, and slower to follow a world that has changed.
LEAST_KEPT = 0.95
LEAST_KNOWN = 1e-3


def parts_of(learner: FabCost, ageing: Ageing, batch: Portion) -> Iterable[Portion]:
    """Parts of a batch, between which a learner ages.

    Examples
    --------
    >>> from fabcost import FabCost, HalfLife
    >>> learner, batch = FabCost(Gaussian.isotropic(1)), Portion(np.ones((3, 1)), np.ones(3))
    >>> [part.size for part in parts_of(learner, Ageing(HalfLife(32.0), few=1), batch)]
    [2, 1]
    """
    spans = ageing.parts(learner.seen, batch.size, batch.at, partial(_age, learner))
    return map(batch.part, spans)


def _age(learner: FabCost, halvings: float) -> int:
    """Forget, for so many half-lives; a number of visits that cost more than that."""
    own = learner.own
    age(learner._belief, learner.prior, learner._history, own, halvings)
    learner._posterior = None
    return learner.prior.dimension // 2 + (0 if own is None else len(own) // 8)


def age(
    belief: Carried, prior: Gaussian, history: History, own: OwnEffects | None, halvings: float
) -> None:
    """Let a belief, its sites and the items' effects age by so many half-lives, in place.

    Precision goes back towards the prior's, and the mean stays: it is the best guess there is.
    Impressions of which little is left are no longer kept; what is left of them ages on with the
    belief.  Items of which nothing else is kept, and little is known, are integrated out.

    Examples
    --------
    >>> prior = Gaussian.isotropic(1, variance=4.0)
    >>> belief = Carried.of(Gaussian([3.0], [[1.0]]))
    >>> age(belief, prior, History(1, None), None, halvings=1.0)
    >>> belief.mean.round(6), round(1.0 / belief.root[0, 0] ** 2, 6)
    (array([3.]), np.float64(0.625))
    """
    kept = 0.0 if halvings > ALL_OF_IT else float(kernels.half_power(halvings))
    history.fade(kept, LEAST_KEPT)
    if kept == 0.0:
        _begin_again(belief, prior, own)
    elif own is None:
        kernels.age(belief.root, prior.triangle, kept)
    else:
        items = (own.table, len(own.keys), 1.0 / own.variance)
        kernels.own_age(*belief, prior.triangle, kept, *items)
        own.note_all()
    if own is not None:
        own.forget(_hardly_known(own, history))


def _begin_again(belief: Carried, prior: Gaussian, own: OwnEffects | None) -> None:
    belief.root[:, : prior.dimension] = prior.root
    if own is not None:
        own.clear()


def _hardly_known(own: OwnEffects, history: History) -> list[Key]:
    known = np.abs(own.rows[:, 0] * own.variance - 1.0) > LEAST_KNOWN
    slots = history.items_between(0, history.count)
    if slots is not None:
        known[slots[slots >= 0]] = True
    pairs = zip(own.keys, known.tolist(), strict=True)
    return [key for key, is_known in pairs if key is not None and not is_known]
