"""Time that never goes back."""

from __future__ import annotations

import time
from collections.abc import Callable

Read = Callable[[], float]


class Clock:
    """Seconds since 1970 by the system's clock, but for when that is set back.

    Then time goes on from where it was at the pace of the monotonic clock until the system's
    clock has caught up, or `come_back`: deadlines come neither early nor in a different order.

    Examples
    --------
    >>> wall, steady = [1000.0], [0.0]
    >>> clock = Clock(wall=lambda: wall[0], steady=lambda: steady[0])
    >>> clock.now()
    1000.0
    >>> wall[0], steady[0] = 400.0, 5.0
    >>> clock.now(), clock.ahead
    (1005.0, 605.0)
    >>> clock.come_back()
    >>> clock.now()
    400.0
    """

    def __init__(self, *, wall: Read = time.time, steady: Read = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._latest = wall()
        self._at = steady()

    def now(self) -> float:
        """The time."""
        at = self._steady()
        going_on = self._latest + max(at - self._at, 0.0)
        wall = self._wall()
        # A wall clock that is slewed stays behind the monotonic one by very little.
        self._latest = wall if wall >= self._latest else going_on
        self._at = at
        return self._latest

    @property
    def ahead(self) -> float:
        """Seconds by which this is later than the system's clock."""
        return max(self.now() - self._wall(), 0.0)

    def come_back(self) -> None:
        """Show the system's time again: nothing waits for a later one."""
        self._latest = self._wall()

    def not_before(self, moment: float) -> None:
        """Go on from ``moment``, which was written by a server before, if it is later."""
        self._latest = max(self._latest, moment)
