"""What policies would do on each round of a log, and what a model unaware of it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fabcost.bandit import evaluate
from fabcost.bandit.evaluate import Estimate
from fabcost.experiments.evaluation.log import Log
from fabcost.experiments.evaluation.settings import MODELLED, Settings, Target
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray

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
    """

    target: FloatArray
    predicted: FloatArray
    value: FloatArray

    def mean_weight(self, log: Log) -> Estimate:
        """The average of target / propensity: 1, if propensities and candidates are right."""
        return evaluate.ips(np.ones_like(self.target), log.propensity, self.target)


def outlooks_of(
    log: Log, targets: Sequence[Target], settings: Settings, advance: Advance
) -> dict[str, Outlook]:
    """What each target would do on every round, under beliefs that have not seen the round."""
    empty = np.zeros((3, log.reward.size))
    outlooks = {target.name: Outlook(*empty.copy()) for target in targets}
    streams = {target.name: settings.stream(target.name) for target in targets}
    for held_out, belief in _beliefs(log, targets, settings):
        for situation in np.unique(log.situation[held_out]):
            here = held_out[log.situation[held_out] == situation]
            rows, candidates = log.rows(situation), log.candidates(situation)
            q = belief.predict(rows)
            place = np.searchsorted(candidates, log.action[here])
            for target in targets:
                rng = streams[target.name]
                shares = _shares(log, target, belief, rows, candidates, rng, settings)
                outlook = outlooks[target.name]
                outlook.target[here] = shares[place]
                outlook.predicted[here], outlook.value[here] = q[place], shares @ q
            advance(here.size)
    return outlooks


def prior_of(log: Log, settings: Settings) -> Gaussian:
    """Vague about the intercept: click rates may be anything; the features change them less."""
    variances = np.full(log.rows(0).shape[1], settings.prior_variance)
    variances[0] = INTERCEPT_VARIANCE
    return Gaussian(np.zeros(variances.size), np.diag(variances))


def _beliefs(
    log: Log, targets: Sequence[Target], settings: Settings
) -> Iterator[tuple[npt.NDArray[np.intp], Gaussian]]:
    """Cross-fitted beliefs, or the prior for all rounds where none is asked for."""
    prior = prior_of(log, settings)
    if any(target.needs_belief for target in targets) or MODELLED & set(settings.estimators):
        rng = settings.stream("folds")
        X, y = log.logged_rows(), log.reward
        return evaluate.cross_fit(prior, X, y, folds=settings.folds, rng=rng)
    return iter([(np.arange(log.reward.size), prior)])


def _shares(
    log: Log,
    target: Target,
    belief: Gaussian,
    rows: FloatArray,
    candidates: npt.NDArray[np.intp],
    rng: np.random.Generator,
    settings: Settings,
) -> FloatArray:
    if target.item is None:
        return target.policy.shares(belief, rows, rng, settings.draws)
    return np.asarray(candidates == log.catalogue.ids.index(target.item), dtype=np.float64)
