"""The driver of rounds: sums in the order of the blocks, damping, convergence, checkpoints."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.inference.own.directory import OwnChanges
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.result import Fit
from fabcost.offline.fit import blocks
from fabcost.offline.fit.blocks import RowBlock
from fabcost.offline.fit.folders import Folder
from fabcost.offline.fit.rounds import (
    BlockAnswer,
    Factor,
    Joint,
    Look,
    Point,
    Visit,
    look,
    one_thread,
    visit,
)

#: Rounds end when what is still to come is below this many posterior sds.
TOLERANCE = 1e-8
MOST_ROUNDS = 200
_CHECKPOINT, _STAMP = "checkpoint", "driver"
_LEAST_DAMPING, _RECOVERY = 1.0 / 64.0, 1.1
#: Squared sds from the mode within which EP begins.
_NEAR = 1e-2
#: Of so many blocks one is asked where the mode is about, before all are.
_ONE_OF = 8
_ARMIJO, _ROUNDING = 1e-4, 1e-14

Task = TypeVar("Task")
Result = TypeVar("Result")


class Engine(Protocol):
    """Who does the tasks of a round; results come in the order of the tasks."""

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        """All results; ``what`` names the work where progress is shown."""
        ...


class FittedItems(NamedTuple):
    """Those of all blocks, as an Arrow array of words, and the variance of their own effects."""

    keys: Any
    variance: float


class FolderTakenError(ValueError):
    """Two fits would work in one folder."""


class Laid(NamedTuple):
    """Blocks in a folder, who works on them, and the items if these have effects of their own.

    The ``stamp`` is that of the fit that began last in this folder.
    """

    folder: Folder
    blocks: tuple[RowBlock, ...]
    engine: Engine
    items: FittedItems | None = None
    stamp: str = ""

    def claimed(self) -> Laid:
        """For a fit that begins, or goes on: one that is under way there ends with its round."""
        stamp = uuid.uuid4().hex
        self.folder.write(_STAMP, {"stamp": stamp}, {})
        return self._replace(stamp=stamp)

    def each(self, what: str, function: Callable[[Task], Result], work: list[Task]) -> list[Result]:
        """All results; a `FolderTakenError` if another fit has begun.

        What both do is the same until then: rounds have the same bits whoever makes them.
        """
        self._check_stamp()
        try:
            return self.engine.each(what, function, work)
        finally:
            self._check_stamp()

    def _check_stamp(self) -> None:
        found = self.folder.read(_STAMP)
        if found is None or found[0]["stamp"] != self.stamp:
            raise FolderTakenError(f"another fit works in {self.folder.place} now: this one ends")

    def summed(self, first: Factor, mark: str, answers: Sequence[BlockAnswer]) -> Joint:
        """A prior of the weights times what all blocks answered, in their order."""
        weights = reduce(Factor.plus, (each.contribution for each in answers), first)
        if self.items is None:
            return Joint(weights)
        own = np.zeros((len(self.items.keys), first.shift.size + 2))
        own[:, 0] = 1.0 / self.items.variance
        for block in self.blocks:
            blocks.add_items(self.folder, own, block, mark)
        return Joint(weights, own)

    def start(self, prior: Gaussian) -> Point:
        """The mean of the prior."""
        return Point(prior.mean, None if self.items is None else np.zeros(len(self.items.keys)))

    def log_volume(self, prior: Gaussian) -> float:
        """Half the log determinant of the prior covariance of weights and effects."""
        spread = prior.log_determinant
        if self.items is not None:
            spread += len(self.items.keys) * math.log(self.items.variance)
        return 0.5 * spread

    def effects(self, found: Joint) -> OwnEffects | None:
        """Those of the items, as a learner has them."""
        if self.items is None or found.own is None:
            return None
        own = OwnEffects(found.own.shape[1] - 2, self.items.variance)
        own.follow(OwnChanges(None, tuple(self.items.keys.to_pylist()), found.own, 1))
        return own


class RoundState(NamedTuple):
    """After a round: the belief, how far it moved in sds, and the damping of the next round."""

    number: int
    belief: Joint
    moved: float = math.inf
    before: float = math.inf
    damping: float = 1.0
    log_factors: float = math.nan

    @property
    def remaining(self) -> float:
        """The move still to come, if moves go on to shrink as they did."""
        slows = self.moved < self.before < math.inf
        return self.moved * self.moved / self.before if slows else self.moved


def laplace(prior: Gaussian, laid: Laid, *, near: float = 0.0) -> Fit:
    """Newton's method with line search: gradient and curvature are sums over blocks.

    With ``near`` it ends within so many squared sds of the mode.
    """
    with one_thread():
        found, objective, steps, converged = _mode(prior, laid.claimed(), near)
        evidence = objective + found.log_volume - laid.log_volume(prior)
    return Fit(found.belief, converged, steps, evidence, own=laid.effects(found))


def _mode(prior: Gaussian, laid: Laid, near: float) -> tuple[Joint, float, int, bool]:
    """The quadratic at the mode, the log density there, the steps, and whether they ended.

    Where there are many blocks it begins at the mode of some of them, so that few steps need all.
    """
    some = laid.blocks[::_ONE_OF]
    at, size, steps = laid.start(prior), 1.0, 0
    if len(some) > 1:
        at = _mode(prior, laid._replace(blocks=some), 1.0)[0].mean
    here, objective = _looked(prior, laid, at, steps)
    while True:
        # The slope is the precision times the step: this is what the step gains.
        gain = here.distance(at) ** 2
        if gain <= max(near, _ROUNDING * (1.0 + abs(objective))):
            return here, objective, steps, True
        if steps == MOST_ROUNDS:
            return here, objective, steps, False
        steps += 1
        tried = at.towards(here.mean, size)
        there, reached = _looked(prior, laid, tried, steps)
        if reached >= objective + _ARMIJO * size * gain:
            at, here, objective, size = tried, there, reached, 1.0
        else:
            size *= 0.5


def _looked(prior: Gaussian, laid: Laid, at: Point, step: int) -> tuple[Joint, float]:
    """The belief by the quadratic at a point, and the log density there but for a constant."""
    mark, lost = f"look-{len(laid.blocks)}-{step}", 0.0
    if laid.items is not None and at.effects is not None:
        laid.folder.write_rows(f"effects-{mark}", {"table": at.effects})
        lost = 0.5 * float(at.effects @ at.effects) / laid.items.variance
    tasks = [Look(laid.folder, block, at.weights, mark) for block in laid.blocks]
    answers = laid.each("Newton step", look, tasks)
    laid.folder.remove(f"effects-{mark}")
    away = prior.whiten(at.weights)
    value = sum(each.value for each in answers) - 0.5 * float(away @ away) - lost
    return laid.summed(Factor.of(prior), mark, answers), value


def ep(
    prior: Gaussian, laid: Laid, *, tolerance: float = TOLERANCE, max_rounds: int = MOST_ROUNDS
) -> Fit:
    """Rounds of EP from the Laplace approximation on, resumed where a checkpoint was left.

    The fixed point is that of EP in one process: in it every site agrees with its cavity, however
    the rows are cut into blocks.
    """
    laid = laid.claimed()
    with one_thread():
        state = _resumed(laid)
        if state is None:
            state = RoundState(-1, _mode(prior, laid, _NEAR)[0])
            _keep(laid.folder, state)
        while not (state.number > 0 and state.remaining <= tolerance) and state.number < max_rounds:
            state = _next(Factor.of(prior), state, laid)
            _keep(laid.folder, state)
        found = state.belief
        evidence = state.log_factors + _log_mass(prior, laid, found)
    converged = state.remaining <= tolerance
    return Fit(found.belief, converged, state.number, evidence, own=laid.effects(found))


def _next(first: Factor, state: RoundState, laid: Laid) -> RoundState:
    number, belief = state.number + 1, state.belief.marginal
    tasks = [Visit(laid.folder, block, number, belief, state.damping) for block in laid.blocks]
    answers = laid.each(f"round {number}", visit, tasks)
    return advanced(state, laid.summed(first, str(number), answers), answers)


def advanced(state: RoundState, belief: Joint, answers: Iterable[BlockAnswer]) -> RoundState:
    """The state after a round, from the sum of what the blocks answered.

    If the belief moved further than in the round before, steps of the next are half as long.

    Examples
    --------
    >>> one = Factor(np.eye(1), np.zeros(1))
    >>> answer = BlockAnswer(one, 0.0, begun=False)
    >>> advanced(RoundState(0, Joint(one)), Joint(one.plus(one)), [answer]).moved.__round__(2)
    0.35
    """
    told = list(answers)
    moved = _moved(state.belief, belief) / state.damping
    log_factors = sum(each.value for each in told)
    number = state.number + 1
    damping = state.damping
    if moved > state.moved:
        damping = max(0.5 * damping, _LEAST_DAMPING)
    elif not any(each.begun for each in told):
        return RoundState(
            number, belief, moved, state.moved, min(1.0, _RECOVERY * damping), log_factors
        )
    # What comes next is not to be compared with this.
    return RoundState(number, belief, damping=damping, log_factors=log_factors)


def _moved(before: Joint, after: Joint) -> float:
    """In sds of the later belief, or as half the relative change of a variance."""
    spread = [np.log(each.belief.covariance.diagonal()) for each in (before, after)]
    change = float(np.abs(spread[0] - spread[1]).max())
    if before.own is not None and after.own is not None:
        change = max(change, float(np.abs(np.log(before.own[:, 0] / after.own[:, 0])).max()))
    return max(after.distance(before.mean), 0.5 * change)


def _log_mass(prior: Gaussian, laid: Laid, found: Joint) -> float:
    """log ∫ prior × sites, read at the posterior mean, where the sites are known by their sums."""
    first, (mean, effects) = Factor.of(prior), found.mean
    shift = found.weights.shift - first.shift
    precision = found.weights.precision - first.precision
    away = prior.whiten(mean)
    at_mean = float(shift @ mean - 0.5 * mean @ precision @ mean - 0.5 * away @ away)
    if effects is not None and found.own is not None:
        # With the prior of the effects it is Σ (hᵢ − cᵢᵀμ) bᵢ − ½ dᵢbᵢ².
        at_mean += 0.5 * float(found.own[:, 0] @ (effects * effects))
    return at_mean + found.log_volume - laid.log_volume(prior)


def _keep(folder: Folder, state: RoundState) -> None:
    """A checkpoint; the table of the items is a file that blocks can read some rows of."""
    if state.belief.own is not None:
        folder.write_rows(f"own-{state.number}", {"table": state.belief.own})
    numbers = {name: value for name, value in state._asdict().items() if name != "belief"}
    told = {name: repr(value) for name, value in numbers.items()}
    folder.write(_CHECKPOINT, told, state.belief.weights._asdict())
    folder.remove(f"own-{state.number - 2}")


def _resumed(laid: Laid) -> RoundState | None:
    found = laid.folder.read(_CHECKPOINT)
    if found is None:
        return None
    told: dict[str, Any] = {name: float(value) for name, value in found[0].items()}
    number = int(told.pop("number"))
    weights = Factor(found[1]["precision"], found[1]["shift"])
    if laid.items is None:
        return RoundState(number, Joint(weights), **told)
    own = laid.folder.read_rows(f"own-{number}")
    return None if own is None else RoundState(number, Joint(weights, own["table"]), **told)
