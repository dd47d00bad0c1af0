"""Policies evaluated on a log that another policy wrote."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fabcost.bandit.bandit import Bandit
from fabcost.bandit.rows import OwnRows, Rows
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Tally
from fabcost.inference.online import FabCost
from fabcost.inference.own.effects import OwnEffects
from fabcost.offline import estimators
from fabcost.offline.estimators import Estimate, LoggedRound
from fabcost.offline.evaluate.settings import MODELLED, EvaluationSettings, Target
from fabcost.offline.folds import cross_fits
from fabcost.offline.logs.rounds import Log, Places, groups_of
from fabcost.prior import Group
from fabcost.recommend.alarms import Alarm, Watch, in_order

# Honest weights average 1 within this many standard errors: 6 in 100,000 policies would not.
_WEIGHT_ALARM = 4.0
# What is uncovered moves ips by at most its share: less than this is not worth a warning.
_UNCOVERED = 0.001
_ROUNDING = 1e-9
#: How often the weights of a sound log are called unsound: that of four standard errors.
FALSE_ALARMS = 6e-5

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Support:
    """What the probabilities of all candidates say of a target's weights, before any was drawn.

    Examples
    --------
    >>> support = Support.empty(1)
    >>> support.fill(np.array([0]), np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.5, 0.0]))
    >>> support.share, support.largest
    (0.75, array([1.]))
    """

    # Each round: the target's probability of candidates that had a chance, the weight's mean.
    covered: FloatArray
    variance: FloatArray  # of the round's weight
    largest: FloatArray  # likewise
    decided: FloatArray  # that of all candidates: 0 where the only item it takes is none

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
    """A target on every round: its probability of the logged item, and what the model predicts."""

    target: FloatArray  # probability of the logged item
    predicted: FloatArray  # the model's prediction for the logged item
    value: FloatArray  # its mean under the target
    support: Support | None = None  # where the log has the probabilities of all candidates

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


@dataclass(frozen=True)
class Finding:
    """One estimate of one policy."""

    policy: str
    estimator: str
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was found on a log, and how."""

    log: Log
    settings: EvaluationSettings
    findings: list[Finding] = field(default_factory=list)
    mean_weights: dict[str, Estimate] = field(default_factory=dict)
    supports: dict[str, Support | None] = field(default_factory=dict)

    def click_rate(self) -> Estimate:
        """The logging policy's own mean reward."""
        even = np.ones_like(self.log.reward)
        return estimators.ips(self.log.reward, even, even, level=self.settings.level)

    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong with the data."""
        watch, rounds = Watch(), self.log.reward.size
        watch.counted(rounds, float(self.log.reward.sum()))
        watch.decisions = rounds
        watch.alike = 0 if own_variance(self.log, self.settings) else self.log.alike()
        return in_order([*self.log.alarms, *watch.of_outcomes()])

    def warnings(self) -> Iterator[str]:
        """What makes estimates doubtful."""
        for name, weight in self.mean_weights.items():
            yield from _warnings(name, weight, self.supports[name])


def evaluated(
    log: Log,
    targets: Sequence[Target],
    settings: EvaluationSettings,
    advance: Advance = lambda _: None,
) -> Evaluation:
    """Every target by every estimator; a target that learns by replay only."""
    _check_items(log, targets)
    result = Evaluation(log, settings)
    fixed = [target for target in targets if not target.learns]
    outlooks = outlooks_of(log, fixed, settings, advance)
    for target in targets:
        try:
            if target.learns:
                found = {"replay": _learning(log, target, settings, advance)}
            else:
                outlook = outlooks[target.name]
                result.mean_weights[target.name] = outlook.mean_weight(log)
                result.supports[target.name] = outlook.support
                found = _estimates(log, target.name, outlook, settings)
        except ValueError as error:
            raise ValueError(f"policy {target.name}: {error}") from error
        result.findings.extend(Finding(target.name, *each) for each in found.items())
    return result


def _estimates(
    log: Log, name: str, outlook: Outlook, settings: EvaluationSettings
) -> dict[str, Estimate]:
    logged = (log.reward, log.propensity, outlook.target)
    model = (outlook.predicted, outlook.value)
    level, clip, least = settings.level, settings.clip, settings.least_propensity
    ways: dict[str, Callable[[], Estimate]] = {
        "replay": lambda: estimators.rejection(
            *logged,
            rng=settings.stream(f"accept {name}"),
            largest_weight=None if least is None else 1.0 / least,
            level=level,
        ),
        "ips": lambda: estimators.ips(*logged, clip=clip, level=level),
        "snips": lambda: estimators.snips(*logged, clip=clip, level=level),
        "dm": lambda: estimators.direct(outlook.value, level=level),
        "dr": lambda: estimators.doubly_robust(*logged, *model, clip=clip, level=level),
        "sndr": lambda: estimators.doubly_robust(
            *logged, *model, normalised=True, clip=clip, level=level
        ),
    }
    return {estimator: ways[estimator]() for estimator in settings.estimators}


def _learning(log: Log, target: Target, settings: EvaluationSettings, advance: Advance) -> Estimate:
    learner = FabCost(prior_of(log, settings), own_variance=own_variance(log, settings))
    bandit = Bandit(learner, policy=target.policy, seed=settings.stream(target.name))
    return estimators.learning_replay(
        bandit,
        _rounds(log, advance),
        least_propensity=settings.least_propensity or float(log.propensity.min()),
        rng=settings.stream(f"accept {target.name}"),
        level=settings.level,
    )


def _rounds(log: Log, advance: Advance) -> Iterator[LoggedRound]:
    weight = np.ones_like(log.reward) if log.weight is None else log.weight
    for situation, item, *numbers in zip(
        log.situation, log.action, log.reward, log.propensity, weight, strict=True
    ):
        place = int(np.searchsorted(log.offered[situation], item))
        rows, names = log.rows(situation), log.names(situation)
        reward, propensity, much = map(float, numbers)
        yield LoggedRound(rows, place, reward, propensity, names, much)
        advance(1)


def _check_items(log: Log, targets: Sequence[Target]) -> None:
    for target in targets:
        if target.item is not None and target.item not in log.items.ids:
            raise ValueError(f"policy {target.name}: there is no item {target.item!r}")


def _warnings(name: str, weight: Estimate, support: Support | None) -> Iterator[str]:
    """Complaints about the policy ``name``, whose weights average ``weight``."""
    expected = 1.0 if support is None else support.share
    leeway = _WEIGHT_ALARM * weight.standard_error if support is None else support.leeway()
    if abs(weight.value - expected) > leeway + _ROUNDING:
        yield (
            f"the weights of {name} average {weight.value:.3g} instead of {expected:.3g}: the "
            "propensities or the candidates do not fit this log"
        )
    if support is not None:
        yield from _uncovered(name, support)


def _uncovered(name: str, support: Support) -> Iterator[str]:
    decided = float(support.decided.mean())
    if 1.0 - decided > _UNCOVERED:
        yield (
            f"{name} has no candidate in {1.0 - decided:.1%} of the rounds: only snips and replay, "
            "which are of the others, mean anything"
        )
    if decided - support.share > _UNCOVERED:
        yield (
            f"{decided - support.share:.1%} of what {name} would choose had no chance in this log: "
            "ips counts it as no reward, snips and replay leave it out, dr and dm take the model's "
            "word for it; a floor above 0 gives every candidate a chance"
        )


def outlooks_of(
    log: Log, targets: Sequence[Target], settings: EvaluationSettings, advance: Advance
) -> dict[str, Outlook]:
    """What each target would do on every round, under beliefs that have not seen the round."""
    outlooks = {target.name: Outlook.empty(log) for target in targets}
    streams = {target.name: settings.stream(target.name) for target in targets}
    for held_out, belief, own in _beliefs(log, targets, settings):
        for situation, here in log.by_situation(held_out):
            rows: Rows = log.rows(situation)
            if own is None:
                q = belief.predict(rows)
            else:
                q = own.predict(belief, log.rows(situation), log.names(situation))
                rows = OwnRows(rows, own, log.names(situation))
            place = np.searchsorted(log.offered[situation], log.action[here])
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


def own_variance(log: Log, settings: EvaluationSettings) -> float:
    """Of the effects that items have beside their features; 0 where their ids are the features."""
    return 0.0 if log.items.by_id else settings.prior.items


def _outcomes(reward: FloatArray) -> FloatArray | Tally:
    """What a model learns of rewards: clicks, or fractions of one."""
    is_click = ((reward == 0.0) | (reward == 1.0)).all()
    return reward if is_click else Tally(reward, 1.0)


def _beliefs(
    log: Log, targets: Sequence[Target], settings: EvaluationSettings
) -> Iterator[tuple[Places, Gaussian, OwnEffects | None]]:
    """Cross-fitted beliefs, or the prior for all rounds where none is asked for."""
    prior = prior_of(log, settings)
    if any(target.needs_belief for target in targets) or MODELLED & set(settings.estimators):
        for held_out, fitted in cross_fits(
            prior,
            log.logged_rows(),
            _outcomes(log.reward),
            folds=settings.folds,
            rng=settings.stream("folds"),
            items=[log.items.ids[each] for each in log.action],
            own_variance=own_variance(log, settings),
            weight=log.weight,
            group=log.grouped,
        ):
            yield held_out, fitted.posterior, fitted.own
    else:
        yield np.arange(log.reward.size), prior, None
