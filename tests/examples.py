"""How much is tried: always the same little, or with ``FABCOST_EXPLORE=1`` much, and new."""

from __future__ import annotations

import os

EXPLORES = os.environ.get("FABCOST_EXPLORE") == "1"


def examples(most: int) -> int:
    """Of a property that may be tried on ``most``: a third, which are the same in every run."""
    return most if EXPLORES else max(most // 3, 20)


#: Choices whose frequencies are compared with shares.
CHOICES = 20_000 if EXPLORES else 6_000
