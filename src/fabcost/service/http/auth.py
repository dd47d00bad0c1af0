"""API keys, what they open, and how they are shown: ``fc_<id>_<secret>``.

Of a key only the id and a digest of the secret are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from structlog.typing import FilteringBoundLogger

from fabcost.service.http.exchange import Header, RefusedError
from fabcost.service.store.rows import KeyRow
from fabcost.wire.errors import ServiceError

Role = Literal["decide", "feedback", "read", "admin"]
ROLES: frozenset[Role] = frozenset(get_args(Role))
_ASK: Header = (b"www-authenticate", b'Bearer realm="fabcost"')
_SHOW = "show a key in force: Authorization: Bearer KEY, or X-Api-Key: KEY"
_NO_KEY = (
    "no API key is in force, so nobody is let in: make one with `fabcost keys add NAME --role "
    "admin` where the server runs"
)
_REREAD_SECONDS = 2.0
_LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_OF_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


class Principal(NamedTuple):
    """Who asks: what they may do, and with which model (None: all)."""

    key_id: str
    roles: frozenset[str]
    model: str | None

    def may(self, role: Role) -> bool:
        """Whether the role is theirs; an admin has all."""
        return role in self.roles or "admin" in self.roles

    def may_make(self, model: str) -> bool:
        """Whether they may make a model: an admin, or whom an admin gave a key of that model."""
        return self.may("admin") or self.model == model


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


def check_allowed(principal: Principal, role: Role, model: str | None) -> None:
    """An error if the key does not have the role, or opens another model only."""
    if not principal.may(role):
        raise RefusedError(403, "forbidden", f"this key does not have the role {role}")
    if principal.model is not None and principal.model != model:
        raise RefusedError(403, "forbidden", "this key opens one model, which is another")


def check_origin(headers: Mapping[bytes, bytes]) -> None:
    """An error if a page of another site asks.

    The contract takes JSON under any content type, so browsers send it without asking first.
    """
    origin = headers.get(b"origin")
    if origin is None:
        return
    site = origin.partition(b"://")[2]
    if not site or site.lower() != headers.get(b"host", b"").lower():
        raise RefusedError(403, "forbidden", "without keys pages of other sites are not served")


class Access:
    """Lets in whoever shows a key in force; anyone on this machine if none are asked for.

    ``read`` gives all keys, and ``log`` is told when nobody is let in.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[Iterable[KeyRow]]],
        log: FilteringBoundLogger,
        *,
        asks_for_keys: bool,
    ) -> None:
        self.asks_for_keys = asks_for_keys
        self._read = read
        self._log = log
        self._keys = Keys([])
        self._has_read_keys = False

    def admit(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Who asks, or an error.

        Without keys the host must be a loopback by name: a web page elsewhere whose name was made
        to point here (DNS rebinding) is kept out.
        """
        if not self.asks_for_keys:
            if not _LOOPBACK.fullmatch(headers.get(b"host", b"")):
                raise RefusedError(421, "wrong_host", "without keys only loopback hosts are served")
            return ANYONE
        text = _key_in(headers)
        principal = None if text is None else self._keys.find(text)
        if principal is None:
            raise RefusedError(401, "not_authenticated", _SHOW if self._keys else _NO_KEY, _ASK)
        return principal

    async def reread_keys(self) -> None:
        """Read the keys in force; those of before stay while the database is away."""
        with contextlib.suppress(ServiceError):
            before, self._keys = self._keys, Keys(await self._read())
            if self.asks_for_keys and not self._keys and (before or not self._has_read_keys):
                self._log.warning(_NO_KEY)
            self._has_read_keys = True

    async def keep_rereading_keys(self) -> None:
        """Every two seconds, so that keys added or revoked elsewhere count here."""
        while True:
            await self.reread_keys()
            await asyncio.sleep(_REREAD_SECONDS)


def _key_in(headers: Mapping[bytes, bytes]) -> str | None:
    """The key that was sent, in whichever of the headers that may hold one."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return token.strip().decode("latin-1")
    other = headers.get(b"x-api-key") or headers.get(b"ocp-apim-subscription-key")
    return None if other is None else other.decode("latin-1")
