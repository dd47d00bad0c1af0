"""Decisions of the past, from a log that is imported."""

from __future__ import annotations

from collections.abc import Iterable

from fabcost.features.reader import Reader, ReadItems
from fabcost.service.models.model import Model
from fabcost.service.store.record import DecisionRecord, encoded
from fabcost.service.store.rows import DecisionRow
from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import DecisionAnswer, DecisionRequest, LoggedImpression
from fabcost.wire.settings import LONGEST_WAIT


def check_all(reader: Reader, numbered: Iterable[tuple[int, LoggedImpression]]) -> None:
    """An error that names the first line which a schema's reader cannot read, one after another."""
    for number, each in numbered:
        try:
            _place(each)
            reader.read(each.context, "context")
            ReadItems.by(reader, each.candidates)
        except (ValueError, InvalidRequestError) as error:
            raise InvalidRequestError(f"line {number}: {error}") from error


def logged_row(model: Model, given: LoggedImpression, decision: str, now: float) -> DecisionRow:
    """A decision of the past as a row, which waits for its outcome: most have one at once."""
    place = _place(given)
    request = DecisionRequest(context=given.context, candidates=given.candidates)
    scene, _ = model.scenes.of(request)
    answer = _answer(model, given, decision, place, now + LONGEST_WAIT)
    record = DecisionRecord(
        context=given.context,
        candidates=list(given.candidates),
        answer=answer,
        mode=model.settings.mode,
        features=given.candidates,
        all_propensities=given.propensities,
        excluded=list(given.excluded),
    )
    return DecisionRow(
        model=model.name,
        decision=decision,
        made=now if given.time is None else min(given.time, now),
        deadline=answer.deadline,
        arm="imported",
        item=given.item,
        active=True,
        learns=given.item not in given.missing,
        features=scene.at(place).row,
        record=encoded(record),
    )


def _place(given: LoggedImpression) -> int:
    """Where the item that was shown is among the candidates."""
    if given.item not in given.candidates:
        raise InvalidRequestError(f"item {given.item!r} is not among the candidates")
    shares = given.propensities
    if shares is not None and len(shares) != len(given.candidates):
        raise InvalidRequestError(
            f"there are {len(shares)} propensities but {len(given.candidates)} candidates"
        )
    return list(given.candidates).index(given.item)


def _answer(
    model: Model, given: LoggedImpression, decision: str, place: int, deadline: float
) -> DecisionAnswer:
    shares = given.propensities
    return DecisionAnswer(
        decision_id=decision,
        item=given.item,
        ranking=[given.item],
        scores=[0.0],
        propensities=None if shares is None else [shares[place]],
        arm="imported",
        posterior_version=model.learning.published.version,
        deadline=deadline,
    )
