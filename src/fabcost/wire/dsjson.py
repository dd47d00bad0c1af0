"""The JSON of decision services: what Vowpal Wabbit reads with ``--dsjson``, and Azure mirrored.

One object a line: the cost is the negative reward, actions count from 1, what all actions share
is in ``c`` and each action in ``c._multi``.  Names that begin with "_" mean something there, so
features with such names are left out.  A decision without propensities has no
``_label_probability``, and Vowpal Wabbit learns nothing from it.  Vowpal Wabbit's wiki describes
the format: https://github.com/VowpalWabbit/vowpal_wabbit/wiki/DSJSON

Lines of Azure Personalizer's log mirror have the id of an action in its tag and in the namespace
``i``, its features in ``j``, and those of the context in ``FromUrl``.  Features of foreign lines
get the names that Rank gives them, so that a model which learnt from a mirrored log goes on with
Personalizer's clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from fabcost.features.kinds import LARGEST_NUMBER
from fabcost.wire.line import FIRST_YEAR, LAST_YEAR, UNLIMITED, Limits, LogLine, lines_of
from fabcost.wire.messages import LONGEST_ID, Record, Scalar

#: Records of context and action have different names: an open schema asks for it.
Side = Literal["context", "action"]
MOST_FEATURES: Final = 100
DEEPEST_FEATURE: Final = 8
LONGEST_TEXT: Final = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The namespaces of our own lines; Vowpal Wabbit knows them by their first letters.
_CONTEXT, _ITEM = "context", "item"
# Namespaces whose names Azure made up; their features have no prefix in a Rank request.
_ANONYMOUS = frozenset({"FromUrl", "j"})
_IDENTITY = "i"


def object_of(line: LogLine) -> dict[str, Any]:
    """A line as it is written.

    Examples
    --------
    >>> shares = [0.2, 0.8]
    >>> line = LogLine(candidates={"a": {}, "b": {}}, item="b", propensities=shares, value=1.0)
    >>> found = object_of(line)
    >>> found["_label_cost"], found["_label_probability"], found["_label_Action"], found["p"]
    (-1.0, 0.8, 2, [0.8, 0.2])
    """
    ids, shares = list(line.candidates), line.propensities
    chosen = ids.index(line.item)
    order = [chosen, *(place for place in range(len(ids)) if place != chosen)]
    return {
        **({} if line.value is None else {"_label_cost": -line.value}),
        **({} if shares is None else {"_label_probability": shares[chosen]}),
        "_label_Action": chosen + 1,
        "_labelIndex": chosen,
        "o": _observations(line),
        "Timestamp": _timestamp(line.time),
        "Version": "1",
        "EventId": line.decision_id,
        "a": [place + 1 for place in order],
        "c": {
            _CONTEXT: _features(line.context),
            "_multi": [
                {"_tag": item, _ITEM: _features(record)} for item, record in line.candidates.items()
            ],
        },
        **({} if shares is None else {"p": [shares[place] for place in order]}),
        "VWState": {"m": line.posterior_version or ""},
        **({} if line.active else {"_skipLearn": True}),
        "fabcost": {"time": line.time, "value": line.value, "missing": line.missing},
    }


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


def read(body: bytes, limits: Limits = UNLIMITED) -> Iterator[tuple[int, LogLine]]:
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
    return lines_of(body, limits, _decoded)


def _decoded(text: bytes) -> LogLine | None:
    line = _decoder.decode(text)
    return None if line.c is None else _decision(line, line.c)


def _decision(line: _Line, shared: dict[str, Any]) -> LogLine:
    if "_slots" in shared:
        raise ValueError("it decides on several slots at once, but only one is offered")
    actions = shared.get("_multi")
    if not isinstance(actions, list) or not actions:
        raise ValueError("c._multi must be a list with an object for each action")
    own = line.fabcost is not None
    candidates = _candidates(actions, own=own)
    given = {
        "decision_id": line.event,
        "time": _time(line),
        "context": _object("c.context", shared.get(_CONTEXT)) if own else _flat("context", shared),
        "candidates": candidates,
        "item": list(candidates)[_chosen(line, len(candidates))],
        "propensities": _propensities(line, len(candidates)),
        "value": _value(line),
        "missing": [] if line.fabcost is None else line.fabcost.missing,
    }
    return msgspec.convert(given, LogLine)


def _candidates(actions: list[Any], *, own: bool) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for place, action in enumerate(actions, start=1):
        if not isinstance(action, dict):
            raise ValueError(f"action {place} of c._multi must be an object")
        name = _name(action, place)
        if name in found:
            raise ValueError(f"two actions are {name!r} but their ids must be distinct")
        of_item = f"item of action {place}"
        found[name] = _object(of_item, action.get(_ITEM)) if own else _flat("action", action)
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


def flatten(side: Side, objects: Sequence[Any]) -> Record:
    """One record of all objects: names joined by dots, after the side they describe.

    Arrays of numbers become one feature for each place.  Names that begin with "_" are left out,
    and so is what is null.

    Examples
    --------
    >>> flatten("context", [{"user": {"profileType": "new", "_id": 7}}, {"hour": 9, "at": None}])
    {'context:user.profileType': 'new', 'context:hour': 9}
    >>> flatten("action", [{"embedding": [0.5, -1.0]}])
    {'action:embedding.0': 0.5, 'action:embedding.1': -1.0}
    """
    record: Record = {}
    for each in objects:
        if isinstance(each, dict):
            for name, value in _leaves(f"{side}:", each, 1):
                _check(record, name, value)
                record[name] = value
        elif each is not None:
            raise ValueError(f"Features are not in key value pair format: {_shown(each)}")
    return record


def _leaves(prefix: str, given: dict[str, Any], depth: int) -> Iterator[tuple[str, Scalar]]:
    """What an object holds, with the names above it before its own."""
    for name, value in given.items():
        if not name:
            raise ValueError(
                "Context features and action features cannot use the empty string as an id"
            )
        if name[0] == "_" or value is None:
            continue
        if isinstance(value, dict):
            if depth == DEEPEST_FEATURE:
                raise ValueError(
                    f"Features are nested in more than {DEEPEST_FEATURE} objects at '{prefix}'"
                )
            yield from _leaves(f"{prefix}{name}.", value, depth + 1)
        elif isinstance(value, list):
            yield from _numbers(prefix + name, value)
        else:
            yield prefix + name, value


def _numbers(name: str, given: list[Any]) -> Iterator[tuple[str, Scalar]]:
    for place, each in enumerate(given):
        if isinstance(each, bool) or not isinstance(each, int | float):
            raise ValueError(
                "Features should not contain array with non-number items: "
                f"'{name}' has {_shown(each)}"
            )
        yield f"{name}.{place}", each


def _check(record: Record, name: str, value: Scalar) -> None:
    if name in record:
        raise ValueError(
            f"Feature '{name}' is given twice but has one value; several strings at once are "
            'written as numbers, {"tag": {"red": 1, "blue": 1}}'
        )
    if len(record) == MOST_FEATURES:
        raise ValueError(f"Feature '{name}' is one too many: there may be {MOST_FEATURES}")
    if len(name) > LONGEST_ID:
        raise ValueError(f"Feature '{name[:40]}…' has a name of more than {LONGEST_ID} characters")
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(f"Feature '{name}' is a text of more than {LONGEST_TEXT} characters")
    if isinstance(value, int | float) and not abs(value) <= LARGEST_NUMBER:
        most = f"{LARGEST_NUMBER:g}"
        raise ValueError(
            f"Feature '{name}' is {_shown(value)} but must be of magnitude at most {most}"
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
