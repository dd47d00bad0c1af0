"""Records to terms, without changing the schema: what is wrong is found before anything grows."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabcost.features import dates
from fabcost.features.kinds import (
    LARGEST_NUMBER,
    Boolean,
    Date,
    Feature,
    Numeric,
    Role,
    Term,
    Text,
    is_missing,
    is_number,
)

Record = Mapping[str, Any]

#: Scales from the centre up to which a number enters as it is, and beyond by its logarithm.
BOUND = 3.0
#: Keys of items that are kept for those who look at them, and are no features.
FOR_PEOPLE = frozenset({"_name", "_image"})
#: Items by id, of the tables of other libraries.
_RECORDS = {
    "pandas": "table.set_index('id').to_dict('index')",
    "polars": "table.rows_by_key('id', named=True, unique=True)",
    "pyarrow": "{row.pop('id'): row for row in table.to_pylist()}",
}
_QUARTILES = 1.349  # the interquartile range of a Gaussian, in sds


@dataclass(frozen=True)
class Openness:
    """What a schema does with keys that it has never seen: each becomes a feature.

    Examples
    --------
    >>> Openness().features("age", 3, "item")
    [Numeric(name='age', role='item', missing='zero', mean=0.0, scale=1.0)]
    >>> Openness(scaled=True).features("age", 3, "item", among=[3, 5])[0].mean
    4.0
    """

    limit: int = 100  # of new features, and of the strings of each that get a weight of their own
    buckets: int = 16  # how many weights the strings past the limit share
    # Whether to cross every feature of the context with every feature of the item.
    crosses: bool = True
    # Whether numbers scale themselves and dates become their parts. Without, numbers are
    # taken as they are and dates as strings, as all open schemas once did.
    scaled: bool = False

    def features(
        self, name: str, value: Any, role: Role, among: Iterable[Any] = ()
    ) -> list[Feature]:
        """What a new key becomes, by the type of its first value.

        ``among`` are the values of the key in all records that are read with it.
        """
        if self.scaled and (parts := dates.parts_of(value)) is not None:
            return self._of_a_date(name, parts, role, among)
        number = Numeric(name, role, "zero")
        for kind in (Boolean(name, role, "zero"), number):
            if kind.accepts(value):
                anchor = self.scaled and kind is number
                return [anchored(name, role, [*among] or [value]) if anchor else kind]
        if isinstance(value, float):  # infinite, or too large
            number.term(value)
        text = Text(name, role, "zero", limit=self.limit, buckets=self.buckets)
        text.term(value)
        return [text]

    def _of_a_date(
        self, name: str, parts: dates.Parts, role: Role, among: Iterable[Any]
    ) -> list[Feature]:
        known = [each for each in map(dates.parts_of, among) if each is not None] or [parts]
        clock = dates.OF_THE_CLOCK if parts.hour is not None else ()
        return [
            Date(name, role, "zero"),
            anchored(name + dates.DAY, role, [each.day for each in known]),
            Text(name + dates.WEEKDAY, role, "zero", limit=7, buckets=1),
            *[Numeric(name + part, role, "zero") for part in clock],
        ]


class Reader:
    """Reads records against the features of a schema and collects those that are new.

    Examples
    --------
    >>> reader = Reader({"age": Numeric("age")}, None)
    >>> reader.read({"age": 3}, "item")
    [Term(label='age', number=3.0)]
    >>> reader.read({"colour": "red"}, "item")
    Traceback (most recent call last):
    ValueError: the item record has a key 'colour' but its features are 'age'
    """

    def __init__(self, features: Mapping[str, Feature], openness: Openness | None) -> None:
        self.openness = openness
        self.fresh: list[Feature] = []
        self._known = dict(features)
        self._by_role: dict[Role, dict[str, Feature]] = {"context": {}, "item": {}}
        self._dates: dict[Role, tuple[str, ...]] = {"context": (), "item": ()}
        for feature in features.values():
            self._know(feature)

    def copy(self) -> Reader:
        """A reader of the same features, which collects new ones by itself."""
        other = Reader.__new__(Reader)
        other.openness = self.openness
        other.fresh = self.fresh.copy()
        other._known = self._known.copy()
        other._by_role = {role: known.copy() for role, known in self._by_role.items()}
        other._dates = self._dates.copy()
        return other

    def names(self, role: Role) -> list[str]:
        """The features of a role, new ones included, in the order of the terms."""
        return list(self._by_role[role])

    def dates(self, role: Role) -> tuple[str, ...]:
        """The features of a role that are dates."""
        return self._dates[role]

    def read(
        self, record: Record, role: Role, among: Collection[Record] | None = None
    ) -> list[Term]:
        """The terms of a record, one for each feature of the role.

        ``among`` are all records that are read with it: new numbers are anchored by them.
        """
        if not isinstance(record, Mapping):
            raise ValueError(f"the {role} record is {record!r} but must map names to values")
        features = self._by_role[role]
        for name in record:
            if name not in features and name not in FOR_PEOPLE:
                self.meet(name, record[name], role, _values(name, among or (record,)))
        if self._dates[role]:
            record = self._with_parts(record, role)
        return [feature.term(record.get(name)) for name, feature in features.items()]

    def read_flat(
        self, record: Record, drop: Collection[str] = (), among: Collection[Record] | None = None
    ) -> tuple[list[Term], list[Term]]:
        """The terms of context and item from one record that has both; new keys are the item's."""
        context = self._by_role["context"]
        kept = {name: value for name, value in record.items() if name not in drop}
        of_context = {name: value for name, value in kept.items() if name in context}
        of_item = {name: value for name, value in kept.items() if name not in context}
        return self.read(of_context, "context", among), self.read(of_item, "item", among)

    def feature(self, name: str) -> Feature:
        """The feature of that name, known or new."""
        return self._known[name]

    def meet(self, name: str, value: Any, role: Role, among: Iterable[Any] = ()) -> None:
        """Make a feature of a new key if the schema is open, a date with its parts."""
        if self.openness is None:
            known = ", ".join(map(repr, self._by_role[role])) or "none"
            raise ValueError(f"the {role} record has a key {name!r} but its features are {known}")
        if name in self._known:
            other = self._known[name].role
            raise ValueError(f"the {role} record has a key {name!r} but it belongs to the {other}")
        if len(self._known) >= self.openness.limit:
            raise ValueError(
                f"the {role} record has a new key {name!r} but the schema is open to "
                f"{self.openness.limit} features only"
            )
        if is_missing(value):
            return
        features = self.openness.features(name, value, role, among)
        for feature in features:
            self._check_free(feature.name, name)
        for feature in features:
            self.fresh.append(feature)
            self._know(feature)

    def _know(self, feature: Feature) -> None:
        name, role = feature.name, feature.role
        self._known[name] = self._by_role[role][name] = feature
        if isinstance(feature, Date):
            self._dates[role] += (name,)

    def _check_free(self, name: str, date: str) -> None:
        if name in self._known:
            raise ValueError(f"{date!r} is a date, whose part {name!r} is also a key of its own")

    def _with_parts(self, record: Record, role: Role) -> Record:
        """The record and the parts of its dates."""
        found = dict(record)
        for date in self._dates[role]:
            parts = dates.parts_of(record.get(date))
            for name, value in ({} if parts is None else parts.under(date)).items():
                if name in record:
                    raise ValueError(
                        f"the {role} record has a key {name!r} but that is a part of its {date!r}"
                    )
                found[name] = value
        return found


class ReadItems(NamedTuple):
    """Items that have been read but not placed: nothing has grown for them yet.

    Examples
    --------
    >>> ReadItems.by(Reader({"age": Numeric("age")}, None), {"ad-1": {"age": "old"}})
    Traceback (most recent call last):
    ValueError: item 'ad-1': item feature 'age' is 'old' but must be a number
    """

    names: tuple[Any, ...]
    terms: list[list[Term]]

    @classmethod
    def by(cls, reader: Reader, items: Mapping[Any, Record]) -> ReadItems:
        """Read each item; an error names it."""
        if not isinstance(items, Mapping):
            raise ValueError(f"items are {_told(items)} but must map ids to records")
        if not items:
            raise ValueError("there are no items but there must be at least one")
        terms, records = [], items.values()
        for name, record in items.items():
            try:
                terms.append(reader.read(record, "item", records))
            except ValueError as error:
                raise ValueError(f"item {name!r}: {error}") from error
        return cls(tuple(items), terms)


def _values(name: str, records: Iterable[Any]) -> Iterable[Any]:
    return (record.get(name) for record in records if isinstance(record, Mapping))


def anchored(name: str, role: Role, values: Iterable[Any]) -> Numeric:
    """The feature of a number that came by itself, anchored by the values that came with it.

    Examples
    --------
    >>> price = anchored("price", "item", [9_000, 12_000, 10_000, 11_000, None])
    >>> price.mean, round(price.scale)
    (10500.0, 1112)
    """
    found = [float(value) for value in values if _counts(value)]
    mean, scale = anchors(found)
    return Numeric(name, role, "zero", mean=mean, scale=scale, bound=BOUND)


def anchors(values: Sequence[float]) -> tuple[float, float]:
    """A robust centre and a scale that errs to the large: a small one bends what is ordinary.

    The scale is the interquartile range, in units of the sd, or the sd if that is zero; of n
    values at least |median|/n², since few say little; of equal ones their size.

    Examples
    --------
    >>> anchors([2015.0]), anchors([0.0, 0.0]), anchors([10_000.0, 10_001.0])
    ((2015.0, 2015.0), (0.0, 1.0), (10000.5, 2500.125))
    """
    ordered = sorted(values)
    if not ordered:
        return 0.0, 1.0
    centre = _quantile(ordered, 0.5)
    spread = (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / _QUARTILES
    largest = max(abs(ordered[0]), abs(ordered[-1]))
    if spread <= 1e-12 * largest:
        spread = _deviation(ordered)
    if spread <= 1e-12 * largest:
        spread = abs(centre) or 1.0
    scale = max(spread, abs(centre) / len(ordered) ** 2)
    return centre, min(max(scale, 1.0 / LARGEST_NUMBER), LARGEST_NUMBER)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _deviation(values: Sequence[float]) -> float:
    # fsum: the sum of Python 3.12 has other bits than that of 3.11.
    mean = math.fsum(values) / len(values)
    squares = [(value - mean) * (value - mean) for value in values]
    return math.sqrt(math.fsum(squares) / len(values))


def _told(items: Any) -> str:
    """What was given in place of items; of a table, with what makes items of it."""
    library = type(items).__module__.partition(".")[0]
    if library not in _RECORDS:
        return reprlib.repr(items)
    return f"a table of {library}, of which {_RECORDS[library]} makes items,"


def _counts(value: Any) -> bool:
    return not is_missing(value) and is_number(value) and bool(abs(value) <= LARGEST_NUMBER)
