"""What inference costs: seconds of both forms, sweeps of EP, and how the costs grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.paper.cost.costs import Batch, Costs, Growth, Sweeps
from fabcost.paper.cost.measure import (
    FORMS,
    MOMENTS,
    MOST_SWEEPS,
    measure_batch,
    measure_online,
    measure_sweeps,
    measure_weights,
)
from fabcost.paper.data.designs import DESIGNS
from fabcost.paper.engine.scales import Scale
from fabcost.paper.engine.units import Result, Unit

WIDTHS = (48, 96, 192)
ARRIVING = 1_000

_REPEATS = 9
_MATRIX_ROWS = 80
_SIZES = 5


def units(scale: Scale, seed: int) -> list[Unit]:
    """One for each data set, kind of growth, and stream of EP's sweeps.

    Examples
    --------
    >>> from fabcost.paper.engine.scales import QUICK
    >>> [unit.name for unit in units(QUICK, seed=0)][:4]
    ['cost-batch-day', 'cost-batch-authors', 'cost-online', 'cost-weights']
    """
    rows = {"rows": scale.timed_rows, "repeats": _REPEATS, "seed": seed}
    seconds = 4.0 + 2e-5 * scale.timed_rows
    timed = [
        *(
            Unit(
                f"cost-batch-{design}",
                measure_batch,
                {**rows, "design": design, "few": _MATRIX_ROWS},
                weight=seconds,
                alone=True,
            )
            for design in DESIGNS
        ),
        Unit(
            "cost-online",
            measure_online,
            {**rows, "arriving": min(ARRIVING, scale.timed_rows // 10), "sizes": _SIZES},
            weight=0.5 * seconds,
            alone=True,
        ),
        Unit(
            "cost-weights",
            measure_weights,
            {"widths": [*WIDTHS], "few": 1, "repeats": _REPEATS, "seed": seed},
            weight=4.0,
            alone=True,
        ),
    ]
    return timed + [
        _sweeps_unit(scale, design, stream, seed)
        for design in DESIGNS
        for stream in range(scale.streams)
    ]


def _sweeps_unit(scale: Scale, design: str, stream: int, seed: int) -> Unit:
    sizes = [*scale.convergence_sizes]
    return Unit(
        f"cost-sweeps-{design}-{stream}",
        measure_sweeps,
        {"design": design, "sizes": sizes, "seed": 1_000 * seed + stream},
        weight=2 * MOST_SWEEPS * sum(sizes) * 5e-7,
    )


def gather(scale: Scale, results: Mapping[str, Result]) -> Costs:
    """The costs from the results of their `units`."""
    online, weights = results["cost-online"], results["cost-weights"]
    return Costs(
        {design: _batch(results[f"cost-batch-{design}"]) for design in DESIGNS},
        {design: _sweeps(scale, design, results) for design in DESIGNS},
        Growth(
            [int(each) for each in online["total"]],
            _by_form(("ADF", "EP"), online["rounds"]),
            online["seconds"],
        ),
        Growth(weights["widths"], _by_form(FORMS, weights["rounds"]), weights["seconds"]),
    )


def _batch(result: Result) -> Batch:
    return Batch(result["weights"], _by_form(FORMS, result["rounds"]), result["seconds"])


def _by_form(forms: Sequence[str], rounds: FloatArray) -> dict[str, FloatArray]:
    return {form: rounds[:, place] for place, form in enumerate(forms)}


def _sweeps(scale: Scale, design: str, results: Mapping[str, Result]) -> Sweeps:
    streams = [results[f"cost-sweeps-{design}-{stream}"] for stream in range(scale.streams)]
    errors = np.array([stream["errors"] for stream in streams])
    return Sweeps(
        scale.convergence_sizes,
        {moments: errors[:, place] for place, moments in enumerate(MOMENTS)},
        sum(stream["seconds"] for stream in streams),
    )
