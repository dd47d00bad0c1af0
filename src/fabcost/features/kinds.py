"""Features and their kinds: what each accepts, and which weight a value touches."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from fabcost import kernels
from fabcost.features.dates import is_date, is_no_time

Role = Literal["context", "item"]
Missing = Literal["error", "weight", "zero"]

#: The product of two such numbers is still a feature that a learner accepts.
LARGEST_NUMBER = 1e37

# Made once: every value of every record is compared with them.
_FLOAT = (float, np.floating, Decimal)
_PLAIN = (str, int, np.integer, np.bool_)
_BOOLEAN = (bool, np.bool_)
_NUMBER = (int, np.integer, *_FLOAT)
_NO_NUMBER = (bool, np.timedelta64)  # which are integers to Python and NumPy
_LEVEL = (str, int, np.integer)


class Term(NamedTuple):
    """What a value contributes: the label of the one weight it touches, times a number."""

    label: str
    number: float


NOTHING = Term("", 0.0)


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
        for option, known in (("role", get_args(Role)), ("missing", get_args(Missing))):
            listed = ", ".join(map(repr, known))
            self._check(getattr(self, option) in known, option, f"be one of {listed}")

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are there from the start."""
        missing = (f"{self.name} missing",) if self.missing == "weight" else ()
        return self._declared() + missing

    def term(self, value: Any) -> Term:
        """What ``value`` contributes, or a ValueError that says what was expected."""
        if not is_missing(value):
            return self._present(value)
        if self.missing == "error":
            raise self._refusal(value, f"{self._expected()}; missing values were not declared")
        return NOTHING if self.missing == "zero" else Term(f"{self.name} missing", 1.0)

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` has a term."""
        try:
            self.term(value)
        except ValueError:
            return False
        return True

    def _declared(self) -> tuple[str, ...]:
        return (self.name,)

    def _expected(self) -> str:
        raise NotImplementedError

    def _present(self, value: Any) -> Term:
        raise NotImplementedError

    def _refusal(self, value: Any, expected: str) -> ValueError:
        given = f"the date {value!s}" if is_date(value) else repr(value)
        return ValueError(f"{self.role} feature {self.name!r} is {given} but must be {expected}")

    def _check(self, is_sound: bool, option: str, must: str, verb: str = "is") -> None:
        if not is_sound:
            given = getattr(self, option)
            raise ValueError(f"{option} of feature {self.name!r} {verb} {given!r} but must {must}")


@dataclass(frozen=True)
class Numeric(Feature):
    """A number, standardised as z = (value − mean) / scale.

    With a ``bound`` b it enters as b asinh(z / b): as it is within b scales of the mean, and as
    a logarithm beyond, so that heavy tails and wild values stay small.

    Examples
    --------
    >>> Numeric("age", mean=3.0, scale=2.0).term(7)
    Term(label='age', number=2.0)
    >>> round(Numeric("price", scale=5_000.0, bound=3.0).term(1e9).number)
    35
    """

    mean: float = 0.0
    scale: float = 1.0
    bound: float | None = field(default=None, repr=False)

    kind = "numeric"

    def __post_init__(self) -> None:
        super().__post_init__()
        mean, scale, bound = self.mean, self.scale, self.bound
        self._check(is_number(mean) and abs(mean) <= LARGEST_NUMBER, "mean", "be finite")
        wide = is_number(scale) and 1.0 / LARGEST_NUMBER <= scale <= LARGEST_NUMBER
        self._check(wide, "scale", "be above zero")
        within = bound is None or (is_number(bound) and 0.01 <= bound <= 1e6)
        self._check(within, "bound", "lie between 0.01 and 1e6, or be None")

    def _expected(self) -> str:
        return "a number"

    def _present(self, value: Any) -> Term:
        if not is_number(value):
            raise self._refusal(value, self._expected())
        if abs(value) <= LARGEST_NUMBER:
            number = (float(value) - self.mean) / self.scale
            if self.bound is not None:
                return Term(self.name, float(self.bound * kernels.asinh(number / self.bound)))
            if abs(number) <= LARGEST_NUMBER:
                return Term(self.name, number)
        raise self._refusal(value, f"finite, of magnitude at most {LARGEST_NUMBER:g} standardised")


@dataclass(frozen=True)
class Boolean(Feature):
    """True or false, as 1 or 0.

    Examples
    --------
    >>> Boolean("dealer").term(True)
    Term(label='dealer', number=1.0)
    """

    kind = "boolean"

    def _expected(self) -> str:
        return "True or False"

    def _present(self, value: Any) -> Term:
        if not isinstance(value, _BOOLEAN):
            raise self._refusal(value, self._expected())
        return Term(self.name, float(value))


@dataclass(frozen=True)
class Categorical(Feature):
    """One of the declared levels, a column for each; with ``other`` one for all unseen ones.

    An integer is the level of its digits.

    Examples
    --------
    >>> Categorical("make", levels=("ford", "audi")).term("audi")
    Term(label='make=audi', number=1.0)
    >>> Categorical("make", levels=("ford", "audi"), other=True).term("kia")
    Term(label='make other', number=1.0)
    """

    levels: tuple[str, ...] = ()
    other: bool = False

    kind = "categorical"

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.levels
        several = isinstance(given, Iterable) and not isinstance(given, str)
        sound = several and all(_is_level(level) for level in given)
        self._check(sound, "levels", "be strings", "are")
        levels = tuple(str(level) for level in given)
        self._check(0 < len(levels) == len(set(levels)), "levels", "be distinct", "are")
        object.__setattr__(self, "levels", levels)

    @cached_property
    def _terms(self) -> dict[str, Term]:
        return {level: Term(f"{self.name}={level}", 1.0) for level in self.levels}

    def _declared(self) -> tuple[str, ...]:
        other = (f"{self.name} other",) if self.other else ()
        return tuple(term.label for term in self._terms.values()) + other

    def _expected(self) -> str:
        shown = ", ".join(map(repr, self.levels[:5])) + (", …" if len(self.levels) > 5 else "")
        return f"one of {shown}" if not self.other else f"a string such as {shown}"

    def _present(self, value: Any) -> Term:
        if not _is_level(value):
            raise self._refusal(value, self._expected())
        term = self._terms.get(str(value))
        if term is not None:
            return term
        if not self.other:
            raise self._refusal(value, f"{self._expected()}; 'other' was not declared")
        return Term(f"{self.name} other", 1.0)


@dataclass(frozen=True)
class Text(Feature):
    """An open set of strings: each new one gets a weight of its own, up to ``limit`` of them.

    Past the limit new strings share ``buckets`` weights, by a hash that is the same everywhere.

    Examples
    --------
    >>> Text("advert").term("ad-17")
    Term(label='advert=ad-17', number=1.0)
    >>> Text("advert", buckets=10).shared("advert=ad-17")
    'advert#1'
    """

    limit: int = 1000
    buckets: int = 64

    kind = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, least in (("limit", 0), ("buckets", 1)):
            given = getattr(self, option)
            sound = isinstance(given, int) and given >= least
            self._check(sound, option, f"be an integer of at least {least}")

    def shared(self, label: str) -> str:
        """The label of the shared weight of a string that came after the limit."""
        digest = hashlib.blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return f"{self.name}#{int.from_bytes(digest, 'big') % self.buckets}"

    def _declared(self) -> tuple[str, ...]:
        return ()

    def _expected(self) -> str:
        return "a string or an integer"

    def _present(self, value: Any) -> Term:
        if not _is_level(value):
            raise self._refusal(value, self._expected())
        return Term(f"{self.name}={value}", 1.0)


@dataclass(frozen=True)
class Date(Feature):
    """A date or time, which has no weight itself: its parts are features of their own.

    They are named after it: ``day`` (a number, counted from 1970), ``weekday`` (a string), and
    for times ``hour sine`` and ``hour cosine``.  Declare those that matter; `Schema.infer` and
    open schemas do it by themselves.

    Examples
    --------
    >>> Date("seen").term("2024-01-05T18:00")
    Term(label='', number=0.0)
    >>> Date("seen").term("soon")
    Traceback (most recent call last):
    ValueError: item feature 'seen' is 'soon' but must be a date such as 2024-01-05 or ...
    """

    kind = "date"

    def _declared(self) -> tuple[str, ...]:
        return ()

    def _expected(self) -> str:
        return "a date such as 2024-01-05 or 2024-01-05T18:00"

    def _present(self, value: Any) -> Term:
        if not is_date(value):
            raise self._refusal(value, self._expected())
        return NOTHING


KINDS: dict[str, type[Feature]] = {
    each.kind: each for each in (Numeric, Boolean, Categorical, Text, Date)
}


def is_number(value: Any) -> bool:
    """Whether it is a number, which True and False are not.

    Examples
    --------
    >>> is_number(3), is_number(True), is_number("3")
    (True, False, False)
    """
    return isinstance(value, _NUMBER) and not isinstance(value, _NO_NUMBER)


def _is_level(value: Any) -> bool:
    return isinstance(value, _LEVEL) and not isinstance(value, _NO_NUMBER)


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
