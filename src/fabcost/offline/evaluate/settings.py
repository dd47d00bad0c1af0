"""Which policies are evaluated, and how."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np

from fabcost.bandit.rules import RULES, Policy, Uniform, rule_of
from fabcost.offline.estimators import LEVEL
from fabcost.prior import Prior

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
        if kind not in RULES:
            known = ", ".join([*RULES, _ALWAYS + "ITEM"])
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
