"""FAB-COST: ADF after every impression, EP when the schedule says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fabcost import kernels
from fabcost.gaussian import Gaussian
from fabcost.impressions import GivenRows, Tally, as_batch, as_keys, as_label, as_row, readable
from fabcost.inference.ep import TOLERANCE
from fabcost.inference.forgetting import Ageing, HalfLife, as_half_life, parts_of
from fabcost.inference.history import Carried, History, Paired, Pass, Sites, independent, joined
from fabcost.inference.inheritance.inheritance import Inheritance, put_below
from fabcost.inference.inheritance.past import learn_and_look, past_to_keep, put_prior, widen
from fabcost.inference.own.directory import NOBODY, Key, Slots
from fabcost.inference.own.effects import effects_of
from fabcost.inference.passes import Lag, Swept, check_stopping, filter_rows, limit_of, work_of
from fabcost.inference.refreshing import MOST_WORK, Refreshing, begin, check, refine
from fabcost.inference.saved import checks, state
from fabcost.inference.schedule import Portion, Refresh, as_refresh, ask_schedule
from fabcost.inference.summary import LEVEL, Summary, summarise
from fabcost.sparse import FloatArray, Rows, as_sparse, is_sparse
from fabcost.tilted import Moments, check_moments, is_exact

_UNKEPT = Sites.flat(0)


class FabCost:
    r"""The online learner of the paper (the inference steps of Algorithm 5).

    An ADF step *is* an EP visit to a site that was flat before, so the learner keeps each
    impression with its site, and a refresh starts from the sites that ADF left.

    Parameters
    ----------
    prior
        The belief before the first impression, or an `Inheritance` of what another found out.
    refresh
        When EP refines the sites: `Refresh.geometric`, the default, `Refresh.at`,
        `Refresh.never`, `Refresh.always`, or a function of the number of impressions.
    moments
        "exact" or the paper's "mackay".
    most_kept
        Keep only so many of the last impressions to refine: ten times before they leave, or fewer
        if refreshes are spread; their sites stay.  It bounds memory, forgets nothing.  None: all.
    half_life
        After which what an impression says counts half; a `fabcost.HalfLife`, or a number of
        impressions.  None for never.  Of impressions that count less the rows are dropped.
    tolerance
        A refresh stops when what is still to come is below this many posterior sds.
    own_variance
        τ², of the effect that each item has beside its features; 0 for none.
    most_work
        Visits × D² of a refresh in one call, some ms.  One with more is spread over the calls
        that follow: meanwhile impressions are filtered, and then taken in by the refreshed belief.
        None does every refresh within the call at which it is due.
    window
        The old name of ``most_kept``, without more refreshes than the schedule has.

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
        Refreshes of several sweeps after which the belief still moved; a `ConvergenceWarning` each
        unless the schedule is `geometric`, whose sweeps need not converge.
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
        prior: Gaussian | Inheritance,
        *,
        refresh: Refresh | Callable[[int], bool] | None = None,
        moments: Moments = "exact",
        most_kept: int | None = None,
        half_life: HalfLife | float | None = None,
        tolerance: float = TOLERANCE,
        own_variance: float = 0.0,
        most_work: int | None = MOST_WORK,
        window: int | None = None,
    ) -> None:
        check_stopping(tolerance, max_sweeps=1)
        self.inheritance, self.prior = put_below(None, prior)
        self.refresh_schedule = Refresh.geometric() if refresh is None else as_refresh(refresh)
        self.moments, self._exact = moments, is_exact(moments)
        self.most_kept = limit_of(most_kept, window)
        self.half_life, self.tolerance = as_half_life(half_life), tolerance
        self.seen = self.refreshes = self.skipped = self.unconverged = 0
        self.last_refresh: Swept | None = None
        self.own = effects_of(self.prior.dimension, own_variance)
        if self.inheritance is not None:
            self.inheritance.enter(self.own)
        self._belief = Carried.of(self.prior)
        self._ageing = Ageing.of(self.half_life, self.prior.dimension, moments)
        self.most_work, self.visits_all = work_of(most_work), window is None
        self._refreshing: Refreshing | None = None
        self._history = self._no_history()
        self._next = self.refresh_schedule.next_after(0)
        self._past = None if self.inheritance is None else past_to_keep(self)
        self._posterior: Gaussian | None = self.prior

    @property
    def _belief(self) -> Carried:
        """The belief with all that it may be behind."""
        if self._lag is not None:
            kernels.settle(*self._carried, self._lag, 0, self._carried.mean.size)
        return self._carried

    @_belief.setter
    def _belief(self, belief: Carried) -> None:
        self._carried, self._lag = belief, Lag.of(belief)

    law = _belief  # mean and root as they are now; rows of the root go on with zeros

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        if self._posterior is None:
            self._posterior = self._belief.gaussian()
        return self._posterior

    @property
    def next_refresh(self) -> int | None:
        """The number of impressions at which the schedule is asked next; None if never again."""
        return self._next if self._refreshing is None else self._refreshing.due

    @property
    def refreshing(self) -> bool:
        """Whether a refresh is under way, of which `posterior` does not know yet."""
        return self._refreshing is not None

    @property
    def sites(self) -> Sites:
        """The sites of the impressions that are kept, as a copy."""
        return Sites(*(each.copy() for each in self._caught_up()._history.kept()[2]))

    @property
    def kept(self) -> int:
        """How many impressions are kept for refreshes."""
        return self._caught_up()._history.count

    def observe(
        self,
        x: GivenRows,
        y: Any,
        item: Key | None = None,
        *,
        weight: float = 1.0,
        at: float | None = None,
    ) -> None:
        """Learn from one impression, or a `fabcost.Tally`: its row, outcome, item and time."""
        dense = type(x) is np.ndarray or not is_sparse(x)
        busy = self._refreshing is not None or self._ageing is not None or self._past is not None
        if busy or not dense or weight != 1.0 or type(y) is Tally:
            weights, counted = self.prior.dimension, type(y) is Tally or weight != 1.0
            rows: Rows = as_row(x, weights)[None, :] if dense else as_sparse(x, weights)
            if busy or counted or self.own is not None or self._next is None or len(rows) != 1:
                outcome = y if type(y) is Tally else [as_label(y)]
                each = weight if counted else None
                return self.observe_many(rows, outcome, [item], weight=each, at=at)
            return self._keep(rows, as_label(y), 1, NOBODY, None)
        row, label = as_row(x, self.prior.dimension), as_label(y)
        slot = NOBODY if self.own is None else self.own.touch(item)
        if self._next is not None:
            return self._keep(row, label, 1, slot, None)
        slots = None if self.own is None else np.array([slot])
        over = Pass(readable(row[None, :]), np.array([label]), _UNKEPT, 0, 1, slots)
        return self._filter(over)

    def observe_many(
        self,
        X: GivenRows,
        y: npt.ArrayLike | Tally,
        items: Iterable[Any] | None = None,
        *,
        weight: npt.ArrayLike | None = None,
        at: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from a batch as if its impressions came one after another.

        Rows may have a weight each, or `fabcost.Tally`; those of weight zero are passed over.
        ``at`` has their times, or one for all, if the half-life is in seconds.  Rows may be sparse.
        """
        rows, (labels, counts) = as_batch(X, y, weight, self.prior.dimension)
        if counts is not None:
            check_moments(self.moments, counts)
        keys = None if self.own is None else as_keys(items, labels.size)
        batch = Portion(rows, labels, keys, counts, None if at is None else np.asarray(at))
        if self._refreshing is not None or self._ageing is not None or self._past is not None:
            check(self, batch)
        self.learn(batch if counts is None else batch.told())

    def learn(self, batch: Portion) -> None:
        """Learn what was checked; on the way refreshes may begin, and end."""
        done, size = 0, batch.labels.size
        while done < size:
            rest = batch.between(done, size) if done else batch
            done += self.go_on(rest) if self._past is None else learn_and_look(self, rest)

    def go_on(self, batch: Portion) -> int:
        """Learn until a refresh begins, or ends; how many that were."""
        if self._refreshing is None:
            return self.learn_up_to_refresh(batch)
        return self._refreshing.learn(self, batch)

    def learn_up_to_refresh(self, batch: Portion) -> int:
        """Learn until a refresh is under way; how many that were."""
        learnt = 0
        for part in (batch,) if self._ageing is None else parts_of(self, self._ageing, batch):
            slots, size = None, part.labels.size
            if self.own is not None and part.keys is not None:
                slots = self.own.written(self.own.enter(part.keys)).slots
            done = 0
            while done < size and self._next is not None:
                many = min(size - done, self._next - self.seen, self._history.room())
                some = slice(done, done + many)
                counts = None if part.counts is None else part.counts[some]
                shown = NOBODY if slots is None else slots[some]
                self._keep(part.rows[some], part.labels[some], many, shown, counts)
                done += many
                if self._refreshing is not None:
                    return learnt + done
            rest = (done, size, slots, part.counts)
            self._filter(Pass(readable(part.rows), part.labels, _UNKEPT, *rest))
            learnt += size
        return learnt

    def refresh(self, *, max_sweeps: int | None = None) -> Swept:
        """Refine the sites by EP now, whatever the schedule says; all within this call."""
        self.finish()
        if self._next is None:
            raise ValueError(
                f"there is nothing to refresh: the schedule {self.refresh_schedule.kind!r} has no "
                "refresh to come, so the learner keeps no impressions"
            )
        return refine(self, max_sweeps)

    def finish(self) -> None:
        """Bring a refresh that is under way to its end now, if there is one."""
        if self._refreshing is not None:
            self._refreshing.hand_over(self)

    def _caught_up(self) -> FabCost:
        return self if self._refreshing is None else self._refreshing.caught_up()

    def grow(self, variance: float | Gaussian, count: int = 1) -> None:
        """Add ``count`` weights, independent of the others, of mean zero and ``variance``.

        Or as many as a Gaussian has, which then is what is believed of them.  Earlier impressions
        did not have their features: from here on the learner is the one that had these weights
        from the start and saw zeros for them.
        """
        fresh = independent(variance, count)
        if count == 0:
            return
        self.prior = joined(self.prior, fresh)
        if self.inheritance is not None:
            self.inheritance = self.inheritance.widened(fresh)
        self._belief = Carried.of(joined(self._belief.gaussian(), fresh))
        self._history.widen(fresh.dimension)
        widen(self._past or [], fresh.dimension)
        if self.own is not None:
            self.own.widen(fresh.dimension)
        self._posterior = None
        if self._refreshing is not None:
            self._refreshing.wait(partial(FabCost.grow, variance=fresh))

    def replace_prior(self, prior: Gaussian | Inheritance) -> bool:
        """Put another prior below the same sites, and what is inherited; whether that was done.

        It needs all impressions: if some are no longer kept, nothing changes.  The sites are those
        of the old prior until the next refresh.
        """
        return put_prior(self, prior)

    def forget(self, items: Iterable[Key]) -> None:
        """Integrate items out: their effects are dropped, what they taught about weights stays."""
        gone = list(items)
        if self.own is not None:
            self._history.drop(self.own.forget(gone))
        if self._refreshing is not None:
            self._refreshing.wait(partial(FabCost.forget, items=gone))

    def _keep(
        self, X: Rows, y: FloatArray | float, many: int, items: Slots | int, counts: Paired
    ) -> None:
        """Filter impressions that have room in the history, then refresh if it is time."""
        past = self._history
        past.room()
        self._filter(past.over(*past.append(X, y, many, items, counts), X))
        if self.seen == self._next:
            ask_schedule(self, begin)

    def plan(self, due: int | None) -> None:
        """Ask the schedule at an impression to come; if at none, keep no impressions."""
        self._next = due
        if due is None:
            self._history = self._no_history()

    def _no_history(self) -> History:
        given = self.prior.dimension, self.most_kept
        return History(*given, owned=self.own is not None, compact=True)

    def _filter(self, over: Pass) -> None:
        self.skipped += filter_rows(self._carried, over, self.own, self._lag, exact=self._exact)
        self.seen += over.stop - over.start
        self._posterior = None

    def summary(self, names: Iterable[Any] | None = None, *, level: float = LEVEL) -> Summary:
        """Means, sds and intervals of the weights, as a table; ``names`` has one for each."""
        facts = {} if self.own is None else {"items with effects of their own": len(self.own)}
        title = f"FabCost: {self.prior.dimension:,} weights after {self.seen:,} impressions"
        return summarise(title, self.posterior, names, level=level, facts=facts)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Settings (plain JSON values) and arrays from which `restored` goes on bit for bit."""
        return state.state_of(self)

    @classmethod
    def restored(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> FabCost:
        """The learner whose `state` this is; a ValueError if it is that of none."""
        prior, moments = checks.gaussian_of(arrays, "prior_"), checks.entry(settings, "moments")
        learner = cls(prior, moments=moments)
        state.restore(learner, settings, arrays)
        return learner
