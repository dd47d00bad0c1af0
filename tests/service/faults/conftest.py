from __future__ import annotations

import pytest

from tests.service.faults.servers import Nursery, shared_nursery


@pytest.fixture(scope="session")
def nursery() -> Nursery:
    """Starts servers within a moment."""
    return shared_nursery()
