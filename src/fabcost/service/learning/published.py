"""From the thread that learns to the one that decides: posteriors, and what items are known for."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fabcost.gaussian import Gaussian
from fabcost.inference.online import FabCost
from fabcost.inference.own.effects import OwnEffects
from fabcost.inference.own.exchange import OwnChanges

_MANY = 1000


@dataclass(frozen=True, eq=False)
class Published:
    """A posterior to decide by: after ``lsn`` impressions and ``refreshes``."""

    lsn: int
    refreshes: int
    belief: Gaussian
    time: float = 0.0

    @cached_property
    def version(self) -> str:
        """How decisions name it."""
        return f"{self.lsn}.{self.refreshes}"

    def digest(self, own: OwnEffects | None = None) -> str:
        """SHA-256 of the bits of its mean and root, and of the items' own effects if any."""
        content = hashlib.sha256(self.belief.mean.tobytes())
        content.update(np.ascontiguousarray(self.belief.root).tobytes())
        if own is not None:
            content.update(json.dumps(own.keys).encode())
            content.update(own.rows[:, : self.belief.dimension + 2].tobytes())
        return content.hexdigest()


class Collected(NamedTuple):
    """What is published, and the changes of the items' own effects since the last time."""

    published: Published
    changes: tuple[OwnChanges, ...]


class Publisher:
    """Hands over what was learnt: all of a moment, or nothing of it.

    Of the items only those go from hand to hand that have changed: one after an impression, all
    after a refresh, or when more changes wait than there are items.
    """

    def __init__(self, lsn: int, learner: FabCost) -> None:
        self._lock = threading.Lock()
        self._of: OwnEffects | None = None
        self._version = 0
        self._waiting: list[OwnChanges] = []
        self._many = 0
        self.publish(lsn, learner.refreshes, learner)

    def publish(self, lsn: int, refreshes: int, learner: FabCost) -> None:
        """Say what is known now; for the thread that learns."""
        published = Published(lsn, refreshes, learner.posterior, time.time())
        changes = self._changes(learner.own)
        with self._lock:
            if changes is not None:
                self._keep(changes)
            self.latest = published

    def collect(self) -> Collected:
        """Take what is new; for the one thread that decides."""
        with self._lock:
            waiting, self._waiting, self._many = self._waiting, [], 0
            return Collected(self.latest, tuple(waiting))

    def _changes(self, own: OwnEffects | None) -> OwnChanges | None:
        if own is None:
            return None
        # Another learner's versions mean nothing: everything is told.
        follows = own is self._of and self._many <= max(len(own), _MANY)
        changes = own.changes(self._version if follows else own.version + 1)
        self._of, self._version = own, changes.version
        return changes

    def _keep(self, changes: OwnChanges) -> None:
        if changes.slots is None:
            self._waiting, self._many = [], 0
        self._waiting.append(changes)
        self._many += len(changes.keys)
