"""What policies would do on each round of a log, and what a model unaware of it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.offline import estimators
from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.settings import MODELLED, Settings, Target
from fabcost.offline.evaluate.support import Support
from fabcost.offline.logs.rounds import Log, Places

INTERCEPT_VARIANCE = 100.0

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Outlook:
    """A target on every round: its probability of the logged item, and what the model predicts.

    Attributes
    ----------
    target
        Probability of the logged item.
    predicted, value
        The model's prediction for the logged item, and its mean under the target.
    support
        Where the log has the probabilities of all candidates.
    """

    target: FloatArray
    predicted: FloatArray
    value: FloatArray
    support: Support | None = None

    @classmethod
    def empty(cls, log: Log) -> Outlook:
        """To be filled."""
        rounds = log.reward.size
        support = None if log.chances is None else Support.empty(rounds)
        return cls(np.zeros(rounds), np.zeros(rounds), np.zeros(rounds), support)

    def fill(
        self,
        here: Places,
        place: Places,
        shares: FloatArray,
        q: FloatArray,
        chances: FloatArray | None,
    ) -> None:
        """Rounds ``here``: the places of their logged items among candidates, and these numbers."""
        self.target[here] = shares[place]
        self.predicted[here], self.value[here] = q[place], shares @ q
        if self.support is not None and chances is not None:
            self.support.fill(here, shares, chances)

    def mean_weight(self, log: Log) -> Estimate:
        """The average of target / propensity: 1, if propensities and candidates are right."""
        return estimators.ips(np.ones_like(self.target), log.propensity, self.target)


def outlooks_of(
    log: Log, targets: Sequence[Target], settings: Settings, advance: Advance
) -> dict[str, Outlook]:
    """What each target would do on every round, under beliefs that have not seen the round."""
    outlooks = {target.name: Outlook.empty(log) for target in targets}
    streams = {target.name: settings.stream(target.name) for target in targets}
    for held_out, belief in _beliefs(log, targets, settings):
        for situation, here in log.by_situation(held_out):
            rows = log.rows(situation)
            q = belief.predict(rows)
            place = np.searchsorted(log.candidates(situation), log.action[here])
            chances = None if log.chances is None else log.chances[situation]
            for target in targets:
                if target.item is None:
                    rng = streams[target.name]
                    shares = target.policy.shares(belief, rows, rng, settings.draws)
                else:
                    shares = log.is_item(situation, target.item)
                outlooks[target.name].fill(here, place, shares, q, chances)
            advance(here.size)
    return outlooks


def prior_of(log: Log, settings: Settings) -> Gaussian:
    """Vague about the intercept: click rates may be anything; the features change them less."""
    variances = np.full(log.rows(0).shape[1], settings.prior_variance)
    variances[0] = INTERCEPT_VARIANCE
    return Gaussian(np.zeros(variances.size), np.diag(variances))


def _beliefs(
    log: Log, targets: Sequence[Target], settings: Settings
) -> Iterator[tuple[Places, Gaussian]]:
    """Cross-fitted beliefs, or the prior for all rounds where none is asked for."""
    prior = prior_of(log, settings)
    if any(target.needs_belief for target in targets) or MODELLED & set(settings.estimators):
        rng = settings.stream("folds")
        X, y = log.logged_rows(), log.reward
        return estimators.cross_fit(prior, X, y, folds=settings.folds, rng=rng)
    return iter([(np.arange(log.reward.size), prior)])
