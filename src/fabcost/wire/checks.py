"""Checks that types cannot make."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from fabcost.wire.errors import InvalidRequestError
from fabcost.wire.messages import LONGEST_ID, ModelName

DEEPEST = 32
WITHOUT_CONTROL_CHARACTERS = r"^[^\u0000-\u001f\u007f-\u009f]+$"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def may_hold_control_characters(body: bytes) -> bool:
    """Whether ids of a JSON body need a look: those of plain text without escapes do not.

    Examples
    --------
    >>> may_hold_control_characters(b'{"items": ["ad-1"]}')
    False
    >>> may_hold_control_characters(b'{"items": ["ad' + bytes([92]) + b'u0000"]}')
    True
    """
    return b"\\" in body or not body.isascii() or b"\x7f" in body


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
        raise InvalidRequestError(f"the name of the model is {given!r}: {error}") from error


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
