"""Cells of a file made clean, by one rule for every format: numbers, booleans, words, missing.

Only what reads files imports this module: it needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fabcost.features.kinds import LARGEST_NUMBER
from fabcost.impressions import FloatArray

BoolArray = npt.NDArray[np.bool_]
#: What a column is, where it is not to be found out.
Kind = Literal["category", "number", "date"]

#: How files write that a value is missing, in lower case.
MISSING = (
    *("", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan"),
    *("null", "\\n", "none", "nil", "?", "-", "--"),
)
#: How they write a miss and a click, or false and true, in words; in lower case.
WORDS = {"false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0, "n": 0.0, "y": 1.0}

AN_OUTCOME = "be an outcome: 0 or 1, true or false, yes or no"
A_FRACTION = f"{AN_OUTCOME}, or a number between 0 and 1"
A_DATE = "be a date such as 2026-12-31, 2026-12-31T23:59, 31.12.2026 or seconds since 1970"
A_NUMBER = f"be a finite number of magnitude at most {LARGEST_NUMBER:g}, or missing"

_NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)$"
_DATES = (
    *("%Y-%m-%d", "%d.%m.%Y", "%Y%m%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"),
    *("%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M"),
)
_LARGEST_SECOND = 1e11  # beyond are milliseconds: as seconds they would be in the year 5138
_INTEGER = r"^-?\d{1,18}$"
_WITH_COMMA = r"^[+-]?\d*,\d+$"
# What no comma between thousands makes of a number.
_NO_THOUSANDS = r"^[+-]?(\d*,(\d{1,2}|\d{4,})|0?,\d+|\d{4,},\d+)$"


class Cells(NamedTuple):
    """A clean column, null where a cell is missing, and which of its cells are wrong."""

    values: Any
    wrong: BoolArray


def clean(name: str, column: Any, kind: Kind | None = None) -> Cells:
    """What a column of a file holds, unless it is told.

    Numbers, if more than half of the cells that are not missing are numbers: then every other one
    must be a finite number too.  They may have decimal commas, if some cell shows that these are
    not between thousands.  Booleans, if all are words for true or false.  Else text.

    Examples
    --------
    >>> clean("age", pa.array(["3", "N/A", "old", "5.5"])).wrong.tolist()
    [False, False, True, False]
    >>> clean("price", pa.array(["1,5", "2", "0,125"])).values.to_pylist()
    [1.5, 2.0, 0.125]
    >>> clean("make", pa.array(["kia", " ford ", "?"])).values.to_pylist()
    ['kia', 'ford', None]
    """
    given = _combined(column)
    if kind is not None:
        return _told(name, given, kind)
    types = pa.types
    # A schema says what it thinks of dates.
    if types.is_temporal(given.type) or types.is_boolean(given.type):
        return _sound(given)
    if any(
        is_kind(given.type) for is_kind in (types.is_integer, types.is_floating, types.is_decimal)
    ):
        floats = _floats(given)
        return _checked(given, floats, ~np.isnan(floats))
    return _clean_text(texts(name, given))


def kinds_of(**named: Iterable[str]) -> dict[str, Kind]:
    """Kinds of columns, each of which is named for one only.

    Examples
    --------
    >>> kinds_of(category=["shop"], number=[], date=["day"])
    {'shop': 'category', 'day': 'date'}
    """
    kinds: dict[str, Any] = {}
    for kind, columns in named.items():
        for name in columns:
            if kinds.setdefault(name, kind) != kind:
                raise ValueError(f"column {name!r} is told to be a {kinds[name]} and a {kind}")
    return kinds


def texts(name: str, column: Any) -> Any:
    """A column as strings without the spaces around them, null where one is missing.

    Examples
    --------
    >>> texts("id", pa.array([" a", "NA", "b"])).to_pylist()
    ['a', None, 'b']
    """
    given = _combined(column)
    try:
        trimmed = pc.utf8_trim_whitespace(pc.cast(given, pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {name!r} has type {given.type} but must be numbers, booleans or text: drop it"
        ) from error
    missing = pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(MISSING))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def numbers(name: str, column: Any) -> FloatArray:
    """A column as floats, NaN where a cell is no number.

    Examples
    --------
    >>> numbers("p", pa.array(["0.5", "often", None]))
    array([0.5, nan, nan])
    """
    words = _pointed(texts(name, column))
    return _floats(_only(words, _matches(words, _NUMBER)))


def outcomes(
    column: Any, read: Callable[[Any], float | None] | None = None
) -> tuple[FloatArray, BoolArray]:
    """The outcome of each cell, 0 or 1 unless it is ``read`` otherwise, and which cells are none.

    Examples
    --------
    >>> outcomes(pa.array(["yes", "No", "maybe", "1"]))
    (array([1., 0., 0., 1.]), array([False, False,  True, False]))
    """
    coded = _combined(column).dictionary_encode()
    known = [(read or outcome)(value) for value in coded.dictionary.to_pylist()]
    values = np.array([np.nan if each is None else each for each in known] + [np.nan])
    places = coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    found = values[places]
    wrong = np.isnan(found)
    return np.where(wrong, 0.0, found), wrong


def outcome(value: Any) -> float | None:
    """One cell as 0 or 1, or None if it is neither.

    Examples
    --------
    >>> outcome("Yes"), outcome(0), outcome("maybe")
    (1.0, 0.0, None)
    """
    number = fraction(value)
    return number if number in (0.0, 1.0) else None


def fraction(value: Any) -> float | None:
    """One cell as a number from 0 to 1, or None if it is none.

    Examples
    --------
    >>> fraction("Yes"), fraction(" 0.3 "), fraction(1.5)
    (1.0, 0.3, None)
    """
    text = str(value).strip().lower()
    try:
        number = WORDS[text] if text in WORDS else float(text)
    except ValueError:
        return None
    return number if 0.0 <= number <= 1.0 else None


def _clean_text(words: Any) -> Cells:
    pointed = _pointed(words)
    present, numeric = _mask(words.is_valid()), _matches(pointed, _NUMBER)
    if 2 * numeric.sum() > present.sum():
        shown = _only(pointed, numeric)
        whole = _matches(pointed, _INTEGER)[numeric].all()
        return _checked(pc.cast(shown, pa.int64()) if whole else None, _floats(shown), present)
    lower = pc.utf8_lower(words)
    if present.any() and set(lower.unique().to_pylist()) <= {*WORDS, None}:
        is_true = pc.is_in(lower, value_set=pa.array([w for w, each in WORDS.items() if each]))
        return _sound(pc.if_else(words.is_valid(), is_true, pa.scalar(None, pa.bool_())))
    return _sound(words)


def _sound(values: Any) -> Cells:
    return Cells(values, np.zeros(len(values), dtype=bool))


def _told(name: str, given: Any, kind: Kind) -> Cells:
    if kind == "date":
        return _dates(name, given)
    words = texts(name, given)
    if kind == "number":
        return _checked(None, numbers(name, given), _mask(words.is_valid()))
    return _sound(words)


def _dates(name: str, given: Any) -> Cells:
    if pa.types.is_temporal(given.type):
        return _sound(given)
    words, second = texts(name, given), pa.timestamp("s")
    tried = [pc.strptime(words, format=form, unit="s", error_is_null=True) for form in _DATES]
    number = numbers(name, given)
    number = np.where(np.abs(number) > _LARGEST_SECOND, number / 1000.0, number)
    number[~(np.abs(number) <= _LARGEST_SECOND)] = np.nan
    since = pc.cast(pc.floor(pa.array(number, from_pandas=True)), pa.int64()).cast(second)
    found = pc.coalesce(*tried, since)
    return Cells(found, _mask(words.is_valid()) & ~_mask(found.is_valid()))


def _pointed(words: Any) -> Any:
    """Decimal commas made points, if some cell has one that cannot stand between thousands."""
    if not _matches(words, _NO_THOUSANDS).any():
        return words
    commas = pa.array(_matches(words, _WITH_COMMA))
    return pc.if_else(commas, pc.replace_substring(words, ",", "."), words)


def _checked(exact: Any | None, floats: FloatArray, present: BoolArray) -> Cells:
    """Numbers, as they are if they are ``exact`` in a type of their own."""
    sound = present & (np.abs(floats) <= LARGEST_NUMBER)
    values = pa.array(floats) if exact is None else exact
    return Cells(_only(values, sound), present & ~sound)


def _only(values: Any, wanted: BoolArray) -> Any:
    """The values that are wanted; null instead of the others."""
    return values if wanted.all() else pc.if_else(pa.array(wanted), values, None)


def _matches(words: Any, pattern: str) -> BoolArray:
    return _mask(pc.match_substring_regex(words, pattern).fill_null(False))


def _floats(column: Any) -> FloatArray:
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))


def _mask(column: Any) -> BoolArray:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)


def _combined(column: Any) -> Any:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return flat.dictionary_decode() if pa.types.is_dictionary(flat.type) else flat
