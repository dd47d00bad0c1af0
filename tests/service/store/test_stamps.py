"""A database that is not the one which was written last: another's, or an older copy."""

from __future__ import annotations

from typing import Any

import pytest

from fabcost.service.store.store import Store
from fabcost.wire.errors import StoreAwayError, TakenOverError
from tests.service.store.rows import decision_row, key_row, model_row


def insert(store: Store, decision: str) -> None:
    with store.transaction():
        store.insert_decisions([decision_row(decision)])


def names(store: Store) -> list[str]:
    return [row.decision for row in store.history("news", after=0, limit=9)]


def stamp(store: Store) -> str:
    ((found,),) = store.session.connection.run("SELECT stamp FROM server", {})
    return str(found)


def set_server(store: Store, stamp: str, epoch: int = 1) -> None:
    """As if another database had come to the place of this one."""
    values = {"stamp": stamp, "epoch": epoch}
    store.session.connection.run("UPDATE server SET stamp = :stamp, epoch = :epoch", values)
    if store.session.connection.dialect == "postgres":
        store.session.connection.run("UPDATE replicas SET stamp = :stamp", values)


def check_refused(store: Store) -> None:
    before = names(store)
    with pytest.raises(TakenOverError, match="was replaced"):
        insert(store, "d-7")
    assert not store.append_decisions([decision_row("d-8")])
    with pytest.raises(TakenOverError, match="was replaced"):
        store.reopen()
    assert names(store) == before


class TestStamp:
    def test_of_another_server_of_the_same_epoch(self, store: Store) -> None:
        set_server(store, "another")
        check_refused(store)

    def test_of_an_older_copy(self, store: Store) -> None:
        older = stamp(store)
        insert(store, "d-1")
        set_server(store, older)
        check_refused(store)

    def test_of_an_earlier_epoch(self, store: Store) -> None:
        set_server(store, "another", epoch=0)
        check_refused(store)

    def test_of_nobody(self, store: Store) -> None:
        """As while a backup is being read in."""
        store.session.connection.run("DELETE FROM server", {})
        if store.session.connection.dialect == "postgres":
            store.session.connection.run("DELETE FROM replicas", {})
        check_refused(store)

    def test_changes_with_whatever_is_written(self, store: Store) -> None:
        stamps = [stamp(store)]
        with store.transaction():
            store.put_items("news", 1, [])
        stamps.append(stamp(store))
        with store.transaction():
            store.insert_steps("news", 0, ["{}"])
        stamps.append(stamp(store))
        with store.transaction():
            store.delete_model("shop")
        stamps.append(stamp(store))
        assert len(set(stamps)) == 4

    def test_stays_if_nothing_is_written_or_others_write_keys(self, store: Store) -> None:
        before = stamp(store)
        with store.transaction():
            store.insert_steps("news", 0, [])
        store.append_decisions([decision_row("d-1")])
        store.keys.insert(key_row())
        assert stamp(store) == before

    def test_of_a_transaction_that_was_undone_is_not_ours(self, store: Store) -> None:
        with pytest.raises(ValueError, match="refused"):
            insert_refused(store)
        assert store.append_decisions([decision_row("d-1")])
        insert(store, "d-2")
        store.reopen()
        assert names(store) == ["d-1", "d-2"]


def insert_refused(store: Store) -> None:
    with store.transaction():
        store.insert_model(model_row("more"), None)
        store.insert_decisions([decision_row(model="nothing")])


class TestCommitWhoseEndIsNotHeard:
    @pytest.mark.parametrize("committed", [True, False])
    def test_is_followed_by_more(
        self, store: Store, committed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run = store.session.connection.run

        def lose_the_answer(statement: str, parameters: dict[str, Any]) -> Any:
            if statement != "COMMIT":
                return run(statement, parameters)
            run("COMMIT" if committed else "ROLLBACK", {})
            raise StoreAwayError("the line is dead")

        with monkeypatch.context() as patch:
            patch.setattr(store.session.connection, "run", lose_the_answer)
            with pytest.raises(StoreAwayError, match="dead"):
                insert(store, "d-1")
        store.reopen()
        assert store.append_decisions([decision_row("d-2")])
        insert(store, "d-3")
        assert names(store) == ["d-1"] * committed + ["d-2", "d-3"]


def test_appended_decisions_are_missed(store: Store) -> None:
    store.append_decisions([decision_row("d-1", made=900.5)])
    store.reopen()
    store.session.connection.run("DELETE FROM decisions", {})
    with pytest.raises(TakenOverError, match="was replaced"):
        store.reopen()
