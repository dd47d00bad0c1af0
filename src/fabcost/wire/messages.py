"""What is asked and answered, the bodies of the native API; and checks that types cannot make."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from fabcost.wire.errors import InvalidRequestError, in_words
from fabcost.wire.settings import ModelSettings

#: How long a server takes at most for whole models, logs and catalogues.
TRANSFER_SECONDS = 600.0
LONGEST_ID = 256
DEEPEST = 32
WITHOUT_CONTROL_CHARACTERS = r"^[^\u0000-\u001f\u007f-\u009f]+$"
#: One, or half a surrogate pair, which no encoding has.
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
#: Of values and costs.
LARGEST_AMOUNT = 1e9
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
# Python's $ would let a newline follow.
ModelName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$(?!\n)")]
Scalar = str | bool | int | float | None
Record = dict[str, Scalar]
Amount = Annotated[float, Meta(ge=-LARGEST_AMOUNT, le=LARGEST_AMOUNT)]
ClickValue = Annotated[float, Meta(ge=0.0, le=LARGEST_AMOUNT)]
Arm = Literal["bandit", "holdback", "baseline", "imported"]
#: applied: learnt at once; recorded: kept until its deadline (aggregations other than earliest);
#: duplicate: the decision was answered before; late: after its deadline; parked: no such decision
#: yet; ignored: the model does not learn in its mode.
FeedbackStatus = Literal["applied", "recorded", "duplicate", "late", "parked", "ignored"]
#: Of the file of a log; dsjson is what Vowpal Wabbit reads.
LogFormat = Literal["jsonl", "parquet", "dsjson"]
MEDIA_TYPES: dict[LogFormat, str] = {
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "dsjson": "application/x-ndjson",
}


class Between(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers from ``min`` to ``max``, both included."""

    min: float | None = None
    max: float | None = None


Filter = dict[str, str | bool | float | list[str] | Between]


class DecisionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask which item to show in a context.

    Candidates are given inline with their features, or by ``items``, ids of the catalogue, or by a
    ``filter`` over the features of the catalogue; without any of these all of it competes.
    A request with the id of an earlier decision is answered with that decision.
    With ``values``, of a click on each item, or ``costs``, of showing it, the rule compares
    value · P(click) − cost; they come before the model's ``value_feature`` and ``cost_feature``.
    """

    decision_id: Id | None = None
    context: Record = {}
    candidates: dict[Id, Record] | None = None
    items: list[Id] | None = None
    filter: Filter | None = None
    exclude: list[Id] = []
    top_k: Annotated[int, Meta(ge=1, le=10_000)] = 1
    deferred: bool = False
    values: dict[Id, ClickValue] | None = None
    costs: dict[Id, Amount] | None = None


class DecisionAnswer(Struct, frozen=True, kw_only=True):
    """The chosen item first, then the best of the others.

    ``scores`` and ``propensities`` belong to the items of ``ranking``, which is in the order of the
    scores, unless a floor or the holdback put another item first.  ``durable`` is false if the
    answer was given from memory while the database was away.
    """

    decision_id: str
    item: str
    ranking: list[str]
    scores: list[float]
    propensities: list[float] | None
    arm: Arm
    posterior_version: str
    deadline: float
    durable: bool = True


class FeedbackRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a decision; the same ``key`` again is the same feedback again.

    With another ``value`` it changes nothing and is a duplicate.

    Where the model learns values as fractions, ``value`` must lie between the ends that it has.
    """

    decision_id: Id
    value: Annotated[float, Meta(ge=-1e6, le=1e6)] = 1.0
    key: Annotated[str, Meta(max_length=LONGEST_ID)] = ""


class FeedbackAnswer(Struct, frozen=True):
    """What became of feedback."""

    decision_id: str
    status: FeedbackStatus


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """A model as it is now; ``degraded`` says why it is not served in full, if it is not."""

    name: str
    settings: ModelSettings
    created: float
    edited: float
    weights: int
    items: int
    impressions: int
    posterior_version: str
    degraded: str | None = None


class Weight(Struct, frozen=True):
    """One weight of the posterior."""

    name: str
    mean: float
    sd: float


class PosteriorAnswer(Struct, frozen=True, kw_only=True):
    """The posterior; ``digest`` is the SHA-256 of its mean and root, for comparing bits.

    The weights of a wide belief are not listed, and ``note`` says why.
    """

    posterior_version: str
    impressions: int
    digest: str
    weights: list[Weight]
    note: str | UnsetType = UNSET


class Contribution(Struct, frozen=True):
    """What one column adds to the score of the chosen item: its value times its weight."""

    name: str
    value: float
    weight: float
    sd: float
    contribution: float


class DecisionView(Struct, frozen=True, kw_only=True):
    """A decision as it was recorded, and what became of it.

    ``click_value`` and ``cost`` are those of the item that was chosen, ``item_name`` its name in
    the catalogue, if it has one.
    """

    decision_id: str
    item: str
    arm: str
    made: float
    deadline: float
    context: Record
    candidates: list[str]
    excluded: list[str]
    ranking: list[str]
    scores: list[float]
    propensities: list[float] | None
    posterior_version: str
    would_choose: str | None
    deferred: bool
    resolved: float | None
    outcome: str | None
    value: float | None
    applied_lsn: int | None
    click_value: float = 1.0
    cost: float = 0.0
    item_name: str | UnsetType = UNSET


class DecisionsAnswer(Struct, frozen=True):
    """The latest decisions, newest first; ``next`` is what to ask ``before`` for older ones."""

    decisions: list[DecisionView]
    next: int | None


class RunnerUp(Struct, frozen=True, kw_only=True):
    """The likeliest of the candidates that were not shown, by what is known now.

    ``differences`` are what each column adds to the log-odds of the chosen item beyond those of
    this one; ``chosen_is_better`` is the probability that their sum is above 0; ``name`` is that of
    the catalogue, where it has one.
    """

    item: str
    click_probability: float
    chosen_is_better: float
    differences: list[Contribution]
    name: str | UnsetType = UNSET


class ExplanationAnswer(Struct, frozen=True, kw_only=True):
    """Why an item was chosen: its columns under the posterior of now, and the runner-up's.

    ``by_chance`` is true if another was likelier to be shown: by the propensities of the decision,
    or, where it has none, by what is expected now.  ``names`` are those of the items of the ranking
    that have one in the catalogue.
    """

    decision: DecisionView
    posterior_version: str
    click_probability: float
    contributions: list[Contribution]
    summary: str = ""
    by_chance: bool = False
    runner_up: RunnerUp | None = None
    names: dict[str, str] = {}


class Items(Struct, frozen=True, forbid_unknown_fields=True):
    """Items of a catalogue by id."""

    items: Annotated[dict[Id, Record], Meta(min_length=1)]


class ItemsAnswer(Struct, frozen=True, kw_only=True):
    """One page of a catalogue; ``next`` is the id to ask after, if there are more."""

    version: int
    items: dict[str, dict[str, Any]]
    next: str | None


def check_ids(ids: Iterable[str]) -> None:
    r"""An error if one has a control character.

    Examples
    --------
    >>> check_ids(["ad-1", "Käse"])
    >>> check_ids([chr(0)])
    Traceback (most recent call last):
    fabcost.wire.errors.InvalidRequestError: the id '\x00' has a control character
    """
    for each in ids:
        if CONTROL_CHARACTER.search(each):
            raise InvalidRequestError(f"the id {each!r} has a control character")


def check_path_id(given: str) -> str:
    """An id from a path, or an error if it could not be one.

    Examples
    --------
    >>> check_path_id("cars/ad 1")
    'cars/ad 1'
    >>> check_path_id("a" * 300)
    Traceback (most recent call last):
    fabcost.wire.errors.InvalidRequestError: the id has 300 characters but may have 1 to 256
    """
    if not 1 <= len(given) <= LONGEST_ID:
        message = f"the id has {len(given)} characters but may have 1 to {LONGEST_ID}"
        raise InvalidRequestError(message)
    check_ids([given])
    return given


def check_model_name(given: str) -> None:
    """An error if a model cannot have that name.

    Examples
    --------
    >>> check_model_name("news.2")
    >>> try:
    ...     check_model_name("the news")
    ... except InvalidRequestError as error:
    ...     print(str(error)[:35])
    the name of the model is 'the news'
    """
    try:
        msgspec.convert(given, ModelName)
    except msgspec.ValidationError as error:
        raise InvalidRequestError(
            f"the name of the model is {given!r} but {in_words(error, what='it')}"
        ) from error


def check_depth(value: Any, deepest: int = DEEPEST) -> None:
    """An error if lists and objects are nested deeper.

    Examples
    --------
    >>> check_depth({"a": [1]}, deepest=2)
    >>> check_depth({"a": [1]}, deepest=1)
    Traceback (most recent call last):
    fabcost.wire.errors.InvalidRequestError: the document is nested deeper than it may be
    """
    if not isinstance(value, dict | list):
        return
    if deepest == 0:
        raise InvalidRequestError("the document is nested deeper than it may be")
    for each in value.values() if isinstance(value, dict) else value:
        check_depth(each, deepest - 1)


def checked_record(of: str, given: Mapping[str, Any]) -> Record:
    """A record of plain values without infinities, which JSON would silently make missing."""
    record = {name: plain(value) for name, value in given.items()}
    for name, value in record.items():
        if isinstance(value, float) and math.isinf(value):
            raise ValueError(
                f"{name!r} of {of} is {value} but must be finite, or None if it is missing"
            )
    return record


def checked_amounts(of: str, given: Mapping[str, float] | None) -> dict[str, float] | None:
    """Values or costs by the ids of items, which must be finite."""
    if given is None:
        return None
    found = {item: float(number) for item, number in given.items()}
    for item, number in found.items():
        if not math.isfinite(number):
            raise ValueError(f"{of} has {number} for {item!r} but must have finite numbers")
    return found


def plain(value: Any) -> Any:
    """NumPy's scalars have ``item``, which of a long double is one again."""
    found = value.item() if hasattr(value, "item") else value
    return float(found) if isinstance(found, np.longdouble) else found
