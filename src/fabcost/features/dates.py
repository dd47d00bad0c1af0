"""Dates: what is one, and its parts: a day to count with, a weekday, an hour of the day."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d:?\d\d(?::?\d\d)?)?)?"
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Sines of 0°, 15°, …, 90° by square roots alone: the same bits everywhere.
_QUARTER = (
    0.0,
    (math.sqrt(6.0) - math.sqrt(2.0)) / 4.0,
    0.5,
    math.sqrt(2.0) / 2.0,
    math.sqrt(3.0) / 2.0,
    (math.sqrt(6.0) + math.sqrt(2.0)) / 4.0,
    1.0,
)

#: What the parts of a date are called after its name.
DAY, WEEKDAY, SINE, COSINE = " day", " weekday", " hour sine", " hour cosine"
#: Those that only a date with a time of day has.
OF_THE_CLOCK = (SINE, COSINE)


class Parts(NamedTuple):
    """What matters of a date, in UTC if it says how far it is from there.

    Examples
    --------
    >>> Parts(0.5, "thursday", 12).under("seen")["seen weekday"]
    'thursday'
    """

    day: float | None  # since the beginning of 1970, with its fraction
    weekday: str | None  # in English
    hour: int | None  # from 0 to 23; None if there is only a date

    def under(self, name: str) -> dict[str, float | str | None]:
        """The parts by the names that features have.

        Examples
        --------
        >>> parts_of("2024-01-05T18:00").under("seen")["seen hour sine"]
        -1.0
        """
        turn = self.hour
        return {
            name + DAY: self.day,
            name + WEEKDAY: self.weekday,
            name + SINE: None if turn is None else _sine(turn),
            name + COSINE: None if turn is None else _sine(turn + 6),
        }


#: Of a missing date.
NO_PARTS = Parts(None, None, None)


def parts_of(value: Any) -> Parts | None:
    """The parts of an ISO date or time, a `datetime`, a `date` or NumPy's; None for all else.

    Examples
    --------
    >>> parts_of("2024-01-05T01:30:00+02:00")
    Parts(day=19726.979166666668, weekday='thursday', hour=23)
    >>> parts_of("2024-01-05"), parts_of("2024-02-30"), parts_of("20240105")
    (Parts(day=19727.0, weekday='friday', hour=None), None, None)
    """
    found = _ISO.fullmatch(written) if (written := _written(value)) else None
    if found is None:
        return None
    year, month, day, hours, *rest = found.groups()
    days, clock = _days_since_1970(int(year), int(month), int(day)), _clock(hours, *rest)
    if days is None or clock is None:
        return None
    days, seconds = days + math.floor(clock / 86_400), clock % 86_400
    hour = None if hours is None else int(seconds // 3600)
    return Parts(days + seconds / 86_400, WEEKDAYS[(days + 3) % 7], hour)


def is_date(value: Any) -> bool:
    """Whether it has parts.

    Examples
    --------
    >>> is_date("2024-01-05"), is_date("a word"), is_date(1704412800)
    (True, False, False)
    """
    return parts_of(value) is not None


def is_no_time(value: Any) -> bool:
    """Whether it is the missing date of NumPy or pandas, or anything that is missing in pandas.

    Examples
    --------
    >>> is_no_time(np.datetime64("NaT", "s")), is_no_time("NaT")
    (True, False)
    """
    if type(value).__name__ == "NAType":
        return True
    known = isinstance(value, np.datetime64) or hasattr(value, "isoformat")
    return known and bool(value != value)  # noqa: PLR0124 - as with NaN


def _written(value: Any) -> str | None:
    """A date of any type in the words of ISO 8601, if it can be said so."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.datetime64):
        return str(value)
    return str(value.isoformat()) if hasattr(value, "isoformat") else None


def _clock(
    hours: str | None, minutes: str, seconds: str | None, part: str | None, zone: str | None
) -> float | None:
    """Seconds since midnight in UTC, which may be the day before or after; None if impossible."""
    if hours is None:
        return 0.0
    found = (int(hours), int(minutes), int(seconds or 0))
    if found[0] > 23 or found[1] > 59 or found[2] > 59:
        return None
    fraction = int(part) / 10 ** len(part) if part else 0.0
    return 3600 * found[0] + 60 * found[1] + found[2] + fraction - _offset(zone)


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(6, "0")
    size = 3600 * int(digits[:2]) + 60 * int(digits[2:4]) + int(digits[4:])
    return -size if zone[0] == "-" else size


def _days_since_1970(year: int, month: int, day: int) -> int | None:
    """By the Gregorian calendar; None for a day that it does not have."""
    try:
        return int(np.datetime64(f"{year:04}-{month:02}-{day:02}", "D").astype(np.int64))
    except ValueError:
        return None


def _sine(hours: int) -> float:
    """Of so many of the 24 hours that make a full turn."""
    turn = hours % 24
    half = turn % 12
    size = _QUARTER[half if half <= 6 else 12 - half]
    return -size if turn > 12 else size
