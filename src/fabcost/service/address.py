"""Where a server listens, and that no other serves the same file."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
from collections.abc import Iterator

from fabcost.service.store.threads import file_at

_WAITING_CONNECTIONS = 2048
#: Why a second process is refused.
FOR_ONE = "a file of SQLite is for one server; several share a PostgreSQL"


class CannotStartError(ValueError):
    """A server that must not start as it is set, and what to do about it."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def bind(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens at an address; port 0 is any that is free.

    One that is ``shared`` does not listen yet, and others may be bound to the same address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as unless_bound:
            bound = unless_bound.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bound.bind(address)
            if not shared:
                # Until one of them listens, two sockets can be bound to the same address.
                bound.listen(_WAITING_CONNECTIONS)
            unless_bound.pop_all()
    except OSError as error:
        raise CannotStartError(f"{host}, port {port}: {error.strerror or error}") from error
    return bound


def address_of(bound: socket.socket) -> str:
    """Where to point a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.contextmanager
def held(database: str) -> Iterator[None]:
    """An error if another process serves the same file; it is free again when this one ends.

    On Windows nobody is refused; there, too, only the latest server writes.
    """
    path = file_at(database)
    file = None if path is None or os.name != "posix" else _locked(path)
    try:
        yield
    finally:
        # Not before SQLite has closed the file: it would lose its own locks.
        if file is not None:
            os.close(file)


def _locked(path: str) -> int | None:
    """The file, made if it is not there; None if SQLite will say what is wrong with it."""
    import fcntl  # noqa: PLC0415  # not on Windows

    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise CannotStartError(f"another process serves {path}: {FOR_ONE}") from None
    return file
