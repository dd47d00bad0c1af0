"""Backups made while a server writes, and databases of both kinds made of them."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from fabcost.service.service import Service
from fabcost.service.store.backup import Content, back_up, restore
from fabcost.service.store.store import store_at
from fabcost.wire.errors import DatabaseUnusableError
from fabcost.wire.messages import DecisionRequest, FeedbackRequest, Record
from fabcost.wire.settings import ModelSettings
from tests.service.http.test_server import command
from tests.service.postgres import PostgresServer
from tests.service.store.rows import key_row
from tests.service.store.test_versions import NEWEST, make_version

ITEMS: dict[str, Record] = {"a": {"x": 1}, "b": {"x": 2, "make": "kia"}, "ü/..": {"x": 3.5}}


async def live(service: Service, rounds: int) -> None:
    for number in range(rounds):
        asked = DecisionRequest(context={"hour": number % 24}, deferred=number % 7 == 0)
        made = await service.decide("m", asked)
        told = FeedbackRequest(decision_id=made.decision_id, value=float(number % 3 == 0))
        await service.feedback("m", [told])


async def digest_of(address: str) -> tuple[str, int]:
    """What a server that starts on a database has learnt, and how many decisions it knows."""
    service = await Service.start(lambda: store_at(address))
    try:
        decisions = (await service.stats("m", minutes=60)).decisions
        learnt = service.posterior("m").digest
        await live(service, 3)
        return learnt, decisions
    finally:
        await service.stop()


async def back_up_while_serving(address: str, folder: Path) -> tuple[str, Content]:
    """Two backups: while decisions are made, of what it tells, and later, of what was learnt."""
    service = await Service.start(lambda: store_at(address))
    try:
        await service.create_model("m", ModelSettings(seed=3))
        await service.put_items("m", ITEMS)
        await service.insert_key(key_row(model="m", rate=2.5))
        await live(service, 15)
        living = asyncio.create_task(live(service, 40))
        during = await asyncio.to_thread(back_up, address, folder / "during.db")
        await living
        assert 15 <= during.decisions <= 55
        after = await asyncio.to_thread(back_up, address, folder / "after.db")
        assert after == Content(after.version, 1, 55, 1)
        return service.posterior("m").digest, during
    finally:
        await service.stop()


def test_what_was_learnt_is_restored_into_both_kinds(
    store_address: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    told, during = asyncio.run(back_up_while_serving(store_address, tmp_path))
    before = (tmp_path / "after.db").read_bytes()
    with postgres.database() as other:
        for target in (f"sqlite:///{tmp_path}/restored.db", other):
            assert restore(tmp_path / "after.db", target).decisions == 55
            assert asyncio.run(digest_of(target)) == (told, 55)
            store = store_at(target)
            store.open(take_over=False)
            assert store.keys.all() == [key_row(model="m", rate=2.5)]
            store.close()
        with pytest.raises(ValueError, match="restore into an empty one"):
            restore(tmp_path / "after.db", other)
    assert (tmp_path / "after.db").read_bytes() == before
    with postgres.database() as other:
        restore(tmp_path / "during.db", other)
        same = asyncio.run(digest_of(str(tmp_path / "during.db")))
        assert asyncio.run(digest_of(other)) == same
    assert same[1] == during.decisions


def test_only_its_owner_can_read_a_backup(tmp_path: Path) -> None:
    database, file = str(tmp_path / "a.db"), tmp_path / "b.db"
    assert command("keys", "add", "me", "--role", "read", "--database", database).exit_code == 0
    done = command("backup", str(file), "--database", database)
    assert done.stdout == f"{file} holds 0 models, 0 decisions, 1 keys (version {NEWEST})\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert command("backup", str(file), "--database", database).exit_code == 2
    copy = str(tmp_path / "c.db")
    assert command("restore", str(file), "--database", copy).exit_code == 0
    again = command("restore", str(file), "--database", copy)
    assert again.exit_code == 2
    assert "already: move it away first" in " ".join(again.stderr.split())
    left = sorted(each.name for each in tmp_path.iterdir())
    assert left == ["a.db", "b.db", "c.db"]


def test_a_database_of_before_is_backed_up_as_it_is(store_address: str, tmp_path: Path) -> None:
    make_version(store_address, 5)
    content = back_up(store_address, tmp_path / "old.db")
    assert content == Content(5, 1, 1, 0)
    assert restore(tmp_path / "old.db", str(tmp_path / "new.db")) == content


@pytest.mark.parametrize("harm", ["cut", "other", "empty"])
def test_a_file_that_is_no_backup_is_refused(tmp_path: Path, harm: str) -> None:
    database, file = str(tmp_path / "a.db"), tmp_path / "b.db"
    command("keys", "add", "me", "--role", "read", "--database", database)
    back_up(database, file)
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:20_000])
    elif harm == "other":
        file.unlink()
        other = sqlite3.connect(file)
        other.execute("CREATE TABLE other (x)")
        other.close()
    else:
        file.write_bytes(b"")
    with pytest.raises(DatabaseUnusableError):
        restore(file, str(tmp_path / "c.db"))
    assert not list(tmp_path.glob("c.db*"))


def test_a_database_that_is_served_is_no_backup(tmp_path: Path) -> None:
    """What was written last is not in the file yet, and would be lost."""
    database = tmp_path / "a.db"
    store = store_at(str(database))
    store.open(take_over=True)
    with pytest.raises(ValueError, match=r"a\.db is no backup, some of it is in .*a\.db-wal"):
        restore(database, str(tmp_path / "b.db"))
    store.close()
    assert restore(database, str(tmp_path / "b.db")).models == 0
