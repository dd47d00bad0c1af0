"""The JSON of decision services, as Vowpal Wabbit reads it with ``--dsjson``.

One object a line: the cost is the negative reward, actions count from 1, what all actions share
is in ``c`` and each action in ``c._multi``.  Names that begin with "_" mean something there, so
features with such names are left out.  A decision without propensities has no
``_label_probability``, and Vowpal Wabbit learns nothing from it.

Vowpal Wabbit's wiki describes the format: https://github.com/VowpalWabbit/vowpal_wabbit/wiki/DSJSON
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fabcost.wire.log.line import LogLine
from fabcost.wire.messages import FIRST_YEAR, LAST_YEAR, Record

_encoder = msgspec.json.Encoder()

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: The namespaces of our own lines; Vowpal Wabbit knows them by their first letters.
CONTEXT = "context"
ITEM = "item"


class DsJson:
    """Writes pages of a log.

    Examples
    --------
    >>> line = LogLine(
    ...     decision_id="d-1", candidates={"a": {}, "b": {}}, item="b", propensities=[0.2, 0.8],
    ...     value=1.0
    ... )
    >>> DsJson().page([line])[:62]
    b'{"_label_cost":-1.0,"_label_probability":0.8,"_label_Action":2'
    """

    def page(self, lines: Sequence[LogLine]) -> bytes:
        """The bytes of some lines."""
        return _encoder.encode_lines([_object(line) for line in lines])

    def end(self) -> bytes:
        """What comes after the last."""
        return b""


def _object(line: LogLine) -> dict[str, Any]:
    ids = list(line.candidates)
    chosen = ids.index(line.item)
    order = [chosen, *(place for place in range(len(ids)) if place != chosen)]
    return {
        **_label(line, chosen),
        "o": _observations(line),
        "Timestamp": _timestamp(line.time),
        "Version": "1",
        "EventId": line.decision_id,
        "a": [place + 1 for place in order],
        "c": {
            CONTEXT: _features(line.context),
            "_multi": [
                {"_tag": item, ITEM: _features(record)} for item, record in line.candidates.items()
            ],
        },
        **_shares(line, order),
        "VWState": {"m": line.posterior_version or ""},
        **({} if line.active else {"_skipLearn": True}),
        "fabcost": {"time": line.time, "value": line.value, "missing": line.missing},
    }


def _label(line: LogLine, chosen: int) -> dict[str, Any]:
    cost = {} if line.value is None else {"_label_cost": -line.value}
    share = {} if line.propensities is None else {"_label_probability": line.propensities[chosen]}
    return {**cost, **share, "_label_Action": chosen + 1, "_labelIndex": chosen}


def _shares(line: LogLine, order: list[int]) -> dict[str, Any]:
    shares = line.propensities
    return {} if shares is None else {"p": [shares[place] for place in order]}


def _observations(line: LogLine) -> list[dict[str, Any]]:
    if line.value is None or line.outcome != "feedback":
        return []
    activated = line.deferred and line.active
    return [{"v": line.value, "EventId": line.decision_id, "ActionTaken": activated}]


def _timestamp(time: float | None) -> str | None:
    if time is None or not FIRST_YEAR <= time <= LAST_YEAR:
        return None
    return (_EPOCH + timedelta(seconds=time)).isoformat(timespec="milliseconds")[:-6] + "Z"


def _features(record: Record) -> Record:
    """Without what is missing, which is the same, and without names that mean something else."""
    return {
        name: value
        for name, value in record.items()
        if value is not None and not name.startswith("_")
    }
