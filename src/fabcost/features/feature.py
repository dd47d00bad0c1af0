"""What all features have in common: a name, a role, and what a missing value means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from fabcost.features.dates import is_date, is_no_time

Role = Literal["context", "item"]
Missing = Literal["error", "weight", "zero"]

#: The product of two such numbers is still a feature that a learner accepts.
LARGEST_NUMBER = 1e37

# Made once: every value of every record is compared with them.
_FLOAT = (float, np.floating)
_PLAIN = (str, int, np.integer, np.bool_)


class Term(NamedTuple):
    """What a value contributes: the label of the one weight it touches, times a number."""

    label: str
    number: float


NOTHING = Term("", 0.0)


class Size(NamedTuple):
    """How many columns there would be, and how long their names are together.

    Examples
    --------
    >>> Size(2, 12).plus(Size(1, 3)), Size(2, 12).crossed(Size(1, 3))
    (Size(columns=3, characters=15), Size(columns=2, characters=24))
    """

    columns: int
    characters: int

    def plus(self, other: Size) -> Size:
        """Of both together."""
        return Size(self.columns + other.columns, self.characters + other.characters)

    def crossed(self, other: Size) -> Size:
        """Of a column for each pair, whose name has both names and three characters between."""
        pairs = self.columns * other.columns
        names = self.columns * other.characters + other.columns * self.characters
        return Size(pairs, names + 3 * pairs)


@dataclass(frozen=True)
class Feature:
    """What every kind has in common; use `Numeric`, `Boolean`, `Categorical`, `Text`, `Date`.

    Parameters
    ----------
    name
        The key in the records, and the beginning of its columns' names.
    role
        Whether it describes the "context" or the "item".
    missing
        What None, NaN or an absent key means: "error", the default, "weight" (a column of its
        own, 1 where the value is missing) or "zero" (contributes nothing).

    Examples
    --------
    >>> from fabcost import Numeric
    >>> Numeric("age", missing="weight").term(None)
    Term(label='age missing', number=1.0)
    """

    name: str
    role: Role = "item"
    missing: Missing = "error"

    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise ValueError(f"a feature's name is {name!r} but must be a string, not empty")
        self._check_choice("role", self.role, get_args(Role))
        self._check_choice("missing", self.missing, get_args(Missing))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are there from the start."""
        missing = (f"{self.name} missing",) if self.missing == "weight" else ()
        return self._declared() + missing

    @property
    def size(self) -> Size:
        """That of `labels`."""
        return Size(len(self.labels), sum(map(len, self.labels)))

    def term(self, value: Any) -> Term:
        """What ``value`` contributes, or a ValueError that says what was expected."""
        if not is_missing(value):
            return self._present(value)
        if self.missing == "error":
            raise self._refusal(value, f"{self._expected()}; missing values were not declared")
        return NOTHING if self.missing == "zero" else Term(f"{self.name} missing", 1.0)

    def _declared(self) -> tuple[str, ...]:
        return (self.name,)

    def _expected(self) -> str:
        raise NotImplementedError

    def _present(self, value: Any) -> Term:
        raise NotImplementedError

    def _refusal(self, value: Any, expected: str) -> ValueError:
        given = f"the date {value!s}" if is_date(value) else repr(value)
        return ValueError(f"{self.role} feature {self.name!r} is {given} but must be {expected}")

    def _check_choice(self, option: str, given: object, choices: tuple[str, ...]) -> None:
        if given not in choices:
            raise ValueError(
                f"{option} of feature {self.name!r} is {given!r} but must be one of "
                + ", ".join(map(repr, choices))
            )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a date that is none.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing("")
    (True, False)
    """
    if value is None or isinstance(value, _FLOAT):
        return value is None or math.isnan(value)
    return not isinstance(value, _PLAIN) and is_no_time(value)
