"""One digest, whoever computes it: the bits are a function of the source and the input.

Processors of other kinds are the business of `tests.service.faults.test_cold_starts`.
"""

from __future__ import annotations

import pytest

from tests.inference import bits
from tests.inference.bits import DIGEST, OWN_DIGEST

#: How many rows are learnt at once, and whether the learner is saved and loaded in between.
MANNERS = {
    "whole": (bits.WHOLE, False),
    "one by one": (1, False),
    "saved and loaded": (7, True),
}
#: What a process of its own has in its environment.
ENVIRONMENTS = {
    "two threads of BLAS": {"OPENBLAS_NUM_THREADS": "2"},
    "one thread of another BLAS": {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"},
}


@pytest.mark.filterwarnings("ignore::fabcost.inference.result.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:window is now:DeprecationWarning")
@pytest.mark.parametrize("manner", MANNERS)
def test_bits_do_not_depend_on_how_rows_come(manner: str) -> None:
    batch, snapshot = MANNERS[manner]
    assert bits.digest(batch, snapshot=snapshot, own=False) == DIGEST


@pytest.mark.filterwarnings("ignore::fabcost.inference.result.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:window is now:DeprecationWarning")
@pytest.mark.parametrize("manner", MANNERS)
def test_bits_of_own_effects_do_not_depend_on_how_rows_come(manner: str) -> None:
    batch, snapshot = MANNERS[manner]
    assert bits.digest(batch, snapshot=snapshot, own=True) == OWN_DIGEST


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_bits_do_not_depend_on(environment: str) -> None:
    assert bits.digests(ENVIRONMENTS[environment]) == [DIGEST, OWN_DIGEST]
