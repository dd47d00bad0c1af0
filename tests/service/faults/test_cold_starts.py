"""Processors of another kind, for which servers compile while they are killed, and then a learner.

Tests compile for the one that is here: the bits are the same.  One cache serves both, and what
servers left of it is gone on with.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import processors
from tests.examples import EXPLORES
from tests.inference.bits import DIGEST, OWN_DIGEST, core, digests
from tests.service.faults import cold
from tests.service.faults.ledger import check_log, rebuilt_digest, served_digest
from tests.service.faults.servers import Processes

KILLS = 3
SEED = 22
#: The one that has least in common with what is here, or each.
PROCESSORS = processors.known() if EXPLORES else processors.known()[:1]

#: Two minutes of compilation between them.
when_exploring = pytest.mark.skipif(not EXPLORES, reason="FABCOST_EXPLORE=1 runs it")


@pytest.fixture(scope="module", params=PROCESSORS)
def cache(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of kernels for a processor, which is its name."""
    return tmp_path_factory.mktemp("cache") / str(request.param)


@when_exploring
def test_killed_from_an_empty_cache(cache: Path, tmp_path: Path) -> None:
    """The visitors' plans and the kills have the seed 22; when they meet is up to the machine.

    What is compiled does not depend on the store: PostgreSQL is the business of `test_kills`.
    """
    store_address = f"sqlite:///{tmp_path}/bandit.db"
    variables = processors.compiled_for(cache.name, cache)
    servers = Processes(tmp_path, cold.__name__, variables)
    try:
        last, told = cold.killed_from_cold(servers, cache, store_address, kills=KILLS, seed=SEED)
        check_log(store_address, told)
        assert cold.kernels(cache) > 0
        assert served_digest(last.address()) == rebuilt_digest(store_address)
    finally:
        servers.close()


def test_bits_do_not_depend_on_processor(cache: Path) -> None:
    """Compiled for it by one process, loaded from the cache by another, and as found here."""
    variables = processors.compiled_for(cache.name, cache)
    assert digests(variables, "--core") == [core()]
    assert digests(variables, "--core") == [core()]


@when_exploring
def test_no_bit_of_all_depends_on_processor(cache: Path) -> None:
    variables = processors.compiled_for(cache.name, cache)
    assert digests(variables) == [DIGEST, OWN_DIGEST]
    assert digests(variables, "--batch", "7") == [DIGEST, OWN_DIGEST]
