"""What a model is told when it is made, and what can be changed later."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fabcost.bandit.rules import DEFAULT, RULES, Policy
from fabcost.bandit.targeted import LONGEST_HORIZON, MOST_DRAWS, MOST_SCATTER
from fabcost.features.layout import MOST_WEIGHTS
from fabcost.inference.forgetting import LONGEST, SHORTEST, HalfLife, Unit
from fabcost.inference.schedule import Refresh
from fabcost.inference.wide.learner import Wide
from fabcost.prior import Prior

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Discount = Annotated[float, Meta(gt=0.0, le=1.0)]
Variance = Annotated[float, Meta(gt=0.0, le=1e9)]
Mode = Literal["online", "apprentice", "logging-only", "off"]
Aggregation = Literal["earliest", "sum", "average", "median", "min", "max"]
Propensities = Literal["none", "fast", "exact"]
Values = Literal["click", "fraction"]
FeatureName = Annotated[str, Meta(min_length=1, max_length=256)]
Reward = Annotated[float, Meta(ge=-1e6, le=1e6)]

#: Seconds that a decision can wait for feedback at most.
LONGEST_WAIT = 2_592_000.0
#: Joint draws of the weights behind the propensities.
DRAWS: dict[Propensities, int | None] = {"none": None, "fast": 256, "exact": 1024}


class RuleSettings(Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A rule of `fabcost.bandit.rules`, with its parameters in their order."""

    def policy(self) -> Policy:
        """The policy itself."""
        rule: Callable[..., Policy] = RULES[str(self.__struct_config__.tag)]
        return rule(*msgspec.structs.astuple(self))


class ThompsonSettings(RuleSettings, frozen=True, tag="thompson"):
    """Thompson sampling; `fabcost.bandit.rules.Thompson`."""

    scale: Annotated[float, Meta(ge=0.0, le=100.0)] = 1.0


class GreedySettings(RuleSettings, frozen=True, tag="greedy"):
    """The best by the mean; `fabcost.bandit.rules.Greedy`."""


class EpsilonGreedySettings(RuleSettings, frozen=True, tag="epsilon-greedy"):
    """`fabcost.bandit.rules.EpsilonGreedy`."""

    epsilon: Share = 0.1


class UCBSettings(RuleSettings, frozen=True, tag="ucb"):
    """`fabcost.bandit.rules.BayesianUCB`."""

    quantile: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.95


class UniformSettings(RuleSettings, frozen=True, tag="uniform"):
    """`fabcost.bandit.rules.Uniform`."""


class TSUCBSettings(RuleSettings, frozen=True, tag="ts-ucb"):
    """`fabcost.bandit.targeted.TSUCB`."""

    draws: Annotated[int, Meta(ge=1, le=MOST_DRAWS)] = 1
    log_odds: bool = False
    scatter: Annotated[float, Meta(ge=0.0, le=MOST_SCATTER)] = 0.0
    rare: Share = 0.0

    def __post_init__(self) -> None:
        self.policy()


class InformationRelaxationSettings(RuleSettings, frozen=True, tag="information-relaxation"):
    """`fabcost.bandit.targeted.InformationRelaxation`."""

    horizon: Annotated[float, Meta(gt=0.0, le=LONGEST_HORIZON)] = 5.0


class InformationDirectedSettings(RuleSettings, frozen=True, tag="information-directed"):
    """`fabcost.bandit.targeted.InformationDirected`."""

    draws: Annotated[int, Meta(ge=1, le=MOST_DRAWS)] = 64


PolicySettings = (
    ThompsonSettings
    | GreedySettings
    | EpsilonGreedySettings
    | UCBSettings
    | UniformSettings
    | TSUCBSettings
    | InformationRelaxationSettings
    | InformationDirectedSettings
)


class RefreshSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When EP refines the posterior; `fabcost.Refresh`."""

    kind: Literal["geometric", "at", "never"] = "geometric"
    growth: Annotated[float, Meta(gt=1.0, le=100.0)] = 1.1
    points: Annotated[list[Annotated[int, Meta(ge=1)]], Meta(max_length=100)] = []

    def schedule(self) -> Refresh:
        """The schedule itself."""
        if self.kind == "geometric":
            return Refresh.geometric(self.growth)
        return Refresh.never() if self.kind == "never" else Refresh.at(*self.points)


class HalfLifeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How soon a model forgets: in impressions, or in seconds by the times of its decisions."""

    length: Annotated[float, Meta(ge=SHORTEST, le=LONGEST)]
    unit: Unit = "impressions"

    def half_life(self) -> HalfLife:
        """The half-life itself."""
        return HalfLife(self.length, self.unit)


class PriorSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Variances of the weights by what they belong to, and τ² of the items' own effects.

    `fabcost.prior.Prior` has the same, and says what they mean.
    """

    constant: Variance = Prior.constant
    numbers: Variance = Prior.numbers
    categories: Variance = Prior.categories
    crosses: Variance = Prior.crosses
    items: Annotated[float, Meta(ge=0.0, le=1e9)] = Prior.items

    def prior(self) -> Prior:
        """The prior itself."""
        return Prior(*msgspec.structs.astuple(self))


class WideSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A belief over 2^bits hashed weights in place of the full one; `fabcost.Wide`.

    It filters every outcome once.  Weights have no names, items no effects of their own.
    """

    kind: Literal["wide"]
    bits: Annotated[int, Meta(ge=4, le=22)] = Wide.bits
    core: Annotated[int, Meta(ge=0, le=512)] = Wide.core
    after: Annotated[int, Meta(ge=1, le=1000)] = Wide.after
    variance: Variance = Wide.variance

    def wide(self) -> Wide:
        """The belief's name."""
        return Wide(self.bits, self.core, self.after, self.variance)


class Changeable(Struct, frozen=True, kw_only=True):
    """Settings that a running model may change.

    They hold for decisions to come. ``default_reward``, ``click_threshold`` and ``aggregation``
    are read when a decision is resolved, so they also touch decisions that are still open.
    ``value_feature`` and ``cost_feature`` name the features of items that say what a click on one
    is worth, and what showing it costs; without, and without the feature, that is 1 and 0.
    """

    policy: PolicySettings = TSUCBSettings(*dataclasses.astuple(DEFAULT))
    propensities: Propensities = "fast"
    floor: Share = 0.0
    holdback: Share = 0.0
    mode: Mode = "online"
    reward_wait_seconds: Annotated[float, Meta(ge=0.0, le=LONGEST_WAIT)] = 600.0
    default_reward: Reward = 0.0
    click_threshold: Reward = 0.0
    aggregation: Aggregation = "earliest"
    value_feature: FeatureName | None = None
    cost_feature: FeatureName | None = None


class ModelSettings(Changeable, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a model; those that are not `Changeable` fix how it learns.

    ``schema`` is a document of `fabcost.Schema.from_dict`; without one the schema is open.
    Where ``values`` is "click", a reward above ``click_threshold`` is learnt as a click.  Where it
    is "fraction", a reward r counts as so much of a click as it lies above ``least_value`` on the
    way to ``largest_value``, see `fraction`.  A model has either a ``prior`` or a
    ``prior_variance``, which is one variance for all weights, and no effects of items' own; then
    the numbers of an open schema do not scale themselves either.  ``window`` is the old name of
    ``most_kept``; see `fabcost.FabCost`.  A ``belief`` that is wide has the place of all of these.

    Examples
    --------
    >>> ModelSettings(holdback=0.05).policy
    TSUCBSettings(draws=1, log_odds=True, scatter=0.125, rare=0.02)
    >>> ModelSettings().prior
    PriorSettings(constant=100.0, numbers=1.0, categories=1.0, crosses=1.0, items=0.3)
    >>> ModelSettings(prior_variance=10.0).prior
    UNSET
    """

    schema: dict[str, Any] | None = None
    prior_variance: Variance | UnsetType = UNSET
    refresh: RefreshSettings = RefreshSettings()
    moments: Literal["exact", "mackay"] = "exact"
    window: Annotated[int, Meta(ge=1)] | None = None
    most_weights: Annotated[int, Meta(ge=1, le=5_000)] = MOST_WEIGHTS
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0
    prior: PriorSettings | UnsetType = UNSET
    most_kept: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    half_life: HalfLifeSettings | UnsetType = UNSET
    belief: WideSettings | UnsetType = UNSET
    values: Values = "click"
    least_value: Reward = 0.0
    largest_value: Reward = 1.0

    def __post_init__(self) -> None:
        if self.belief is not UNSET:
            self._check_wide()
        elif self.prior_variance is UNSET and self.prior is UNSET:
            # Written out with a model, so that it keeps what is the default now.
            msgspec.structs.force_setattr(self, "prior", PriorSettings())
        elif self.prior_variance is not UNSET and self.prior is not UNSET:
            raise ValueError("prior and prior_variance are given but must be only one of them")
        if self.window is not None and self.most_kept is not UNSET:
            raise ValueError("most_kept and window are given but must be only one of them")
        if self.half_life is not UNSET and self.moments != "exact":
            raise ValueError(f"moments is {self.moments!r} but a half-life needs 'exact'")
        self._check_values()

    @property
    def valued(self) -> bool:
        """Whether features of items have values or costs."""
        return self.value_feature is not None or self.cost_feature is not None

    def _check_values(self) -> None:
        if self.values == "click":
            return
        if self.moments != "exact":
            raise ValueError(f"moments is {self.moments!r} but values as fractions need 'exact'")
        if not self.least_value < self.largest_value:
            raise ValueError(
                f"least_value is {self.least_value:g} but must be below largest_value, which is "
                f"{self.largest_value:g}"
            )
        self.check_value(self.default_reward, "default_reward")

    def check_value(self, value: float, name: str = "value") -> None:
        """A ValueError if it is no fraction though values are."""
        if self.values == "click" or self.least_value <= value <= self.largest_value:
            return
        raise ValueError(
            f"{name} is {value:g} but the model learns values from {self.least_value:g} to "
            f"{self.largest_value:g} as fractions"
        )

    def fraction(self, value: float) -> float | None:
        """What is learnt of a reward: so much of a click, or None if it is a click or none.

        A total beyond the ends, such as the sum of several rewards, counts as the nearer one.

        Examples
        --------
        >>> ModelSettings(values="fraction", largest_value=5.0).fraction(4.0)
        0.8
        >>> ModelSettings().fraction(4.0) is None
        True
        """
        if self.values == "click":
            return None
        least, largest = self.least_value, self.largest_value
        return min(max((value - least) / (largest - least), 0.0), 1.0)

    def _check_wide(self) -> None:
        refused = {
            "has one variance of its own: leave out prior": self.prior is not UNSET,
            "has one variance of its own: leave out prior_variance": self.prior_variance
            is not UNSET,
            "has no EP to refresh it: leave out refresh": self.refresh != RefreshSettings(),
            "keeps no impressions: leave out window": self.window is not None,
            "keeps no impressions: leave out most_kept": self.most_kept is not UNSET,
            "has 2^bits weights: leave out most_weights": self.most_weights != MOST_WEIGHTS,
        }
        for words, given in refused.items():
            if given:
                raise ValueError(f"the belief is wide and {words}")

    def variances(self) -> Prior:
        """Of the weights and of the items' own effects, however they are given."""
        if not isinstance(self.belief, UnsetType):
            return Prior.same(self.belief.variance)
        if isinstance(self.prior, UnsetType):
            # One of them is given, or __post_init__ would have given the prior.
            return Prior.same(self.prior_variance or 0.0)
        return self.prior.prior()


#: Names that `changed` accepts.
CHANGEABLE = frozenset(each.name for each in msgspec.structs.fields(Changeable))


def changed(settings: ModelSettings, changes: dict[str, Any]) -> ModelSettings:
    """The settings with some replaced, or a ValueError that says which cannot be.

    Examples
    --------
    >>> changed(ModelSettings(), {"mode": "off"}).mode
    'off'
    >>> changed(ModelSettings(), {"seed": 1})
    Traceback (most recent call last):
    ValueError: 'seed' cannot be changed: it is fixed when a model is made
    """
    fixed = sorted(changes.keys() - CHANGEABLE)
    if fixed:
        raise ValueError(f"{fixed[0]!r} cannot be changed: it is fixed when a model is made")
    merged = {**msgspec.to_builtins(settings), **changes}
    return msgspec.convert(merged, ModelSettings)
