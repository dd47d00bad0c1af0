"""API keys, what they open, and how they are shown: ``fc_<id>_<secret>``.

Of a key only the id and a digest of the secret are kept.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from fabcost.service.http.problem import RefusedError
from fabcost.service.store.rows import KeyRow

Role = Literal["decide", "feedback", "read", "admin"]
ROLES: frozenset[Role] = frozenset(get_args(Role))
_LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_OF_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


class Principal(NamedTuple):
    """Who asks: what they may do, and with which model (None: all)."""

    key_id: str
    roles: frozenset[str]
    model: str | None

    def may(self, role: Role) -> bool:
        """Whether the role is theirs; an admin has all.

        Examples
        --------
        >>> ANYONE.may("decide"), Principal("k", frozenset({"read"}), None).may("decide")
        (True, False)
        """
        return role in self.roles or "admin" in self.roles

    def may_make(self, model: str) -> bool:
        """Whether they may make a model: an admin, or whom an admin gave a key of that model.

        Examples
        --------
        >>> ANYONE.may_make("news"), Principal("k", frozenset({"decide"}), None).may_make("news")
        (True, False)
        >>> Principal("k", frozenset({"decide"}), "news").may_make("news")
        True
        """
        return self.may("admin") or self.model == model


#: Whoever asks while no keys are asked for.
ANYONE = Principal("", frozenset({"admin"}), None)


def digest(secret: str) -> str:
    """SHA-256 of a secret, which has 256 random bits and so needs no slow hash.

    Examples
    --------
    >>> digest("abc")[:8]
    'ba7816bf'
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(
    name: str, roles: Iterable[str], model: str | None, *, now: float
) -> tuple[KeyRow, str]:
    """A key to store, and its text, which is shown once.

    Examples
    --------
    >>> row, text = new_key("shop", ["decide", "feedback"], "news", now=0.0)
    >>> row.roles, text.startswith(f"fc_{row.key_id}_"), row.digest in text
    ('decide,feedback', True, False)
    >>> new_key("shop", ["deicde"], None, now=0.0)
    Traceback (most recent call last):
    ValueError: 'deicde' is not a role: admin, decide, feedback, read
    """
    wanted = sorted(set(roles))
    for role in wanted:
        if role not in ROLES:
            raise ValueError(f"{role!r} is not a role: {', '.join(sorted(ROLES))}")
    if not wanted:
        raise ValueError(f"a key needs at least one role of {', '.join(sorted(ROLES))}")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = KeyRow(key_id, digest(secret), name, ",".join(wanted), model, now, None)
    return row, f"fc_{key_id}_{secret}"


class Keys:
    """The keys in force, in memory.

    Examples
    --------
    >>> row, text = new_key("shop", ["decide"], "news", now=0.0)
    >>> keys = Keys([row])
    >>> keys.find(text) == Principal(row.key_id, frozenset({"decide"}), "news")
    True
    >>> keys.find(text[:-1] + "?") is None, keys.find("fc_absent_x") is None
    (True, True)
    >>> len(keys)
    1
    """

    def __init__(self, rows: Iterable[KeyRow]) -> None:
        self._known = {
            row.key_id: (row.digest, _principal(row)) for row in rows if row.revoked is None
        }

    def __len__(self) -> int:
        return len(self._known)

    def find(self, text: str) -> Principal | None:
        """Whose key this is; the time it takes does not tell how much of it is right."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        expected, principal = self._known.get(key_id, (_OF_NOBODY, None))
        is_right = hmac.compare_digest(digest(secret), expected)
        return principal if is_right and prefix == "fc" else None


def _principal(row: KeyRow) -> Principal:
    return Principal(row.key_id, frozenset(row.roles.split(",")), row.model)


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
