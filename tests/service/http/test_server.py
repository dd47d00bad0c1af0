"""The server as a process: signals, addresses, keys and settings."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from fabcost.cli import application
from fabcost.service.store.store import store_at
from tests.service.http.serving import process
from tests.service.http.waiting import wait_for_in_flight, wait_until_refused

CANDIDATES = {"a": {"x": 1}, "b": {"x": 2}}
PATIENT = ("--set", "request_seconds=600")


def command(*arguments: str, **environment: str) -> Result:
    """A command that ends by itself, in this process."""
    others = {name: None for name in os.environ if name.startswith("FABCOST_")}
    return CliRunner().invoke(application, arguments, env={**others, **environment})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(tmp_path: Path, number: int) -> None:
    database = tmp_path / "bandit.db"
    with process(database) as server:
        with httpx.Client(base_url=server.address, timeout=60.0) as http:
            http.post("/v1/models", json={"name": "news"}).raise_for_status()
            asked = {"decision_id": "d", "candidates": CANDIDATES}
            http.post("/v1/models/news/decisions", json=asked).raise_for_status()
            http.post("/v1/models/news/feedback", json={"decision_id": "d"}).raise_for_status()
        status, logged = server.stop(number)
    assert status == 0, logged
    assert '"event":"stopped"' in logged
    assert "no keys are asked for" in logged
    store = store_at(str(database))
    store.open(take_over=False)
    assert store.snapshot_numbers("news") == [1]
    store.close()


def test_requests_in_flight_are_finished(tmp_path: Path) -> None:
    """A request whose body is still on its way when the signal comes gets its answer."""
    body = b'{"name": "late"}'
    head = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with process(tmp_path / "bandit.db", *PATIENT) as server:
        host, port = server.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[:5])
            wait_for_in_flight(server.address, 1)
            os.kill(server.pid, signal.SIGTERM)
            wait_until_refused(server.address)
            connection.sendall(body[5:])
            assert connection.recv(65_536).startswith(b"HTTP/1.1 201 ")
        status, logged = server.ended()
        assert status == 0, logged


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    head = b"POST /v1/models HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with process(tmp_path / "bandit.db", *PATIENT) as server:
        host, port = server.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
            wait_for_in_flight(server.address, 1)
            os.kill(server.pid, signal.SIGTERM)
            wait_until_refused(server.address)
            assert server.runs()
            status, _ = server.stop(signal.SIGTERM)
    assert status == 128 + signal.SIGTERM


def test_a_taken_port_leaves_the_database_to_the_first_server(tmp_path: Path) -> None:
    database = tmp_path / "bandit.db"
    with process(database) as server, httpx.Client(base_url=server.address, timeout=60.0) as http:
        port = server.address.rpartition(":")[2]
        done = command("serve", "--port", port, "--database", str(database))
        assert (done.exit_code, "in use" in done.stderr) == (2, True), done.stderr
        assert http.post("/v1/models", json={"name": "news"}).status_code == 201


def test_other_addresses_need_keys(tmp_path: Path) -> None:
    database = str(tmp_path / "bandit.db")
    done = command("serve", "--host", "0.0.0.0", "--port", "0", "--database", database)  # noqa: S104
    assert (done.exit_code, "fabcost keys add" in done.stderr) == (2, True), done.stderr
    done = command("serve", "--host", "0.0.0.0", "--no-auth", "--database", database)  # noqa: S104
    assert (done.exit_code, "auth cannot be off" in done.stderr) == (2, True), done.stderr


def test_keys_of_the_command_line_open_a_running_server(tmp_path: Path) -> None:
    database = str(tmp_path / "bandit.db")
    admin = command("keys", "add", "me", "--role", "admin", FABCOST_DATABASE=database)
    assert admin.exit_code == 0, admin.stderr
    with process(database) as server, httpx.Client(base_url=server.address, timeout=60.0) as http:
        assert http.get("/v1/models").status_code == 401
        assert http.get("/v1/models", headers=shown(admin.stdout)).status_code == 200
        made = command("keys", "add", "dash", "--role", "read", "--database", database)
        wait_for(http, made.stdout, 200)
        key_id = made.stdout.split("_")[1]
        listed = command("keys", "list", "--database", database).stdout
        assert f"{key_id}  in force  read  *  dash" in listed
        assert made.stdout.strip().split("_", 2)[2] not in listed
        assert command("keys", "revoke", key_id, "--database", database).exit_code == 0
        wait_for(http, made.stdout, 401)
        again = command("keys", "revoke", key_id, "--database", database)
        assert (again.exit_code, "no key" in again.stderr) == (2, True)


@pytest.mark.parametrize("auth", [(), ("--auth",)])
def test_after_the_last_key_is_revoked_nobody_is_let_in(
    tmp_path: Path, auth: tuple[str, ...]
) -> None:
    """Not even from this machine, where a proxy may stand; until another key is made."""
    database = str(tmp_path / "bandit.db")
    first = command("keys", "add", "me", "--role", "admin", "--database", database)
    revoked = command("keys", "revoke", first.stdout.split("_")[1], "--database", database)
    assert revoked.exit_code == 0, revoked.stderr
    with process(database, *auth) as server:
        with httpx.Client(base_url=server.address, timeout=60.0) as http:
            refused = http.get("/v1/models")
            assert refused.status_code == 401
            assert "fabcost keys add" in refused.json()["error"]["message"]
            assert http.get("/v1/models", headers=shown(first.stdout)).status_code == 401
            rank = http.post("/personalizer/rank", json={"actions": [{"id": "a"}]})
            assert rank.status_code == 401
            again = command("keys", "add", "me", "--role", "admin", "--database", database)
            wait_for(http, again.stdout, 200)
            message = http.get("/v1/models").json()["error"]["message"]
            assert "fabcost keys add" not in message
        assert "no API key is in force" in server.stop()[1]


def test_it_can_be_said_that_no_keys_are_asked_for_any_more(tmp_path: Path) -> None:
    database = str(tmp_path / "bandit.db")
    first = command("keys", "add", "me", "--role", "admin", "--database", database)
    command("keys", "revoke", first.stdout.split("_")[1], "--database", database)
    with process(database, "--no-auth") as server:
        assert httpx.get(server.address + "/v1/models", timeout=60.0).status_code == 200


def shown(key: str) -> dict[str, str]:
    return {"x-api-key": key.strip()}


def wait_for(http: httpx.Client, key: str, status: int) -> None:
    """Keys are read again every two seconds."""
    deadline = time.monotonic() + 60.0
    while http.get("/v1/models", headers=shown(key)).status_code != status:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_key_needs_a_role_that_exists(tmp_path: Path) -> None:
    done = command("keys", "add", "x", "--role", "root", "--database", str(tmp_path / "b.db"))
    assert (done.exit_code, "'root' is not a role" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("name", ["bad name/é", "", "-first", "m" * 65])
def test_a_key_is_for_a_model_that_can_be(tmp_path: Path, name: str) -> None:
    database = tmp_path / "b.db"
    flags = ("--role", "read", "--database", str(database))
    done = command("keys", "add", "x", "--model", name, *flags)
    assert (done.exit_code, "it must be at most 64 letters" in done.stderr) == (2, True), done
    assert not database.exists()
    assert command("keys", "add", "x", "--model", "not-made.yet", *flags).exit_code == 0


@pytest.mark.parametrize("scheme", ["", "sqlite:///"])
@pytest.mark.parametrize("arguments", [["list"], ["revoke", "0"]])
def test_looking_for_keys_makes_no_database(
    tmp_path: Path, scheme: str, arguments: list[str]
) -> None:
    address = f"{scheme}{tmp_path}/typo.db"
    done = command("keys", *arguments, "--database", address)
    said = f"there is no database {tmp_path}/typo.db"
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []
    assert command("keys", "add", "x", "--role", "read", "--database", address).exit_code == 0
    assert command("keys", "list", "--database", address).exit_code == 0


def test_keys_of_postgresql_are_listed(postgres_address: str) -> None:
    done = command("keys", "add", "x", "--role", "read", "--database", postgres_address)
    assert done.exit_code == 0, done.stderr
    listed = command("keys", "list", "--database", postgres_address)
    assert (listed.exit_code, "in force  read  *  x" in listed.stdout) == (0, True), listed.stderr


def test_settings_in_force_are_shown_without_the_password(tmp_path: Path) -> None:
    file = tmp_path / "fabcost.toml"
    file.write_text('database = "postgresql://shop:hunter2@db/x"\ncandidates = 50\nport = 1\n')
    done = command(
        "serve", "--show-config", "--config", str(file), "--set", "features=7", FABCOST_PORT="2"
    )
    assert done.exit_code == 0, done.stderr
    assert 'database = "postgresql://shop:***@db/x"  # file' in done.stdout
    assert "port = 2  # environment" in done.stdout
    assert "features = 7  # flag" in done.stdout
    assert "candidates = 50  # file" in done.stdout
    assert "body_bytes = 1048576  # default" in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [["keys", "list"], ["serve", "--port", "0"]])
def test_no_command_tells_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for address in (
        "host=127.0.0.1 port=1 password=hunter2",
        "postgresql://me:pass@hunter2@127.0.0.1:1/x",
        "me:hunter2@127.0.0.1:1/x",
    ):
        done = command(*arguments, FABCOST_DATABASE=address)
        assert (done.exit_code, "hunter2" in done.output + done.stderr) == (2, False), done.output
    done = command("serve", "--set", "postgresql://me:hunter2@db/x")
    assert (done.exit_code, "hunter2" in done.output + done.stderr) == (2, False), done.output


def test_a_file_that_others_can_read_is_said(tmp_path: Path) -> None:
    database = tmp_path / "bandit.db"
    database.touch(mode=0o644)
    database.chmod(0o644)
    tmp_path.chmod(0o755)
    with process(database) as server:
        assert "every user of this machine can read" in server.stop()[1]


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["--set", "prot=1"], {}, "flag: prot is not a setting"),
        (["--set", "port"], {}, "NAME=VALUE"),
        (["--port", "70000"], {}, "flag: 'port' must be a whole number <= 65535"),
        (["--log-level", "loud"], {}, "flag: 'log_level' is 'loud', which is none of"),
        ([], {"FABCOST_PROT": "1"}, "environment: FABCOST_PROT is not a setting"),
        ([], {"FABCOST_PORT": "high"}, "environment: 'port' must be a whole number but is text"),
        (["--config", "absent.toml"], {}, "absent.toml"),
    ],
)
def test_wrong_settings_are_named(
    arguments: list[str], environment: dict[str, str], message: str
) -> None:
    done = command("serve", "--show-config", *arguments, **environment)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_a_start_that_is_refused_makes_no_file(tmp_path: Path) -> None:
    database = tmp_path / "bandit.db"
    everywhere = ["--host", "0.0.0.0", "--port", "0"]  # noqa: S104
    done = command("serve", *everywhere, "--database", str(database))
    assert (done.exit_code, "there are no API keys" in done.stderr) == (2, True), done.output
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "letter.db"
    file.write_text("Dear database, " * 100)
    done = command("serve", "--port", "0", "--database", str(file))
    assert (done.exit_code, "Error: " in done.stderr) == (2, True), done.stderr


def test_a_busy_server_says_where_it_listens(tmp_path: Path) -> None:
    """Many connections at once are all served."""
    with process(tmp_path / "bandit.db", "--log-format", "console") as server:
        statuses: list[int] = []

        def ask() -> None:
            statuses.append(httpx.get(server.address + "/readyz", timeout=60.0).status_code)

        threads = [threading.Thread(target=ask) for _ in range(20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        status, logged = server.stop()
    assert (status, statuses) == (0, [200] * 20)
    assert "route=/readyz" in logged
