"""What the replays of all policies came to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabcost.impressions import FloatArray
from fabcost.offline.comparisons import Band, difference, per_cent
from fabcost.offline.replay.runs import Replays
from fabcost.paper.clicks.players import CORRECT, PAPERS, PUBLISHED


@dataclass(frozen=True, eq=False)
class Bandits:
    """Clicks of every policy.

    Attributes
    ----------
    replays
        Clicks by policy, days × marks.
    whole
        One day played to its last impression.
    logged
        Clicks in the log of that day.
    checked_at, refits
        After how many rounds, and by how many clicks, correct Laplace differs from one that is
        refitted after every impression.
    seconds
        Time taken by the replays, by those to the last impression, and by the check.
    """

    replays: Replays
    whole: Replays
    logged: int
    checked_at: int
    refits: Band
    seconds: tuple[float, float, float]

    @property
    def rounds(self) -> int:
        """How many impressions each replay showed."""
        return int(self.replays.marks[-1])

    @property
    def days(self) -> int:
        """How many days were replayed."""
        return int(self.replays.clicks[CORRECT].shape[0])

    @property
    def is_whole_day(self) -> bool:
        """Whether the day that was played to its end is longer than the replays."""
        return int(self.whole.marks[-1]) > self.rounds

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
