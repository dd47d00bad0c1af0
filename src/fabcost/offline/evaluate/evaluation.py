"""Policies evaluated on a log that another policy wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fabcost.bandit.bandit import Bandit
from fabcost.inference.online import FabCost
from fabcost.offline import estimators
from fabcost.offline.estimators import Estimate, LoggedRound
from fabcost.offline.evaluate.outlook import Advance, Outlook, Support, outlooks_of, prior_of
from fabcost.offline.evaluate.settings import EvaluationSettings, Target
from fabcost.offline.logs.rounds import Log

# Honest weights average 1 within this many standard errors: 6 in 100,000 policies would not.
_WEIGHT_ALARM = 4.0
# What is uncovered moves ips by at most its share: less than this is not worth a warning.
_UNCOVERED = 0.001
_ROUNDING = 1e-9


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
    bandit = Bandit(
        FabCost(prior_of(log, settings)), policy=target.policy, seed=settings.stream(target.name)
    )
    return estimators.learning_replay(
        bandit,
        _rounds(log, advance),
        least_propensity=settings.least_propensity or float(log.propensity.min()),
        rng=settings.stream(f"accept {target.name}"),
        level=settings.level,
    )


def _rounds(log: Log, advance: Advance) -> Iterator[LoggedRound]:
    for situation, item, reward, propensity in zip(
        log.situation, log.action, log.reward, log.propensity, strict=True
    ):
        place = int(np.searchsorted(log.candidates(situation), item))
        yield LoggedRound(log.rows(situation), place, float(reward), float(propensity))
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
