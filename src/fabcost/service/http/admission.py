"""Who is let in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabcost.service.http.answer import Header
from fabcost.service.http.auth import ANYONE, Principal, Role
from fabcost.service.http.problem import RefusedError
from fabcost.service.http.site import NO_KEY, Site

_ASK: Header = (b"www-authenticate", b'Bearer realm="fabcost"')
_SHOW = "show a key in force: Authorization: Bearer KEY, or X-Api-Key: KEY"
_LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)


def admit(site: Site, headers: Mapping[bytes, bytes]) -> Principal:
    """Whoever shows a key in force; anyone on this machine if none are asked for.

    Without keys the host must be a loopback by name: a web page elsewhere whose name was made to
    point here (DNS rebinding) is kept out.
    """
    if not site.asks_for_keys:
        if not is_loopback_host(headers.get(b"host", b"")):
            raise RefusedError(421, "wrong_host", "without keys only loopback hosts are served")
        return ANYONE
    text = key_in(headers)
    principal = None if text is None else site.keys.find(text)
    if principal is None:
        raise RefusedError(401, "not_authenticated", _SHOW if site.keys else NO_KEY, _ASK)
    return principal


def check_allowed(principal: Principal, role: Role, model: str | None) -> None:
    """An error if the key does not have the role, or opens another model only.

    Examples
    --------
    >>> check_allowed(Principal("k", frozenset({"read"}), "news"), "read", "news")
    >>> check_allowed(Principal("k", frozenset({"read"}), "news"), "read", "shop")
    Traceback (most recent call last):
    fabcost.service.http.problem.RefusedError: this key opens one model, which is another
    """
    if not principal.may(role):
        raise RefusedError(403, "forbidden", f"this key does not have the role {role}")
    if principal.model is not None and principal.model != model:
        raise RefusedError(403, "forbidden", "this key opens one model, which is another")


def is_loopback_host(host: bytes) -> bool:
    """Whether a Host header names this machine.

    Examples
    --------
    >>> is_loopback_host(b"localhost:8000"), is_loopback_host(b"evil.example:8000")
    (True, False)
    """
    return _LOOPBACK.fullmatch(host) is not None


def key_in(headers: Mapping[bytes, bytes]) -> str | None:
    """The key that was sent, in whichever of the headers that may hold one.

    Examples
    --------
    >>> key_in({b"authorization": b"Bearer fc_1_2"}), key_in({b"x-api-key": b"fc_1_2"})
    ('fc_1_2', 'fc_1_2')
    """
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return token.strip().decode("latin-1")
    other = headers.get(b"x-api-key") or headers.get(b"ocp-apim-subscription-key")
    return None if other is None else other.decode("latin-1")
