"""The commands `create-model`, `export-log` and `import-log`, which talk to a running server.

Each imports the client only when it runs: the command line works without the extra.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from fabcost.wire.errors import explained

if TYPE_CHECKING:
    from fabcost.client.clients import Client
    from fabcost.wire.messages import LogFormat
    from fabcost.wire.settings import ModelSettings

HERE = "http://127.0.0.1:8000"
Model = Annotated[str, typer.Argument(help="Its name.")]
Url = Annotated[str, typer.Option(help="Of the server.", envvar="FABCOST_URL")]
Key = Annotated[str | None, typer.Option(help="An API key.", envvar="FABCOST_KEY")]
Form = Annotated[
    str | None, typer.Option("--format", help="jsonl, parquet or dsjson; else by the file's name.")
]


def create_model(
    model: Model,
    start: Annotated[
        str | None, typer.Option(help="A model whose posterior is the prior of the new one.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Or the file of a recommender or model."),
    ] = None,
    discount: Annotated[
        float | None, typer.Option(help="Above 0, at most 1; else the outcomes decide.")
    ] = None,
    assigned: Annotated[
        list[str], typer.Option("--set", help="NAME=VALUE of a setting of it; repeatable.")
    ] = [],  # noqa: B006
    url: Url = HERE,
    key: Key = None,
) -> None:
    """Make a model, from nothing or from what another has learnt."""
    with explained():
        from fabcost.client.clients import Client  # noqa: PLC0415

        if start is not None and file is not None:
            raise ValueError("--start and --file are given but must be only one of them")
        if file is not None and assigned:
            raise ValueError("--set and --file are given but must be only one of them")
        settings = _settings(assigned)
        with Client(url, key) as client:
            if file is None:
                made = client.create_model(model, settings, start=start, discount=discount)
            else:
                made = client.import_model(model, file.read_bytes(), start=True, discount=discount)
    typer.echo(f"{made.name}: {made.weights} weights")


def export_log(
    model: Model,
    out: Annotated[Path, typer.Option(dir_okay=False, help="The file to write.")],
    form: Form = None,
    url: Url = HERE,
    key: Key = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the decisions of a model, with what became of them, to a file."""
    with explained():
        from fabcost.client.clients import Client  # noqa: PLC0415

        chosen = _format(form, out)
        if out.exists() and not force:
            raise ValueError(f"{out} exists; --force overwrites it")
        with Client(url, key) as client, _shown("received", None) as advance:
            size = _write(client.export_log(model, chosen), out, advance)
    typer.echo(f"{out}: {size:,} bytes")


def import_log(
    model: Model,
    log: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The file to read.")],
    form: Form = None,
    url: Url = HERE,
    key: Key = None,
) -> None:
    """Let a model learn from a file of decisions; nothing is sent if a line cannot be read."""
    with explained():
        from fabcost.client.clients import Client  # noqa: PLC0415
        from fabcost.wire.formats import check  # noqa: PLC0415

        chosen = _format(form, log)
        size = log.stat().st_size
        with _shown("checked", size) as advance:
            checked = check(log, chosen, advance)
        with Client(url, key) as client, _shown("sent", size) as advance:
            new = sum(_sent(client, model, log, chosen, checked.after, advance))
    typer.echo(f"{log}: {checked.many:,} decisions, {new:,} of them new to {model}")


@contextmanager
def _shown(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar of bytes on stderr, if that is a terminal; call the result with what was done."""
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


def _sent(
    client: Client,
    model: str,
    log: Path,
    form: LogFormat,
    after: list[str],
    advance: Callable[[int], object],
) -> Iterator[int]:
    from fabcost.client.exchange import ClientError  # noqa: PLC0415
    from fabcost.wire.formats import parts_of  # noqa: PLC0415

    for place, part in enumerate(parts_of(log, form)):
        if place == len(after):
            raise ValueError(f"{log} has grown since it was checked: import it again")
        try:
            yield client.import_log(model, part.body, form, after=after[place])
        except ClientError as error:
            where = f"the part of {log} that begins after line {part.before}"
            raise ValueError(f"{where}: {error}") from error
        advance(part.size)


def _write(pieces: Iterator[bytes], out: Path, advance: Callable[[int], object]) -> int:
    """All of it or no file: a log that broke off looks like one that ended."""
    begun = out.with_name(out.name + ".part")
    size = 0
    try:
        with begun.open("wb") as file:
            for piece in pieces:
                size += file.write(piece)
                advance(len(piece))
        begun.replace(out)
    finally:
        begun.unlink(missing_ok=True)
    return size


def _format(form: str | None, path: Path) -> LogFormat:
    from fabcost.wire.formats import WRITERS  # noqa: PLC0415

    name = path.suffix.removeprefix(".") if form is None else form
    for known in WRITERS:
        if name == known:
            return known
    given = f"the ending of {path.name}" if form is None else "--format"
    raise ValueError(f"{given} is {name!r} but must be one of {', '.join(WRITERS)}")


def _settings(assigned: list[str]) -> ModelSettings:
    """Those of a new model; a value that is no JSON is a text."""
    import msgspec  # noqa: PLC0415

    from fabcost.wire.settings import ModelSettings  # noqa: PLC0415

    given: dict[str, Any] = {}
    for each in assigned:
        name, equals, text = each.partition("=")
        if not equals:
            raise ValueError(f"--set is {each!r} but must be NAME=VALUE")
        try:
            given[name] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            given[name] = text
    return msgspec.convert(given, ModelSettings)
