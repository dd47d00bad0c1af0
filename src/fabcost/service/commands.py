"""Commands: ``serve``, ``keys`` to make, list and revoke API keys, and what operators need.

Each imports the service only when it runs: the command line works without the extra.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabcost.wire.errors import explained

if TYPE_CHECKING:
    from fabcost.service.settings import Settings
    from fabcost.service.store.rows import KeyRow
    from fabcost.service.store.store import Store

keys = typer.Typer(no_args_is_help=True, help="API keys, kept in the database.")

#: Requests a second that a publishable key may make, unless it is said.
_RATE = 50.0

Config = Annotated[
    Path | None,
    typer.Option(envvar="FABCOST_CONFIG", dir_okay=False, help="TOML file of settings."),
]
Database = Annotated[
    str | None, typer.Option(help="A file of SQLite, or postgresql://USER:PASSWORD@HOST/NAME.")
]


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="0 for any that is free.")] = None,
    database: Database = None,
    auth: Annotated[
        bool | None,
        typer.Option(
            "--auth/--no-auth", help="Ask for API keys, or never.", rich_help_panel="Switches"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes that serve; above 1 on PostgreSQL only.")
    ] = None,
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow", help="Decide without waiting for the database, by what is known of it."
        ),
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning, error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="json or console.")] = None,
    setting: Annotated[
        list[str], typer.Option("--set", help="NAME=VALUE of any setting; repeatable.")
    ] = [],  # noqa: B006
    config: Config = None,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print the settings in force and exit.")
    ] = False,
) -> None:
    """Serve decisions over HTTP, and learn from what becomes of them."""
    named = {"host": host, "port": port, "database": database, "workers": workers}
    switched = {"auth": {None: None, True: "on", False: "off"}[auth], "follow": follow}
    logged = {"log_level": log_level, "log_format": log_format}
    with explained():
        from fabcost.service.settings import load, show  # noqa: PLC0415

        flags = {**_assigned(setting), **_given({**named, **switched, **logged})}
        loaded = load(flags, os.environ, config)
        if show_config:
            typer.echo(show(loaded))
        else:
            _serve(loaded.settings)


@keys.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose it is, for the list.")],
    role: Annotated[
        list[str], typer.Option(help="decide, feedback, read, admin; repeatable.")
    ] = [],  # noqa: B006
    model: Annotated[str | None, typer.Option(help="The only model it opens.")] = None,
    publishable: Annotated[
        bool,
        typer.Option("--publishable", help="For a page: decides and gives feedback for one model."),
    ] = False,
    rate: Annotated[
        float | None, typer.Option(help="Requests a second of a publishable key; 50 if not given.")
    ] = None,
    database: Database = None,
    config: Config = None,
) -> None:
    """Make a key and print it, this once."""
    with explained():
        from fabcost.service.http.auth import new_key  # noqa: PLC0415
        from fabcost.wire.messages import check_model_name  # noqa: PLC0415

        if model is not None:
            check_model_name(model)
        if rate is not None and not publishable:
            raise ValueError(f"--rate is {rate:g} but only a key that is --publishable has one")
        allowed = (_RATE if rate is None else rate) if publishable else None
        row, text = new_key(name, role, model, now=time.time(), rate=allowed)
        with _store(database, config, write=True, make=True) as store:
            _insert(store, row)
        typer.echo(text)


@keys.command("list")
def list_all(database: Database = None, config: Config = None) -> None:
    """All keys, without their secrets."""
    with explained(), _store(database, config, write=False) as store:
        rows = store.keys.all()
        for row in rows:
            state = "in force" if row.revoked is None else "revoked"
            rate = "" if row.rate is None else f"  publishable, {row.rate:g}/s"
            shown = f"{row.key_id}  {state:8}  {row.roles}  {row.model or '*'}  {row.name}"
            typer.echo(shown + rate)


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="As the list shows it.")],
    database: Database = None,
    config: Config = None,
) -> None:
    """Take a key out of force; servers follow within two seconds."""
    with explained(), _store(database, config, write=True) as store:
        if not store.keys.revoke(key_id, time.time()):
            raise ValueError(f"there is no key {key_id!r} in force")


def backup(
    file: Annotated[Path, typer.Argument(help="A new file.")],
    database: Database = None,
    config: Config = None,
) -> None:
    """Copy a database into a file, also while it is served."""
    with explained():
        from fabcost.service.store.backup import back_up  # noqa: PLC0415

        address = _database(database, config)
        _must_be_there(address)
        typer.echo(f"{file} holds {back_up(address, file)}")


def restore(
    file: Annotated[Path, typer.Argument(help="As `fabcost backup` made it.")],
    database: Database = None,
    config: Config = None,
) -> None:
    """Make a database of a backup: an SQLite file that is not there, or an empty PostgreSQL."""
    with explained():
        from fabcost.service.settings import without_password  # noqa: PLC0415
        from fabcost.service.store import backup as backups  # noqa: PLC0415

        address = _database(database, config)
        found = backups.restore(file, address)
        typer.echo(f"{without_password(address)} holds {found}")


def doctor(database: Database = None, config: Config = None) -> None:
    """Look at settings, versions, database, clock, disk, keys and server, and give advice."""
    with explained():
        from fabcost.service.doctor import examine  # noqa: PLC0415
        from fabcost.service.settings import look  # noqa: PLC0415

        loaded, refused = look(_given({"database": database}), os.environ, config)
        wrong = 0
        for each in examine(loaded.settings, refused):
            typer.echo(str(each))
            wrong += each.state == "wrong"
    if wrong:
        raise typer.Exit(1)


def _insert(store: Store, row: KeyRow) -> None:
    """Insert a key; if the connection breaks, look whether it is there."""
    from fabcost.wire.errors import ServiceError, StoreAwayError  # noqa: PLC0415

    try:
        store.keys.insert(row)
    except StoreAwayError as error:
        try:
            store.reopen()
            known = store.keys.all()
        except ServiceError:
            raise ValueError(
                f"{error.detail or error}; whether the key {row.key_id} was made is not known: "
                "look with `fabcost keys list`, and revoke it with `fabcost keys revoke` if so"
            ) from error
        if all(each.key_id != row.key_id for each in known):
            raise


def _serve(settings: Settings) -> None:
    from fabcost.service.server import serve  # noqa: PLC0415
    from fabcost.service.telemetry import logger  # noqa: PLC0415

    log = logger(settings.log_level, settings.log_format)
    serve(settings, log, lambda address: typer.echo(f"listening on {address}"))


@contextmanager
def _store(
    database: str | None, config: Path | None, *, write: bool, make: bool = False
) -> Iterator[Store]:
    """The database of the settings; a file that is not there is made only if that is wanted."""
    from fabcost.service.store.store import store_at  # noqa: PLC0415

    address = _database(database, config)
    store = store_at(address)
    if not make:
        _must_be_there(address)
    store.open_for_keys(write=write, make=make)
    try:
        yield store
    finally:
        store.close()


def _database(given: str | None, config: Path | None) -> str:
    from fabcost.service.settings import load  # noqa: PLC0415

    return load(_given({"database": given}), os.environ, config).settings.database


def _must_be_there(address: str) -> None:
    from fabcost.service.store.connection import file_at  # noqa: PLC0415

    path = file_at(address)
    if path is not None and not Path(path).exists():
        raise ValueError(f"there is no database {path}")


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _assigned(settings: list[str]) -> dict[str, str]:
    from fabcost.service.settings import without_password  # noqa: PLC0415

    for each in settings:
        if "=" not in each:
            raise ValueError(f"--set is {without_password(each)!r} but must be NAME=VALUE")
    return dict(each.split("=", 1) for each in settings)
