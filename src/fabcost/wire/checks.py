"""Checks that types cannot make, and nested features as the flat records that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from fabcost.features.kinds import LARGEST_NUMBER
from fabcost.wire.errors import InvalidRequestError, in_words
from fabcost.wire.messages import LONGEST_ID, ModelName, Record, Scalar

DEEPEST = 32
WITHOUT_CONTROL_CHARACTERS = r"^[^\u0000-\u001f\u007f-\u009f]+$"
#: Records of context and action have different names: an open schema asks for it.
Side = Literal["context", "action"]
MOST_FEATURES: Final = 100
DEEPEST_FEATURE: Final = 8
LONGEST_TEXT: Final = 1_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def has_control_character(text: str) -> bool:
    """Whether there is one, or half a surrogate pair, which no encoding has."""
    return _CONTROL.search(text) is not None


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
        if has_control_character(each):
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
