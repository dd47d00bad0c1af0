"""Policies evaluated on a log that another policy wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fabcost.bandit.bandit import Bandit
from fabcost.impressions import FloatArray
from fabcost.inference.online import FabCost
from fabcost.offline import estimators
from fabcost.offline.estimators import Estimate
from fabcost.offline.evaluate.outlook import (
    Advance,
    EvaluationSettings,
    Outlook,
    Prediction,
    Target,
    outlooks_of,
    own_variance,
    prior_of,
)
from fabcost.offline.evaluate.support import SMALL, Advice, Reach, advised
from fabcost.offline.intervals import Verdict, mean, sample_mean, verdict_of
from fabcost.offline.logs.rounds import Log
from fabcost.offline.terms import (
    BoolArray,
    LoggedRound,
    RoundTerms,
    accepted,
    agreed,
    direct_terms,
    ips_terms,
    robust_terms,
    shrunk_terms,
    snips_terms,
)
from fabcost.recommend.alarms import Alarm, Watch, in_order


@dataclass(frozen=True)
class Finding:
    """One estimate of one policy."""

    policy: str
    estimator: str
    estimate: Estimate
    difference: Estimate  # to what the logging policy had in the same rounds


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was found on a log, and how."""

    log: Log
    settings: EvaluationSettings
    findings: list[Finding] = field(default_factory=list)
    incomes: list[Finding] = field(default_factory=list)  # where the log has values or costs
    reaches: dict[str, Reach] = field(default_factory=dict)  # of policies that do not learn
    advice: dict[str, Advice] = field(default_factory=dict)  # which estimator to read

    def click_rate(self) -> Estimate:
        """The logging policy's own mean reward."""
        even = np.ones_like(self.log.reward)
        return estimators.ips(self.log.reward, even, even, level=self.settings.level)

    def income(self) -> Estimate | None:
        """The logging policy's own mean income."""
        if self.log.amounts is None:
            return None
        every = ips_terms(np.ones_like(self.log.reward))
        return every.of_clicks(*self.log.amounts.logged).estimate(
            self.log.reward, self.settings.level
        )

    def read(self, findings: Sequence[Finding]) -> Iterator[tuple[Finding, Verdict]]:
        """The finding to read of each policy that has one, and what it says."""
        for each in filter(self.is_read, findings):
            yield each, self.verdict(each)

    def is_read(self, finding: Finding) -> bool:
        """Whether a finding is the one to read of its policy."""
        return self.advice[finding.policy].estimator == finding.estimator

    def verdict(self, finding: Finding) -> Verdict:
        """What the difference of a finding says."""
        d, reach = finding.difference, self.reaches.get(finding.policy)
        if reach is not None and reach.is_same:
            return Verdict("the same")
        many = self.log.reward.size
        return verdict_of(d.value, d.low, d.high, level=d.level, many=many)

    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong with the data."""
        watch, rounds = Watch(), self.log.reward.size
        watch.counted(rounds, float(self.log.reward.sum()))
        watch.decisions = rounds
        watch.alike = 0 if own_variance(self.log, self.settings) else self.log.alike()
        return in_order([*self.log.alarms, *watch.of_outcomes()])

    def warnings(self) -> Iterator[str]:
        """What makes estimates doubtful."""
        for name, reach in self.reaches.items():
            yield from reach.warnings(name)
        for each in self.findings:
            if each.policy not in self.reaches and each.estimate.used < SMALL:
                yield f"{each.policy} agreed with this log in only {each.estimate.used} rounds"


def evaluated(
    log: Log,
    targets: Sequence[Target],
    settings: EvaluationSettings,
    advance: Advance = lambda _: None,
) -> Evaluation:
    """Every target by every estimator; a target that learns by replay only."""
    for target in targets:
        if target.item is not None and target.item not in log.items.ids:
            raise ValueError(f"policy {target.name}: there is no item {target.item!r}")
    result = Evaluation(log, settings)
    fixed = [target for target in targets if not target.learns]
    outlooks = outlooks_of(log, fixed, settings, advance)
    for target in targets:
        try:
            if target.learns:
                _add_learning(result, target, advance)
            else:
                _add_fixed(result, target.name, outlooks[target.name])
        except ValueError as error:
            raise ValueError(f"policy {target.name}: {error}") from error
    return result


def _add_learning(result: Evaluation, target: Target, advance: Advance) -> None:
    log, settings = result.log, result.settings
    learner = FabCost(prior_of(log, settings), own_variance=own_variance(log, settings))
    agreement = agreed(
        Bandit(learner, policy=target.policy, seed=settings.stream(target.name)),
        _rounds(log, advance),
        least_propensity=settings.least_propensity or float(log.propensity.min()),
        rng=settings.stream(f"accept {target.name}"),
    )
    kept = np.array([is_kept for _, is_kept in agreement], dtype=bool)
    result.advice[target.name] = advised(("replay",), None)
    for measure, findings in _measures(result, None):
        pair = measure.replayed(kept, settings.level)
        findings.append(Finding(target.name, "replay", *pair))


def _add_fixed(result: Evaluation, name: str, outlook: Outlook) -> None:
    log, settings = result.log, result.settings
    w = outlook.weights(log)
    reach = Reach(mean(w, w, settings.level), outlook.support)
    result.reaches[name] = reach
    result.advice[name] = advised(settings.estimators, reach)
    least = settings.least_propensity
    kept = None
    if "replay" in settings.estimators:
        largest = None if least is None else 1.0 / least
        kept = accepted(w, settings.stream(f"accept {name}"), largest)
    for measure, findings in _measures(result, outlook):
        for estimator in settings.estimators:
            if estimator == "replay" and kept is not None:
                pair = measure.replayed(kept, settings.level)
            else:
                terms = measure.terms(estimator, w, settings.clip)
                pair = measure.compared(terms, settings.level)
            findings.append(Finding(name, estimator, *pair))


@dataclass(frozen=True, eq=False)
class _Measure:
    """What is counted of rounds, clicks or income, and what a model says of it."""

    clicks: FloatArray
    amounts: tuple[FloatArray, FloatArray] | None  # values and costs, if it is income
    predicted: Prediction | None
    decided: FloatArray  # 0 in rounds in which the target has no candidate, else 1

    @property
    def reward(self) -> FloatArray:
        if self.amounts is None:
            return self.clicks
        value, cost = self.amounts
        return np.asarray(value * self.clicks - cost)

    def terms(self, estimator: str, w: FloatArray, clip: float) -> RoundTerms:
        """The terms of an estimator, by its name."""
        if self.predicted is None:
            raise ValueError("a policy that learns has no model of its own")
        r, q, v = self.reward, self.predicted.logged, self.predicted.value
        clipped = np.minimum(w, clip)
        ways: dict[str, Callable[[], RoundTerms]] = {
            "ips": lambda: ips_terms(clipped),
            "snips": lambda: snips_terms(r, clipped),
            "dm": lambda: direct_terms(v),
            "dr": lambda: robust_terms(r, clipped, q, v),
            "sndr": lambda: robust_terms(r, clipped, q, v, normalised=True),
            "shrunk": lambda: shrunk_terms(r, w, q, v),
        }
        return ways[estimator]()

    def compared(self, terms: RoundTerms, level: float) -> tuple[Estimate, Estimate]:
        """The estimate, and its difference to what the log has where the target can choose."""
        pair = terms, terms.beyond(snips_terms(self.reward, self.decided))
        if self.amounts is not None:
            value, difference = (each.of_clicks(*self.amounts) for each in pair)
            return value.estimate(self.clicks, level), difference.estimate(self.clicks, level)
        rate, gain = (each.estimate(self.clicks, level) for each in pair)
        # Its mean over logs is right without this, but no click rate is below 0.
        shown = replace(rate, value=min(max(rate.value, 0.0), 1.0))
        return shown.within(0.0, 1.0), gain.within(-1.0, 1.0)

    def replayed(self, kept: BoolArray, level: float) -> tuple[Estimate, Estimate]:
        """Likewise by rounds that were kept."""
        plain = sample_mean(self.reward[kept], level)
        terms = snips_terms(self.reward, kept.astype(np.float64))
        value, difference = self.compared(terms, level)
        return (plain if self.amounts is None else value), difference


def _measures(
    result: Evaluation, outlook: Outlook | None
) -> Iterator[tuple[_Measure, list[Finding]]]:
    log = result.log
    support = None if outlook is None else outlook.support
    decided = np.ones_like(log.reward) if support is None else support.decided
    clicks, income = (None, None) if outlook is None else (outlook.clicks, outlook.income)
    yield _Measure(log.reward, None, clicks, decided), result.findings
    if log.amounts is not None:
        yield _Measure(log.reward, log.amounts.logged, income, decided), result.incomes


def _rounds(log: Log, advance: Advance) -> Iterator[LoggedRound]:
    weight = np.ones_like(log.reward) if log.weight is None else log.weight
    for situation, item, *numbers in zip(
        log.situation, log.action, log.reward, log.propensity, weight, strict=True
    ):
        place = int(np.searchsorted(log.offered[situation], item))
        rows, names = log.rows(situation), log.names(situation)
        reward, propensity, much = map(float, numbers)
        worth = () if log.amounts is None else log.amounts.of(log.offered[situation])
        yield LoggedRound(rows, place, reward, propensity, names, much, *worth)
        advance(1)
