"""How the whole suite runs: which examples, what is compiled first, what is said of skips.

Examples of property tests are the same each time; ``FABCOST_EXPLORE=1`` looks for new ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# How long examples take is the machine's business.
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", slow, derandomize=True)
settings.register_profile("explore", slow, print_blob=True)
settings.load_profile("explore" if os.environ.get("FABCOST_EXPLORE") == "1" else "same")

WARM_UP = "import asyncio; from fabcost.service import server; asyncio.run(server.warm_up())"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """One more than there are processors: while tests wait for servers, others run."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (given or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels before there are workers, which would all do so at once."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        sys.stderr.write("the kernels, compiled once for this machine: ")
        sys.stderr.flush()
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", WARM_UP], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.exit(f"they cannot be compiled\n{done.stderr}", returncode=1)
        sys.stderr.write(f"{time.monotonic() - started:.0f} s\n")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why tests were skipped, each reason once."""
    reasons = Counter(reason(each) for each in terminalreporter.stats.get("skipped", []))
    if reasons:
        terminalreporter.section("not tested here")
    for each, many in reasons.most_common():
        terminalreporter.write_line(f"{many:4} {each}")


def reason(skipped: pytest.TestReport | pytest.CollectReport) -> str:
    told = skipped.longrepr[2] if isinstance(skipped.longrepr, tuple) else str(skipped.longrepr)
    return told.removeprefix("Skipped: ")
