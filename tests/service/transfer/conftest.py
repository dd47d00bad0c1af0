"""A log of adverts that a service wrote, for tests that evaluate it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabcost.wire.settings import ModelSettings
from tests.service.transfer.adverts_log import Played


@pytest.fixture(scope="session")
def floored(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return Played(tmp_path_factory.mktemp("floored"), ModelSettings(floor=0.3))


@pytest.fixture
def log(floored: Played, tmp_path: Path) -> Path:
    """To be changed."""
    return Path(shutil.copy(floored.log, tmp_path / "log.parquet"))
