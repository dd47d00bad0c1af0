from __future__ import annotations

import pytest

from fabcost.service.store.rows import CalibrationRow, CountRow, TallyRow
from fabcost.service.store.store import KEPT_FEEDBACK, Store
from tests.service.store.rows import feedback_row, key_row


class TestFeedback:
    def test_is_kept_once_and_in_order(self, store: Store) -> None:
        first = feedback_row(key="z", value=0.5)
        with store.transaction():
            store.insert_feedback([first, feedback_row(key="z", value=9.0)])
            store.insert_feedback([feedback_row(key="a"), feedback_row("d-2")])
            store.insert_feedback([feedback_row(key="z", value=8.0)])
        assert store.find_feedback([("news", "d-1"), ("news", "d-1")]) == [
            first,
            feedback_row(key="a"),
        ]
        assert store.find_feedback([]) == []

    def test_parked_is_found_and_settled(self, store: Store) -> None:
        with store.transaction():
            store.insert_feedback([feedback_row("early", status="parked"), feedback_row("d-1")])
            store.insert_feedback([feedback_row("early", status="late", key="2")])
            store.insert_feedback([feedback_row("wait", status="parked", model="shop")])
        assert store.parked() == {("news", "early"), ("shop", "wait")}
        with store.transaction():
            store.set_feedback_status(
                [
                    feedback_row("early", status="recorded"),
                    feedback_row("early", status="recorded", key="2"),
                    feedback_row("d-1", status="recorded"),
                ]
            )
        assert store.parked() == {("shop", "wait")}
        assert store.feedback_counts("news") == {"applied": 1, "late": 1, "recorded": 1}

    def test_parked_rows_of_one_decision_are_settled_one_by_one(self, store: Store) -> None:
        rows = [feedback_row("early", status="parked", key=key) for key in "ab"]
        with store.transaction():
            store.insert_feedback(rows)
            store.set_feedback_status([rows[1]._replace(status="duplicate")])
        found = store.find_feedback([("news", "early")])
        assert [row.status for row in found] == ["parked", "duplicate"]

    def test_parked_is_dropped(self, store: Store) -> None:
        with store.transaction():
            store.insert_feedback(
                [feedback_row(f"d-{n}", status="parked", received=float(n)) for n in range(4)]
            )
            store.insert_feedback([feedback_row("applied", received=0.0)])
            assert store.drop_parked(2.0) == {("news", "d-0"), ("news", "d-1")}
        assert store.parked() == {("news", "d-2"), ("news", "d-3")}
        assert store.feedback_counts("news") == {"applied": 1, "parked": 2}

    def test_parked_that_is_left_is_not_dropped(self, store: Store) -> None:
        early = feedback_row("d", status="parked", received=1.0)
        with store.transaction():
            store.insert_feedback([early, early._replace(key="later", received=5.0)])
            assert store.drop_parked(2.0) == set()
            assert store.drop_parked(6.0) == {("news", "d")}
        assert store.parked() == set()

    def test_statuses_are_found_by_key(self, store: Store) -> None:
        with store.transaction():
            store.insert_feedback([feedback_row(key=key, status=f"is {key}") for key in "abc"])
        asked = [("news", "d-1", "b"), ("news", "d-1", "x"), ("shop", "d-1", "a")]
        assert store.answered(asked) == {("news", "d-1", "b"): ("is b", 1.0)}

    def test_how_much_is_kept_is_counted_so_far(self, store: Store) -> None:
        many = KEPT_FEEDBACK + 5
        with store.transaction():
            store.insert_feedback([feedback_row("few", key=key) for key in "ab"])
            store.insert_feedback([feedback_row("many", key=str(k)) for k in range(many)])
        asked = [("news", "few"), ("news", "many"), ("news", "none")]
        counted = store.kept_feedback(asked)
        assert [counted[key] for key in asked] == [2, KEPT_FEEDBACK, 0]


class TestCounts:
    def test_are_added(self, store: Store) -> None:
        row = CountRow("news", 60.0, "bandit", 3, 2, 1, 0.5, 0.25, 0.75, 0.5, 2.5)
        with store.transaction():
            store.counts.add(minutes=[row, row._replace(arm="baseline"), row])
            store.counts.add(minutes=[row._replace(start=0.0), row, row._replace(model="shop")])
        assert store.counts.minutes("news", since=60.0) == [
            CountRow("news", 60.0, "bandit", 9, 6, 3, 1.5, 0.75, 2.25, 1.5, 7.5),
            row._replace(arm="baseline"),
        ]
        assert store.counts.minutes("news", since=0.0)[0] == row._replace(start=0.0)

    def test_calibration_is_added(self, store: Store) -> None:
        row = CalibrationRow("news", 2, 4, 0.5, 1, 0.5)
        with store.transaction():
            store.counts.add(calibration=[row, row._replace(bin=-1)])
            store.counts.add(calibration=[row, row])
        assert store.counts.calibration("news") == [
            row._replace(bin=-1),
            CalibrationRow("news", 2, 12, 1.5, 3, 1.5),
        ]

    def test_tallies_are_added(self, store: Store) -> None:
        rows = [
            TallyRow("news", name, count, 1, 0, 0.0, -0.5) for name, count in [("a", 1), ("b", 3)]
        ]
        with store.transaction():
            store.counts.add(tallies=[*rows, TallyRow("news", "c", 2, 2, 2, 1.0, 3.0)])
            store.counts.add(tallies=rows)
        assert store.counts.tallies("news", limit=2) == [
            TallyRow("news", "b", 6, 2, 0, 0.0, -1.0),
            TallyRow("news", "a", 2, 2, 0, 0.0, -1.0),
        ]


class TestKeys:
    def test_are_kept_and_revoked(self, store: Store) -> None:
        mine, other = key_row(), key_row("k-2", model="news", created=6.0)
        store.keys.insert(other)
        store.keys.insert(mine)
        assert store.keys.all() == [mine, other]
        assert store.keys.revoke("k-1", 9.0)
        assert not store.keys.revoke("k-1", 10.0)
        assert not store.keys.revoke("nothing", 10.0)
        assert store.keys.all() == [mine._replace(revoked=9.0), other]

    def test_id_is_taken_once(self, store: Store) -> None:
        store.keys.insert(key_row())
        for changes in ({"name": "other"}, {"digest": "cd" * 32}, {"roles": "admin"}):
            with pytest.raises(ValueError, match="refused a row"):
                store.keys.insert(key_row(**changes))
        assert store.keys.all() == [key_row()]

    def test_what_was_not_heard_can_be_said_again(self, store: Store) -> None:
        for _ in range(2):
            store.keys.insert(key_row())
        assert store.keys.all() == [key_row()]
        assert (store.keys.revoke("k-1", 9.0), store.keys.revoke("k-1", 9.0)) == (True, True)
        assert not store.keys.revoke("k-1", 10.0)
        store.keys.insert(key_row())
        assert store.keys.all() == [key_row(revoked=9.0)]
