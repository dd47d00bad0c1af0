"""Real logs for the replay, in the directory that FABCOST_DATA names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from studies.replays.public_logs import LOGS

__all__ = ["LOGS", "data_directory"]


def data_directory() -> Path:
    """The directory of the data, or the end of the program."""
    named = os.environ.get("FABCOST_DATA")
    if not named or not Path(named).is_dir():
        sys.exit(
            f"FABCOST_DATA is {named!r} but must name the directory that has bank_marketing, "
            "online_shoppers and open_bandit"
        )
    return Path(named)
