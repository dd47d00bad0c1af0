"""What might be wrong with a server as it is set, in sentences, with advice.

Nothing is changed by looking: no table is made, no file, no key.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from textwrap import wrap
from typing import Literal, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from fabcost.service.processes import CannotStartError, is_loopback
from fabcost.service.server import asks_for_keys
from fabcost.service.settings import Settings, making_a_key, without_password
from fabcost.service.store.connection import (
    connection_at,
    file_at,
    is_open_to_others,
    migrations,
    version_of,
)
from fabcost.service.store.rows import KeyRow, ModelRow
from fabcost.service.store.store import Store
from fabcost.wire.errors import ServiceError

State = Literal["ok", "look", "wrong"]
_LEAST_FREE = 1 << 30
_PACKAGES = ("numpy", "scipy", "numba", "msgspec", "uvicorn", "psycopg")
_AHEAD_SECONDS = 60.0
#: Impressions above which a model should have a bound for those that it keeps.
_MANY = 100_000
_INDENT = " " * 16


class Symptom(NamedTuple):
    """What was looked at, and what to do about it if something is."""

    state: State
    subject: str
    said: str
    advice: str = ""

    def __str__(self) -> str:
        first = f"{self.state:5}  {self.subject:8} "
        return "\n".join([*_lines(first, self.said), *_lines(_INDENT, self.advice)])


def examine(
    settings: Settings, refused: Sequence[str] = (), *, now: Callable[[], float] = time.time
) -> Iterator[Symptom]:
    """All findings, those about the database only if it can be read.

    ``refused`` is what is wrong with settings that were left out.

    Examples
    --------
    >>> found = list(examine(Settings(database="none/such.db", port=1)))
    >>> [(each.state, each.subject) for each in found if each.state == "wrong"]
    [('wrong', 'database')]
    """
    yield from _settings(refused)
    yield _versions()
    yield _cache()
    yield from _disk(settings)
    path = file_at(settings.database)
    if path is not None and not Path(path).exists():
        folder = Path(path).resolve().parent
        state: State = "look" if folder.is_dir() else "wrong"
        advice = "it is made by `fabcost serve` or `fabcost keys add`" if state == "look" else ""
        yield Symptom(state, "database", f"there is no file {path}", advice or f"make {folder}")
    else:
        yield from _database(settings, now())
    yield _server(settings)


def _lines(first: str, text: str) -> list[str]:
    """A text within 80 columns; a word that is longer, as an address may be, stays whole."""
    return wrap(
        text,
        80,
        initial_indent=first,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _settings(refused: Sequence[str]) -> Iterator[Symptom]:
    for each in refused:
        yield Symptom("wrong", "settings", each, "no server starts with it; left out here")
    if not refused:
        said = "none is wrong; `fabcost serve --show-config` prints them"
        yield Symptom("ok", "settings", said)


def _versions() -> Symptom:
    found = [f"Python {platform.python_version()}", f"SQLite {sqlite3.sqlite_version}"]
    missing = []
    for name in ("fabcost", *_PACKAGES):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        advice = "install them: pip install 'fabcost[service]'"
        return Symptom("wrong", "versions", f"{', '.join(missing)} missing", advice)
    return Symptom("ok", "versions", ", ".join(found))


def _cache() -> Symptom:
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parents[1])
    if os.access(folder, os.W_OK) or (not folder.exists() and os.access(folder.parent, os.W_OK)):
        return Symptom("ok", "kernels", f"compiled ones are kept in {folder}")
    advice = "set NUMBA_CACHE_DIR to a folder that can be written, or each start may compile"
    return Symptom("look", "kernels", f"{folder} cannot be written", advice)


def _disk(settings: Settings) -> Iterator[Symptom]:
    path = file_at(settings.database)
    folder = None if path is None else Path(path).resolve().parent
    if path is None or folder is None or not folder.is_dir():
        return
    size = os.path.getsize(path) if os.path.exists(path) else 0
    free = shutil.disk_usage(folder).free
    said = f"{free / 1e9:.1f} GB free beside a database of {size / 1e9:.3f} GB"
    if free < max(_LEAST_FREE, size):
        advice = "a full disk stops learning, and a migration or a backup needs as much again"
        yield Symptom("wrong" if free < _LEAST_FREE / 10 else "look", "disk", said, advice)
    else:
        yield Symptom("ok", "disk", said)
    if is_open_to_others(settings.database):
        advice = f"chmod 600 {path}"
        yield Symptom("wrong", "disk", "every user of this machine can read the database", advice)


def _database(settings: Settings, now: float) -> Iterator[Symptom]:
    shown, connection = without_password(settings.database), connection_at(settings.database)
    store = Store(connection)
    try:
        store.open_for_keys(write=False)
        try:
            here, newest = version_of(connection), len(migrations(connection.dialect))
            if here < newest:
                advice = "back it up; the next start of this program brings it up to date"
                said = f"{shown} has version {here}, this program writes {newest}"
                yield Symptom("look", "database", said, advice)
            else:
                yield from _tables(store, f"{shown}, version {here}", now)
                models = store.models()
                yield from (_kept(settings, row) for row in models if _keeps_all(row))
                yield from _keys(settings, store.keys.all(), [row.model for row in models])
        finally:
            store.close()
    except ServiceError as error:
        advice = "is it up, and is the address right? `fabcost serve --show-config` prints it"
        yield Symptom("wrong", "database", f"{shown}: {error}", advice)


def _tables(store: Store, shown: str, now: float) -> Iterator[Symptom]:
    yield Symptom("ok", "database", f"{shown}, {len(store.models())} models")
    ahead = store.latest_time() - now
    if ahead > _AHEAD_SECONDS:
        advice = "set the clock right; times go on from the latest that was written until then"
        yield Symptom("wrong", "clock", f"{ahead:.0f} s behind the latest time written", advice)
    else:
        yield Symptom("ok", "clock", "not behind what was written")


def _keeps_all(row: ModelRow) -> bool:
    """Whether a model has many impressions, and nothing that bounds how many it keeps."""
    given = json.loads(row.settings)
    bounded = any(given.get(name) for name in ("most_kept", "window", "half_life", "belief"))
    # Other schedules have a last refresh, after which nothing is kept.
    refreshed = given.get("refresh", {}).get("kind", "geometric") == "geometric"
    return row.head_lsn > _MANY and refreshed and not bounded


def _kept(settings: Settings, row: ModelRow) -> Symptom:
    name, grows = row.model, ", the database too in spite of keep_days" * (settings.keep_days > 0)
    said = f"{name} keeps all of its {row.head_lsn:,} impressions: memory and starts grow{grows}"
    advice = f"fabcost create-model {name}-2 --start {name} --set most_kept={_MANY}"
    return Symptom("look", "models", said, advice)


def _keys(settings: Settings, rows: list[KeyRow], models: list[str]) -> Iterator[Symptom]:
    valid = [row for row in rows if row.revoked is None]
    try:
        needed = asks_for_keys(settings, len(valid) if rows else None)
    except CannotStartError as error:
        yield Symptom("wrong", "keys", str(error))
        return
    if not needed:
        yield Symptom("look", "keys", "none are asked for", "whoever reaches it may do everything")
    elif not any("admin" in row.roles.split(",") for row in valid):
        advice = f"make one: {making_a_key(settings)}"
        yield Symptom("look" if valid else "wrong", "keys", "no admin has one in force", advice)
    else:
        yield Symptom("ok", "keys", f"{len(valid)} in force, {len(rows) - len(valid)} revoked")
    for row in valid:
        if row.model is not None and row.model not in models:
            said = f"{row.key_id} ({row.name}) opens {row.model}, which is not there"
            yield Symptom("look", "keys", said, f"fabcost create-model {row.model}, or revoke it")
    if any(row.rate is not None for row in valid) and not settings.cors_origins:
        advice = "fabcost serve --set cors_origins=https://shop.example"
        yield Symptom("look", "keys", "some are for pages, but no origin may ask", advice)


def _server(settings: Settings) -> Symptom:
    host = settings.host if is_loopback(settings.host) else "127.0.0.1"
    address = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
    try:
        with urlopen(f"{address}/readyz", timeout=3.0) as answer:  # noqa: S310 - it is http
            degraded = b"degraded" in answer.read()
    except HTTPError as error:
        said = error.read().decode(errors="replace")
        return Symptom("wrong", "server", f"{address} is not ready: {said}")
    except (URLError, OSError) as error:
        why = getattr(error, "reason", error)
        return Symptom("look", "server", f"nobody answers at {address}: {why}", "is it started?")
    if degraded:
        advice = f"ask {address}/readyz which, and why"
        return Symptom("wrong", "server", f"{address} does not serve all its models", advice)
    return Symptom("ok", "server", f"{address} is ready")
