"""Logs: one JSON object a line, or lines for people."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal, TextIO

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

_ENCODER = msgspec.json.Encoder(enc_hook=repr)
Format = Literal["json", "console"]


def logger(level: str, form: Format, stream: TextIO = sys.stderr) -> FilteringBoundLogger:
    """A logger of its own; nothing of it is global.

    Examples
    --------
    >>> import io
    >>> stream = io.TextIOWrapper(io.BytesIO())
    >>> logger("info", "json", stream).info("listening", port=8000)
    >>> msgspec.json.decode(stream.buffer.getvalue())["port"]
    8000
    """
    wrapper = structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()])
    if form == "console":
        plain: Any = structlog.PrintLogger(_Lossy(stream))  # type: ignore[arg-type]
        renderer = structlog.dev.ConsoleRenderer(colors=stream.isatty())
        processors: list[Any] = [structlog.processors.add_log_level, _stamp, renderer]
    else:
        plain = structlog.BytesLogger(_Lossy(stream.buffer))  # type: ignore[arg-type]
        processors = [_render]
    made = structlog.wrap_logger(plain, processors=processors, wrapper_class=wrapper)
    return made.bind()  # type: ignore[no-any-return]


class _Lossy:
    """A stream that loses what cannot be written: a full disk must not stop the server."""

    def __init__(self, stream: TextIO | BinaryIO) -> None:
        self._stream: Any = stream

    def write(self, content: str | bytes) -> None:
        with suppress(OSError):
            self._stream.write(content)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def forward(name: str, log: FilteringBoundLogger) -> None:
    """Send what a library logs under ``name`` to our log.

    Examples
    --------
    >>> import io
    >>> stream = io.TextIOWrapper(io.BytesIO())
    >>> forward("fabcost.example", logger("info", "json", stream))
    >>> logging.getLogger("fabcost.example").warning("a request was not HTTP")
    >>> msgspec.json.decode(stream.buffer.getvalue())["event"]
    'a request was not HTTP'
    """
    library = logging.getLogger(name)
    library.handlers = [_Forwarding(log)]
    library.propagate = False
    library.setLevel(logging.WARNING)


def _stamp(_logger: object, _level: str, event: Any) -> Any:
    event["timestamp"] = datetime.now(UTC).strftime("%H:%M:%S")
    return event


def _render(logger: object, level: str, event: Any) -> bytes:
    """All in one step: a line of JSON costs a few microseconds of each request."""
    line: MutableMapping[str, Any] = {"time": datetime.now(UTC), "level": level, **event}
    if "exc_info" in line:
        line = structlog.processors.format_exc_info(logger, level, line)
    return _ENCODER.encode(line)


class _Forwarding(logging.Handler):
    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.log(record.levelno, record.getMessage(), exc_info=record.exc_info, by=record.name)
