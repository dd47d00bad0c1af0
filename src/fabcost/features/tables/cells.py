"""Columns of a table made clean: numbers, booleans or words, and which cells are wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fabcost.features.kinds import LARGEST_NUMBER
from fabcost.impressions import FloatArray
from fabcost.offline.logs.outcomes import WORDS

BoolArray = npt.NDArray[np.bool_]

OUTCOMES = "an outcome: 0 or 1, true or false, yes or no"
NUMBER = f"a finite number of magnitude at most {LARGEST_NUMBER:g}, or empty if it is missing"

_A_NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)$"


class Cells(NamedTuple):
    """A clean column, null where a cell is missing, and which of its cells are wrong."""

    values: Any
    wrong: BoolArray


def clean(name: str, column: Any) -> Cells:
    """What a column of a pyarrow table holds.

    Numbers, if more than half of the cells that are not empty are numbers: then every other
    cell must be a finite number too.  Booleans, if all are true or false.  Else text.

    Examples
    --------
    >>> clean("age", pa.array(["3", "", "old", "5.5"])).wrong.tolist()
    [False, False, True, False]
    >>> clean("make", pa.array(["kia", " ford ", ""])).values.to_pylist()
    ['kia', 'ford', None]
    """
    given = _combined(column)
    if pa.types.is_boolean(given.type):
        return Cells(given, np.zeros(len(given), dtype=bool))
    if _is_numeric(given.type):
        return _checked_numbers(_floats(given), _mask(given.is_valid()))
    return _clean_text(_as_text(name, given))


def outcomes(column: Any) -> tuple[FloatArray, BoolArray]:
    """The outcome of each cell, 0 or 1, and which cells are none.

    Examples
    --------
    >>> outcomes(pa.array(["yes", "No", "maybe", "1"]))
    (array([1., 0., 0., 1.]), array([False, False,  True, False]))
    """
    coded = _combined(column).dictionary_encode()
    known = [_outcome(value) for value in coded.dictionary.to_pylist()]
    values = np.array([np.nan if each is None else each for each in known] + [np.nan])
    places = coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    read = values[places]
    wrong = np.isnan(read)
    return np.where(wrong, 0.0, read), wrong


def _outcome(value: Any) -> float | None:
    text = str(value).strip().lower()
    try:
        number = WORDS[text] if text in WORDS else float(text)
    except ValueError:
        return None
    return number if number in (0.0, 1.0) else None


def _clean_text(text: Any) -> Cells:
    trimmed = pc.utf8_trim_whitespace(text)
    empty = pc.equal(trimmed, "")
    words = pc.if_else(empty, pa.scalar(None, pa.string()), trimmed)
    present = _mask(words.is_valid())
    numeric = _mask(pc.match_substring_regex(words, _A_NUMBER).fill_null(False))
    if 2 * numeric.sum() > present.sum():
        shown = pc.if_else(pa.array(numeric), words, pa.scalar(None, pa.string()))
        return _checked_numbers(_floats(shown), present)
    none_wrong = np.zeros(len(words), dtype=bool)
    if present.any() and set(pc.utf8_lower(words).unique().to_pylist()) <= {"true", "false", None}:
        return Cells(pc.equal(pc.utf8_lower(words), "true"), none_wrong)
    return Cells(words, none_wrong)


def _checked_numbers(numbers: FloatArray, present: BoolArray) -> Cells:
    sound = np.abs(numbers) <= LARGEST_NUMBER
    return Cells(pa.array(numbers, mask=~(present & sound)), present & ~sound)


def _floats(column: Any) -> FloatArray:
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))


def _mask(column: Any) -> BoolArray:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _as_text(name: str, column: Any) -> Any:
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {name!r} has type {column.type} but must be numbers, booleans or text: drop it"
        ) from error


def _combined(column: Any) -> Any:
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return flat.dictionary_decode() if pa.types.is_dictionary(flat.type) else flat
