"""Decisions written by one statement, and what is known of those that are not counted yet."""

from __future__ import annotations

import pytest

from fabcost.service.store.store import Store, store_at
from fabcost.wire.errors import TakenOverError
from tests.service.store.rows import decision_row

ROWS = [decision_row(f"d-{number}", made=100.0 + number) for number in range(70)]


def names(store: Store) -> list[str]:
    return [row.decision for row in store.history("news", after=0, limit=2_000)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 64, 65, 70])
def test_all_are_there_in_order(store: Store, count: int) -> None:
    assert store.append_decisions(ROWS[:count])
    assert names(store) == [row.decision for row in ROWS[:count]]


def test_more_than_one_statement_holds(store: Store) -> None:
    rows = [decision_row(f"d-{number:04}") for number in range(1_100)]
    assert store.append_decisions(rows)
    assert names(store) == [row.decision for row in rows]


def test_one_that_is_there_stays_as_it_was(store: Store) -> None:
    assert store.append_decisions([decision_row("d-1", item="ad-1")])
    assert not store.append_decisions([decision_row("d-1", item="ad-2"), decision_row("d-2")])
    found = store.find_decisions([("news", "d-1"), ("news", "d-2")])
    assert {key[1]: row.item for key, row in found.items()} == {"d-1": "ad-1", "d-2": "ad-1"}


def test_an_unknown_model_is_refused_and_nothing_written(store: Store) -> None:
    with pytest.raises(ValueError, match="refused"):
        store.append_decisions([decision_row("d-1"), decision_row("d-2", model="nothing")])
    assert names(store) == []
    assert store.append_decisions([decision_row("d-1")])


def test_a_server_of_an_earlier_epoch_writes_nothing(store: Store, store_address: str) -> None:
    second = store_at(store_address)
    second.open(take_over=True)
    assert not store.append_decisions([decision_row("d-1")])
    assert second.append_decisions([decision_row("d-2")])
    assert names(second) == ["d-2"]
    second.close()


def test_not_without_taking_over_nor_within_a_transaction(store: Store, store_address: str) -> None:
    reader = store_at(store_address)
    reader.open(take_over=False)
    with pytest.raises(TakenOverError, match="may only read"):
        reader.append_decisions([decision_row("d-1")])
    reader.close()
    with pytest.raises(RuntimeError, match="nested"), store.transaction():
        store.append_decisions([decision_row("d-1")])
    assert names(store) == []


def test_those_not_counted_are_known(store: Store, store_address: str) -> None:
    store.append_decisions(ROWS[:2])
    with store.transaction():
        store.insert_decisions([decision_row("other", model="shop")])
    assert [row.decision for row in store.uncounted()] == ["d-0", "d-1", "other"]
    with store.transaction():
        store.mark_counted()
    assert store.uncounted() == []
    store.append_decisions(ROWS[2:3])
    again = store_at(store_address)
    again.open(take_over=True)
    left = again.uncounted(again.session.dead())
    assert [row.decision for row in left] == ["d-2"]
    again.close()


def test_their_time_is_not_forgotten(store: Store, store_address: str) -> None:
    store.append_decisions([decision_row("d-1", made=900.5)])
    again = store_at(store_address)
    again.open(take_over=False)
    assert again.latest_time() == 900.5
    with store.transaction():
        store.mark_counted()
    assert again.latest_time() == 900.5
    again.close()


def test_time_of_a_row_that_was_there_is_not_expected(store: Store) -> None:
    assert store.append_decisions([decision_row("d-1", made=100.5)])
    with store.transaction():
        store.mark_counted()
    assert not store.append_decisions([decision_row("d-1", made=900.5)])
    store.reopen()
    assert store.latest_time() == 100.5
