"""One digest, whoever computes it: the bits are a function of the source and the input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite.binding import get_host_cpu_features

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
#: Processors for each kind of arithmetic of x86-64 beyond SSE2, with what such a one can do.
PROCESSORS = {"haswell": "fma", "skylake-avx512": "avx512vl"}


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


def compiled_for(processor: str, cache: Path) -> dict[str, str]:
    """The variables of processes whose kernels are compiled for it."""
    name = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    return {**name, "NUMBA_CACHE_DIR": str(cache)}


def others() -> list[str]:
    """Of each kind but the one that is here, for which all tests are compiled."""
    able = get_host_cpu_features()
    kinds = [name for name, needed in PROCESSORS.items() if able.get(needed)]
    return kinds if EXPLORES else kinds[:-1]


@pytest.mark.parametrize("processor", others())
def test_bits_do_not_depend_on_processor(processor: str, tmp_path: Path) -> None:
    """Compiled for it by one process, loaded from the cache by another."""
    variables = compiled_for(processor, tmp_path)
    assert digests(variables) == [DIGEST, OWN_DIGEST]
    assert digests(variables, "--batch", "7") == [DIGEST, OWN_DIGEST]


@pytest.mark.late
def test_bits_are_those_of_any_processor(generic_cache: Path) -> None:
    """Of x86-64 without AVX; servers that were killed meanwhile may have compiled for it."""
    if not get_host_cpu_features().get("sse2"):
        pytest.skip("this processor lacks SSE2: what is compiled for others cannot run")
    variables = compiled_for("generic", generic_cache)
    assert digests(variables) == [DIGEST, OWN_DIGEST]
    assert digests(variables, "--batch", "7") == [DIGEST, OWN_DIGEST]
