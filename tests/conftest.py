"""How the whole suite runs: which examples, what is compiled first, what is said of skips.

Examples of property tests are the same each time; ``FABCOST_EXPLORE=1`` looks for new ones.
"""

from __future__ import annotations

import gc
import os
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import EXPLORES, examples

# How long examples take is the machine's business.
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", slow, derandomize=True, max_examples=examples(150))
settings.register_profile("explore", slow, print_blob=True)
settings.load_profile("explore" if EXPLORES else "same")

ROOT = Path(__file__).parents[1]
CORE = Path(__file__).parent / "service" / "core"


#: Files that take longest, the longest first: begun last, one would keep all waiting.
LONGEST = (
    "service/faults/test_cold_starts.py",
    "service/faults/test_kills.py",
    "paper/test_command.py",
    "docs/test_site.py",
    "service/faults/test_replaced.py",
    "docs/test_pages.py",
    "offline/test_replay_command.py",
    "test_wheel.py",
    "service/dashboard/test_page.py",
    "service/dashboard/test_reference.py",
    "bandit/test_bandit.py",
    "offline/fit/test_engines.py",
    "inference/test_compilation.py",
    "service/dashboard/test_connection.py",
    "test_package.py",
    "service/core/test_sharing.py",
    "demo/test_demo.py",
    "service/faults/test_backlog.py",
    "service/faults/test_postgres_away.py",
    "inference/test_bits.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Four more than there are processors: while tests wait for servers, others run."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (given or 1) + 4


def pytest_configure(config: pytest.Config) -> None:
    """Compile kernels and sources before there are workers, which would all do so at once."""
    gc.disable()  # nothing that is collected is garbage
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        sys.stderr.write("the kernels, compiled once for this machine: ")
        sys.stderr.flush()
        started = time.monotonic()
        with reading_sources():
            compile_kernels()
        sys.stderr.write(f"{time.monotonic() - started:.0f} s\n")


@contextmanager
def reading_sources() -> Iterator[None]:
    """If no tests ran here before, read them all meanwhile, which leaves their bytecode."""
    nothing, folder = subprocess.DEVNULL, Path(__file__).parent / "docs"
    if sys.dont_write_bytecode or Path(cache_from_source(str(folder / "of.py"))).parent.exists():
        yield
        return
    # What is wrong with them is said by the workers.
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-n0"]
    with subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing):
        yield


def compile_kernels() -> None:
    command = [sys.executable, "-m", "tests.warm"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.exit(f"they cannot be compiled\n{done.stderr}", returncode=1)


def pytest_collection_finish() -> None:
    """What is there for all tests is not looked through again with the garbage of each."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first; a worker takes one file after the other."""
    if hasattr(config, "workerinput"):
        items[:] = [item for item in items if EXPLORES or not is_tried_on_another_store(item)]
        places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
        items.sort(key=lambda item: places.get(item.path, len(places)))


def is_tried_on_another_store(item: pytest.Item) -> bool:
    """A service's settings take turns on the stores: what is learnt knows nothing of where it is.

    Whatever has no settings beside the store, and all faults, are tried on each.
    """
    indices = dict(item.callspec.indices) if hasattr(item, "callspec") else {}
    store = indices.pop("store_address", None)
    if store is None or not indices or item.path.parent != CORE:
        return False
    return bool((store + next(iter(indices.values()))) % 2)


@pytest.fixture(scope="session", autouse=True)
def one_list_of_authorities() -> Iterator[None]:
    """Each client of httpx would read all certificates again, which takes 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


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
