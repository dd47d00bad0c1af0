"""The driver of rounds: sums in the order of the blocks, damping, convergence, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.result import Fit
from fabcost.offline.fit.blocks import RowBlock
from fabcost.offline.fit.folders import Folder
from fabcost.offline.fit.rounds import (
    BlockAnswer,
    Curve,
    Factor,
    Look,
    Visit,
    look,
    one_thread,
    visit,
)

#: Rounds end when what is still to come is below this many posterior sds.
TOLERANCE = 1e-8
MOST_ROUNDS = 200
_CHECKPOINT = "checkpoint"
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


class Laid(NamedTuple):
    """Blocks in a folder, and who works on them."""

    folder: Folder
    blocks: tuple[RowBlock, ...]
    engine: Engine


class RoundState(NamedTuple):
    """After a round: the belief, how far it moved in sds, and the damping of the next round."""

    number: int
    belief: Factor
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

    With ``near`` it ends within so many squared sds of the mode.  Where there are many blocks it
    begins at the mode of some of them, so that few steps need all.
    """
    some = laid.blocks[::_ONE_OF]
    at, size, steps = prior.mean, 1.0, 0
    if len(some) > 1:
        at = laplace(prior, laid._replace(blocks=some), near=1.0).posterior.mean
    here, objective = _looked(prior, laid, at)
    while steps < MOST_ROUNDS:
        belief, step, gain = _newton(prior, here, at)
        if gain <= max(near, _ROUNDING * (1.0 + abs(objective))):
            evidence = objective + 0.5 * (belief.log_determinant - prior.log_determinant)
            return Fit(belief, converged=True, iterations=steps, log_evidence=evidence)
        steps += 1
        there, reached = _looked(prior, laid, at + size * step)
        if reached >= objective + _ARMIJO * size * gain:
            at, here, objective, size = at + size * step, there, reached, 1.0
        else:
            size *= 0.5
    return Fit(belief, converged=False, iterations=steps)


def _looked(prior: Gaussian, laid: Laid, at: FloatArray) -> tuple[Curve, float]:
    tasks = [Look(laid.folder, block, at) for block in laid.blocks]
    here = reduce(Curve.plus, laid.engine.each("Newton step", look, tasks))
    away = prior.whiten(at)
    return here, here.value - 0.5 * float(away @ away)


def _newton(prior: Gaussian, here: Curve, at: FloatArray) -> tuple[Gaussian, FloatArray, float]:
    """The belief by the quadratic at a point, the step to its mean, and what that gains."""
    with one_thread():
        shift = here.gradient + here.curvature @ at
        belief = Factor.of(prior).plus(Factor(here.curvature, shift)).gaussian()
        step = belief.mean - at
        slope = here.gradient - prior.precision @ (at - prior.mean)
        return belief, step, float(slope @ step)


def ep(
    prior: Gaussian,
    laid: Laid,
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MOST_ROUNDS,
) -> Fit:
    """Rounds of EP from the Laplace approximation on, resumed where a checkpoint was left.

    The fixed point is that of EP in one process: in it every site agrees with its cavity, however
    the rows are cut into blocks.
    """
    first = Factor.of(prior)
    state = _resumed(laid.folder)
    if state is None:
        state = RoundState(-1, Factor.of(laplace(prior, laid, near=_NEAR).posterior))
        _keep(laid.folder, state)
    while not (state.number > 0 and state.remaining <= tolerance) and state.number < max_rounds:
        state = _next(first, state, laid)
        _keep(laid.folder, state)
    with one_thread():
        posterior = state.belief.gaussian()
        evidence = state.log_factors + _log_mass(prior, posterior, first, state.belief)
    return Fit(posterior, state.remaining <= tolerance, state.number, evidence)


def _next(first: Factor, state: RoundState, laid: Laid) -> RoundState:
    number = state.number + 1
    tasks = [
        Visit(laid.folder, block, number, state.belief, state.damping) for block in laid.blocks
    ]
    return advanced(first, state, laid.engine.each(f"round {number}", visit, tasks))


def advanced(first: Factor, state: RoundState, answers: Iterable[BlockAnswer]) -> RoundState:
    """The state after a round, from what the blocks answered in their order.

    If the belief moved further than in the round before, steps of the next are half as long.

    Examples
    --------
    >>> one = Factor(np.eye(1), np.zeros(1))
    >>> advanced(one, RoundState(0, one), [BlockAnswer(one, 0.0, begun=False)]).belief.precision
    array([[2.]])
    """
    told = list(answers)
    with one_thread():
        belief = reduce(Factor.plus, (each.contribution for each in told), first)
        moved = _moved(state.belief.gaussian(), belief.gaussian()) / state.damping
    log_factors = sum(each.log_factors for each in told)
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


def _moved(before: Gaussian, after: Gaussian) -> float:
    """In sds of the later belief, or as half the relative change of a variance."""
    away = after.whiten(before.mean)
    spread = np.log(before.covariance.diagonal() / after.covariance.diagonal())
    return max(float(np.sqrt(away @ away)), 0.5 * float(np.abs(spread).max()))


def _log_mass(prior: Gaussian, posterior: Gaussian, first: Factor, belief: Factor) -> float:
    """log ∫ prior × sites, read at the posterior mean, where the sites are known by their sums."""
    mean = posterior.mean
    shift, precision = belief.shift - first.shift, belief.precision - first.precision
    away = prior.whiten(mean)
    volume = 0.5 * (posterior.log_determinant - prior.log_determinant)
    return float(shift @ mean - 0.5 * mean @ precision @ mean - 0.5 * away @ away) + volume


def _keep(folder: Folder, state: RoundState) -> None:
    numbers = {name: value for name, value in state._asdict().items() if name != "belief"}
    told = {name: repr(value) for name, value in numbers.items()}
    folder.write(_CHECKPOINT, told, state.belief._asdict())


def _resumed(folder: Folder) -> RoundState | None:
    found = folder.read(_CHECKPOINT)
    if found is None:
        return None
    told: dict[str, Any] = {name: float(value) for name, value in found[0].items()}
    number = int(told.pop("number"))
    return RoundState(number, Factor(found[1]["precision"], found[1]["shift"]), **told)
