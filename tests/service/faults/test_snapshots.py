"""Snapshots that are spoilt: an older one serves, or the log alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from fabcost import archive
from fabcost.service.learning.recovery import FORMAT
from fabcost.service.service import Service
from fabcost.service.store.store import store_at
from tests.service.core.running import cars, serving, shown, told
from tests.service.faults.ledger import reading, rebuilt_digest
from tests.service.faults.visitors import MODEL


def computed_otherwise(content: bytes) -> bytes:
    """As the version before wrote it, whose sums had another order."""
    settings, arrays = archive.unpack(FORMAT, content, "the snapshot")
    del settings["arithmetic"]
    arrays["mean"] = np.nextafter(arrays["mean"], 1.0)
    return archive.pack(FORMAT, settings, arrays)


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "other": lambda _: b"a letter to a friend",
    "cut": lambda content: content[: len(content) // 2],
    "changed": lambda content: content[:-9] + bytes([content[-9] ^ 4]) + content[-8:],
    "computed otherwise": computed_otherwise,
    "newer": lambda content: content.replace(b"snapshot 1", b"snapshot 9", 1),
}


async def learn(service: Service, first: int, last: int) -> None:
    for k in range(first, last):
        await shown(service, f"d{k}")
        assert await told(service, f"d{k}", float(k % 3 == 0)) == "applied"


def served_twice(address: str) -> tuple[int, str]:
    """Two lives of a server that each end with a snapshot; the posterior after them."""

    async def main() -> tuple[int, str]:
        async with serving(address) as service:
            await cars(service)
            await learn(service, 0, 25)
        async with serving(address) as service:
            await learn(service, 25, 45)
            posterior = service.posterior(MODEL)
            return posterior.impressions, posterior.digest

    return asyncio.run(main())


def spoil(address: str, kind: str, count: int) -> None:
    """Spoil the newest snapshots."""
    store = store_at(address)
    store.open(take_over=True)
    numbers = store.snapshot_numbers(MODEL)
    assert numbers == [45, 25]
    contents = {lsn: store.snapshot(MODEL, lsn) for lsn in numbers}
    with store.transaction():
        for place, lsn in enumerate(sorted(numbers), start=1):
            is_spoilt = place > len(numbers) - count
            content = SPOILT[kind](contents[lsn]) if is_spoilt else contents[lsn]
            store.put_snapshot(MODEL, lsn, 0.0, content)
    store.close()


@pytest.mark.parametrize(
    ("kind", "count"), [*((kind, 1) for kind in SPOILT), ("computed otherwise", 2)]
)
def test_spoilt_snapshots(store_address: str, kind: str, count: int) -> None:
    before = served_twice(store_address)
    spoil(store_address, kind, count)
    complaints: list[str] = []

    async def main() -> tuple[int, str]:
        async with serving(store_address, tell=complaints.append) as service:
            found = service.posterior(MODEL)
            await learn(service, 45, 50)
            return found.impressions, found.digest

    assert asyncio.run(main()) == before
    assert len(complaints) == count
    assert all("is left out" in each for each in complaints)
    with reading(store_address) as store:
        assert store.snapshot_numbers(MODEL)[0] == 50
    assert rebuilt_digest(store_address)[0] == 50
