"""One digest, whoever computes it: the bits are a function of the source and the input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from tests.inference import bits

#: It changes with the mathematics, and then `kernels.ARITHMETIC` does, and with the file format.
DIGEST = "e9d1d232c7a59f1dbf64062cfcd07722832a817101ff9bddc4a6a50a37e7de3e"

#: The same where items have effects of their own.
OWN_DIGEST = "b2db9f1102df49e68624e0e1eb678f9ef01cd7e5f1aa8636ec50bc0c1967807c"

#: How many rows are learnt at once, and whether the learner is saved and loaded in between.
MANNERS = {
    "whole": (bits.WHOLE, False),
    "one by one": (1, False),
    "sevens": (7, False),
    "saved and loaded": (7, True),
}
#: What a process of its own has in its environment.
ENVIRONMENTS = {
    "another process": {},
    "one thread of BLAS": {"OPENBLAS_NUM_THREADS": "1"},
    "two threads of BLAS": {"OPENBLAS_NUM_THREADS": "2"},
    "another BLAS": {"OPENBLAS_CORETYPE": "Prescott"},
}
#: x86-64 with AVX2 and FMA, and with AVX-512; with what each must be able to do.
PROCESSORS = {"haswell": "fma", "skylake-avx512": "avx512vl", "znver4": "avx512vbmi"}


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


def needs(able: str) -> None:
    if not get_host_cpu_features().get(able):
        pytest.skip(f"this processor lacks {able}: what is compiled for others cannot run")


@pytest.mark.parametrize("processor", PROCESSORS)
def test_bits_do_not_depend_on_processor(processor: str, tmp_path: Path) -> None:
    """Compiled for it by one process, loaded from the cache by another.

    What all other tests use is compiled for the processor that is here.
    """
    needs(PROCESSORS[processor])
    is_here = processor == get_host_cpu_name()
    variables = {} if is_here else compiled_for(processor, tmp_path)
    assert digests(variables) == [DIGEST, OWN_DIGEST]
    assert digests(variables, "--batch", "7") == [DIGEST, OWN_DIGEST]


@pytest.mark.late
def test_bits_are_those_of_any_processor(generic_cache: Path) -> None:
    """Of x86-64 without AVX; servers that were killed meanwhile may have compiled for it."""
    needs("sse2")
    variables = compiled_for("generic", generic_cache)
    assert digests(variables) == [DIGEST, OWN_DIGEST]
    assert digests(variables, "--batch", "7") == [DIGEST, OWN_DIGEST]
