from __future__ import annotations

import os
import sqlite3
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from fabcost.service.store import sqlite
from fabcost.service.store.connection import is_open_to_others
from fabcost.service.store.sqlite import Sqlite
from fabcost.service.store.store import Store, store_at
from fabcost.wire.errors import DatabaseUnusableError, StoreAwayError
from tests.service.postgres import PostgresServer
from tests.service.store.rows import decision_row, key_row, model_row


class TestAddress:
    @pytest.mark.parametrize("prefix", ["", "sqlite:///"])
    def test_path_is_a_file(self, tmp_path: Path, prefix: str) -> None:
        store = store_at(f"{prefix}{tmp_path}/bandit.db")
        store.open(take_over=True)
        store.close()
        assert (tmp_path / "bandit.db").is_file()

    @pytest.mark.parametrize("address", ["mysql://host/name", "sqlite://name", "sqlite:///"])
    def test_others_are_refused(self, address: str) -> None:
        with pytest.raises(DatabaseUnusableError, match="begins with '(mysql|sqlite)://'"):
            store_at(address)

    def test_memory_is_no_place_for_a_log(self) -> None:
        with pytest.raises(DatabaseUnusableError, match="write-ahead log"):
            store_at(":memory:").open(take_over=True)

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://me:hunter2@127.0.0.1:notaport/news",
            "postgresql://me:hunter2@127.0.0.1:1/news",
            "postgresql://me:hunter2@127.0.0.1:1/news?colour=red",
            "postgresql://me:pass@hunter2@127.0.0.1:1/news",
            "postgresql://me:hunter2@pass@127.0.0.1:1/news",
            "postgresql://me:hunter2/pass@127.0.0.1:1/news",
            "postgresql://me:pass/hunter2@127.0.0.1:1/news",
            "postgresql://me:pass@word/hunter2@127.0.0.1:1/news",
            "postgresql://me:1/hunter2@127.0.0.1:1/news",
            "postgresql://me:pass?hunter2@127.0.0.1:1/news",
            "postgresql://me:pass?word/hunter2@127.0.0.1:1/news",
            "postgresql://me@corp:hunter2@127.0.0.1:1/news",
            "postgresql://me@127.0.0.1:1/news?password=hunter2&sslpassword=hunter2",
            "postgresql+driver://me:hunter2@127.0.0.1:1/news",
            "me:hunter2@127.0.0.1:1/news",
            "host=127.0.0.1 port=1 user=me password=hunter2",
            "host=127.0.0.1 port=1 user=me password='hunter2 is long'",
            "host=127.0.0.1 port=1 password=pass hunter2",
            "host=127.0.0.1 port=1 password=pass://hunter2",
            "host=127.0.0.1 port=1 pasword=hunter2",
            "hots=127.0.0.1 password=hunter2",
            "password = hunter2 host = 127.0.0.1 port = 1",
        ],
    )
    def test_password_is_not_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises((DatabaseUnusableError, StoreAwayError)) as caught:
            store_at(address).open(take_over=True)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value, chain=True))
        assert "hunter2" not in caught.value.detail
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "name", ["a=b.db", "./host=x", "me@home.db", "C:me.db", "hostname=x", "my password=x"]
    )
    def test_other_names_are_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        store = store_at(name)
        store.open(take_over=True)
        store.close()
        assert (tmp_path / name).is_file()

    @pytest.mark.parametrize("name", ["host=db password=x", "me:x@db"])
    def test_any_name_may_be_that_of_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        store = store_at(f"sqlite:///{name}")
        store.open(take_over=True)
        store.close()
        assert (tmp_path / name).is_file()

    def test_keywords_and_values_are_an_address_of_postgresql(self, postgres_address: str) -> None:
        store = store_at(make_conninfo(postgres_address))
        store.open(take_over=True)
        assert store.models() == []
        store.close()

    @pytest.mark.parametrize(
        "address",
        [
            "postgresql://me:a%40b@h:1/news",
            "postgresql://me:a?b@h:1/news",
            "postgresql://me:a:b@h:1/news",
            "postgresql://me:ab@h:1/news?options=c@d",
            "postgresql://h:1/news?options=c@d",
            "postgresql://me@h/ne@ws",
            "postgresql:///news?host=/tmp&password=a@b",
            "postgres://me:ab@h:1,i:2/news",
        ],
    )
    def test_addresses_that_mean_one_thing_are_taken(self, address: str) -> None:
        store_at(address)


class TestMode:
    """Who may read the file."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Iterator[Path]:
        before = os.umask(0o022)
        yield tmp_path / "bandit.db"
        os.umask(before)

    def modes(self, path: Path) -> list[tuple[str, int]]:
        return sorted((each.name, each.stat().st_mode & 0o777) for each in path.parent.iterdir())

    def test_a_new_one_is_the_owners_alone(self, path: Path) -> None:
        store = store_at(str(path))
        store.open(take_over=True)
        assert self.modes(path) == [(f"bandit.db{end}", 0o600) for end in ("", "-shm", "-wal")]
        assert not is_open_to_others(str(path))
        store.close()

    def test_behind_a_link_too(self, path: Path) -> None:
        path.symlink_to("other.db")
        store = store_at(str(path))
        store.open(take_over=True)
        assert path.stat().st_mode & 0o777 == 0o600
        store.close()

    @pytest.mark.parametrize(("mode", "is_open"), [(0o644, True), (0o640, False), (0o602, True)])
    def test_one_that_is_there_keeps_its_own(self, path: Path, mode: int, is_open: bool) -> None:
        path.touch()
        path.chmod(mode)
        path.parent.chmod(0o755)
        store = store_at(f"sqlite:///{path}")
        store.open(take_over=True)
        assert self.modes(path) == [(f"bandit.db{end}", mode) for end in ("", "-shm", "-wal")]
        assert is_open_to_others(f"sqlite:///{path}") == is_open
        path.parent.chmod(0o700)
        assert not is_open_to_others(f"sqlite:///{path}")
        store.close()

    @pytest.mark.parametrize("address", ["postgresql://me:x@h/news", "absent.db"])
    def test_what_is_no_file_is_not_open(self, address: str) -> None:
        assert not is_open_to_others(address)


class TestFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> str:
        return str(tmp_path / "bandit.db")

    @pytest.fixture
    def connection(self, path: str) -> Sqlite:
        return Sqlite(path)

    @pytest.fixture
    def store(self, connection: Sqlite) -> Iterator[Store]:
        store = Store(connection)
        store.open(take_over=True)
        with store.transaction():
            store.insert_model(model_row(), None)
        yield store
        store.close()

    def test_what_is_not_a_database_is_refused(self, path: str) -> None:
        Path(path).write_bytes(b"a letter to a friend" * 200)
        with pytest.raises(DatabaseUnusableError, match="not a database"):
            store_at(path).open(take_over=True)
        assert Path(path).read_bytes().startswith(b"a letter")

    def test_missing_folder_is_said(self, path: str) -> None:
        missing = str(Path(path).parent / "no" / "bandit.db")
        with pytest.raises(DatabaseUnusableError, match="cannot be opened") as caught:
            store_at(missing).open(take_over=True)
        assert path not in str(caught.value)
        assert caught.value.detail.startswith(f"{missing} cannot be used: unable")

    def test_old_sqlite_is_refused(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
        with pytest.raises(DatabaseUnusableError, match="must be at least 3.37.0"):
            store_at(path).open(take_over=True)

    def test_writer_of_a_file_that_keeps_no_log_yet_is_waited_out(self, path: str) -> None:
        with (
            closing(sqlite3.connect(path, check_same_thread=False)) as other,
            closing(sqlite3.connect(path, timeout=60)) as second,
        ):
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                second.execute("PRAGMA journal_mode = WAL")
            timer = threading.Timer(0.2, other.rollback)
            timer.start()
            with closing(store_at(path)) as store:
                store.open(take_over=True)
            timer.join()

    def test_writer_that_stays_is_said(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sqlite, "_PATIENT_SECONDS", 0.1)
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreAwayError, match="locked"):
                store_at(path).open(take_over=True)

    def test_only_the_server_that_writes_hurries(
        self, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite, "_HURRIED_SECONDS", 0.02)
        store, keys, second = (store_at(path) for _ in range(3))
        store.open(take_over=True)
        keys.open(take_over=False)
        with held_for_a_moment(path), pytest.raises(StoreAwayError), store.transaction():
            pass
        store.reopen()
        with held_for_a_moment(path), pytest.raises(StoreAwayError), store.transaction():
            pass
        with held_for_a_moment(path):
            keys.keys.insert(key_row())
        with held_for_a_moment(path):
            second.open(take_over=True)
        assert len(second.keys.all()) == 1
        for each in (store, keys, second):
            each.close()

    def test_lock_of_another_program_is_waited_out(self, store: Store, path: str) -> None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreAwayError, match="locked"), store.transaction():
                pass
            assert [row.model for row in store.models()] == ["news"]
        with store.transaction():
            store.insert_decisions([decision_row()])

    def test_read_only_file_is_away(self, store: Store, connection: Sqlite) -> None:
        connection.run("PRAGMA query_only = ON", {})
        with pytest.raises(StoreAwayError, match="cannot be written"), store.transaction():
            store.insert_decisions([decision_row()])
        store.reopen()
        with store.transaction():
            store.insert_decisions([decision_row()])
        assert store.pending("news") == 1

    def test_full_disk_is_away(self, store: Store, connection: Sqlite) -> None:
        ((pages,),) = connection.run("PRAGMA page_count", {})
        connection.run(f"PRAGMA max_page_count = {pages + 4}", {})
        rows = [decision_row(f"d-{number}", record="x" * 4_000) for number in range(20)]
        with pytest.raises(StoreAwayError, match="full"), store.transaction():
            store.insert_decisions(rows)
        assert store.pending("news") == 0
        connection.run("PRAGMA max_page_count = 1000000", {})
        with store.transaction():
            store.insert_decisions(rows)
        assert store.pending("news") == 20


@contextmanager
def held_for_a_moment(path: str) -> Iterator[None]:
    """The lock of a file is taken, for a fifth of a second."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.2, other.rollback)
        timer.start()
        try:
            yield
        finally:
            timer.join()


def write_during(end: Callable[[], None], store: Store) -> None:
    with store.transaction():
        store.insert_decisions([decision_row("lost")])
        end()
        while store.models():  # a killed server may still answer for a moment
            pass


class TestServer:
    @pytest.fixture
    def store(self, postgres_address: str) -> Iterator[Store]:
        store = store_at(postgres_address)
        store.open(take_over=True)
        with store.transaction():
            store.insert_model(model_row(), None)
        yield store
        store.close()

    def test_stopped_server_is_away_until_it_is_back(
        self, store: Store, postgres: PostgresServer
    ) -> None:
        with pytest.raises(StoreAwayError):
            write_during(postgres.stop, store)
        with pytest.raises(StoreAwayError):
            store.reopen()
        with pytest.raises(StoreAwayError), store.transaction():
            pass
        postgres.start()
        store.reopen()
        with store.transaction():
            store.insert_decisions([decision_row("kept")])
        assert [row.decision for row in store.history("news", after=0, limit=9)] == ["kept"]

    def test_committed_rows_outlive_a_killed_server(
        self, store: Store, postgres: PostgresServer
    ) -> None:
        with store.transaction():
            store.insert_decisions([decision_row("kept")])
        with pytest.raises(StoreAwayError):
            write_during(postgres.kill, store)
        postgres.start()
        store.reopen()
        assert [row.decision for row in store.history("news", after=0, limit=9)] == ["kept"]

    def test_read_only_server_is_away(self, store: Store) -> None:
        store.session.connection.run("SET default_transaction_read_only = on", {})
        with pytest.raises(StoreAwayError, match="cannot be written"), store.transaction():
            store.insert_decisions([decision_row()])
        store.reopen()
        with store.transaction():
            store.insert_decisions([decision_row()])

    def test_missing_database_is_said(self, postgres: PostgresServer) -> None:
        with pytest.raises(StoreAwayError, match="^the database cannot be reached$") as caught:
            store_at(postgres.address("nothing")).open(take_over=True)
        assert 'database "nothing" does not exist' in caught.value.detail
