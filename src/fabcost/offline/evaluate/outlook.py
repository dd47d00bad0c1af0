"""What policies would do on each round of a log, and whether the log could have done the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.offline import estimators
from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.settings import MODELLED, EvaluationSettings, Target
from fabcost.offline.logs.encoding import groups_of
from fabcost.offline.logs.rounds import Log, Places
from fabcost.prior import Group

#: How often the weights of a sound log are called unsound: that of four standard errors.
FALSE_ALARMS = 6e-5

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Support:
    """What the probabilities of all candidates say of a target's weights, before any was drawn.

    Attributes
    ----------
    covered
        For each round the target's probability of the candidates that had a chance: the mean of
        the round's weight.
    variance, largest
        Of the round's weight.
    decided
        The target's probability of all candidates: 0 where the only item it takes is none.

    Examples
    --------
    >>> support = Support.empty(1)
    >>> support.fill(np.array([0]), np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.5, 0.0]))
    >>> support.share, support.largest
    (0.75, array([1.]))
    """

    covered: FloatArray
    variance: FloatArray
    largest: FloatArray
    decided: FloatArray

    @classmethod
    def empty(cls, rounds: int) -> Support:
        """To be filled."""
        return cls(*np.zeros((4, rounds)))

    def fill(self, here: Places, shares: FloatArray, chances: FloatArray) -> None:
        """Rounds ``here`` have these probabilities under the target and in the log."""
        reached = chances > 0
        weights = shares[reached] / chances[reached]
        covered = float(shares[reached].sum())
        self.covered[here] = covered
        self.variance[here] = max(float(weights @ shares[reached]) - covered**2, 0.0)
        self.largest[here] = weights.max()
        self.decided[here] = shares.sum()

    @property
    def share(self) -> float:
        """How much of what the target chooses the log could have chosen."""
        return float(self.covered.mean())

    def leeway(self) -> float:
        """How far the mean weight may be from `share`: Bernstein's inequality.

        Weights are skewed.  Where small probabilities are rare, neither their sample's standard
        error nor the normal distribution says how far their mean strays.
        """
        n, tail = self.covered.size, math.log(2.0 / FALSE_ALARMS)
        spread = math.sqrt(2.0 * tail * float(self.variance.sum())) / n
        return spread + tail * float(self.largest.max()) / (3.0 * n)


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
    log: Log, targets: Sequence[Target], settings: EvaluationSettings, advance: Advance
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


def prior_of(log: Log, settings: EvaluationSettings) -> Gaussian:
    """The belief about the weights of `Log.rows`: constant, context, item, products."""
    groups: list[Group] = ["constant", *groups_of(log.contexts), *groups_of(log.items.features)]
    crosses: list[Group] = ["crosses"] * (log.rows(0).shape[1] - len(groups))
    return settings.prior.belief(groups + crosses)


def _beliefs(
    log: Log, targets: Sequence[Target], settings: EvaluationSettings
) -> Iterator[tuple[Places, Gaussian]]:
    """Cross-fitted beliefs, or the prior for all rounds where none is asked for."""
    prior = prior_of(log, settings)
    if any(target.needs_belief for target in targets) or MODELLED & set(settings.estimators):
        rng = settings.stream("folds")
        X, y = log.logged_rows(), log.reward
        return estimators.cross_fit(prior, X, y, folds=settings.folds, rng=rng)
    return iter([(np.arange(log.reward.size), prior)])
