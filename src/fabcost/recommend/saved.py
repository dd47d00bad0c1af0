"""What a saved recommender says of its decisions, checked: a file may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from fabcost.impressions import as_row
from fabcost.inference.saved import entry, numbers, real, whole

Arrays = Mapping[str, npt.NDArray[Any]]


def check_ledger(settings: Any, arrays: Arrays, width: int) -> None:
    """A ValueError if this is not the state of a `fabcost.recommend.ledger.Ledger`.

    Examples
    --------
    >>> check_ledger({"wait": None, "issued": -1}, {}, width=2)
    Traceback (most recent call last):
    ValueError: issued is -1 but must be a whole number of at least 0
    """
    if entry(settings, "wait") is not None and settings["wait"] != float("inf"):
        real(settings, "wait")
    issued = whole(settings, "issued")
    pending = _listed(settings, "pending")
    for each in pending:
        if not isinstance(each, list) or len(each) != 2:
            raise ValueError(f"pending has {each!r:.80} but must have pairs of a number and a time")
        if each[1] is not None:
            real({"the time of a decision": each[1]}, "the time of a decision")
    waiting = [decision for decision, _ in pending]
    for decision in [*waiting, *_listed(settings, "expired")]:
        if whole({"a decision": decision}, "a decision", least=1) > issued:
            raise ValueError(f"decision {decision} is there but only {issued} were made")
    if len(set(waiting)) != len(waiting):
        raise ValueError("pending has a decision twice")
    _check_rows(arrays, len(waiting), width)


def _check_rows(arrays: Arrays, waiting: int, width: int) -> None:
    # The last is an empty row, so that there is always one.
    sizes = numbers(arrays, "pending_sizes", waiting + 1, kind="i")
    if sizes.min() < 0 or sizes.max() > width:
        raise ValueError(f"pending_sizes has {sizes.tolist()!r:.80} but there are {width} columns")
    columns = numbers(arrays, "pending_columns", int(sizes.sum()), kind="i")
    if ((columns < 0) | (columns >= width)).any():
        raise ValueError(f"pending_columns has {columns.max()} but there are {width} columns")
    as_row(numbers(arrays, "pending_numbers", columns.size), columns.size)


def _listed(settings: Mapping[str, Any], name: str) -> list[Any]:
    found = entry(settings, name)
    if not isinstance(found, list):
        raise ValueError(f"{name} is {found!r:.80} but must be a list")
    return found
