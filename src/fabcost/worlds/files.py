"""Used-car adverts from a folder of CSV files, one for each make.

The files as they circulate have traps.  Names carry stray spaces (`` Fiesta``); the tax is called
``tax`` or ``tax(£)``; the make is a column or only the file's name, at times cut short.  These are
put right.  A row that cannot be true (a year of 2060 or 1970, no engine in a car that needs one,
an mpg below 10), cannot be read, or repeats another one exactly is dropped and counted.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from fabcost.worlds.adverts import Advert, Adverts

_OTHER_NAMES = {"tax(£)": "tax"}
_MAKES = {"hyundi": "hyundai", "merc": "mercedes"}


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
        for advert in _adverts_in(path):
            fault = _fault(advert, kept)
            if fault is None and advert is not None:
                kept[advert] = None
            else:
                dropped[str(fault)] += 1
    return Adverts(tuple(kept), dict(dropped))


def _fault(advert: Advert | None, kept: Mapping[Advert, None]) -> str | None:
    if advert is None:
        return "a value that cannot be read"
    return "a duplicate" if advert in kept else advert.fault()


def _adverts_in(path: Path) -> Iterator[Advert | None]:
    """One for each line; None if it cannot be read."""
    make = path.name.split(".")[0].strip().lower()
    with _opened(path) as file:
        reader = csv.reader(file)
        columns = [_OTHER_NAMES.get(name.strip(), name.strip()) for name in next(reader, [])]
        _check_columns(path, columns)
        for line in reader:
            record = {"make": _MAKES.get(make, make)}
            record |= {name: value.strip() for name, value in zip(columns, line, strict=False)}
            yield _parsed(record)


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_columns(path: Path, columns: list[str]) -> None:
    missing = [name for name in Advert._fields if name not in columns and name != "make"]
    if missing:
        raise ValueError(
            f"{path} has columns {', '.join(columns)} but must also have {', '.join(missing)}"
        )


def _parsed(record: Mapping[str, str]) -> Advert | None:
    try:
        return Advert(**{name: _KINDS.get(name, float)(record[name]) for name in Advert._fields})
    except (KeyError, ValueError):
        return None


def _word(text: str) -> str:
    if not text:
        raise ValueError("a name is empty")
    return text


_KINDS: dict[str, Callable[[str], Any]] = {
    "make": _word,
    "model": _word,
    "transmission": _word,
    "fuelType": _word,
    "year": int,
}
