"""Rows of the tables, as plain values, and what is kept of a decision in its row."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw, Struct

from fabcost import kernels
from fabcost.impressions import FloatArray
from fabcost.wire.messages import DecisionAnswer, Record
from fabcost.wire.settings import Mode

ContextT = TypeVar("ContextT")
NamesT = TypeVar("NamesT")
FeaturesT = TypeVar("FeaturesT")

#: A decision by its model and its id.
Key = tuple[str, str]
#: Feedback by its model, its decision and its own key.
FeedbackKey = tuple[str, str, str]
#: Fewer candidates are written one by one.
MANY = 100
_FAST, _ALL = 1, "all"


class ModelRow(NamedTuple):
    """A model: settings as JSON, and the number of the last impression that was given to it."""

    model: str
    settings: str
    created: float
    edited: float
    head_lsn: int
    catalogue_version: int


class Deletion(NamedTuple):
    """How far the rows of a model are deleted: up to a key of one of the large tables."""

    model: str
    table: int = 0
    after: str | float | None = None


class ItemRow(NamedTuple):
    """An item of a catalogue: its features as JSON."""

    item: str
    features: str


class DecisionRow(NamedTuple):
    """A decision, never changed: ``features`` is the chosen row, ``record`` all the rest, as JSON.

    ``features`` is "[[columns], [numbers]]" of the numbers that are not zero; a third element is
    how often the schema had grown.  ``cost`` is that of showing the item.
    """

    model: str
    decision: str
    made: float
    deadline: float
    arm: str
    item: str
    active: bool
    learns: bool
    features: str
    record: str
    click_value: float = 1.0
    cost: float = 0.0


class StoredDecision(NamedTuple):
    """A decision with what became of it; ``seq`` counts the decisions of the database."""

    model: str
    decision: str
    made: float
    deadline: float
    arm: str
    item: str
    active: bool
    learns: bool
    features: str
    record: str
    click_value: float
    cost: float
    seq: int
    resolved: float | None
    outcome: str | None
    value: float | None
    label: int | None
    lsn: int | None


class Resolution(NamedTuple):
    """What became of a decision: by feedback, expired or discarded; ``lsn`` if it is learnt."""

    model: str
    decision: str
    resolved: float
    outcome: str
    value: float | None
    label: int | None
    lsn: int | None


class FeedbackRow(NamedTuple):
    """Feedback as it came, and how it was answered."""

    model: str
    decision: str
    key: str
    value: float
    received: float
    status: str


class AppliedRow(NamedTuple):
    """One impression of the log, numbered from 1 without gaps."""

    lsn: int
    features: str
    label: int
    item: str
    made: float
    value: float


class CountRow(NamedTuple):
    """Additions to the counts of an arm from ``start`` on; ``income``: reward · value − cost."""

    model: str
    start: float
    arm: str
    decisions: int
    impressions: int
    clicks: int
    log_loss: float
    entropy: float
    predicted: float
    rewards: float
    income: float


class CalibrationRow(NamedTuple):
    """Additions to one bin of the predicted click probability."""

    model: str
    bin: int
    impressions: int
    predicted: float
    clicks: int
    rewards: float


class TallyRow(NamedTuple):
    """Additions to the counts of one item."""

    model: str
    item: str
    decisions: int
    impressions: int
    clicks: int
    rewards: float
    income: float


class KeyRow(NamedTuple):
    """An API key; a model or all (None), and requests in a second if it is publishable."""

    key_id: str
    digest: str
    name: str
    roles: str
    model: str | None
    created: float
    revoked: float | None
    rate: float | None = None


def pack(array: npt.NDArray[Any]) -> str:
    """The numbers of an array as text, short if they repeat; its type is left to `unpack`."""
    return base64.b85encode(zlib.compress(array.tobytes(), _FAST)).decode()


def unpack(text: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The array that `pack` wrote."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype=dtype)


class Shares(Struct, frozen=True, array_like=True):
    """Propensities that take few values, as those of many candidates do: most are as likely.

    ``places`` has for each candidate which of the numbers is its own, packed.
    """

    many: int
    numbers: list[float]
    places: str

    @classmethod
    def of(cls, propensities: FloatArray) -> Shares | None:
        """Those of all candidates; None if it is not worth it."""
        if len(propensities) < MANY:
            return None
        # Most are the least, and need not be sorted.
        least = propensities.min()
        others = np.flatnonzero(propensities != least)
        numbers, inverse = np.unique(propensities[others], return_inverse=True)
        if 2 * len(numbers) > len(propensities):
            return None
        places = np.zeros(len(propensities), dtype=_index(len(numbers) + 1))
        places[others] = inverse + 1
        return cls(len(propensities), [float(least), *numbers.tolist()], pack(places))

    def all(self) -> list[float]:
        """One for each candidate."""
        places = unpack(self.places, _index(len(self.numbers)))
        every: list[float] = np.array(self.numbers)[places].tolist()
        return every


def _index(count: int) -> np.dtype[Any]:
    return np.min_scalar_type(count - 1).newbyteorder("<")


def listing(names: Sequence[str], catalogue: Mapping[str, object]) -> str | None:
    """Which items of a catalogue these are, as text; None if they are few."""
    if len(names) < MANY:
        return None
    if len(names) == len(catalogue):
        return _ALL
    among = set(names)
    bits = np.fromiter((item in among for item in catalogue), dtype=bool, count=len(catalogue))
    return pack(np.packbits(bits))


def told(listed: str, items: Sequence[str]) -> list[str]:
    """The names that `listing` was made of, from the items of the catalogue."""
    if listed == _ALL:
        return list(items)
    bits = np.unpackbits(unpack(listed, np.dtype(np.uint8)), count=len(items))
    return list(compress(items, bits.tolist()))


class _Record(
    Struct, Generic[ContextT, NamesT, FeaturesT], frozen=True, kw_only=True, omit_defaults=True
):
    context: ContextT
    #: Ids, in the order in which they were considered.
    candidates: NamesT
    answer: DecisionAnswer
    mode: Mode
    #: Of inline candidates; those of the catalogue are known by its version.
    features: dict[str, Record] | None = None
    #: Of the item of the catalogue that was chosen, as they were; None if they are unknown.
    item_features: FeaturesT | None = None
    catalogue_version: int = 0
    #: One for each candidate.
    all_propensities: list[float] | None = None
    #: By the bandit, where the baseline was served.
    would_choose: str | None = None
    #: Candidates that could not be chosen.
    excluded: list[str] = []
    deferred: bool = False
    #: In place of ``candidates``, if many: a `listing` of what the catalogue's version had.
    listed: str | None = None
    #: In place of ``all_propensities``, if many of few values.
    shares: Shares | None = None
    #: Of candidates, as the request gave them.
    values: dict[str, float] | None = None
    costs: dict[str, float] | None = None


class DecisionRecord(
    _Record[Record, list[str], Record], frozen=True, kw_only=True, omit_defaults=True
):
    """A decision as it was made."""


class NewRecord(_Record[Raw, Raw, Raw], frozen=True, kw_only=True, omit_defaults=True):
    """A `DecisionRecord` to be written, with parts that were encoded before."""


class Impression(Struct, frozen=True, array_like=True):
    """The numbers of a row that are not zero, and their columns.

    ``steps`` is how often the schema had grown by then, where the learner must know; ``alike``
    whether all candidates were the same to the model.
    """

    columns: list[int]
    numbers: list[float]
    steps: int | None = None
    alike: bool = False

    @classmethod
    def of(cls, row: FloatArray) -> Impression:
        """A dense row."""
        columns: npt.NDArray[np.intp] = np.flatnonzero(row)
        return cls(columns.tolist(), row[columns].tolist())

    @property
    def width(self) -> int:
        """How many columns a row must have to hold it."""
        return self.columns[-1] + 1 if self.columns else 0


_records = msgspec.json.Decoder(DecisionRecord)
#: An impression that was written down.
impression = msgspec.json.Decoder(Impression).decode


def record(text: str) -> DecisionRecord:
    """A record that was written down, with all propensities."""
    made = _records.decode(text)
    if made.shares is None:
        return made
    return msgspec.structs.replace(made, all_propensities=made.shares.all(), shares=None)


def recorded_entropy(row: StoredDecision) -> float | None:
    """That of the choice, as it was written down."""
    shares = None if row.arm == "imported" else record(row.record).all_propensities
    return None if shares is None else float(kernels.entropy(np.array(shares)))
