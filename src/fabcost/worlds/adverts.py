"""Used-car adverts: their columns and features, read from CSV files or made up.

The files as they circulate have traps.  Names carry stray spaces (`` Fiesta``); the tax is called
``tax`` or ``tax(£)``; the make is a column or only the file's name, at times cut short.  These are
put right.  A row that cannot be true (a year of 2060 or 1970, no engine in a car that needs one,
an mpg below 10), cannot be read, or repeats another one exactly is dropped and counted.

The columns of made-up adverts depend on each other as those of real ones do.
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from fabcost.impressions import FloatArray

EARLIEST_YEAR, LATEST_YEAR = 1990, 2026
LITRES = 282.48  # litres for 100 km = 282.48 / miles per imperial gallon
_LEAST_MPG = 10.0
_OTHER_NAMES = {"tax(£)": "tax"}
_MAKES = {"hyundi": "hyundai", "merc": "mercedes"}
_WORDS = ("make", "model", "transmission", "fuelType")
_NUMBERS = ("price", "mileage", "tax", "mpg", "engineSize")
# Of adverts that are made up.
_THIS_YEAR = 2020
_OLDEST = 22
_FUELS = np.array(["Petrol", "Diesel", "Hybrid", "Electric"])
_ECONOMY = np.array([1.0, 1.12, 1.35, 2.8])  # miles per gallon beside petrol


_CAR = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 36 24"><path fill="hsl({},55%,50%)" '
    'd="M2 16v-5l5-1 5-5h11l5 5 6 2v5z"/><circle cx="9" cy="17" r="4"/><circle cx="27" cy="17" '
    'r="4"/></svg>'
)


class Advert(NamedTuple):
    """One car for sale, with the columns of the files.

    Examples
    --------
    >>> car = Advert("ford", "Focus", 2017, 12000.0, "Manual", 20000.0, "Petrol", 145.0, 50.0, 1.5)
    >>> car.features()["litres"]
    5.6496
    """

    make: str
    model: str
    year: int
    price: float
    transmission: str
    mileage: float
    fuelType: str  # noqa: N815 - the column's name
    tax: float
    mpg: float
    engineSize: float  # noqa: N815 - the column's name

    def features(self) -> dict[str, Any]:
        """The record for a schema.

        The price is a logarithm and the consumption is in litres for 100 km, because the tails
        of price and mpg (up to 470 for plug-in hybrids) would outweigh everything else.
        """
        return {
            "make": self.make,
            "transmission": self.transmission,
            "fuelType": self.fuelType,
            "log_price": math.log(self.price),
            "year": self.year,
            "mileage": self.mileage,
            "litres": round(LITRES / self.mpg, 4),
            "engineSize": self.engineSize,
        }

    def fault(self) -> str | None:
        """Why the advert cannot be true, or None.

        Examples
        --------
        >>> Advert("ford", "Fiesta", 2060, 6495.0, "Manual", 1.0, "Petrol", 0.0, 42.8, 1.4).fault()
        'year not in 1990 to 2026'
        """
        if not EARLIEST_YEAR <= self.year <= LATEST_YEAR:
            return f"year not in {EARLIEST_YEAR} to {LATEST_YEAR}"
        numbers = (self.price, self.mileage, self.tax, self.mpg, self.engineSize)
        if not all(map(math.isfinite, numbers)):
            return "a number that is not finite"
        if self.price <= 0 or min(numbers) < 0:
            return "a price of zero or a negative number"
        if self.engineSize == 0 and self.fuelType != "Electric":
            return "engineSize 0 but not electric"
        if self.mpg < _LEAST_MPG:
            return f"mpg below {_LEAST_MPG:g}"
        return None


@dataclass(frozen=True)
class Adverts:
    """A catalogue of adverts, and how many were left out for which reason."""

    rows: tuple[Advert, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


def load(directory: Path) -> Adverts:
    r"""Read every ``.csv`` and ``.csv.gz`` file of a folder, in the order of their names.

    Examples
    --------
    >>> import tempfile
    >>> head = "model,year,price,transmission,mileage,fuelType,tax(£),mpg,engineSize"
    >>> rows = [" I10,2017,7999,Manual,17307,Petrol,145,58.9,1.2"] * 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "hyundi.csv")
    ...     _ = path.write_text("\n".join([head, *rows]), encoding="utf-8")
    ...     found = load(Path(folder))
    >>> found.rows[0].make, found.rows[0].model, found.dropped
    ('hyundai', 'I10', {'a duplicate': 1})
    """
    paths = sorted([*directory.glob("*.csv"), *directory.glob("*.csv.gz")])
    if not paths:
        raise ValueError(f"{directory} has no .csv or .csv.gz file but must have one for each make")
    kept: dict[Advert, None] = {}
    dropped: Counter[str] = Counter()
    for path in paths:
        for record in _records(path):
            advert = _parsed(record)
            if advert is None:
                dropped["a value that cannot be read"] += 1
            elif fault := "a duplicate" if advert in kept else advert.fault():
                dropped[fault] += 1
            else:
                kept[advert] = None
    return Adverts(tuple(kept), dict(dropped))


def _records(path: Path) -> Iterator[dict[str, str]]:
    make = path.name.split(".")[0].strip().lower()
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        columns = [_OTHER_NAMES.get(name.strip(), name.strip()) for name in next(reader, [])]
        missing = [name for name in Advert._fields if name not in columns and name != "make"]
        if missing:
            raise ValueError(
                f"{path} has columns {', '.join(columns)} but must also have {', '.join(missing)}"
            )
        for line in reader:
            cells = {name: value.strip() for name, value in zip(columns, line, strict=False)}
            yield {"make": _MAKES.get(make, make), **cells}


def _parsed(record: Mapping[str, str]) -> Advert | None:
    """None if a value is missing or is not a number where one belongs."""
    try:
        values: dict[str, Any] = {name: float(record[name]) for name in _NUMBERS}
        values |= {name: record[name] for name in _WORDS}
        values["year"] = int(record["year"])
    except (KeyError, ValueError):
        return None
    return Advert(**values) if all(values[name] for name in _WORDS) else None


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


def for_people(item: Mapping[str, Any]) -> dict[str, Any]:
    """The record of an advert with a name and a picture, which are no features.

    Examples
    --------
    >>> for_people({"make": "kia", "year": 2019, "log_price": math.log(9000)})["_name"]
    'Kia 2019, £9,000'
    """
    name = f"{item['make'].capitalize()} {item['year']}, £{math.exp(item['log_price']):,.0f}"
    hue = zlib.crc32(item["make"].encode()) % 360
    return {**item, "_name": name, "_image": f"data:image/svg+xml,{quote(_CAR.format(hue))}"}
