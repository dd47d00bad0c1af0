"""Logs: one JSON object a line, or lines for people."""

from __future__ import annotations

import logging
import sys
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
    timestamps = structlog.processors.TimeStamper(fmt="iso", utc=True, key="time")
    wrapper = structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()])
    processors: list[Any] = [structlog.processors.add_log_level, timestamps]
    if form == "console":
        processors.append(structlog.dev.ConsoleRenderer(colors=stream.isatty()))
        plain: Any = structlog.PrintLogger(stream)
    else:
        processors += [structlog.processors.format_exc_info, _render]
        plain = structlog.BytesLogger(_binary(stream))
    made = structlog.wrap_logger(plain, processors=processors, wrapper_class=wrapper)
    return made.bind()  # type: ignore[no-any-return]


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


def _binary(stream: TextIO) -> BinaryIO:
    return stream.buffer


def _render(_logger: object, _name: str, event: Any) -> bytes:
    return _ENCODER.encode(event)


class _Forwarding(logging.Handler):
    def __init__(self, log: FilteringBoundLogger) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.log(record.levelno, record.getMessage(), exc_info=record.exc_info, by=record.name)
