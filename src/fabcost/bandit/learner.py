"""What a bandit learns with."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from fabcost.gaussian import Gaussian


class Learner(Protocol):
    """What a bandit asks of a learner; `fabcost.FabCost` is one."""

    @property
    def posterior(self) -> Gaussian:
        """The belief after all impressions so far."""
        ...

    def observe(self, x: npt.ArrayLike, y: Any) -> None:
        """Learn from one impression."""
        ...
