"""A schema as plain values: dictionaries, JSON and TOML."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fabcost.features.kinds import KINDS, Feature
from fabcost.features.layout import Step
from fabcost.features.reader import Openness

_KEYS = ("features", "crosses", "bias", "open", "grown", "seen")
#: Options that came later: documents without them are written as they were.
_LATER = {"bound": None, "scaled": False}
#: The key of a step of growth that revises a number's constants: its name.
REVISED = "constants of"


class Written(NamedTuple):
    """What a document says."""

    features: list[Feature]
    crosses: list[tuple[str, ...]]
    bias: bool
    openness: Openness | None
    grown: list[Step]
    seen: Mapping[str, Any]


def write(
    features: Iterable[Feature],
    crosses: Iterable[tuple[str, str]],
    bias: bool,
    openness: Openness | None,
    grown: Iterable[Step],
    seen: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document of a schema.

    Examples
    --------
    >>> from fabcost.features.kinds import Boolean
    >>> write([Boolean("new")], [], True, None, [])["features"]
    {'new': {'kind': 'boolean', 'role': 'item', 'missing': 'error'}}
    """
    written = {
        "features": {feature.name: _options(feature) for feature in features},
        "crosses": [list(pair) for pair in crosses],
        "bias": bias,
        "open": None if openness is None else _known_early(dataclasses.asdict(openness)),
        "grown": [step.copy() for step in grown],
    }
    return written | {"seen": dict(seen)} if seen else written


def read(given: Mapping[str, Any]) -> Written:
    """What a document says, or a ValueError that says what is wrong with it.

    Examples
    --------
    >>> read({"feature": {}})
    Traceback (most recent call last):
    ValueError: the schema has a key 'feature' but its keys are features, crosses, ...
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"the schema is {given!r} but must be a dictionary")
    _check_known(given, _KEYS, "the schema has a key", "its keys are")
    features = _typed(given, "features", Mapping, {})
    openness, crosses = _typed(given, "open", Mapping, None), _typed(given, "crosses", Sequence, [])
    for pair in crosses:
        if not _are_strings(pair):
            raise ValueError(f"a cross is {pair!r} but must be a list of two names")
    return Written(
        [_feature_of(name, options) for name, options in features.items()],
        [tuple(pair) for pair in crosses],
        _typed(given, "bias", bool, True),
        None if openness is None else _openness(openness),
        [_step(step) for step in _typed(given, "grown", Sequence, [])],
        _typed(given, "seen", Mapping, {}),
    )


def _feature_of(name: str, options: Mapping[str, Any]) -> Feature:
    if not isinstance(options, Mapping):
        raise ValueError(f"feature {name!r} is {options!r} but must be a dictionary of options")
    named = options.get("kind")
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise ValueError(
            f"kind of feature {name!r} is {named!r} but must be numeric, boolean, "
            "categorical, text or date"
        )
    rest = {key: value for key, value in options.items() if key not in ("kind", "name")}
    known = [field.name for field in dataclasses.fields(kind) if field.name != "name"]
    _check_known(rest, known, f"feature {name!r} has an option", f"those of {kind.kind} are")
    return kind(name, **rest)


def as_step(feature: Feature, *, columns: bool = True) -> dict[str, Any]:
    """A feature that came by itself, as it is written among what has grown.

    One that came when there was no room for its columns says so.

    Examples
    --------
    >>> from fabcost.features.kinds import Boolean
    >>> as_step(Boolean("new"))
    {'name': 'new', 'kind': 'boolean', 'role': 'item', 'missing': 'error'}
    """
    step = {"name": feature.name, **_options(feature)}
    return step if columns else step | {"columns": False}


def of_step(step: Mapping[str, Any]) -> tuple[Feature, bool]:
    """The feature of `as_step`, and whether it has columns.

    Examples
    --------
    >>> of_step({"name": "new", "kind": "boolean", "columns": False})
    (Boolean(name='new', role='item', missing='error'), False)
    """
    options = {key: value for key, value in step.items() if key != "columns"}
    name, columns = step["name"], step.get("columns", True)
    if not isinstance(columns, bool):
        raise ValueError(f"columns of feature {name!r} is {columns!r} but must be True or False")
    return _feature_of(name, options), columns


def checked_openness(
    limit: int = 100, buckets: int = 16, crosses: bool = True, scaled: bool = False
) -> Openness:
    """`Openness`, or a ValueError that says what is wrong with it.

    Examples
    --------
    >>> checked_openness(limit=0)
    Traceback (most recent call last):
    ValueError: limit is 0 but must be an integer of at least 1
    """
    options: dict[str, Any] = {"limit": limit, "buckets": buckets}
    for option, given in options.items():
        if not isinstance(given, int) or given < 1:
            raise ValueError(f"{option} is {given!r} but must be an integer of at least 1")
    for option, given in {"crosses": crosses, "scaled": scaled}.items():
        if not isinstance(given, bool):
            raise ValueError(f"{option} is {given!r} but must be True or False")
    return Openness(limit, buckets, crosses, scaled)


def load_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document in a TOML file; a ValueError names the file that is not one.

    Examples
    --------
    >>> load_toml("no-such-file")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no-such-file'
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{os.fspath(path)} is not TOML: {error}") from error


def _options(feature: Feature) -> dict[str, Any]:
    options = {"kind": feature.kind, **dataclasses.asdict(feature)}
    del options["name"]
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in _known_early(options).items()
    }


def _known_early(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value != _LATER.get(key, _NEVER)}


_NEVER = object()


def _openness(given: Mapping[str, Any]) -> Openness:
    known = [field.name for field in dataclasses.fields(Openness)]
    _check_known(given, known, "open of the schema has an option", "those are")
    return checked_openness(**given)


def _check_known(given: Iterable[str], known: Sequence[str], has: str, are: str) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{has} {key!r} but {are} {', '.join(known)}")


def _step(given: Any) -> Step:
    a_label = _are_strings(given) and len(given) == 2
    a_feature = isinstance(given, Mapping) and isinstance(given.get("name"), str)
    if not a_label and not a_feature and not is_revision(given):
        raise ValueError(
            f"a step of what has grown is {given!r} but must be a feature with its name, a "
            "list of a feature's name and a label, or constants of a number"
        )
    return list(given) if a_label else dict(given)


def _are_strings(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)


def _typed(given: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = given.get(key, default)
    if value is not None and (not isinstance(value, kind) or isinstance(value, str)):
        raise ValueError(f"{key} of the schema is {value!r} but must be a {kind.__name__.lower()}")
    return default if value is None else value


def is_revision(step: object) -> bool:
    """Whether a step of a schema's growth is one of constants.

    Examples
    --------
    >>> is_revision({"constants of": "age", "mean": 2.0, "scale": 1.5, "count": 4})
    True
    """
    return isinstance(step, Mapping) and isinstance(step.get(REVISED), str)
