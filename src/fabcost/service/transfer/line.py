"""Stored decisions as lines of a log."""

from __future__ import annotations

from collections.abc import Callable

from fabcost.service.store.record import DecisionRecord, record
from fabcost.service.store.rows import StoredDecision
from fabcost.wire.line import LogLine
from fabcost.wire.messages import Record

#: The features of an item of the catalogue, None if it is there no more.
Lookup = Callable[[str], Record | None]


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


def _candidates(made: DecisionRecord, lookup: Lookup) -> tuple[dict[str, Record], list[str]]:
    if made.features is not None:
        return {item: made.features[item] for item in made.candidates}, []
    found = {item: lookup(item) for item in made.candidates}
    if made.item_features is not None:
        found[made.answer.item] = made.item_features
    missing = [item for item, features in found.items() if features is None]
    return {item: features or {} for item, features in found.items()}, missing
