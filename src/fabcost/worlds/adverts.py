"""Used-car adverts: their columns, what is wrong with some of them, and their features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

EARLIEST_YEAR, LATEST_YEAR = 1990, 2026
_LEAST_MPG = 10.0
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
    """A catalogue of adverts, and how many were left out for which reason.

    Examples
    --------
    >>> len(Adverts((), {"a duplicate": 3}))
    0
    """

    rows: tuple[Advert, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)
