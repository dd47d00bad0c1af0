"""FAB-COST: ADF after every impression, EP when the schedule says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Tally, as_batch, as_keys, as_label, as_row, read_only
from fabcost.inference import saved
from fabcost.inference.ep import TOLERANCE, Refresh, Swept, as_refresh, sweep
from fabcost.inference.history import Carried, History, Paired, Sites, joined
from fabcost.inference.own.directory import NOBODY, NOT_OWNED, Key, Owned, Slots
from fabcost.inference.own.effects import effects_of
from fabcost.inference.result import warn_that_it_moves
from fabcost.tilted import Moments, check_moments, is_exact

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
    own_variance
        τ², of the effect that each item has beside its features; 0 for none.

    Attributes
    ----------
    seen : int
        Impressions so far; a row with a weight or counts is one.
    refreshes : int
        EP refreshes so far.
    skipped : int
        Steps and visits left out because they would have left the cone of positive
        definite covariances (only "mackay" has any on ordinary data).
    unconverged : int
        Refreshes of several sweeps after which the belief still moved.  Where the schedule is
        not `geometric`, whose sweeps need not converge, each is also a
        `fabcost.inference.result.ConvergenceWarning`.
    last_refresh : Swept | None
        How the last refresh went, if there was one since the learner was made or loaded.
    own : OwnEffects | None
        What is known of the items' own effects, if they have any.

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
        own_variance: float = 0.0,
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
        self.last_refresh: Swept | None = None
        self.own = effects_of(prior.dimension, own_variance)
        self._exact = is_exact(moments)
        self._belief = Carried.of(prior)
        self._history = self._no_history()
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

    def observe(
        self, x: npt.ArrayLike, y: Any, item: Key | None = None, *, weight: float = 1.0
    ) -> None:
        """Learn from one impression, or a `fabcost.Tally`: its row, the outcome, what was shown."""
        row = as_row(x, self.prior.dimension)
        if weight != 1.0 or type(y) is Tally:
            outcome = y if type(y) is Tally else [as_label(y)]
            return self.observe_many(row[None, :], outcome, [item], weight=weight)
        label = as_label(y)
        slot = NOBODY if self.own is None else self.own.touch(item)
        if self._next is None:
            slots, rows = None if self.own is None else np.array([slot]), read_only(row[None, :])
            self._filter(rows, np.array([label]), _UNKEPT, 0, 1, slots)
        else:
            self._keep(row, label, 1, slot, None)
        return None

    def observe_many(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | Tally,
        items: Iterable[Any] | None = None,
        *,
        weight: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from a batch as if its impressions came one after another.

        Rows may have a weight each, or `fabcost.Tally`; those of weight zero are passed over.
        """
        rows, (labels, counts) = as_batch(X, y, weight, self.prior.dimension)
        check_moments(self.moments, counts)
        slots = None if self.own is None else self.own.enter(as_keys(items, labels.size))
        if counts is not None and not (told := counts.any(axis=1)).all():
            rows, labels, counts = rows[told], labels[told], counts[told]
            slots = None if slots is None else slots[told]
        if self.own is not None and slots is not None:
            self.own.written(slots)
        done = 0
        while done < labels.size and self._next is not None:
            many = min(labels.size - done, self._next - self.seen, self._history.room())
            at = slice(done, done + many)
            some = None if counts is None else counts[at]
            self._keep(rows[at], labels[at], many, NOBODY if slots is None else slots[at], some)
            done += many
        self._filter(read_only(rows), labels, _UNKEPT, done, labels.size, slots, counts)

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
            owned=self._written(0, self._history.count),
            counts=self._history.counts_between(0, self._history.count),
        )
        self.last_refresh = swept
        self.skipped += swept.skipped
        self.refreshes += 1
        self.unconverged += not swept.converged and swept.sweeps > 1
        self._posterior = None
        return swept

    def grow(self, variance: float | Gaussian, count: int = 1) -> None:
        """Add ``count`` weights, independent of the others, of mean zero and ``variance``.

        Or as many as a Gaussian has, which then is what is believed of them.  Earlier impressions
        did not have their features: from here on the learner is the one that had these weights
        from the start and saw zeros for them.
        """
        if count < 0:
            raise ValueError(f"count is {count} but must be at least 0")
        if isinstance(variance, Gaussian):
            fresh = variance
        else:
            fresh = Gaussian.isotropic(max(count, 1), variance=variance)
        if count == 0:
            return
        self.prior = joined(self.prior, fresh)
        self._belief = Carried.of(joined(self._belief.gaussian(), fresh))
        self._history.widen(fresh.dimension)
        if self.own is not None:
            self.own.widen(fresh.dimension)
        self._posterior = None

    def replace_prior(self, prior: Gaussian) -> bool:
        """Put another prior below the same sites; whether that was done.

        It needs all impressions: if some are no longer kept, nothing changes.  The sites are those
        of the old prior until the next refresh.
        """
        if prior.dimension != self.prior.dimension:
            raise ValueError(
                f"the prior has {prior.dimension} weights but the learner {self.prior.dimension}"
            )
        if self._history.count != self.seen:
            return False
        before, rows = self._belief, None if self.own is None else self.own.rows.copy()
        self._belief = Carried.of(prior)
        if self.own is not None:
            self.own.clear()
        X, _, sites = self._history.kept()
        given = (*self._belief, read_only(X), *sites, 0, self.seen)
        owned = self._written(0, self.seen)
        if kernels.own_absorb(*given, *owned) if owned else kernels.absorb(*given):
            # MacKay's sites may have negative precisions, which not every prior can bear.
            self._belief = before
            if self.own is not None:
                self.own.rows[:] = rows
            return False
        self.prior, self._posterior = prior, None
        return True

    def forget(self, items: Iterable[Key]) -> None:
        """Integrate items out that will not be shown again: their rows and effects are dropped.

        What they taught about the weights stays.  An item that comes back begins anew.
        """
        if self.own is not None:
            self._history.drop(self.own.forget(items))

    def _keep(
        self, X: FloatArray, y: FloatArray | float, many: int, items: Slots | int, counts: Paired
    ) -> None:
        """Filter impressions that have room in the history, then refresh if it is time."""
        past = self._history
        past.room()
        start, stop = past.append(X, y, many, items, counts)
        if past.is_compact:
            self._filter(past.readable, past.y, past.sites, start, stop, past.items, past.counts)
        else:
            X, y, sites = past.between(start, stop)
            rest = past.items_between(start, stop), past.counts_between(start, stop)
            self._filter(read_only(X), y, sites, 0, many, *rest)
        if self.seen != self._next:
            return
        if self.refresh_schedule.is_due(self.seen):
            self._refresh_on_schedule()
        self._next = self.refresh_schedule.next_after(self.seen)
        if self._next is None:
            self._history = self._no_history()

    def _refresh_on_schedule(self) -> None:
        before = self.unconverged
        swept = self.refresh()
        if self.unconverged > before and self.refresh_schedule.kind != "geometric":
            warn_that_it_moves(self.seen, swept.sweeps, swept.skipped)

    def _filter(
        self,
        X: FloatArray,
        y: FloatArray,
        sites: Sites,
        start: int,
        stop: int,
        items: Slots | None,
        counts: Paired = None,
    ) -> None:
        given = (*self._belief, X, y, *sites, start, stop)
        how = self._exact if counts is None else counts
        if self.own is None or items is None:
            step = kernels.adf_pass if counts is None else kernels.counts_adf_pass
            self.skipped += step(*given, how)
        else:
            owned = kernels.own_adf_pass if counts is None else kernels.own_counts_adf_pass
            self.skipped += owned(*given, how, items, self.own.table)
        self.seen += stop - start
        self._posterior = None

    def _written(self, start: int, stop: int) -> Owned | tuple[()]:
        """The effects that a pass over these impressions of the history changes."""
        items = self._history.items_between(start, stop)
        return NOT_OWNED if self.own is None or items is None else self.own.written(items)

    def _no_history(self) -> History:
        return History(self.prior.dimension, self.window, owned=self.own is not None)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Settings (plain JSON values) and arrays from which `restored` goes on bit for bit."""
        settings: dict[str, Any] = {
            **{name: getattr(self, name) for name in ("moments", "window", "tolerance")},
            "refresh": saved.refresh_to_dict(self.refresh_schedule),
            **{name: getattr(self, name) for name in saved.COUNTED},
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
        if self.own is not None:
            settings["own"] = saved.own_to_dict(self.own)
            arrays["own"] = self.own.rows
        return settings, arrays

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> FabCost:
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
        learner.own = saved.own_of(settings, arrays, prior.dimension)
        kept = saved.kept_of(arrays, counts, window, prior.dimension, learner.own)
        learner._history = History.restored(window, counts.slot, kept)
        learner._posterior = None
        return learner
