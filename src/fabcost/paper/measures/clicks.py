"""The click figure: the paper's replay, against the Laplace bandit as published and a correct one.

Every seed is a day of its own, with visitors of its own.  On it all policies meet the same random
numbers, so that their clicks are compared day by day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fabcost.bandit.baselines import BatchLaplace, LaplaceAsPublished
from fabcost.bandit.rules import Policy, Thompson, Uniform
from fabcost.gaussian import Gaussian
from fabcost.impressions import FloatArray
from fabcost.inference.schedule import Refresh
from fabcost.offline import methods
from fabcost.offline.intervals import Band, difference, per_cent
from fabcost.offline.replay.protocol import replay
from fabcost.offline.replay.runs import Replays, marks
from fabcost.paper.designs import day
from fabcost.paper.units import Result, Scale, Unit

PAPERS, OURS = methods.FAB_COST_PAPER, methods.FAB_COST
CORRECT, PUBLISHED, RANDOM = methods.LAPLACE, methods.LAPLACE_PUBLISHED, methods.UNIFORM
EVERY_ROUND = "Laplace, every round"
PLAYED_OUT = (PAPERS, OURS, CORRECT, PUBLISHED)
COMPARED = (*PLAYED_OUT, RANDOM)

#: No |xᵀθ| above this: there σ(η) = ½ + η/4 to η²/12 of the second term, below 1e-5 of it.
STRAIGHT = 0.01
#: Correct Laplace is refitted after each of so many impressions, then when the data have grown so.
REFITTED_EACH, REFIT_GROWTH = 1_000, 1.02
#: The round at which that schedule is checked against a refit after every impression.
CHECKED_ROUNDS = 3_000

_SEEDS_APART = 1_000
_WHOLE = "whole"
#: About how many seconds 1,000 rounds take.
_SECONDS = {PAPERS: 0.2, OURS: 0.15, CORRECT: 0.3, PUBLISHED: 0.6, RANDOM: 0.05, EVERY_ROUND: 3.0}


def is_refit(seen: int) -> bool:
    """Whether correct Laplace is refitted after ``seen`` impressions.

    Examples
    --------
    >>> [seen for seen in range(998, 1070) if is_refit(seen)]
    [998, 999, 1000, 1020, 1041, 1062]
    """
    return seen <= REFITTED_EACH or _growths(seen) > _growths(seen - 1)


def _growths(seen: int) -> int:
    return math.floor(math.log(seen / REFITTED_EACH) / math.log(REFIT_GROWTH) + 1e-9)


PLAYERS: dict[str, tuple[methods.MakeLearner, Policy]] = {
    PAPERS: (methods.LEARNERS[PAPERS], Thompson()),
    OURS: (methods.LEARNERS[OURS], Thompson()),
    CORRECT: (lambda prior: BatchLaplace(prior, refit=Refresh.when(is_refit)), Thompson()),
    PUBLISHED: (lambda prior: LaplaceAsPublished(prior, straight=STRAIGHT), Thompson()),
    RANDOM: (methods.LEARNERS[methods.ADF], Uniform()),
    EVERY_ROUND: (BatchLaplace, Thompson()),
}


def play(policy: str, rows: int, rounds: int, seed: int) -> Result:
    """Clicks of one policy on the first ``rows`` impressions of day ``seed``.

    Under the same seed every policy breaks ties alike and sees the same random numbers.
    """
    X, y, *_ = day(rows, seed=seed)
    make, choice = PLAYERS[policy]
    learner = make(Gaussian.isotropic(X.shape[1], variance=methods.PRIOR_VARIANCE))
    rng = np.random.default_rng(seed)
    shown = replay(X, y, learner, policy=choice, rng=rng, rounds=rounds)
    counted = marks(rounds, [CHECKED_ROUNDS] if rounds > CHECKED_ROUNDS else [])
    return {"marks": counted, "clicks": shown.clicks[counted - 1], "logged": int(y.sum())}


@dataclass(frozen=True, eq=False)
class Bandits:
    """Clicks of every policy."""

    replays: Replays  # days × marks
    whole: Replays  # one day played to its last impression
    logged: int  # clicks in the log of that day
    #: After how many rounds, and by how many clicks, correct Laplace differs from one that is
    #: refitted after every impression.
    checked_at: int
    refits: Band
    seconds: tuple[float, float, float]  # of the replays, of those to the end, of the check

    @property
    def rounds(self) -> int:
        """How many impressions each replay showed."""
        return int(self.replays.marks[-1])

    @property
    def days(self) -> int:
        """How many days were replayed."""
        return int(self.replays.clicks[CORRECT].shape[0])

    def final(self, policy: str) -> FloatArray:
        """Clicks at the last round, days × 1."""
        return self.replays.clicks[policy][:, -1:]

    def gain(self, policy: str, baseline: str) -> Band:
        """Clicks of the policy beyond the baseline's, in per cent, at the last round."""
        return per_cent(self.final(policy), self.final(baseline))

    def lead(self, policy: str, baseline: str) -> Band:
        """Clicks of the policy beyond the baseline's at the last round."""
        return difference(self.final(policy), self.final(baseline))

    @property
    def defect(self) -> Band:
        """Share in per cent of the paper's gain that a correct baseline takes away."""
        return share(self.final(PAPERS), self.final(PUBLISHED), self.final(CORRECT))


def share(ours: FloatArray, published: FloatArray, correct: FloatArray) -> Band:
    r"""The part of the gain over the published baseline that is the baseline's defect.

    Gain over published minus gain over correct, by the gain over published, in clicks:
    :math:`(C - P)/(F - P)` in per cent, a ratio of means with the interval of `per_cent`.
    Above 100 means that the correct baseline has more clicks than ours.

    Examples
    --------
    >>> F, P, C = (np.array([[clicks], [2.0 * clicks]]) for clicks in (150.0, 50.0, 125.0))
    >>> share(F, P, C)
    Band(mean=array([75.]), low=array([75.]), high=array([75.]))
    """
    ratio = per_cent(correct - published, ours - published)
    return Band(*(np.asarray(100.0 + each) for each in ratio))


def units(scale: Scale, seed: int) -> list[Unit]:
    """One replay for each policy and day, the check of the refits, and one day to its end."""
    rows, rounds, checked = scale.day_rows, scale.bandit_rounds, _checked(scale)
    # Where the whole day is too long, its first impressions make a short one.
    end = rows if scale.whole_day else rounds
    days = [(k, _SEEDS_APART * seed + k) for k in range(scale.bandit_seeds)]
    return [
        *(_unit(policy, k, rows, rounds, own) for k, own in days for policy in COMPARED),
        *(_unit(EVERY_ROUND, k, rows, checked, own) for k, own in days),
        *(_unit(policy, _WHOLE, end, end, _SEEDS_APART * seed) for policy in PLAYED_OUT),
    ]


def _checked(scale: Scale) -> int:
    return min(CHECKED_ROUNDS, scale.bandit_rounds)


def _unit(policy: str, which: int | str, rows: int, rounds: int, seed: int) -> Unit:
    arguments = {"policy": policy, "rows": rows, "rounds": rounds, "seed": seed}
    return Unit(_named(policy, which), play, arguments, weight=_SECONDS[policy] * rounds / 1_000)


def _named(policy: str, which: int | str) -> str:
    return f"bandits-{policy.lower().replace(', ', '-').replace(' ', '-')}-{which}"


def gather(scale: Scale, results: Mapping[str, Result]) -> Bandits:
    """The clicks of all policies from the results of `units`."""
    days = range(scale.bandit_seeds)
    replays, took = _replays(results, COMPARED, days)
    whole, took_whole = _replays(results, PLAYED_OUT, [_WHOLE])
    checks, took_checks = _replays(results, [EVERY_ROUND], days)
    at = _checked(scale)
    return Bandits(
        replays=replays,
        whole=whole,
        logged=results[_named(PAPERS, _WHOLE)]["logged"],
        checked_at=at,
        refits=difference(replays.at([at]).clicks[CORRECT], checks.clicks[EVERY_ROUND][:, -1:]),
        seconds=(took, took_whole, took_checks),
    )


def _replays(
    results: Mapping[str, Result], policies: Sequence[str], which: Sequence[int | str]
) -> tuple[Replays, float]:
    found = {policy: [results[_named(policy, each)] for each in which] for policy in policies}
    clicks = {
        policy: np.array([each["clicks"] for each in runs], dtype=np.float64)
        for policy, runs in found.items()
    }
    runs = [each for several in found.values() for each in several]
    seconds = float(sum(each["seconds"] for each in runs))
    return Replays(np.asarray(runs[0]["marks"], dtype=np.intp), clicks, CORRECT), seconds
