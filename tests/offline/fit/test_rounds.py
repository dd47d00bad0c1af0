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
from fabcost.sparse import as_sparse
from tests.offline.fit.laid import Backwards, Data, laid, made, with_items

ROWS, WEIGHTS = 400, 5
PRIOR = Gaussian.isotropic(WEIGHTS, variance=10.0)
DATA = made(ROWS, WEIGHTS)
EVENLY = {many: [ROWS * k // many for k in range(1, many)] for many in (1, 2, 4, 16)}
#: All but some rows are in the last block, and of the others one is empty.
UNEVENLY = {2: [1], 4: [0, 1, 3], 16: [0, *range(1, 15)]}
OWN = 0.5
SHOWN = with_items(DATA, 30, OWN)


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
    return ep.fit(PRIOR, DATA.X, DATA.y)


@pytest.mark.parametrize("order", ["as they come", "by outcome"])
@pytest.mark.parametrize(
    "cuts", [*EVENLY.values(), *UNEVENLY.values()], ids=lambda cuts: f"{len(cuts) + 1}"
)
def test_rounds_have_the_posterior_of_one_process(
    tmp_path: Path, alone: ep.EPResult, cuts: list[int], order: str
) -> None:
    data = DATA if order == "as they come" else DATA.ordered(DATA.y)
    check_same(driver.ep(PRIOR, laid(tmp_path, data, cuts)), alone)


def test_they_have_it_where_blocks_know_nearly_nothing_and_steps_must_be_damped(
    tmp_path: Path,
) -> None:
    """Forty rows in sixteen blocks under a wide prior overshoot without damping."""
    data, prior = made(40, 6, seed=40), Gaussian.isotropic(6, variance=100.0)
    given = laid(tmp_path, data, [40 * k // 16 for k in range(1, 16)])
    watching = Watching()
    found = driver.ep(prior, given._replace(engine=watching))
    check_same(found, ep.fit(prior, data.X, data.y))
    assert min(watching.damping) < 1.0


def check_effects(found: Fit, expected: Fit, within: float = 1e-6) -> None:
    """Means and variances of all effects, and what they share with the weights."""
    one, other = found.own, expected.own
    assert one is not None
    assert other is not None
    assert set(one.keys) == set(other.keys)
    keys = other.keys
    ours, theirs = one.effects(found.posterior, keys), other.effects(expected.posterior, keys)
    sd = np.sqrt(theirs.variance)
    assert np.abs((ours.mean - theirs.mean) / sd).max() < within
    assert np.abs(ours.variance / theirs.variance - 1.0).max() < within
    shared = one.law(keys).tilt @ found.posterior.covariance
    shared -= other.law(keys).tilt @ expected.posterior.covariance
    assert np.abs(shared / np.outer(sd, expected.posterior.sd)).max() < within


@pytest.fixture(scope="module")
def alone_with_items() -> ep.EPResult:
    return ep.fit(PRIOR, SHOWN.X, SHOWN.y, items=SHOWN.items, own_variance=OWN)


@pytest.mark.parametrize("order", ["by outcome", "by item"])
@pytest.mark.parametrize(
    "cuts", [*EVENLY.values(), *UNEVENLY.values()], ids=lambda cuts: f"{len(cuts) + 1}"
)
def test_effects_of_items_are_those_of_one_process(
    tmp_path: Path, alone_with_items: ep.EPResult, cuts: list[int], order: str
) -> None:
    data = SHOWN.ordered(SHOWN.y if order == "by outcome" else SHOWN.items)
    found = driver.ep(PRIOR, laid(tmp_path, data, cuts, OWN))
    check_same(found, alone_with_items)
    check_effects(found, alone_with_items)


def test_laplace_with_effects_is_that_of_a_column_for_each_item(tmp_path: Path) -> None:
    keys, codes = np.unique(SHOWN.items, return_inverse=True)
    wide = np.column_stack([SHOWN.X, np.eye(len(keys))[codes]])
    variances = [10.0] * WEIGHTS + [OWN] * len(keys)
    prior = Gaussian(np.zeros(len(variances)), np.diag(variances))
    expected = laplace.fit(prior, wide, SHOWN.y)
    found = driver.laplace(PRIOR, laid(tmp_path, SHOWN, UNEVENLY[4], OWN))
    assert found.own is not None
    mean, covariance = expected.posterior.mean, expected.posterior.covariance
    effects = found.own.effects(found.posterior, keys.tolist())
    np.testing.assert_allclose(found.posterior.mean, mean[:WEIGHTS], atol=1e-7)
    np.testing.assert_allclose(found.posterior.covariance, covariance[:WEIGHTS, :WEIGHTS], 1e-6)
    np.testing.assert_allclose(effects.mean, mean[WEIGHTS:], atol=1e-7)
    np.testing.assert_allclose(effects.variance, covariance.diagonal()[WEIGHTS:], 1e-6)
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-6)


@pytest.mark.parametrize("cuts", [EVENLY[1], EVENLY[16], UNEVENLY[4]], ids=["1", "16", "4"])
def test_laplace_has_the_posterior_of_one_process(tmp_path: Path, cuts: list[int]) -> None:
    found = driver.laplace(PRIOR, laid(tmp_path, DATA.ordered(DATA.y), cuts))
    check_same(found, laplace.fit(PRIOR, DATA.X, DATA.y))


@pytest.mark.parametrize("fit", [driver.ep, driver.laplace], ids=["ep", "laplace"])
def test_rows_without_their_zeros_answer_as_those_with_them(
    tmp_path: Path, fit: Callable[[Gaussian, Laid], Fit]
) -> None:
    X = np.where(np.arange(ROWS)[:, None] % WEIGHTS == np.arange(WEIGHTS), DATA.X, 0.0)
    dense = with_items(Data(X, DATA.y), 30, OWN)
    sparse = dense._replace(X=as_sparse(X, WEIGHTS))
    for own in (0.0, OWN):
        expected = fit(PRIOR, laid(tmp_path / f"dense {own}", dense, UNEVENLY[4], own))
        found = fit(PRIOR, laid(tmp_path / f"sparse {own}", sparse, UNEVENLY[4], own))
        check_same(found, expected, 1e-9)
    check_effects(found, expected, 1e-9)


def check_bits(found: Fit, expected: Fit) -> None:
    assert found.own is not None
    assert expected.own is not None
    assert np.array_equal(found.posterior.mean, expected.posterior.mean)
    assert np.array_equal(found.posterior.root, expected.posterior.root)
    assert found.own.keys == expected.own.keys
    assert np.array_equal(found.own.rows, expected.own.rows)
    assert found.log_evidence == expected.log_evidence
    assert found.iterations == expected.iterations


def test_bits_do_not_depend_on_who_is_done_first(tmp_path: Path) -> None:
    forwards = laid(tmp_path / "a", SHOWN, EVENLY[4], OWN)
    backwards = laid(tmp_path / "b", SHOWN, EVENLY[4], OWN)._replace(engine=Backwards())
    check_bits(driver.ep(PRIOR, forwards), driver.ep(PRIOR, backwards))


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
    expected = driver.ep(PRIOR, laid(tmp_path / "whole", SHOWN, EVENLY[4], OWN))
    given = laid(tmp_path / "cut", SHOWN, EVENLY[4], OWN)
    stopped(given, at, after=2)
    check_bits(driver.ep(PRIOR, given), expected)


@pytest.mark.parametrize("what", ["part-1-sites-2", "own-2", "checkpoint"])
@pytest.mark.parametrize("how", ["gone", "not whole"])
def test_lost_files_cost_rounds_and_nothing_else(
    tmp_path: Path, alone_with_items: ep.EPResult, what: str, how: str
) -> None:
    given = laid(tmp_path, SHOWN, EVENLY[4], OWN)
    stopped(given, "round 3", after=0)
    lost = tmp_path / what
    if how == "gone":
        lost.unlink()
    else:
        lost.write_bytes(lost.read_bytes()[:-100])
    found = driver.ep(PRIOR, given)
    check_same(found, alone_with_items)
    check_effects(found, alone_with_items)


class Joined:
    """Begins another fit in the same folder, in the middle of a round."""

    def __init__(self, given: Laid) -> None:
        self.given, self.found = given, list[Fit]()

    def each(
        self, what: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> list[Result]:
        first = function(tasks[0])
        if what == "round 2" and not self.found:
            self.found.append(driver.ep(PRIOR, self.given))
        return [first, *map(function, tasks[1:])]


def test_of_two_fits_in_one_folder_the_later_has_its_bits_and_the_other_ends(
    tmp_path: Path,
) -> None:
    expected = driver.ep(PRIOR, laid(tmp_path / "alone", SHOWN, EVENLY[4], OWN))
    given = laid(tmp_path / "both", SHOWN, EVENLY[4], OWN)
    joined = Joined(given)
    with pytest.raises(driver.FolderTakenError, match="another fit works in"):
        driver.ep(PRIOR, given._replace(engine=joined))
    check_bits(joined.found[0], expected)


def test_files_of_older_rounds_are_deleted(tmp_path: Path) -> None:
    last = driver.ep(PRIOR, laid(tmp_path, SHOWN, EVENLY[2], OWN)).iterations
    left = {path.name for path in tmp_path.iterdir()}
    sites = {f"part-{k}-sites-{number}" for k in (0, 1) for number in (last - 1, last)}
    rows = {f"part-{k}{what}" for k in (0, 1) for what in ("", "-slots")}
    assert left == {*sites, *rows, f"own-{last - 1}", f"own-{last}", "checkpoint", "driver"}


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
