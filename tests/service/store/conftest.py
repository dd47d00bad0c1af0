from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabcost.service.store.store import Store, store_at
from tests.service.store.rows import model_row


@pytest.fixture
def store(store_address: str) -> Iterator[Store]:
    """An open store of each kind with the models "news" and "shop"."""
    store = store_at(store_address)
    store.open(take_over=True)
    with store.transaction():
        store.insert_model(model_row(), None)
        store.insert_model(model_row("shop"), b"\x00learner\xff")
    yield store
    store.close()
