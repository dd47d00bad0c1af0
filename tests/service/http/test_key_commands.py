"""Commands about keys leave the tables of a database as they are."""

from __future__ import annotations

import pytest

from fabcost.service.store.connection import migrations
from fabcost.service.store.store import store_at
from fabcost.wire.errors import TakenOverError
from tests.service.http.test_server import command
from tests.service.store.rows import key_row
from tests.service.store.test_versions import connect, make_version, run

NEWEST = len(migrations("sqlite"))
ADD = ("add", "shop", "--role", "read")
KEY = """
INSERT INTO keys (key_id, digest, name, roles, model, created, revoked)
VALUES ('k-1', 'ab', 'site', 'decide', NULL, 5.0, NULL)
"""


def version(address: str) -> int:
    connection = connect(address)
    ((found,),) = connection.run("SELECT version FROM schema_version", {})
    connection.disconnect()
    return int(found)


def tables(address: str) -> int:
    connection = connect(address)
    name = "sqlite_master" if address.startswith("sqlite") else "information_schema.tables"
    own = "" if address.startswith("sqlite") else " WHERE table_schema = 'public'"
    ((found,),) = connection.run(f"SELECT count(*) FROM {name}{own}", {})  # noqa: S608
    connection.disconnect()
    return int(found)


@pytest.mark.parametrize("older", range(2, NEWEST))
def test_keys_of_an_older_version_are_listed_as_they_are(store_address: str, older: int) -> None:
    make_version(store_address, older)
    run(store_address, KEY)
    listed = command("keys", "list", "--database", store_address)
    assert (listed.exit_code, version(store_address)) == (0, older), listed.stderr
    assert "k-1  in force  decide  *  site" in listed.stdout


@pytest.mark.parametrize("arguments", [ADD, ("revoke", "k-1")])
@pytest.mark.parametrize("older", [1, NEWEST - 1])
def test_an_older_version_is_not_written(
    store_address: str, older: int, arguments: tuple[str, ...]
) -> None:
    make_version(store_address, older)
    done = command("keys", *arguments, "--database", store_address)
    assert (done.exit_code, version(store_address)) == (2, older), done.stderr
    assert f"the database has version {older} but this program writes" in done.stderr
    assert "fabcost serve" in done.stderr


def test_a_version_without_keys_is_said(store_address: str) -> None:
    make_version(store_address, 1)
    done = command("keys", "list", "--database", store_address)
    assert (done.exit_code, version(store_address)) == (2, 1)
    assert "fabcost serve" in done.stderr


@pytest.mark.parametrize("arguments", [ADD, ("list",), ("revoke", "k-1")])
def test_a_newer_version_is_left_to_newer_programs(
    store_address: str, arguments: tuple[str, ...]
) -> None:
    make_version(store_address, NEWEST)
    run(store_address, "UPDATE schema_version SET version = 99")
    done = command("keys", *arguments, "--database", store_address)
    assert (done.exit_code, version(store_address)) == (2, 99), done.stderr
    assert f"the database has version 99 but this program knows versions up to {NEWEST}" in (
        " ".join(done.stderr.split())
    )
    assert "newer" in done.stderr


def test_an_empty_database_is_filled_by_the_first_key_only(store_address: str) -> None:
    connect(store_address).disconnect()
    for arguments in (["list"], ["revoke", "k-1"]):
        done = command("keys", *arguments, "--database", store_address)
        assert (done.exit_code, tables(store_address)) == (2, 0), done.stderr
        assert "fabcost keys add" in done.stderr
    assert command("keys", *ADD, "--database", store_address).exit_code == 0
    listed = command("keys", "list", "--database", store_address)
    assert (listed.exit_code, version(store_address)) == (0, NEWEST)
    assert "in force  read  *  shop" in listed.stdout


def test_a_store_for_keys_is_for_nothing_else(store_address: str) -> None:
    store = store_at(store_address)
    store.open_for_keys(write=True, make=True)
    store.keys.insert(key_row())
    assert store.keys.all() == [key_row()]
    with pytest.raises(TakenOverError, match="may only read"), store.transaction():
        pass
    store.close()
