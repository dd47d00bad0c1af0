"""What is earned when clicks have values: beside a rule that sees clicks alone, and an oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fabcost import FabCost, Gaussian
from fabcost.bandit.bandit import Bandit, choose
from fabcost.bandit.environments import FreshCandidates, Round
from fabcost.bandit.rules import DEFAULT, Greedy, Policy, Thompson
from fabcost.impressions import FloatArray

WEIGHTS, CANDIDATES, VISITS, LEARNT, WORLDS = 5, 10, 600, 400, 25
MEAN_VALUE, MEAN_COST = 2.0, 0.05
#: Two-sided, of a mean of 25 worlds (Student's t): one false alarm in 1,000.
BEYOND = 3.75


class Visit(NamedTuple):
    """A round, and what a click on each of its rows is worth and showing it costs."""

    round: Round
    values: FloatArray
    costs: FloatArray

    @property
    def worth(self) -> FloatArray:
        """What each row earns on average."""
        return self.values * self.round.probability - self.costs


class Earned(NamedTuple):
    """Income as it came, and after learning on average over clicks; and clicks on average."""

    income: float
    expected: float
    clicks: float


def visits(world: int) -> Iterator[Visit]:
    """Those of one world, the same for everyone; values know nothing of clicks."""
    rng, prices = np.random.default_rng([world, 1]), np.random.default_rng([world, 2])
    site = FreshCandidates.random(WEIGHTS, candidates=CANDIDATES, rng=rng)
    for _, visitor in zip(range(VISITS), site.rounds(rng), strict=False):
        values = prices.exponential(MEAN_VALUE, CANDIDATES)
        yield Visit(visitor, values, prices.uniform(0.0, 2.0 * MEAN_COST, CANDIDATES))


def lived(world: int, rule: Policy, *, valued: bool) -> Earned:
    bandit = Bandit(FabCost(Gaussian.isotropic(WEIGHTS)), policy=rule, seed=world)
    income, expected, clicks = 0.0, 0.0, 0.0
    for k, visit in enumerate(visits(world)):
        amounts = (visit.values, visit.costs) if valued else (None, None)
        rows = visit.round.rows
        place = bandit.choose(rows, values=amounts[0], costs=amounts[1]).index
        clicked = visit.round.clicked(place)
        bandit.learn(rows[place], clicked)
        income += visit.values[place] * clicked - visit.costs[place]
        if k >= LEARNT:
            expected += visit.worth[place]
            clicks += visit.round.probability[place]
    return Earned(income, expected, clicks)


def by_oracles(world: int) -> float:
    """What values are worth to those who know the probabilities, on the same visits."""
    late = list(visits(world))[LEARNT:]
    best = sum(visit.worth.max() for visit in late)
    most_clicked = sum(visit.worth[visit.round.probability.argmax()] for visit in late)
    return float(best - most_clicked)


def interval(numbers: list[float]) -> tuple[float, float]:
    """Of their mean, with confidence 99.9 %."""
    half = BEYOND * float(np.std(numbers, ddof=1)) / len(numbers) ** 0.5
    return float(np.mean(numbers)) - half, float(np.mean(numbers)) + half


@pytest.mark.parametrize("rule", [Thompson(), DEFAULT], ids=["Thompson", "default"])
def test_values_earn_what_an_oracle_predicts(rule: Policy) -> None:
    """On paired worlds; each of the three intervals has one false alarm in 1,000 at most."""
    worlds = range(WORLDS)
    valued = [lived(world, rule, valued=True) for world in worlds]
    clicks = [lived(world, rule, valued=False) for world in worlds]
    pairs = list(zip(valued, clicks, strict=True))
    more, _ = interval([ours.income - theirs.income for ours, theirs in pairs])
    assert more > 0.0
    least, most = interval([by_oracles(world) for world in worlds])
    gained = [ours.expected - theirs.expected for ours, theirs in pairs]
    assert least < np.mean(gained) < most
    # Whoever does not see values earns the mean value with every click.
    shown = VISITS - LEARNT
    apart = [each.expected - MEAN_VALUE * each.clicks + MEAN_COST * shown for each in clicks]
    least, most = interval(apart)
    assert least < 0.0 < most


@given(
    mean=arrays(np.float64, 3, elements=st.floats(-5.0, 5.0)),
    rows=arrays(np.float64, (4, 3), elements=st.floats(-3.0, 3.0)),
    values=arrays(np.float64, 4, elements=st.floats(0.0, 1e6)),
    place=st.integers(0, 3),
    cost=st.floats(1e-6, 1e6),
    draws=st.sampled_from([None, 8]),
)
def test_greedy_never_pays_for_nothing(
    mean: FloatArray,
    rows: FloatArray,
    values: FloatArray,
    place: int,
    cost: float,
    draws: int | None,
) -> None:
    values, costs = values.copy(), np.zeros(4)
    values[place], costs[place] = 0.0, cost
    belief, rng = Gaussian(mean, np.eye(3)), np.random.default_rng(0)
    amounts = {"values": values, "costs": costs}
    choice = choose(belief, Greedy(), rows, rng=rng, draws=draws, **amounts)  # type: ignore[arg-type]
    assert choice.index != place
    assert choice.propensities is None or choice.propensities[place] == 0.0
