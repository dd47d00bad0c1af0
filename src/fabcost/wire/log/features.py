"""Features of the contract, nested and named twice over, as flat records of the native API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from fabcost.features.feature import LARGEST_NUMBER
from fabcost.wire.messages import LONGEST_ID, Record, Scalar

#: Records of context and action have different names: an open schema asks for it.
Side = Literal["context", "action"]

MOST_FEATURES: Final = 100
DEEPEST: Final = 8
LONGEST_TEXT: Final = 1_000


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
            _add_all(record, f"{side}:", each, 1)
        elif each is not None:
            raise ValueError(f"Features are not in key value pair format: {_shown(each)}")
    return record


def _add_all(record: Record, prefix: str, given: dict[str, Any], depth: int) -> None:
    """Add what an object holds, with the names above it before its own."""
    for name, value in given.items():
        if not name:
            raise ValueError(
                "Context features and action features cannot use the empty string as an id"
            )
        if name[0] == "_" or value is None:
            continue
        if isinstance(value, dict):
            if depth == DEEPEST:
                raise ValueError(
                    f"Features are nested in more than {DEEPEST} objects at '{prefix}'"
                )
            _add_all(record, f"{prefix}{name}.", value, depth + 1)
        elif isinstance(value, list):
            _add_numbers(record, prefix + name, value)
        else:
            _add(record, prefix + name, value)


def _add_numbers(record: Record, name: str, given: list[Any]) -> None:
    for place, each in enumerate(given):
        if isinstance(each, bool) or not isinstance(each, int | float):
            raise ValueError(
                "Features should not contain array with non-number items: "
                f"'{name}' has {_shown(each)}"
            )
        _add(record, f"{name}.{place}", each)


def _add(record: Record, name: str, value: Scalar) -> None:
    if name in record:
        raise ValueError(
            f"Feature '{name}' is given twice but has one value; several strings at once are "
            'written as numbers, {"tag": {"red": 1, "blue": 1}}'
        )
    if len(record) == MOST_FEATURES:
        raise ValueError(f"Feature '{name}' is one too many: there may be {MOST_FEATURES}")
    if len(name) > LONGEST_ID:
        raise ValueError(f"Feature '{name[:40]}…' has a name of more than {LONGEST_ID} characters")
    _check_size(name, value)
    record[name] = value


def _check_size(name: str, value: Scalar) -> None:
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
