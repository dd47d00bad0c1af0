"""The methods that are compared with each other: what each is called, does and looks like.

This is the one list of them.  Tables, pictures, ``fabcost replay`` and the paper's figures take a
method from here by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fabcost.bandit.bandit import Learner
from fabcost.bandit.baselines import BatchLaplace, LaplaceAsPublished, LinearGaussian, OnlineLaplace
from fabcost.bandit.rules import SPELT, Greedy, Policy, Thompson, Uniform, rule_of
from fabcost.inference.online import FabCost
from fabcost.inference.schedule import Refresh

MakeLearner = Callable[..., Learner]

#: The paper's, of every weight; what is not of the paper starts from `fabcost.Prior`.
PRIOR_VARIANCE = 100.0
#: The impressions after which the paper's FAB-COST runs EP.
PAPER_REFRESH = (100, 10_000)

LAPLACE = "Laplace"
LAPLACE_ONLINE = "Laplace, online"
LAPLACE_DIAGONAL = "Laplace, diagonal"
LAPLACE_PUBLISHED = "Laplace, published"
ADF = "ADF"
ADF_MACKAY = "ADF, MacKay"
EP = "EP"
EP_MACKAY = "EP, MacKay"
FAB_COST = "FAB-COST"
FAB_COST_TWICE = "FAB-COST, EP twice"
FAB_COST_PAPER = "FAB-COST, paper"
LINEAR = "linear"
GREEDY = "greedy"
UNIFORM = "uniform"


@dataclass(frozen=True)
class Style:
    """How a method is drawn: dashes and markers tell methods apart without their colours."""

    colour: str
    dashes: Any
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Matplotlib's arguments for a line."""
        return {"color": self.colour, "linestyle": self.dashes}

    @property
    def points(self) -> dict[str, Any]:
        """Matplotlib's arguments for a line with a marker at each point."""
        return {**self.line, "marker": self.marker}


#: Matplotlib's settings for every figure.
LOOK: dict[Any, Any] = {"font.size": 9.0, "axes.spines.top": False, "axes.spines.right": False}
#: The style of every method, and of the rules that need none; no two are alike in any of the three.
STYLES: dict[str, Style] = {
    LAPLACE: Style("#f0862a", "--", "s"),
    LAPLACE_ONLINE: Style("#d6604d", (0, (4, 1, 1, 1)), "P"),
    LAPLACE_DIAGONAL: Style("#e8b27a", (0, (2, 1)), "X"),
    LAPLACE_PUBLISHED: Style("#7a1f5c", ":", "<"),
    ADF: Style("#4b3f92", "-.", "^"),
    ADF_MACKAY: Style("#aaa3d3", (0, (1, 1)), "v"),
    EP: Style("#000000", "-", "D"),
    EP_MACKAY: Style("#e7298a", (0, (3, 1, 1, 1, 1, 1)), "x"),
    FAB_COST: Style("#178a68", (0, (5, 1)), "o"),
    FAB_COST_TWICE: Style("#8cbf3f", (0, (1, 2)), ">"),
    FAB_COST_PAPER: Style("#2166ac", (0, (8, 2)), "p"),
    LINEAR: Style("#8c6d31", (0, (3, 3)), "h"),
    GREEDY: Style("#c51b1b", (0, (6, 1, 1, 1)), "*"),
    UNIFORM: Style("#b8b8b8", (0, (1, 0)), "."),
}


#: A learner that starts from a prior, by each method that can learn as it goes.
LEARNERS: dict[str, MakeLearner] = {
    FAB_COST: FabCost,
    FAB_COST_PAPER: lambda prior: FabCost(
        prior, refresh=Refresh.at(*PAPER_REFRESH), moments="mackay"
    ),
    ADF: partial(FabCost, refresh=Refresh.never()),
    EP: partial(FabCost, refresh=Refresh.always(), tolerance=1e-4),
    LAPLACE: BatchLaplace,
    LAPLACE_ONLINE: OnlineLaplace,
    LAPLACE_DIAGONAL: lambda prior: OnlineLaplace(prior, covariance="diagonal"),
    LAPLACE_PUBLISHED: LaplaceAsPublished,
    LINEAR: LinearGaussian,
}


#: Those of which items may have effects of their own: what is not the paper's.
OWNING = frozenset({FAB_COST, ADF, EP})
#: Those for which an impression may count more or less than another.
WEIGHING = OWNING | {LAPLACE}


@dataclass(frozen=True)
class Contender:
    """A learner under a rule: what plays a bandit's game."""

    learner: str
    policy: Policy = Thompson()  # noqa: RUF009 - a frozen value

    def __str__(self) -> str:
        scale = getattr(self.policy, "scale", None)
        return self.learner if scale == 1.0 else f"{self.learner}, {self.policy}"


#: Learners under Thompson sampling, as the command line spells them.
THOMPSON = {
    each.lower().replace("fab-cost", "fabcost").replace(", ", "-"): each for each in LEARNERS
}
#: Contenders without a scale; what learns under Uniform does not matter.
UNSCALED: dict[str, Contender] = {
    GREEDY: Contender(FAB_COST, Greedy()),
    UNIFORM: Contender(ADF, Uniform()),
}


def contender(spec: str) -> tuple[str, Contender]:
    """A contender and its full name: ``fabcost@0.5`` is Thompson sampling of scale 0.5.

    Any other rule is given by its name, and a parameter: ``fabcost@ts-ucb:8``.

    Examples
    --------
    >>> contender("laplace-online@0.50")
    ('laplace-online@0.5', Contender(learner='Laplace, online', policy=Thompson(scale=0.5)))
    >>> contender("fabcost@ts-ucb:8")[1].policy
    TSUCB(draws=8, log_odds=False, scatter=0.0, rare=0.0)
    >>> contender("greedy")[1].policy
    Greedy()
    """
    kind, has_scale, scale = spec.strip().lower().partition("@")
    if kind in UNSCALED:
        if has_scale:
            raise ValueError(f"policy is {spec!r} but {kind} has no scale")
        return kind, UNSCALED[kind]
    if kind not in THOMPSON:
        known = ", ".join([*THOMPSON, *UNSCALED])
        raise ValueError(f"policy is {spec!r} but must be one of {known}; or as fabcost@0.5")
    if scale.partition(":")[0] in SPELT:
        return f"{kind}@{scale}", Contender(THOMPSON[kind], rule_of(scale))
    policy = Thompson(_scale(spec, scale) if has_scale else 1.0)
    name = kind if policy.scale == 1.0 else f"{kind}@{policy.scale:g}"
    return name, Contender(THOMPSON[kind], policy)


def contenders(specs: Iterable[str]) -> dict[str, Contender]:
    """Contenders by their full names, each once.

    Examples
    --------
    >>> list(contenders(["fabcost", "uniform", "fabcost@1"]))
    ['fabcost', 'uniform']
    """
    return dict(contender(spec) for spec in specs)


def style_of(name: str) -> Style:
    """The style of a contender's name; all scales of a learner have its own.

    Examples
    --------
    >>> style_of("fabcost@0.5") == STYLES[FAB_COST], style_of("uniform") == STYLES[UNIFORM]
    (True, True)
    """
    kind = name.partition("@")[0]
    return STYLES[THOMPSON.get(kind, kind)]


def _scale(spec: str, text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not (math.isfinite(scale) and scale >= 0.0):
        raise ValueError(
            f"policy is {spec!r} but a scale must be a number of at least 0, "
            f"or a rule one of {', '.join(SPELT)}"
        )
    return scale
