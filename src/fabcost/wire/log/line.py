"""A decision as one line of a log, whatever the format."""

from __future__ import annotations

from fabcost.wire.messages import LoggedImpression


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
