"""One digest, whoever computes it: the bits are a function of the source and the input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import processors
from tests.examples import EXPLORES
from tests.inference import bits

#: It changes with the mathematics, and then `kernels.ARITHMETIC` does, and with the file format.
DIGEST = "0dc9fbb94060ce1d2bff81bae5977fc4029d18724116dc8082e3d6bb249e82de"

#: The same where items have effects of their own.
OWN_DIGEST = "07c727dad19cb85415cdf1031c701219541599430b1c29c71bfce9332f707619"

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
#: The one that has least in common with what is here; servers compare another (`test_cold_starts`).
PROCESSORS = processors.known() if EXPLORES else processors.others()[:1]


def digests(variables: dict[str, str], *options: str) -> list[str]:
    """Both, as a process of its own finds them with these variables in its environment."""
    ran = subprocess.run(
        [sys.executable, "-m", bits.__name__, *options],
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


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
    assert digests(ENVIRONMENTS[environment]) == [DIGEST, OWN_DIGEST]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_bits_do_not_depend_on_processor(processor: str, tmp_path: Path) -> None:
    """Compiled for it by one process, loaded from the cache by another."""
    variables = processors.compiled_for(processor, tmp_path)
    assert digests(variables) == [DIGEST, OWN_DIGEST]
    assert digests(variables, "--batch", "7") == [DIGEST, OWN_DIGEST]
