from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.personalizer.loopback import Loopback, loopback
from tests.service.personalizer.serving import Served, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The contract in front of a new, empty database."""
    with serving(tmp_path / "bandit.db") as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    """A server for all tests of a module; each uses models and events of its own."""
    with loopback(tmp_path_factory.mktemp("server") / "bandit.db") as found:
        yield found
