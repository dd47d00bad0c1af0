"""Which settings of which library are compared: the default of each, and a small grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bayesianbandits import LaplaceApproximator, RVGAApproximator
from mabwiser.mab import LearningPolicy

from fabcost.bandit.rules import DEFAULT, Thompson
from studies.peers.policies import (
    CobaLinTS,
    Disjoint,
    Ours,
    SharedAgent,
    SharedEstimator,
    Vowpal,
)
from studies.peers.workload import Player

SMALL, LARGE, HUGE = 10, 100, 1_000
OURS = "fabcost"
RIVAL = "bayesianbandits"


@dataclass(frozen=True)
class Setting:
    """One way to use one library.

    Attributes
    ----------
    make
        The player, from a seed and the number of items.
    default
        Whether this is how its library comes; only this one is timed.
    shares
        The catalogues on which its clicks are counted.
    timed
        The catalogues on which its calls are timed, if it is the default.
    """

    library: str
    family: str
    knob: str
    make: Callable[[int, int], Player]
    default: bool = False
    shares: tuple[int, ...] = (SMALL, LARGE)
    timed: tuple[int, ...] = (SMALL, LARGE, HUGE)

    @property
    def policy(self) -> str:
        """The library and what of it is used."""
        return f"{self.library} {self.family}"


def _ours() -> Iterator[Setting]:
    for scale in (1.0, 0.5, 0.25):
        yield Setting(
            OURS,
            "FAB-COST, Thompson",
            f"scale {scale:g}",
            lambda seed, _, scale=scale: Ours(seed, policy=Thompson(scale)),  # type: ignore[misc]
            default=scale == 1.0,
        )
    yield Setting(
        OURS,
        "FAB-COST, the default rule",
        "as it comes",
        lambda seed, _: Ours(seed, policy=DEFAULT),
        default=True,
    )
    for variance in (1.0, 100.0):
        yield Setting(
            OURS,
            "FAB-COST, Thompson",
            f"scale 1, prior variance {variance:g}",
            lambda seed, _, variance=variance: Ours(seed, variance=variance),  # type: ignore[misc]
        )


def _bayesianbandits() -> Iterator[Setting]:
    for name, approximator in (("Laplace", LaplaceApproximator), ("R-VGA", RVGAApproximator)):
        for alpha in (1.0, 0.1, 10.0):
            yield Setting(
                RIVAL,
                f"{name}, shared agent",
                f"prior precision {alpha:g}",
                lambda seed, items, alpha=alpha, approximator=approximator: SharedAgent(  # type: ignore[misc]
                    seed, items, alpha=alpha, approximator=approximator()
                ),
                default=alpha == 1.0,
            )
        yield Setting(
            RIVAL,
            f"{name}, bare estimator",
            "prior precision 1",
            lambda seed, _, approximator=approximator: SharedEstimator(  # type: ignore[misc]
                seed, approximator=approximator()
            ),
            default=True,
            shares=(),
        )


def _coba() -> Iterator[Setting]:
    for v in (1.0, 0.3, 0.1):
        yield Setting(
            "coba",
            "LinTS",
            f"v = {v:g}",
            lambda seed, _, v=v: CobaLinTS(seed, v=v),  # type: ignore[misc]
            default=v == 1.0,
        )


def _vowpal() -> Iterator[Setting]:
    bagged = ("--bag 5", "--bag 5 --greedify", "--bag 5 -l 2")
    for family, grid in (("bagging", bagged), ("ε-greedy", ("--epsilon 0.05",))):
        for options in grid:
            yield Setting(
                "VW cb_explore_adf",
                family,
                options,
                lambda seed, _, options=options: Vowpal(  # type: ignore[misc]
                    seed, options=f"--cb_explore_adf {options}"
                ),
                default=options == grid[0],
            )


def _mabwiser() -> Iterator[Setting]:
    for name, policy in (("LinTS", LearningPolicy.LinTS), ("LinUCB", LearningPolicy.LinUCB)):
        for alpha in (1.0, 0.1):
            yield Setting(
                "MABWiser",
                f"{name}, disjoint",
                f"α = {alpha:g}",
                lambda seed, items, alpha=alpha, policy=policy: Disjoint(  # type: ignore[misc]
                    seed, items, policy(alpha=alpha)
                ),
                default=alpha == 1.0,
                shares=(SMALL,),
                timed=(SMALL,),
            )


SETTINGS: tuple[Setting, ...] = (
    *_ours(),
    *_bayesianbandits(),
    *_coba(),
    *_vowpal(),
    *_mabwiser(),
)
