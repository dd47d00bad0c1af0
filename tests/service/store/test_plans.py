"""Batches are looked up by their keys, not by reading a table or a long index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fabcost.service.store import postgres, sqlite
from fabcost.service.store.connection import statements
from fabcost.service.store.rows import Resolution
from fabcost.service.store.store import Store
from tests.service.store.rows import decision_row, feedback_row

KEY = ("model", "decision")
BATCHES = {
    "existing_decisions": KEY,
    "find_decisions": KEY,
    "activate": KEY,
    "resolve": Resolution._fields,
    "find_feedback": KEY,
    "answered": (*KEY, "key"),
    "kept_feedback": KEY,
    "still_parked": KEY,
    "delete_decisions": KEY,
    "set_feedback_status": (*KEY, "key", "status"),
}
LATEST = ("uncounted", "mark_counted", "latest_time")
# SQLite makes these indexes for primary keys and names them so.
INDEXES = ("decisions_pkey", "feedback_pkey", "sqlite_autoindex_")


def explain(store: Store, name: str, columns: Sequence[str]) -> str:
    connection = store.session.connection
    text = statements(connection.dialect)[name]
    if isinstance(connection, postgres.Postgres):
        query = f"EXPLAIN {postgres._batch(tuple(columns))} {text}"
        return str(connection._execute(query, {"batch": "[]"}).fetchall())
    assert isinstance(connection, sqlite.Sqlite)
    query = f"EXPLAIN QUERY PLAN {sqlite._over_batch(text, tuple(columns), 2)}"
    return str(connection._open().execute(query, [None] * (2 * len(columns) + 1)).fetchall())


def explain_alone(store: Store, name: str, **parameters: Any) -> str:
    text = statements(store.session.connection.dialect)[name]
    how = "EXPLAIN" if store.session.connection.dialect == "postgres" else "EXPLAIN QUERY PLAN"
    return "\n".join(str(row) for row in store.session.connection.run(f"{how} {text}", parameters))


def test_batches_are_found_by_key(store: Store) -> None:
    names = [f"d-{number}" for number in range(4_000)]
    with store.transaction():
        store.insert_decisions([decision_row(name) for name in names])
        store.insert_feedback([feedback_row(name, status="parked") for name in names])
    plans = {name: explain(store, name, columns) for name, columns in BATCHES.items()}
    for plan in plans.values():
        assert any(index in plan for index in INDEXES), plan


@pytest.mark.parametrize("name", LATEST)
def test_latest_decisions_are_found_without_reading_all(store: Store, name: str) -> None:
    with store.transaction():
        store.insert_decisions([decision_row(f"d-{number}") for number in range(4_000)])
        store.mark_counted()
    plan = explain_alone(store, name, numbers=f"[{store.session.number}]")
    assert "decisions_in_order" in plan or "SEARCH d" in plan, plan
    assert not any(each in plan for each in ("Seq Scan on decisions", "SCAN d")), plan
    assert not any(each in plan for each in INDEXES), plan


@pytest.mark.parametrize(
    "table", ["feedback", "decisions", "tallies", "items", "past_items", "counts"]
)
def test_rows_of_a_model_are_deleted_by_their_keys(store: Store, table: str) -> None:
    after = {"counts": 0.0, "past_items": 0}.get(table, "")
    plan = explain_alone(store, f"delete_some_{table}", model="news", after=after, limit=9)
    assert "Seq Scan" not in plan, plan
    assert f"SCAN {table}" not in plan, plan
    assert "TEMP B-TREE" not in plan, plan


def test_items_are_put_without_a_search_for_each(store: Store) -> None:
    columns = ("model", "item", "rank", "features", "since")
    plan = explain(store, "put_items", columns)
    assert not any(each in plan for each in ("SubPlan", "SUBQUERY", "items_by_place")), plan
    assert "items_by_place" in explain_alone(store, "last_place", model="news")


def test_parked_feedback_is_dropped_without_reading_what_stays(store: Store) -> None:
    rows = [feedback_row(f"d-{n}", status="parked", received=float(n)) for n in range(4_000)]
    with store.transaction():
        store.insert_feedback(rows)
    plan = explain_alone(store, "drop_parked", before=1.0)
    assert "feedback_parked" in plan, plan
