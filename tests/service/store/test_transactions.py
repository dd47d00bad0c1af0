from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from fabcost.service.store.store import Store, store_at
from fabcost.wire.errors import StoreAwayError, TakenOverError
from tests.service.store.rows import decision_row, feedback_row, key_row, model_row, resolution


@pytest.fixture
def second(store: Store, store_address: str) -> Iterator[Store]:
    """Another connection to the same database, not yet open."""
    second = store_at(store_address)
    yield second
    second.close()


def insert(store: Store, model: str) -> None:
    with store.transaction():
        store.insert_model(model_row(model), None)


def insert_some_refused(store: Store) -> None:
    with store.transaction():
        store.insert_decisions([decision_row()])
        store.insert_feedback([feedback_row(model="nothing")])


def hide_a_failure(store: Store) -> None:
    with store.transaction():
        store.insert_decisions([decision_row()])
        with pytest.raises(ValueError, match="refused"):
            store.insert_feedback([feedback_row(model="nothing")])
        with pytest.raises(RuntimeError, match="outside a transaction"):
            store.insert_decisions([decision_row("d-2")])


def names(store: Store) -> list[str]:
    return [row.model for row in store.models()]


class TestTransaction:
    def test_is_all_or_nothing(self, store: Store) -> None:
        with suppress(KeyError), store.transaction():
            store.insert_decisions([decision_row(made=500.0)])
            store.update_model("news", "{}", 600.0)
            raise KeyError
        assert store.models()[0] == model_row()
        assert store.pending("news") == 0
        assert store.latest_time() == 11.0
        insert(store, "after")
        assert names(store) == ["after", "news", "shop"]

    def test_refused_rows_undo_the_rest(self, store: Store) -> None:
        with pytest.raises(ValueError, match="refused"):
            insert_some_refused(store)
        assert store.pending("news") == 0

    def test_does_not_survive_a_hidden_failure(self, store: Store) -> None:
        with pytest.raises(RuntimeError, match="nothing was written"):
            hide_a_failure(store)
        assert store.pending("news") == 0

    def test_is_seen_by_others_when_it_ends(self, store: Store, second: Store) -> None:
        second.open(take_over=False)
        with store.transaction():
            store.insert_model(model_row("more"), None)
            assert names(second) == ["news", "shop"]
        assert names(second) == ["more", "news", "shop"]

    def test_is_needed_for_writing(self, store: Store) -> None:
        with pytest.raises(RuntimeError, match="outside a transaction"):
            store.insert_decisions([decision_row()])
        with pytest.raises(RuntimeError, match="outside a transaction"):
            store.delete_model("news")
        assert names(store) == ["news", "shop"]

    def test_does_not_nest(self, store: Store) -> None:
        with pytest.raises(RuntimeError, match="cannot be nested"), store.transaction():
            insert(store, "inner")
        insert(store, "after")

    def test_may_come_from_another_thread(self, store: Store) -> None:
        thread = threading.Thread(target=insert, args=(store, "other"))
        thread.start()
        thread.join()
        assert "other" in names(store)


class TestEpoch:
    def test_the_newest_server_writes(self, store: Store, second: Store) -> None:
        second.open(take_over=True)
        with pytest.raises(TakenOverError, match="epoch 2 .* of epoch 1"):
            insert(store, "old")
        insert(second, "new")
        assert names(store) == ["new", "news", "shop"]

    def test_is_checked_when_opened_again(self, store: Store, second: Store) -> None:
        store.reopen()
        insert(store, "mine")
        second.open(take_over=True)
        with pytest.raises(TakenOverError):
            store.reopen()
        insert(second, "new")

    def test_without_taking_over_only_keys_are_written(self, store: Store, second: Store) -> None:
        second.open(take_over=False)
        with pytest.raises(TakenOverError, match="may only read"):
            insert(second, "new")
        second.keys.insert(key_row())
        assert store.keys.all() == [key_row()]
        insert(store, "mine")

    def test_taking_over_waits_for_a_running_transaction(self, store: Store, second: Store) -> None:
        taking = threading.Thread(target=second.open, kwargs={"take_over": True})
        with store.transaction():
            taking.start()
            taking.join(0.3)
            assert taking.is_alive()
            store.insert_model(model_row("last"), None)
        taking.join()
        assert "last" in names(second)
        with pytest.raises(TakenOverError):
            insert(store, "too late")


class TestTime:
    def test_is_the_latest_written(self, store: Store, second: Store) -> None:
        assert store.latest_time() == 11.0
        with store.transaction():
            store.insert_decisions([decision_row("d-1", made=50.5), decision_row("d-2", made=20.0)])
        assert store.latest_time() == 50.5
        with store.transaction():
            store.resolve([resolution("d-1", resolved=60.25)])
            store.insert_feedback([feedback_row("d-2", received=60.125)])
        assert store.latest_time() == 60.25
        with store.transaction():
            store.insert_feedback([feedback_row("d-3", received=30.0)])
        second.open(take_over=True)
        assert second.latest_time() == 60.25

    def test_of_a_new_database_is_zero(self, store_address: str) -> None:
        store = store_at(store_address)
        store.open(take_over=True)
        assert store.latest_time() == 0.0
        store.close()


def test_closing_twice_is_harmless(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreAwayError, match="not open"):
        store.models()
    store.reopen()
    assert names(store) == ["news", "shop"]
