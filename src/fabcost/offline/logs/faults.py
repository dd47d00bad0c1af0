"""The columns of a log, and what can be wrong with a row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fabcost.offline.logs.outcomes import WORDS
from fabcost.offline.logs.rows import Record

_MISSING = {"", "na", "nan", "none", "null"}


@dataclass(frozen=True)
class Columns:
    """The names of a log's columns.

    Attributes
    ----------
    reward, propensity, action
        Outcome 0 or 1, the logged probability of the action, and the id of the chosen item.
    context
        What was known of the visitor.
    slot
        Where the item was shown: then only items that the log shows in the same slot are
        candidates.
    """

    reward: str
    propensity: str
    action: str
    context: tuple[str, ...] = ()
    slot: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """All of them, each once."""
        slot = () if self.slot is None else (self.slot,)
        return tuple(
            dict.fromkeys((self.reward, self.propensity, self.action, *self.context, *slot))
        )


class Faults:
    """What is wrong with a row: the column, its value, and what was expected."""

    def __init__(
        self, columns: Columns, numeric: frozenset[str], known: frozenset[str] | None
    ) -> None:
        self._columns = columns
        self._numeric = numeric
        self._known = known

    def of(self, record: Record) -> tuple[str, str, str] | None:
        """The first fault of a row, or None."""
        columns = self._columns
        for name in columns.named:
            if text(record[name]) is None:
                return name, f"is missing ({record[name]!r})", "but must have a value"
        if outcome(record[columns.reward]) is None:
            return columns.reward, f"is {record[columns.reward]}", "but must be 0 or 1"
        if not 0.0 < (number(record[columns.propensity]) or 0.0) <= 1.0:
            return columns.propensity, f"is {record[columns.propensity]}", "but must lie in (0, 1]"
        if self._known is not None and str(record[columns.action]) not in self._known:
            return columns.action, f"is {record[columns.action]}", "but must be a known item"
        for name in self._numeric:
            found = number(record[name])
            if found is None or not math.isfinite(found):
                return name, f"is {record[name]}", "but must be a finite number"
        return None


def numeric_columns(records: list[Record], names: Sequence[str]) -> frozenset[str]:
    """Columns of which more than half of the values are numbers."""
    found = Counter(n for record in records for n in names if number(record[n]) is not None)
    return frozenset(name for name in names if 2 * found[name] > len(records))


def text(value: Any) -> str | None:
    """A cell as text, or None if it is missing."""
    written = "" if value is None else str(value)
    return None if written.strip().lower() in _MISSING else written


def number(value: Any) -> float | None:
    """A cell as a number, or None if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def outcome(value: Any) -> float | None:
    """A cell as 0 or 1, or None if it is neither."""
    found = WORDS.get(str(value).strip().lower(), number(value))
    return found if found in (0.0, 1.0) else None
