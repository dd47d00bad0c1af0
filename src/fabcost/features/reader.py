"""Records to terms, without changing the schema: what is wrong is found before anything grows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabcost.features.kinds import Boolean, Feature, Numeric, Role, Term, Text, is_missing

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Openness:
    """What a schema does with keys that it has never seen: each becomes a feature.

    Parameters
    ----------
    limit
        Of new features, and of the strings of each that get a weight of their own.
    buckets
        How many weights the strings past the limit share.
    crosses
        Whether to cross every feature of the context with every feature of the item.

    Examples
    --------
    >>> Openness().feature("age", 3, "item")
    Numeric(name='age', role='item', missing='zero', mean=0.0, scale=1.0)
    """

    limit: int = 100
    buckets: int = 16
    crosses: bool = True

    def feature(self, name: str, value: Any, role: Role) -> Feature:
        """The feature that a new key becomes, by the type of its first value."""
        for kind in (Boolean(name, role, "zero"), Numeric(name, role, "zero")):
            if _accepts(kind, value):
                return kind
        text = Text(name, role, "zero", limit=self.limit, buckets=self.buckets)
        text.term(value)
        return text


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
        for name, feature in features.items():
            self._by_role[feature.role][name] = feature

    def copy(self) -> Reader:
        """A reader of the same features, which collects new ones by itself."""
        other = Reader.__new__(Reader)
        other.openness = self.openness
        other.fresh = self.fresh.copy()
        other._known = self._known.copy()
        other._by_role = {role: known.copy() for role, known in self._by_role.items()}
        return other

    def names(self, role: Role) -> list[str]:
        """The features of a role, new ones included, in the order of the terms."""
        return list(self._by_role[role])

    def read(self, record: Record, role: Role) -> list[Term]:
        """The terms of a record, one for each feature of the role."""
        if not isinstance(record, Mapping):
            raise ValueError(f"the {role} record is {record!r} but must map names to values")
        features = self._by_role[role]
        for name in record:
            if name not in features:
                self.meet(name, record[name], role)
        return [feature.term(record.get(name)) for name, feature in features.items()]

    def read_flat(
        self, record: Record, drop: Collection[str] = ()
    ) -> tuple[list[Term], list[Term]]:
        """The terms of context and item from one record that has both; new keys are the item's."""
        context = self._by_role["context"]
        kept = {name: value for name, value in record.items() if name not in drop}
        of_context = {name: value for name, value in kept.items() if name in context}
        of_item = {name: value for name, value in kept.items() if name not in context}
        return self.read(of_context, "context"), self.read(of_item, "item")

    def feature(self, name: str) -> Feature:
        """The feature of that name, known or new."""
        return self._known[name]

    def meet(self, name: str, value: Any, role: Role) -> None:
        """Make a feature of a new key if the schema is open."""
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
        feature = self.openness.feature(name, value, role)
        self.fresh.append(feature)
        self._known[name] = self._by_role[role][name] = feature


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
            raise ValueError(f"items are {items!r} but must map ids to records")
        if not items:
            raise ValueError("there are no items but there must be at least one")
        terms = []
        for name, record in items.items():
            try:
                terms.append(reader.read(record, "item"))
            except ValueError as error:
                raise ValueError(f"item {name!r}: {error}") from error
        return cls(tuple(items), terms)


def _accepts(feature: Feature, value: Any) -> bool:
    try:
        feature.term(value)
    except ValueError:
        return False
    return True
