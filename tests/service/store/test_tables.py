from __future__ import annotations

import pytest

from fabcost.service.store.rows import (
    AppliedRow,
    CalibrationRow,
    CountRow,
    ItemRow,
    TallyRow,
)
from fabcost.service.store.store import Store
from fabcost.wire.errors import AlreadyThereError, TakenOverError, UnknownModelError
from tests.service.store.rows import (
    decision_row,
    feedback_row,
    model_row,
    resolution,
)


class TestModels:
    def test_are_kept(self, store: Store) -> None:
        assert store.models() == [model_row(), model_row("shop")]
        assert store.model_base("shop") == b"\x00learner\xff"
        assert store.model_base("news") is None
        assert store.model_base("nothing") is None

    def test_name_is_taken_once(self, store: Store) -> None:
        with pytest.raises(AlreadyThereError), store.transaction():
            store.insert_model(model_row(settings="other"), None)
        assert store.models()[0] == model_row()

    def test_settings_change(self, store: Store) -> None:
        with store.transaction():
            store.update_model("news", "{}", 12.5)
        assert store.models()[0] == model_row(settings="{}", edited=12.5)
        with pytest.raises(UnknownModelError), store.transaction():
            store.update_model("nothing", "{}", 13.0)

    def test_head_is_compared_and_swapped(self, store: Store) -> None:
        with store.transaction():
            store.advance("news", head=0, to=3)
        with pytest.raises(TakenOverError, match="does not end at 0"), store.transaction():
            store.advance("news", head=0, to=5)
        assert [row.head_lsn for row in store.models()] == [3, 0]

    def test_deleting_takes_everything_along(self, store: Store) -> None:
        fill(store)
        with store.transaction():
            store.delete_model("news")
        assert [row.model for row in store.models()] == ["shop"]
        with store.transaction():
            store.insert_model(model_row(), None)
        assert store.steps("news") == []
        assert store.items("news") == []
        assert store.find_decisions([("news", "d-1")]) == {}
        assert store.find_feedback([("news", "d-1")]) == []
        assert store.snapshot_numbers("news") == []
        assert store.counts.minutes("news", since=0.0) == []
        assert store.counts.calibration("news") == []
        assert store.counts.tallies("news", limit=9) == []

    def test_steps_come_once_and_in_order(self, store: Store) -> None:
        with store.transaction():
            store.insert_steps("news", 1, ["b", "c"])
            store.insert_steps("news", 0, ["a", "not b"])
            store.insert_steps("shop", 0, ["z"])
            store.insert_steps("shop", 1, [])
        assert store.steps("news") == ["a", "b", "c"]


def fill(store: Store) -> None:
    with store.transaction():
        store.insert_steps("news", 0, ["a"])
        store.put_items("news", 1, [ItemRow("ad-1", "{}")])
        store.insert_decisions([decision_row()])
        store.insert_feedback([feedback_row()])
        store.put_snapshot("news", 0, 1.0, b"state")
        sums = (0.0, 0.5, 0.0, 0.0, 0.0)
        store.counts.add(minutes=[CountRow("news", 60.0, "bandit", 1, 0, 0, *sums)])
        store.counts.add(calibration=[CalibrationRow("news", 3, 1, 0.25, 0, 0.0)])
        store.counts.add(tallies=[TallyRow("news", "ad-1", 1, 1, 1, 0.5, 0.5)])


class TestCatalogues:
    def test_replaced_items_keep_their_place(self, store: Store) -> None:
        with store.transaction():
            store.put_items("news", 1, [ItemRow("z", "1"), ItemRow("a", "2")])
            store.put_items("news", 2, [ItemRow("m", "3"), ItemRow("z", "4"), ItemRow("b", "5")])
            store.put_items("shop", 7, [ItemRow("z", "6")])
        assert store.items("news") == [
            ItemRow("z", "4"),
            ItemRow("a", "2"),
            ItemRow("m", "3"),
            ItemRow("b", "5"),
        ]
        assert [row.catalogue_version for row in store.models()] == [2, 7]

    def test_the_last_of_equal_ids_counts(self, store: Store) -> None:
        with store.transaction():
            store.put_items("news", 1, [ItemRow("a", "1"), ItemRow("b", "2"), ItemRow("a", "3")])
        assert store.items("news") == [ItemRow("a", "3"), ItemRow("b", "2")]

    def test_items_are_removed(self, store: Store) -> None:
        with store.transaction():
            store.put_items("news", 1, [ItemRow(name, "{}") for name in "abc"])
            store.put_items("shop", 1, [ItemRow("a", "{}")])
            store.delete_items("news", 2, {"a", "c", "not there"})
            store.put_items("news", 3, [ItemRow("a", "{}")])
        assert [row.item for row in store.items("news")] == ["b", "a"]
        assert [row.item for row in store.items("shop")] == ["a"]

    def test_what_each_version_had_stays_known(self, store: Store) -> None:
        with store.transaction():
            store.put_items("news", 1, [ItemRow(name, "{}") for name in "abc"])
            store.delete_items("news", 2, ["c"])
            store.put_items("news", 3, [ItemRow("d", "{}"), ItemRow("a", "other")])
            store.delete_items("news", 5, ["a", "d"])
            store.put_items("news", 6, [ItemRow("c", "{}"), ItemRow("a", "{}")])
            store.delete_items("news", 7, ["c"])
        had = ["".join(store.listed_items("news", version)) for version in range(8)]
        assert had == ["", "abc", "ab", "abd", "abd", "b", "bca", "ba"]

    def test_many_items_at_once(self, store: Store) -> None:
        items = [ItemRow(f"item {number}", str(number)) for number in range(2_500)]
        with store.transaction():
            store.put_items("news", 1, items)
        assert store.items("news") == items


class TestDecisions:
    def test_are_inserted_once(self, store: Store) -> None:
        with store.transaction():
            first = store.insert_decisions([decision_row("d-1"), decision_row("d-2")])
            again = store.insert_decisions(
                [decision_row("d-2", item="other"), decision_row("d-2", model="shop")]
            )
            assert store.insert_decisions([]) == set()
        assert first == {("news", "d-1"), ("news", "d-2")}
        assert again == {("shop", "d-2")}
        found = store.find_decisions([("news", "d-2"), ("shop", "d-2"), ("shop", "d-1")])
        assert found.keys() == {("news", "d-2"), ("shop", "d-2")}
        assert found["news", "d-2"].item == "ad-1"
        assert store.find_decisions([]) == {}

    def test_the_first_of_equal_ids_counts(self, store: Store) -> None:
        rows = [decision_row(item="first"), decision_row(item="second")]
        with store.transaction():
            assert store.insert_decisions(rows) == {("news", "d-1")}
        assert store.find_decisions([("news", "d-1")])["news", "d-1"].item == "first"

    def test_come_back_as_they_were(self, store: Store) -> None:
        row = decision_row(active=False, learns=True, click_value=2.5, cost=-0.125)
        with store.transaction():
            store.insert_decisions([row])
        stored = store.find_decisions([("news", "d-1")])["news", "d-1"]
        assert stored[:12] == row
        assert stored[13:] == (None, None, None, None, None)
        assert (stored.active, stored.learns) == (False, True)
        assert isinstance(stored.active, bool)
        assert isinstance(stored.learns, bool)

    def test_seq_follows_the_batch(self, store: Store) -> None:
        names = [f"d-{(number * 7) % 100}" for number in range(100)]
        with store.transaction():
            store.insert_decisions([decision_row(name) for name in names])
        history = store.history("news", after=0, limit=200)
        assert [row.decision for row in history] == names
        assert sorted(row.seq for row in history) == [row.seq for row in history]

    def test_pages(self, store: Store) -> None:
        with store.transaction():
            store.insert_decisions([decision_row(f"d-{number}") for number in range(5)])
            store.insert_decisions([decision_row("other", model="shop")])
        newest = store.recent("news", limit=2, before=None)
        assert [row.decision for row in newest] == ["d-4", "d-3"]
        older = store.recent("news", limit=9, before=newest[-1].seq)
        assert [row.decision for row in older] == ["d-2", "d-1", "d-0"]
        oldest = store.history("news", after=0, limit=2)
        assert [row.decision for row in oldest] == ["d-0", "d-1"]
        later = store.history("news", after=oldest[-1].seq, limit=9)
        assert [row.decision for row in later] == ["d-2", "d-3", "d-4"]

    def test_deferred_ones_are_activated_once(self, store: Store) -> None:
        keys = [("news", "deferred"), ("news", "gone"), ("news", "active"), ("news", "none")]
        with store.transaction():
            store.insert_decisions(
                [
                    decision_row("deferred", active=False),
                    decision_row("gone", active=False),
                    decision_row("active"),
                ]
            )
            store.resolve([resolution("gone", outcome="discarded", value=None, label=None)])
            assert store.activate(keys) == 1
            assert store.activate(keys) == 0
        found = store.find_decisions(keys)
        active = {row.decision: row.active for row in found.values()}
        assert active == {"deferred": True, "gone": False, "active": True}

    def test_are_resolved_once(self, store: Store) -> None:
        with store.transaction():
            store.insert_decisions([decision_row("d-1"), decision_row("d-2")])
            assert store.resolve([resolution("d-1", lsn=1), resolution("none", lsn=2)]) == 1
            late = resolution("d-1", resolved=900.0, outcome="expired", value=0.0, label=0)
            assert store.resolve([late]) == 0
        found = store.find_decisions([("news", "d-1"), ("news", "d-2")])
        assert found["news", "d-1"][13:] == (200.0, "feedback", 1.0, 1, 1)
        assert found["news", "d-2"].resolved is None

    def test_due_ones_come_by_deadline(self, store: Store) -> None:
        deadlines = {"late": 30.0, "soon": 10.0, "now": 20.0, "now too": 20.0, "later": 20.5}
        with store.transaction():
            store.insert_decisions(
                [decision_row(name, deadline=time) for name, time in deadlines.items()]
            )
            store.insert_decisions([decision_row("soonest", model="shop", deadline=1.0)])
            store.insert_decisions([decision_row("resolved", deadline=1.0)])
            store.resolve([resolution("resolved")])
        due = store.due(20.0, 10)
        assert [row.decision for row in due] == ["soonest", "soon", "now", "now too"]
        assert store.due(20.0, 2) == due[:2]
        assert store.pending("news") == 5
        assert store.pending("shop") == 1


class TestLog:
    def test_is_read_in_order(self, store: Store) -> None:
        with store.transaction():
            store.insert_decisions(
                [decision_row(f"d-{n}", features=str(n), item=f"ad-{n}") for n in range(6)]
            )
            store.insert_decisions([decision_row("d-0", model="shop")])
            order = [4, 2, 0, 5, 1]
            store.resolve(
                [
                    resolution(f"d-{n}", lsn=lsn, label=n % 2, value=n / 8)
                    for lsn, n in enumerate(order, 1)
                ]
            )
            store.resolve([resolution("d-0", model="shop", lsn=1)])
        made = decision_row("d-0").made
        whole = [
            AppliedRow(k, str(n), n % 2, f"ad-{n}", made, n / 8) for k, n in enumerate(order, 1)
        ]
        assert list(store.log("news", after=0, to=5)) == whole
        assert list(store.log("news", after=1, to=4)) == whole[1:4]
        assert list(store.log("news", after=5, to=5)) == []

    def test_is_read_page_by_page(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fabcost.service.store.store._PAGE", 2)
        names = [f"d-{n}" for n in range(5)]
        with store.transaction():
            store.insert_decisions([decision_row(name) for name in names])
            store.resolve([resolution(name, lsn=lsn) for lsn, name in enumerate(names, 1)])
        assert [row.lsn for row in store.log("news", after=0, to=5)] == [1, 2, 3, 4, 5]

    def test_numbers_an_impression_once(self, store: Store) -> None:
        with store.transaction():
            store.insert_decisions([decision_row("d-1"), decision_row("d-2")])
        with pytest.raises(ValueError, match="refused a row"), store.transaction():
            store.resolve([resolution("d-1", lsn=1), resolution("d-2", lsn=1)])
        assert store.pending("news") == 2

    def test_two_snapshots_stay(self, store: Store) -> None:
        with store.transaction():
            for lsn in (1, 2, 3):
                store.put_snapshot("news", lsn, 1.0, bytes([lsn, 0, 255]))
            store.put_snapshot("news", 3, 2.0, b"better")
            store.put_snapshot("shop", 1, 1.0, b"")
        assert [(lsn, store.snapshot("news", lsn)) for lsn in store.snapshot_numbers("news")] == [
            (3, b"better"),
            (2, b"\x02\x00\xff"),
        ]
        assert store.snapshot("shop", 1) == b""

    def test_later_snapshots_go(self, store: Store) -> None:
        """They could not be read, or the learner would not have gone on from an earlier one."""
        with store.transaction():
            for lsn in (1, 8, 9, 3):
                store.put_snapshot("news", lsn, 1.0, b"state")
        assert store.snapshot_numbers("news") == [3]
        with pytest.raises(KeyError):
            store.snapshot("news", 9)
