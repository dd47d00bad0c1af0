"""Examples of property tests are the same each time; ``FABCOST_EXPLORE=1`` looks for new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile("explore" if os.environ.get("FABCOST_EXPLORE") == "1" else "same")
