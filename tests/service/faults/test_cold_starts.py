"""Killed while it compiles and afterwards: the bits are those of a processor of another kind.

Servers compile for that one, tests for the one that is here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import processors
from tests.service.faults import cold
from tests.service.faults.ledger import check_log, rebuilt_digest, served_digest
from tests.service.faults.servers import Processes

KILLS = 3
SEED = 22
#: The one nearest to what is here: `test_bits` has the plainest.
PROCESSORS = processors.others()[-1:]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_killed_from_an_empty_cache(processor: str, tmp_path: Path) -> None:
    """The visitors' plans and the kills have the seed 22; when they meet is up to the machine.

    What is compiled does not depend on the store: PostgreSQL is the business of `test_kills`.
    """
    store_address, cache = f"sqlite:///{tmp_path}/bandit.db", tmp_path / "cache"
    variables = processors.compiled_for(processor, cache)
    servers = Processes(tmp_path, cold.__name__, variables)
    try:
        last, told = cold.killed_from_cold(servers, cache, store_address, kills=KILLS, seed=SEED)
        check_log(store_address, told)
        assert cold.kernels(cache) > 0
        assert served_digest(last.address()) == rebuilt_digest(store_address)
    finally:
        servers.close()
