"""API keys, what they open, and how they are shown: ``fc_<id>_<secret>``.

Of a key only the id and a digest of the secret are kept.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from fabcost.service.store.rows import KeyRow

Role = Literal["decide", "feedback", "read", "admin"]
ROLES: frozenset[Role] = frozenset(get_args(Role))
_OF_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


class Principal(NamedTuple):
    """Who asks: what they may do (an admin everything), and with which model (None: all)."""

    key_id: str
    roles: frozenset[str]
    model: str | None


#: Whoever asks while no keys are asked for.
ANYONE = Principal("", frozenset({"admin"}), None)


def digest(secret: str) -> str:
    """SHA-256 of a secret, which has 256 random bits and so needs no slow hash."""
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
    """The keys in force, in memory."""

    def __init__(self, rows: Iterable[KeyRow]) -> None:
        self._known: dict[str, tuple[str, Principal | None]] = {}
        for row in rows:
            if row.revoked is None:
                principal = Principal(row.key_id, frozenset(row.roles.split(",")), row.model)
                self._known[row.key_id] = (row.digest, principal)

    def __len__(self) -> int:
        return len(self._known)

    def find(self, text: str) -> Principal | None:
        """Whose key this is; the time it takes does not tell how much of it is right."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        expected, principal = self._known.get(key_id, (_OF_NOBODY, None))
        is_right = hmac.compare_digest(digest(secret), expected)
        return principal if is_right and prefix == "fc" else None
