"""The costs at a tiny scale, and verdicts that follow the numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference import adf, ep
from fabcost.offline.pictures import Picture, Plot
from fabcost.paper import printed
from fabcost.paper.designs import DESIGNS, authors_design, day
from fabcost.paper.measures.costs import (
    FORMS,
    Batch,
    Costs,
    Growth,
    NeededSweeps,
    gather,
    measure_sweeps,
    units,
)
from fabcost.paper.parts.costs import claims, draw_cost
from fabcost.paper.parts.part import PaperClaim
from fabcost.paper.statistics import median_interval
from fabcost.paper.units import PAPER, QUICK, Result, Scale, Unit, UnitFolder

TINY = replace(QUICK, timed_rows=200, timed_widths=(3, 6), convergence_sizes=(40, 80), streams=2)
SMALLER = {"few": 2, "repeats": 2, "sizes": 2}


def tiny(unit: Unit) -> Unit:
    smaller = {name: value for name, value in SMALLER.items() if name in unit.arguments}
    if unit.name.startswith("cost-sweeps"):
        del smaller["sizes"]
    return replace(unit, arguments={**unit.arguments, **smaller})


def kept(work: list[Unit], folder: UnitFolder) -> dict[str, Result]:
    """The results as they are read again."""
    for unit in work:
        folder.keep(unit, unit.compute())
    found = {unit.name: folder.find(unit) for unit in work}
    return {name: result for name, result in found.items() if result is not None}


def test_units_run_and_gather(tmp_path: Path) -> None:
    part = gather(TINY, kept([tiny(unit) for unit in units(TINY, seed=3)], UnitFolder(tmp_path)))
    assert {name: batch.weights for name, batch in part.batches.items()} == {
        "day": 15,
        "authors": 6,
    }
    for batch in part.batches.values():
        assert all((seconds > 0).all() for seconds in batch.seconds.values())
    assert part.online.sizes == [40, 200]
    assert part.weights.seconds["matrix EP"].shape == (2, 2)
    assert part.sweeps["day"].errors["exact"].shape[:2] == (2, 2)
    found = claims(part)
    assert len(found) == 5
    assert all(claim.seconds > 0 for claim in found)
    assert len(Picture.of(Plot("a", draw_cost, "b", "c"), part).png) > 10_000


@pytest.mark.parametrize("scale", [QUICK, PAPER], ids=lambda scale: scale.name)
def test_only_what_is_timed_runs_alone(scale: Scale) -> None:
    work = units(scale, seed=0)
    assert {unit.name for unit in work if unit.alone} == {
        "cost-batch-day",
        "cost-batch-authors",
        "cost-online",
        "cost-weights",
    }
    assert all(unit.name.startswith("cost-") for unit in work)


def test_seed_reaches_every_unit() -> None:
    one, other = (units(TINY, seed=seed) for seed in (0, 1))
    for unit, changed in zip(one, other, strict=True):
        assert unit.arguments["seed"] != changed.arguments["seed"]


def test_matrix_form_is_the_rank_one_form() -> None:
    data, prior = day(60, seed=0), Gaussian.isotropic(15)
    signed = np.where(data.y == 1.0, 1.0, -1.0)
    mean, covariance = printed.density_filtering(prior.mean, prior.covariance, data.X, signed)
    ours = adf.fit(prior, data.X, data.y, moments="mackay").posterior
    np.testing.assert_allclose(ours.mean, mean, atol=1e-9)
    np.testing.assert_allclose(ours.covariance, covariance, atol=1e-9)
    design, narrow = authors_design(60, seed=0), Gaussian.isotropic(6)
    signed = np.where(design.y == 1.0, 1.0, -1.0)
    swept, _ = printed.expectation_propagation(
        narrow.mean, narrow.covariance, design.X, signed, sweeps=15
    )
    fixed = ep.fit(narrow, design.X, design.y, moments="mackay")
    np.testing.assert_allclose(fixed.posterior.mean, swept, atol=1e-5)


@pytest.mark.parametrize("moments", ["exact", "mackay"])
def test_errors_end_where_ep_does(moments: str) -> None:
    """The distance after two sweeps, from `ep.fit` stopped there and run to its end."""
    data = authors_design(300, seed=4)
    prior = Gaussian.isotropic(6, variance=100.0)
    settings = {"moments": moments}
    end = ep.fit(prior, data.X, data.y, **settings).posterior  # type: ignore[arg-type]
    two = ep.fit(prior, data.X, data.y, max_sweeps=2, tolerance=1e-300, **settings).posterior  # type: ignore[arg-type]
    expected = max(
        np.abs((two.mean - end.mean) / end.sd).max(), np.abs(two.sd / end.sd - 1.0).max()
    )
    found = measure_sweeps("authors", [300], seed=4)["errors"]
    assert found[["exact", "mackay"].index(moments), 0, 1] == pytest.approx(expected, rel=1e-6)


def test_sweeps_needed_are_counted_from_the_last_move() -> None:
    errors = np.zeros((1, 4, 20))
    errors[0, 0, :3] = 1.0
    errors[0, 1, 4] = 0.011
    errors[0, 2, :-1] = 1.0
    errors[0, 3, :-1] = np.nan
    assert NeededSweeps((1, 2, 3, 4), {"exact": errors}, 0.0).needed("exact").tolist() == [
        [4, 6, 0, 0]
    ]


def test_interval_of_the_median_covers_it() -> None:
    """Exactly 1 − 2·P(Bin(9, ½) < 2) = 96.1 %; 2,000 trials, five standard errors allowed."""
    draws = np.random.default_rng(0).lognormal(size=(2_000, 9))
    covered = np.mean([low <= 1.0 <= high for _, low, high in map(median_interval, draws)])
    exact = 1.0 - 2.0 * stats.binom.cdf(1, 9, 0.5)
    assert abs(covered - exact) < 5 * np.sqrt(exact * (1.0 - exact) / 2_000)
    with pytest.raises(ValueError, match="there are no values"):
        median_interval([])


def test_slope_is_the_exponent() -> None:
    sizes = (2, 6, 20)
    rounds = np.array([[0.3 * size**1.7 for size in sizes]] * 3)
    assert Growth(sizes, {"EP": rounds}, 1.0).exponent("EP").value == pytest.approx(1.7)


def costs(
    *, visit: float = 20.0, sweeps: int = 2, power: float = 2.5, online: float = 1.0
) -> Costs:
    """Costs in which a visit takes so many updates, EP rests after so many sweeps, and so on."""
    noise: FloatArray = np.linspace(1.0, 1.1, 9)
    seconds: dict[str, FloatArray] = dict.fromkeys(FORMS, 1e-7 * noise)
    seconds |= {"matrix ADF": 1e-5 * noise, "matrix EP": visit * 1e-5 * np.ones(9)}
    errors = np.where(np.arange(30) < sweeps - 1, 1.0, 0.0)[None, None]
    sizes = np.array([10.0, 100.0, 1000.0])
    growth = {form: np.tile(sizes**power, (9, 1)) for form in FORMS}
    growing = {"ADF": np.ones((9, 3)), "EP": np.tile(sizes**online, (9, 1))}
    both = {"exact": errors, "mackay": errors}
    return Costs(
        {design: Batch(15, seconds, 1.0) for design in DESIGNS},
        {design: NeededSweeps((100,), both, 1.0) for design in DESIGNS},
        Growth((10, 100, 1000), growing, 1.0),
        Growth((10, 100, 1000), growth, 1.0),
    )


def told(part: Costs) -> dict[str, PaperClaim]:
    names = ("speed-up", "flops", "cubic", "sweeps", "online")
    return dict(zip(names, claims(part), strict=True))


@pytest.mark.parametrize(
    ("claim", "change", "verdicts"),
    [
        ("speed-up", {"visit": [20.0, 5.0, 1.0]}, ["reproduced", "partly", "not reproduced"]),
        ("flops", {"visit": [20.0, 2.0, 0.5]}, ["reproduced", "partly", "not reproduced"]),
        ("cubic", {"power": [2.5, 4.0]}, ["reproduced", "not reproduced"]),
        ("sweeps", {"sweeps": [3, 6]}, ["reproduced", "not reproduced"]),
        ("online", {"online": [1.0, 0.0]}, ["reproduced", "partly"]),
    ],
)
def test_verdict_follows_the_numbers(
    claim: str, change: dict[str, list[float]], verdicts: list[str]
) -> None:
    ((name, values),) = change.items()
    found = [told(costs(**{name: value}))[claim] for value in values]  # type: ignore[arg-type]
    assert [each.verdict for each in found] == verdicts
    assert len({each.measured for each in found}) == len(values)
    assert len({each.paper for each in found}) == 1


def test_sweeps_of_one_data_set_are_a_part() -> None:
    part, slow = costs(sweeps=3), costs(sweeps=9)
    mixed = replace(part, sweeps={**part.sweeps, "day": slow.sweeps["day"]})
    claim = told(mixed)["sweeps"]
    assert claim.verdict == "partly"
    assert "100 rows of the day" in claim.reason
    assert "0% on the day and 100% on the design with exact moments" in claim.measured
    assert claim.details[0] == ("day, exact moments", "9 to 9 sweeps with 100 to 100 rows")
