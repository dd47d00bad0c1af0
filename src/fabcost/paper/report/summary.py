"""results.json: everything that was measured, for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result
from fabcost.paper.report.html import ReproductionReport


def text(
    report: ReproductionReport,
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
