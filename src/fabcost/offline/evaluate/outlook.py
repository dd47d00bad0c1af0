"""Policies to evaluate: what each would do on every round of a log, and what a model predicts."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fabcost.bandit.rows import OwnRows, Rows
from fabcost.bandit.rules import SPELT, Policy, Uniform, rule_of
from fabcost.bandit.values import ValuedRows
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray, Tally
from fabcost.inference.own.effects import OwnEffects
from fabcost.offline.estimators import LEVEL
from fabcost.offline.evaluate.support import Support
from fabcost.offline.folds import cross_fits
from fabcost.offline.intervals import are_clicks
from fabcost.offline.logs.rounds import Log, Places, groups_of
from fabcost.offline.terms import weighted
from fabcost.prior import Group, Prior

ESTIMATORS = ("replay", "ips", "snips", "dm", "dr", "sndr", "shrunk")
DEFAULT_ESTIMATORS = ("replay", "ips", "snips", "dm", "dr", "shrunk")
MODELLED = frozenset({"dm", "dr", "sndr", "shrunk"})
_LEARNING = "learning-"
_ALWAYS = "always:"


@dataclass(frozen=True)
class EvaluationSettings:
    """How policies are evaluated."""

    estimators: tuple[str, ...] = DEFAULT_ESTIMATORS  # of `ESTIMATORS`
    clip: float = math.inf  # largest weight
    level: float = LEVEL  # confidence of the intervals
    # Of the cross-fitted reward model: nothing is predicted by a model that has seen it.
    folds: int = 5
    prior: Prior = Prior()  # noqa: RUF009 - a frozen value
    draws: int = 256  # weights drawn for the probabilities of a policy that draws
    # Of folds, draws and acceptance; what a policy gets does not depend on the others.
    seed: int = 0
    # That logging can give, if known: then ``replay`` is unbiased. Else it is that of the log.
    least_propensity: float | None = None

    def __post_init__(self) -> None:
        for name in self.estimators:
            if name not in ESTIMATORS:
                raise ValueError(f"estimator is {name!r} but must be one of {ESTIMATORS}")
        if not self.draws >= 1:
            raise ValueError(f"draws is {self.draws} but must be at least 1")
        if self.least_propensity is not None and not 0.0 < self.least_propensity <= 1.0:
            raise ValueError(
                f"least_propensity is {self.least_propensity} but must be above 0 and at most 1"
            )

    def stream(self, name: str) -> np.random.Generator:
        """The random numbers of ``name``, which no other name disturbs."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])


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
        kind = name.removeprefix(_LEARNING).partition(":")[0]
        if kind not in SPELT:
            known = ", ".join([*SPELT, _ALWAYS + "ITEM"])
            raise ValueError(f"policy is {name!r} but must be one of {known}, or {_LEARNING}…")
        try:
            policy = rule_of(name.removeprefix(_LEARNING))
        except ValueError as error:
            raise ValueError(f"policy {name!r}: {error}") from error
        return cls(name, policy, learns=name.startswith(_LEARNING))

    @property
    def needs_belief(self) -> bool:
        """Whether its choices depend on what was learnt."""
        return self.item is None and not isinstance(self.policy, Uniform)


Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says of every round: for the logged item, and on average under the target."""

    logged: FloatArray
    value: FloatArray

    @classmethod
    def empty(cls, rounds: int) -> Prediction:
        """To be filled."""
        return cls(*np.zeros((2, rounds)))

    def fill(self, here: Places, place: Places, shares: FloatArray, q: FloatArray) -> None:
        """Rounds ``here`` have these predictions for their candidates."""
        self.logged[here], self.value[here] = q[place], shares @ q


@dataclass(frozen=True, eq=False)
class Outlook:
    """A target on every round: its probability of the logged item, and what the model predicts."""

    target: FloatArray  # probability of the logged item
    clicks: Prediction
    income: Prediction | None = None  # where the log has values or costs
    support: Support | None = None  # where the log has the probabilities of all candidates

    @classmethod
    def empty(cls, log: Log) -> Outlook:
        """To be filled."""
        rounds = log.reward.size
        income = None if log.amounts is None else Prediction.empty(rounds)
        support = None if log.chances is None else Support.empty(rounds)
        return cls(np.zeros(rounds), Prediction.empty(rounds), income, support)

    def weights(self, log: Log) -> FloatArray:
        """Target / propensity of each round: 1 on average, if these and candidates are right."""
        return weighted(log.reward, log.propensity, self.target)[1]


def outlooks_of(
    log: Log, targets: Sequence[Target], settings: EvaluationSettings, advance: Advance
) -> dict[str, Outlook]:
    """What each target would do on every round, under beliefs that have not seen the round."""
    outlooks = {target.name: Outlook.empty(log) for target in targets}
    streams = {target.name: settings.stream(target.name) for target in targets}
    for held_out, belief, own in _beliefs(log, targets, settings):
        for situation, here in log.by_situation(held_out):
            scene = _Scene.of(log, situation, here, belief, own)
            for target in targets:
                if target.item is None:
                    rng = streams[target.name]
                    shares = target.policy.shares(belief, scene.rows, rng, settings.draws)
                else:
                    shares = log.is_item(situation, target.item)
                scene.fill(outlooks[target.name], shares)
            advance(here.size)
    return outlooks


@dataclass(frozen=True, eq=False)
class _Scene:
    """Rounds of one situation, and what a belief says of its candidates."""

    here: Places
    place: Places  # of each round's logged item among the candidates
    rows: Rows
    q: FloatArray
    income: FloatArray | None
    chances: FloatArray | None

    @classmethod
    def of(
        cls, log: Log, situation: int, here: Places, belief: Gaussian, own: OwnEffects | None
    ) -> _Scene:
        rows: Rows = log.rows(situation)
        if own is None:
            q = belief.predict(rows)
        else:
            q = own.predict(belief, log.rows(situation), log.names(situation))
            rows = OwnRows(rows, own, log.names(situation))
        income = None
        if log.amounts is not None:
            values, costs = log.amounts.of(log.offered[situation])
            rows, income = ValuedRows(rows, values, costs), values * q - costs
        place = np.searchsorted(log.offered[situation], log.action[here])
        return cls(
            here, place, rows, q, income, None if log.chances is None else log.chances[situation]
        )

    def fill(self, outlook: Outlook, shares: FloatArray) -> None:
        """Of a target that has these probabilities."""
        outlook.target[self.here] = shares[self.place]
        outlook.clicks.fill(self.here, self.place, shares, self.q)
        if outlook.income is not None and self.income is not None:
            outlook.income.fill(self.here, self.place, shares, self.income)
        if outlook.support is not None and self.chances is not None:
            outlook.support.fill(self.here, shares, self.chances)


def prior_of(log: Log, settings: EvaluationSettings) -> Gaussian:
    """The belief about the weights of `Log.rows`: constant, context, item, products."""
    groups: list[Group] = ["constant", *groups_of(log.contexts), *groups_of(log.items.features)]
    crosses: list[Group] = ["crosses"] * (log.rows(0).shape[1] - len(groups))
    return settings.prior.belief(groups + crosses)


def own_variance(log: Log, settings: EvaluationSettings) -> float:
    """Of the effects that items have beside their features; 0 where their ids are the features."""
    return 0.0 if log.items.by_id else settings.prior.items


def _beliefs(
    log: Log, targets: Sequence[Target], settings: EvaluationSettings
) -> Iterator[tuple[Places, Gaussian, OwnEffects | None]]:
    """Cross-fitted beliefs, or the prior for all rounds where none is asked for."""
    prior = prior_of(log, settings)
    if any(target.needs_belief for target in targets) or MODELLED & set(settings.estimators):
        for held_out, fitted in cross_fits(
            prior,
            log.logged_rows(),
            log.reward if are_clicks(log.reward) else Tally(log.reward, 1.0),
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
