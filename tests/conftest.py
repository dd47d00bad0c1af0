"""How the whole suite runs: which examples, which files first, what is said of skips.

Examples of property tests are the same each time; ``FABCOST_EXPLORE=1`` looks for new ones.
"""

from __future__ import annotations

import gc
import ssl
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import EXPLORES, examples

# How long examples take is the machine's business.
slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", slow, derandomize=True, max_examples=examples(150))
settings.register_profile("explore", slow, print_blob=True)
settings.load_profile("explore" if EXPLORES else "same")

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


def pytest_configure() -> None:
    """Nothing that is collected is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is there for all tests is not looked through again with the garbage of each."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first; a process takes one file after the other."""
    if config.getoption("forks", 0) or hasattr(config, "workerinput"):
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
