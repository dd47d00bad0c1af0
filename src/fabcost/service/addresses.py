"""Addresses to listen at."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

_WAITING_CONNECTIONS = 2048


class CannotStartError(Exception):
    """A server that must not start as it is set, and what to do about it.

    Examples
    --------
    >>> str(CannotStartError("port 80 is taken"))
    'port 80 is taken'
    """


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


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; port 0 is any that is free.

    Examples
    --------
    >>> bound = bind("127.0.0.1", 0)
    >>> bound.getsockname()[0]
    '127.0.0.1'
    >>> bound.close()
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with contextlib.ExitStack() as unless_bound:
            bound = unless_bound.enter_context(socket.socket(family, kind, protocol))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            # Until one of them listens, two sockets can be bound to the same address.
            bound.listen(_WAITING_CONNECTIONS)
            unless_bound.pop_all()
    except OSError as error:
        raise CannotStartError(f"{host}, port {port}: {error.strerror or error}") from error
    return bound


def address_of(bound: socket.socket) -> str:
    """Where to point a browser.

    Examples
    --------
    >>> with bind("127.0.0.1", 0) as bound:
    ...     address_of(bound)[:17]
    'http://127.0.0.1:'
    """
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
