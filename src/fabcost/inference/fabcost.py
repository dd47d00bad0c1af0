"""FAB-COST: ADF after every impression, EP when the schedule says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_impressions, as_label, as_row
from fabcost.inference.ep import TOLERANCE
from fabcost.inference.history import History
from fabcost.inference.refresh import Refresh, as_refresh
from fabcost.inference.sites import Carried, Sites, gram_product
from fabcost.tilted import Moments, is_exact


class FabCost:
    r"""The online learner of the paper (the inference steps of Algorithm 5).

    An ADF step *is* an EP visit to a site that was flat before, so the learner keeps each
    impression with its site, and a refresh starts from the sites that ADF left.

    Parameters
    ----------
    prior
        The belief before the first impression.
    refresh
        When EP refines the sites: `Refresh.geometric`, the default, `Refresh.at`,
        `Refresh.never`, `Refresh.always`, or a function of the number of impressions.
    moments
        "exact" or the paper's "mackay".
    window
        Refine only the last ``window`` impressions; older sites stay as they are and their
        rows are dropped.  None keeps all.
    tolerance
        A refresh stops when what is still to come is below this many posterior sds.

    Attributes
    ----------
    seen : int
        Impressions so far.
    refreshes : int
        EP refreshes so far.
    skipped : int
        Steps and visits left out because they would have left the cone of positive
        definite covariances (only "mackay" has any on ordinary data).

    Examples
    --------
    >>> learner = FabCost(Gaussian.isotropic(2, variance=100.0))
    >>> learner.observe([1.0, 0.5], 0)
    >>> learner.observe_many([[1.0, -0.5], [1.0, 2.0]], [1, 0])
    >>> learner.seen, learner.posterior.predict([[1.0, -0.5]]).round(2)
    (3, array([0.79]))
    """

    def __init__(
        self,
        prior: Gaussian,
        *,
        refresh: Refresh | Callable[[int], bool] | None = None,
        moments: Moments = "exact",
        window: int | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        if window is not None and window < 1:
            raise ValueError(f"window is {window} but must be at least 1, or None for all")
        if not tolerance > 0:
            raise ValueError(f"tolerance is {tolerance} but must be above zero")
        self.prior = prior
        self.refresh_schedule = Refresh.geometric() if refresh is None else as_refresh(refresh)
        self.moments = moments
        self.window = window
        self.tolerance = tolerance
        self.seen = 0
        self.refreshes = 0
        self.skipped = 0
        self._exact = is_exact(moments)
        self._belief = Carried.of(prior)
        self._history = History(prior, window)
        self._next = self.refresh_schedule.next_after(0)
        self._posterior: Gaussian | None = prior

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        if self._posterior is None:
            self._posterior = self._belief.gaussian()
        return self._posterior

    @property
    def sites(self) -> Sites:
        """The sites of the impressions that a refresh can still refine, as a copy."""
        return Sites(*(each.copy() for each in self._history.kept()[2]))

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression: its row and whether it was clicked."""
        row = as_row(x, self.prior.dimension)
        label = as_label(y)
        self._filter(row[None, :], np.array([label]))

    def observe_many(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        """Learn from a batch as if its impressions came one after another."""
        rows, labels = as_impressions(X, y, self.prior.dimension)
        done = 0
        while done < labels.size:
            many = self._before_interruption(labels.size - done)
            chosen = slice(done, done + many)
            self._filter(rows[chosen], labels[chosen])
            done += many

    def refresh(self, *, max_sweeps: int | None = None) -> None:
        """Refine the sites by EP now, whatever the schedule says."""
        X, y, sites = self._history.kept()
        most = self.refresh_schedule.max_sweeps if max_sweeps is None else max_sweeps
        _, _, skipped, _ = kernels.ep_sweeps(
            *self._belief, X, y, *sites, y.size, self._exact, most, self.tolerance
        )
        rebuilt = gram_product(self._history.base.gaussian(), X, sites)
        if rebuilt is not None:
            self._belief = Carried.of(rebuilt)
        self.skipped += skipped
        self.refreshes += 1
        self._posterior = None

    def _before_interruption(self, wanted: int) -> int:
        """How many of ``wanted`` impressions to filter before a refresh or a full buffer."""
        if self._next is not None:
            wanted = min(wanted, self._next - self.seen, self._history.room())
        return wanted

    def _filter(self, X: FloatArray, y: FloatArray) -> None:
        if self._next is None:
            self._step(X, y, Sites.flat(0), 0, y.size)
            return
        self._history.room()
        start, stop = self._history.append(X, y)
        self._step(self._history.X, self._history.y, self._history.sites, start, stop)
        if self.seen == self._next:
            if self.refresh_schedule.is_due(self.seen):
                self.refresh()
            self._next = self.refresh_schedule.next_after(self.seen)
            if self._next is None:
                self._history = History(self.prior, self.window)

    def _step(self, X: FloatArray, y: FloatArray, sites: Sites, start: int, stop: int) -> None:
        self.skipped += kernels.adf_pass(*self._belief, X, y, *sites, start, stop, self._exact)
        self.seen += stop - start
        self._posterior = None

    def state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """Settings (plain JSON values) and arrays from which `restored` goes on bit for bit."""
        schedule = self.refresh_schedule
        if schedule.predicate is not None:
            raise ValueError(
                "a learner whose refresh schedule is a function cannot be saved: "
                "give it one of Refresh.geometric, at, never or always"
            )
        settings = {
            "moments": self.moments,
            "window": self.window,
            "tolerance": self.tolerance,
            "refresh": {
                "kind": schedule.kind,
                "points": list(schedule.points),
                "growth": schedule.growth if schedule.kind == "geometric" else None,
                "max_sweeps": schedule.max_sweeps,
            },
            "seen": self.seen,
            "refreshes": self.refreshes,
            "skipped": self.skipped,
            "next": self._next,
        }
        arrays = {
            "prior_mean": self.prior.mean,
            "prior_root": self.prior.root,
            "mean": self._belief.mean,
            "root": self._belief.root,
            **self._history.state(),
        }
        return settings, arrays

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: dict[str, FloatArray]) -> FabCost:
        """The learner whose `state` this is."""
        schedule = dict(settings["refresh"])
        schedule["points"] = tuple(schedule["points"])
        if schedule["growth"] is None:
            del schedule["growth"]
        prior = Gaussian.from_root(arrays["prior_mean"], arrays["prior_root"])
        learner = cls(
            prior,
            refresh=Refresh(**schedule),
            moments=settings["moments"],
            window=settings["window"],
            tolerance=settings["tolerance"],
        )
        learner.seen = settings["seen"]
        learner.refreshes = settings["refreshes"]
        learner.skipped = settings["skipped"]
        learner._next = settings["next"]
        learner._belief = Carried(np.array(arrays["mean"]), np.array(arrays["root"]))
        learner._history = History.restored(prior, settings["window"], arrays)
        learner._posterior = None
        return learner
