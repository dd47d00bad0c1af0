"""How often, and after which pauses, a call is tried again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Retries:
    """Pauses grow twofold from ``first`` to ``longest`` seconds, with jitter.

    Parameters
    ----------
    attempts
        At most so many, the first included.
    first, longest
        Seconds.
    deadline
        Seconds for all attempts and pauses together; each attempt to move a whole model, log or
        catalogue may take as long as a server does, beyond that.

    Examples
    --------
    >>> Retries(first=0.1, longest=1.0).pause(3, 0.0, np.random.default_rng(7))
    0.325...
    >>> Retries().pause(1, 2.5, np.random.default_rng(7))
    2.5
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 5.0
    deadline: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts} but must be at least 1")
        for name in ("first", "longest", "deadline"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} is {getattr(self, name)} but must be above 0")

    def pause(self, attempt: int, asked: float, rng: np.random.Generator) -> float:
        """Seconds to wait after attempt 1, 2, …, and not less than the server ``asked`` for.

        Between half and all of the backoff: clients that failed together do not return together.
        """
        backoff = min(self.longest, self.first * 2.0 ** min(attempt - 1, 60))
        return max(asked, float(rng.uniform(0.5, 1.0)) * backoff)


#: One attempt, no second.
NEVER = Retries(attempts=1)


def patience(seconds: float) -> Retries:
    """Short pauses until ``seconds`` have gone by, as one waits for a server to start.

    Examples
    --------
    >>> patience(30.0).longest
    0.5
    """
    return Retries(attempts=1_000_000, first=0.05, longest=0.5, deadline=seconds)
