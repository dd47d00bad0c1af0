"""Processors other than the one that is here, for which kernels are compiled to compare bits."""

from __future__ import annotations

from pathlib import Path

from llvmlite.binding import get_host_cpu_features

#: One for each kind of arithmetic of x86-64, with what such a one can do: plain, AVX2, AVX-512.
KINDS = {"generic": "sse2", "haswell": "fma", "skylake-avx512": "avx512vl"}


def known() -> list[str]:
    """Whose code can run here, the plainest first; the last is of the kind that is here."""
    able = get_host_cpu_features()
    return [name for name, needed in KINDS.items() if able.get(needed)]


def compiled_for(processor: str, cache: Path) -> dict[str, str]:
    """The variables of processes whose kernels are compiled for it."""
    name = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    return {**name, "NUMBA_CACHE_DIR": str(cache)}
