"""Rounds over blocks without any cluster: the posterior is that of one process, however cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fabcost import Gaussian
from fabcost.impressions import Outcomes
from fabcost.inference import ep, laplace
from fabcost.inference.result import Fit
from fabcost.offline.fit import driver
from fabcost.offline.fit.driver import Laid, Result, Task
from fabcost.offline.fit.encoding import CountedRows
from fabcost.offline.fit.rounds import Factor, Visit, refined
from tests.offline.fit.laid import Backwards, Data, laid, made

ROWS, WEIGHTS = 400, 5
PRIOR = Gaussian.isotropic(WEIGHTS, variance=10.0)
DATA = made(ROWS, WEIGHTS)
EVENLY = {many: [ROWS * k // many for k in range(1, many)] for many in (1, 2, 4, 16)}
#: All but some rows are in the last block, and of the others one is empty.
UNEVENLY = {2: [1], 4: [0, 1, 3], 16: [0, *range(1, 15)]}


def by_outcome(data: Data) -> Data:
    order = np.argsort(data.y, kind="stable")
    return Data(data.X[order], data.y[order])


def check_same(found: Fit, expected: Fit, within: float = 1e-6) -> None:
    sd = expected.posterior.sd
    assert found.converged
    mean = (found.posterior.mean - expected.posterior.mean) / sd
    covariance = found.posterior.covariance - expected.posterior.covariance
    assert np.abs(mean).max() < within
    assert np.abs(covariance / np.outer(sd, sd)).max() < within
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-6)


class Watching:
    """Notes the damping of each round."""

    def __init__(self) -> None:
        self.damping: list[float] = []

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        assert what
        self.damping += [task.damping for task in tasks if isinstance(task, Visit)]
        return [function(task) for task in tasks]


@pytest.fixture(scope="module")
def alone() -> ep.EPResult:
    return ep.fit(PRIOR, *DATA)


@pytest.mark.parametrize("order", ["as they come", "by outcome"])
@pytest.mark.parametrize(
    "cuts", [*EVENLY.values(), *UNEVENLY.values()], ids=lambda cuts: f"{len(cuts) + 1}"
)
def test_rounds_have_the_posterior_of_one_process(
    tmp_path: Path, alone: ep.EPResult, cuts: list[int], order: str
) -> None:
    data = DATA if order == "as they come" else by_outcome(DATA)
    check_same(driver.ep(PRIOR, laid(tmp_path, data, cuts)), alone)


def test_they_have_it_where_blocks_know_nearly_nothing_and_steps_must_be_damped(
    tmp_path: Path,
) -> None:
    """Forty rows in sixteen blocks under a wide prior overshoot without damping."""
    data, prior = made(40, 6, seed=40), Gaussian.isotropic(6, variance=100.0)
    given = laid(tmp_path, data, [40 * k // 16 for k in range(1, 16)])
    watching = Watching()
    found = driver.ep(prior, given._replace(engine=watching))
    check_same(found, ep.fit(prior, *data))
    assert min(watching.damping) < 1.0


@pytest.mark.parametrize("cuts", [EVENLY[1], EVENLY[16], UNEVENLY[4]], ids=["1", "16", "4"])
def test_laplace_has_the_posterior_of_one_process(tmp_path: Path, cuts: list[int]) -> None:
    found = driver.laplace(PRIOR, laid(tmp_path, by_outcome(DATA), cuts))
    check_same(found, laplace.fit(PRIOR, *DATA))


def test_bits_do_not_depend_on_who_is_done_first(tmp_path: Path) -> None:
    forwards = laid(tmp_path / "a", DATA, EVENLY[4])
    backwards = laid(tmp_path / "b", DATA, EVENLY[4])._replace(engine=Backwards())
    one, other = driver.ep(PRIOR, forwards), driver.ep(PRIOR, backwards)
    assert np.array_equal(one.posterior.mean, other.posterior.mean)
    assert np.array_equal(one.posterior.root, other.posterior.root)
    assert one.log_evidence == other.log_evidence


class Stopping:
    """Ends with an error in a round, after some of its tasks were done."""

    def __init__(self, at: str, after: int = 0) -> None:
        self.at, self.after = at, after

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        results = []
        for place, task in enumerate(tasks):
            if what == self.at and place == self.after:
                raise InterruptedError(what)
            results.append(function(task))
        return results


def stopped(given: Laid, at: str, after: int) -> None:
    with pytest.raises(InterruptedError):
        driver.ep(PRIOR, given._replace(engine=Stopping(at, after)))


@pytest.mark.parametrize("at", ["round 0", "round 1", "round 3"])
def test_a_driver_that_was_stopped_goes_on_with_the_same_bits(tmp_path: Path, at: str) -> None:
    expected = driver.ep(PRIOR, laid(tmp_path / "whole", DATA, EVENLY[4]))
    given = laid(tmp_path / "cut", DATA, EVENLY[4])
    stopped(given, at, after=2)
    found = driver.ep(PRIOR, given)
    assert np.array_equal(found.posterior.mean, expected.posterior.mean)
    assert np.array_equal(found.posterior.root, expected.posterior.root)
    assert found.iterations == expected.iterations


@pytest.mark.parametrize("how", ["gone", "not whole"])
def test_lost_sites_of_a_block_cost_rounds_and_nothing_else(
    tmp_path: Path, alone: ep.EPResult, how: str
) -> None:
    given = laid(tmp_path, DATA, EVENLY[4])
    stopped(given, "round 3", after=0)
    (sites,) = tmp_path.glob("part-1-sites-2")
    if how == "gone":
        sites.unlink()
    else:
        sites.write_bytes(sites.read_bytes()[:-100])
    check_same(driver.ep(PRIOR, given), alone)


def test_sites_of_older_rounds_are_deleted(tmp_path: Path) -> None:
    found = driver.ep(PRIOR, laid(tmp_path, DATA, EVENLY[2]))
    last = found.iterations
    left = {path.name for path in tmp_path.glob("*-sites-*")}
    assert left == {f"part-{k}-sites-{number}" for k in (0, 1) for number in (last - 1, last)}


def test_a_block_answers_the_same_for_single_rows_and_for_counts_of_one() -> None:
    labels = np.where(DATA.y > 0.0, 1.0, -1.0)
    counts = np.asarray(labels[:, None] == (1.0, -1.0), dtype=float)
    prior, answers = Factor.of(PRIOR), []
    for outcomes in (Outcomes(labels), Outcomes(labels, counts)):
        rows = CountedRows(DATA.X, outcomes)
        sites, first = refined(rows, prior, None, 1.0)
        answers.append(refined(rows, prior.plus(first.contribution), sites, 0.5)[1])
    for one, other in zip(*(answer.contribution for answer in answers), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
