"""What the writer knows of a model."""

from __future__ import annotations

from dataclasses import dataclass

from fabcost.service.learning.learner import Learning
from fabcost.wire.settings import ModelSettings


@dataclass
class Keeper:
    """A model's settings and learner, and the lsn of its last impression.

    ``catalogue`` is the version that the loop was told of.
    """

    settings: ModelSettings
    learning: Learning
    head: int
    catalogue: int = 0
