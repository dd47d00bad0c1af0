"""What is kept of a decision beside its columns in the database."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Raw, Struct

from fabcost.impressions import FloatArray
from fabcost.service.messages import DecisionAnswer, DecisionView, Record
from fabcost.service.model_settings import Mode
from fabcost.service.store.rows import StoredDecision


class DecisionRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision as it was made.

    Attributes
    ----------
    candidates
        Ids, in the order in which they were considered.
    features
        Of inline candidates; those of the catalogue are known by its version.
    item_features
        Of the item of the catalogue that was chosen, as they were; None if they are unknown.
    all_propensities
        One for each candidate.
    would_choose
        What the bandit would have chosen, where the baseline was served.
    excluded
        Candidates that could not be chosen.
    """

    context: Record
    candidates: list[str]
    answer: DecisionAnswer
    mode: Mode
    features: dict[str, Record] | None = None
    item_features: Record | None = None
    catalogue_version: int = 0
    all_propensities: list[float] | None = None
    would_choose: str | None = None
    excluded: list[str] = []
    deferred: bool = False


class NewRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `DecisionRecord` to be written, with parts that were encoded before.

    Examples
    --------
    >>> NewRecord.__struct_fields__ == DecisionRecord.__struct_fields__
    True
    """

    context: Raw
    candidates: Raw
    answer: DecisionAnswer
    mode: Mode
    features: dict[str, Record] | None = None
    item_features: Raw | None = None
    catalogue_version: int = 0
    all_propensities: list[float] | None = None
    would_choose: str | None = None
    excluded: list[str] = []
    deferred: bool = False


class Impression(Struct, frozen=True, array_like=True):
    """The numbers of a row that are not zero, and their columns."""

    columns: list[int]
    numbers: list[float]

    @classmethod
    def of(cls, row: FloatArray) -> Impression:
        """A dense row.

        Examples
        --------
        >>> Impression.of(np.array([1.0, 0.0, 2.5]))
        Impression(columns=[0, 2], numbers=[1.0, 2.5])
        """
        columns: npt.NDArray[np.intp] = np.flatnonzero(row)
        return cls(columns.tolist(), row[columns].tolist())

    @property
    def width(self) -> int:
        """How many columns a row must have to hold it."""
        return self.columns[-1] + 1 if self.columns else 0


_encoder = msgspec.json.Encoder()
_records = msgspec.json.Decoder(DecisionRecord)
_impressions = msgspec.json.Decoder(Impression)


def encoded(value: DecisionRecord | NewRecord | Impression) -> str:
    """As JSON.

    Examples
    --------
    >>> encoded(Impression([0, 2], [1.0, 2.5]))
    '[[0,2],[1.0,2.5]]'
    """
    return _encoder.encode(value).decode()


def impression(features: str) -> Impression:
    """The impression that `encoded` wrote.

    Examples
    --------
    >>> impression("[[0,2],[1.0,2.5]]").width
    3
    """
    return _impressions.decode(features)


def record(text: str) -> DecisionRecord:
    """The record that `encoded` wrote."""
    return _records.decode(text)


def view(stored: StoredDecision) -> DecisionView:
    """A stored decision for people and programs."""
    made = record(stored.record)
    return DecisionView(
        decision_id=stored.decision,
        item=stored.item,
        arm=stored.arm,
        made=stored.made,
        deadline=stored.deadline,
        context=made.context,
        candidates=made.candidates,
        excluded=made.excluded,
        ranking=made.answer.ranking,
        scores=made.answer.scores,
        propensities=made.answer.propensities,
        posterior_version=made.answer.posterior_version,
        would_choose=made.would_choose,
        deferred=made.deferred,
        resolved=stored.resolved,
        outcome=stored.outcome,
        value=stored.value,
        applied_lsn=stored.lsn,
    )
