"""Used-car adverts: their columns and features, and how they are read from CSV files.

The files as they circulate have traps.  Names carry stray spaces (`` Fiesta``); the tax is called
``tax`` or ``tax(£)``; the make is a column or only the file's name, at times cut short.  These are
put right.  A row that cannot be true (a year of 2060 or 1970, no engine in a car that needs one,
an mpg below 10), cannot be read, or repeats another one exactly is dropped and counted.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

EARLIEST_YEAR, LATEST_YEAR = 1990, 2026
_LEAST_MPG = 10.0
_OTHER_NAMES = {"tax(£)": "tax"}
_MAKES = {"hyundi": "hyundai", "merc": "mercedes"}
_WORDS = ("make", "model", "transmission", "fuelType")
_NUMBERS = ("price", "mileage", "tax", "mpg", "engineSize")
_LITRES = 282.48  # litres for 100 km = 282.48 / miles per imperial gallon


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
            "litres": round(_LITRES / self.mpg, 4),
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
    """One for each line."""
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
