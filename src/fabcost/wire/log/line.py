"""A decision as one line of a log, whatever the format."""

from __future__ import annotations

from collections.abc import Callable

from fabcost.service.store.record import DecisionRecord, record
from fabcost.service.store.rows import StoredDecision
from fabcost.wire.messages import LoggedImpression, Record

#: The features of an item of the catalogue, None if it is there no more.
Lookup = Callable[[str], Record | None]


class LogLine(LoggedImpression, frozen=True, kw_only=True):
    """An impression and all else that is known of it; a log from elsewhere need not have that.

    Attributes
    ----------
    changed
        Whether the catalogue has changed since: features of candidates that were not chosen are
        those of the export.

    Examples
    --------
    >>> LogLine(candidates={"a": {"age": 3}, "b": {"age": 1}}, item="b", value=1.0).missing
    ()
    """

    changed: bool = False
    arm: str | None = None
    deadline: float | None = None
    ranking: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    posterior_version: str | None = None
    mode: str | None = None
    would_choose: str | None = None
    deferred: bool = False
    active: bool = True
    resolved: float | None = None
    outcome: str | None = None
    label: int | None = None
    lsn: int | None = None


def line_of(stored: StoredDecision, version: int, lookup: Lookup) -> LogLine:
    """A stored decision with the features of its candidates.

    Parameters
    ----------
    stored
        As the database has it.
    version, lookup
        The catalogue as it is now.

    Examples
    --------
    >>> from fabcost.wire.messages import DecisionAnswer
    >>> from fabcost.service.store.record import encoded
    >>> answer = DecisionAnswer(
    ...     decision_id="d-1", item="a", ranking=["a"], scores=[0.5], propensities=[0.9],
    ...     arm="bandit", posterior_version="3", deadline=600.0
    ... )
    >>> made = DecisionRecord(
    ...     context={}, candidates=["a", "b"], answer=answer, mode="online", catalogue_version=1
    ... )
    >>> stored = StoredDecision(
    ...     "news", "d-1", 0.0, 600.0, "bandit", "a", True, True, "[[0],[1.0]]", encoded(made),
    ...     1, None, None, None, None, None
    ... )
    >>> line = line_of(stored, 2, {"a": {"make": "kia"}}.get)
    >>> line.candidates, line.missing, line.changed
    ({'a': {'make': 'kia'}, 'b': {}}, ('b',), True)
    """
    made = record(stored.record)
    candidates, missing = _candidates(made, lookup)
    return LogLine(
        decision_id=stored.decision,
        time=stored.made,
        context=made.context,
        candidates=candidates,
        item=stored.item,
        propensities=made.all_propensities,
        value=stored.value,
        excluded=tuple(made.excluded),
        missing=tuple(missing),
        changed=made.features is None and made.catalogue_version != version,
        arm=stored.arm,
        deadline=stored.deadline,
        ranking=tuple(made.answer.ranking),
        scores=tuple(made.answer.scores),
        posterior_version=made.answer.posterior_version,
        mode=made.mode,
        would_choose=made.would_choose,
        deferred=made.deferred,
        active=stored.active,
        resolved=stored.resolved,
        outcome=stored.outcome,
        label=stored.label,
        lsn=stored.lsn,
    )


def impression_of(line: LogLine) -> LoggedImpression:
    """What is learnt from a line: nothing if the features of its item are unknown.

    Examples
    --------
    >>> line = LogLine(candidates={"a": {}}, item="a", value=1.0, missing=("a",))
    >>> impression_of(line).value is None
    True
    >>> impression_of(LogLine(candidates={"a": {}}, item="b"))
    Traceback (most recent call last):
    ValueError: the item is 'b' but the candidates are 'a'
    """
    _check(line)
    return LoggedImpression(
        decision_id=line.decision_id,
        time=line.time,
        context=line.context,
        candidates=line.candidates,
        item=line.item,
        propensities=line.propensities,
        value=None if line.item in line.missing else line.value,
        excluded=line.excluded,
        missing=line.missing,
    )


def _check(line: LogLine) -> None:
    if line.item not in line.candidates:
        known = ", ".join(map(repr, list(line.candidates)[:5])) or "none"
        raise ValueError(f"the item is {line.item!r} but the candidates are {known}")
    if line.item in line.excluded:
        raise ValueError(f"the item is {line.item!r}, which is excluded")
    many, given = len(line.candidates), line.propensities
    if given is not None and len(given) != many:
        raise ValueError(f"there are {len(given)} propensities but {many} candidates")


def _candidates(made: DecisionRecord, lookup: Lookup) -> tuple[dict[str, Record], list[str]]:
    if made.features is not None:
        return {item: made.features[item] for item in made.candidates}, []
    found = {item: lookup(item) for item in made.candidates}
    if made.item_features is not None:
        found[made.answer.item] = made.item_features
    missing = [item for item, features in found.items() if features is None]
    return {item: features or {} for item, features in found.items()}, missing


class LineError(ValueError):
    """A line that cannot be read.

    Examples
    --------
    >>> print(LineError(3, "it is no JSON"))
    line 3: it is no JSON
    """

    def __init__(self, number: int, why: object) -> None:
        super().__init__(f"line {number}: {why}")
        self.number = number
        self.why = why
