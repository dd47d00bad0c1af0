"""Car adverts, real and made up, and the visitors who click on them."""

from __future__ import annotations

import gzip
import math
import os
import statistics
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fabcost import Bandit, FabCost, Gaussian, Recommender
from fabcost.worlds import Advert, Adverts, CarAdverts, adverts, load, schema, synthetic

DATA = os.environ.get("FABCOST_DATA")
REAL = Path(DATA or ".", "uk_used_cars")
needs_data = pytest.mark.skipif(
    not DATA or not REAL.is_dir(), reason="FABCOST_DATA names no directory with uk_used_cars"
)
HEAD = "model,year,price,transmission,mileage,fuelType,tax,mpg,engineSize"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def real() -> Adverts:
    return load(REAL)


@pytest.fixture(
    params=["synthetic", pytest.param("real", marks=needs_data)], ids=["synthetic", "real"]
)
def catalogue(request: pytest.FixtureRequest) -> Adverts:
    if request.param == "synthetic":
        return synthetic(3_000, rng=rng())
    found: Adverts = request.getfixturevalue("real")
    return found


def some_of(catalogue: Adverts, count: int) -> Adverts:
    """Evenly from the catalogue, which may be sorted by make."""
    return Adverts(catalogue.rows[:: len(catalogue) // count][:count])


def test_columns_and_ranges(catalogue: Adverts) -> None:
    assert ",".join(Advert._fields) == f"make,{HEAD}"
    assert len({car.make for car in catalogue.rows}) == 9
    for car in catalogue.rows:
        words = (car.make, car.model, car.transmission, car.fuelType)
        assert all(word and word == word.strip() for word in words)
        assert 1990 <= car.year <= 2026
        assert 100 < car.price < 200_000
        assert 1 <= car.mileage < 500_000
        assert 0 <= car.tax <= 600
        assert 10 <= car.mpg < 500
        assert 0.6 <= car.engineSize <= 7 or (car.fuelType, car.engineSize) == ("Electric", 0)


def test_prices_depend_on_the_car_as_they_should(catalogue: Adverts) -> None:
    """Rank correlations of thousands of adverts; that of independence is below 0.1 for sure."""
    price, year, mileage, engine = (
        np.array([getattr(car, name) for car in catalogue.rows])
        for name in ("price", "year", "mileage", "engineSize")
    )
    assert stats.spearmanr(price, year).statistic > 0.4
    assert stats.spearmanr(price, mileage).statistic < -0.3
    assert stats.spearmanr(price, engine).statistic > 0.3
    by_make = {
        make: statistics.median(car.price for car in catalogue.rows if car.make == make)
        for make in ("audi", "bmw", "mercedes", "ford", "vauxhall", "toyota")
    }
    cheap = max(by_make[make] for make in ("ford", "vauxhall", "toyota"))
    assert min(by_make[make] for make in ("audi", "bmw", "mercedes")) > 1.2 * cheap


@needs_data
def test_every_real_line_is_kept_or_counted(real: Adverts) -> None:
    lines = 0
    for path in REAL.glob("*.csv.gz"):
        with gzip.open(path) as file:
            lines += sum(1 for _ in file) - 1
    assert len(real) + sum(real.dropped.values()) == lines
    assert len(set(real.rows)) == len(real)
    assert real.dropped["year not in 1990 to 2026"] == 3  # 2060, and 1970 twice


def test_traps_are_put_right_or_counted(tmp_path: Path) -> None:
    good = " Fiesta ,2017,12000,Manual,15944, Petrol,150,57.7,1"
    lines = [
        good,
        good.replace(" Fiesta ", "Fiesta"),
        good.replace("2017", "2060"),
        good.replace("2017", "1970"),
        good.replace("57.7,1", "57.7,0"),
        good.replace("Petrol,150,57.7,1", "Electric,0,57.7,0"),
        good.replace("57.7", "0.3"),
        good.replace("12000", "0"),
        good.replace("12000", "nan"),
        good.replace("12000", "cheap"),
        good.replace(" Fiesta ", " "),
        "Focus,2017",
    ]
    (tmp_path / "ford.csv").write_text("\ufeff" + "\n".join([HEAD, *lines]), encoding="utf-8")
    other = [HEAD.replace("tax", "tax(£)"), " I10,2017,7999,Manual,17307,Petrol,145,58.9,1.2"]
    with gzip.open(tmp_path / "hyundi.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(other))
    found = load(tmp_path)
    assert found.rows == (
        Advert("ford", "Fiesta", 2017, 12000, "Manual", 15944, "Petrol", 150, 57.7, 1),
        Advert("ford", "Fiesta", 2017, 12000, "Manual", 15944, "Electric", 0, 57.7, 0),
        Advert("hyundai", "I10", 2017, 7999, "Manual", 17307, "Petrol", 145, 58.9, 1.2),
    )
    assert found.dropped == {
        "a duplicate": 1,
        "year not in 1990 to 2026": 2,
        "engineSize 0 but not electric": 1,
        "mpg below 10": 1,
        "a price of zero or a negative number": 1,
        "a number that is not finite": 1,
        "a value that cannot be read": 3,
    }


def test_bad_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no \.csv or \.csv\.gz file"):
        load(tmp_path)
    (tmp_path / "ford.csv").write_text("model,year\nFiesta,2017\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must also have price, transmission"):
        load(tmp_path)


def test_made_up_adverts_stand_in_for_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for directory in (None, tmp_path / "nowhere"):
        assert adverts(directory, count=20, rng=rng()) == synthetic(20, rng=rng())
    with pytest.raises(ValueError, match="has no"):
        adverts(tmp_path, count=20, rng=rng())


def value(
    column: str, record: Mapping[str, Any], numbers: Mapping[str, tuple[float, float]]
) -> float:
    """A cell of a row by the name of its column: an encoder of its own."""
    if column == "bias":
        return 1.0
    if " × " in column:
        return math.prod(value(part, record, numbers) for part in column.split(" × "))
    if "=" in column:
        name, level = column.split("=")
        return float(record[name] == level)
    mean, scale = numbers[column]
    return float((record[column] - mean) / scale)


def standards(catalogue: Adverts) -> dict[str, tuple[float, float]]:
    records = [car.features() for car in catalogue.rows]
    names = [name for name in records[0] if not isinstance(records[0][name], str)]
    columns = {name: [record[name] for record in records] for name in names}
    return {name: (statistics.fmean(c), statistics.pstdev(c)) for name, c in columns.items()}


def test_probabilities_are_those_of_the_logistic_model(catalogue: Adverts) -> None:
    some = some_of(catalogue, 2_000)
    cars = CarAdverts.random(some, rng=rng(), candidates=7)
    numbers = standards(some)
    streams = zip(cars.visitors(rng(1)), cars.rounds(rng(1)), strict=True)
    for visitor, visit in islice(streams, 20):
        assert visitor.uniform == visit.uniform
        assert list(visitor.items) == list(visitor.probability)
        assert list(visitor.probability.values()) == visit.probability.tolist()
        for k, (name, item) in enumerate(visitor.items.items()):
            record = visitor.context | item
            row = [value(column, record, numbers) for column in cars.schema.columns]
            np.testing.assert_allclose(visit.rows[k], row, rtol=1e-9, atol=1e-11)
            log_odds = math.fsum(a * b for a, b in zip(row, cars.theta, strict=True))
            assert visitor.probability[name] == pytest.approx(1 / (1 + math.exp(-log_odds)))
            assert visitor.clicked(name) == visit.clicked(k)


def test_same_seed_same_bits(catalogue: Adverts) -> None:
    some = some_of(catalogue, 500)
    first, second = (CarAdverts.random(some, rng=rng(3), candidates=5) for _ in range(2))
    assert first.theta.tobytes() == second.theta.tobytes()
    for one, two in islice(zip(first.rounds(rng(4)), second.rounds(rng(4)), strict=True), 20):
        assert one.rows.tobytes() == two.rows.tobytes()
        assert one.probability.tobytes() == two.probability.tobytes()
        assert one.uniform == two.uniform
    assert synthetic(50, rng=rng(5)) == synthetic(50, rng=rng(5)) != synthetic(50, rng=rng(6))


@pytest.mark.parametrize("candidates", [6, None])
def test_a_recommender_sees_the_rows_of_the_environment(
    catalogue: Adverts, candidates: int | None
) -> None:
    cars = CarAdverts.random(some_of(catalogue, 40), rng=rng(), candidates=candidates)
    recommender = Recommender(cars.schema, prior_variance=10.0, seed=7)
    prior = Gaussian.isotropic(cars.schema.width, variance=recommender.prior_variance)
    bandit = Bandit(FabCost(prior), seed=7)
    streams = zip(cars.visitors(rng(1)), cars.rounds(rng(1)), strict=True)
    for visitor, visit in islice(streams, 40):
        assert len(visit.rows) == (candidates or 40)
        rows = recommender.schema.rows(visitor.context, recommender.catalogue(visitor.items))
        np.testing.assert_array_equal(rows, visit.rows)
        decision = recommender.recommend(visitor.context, visitor.items)
        index = bandit.choose(visit.rows).index
        assert decision.item == list(visitor.items)[index]
        recommender.feedback(decision.id, visitor.clicked(decision.item))
        bandit.learn(visit.rows[index], visit.clicked(index))


def test_random_choices_are_clicked_at_the_rate_asked_for(catalogue: Adverts) -> None:
    """Mean of 2,000 visitors' averages beside 5 %: false-alarm rate 1e-4 by the t test."""
    some = some_of(catalogue, 500)
    cars = CarAdverts.random(some, rng=rng(), candidates=5, click_rate=0.05)
    averages = [visit.probability.mean() for visit in islice(cars.rounds(rng(1)), 2_000)]
    assert stats.ttest_1samp(averages, 0.05).pvalue > 1e-4
    best = np.mean([visit.probability.max() for visit in islice(cars.rounds(rng(1)), 2_000)])
    assert best > 2 * np.mean(averages)


def gain(some: Adverts, seed: int) -> float:
    """Expected clicks for each visitor beyond those of a random choice, over 300 visitors."""
    weights, visits = rng(seed).spawn(2)
    cars = CarAdverts.random(some, rng=weights, candidates=10)
    recommender = Recommender(cars.schema, seed=seed)
    gains = []
    for visitor in islice(cars.visitors(visits), 300):
        decision = recommender.recommend(visitor.context, visitor.items)
        recommender.feedback(decision.id, visitor.clicked(decision.item))
        average = statistics.fmean(visitor.probability.values())
        gains.append(visitor.probability[decision.item] - average)
    return statistics.fmean(gains)


def test_a_recommender_beats_chance(catalogue: Adverts) -> None:
    """One-sided t test of 16 independent worlds: passes without a gain at a rate of 1e-4."""
    some = some_of(catalogue, 1_000)
    gains = [gain(some, seed) for seed in range(100, 116)]
    assert stats.ttest_1samp(gains, 0.0, alternative="greater").pvalue < 1e-4


def test_bad_settings_are_named() -> None:
    few = synthetic(5, rng=rng())
    with pytest.raises(ValueError, match="count is 0 but must be at least 1"):
        synthetic(0, rng=rng())
    with pytest.raises(ValueError, match="candidates is 6 but must lie in 1 to 5"):
        CarAdverts.random(few, rng=rng(), candidates=6)
    with pytest.raises(ValueError, match="click_rate is 1.0 but must lie between 0 and 1"):
        CarAdverts.random(few, rng=rng(), candidates=5, click_rate=1.0)
    with pytest.raises(ValueError, match="the catalogue is empty"):
        schema(Adverts(()))
    rows_of = schema(few)
    with pytest.raises(ValueError, match=r"theta has shape \(3,\) but the schema has"):
        CarAdverts({"ad-0": few.rows[0].features()}, rows_of, np.zeros(3), None)
