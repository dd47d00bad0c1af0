"""A wide learner on disk: settings and arrays from which another goes on with the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fabcost import archive, kernels
from fabcost.inference.history import SPARSE
from fabcost.inference.inheritance.past import outcomes_of, outcomes_state
from fabcost.inference.saved import checks as saved
from fabcost.inference.schedule import Portion
from fabcost.inference.wide.belief import WideGaussian
from fabcost.inference.wide.inheritance import WideInformation, WideInheritance
from fabcost.sparse import SparseRows, as_sparse

if TYPE_CHECKING:
    from fabcost.inference.wide.learner import WideFabCost

WIDE_LEARNER = archive.Format("fabcost-wide-learner", 2, "wide learner")


def to_bytes(learner: WideFabCost) -> bytes:
    """The file of a learner, of the oldest version that says all of it.

    Examples
    --------
    >>> from fabcost import WideFabCost
    >>> to_bytes(WideFabCost(8))[:22]
    b'fabcost-wide-learner 1'
    """
    settings, arrays = learner.state()
    version = 2 if {"half_life", "inheritance"} & settings.keys() else 1
    return archive.pack(WIDE_LEARNER._replace(version=version), settings, arrays)


def state_of(learner: WideFabCost) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Settings (plain JSON values) and arrays, for `restore`.

    Examples
    --------
    >>> from fabcost import WideFabCost
    >>> state_of(WideFabCost(8))[1]["known"].size
    0
    """
    belief = learner.posterior
    settings: dict[str, Any] = {
        "weights": belief.dimension,
        "variance": learner.variance,
        "core": belief.places.size,
        "after": learner.after,
        "moments": learner.moments,
        "seen": learner.seen,
        "skipped": learner.skipped,
        "arithmetic": kernels.ARITHMETIC,
    }
    known = belief.known
    arrays: dict[str, npt.NDArray[Any]] = {
        "known": known.astype(np.int64),
        "mean": belief.mean[known],
        "variance": belief.variance[known],
        "slots": belief.slots[known].astype(np.int64),
        "root": np.ascontiguousarray(belief.root[: belief.filled, : belief.filled]),
    }
    if learner._ageing is not None:
        settings["half_life"] = learner._ageing.state()
    if learner.inheritance is not None:
        settings["inheritance"] = {"look": learner.inheritance.look}
        settings["inheritance"]["discount"] = learner.inheritance.discount
        arrays |= learner.inheritance.told.state() | past_state(learner._past, belief.dimension)
    return settings, arrays


def restore(
    learner: WideFabCost, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    """Let a new learner go on from this state; a ValueError if it is that of none.

    Examples
    --------
    >>> from fabcost import WideFabCost
    >>> learner = WideFabCost(8)
    >>> restore(learner, *state_of(learner))
    """
    learner.seen = saved.whole(settings, "seen")
    learner.skipped = saved.whole(settings, "skipped")
    _fill(learner.posterior, arrays)
    if "inheritance" in settings:
        weights, given = learner.posterior.dimension, settings["inheritance"]
        look = saved.whole(given, "look", least=learner.seen + 1)
        told = WideInformation.restored(arrays, weights)
        learner.inheritance = WideInheritance(told, saved.real(given, "discount"), look)
        learner._past = past_of(arrays, learner.seen, weights)


def _fill(belief: WideGaussian, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Write what was saved of the weights into a fresh belief, or raise a ValueError."""
    many = saved.entry(arrays, "known").size
    known = saved.numbers(arrays, "known", many, kind="i")
    slots = saved.numbers(arrays, "slots", many, kind="i")
    variance = saved.numbers(arrays, "variance", many)
    if many and not (known[0] >= 0 and known[-1] < belief.dimension and (np.diff(known) > 0).all()):
        raise ValueError("known columns must rise from 0 to below the number of weights")
    if not ((variance > 0.0).all() and (slots != -1).all() and (slots > -(2**31)).all()):
        raise ValueError("variances must be above zero and columns that are known have been used")
    inside = slots >= 0
    filled = int(inside.sum())
    if filled > belief.places.size or not np.array_equal(np.sort(slots[inside]), np.arange(filled)):
        raise ValueError(f"slots of the core must be the numbers below {filled}, each once")
    root = saved.numbers(arrays, "root", filled, filled)
    if filled and not ((root * root).sum(axis=1) > 0.0).all():
        raise ValueError("variances of the core must be above zero")
    belief.mean[known] = saved.numbers(arrays, "mean", many)
    belief.variance[known] = variance
    belief.slots[known] = slots
    belief.places[slots[inside]] = known[inside]
    belief.root[:filled, :filled] = root
    belief.filled = filled


def past_state(past: Sequence[Portion], weights: int) -> dict[str, npt.NDArray[Any]]:
    """Arrays of the impressions from which outcomes are asked, for `past_of`.

    Examples
    --------
    >>> sorted(past_state([], 8))[:2]
    ['past_labels', 'row_columns']
    """
    parts = [SparseRows([0], [], [], weights), *(as_sparse(part.rows, weights) for part in past)]
    rows = SparseRows.joined(parts)
    return dict(zip(SPARSE, rows.arrays, strict=True)) | outcomes_state(past)


def past_of(arrays: Mapping[str, npt.NDArray[Any]], seen: int, weights: int) -> list[Portion]:
    """The impressions of `past_state`; a ValueError if they are not all that were seen.

    Examples
    --------
    >>> past_of(past_state([], 8), 0, 8)
    []
    """
    if not seen:
        return []
    size = saved.entry(arrays, SPARSE[2]).size
    starts = saved.numbers(arrays, SPARSE[0], seen + 1, kind="i")
    columns = saved.numbers(arrays, SPARSE[1], size, kind="i")
    rows = SparseRows(starts, columns, saved.numbers(arrays, SPARSE[2], size), weights)
    return [outcomes_of(arrays, rows)]
