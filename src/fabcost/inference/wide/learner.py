"""Learning with very many weights, one impression after another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import archive, kernels
from fabcost.gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE
from fabcost.impressions import FloatArray, as_label, as_labels
from fabcost.inference.saved import checks as saved
from fabcost.inference.summary import LEVEL, Summary, summarise
from fabcost.inference.wide.belief import WideGaussian, rows_of
from fabcost.sparse import SparseRows, as_sparse
from fabcost.tilted import Moments, is_exact

WIDE_LEARNER = archive.Format("fabcost-wide-learner", 1, "wide learner")
CORE, AFTER = 128, 2
#: With twenty numbers of 1 in a row, log-odds have a prior sd of 1.6.
VARIANCE = 0.125
MOST_BITS, MOST_CORE = 24, 1024
MOST_WEIGHTS = 2**MOST_BITS


@dataclass(frozen=True)
class Wide:
    """A belief over 2^bits hashed weights, by name: what a recommender or a model is told.

    ``core``, ``after`` and ``variance`` are those of `WideFabCost`.

    Examples
    --------
    >>> Wide(bits=10, core=32).learner().posterior.dimension
    1024
    """

    bits: int = 20
    core: int = CORE
    after: int = AFTER
    variance: float = VARIANCE

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"bits is {self.bits} but must lie between 1 and {MOST_BITS}")
        if not (0 <= self.core <= MOST_CORE and self.after >= 1):
            raise ValueError(
                f"core is {self.core} and after {self.after} but must lie between 0 and "
                f"{MOST_CORE}, and be at least 1"
            )
        if not SMALLEST_VARIANCE <= self.variance <= LARGEST_VARIANCE:
            raise ValueError(f"variance is {self.variance} but must be finite and above zero")

    def learner(self, moments: Moments = "exact") -> WideFabCost:
        """One that has seen nothing."""
        return WideFabCost(
            2**self.bits,
            variance=self.variance,
            core=self.core,
            after=self.after,
            moments=moments,
        )


class WideFabCost:
    r"""ADF with very many weights, such as 2²⁰ hashed ones: chosen by name, for it keeps less.

    `fabcost.FabCost` keeps all covariances, and impressions which EP refines.  This keeps the
    covariances of a core of columns, those that are the first to have been seen ``after`` times,
    and no impressions: an update is a visit of the site with exact logistic moments, projected on
    `WideGaussian`, and takes O(non-zeros × core + core²).

    Parameters
    ----------
    weights
        How many.
    variance
        Of each before the first impression; all means are 0.  The default suits rows of some
        twenty numbers of about 1.
    core
        For how many columns covariances are kept, 0 for none.
    after
        In how many impressions a column must have been to join the core.
    moments
        "exact" or the paper's "mackay".

    Attributes
    ----------
    seen : int
        Impressions so far.
    skipped : int
        Steps left out because the variance would not have stayed positive.

    Examples
    --------
    >>> learner = WideFabCost(2**20)
    >>> learner.observe(([17, 400_000], [1.0, 1.0]), 1)
    >>> learner.observe_many([([17], [1.0]), ([17, 9], [1.0, 1.0])], [1, 0])
    >>> learner.seen, learner.posterior.predict([([17], [1.0])]).round(2)
    (3, array([0.51]))
    """

    #: It keeps no impressions to visit again, so nothing is ever refreshed.
    refreshes, next_refresh = 0, None

    def __init__(
        self,
        weights: int,
        *,
        variance: float = VARIANCE,
        core: int = CORE,
        after: int = AFTER,
        moments: Moments = "exact",
    ) -> None:
        if not 1 <= weights <= MOST_WEIGHTS:
            raise ValueError(f"weights is {weights} but must lie between 1 and {MOST_WEIGHTS}")
        if not 0 <= core <= MOST_CORE:
            raise ValueError(f"core is {core} but must lie between 0 and {MOST_CORE}")
        if after < 1:
            raise ValueError(f"after is {after} but must be at least 1")
        self.variance = float(variance)
        self.after = after
        self.moments = moments
        self.seen = 0
        self.skipped = 0
        self._exact = is_exact(moments)
        self._belief = WideGaussian(weights, variance=variance, core=min(core, weights))

    @property
    def name(self) -> Wide:
        """The belief that it has, by name; a ValueError if its weights are no power of two."""
        belief = self._belief
        bits = belief.dimension.bit_length() - 1
        if belief.dimension != 2**bits:
            raise ValueError(f"there are {belief.dimension} weights but must be a power of two")
        return Wide(bits, belief.places.size, self.after, self.variance)

    @property
    def posterior(self) -> WideGaussian:
        """The belief after all impressions so far; it goes on changing, its `copy` does not."""
        return self._belief

    def observe(self, x: Any, y: Any) -> None:
        """Learn from one impression: its row (see `as_sparse`) and whether it was clicked."""
        rows = rows_of(x, self._belief.dimension)
        self._filter(rows, np.array([as_label(y)]))

    def observe_many(self, X: Any, y: npt.ArrayLike) -> None:
        """Learn from a batch as if its impressions came one after another."""
        rows = as_sparse(X, self._belief.dimension)
        self._filter(rows, as_labels(y, len(rows)))

    def _filter(self, rows: SparseRows, labels: FloatArray) -> None:
        belief = self._belief
        belief.filled, skipped = kernels.wide_pass(
            belief.mean,
            belief.variance,
            belief.slots,
            belief.root,
            belief.places,
            belief.filled,
            rows.starts,
            rows.columns,
            rows.values,
            labels,
            self.after,
            self._exact,
        )
        self.skipped += skipped
        self.seen += labels.size

    def summary(self, *, level: float = LEVEL) -> Summary:
        """Means, sds and intervals of the weights that any impression had, as a table."""
        title = f"WideFabCost: {self._belief.dimension:,} weights after {self.seen:,} impressions"
        return summarise(title, self._belief, level=level)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to ``path``; a file already there is replaced in one step.

        It holds the weights that any impression had, so it is as long as what was learnt.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     WideFabCost(2**20).save(f"{folder}/learner.fabcost")
        ...     WideFabCost.load(f"{folder}/learner.fabcost").seen
        0
        """
        archive.replace_file(path, archive.pack(WIDE_LEARNER, *self.state()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WideFabCost:
        """Read a learner; what it learns then has the same bits as if it had never stopped."""
        settings, arrays = archive.unpack(WIDE_LEARNER, Path(path).read_bytes(), str(path))
        with archive.told_of(str(path), WIDE_LEARNER):
            return cls.restored(settings, arrays)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Settings (plain JSON values) and arrays from which `restored` goes on bit for bit."""
        belief = self._belief
        settings: dict[str, Any] = {
            "weights": belief.dimension,
            "variance": self.variance,
            "core": belief.places.size,
            "after": self.after,
            "moments": self.moments,
            "seen": self.seen,
            "skipped": self.skipped,
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
        return settings, arrays

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> WideFabCost:
        """The learner whose `state` this is; a ValueError if it is that of none."""
        learner = cls(
            saved.whole(settings, "weights", least=1),
            variance=saved.real(settings, "variance"),
            core=saved.whole(settings, "core"),
            after=saved.whole(settings, "after", least=1),
            moments=saved.entry(settings, "moments"),
        )
        learner.seen = saved.whole(settings, "seen")
        learner.skipped = saved.whole(settings, "skipped")
        _fill(learner.posterior, arrays)
        return learner


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
