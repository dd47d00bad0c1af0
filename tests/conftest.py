"""Examples of property tests are the same each time; ``FABCOST_EXPLORE=1`` looks for new ones."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# How long examples take is the machine's business.
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", slow, derandomize=True)
settings.register_profile("explore", slow, print_blob=True)
settings.load_profile("explore" if os.environ.get("FABCOST_EXPLORE") == "1" else "same")
