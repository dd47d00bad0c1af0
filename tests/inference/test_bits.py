"""One digest, whoever computes it: the bits are a function of the source and the input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite.binding import get_host_cpu_features

#: It changes with the mathematics, and then `kernels.ARITHMETIC` does, and with the file format.
DIGEST = "e9d1d232c7a59f1dbf64062cfcd07722832a817101ff9bddc4a6a50a37e7de3e"

#: The same where items have effects of their own.
OWN_DIGEST = "3186e16182670293b252e5471f012b50b0c963d6fb8625bd61ac0a6acbee9022"

VARIANTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "warm": ({}, []),
    "one by one": ({}, ["--batch", "1"]),
    "sevens": ({}, ["--batch", "7"]),
    "saved and loaded": ({}, ["--batch", "7", "--snapshot"]),
    "one thread of BLAS": ({"OPENBLAS_NUM_THREADS": "1"}, []),
    "two threads of BLAS": ({"OPENBLAS_NUM_THREADS": "2"}, []),
    "another BLAS": ({"OPENBLAS_CORETYPE": "Prescott"}, []),
}
#: x86-64 without AVX, with AVX2 and FMA, and with AVX-512; with what each must be able to do.
PROCESSORS = {
    "generic": "sse2",
    "haswell": "fma",
    "skylake-avx512": "avx512vl",
    "znver4": "avx512vbmi",
}


def digest(cache: Path | None, variables: dict[str, str], options: list[str]) -> str:
    """What a process of its own finds, with its own compiled kernels unless they are named."""
    own = {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.inference.bits", *options],
        env={**os.environ, **own, **variables},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("variant", VARIANTS)
def test_bits_do_not_depend_on(variant: str) -> None:
    assert digest(None, *VARIANTS[variant]) == DIGEST


@pytest.mark.parametrize("variant", VARIANTS)
def test_bits_of_own_effects_do_not_depend_on(variant: str) -> None:
    variables, options = VARIANTS[variant]
    assert digest(None, variables, [*options, "--own"]) == OWN_DIGEST


@pytest.mark.parametrize("processor", PROCESSORS)
def test_bits_do_not_depend_on_processor(
    processor: str, tmp_path: Path, generic_cache: Path
) -> None:
    """Compiled for it by one process, loaded from the cache by another.

    The generic processor's cache is one for all tests: some kernels may be there already.
    """
    able = PROCESSORS[processor]
    if not get_host_cpu_features().get(able):
        pytest.skip(f"this processor lacks {able}: what is compiled for {processor} cannot run")
    for_it = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    cache = generic_cache if processor == "generic" else tmp_path
    assert digest(cache, for_it, []) == DIGEST
    assert digest(cache, for_it, ["--batch", "7"]) == DIGEST
    assert digest(cache, for_it, ["--own"]) == OWN_DIGEST
