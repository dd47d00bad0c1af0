"""What `fabcost doctor` finds, with databases and a server that are really so."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from fabcost.service.doctor import Symptom, examine
from fabcost.service.settings import Settings
from fabcost.service.store.rows import ModelRow
from fabcost.service.store.store import store_at
from fabcost.wire.settings import (
    HalfLifeSettings,
    ModelSettings,
    RefreshSettings,
    WideSettings,
)
from tests.service.http.serving import running
from tests.service.http.test_server import command
from tests.service.store.test_versions import NEWEST, make_version

STATES = ("ok", "look", "wrong")


def found(settings: Settings, subject: str, *, now: float | None = None) -> list[Symptom]:
    clock = time.time if now is None else lambda: now
    return [each for each in examine(settings, now=clock) if each.subject == subject]


def settings_for(folder: Path, *keys: str, **more: object) -> Settings:
    database = str(folder / "a.db")
    for each in keys:
        done = command("keys", "add", "k", *each.split(), "--database", database)
        assert done.exit_code == 0, done.stderr
    return Settings(database=database, port=1, **more)  # type: ignore[arg-type]


def test_a_server_that_runs_is_well(tmp_path: Path) -> None:
    with running(settings_for(tmp_path, "--role admin")) as server:
        port = int(server.address.rpartition(":")[2])
        settings = Settings(database=server.settings.database, port=port)
        assert {each.state for each in examine(settings)} == {"ok"}
        subjects = {each.subject for each in examine(settings)}
    assert subjects == {
        "settings",
        "versions",
        "kernels",
        "disk",
        "database",
        "clock",
        "keys",
        "server",
    }


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    (there,) = found(Settings(database=str(tmp_path / "none.db")), "database")
    assert there.state == "look"
    (nowhere,) = found(Settings(database=str(tmp_path / "no" / "none.db")), "database")
    assert nowhere.state == "wrong"
    assert not list(tmp_path.iterdir())
    (gone,) = found(Settings(database="postgresql://x:secret@127.0.0.1:1/x"), "database")
    assert gone.state == "wrong"
    assert "secret" not in str(gone)


def test_an_older_version_is_left_as_it_is(store_address: str) -> None:
    make_version(store_address, NEWEST - 1)
    (older,) = found(Settings(database=store_address, port=1), "database")
    assert (older.state, f"has version {NEWEST - 1}" in older.said) == ("look", True)
    assert "back it up" in older.advice


def test_the_clock(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "--role admin")
    store_time(settings, 1e9)
    assert [each.state for each in found(settings, "clock", now=1e9)] == ["ok"]
    (behind,) = found(settings, "clock", now=1e9 - 3600.0)
    assert (behind.state, behind.said) == ("wrong", "3600 s behind the latest time written")


def store_time(settings: Settings, moment: float) -> None:
    store = store_at(settings.database)
    store.open(take_over=True)
    with store.transaction():
        store.reset_time(moment)
    store.close()


@pytest.mark.parametrize(
    ("given", "impressions", "many"),
    [
        (ModelSettings(), 100_001, 1),
        (ModelSettings(), 100_000, 0),
        (ModelSettings(most_kept=100), 10**7, 0),
        (ModelSettings(window=100), 10**7, 0),
        (ModelSettings(half_life=HalfLifeSettings(1e4)), 10**7, 0),
        (ModelSettings(belief=WideSettings(kind="wide", bits=12)), 10**7, 0),
        (ModelSettings(refresh=RefreshSettings("never")), 10**7, 0),
    ],
)
def test_a_model_that_keeps_very_many_impressions(
    tmp_path: Path, given: ModelSettings, impressions: int, many: int
) -> None:
    settings = settings_for(tmp_path, keep_days=30.0)
    store = store_at(settings.database)
    store.open(take_over=True)
    with store.transaction():
        as_json = msgspec.json.encode(given).decode()
        store.insert_model(ModelRow("cars", as_json, 1.0, 1.0, impressions, 0), None)
    store.close()
    grown = found(settings, "models")
    assert [each.state for each in grown] == ["look"] * many
    for each in grown:
        assert "cars keeps all of its 100,001 impressions" in each.said
        assert "in spite of keep_days" in each.said
        assert each.advice.endswith("--start cars --set most_kept=100000")


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_file_that_all_can_read(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "--role admin")
    os.chmod(tmp_path, 0o755)  # noqa: S103
    os.chmod(settings.database, 0o644)
    states = [each.state for each in found(settings, "disk")]
    assert states == ["ok", "wrong"]


@pytest.mark.parametrize(
    ("keys", "more", "state", "said"),
    [
        ((), {}, "look", "none are asked for"),
        ((), {"host": "0.0.0.0"}, "wrong", "there are no API keys"),  # noqa: S104
        (("--role read",), {}, "look", "no admin has one"),
        (("--role admin --model gone",), {}, "look", "opens gone, which is not there"),
        (("--role admin", "--publishable --model m"), {}, "look", "no origin may ask"),
    ],
)
def test_keys(
    tmp_path: Path, keys: tuple[str, ...], more: dict[str, object], state: str, said: str
) -> None:
    settings = settings_for(tmp_path, *keys, **more)
    if not keys:
        store_time(settings, 1.0)
    states = [(each.state, said in each.said) for each in found(settings, "keys")]
    assert (state, True) in states


def test_the_command(tmp_path: Path) -> None:
    database = str(tmp_path / "none" / "a.db")
    done = command("doctor", "--database", database)
    assert done.exit_code == 1
    assert f"wrong database there is no file {database}" in " ".join(done.stdout.split())


def test_a_wrong_setting_is_a_finding_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.toml").write_text("prot = 1\ndatabase = 'named.db'\n", encoding="utf-8")
    done = command("doctor", "--config", "a.toml", FABCOST_PORT="high", FABCOST_AUTH="off")
    assert done.exit_code == 1
    assert "wrong  settings file: prot is not a setting\n" in done.stdout
    assert "wrong  settings environment: 'port' must be a whole number but is text" in done.stdout
    assert "look   database there is no file named.db\n" in done.stdout
    unread = command("doctor", "--config", "none.toml").stdout
    assert "wrong  settings none.toml: " in unread
    assert "ok     versions " in unread


def test_lines_are_within_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/tmp")  # noqa: S108 - a short name
    command("keys", "add", "k", "--role", "read", "--database", "a.db")
    lines = command("doctor", "--database", "a.db").stdout.splitlines()
    assert len(lines) > 8
    assert max(map(len, lines)) <= 80, lines
    assert not [each for each in lines if each[:16].strip() and each[:5].strip() not in STATES]
