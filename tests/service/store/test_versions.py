from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from fabcost.service.store.connection import Connection, migrations, statements
from fabcost.service.store.postgres import Postgres
from fabcost.service.store.sqlite import Sqlite
from fabcost.service.store.store import Store, store_at
from fabcost.wire.errors import DatabaseUnusableError
from tests.service.store.rows import decision_row, key_row, model_row, resolution

FILL_VERSION_1 = """
UPDATE server SET epoch = 7;
INSERT INTO models (model, settings, created, edited, head_lsn, catalogue_version, base)
VALUES ('news', '{}', 1.5, 2.5, 1, 0, NULL);
INSERT INTO decisions
    (model, decision, made, deadline, arm, item, active, learns, features, record,
     resolved, outcome, value, label, lsn)
VALUES
    ('news', 'd-1', 3.0, 9.0, 'bandit', 'ad-1', TRUE, TRUE, '[]', '{}', 4.0, 'feedback', 1, 1, 1)
"""


NEWEST = len(migrations("sqlite"))


def connect(address: str) -> Connection:
    is_file = address.startswith("sqlite")
    connection = Sqlite(address.removeprefix("sqlite:///")) if is_file else Postgres(address)
    connection.connect()
    return connection


def make_tables(address: str, version: int) -> None:
    """An empty database as a program of that version made it."""
    connection = connect(address)
    for name in ("create_version", "insert_version"):
        connection.run(statements(connection.dialect)[name], {})
    for migration in migrations(connection.dialect)[:version]:
        for each in migration.statements:
            connection.run(each, {})
    connection.run("UPDATE schema_version SET version = :version", {"version": version})
    connection.disconnect()


def make_version(address: str, version: int) -> None:
    """A database of that version and of epoch 7, with what version 1 can hold."""
    make_tables(address, version)
    connection = connect(address)
    for each in FILL_VERSION_1.split(";"):
        connection.run(each, {})
    connection.disconnect()


def run(address: str, text: str) -> None:
    connection = connect(address)
    connection.run(text, {})
    connection.disconnect()


@pytest.mark.parametrize("version", range(1, len(migrations("sqlite"))))
def test_earlier_version_is_brought_up_to_date(store_address: str, version: int) -> None:
    make_version(store_address, version)
    store = store_at(store_address)
    store.open(take_over=True)
    assert store.models() == [model_row(settings="{}", created=1.5, edited=2.5, head_lsn=1)]
    (row,) = store.history("news", after=0, limit=9)
    assert (row.decision, row.value, row.lsn, row.active) == ("d-1", 1.0, 1, True)
    store.keys.insert(key_row())
    with store.transaction():
        store.insert_decisions([decision_row("d-2")])
        store.resolve([resolution("d-2", lsn=2)])
    assert [each.lsn for each in store.log("news", after=0, to=2)] == [1, 2]
    assert store.append_decisions([decision_row("d-3")])
    store.reopen()
    store.close()


@pytest.mark.parametrize("version", range(1, len(migrations("sqlite"))))
def test_server_of_an_earlier_version_sees_the_new_epoch(store_address: str, version: int) -> None:
    make_version(store_address, version)
    store = store_at(store_address)
    store.open(take_over=True)
    connection = connect(store_address)
    assert connection.run("SELECT epoch FROM server", {}) == [(8,)]
    connection.disconnect()
    store.close()


def test_clicks_of_before_are_rewards(store_address: str) -> None:
    make_tables(store_address, 6)
    run(store_address, FILL_VERSION_1.split(";")[1])
    run(store_address, "INSERT INTO counts VALUES ('news', 60, 'bandit', 4, 3, 2, 0.5, 0.5)")
    run(store_address, "INSERT INTO calibration VALUES ('news', 1, 4, 0.5, 2)")
    run(store_address, "INSERT INTO tallies VALUES ('news', 'ad-1', 4, 3, 2)")
    store = store_at(store_address)
    store.open(take_over=True)
    minute, interval, tally = (
        store.counts.minutes("news", since=0.0)[0],
        store.counts.calibration("news")[0],
        store.counts.tallies("news", limit=9)[0],
    )
    store.close()
    assert (minute.clicks, minute.rewards) == (interval.clicks, interval.rewards) == (2, 2.0)
    assert (tally.clicks, tally.rewards) == (2, 2.0)


def test_rewards_of_before_are_income(store_address: str) -> None:
    make_tables(store_address, 7)
    for each in FILL_VERSION_1.split(";")[1:]:
        run(store_address, each)
    run(store_address, "INSERT INTO counts VALUES ('news', 60, 'bandit', 4, 3, 2, 0.5, 0.5, 1.5)")
    run(store_address, "INSERT INTO tallies VALUES ('news', 'ad-1', 4, 3, 2, 1.25)")
    store = store_at(store_address)
    store.open(take_over=True)
    (row,) = store.history("news", after=0, limit=9)
    (minute,), (tally,) = (
        store.counts.minutes("news", since=0.0),
        store.counts.tallies("news", limit=9),
    )
    store.close()
    assert (minute.income, tally.income) == (1.5, 1.25)
    assert (row.click_value, row.cost) == (1.0, 0.0)
    assert all(isinstance(each, float) for each in (row.click_value, row.cost))


def test_opening_again_changes_nothing(store: Store, store_address: str) -> None:
    store.close()
    again = store_at(store_address)
    again.open(take_over=True)
    assert len(again.models()) == 2
    again.close()


def test_newer_version_is_refused(store: Store, store_address: str) -> None:
    run(store_address, "UPDATE schema_version SET version = 99")
    with pytest.raises(DatabaseUnusableError, match=rf"version 99 but .* up to {NEWEST}:"):
        store_at(store_address).open(take_over=True)


@pytest.mark.parametrize(
    "table", ["CREATE TABLE visitors (name TEXT)", "CREATE TABLE schema_version (n INTEGER)"]
)
def test_tables_of_others_are_left_alone(store_address: str, table: str) -> None:
    run(store_address, table)
    with pytest.raises(DatabaseUnusableError, match="of another program|not as they were made"):
        store_at(store_address).open(take_over=True)
    connection = connect(store_address)
    found = connection.run(statements(connection.dialect)["tables"], {})
    connection.disconnect()
    assert len(found) == 1


def test_failed_migration_leaves_the_version_before(
    store_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = connect(store_address)
    known = migrations(connection.dialect)
    connection.disconnect()
    broken = known[1]._replace(statements=(*known[1].statements, "INSERT INTO nothing VALUES (1)"))
    with monkeypatch.context() as patch:
        patch.setattr("fabcost.service.store.connection.migrations", lambda _: (known[0], broken))
        with pytest.raises(DatabaseUnusableError) as caught:
            store_at(store_address).open(take_over=True)
        assert "nothing" in caught.value.detail
    store = store_at(store_address)
    store.open(take_over=True)
    assert store.keys.all() == []
    store.close()


def test_servers_may_start_at_once(store_address: str) -> None:
    stores = [store_at(store_address) for _ in range(4)]
    with ThreadPoolExecutor(len(stores)) as pool:
        for opening in [pool.submit(each.open, take_over=True) for each in stores]:
            opening.result()
    assert all(each.models() == [] for each in stores)
    assert {each.session._epoch for each in stores} == {1, 2, 3, 4}
    for each in stores:
        each.close()
