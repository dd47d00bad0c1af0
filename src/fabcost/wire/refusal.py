"""What is wrong with a body, in words: the key at fault, what it is and what it must be."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_WHERE = re.compile(r"(.*?)(?: - at (`key` in )?`(\$.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `(\w+)`)?(.*)", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `([^`]+)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_KINDS = {
    str: "str",
    int: "int",
    float: "float",
    bool: "bool",
    list: "array",
    dict: "object",
    type(None): "null",
}
_A_NAME = "at most 64 letters, digits, '.', '_' and '-', a letter or digit first"
_MATCHING = " matching regex '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def in_words(error: msgspec.ValidationError, content: bytes = b"") -> str:
    """The message of a validator for people; ``content`` is the JSON that it was about.

    Examples
    --------
    >>> def told(content, kind):
    ...     try:
    ...         msgspec.json.decode(content, type=kind)
    ...     except msgspec.ValidationError as error:
    ...         print(in_words(error, content))
    >>> told(b'{"ad-1": {"age": [3]}}', dict[str, dict[str, float]])
    'age' in 'ad-1' must be a number but is a list
    >>> told(b'{"settings": 3}', dict[str, str])
    'settings' must be text but is a whole number
    """
    found = _WHERE.fullmatch(str(error))
    if found is None:
        return str(error)
    said, of_a_name, path = found.groups()
    expected = _EXPECTED.fullmatch(said)
    got = None if expected is None else expected[2]
    place = _place(path or "$", got, content)
    if field := _FIELD.fullmatch(said):
        within = f" in {place}" if place else ""
        state = "is missing" if field[1].startswith("missing") else "is not known"
        return f"{field[2]!r}{within} {state}"
    what = f"a name in {place or 'the body'}" if of_a_name else place or "the body"
    if value := _VALUE.fullmatch(said):
        return f"{what} is {value[1]}, which is none of the values that it may have"
    return said if expected is None else f"{what} must be {_must(*expected.groups())}"


def _must(kinds: str, got: str | None, rest: str) -> str:
    if rest.startswith(_MATCHING):
        return _A_NAME
    wanted = " or ".join(_WORDS.get(each, each) for each in kinds.split(" | "))
    return wanted + rest + ("" if got is None else f" but is {_WORDS.get(got, got)}")


def _place(path: str, got: str | None, content: bytes) -> str:
    """The key at fault and those around it, the innermost first."""
    steps = [key or index for key, index in _STEP.findall(path)]
    found = _trail(_read(content), steps, got) if "" in steps else None
    shown = [] if found is None and "" in steps else found or steps
    if not shown and steps:  # some key of those whose names nobody gave
        named = steps[: steps.index("")]
        return " in ".join(["a value", *(_quoted(each) for each in reversed(named))])
    return " in ".join(_quoted(each) for each in reversed(shown))


def _quoted(step: str) -> str:
    return f"entry {int(step) + 1}" if step.isdigit() else repr(step)


def _trail(value: Any, steps: list[str], got: str | None) -> list[str] | None:
    """The keys down to the first value of a kind, where a step may be any key."""
    if not steps:
        return [] if got is not None and _KINDS.get(type(value)) == got else None
    step, *rest = steps
    if isinstance(value, list):
        return None if not step else _with(step, _trail(value[int(step)], rest, got))
    if not isinstance(value, dict):
        return None
    keys = [step] if step else list(value)
    trails = (_with(key, _trail(value.get(key), rest, got)) for key in keys)
    return next((each for each in trails if each is not None), None)


def _with(step: str, rest: list[str] | None) -> list[str] | None:
    return None if rest is None else [step, *rest]


def _read(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None
