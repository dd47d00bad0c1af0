"""What the library takes before and beside its work: memory and import time."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator

from fabcost.inference import ep
from studies.claims import Claim
from studies.inference.workloads import Workload

_IMPORTS = 5
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def peak_memory(work: Workload) -> Iterator[Claim]:
    """Peak of what EP allocates, by the allocator's own count; the input is not part of it."""
    tracemalloc.start()
    ep.fit(work.prior, work.X, work.y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    detail = f"{peak:,} bytes beside X of {work.X.nbytes:,}"
    what = f"EP over {len(work.y):,} rows: peak memory beside its input, in copies of X"
    yield Claim(what, peak / work.X.nbytes, "at most", 1.0, detail, unit="")


def import_time() -> Iterator[Claim]:
    _import_seconds()
    taken = [_import_seconds() for _ in range(_IMPORTS)]
    detail = f"wall time in a new process, from {min(taken):.2f} to {max(taken):.2f} s"
    yield Claim("import fabcost", statistics.median(taken), "at most", 1.0, detail, unit=" s")


def _import_seconds() -> float:
    command = [sys.executable, "-c", "import fabcost"]
    start = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | _ONE_THREAD)  # noqa: S603
    return time.perf_counter() - start
