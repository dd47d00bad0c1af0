"""Reads the JSON of decision services: our own, Azure Personalizer's log mirror, or others'.

Azure's lines have the id of an action in its tag and in the namespace ``i``, its features in ``j``,
and those of the context in ``FromUrl``.  Features of foreign lines get the names that Rank gives
them, so that a model which learnt from a mirrored log goes on with Personalizer's clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from fabcost.wire.log.dsjson import CONTEXT, ITEM
from fabcost.wire.log.features import Side, flatten
from fabcost.wire.log.jsonl import numbered
from fabcost.wire.log.limits import Limits
from fabcost.wire.log.line import LineError, LogLine
from fabcost.wire.messages import Record

#: Namespaces whose names Azure made up; their features have no prefix in a Rank request.
_ANONYMOUS = frozenset({"FromUrl", "j"})
_IDENTITY = "i"


class _Own(msgspec.Struct):
    value: float | None
    time: float | None
    missing: list[str] = []


class _Observation(msgspec.Struct):
    v: float | int | str | dict[str, Any] | list[Any] | None = None
    taken: bool = msgspec.field(default=False, name="ActionTaken")


class _Line(msgspec.Struct):
    """What may be in a line; a reward that found no decision has no ``c``."""

    c: dict[str, Any] | None = None
    event: str | None = msgspec.field(default=None, name="EventId")
    timestamp: str | None = msgspec.field(default=None, name="Timestamp")
    cost: float | None = msgspec.field(default=None, name="_label_cost")
    action: int | None = msgspec.field(default=None, name="_label_Action")
    index: int | None = msgspec.field(default=None, name="_labelIndex")
    skip: bool = msgspec.field(default=False, name="_skipLearn")
    deferred: bool = msgspec.field(default=False, name="DeferredAction")
    o: list[_Observation] | None = None
    a: list[int] | None = None
    p: list[float] | None = None
    fabcost: _Own | None = None


_decoder = msgspec.json.Decoder(_Line)


def read(body: bytes, limits: Limits | None = None) -> Iterator[tuple[int, LogLine]]:
    """The decisions with the numbers of their lines from 1; other lines are passed over.

    Examples
    --------
    >>> line = (
    ...     b'{"_label_cost":-1,"_label_Action":2,"EventId":"e","a":[2,1],"p":[0.9,0.1],'
    ...     b'"c":{"FromUrl":[{"hour":9}],"_multi":['
    ...     b'{"_tag":"tea","i":{"constant":1,"id":"tea"},"j":[{"hot":true}]},'
    ...     b'{"_tag":"cola","i":{"constant":1,"id":"cola"},"j":[{"hot":false}]}]}}'
    ... )
    >>> ((_, found),) = read(line)
    >>> found.item, found.value, found.context, found.candidates["tea"], found.propensities
    ('cola', 1.0, {'context:hour': 9}, {'action:hot': True}, [0.1, 0.9])
    """
    for number, text in numbered(body, limits):
        try:
            line = _decoder.decode(text)
            if line.c is not None:
                yield number, _decision(line, line.c)
        except (ValueError, OverflowError, RecursionError) as error:
            raise LineError(number, error) from error


def _decision(line: _Line, shared: dict[str, Any]) -> LogLine:
    if "_slots" in shared:
        raise ValueError("it decides on several slots at once, but only one is offered")
    actions = shared.get("_multi")
    if not isinstance(actions, list) or not actions:
        raise ValueError("c._multi must be a list with an object for each action")
    candidates = _candidates(actions, own=line.fabcost is not None)
    given = {
        "decision_id": line.event,
        "time": _time(line),
        "context": _context(shared, own=line.fabcost is not None),
        "candidates": candidates,
        "item": list(candidates)[_chosen(line, len(candidates))],
        "propensities": _propensities(line, len(candidates)),
        "value": _value(line),
        "missing": [] if line.fabcost is None else line.fabcost.missing,
    }
    return msgspec.convert(given, LogLine)


def _context(shared: dict[str, Any], *, own: bool) -> Record:
    if own:
        return _object("c.context", shared.get(CONTEXT))
    return _flat("context", shared)


def _candidates(actions: list[Any], *, own: bool) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for place, action in enumerate(actions, start=1):
        if not isinstance(action, dict):
            raise ValueError(f"action {place} of c._multi must be an object")
        name = _name(action, place)
        if name in found:
            raise ValueError(f"two actions are {name!r} but their ids must be distinct")
        of_item = f"item of action {place}"
        found[name] = _object(of_item, action.get(ITEM)) if own else _flat("action", action)
    return found


def _object(what: str, given: Any) -> Record:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ValueError(f"{what} is {given!r:.80} but must be an object")
    return given


def _name(action: dict[str, Any], place: int) -> str:
    """The tag, or Azure's id, or else the place: 1, 2, …."""
    identity = action.get(_IDENTITY)
    named = identity.get("id") if isinstance(identity, dict) else None
    return str(action.get("_tag") or named or place)


def _flat(side: Side, given: dict[str, Any]) -> Record:
    objects: list[Any] = []
    for name, value in given.items():
        if name.startswith("_") or (side == "action" and name == _IDENTITY):
            continue
        joined = _joined(value)
        objects.append(joined if name in _ANONYMOUS else {name: joined})
    return flatten(side, objects)


def _joined(value: Any) -> Any:
    """A list of objects is one object; of a name that is given twice the last counts."""
    if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
        return value
    return {name: inner for each in value for name, inner in each.items()}


def _chosen(line: _Line, many: int) -> int:
    if line.action is not None:
        chosen = line.action - 1
    elif line.index is not None:
        chosen = line.index
    elif line.a:
        chosen = line.a[0] - 1
    else:
        raise ValueError("neither _label_Action nor _labelIndex nor a says what was chosen")
    if not 0 <= chosen < many:
        raise ValueError(f"action {chosen + 1} was chosen but there are {many}")
    return chosen


def _propensities(line: _Line, many: int) -> list[float] | None:
    """In the order of the candidates; actions that are not in ``a`` had no chance."""
    if line.p is None:
        return None
    order = line.a or list(range(1, len(line.p) + 1))
    if len(order) != len(line.p) or not all(1 <= action <= many for action in order):
        raise ValueError(f"a is {order} and p has {len(line.p)} entries for {many} actions")
    shares = [0.0] * many
    for action, share in zip(order, line.p, strict=True):
        shares[action - 1] = share
    return shares


def _value(line: _Line) -> float | None:
    if line.fabcost is not None:
        return line.fabcost.value
    observations = line.o or []
    activated = any(each.taken for each in observations)
    if line.skip or (line.deferred and not activated):
        return None
    if line.cost is not None:
        return -line.cost
    numbers = [each.v for each in observations if isinstance(each.v, int | float)]
    return float(numbers[0]) if numbers else None


def _time(line: _Line) -> float | None:
    if line.fabcost is not None:
        return line.fabcost.time
    if line.timestamp is None:
        return None
    return datetime.fromisoformat(line.timestamp).timestamp()
