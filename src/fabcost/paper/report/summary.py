"""results.json: everything that was measured, for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result
from fabcost.paper.report.html import Report

_LONGEST = 40


def summary(
    report: Report,
    scale: Scale,
    gathered: Mapping[str, Any],
    found: Mapping[str, Result],
    origins: Sequence[Mapping[str, str]],
) -> str:
    """The text of results.json; what is not defined is null."""
    content = {
        "fabcost": report.version,
        "seed": report.seed,
        "scale": asdict(scale),
        "command": report.command,
        "settings": dict(report.settings),
        "claims": [claim._asdict() for claim in report.claims],
        "changes": [change._asdict() for change in report.changes],
        "parts": {name: plain(part) for name, part in gathered.items()},
        "units": {
            name: {"seconds": result["seconds"], **of}
            for (name, result), of in zip(found.items(), origins, strict=True)
        },
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def digest(content: Mapping[str, Any], parts: Collection[str]) -> dict[str, Any]:
    """What is small enough for the documentation: no units, and the curves of ``parts``, thinned.

    Examples
    --------
    >>> digest({"seed": 0, "units": {}, "parts": {"a": [1 / 3], "b": [1]}}, ["a"])
    {'seed': 0, 'parts': {'a': [0.3333]}}
    """
    kept = {name: each for name, each in content.items() if name != "units"}
    return {**kept, "parts": {name: thinned(content["parts"][name]) for name in parts}}


def thinned(value: Any) -> Any:
    """Numbers to four digits; a list of more than forty keeps so many, evenly spread over it.

    Lists of one length keep the same places, so that curves still belong to their abscissa.

    Examples
    --------
    >>> curve = thinned(list(range(100)))
    >>> len(curve), curve[0], curve[-1]
    (40, 0, 99)
    """
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: thinned(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) <= _LONGEST:
        return [thinned(each) for each in value]
    places = np.linspace(0, len(value) - 1, _LONGEST).round().astype(int)
    return [thinned(value[place]) for place in places]


def plain(value: Any) -> Any:
    """Named tuples, dataclasses and arrays as JSON values; NaN and ±∞ are null.

    Examples
    --------
    >>> plain({"curve": np.array([1.0, np.nan]), 2: (True, "x")})
    {'curve': [1.0, None], '2': [True, 'x']}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    named = _named(value)
    if named is not None:
        return {str(name): plain(each) for name, each in named.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _named(value: Any) -> Mapping[Any, Any] | None:
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    return None
