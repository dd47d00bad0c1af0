"""Costs as measured: their units, and the ratios, exponents and counts that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabcost.impressions import FloatArray
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
from fabcost.paper.statistics import Interval, exponent, median_interval

WIDTHS = (48, 96, 192)
ARRIVING = 1_000
#: Distance in posterior sds from where EP ends, within which it counts as converged.
TOLERANCE = 0.01
#: The data sets as they are called everywhere else.
TITLES = {"day": "day", "authors": "design"}

_REPEATS = 9
_MATRIX_ROWS = 80
_SIZES = 5


@dataclass(frozen=True, eq=False)
class Batch:
    """Seconds of one update or visit, for each form, in rounds; ``weights`` is D."""

    weights: int
    seconds: Mapping[str, FloatArray]
    took: float

    def ratio(self, over: str, under: str, times: float = 1.0) -> Interval:
        """How many times longer the first takes, its seconds taken ``times``, in each round."""
        return median_interval(times * self.seconds[over] / self.seconds[under])


@dataclass(frozen=True, eq=False)
class Growth:
    """Seconds (rounds × sizes) of some forms as something grows."""

    sizes: Sequence[int]
    seconds: Mapping[str, FloatArray]
    took: float

    def exponent(self, form: str) -> Interval:
        """The p of seconds ∝ sizeᵖ."""
        return exponent(self.sizes, self.seconds[form])


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Distance from where EP ends (streams × sizes × sweeps), for each kind of moments.

    Examples
    --------
    >>> Sweeps((9,), {"exact": np.array([[[1.0, 0.1, 0.001, 0.0, 0.0, 0.0]]])}, 0.1).needed("exact")
    array([[3]])
    """

    sizes: Sequence[int]
    errors: Mapping[str, FloatArray]
    took: float

    def needed(self, moments: str) -> npt.NDArray[np.intp]:
        """Sweeps after which the distance stays within `TOLERANCE`; 0 where none does.

        Where only the second half of the sweeps is near the last, that is not a place of rest.
        """
        errors = self.errors[moments]
        moving = ~(errors <= TOLERANCE)
        last_move = np.where(moving.any(-1), errors.shape[-1] - moving[..., ::-1].argmax(-1), 0)
        return np.where(last_move < errors.shape[-1] // 2, last_move + 1, 0)


@dataclass(frozen=True, eq=False)
class Costs:
    """Everything that the figures and claims of the costs are made of."""

    batches: Mapping[str, Batch]
    sweeps: Mapping[str, Sweeps]
    online: Growth
    weights: Growth


def units(scale: Scale, seed: int) -> list[Unit]:
    """One for each data set, kind of growth, and stream of EP's sweeps."""
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
