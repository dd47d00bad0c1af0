"""Used-car adverts made up, whose columns depend on each other as those of real ones do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from fabcost.impressions import FloatArray
from fabcost.worlds.adverts import Advert, Adverts

_THIS_YEAR = 2020
_OLDEST = 22
_FUELS = np.array(["Petrol", "Diesel", "Hybrid", "Electric"])
_ECONOMY = np.array([1.0, 1.12, 1.35, 2.8])  # miles per gallon beside petrol


class CarModel(NamedTuple):
    """A car as it leaves the showroom: price in pounds, litres of engine, mpg with petrol."""

    make: str
    name: str
    price: float
    engine: float
    mpg: float


MODELS = (
    CarModel("audi", "A1", 21_000, 1.3, 53),
    CarModel("audi", "A4", 33_000, 2.0, 47),
    CarModel("audi", "Q7", 62_000, 3.0, 34),
    CarModel("bmw", "1 Series", 26_000, 1.7, 50),
    CarModel("bmw", "3 Series", 36_000, 2.1, 47),
    CarModel("bmw", "X5", 64_000, 3.0, 34),
    CarModel("ford", "Fiesta", 16_000, 1.1, 58),
    CarModel("ford", "Focus", 21_000, 1.4, 54),
    CarModel("ford", "Kuga", 27_000, 1.7, 43),
    CarModel("hyundai", "I10", 11_000, 1.1, 60),
    CarModel("hyundai", "I30", 18_500, 1.4, 53),
    CarModel("hyundai", "Tucson", 25_000, 1.7, 42),
    CarModel("mercedes", "A Class", 28_000, 1.6, 50),
    CarModel("mercedes", "C Class", 38_000, 2.0, 48),
    CarModel("mercedes", "GLE Class", 66_000, 2.9, 33),
    CarModel("skoda", "Fabia", 14_000, 1.1, 58),
    CarModel("skoda", "Octavia", 21_000, 1.5, 54),
    CarModel("skoda", "Kodiaq", 32_000, 1.9, 40),
    CarModel("toyota", "Aygo", 11_500, 1.0, 67),
    CarModel("toyota", "Yaris", 16_500, 1.4, 60),
    CarModel("toyota", "RAV4", 31_000, 2.3, 42),
    CarModel("vauxhall", "Corsa", 15_500, 1.3, 54),
    CarModel("vauxhall", "Astra", 20_000, 1.5, 51),
    CarModel("vauxhall", "Insignia", 24_000, 1.7, 46),
    CarModel("vw", "Polo", 16_500, 1.1, 57),
    CarModel("vw", "Golf", 23_000, 1.5, 53),
    CarModel("vw", "Tiguan", 30_000, 1.8, 42),
)


def synthetic(count: int, *, rng: np.random.Generator) -> Adverts:
    """Make up ``count`` adverts.

    Examples
    --------
    >>> adverts = synthetic(3, rng=np.random.default_rng(0))
    >>> [car.make for car in adverts.rows]
    ['vauxhall', 'skoda', 'mercedes']
    """
    if count < 1:
        raise ValueError(f"count is {count} but must be at least 1")
    models = [MODELS[k] for k in rng.integers(len(MODELS), size=count)]
    new, engine, economy = (
        np.array([getattr(model, name) for model in models]) for name in ("price", "engine", "mpg")
    )
    age = np.minimum(np.floor(rng.gamma(1.6, 2.1, count)), _OLDEST)
    mileage = np.ceil((age + 0.4) * 7_000 * rng.lognormal(0.0, 0.45, count))
    fuel = _fuels(engine, rng)
    mpg = np.round(economy * _ECONOMY[fuel] * rng.lognormal(0.0, 0.08, count), 1)
    variant = np.round(engine * rng.choice([0.85, 1.0, 1.15], count), 1)
    litres = np.where(_FUELS[fuel] == "Electric", 0.0, variant)
    columns = (
        (_THIS_YEAR - age).astype(int),
        _prices(new, age, mileage, rng),
        _transmissions(new, rng),
        mileage,
        _FUELS[fuel],
        _taxes(age, mpg, rng),
        mpg,
        litres,
    )
    cars = zip(models, *(column.tolist() for column in columns), strict=True)
    return Adverts(tuple(Advert(model.make, model.name, *rest) for model, *rest in cars))


def _prices(
    new: FloatArray, age: FloatArray, mileage: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """A tenth is lost at once, 13 % in each year, and as much again with 60,000 miles."""
    lost = 0.1 + 0.14 * age + 0.14 * mileage / 60_000
    return np.asarray(np.ceil(new * np.exp(rng.normal(0.0, 0.12, new.size) - lost)))


def _fuels(engine: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Diesel in large engines; a few hybrids and electric cars."""
    diesel = rng.random(engine.size) < expit(3.0 * (engine - 1.7))
    rare = rng.random(engine.size)
    return np.where(rare < 0.01, 3, np.where(rare < 0.05, 2, np.where(diesel, 1, 0)))


def _transmissions(new: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.str_]:
    """The dearer, the more automatic."""
    manual = rng.random(new.size) < expit((27_000 - new) / 5_000)
    automatic = rng.choice(["Automatic", "Semi-Auto"], new.size)
    return np.where(manual, "Manual", automatic)


def _taxes(age: FloatArray, mpg: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A flat rate from 2017 on; before, by consumption."""
    flat = rng.choice([145.0, 150.0], age.size, p=[0.8, 0.2])
    graded = np.select([mpg > 65, mpg > 55, mpg > 45], [0.0, 30.0, 125.0], 235.0)
    return np.where(age <= _THIS_YEAR - 2017, flat, graded)
