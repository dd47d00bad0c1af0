"""Records as sparse rows, each named value in a column that a hash chooses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fabcost.inference.wide.learner import MOST_BITS
from fabcost.sparse import SparseRows

_LARGEST_MEMORY = 1_000_000  # names whose columns are remembered
CONSTANT = "constant"


@dataclass(frozen=True)
class HashedFeatures:
    """Records (dictionaries) as rows over 2^bits columns, without a list of what there is.

    A string is a 1 in the column of "name=value", each string of a list likewise; a number or a
    boolean is itself in the column of its name; None is nothing.  A cross of two names has the
    products of their numbers.  The column is BLAKE2b of the UTF-8 name, the same everywhere.
    Names that meet in one column share its weight.

    Parameters
    ----------
    bits
        Of the number of columns.
    signed
        Let the hash choose a sign, too: what shares a column then cancels on average.
    crosses
        Pairs of names.
    constant
        Whether every row has a 1 in the column of "constant".

    Examples
    --------
    >>> hashed = HashedFeatures(crosses=[("user", "ad")])
    >>> rows = hashed.rows([{"ad": "a", "price": 3.5}, {"ad": "b"}], context={"user": "u"})
    >>> rows.shape, np.diff(rows.starts)
    ((2, 1048576), array([5, 4]))
    >>> hashed.column("ad=a")
    (519576, 1.0)
    """

    bits: int = 20
    signed: bool = False
    crosses: Sequence[tuple[str, str]] = ()
    constant: bool = True
    _memory: dict[str, tuple[int, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits is {self.bits} but must lie between 1 and {MOST_BITS}")

    @property
    def weights(self) -> int:
        """The number of columns, which the learner must have."""
        return int(2**self.bits)

    def column(self, name: str) -> tuple[int, float]:
        """The column of a name, and its sign."""
        found = self._memory.get(name)
        if found is None:
            digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            sign = -1.0 if self.signed and number >> 63 else 1.0
            found = number % self.weights, sign
            if len(self._memory) < _LARGEST_MEMORY:
                self._memory[name] = found
        return found

    def rows(
        self, records: Iterable[Mapping[str, Any]], *, context: Mapping[str, Any] | None = None
    ) -> SparseRows:
        """A row for each record, with the context's features in all of them."""
        shared = {} if context is None else context
        pairs = [self._pair({**shared, **record}) for record in records]
        return SparseRows.of_pairs(pairs, self.weights)

    def row(self, record: Mapping[str, Any]) -> SparseRows:
        """The row of one record.

        Examples
        --------
        >>> HashedFeatures(bits=3, constant=False).row({"price": 2.0}).dense()
        array([[0., 2., 0., 0., 0., 0., 0., 0.]])
        """
        return self.rows([record])

    def _pair(self, record: Mapping[str, Any]) -> tuple[Any, Any]:
        terms = {name: list(_terms(name, value)) for name, value in record.items()}
        listed = [(CONSTANT, 1.0)] if self.constant else []
        listed += [term for each in terms.values() for term in each]
        listed += [
            (f"{one}^{other}", x * y)
            for first, second in self.crosses
            for one, x in terms.get(first, ())
            for other, y in terms.get(second, ())
        ]
        found = [(*self.column(name), x) for name, x in listed]
        columns = np.array([column for column, _, _ in found], dtype=np.int64)
        return columns, np.array([sign * x for _, sign, x in found], dtype=np.float64)


def _terms(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """The named numbers that a feature's value stands for."""
    if value is None:
        return
    if isinstance(value, str):
        yield f"{name}={value}", 1.0
    elif isinstance(value, bool | int | float | np.number | np.bool_):
        yield name, float(value)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in sorted(value) if isinstance(value, set | frozenset) else value:
            if not isinstance(each, str):
                raise ValueError(f"{name!r} has {each!r} in its list but must have strings")
            yield f"{name}={each}", 1.0
    else:
        raise ValueError(
            f"{name!r} is {value!r:.80} but must be a string, a number, a boolean, a list of "
            "strings or None"
        )
