from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.faults.servers import Nursery, nursery_in


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Starts servers within a moment."""
    with nursery_in(tmp_path_factory.mktemp("servers")) as made:
        yield made
