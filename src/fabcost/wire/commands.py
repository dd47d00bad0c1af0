"""What the commands of client and service share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def explained() -> Iterator[None]:
    """Tell errors of whoever typed a command without a traceback."""
    try:
        yield
    except ModuleNotFoundError as error:
        wanted = f"this command needs the extra 'service' ({error.name} is missing)"
        typer.echo(f"{wanted}: pip install 'fabcost[service]'", err=True)
        raise typer.Exit(2) from error
    except Exception as error:
        from fabcost.wire.errors import ServiceError  # noqa: PLC0415

        if not isinstance(error, ValueError | OSError | ServiceError):
            raise
        typer.echo(f"Error: {getattr(error, 'detail', '') or error}", err=True)
        raise typer.Exit(2) from error
