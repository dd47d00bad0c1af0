"""What a model has learnt, as contrasts that say something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType

from fabcost.features import contrasts as rows_of
from fabcost.features.schema import Schema
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.wire.statistics import ContrastView

#: Contrasts of each kind, the clearest; and weights beyond which they would take much memory.
_MOST, _MOST_WEIGHTS = 200, 2_000
TOO_WIDE = (
    f"More than {_MOST_WEIGHTS:,} weights are not compared with each other here; "
    "GET /v1/models/{model}/posterior lists each."
)


class Wanted(NamedTuple):
    """The contrasts of a schema as it is, to be told by a belief; they do not follow its growth."""

    contexts: list[rows_of.Contrast]
    items: list[rows_of.Contrast]
    pairs: list[rows_of.Pair]
    note: str | UnsetType = UNSET

    @classmethod
    def of(cls, schema: Schema) -> Wanted:
        """All of them; none if the schema is too wide."""
        if schema.width > _MOST_WEIGHTS:
            return cls([], [], [], TOO_WIDE)
        found = schema.contrasts()
        return cls(found.by_role("context"), found.by_role("item"), list(found.pairs()))

    def told(self, belief: Gaussian) -> dict[str, Any]:
        """What a belief about as many weights says."""
        return {
            "note": self.note,
            "contexts": _clearest(_plain(self.contexts, belief), _clarity),
            "items": _clearest(_plain(self.items, belief), _clarity),
            "pairs": _clearest(_paired(self.pairs, belief), _apartness),
        }


def _plain(wanted: Sequence[rows_of.Contrast], belief: Gaussian) -> Iterable[ContrastView]:
    laws = _laws([each.row for each in wanted], belief)
    for (feature, level, step, _), (mean, sd) in zip(wanted, laws, strict=True):
        yield ContrastView(feature=feature, level=level, step=step, mean=mean, sd=sd)


def _paired(wanted: Sequence[rows_of.Pair], belief: Gaussian) -> Iterable[ContrastView]:
    laws = _laws([each.contrast.row for each in wanted], belief)
    beside = _laws([each.apart for each in wanted], belief)
    for pair, (mean, sd), (apart, apart_sd) in zip(wanted, laws, beside, strict=True):
        yield ContrastView(
            feature=pair.contrast.feature,
            level=pair.contrast.level,
            step=pair.contrast.step,
            context=pair.context,
            context_level=pair.within,
            mean=mean,
            sd=sd,
            apart=apart,
            apart_sd=apart_sd,
        )


def _laws(rows: Sequence[FloatArray], belief: Gaussian) -> list[tuple[float, float]]:
    """Mean and sd of each row times the weights, without columns that grew elsewhere just now."""
    if not rows:
        return []
    both = min(rows[0].size, belief.dimension)
    stacked = np.array(rows)[:, :both]
    spread, means = stacked @ belief.root[:both], stacked @ belief.mean[:both]
    sds = np.sqrt(np.einsum("ij,ij->i", spread, spread))
    return list(zip(means.tolist(), sds.tolist(), strict=True))


def _clearest(
    found: Iterable[ContrastView], clarity: Callable[[ContrastView], float]
) -> list[ContrastView]:
    return sorted(found, key=clarity, reverse=True)[:_MOST]


def _clarity(each: ContrastView) -> float:
    return abs(each.mean) / each.sd if each.sd else 0.0


def _apartness(each: ContrastView) -> float:
    return abs(each.apart) / each.apart_sd if each.apart_sd else 0.0
