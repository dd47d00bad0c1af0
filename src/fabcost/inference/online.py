"""FAB-COST: ADF after every impression, EP when the schedule says."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, as_impressions, as_label, as_row, read_only
from fabcost.inference import saved
from fabcost.inference.ep import TOLERANCE, Swept, sweep
from fabcost.inference.history import History
from fabcost.inference.result import ConvergenceWarning
from fabcost.inference.schedule import Refresh, as_refresh
from fabcost.inference.sites import Carried, Sites
from fabcost.tilted import Moments, is_exact

_UNKEPT = Sites.flat(0)


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
    unconverged : int
        Refreshes of several sweeps after which the belief still moved.  Where the schedule is
        not `geometric`, whose sweeps need not converge, each is also a
        `fabcost.inference.result.ConvergenceWarning`.

    Examples
    --------
    >>> learner = FabCost(Gaussian.isotropic(2, variance=100.0))
    >>> learner.observe([1.0, 0.5], 0)
    >>> learner.observe_many([[1.0, -0.5], [1.0, 2.0]], [1, 0])
    >>> learner.seen, learner.posterior.predict([[1.0, -0.5]]).round(2)
    (3, array([0.87]))
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
        self.unconverged = 0
        self._exact = is_exact(moments)
        self._belief = Carried.of(prior)
        self._history = History(prior.dimension, window)
        self._next = self.refresh_schedule.next_after(0)
        self._posterior: Gaussian | None = prior

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        if self._posterior is None:
            self._posterior = self._belief.gaussian()
        return self._posterior

    @property
    def next_refresh(self) -> int | None:
        """The number of impressions at which the schedule is asked next; None if never again."""
        return self._next

    @property
    def sites(self) -> Sites:
        """The sites of the impressions that a refresh can still refine, as a copy."""
        return Sites(*(each.copy() for each in self._history.kept()[2]))

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression: its row and whether it was clicked."""
        row = as_row(x, self.prior.dimension)
        label = as_label(y)
        if self._next is None:
            self._filter(row[None, :], np.array([label]), _UNKEPT, 0, 1)
        else:
            self._keep(row, label, 1)

    def observe_many(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        """Learn from a batch as if its impressions came one after another."""
        rows, labels = as_impressions(X, y, self.prior.dimension)
        done = 0
        while done < labels.size and self._next is not None:
            many = min(labels.size - done, self._next - self.seen, self._history.room())
            self._keep(rows[done : done + many], labels[done : done + many], many)
            done += many
        self._filter(rows, labels, _UNKEPT, done, labels.size)

    def refresh(self, *, max_sweeps: int | None = None) -> Swept:
        """Refine the sites by EP now, whatever the schedule says."""
        if self._next is None:
            raise ValueError(
                f"there is nothing to refresh: the schedule {self.refresh_schedule.kind!r} has no "
                "refresh to come, so the learner keeps no impressions"
            )
        swept = sweep(
            self._belief,
            *self._history.kept(),
            exact=self._exact,
            tolerance=self.tolerance,
            max_sweeps=self.refresh_schedule.max_sweeps if max_sweeps is None else max_sweeps,
        )
        self.skipped += swept.skipped
        self.refreshes += 1
        self.unconverged += not swept.converged and swept.sweeps > 1
        self._posterior = None
        return swept

    def grow(self, variance: float, count: int = 1) -> None:
        """Add ``count`` weights, independent of the others, of mean zero and ``variance``.

        Earlier impressions did not have their features: from here on the learner is the one
        that had these weights from the start and saw zeros for them.
        """
        if count < 0:
            raise ValueError(f"count is {count} but must be at least 0")
        fresh = Gaussian.isotropic(max(count, 1), variance=variance)
        if count == 0:
            return
        self.prior = _joined(self.prior, fresh)
        self._belief = Carried.of(_joined(self._belief.gaussian(), fresh))
        self._history.widen(count)
        self._posterior = None

    def _keep(self, X: FloatArray, y: FloatArray | float, many: int) -> None:
        """Filter impressions that have room in the history, then refresh if it is time."""
        past = self._history
        past.room()
        start, stop = past.append(X, y, many)
        if past.is_compact:
            self._filter(past.X, past.y, past.sites, start, stop)
        else:
            self._filter(*past.between(start, stop), 0, many)
        if self.seen != self._next:
            return
        if self.refresh_schedule.is_due(self.seen):
            self._refresh_on_schedule()
        self._next = self.refresh_schedule.next_after(self.seen)
        if self._next is None:
            self._history = History(self.prior.dimension, self.window)

    def _refresh_on_schedule(self) -> None:
        before = self.unconverged
        swept = self.refresh()
        if self.unconverged > before and self.refresh_schedule.kind != "geometric":
            warnings.warn(
                f"EP at impression {self.seen} still moves after {swept.sweeps} sweeps, of which "
                f"{swept.skipped} visits were skipped: allow it more by max_sweeps of the "
                "schedule, or a larger tolerance",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _filter(self, X: FloatArray, y: FloatArray, sites: Sites, start: int, stop: int) -> None:
        rows, exact = read_only(X), self._exact
        self.skipped += kernels.adf_pass(*self._belief, rows, y, *sites, start, stop, exact)
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
            "unconverged": self.unconverged,
            "next": self._next,
            "slot": self._history.slot,
            "arithmetic": kernels.ARITHMETIC,
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
        """The learner whose `state` this is; a ValueError if it is that of none."""
        window, schedule = saved.window_of(settings), saved.refresh_of(settings)
        prior, counts = saved.prior_of(arrays), saved.counts_of(settings, schedule)
        learner = cls(
            prior,
            refresh=schedule,
            moments=saved.entry(settings, "moments"),
            window=window,
            tolerance=saved.real(settings, "tolerance"),
        )
        learner.seen, learner.refreshes, learner.skipped, learner.unconverged = counts[:4]
        learner._next = counts.next
        learner._belief = saved.belief_of(arrays, prior.dimension)
        kept = saved.kept_of(arrays, counts, window, prior.dimension)
        learner._history = History.restored(window, counts.slot, kept)
        learner._posterior = None
        return learner


def _joined(belief: Gaussian, other: Gaussian) -> Gaussian:
    """Both side by side, independent of each other."""
    old, weights = belief.dimension, belief.dimension + other.dimension
    root = np.zeros((weights, weights))
    root[:old, :old] = belief.root
    root[old:, old:] = other.root
    return Gaussian.from_kernel(np.concatenate([belief.mean, other.mean]), root)
