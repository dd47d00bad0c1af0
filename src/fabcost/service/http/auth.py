"""API keys, what they open, and how they are shown: ``fc_<id>_<secret>``.

Of a key only the id and a digest of the secret are kept.  Publishable ones, ``fp_<id>_<secret>``,
may stand in a page for all to read: they decide and give feedback for one model, at a rate.
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
PUBLISHABLE = frozenset[str]({"decide", "feedback"})
_SECRET, _PUBLIC = "fc", "fp"
_BURST_SECONDS, _LARGEST_RATE = 10.0, 1e6
_OF_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


class Allowance:
    """How much may be asked for: so much in a second, and ten seconds' worth at once.

    Examples
    --------
    >>> allowance = Allowance(rate=2.0, now=0.0)
    >>> allowance.owe(19)
    >>> [allowance.take(now=0.0), allowance.take(now=0.0), allowance.take(now=0.5)]
    [0.0, 0.5, 0.0]
    """

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._most = max(1.0, _BURST_SECONDS * rate)
        self._left = self._most
        self._at = now

    def take(self, now: float) -> float:
        """Take one, and return 0; or the seconds to wait until there is one."""
        left = min(self._most, self._left + self.rate * (now - self._at))
        self._at = now
        self._left = left if left < 1.0 else left - 1.0
        return max(0.0, (1.0 - left) / self.rate)

    def owe(self, many: int) -> None:
        """Take more than there may be; later ones wait for it."""
        self._left -= many


class Principal(NamedTuple):
    """Who asks: what they may do (an admin everything), and with which model (None: all).

    Those with a publishable key have an ``allowance``.
    """

    key_id: str
    roles: frozenset[str]
    model: str | None
    allowance: Allowance | None = None


#: Whoever asks while no keys are asked for.
ANYONE = Principal("", frozenset({"admin"}), None)


def digest(secret: str) -> str:
    """SHA-256 of a secret, which has 256 random bits and so needs no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(
    name: str, roles: Iterable[str], model: str | None, *, now: float, rate: float | None = None
) -> tuple[KeyRow, str]:
    """A key to store, and its text, which is shown once; with a ``rate`` it is publishable.

    Examples
    --------
    >>> row, text = new_key("shop", ["decide", "feedback"], "news", now=0.0)
    >>> row.roles, text.startswith(f"fc_{row.key_id}_"), row.digest in text
    ('decide,feedback', True, False)
    >>> new_key("shop", ["deicde"], None, now=0.0)
    Traceback (most recent call last):
    ValueError: 'deicde' is not a role: admin, decide, feedback, read
    """
    wanted = sorted(set(roles) if rate is None else _publishable(set(roles), model, rate))
    for role in wanted:
        if role not in ROLES:
            raise ValueError(f"{role!r} is not a role: {', '.join(sorted(ROLES))}")
    if not wanted:
        raise ValueError(f"a key needs at least one role of {', '.join(sorted(ROLES))}")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = KeyRow(key_id, digest(secret), name, ",".join(wanted), model, now, None, rate)
    return row, f"{_SECRET if rate is None else _PUBLIC}_{key_id}_{secret}"


def _publishable(roles: set[str], model: str | None, rate: float) -> frozenset[str]:
    """The roles of a publishable key, or a ValueError if it would open more."""
    if not roles <= PUBLISHABLE:
        raise ValueError(
            f"roles are {', '.join(sorted(roles))} but a publishable key has decide and feedback"
        )
    if model is None:
        raise ValueError("a publishable key opens one model, which must be named")
    if not 0.0 < rate <= _LARGEST_RATE:
        raise ValueError(f"rate is {rate} but must be above 0 and at most {_LARGEST_RATE:g}")
    return PUBLISHABLE


def is_publishable(text: str) -> bool:
    """Whether the text of a key says that anyone may read it.

    Examples
    --------
    >>> is_publishable("fp_17_secret"), is_publishable("fc_17_secret")
    (True, False)
    """
    return text.startswith(f"{_PUBLIC}_")


class Keys:
    """The keys in force, in memory; what publishable ones have used up is known from ``before``."""

    def __init__(
        self, rows: Iterable[KeyRow], before: Keys | None = None, now: float = 0.0
    ) -> None:
        self._known: dict[str, tuple[str, Principal | None]] = {}
        for row in rows:
            if row.revoked is None:
                used = None if before is None else before.allowance(row.key_id)
                fresh = None if row.rate is None else Allowance(row.rate, now)
                roles = frozenset(row.roles.split(","))
                principal = Principal(row.key_id, roles, row.model, used or fresh)
                self._known[row.key_id] = (row.digest, principal)

    def __len__(self) -> int:
        return len(self._known)

    def find(self, text: str) -> Principal | None:
        """Whose key this is; the time it takes does not tell how much of it is right."""
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        expected, principal = self._known.get(key_id, (_OF_NOBODY, None))
        is_right = hmac.compare_digest(digest(secret), expected)
        is_public = principal is not None and principal.allowance is not None
        return principal if is_right and prefix == (_PUBLIC if is_public else _SECRET) else None

    def allowance(self, key_id: str) -> Allowance | None:
        """What is left to a publishable key."""
        principal = self._known.get(key_id, ("", None))[1]
        return None if principal is None else principal.allowance
