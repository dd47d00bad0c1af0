"""The connection to PostgreSQL breaks while a key is made or revoked.

No key stays in force whose text nobody was told.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from fabcost.service.http.auth import Keys
from fabcost.service.settings import Settings
from tests.service.faults.ledger import reading
from tests.service.faults.lossy import Moment, Wire, wire
from tests.service.http.serving import Running, running
from tests.service.http.test_server import command
from tests.service.http.waiting import wait_until
from tests.service.postgres import PostgresServer

AT_EACH_MOMENT = pytest.mark.parametrize("moment", ["writing", "committing"])
ASKED = {"name": "shop", "roles": ["decide"]}


class Lossy(NamedTuple):
    """A wire to a database, its address over the wire and its own."""

    wire: Wire
    over: str
    address: str

    def in_force(self) -> list[str]:
        with reading(self.address) as store:
            rows = store.keys.all()
        return [row.key_id for row in rows if row.revoked is None]

    def opens(self, key: str) -> bool:
        with reading(self.address) as store:
            return Keys(store.keys.all()).find(key.strip()) is not None


@pytest.fixture
def lossy(postgres: PostgresServer, postgres_address: str) -> Iterator[Lossy]:
    with wire(postgres.port) as between:
        over = postgres_address.replace(f":{postgres.port}/", f":{between.port}/")
        yield Lossy(between, over, postgres_address)


@pytest.fixture
def server(lossy: Lossy) -> Iterator[Running]:
    with running(Settings(database=lossy.over, request_seconds=600.0)) as found:
        yield found


@pytest.fixture
def http(server: Running) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@AT_EACH_MOMENT
def test_a_key_is_made_once(lossy: Lossy, http: httpx.Client, moment: Moment) -> None:
    lossy.wire.break_when(moment)
    made = http.post("/v1/keys", json=ASKED)
    assert (made.status_code, lossy.wire.whole) == (201, True), made.text
    assert lossy.in_force() == [made.json()["key_id"]]
    assert lossy.opens(made.json()["key"])


def test_a_key_that_nobody_was_told_is_taken_back(lossy: Lossy, http: httpx.Client) -> None:
    lossy.wire.break_when("committing", "writing")
    refused = http.post("/v1/keys", json=ASKED)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_away")
    wait_until(lambda: not lossy.in_force())
    made = http.post("/v1/keys", json=ASKED)
    assert (made.status_code, lossy.in_force()) == (201, [made.json()["key_id"]])


def test_a_key_whose_maker_was_told_that_it_took_too_long(tmp_path: Path) -> None:
    """The key is written when another program lets go of the database, and then revoked."""
    database = str(tmp_path / "bandit.db")
    with (
        running(Settings(database=database, request_seconds=0.5)) as server,
        closing(sqlite3.connect(database, isolation_level=None)) as other,
        server.client() as http,
    ):
        other.execute("BEGIN IMMEDIATE")
        late = http.post("/v1/keys", json=ASKED)
        assert (late.status_code, late.json()["error"]["code"]) == (503, "timeout")
        other.execute("ROLLBACK")

        def revoked() -> list[float | None]:
            return [each for (each,) in other.execute("SELECT revoked FROM keys")]

        wait_until(lambda: revoked() and None not in revoked())


@AT_EACH_MOMENT
def test_a_key_is_revoked_once(lossy: Lossy, http: httpx.Client, moment: Moment) -> None:
    made = http.post("/v1/keys", json=ASKED).json()
    lossy.wire.break_when(moment)
    revoked = http.delete(f"/v1/keys/{made['key_id']}")
    assert (revoked.status_code, lossy.wire.whole) == (204, True), revoked.text
    assert lossy.in_force() == []
    assert http.delete(f"/v1/keys/{made['key_id']}").status_code == 404


def test_a_command_looks_whether_its_key_is_there(lossy: Lossy) -> None:
    add = ("keys", "add", "me", "--role", "admin", "--database", lossy.over)
    assert command(*add).exit_code == 0
    lossy.wire.break_when("committing")
    made = command(*add)
    assert (made.exit_code, lossy.wire.whole) == (0, True), made.stderr
    assert lossy.opens(made.stdout)
    lossy.wire.break_when("writing")
    refused = command(*add)
    assert (refused.exit_code, refused.stdout, len(lossy.in_force())) == (2, "", 2)


def test_a_command_says_which_key_may_be_there(lossy: Lossy) -> None:
    add = ("keys", "add", "me", "--role", "admin", "--database", lossy.over)
    assert command(*add).exit_code == 0
    (first,) = lossy.in_force()
    lossy.wire.break_when("committing")
    lossy.wire.stays_broken = True
    done = command(*add)
    (unknown,) = set(lossy.in_force()) - {first}
    assert (done.exit_code, unknown in done.stderr, "revoke" in done.stderr) == (2, True, True)
