"""Rows of the tables, as plain values."""

from __future__ import annotations

import math
from typing import NamedTuple

#: A decision by its model and its id.
Key = tuple[str, str]
#: Feedback by its model, its decision and its own key.
FeedbackKey = tuple[str, str, str]
#: Those whose rows are deleted in pieces, each with the least key there is.
LARGE_TABLES: tuple[tuple[str, str | float], ...] = (
    ("feedback", ""),
    ("decisions", ""),
    ("tallies", ""),
    ("items", ""),
    ("past_items", -1),
    ("counts", -math.inf),
)


class ModelRow(NamedTuple):
    """A model: settings as JSON, and the number of the last impression that was given to it."""

    model: str
    settings: str
    created: float
    edited: float
    head_lsn: int
    catalogue_version: int


class Deletion(NamedTuple):
    """How far the rows of a model are deleted: up to a key of one of `LARGE_TABLES`."""

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
    how often the schema had grown.
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


class CountRow(NamedTuple):
    """Additions to the counts of one minute (``start``) and arm."""

    model: str
    start: float
    arm: str
    decisions: int
    impressions: int
    clicks: int
    log_loss: float
    entropy: float


class CalibrationRow(NamedTuple):
    """Additions to one bin of the predicted click probability."""

    model: str
    bin: int
    impressions: int
    predicted: float
    clicks: int


class TallyRow(NamedTuple):
    """Additions to the counts of one item."""

    model: str
    item: str
    decisions: int
    impressions: int
    clicks: int


class KeyRow(NamedTuple):
    """An API key: its public id, the SHA-256 of its secret, roles, and a model or all (None)."""

    key_id: str
    digest: str
    name: str
    roles: str
    model: str | None
    created: float
    revoked: float | None
