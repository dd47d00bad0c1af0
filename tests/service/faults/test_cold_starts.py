"""Killed while it compiles and afterwards: the bits are those of a processor of another kind.

Servers compile for any processor, tests for the one that is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.service.faults.cold import GENERIC, HAS_GENERIC, kernels, killed_from_cold
from tests.service.faults.ledger import check_log, rebuilt_digest, served_digest
from tests.service.faults.servers import Processes

KILLS = 3
SEED = 22


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory, generic_cache: Path) -> Iterator[Path]:
    """Empty; in the end it is left to other tests that need such kernels, if none has them yet."""
    folder = tmp_path_factory.mktemp("cache")
    yield folder
    with suppress(OSError):
        folder.rename(generic_cache)


@pytest.mark.skipif(not HAS_GENERIC, reason="generic code is known for x86-64 alone")
def test_killed_from_an_empty_cache(tmp_path: Path, cache: Path) -> None:
    """The visitors' plans and the kills have the seed 22; when they meet is up to the machine.

    What is compiled does not depend on the store: PostgreSQL is the business of `test_kills`.
    """
    store_address = f"sqlite:///{tmp_path}/bandit.db"
    processes = Processes(tmp_path, cache, **GENERIC)
    try:
        last, told = killed_from_cold(processes, cache, store_address, kills=KILLS, seed=SEED)
        check_log(store_address, told)
        assert kernels(cache) > 0
        assert served_digest(last.address()) == rebuilt_digest(store_address)
    finally:
        processes.close()
