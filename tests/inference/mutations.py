"""Files with a sound checksum that say something else than what was saved."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Document = dict[str, Any]
Arrays = dict[str, Array]
Mutation = tuple[str, Document, Arrays]

NAN, INF = float("nan"), float("inf")
VALUES: list[Any] = [None, -1, 0, 9, 2**60, 10**400, 1.5, -1.5, NAN, INF, 1e300, "x", True]
VALUES += [[], {}, [1], [None], {"a": 1}]
NUMBERS = [NAN, INF, -INF, 0.0, -1.0, 3.0, 1e300, 1e90, -1e90, 1e74, -1e74, 1e-300]


def mutations(document: Document, arrays: Arrays) -> Iterator[Mutation]:
    """Each setting and each array replaced, left out, or changed in one place."""
    for path in _paths(document):
        for value in VALUES:
            yield f"{path} = {value!r:.20}", _with(document, path, value), arrays
        yield f"{path} left out", _without(document, path), arrays
    for name in arrays:
        yield f"{name} left out", document, {key: arrays[key] for key in arrays if key != name}
        for what, other in _others(arrays[name]):
            yield f"{name} {what}", document, {**arrays, name: other}


def _paths(document: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = document.items() if isinstance(document, dict) else enumerate(document[:1])
    for key, value in inside:
        yield (*before, key)
        # A schema's own tests are elsewhere.
        if isinstance(value, dict | list) and key != "schema":
            yield from _paths(value, (*before, key))


def _with(document: Document, path: tuple[Any, ...], value: Any) -> Document:
    changed = copy.deepcopy(document)
    _parent(changed, path)[path[-1]] = value
    return changed


def _without(document: Document, path: tuple[Any, ...]) -> Document:
    changed = copy.deepcopy(document)
    del _parent(changed, path)[path[-1]]
    return changed


def _parent(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        document = document[key]
    return document


def _others(array: Array) -> Iterator[tuple[str, Array]]:
    for kind in ("i8", "f4", "c16", "U8"):
        yield f"as {kind}", array.astype(kind)
    yield "in Fortran's order", np.asfortranarray(array)
    yield "transposed", array.T.copy()
    yield "shorter", array[:-1]
    yield "longer", np.concatenate([array, array[-1:]])
    yield "deeper", array[None]
    yield "a number", np.array(1.0)
    for number in NUMBERS if array.size else []:
        for place in (0, slice(None)):
            changed = array.astype("f8")
            changed.flat[place] = number
            yield f"[{place}] = {number}", changed
