"""Learning with very many weights, one impression after another."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import archive, kernels
from fabcost.gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE
from fabcost.impressions import FloatArray, Tally, as_counts, as_label, as_outcomes
from fabcost.inference.forgetting import ALL_OF_IT, Ageing, HalfLife, as_half_life
from fabcost.inference.inheritance.inheritance import DISCOUNTS, doubt, next_look
from fabcost.inference.saved import checks as saved
from fabcost.inference.schedule import Portion
from fabcost.inference.summary import LEVEL, Summary, summarise
from fabcost.inference.wide import file
from fabcost.inference.wide.belief import WideGaussian, rows_of
from fabcost.inference.wide.inheritance import WideInheritance
from fabcost.sparse import as_sparse
from fabcost.tilted import Moments, check_moments, is_exact

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

    def learner(
        self,
        moments: Moments = "exact",
        *,
        half_life: HalfLife | float | None = None,
        start: WideFabCost | None = None,
        discount: float | None = None,
    ) -> WideFabCost:
        """One that has seen nothing, but may know what another that it starts from found out."""
        learner = WideFabCost(
            2**self.bits,
            variance=self.variance,
            core=self.core,
            after=self.after,
            moments=moments,
            half_life=half_life,
        )
        if start is not None:
            learner.start_from(start, discount)
        return learner


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
    half_life
        After which what an impression says counts half; a `fabcost.HalfLife`, or a number of
        impressions.  None for never.  Every weight ages towards ``variance``, its mean stays.

    Attributes
    ----------
    seen : int
        Impressions so far; a row with a weight or counts is one.
    skipped : int
        Steps left out because the variance would not have stayed positive.
    remade : int
        How often other columns than those of impressions have changed, by age or by the discount
        of what is inherited.
    inheritance : WideInheritance | None
        What it started from, as long as outcomes may still change how much of that is believed.

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
        half_life: HalfLife | float | None = None,
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
        self.half_life = as_half_life(half_life)
        self.seen = self.skipped = self.remade = 0
        self.inheritance: WideInheritance | None = None
        self._past: list[Portion] = []
        self._exact = is_exact(moments)
        self._ageing = Ageing.of(self.half_life, 0, moments)
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

    def start_from(self, other: WideFabCost, discount: float | None = None) -> None:
        """Have as prior what another of as many weights found out; for one that has seen nothing.

        The discount is as in `WideInheritance`.
        """
        weights, theirs = self._belief.dimension, other.posterior.dimension
        if weights != theirs or self.seen:
            raise ValueError(
                f"there are {weights} weights after {self.seen} impressions but must be {theirs} "
                "after 0: what a hash chose has the same column only among as many"
            )
        inheritance = WideInheritance.of(other.posterior, other.variance, discount)
        inheritance.told.put(self._belief, self.variance, inheritance.discount)
        self.inheritance = None if inheritance.look is None else inheritance

    def observe(self, x: Any, y: Any, *, weight: float = 1.0, at: float | None = None) -> None:
        """Learn from one impression, or a `fabcost.Tally`: its row (see `as_sparse`) and outcome.

        ``at`` is its time, if the half-life is in seconds.
        """
        rows = rows_of(x, self._belief.dimension)
        plain = weight == 1.0 and type(y) is not Tally
        if plain and self._ageing is None and self.inheritance is None:
            self._filter(rows, np.array([as_label(y)]), None)
        else:
            outcome = y if type(y) is Tally else [as_label(y)]
            self.observe_many(rows, outcome, weight=None if plain else weight, at=at)

    def observe_many(
        self,
        X: Any,
        y: npt.ArrayLike | Tally,
        *,
        weight: npt.ArrayLike | None = None,
        at: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from a batch as if its impressions came one after another.

        Rows may have a weight each, or `fabcost.Tally`; those of weight zero are passed over.
        """
        rows = as_sparse(X, self._belief.dimension)
        labels, counts = as_outcomes(y, weight, len(rows))
        check_moments(self.moments, counts)
        times = None
        if self._ageing is not None:
            times = self._ageing.clock(self.seen, labels.size, at)
        self._learn(Portion(rows, labels, None, counts, times).told())

    def _learn(self, batch: Portion) -> float:
        """Learn what was checked; log p of the outcomes, each before it was learnt."""
        evidence, done = 0.0, 0
        while done < batch.size:
            look = None if self.inheritance is None else self.inheritance.look
            stop = batch.size if look is None else min(batch.size, done + look - self.seen)
            some = batch.between(done, stop)
            for part in self._parts(some):
                evidence += self._filter(part.rows, part.labels, part.counts)
            if look is not None:
                self._past.append(some.copied())
                if self.seen == look:
                    self._weigh()
            done = stop
        return evidence

    def _parts(self, batch: Portion) -> Iterable[Portion]:
        if self._ageing is None:
            return (batch,)
        return map(batch.part, self._ageing.parts(self.seen, batch.size, batch.at, self._age))

    def _age(self, halvings: float) -> int:
        """Forget, for so many half-lives; a number of visits that cost more than that."""
        kept = 0.0 if halvings > ALL_OF_IT else float(kernels.half_power(halvings))
        self._belief.age(kept, self.variance)
        self.remade += 1
        return self._belief.dimension // 1024 + self._belief.filled

    def _filter(self, rows: Any, labels: FloatArray, counts: FloatArray | None) -> float:
        belief = self._belief
        belief.filled, skipped, evidence = kernels.wide_pass(
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
            as_counts(counts),
        )
        self.skipped += skipped
        self.seen += labels.size
        return float(evidence)

    def _weigh(self) -> None:
        """Be the one that began with the discount under which the outcomes were most probable."""
        inheritance, best = self.inheritance, -math.inf
        if inheritance is None:
            return
        found: WideFabCost | None = None
        for discount in DISCOUNTS:
            trial = self._anew()
            inheritance.told.put(trial.posterior, self.variance, discount)
            evidence = sum([trial._learn(part) for part in self._past])
            evidence += doubt(self.seen) if discount == 0.0 else 0.0
            if evidence > best or found is None:
                best, found = evidence, trial
                inheritance = replace(inheritance, discount=discount)
        if found is not None:
            self._belief, self._ageing, self.skipped = found._belief, found._ageing, found.skipped
        self.remade += 1
        look = next_look(self.seen)
        self.inheritance = None if look is None else replace(inheritance, look=look)
        self._past = [] if look is None else self._past

    def _anew(self) -> WideFabCost:
        belief = self._belief
        how: dict[str, Any] = {"moments": self.moments, "half_life": self.half_life}
        how |= {"variance": self.variance, "core": belief.places.size, "after": self.after}
        return WideFabCost(belief.dimension, **how)

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
        archive.replace_file(path, file.to_bytes(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WideFabCost:
        """Read a learner; what it learns then has the same bits as if it had never stopped."""
        settings, arrays = archive.unpack(file.WIDE_LEARNER, Path(path).read_bytes(), str(path))
        with archive.told_of(str(path), file.WIDE_LEARNER):
            return cls.restored(settings, arrays)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Settings (plain JSON values) and arrays from which `restored` goes on bit for bit."""
        return file.state_of(self)

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> WideFabCost:
        """The learner whose `state` this is; a ValueError if it is that of none."""
        ageing = saved.ageing_of(settings)
        learner = cls(
            saved.whole(settings, "weights", least=1),
            variance=saved.real(settings, "variance"),
            core=saved.whole(settings, "core"),
            after=saved.whole(settings, "after", least=1),
            moments=saved.entry(settings, "moments"),
            half_life=None if ageing is None else ageing.half_life,
        )
        learner._ageing = ageing
        file.restore(learner, settings, arrays)
        return learner
