"""Killed while it compiles and afterwards: the bits are those of a processor of another kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.faults.cold import GENERIC, HAS_GENERIC, kernels, killed_from_cold
from tests.service.faults.ledger import check_log, rebuilt_elsewhere, served_digest
from tests.service.faults.servers import Processes

KILLS = 3
SEED = 22


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty for the first store; the second goes on with what killed servers have left there."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.skipif(not HAS_GENERIC, reason="generic code is known for x86-64 alone")
def test_killed_from_an_empty_cache(
    store_address: str, tmp_path: Path, cache: Path, generic_cache: Path
) -> None:
    """The visitors' plans and the kills have the seed 22; when they meet is up to the machine."""
    processes = Processes(tmp_path, cache)
    try:
        last, told = killed_from_cold(processes, cache, store_address, kills=KILLS, seed=SEED)
        check_log(store_address, told)
        assert kernels(cache) > 0
        elsewhere = rebuilt_elsewhere(
            store_address, variables={"NUMBA_CACHE_DIR": str(generic_cache), **GENERIC}
        )
        assert served_digest(last.address()) == elsewhere
    finally:
        processes.close()
