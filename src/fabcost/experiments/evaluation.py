"""Policies evaluated on a log that another policy wrote."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fabcost.bandit import evaluate
from fabcost.bandit.bandit import Bandit
from fabcost.bandit.evaluate import Estimate, LoggedRound
from fabcost.bandit.policy import BayesianUCB, EpsilonGreedy, Greedy, Policy, Thompson, Uniform
from fabcost.experiments.evaluation_figure import draw_evaluation
from fabcost.experiments.logs import Log
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.fabcost import FabCost

ESTIMATORS = ("replay", "ips", "snips", "dm", "dr", "sndr")
MODELLED = frozenset({"dm", "dr", "sndr"})
POLICIES: dict[str, Callable[..., Policy]] = {
    "uniform": Uniform,
    "greedy": Greedy,
    "epsilon-greedy": EpsilonGreedy,
    "thompson": Thompson,
    "ucb": BayesianUCB,
}
INTERCEPT_VARIANCE = 100.0
_LEARNING = "learning-"
_ALWAYS = "always:"
# Honest weights average 1 within this many standard errors: 6 in 100,000 policies would not.
_WEIGHT_ALARM = 4.0

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Settings:
    """How policies are evaluated.

    Attributes
    ----------
    estimators
        Of `ESTIMATORS`.
    clip, level
        Largest weight, and confidence of the intervals.
    folds, prior_variance
        Of the cross-fitted reward model: nothing is predicted by a model that has seen it.
    draws
        Weights drawn for the probabilities of a Thompson policy.
    seed
        Of folds, draws and acceptance; what a policy gets does not depend on the others.
    """

    estimators: tuple[str, ...] = ("replay", "ips", "snips", "dm", "dr")
    clip: float = math.inf
    level: float = evaluate.LEVEL
    folds: int = 5
    prior_variance: float = 1.0
    draws: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.estimators:
            if name not in ESTIMATORS:
                raise ValueError(f"estimator is {name!r} but must be one of {ESTIMATORS}")
        if not self.draws >= 1:
            raise ValueError(f"draws is {self.draws} but must be at least 1")


@dataclass(frozen=True)
class Target:
    """A policy to evaluate: over a belief, or always one item, or learning as it goes."""

    name: str
    policy: Policy
    item: str | None = None
    learns: bool = False

    @classmethod
    def parse(cls, name: str) -> Target:
        """The policy of ``name``: uniform, always:ID, thompson:0.5, learning-thompson, ….

        Examples
        --------
        >>> Target.parse("learning-thompson:0.5").policy
        Thompson(scale=0.5)
        """
        if name.startswith(_ALWAYS):
            return cls(name, Uniform(), item=name.removeprefix(_ALWAYS))
        kind, _, argument = name.removeprefix(_LEARNING).partition(":")
        if kind not in POLICIES:
            known = ", ".join([*POLICIES, _ALWAYS + "ITEM"])
            raise ValueError(f"policy is {name!r} but must be one of {known}, or {_LEARNING}…")
        try:
            policy = POLICIES[kind](float(argument)) if argument else POLICIES[kind]()
        except (TypeError, ValueError) as error:
            raise ValueError(f"policy {name!r}: {argument!r} does not suit {kind}") from error
        return cls(name, policy, learns=name.startswith(_LEARNING))

    @property
    def needs_belief(self) -> bool:
        """Whether its choices depend on what was learnt."""
        return self.item is None and not isinstance(self.policy, Uniform)


@dataclass(frozen=True)
class Finding:
    """One estimate of one policy."""

    policy: str
    estimator: str
    estimate: Estimate


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


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was found on a log, and how."""

    log: Log
    settings: Settings
    findings: list[Finding] = field(default_factory=list)
    mean_weights: dict[str, Estimate] = field(default_factory=dict)

    def click_rate(self) -> Estimate:
        """The logging policy's own mean reward."""
        even = np.ones_like(self.log.reward)
        return evaluate.ips(self.log.reward, even, even, level=self.settings.level)

    def warnings(self) -> Iterator[str]:
        """Policies whose weights do not average 1."""
        for name, weight in self.mean_weights.items():
            if abs(weight.value - 1.0) > _WEIGHT_ALARM * weight.standard_error + 1e-9:
                yield (
                    f"the weights of {name} average {weight.value:.3g} instead of 1: the "
                    "propensities or the candidates do not fit this log"
                )


def run(
    log: Log,
    policies: Sequence[str],
    settings: Settings,
    *,
    out: Path,
    console: Console,
    origin: dict[str, Any] | None = None,
) -> Evaluation:
    """Evaluate, print the table, and write evaluation.json and evaluation.png to ``out``."""
    targets = [Target.parse(name) for name in dict.fromkeys(policies)]
    learners = sum(target.learns for target in targets)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("rounds", total=log.reward.size * (1 + learners))
        found = evaluated(log, targets, settings, lambda many: progress.advance(task, many))
    console.print(table(found))
    for warning in found.warnings():
        console.print(f"Warning: {warning}")
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(summary(found, origin or {}), indent=2, allow_nan=False)
    (out / "evaluation.json").write_text(text + "\n", encoding="utf-8")
    named = {(f.policy, f.estimator): f.estimate for f in found.findings}
    draw_evaluation(named, found.click_rate(), out / "evaluation.png")
    console.print(f"Written: {out / 'evaluation.json'}, {out / 'evaluation.png'}")
    return found


def evaluated(
    log: Log, targets: Sequence[Target], settings: Settings, advance: Advance = lambda _: None
) -> Evaluation:
    """Every target by every estimator; a target that learns by replay only."""
    _check_items(log, targets)
    result = Evaluation(log, settings)
    fixed = [target for target in targets if not target.learns]
    outlooks = _outlooks(log, fixed, settings, advance)
    for target in targets:
        try:
            if target.learns:
                found = {"replay": _learning(log, target, settings, advance)}
            else:
                result.mean_weights[target.name] = outlooks[target.name].mean_weight(log)
                found = _estimates(log, target.name, outlooks[target.name], settings)
        except ValueError as error:
            raise ValueError(f"policy {target.name}: {error}") from error
        result.findings.extend(Finding(target.name, *each) for each in found.items())
    return result


def table(found: Evaluation) -> Table:
    """The findings, for the terminal."""
    log = found.log
    skipped = f", bad rows skipped: {log.skipped.total():,}" if log.skipped else ""
    shown = Table(
        title=f"{log.reward.size:,} rounds, {log.reward.sum():,.0f} rewards{skipped}",
        caption=f"Mean reward of the log itself: {found.click_rate().value:.4g}. Low and high: "
        f"{found.settings.level:.0%} interval; that of dm leaves out the model's error.",
    )
    for column in ("policy", "estimator", "value", "low", "high", "effective", "used"):
        shown.add_column(column, justify="left" if column in ("policy", "estimator") else "right")
    for each in found.findings:
        e = each.estimate
        figures = (f"{value:.4f}" for value in (e.value, e.low, e.high))
        shown.add_row(
            each.policy, each.estimator, *figures, f"{e.effective_size:,.0f}", f"{e.used:,}"
        )
    return shown


def summary(found: Evaluation, origin: dict[str, Any]) -> dict[str, Any]:
    """The findings with all settings, as plain JSON values; what is not finite is null."""
    log = found.log
    return {
        "log": origin,
        "settings": _plain(asdict(found.settings)),
        "rounds": log.reward.size,
        "rewards": int(log.reward.sum()),
        "items": len(log.catalogue.ids),
        "features": log.rows(0).shape[1],
        "skipped": dict(log.skipped),
        "click_rate": _plain(asdict(found.click_rate())),
        "mean_weights": {name: _plain(asdict(w)) for name, w in found.mean_weights.items()},
        "estimates": [
            {"policy": each.policy, "estimator": each.estimator, **_plain(asdict(each.estimate))}
            for each in found.findings
        ],
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    finite = {k: not isinstance(v, float) or math.isfinite(v) for k, v in values.items()}
    return {name: value if finite[name] else None for name, value in values.items()}


def _outlooks(
    log: Log, targets: Sequence[Target], settings: Settings, advance: Advance
) -> dict[str, Outlook]:
    """What each target would do on every round, under beliefs that have not seen the round."""
    empty = np.zeros((3, log.reward.size))
    outlooks = {target.name: Outlook(*empty.copy()) for target in targets}
    streams = {target.name: _stream(settings, target.name) for target in targets}
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


def _beliefs(
    log: Log, targets: Sequence[Target], settings: Settings
) -> Iterator[tuple[npt.NDArray[np.intp], Gaussian]]:
    """Cross-fitted beliefs, or the prior for all rounds where none is asked for."""
    prior = _prior(log, settings)
    if any(target.needs_belief for target in targets) or MODELLED & set(settings.estimators):
        rng = _stream(settings, "folds")
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


def _estimates(log: Log, name: str, outlook: Outlook, settings: Settings) -> dict[str, Estimate]:
    logged = (log.reward, log.propensity, outlook.target)
    model = (outlook.predicted, outlook.value)
    level, clip = settings.level, settings.clip
    ways: dict[str, Callable[[], Estimate]] = {
        "replay": lambda: evaluate.rejection(
            *logged, rng=_stream(settings, f"accept {name}"), level=level
        ),
        "ips": lambda: evaluate.ips(*logged, clip=clip, level=level),
        "snips": lambda: evaluate.snips(*logged, clip=clip, level=level),
        "dm": lambda: evaluate.direct(outlook.value, level=level),
        "dr": lambda: evaluate.doubly_robust(*logged, *model, clip=clip, level=level),
        "sndr": lambda: evaluate.doubly_robust(
            *logged, *model, normalised=True, clip=clip, level=level
        ),
    }
    return {estimator: ways[estimator]() for estimator in settings.estimators}


def _learning(log: Log, target: Target, settings: Settings, advance: Advance) -> Estimate:
    bandit = Bandit(
        FabCost(_prior(log, settings)), policy=target.policy, seed=_stream(settings, target.name)
    )
    return evaluate.learning_replay(
        bandit,
        _rounds(log, advance),
        least_propensity=float(log.propensity.min()),
        rng=_stream(settings, f"accept {target.name}"),
        level=settings.level,
    )


def _rounds(log: Log, advance: Advance) -> Iterator[LoggedRound]:
    for situation, item, reward, propensity in zip(
        log.situation, log.action, log.reward, log.propensity, strict=True
    ):
        place = int(np.searchsorted(log.candidates(situation), item))
        yield LoggedRound(log.rows(situation), place, float(reward), float(propensity))
        advance(1)


def _prior(log: Log, settings: Settings) -> Gaussian:
    """Vague about the intercept: click rates may be anything; the features change them less."""
    variances = np.full(log.rows(0).shape[1], settings.prior_variance)
    variances[0] = INTERCEPT_VARIANCE
    return Gaussian(np.zeros(variances.size), np.diag(variances))


def _stream(settings: Settings, name: str) -> np.random.Generator:
    return np.random.default_rng([settings.seed, zlib.crc32(name.encode())])


def _check_items(log: Log, targets: Sequence[Target]) -> None:
    for target in targets:
        if target.item is not None and target.item not in log.catalogue.ids:
            raise ValueError(f"policy {target.name}: there is no item {target.item!r}")
