"""What can go wrong, in words for whoever asked, by a request or by a command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class ServiceError(Exception):
    """A request that cannot be served; ``code`` is for programs, the message for people.

    ``http_status`` is that of an answer which tells it.

    Examples
    --------
    >>> UnknownModelError("news").code, str(UnknownModelError("news"))
    ('unknown_model', "there is no model 'news'")
    """

    code = "bad_request"
    http_status: int | None = None


class InvalidRequestError(ServiceError):
    """What was given is not what was expected."""

    code, http_status = "invalid_request", 422


class UnknownModelError(ServiceError):
    """No model has that name."""

    code, http_status = "unknown_model", 404

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no model {name!r}")


class UnknownItemError(ServiceError):
    """No item of the catalogue has that id."""

    code, http_status = "unknown_item", 404

    def __init__(self, item: str) -> None:
        super().__init__(f"there is no item {item!r} in the catalogue")


class UnknownDecisionIdError(ServiceError):
    """No decision has that id."""

    code, http_status = "unknown_decision", 404

    def __init__(self, decision: str) -> None:
        super().__init__(f"there is no decision {decision!r}")


class AlreadyThereError(ServiceError):
    """A model of that name exists."""

    code, http_status = "already_there", 409

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a model {name!r} already")


class BusyError(ServiceError):
    """Too much of this is under way; later it can be asked for again."""

    code, http_status = "busy", 503


class DatabaseError(ServiceError):
    """The database does not do what is needed; ``detail`` says more, to operators only.

    Examples
    --------
    >>> error = DatabaseError("the disk is full", "/var/bandit.db: database or disk is full")
    >>> str(error), error.detail
    ('the disk is full', '/var/bandit.db: database or disk is full')
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class StoreAwayError(DatabaseError):
    """The database cannot be written now; nothing was changed, and the request may be repeated."""

    code, http_status = "store_away", 503


class StaleError(DatabaseError):
    """What is known of the database is too old to decide by."""

    code, http_status = "stale", 503


class TakenOverError(ServiceError):
    """Another server has taken over the database; this one must stop writing."""

    code, http_status = "taken_over", 503


class DatabaseUnusableError(DatabaseError):
    """The database cannot be used at all: not ours, of a newer version, or not writable."""

    code, http_status = "database_unusable", 503


class UnreadableModelError(ServiceError):
    """A model is in the database but cannot be read; the others are served."""

    code, http_status = "model_unreadable", 503

    def __init__(self, name: str) -> None:
        super().__init__(
            f"model {name!r} cannot be read from the database; "
            "the log of the server's start says why"
        )


class LearningFailedError(ServiceError):
    """A model has stopped learning, by a fault of ours; its log goes on.

    Examples
    --------
    >>> print(LearningFailedError("news", MemoryError("no room")))
    model 'news' has stopped learning (MemoryError); a restart learns from its log
    """

    code, http_status = "learning_failed", 503

    def __init__(self, name: str, cause: Exception) -> None:
        super().__init__(
            f"model {name!r} has stopped learning ({type(cause).__name__}); "
            "a restart learns from its log"
        )


@contextmanager
def explained() -> Iterator[None]:
    """Tell errors of whoever typed a command without a traceback."""
    import typer  # noqa: PLC0415 - only commands need it

    try:
        yield
    except (ValueError, OSError, ServiceError) as error:
        typer.echo(f"Error: {getattr(error, 'detail', '') or in_words(error, what='it')}", err=True)
        raise typer.Exit(2) from error


_WHERE = re.compile(r"(.*?)(?: - at (`key` in )?`(\$.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `(\w+)`)?(.*)", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `([^`]+)`")
_VALUE = re.compile(r"Invalid (?:enum )?value (.*)", re.DOTALL)
_OF_THE_VALIDATOR = ("Invalid ", "Number ", "Integer ", "Duration ")
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


def in_words(error: object, content: bytes = b"", *, what: str = "the body") -> str:
    """The message of a validator for people, any other as it is.

    ``content`` is the JSON that it was about, ``what`` how the whole of it is called.

    Examples
    --------
    >>> import msgspec
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
    what = f"a name in {place or what}" if of_a_name else place or what
    if value := _VALUE.fullmatch(said):
        return f"{what} is {value[1]}, which is none of the values that it may have"
    if expected is not None:
        return f"{what} must be {_must(*expected.groups())}"
    return f"{what}: {said}" if path and said.startswith(_OF_THE_VALIDATOR) else said


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
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
